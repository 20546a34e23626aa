/* device_cuda_graph.c - what is queued becomes a CUDA graph: ops are nodes, waits are edges.
 *
 * While a graph is kept, each stream has `ends`: the nodes that its next node has to follow. A copy
 * or a kernel follows them and is then the stream's only end; a wait adds the event's node to
 * them. So the graph has exactly the order that the streams and events would have made, and
 * neither a stream nor an event takes part when it runs (but for timed events, which are nodes).
 *
 * A copy is a memcpy node, since cudaMemcpyPeerAsync cannot be captured; it belongs to the device
 * that is current when it is added: the one that would have queued it. A kernel is caught by a
 * capture of its stream that lasts for this one launch, so that kernels.cu serves both engines and
 * the node keeps the stream's priority.
 */
#include "common/device_cuda.h"

#include <stdlib.h>

#if CUDART_VERSION < 12030
#error "CUDA graphs are built with cudaStreamBeginCaptureToGraph, which came with CUDA 12.3"
#endif

static struct cuda_device *cuda(struct device *d) { return (struct cuda_device *)d; }

static cudaStream_t stream_of(const struct cuda_device *c, int stream)
{
    return c->ranks[stream / N_LANES].streams[stream % N_LANES];
}

/* ---- the ends of a stream ---- */

static enum status add_end(struct cuda_nodes *ends, cudaGraphNode_t node, struct error *err)
{
    enum status status = STATUS_OK;
    for (int64_t i = 0; i < ends->n; i++)
        if (ends->items[i] == node) /* CUDA refuses a dependency that is named twice */
            return STATUS_OK;
    TRY(make_room((void **)&ends->items, ends->n + 1, &ends->capacity, sizeof node,
                  "the nodes of a graph", err));
    ends->items[ends->n++] = node;
out:
    return status;
}

static enum status only_end(struct cuda_nodes *ends, cudaGraphNode_t node, struct error *err)
{
    ends->n = 0;
    return add_end(ends, node, err);
}

/* ---- nodes ---- */

enum status cuda_graph_copy(struct cuda_device *c, int stream, void *to, const void *from,
                            size_t bytes, struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_nodes *ends = &c->graph.ends[stream];
    cudaGraphNode_t node;
    TRY(cuda_ok(cudaGraphAddMemcpyNode1D(&node, c->graph.nodes, ends->items, (size_t)ends->n, to,
                                         from, bytes, cudaMemcpyDefault),
                "copy, in a graph", stream / N_LANES, err));
    TRY(only_end(ends, node, err));
out:
    return status;
}

enum status cuda_graph_kernel_begin(struct cuda_device *c, int stream, struct error *err)
{
    const struct cuda_nodes *ends = &c->graph.ends[stream];
    return cuda_ok(cudaStreamBeginCaptureToGraph(stream_of(c, stream), c->graph.nodes, ends->items,
                                                 NULL, (size_t)ends->n,
                                                 cudaStreamCaptureModeThreadLocal),
                   "keeping a kernel", stream / N_LANES, err);
}

/* What would follow the kernel: the kernel's node, or, where nothing was launched, what it would
 * have followed. The array is CUDA's, until the capture ends. */
static cudaError_t captured(cudaStream_t stream, const cudaGraphNode_t **nodes, size_t *n)
{
    enum cudaStreamCaptureStatus state;
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(stream, &state, NULL, NULL, nodes, NULL, n);
#else
    return cudaStreamGetCaptureInfo_v2(stream, &state, NULL, NULL, nodes, n);
#endif
}

enum status cuda_graph_kernel_end(struct cuda_device *c, int stream, cudaError_t launched,
                                  const char *verb, struct error *err)
{
    const int rank = stream / N_LANES;
    struct cuda_nodes *ends = &c->graph.ends[stream];
    const cudaGraphNode_t *nodes = NULL;
    cudaGraph_t graph = NULL;
    size_t n = 0;
    enum status status = cuda_ok(launched, verb, rank, err);
    if (status == STATUS_OK)
        status = cuda_ok(captured(stream_of(c, stream), &nodes, &n), "keeping a kernel", rank, err);
    if (status == STATUS_OK && n > 0) {
        ends->n = 0;
        for (size_t i = 0; i < n && status == STATUS_OK; i++)
            status = add_end(ends, nodes[i], err);
    }
    /* also after a failure: a stream must not be left capturing */
    const cudaError_t ended = cudaStreamEndCapture(stream_of(c, stream), &graph);
    return status == STATUS_OK ? cuda_ok(ended, "keeping a kernel", rank, err) : status;
}

/* An event's node: of a timed device a record; else the stream's end, or one that joins them. */
enum status cuda_graph_record(struct cuda_device *c, int64_t event, int stream, struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_event *e = &c->events[event];
    struct cuda_nodes *ends = &c->graph.ends[stream];
    const size_t n = (size_t)ends->n;
    if (e->graph == c->graph.number)
        return fail(err, STATUS_MACHINE, "record: event %lld is recorded twice in a graph",
                    (long long)event);
    e->node = n == 1 ? ends->items[0] : NULL;
    if (c->timed)
        TRY(cuda_event_on(c, event, c->ranks[stream / N_LANES].gpu, err));
    if (c->timed)
        TRY(cuda_ok(cudaGraphAddEventRecordNode(&e->node, c->graph.nodes, ends->items, n,
                                                e->event),
                    "record, in a graph", stream / N_LANES, err));
    else if (n > 1)
        TRY(cuda_ok(cudaGraphAddEmptyNode(&e->node, c->graph.nodes, ends->items, n),
                    "record, in a graph", stream / N_LANES, err));
    e->graph = c->graph.number;
    if (e->node)
        TRY(only_end(ends, e->node, err));
out:
    return status;
}

enum status cuda_graph_wait(struct cuda_device *c, int stream, int64_t event, struct error *err)
{
    const struct cuda_event *e = &c->events[event];
    if (e->graph != c->graph.number)
        return fail(err, STATUS_MACHINE,
                    "wait: rank %d would wait for event %lld, which the graph does not record "
                    "before", stream / N_LANES, (long long)event);
    return e->node ? add_end(&c->graph.ends[stream], e->node, err) : STATUS_OK;
}

/* ---- the verbs ---- */

static void throw_away(struct cuda_graph *graph)
{
    if (graph->ready)
        (void)cudaGraphExecDestroy(graph->ready);
    if (graph->nodes)
        (void)cudaGraphDestroy(graph->nodes);
    graph->ready = NULL;
    graph->nodes = NULL;
}

/* Also of a device that never had one. */
void cuda_graph_close(struct cuda_device *c)
{
    throw_away(&c->graph);
    if (c->graph.stream)
        (void)cudaStreamDestroy(c->graph.stream);
    c->graph.stream = NULL;
}

void cuda_graph_free(struct cuda_device *c)
{
    for (int i = 0; c->graph.ends && i < c->n_ranks * N_LANES; i++)
        free(c->graph.ends[i].items);
    free(c->graph.ends);
    c->graph.ends = NULL;
}

enum status cuda_graph_begin(struct device *d, struct error *err)
{
    struct cuda_device *c = cuda(d);
    struct cuda_graph *graph = &c->graph;
    const int n_streams = c->n_ranks * N_LANES;
    enum status status = STATUS_OK;
    void *got = NULL;
    if (graph->keeping)
        return fail(err, STATUS_MACHINE, "graph_begin: a graph is already being kept");
    if (c->queued)
        return fail(err, STATUS_MACHINE, "graph_begin: work is still queued, sync comes first");
    throw_away(graph);
    if (!graph->ends) {
        TRY(allocate(&got, n_streams, sizeof *graph->ends, "a graph", err));
        graph->ends = got;
    }
    for (int i = 0; i < n_streams; i++)
        graph->ends[i].n = 0;
    TRY(cuda_use(c, 0, err));
    if (!graph->stream)
        TRY(cuda_ok(cudaStreamCreateWithFlags(&graph->stream, cudaStreamNonBlocking),
                    "the graph's stream", -1, err));
    TRY(cuda_ok(cudaGraphCreate(&graph->nodes, 0), "graph_begin", -1, err));
    graph->keeping = 1;
    graph->number++;
    graph->round = 0;
out:
    return status;
}

enum status cuda_graph_end(struct device *d, struct error *err)
{
    struct cuda_device *c = cuda(d);
    struct cuda_graph *graph = &c->graph;
    enum status status = STATUS_OK;
    if (!graph->keeping)
        return fail(err, STATUS_MACHINE, "graph_end: no graph is being kept");
    graph->keeping = 0;
    TRY(cuda_use(c, 0, err));
    TRY(cuda_ok(cudaGraphInstantiateWithFlags(&graph->ready, graph->nodes,
                                              cudaGraphInstantiateFlagUseNodePriority),
                "graph_end", -1, err));
    TRY(cuda_ok(cudaGraphUpload(graph->ready, graph->stream), "graph_end", -1, err));
    TRY(cuda_finish(c, graph->stream, cuda_deadline(c), "graph_end", -1, err));
out:
    return status;
}

enum status cuda_graph_launch(struct device *d, struct error *err)
{
    struct cuda_device *c = cuda(d);
    struct cuda_graph *graph = &c->graph;
    enum status status = STATUS_OK;
    if (graph->keeping || !graph->ready)
        return fail(err, STATUS_MACHINE, "graph_launch: there is no graph, %s comes first",
                    graph->keeping ? "graph_end" : "graph_begin");
    if (c->queued && graph->round != c->round)
        return fail(err, STATUS_MACHINE, "graph_launch: other work is queued, sync comes first");
    if (c->queued) /* behind another launch: as with streams, the gate must not fill up */
        cuda_gate_let_go(c);
    TRY(cuda_round_begin(c, err));
    graph->round = c->round;
    TRY(cuda_use(c, 0, err));
    TRY(cuda_ok(cudaGraphLaunch(graph->ready, graph->stream), "graph_launch", -1, err));
out:
    return status;
}
