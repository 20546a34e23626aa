/* ranges.h - the words under which a profiler shows what is being queued: the trace's own.
 *
 *     ranges_open(&ranges, plan, &words);
 *     for each op in turn:
 *         ranges_op(&ranges, id);         and queue it
 *     ranges_close(&ranges);              also where queueing failed
 *
 * An op is a range, with the name that the plan gives it. It lies in the range of its step, and
 * that, in a plan of buckets, in the range of its bucket; an op without one of these labels lies
 * in fewer. A range ends where the next op has another label, so a plan that takes turns between
 * steps has several ranges for each. Where no profiler listens, nothing is done (common/nvtx.h).
 */
#ifndef RING_RANGES_H
#define RING_RANGES_H

#include "ring/plan.h"

struct ranges_words {
    int own_labels; /* the plan was read: its steps are somebody's own, not the ring's */
    int n_buckets;  /* so many there are; 0: as many as the plan's labels name */
};

struct ranges {
    const struct plan *plan; /* NULL: no profiler listens */
    int own_steps, n_buckets;
    int iteration, bucket, step; /* of the op before; NONE: no such range is open */
    int in_op;
};

void ranges_open(struct ranges *ranges, const struct plan *plan, const struct ranges_words *words);
void ranges_op(struct ranges *ranges, int64_t id); /* ends the one before, too */
void ranges_close(struct ranges *ranges);          /* ends all that are open; more may follow */

#endif
