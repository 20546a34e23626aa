/* contents.h - what every element of every memory holds, worked out without any data.
 *
 * A run of the plan on symbols. What a stretch of elements holds is a node: a leaf (the data of one
 * rank), the sum of two nodes (the older one was there, the newer one was added), or a scaled node.
 * From the same nodes come
 *   - the proof (check.c): which ranks a node holds, how often, from which elements, scaled or not;
 *   - the reference (verify.c): the very additions, in the very order, that the plan makes;
 *   - the state table of the trace: "0+1", "0..3".
 * Equal nodes are one node. Which ranks: runs of consecutive ranks with a multiplicity, so that a
 * partial sum of a ring is one or two runs, however many ranks there are.
 */
#ifndef RING_CONTENTS_H
#define RING_CONTENTS_H

#include <stdio.h>

#include "ring/extents.h"
#include "ring/plan.h"

enum node_kind { NODE_LEAF, NODE_SUM, NODE_SCALE };
#define NODE_OF_UPDATE 0 /* `right` of a scaled node: it was the optimizer's division */

struct node {
    enum node_kind kind;
    int32_t left;  /* leaf: the rank; else a node */
    int32_t right; /* leaf: the iteration; sum: a node */
    int64_t apart; /* sum: the right one's elements come from so much further on than the left's */
    int64_t first_term;
    int32_t n_terms;
    int32_t next;  /* of the same hash */
};

/* `times` contributions of each of the ranks rank .. rank + n_ranks - 1. */
struct term {
    int32_t rank, n_ranks, times;
    int32_t scales;    /* how often each was scaled */
    int32_t updates;   /* how often an optimizer made a step of it */
    int32_t iteration; /* of the data */
    int64_t apart;     /* elements come from so much further on than the stretch's shift says */
};

struct contents {
    const struct plan *plan;
    struct extents *memories; /* [n_ranks * N_MEMORIES]; see contents_memory() */
    struct node *nodes;
    int64_t n_nodes, nodes_capacity;
    struct term *terms;
    int64_t n_terms, terms_capacity;
    int32_t *table;           /* hash -> first node, or NONE */
    int64_t table_size;       /* a power of two */
    int64_t n_extents;        /* of all memories, about */
    int64_t work;             /* so far, in the unit of order.h */
};

/* Before the first op: every rank's data holds its own contribution of iteration 0, every inbox
 * nothing (node NONE). */
enum status contents_init(struct contents *contents, const struct plan *plan, struct error *err);
void contents_free(struct contents *contents); /* also of a zeroed one */

/* Carries out one op. Its spans lie inside their memories and do not overlap each other.
 * STATUS_MACHINE: no memory, or a plan that makes too many different sums or stretches; the
 * contents are half done then, and to be freed. */
enum status contents_apply(struct contents *contents, const struct op *op, struct error *err);

static inline struct extents *contents_memory(const struct contents *contents, int rank,
                                              enum memory memory)
{
    return &contents->memories[rank * N_MEMORIES + memory];
}

/* Does this stretch hold each rank of `iteration` exactly once, from the right elements, scaled as
 * often as the plan's redop wants: once for avg, else never? contents_is_sum asks the same, but
 * scaled and updated exactly so many times. */
int contents_complete(const struct contents *contents, const struct extent *extent, int iteration);
int contents_is_sum(const struct contents *contents, const struct extent *extent, int iteration,
                    int scales, int updates);

/* How often each contribution is to be scaled: once for avg; but one rank alone is its own average,
 * and there is nothing to scale. */
static inline int contents_scaled(const struct plan *plan)
{
    return plan->redop == REDOP_AVG && plan->n_ranks > 1;
}

/* The latest iteration of which a node holds anything; NONE for node NONE. */
int contents_newest(const struct contents *contents, int32_t node);

/* The one rank whose data, unscaled and in its place, this stretch holds, or NONE; and whether that
 * is `rank`, with the data of `iteration`. */
int contents_rank(const struct contents *contents, const struct extent *extent);
int contents_is_rank(const struct contents *contents, const struct extent *extent, int iteration,
                     int rank);

/* The ranks a node holds, as in "0", "0+1", "0..3", "0+2+2", "8*0", "2*(0..3)"; "-" for NONE.
 * Scalings are not shown. Returns buffer; cut short by "..", where it is too small. */
const char *contents_ranks(const struct contents *contents, int32_t node, char *buffer,
                           size_t size);

#endif
