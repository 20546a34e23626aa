/* sampled.h - how long plans take, and how long the host takes to queue them, by samples (run.h,
 * struct run_sample) on devices that are opened for each plan alone. Untimed: no event has a time,
 * as in bench. Nothing is loaded, so what a plan adds up means nothing.
 */
#ifndef RING_SAMPLED_H
#define RING_SAMPLED_H

#include "ring/run.h"
#include "ring/settings.h"

#define SAMPLED_RUNS 15 /* samples that count; on simulated GPUs 1 */

/* Where each sample is on another processor of the host: so many, or, if they would take longer
 * than so long, fewer, but SAMPLED_RUNS. */
#define SAMPLED_MOVING_RUNS 60
#define SAMPLED_MOVING_NS 3000000000

struct spread {
    double least_ns, median_ns;
};

struct sampled {
    const struct plan *plan;       /* can run */
    enum engine engine;
    int launches;                  /* of a graph: so many, back to back, are one sample; 0 is 1 */
    enum device_work work;         /* of what computes with a cost are made (device.h) */
    const struct run_calls *calls; /* engine nccl; else NULL */
    const struct sampled *like;    /* NULL; or one before it, of which it differs in its launches
                                      alone: it has the same devices, and the same graph */

    struct spread done;            /* filled: until all is done */
    struct spread queued;          /* until the host has queued it all */
    int staged;                    /* some copies go through the host: there is no peer access */
};

/* Fills n of them. They take turns, sample by sample, so that what disturbs one disturbs all.
 * Devices, model and time-out are those of the settings, which are settled. `moving`: each turn on
 * another processor; the least is then that of an undisturbed host (common/processors.h). */
enum status sample_plans(const struct settings *settings, struct sampled *sampled, int n,
                         int moving, struct error *err);

#endif
