/* run.c - queues the ops of a plan in an order that can run, and asks the events what happened. */
#include "ring/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/nvtx.h"
#include "ring/order.h"
#include "ring/run_kernel.h"

#define BLOCK_BYTES (1 << 20) /* of data on its way between files or patterns and devices */

const char *engine_name(enum engine engine)
{
    static const char *const names[N_ENGINES] = {
        [ENGINE_EAGER] = "eager", [ENGINE_GRAPH] = "graph", [ENGINE_KERNEL] = "kernel",
        [ENGINE_NCCL] = "nccl", [ENGINE_AUTO] = "auto",
    };
    return names[engine];
}

/* ---- opening ---- */

static int compare_links(const void *a, const void *b)
{
    const struct device_link *x = a, *y = b;
    return x->from != y->from ? x->from - y->from : x->to - y->to;
}

/* Every pair of ranks between which the plan copies, or a kernel reaches, each once. *links is the
 * caller's to free. */
static enum status find_links(const struct plan *plan, struct device_link **links, int *n_links,
                              struct error *err)
{
    enum status status = STATUS_OK;
    int64_t n = 0;
    TRY(allocate((void **)links, plan->n_ops, sizeof **links, "links", err));
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        if (op->kind == OP_COPY && op->src.rank != op->dst.rank)
            (*links)[n++] = (struct device_link){op->src.rank, op->dst.rank};
        if (op->kind == OP_REDUCE && op->src.rank != op->rank && op->src.count > 0)
            (*links)[n++] = (struct device_link){op->rank, op->src.rank};
    }
    qsort(*links, (size_t)n, sizeof **links, compare_links);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || compare_links(&(*links)[i], &(*links)[i - 1]) != 0)
            (*links)[kept++] = (*links)[i];
    *n_links = (int)kept;
out:
    return status;
}

enum status run_open(struct device **device, enum device_backend backend, const struct plan *plan,
                     const struct run_options *options, struct error *err)
{
    enum status status = STATUS_OK;
    struct device_link *links = NULL;
    struct device_setup setup = {
        .n_ranks = plan->n_ranks, .device_of = options->device_of, .dtype = plan->dtype,
        .timed = options->timed, .timeout_s = options->timeout_s, .peer_off = options->peer_off,
        .model = options->model, .random = options->random, .seed = options->seed,
        .times_only = options->times_only, .work = options->work,
    };
    *device = NULL;
    TRY(find_links(plan, &links, &setup.n_links, err));
    setup.links = links;
    TRY(device_open(backend, device, &setup, err));
    TRY((*device)->verbs->alloc(*device, plan->count, plan->inbox_count, 2 * plan->n_ops, err));
out:
    free(links);
    if (status != STATUS_OK && *device) {
        (*device)->verbs->close(*device);
        *device = NULL;
    }
    return status;
}

/* ---- queueing ---- */

static enum status load(struct device *device, const struct plan *plan, const struct init *init,
                        int stale, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t block = BLOCK_BYTES / (int64_t)dtype_size(plan->dtype);
    void *buffer = NULL;
    TRY(allocate(&buffer, block, dtype_size(plan->dtype), "a block of data", err));
    for (int rank = 0; rank < plan->n_ranks; rank++)
        for (int64_t first = 0; first < plan->count; first += block) {
            int64_t n = plan->count - first < block ? plan->count - first : block;
            TRY(interrupt_seen(err));
            int filled = stale && rank + 1 < plan->n_ranks ? rank + 1 : rank;
            TRY(init_fill(init, filled, 0, first, n, buffer, err));
            TRY(device->verbs->put(device, (struct span){rank, MEMORY_DATA, first, n}, buffer,
                                   err));
        }
    TRY(device->verbs->sync(device, err));
out:
    free(buffer);
    return status;
}

static enum status do_op(struct device *device, const struct plan *plan, const struct op *op,
                         const struct init *init, struct error *err)
{
    const struct device_verbs *verbs = device->verbs;
    int stream = stream_id(op->rank, op->lane);
    if (op->dst.count == 0 && op->cost_ns == 0)
        return STATUS_OK;
    switch (op->kind) {
    case OP_COPY: return verbs->copy(device, stream, op->src, op->dst, err);
    case OP_REDUCE: return verbs->reduce(device, stream, plan->redop, op->src, op->dst, err);
    case OP_SCALE: return verbs->scale(device, stream, plan->n_ranks, op->dst, err);
    case OP_UPDATE: return verbs->scale(device, stream, PLAN_UPDATE_DIVISOR, op->dst, err);
    default:
        return verbs->compute(device, stream, init_pattern(init, op->dst.rank), op->iteration,
                              op->scaled ? plan->n_ranks : 1, op->cost_ns, op->dst, err);
    }
}

/* What comes before an op. Waits for ops below `synced` in the sequence (positions[] tells) are
 * over: a sync has seen them. */
static enum status queue_waits(struct device *device, const struct plan *plan, int64_t id,
                               const struct run_options *options, const int64_t *positions,
                               int64_t synced, struct error *err)
{
    enum status status = STATUS_OK;
    const struct op *op = &plan->ops[id];
    int stream = stream_id(op->rank, op->lane);
    for (int i = 0; i < op->n_waits; i++) {
        int64_t other = plan->waits[op->first_wait + i].op;
        if (!positions || positions[other] >= synced)
            TRY(device->verbs->wait(device, stream, end_event(other), err));
    }
    if (options->delay_ns > 0 && options->delayed == id)
        TRY(device->verbs->delay(device, stream, options->delay_ns, err));
    if (options->timed)
        TRY(device->verbs->record(device, begin_event(id), stream, err));
out:
    return status;
}

static enum status queue_end(struct device *device, const struct plan *plan, int64_t id,
                             struct error *err)
{
    const struct op *op = &plan->ops[id];
    return device->verbs->record(device, end_event(id), stream_id(op->rank, op->lane), err);
}

static enum status queue_op(struct device *device, const struct plan *plan, int64_t id,
                            const struct init *init, const struct run_options *options,
                            const int64_t *positions, int64_t synced, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(queue_waits(device, plan, id, options, positions, synced, err));
    TRY(do_op(device, plan, &plan->ops[id], init, err));
    TRY(queue_end(device, plan, id, err));
out:
    return status;
}

static int is_call(const struct op *op, const struct run_options *options)
{
    return options->calls && op->kind == OP_SCALE && op->lane == LANE_SEND;
}

/* The call whose first op this is, for all ranks. */
static enum status queue_call(struct device *device, const struct plan *plan, int64_t first,
                              const struct run_options *options, struct error *err)
{
    enum status status = STATUS_OK;
    for (int rank = 0; rank < plan->n_ranks; rank++)
        TRY(queue_waits(device, plan, first + rank, options, NULL, 0, err));
    TRY(options->calls->queue(options->calls->context, device, &plan->ops[first], err));
    for (int rank = 0; rank < plan->n_ranks; rank++)
        TRY(queue_end(device, plan, first + rank, err));
out:
    return status;
}

/* ---- pass 1 ---- */

/* Engine kernel: the ops of a ring have no events, but for the first one's begin. */
static enum status read_events(struct device *device, const struct plan *plan,
                               const struct run_kernel *kernel, struct timing *timing,
                               struct error *err)
{
    enum status status = STATUS_OK;
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (!kernel || !run_kernel_has(kernel, id)) {
            TRY(device->verbs->elapsed(device, begin_event(id), &timing->begin_ns[id], err));
            TRY(device->verbs->elapsed(device, end_event(id), &timing->end_ns[id], err));
        }
out:
    return status;
}

static enum status read_times(struct device *device, const struct plan *plan,
                              struct run_kernel *kernel, struct timing *timing, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t first = INT64_MAX, last = INT64_MIN;
    TRY(allocate((void **)&timing->begin_ns, plan->n_ops, sizeof(int64_t), "times", err));
    TRY(allocate((void **)&timing->end_ns, plan->n_ops, sizeof(int64_t), "times", err));
    timing->clock_error_ns = device->facts.clock_error_ns; /* of this run; the next has its own */
    TRY(read_events(device, plan, kernel, timing, err));
    if (kernel)
        TRY(run_kernel_times(kernel, timing, err));
    for (int64_t id = 0; id < plan->n_ops; id++) {
        first = timing->begin_ns[id] < first ? timing->begin_ns[id] : first;
        last = timing->end_ns[id] > last ? timing->end_ns[id] : last;
    }
    for (int64_t id = 0; id < plan->n_ops; id++) {
        timing->begin_ns[id] -= first;
        timing->end_ns[id] -= first;
    }
    timing->total_ns = plan->n_ops ? last - first : 0;
    timing->per_op = 1;
out:
    return status;
}

/* What pass 1 has in hand. */
struct pass {
    struct device *device;
    const struct plan *plan;
    const struct init *init;
    const struct run_options *options;
    const struct order *order;
    struct run_kernel *kernel; /* of the engine kernel; else NULL */
};

static enum status queue_all(const struct pass *p, struct error *err)
{
    enum status status = STATUS_OK;
    struct ranges ranges;
    ranges_open(&ranges, p->plan, &p->options->words);
    for (int64_t at = 0; at < p->order->n_sequence; at++) {
        int64_t id = order_at(p->order, at);
        const struct op *op = &p->plan->ops[id];
        if (!p->kernel) /* whose ranks wait for each other: all are queued, or none */
            TRY(interrupt_seen(err));
        if (p->kernel && run_kernel_has(p->kernel, id)) {
            TRY(run_kernel_queue(p->kernel, id, err));
            continue;
        }
        const int call = is_call(op, p->options);
        if (call && op->rank > 0) /* queued with rank 0's */
            continue;
        ranges_op(&ranges, id);
        if (p->kernel)
            TRY(run_kernel_wait(p->kernel, id, err));
        TRY(call ? queue_call(p->device, p->plan, id, p->options, err)
                 : queue_op(p->device, p->plan, id, p->init, p->options, NULL, 0, err));
    }
out:
    ranges_close(&ranges);
    return status;
}

static enum status keep_graph(const struct pass *p, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(p->device->verbs->graph_begin(p->device, err));
    TRY(queue_all(p, err));
    TRY(p->device->verbs->graph_end(p->device, err));
out:
    return status;
}

static enum status launch(struct device *device, struct error *err)
{
    nvtx_begin("launch of the graph");
    enum status status = device->verbs->graph_launch(device, err);
    nvtx_end();
    return status;
}

/* Loads fresh data and runs the whole plan; *ns is what that took on the host's clock. */
static enum status run_through(const struct pass *p, int64_t *ns, struct error *err)
{
    enum status status = STATUS_OK;
    if (!p->options->computed)
        TRY(load(p->device, p->plan, p->init, p->options->stale_uploads, err));
    int64_t begin = clock_ns();
    TRY(p->options->engine == ENGINE_GRAPH ? launch(p->device, err) : queue_all(p, err));
    TRY(p->device->verbs->sync(p->device, err));
    if (p->kernel)
        TRY(run_kernel_judge(p->kernel, err));
    *ns = clock_ns() - begin;
out:
    return status;
}

static int compare_totals(const void *a, const void *b)
{
    const struct timing *x = a, *y = b;
    return (x->total_ns > y->total_ns) - (x->total_ns < y->total_ns);
}

/* Runs it several times and keeps the times of the run that took the median time: all figures of a
 * report are then of one run. */
static enum status time_runs(const struct pass *p, struct timing *timing, struct error *err)
{
    enum status status = STATUS_OK;
    int n = p->options->runs > 1 && !p->device->facts.simulated ? p->options->runs : 1;
    struct timing *each = NULL;
    TRY(allocate((void **)&each, n, sizeof *each, "times", err));
    if (!p->device->facts.simulated) /* first launches and first copies are slow */
        TRY(run_through(p, &timing->total_ns, err));
    for (int i = 0; i < n; i++) {
        TRY(run_through(p, &timing->total_ns, err));
        TRY(read_times(p->device, p->plan, p->kernel, &each[i], err));
    }
    qsort(each, (size_t)n, sizeof *each, compare_totals);
    *timing = each[n / 2];
    each[n / 2] = (struct timing){0};
out:
    for (int i = 0; each && i < n; i++)
        timing_free(&each[i]);
    free(each);
    return status;
}

enum status run_plan(struct device *device, const struct plan *plan, const struct init *init,
                     const struct run_options *options, struct timing *timing,
                     struct error *err)
{
    enum status status = STATUS_OK;
    struct order order = {0};
    struct pass pass = {device, plan, init, options, &order, NULL};
    memset(timing, 0, sizeof *timing);
    TRY(order_open(&order, plan, err));
    if (options->engine == ENGINE_GRAPH)
        TRY(keep_graph(&pass, err));
    if (options->engine == ENGINE_KERNEL)
        TRY(run_kernel_open(&pass.kernel, device, plan, options, err));
    if (options->timed)
        TRY(time_runs(&pass, timing, err));
    else
        TRY(run_through(&pass, &timing->total_ns, err));
    timing->wall = !options->timed;
out:
    run_kernel_close(pass.kernel);
    order_close(&order);
    if (status != STATUS_OK)
        timing_free(timing);
    return status;
}

/* ---- pass 2 ---- */

static int has_steps(const struct plan *plan)
{
    int64_t id = 0;
    while (id < plan->n_ops && plan->ops[id].step == NONE)
        id++;
    return id < plan->n_ops;
}

/* A stop lies where the next op belongs to another ring step or another iteration, and behind
 * the ops that filled the data anew. */
static int step_ends(const struct plan *plan, const struct stop *now, int64_t previous, int64_t id)
{
    const struct op *op = &plan->ops[id];
    return op->iteration != now->iteration ||
           (op->step != NONE && now->step != NONE && op->step != now->step) ||
           (plan->ops[previous].kind == OP_COMPUTE && op->kind != OP_COMPUTE);
}

/* Without steps: where the next op waits for one that came behind the last stop. */
static int waits_since(const struct plan *plan, const int64_t *positions, int64_t begin, int64_t id)
{
    const struct op *op = &plan->ops[id];
    for (int i = 0; i < op->n_waits; i++)
        if (positions[plan->waits[op->first_wait + i].op] >= begin)
            return 1;
    return 0;
}

static enum status add_stop(struct values *values, int64_t *capacity, struct stop stop,
                            struct error *err)
{
    enum status status = make_room((void **)&values->stops, values->n_stops + 1, capacity,
                                   sizeof *values->stops, "stops", err);
    if (status == STATUS_OK)
        values->stops[values->n_stops++] = stop;
    return status;
}

static enum status find_stops(const struct plan *plan, const struct order *order,
                              const int64_t *positions, struct values *values, struct error *err)
{
    enum status status = STATUS_OK;
    struct stop now = {.iteration = 0, .step = NONE};
    int64_t capacity = 0, begin = 0;
    int steps = has_steps(plan);
    TRY(add_stop(values, &capacity, now, err));
    for (int64_t at = 0; at < order->n_sequence; at++) {
        int64_t id = order_at(order, at);
        if (at > 0 && (steps ? step_ends(plan, &now, order_at(order, at - 1), id)
                             : waits_since(plan, positions, begin, id))) {
            TRY(add_stop(values, &capacity, now, err));
            now.step = NONE;
            begin = at;
        }
        now.iteration = plan->ops[id].iteration;
        now.step = plan->ops[id].step != NONE ? plan->ops[id].step : now.step;
        now.end = at + 1;
    }
    if (order->n_sequence > 0)
        TRY(add_stop(values, &capacity, now, err));
    if (values_fit(plan->n_ranks, plan->n_ops))
        TRY(allocate((void **)&values->read,
                     (int64_t)values->n_stops * plan->n_ranks * plan->n_ranks, sizeof *values->read,
                     "values of the trace", err));
out:
    return status;
}

static enum status read_values(struct device *device, const struct plan *plan, double *read,
                               struct error *err)
{
    enum status status = STATUS_OK;
    for (int rank = 0; rank < plan->n_ranks; rank++)
        for (int segment = 0; segment < plan->n_ranks; segment++) {
            struct span at = {.rank = rank, .memory = MEMORY_DATA};
            char element[16] = {0};
            double *value = &read[rank * plan->n_ranks + segment];
            plan_part(0, plan->count, plan->n_ranks, segment, &at.first, &at.count);
            *value = NAN;
            if (at.count == 0)
                continue;
            at.count = 1;
            TRY(device->verbs->get(device, at, element, err));
            *value = dtype_load(plan->dtype, element);
        }
out:
    return status;
}

enum status run_values(struct device *device, const struct plan *plan, const struct init *init,
                       const struct run_options *options, struct values *values,
                       struct error *err)
{
    enum status status = STATUS_OK;
    struct order order = {0};
    int64_t *positions = NULL, done = 0;
    const struct run_options untimed = {.timed = 0};
    struct ranges ranges;
    memset(values, 0, sizeof *values);
    ranges_open(&ranges, plan, &options->words);
    TRY(order_open(&order, plan, err));
    TRY(allocate((void **)&positions, plan->n_ops, sizeof *positions, "positions", err));
    for (int64_t at = 0; at < order.n_sequence; at++)
        positions[order_at(&order, at)] = at;
    TRY(find_stops(plan, &order, positions, values, err));
    TRY(load(device, plan, init, options->stale_uploads, err));
    for (int stop = 0; stop < values->n_stops; stop++) {
        int64_t synced = done;
        for (; done < values->stops[stop].end; done++) {
            ranges_op(&ranges, order_at(&order, done));
            TRY(queue_op(device, plan, order_at(&order, done), init, &untimed, positions,
                         synced, err));
        }
        ranges_close(&ranges);
        TRY(device->verbs->sync(device, err));
        if (values->read)
            TRY(read_values(device, plan,
                            values->read + (int64_t)stop * plan->n_ranks * plan->n_ranks, err));
    }
out:
    ranges_close(&ranges);
    free(positions);
    order_close(&order);
    if (status != STATUS_OK)
        values_free(values);
    return status;
}

/* ---- measuring ---- */

enum status run_load(struct device *device, const struct plan *plan, const struct init *init,
                     struct error *err)
{
    return load(device, plan, init, 0, err);
}

enum status run_sample_open(struct run_sample *sample, struct device *device,
                            const struct plan *plan, const struct init *init,
                            const struct run_options *options, struct error *err)
{
    enum status status = STATUS_OK;
    *sample = (struct run_sample){.device = device, .plan = plan, .init = init,
                                  .options = options};
    TRY(allocate((void **)&sample->order, 1, sizeof *sample->order, "an order", err));
    TRY(order_open(sample->order, plan, err));
    const struct pass pass = {device, plan, init, options, sample->order, NULL};
    if (options->engine == ENGINE_GRAPH)
        TRY(keep_graph(&pass, err));
out:
    if (status != STATUS_OK)
        run_sample_close(sample);
    return status;
}

/* When the last op of the plan has ended, on the modelled clock. */
static enum status modelled_end(struct device *device, const struct plan *plan, int64_t *ns,
                                struct error *err)
{
    enum status status = STATUS_OK;
    int64_t end_ns;
    *ns = 0;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        TRY(device->verbs->elapsed(device, end_event(id), &end_ns, err));
        *ns = end_ns > *ns ? end_ns : *ns;
    }
out:
    return status;
}

enum status run_sample(struct run_sample *sample, int times, int64_t *ns, struct error *err)
{
    enum status status = STATUS_OK;
    struct device *device = sample->device;
    const struct pass pass = {device, sample->plan, sample->init, sample->options, sample->order,
                              NULL};
    const int64_t begin = clock_ns();
    for (int i = 0; i < times; i++)
        TRY(sample->options->engine == ENGINE_GRAPH ? launch(device, err) : queue_all(&pass, err));
    sample->queued_ns = clock_ns() - begin;
    TRY(device->verbs->sync(device, err));
    *ns = clock_ns() - begin;
    if (device->facts.simulated) {
        sample->queued_ns = device->facts.queued_ns;
        TRY(modelled_end(device, sample->plan, ns, err));
    }
out:
    return status;
}

void run_sample_close(struct run_sample *sample)
{
    if (sample->order)
        order_close(sample->order);
    free(sample->order);
    *sample = (struct run_sample){.order = NULL};
}

/* ---- output ---- */

static enum status write_rank(struct device *device, const struct plan *plan, int rank,
                              struct npy_writer *writer, void *buffer, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t block = BLOCK_BYTES / (int64_t)dtype_size(plan->dtype);
    for (int64_t first = 0; first < plan->count; first += block) {
        int64_t n = plan->count - first < block ? plan->count - first : block;
        TRY(device->verbs->get(device, (struct span){rank, MEMORY_DATA, first, n}, buffer, err));
        TRY(npy_append(writer, buffer, n, err));
        TRY(interrupt_seen(err));
    }
out:
    return status;
}

enum status run_output(struct device *device, const struct plan *plan, const char *pattern,
                       const struct npy *like, struct error *err)
{
    enum status status = STATUS_OK;
    struct npy_writer *writers = NULL;
    void *buffer = NULL;
    char *path = NULL;
    TRY(allocate((void **)&writers, plan->n_ranks, sizeof *writers, "output files", err));
    TRY(allocate(&buffer, BLOCK_BYTES, 1, "a block of data", err));
    /* All are written before the first gets its name. */
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        free(path);
        path = npy_path(pattern, rank);
        if (!path)
            TRY(fail(err, STATUS_MACHINE, "not enough memory for the name of an output file"));
        TRY(npy_create(&writers[rank], path, like, err));
        TRY(write_rank(device, plan, rank, &writers[rank], buffer, err));
    }
    for (int rank = 0; rank < plan->n_ranks; rank++)
        TRY(npy_commit(&writers[rank], err));
out:
    for (int rank = 0; writers && rank < plan->n_ranks; rank++)
        npy_discard(&writers[rank]);
    free(path);
    free(buffer);
    free(writers);
    return status;
}
