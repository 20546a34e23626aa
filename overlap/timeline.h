/* timeline.h - what a run of overlap's plan shows: per rank a picture of its lanes, and how much of
 * its communication was hidden behind its backward pass.
 *
 * For a rank, C is the union of the times of its computes, and K the union, over the buckets, of
 * the time from the first begin to the last end of the rank's ops for that bucket. Then
 *     communication = |K|,  hidden = |K and C|,  exposed = |K without C|,
 * so that hidden + exposed = communication, to the nanosecond.
 */
#ifndef OVERLAP_TIMELINE_H
#define OVERLAP_TIMELINE_H

#include <stdio.h>

#include "ring/outcome.h"
#include "ring/plan.h"

struct figures { /* of one rank, in ns */
    int64_t compute, communication, hidden, exposed;
    int64_t compute_end;    /* of the last compute */
    int64_t first_start;    /* of communication */
    int64_t last_end;       /* of communication */
    int64_t iteration;      /* end of the rank's last op */
};

/* figures[n_ranks]. timing->per_op is there. */
enum status timeline_figures(const struct plan *plan, const struct timing *timing,
                             struct figures *figures, struct error *err);

/* 100 columns: for each rank (the first few, where there are many) its three lanes, a digit for the
 * bucket that is computed for, sent or added in each slot of time, counted in launch order; a dot
 * where the lane rests, u for the optimizer. bucket_of[n_layers]: the last bucket that a layer's
 * gradients go into. */
void timeline_print(const struct plan *plan, const struct timing *timing, const int *bucket_of,
                    FILE *file);

#endif
