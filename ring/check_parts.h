/* check_parts.h - what the files of the proof share; nobody else includes it.
 *
 *   check.c        the walk, and the ordering of accesses
 *   check_sums.c   what elements hold, and what they should
 *   check_stuck.c  what cannot run, or never ends
 *   findings.c     all of that in words
 */
#ifndef RING_CHECK_PARTS_H
#define RING_CHECK_PARTS_H

#include "ring/check.h"
#include "ring/goal.h"
#include "ring/order.h"

struct reader {
    int64_t op;
    int64_t next; /* in check.readers, or NONE */
};

/* What a stretch of data held when data of a later iteration took its place. */
struct ending {
    struct extent extent; /* node and shift */
    struct span where;
    int64_t op;           /* that overwrote it */
    int iteration;
};

struct check {
    const struct plan *plan;
    struct proof *proof;
    struct order order;
    struct contents contents;
    struct reader *readers; /* cells of lists that start in the extents */
    int64_t n_readers, readers_capacity;
    struct ending *endings; /* of goals by segment: judged at the end, when d is known */
    int64_t n_endings, endings_capacity;
};

/* While the proof goes on, a kind's findings stand in places of its own. */
static inline struct finding *check_place(const struct proof *proof, enum finding_kind kind,
                                          int64_t i)
{
    return &proof->findings[(int)kind * PROOF_MAX_FINDINGS + i];
}

/* Notes a finding, or lets it make an earlier one longer. Returns it where it is kept and new, for
 * details; else NULL. */
struct finding *check_report(struct proof *proof, struct finding f);

/* A stretch of a memory as a span. */
static inline struct span check_span(const struct extents *memory, int64_t i, struct span within)
{
    within.first = memory->items[i].first;
    within.count = extents_length(memory, i);
    return within;
}

static inline int check_same_lane(const struct plan *plan, int64_t a, int64_t b)
{
    const struct op *x = &plan->ops[a], *y = &plan->ops[b];
    return x->rank == y->rank && x->lane == y->lane;
}

/* check_sums.c: before an op is carried out on the contents; and when all have been. */
enum status check_sums_of(struct check *c, int64_t id, struct error *err);
void check_sums_at_end(struct check *c);

/* check_stuck.c: before the walk. Spans and lanes; then, where some ops never run, why. */
void check_spans(const struct plan *plan, struct proof *proof);
enum status check_stuck(struct check *c, struct error *err);

/* findings.c: puts into detail what a stretch holds instead of what is wanted there; once the
 * finding does not grow any more. */
void finding_describe_sum(struct finding *f, const struct contents *contents);

#endif
