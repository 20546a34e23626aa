/* figures.h - what a run of overlap's plan shows of each rank: how much of its communication was
 * hidden behind its backward pass, and why the rest was not.
 *
 * For a rank, C is the union of the times of its computes, and K the union, over the buckets, of
 * the time from the first begin to the last end of the rank's ops for that bucket. Then
 *     communication = |K|,  hidden = |K and C|,  exposed = |K without C|,
 * so that hidden + exposed = communication, to the nanosecond.
 *
 * Every exposed moment has one cause: the backward pass of some other rank still runs (slow); or
 * all have ended, and of the buckets under way the one that was launched first is not the last, for
 * which the last one waits, buckets being launched in order (order); or it is the last (tail). So
 *     exposed = slow + order + tail.
 * The last bucket is the last one with elements: buckets_last().
 */
#ifndef OVERLAP_FIGURES_H
#define OVERLAP_FIGURES_H

#include "overlap/bucket.h"
#include "ring/outcome.h"
#include "ring/plan.h"

struct figures { /* of one rank, in ns */
    int64_t compute, communication, hidden, exposed;
    int64_t slow, order, tail;
    int64_t idle;           /* between computes' begin and end: no bucket was under way */
    int64_t compute_end;    /* of the last compute */
    int64_t first_start;    /* of communication */
    int64_t last_end;       /* of communication */
    int64_t last_bucket;    /* of that, what comes behind the end of all buckets before the last */
    int64_t iteration;      /* end of the rank's last op */
};

/* When the last rank had computed all gradients of bucket k. */
int64_t figures_ready(const struct plan *plan, const struct buckets *buckets,
                      const struct timing *timing, int k);

/* figures[n_ranks]. timing->per_op is there; the plan's op.bucket counts in buckets. */
enum status figures_find(const struct plan *plan, const struct buckets *buckets,
                         const struct timing *timing, struct figures *figures, struct error *err);

/* When the last gradient is computed and has arrived, on the last rank. */
int64_t figures_complete(const struct figures *figures, int n_ranks);

/* Until then no schedule of these buckets takes less, on ranks that are alike: compute and the last
 * bucket's all-reduce, or all communication where that is longer, each as a rank of a serial run
 * shows it. */
int64_t figures_ideal(const struct figures *serial);

/* The rank whose backward pass ends last. */
int figures_slowest(const struct figures *figures, int n_ranks);
/* The rank that pays most for another's being slow. */
int figures_waiting(const struct figures *figures, int n_ranks);

#endif
