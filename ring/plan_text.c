/* plan_text.c - a plan, written as lines of text. */
#include "ring/plan_text.h"

#include <inttypes.h>

#include "ring/goal.h"

static void write_span(FILE *file, const char *before, const struct span *s)
{
    fprintf(file, "%s%d.%s[%" PRId64 ":%" PRId64 "]", before, s->rank, memory_name(s->memory),
            s->first, s->first + s->count);
}

static void write_op(const struct plan *plan, int64_t id, FILE *file)
{
    struct op op = plan->ops[id];
    char name[OP_NAME_SIZE];
    int binary = op.kind == OP_COPY || op.kind == OP_REDUCE;
    fprintf(file, "%s: %s", op_name(plan, id, name), op_kind_name(op.kind));
    if (binary)
        write_span(file, " ", &op.src);
    write_span(file, binary ? " -> " : " ", &op.dst);
    if (op.lane != op_usual_lane(op.kind) || op.rank != (op.kind == OP_COPY ? op.src : op.dst).rank)
        fprintf(file, " lane %d.%s", op.rank, lane_name(op.lane));
    if (op.scaled)
        fprintf(file, " scaled");
    if (op.cost_ns > 0)
        fprintf(file, " takes %" PRId64, op.cost_ns);
    for (int i = 0; i < N_OP_LABELS; i++)
        if (*op_label(&op, i) != NONE && (i > 0 || op.iteration > 0))
            fprintf(file, " %s %d", op_label_name(i), *op_label(&op, i));
    for (int i = 0; i < op.n_waits; i++) {
        const struct wait *wait = &plan->waits[op.first_wait + i];
        fprintf(file, " after %s %s", op_name(plan, wait->op, name),
                wait_reason_name(wait->reason));
    }
    fputc('\n', file);
}

void plan_write(const struct plan *plan, FILE *file)
{
    fprintf(file, "plan 1\nranks %d\ncount %" PRId64 "\ngoal %s", plan->n_ranks, plan->count,
            goal_name(plan->goal));
    if (goal_has_root(plan->goal))
        fprintf(file, " %d", plan->root);
    fprintf(file, "\ndtype %s\nredop %s\n", dtype_name(plan->dtype), redop_name(plan->redop));
    fprintf(file, "iterations %d\npieces %d\nslots %d\ninbox %" PRId64 "\n", plan->iterations,
            plan->pieces, plan->slots, plan->inbox_count);
    if (plan->updates)
        fprintf(file, "updates %d\n", plan->updates);
    for (int64_t id = 0; id < plan->n_ops; id++)
        write_op(plan, id, file);
}
