/* check.c - one walk over the plan serves both proofs: order.h says what has surely happened,
 * contents.h what every element holds, and the extents they share remember who touched it last. */
#include "ring/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/contents.h"
#include "ring/order.h"

struct reader {
    int64_t op;
    int64_t next; /* in check.readers, or NONE */
};

struct check {
    const struct plan *plan;
    struct proof *proof;
    struct order order;
    struct contents contents;
    struct reader *readers; /* cells of lists that start in the extents */
    int64_t n_readers, readers_capacity;
};

/* A hazard between the same two ops in the next stretch only makes the one just found longer. */
static int joins(const struct finding *last, const struct finding *f)
{
    return last->kind == f->kind && last->op == f->op && last->other == f->other &&
           last->where.rank == f->where.rank && last->where.memory == f->where.memory &&
           last->where.first + last->where.count == f->where.first &&
           strcmp(last->detail, f->detail) == 0;
}

static void report(struct proof *proof, struct finding f)
{
    struct finding *last = proof->n_findings ? &proof->findings[proof->n_findings - 1] : NULL;
    if (last && joins(last, &f)) {
        last->where.count += f.where.count;
        return;
    }
    proof->counts[f.kind]++;
    if (proof->n_findings < PROOF_MAX_FINDINGS)
        proof->findings[proof->n_findings++] = f;
}

static struct span span_of(const struct extents *memory, int64_t i, struct span within)
{
    within.first = memory->items[i].first;
    within.count = extents_length(memory, i);
    return within;
}

static void require(struct check *c, int64_t other, int64_t id, enum finding_kind kind,
                    struct span where)
{
    if (other != NONE && other != id && !order_has(&c->order, other))
        report(c->proof, (struct finding){.kind = kind, .op = id, .other = other, .where = where});
}

static enum status remember_reader(struct check *c, struct extent *extent, int64_t id,
                                   struct error *err)
{
    const struct op *ops = c->plan->ops, *op = &ops[id];
    int64_t next = extent->readers;
    /* of one lane only the latest reader matters */
    if (next != NONE && ops[c->readers[next].op].rank == op->rank &&
        ops[c->readers[next].op].lane == op->lane)
        next = c->readers[next].next;
    enum status status = make_room((void **)&c->readers, c->n_readers + 1, &c->readers_capacity,
                                   sizeof *c->readers, "the proof", err);
    if (status != STATUS_OK)
        return status;
    c->readers[c->n_readers] = (struct reader){id, next};
    extent->readers = c->n_readers++;
    return STATUS_OK;
}

static enum status check_read(struct check *c, int64_t id, struct span span, struct error *err)
{
    enum status status = STATUS_OK;
    struct extents *memory = contents_memory(&c->contents, span.rank, span.memory);
    int64_t from, to;
    TRY(extents_cut(memory, span.first, span.count, &from, &to, err));
    for (int64_t i = from; i < to; i++) {
        require(c, memory->items[i].writer, id, FINDING_READ_AFTER_WRITE, span_of(memory, i, span));
        TRY(remember_reader(c, &memory->items[i], id, err));
    }
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
    TRY(extents_cut(memory, op->dst.first, op->dst.count, &from, &to, err));
    for (int64_t i = from; i < to; i++) {
        struct extent *extent = &memory->items[i];
        struct span where = span_of(memory, i, op->dst);
        require(c, extent->writer, id,
                reads_too ? FINDING_READ_AFTER_WRITE : FINDING_WRITE_AFTER_WRITE, where);
        for (int64_t r = extent->readers; r != NONE; r = c->readers[r].next)
            require(c, c->readers[r].op, id, FINDING_WRITE_AFTER_READ, where);
        extent->writer = id;
        extent->readers = NONE;
    }
out:
    return status;
}

/* What an incomplete stretch holds: the ranks, and what else may be wrong with them. */
static void describe(const struct contents *contents, const struct extent *extent, int iteration,
                     char *text, size_t size)
{
    const struct node *node = extent->node == NONE ? NULL : &contents->nodes[extent->node];
    int wanted = contents->plan->redop == REDOP_AVG && contents->plan->n_ranks > 1;
    const char *wrong = "";
    for (int i = 0; node && i < node->n_terms; i++) {
        const struct term *t = &contents->terms[node->first_term + i];
        if (t->scales != wanted)
            wrong = wanted ? ", not scaled exactly once" : ", scaled";
        if (t->iteration != iteration)
            wrong = ", some of it from another iteration";
        if (t->apart + extent->shift != 0)
            wrong = ", some of it from other elements";
    }
    contents_ranks(contents, extent->node, text, size - 48);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", node ? wrong : " (nothing was written there)");
}

/* What the data must hold, for it to be overwritten by the next iteration or left at the end. */
static void check_sum(struct check *c, struct span span, int64_t id, int iteration)
{
    struct extents *memory = contents_memory(&c->contents, span.rank, span.memory);
    for (int64_t i = extents_find(memory, span.first);
         i < memory->n && memory->items[i].first < span.first + span.count; i++) {
        struct finding f = {.kind = FINDING_SUM, .op = id, .other = NONE,
                            .where = span_of(memory, i, span)};
        const struct extent *extent = &memory->items[i];
        if (contents_complete(&c->contents, extent, iteration))
            continue;
        describe(&c->contents, extent, iteration, f.detail, sizeof f.detail);
        report(c->proof, f);
    }
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
        if (!contents_is_sum(&c->contents, &memory->items[i], op->iteration, 0)) {
            struct finding f = {.kind = FINDING_SCALE, .op = id, .other = NONE,
                                .where = span_of(memory, i, op->dst)};
            contents_ranks(&c->contents, memory->items[i].node, f.detail, sizeof f.detail);
            report(c->proof, f);
        }
}

static enum status visit(struct check *c, int64_t id, struct error *err)
{
    enum status status = STATUS_OK;
    const struct op *op = &c->plan->ops[id];
    for (int i = 0; i < op->n_waits; i++) {
        const struct wait *wait = &c->plan->waits[op->first_wait + i];
        if (wait->reason == WAIT_SERIAL)
            c->proof->n_serial++;
        else
            c->proof->n_redundant += order_implied(&c->order, i);
    }
    if (op->dst.count == 0)
        return STATUS_OK;
    if (op->src.count > 0)
        TRY(check_read(c, id, op->src, err));
    TRY(check_write(c, id, err));
    check_scale(c, id);
    if (op->kind == OP_COMPUTE)
        check_sum(c, op->dst, id, op->iteration - 1);
    TRY(contents_apply(&c->contents, op, err));
out:
    return status;
}

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
        struct finding f = {.kind = FINDING_SPAN, .op = id, .other = NONE};
        const struct span *s = &op->src, *d = &op->dst;
        if (leaves(plan, *d) || (s->count != 0 && leaves(plan, *s))) {
            f.where = leaves(plan, *d) ? *d : *s;
            snprintf(f.detail, sizeof f.detail, "of which there are %" PRId64 " elements",
                     f.where.memory == MEMORY_DATA ? plan->count : plan->inbox_count);
            report(proof, f);
        } else if (s->count != 0 && s->rank == d->rank && s->memory == d->memory &&
                   s->first < d->first + d->count && d->first < s->first + s->count) {
            f.where = *s;
            snprintf(f.detail, sizeof f.detail, "which it also writes");
            report(proof, f);
        } else if (op->kind != OP_COPY &&
                   (d->rank != op->rank || (s->count && s->rank != op->rank))) {
            f.where = d->rank != op->rank ? *d : *s;
            snprintf(f.detail, sizeof f.detail, "but runs on rank %d, and a kernel reaches its own "
                     "rank's memory only", op->rank);
            report(proof, f);
        }
    }
}

static void check_circle(struct check *c)
{
    int64_t circle[7];
    int n = order_stuck(&c->order, circle, 7), whole = n < 7, shown = 0; /* 7: or more */
    if (n == 0)
        return;
    struct finding f = {.kind = FINDING_CIRCLE, .op = circle[0], .other = NONE};
    size_t used = 0;
    for (; shown < n + whole; shown++) {
        char buffer[OP_NAME_SIZE];
        const char *name = op_name(c->plan, circle[shown % n], buffer);
        if (used + strlen(name) + 16 > sizeof f.detail)
            break;
        used += (size_t)snprintf(f.detail + used, sizeof f.detail - used, "%s%s",
                                 shown ? ", before " : "", name);
    }
    if (shown < n + 1)
        snprintf(f.detail + used, sizeof f.detail - used, ", ..");
    report(c->proof, f);
}

enum status check_plan(const struct plan *plan, struct proof *proof, struct error *err)
{
    enum status status = STATUS_OK;
    struct check c = {.plan = plan, .proof = proof};
    memset(proof, 0, sizeof *proof);
    TRY(allocate((void **)&proof->findings, PROOF_MAX_FINDINGS, sizeof *proof->findings,
                 "the proof", err));
    check_spans(plan, proof);
    if (proof->n_findings > 0)
        goto out;
    TRY(order_open(&c.order, plan, err));
    TRY(contents_init(&c.contents, plan, err));
    for (;;) {
        int64_t id;
        TRY(order_next(&c.order, &id, err));
        if (id == NONE)
            break;
        TRY(visit(&c, id, err));
    }
    check_circle(&c);
    for (int rank = 0; rank < plan->n_ranks && plan->count > 0; rank++)
        check_sum(&c, (struct span){rank, MEMORY_DATA, 0, plan->count}, NONE,
                  plan->iterations - 1);
out:
    order_close(&c.order);
    contents_free(&c.contents);
    free(c.readers);
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
    for (int kind = 0; kind < N_FINDING_KINDS; kind++)
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
    return proof->counts[FINDING_SPAN] == 0 && proof->counts[FINDING_CIRCLE] == 0;
}

const char *finding_text(const struct plan *plan, const struct finding *f, char *buffer,
                         size_t size)
{
    char op_buffer[OP_NAME_SIZE], other_buffer[OP_NAME_SIZE], where[80];
    int hazard = f->kind >= FINDING_READ_AFTER_WRITE && f->kind <= FINDING_WRITE_AFTER_WRITE;
    const char *op = f->op == NONE ? "" : op_name(plan, f->op, op_buffer);
    const char *other = hazard ? op_name(plan, f->other, other_buffer) : "";
    const struct span *w = &f->where;
    snprintf(where, sizeof where, "%d.%s[%" PRId64 ":%" PRId64 "]", w->rank, memory_name(w->memory),
             w->first, w->first + w->count);
    const char *reason = f->kind == FINDING_WRITE_AFTER_READ ? "drained"
                         : hazard && plan->ops[f->other].kind == OP_COPY ? "arrived" : "ready";
    switch (f->kind) {
    case FINDING_SPAN:
        snprintf(buffer, size, "cannot run: %s touches %s, %s", op, where, f->detail);
        break;
    case FINDING_CIRCLE:
        snprintf(buffer, size, "can never finish: %s", f->detail);
        break;
    case FINDING_READ_AFTER_WRITE:
        snprintf(buffer, size,
                 "hazard, read after write: %s reads %s, which %s may not have written yet; "
                 "%s should wait for %s: %s", op, where, other, op, other, reason);
        break;
    case FINDING_WRITE_AFTER_READ:
        snprintf(buffer, size,
                 "hazard, write after read: %s overwrites %s, which %s may still be reading; "
                 "%s should wait for %s: %s", op, where, other, op, other, reason);
        break;
    case FINDING_WRITE_AFTER_WRITE:
        snprintf(buffer, size,
                 "hazard, write after write: %s and %s both write %s, and nothing says which "
                 "comes last; %s should wait for %s: %s", op, other, where, op, other, reason);
        break;
    case FINDING_SCALE:
        snprintf(buffer, size,
                 "scaled too early: %s divides %s, which holds %s and not yet the sum "
                 "of all %d ranks",
                 op, where, f->detail, plan->n_ranks);
        break;
    default:
        snprintf(
            buffer, size, "wrong sum: %s %s holds %s; wanted each of the %d ranks exactly once",
            f->op == NONE ? "at the end" : "when overwritten,", where, f->detail, plan->n_ranks);
    }
    return buffer;
}

const char *proof_line(const struct plan *plan, const struct proof *proof, char *buffer,
                       size_t size)
{
    int64_t total = proof_total(proof);
    int n = snprintf(buffer, size, "%" PRId64 " ops, %" PRId64 " waits: ", plan->n_ops,
                     plan->n_waits);
    size_t used = n > 0 && (size_t)n < size ? (size_t)n : 0;
    if (total == 0) {
        n = snprintf(buffer + used, size - used,
                     "no hazard; at the end every element holds each rank exactly once");
    } else {
        int64_t hazards = proof_hazards(proof), sums = proof->counts[FINDING_SUM];
        char parts[3][40] = {"", "", ""};
        if (hazards)
            snprintf(parts[0], sizeof parts[0], ", %" PRId64 " hazard%s", hazards,
                     hazards == 1 ? "" : "s");
        if (sums)
            snprintf(parts[1], sizeof parts[1], ", %" PRId64 " wrong sum%s", sums,
                     sums == 1 ? "" : "s");
        if (total > hazards + sums)
            snprintf(parts[2], sizeof parts[2], ", %" PRId64 " other", total - hazards - sums);
        const char *first = parts[0][0] ? parts[0] : parts[1][0] ? parts[1] : parts[2];
        n = snprintf(buffer + used, size - used, "REFUTED:%s%s%s", first + 1,
                     first == parts[0] ? parts[1] : "", first != parts[2] ? parts[2] : "");
    }
    used += n > 0 ? (size_t)n : 0;
    if (used < size && proof->n_redundant)
        used += (size_t)snprintf(buffer + used, size - used, "; %" PRId64 " redundant wait%s",
                                 proof->n_redundant, proof->n_redundant == 1 ? "" : "s");
    if (used < size && proof->n_serial)
        snprintf(buffer + used, size - used, "; %" PRId64 " serial", proof->n_serial);
    return buffer;
}
