/* run.h - carries out a plan on devices: the only bridge between the two.
 *
 *     TRY(run_open(&device, backend, plan, &options, err));
 *     TRY(run_plan(device, plan, init, &options, &timing, err));   pass 1, then verified
 *     TRY(run_values(device, plan, init, &options, &values, err)); pass 2: stops after every ring
 *                                                                  step
 *
 * Pass 1 queues the whole plan without looking up: each op becomes "wait for its waits, do it,
 * record its event". On GPUs a timed pass runs once more to begin with, which does not count. Pass
 * 2 runs the same plan again on the same data, but waits for all devices after each ring step and
 * reads one element of every segment of every rank, so that the values in a trace were read, not
 * worked out. Its times are of no interest and not kept. A plan without ring steps stops before
 * each op that waits for one since the last stop.
 *
 * Pass 1 has an engine. `eager` queues op by op, each time anew. `graph` queues the plan once, to
 * be kept as a graph (device.h), and launches that once a run: the same ops and waits, hence the
 * same bits. What is held back is held back in the graph, too. `kernel` makes one launch of each
 * ring (kernel.h): the ops are then steps of it, and their times what the kernel noted. Pass 2,
 * which stops, is eager.
 *
 * A profiler that is attached is told what is being queued (ranges.h), in both passes and while a
 * graph is kept, and which launch is the graph's.
 *
 * One op may be held back (delay_ns): its lane rests for so long before it, once its waits are
 * over. Nothing else changes, so a plan without hazards gives the same bits; where a wait for this
 * op is missing, whoever should have waited now goes first.
 */
#ifndef RING_RUN_H
#define RING_RUN_H

#include "common/device.h"
#include "common/init.h"
#include "ring/outcome.h"
#include "ring/plan.h"
#include "ring/ranges.h"

struct order; /* order.h */

/* ENGINE_NCCL: see struct run_calls. ENGINE_AUTO is none: auto.h says which is meant. */
enum engine { ENGINE_EAGER, ENGINE_GRAPH, ENGINE_KERNEL, ENGINE_NCCL, ENGINE_AUTO, N_ENGINES };
const char *engine_name(enum engine engine); /* "eager" */

/* All-reduces that a library makes on the devices' streams, in place of the plan's ops. Where these
 * are given, each op of kind scale on a send lane stands for a rank's part in a call, with the span
 * that the call reads and writes there; those of one call lie next to each other in the plan, rank
 * 0 first, and wait for earlier ops only. Once the waits of all of them are queued, so is the call:
 * queue() gets the first of them. Not with a graph, nor for run_values. */
struct run_calls {
    enum status (*queue)(void *context, struct device *device, const struct op *ops,
                         struct error *err);
    void *context;
};

struct run_options {
    enum engine engine;
    const struct run_calls *calls; /* engine nccl; else NULL */
    const int *device_of;       /* [n_ranks] */
    int timed;                  /* record when each op began and ended */
    int runs;                   /* cuda, timed: so many, and the one of the median time counts; 0
                                   is 1 */
    int computed;               /* the plan computes all its data itself: nothing is uploaded */
    int64_t delayed;            /* op to hold back ... */
    int64_t delay_ns;           /* ... for so long; 0 = none */
    struct ranges_words words;  /* for a profiler */
    int times_only;             /* host: see struct device_setup */
    int stale_uploads;          /* host: each upload reads the buffer only once it holds the next
                                   rank's data: the fault of the exhibit `host-buffer` */
    int timeout_s, peer_off;    /* cuda */
    enum device_work work;      /* cuda: what computes with a cost do */
    struct device_model model;  /* host */
    int random;                 /* host: see struct device_setup */
    uint64_t seed;
};

/* Opens the devices for this plan and allocates its memories. STATUS_MACHINE: cannot be done. */
enum status run_open(struct device **device, enum device_backend backend, const struct plan *plan,
                     const struct run_options *options, struct error *err);

/* Both begin by writing each rank's data of iteration 0 (run_plan not where the plan computes it
 * itself: options->computed). The plan has passed proof_can_run(). */
enum status run_plan(struct device *device, const struct plan *plan, const struct init *init,
                     const struct run_options *options, struct timing *timing,
                     struct error *err);
enum status run_values(struct device *device, const struct plan *plan, const struct init *init,
                       const struct run_options *options, struct values *values,
                       struct error *err);

/* Writes each rank's data of iteration 0. */
enum status run_load(struct device *device, const struct plan *plan, const struct init *init,
                     struct error *err);

/* For measuring: a plan again and again, each time on what the last one left, with nothing loaded,
 * allocated or ordered in between. The device was opened for this plan or for one that begins with
 * it. A device has one graph, hence one open sample of the engine graph. */
struct run_sample {
    struct device *device;
    const struct plan *plan;
    const struct init *init;
    const struct run_options *options; /* untimed */
    struct order *order;               /* owned */
    int64_t queued_ns;                 /* of the last sample: until the host had queued it all */
};
enum status run_sample_open(struct run_sample *sample, struct device *device,
                            const struct plan *plan, const struct init *init,
                            const struct run_options *options, struct error *err);
/* The plan `times` times, between two syncs; *ns is the host's clock, or on simulated GPUs theirs.
 * Eager: `times` is 1, since events are recorded once; what goes back to back is one plan. */
enum status run_sample(struct run_sample *sample, int times, int64_t *ns, struct error *err);
void run_sample_close(struct run_sample *sample); /* also of a zeroed one; not the device */

/* Writes each rank's data (after the run) to its file: %r in the pattern is the rank. */
enum status run_output(struct device *device, const struct plan *plan, const char *pattern,
                       const struct npy *like, struct error *err);

#endif
