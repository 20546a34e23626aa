/* plan.c - the list itself: append, cut into parts, give names. */
#include "ring/plan.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"
#include "ring/order.h"

enum status plan_init(struct plan *plan, int n_ranks, int64_t count, enum dtype dtype,
                      enum redop redop, struct error *err)
{
    *plan = (struct plan){
        .n_ranks = n_ranks, .count = count, .dtype = dtype, .redop = redop,
        .iterations = 1, .pieces = 1, .slots = 1,
    };
    if (n_ranks < 1 || n_ranks > PLAN_MAX_RANKS)
        return fail(err, STATUS_USAGE, "%d ranks: from 1 to %d are possible", n_ranks,
                    PLAN_MAX_RANKS);
    if (count < 0 || count > INT64_MAX / 16 / n_ranks)
        return fail(err, STATUS_USAGE,
                    "%" PRId64 " elements: from 0 to %" PRId64 " are possible with %d ranks", count,
                    INT64_MAX / 16 / n_ranks, n_ranks);
    return STATUS_OK;
}

void plan_free(struct plan *plan)
{
    free(plan->names);
    free(plan->names_text);
    free(plan->ops);
    free(plan->waits);
    memset(plan, 0, sizeof *plan);
}

enum status plan_append(struct plan *plan, struct op op, const struct wait *waits, int n_waits,
                        int64_t *id, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(interrupt_seen(err));
    TRY(make_room((void **)&plan->ops, plan->n_ops + 1, &plan->ops_capacity, sizeof op, "the plan",
                  err));
    TRY(make_room((void **)&plan->waits, plan->n_waits + n_waits, &plan->waits_capacity,
                  sizeof *waits, "the plan", err));
    op.first_wait = plan->n_waits;
    op.n_waits = 0;
    for (int i = 0; i < n_waits; i++)
        if (waits[i].op != NONE) {
            plan->waits[plan->n_waits++] = waits[i];
            op.n_waits++;
        }
    if (id)
        *id = plan->n_ops;
    plan->ops[plan->n_ops++] = op;
out:
    return status;
}

enum status plan_add_wait(struct plan *plan, int64_t id, struct wait wait, struct error *err)
{
    struct op *op = &plan->ops[id];
    enum status status = make_room((void **)&plan->waits, plan->n_waits + op->n_waits + 1,
                                   &plan->waits_capacity, sizeof wait, "the plan", err);
    if (status != STATUS_OK)
        return status;
    /* its list moves to the end, unless it stands there already; the gap that it leaves goes with
     * the next plan_drop_implied */
    if (op->first_wait + op->n_waits != plan->n_waits) {
        for (int i = 0; i < op->n_waits; i++)
            plan->waits[plan->n_waits + i] = plan->waits[op->first_wait + i];
        op->first_wait = plan->n_waits;
        plan->n_waits += op->n_waits;
    }
    plan->waits[plan->n_waits++] = wait;
    op->n_waits++;
    return STATUS_OK;
}

enum status plan_drop_implied(struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    struct order order = {0};
    struct wait *waits = NULL;
    struct { int64_t first; int n; } *ranges = NULL;
    int64_t kept = 0;
    TRY(order_open(&order, plan, err));
    /* The walk looks at an op's waits again when it leaves it: so the list that stays is written
     * beside the old one. */
    TRY(allocate((void **)&waits, plan->n_waits, sizeof *waits, "the plan's waits", err));
    TRY(allocate((void **)&ranges, plan->n_ops, sizeof *ranges, "the plan's waits", err));
    for (;;) {
        int64_t id;
        TRY(order_next(&order, &id, err));
        if (id == NONE)
            break;
        const struct op *op = &plan->ops[id];
        ranges[id].first = kept;
        for (int i = 0; i < op->n_waits; i++)
            if (order_implied(&order, i) == NONE)
                waits[kept++] = plan->waits[op->first_wait + i];
        ranges[id].n = (int)(kept - ranges[id].first);
    }
    if (order.n_sequence < plan->n_ops)
        TRY(fail(err, STATUS_USAGE, "the plan can never finish: some ops wait in a circle"));
    for (int64_t id = 0; id < plan->n_ops; id++) {
        plan->ops[id].first_wait = ranges[id].first;
        plan->ops[id].n_waits = ranges[id].n;
    }
    if (kept > 0)
        memcpy(plan->waits, waits, (size_t)kept * sizeof *waits);
    plan->n_waits = kept;
out:
    free(waits);
    free(ranges);
    order_close(&order);
    return status;
}

void plan_part(int64_t base, int64_t total, int n, int i, int64_t *first, int64_t *count)
{
    int64_t size = total / n, longer = total % n;
    *first = base + i * size + (i < longer ? i : longer);
    *count = size + (i < longer);
}

int plan_segment(const struct plan *plan, int64_t element)
{
    int64_t size = plan->count / plan->n_ranks, longer = plan->count % plan->n_ranks;
    int64_t in_longer = longer * (size + 1);
    return (int)(element < in_longer ? element / (size + 1)
                                     : longer + (element - in_longer) / size);
}

static const char *const kind_names[] = {"copy", "reduce", "compute", "scale", "update"};
static const char *const lane_names[] = {"compute", "send", "reduce"};
static const char *const memory_names[] = {"data", "inbox"};
static const char *const reason_names[] = {"ready", "arrived", "drained", "serial"};

const char *op_kind_name(enum op_kind kind) { return kind_names[kind]; }
const char *lane_name(enum lane lane) { return lane_names[lane]; }
const char *memory_name(enum memory memory) { return memory_names[memory]; }
const char *wait_reason_name(enum wait_reason why) { return reason_names[why]; }

enum lane op_usual_lane(enum op_kind kind)
{
    return kind == OP_COPY                             ? LANE_SEND
           : kind == OP_COMPUTE || kind == OP_UPDATE ? LANE_COMPUTE
                                                       : LANE_REDUCE;
}

static const struct {
    const char *name;
    size_t offset;
} labels[N_OP_LABELS] = {
    {"iteration", offsetof(struct op, iteration)}, {"bucket", offsetof(struct op, bucket)},
    {"step", offsetof(struct op, step)},           {"segment", offsetof(struct op, segment)},
    {"piece", offsetof(struct op, piece)},         {"layer", offsetof(struct op, layer)},
};

const char *op_label_name(int i) { return labels[i].name; }
int *op_label(struct op *op, int i) { return (int *)((char *)op + labels[i].offset); }

const char *op_name(const struct plan *plan, int64_t id, char buffer[OP_NAME_SIZE])
{
    const struct op *op = &plan->ops[id];
    char *end = buffer, *limit = buffer + OP_NAME_SIZE;
    if (plan->names)
        return plan->names[id];
    if (plan->iterations > 1 && op->iteration != NONE)
        end += snprintf(end, (size_t)(limit - end), "i%d.", op->iteration);
    if (op->bucket != NONE)
        end += snprintf(end, (size_t)(limit - end), "b%d.", op->bucket);
    if (op->layer != NONE)
        end += snprintf(end, (size_t)(limit - end), "l%d.", op->layer);
    if (op->step != NONE)
        end += snprintf(end, (size_t)(limit - end), "s%d.", op->step);
    end += snprintf(end, (size_t)(limit - end), "%s.r%d", kind_names[op->kind], op->rank);
    if ((plan->pieces > 1 || op->kind == OP_COMPUTE) && op->piece != NONE)
        snprintf(end, (size_t)(limit - end), ".p%d", op->piece);
    return buffer;
}

const char *plan_step_title(const struct plan *plan, int iteration, int step, int own_steps,
                            char buffer[PLAN_TITLE_SIZE])
{
    char *end = buffer, *limit = buffer + PLAN_TITLE_SIZE;
    if (plan->iterations > 1)
        end += snprintf(end, (size_t)(limit - end), "iteration %d, ", iteration);
    end += snprintf(end, (size_t)(limit - end), "step s=%d (%d of %d)", step, step + 1,
                    own_steps ? own_steps : ring_steps(plan->n_ranks));
    if (!own_steps)
        snprintf(end, (size_t)(limit - end),
                 ring_gathers(plan->n_ranks, step) ? ", all-gather" : ", scatter-reduce");
    return buffer;
}

const char *plan_bucket_title(int bucket, int n, char buffer[PLAN_TITLE_SIZE])
{
    snprintf(buffer, PLAN_TITLE_SIZE, "bucket %d of %d (B%d)", bucket, n, n - 1 - bucket);
    return buffer;
}

int plan_last_step(const struct plan *plan)
{
    int last = NONE;
    for (int64_t id = 0; id < plan->n_ops; id++)
        last = plan->ops[id].step > last ? plan->ops[id].step : last;
    return last;
}

int plan_last_bucket(const struct plan *plan)
{
    int last = NONE;
    for (int64_t id = 0; id < plan->n_ops; id++)
        last = plan->ops[id].bucket > last ? plan->ops[id].bucket : last;
    return last;
}
