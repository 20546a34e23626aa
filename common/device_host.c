/* device_host.c - simulated GPUs: their memories, their queues, and what they refuse.
 *
 * Verbs only queue; device_host_run.c carries out at sync. Stricter than CUDA, so that a test on a
 * machine without GPUs finds what a GPU would let pass: a wait for an event that was never recorded
 * fails (CUDA: silently no wait), an event recorded twice in a run or by another rank fails, a
 * kernel on another rank's stream fails, and inboxes hold NaN until something lands there.
 *
 * A graph is kept as it was queued, and a launch queues it again: it has the bits of the same work
 * queued op by op, and, where the model says nothing of queueing and of graphs, the times.
 */
#define _DEFAULT_SOURCE /* madvise */

#include "common/device_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/device_backends.h"

static struct host *host_of(struct device *d) { return (struct host *)d; }

/* ---- refusals ---- */

static enum status check_span(const struct host *h, struct span s, struct error *err)
{
    if (!h->memories)
        return fail(err, STATUS_MACHINE, "host device: memory was not allocated");
    int known = s.rank >= 0 && s.rank < h->n_ranks && (unsigned)s.memory < N_MEMORIES;
    if (!known)
        return fail(err, STATUS_MACHINE, "host device: there is no memory %d of rank %d",
                    (int)s.memory, s.rank);
    if (s.first < 0 || s.count < 0 || s.first > h->counts[s.memory] - s.count)
        return fail(err, STATUS_MACHINE,
                    "host device: %" PRId64 " elements from %" PRId64 " of rank %d's %s, which has "
                    "%" PRId64, s.count, s.first, s.rank,
                    s.memory == MEMORY_DATA ? "data" : "inbox", h->counts[s.memory]);
    return STATUS_OK;
}

static enum status check_pair(const struct host *h, struct span from, struct span to,
                              struct error *err)
{
    enum status status = STATUS_OK;
    TRY(check_span(h, from, err));
    TRY(check_span(h, to, err));
    if (from.count != to.count)
        return fail(err, STATUS_MACHINE,
                    "host device: %" PRId64 " elements cannot go where %" PRId64 " are", from.count,
                    to.count);
out:
    return status;
}

static enum status check_stream(const struct host *h, int stream, struct error *err)
{
    if (stream < 0 || stream >= h->n_ranks * N_LANES)
        return fail(err, STATUS_MACHINE, "host device: there is no stream %d", stream);
    return STATUS_OK;
}

static enum status check_kernel(const struct host *h, int stream, int rank, struct error *err)
{
    if (stream / N_LANES != rank)
        return fail(err, STATUS_MACHINE,
                    "host device: a kernel on rank %d's memory was queued on a stream of rank %d",
                    rank, stream / N_LANES);
    return check_stream(h, stream, err);
}

/* A kernel reads another rank's memory only over a link that the setup names. */
static enum status check_reach(const struct host *h, int rank, int other, struct error *err)
{
    const struct device_facts *facts = &h->base.facts;
    for (int i = 0; i < facts->n_links && rank != other; i++)
        if (facts->links[i].from == rank && facts->links[i].to == other)
            return STATUS_OK;
    return rank == other ? STATUS_OK
                         : fail(err, STATUS_MACHINE, "host device: a kernel of rank %d cannot "
                                "reach rank %d's memory: the setup names no such link", rank,
                                other);
}

static enum status check_event(const struct host *h, int64_t event, struct error *err)
{
    if (event < 0 || event >= h->n_events)
        return fail(err, STATUS_MACHINE, "host device: there is no event %" PRId64, event);
    return STATUS_OK;
}

/* ---- queueing ---- */

/* Streams are empty and begin at start_ns; no event is recorded. */
static void clear(struct host *h, int64_t start_ns)
{
    h->start_ns = start_ns;
    for (int i = 0; i < h->n_ranks * N_LANES; i++) {
        h->streams[i].n_items = h->streams[i].head = 0;
        h->streams[i].time_ns = start_ns;
        h->streams[i].ended = 0;
    }
    for (int64_t i = 0; i < h->n_events; i++)
        h->events[i].recorded = h->events[i].happened = 0;
}

/* The first thing queued after a sync begins a new run: clocks at 0. */
static void begin_run(struct host *h)
{
    if (!h->finished || h->keeping)
        return;
    h->finished = 0;
    h->base.facts.queued_ns = 0;
    clear(h, 0);
}

/* The host's time for one verb. */
static int64_t queueing(const struct device_model *model, enum host_kind kind)
{
    return kind == HOST_COPY     ? model->queue_copy_ns
           : kind == HOST_RECORD ? model->queue_record_ns
           : kind == HOST_WAIT   ? model->queue_wait_ns
                                 : model->queue_kernel_ns;
}

static enum status enqueue(struct host *h, int stream, struct host_item item, struct error *err)
{
    enum status status = check_stream(h, stream, err);
    if (status != STATUS_OK)
        return status;
    if (h->launched && !h->keeping)
        return fail(err, STATUS_MACHINE, "host device: a graph was launched, sync comes first");
    struct host_stream *s = &h->streams[stream];
    struct host_item **items = h->keeping ? &s->kept : &s->items;
    int64_t *n = h->keeping ? &s->n_kept : &s->n_items;
    status = make_room((void **)items, *n + 1, h->keeping ? &s->kept_capacity : &s->capacity,
                       sizeof item, "the queue of a stream", err);
    if (status != STATUS_OK)
        return status;
    if (h->keeping)
        item.queued_ns = (h->n_kept_ops += item.kind < HOST_RECORD) * h->model.queue_graph_ns;
    else
        item.queued_ns = h->base.facts.queued_ns += queueing(&h->model, item.kind);
    (*items)[(*n)++] = item;
    h->queued |= !h->keeping;
    return STATUS_OK;
}

/* In the run that is being queued, or in the graph that is being kept. */
static int is_recorded(const struct host *h, const struct host_event *e)
{
    return h->keeping ? e->graph == h->graph : e->recorded;
}

static enum status host_copy(struct device *d, int stream, struct span from, struct span to,
                             struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    begin_run(h);
    TRY(check_pair(h, from, to, err));
    TRY(enqueue(h, stream, (struct host_item){.kind = HOST_COPY, .from = from, .to = to}, err));
out:
    return status;
}

static enum status host_reduce(struct device *d, int stream, enum redop op, struct span from,
                               struct span to, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    begin_run(h);
    if ((unsigned)op >= N_REDOPS)
        return fail(err, STATUS_MACHINE, "host device: there is no operator %d", (int)op);
    TRY(check_pair(h, from, to, err));
    TRY(check_kernel(h, stream, to.rank, err));
    TRY(check_reach(h, stream / N_LANES, from.rank, err));
    struct host_item item = {.kind = HOST_REDUCE, .from = from, .to = to, .u.redop = op};
    TRY(enqueue(h, stream, item, err));
out:
    return status;
}

static enum status check_time(int64_t ns, struct error *err)
{
    return ns >= 0 && ns <= DEVICE_MAX_DELAY_NS
               ? STATUS_OK
               : fail(err, STATUS_MACHINE, "host device: %" PRId64 " ns are not from 0 to %d", ns,
                      DEVICE_MAX_DELAY_NS);
}

static enum status check_divisor(int n, struct error *err)
{
    return n != 0 && n != -1
               ? STATUS_OK
               : fail(err, STATUS_MACHINE, "host device: nothing is divided by %d", n);
}

static enum status host_delay(struct device *d, int stream, int64_t ns, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    begin_run(h);
    TRY(check_time(ns, err));
    TRY(enqueue(h, stream, (struct host_item){.kind = HOST_DELAY, .ns = ns}, err));
out:
    return status;
}

static enum status host_compute(struct device *d, int stream, struct pattern pattern,
                                int iteration, int n, int64_t ns, struct span to,
                                struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    begin_run(h);
    TRY(check_time(ns, err));
    TRY(check_divisor(n, err));
    TRY(check_span(h, to, err));
    TRY(check_kernel(h, stream, to.rank, err));
    struct host_item item = {.kind = HOST_COMPUTE, .to = to, .ns = ns,
                             .u.fill = {.pattern = pattern, .iteration = iteration, .n = n}};
    TRY(enqueue(h, stream, item, err));
out:
    return status;
}

static enum status host_scale(struct device *d, int stream, int n, struct span at,
                              struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    begin_run(h);
    TRY(check_divisor(n, err));
    TRY(check_span(h, at, err));
    TRY(check_kernel(h, stream, at.rank, err));
    TRY(enqueue(h, stream, (struct host_item){.kind = HOST_SCALE, .to = at, .u.n = n}, err));
out:
    return status;
}

static enum status host_record(struct device *d, int64_t event, int stream, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    begin_run(h);
    TRY(check_event(h, event, err));
    TRY(check_stream(h, stream, err));
    struct host_event *e = &h->events[event];
    if (is_recorded(h, e))
        TRY(fail(err, STATUS_MACHINE, "host device: event %" PRId64 " is recorded twice", event));
    if (e->owner >= 0 && e->owner != stream / N_LANES)
        TRY(fail(err, STATUS_MACHINE,
                 "host device: event %" PRId64 " of rank %d is recorded on a stream of rank %d",
                 event, e->owner, stream / N_LANES));
    TRY(enqueue(h, stream, (struct host_item){.kind = HOST_RECORD, .u.event = event}, err));
    e->owner = stream / N_LANES;
    if (h->keeping)
        e->graph = h->graph;
    else
        e->recorded = 1;
out:
    return status;
}

static enum status host_wait(struct device *d, int stream, int64_t event, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    begin_run(h);
    TRY(check_event(h, event, err));
    if (!is_recorded(h, &h->events[event]))
        TRY(fail(err, STATUS_MACHINE,
                 "host device: a stream of rank %d waits for event %" PRId64
                 ", which was never recorded", stream / N_LANES, event));
    TRY(enqueue(h, stream, (struct host_item){.kind = HOST_WAIT, .u.event = event}, err));
out:
    return status;
}

static enum status host_sync(struct device *d, struct error *err)
{
    struct host *h = host_of(d);
    if (h->keeping)
        return fail(err, STATUS_MACHINE, "host device: a graph is being kept, graph_end comes "
                    "first");
    enum status status = h->finished ? STATUS_OK : host_run(h, err);
    h->finished = 1;
    h->queued = h->launched = 0;
    return status;
}

static enum status host_elapsed(struct device *d, int64_t event, int64_t *ns, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = check_event(h, event, err);
    if (status == STATUS_OK && !h->events[event].happened)
        return fail(err, STATUS_MACHINE, "host device: event %" PRId64 " has not happened", event);
    if (status == STATUS_OK)
        *ns = h->events[event].time_ns;
    return status;
}

/* ---- the graph ---- */

static enum status host_graph_begin(struct device *d, struct error *err)
{
    struct host *h = host_of(d);
    if (h->keeping)
        return fail(err, STATUS_MACHINE, "host device: a graph is already being kept");
    if (h->queued)
        return fail(err, STATUS_MACHINE, "host device: work is still queued, sync comes first");
    h->keeping = 1;
    h->graph++;
    h->has_graph = 0;
    h->n_kept_ops = 0;
    for (int i = 0; i < h->n_ranks * N_LANES; i++)
        h->streams[i].n_kept = 0;
    return STATUS_OK;
}

static enum status host_graph_end(struct device *d, struct error *err)
{
    struct host *h = host_of(d);
    if (!h->keeping)
        return fail(err, STATUS_MACHINE, "host device: no graph is being kept");
    h->keeping = 0;
    h->has_graph = 1;
    return STATUS_OK;
}

/* A launch begins once the host has queued its first op and the one before, if there is one, has
 * ended: so that one is carried out now. */
static enum status begin_launch(struct host *h, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t begin_ns = h->base.facts.queued_ns;
    if (h->n_kept_ops > 0)
        begin_ns += h->model.queue_graph_ns;
    if (h->launched)
        TRY(host_run(h, err));
    for (int i = 0; h->launched && i < h->n_ranks * N_LANES; i++)
        begin_ns = h->streams[i].time_ns > begin_ns ? h->streams[i].time_ns : begin_ns;
    clear(h, begin_ns + h->model.graph_launch_ns);
out:
    return status;
}

static enum status host_graph_launch(struct device *d, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    if (!h->has_graph)
        return fail(err, STATUS_MACHINE, "host device: there is no graph to launch");
    if (h->queued && !h->launched)
        return fail(err, STATUS_MACHINE, "host device: other work is queued, sync comes first");
    begin_run(h);
    TRY(begin_launch(h, err));
    const int64_t host_ns = h->base.facts.queued_ns;
    h->base.facts.queued_ns += h->n_kept_ops * h->model.queue_graph_ns;
    for (int i = 0; i < h->n_ranks * N_LANES; i++) {
        struct host_stream *s = &h->streams[i];
        TRY(make_room((void **)&s->items, s->n_kept, &s->capacity, sizeof *s->items,
                      "the queue of a stream", err));
        if (s->n_kept > 0)
            memcpy(s->items, s->kept, (size_t)s->n_kept * sizeof *s->items);
        for (int64_t k = 0; k < s->n_kept; k++)
            s->items[k].queued_ns += host_ns;
        s->n_items = s->n_kept;
    }
    h->queued = h->launched = 1;
out:
    return status;
}

/* ---- memory ---- */

static enum status check_idle(const struct host *h, struct span span, struct error *err)
{
    if (h->keeping)
        return fail(err, STATUS_MACHINE, "host device: a graph is being kept, graph_end comes "
                    "first");
    if (h->queued)
        return fail(err, STATUS_MACHINE, "host device: work is still queued, sync comes first");
    return check_span(h, span, err);
}

static enum status host_put(struct device *d, struct span to, const void *from, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = check_idle(h, to, err);
    if (status == STATUS_OK && !h->times_only)
        memcpy(host_address(h, to), from, (size_t)to.count * dtype_size(h->dtype));
    return status;
}

static enum status host_get(struct device *d, struct span from, void *to, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = check_idle(h, from, err);
    if (status == STATUS_OK && h->times_only)
        memset(to, 0, (size_t)from.count * dtype_size(h->dtype));
    else if (status == STATUS_OK)
        memcpy(to, host_address(h, from), (size_t)from.count * dtype_size(h->dtype));
    return status;
}

static enum status host_stream(struct device *d, int stream, void **out, struct error *err)
{
    (void)d;
    *out = NULL;
    return fail(err, STATUS_MACHINE, "stream %d: a simulated GPU has none that a library could "
                "queue on", stream);
}

static void *host_address_of(struct device *d, struct span at)
{
    const struct host *h = host_of(d);
    return h->times_only || check_span(h, at, NULL) != STATUS_OK ? NULL : host_address(h, at);
}

/* Bytes that can still be had, or -1 where the system does not say (not Linux). */
static int64_t free_memory(void)
{
    char line[128];
    long long kib = -1;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && kib < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld", &kib) != 1)
            kib = -1;
    if (file)
        fclose(file);
    return kib < 0 ? -1 : (int64_t)kib * 1024;
}

static enum status check_room(const struct host *h, int64_t data_count, int64_t inbox_count,
                              struct error *err)
{
    double GiB = 1024.0 * 1024.0 * 1024.0;
    double wanted = ((double)data_count + (double)inbox_count) * (double)dtype_size(h->dtype) *
                    h->n_ranks;
    int64_t available = free_memory();
    if (data_count < 0 || inbox_count < 0 || wanted > 9e18 ||
        (available >= 0 && wanted > (double)available))
        return fail(err, STATUS_MACHINE,
                    "%d simulated GPUs need %.1f GiB of memory, %.1f GiB are free; take a smaller "
                    "count, or look at the plan alone (ring_demo plan)",
                    h->n_ranks, wanted / GiB, available < 0 ? 0.0 : (double)available / GiB);
    return STATUS_OK;
}

static void poison(const struct host *h, char *memory, int64_t count)
{
    const uint64_t nan = dtype_nan(h->dtype); /* its low bytes come first */
    size_t size = dtype_size(h->dtype);
    for (int64_t i = 0; i < count; i++)
        memcpy(memory + (size_t)i * size, &nan, size);
}

#define LARGE_PAGE (1 << 21) /* bytes, or less */

/* Large memories in large pages, where the system has them for the asking: a page that is touched
 * for the first time costs more than what is then copied into it. Asking may be in vain. */
static void prefer_large_pages(char *memory, int64_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *first = memory + (page - (uintptr_t)memory % page) % page;
    if (bytes >= LARGE_PAGE && first < memory + bytes)
        madvise(first, (size_t)(memory + bytes - first), MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

static enum status host_alloc(struct device *d, int64_t data_count, int64_t inbox_count,
                              int64_t n_events, struct error *err)
{
    struct host *h = host_of(d);
    enum status status = STATUS_OK;
    int n = h->n_ranks * N_MEMORIES;
    if (h->memories)
        return fail(err, STATUS_MACHINE, "host device: the memories are already taken");
    if (!h->times_only)
        TRY(check_room(h, data_count, inbox_count, err));
    h->counts[MEMORY_DATA] = data_count;
    h->counts[MEMORY_INBOX] = inbox_count;
    TRY(allocate((void **)&h->reads, n, sizeof *h->reads, "simulated GPUs", err));
    TRY(allocate((void **)&h->memories, n, sizeof *h->memories, "simulated GPUs", err));
    for (int i = 0; i < n; i++) {
        int64_t count = h->times_only ? 0 : h->counts[i % N_MEMORIES];
        TRY(allocate((void **)&h->memories[i], count, dtype_size(h->dtype),
                     "the memory of simulated GPUs", err));
        prefer_large_pages(h->memories[i], count * (int64_t)dtype_size(h->dtype));
        if (i % N_MEMORIES == MEMORY_INBOX)
            poison(h, h->memories[i], count);
    }
    TRY(allocate((void **)&h->events, n_events, sizeof *h->events, "events", err));
    h->n_events = n_events;
    for (int64_t i = 0; i < n_events; i++)
        h->events[i] = (struct host_event){.owner = -1, .waiting = -1};
out:
    return status;
}

static void host_close(struct device *d)
{
    if (!d)
        return;
    struct host *h = host_of(d);
    for (int i = 0; h->memories && i < h->n_ranks * N_MEMORIES; i++)
        free(h->memories[i]);
    for (int i = 0; h->streams && i < h->n_ranks * N_LANES; i++) {
        free(h->streams[i].items);
        free(h->streams[i].kept);
        free(h->streams[i].reads[0].kept);
        free(h->streams[i].reads[1].kept);
    }
    free(h->memories);
    free(h->reads);
    free(h->streams);
    free(h->events);
    free(h->device_of);
    free(h->base.facts.names);
    free(h->base.facts.links);
    free(h->base.facts.paths);
    free(h);
}

static const struct device_verbs verbs = {
    .name = "host", .close = host_close, .alloc = host_alloc, .put = host_put, .get = host_get,
    .address = host_address_of,
    .stream = host_stream,
    .copy = host_copy, .reduce = host_reduce, .compute = host_compute, .scale = host_scale,
    .delay = host_delay, .record = host_record, .wait = host_wait, .sync = host_sync,
    .elapsed = host_elapsed, .graph_begin = host_graph_begin, .graph_end = host_graph_end,
    .graph_launch = host_graph_launch,
};

static enum status fill_facts(struct host *h, const struct device_setup *setup, struct error *err)
{
    enum status status = STATUS_OK;
    struct device_facts *facts = &h->base.facts;
    facts->simulated = 1;
    TRY(allocate((void **)&facts->names, h->n_ranks, sizeof *facts->names, "ranks", err));
    TRY(allocate((void **)&facts->links, setup->n_links, sizeof *facts->links, "links", err));
    TRY(allocate((void **)&facts->paths, setup->n_links, sizeof *facts->paths, "links", err));
    for (int rank = 0; rank < h->n_ranks; rank++) {
        int first = 0;
        while (h->device_of[first] != h->device_of[rank])
            first++;
        facts->n_devices += first == rank;
        snprintf(facts->names[rank], sizeof facts->names[rank], "simulated GPU");
    }
    facts->n_links = setup->n_links;
    for (int i = 0; i < setup->n_links; i++) {
        const struct device_link *link = &setup->links[i];
        facts->links[i] = *link;
        facts->paths[i] = h->device_of[link->from] == h->device_of[link->to] ? PATH_SAME
                                                                             : PATH_MODEL;
    }
out:
    return status;
}

void device_host_inventory(struct device_inventory *out)
{
    snprintf(out->runtime, sizeof out->runtime, "simulated GPUs");
    snprintf(out->driver, sizeof out->driver, "none needed");
}

enum status device_host_open(struct device **out, const struct device_setup *setup,
                             struct error *err)
{
    enum status status = STATUS_OK;
    struct host *h = NULL;
    TRY(allocate((void **)&h, 1, sizeof *h, "simulated GPUs", err));
    h->base.verbs = &verbs;
    h->n_ranks = setup->n_ranks;
    h->dtype = setup->dtype;
    h->model = setup->model;
    h->random = setup->random;
    h->seed = setup->seed;
    h->times_only = setup->times_only;
    TRY(allocate((void **)&h->device_of, h->n_ranks, sizeof *h->device_of, "ranks", err));
    TRY(allocate((void **)&h->streams, (int64_t)h->n_ranks * N_LANES, sizeof *h->streams, "streams",
                 err));
    memcpy(h->device_of, setup->device_of, (size_t)h->n_ranks * sizeof *h->device_of);
    TRY(fill_facts(h, setup, err));
    *out = &h->base;
    return STATUS_OK;
out:
    host_close(h ? &h->base : NULL);
    return status;
}
