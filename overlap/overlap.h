/* overlap.h - one iteration of data-parallel training as a plan: every rank makes the gradients of
 * its layers, last layer first; a bucket's ring starts as soon as its last gradient is there, while
 * the layers before it still compute; an optimizer takes what the rings bring.
 *
 * It is a longer plan, not another engine: the same ops, the same ring once a bucket, proven and
 * run like any other. No compute waits for a copy or an add, directly or through others; the
 * optimizer, which works in the gradient's place, waits for the last arrival and for the rank's own
 * last send (ring.h says why both). avg divides first, as PyTorch's DistributedDataParallel does.
 *
 * The data of a rank holds the gradients in the order in which they get ready: bucket after bucket.
 */
#ifndef OVERLAP_OVERLAP_H
#define OVERLAP_OVERLAP_H

#include "overlap/bucket.h"
#include "ring/plan.h"

struct overlap_shape {
    int n_ranks, pieces, slots;
    enum dtype dtype; /* a float */
    enum redop redop;
    const struct model *model;
    const struct buckets *buckets;
    const int64_t *layer_ns;   /* [n_layers]: how long the backward pass of each takes */
    const double *slowness;    /* [n_ranks]: times so much; NULL: 1 for all */
    const struct tensor *never_ready; /* of the model: no rank computes its gradient, so its bucket
                                  and all later ones stay, and the optimizer, too; or NULL */
    int calls;                 /* no rings: a library makes each bucket's all-reduce, and one op of
                                  kind scale a rank stands for it (run.h, struct run_calls). The
                                  order of the plan can be proven, its sums cannot */
    int serial;                /* every ring waits for the whole backward pass of its rank: only
                                  waits differ (reason serial) */
};

/* STATUS_USAGE: more than a plan can hold, or a compute of more than a second. */
enum status overlap_plan(struct plan *plan, const struct overlap_shape *shape, struct error *err);

/* Does any compute wait, directly or through others, for a copy, a reduce or a scale? The op that
 * does, or NONE. */
enum status overlap_compute_waits(const struct plan *plan, int64_t *op, struct error *err);

#endif
