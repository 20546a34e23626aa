/* ring.h - the algorithm: appends the ops of ring all-reduces to a plan.
 *
 * For one all-reduce ring_plan() does everything. Whoever wants several on one plan (buckets, or
 * the same data again) opens a ring and calls its two phases for every part:
 *
 *     TRY(ring_open(&ring, plan, pieces, slots, largest_part, err));
 *     TRY(ring_scatter_reduce(&ring, &part, err));
 *     TRY(ring_all_gather(&ring, &part, err));
 *     ... ring.arrived[r], ring.sent[r]: what to wait for before r's data is overwritten
 *     ring_close(&ring);
 *
 * Finished, for rank r: whoever overwrites its data must wait for the last copy that writes into
 * it (arrived[r]) and for the last copy that reads from it (sent[r]). The second is the one that
 * is forgotten: the neighbour may still be fetching what r already has complete.
 */
#ifndef RING_RING_H
#define RING_RING_H

#include "ring/plan.h"

struct ring {
    struct plan *plan;
    int64_t place_count; /* elements of one place of an inbox: the largest piece */
    int64_t *readers;    /* [rank][slot][piece]: op that last read this place, or NONE */
    int64_t *latest;     /* [rank][piece]: op that made what the rank sends next */
    int64_t *incoming;   /* [rank][piece]: the same, as it will be after this step */
    int64_t *produced;   /* [rank]: op that made the rank's part, or NONE */
    int64_t *drained;    /* [rank]: op that last read it before, or NONE */
    int64_t *arrived;    /* [rank]: last copy into its data, or NONE */
    int64_t *sent;       /* [rank]: last copy out of its data, or NONE */
};

/* What one all-reduce is about: elements [first, first + count) of every rank's data. */
struct ring_part {
    int64_t first, count;
    int iteration, bucket;   /* labels; bucket may be NONE */
    const int64_t *produced; /* [n_ranks]: op that writes the rank's part; NULL = there already */
    int scaled;              /* and divides it for avg: the ring need not */
    int again;               /* the part is what the last all-reduce of this ring left there; no op
                                makes it, and `produced` is NULL */
};

/* Gives the plan its inboxes: slots x pieces places, each fit for any piece of a part of up to
 * largest_part elements. Refuses (STATUS_USAGE) pieces or slots outside 1 .. 4096, and more
 * inboxes than memory could hold. */
enum status ring_open(struct ring *ring, struct plan *plan, int pieces, int slots,
                      int64_t largest_part, struct error *err);
void ring_close(struct ring *ring); /* also of a zeroed one; the plan stays */

/* The two phases, in this order, on the same part. With one rank they append nothing. */
enum status ring_scatter_reduce(struct ring *ring, const struct ring_part *part,
                                struct error *err);
enum status ring_all_gather(struct ring *ring, const struct ring_part *part, struct error *err);

/* Appends, for every rank, the op that fills its data anew, once the ring has finished with it. */
enum status ring_refill(struct ring *ring, int iteration, int64_t *produced, struct error *err);

struct ring_shape {
    int n_ranks, pieces, slots, iterations;
    int64_t count;
    enum dtype dtype;
    enum redop redop;
    int same_data; /* each iteration but the first takes what the one before left: for measuring.
                      Its order can be proven; its sums pile up, and are not those of the goal */
};

/* An op takes about 150 bytes, and its proof and run as much again. */
#define RING_MAX_OPS 20000000
#define RING_MAX_PLACES 50000000 /* of the inboxes of all ranks */

/* STATUS_USAGE: such a ring has more ops than that. */
enum status ring_check_ops(const struct ring_shape *shape, struct error *err);

/* The whole plan: `iterations` all-reduces of fresh data, without needless waits. With same_data
 * each rank begins an iteration once it has finished the one before (see above), as with calls that
 * are queued behind each other. */
enum status ring_plan(struct plan *plan, const struct ring_shape *shape, struct error *err);

#endif
