/* fit_plans.c - the plans of trials: rows, chains, computes. */
#include <stdlib.h>

#include "ring/fit_parts.h"

static struct op op_of(enum op_kind kind, int rank)
{
    return (struct op){.kind = kind, .lane = op_usual_lane(kind), .rank = rank, .bucket = NONE,
                       .step = NONE, .segment = NONE, .piece = NONE, .layer = NONE};
}

/* From the lower half of its data, to one of two places of the next one's inbox. */
static struct op copy_of(const struct plan *plan, const struct trial *t, int rank, int i)
{
    struct op op = op_of(OP_COPY, rank);
    op.src = (struct span){rank, MEMORY_DATA, 0, t->count};
    op.dst = (struct span){(rank + 1) % plan->n_ranks, MEMORY_INBOX, i % 2 * t->count, t->count};
    return op;
}

/* What the add made, to the lower half of the next one's data. */
static struct op sum_of(const struct plan *plan, const struct trial *t, int rank)
{
    struct op op = op_of(OP_COPY, rank);
    op.src = (struct span){rank, MEMORY_DATA, t->count, t->count};
    op.dst = (struct span){(rank + 1) % plan->n_ranks, MEMORY_DATA, 0, t->count};
    return op;
}

static struct op compute_of(int rank, int64_t ns)
{
    struct op op = op_of(OP_COMPUTE, rank);
    op.dst = (struct span){rank, MEMORY_DATA, 0, 1};
    op.cost_ns = ns;
    return op;
}

/* Of the inbox, to the upper half: rows of copies and of adds touch different memory. */
static struct op add_of(const struct trial *t, int rank, int i)
{
    struct op op = op_of(OP_REDUCE, rank);
    op.src = (struct span){rank, MEMORY_INBOX, i % 2 * t->count, t->count};
    op.dst = (struct span){rank, MEMORY_DATA, t->count, t->count};
    return op;
}

/* Ops of one kind on every rank, none of which waits for another. Of an op without an element run.c
 * queues nothing but its record. */
static enum status plan_rows(struct plan *plan, const struct trial *t, const int64_t *held,
                             struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < t->n; i++)
        for (int rank = 0; rank < plan->n_ranks; rank++) {
            const struct op op = t->shape == COPIES ? copy_of(plan, t, rank, i)
                                 : t->shape == ADDS ? add_of(t, rank, i)
                                                    : op_of(OP_REDUCE, rank);
            const struct wait wait = {i == 0 ? held[rank] : NONE, WAIT_SERIAL};
            TRY(plan_append(plan, op, &wait, 1, NULL, err));
        }
out:
    return status;
}

/* Round by round every rank copies to the next, which adds, and copies the sum, which the next copy
 * sends on: each op waits for one of another lane, and two of three for one of another rank, as in
 * a ring. (With more than two ranks some wait for readers, too, who are done long before.) */
static enum status plan_chains(struct plan *plan, const struct trial *t, const int64_t *held,
                               struct error *err)
{
    enum status status = STATUS_OK;
    const int n = plan->n_ranks;
    int64_t *ids = NULL;
    TRY(allocate((void **)&ids, 5 * n, sizeof *ids, "a plan", err));
    int64_t *sums = ids, *copies = ids + n, *adds[3] = {ids + 2 * n, ids + 3 * n, ids + 4 * n};
    for (int i = 0; i < 5 * n; i++)
        ids[i] = NONE;
    for (int i = 0; i < t->n; i++) {
        const int64_t *before = adds[(i + 1) % 3];
        for (int rank = 0; rank < n; rank++) {
            const struct wait waits[] = {{i == 0 ? held[rank] : sums[(rank + n - 1) % n],
                                          WAIT_ARRIVED},
                                         {before[(rank + 1) % n], WAIT_DRAINED}};
            TRY(plan_append(plan, copy_of(plan, t, rank, i), waits, 2, &copies[rank], err));
        }
        for (int rank = 0; rank < n; rank++) {
            const struct wait waits[] = {{copies[(rank + n - 1) % n], WAIT_ARRIVED},
                                         {sums[rank], WAIT_DRAINED}};
            TRY(plan_append(plan, add_of(t, rank, i), waits, 2, &adds[i % 3][rank], err));
        }
        for (int rank = 0; rank < n; rank++) {
            const struct wait waits[] = {{adds[i % 3][rank], WAIT_READY},
                                         {copies[(rank + 1) % n], WAIT_DRAINED}};
            TRY(plan_append(plan, sum_of(plan, t, rank), waits, 2, &sums[rank], err));
        }
    }
    TRY(plan_drop_implied(plan, err));
out:
    free(ids);
    return status;
}

/* Beside each compute of a rank, once the one before has ended, an add, or none. */
static enum status plan_computes(struct plan *plan, const struct trial *t, const int64_t *held,
                                 struct error *err)
{
    enum status status = STATUS_OK;
    int64_t last = NONE;
    for (int rank = 0; rank < plan->n_ranks; rank++)
        for (int i = 0; i < t->n; i++) {
            const struct wait wait = {i == 0 ? held[rank] : last, WAIT_SERIAL};
            TRY(plan_append(plan, compute_of(rank, t->compute_ns), NULL, 0, &last, err));
            if (t->shape == COMPUTES_AND_ADDS)
                TRY(plan_append(plan, add_of(t, rank, i), &wait, 1, NULL, err));
        }
out:
    return status;
}

enum status fit_plan(const struct trial *t, int n, struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t *held = NULL;
    TRY(plan_init(plan, n, 2 * t->count, DTYPE_FLOAT32, REDOP_SUM, err));
    plan->inbox_count = 2 * t->count;
    TRY(allocate((void **)&held, n, sizeof *held, "a plan", err));
    for (int rank = 0; rank < n; rank++) {
        held[rank] = NONE;
        if (t->hold_ns > 0)
            TRY(plan_append(plan, compute_of(rank, t->hold_ns), NULL, 0, &held[rank], err));
    }
    TRY(t->shape == CHAINS  ? plan_chains(plan, t, held, err)
        : t->shape > CHAINS ? plan_computes(plan, t, held, err)
                            : plan_rows(plan, t, held, err));
out:
    free(held);
    return status;
}
