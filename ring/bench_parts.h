/* bench_parts.h - what bench.c (sizes and judgement), bench_measure.c (one size), bench_queueing.c
 * (what an op costs the host), bench_table.c (rows and JSON) and fit_table.c (sizes predicted)
 * share; nobody else includes it.
 */
#ifndef RING_BENCH_PARTS_H
#define RING_BENCH_PARTS_H

#include "common/nccl.h"
#include "ring/settings.h"

/* In place of a number of wrong elements: nothing was compared; or the sum depends on the order of
 * the additions, and NCCL's order is not known. */
enum { BENCH_UNCHECKED = -1, BENCH_ROUNDS = -2 };

struct bench_row {
    enum bench_engine engine;
    const char *how;           /* of nccl its buffers, "default" or "symmetric"; of kernel its
                                  protocol; of auto the engine; else "" */
    int64_t count, bytes;      /* of one rank's data */
    int64_t memory_bytes;      /* taken for each rank */
    int pieces, slots;
    double median_us, min_us, p99_us; /* of one all-reduce, over the samples */
    double algbw, busbw;       /* GB/s, by the median; 0 where the time is 0, busbw with one rank */
    double ratio;              /* NCCL's median over this one; 0: there is none */
    int64_t n_wrong;           /* elements, or one of the above */
    int above_copies;          /* busbw is above copy_GBps */
};

struct bench_queueing { /* of one op of a ring, with its waits and its record: the host's time */
    int measured;
    double us_per_op;
};

struct bench {
    struct settings *s;
    struct bench_row *rows;    /* owned */
    int64_t n_rows, capacity;
    int on[N_BENCH_ENGINES];
    char why[N_BENCH_ENGINES][BENCH_WHY_SIZE]; /* of those that are off */
    struct device *device;     /* owned; with next to no memory */
    struct nccl *nccl;         /* owned; NULL: off */
    int simulated, n_devices;
    int moving;                /* each turn of samples on another processor (common/processors.h) */
    int staged;                /* some link of the ring has no peer access */
    int kernel;                /* the engine kernel can be had */
    char (*names)[96];         /* owned, [n_ranks]: of the devices */
    double copy_GBps;          /* what peer copies reach, all ranks at once; 0 with one rank */
    int64_t copy_bytes;        /* of one of those copies */
    struct bench_queueing queueing[N_BENCH_ENGINES];
    char ended[256];           /* why it ended early, or "" */
    FILE *out;                 /* of the table */
    struct error *err;
};

/* STATUS_WRONG where some row has wrong elements. */
enum status bench_judge(const struct bench *bench);

/* The smallest and the largest size, and the one behind `bytes`. */
enum status bench_settle_sizes(struct settings *settings, struct error *err);
int64_t bench_next_size(const struct bench_options *options, int64_t bytes);

/* ---- bench_measure.c ---- */

/* Opens the devices for what the head tells of them; they stay open until the end, so that the peer
 * access which NCCL may have found enabled is not disabled between two sizes. */
enum status bench_open_devices(struct bench *bench);
/* Can the devices have the engine kernel? */
enum status bench_try_kernel(struct bench *bench, struct error *why);
/* Measures peer copies. */
enum status bench_copies(struct bench *bench);
/* STATUS_USAGE: -n of the largest size have more ops than a plan may have. */
enum status bench_check_calls(const struct settings *settings, struct error *err);
/* One size: appends a row for every engine that is on. */
enum status bench_size(struct bench *bench, int64_t count);

/* ---- bench_queueing.c ---- */

/* Of the engines that are on and queue ops; not with one rank, whose ring has none, nor with more
 * than 128. */
enum status bench_queueing(struct bench *bench);

/* ---- bench_table.c ---- */

/* algbw, busbw, ratio (nccl_us: NCCL's median; 0: there is none) and above_copies, by the rest. */
void bench_fill_rates(const struct bench *bench, struct bench_row *row, double nccl_us);

void bench_print_head(const struct bench *bench);
void bench_print_row(const struct bench *bench, const struct bench_row *row);
void bench_print_end(const struct bench *bench);
void bench_print_json(const struct bench *bench, FILE *file);

#endif
