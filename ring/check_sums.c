/* check_sums.c - what each stretch of elements holds, compared with what the goal wants there when
 * its iteration ends: when the next one's data takes its place, or at the end of the plan. */
#include <stdlib.h>

#include "ring/check_parts.h"

static void report_sum(struct check *c, struct finding f, const struct extent *extent,
                       int iteration)
{
    f.other = NONE;
    f.n_ranks = 1;
    f.node = extent->node;
    f.shift = extent->shift;
    f.iteration = iteration;
    check_report(c->proof, f);
}

/* What a stretch of data must hold before the next iteration takes its place, or at the end. */
static void check_stretch(struct check *c, const struct extent *extent, struct span where,
                          int64_t id, int iteration, int shift)
{
    const struct plan *plan = c->plan;
    int64_t end = where.first + where.count;
    while (where.first < end) {
        int segment = plan_segment(plan, where.first);
        int64_t first, count;
        plan_part(0, plan->count, plan->n_ranks, segment, &first, &count);
        where.count = (goal_by_segment(plan) && first + count < end ? first + count : end) -
                      where.first;
        int wanted = goal_wants(plan, shift, where.rank, segment);
        if (!goal_holds(&c->contents, extent, iteration, wanted))
            report_sum(c, (struct finding){.kind = FINDING_SUM, .op = id, .where = where,
                                           .wanted = wanted}, extent, iteration);
        where.first += where.count;
    }
}

#define MOST_ENDINGS 1000000 /* remembered, of goals by segment */

/* Elements of `where` get data of iteration `newer`: what they held was the end of the one before.
 */
static enum status check_endings(struct check *c, struct span where, int64_t id, int newer,
                                 struct error *err)
{
    enum status status = STATUS_OK;
    struct extents *memory = contents_memory(&c->contents, where.rank, where.memory);
    int64_t from, to;
    TRY(extents_cut(memory, where.first, where.count, &from, &to, &c->order.work, err));
    for (int64_t i = from; i < to; i++) {
        const struct extent *extent = &memory->items[i];
        if (contents_newest(&c->contents, extent->node) >= newer)
            continue;
        if (!goal_by_segment(c->plan)) {
            check_stretch(c, extent, check_span(memory, i, where), id, newer - 1, 0);
            continue;
        }
        if (c->n_endings == MOST_ENDINGS)
            TRY(fail(err, STATUS_MACHINE, "too much to prove: more than %d stretches of data are "
                     "overwritten by the next iteration's", MOST_ENDINGS));
        TRY(make_room((void **)&c->endings, c->n_endings + 1, &c->endings_capacity,
                      sizeof *c->endings, "the proof", err));
        c->order.work += 64 * (int64_t)c->plan->n_ranks; /* the vote costs so much later on */
        c->endings[c->n_endings++] =
            (struct ending){*extent, check_span(memory, i, where), id, newer - 1};
    }
    c->order.work += 16 * (to - from);
out:
    return status;
}

/* An op that brings data of a later iteration: compute, or a copy of what was computed before. */
static enum status check_overwritten(struct check *c, int64_t id, struct error *err)
{
    enum status status = STATUS_OK;
    const struct op *op = &c->plan->ops[id];
    if (op->dst.memory != MEMORY_DATA)
        return STATUS_OK;
    if (op->kind == OP_COMPUTE)
        return check_endings(c, op->dst, id, op->iteration, err);
    struct extents *src = contents_memory(&c->contents, op->src.rank, op->src.memory);
    for (int64_t done = 0; done < op->src.count;) {
        int64_t i = extents_find(src, op->src.first + done);
        int64_t rest = src->items[i].first + extents_length(src, i) - op->src.first - done;
        int newer = contents_newest(&c->contents, src->items[i].node);
        struct span part = op->dst;
        part.first += done;
        part.count = rest < op->src.count - done ? rest : op->src.count - done;
        done += part.count;
        if (newer > 0)
            TRY(check_endings(c, part, id, newer, err));
    }
out:
    return status;
}

static int compare_endings(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;
    if (x->iteration != y->iteration)
        return x->iteration < y->iteration ? -1 : 1;
    if (x->where.rank != y->where.rank)
        return x->where.rank - y->where.rank;
    return (x->where.first > y->where.first) - (x->where.first < y->where.first);
}

/* Each iteration has its own d, the same for all ranks. */
static void judge_endings(struct check *c)
{
    if (c->n_endings > 0)
        qsort(c->endings, (size_t)c->n_endings, sizeof *c->endings, compare_endings);
    for (int64_t i = 0, next; i < c->n_endings; i = next) {
        int64_t votes[PLAN_MAX_RANKS] = {0};
        for (next = i; next < c->n_endings && c->endings[next].iteration == c->endings[i].iteration;
             next++)
            goal_vote(&c->contents, &c->endings[next].extent, c->endings[next].where,
                      c->endings[next].iteration, votes);
        int shift = goal_elected(c->plan, votes);
        for (int64_t k = i; k < next; k++)
            check_stretch(c, &c->endings[k].extent, c->endings[k].where, c->endings[k].op,
                          c->endings[k].iteration, shift);
    }
}

/* At the end the last iteration's result is in place. */
static void judge_end(struct check *c)
{
    const struct plan *plan = c->plan;
    int shift = goal_shift(&c->contents, plan->iterations - 1);
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        const struct extents *memory = contents_memory(&c->contents, rank, MEMORY_DATA);
        for (int64_t i = 0; i < memory->n; i++)
            check_stretch(c, &memory->items[i],
                          check_span(memory, i, (struct span){rank, MEMORY_DATA, 0, 0}), NONE,
                          plan->iterations - 1, shift);
    }
}

/* An inbox holds nothing until something lands there. */
static enum status check_written(struct check *c, int64_t id, struct span span, struct error *err)
{
    enum status status = STATUS_OK;
    struct extents *memory = contents_memory(&c->contents, span.rank, span.memory);
    int64_t from, to;
    if (span.memory == MEMORY_DATA)
        return STATUS_OK;
    TRY(extents_cut(memory, span.first, span.count, &from, &to, &c->order.work, err));
    for (int64_t i = from; i < to; i++)
        if (memory->items[i].node == NONE)
            check_report(c->proof,
                         (struct finding){.kind = FINDING_UNWRITTEN, .op = id, .other = NONE,
                                          .where = check_span(memory, i, span)});
out:
    return status;
}

/* Integers are divided after the sum: a part of a sum divided loses its remainder. And an optimizer
 * wants the whole sum. */
static void check_scale(struct check *c, int64_t id)
{
    const struct op *op = &c->plan->ops[id];
    int scales = op->kind == OP_UPDATE && contents_scaled(c->plan);
    if (op->kind != OP_UPDATE && (op->kind != OP_SCALE || dtype_is_float(c->plan->dtype)))
        return;
    struct extents *memory = contents_memory(&c->contents, op->dst.rank, op->dst.memory);
    for (int64_t i = extents_find(memory, op->dst.first);
         i < memory->n && memory->items[i].first < op->dst.first + op->dst.count; i++)
        if (!contents_is_sum(&c->contents, &memory->items[i],
                             contents_newest(&c->contents, memory->items[i].node), scales, 0))
            report_sum(c, (struct finding){.kind = FINDING_SCALE, .op = id,
                                           .where = check_span(memory, i, op->dst),
                                           .wanted = WANT_SUM},
                       &memory->items[i],
                       contents_newest(&c->contents, memory->items[i].node));
}

enum status check_sums_of(struct check *c, int64_t id, struct error *err)
{
    enum status status = STATUS_OK;
    const struct op *op = &c->plan->ops[id];
    if (op->src.count > 0)
        TRY(check_written(c, id, op->src, err));
    if (op->kind == OP_REDUCE || op->kind == OP_SCALE || op->kind == OP_UPDATE)
        TRY(check_written(c, id, op->dst, err));
    check_scale(c, id);
    TRY(check_overwritten(c, id, err));
out:
    return status;
}

void check_sums_at_end(struct check *c)
{
    judge_endings(c);
    judge_end(c);
}
