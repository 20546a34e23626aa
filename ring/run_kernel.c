/* run_kernel.c - see run_kernel.h. */
#include "ring/run_kernel.h"

#include <stdlib.h>

#include "common/nvtx.h"

struct group { /* a ring of the plan */
    int64_t first_op, end_op; /* all its ops lie there in the plan, perhaps with others between */
    int64_t first, count; /* elements of the data */
    int iteration, bucket;
};

struct run_kernel {
    struct device *device;
    const struct plan *plan;
    const struct run_options *options;
    struct ring_kernel *kernel; /* owned */
    struct group *groups;       /* owned */
    int64_t capacity;
    int n_groups;
    int *group_of;              /* owned, [n_ops]: or NONE */
    unsigned char *needed;      /* owned, [n_ops]: some op outside its ring waits for it */
    int64_t *last_of;           /* owned, [n_groups][n_ranks]: see last_of() */
    struct ring_kernel_step *steps; /* owned, [n_ranks * (2N - 1)] */
};

/* ---- the rings of a plan ---- */

static int is_of_ring(const struct op *op)
{
    return op->kind == OP_COPY || op->kind == OP_REDUCE || op->kind == OP_SCALE;
}

static int find_group(const struct run_kernel *k, const struct op *op)
{
    int i = k->n_groups - 1;
    while (i >= 0 && (k->groups[i].iteration != op->iteration || k->groups[i].bucket != op->bucket))
        i--;
    return i;
}

/* The part of the data that the ring is about grows by what its op works on. */
static void widen(struct group *group, const struct span *at)
{
    if (at->memory != MEMORY_DATA || at->count == 0)
        return;
    const int64_t end = group->first + group->count, end_here = at->first + at->count;
    const int64_t first = group->count == 0 || at->first < group->first ? at->first : group->first;
    group->count = (group->count == 0 || end_here > end ? end_here : end) - first;
    group->first = first;
}

static enum status find_groups(struct run_kernel *k, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = k->plan;
    TRY(allocate((void **)&k->group_of, plan->n_ops, sizeof *k->group_of, "a plan's rings", err));
    TRY(allocate((void **)&k->needed, plan->n_ops, 1, "a plan's rings", err));
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        int *group = &k->group_of[id];
        *group = is_of_ring(op) ? find_group(k, op) : NONE;
        if (is_of_ring(op) && *group == NONE) {
            TRY(make_room((void **)&k->groups, k->n_groups + 1, &k->capacity, sizeof *k->groups,
                          "a plan's rings", err));
            k->groups[k->n_groups] = (struct group){.first_op = id, .iteration = op->iteration,
                                                    .bucket = op->bucket};
            *group = k->n_groups++;
        }
        if (*group == NONE)
            continue;
        k->groups[*group].end_op = id + 1;
        widen(&k->groups[*group], &op->src);
        widen(&k->groups[*group], &op->dst);
    }
out:
    return status;
}

/* Where `id` waits for an op of another ring than its own, if it has one: that ring; else NONE. */
static int ring_waited_for(const struct run_kernel *k, int64_t id, int i)
{
    const int group = k->group_of[k->plan->waits[k->plan->ops[id].first_wait + i].op];
    return group == k->group_of[id] ? NONE : group;
}

/* The ring's last op of that rank, or NONE. */
static int64_t *last_of(const struct run_kernel *k, int group, int rank)
{
    return &k->last_of[(int64_t)group * k->plan->n_ranks + rank];
}

/* An op of a ring is over when the kernel of its rank is. To whoever waits for it that says less
 * than the plan does: it may follow from the plan that his own rank has nothing to do any more,
 * while his own rank's kernel has not ended yet. So he waits for that one, too. */
static enum status find_needed(struct run_kernel *k, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = k->plan;
    const int64_t n = (int64_t)k->n_groups * plan->n_ranks;
    TRY(allocate((void **)&k->last_of, n, sizeof *k->last_of, "a plan's rings", err));
    for (int64_t i = 0; i < n; i++)
        k->last_of[i] = NONE;
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (k->group_of[id] != NONE)
            *last_of(k, k->group_of[id], plan->ops[id].rank) = id;
    for (int64_t id = 0; id < plan->n_ops; id++)
        for (int i = 0; i < plan->ops[id].n_waits; i++) {
            const int group = ring_waited_for(k, id, i);
            if (group == NONE)
                continue;
            const int64_t own = *last_of(k, group, plan->ops[id].rank);
            k->needed[plan->waits[plan->ops[id].first_wait + i].op] = 1;
            if (own != NONE)
                k->needed[own] = 1;
        }
out:
    return status;
}

/* Rings of an avg whose data is divided as it is made only add up. */
static enum redop redop_of(const struct plan *plan)
{
    int64_t id = 0;
    while (id < plan->n_ops && plan->ops[id].kind != OP_SCALE)
        id++;
    return plan->redop == REDOP_AVG && id == plan->n_ops ? REDOP_SUM : plan->redop;
}

enum status run_kernel_open(struct run_kernel **out, struct device *device,
                            const struct plan *plan, const struct run_options *options,
                            struct error *err)
{
    enum status status = STATUS_OK;
    struct run_kernel *k = NULL;
    *out = NULL;
    struct error why = {""};
    TRY(allocate((void **)&k, 1, sizeof *k, "a plan's rings", err));
    k->device = device;
    k->plan = plan;
    k->options = options;
    TRY(find_groups(k, err));
    TRY(find_needed(k, err));
    TRY(allocate((void **)&k->steps, (int64_t)plan->n_ranks * (2 * plan->n_ranks - 1),
                 sizeof *k->steps, "a plan's rings", err));
    const struct ring_kernel_setup setup = {
        .n_ranks = plan->n_ranks, .device_of = options->device_of, .dtype = plan->dtype,
        .redop = redop_of(plan), .count = plan->count,
        .n_recorded = options->timed ? k->n_groups : 0,
        .timeout_ms = options->timeout_s > 0 && options->timeout_s < 40 ? options->timeout_s * 250
                                                                        : 0,
    };
    if (device->facts.simulated || k->n_groups > 0) /* else links need not be open */
        TRY(ring_kernel_open(&k->kernel, device, &setup, &why));
    *out = k;
    return STATUS_OK;
out:
    run_kernel_close(k);
    return why.text[0] ? fail(err, status, "--engine kernel: %s; eager, graph or auto is wanted",
                              why.text)
                       : status;
}

void run_kernel_close(struct run_kernel *k)
{
    if (!k)
        return;
    ring_kernel_close(k->kernel);
    free(k->groups);
    free(k->group_of);
    free(k->needed);
    free(k->last_of);
    free(k->steps);
    free(k);
}

/* ---- queueing ---- */

int run_kernel_has(const struct run_kernel *k, int64_t id) { return k->group_of[id] != NONE; }

enum status run_kernel_wait(struct run_kernel *k, int64_t id, struct error *err)
{
    enum status status = STATUS_OK;
    const struct op *op = &k->plan->ops[id];
    for (int i = 0; i < op->n_waits; i++) {
        const int group = ring_waited_for(k, id, i);
        const int64_t own = group == NONE ? NONE : *last_of(k, group, op->rank);
        if (own != NONE)
            TRY(k->device->verbs->wait(k->device, stream_id(op->rank, op->lane), end_event(own),
                                       err));
    }
out:
    return status;
}

/* In which step of which rank's kernel an op is done: an add together with the copy behind it. */
static int step_of(const struct op *op)
{
    return op->kind == OP_COPY ? op->step : op->kind == OP_REDUCE ? op->step + 1 : 0;
}

static enum status queue_waits(struct run_kernel *k, int group, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = k->plan;
    for (int64_t id = k->groups[group].first_op; id < k->groups[group].end_op; id++) {
        const struct op *op = &plan->ops[id];
        for (int i = 0; k->group_of[id] == group && i < op->n_waits; i++) {
            const int64_t other = plan->waits[op->first_wait + i].op;
            if (k->group_of[other] != group)
                TRY(k->device->verbs->wait(k->device, ring_kernel_stream(k->kernel, op->rank),
                                           end_event(other), err));
        }
    }
out:
    return status;
}

static enum status queue_ends(struct run_kernel *k, int group, struct error *err)
{
    enum status status = STATUS_OK;
    for (int64_t id = k->groups[group].first_op; id < k->groups[group].end_op; id++)
        if (k->group_of[id] == group && k->needed[id])
            TRY(k->device->verbs->record(k->device, end_event(id),
                                         ring_kernel_stream(k->kernel, k->plan->ops[id].rank),
                                         err));
out:
    return status;
}

enum status run_kernel_queue(struct run_kernel *k, int64_t id, struct error *err)
{
    enum status status = STATUS_OK;
    const int group = k->group_of[id];
    const struct run_options *o = k->options;
    struct group *g = &k->groups[group];
    if (g->first_op != id)
        return STATUS_OK;
    const int64_t bytes = g->count * (int64_t)dtype_size(k->plan->dtype);
    struct ring_call call = {
        .first = g->first, .count = g->count,
        .protocol = ring_protocol_for(bytes, k->plan->n_ranks),
        .recorded = o->timed ? group : NONE,
    };
    if (o->delay_ns > 0 && k->group_of[o->delayed] == group) {
        call.held_rank = k->plan->ops[o->delayed].rank;
        call.held_step = step_of(&k->plan->ops[o->delayed]);
        call.held_ns = o->delay_ns;
    }
    TRY(queue_waits(k, group, err));
    if (o->timed)
        TRY(k->device->verbs->record(k->device, begin_event(id),
                                     ring_kernel_stream(k->kernel, k->plan->ops[id].rank), err));
    nvtx_begin("launch of the ring's kernel");
    status = ring_kernel_queue(k->kernel, &call, err);
    nvtx_end();
    TRY(status);
    TRY(queue_ends(k, group, err));
out:
    return status;
}

enum status run_kernel_judge(struct run_kernel *k, struct error *err)
{
    return k->kernel ? ring_kernel_judge(k->kernel, err) : STATUS_OK;
}

/* ---- times ---- */

/* Averages of floats are divided in every step that reads the rank's own data. */
static void time_op(const struct run_kernel *k, const struct op *op, int64_t *begin, int64_t *end)
{
    const int n = k->plan->n_ranks;
    const struct ring_kernel_step *own = &k->steps[op->rank * (2 * n - 1)];
    const int is_float = dtype_is_float(k->plan->dtype);
    const int first = op->kind == OP_SCALE && !is_float ? n - 1 : step_of(op);
    const int last = op->kind == OP_SCALE ? n - 1 : first;
    *begin = own[first].begin_ns;
    *end = own[last].end_ns;
}

/* The first call began when its kernels say, and behind an event on the other clock: a launch's
 * time later, which counts as error. */
static enum status clocks_apart(struct run_kernel *k, int64_t *ns, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t event_ns;
    const int each = 2 * k->plan->n_ranks - 1;
    TRY(ring_kernel_read(k->kernel, 0, k->steps, err));
    TRY(k->device->verbs->elapsed(k->device, begin_event(k->groups[0].first_op), &event_ns, err));
    *ns = INT64_MAX;
    for (int rank = 0; rank < k->plan->n_ranks; rank++)
        if (k->steps[rank * each].segment != NONE && k->steps[rank * each].begin_ns < *ns)
            *ns = k->steps[rank * each].begin_ns;
    *ns -= event_ns;
out:
    return status;
}

enum status run_kernel_times(struct run_kernel *k, struct timing *timing, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = k->plan;
    int64_t apart_ns = 0;
    if (!k->kernel)
        return STATUS_OK;
    TRY(clocks_apart(k, &apart_ns, err));
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (k->group_of[id] == NONE) {
            timing->begin_ns[id] += apart_ns;
            timing->end_ns[id] += apart_ns;
        }
    for (int group = 0; group < k->n_groups; group++) {
        TRY(ring_kernel_read(k->kernel, group, k->steps, err));
        for (int64_t id = k->groups[group].first_op; id < k->groups[group].end_op; id++)
            if (k->group_of[id] == group)
                time_op(k, &plan->ops[id], &timing->begin_ns[id], &timing->end_ns[id]);
    }
    timing->clock_error_ns = ring_kernel_clock_error_ns(k->kernel);
out:
    return status;
}
