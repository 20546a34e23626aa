/* check.c - one walk over the plan serves both proofs: order.h says what has surely happened,
 * contents.h what every element holds, and the extents they share remember who touched it last. */
#include "ring/check.h"

#include <stdlib.h>
#include <string.h>

#include "ring/check_parts.h"

/* ---- noting ---- */

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
        struct finding *old = check_place(proof, f->kind, i);
        if (old->op != f->op)
            return 0;
        if (joins(old, f)) {
            old->where.count += f->where.count;
            return 1;
        }
    }
    return 0;
}

struct finding *check_report(struct proof *proof, struct finding f)
{
    int64_t n = proof->counts[f.kind];
    struct finding *last =
        n > 0 && n <= PROOF_MAX_FINDINGS ? check_place(proof, f.kind, n - 1) : NULL;
    if (finding_is_hazard(&f) && extends_hazard(proof, &f))
        return NULL;
    if (last && joins(last, &f)) {
        last->where.count += f.where.count;
        return NULL;
    }
    proof->counts[f.kind]++;
    if (n >= PROOF_MAX_FINDINGS)
        return NULL;
    *check_place(proof, f.kind, n) = f;
    return check_place(proof, f.kind, n);
}

/* What is wrong alike on several ranks is told once. */
static void join_ranks(struct proof *proof)
{
    int64_t n = 0;
    for (int64_t i = 0; i < proof->counts[FINDING_SUM]; i++) {
        const struct finding *f = check_place(proof, FINDING_SUM, i);
        int64_t k = 0;
        for (; k < n; k++) {
            struct finding *g = check_place(proof, FINDING_SUM, k);
            if (g->op == f->op && g->node == f->node && g->shift == f->shift &&
                g->wanted == f->wanted && g->where.first == f->where.first &&
                g->where.count == f->where.count && g->where.rank + g->n_ranks == f->where.rank) {
                g->n_ranks++;
                break;
            }
        }
        if (k == n)
            *check_place(proof, FINDING_SUM, n++) = *f;
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
            proof->findings[n++] = *check_place(proof, (enum finding_kind)kind, i);
    }
    proof->n_remarks = n - proof->n_findings;
}

/* ---- ordering ---- */

static void require(struct check *c, int64_t other, int64_t id, enum finding_kind kind,
                    struct span where)
{
    if (other == NONE || other == id || order_has(&c->order, other))
        return;
    check_report(c->proof,
                 (struct finding){.kind = kind, .op = id, .other = other, .where = where});
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
    while (old != NONE && !check_same_lane(c->plan, c->readers[old].op, id)) {
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
        require(c, memory->items[i].writer, id, FINDING_READ_AFTER_WRITE,
                check_span(memory, i, span));
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
    int reads_too = op->kind == OP_REDUCE || op->kind == OP_SCALE || op->kind == OP_UPDATE;
    int64_t from, to;
    enum status status = STATUS_OK;
    TRY(extents_cut(memory, op->dst.first, op->dst.count, &from, &to, &c->order.work, err));
    for (int64_t i = from; i < to; i++) {
        struct extent *extent = &memory->items[i];
        struct span where = check_span(memory, i, op->dst);
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
            const struct finding *f = check_place(c->proof, (enum finding_kind)kind, i);
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
                if (needed[k] == check_place(c->proof, (enum finding_kind)kind, i)->other)
                    *check_place(c->proof, (enum finding_kind)kind, kept++) =
                        *check_place(c->proof, (enum finding_kind)kind, i);
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
            check_report(c->proof, (struct finding){.kind = REMARK_REDUNDANT, .op = id,
                                                    .other = wait->op, .via = via});
    }
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
        TRY(check_read(c, id, op->src, err));
    TRY(check_write(c, id, err));
    if (memcmp(before, c->proof->counts, sizeof before) != 0)
        TRY(assume_cured(c, before, err));
    TRY(check_sums_of(c, id, err));
    TRY(contents_apply(&c->contents, op, err));
    c->order.work += c->contents.work;
    c->contents.work = 0;
out:
    return status;
}

/* ---- all of it ---- */

static enum status prove(struct check *c, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = c->plan;
    TRY(order_open(&c->order, plan, err));
    if (c->order.n_sequence < plan->n_ops)
        TRY(check_stuck(c, err));
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
    check_sums_at_end(c);
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
    for (int kind = FINDING_SCALE; kind <= FINDING_SUM && c.contents.nodes; kind++)
        for (int64_t i = 0; i < proof->counts[kind] && i < PROOF_MAX_FINDINGS; i++)
            finding_describe_sum(check_place(proof, (enum finding_kind)kind, i), &c.contents);
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
