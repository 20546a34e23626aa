/* device_cuda.c - real GPUs: opening and closing them, their memory, and their errors.
 *
 * Three habits run through the cuda backend. Every call says which device it is for (cuda_use),
 * since the current device belongs to the thread and other libraries change it. Every error is
 * told by cuda_ok(), with the verb and the rank. And nothing waits for a GPU without a deadline,
 * so that a hang becomes a sentence: waiting is polling, in cuda_finish().
 *
 * The private header, device_cuda.h, names the other files.
 */
#include "common/device_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/device_backends.h"
#include "common/kernels.h"

#define DEFAULT_TIMEOUT_S 60
#define SPIN_NS 2000000 /* poll without sleeping at first: most waits are short */
#define GIB 1073741824.0

/* Errors and waiting. */

enum status cuda_ok(cudaError_t result, const char *verb, int rank, struct error *err)
{
    if (result == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError();
    if (rank < 0)
        return fail(err, STATUS_MACHINE, "%s: %s (%s)", verb, cudaGetErrorString(result),
                    cudaGetErrorName(result));
    return fail(err, STATUS_MACHINE, "%s on rank %d: %s (%s)", verb, rank,
                cudaGetErrorString(result), cudaGetErrorName(result));
}

enum status cuda_use(struct cuda_device *c, int gpu, struct error *err)
{
    char verb[64];
    const cudaError_t result = cudaSetDevice(c->gpus[gpu].id);
    if (result == cudaSuccess)
        return STATUS_OK;
    snprintf(verb, sizeof verb, "using device %d", c->gpus[gpu].id);
    return cuda_ok(result, verb, -1, err);
}

int64_t cuda_deadline(const struct cuda_device *c)
{
    return clock_ns() + (int64_t)c->timeout_s * 1000000000;
}

enum status cuda_finish(struct cuda_device *c, cudaStream_t stream, int64_t deadline,
                        const char *what, int rank, struct error *err)
{
    const int64_t begin = clock_ns();
    for (;;) {
        const cudaError_t result = cudaStreamQuery(stream);
        if (result != cudaErrorNotReady)
            return cuda_ok(result, what, rank, err);
        (void)cudaGetLastError(); /* "not ready" fills the slot too */
        const int64_t now = clock_ns();
        if (now > deadline)
            break;
        if (now - begin > SPIN_NS)
            nanosleep(&(struct timespec){0, 50000}, NULL);
    }
    c->hung = 1;
    if (rank < 0)
        return fail(err, STATUS_MACHINE, "%s did not end within %d s", what, c->timeout_s);
    return fail(err, STATUS_MACHINE, "%s on rank %d did not end within %d s (device %d, %s)", what,
                rank, c->timeout_s, c->gpus[c->ranks[rank].gpu].id, c->base.facts.names[rank]);
}

enum status cuda_finish_all(struct cuda_device *c, struct error *err)
{
    static const char *const lanes[N_LANES] = {
        [LANE_COMPUTE] = "the work of the compute lane",
        [LANE_SEND] = "the work of the send lane",
        [LANE_REDUCE] = "the work of the reduce lane",
    };
    const int64_t deadline = cuda_deadline(c);
    enum status status = STATUS_OK;
    for (int rank = 0; rank < c->n_ranks; rank++)
        for (int lane = 0; lane < N_LANES; lane++)
            if (c->ranks[rank].streams[lane])
                TRY(cuda_finish(c, c->ranks[rank].streams[lane], deadline, lanes[lane], rank,
                                err));
    if (c->graph.stream)
        TRY(cuda_finish(c, c->graph.stream, deadline, "the graph", -1, err));
out:
    return status;
}

enum status cuda_move(struct cuda_device *c, cudaStream_t stream, void *to, const void *from,
                      size_t bytes, enum cudaMemcpyKind kind, const char *what, int rank,
                      struct error *err)
{
    enum status status = STATUS_OK;
    /* On the rank's own stream, not by plain cudaMemcpy: that returns while the last part of a
     * pageable upload is still on its way, in a stream which ours do not wait for. */
    TRY(cuda_ok(cudaMemcpyAsync(to, from, bytes, kind, stream), what, rank, err));
    TRY(cuda_finish(c, stream, cuda_deadline(c), what, rank, err));
out:
    return status;
}

/* Memory. */

static enum status fits(struct cuda_device *c, int gpu, int64_t data_count, int64_t inbox_count,
                        struct error *err)
{
    enum status status = STATUS_OK;
    size_t free_bytes = 0, total_bytes = 0;
    int n_here = 0;
    for (int rank = 0; rank < c->n_ranks; rank++)
        n_here += c->ranks[rank].gpu == gpu;
    /* In doubles, since absurd counts must not wrap; exact as far as memories reach. */
    const double bytes_each = ((double)data_count + (double)inbox_count) *
                              (double)dtype_size(c->dtype);
    TRY(cuda_use(c, gpu, err));
    TRY(cuda_ok(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory", -1, err));
    if (bytes_each * n_here > (double)free_bytes)
        status = fail(
            err, STATUS_MACHINE,
            "rank memory needs %.3f GiB on device %d (%s), %.3f GiB are free; %d rank%s x "
            "(%lld elements of data + %lld of inbox)",
            bytes_each * n_here / GIB, c->gpus[gpu].id, c->gpus[gpu].name, (double)free_bytes / GIB,
            n_here, n_here == 1 ? "" : "s", (long long)data_count, (long long)inbox_count);
out:
    return status;
}

/* Data is poisoned like the inbox, so that a forgotten put is seen. */
static enum status take_memory(struct cuda_device *c, int rank, enum memory memory, int64_t count,
                               struct error *err)
{
    struct cuda_rank *owner = &c->ranks[rank];
    const size_t size = dtype_size(c->dtype);
    enum status status = STATUS_OK;
    TRY(cuda_use(c, owner->gpu, err));
    if (count > 0)
        TRY(cuda_ok(cudaMalloc(&owner->memory[memory], (size_t)count * size), "memory", rank, err));
    TRY(cuda_ok(kernels_fill(size, dtype_nan(c->dtype), owner->memory[memory], count,
                             c->gpus[owner->gpu].blocks, owner->streams[LANE_COMPUTE]),
                "alloc", rank, err));
out:
    return status;
}

static enum status cuda_alloc(struct device *d, int64_t data_count, int64_t inbox_count,
                              int64_t n_events, struct error *err)
{
    struct cuda_device *c = (struct cuda_device *)d;
    enum status status = STATUS_OK;
    void *events = NULL;
    if (c->allocated)
        return fail(err, STATUS_MACHINE, "alloc: the memories are already taken");
    if (data_count < 0 || inbox_count < 0 || n_events < 0)
        return fail(err, STATUS_MACHINE, "alloc: %lld, %lld and %lld: a count is negative",
                    (long long)data_count, (long long)inbox_count, (long long)n_events);
    for (int gpu = 0; gpu < c->n_gpus; gpu++)
        TRY(fits(c, gpu, data_count, inbox_count, err));
    TRY(allocate(&events, n_events, sizeof *c->events, "events", err));
    c->events = events;
    c->n_events = n_events;
    c->allocated = 1;
    for (int rank = 0; rank < c->n_ranks; rank++) {
        TRY(take_memory(c, rank, MEMORY_DATA, data_count, err));
        TRY(take_memory(c, rank, MEMORY_INBOX, inbox_count, err));
    }
    TRY(cuda_finish_all(c, err));
    c->counts[MEMORY_DATA] = data_count;
    c->counts[MEMORY_INBOX] = inbox_count;
out:
    return status;
}

static enum status transfer(struct cuda_device *c, const char *verb, struct span span, void *to,
                            const void *from, struct error *err)
{
    enum status status = STATUS_OK;
    const size_t size = dtype_size(c->dtype);
    TRY(cuda_check_span(c, span, verb, err));
    if (c->graph.keeping)
        return fail(err, STATUS_MACHINE, "%s on rank %d: a graph is being kept, graph_end comes "
                    "first", verb, span.rank);
    if (c->queued)
        return fail(err, STATUS_MACHINE, "%s on rank %d: work is still queued, sync comes first",
                    verb, span.rank);
    if (span.count == 0)
        return STATUS_OK;
    struct cuda_rank *rank = &c->ranks[span.rank];
    char *there = (char *)rank->memory[span.memory] + (size_t)span.first * size;
    TRY(cuda_use(c, rank->gpu, err));
    TRY(cuda_move(c, rank->streams[LANE_COMPUTE], to ? to : there, from ? from : there,
                  (size_t)span.count * size, to ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                  verb, span.rank, err));
out:
    return status;
}

static enum status cuda_put(struct device *d, struct span to, const void *from, struct error *err)
{
    return transfer((struct cuda_device *)d, "put", to, NULL, from, err);
}

static enum status cuda_get(struct device *d, struct span from, void *to, struct error *err)
{
    return transfer((struct cuda_device *)d, "get", from, to, NULL, err);
}

static void *cuda_address(struct device *d, struct span at)
{
    const struct cuda_device *c = (struct cuda_device *)d;
    if (cuda_check_span(c, at, "address", NULL) != STATUS_OK)
        return NULL;
    return (char *)c->ranks[at.rank].memory[at.memory] + (size_t)at.first * dtype_size(c->dtype);
}

/* Open and close. */

static void give_back(struct cuda_device *c)
{
    cuda_graph_close(c);
    for (int64_t i = 0; i < c->n_events; i++)
        if (c->events[i].event)
            (void)cudaEventDestroy(c->events[i].event);
    cuda_clock_close(c);
    cuda_gate_remove(c);
    for (int rank = 0; c->ranks && rank < c->n_ranks; rank++) {
        for (int memory = 0; memory < N_MEMORIES; memory++)
            if (c->ranks[rank].memory[memory])
                (void)cudaFree(c->ranks[rank].memory[memory]);
        for (int lane = 0; lane < N_LANES; lane++)
            if (c->ranks[rank].streams[lane])
                (void)cudaStreamDestroy(c->ranks[rank].streams[lane]);
    }
    cuda_work_close(c);
    cuda_links_close(c);
    (void)cudaGetLastError();
}

/* Also of a half-opened device, and after an error from which CUDA does not recover: then every
 * call to CUDA fails, at once and without harm. After a time-out nothing is given back, since
 * cudaFree waits for the GPU; the end of the process does it. */
static void cuda_close(struct device *d)
{
    struct cuda_device *c = (struct cuda_device *)d;
    if (!c)
        return;
    cuda_gate_let_go(c);
    if (c->queued && !c->hung) /* a copy may still write into another rank's memory */
        (void)cuda_finish_all(c, NULL);
    if (!c->hung)
        give_back(c);
    cuda_graph_free(c);
    free(c->events);
    free(c->pairs);
    free(c->gpus);
    free(c->ranks);
    free(c->base.facts.names);
    free(c->base.facts.links);
    free(c->base.facts.paths);
    free(c);
}

static const struct device_verbs verbs = {
    .name = "cuda",
    .close = cuda_close,
    .alloc = cuda_alloc,
    .put = cuda_put,
    .get = cuda_get,
    .address = cuda_address,
    .stream = cuda_stream,
    .copy = cuda_copy,
    .reduce = cuda_reduce,
    .compute = cuda_compute,
    .scale = cuda_scale,
    .delay = cuda_delay,
    .record = cuda_record,
    .wait = cuda_wait,
    .sync = cuda_sync,
    .elapsed = cuda_elapsed,
    .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_launch = cuda_graph_launch,
};

static enum status make(struct cuda_device **out, const struct device_setup *setup,
                        struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_device *c = NULL;
    void *got = NULL;
    TRY(allocate(&got, 1, sizeof *c, "the devices", err));
    *out = c = got;
    c->base.verbs = &verbs;
    c->n_ranks = setup->n_ranks;
    c->dtype = setup->dtype;
    c->timed = setup->timed;
    c->timeout_s = setup->timeout_s > 0 ? setup->timeout_s : DEFAULT_TIMEOUT_S;
    c->peer_off = setup->peer_off;
    c->work = setup->work;
    TRY(allocate(&got, c->n_ranks, sizeof *c->ranks, "the ranks", err));
    c->ranks = got;
    TRY(allocate(&got, c->n_ranks, sizeof *c->gpus, "the devices", err));
    c->gpus = got;
    TRY(allocate(&got, c->n_ranks, sizeof *c->base.facts.names, "the names", err));
    c->base.facts.names = got;
    TRY(allocate(&got, setup->n_links, sizeof *c->base.facts.paths, "the links", err));
    c->base.facts.paths = got;
    TRY(allocate(&got, setup->n_links, sizeof *c->base.facts.links, "the links", err));
    c->base.facts.links = got;
    c->base.facts.n_links = setup->n_links;
    for (int i = 0; i < setup->n_links; i++)
        c->base.facts.links[i] = setup->links[i];
out:
    return status;
}

static enum status open_gpu(struct cuda_device *c, int gpu, struct error *err)
{
    struct cuda_gpu *g = &c->gpus[gpu];
    struct cudaDeviceProp properties;
    char bus[24] = "?";
    enum status status = STATUS_OK;
    TRY(cuda_use(c, gpu, err));
    TRY(cuda_ok(cudaGetDeviceProperties(&properties, g->id), "opening a device", -1, err));
    TRY(cuda_ok(cudaDeviceGetPCIBusId(bus, (int)sizeof bus, g->id), "opening a device", -1, err));
    snprintf(g->name, sizeof g->name, "%.63s (%s)", properties.name, bus);
    g->blocks = KERNELS_BLOCKS_PER_SM * properties.multiProcessorCount;
    TRY(cuda_ok(kernels_load(), "loading the kernels", -1, err));
out:
    return status;
}

/* Finds or adds the gpu of a rank, and creates the rank's streams there. */
static enum status open_rank(struct cuda_device *c, int rank, int id, int n_visible,
                             struct error *err)
{
    struct cuda_rank *r = &c->ranks[rank];
    enum status status = STATUS_OK;
    int least = 0, greatest = 0;
    if (id < 0 || id >= n_visible)
        return fail(err, STATUS_MACHINE, "rank %d: there is no device %d, %d %s visible: 0..%d",
                    rank, id, n_visible, n_visible == 1 ? "is" : "are", n_visible - 1);
    while (r->gpu < c->n_gpus && c->gpus[r->gpu].id != id)
        r->gpu++;
    if (r->gpu == c->n_gpus) {
        c->gpus[c->n_gpus++].id = id;
        TRY(open_gpu(c, r->gpu, err));
    }
    TRY(cuda_use(c, r->gpu, err));
    TRY(cuda_ok(cudaDeviceGetStreamPriorityRange(&least, &greatest), "streams", rank, err));
    for (int lane = 0; lane < N_LANES; lane++)
        TRY(cuda_ok(cudaStreamCreateWithPriority(&r->streams[lane], cudaStreamNonBlocking,
                                                 lane == LANE_COMPUTE ? least : greatest),
                    "streams", rank, err));
    if (!c->gpus[r->gpu].stream)
        c->gpus[r->gpu].stream = r->streams[LANE_SEND];
    memcpy(c->base.facts.names[rank], c->gpus[r->gpu].name, sizeof c->base.facts.names[rank]);
out:
    return status;
}

enum status device_cuda_open(struct device **out, const struct device_setup *setup,
                             struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_device *c = NULL;
    void *pairs = NULL;
    int n_visible = 0;
    *out = NULL;
    if (setup->n_ranks < 1)
        return fail(err, STATUS_MACHINE, "%d ranks: a ring has at least one", setup->n_ranks);
    TRY(cuda_visible(&n_visible, err));
    TRY(make(&c, setup, err));
    for (int rank = 0; rank < c->n_ranks; rank++)
        TRY(open_rank(c, rank, setup->device_of[rank], n_visible, err));
    TRY(allocate(&pairs, (long long)c->n_gpus * c->n_gpus, 1, "the links", err));
    c->pairs = pairs;
    c->base.facts.n_devices = c->n_gpus;
    TRY(cuda_links_open(c, setup, err));
    TRY(cuda_work_open(c, err));
    if (c->timed) {
        TRY(cuda_gate_make(c, err));
        TRY(cuda_clock_open(c, err));
    }
out:
    if (status == STATUS_OK)
        *out = &c->base;
    else
        cuda_close((struct device *)c);
    return status;
}
