/* order.h - what must have happened before: lane order and waits, closed under "and so on".
 *
 * A walk over the plan in an order in which it can run. At each op the walk knows, for every lane,
 * how many ops of that lane are certain to have ended before this op begins (a vector clock:
 * Mattern, "Virtual time and global states of distributed systems", 1989). Clocks are dropped as
 * soon as the last op that needs them has passed, so 1024 ranks (millions of ops) fit in memory.
 *
 * Cost: ops x lanes in use, in time; a few steps' worth of clocks in memory.
 */
#ifndef RING_ORDER_H
#define RING_ORDER_H

#include "ring/plan.h"

struct order {
    const struct plan *plan;
    int64_t *sequence;   /* the ops in an order that keeps lanes and waits; NULL = as listed */
    int64_t n_sequence;  /* < n_ops: the rest waits in a circle */
    int64_t at;          /* next position in the sequence */
    unsigned char *runs; /* [n_ops]: is in the sequence; NULL where all are */
    int n_lanes;         /* lanes in use */
    int32_t *lane_index; /* [n_ranks * N_LANES]: stream -> lane in use, or NONE */
    int64_t *in_lane;    /* [n_ops]: the op's place in its lane, from 1 */
    int64_t *before;     /* [n_ops]: the op before it in its lane, or NONE */
    int32_t *users;      /* [n_ops]: ops to come that need its clock */
    int32_t **clocks;    /* [n_ops]: NULL when not yet there, or no longer needed */
    int32_t *now;        /* clock of the op being visited, without the op itself */
    int32_t *zero;       /* clock of an op that comes after nothing */
    int64_t id;          /* the op being visited */
    int32_t **spare;     /* clocks to use again */
    int64_t n_spare;
};

/* Every op's wait must name an op of the plan. STATUS_MACHINE: no memory. */
enum status order_open(struct order *order, const struct plan *plan, struct error *err);
void order_close(struct order *order); /* also of a zeroed one */

/* Visits the next op; *id = NONE at the end. If fewer than n_ops ops were visited, the others can
 * never run: order_stuck() finds a circle among them. STATUS_MACHINE: no memory. */
enum status order_next(struct order *order, int64_t *id, struct error *err);

/* The op at a position of the sequence. */
static inline int64_t order_at(const struct order *order, int64_t position)
{
    return order->sequence ? order->sequence[position] : position;
}

/* Must op `a` have ended before the op being visited begins? */
int order_has(const struct order *order, int64_t a);

/* Is the i-th wait of the op being visited implied by its lane and its other waits? Of two equal
 * waits the later one is. */
int order_implied(const struct order *order, int i);

/* A circle of ops each of which must end before the next can begin, and the last before the first;
 * fills at most `max` of them and returns how many; 0 where every op can run. */
int order_stuck(const struct order *order, int64_t *circle, int max);

#endif
