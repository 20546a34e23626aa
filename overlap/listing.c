/* listing.c - every op of an iteration: for each bucket the computes that make its gradients, then
 * the steps of its ring; at the end the optimizer. */
#include <inttypes.h>
#include <string.h>

#include "common/format.h"
#include "overlap/step_parts.h"
#include "ring/trace.h"

#define MOST_OPS 20000 /* listed */

#define NAME_WIDTH 28  /* longer names of layers have a line of their own */

static void print_op(const struct listing *l, int64_t id, FILE *out)
{
    const struct plan *plan = &l->it->story.plan;
    const struct op *op = &plan->ops[id];
    const struct timing *t = &l->it->story.timing;
    char who[TRACE_WHO_SIZE], part[MODEL_NAME_SIZE + 32] = "", bytes[FORMAT_SIZE];
    char holds[HOLDS_SIZE + 4];
    if (op->kind == OP_COMPUTE)
        snprintf(part, sizeof part, "%s", l->step->model.layers[op->layer].name);
    else if (op->segment != NONE)
        snprintf(part, sizeof part, plan->pieces > 1 ? "segment %d p%d" : "segment %d", op->segment,
                 op->piece);
    snprintf(holds, sizeof holds, "%s%s", op->kind == OP_COPY ? "" : "now ", l->holds.after[id]);
    if ((int)strlen(part) > NAME_WIDTH) {
        fprintf(out, "  %-18s  %s\n", trace_who(op, 1, "computes", who), part);
        who[0] = part[0] = '\0';
    } else {
        trace_who(op, 1, "computes", who);
    }
    int column = fprintf(out, "  %-18s  %-*s  %-9s  %9s  %*.1f ..%*.1f",
                         who, l->name_width, part, holds,
                         format_bytes(op->dst.count * (int64_t)dtype_size(plan->dtype), bytes),
                         l->time_width, step_us(t->begin_ns[id]), l->time_width + 1,
                         step_us(t->end_ns[id]));
    trace_waits(out, plan, op, column);
}

/* ": computed at 402.7 us, under way from 402.7 to 535.6 us". */
static const char *bucket_times(const struct listing *l, int k, char *text, size_t size)
{
    const struct plan *plan = &l->it->story.plan;
    const struct timing *t = &l->it->story.timing;
    const char *unit = l->step->s->random ? "choices" : "us";
    int64_t begin = INT64_MAX, end = 0;
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (plan->ops[id].bucket == k) {
            begin = t->begin_ns[id] < begin ? t->begin_ns[id] : begin;
            end = t->end_ns[id] > end ? t->end_ns[id] : end;
        }
    text[0] = '\0';
    if (begin <= end)
        snprintf(text, size, ": computed at %.1f, under way from %.1f to %.1f %s",
                 step_us(figures_ready(plan, &l->step->buckets, t, k)), step_us(begin),
                 step_us(end), unit);
    return text;
}

static void print_bucket(const struct listing *l, int k)
{
    const struct step *p = l->step;
    const struct plan *plan = &l->it->story.plan;
    const struct bucket *b = &p->buckets.items[k];
    int step = NONE;
    char times[120], title[PLAN_TITLE_SIZE];
    fprintf(p->out, "\n%s, %.1f MiB, %d tensor%s%s\n",
            plan_bucket_title(k, p->buckets.n, title), step_mib(b->bytes), b->n,
            b->n == 1 ? "" : "s", bucket_times(l, k, times, sizeof times));
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (plan->ops[id].kind == OP_COMPUTE && p->bucket_of[plan->ops[id].layer] == k)
            print_op(l, id, p->out);
    for (int64_t id = 0; id < plan->n_ops; id++) {
        if (plan->ops[id].bucket != k)
            continue;
        if (plan->ops[id].step != step && plan->ops[id].step != NONE) {
            step = plan->ops[id].step;
            fprintf(p->out, "%s\n",
                    plan_step_title(plan, plan->ops[id].iteration, step, 0, title));
        }
        print_op(l, id, p->out);
    }
}

enum status listing_open(struct listing *l, const struct step *p, const struct iteration *it)
{
    enum status status = STATUS_OK;
    const struct plan *plan = &it->story.plan;
    *l = (struct listing){.step = p, .it = it, .name_width = plan->pieces > 1 ? 12 : 9};
    TRY(holds_open(&l->holds, plan, p->err));
    TRY(holds_run(&l->holds, plan->n_ops, p->err));
    l->time_width = snprintf(NULL, 0, "%.1f", step_us(it->story.timing.total_ns));
    for (int64_t i = 0; i < p->model.n_layers; i++) {
        int length = snprintf(NULL, 0, "%s", p->model.layers[i].name);
        l->name_width = length > l->name_width && length <= NAME_WIDTH ? length : l->name_width;
    }
out:
    return status;
}

void listing_print(const struct listing *l, int64_t id, FILE *file)
{
    print_op(l, id, file);
}

enum status step_list(const struct step *p, const struct iteration *it)
{
    enum status status = STATUS_OK;
    const struct plan *plan = &it->story.plan;
    struct listing l;
    if (plan->n_ops > MOST_OPS) {
        fprintf(p->out, "\n%" PRId64 " ops are too many to list (more than %d); --trace=json has "
                "them\n", plan->n_ops, MOST_OPS);
        return STATUS_OK;
    }
    TRY(listing_open(&l, p, it));
    fprintf(p->out, "\nops of one rank and kind run one after the other; waits for others are "
            "written out\n");
    for (int k = 0; k < p->buckets.n; k++)
        print_bucket(&l, k);
    if (!p->never_ready)
        fprintf(p->out, "\nthe optimizer\n");
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (plan->ops[id].kind == OP_UPDATE)
            print_op(&l, id, p->out);
out:
    holds_close(&l.holds);
    return status;
}
