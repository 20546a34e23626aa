/* order.h - what must have happened before: lane order and waits, closed under "and so on".
 *
 * A walk over the plan in an order in which it can run. At each op the walk knows, for every lane,
 * how many ops of that lane are certain to have ended before this op begins (a vector clock:
 * Mattern, "Virtual time and global states of distributed systems", 1989). Clocks are dropped as
 * soon as the last op that needs them has passed, so 1024 ranks (millions of ops) fit in memory.
 *
 * Cost: ops x lanes in use, in time; a few steps' worth of clocks in memory. Both are bounded, for
 * the sake of plans that were written to hurt: beyond ORDER_MAX_WORK or ORDER_MAX_BYTES the walk
 * gives up, STATUS_MACHINE. A ring of 1024 ranks takes a few percent of each.
 */
#ifndef RING_ORDER_H
#define RING_ORDER_H

#include "ring/plan.h"

#define ORDER_MAX_WORK 60000000000 /* places of clocks compared, at 8 for one of other work */
#define ORDER_MAX_BYTES (3ll << 28)

struct order {
    const struct plan *plan;
    int64_t *sequence;   /* the ops in an order that keeps lanes and waits; NULL = as listed */
    int64_t *positions;  /* [n_ops]: where in the sequence an op is; NULL likewise */
    int64_t n_sequence;  /* < n_ops: the rest waits in a circle */
    int64_t at;          /* next position in the sequence */
    unsigned char *runs; /* [n_ops]: is in the sequence; NULL where all are */
    int n_lanes;         /* lanes in use */
    int32_t *lane_index; /* [n_ranks * N_LANES]: stream -> lane in use, or NONE */
    int64_t *in_lane;    /* [n_ops]: the op's place in its lane, from 1 */
    int64_t *before;     /* [n_ops]: the op before it in its lane, or NONE */
    int32_t *users;      /* [n_ops]: ops to come that need its clock */
    int wide;            /* places in clocks are int32_t; else, where lanes are short, int16_t */
    void **clocks;       /* [n_ops]: NULL when not yet there, or no longer needed */
    void *now;           /* clock of the op being visited, without the op itself */
    void *zero;          /* clock of an op that comes after nothing */
    int64_t id;          /* the op being visited */
    int32_t *kept;       /* [n_kept]: its waits, by number, that name the last op of their lane */
    int n_kept;
    int32_t *kept_of;    /* [n_lanes]: that wait of a lane, or NONE */
    void **spare;        /* clocks to use again */
    int64_t n_spare, n_made;
    int64_t work;        /* so far; a caller may add its own */
    int64_t *to_follow;  /* of order_assume */
    int64_t follow_capacity;
    struct assumed { int64_t op, next; } *assumed; /* what it was told, in lists ... */
    int64_t n_assumed, assumed_capacity;
    int64_t *first_assumed;                        /* ... [n_ops], or NONE; NULL: nothing yet */
};

/* Every op's wait must name an op of the plan. STATUS_MACHINE: no memory; close it then, too. */
enum status order_open(struct order *order, const struct plan *plan, struct error *err);
void order_close(struct order *order); /* also of a zeroed one */

/* Visits the next op; *id = NONE at the end. If fewer than n_ops ops were visited, the others can
 * never run. STATUS_MACHINE: no memory, too much work, or a Ctrl-C (interrupt.h). */
enum status order_next(struct order *order, int64_t *id, struct error *err);

/* The op at a position of the sequence. */
static inline int64_t order_at(const struct order *order, int64_t position)
{
    return order->sequence ? order->sequence[position] : position;
}

static inline int64_t order_position(const struct order *order, int64_t id)
{
    return order->positions ? order->positions[id] : id;
}

/* Must op `a` have ended before the op being visited begins? */
int order_has(const struct order *order, int64_t a);

/* From here on `a`, with all that it comes after, counts as having ended before the op being
 * visited. STATUS_MACHINE: no memory. */
enum status order_assume(struct order *order, int64_t a, struct error *err);

/* The op that makes the i-th wait of the op being visited needless, because it comes no earlier
 * than the op waited for: the op before it in its lane or another one that it waits for (of two
 * equal waits the later is needless). NONE: the wait is needed. */
int64_t order_implied(struct order *order, int i);

/* Ops that can never run wait, each of them, for an op that cannot run either: order_stuck() is
 * that op, the one before it in its lane or one that it waits for (*wait: which of its waits, or
 * NONE for the lane). Followed from any of them this leads into a circle. */
static inline int order_runs(const struct order *order, int64_t id)
{
    return !order->runs || order->runs[id];
}
int64_t order_stuck(const struct order *order, int64_t id, int *wait);

#endif
