/* trace.h - what the writers of traces look at, and the writers.
 *
 * By the time anything is shown the run is over. A scene is all that is known about it: the plan,
 * the proof, the times of pass 1, the values of pass 2, the verdict, and words about the machine.
 * A writer turns a scene into text and asks nothing further.
 */
#ifndef RING_TRACE_H
#define RING_TRACE_H

#include <stdio.h>

#include "ring/check.h"
#include "ring/outcome.h"
#include "ring/plan.h"

struct scene_link {
    int from, to;      /* ranks */
    const char *path;  /* "peer access", "staged through the host", .. */
};

/* What is known about an iteration of training, and about no single all-reduce. */
struct scene_bucket {
    int64_t bytes, first, count; /* elements [first, first + count) of every rank's data */
};
struct scene_figures { /* of one rank: how long it computes, and how long gradients travel; ... */
    int64_t compute_ns, communication_ns;
    int64_t hidden_ns, exposed_ns; /* ... that, while it computes, and while it does not */
};
struct scene_training {
    const char *model;                   /* "resnet18" */
    const char *slow;                    /* the rank that is slow, in words, or "" */
    const char *never_ready;             /* the tensor whose gradient no rank makes, or NULL */
    int overlapped;                      /* rings begin while the backward pass still computes */
    int n_buckets, n_layers;
    const struct scene_bucket *buckets;  /* in launch order; ops' label `bucket` counts them */
    const char *const *layers;           /* names; ops' label `layer` counts them */
    const struct scene_figures *figures; /* [n_ranks] */
};

struct scene {
    const struct plan *plan;
    const struct proof *proof;
    const struct timing *timing;
    const struct values *values;   /* NULL: no second pass */
    const struct verdict *verdict; /* NULL: no data moved, and nothing was verified */
    const struct scene_training *training; /* NULL: all-reduces alone */
    uint64_t second_hash;          /* of the second pass, where values is there */

    const char *backend;           /* "cuda", "host" */
    const char *engine;            /* "eager" */
    const char *engine_how;        /* the same in words: "op by op" */
    int by_kernel;                 /* which has neither the plan's pieces nor its inbox */
    int simulated, n_devices;
    const int *device_of;          /* [n_ranks] */
    char (*device_names)[96];      /* [n_ranks] */
    int n_links;
    const struct scene_link *links;
    const char *notice;            /* one sentence on simulated or shared GPUs, or "" */
    const char *link_model;        /* host: "nvlink4: 2.4 us + bytes / 392 GB/s"; else "" */
    const char *times;             /* how times were obtained */
    const char *data;              /* what the ranks' data is */
    const char *origin;            /* where a plan that is not the ring's comes from, or "" */
    const char *fault;             /* the exhibit that was put in: "add-early: the add ..", or "" */
    int stale_uploads;             /* the data is not what `data` says: see run.h */
    const char *search;            /* what a search for schedules that go wrong found, or "" */
    const char *held_back;         /* the op of --delay, in words, or "" */
    const char *written;           /* the files that were written, in words, or "" */
    int random;                    /* a random schedule: times count its choices */
    int64_t clock_error_ns;
};

struct show {
    FILE *file;
    int color;   /* may use bold and colours, never as the only sign */
    int steps;   /* show every ring step; else only head and result */
    int quiet;   /* only the result */
    int pause;   /* wait for Enter at each ring step */
};

/* For people. */
enum status trace_text(const struct scene *scene, const struct show *show, struct error *err);

/* "rank 0 -> rank 1", "rank 1 adds": ranks in `width` columns; what a compute does is for the
 * caller to say. Returns buffer. */
#define TRACE_WHO_SIZE 64
const char *trace_who(const struct op *op, int width, const char *computes,
                      char buffer[TRACE_WHO_SIZE]);

/* "after s0.reduce.r1 ready, s0.copy.r2 drained" and the line's end, behind `column` characters of
 * the line; a wait that would leave the line goes to the end of the next. */
void trace_waits(FILE *file, const struct plan *plan, const struct op *op, int column);

/* One JSON object a line: a header, every op, every state that was read, a summary. All keys are
 * told in docs/trace-format.md. Plans of more than TRACE_MAX_HOLDS ops are shown without what each
 * op leaves behind (holds.h). */
#define TRACE_JSON_SCHEMA 2
#define TRACE_MAX_HOLDS 1000000
enum status trace_json(const struct scene *scene, FILE *file, struct error *err);

/* One page that replays the run in a browser, offline: page.html with those JSON lines in it. */
enum status trace_html(const struct scene *scene, FILE *file, struct error *err);
/* For ui.perfetto.dev and chrome://tracing. The times of all ops are there. */
enum status trace_perfetto(const struct scene *scene, FILE *file, struct error *err);

/* ---- figures that every writer gives, so that they are the same ones ---- */

struct traffic {
    int64_t least_sent, most_sent;       /* bytes that a rank sends, over all ranks */
    int64_t busiest_bytes, busiest_ns;   /* of the link that carries most; its time in use */
    int all_alike;                       /* all links carry as much, in the same time */
    int busiest_from, busiest_to;        /* NONE where nothing is copied between ranks */
};

enum status trace_traffic(const struct scene *scene, struct traffic *traffic, struct error *err);

/* algbw = S / t; busbw = algbw x 2(N-1)/N, the rate each link must have carried
 * (nccl-tests, doc/PERFORMANCE.md). S is a rank's buffer; GB = 1e9 bytes. 0 where t is 0. */
double trace_algbw(const struct scene *scene);
double trace_busbw(const struct scene *scene);

#endif
