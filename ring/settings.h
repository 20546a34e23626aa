/* settings.h - what the user asked for, and what that means on this machine.
 *
 * settings_read() takes the command line; settings_settle() fills in what was left open: backend,
 * number of ranks, their devices, count and type (from --input's files, where given). Nothing that
 * was asked for is changed: what cannot be is refused.
 */
#ifndef RING_SETTINGS_H
#define RING_SETTINGS_H

#include <stdio.h>

#include "common/device.h"
#include "common/init.h"
#include "ring/bench.h"
#include "ring/bugs.h"
#include "ring/run.h"

/* Further bits of option_row.commands: of bench's options, what means something to its table of
 * sizes, to bench --overlap, and to bench --fit. */
#define OPTIONS_SIZES (1u << 22)
#define OPTIONS_COMPARE (1u << 23)
#define OPTIONS_FIT (1u << 24)

enum command {
    COMMAND_RING, COMMAND_OVERLAP, COMMAND_BENCH, COMMAND_PLAN, COMMAND_CHECK, COMMAND_BUGS,
    COMMAND_DOCTOR, N_COMMANDS
};

/* Those behind text are for programs. */
enum trace_kind { TRACE_NONE, TRACE_TEXT, TRACE_JSON, TRACE_PERFETTO, TRACE_HTML, N_TRACES };

struct settings {
    enum command command;
    int help, version;
    const char *file;             /* check: FILE or "-"; bugs: NAME, or NULL */
    const char *plan_file;        /* --plan; NULL: the ring's own plan */
    const struct bug *bug;        /* --bug; NULL: none */
    const char *delay;            /* --delay, as text; or NULL */
    int64_t delay_ns;
    int runs;                     /* bugs: of a plan that is held back */

    int n_ranks;                  /* 0: not given, until settled */
    const char *devices;          /* --devices, as text */
    enum device_backend backend;
    int backend_given;
    enum engine engine;
    int64_t count;                /* -1: not given, until settled */
    enum dtype dtype;
    int dtype_given;
    enum redop redop;
    int redop_given;
    int pieces, slots, repeat;    /* 0: not given, until settled */
    const char *init, *input, *output; /* texts; NULL: not given */
    enum trace_kind trace;
    const char *trace_file;
    int step, quiet;
    int quiz;                     /* --quiz: questions instead of the report */
    uint64_t quiz_seed;           /* --seed, or the time */
    int quiz_seed_given;
    int color;                    /* 1 always, 0 never, -1 auto */
    int random;
    uint64_t seed;
    int n_seeds;                  /* search:K: seeds 0 .. K-1 are tried; else 0 */
    struct device_model model;
    int link_given;
    const char *link_file;        /* --link, where it is one; or NULL */
    int timeout_s, peer_off;
    const char *cuda_only;        /* an option that was given and only cuda has, or NULL */

    /* overlap: see overlap/step.h */
    const char *network, *layers, *bucket_rule; /* texts; NULL: not given */
    double cap_mib, first_mib, backward_us;   /* 0: not given */
    const char *never_ready;      /* a tensor's name; or NULL */
    const char *sweep;            /* --sweep-cap, as text; or NULL */
    const char *slow;             /* --slow rank=R:X, as text; or NULL */
    int slow_rank;
    double slow_factor;
    const char *slow_link;        /* --slow link=A-B:X, as text; or NULL */
    int slow_ranks[2];
    double slow_link_times;
    int explain, no_overlap, times_only;
    enum device_work work;        /* --compute */

    struct bench_options bench;   /* see ring/bench.h */

    int *device_of;               /* owned; settled */
    struct init data;             /* settled: init_free() */
    struct device_inventory inventory; /* settled: of the cuda backend */
};

enum status settings_read(struct settings *settings, int argc, char **argv, struct error *err);
/* `plan`: the one that --plan named, which then gives ranks, count, type and operator, or NULL. */
enum status settings_settle(struct settings *settings, const struct plan *plan, struct error *err);
void settings_free(struct settings *settings);

void settings_help(enum command command, FILE *file);

#endif
