/* ranges.c - before each op, what it does not lie in is ended, from the inside out, and what is
 * missing is begun. */
#include "ring/ranges.h"

#include <stddef.h>

#include "common/nvtx.h"

void ranges_open(struct ranges *r, const struct plan *plan, const struct ranges_words *words)
{
    *r = (struct ranges){.iteration = NONE, .bucket = NONE, .step = NONE};
    if (!nvtx_listens())
        return;
    r->plan = plan;
    r->own_steps = words->own_labels ? plan_last_step(plan) + 1 : 0;
    r->n_buckets = words->n_buckets ? words->n_buckets : plan_last_bucket(plan) + 1;
}

static void end(int *label)
{
    if (*label != NONE)
        nvtx_end();
    *label = NONE;
}

/* Where a bucket's range ends, so does that of its step. */
static void leave(struct ranges *r, const struct op *op)
{
    const int same_bucket = r->iteration == op->iteration && r->bucket == op->bucket;
    if (r->in_op)
        nvtx_end();
    if (!same_bucket || r->step != op->step)
        end(&r->step);
    if (!same_bucket)
        end(&r->bucket);
    r->iteration = op->iteration;
}

void ranges_op(struct ranges *r, int64_t id)
{
    char title[PLAN_TITLE_SIZE], name[OP_NAME_SIZE];
    if (!r->plan)
        return;
    const struct op *op = &r->plan->ops[id];
    leave(r, op);
    if (r->bucket != op->bucket)
        nvtx_begin(plan_bucket_title(op->bucket, r->n_buckets, title));
    if (r->step != op->step)
        nvtx_begin(plan_step_title(r->plan, op->iteration, op->step, r->own_steps, title));
    nvtx_begin(op_name(r->plan, id, name));
    r->bucket = op->bucket;
    r->step = op->step;
    r->in_op = 1;
}

void ranges_close(struct ranges *r)
{
    const struct op none = {.iteration = NONE, .bucket = NONE, .step = NONE};
    leave(r, &none);
    r->in_op = 0;
}
