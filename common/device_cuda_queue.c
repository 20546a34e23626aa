/* device_cuda_queue.c - the verbs that queue work, and what orders and ends it.
 *
 * CUDA lets three mistakes pass in silence, and here they are refused: waiting for an event that
 * nobody recorded (CUDA does not wait at all), recording an event twice (waiters get the newer
 * record), and touching what lies beyond a memory. They are refused before anything is queued.
 */
#include "common/device_cuda.h"
#include "common/kernels.h"

static const char *const memory_names[N_MEMORIES] = {
    [MEMORY_DATA] = "data", [MEMORY_INBOX] = "inbox"
};

static struct cuda_device *cuda(struct device *d) { return (struct cuda_device *)d; }

/* Refusals. */

enum status cuda_check_span(const struct cuda_device *c, struct span span, const char *verb,
                            struct error *err)
{
    if (span.rank < 0 || span.rank >= c->n_ranks)
        return fail(err, STATUS_MACHINE, "%s: there is no rank %d, the last is %d", verb,
                    span.rank, c->n_ranks - 1);
    if ((int)span.memory < 0 || (int)span.memory >= N_MEMORIES)
        return fail(err, STATUS_MACHINE, "%s: rank %d has no memory %d", verb, span.rank,
                    (int)span.memory);
    if (span.first < 0 || span.count < 0 || span.count > c->counts[span.memory] ||
        span.first > c->counts[span.memory] - span.count)
        return fail(err, STATUS_MACHINE,
                    "%s: %lld elements from element %lld do not lie in rank %d's %s, which has "
                    "%lld",
                    verb, (long long)span.count, (long long)span.first, span.rank,
                    memory_names[span.memory], (long long)c->counts[span.memory]);
    return STATUS_OK;
}

static enum status check_stream(const struct cuda_device *c, int stream, const char *verb,
                                struct error *err)
{
    if (stream >= 0 && stream < c->n_ranks * N_LANES)
        return STATUS_OK;
    return fail(err, STATUS_MACHINE, "%s: there is no stream %d, the last is %d", verb, stream,
                c->n_ranks * N_LANES - 1);
}

static enum status check_own(int stream, struct span span, const char *verb, struct error *err)
{
    if (span.rank == stream / N_LANES)
        return STATUS_OK;
    return fail(err, STATUS_MACHINE,
                "%s: stream %d belongs to rank %d and cannot work on rank %d's memory", verb,
                stream, stream / N_LANES, span.rank);
}

/* Can a kernel of this rank read the other's memory? */
static enum status check_reach(const struct cuda_device *c, int rank, int other, struct error *err)
{
    const int from = c->ranks[rank].gpu, to = c->ranks[other].gpu;
    const int pair = from == to ? PAIR_PEER : c->pairs[from * c->n_gpus + to];
    if (pair == PAIR_PEER || pair == PAIR_PEER_OURS)
        return STATUS_OK;
    return fail(err, STATUS_MACHINE,
                "reduce: a kernel of rank %d (device %d) cannot read rank %d's memory (device "
                "%d): %s",
                rank, c->gpus[from].id, other, c->gpus[to].id,
                pair == PAIR_STAGED ? "there is no peer access between them"
                                    : "the setup names no such link");
}

static enum status check_event(const struct cuda_device *c, int64_t event, const char *verb,
                               struct error *err)
{
    if (event >= 0 && event < c->n_events)
        return STATUS_OK;
    return fail(err, STATUS_MACHINE, "%s: there is no event %lld, there are %lld", verb,
                (long long)event, (long long)c->n_events);
}

/* Queueing. */

/* Where a verb's work goes, and with what: filled by begin(). */
struct place {
    int rank, gpu, blocks;
    cudaStream_t stream;
};

enum status cuda_round_begin(struct cuda_device *c, struct error *err)
{
    enum status status = STATUS_OK;
    if (c->queued)
        return STATUS_OK;
    if (c->timed)
        TRY(cuda_clock_start(c, err));
    c->round++;
    c->queued = 1;
    if (c->timed)
        TRY(cuda_gate_shut(c, err));
out:
    return status;
}

/* Makes the stream's device current and starts a round where none runs and nothing is kept. */
static enum status begin(struct cuda_device *c, int stream, const char *verb, struct place *place,
                         struct error *err)
{
    enum status status = STATUS_OK;
    TRY(check_stream(c, stream, verb, err));
    place->rank = stream / N_LANES;
    place->gpu = c->ranks[place->rank].gpu;
    place->blocks = c->gpus[place->gpu].blocks;
    place->stream = c->ranks[place->rank].streams[stream % N_LANES];
    if (!c->graph.keeping) {
        if (c->queued && c->graph.round == c->round)
            return fail(err, STATUS_MACHINE, "%s on rank %d: a graph was launched, sync comes "
                        "first", verb, place->rank);
        TRY(cuda_round_begin(c, err));
        cuda_gate_count(c, stream);
    }
    TRY(cuda_use(c, place->gpu, err));
out:
    return status;
}

static enum status begin_kernel(struct cuda_device *c, int stream, const char *verb,
                                struct place *place, struct error *err)
{
    enum status status = begin(c, stream, verb, place, err);
    if (status == STATUS_OK && c->graph.keeping)
        status = cuda_graph_kernel_begin(c, stream, err);
    return status;
}

static enum status end_kernel(struct cuda_device *c, int stream, cudaError_t launched,
                              const char *verb, struct error *err)
{
    return c->graph.keeping ? cuda_graph_kernel_end(c, stream, launched, verb, err)
                            : cuda_ok(launched, verb, stream / N_LANES, err);
}

static void *address(const struct cuda_device *c, struct span span)
{
    return (char *)c->ranks[span.rank].memory[span.memory] +
           (size_t)span.first * dtype_size(c->dtype);
}

#define CALL_VERBS 4 /* for the gate a library's call counts as so many verbs */

enum status cuda_stream(struct device *d, int stream, void **out, struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    struct place place;
    *out = NULL;
    if (c->graph.keeping)
        return fail(err, STATUS_MACHINE, "stream: a graph is being kept, and would not see what a "
                    "library queues");
    TRY(begin(c, stream, "stream", &place, err));
    for (int i = 1; i < CALL_VERBS; i++)
        cuda_gate_count(c, stream);
    *out = place.stream;
out:
    return status;
}

/* Any stream may copy; the ring uses the sender's, for which its links were opened. */
enum status cuda_copy(struct device *d, int stream, struct span from, struct span to,
                      struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    struct place place;
    TRY(check_stream(c, stream, "copy", err));
    TRY(cuda_check_span(c, from, "copy", err));
    TRY(cuda_check_span(c, to, "copy", err));
    if (from.count != to.count)
        return fail(err, STATUS_MACHINE, "copy: %lld elements cannot become %lld",
                    (long long)from.count, (long long)to.count);
    const int source = c->ranks[from.rank].gpu, sink = c->ranks[to.rank].gpu;
    if (source != sink && c->pairs[source * c->n_gpus + sink] == PAIR_UNUSED)
        return fail(err, STATUS_MACHINE,
                    "copy: the setup names no link from rank %d's device to rank %d's, so it was "
                    "not tested",
                    from.rank, to.rank);
    TRY(begin(c, stream, "copy", &place, err));
    if (from.count == 0)
        return STATUS_OK;
    const size_t bytes = (size_t)from.count * dtype_size(c->dtype);
    if (c->graph.keeping && source != sink && c->pairs[source * c->n_gpus + sink] == PAIR_STAGED)
        return fail(err, STATUS_MACHINE,
                    "a graph cannot hold the copies from rank %d (device %d) to rank %d (device "
                    "%d): without peer access they are staged through the host, which only the "
                    "engine eager does",
                    from.rank, c->gpus[source].id, to.rank, c->gpus[sink].id);
    if (c->graph.keeping)
        TRY(cuda_graph_copy(c, stream, address(c, to), address(c, from), bytes, err));
    else if (source == sink && source == place.gpu)
        TRY(cuda_ok(cudaMemcpyAsync(address(c, to), address(c, from), bytes,
                                    cudaMemcpyDeviceToDevice, place.stream),
                    "copy", place.rank, err));
    else
        TRY(cuda_ok(cudaMemcpyPeerAsync(address(c, to), c->gpus[sink].id, address(c, from),
                                        c->gpus[source].id, bytes, place.stream),
                    "copy", place.rank, err));
out:
    return status;
}

enum status cuda_reduce(struct device *d, int stream, enum redop op, struct span from,
                        struct span to, struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    struct place place;
    TRY(check_stream(c, stream, "reduce", err));
    TRY(cuda_check_span(c, from, "reduce", err));
    TRY(cuda_check_span(c, to, "reduce", err));
    TRY(check_reach(c, stream / N_LANES, from.rank, err));
    TRY(check_own(stream, to, "reduce", err));
    if ((int)op < 0 || (int)op >= N_REDOPS)
        return fail(err, STATUS_MACHINE, "reduce: there is no operator %d", (int)op);
    if (from.count != to.count)
        return fail(err, STATUS_MACHINE, "reduce: %lld elements cannot go into %lld",
                    (long long)from.count, (long long)to.count);
    TRY(begin_kernel(c, stream, "reduce", &place, err));
    TRY(end_kernel(c, stream, kernels_reduce(c->dtype, op, address(c, to), address(c, from),
                                             to.count, place.blocks, place.stream),
                   "reduce", err));
out:
    return status;
}

static enum status check_divisor(int n, const char *verb, struct error *err)
{
    return n != 0 && n != -1
               ? STATUS_OK
               : fail(err, STATUS_MACHINE, "%s: nothing is divided by %d", verb, n);
}

/* So long a delay or a compute may last. */
static enum status check_time(int64_t ns, const char *verb, struct error *err)
{
    return ns >= 0 && ns <= DEVICE_MAX_DELAY_NS
               ? STATUS_OK
               : fail(err, STATUS_MACHINE, "%s: %lld ns are not from 0 to %d", verb, (long long)ns,
                      DEVICE_MAX_DELAY_NS);
}

enum status cuda_compute(struct device *d, int stream, struct pattern pattern, int iteration,
                         int n, int64_t ns, struct span to, struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    struct place place;
    cudaError_t launched = cudaSuccess;
    double scratch;
    TRY(check_stream(c, stream, "compute", err));
    TRY(check_time(ns, "compute", err));
    TRY(check_divisor(n, "compute", err));
    TRY(cuda_check_span(c, to, "compute", err));
    TRY(check_own(stream, to, "compute", err));
    if (pattern.kind == PATTERN_CONSTANT && !dtype_store(c->dtype, pattern.constant, &scratch))
        return fail(err, STATUS_MACHINE, "compute: %g is no %s", pattern.constant,
                    dtype_name(c->dtype));
    TRY(begin_kernel(c, stream, "compute", &place, err));
    if (c->work == WORK_WAITS && ns > 0)
        launched = kernels_delay(ns, place.stream);
    if (launched == cudaSuccess)
        launched = kernels_compute(c->dtype, pattern, place.rank, iteration, n, to.first,
                                   address(c, to), to.count,
                                   cuda_work(c, place.gpu, ns, to.count), place.blocks,
                                   place.stream);
    TRY(end_kernel(c, stream, launched, "compute", err));
out:
    return status;
}

enum status cuda_scale(struct device *d, int stream, int n, struct span at, struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    struct place place;
    TRY(check_stream(c, stream, "scale", err));
    TRY(cuda_check_span(c, at, "scale", err));
    TRY(check_own(stream, at, "scale", err));
    TRY(check_divisor(n, "scale", err));
    TRY(begin_kernel(c, stream, "scale", &place, err));
    TRY(end_kernel(c, stream, kernels_scale(c->dtype, n, address(c, at), at.count, place.blocks,
                                            place.stream),
                   "scale", err));
out:
    return status;
}

enum status cuda_delay(struct device *d, int stream, int64_t ns, struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    struct place place;
    TRY(check_stream(c, stream, "delay", err));
    TRY(check_time(ns, "delay", err));
    TRY(begin_kernel(c, stream, "delay", &place, err));
    TRY(end_kernel(c, stream, kernels_delay(ns, place.stream), "delay", err));
out:
    return status;
}

/* Events. */

enum status cuda_event_on(struct cuda_device *c, int64_t id, int gpu, struct error *err)
{
    const unsigned flags = c->timed ? cudaEventDefault : cudaEventDisableTiming;
    struct cuda_event *event = &c->events[id];
    if (event->event && event->gpu == gpu)
        return STATUS_OK;
    if (event->event && event->graph > 0 && event->graph == c->graph.number)
        return fail(err, STATUS_MACHINE, "record: the graph has event %lld on another device",
                    (long long)id);
    if (event->event)
        (void)cudaEventDestroy(event->event); /* of an earlier round: nobody waits for it now */
    event->event = NULL;
    event->gpu = gpu;
    return cuda_ok(cudaEventCreateWithFlags(&event->event, flags), "an event", -1, err);
}

enum status cuda_record(struct device *d, int64_t event, int stream, struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    struct place place;
    TRY(check_event(c, event, "record", err));
    TRY(begin(c, stream, "record", &place, err));
    if (c->graph.keeping)
        return cuda_graph_record(c, event, stream, err);
    struct cuda_event *e = &c->events[event];
    if (e->round == c->round)
        return fail(err, STATUS_MACHINE, "record: event %lld is recorded twice without a sync",
                    (long long)event);
    TRY(cuda_event_on(c, event, place.gpu, err));
    TRY(cuda_ok(cudaEventRecord(e->event, place.stream), "record", place.rank, err));
    e->round = c->round;
out:
    return status;
}

enum status cuda_wait(struct device *d, int stream, int64_t event, struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    struct place place;
    TRY(check_stream(c, stream, "wait", err));
    TRY(check_event(c, event, "wait", err));
    if (c->graph.keeping)
        return cuda_graph_wait(c, stream, event, err);
    if (!c->queued || c->events[event].round != c->round)
        return fail(err, STATUS_MACHINE,
                    "wait: rank %d would wait for event %lld, which was not recorded since the "
                    "last sync",
                    stream / N_LANES, (long long)event);
    TRY(begin(c, stream, "wait", &place, err));
    TRY(cuda_ok(cudaStreamWaitEvent(place.stream, c->events[event].event, 0), "wait", place.rank,
                err));
out:
    return status;
}

enum status cuda_sync(struct device *d, struct error *err)
{
    struct cuda_device *c = cuda(d);
    if (c->graph.keeping)
        return fail(err, STATUS_MACHINE, "sync: a graph is being kept, graph_end comes first");
    cuda_gate_let_go(c);
    enum status status = cuda_finish_all(c, err);
    if (status == STATUS_OK)
        c->queued = 0;
    return status;
}

enum status cuda_elapsed(struct device *d, int64_t event, int64_t *ns, struct error *err)
{
    struct cuda_device *c = cuda(d);
    enum status status = STATUS_OK;
    float ms = 0;
    TRY(check_event(c, event, "elapsed", err));
    const struct cuda_event *e = &c->events[event];
    if (!c->timed)
        return fail(err, STATUS_MACHINE, "elapsed: event %lld has no time, timing is disabled",
                    (long long)event);
    const int launched = e->graph > 0 && e->graph == c->graph.number && c->graph.round > 0 &&
                         c->graph.round == c->round;
    if (!launched && (e->round == 0 || e->round != c->round))
        return fail(err, STATUS_MACHINE,
                    "elapsed: event %lld was not recorded since the clock started",
                    (long long)event);
    if (c->queued)
        return fail(err, STATUS_MACHINE,
                    "elapsed: event %lld may not have finished, sync comes first",
                    (long long)event);
    TRY(cuda_ok(cudaEventElapsedTime(&ms, c->gpus[e->gpu].mark, e->event), "elapsed", -1, err));
    *ns = c->gpus[e->gpu].mark_ns + (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
out:
    return status;
}
