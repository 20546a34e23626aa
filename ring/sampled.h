/* sampled.h - how long a plan takes, and how long the host takes to queue it: medians of samples
 * (run.h, struct run_sample) on devices that are opened for this plan alone. Untimed: no event has
 * a time, as in bench. Nothing is loaded, so what the plan adds up means nothing.
 */
#ifndef RING_SAMPLED_H
#define RING_SAMPLED_H

#include "ring/run.h"
#include "ring/settings.h"

struct sampled {
    double ns;        /* until all is done */
    double queued_ns; /* until the host has queued it all */
    int staged;       /* some copies go through the host: there is no peer access */
};

/* Devices, model and time-out are those of the settings, which are settled. `launches`: so many,
 * back to back, are one sample; 1 with the engine eager. `work`: of what computes with a cost are
 * made (device.h). The plan can run. */
enum status sample_plan(const struct settings *settings, const struct plan *plan,
                        enum engine engine, int launches, enum device_work work,
                        struct sampled *sampled, struct error *err);

#endif
