/* check.c - one walk over the plan serves both proofs: order.h says what has surely happened,
 * contents.h what every element holds, and the extents they share remember who touched it last. */
#include "ring/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/findings.h"
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

/* ---- noting ---- */

/* While the proof goes on, a kind's findings stand in places of its own. */
static struct finding *place_of(const struct proof *proof, enum finding_kind kind, int64_t i)
{
    return &proof->findings[(int)kind * PROOF_MAX_FINDINGS + i];
}

/* A finding about the same ops in the next stretch only makes the one just found longer. */
static int joins(const struct finding *last, const struct finding *f)
{
    return last->op == f->op && last->other == f->other && last->node == f->node &&
           last->shift == f->shift && last->wanted == f->wanted &&
           last->where.rank == f->where.rank && last->where.memory == f->where.memory &&
           last->where.first + last->where.count == f->where.first && f->where.count > 0;
}

/* Two pairs of ops may collide in every other stretch: each finding grows. */
static int extends_hazard(struct proof *proof, const struct finding *f)
{
    for (int64_t i = proof->counts[f->kind] - 1; i >= 0 && i < PROOF_MAX_FINDINGS; i--) {
        struct finding *old = place_of(proof, f->kind, i);
        if (old->op != f->op)
            return 0;
        if (joins(old, f)) {
            old->where.count += f->where.count;
            return 1;
        }
    }
    return 0;
}

/* Returns the finding where it is to be kept and new, for details; else NULL. */
static struct finding *report(struct proof *proof, struct finding f)
{
    int64_t n = proof->counts[f.kind];
    struct finding *last = n > 0 && n <= PROOF_MAX_FINDINGS ? place_of(proof, f.kind, n - 1) : NULL;
    if (finding_is_hazard(&f) && extends_hazard(proof, &f))
        return NULL;
    if (last && joins(last, &f)) {
        last->where.count += f.where.count;
        return NULL;
    }
    proof->counts[f.kind]++;
    if (n >= PROOF_MAX_FINDINGS)
        return NULL;
    *place_of(proof, f.kind, n) = f;
    return place_of(proof, f.kind, n);
}

/* What is wrong alike on several ranks is told once. */
static void join_ranks(struct proof *proof)
{
    int64_t n = 0;
    for (int64_t i = 0; i < proof->counts[FINDING_SUM]; i++) {
        const struct finding *f = place_of(proof, FINDING_SUM, i);
        int64_t k = 0;
        for (; k < n; k++) {
            struct finding *g = place_of(proof, FINDING_SUM, k);
            if (g->op == f->op && g->node == f->node && g->shift == f->shift &&
                g->wanted == f->wanted && g->where.first == f->where.first &&
                g->where.count == f->where.count && g->where.rank + g->n_ranks == f->where.rank) {
                g->n_ranks++;
                break;
            }
        }
        if (k == n)
            *place_of(proof, FINDING_SUM, n++) = *f;
    }
    proof->counts[FINDING_SUM] = n;
}

/* All findings in one row, kind after kind. */
static void close_ranks(struct proof *proof)
{
    int n = 0;
    if (proof->counts[FINDING_SUM] <= PROOF_MAX_FINDINGS)
        join_ranks(proof);
    for (int kind = 0; kind < N_FINDING_KINDS; kind++) {
        if (kind == N_FAULT_KINDS)
            proof->n_findings = n;
        for (int64_t i = 0; i < proof->counts[kind] && i < PROOF_MAX_FINDINGS; i++)
            proof->findings[n++] = *place_of(proof, (enum finding_kind)kind, i);
    }
    proof->n_remarks = n - proof->n_findings;
}

static struct span span_of(const struct extents *memory, int64_t i, struct span within)
{
    within.first = memory->items[i].first;
    within.count = extents_length(memory, i);
    return within;
}

/* ---- ordering ---- */

static void require(struct check *c, int64_t other, int64_t id, enum finding_kind kind,
                    struct span where)
{
    if (other == NONE || other == id || order_has(&c->order, other))
        return;
    report(c->proof, (struct finding){.kind = kind, .op = id, .other = other, .where = where});
}

static int same_lane(const struct plan *plan, int64_t a, int64_t b)
{
    const struct op *x = &plan->ops[a], *y = &plan->ops[b];
    return x->rank == y->rank && x->lane == y->lane;
}

#define MOST_READERS (1 << 25)

/* Puts a cell before a list that may be shared by several stretches. */
static enum status prepend(struct check *c, int64_t op, int64_t *list, struct error *err)
{
    if (c->n_readers == MOST_READERS)
        return fail(err, STATUS_MACHINE, "too much to prove: more than %d reads to remember, by op "
                    "and stretch of elements", MOST_READERS);
    enum status status = make_room((void **)&c->readers, c->n_readers + 1, &c->readers_capacity,
                                   sizeof *c->readers, "the proof", err);
    if (status != STATUS_OK)
        return status;
    c->readers[c->n_readers] = (struct reader){op, *list};
    *list = c->n_readers++;
    return STATUS_OK;
}

/* Of one lane only the latest reader matters: it takes the place of an older one, so that no list
 * is longer than there are lanes. A shared list is copied first. */
static enum status remember_reader(struct check *c, struct extent *extent, int64_t id,
                                   struct error *err)
{
    enum status status = STATUS_OK;
    int64_t old = extent->readers, copy = NONE;
    while (old != NONE && !same_lane(c->plan, c->readers[old].op, id)) {
        old = c->readers[old].next;
        c->order.work += 8;
    }
    if (old == NONE)
        return prepend(c, id, &extent->readers, err);
    if (extent->shared) {
        for (int64_t r = extent->readers; r != NONE; r = c->readers[r].next) {
            TRY(prepend(c, c->readers[r].op, &copy, err));
            if (r == old)
                old = copy;
            c->order.work += 8;
        }
        extent->readers = copy;
        extent->shared = 0;
    }
    c->readers[old].op = id;
out:
    return status;
}

static enum status check_read(struct check *c, int64_t id, struct span span, struct error *err)
{
    enum status status = STATUS_OK;
    struct extents *memory = contents_memory(&c->contents, span.rank, span.memory);
    int64_t from, to;
    TRY(extents_cut(memory, span.first, span.count, &from, &to, &c->order.work, err));
    for (int64_t i = from; i < to; i++) {
        require(c, memory->items[i].writer, id, FINDING_READ_AFTER_WRITE, span_of(memory, i, span));
        TRY(remember_reader(c, &memory->items[i], id, err));
    }
    c->order.work += 16 * (to - from);
out:
    return status;
}

static enum status check_write(struct check *c, int64_t id, struct error *err)
{
    const struct op *op = &c->plan->ops[id];
    struct extents *memory = contents_memory(&c->contents, op->dst.rank, op->dst.memory);
    int reads_too = op->kind == OP_REDUCE || op->kind == OP_SCALE;
    int64_t from, to;
    enum status status = STATUS_OK;
    TRY(extents_cut(memory, op->dst.first, op->dst.count, &from, &to, &c->order.work, err));
    for (int64_t i = from; i < to; i++) {
        struct extent *extent = &memory->items[i];
        struct span where = span_of(memory, i, op->dst);
        require(c, extent->writer, id,
                reads_too ? FINDING_READ_AFTER_WRITE : FINDING_WRITE_AFTER_WRITE, where);
        for (int64_t r = extent->readers; r != NONE; r = c->readers[r].next) {
            require(c, c->readers[r].op, id, FINDING_WRITE_AFTER_READ, where);
            c->order.work += 8;
        }
        extent->writer = id;
        extent->readers = NONE;
        extent->shared = 0;
    }
    c->order.work += 16 * (to - from);
out:
    return status;
}

/* The hazards of an op stand last in their kinds: items[first[kind] .. counts[kind]). The one about
 * the latest op that still counts as unordered, or NULL. */
static const struct finding *latest_hazard(const struct check *c, const int64_t *first)
{
    const struct finding *latest = NULL;
    for (int kind = FINDING_READ_AFTER_WRITE; kind <= FINDING_WRITE_AFTER_WRITE; kind++)
        for (int64_t i = first[kind]; i < c->proof->counts[kind] && i < PROOF_MAX_FINDINGS; i++) {
            const struct finding *f = place_of(c->proof, (enum finding_kind)kind, i);
            if (!order_has(&c->order, f->other) &&
                (!latest || order_position(&c->order, f->other) >
                                order_position(&c->order, latest->other)))
                latest = f;
        }
    return latest;
}

/* From here on this op's hazards count as cured. What the wait for one would cure, too, is taken
 * back: one wait, one finding. `first`: see latest_hazard. */
static enum status assume_cured(struct check *c, const int64_t *first, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t needed[N_FINDING_KINDS * PROOF_MAX_FINDINGS];
    int n_needed = 0;
    for (const struct finding *f; (f = latest_hazard(c, first)) != NULL;) {
        needed[n_needed++] = f->other;
        TRY(order_assume(&c->order, f->other, err));
    }
    for (int kind = FINDING_READ_AFTER_WRITE; n_needed > 0 && kind <= FINDING_WRITE_AFTER_WRITE;
         kind++) {
        int64_t kept = first[kind];
        if (c->proof->counts[kind] > PROOF_MAX_FINDINGS)
            continue;
        for (int64_t i = first[kind]; i < c->proof->counts[kind]; i++)
            for (int k = 0; k < n_needed; k++)
                if (needed[k] == place_of(c->proof, (enum finding_kind)kind, i)->other)
                    *place_of(c->proof, (enum finding_kind)kind, kept++) =
                        *place_of(c->proof, (enum finding_kind)kind, i);
        c->proof->counts[kind] = kept;
    }
out:
    return status;
}

static void check_waits(struct check *c, int64_t id)
{
    const struct op *op = &c->plan->ops[id];
    for (int i = 0; i < op->n_waits; i++) {
        const struct wait *wait = &c->plan->waits[op->first_wait + i];
        int64_t via = wait->reason == WAIT_SERIAL ? NONE : order_implied(&c->order, i);
        c->proof->n_serial += wait->reason == WAIT_SERIAL;
        if (via != NONE)
            report(c->proof, (struct finding){.kind = REMARK_REDUNDANT, .op = id,
                                              .other = wait->op, .via = via});
    }
}

/* ---- sums ---- */

static void report_sum(struct check *c, struct finding f, const struct extent *extent,
                       int iteration)
{
    f.other = NONE;
    f.n_ranks = 1;
    f.node = extent->node;
    f.shift = extent->shift;
    struct finding *kept = report(c->proof, f);
    if (kept)
        finding_describe_sum(kept, &c->contents, iteration);
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

/* Elements of `where` get data of iteration `newer`: what they held was the end of theirs. */
static enum status check_endings(struct check *c, struct span where, int64_t id, int newer,
                                 struct error *err)
{
    enum status status = STATUS_OK;
    struct extents *memory = contents_memory(&c->contents, where.rank, where.memory);
    int64_t from, to;
    TRY(extents_cut(memory, where.first, where.count, &from, &to, &c->order.work, err));
    for (int64_t i = from; i < to; i++) {
        const struct extent *extent = &memory->items[i];
        int iteration = contents_newest(&c->contents, extent->node);
        if (iteration >= newer)
            continue;
        iteration = iteration < newer - 1 && iteration != NONE ? iteration : newer - 1;
        if (!goal_by_segment(c->plan)) {
            check_stretch(c, extent, span_of(memory, i, where), id, iteration, 0);
            continue;
        }
        TRY(make_room((void **)&c->endings, c->n_endings + 1, &c->endings_capacity,
                      sizeof *c->endings, "the proof", err));
        c->endings[c->n_endings++] =
            (struct ending){*extent, span_of(memory, i, where), id, iteration};
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
                          span_of(memory, i, (struct span){rank, MEMORY_DATA, 0, 0}), NONE,
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
        if (memory->items[i].writer == NONE)
            report(c->proof, (struct finding){.kind = FINDING_UNWRITTEN, .op = id, .other = NONE,
                                              .where = span_of(memory, i, span)});
out:
    return status;
}

/* Integers are divided after the sum: a part of a sum divided loses its remainder. */
static void check_scale(struct check *c, int64_t id)
{
    const struct op *op = &c->plan->ops[id];
    if (op->kind != OP_SCALE || dtype_is_float(c->plan->dtype))
        return;
    struct extents *memory = contents_memory(&c->contents, op->dst.rank, op->dst.memory);
    for (int64_t i = extents_find(memory, op->dst.first);
         i < memory->n && memory->items[i].first < op->dst.first + op->dst.count; i++)
        if (!contents_is_sum(&c->contents, &memory->items[i],
                             contents_newest(&c->contents, memory->items[i].node), 0))
            report_sum(c, (struct finding){.kind = FINDING_SCALE, .op = id,
                                           .where = span_of(memory, i, op->dst),
                                           .wanted = WANT_SUM},
                       &memory->items[i],
                       contents_newest(&c->contents, memory->items[i].node));
}

static enum status visit(struct check *c, int64_t id, struct error *err)
{
    enum status status = STATUS_OK;
    const struct op *op = &c->plan->ops[id];
    check_waits(c, id);
    if (op->dst.count == 0)
        return STATUS_OK;
    int64_t before[N_FINDING_KINDS];
    memcpy(before, c->proof->counts, sizeof before);
    if (op->src.count > 0)
        TRY(check_written(c, id, op->src, err));
    if (op->kind == OP_REDUCE || op->kind == OP_SCALE)
        TRY(check_written(c, id, op->dst, err));
    if (op->src.count > 0)
        TRY(check_read(c, id, op->src, err));
    TRY(check_write(c, id, err));
    if (memcmp(before, c->proof->counts, sizeof before) != 0)
        TRY(assume_cured(c, before, err));
    check_scale(c, id);
    TRY(check_overwritten(c, id, err));
    TRY(contents_apply(&c->contents, op, err));
    c->order.work += c->contents.work;
    c->contents.work = 0;
out:
    return status;
}

/* ---- what cannot run ---- */

static int leaves(const struct plan *plan, struct span span)
{
    int64_t count = span.memory == MEMORY_DATA ? plan->count : plan->inbox_count;
    return span.count < 0 || span.first < 0 || span.first > count - span.count;
}

/* Everything else rests on spans that lie where memory is. */
static void check_spans(const struct plan *plan, struct proof *proof)
{
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        struct finding f = {.kind = FINDING_SPAN, .op = id, .other = NONE, .where = op->dst};
        const struct span *s = &op->src, *d = &op->dst;
        struct finding *kept = NULL;
        if (leaves(plan, *d) || (s->count != 0 && leaves(plan, *s))) {
            f.where = leaves(plan, *d) ? *d : *s;
            kept = report(proof, f);
            if (kept)
                snprintf(kept->detail, sizeof kept->detail, "but rank %d's %s has %" PRId64
                         " elements", f.where.rank, memory_name(f.where.memory),
                         f.where.memory == MEMORY_DATA ? plan->count : plan->inbox_count);
        } else if (s->count != 0 && s->rank == d->rank && s->memory == d->memory &&
                   s->first < d->first + d->count && d->first < s->first + s->count) {
            f.where = *s;
            kept = report(proof, f);
            if (kept)
                snprintf(kept->detail, sizeof kept->detail,
                         "and overwrites some of the elements that it reads");
        } else if (op->kind != OP_COPY && d->rank != op->rank) {
            f.kind = FINDING_LANE;
            report(proof, f);
        } else if (op->kind == OP_COPY && s->rank != op->rank) {
            f.kind = REMARK_PULL;
            report(proof, f);
        } else if (op->kind == OP_REDUCE && s->rank != op->rank && s->count > 0) {
            f.kind = FINDING_PEER;
            f.where = *s;
            report(proof, f);
        }
    }
}

/* Waits that no order of ops can satisfy, each for itself. */
static void check_later(struct check *c)
{
    const struct plan *plan = c->plan;
    for (int64_t id = 0; id < plan->n_ops; id++)
        for (int i = 0; i < plan->ops[id].n_waits; i++) {
            int64_t other = plan->waits[plan->ops[id].first_wait + i].op;
            if (other == id || (other > id && same_lane(plan, id, other)))
                report(c->proof,
                       (struct finding){.kind = FINDING_LATER, .op = id, .other = other});
        }
}

/* "a waits for c, c waits for b, b follows a on lane 0.send": once around, from the op that is
 * listed first. Circles of one wait that check_later has told are left out. */
static void report_circle(struct check *c, int64_t first)
{
    struct finding f = {.kind = FINDING_CIRCLE, .other = NONE};
    char text[sizeof f.detail] = "", name[OP_NAME_SIZE], other[OP_NAME_SIZE];
    size_t used = 0;
    int64_t id = first;
    int wait;
    do
        id = order_stuck(&c->order, id, &wait);
    while (id > first || (id < first && (first = id, 1)));
    f.op = id = first;
    do {
        int64_t next = order_stuck(&c->order, id, &wait);
        const struct op *op = &c->plan->ops[id];
        if (wait != NONE && next >= id && same_lane(c->plan, id, next))
            return;
        int n = wait == NONE ? snprintf(text + used, sizeof text - used, "%s%s follows %s on lane "
                                        "%d.%s", used ? ", " : "", op_name(c->plan, id, name),
                                        op_name(c->plan, next, other), op->rank,
                                        lane_name(op->lane))
                             : snprintf(text + used, sizeof text - used, "%s%s waits for %s",
                                        used ? ", " : "", op_name(c->plan, id, name),
                                        op_name(c->plan, next, other));
        if (used + (size_t)n + 5 > sizeof text) {
            snprintf(text + used, sizeof text - used, ", ..");
            used = sizeof text;
        } else {
            used += (size_t)n;
        }
        id = next;
    } while (id != first && used < sizeof text);
    struct finding *kept = report(c->proof, f);
    if (kept)
        memcpy(kept->detail, text, sizeof text);
}

/* Followed back from each op that never runs, order_stuck() leads into a circle: each is told
 * once. */
static enum status check_circles(struct check *c, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t *walk = NULL; /* [n_ops]: the walk that came by first, by its first op; NONE = none */
    int wait;
    TRY(allocate((void **)&walk, c->plan->n_ops, sizeof *walk, "the proof", err));
    for (int64_t id = 0; id < c->plan->n_ops; id++)
        walk[id] = NONE;
    for (int64_t id = 0; id < c->plan->n_ops; id++) {
        int64_t at = id;
        if (order_runs(&c->order, id))
            continue;
        for (; walk[at] == NONE; at = order_stuck(&c->order, at, &wait))
            walk[at] = id;
        if (walk[at] == id)
            report_circle(c, at);
    }
out:
    free(walk);
    return status;
}

/* ---- all of it ---- */

static enum status prove(struct check *c, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = c->plan;
    TRY(order_open(&c->order, plan, err));
    if (c->order.n_sequence < plan->n_ops) {
        check_later(c);
        TRY(check_circles(c, err));
    }
    TRY(contents_init(&c->contents, plan, err));
    for (;;) {
        int64_t id;
        TRY(order_next(&c->order, &id, err));
        if (id == NONE)
            break;
        TRY(visit(c, id, err));
    }
    if (c->order.n_sequence < plan->n_ops || plan->count == 0)
        goto out; /* what is there when it stops is not the end */
    judge_endings(c);
    judge_end(c);
out:
    return status;
}

enum status check_plan(const struct plan *plan, struct proof *proof, struct error *err)
{
    enum status status = STATUS_OK;
    struct check c = {.plan = plan, .proof = proof};
    memset(proof, 0, sizeof *proof);
    TRY(allocate((void **)&proof->findings, N_FINDING_KINDS * PROOF_MAX_FINDINGS,
                 sizeof *proof->findings, "the proof", err));
    check_spans(plan, proof);
    if (proof->counts[FINDING_SPAN] + proof->counts[FINDING_LANE] == 0)
        TRY(prove(&c, err));
    if (proof_hazards(proof) > 0)
        proof->counts[REMARK_REDUNDANT] = 0; /* told of an order that is not there yet */
    close_ranks(proof);
out:
    order_close(&c.order);
    contents_free(&c.contents);
    free(c.readers);
    free(c.endings);
    if (status != STATUS_OK)
        proof_free(proof);
    return status;
}

void proof_free(struct proof *proof)
{
    free(proof->findings);
    memset(proof, 0, sizeof *proof);
}

int64_t proof_total(const struct proof *proof)
{
    int64_t total = 0;
    for (int kind = 0; kind < N_FAULT_KINDS; kind++)
        total += proof->counts[kind];
    return total;
}

int64_t proof_hazards(const struct proof *proof)
{
    return proof->counts[FINDING_READ_AFTER_WRITE] + proof->counts[FINDING_WRITE_AFTER_READ] +
           proof->counts[FINDING_WRITE_AFTER_WRITE];
}

int proof_can_run(const struct proof *proof)
{
    return proof->counts[FINDING_SPAN] + proof->counts[FINDING_LANE] +
               proof->counts[FINDING_LATER] + proof->counts[FINDING_CIRCLE] == 0;
}
