/* check_stuck.c - what no run can carry out: spans where no memory is, kernels on lanes that are
 * not theirs, and ops that wait for what comes only when they are done. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/check_parts.h"

static int leaves(const struct plan *plan, struct span span)
{
    int64_t count = span.memory == MEMORY_DATA ? plan->count : plan->inbox_count;
    return span.count < 0 || span.first < 0 || span.first > count - span.count;
}

/* Everything else rests on spans that lie where memory is. */
void check_spans(const struct plan *plan, struct proof *proof)
{
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        struct finding f = {.kind = FINDING_SPAN, .op = id, .other = NONE, .where = op->dst};
        const struct span *s = &op->src, *d = &op->dst;
        struct finding *kept = NULL;
        if (leaves(plan, *d) || (s->count != 0 && leaves(plan, *s))) {
            f.where = leaves(plan, *d) ? *d : *s;
            kept = check_report(proof, f);
            if (kept)
                snprintf(kept->detail, sizeof kept->detail, "but rank %d's %s has %" PRId64
                         " elements", f.where.rank, memory_name(f.where.memory),
                         f.where.memory == MEMORY_DATA ? plan->count : plan->inbox_count);
        } else if (s->count != 0 && s->rank == d->rank && s->memory == d->memory &&
                   s->first < d->first + d->count && d->first < s->first + s->count) {
            f.where = *s;
            kept = check_report(proof, f);
            if (kept)
                snprintf(kept->detail, sizeof kept->detail,
                         "and overwrites some of the elements that it reads");
        } else if (op->kind != OP_COPY && d->rank != op->rank) {
            f.kind = FINDING_LANE;
            check_report(proof, f);
        } else if (op->kind == OP_COPY && s->rank != op->rank) {
            f.kind = REMARK_PULL;
            check_report(proof, f);
        } else if (op->kind == OP_REDUCE && s->rank != op->rank && s->count > 0) {
            f.kind = FINDING_PEER;
            f.where = *s;
            check_report(proof, f);
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
            if (other == id || (other > id && check_same_lane(plan, id, other)))
                check_report(c->proof,
                       (struct finding){.kind = FINDING_LATER, .op = id, .other = other});
        }
}

static int64_t earliest_of_circle(const struct order *order, int64_t id)
{
    int64_t first = id;
    int wait;
    for (int64_t at = order_stuck(order, id, &wait); at != id;
         at = order_stuck(order, at, &wait))
        first = at < first ? at : first;
    return first;
}

/* "a waits for c, c waits for b, b follows a on lane 0.send": once around, from the op that is
 * listed first. Circles of one wait that check_later has told are left out. */
static void report_circle(struct check *c, int64_t first)
{
    struct finding f = {.kind = FINDING_CIRCLE, .other = NONE};
    char text[sizeof f.detail] = "", name[OP_NAME_SIZE], other[OP_NAME_SIZE];
    size_t used = 0;
    int64_t id;
    int wait;
    f.op = first = id = earliest_of_circle(&c->order, first);
    do {
        int64_t next = order_stuck(&c->order, id, &wait);
        const struct op *op = &c->plan->ops[id];
        if (wait != NONE && next >= id && check_same_lane(c->plan, id, next))
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
    struct finding *kept = check_report(c->proof, f);
    if (kept)
        memcpy(kept->detail, text, sizeof text);
}

/* Followed back from each op that never runs, order_stuck() leads into one circle, which is told
 * once. Circles that share an op with it may show only when it is cured. */
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

enum status check_stuck(struct check *c, struct error *err)
{
    check_later(c);
    return check_circles(c, err);
}
