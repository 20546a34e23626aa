/* sampled.h - how long a plan takes, and how long the host takes to queue it: medians of samples
 * (run.h, struct run_sample) on devices that are opened for this plan alone. Untimed: no event has
 * a time, as in bench. Nothing is loaded, so what the plan adds up means nothing.
 */
#ifndef RING_SAMPLED_H
#define RING_SAMPLED_H

#include "ring/run.h"
#include "ring/settings.h"

#define SAMPLED_RUNS 15 /* that count; on simulated GPUs 1 */

struct sample_way {
    enum engine engine;
    int launches;                  /* of a graph: so many, back to back, are one sample; 0 is 1 */
    enum device_work work;         /* of what computes with a cost are made (device.h) */
    const struct run_calls *calls; /* engine nccl; else NULL */
};

struct sampled {
    double ns;        /* until all is done */
    double queued_ns; /* until the host has queued it all */
    int staged;       /* some copies go through the host: there is no peer access */
};

/* Devices, model and time-out are those of the settings, which are settled. The plan can run. */
enum status sample_plan(const struct settings *settings, const struct plan *plan,
                        const struct sample_way *way, struct sampled *sampled, struct error *err);

#endif
