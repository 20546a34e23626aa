/* device_host_run.c - simulated GPUs: a discrete-event scheduler, without threads.
 *
 * An op begins when its stream has come to it and all it waits for has happened; it reads what it
 * reads at that moment, and writes at its end. (Nothing is copied for this: only if another op
 * writes there meanwhile are the old elements kept aside. In a plan without hazards none does.)
 *
 * Two ways to choose what happens next. The model: an op takes as long as device_model says, and
 * whatever ends first happens first; equal times in the order of beginning. Random: any op that may
 * begin or end does, by lot; a missing wait then shows as a wrong sum, the same one for the same
 * seed. Either way real elements move, and the same call gives the same bytes and times again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/device_host.h"
#include "common/init.h"
#include "common/interrupt.h"
#include "common/loops.h"

#define RANDOM_TICK_NS 1000 /* random schedules have no clock: one choice, one microsecond */

struct flight { /* an op that has begun, or one that is still to begin */
    int stream;
    int64_t begun; /* how many flights there were before */
    int64_t end_ns;
    int begins;    /* at end_ns it begins */
};

struct run {
    struct host *h;
    struct error *err;
    struct flight *flights;  /* model: a heap, the next to end on top; random: in no order */
    int n_flights;
    int64_t n_begun;
    int n_computing;         /* computes in flight */
    int *ready, n_ready;     /* random: streams that may begin an op */
    int *awake, n_awake;     /* streams to look at again */
    int64_t now_ns;
    uint64_t state;          /* of the lots */
};

/* ---- how long things take ---- */

static int64_t duration(const struct host *h, const struct host_item *item)
{
    static const int passes[] = {[HOST_COPY] = 2, [HOST_REDUCE] = 3, [HOST_COMPUTE] = 1,
                                 [HOST_SCALE] = 2}; /* times that memory is read or written */
    if (item->kind == HOST_DELAY)
        return item->ns;
    double bytes = (double)item->to.count * (double)dtype_size(h->dtype);
    const int *slow = h->model.slow_ranks, a = item->from.rank, b = item->to.rank;
    double times = h->model.slow_times > 0 && ((a == slow[0] && b == slow[1]) ||
                                               (a == slow[1] && b == slow[0]))
                       ? h->model.slow_times : 1;
    int crosses = item->kind <= HOST_REDUCE &&
                  h->device_of[item->from.rank] != h->device_of[item->to.rank];
    if (crosses) /* a copy, or a kernel that reads a peer's memory */
        return llround(times * ((double)(item->kind == HOST_COPY ? h->model.link_latency_ns
                                                                 : h->model.kernel_latency_ns) +
                                bytes / h->model.link_GBps));
    int64_t ns = h->model.kernel_latency_ns +
                 llround(passes[item->kind] * bytes / h->model.memory_GBps);
    return item->ns > ns ? item->ns : ns;
}

/* ---- reading at the beginning, writing at the end ---- */

static void watch(struct host *h, struct host_read *read, struct span span)
{
    *read = (struct host_read){.span = span};
    if (span.count == 0)
        return;
    read->link = &h->reads[host_memory(span)];
    read->next = *read->link;
    if (read->next)
        read->next->link = &read->next;
    *read->link = read;
}

static void unwatch(struct host_read *read)
{
    if (read->span.count == 0)
        return;
    *read->link = read->next;
    if (read->next)
        read->next->link = read->link;
}

static enum status keep_aside(struct host *h, struct span about_to_change, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t first = about_to_change.first, end = first + about_to_change.count;
    for (struct host_read *r = h->reads[host_memory(about_to_change)]; r; r = r->next)
        if (!r->kept && r->span.first < end && first < r->span.first + r->span.count) {
            TRY(allocate((void **)&r->kept, r->span.count, dtype_size(h->dtype),
                         "elements overwritten while being read", err));
            memcpy(r->kept, host_address(h, r->span),
                   (size_t)r->span.count * dtype_size(h->dtype));
        }
out:
    return status;
}

static enum status write_result(struct host *h, struct host_stream *stream, struct error *err)
{
    enum status status = STATUS_OK;
    const struct host_item *item = &stream->items[stream->head];
    if (h->times_only)
        return STATUS_OK;
    const struct host_read *from = &stream->reads[0], *old = &stream->reads[1];
    const char *source = from->kept ? from->kept : host_address(h, item->from);
    char *to = host_address(h, item->to);
    size_t bytes = (size_t)item->to.count * dtype_size(h->dtype);
    TRY(keep_aside(h, item->to, err));
    if (old->kept)
        memcpy(to, old->kept, bytes);
    switch (item->kind) {
    case HOST_COPY: memmove(to, source, bytes); break;
    case HOST_REDUCE: loop_reduce(h->dtype, item->u.redop, to, source, item->to.count); break;
    case HOST_DELAY: break;
    case HOST_SCALE: loop_scale(h->dtype, to, item->u.n, item->to.count); break;
    default: {
        struct pattern pattern = item->u.fill.pattern;
        struct init init = {.dtype = h->dtype, .pattern = pattern,
                            .n_values = pattern.kind == PATTERN_CONSTANT,
                            .values = &pattern.constant};
        TRY(init_fill(&init, item->to.rank, item->u.fill.iteration, item->to.first,
                      item->to.count, to, err));
        if (item->u.fill.n != 1)
            loop_scale(h->dtype, to, item->u.fill.n, item->to.count);
    }
    }
out:
    return status;
}

/* ---- events and streams ---- */

static void happen(struct run *run, int64_t id, int64_t time_ns)
{
    struct host_event *event = &run->h->events[id];
    event->happened = 1;
    event->time_ns = time_ns;
    while (event->waiting >= 0) {
        run->awake[run->n_awake++] = event->waiting;
        event->waiting = run->h->streams[event->waiting].waiting_next;
    }
}

static int precedes(const struct flight *a, const struct flight *b)
{
    return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->begun < b->begun;
}

static void push_flight(struct run *run, struct flight f)
{
    int i = run->n_flights++;
    for (; !run->h->random && i > 0 && precedes(&f, &run->flights[(i - 1) / 2]); i = (i - 1) / 2)
        run->flights[i] = run->flights[(i - 1) / 2];
    run->flights[i] = f;
}

static struct flight pop_flight(struct run *run, int which)
{
    struct flight *heap = run->flights, out = heap[which], last = heap[--run->n_flights];
    int n = run->n_flights, i = which;
    if (!run->h->random)
        for (int child; (child = 2 * i + 1) < n; i = child) {
            if (child + 1 < n && precedes(&heap[child + 1], &heap[child]))
                child++;
            if (!precedes(&heap[child], &last))
                break;
            heap[i] = heap[child];
        }
    heap[i] = last;
    return out;
}

/* An add that takes so long begins: what computes on its device ends later. */
static void delay_computes(struct run *run, int rank, int64_t ns)
{
    const struct host *h = run->h;
    for (int i = 0; run->n_computing > 0 && i < h->n_ranks * N_LANES; i++) {
        struct host_stream *stream = &h->streams[i];
        if (stream->busy && stream->items[stream->head].kind == HOST_COMPUTE &&
            h->device_of[i / N_LANES] == h->device_of[rank])
            stream->late_ns += llround((double)ns * (double)h->model.add_takes_percent / 100);
    }
}

static void begin_op(struct run *run, int id)
{
    struct host_stream *stream = &run->h->streams[id];
    const struct host_item *item = &stream->items[stream->head];
    const struct span nothing = {.count = 0};
    int adds = item->kind == HOST_REDUCE || item->kind == HOST_SCALE;
    const int64_t ns = duration(run->h, item);
    if (item->kind == HOST_REDUCE && run->h->model.add_takes_percent > 0)
        delay_computes(run, id / N_LANES, ns);
    stream->busy = 1;
    stream->late_ns = 0;
    run->n_computing += item->kind == HOST_COMPUTE;
    watch(run->h, &stream->reads[0], item->from);
    watch(run->h, &stream->reads[1], adds ? item->to : nothing);
    push_flight(run, (struct flight){id, run->n_begun++, stream->time_ns + ns, 0});
}

static enum status end_op(struct run *run, struct flight f)
{
    struct host_stream *stream = &run->h->streams[f.stream];
    for (int i = 0; i < 2; i++)
        unwatch(&stream->reads[i]);
    enum status status = write_result(run->h, stream, run->err);
    for (int i = 0; i < 2; i++) {
        free(stream->reads[i].kept);
        stream->reads[i].kept = NULL;
    }
    stream->busy = 0;
    run->n_computing -= stream->items[stream->head].kind == HOST_COMPUTE;
    stream->head++;
    stream->ended = 1;
    stream->time_ns = stream->end_ns = run->now_ns;
    run->awake[run->n_awake++] = f.stream;
    return status;
}

static void not_before(struct host_stream *stream, int64_t ns)
{
    if (ns > stream->time_ns)
        stream->time_ns = ns;
}

/* The op at the head begins: now, or, where the host has not queued it yet or the way to it is
 * long, later. What it reads is looked at only then. */
static void begin_in_time(struct run *run, int id)
{
    struct host_stream *stream = &run->h->streams[id];
    if (run->h->launched && stream->ended)
        not_before(stream, stream->end_ns + run->h->model.graph_edge_ns);
    if (stream->time_ns > run->now_ns)
        push_flight(run, (struct flight){id, run->n_begun++, stream->time_ns, 1});
    else
        begin_op(run, id);
}

/* Passes records, and waits whose event has happened; begins the op it comes to, or, by lot,
 * offers it. In a random run a record before an op is left to the moment when the op begins, so
 * that it tells that moment; records behind an op (`after_op`) happen at once. */
static void advance(struct run *run, int id, int after_op)
{
    struct host_stream *stream = &run->h->streams[id];
    const struct device_model *model = &run->h->model;
    const int64_t wait_ns = run->h->launched ? model->graph_edge_ns + model->graph_wait_ns
                                             : model->wait_ns;
    for (; stream->head < stream->n_items; stream->head++) {
        const struct host_item *item = &stream->items[stream->head];
        if (!run->h->random)
            not_before(stream, item->queued_ns);
        if (item->kind == HOST_WAIT) {
            struct host_event *event = &run->h->events[item->u.event];
            if (!event->happened) {
                stream->waiting_next = event->waiting;
                event->waiting = id;
                return;
            }
            not_before(stream, event->time_ns + (run->h->random ? 0 : wait_ns));
            after_op = 0;
        } else if (item->kind == HOST_RECORD && (after_op || !run->h->random)) {
            happen(run, item->u.event, stream->time_ns);
        } else if (run->h->random) {
            run->ready[run->n_ready++] = id;
            return;
        } else {
            begin_in_time(run, id);
            return;
        }
    }
}

/* Random: the stream chosen passes its records now, and begins the op behind them. */
static void begin_chosen(struct run *run, int which)
{
    int id = run->ready[which];
    struct host_stream *stream = &run->h->streams[id];
    run->ready[which] = run->ready[--run->n_ready];
    stream->time_ns = run->now_ns;
    while (stream->head < stream->n_items && stream->items[stream->head].kind == HOST_RECORD)
        happen(run, stream->items[stream->head++].u.event, stream->time_ns);
    if (stream->head < stream->n_items && stream->items[stream->head].kind != HOST_WAIT)
        begin_op(run, id);
    else
        run->awake[run->n_awake++] = id;
}

/* ---- the loop ---- */

static enum status happens_next(struct run *run)
{
    if (!run->h->random) {
        struct flight f = pop_flight(run, 0);
        int64_t *late_ns = &run->h->streams[f.stream].late_ns;
        run->now_ns = f.end_ns;
        if (f.begins) {
            begin_op(run, f.stream);
        } else if (*late_ns > 0) {
            f.end_ns += *late_ns;
            *late_ns = 0;
            push_flight(run, f);
        } else {
            return end_op(run, f);
        }
        return STATUS_OK;
    }
    run->now_ns += RANDOM_TICK_NS;
    run->state = pattern_hash(run->state);
    int lot = (int)(run->state % (uint64_t)(run->n_ready + run->n_flights));
    if (lot >= run->n_ready)
        return end_op(run, pop_flight(run, lot - run->n_ready));
    begin_chosen(run, lot);
    return STATUS_OK;
}

static enum status all_done(const struct host *h, struct error *err)
{
    for (int i = 0; i < h->n_ranks * N_LANES; i++)
        if (h->streams[i].head < h->streams[i].n_items)
            return fail(err, STATUS_MACHINE,
                        "rank %d can never go on: its next op waits for one that waits for it",
                        i / N_LANES);
    return STATUS_OK;
}

enum status host_run(struct host *h, struct error *err)
{
    enum status status = STATUS_OK;
    int n = h->n_ranks * N_LANES;
    struct run run = {.h = h, .err = err, .now_ns = h->start_ns,
                      .state = pattern_hash(h->seed)};
    TRY(allocate((void **)&run.flights, n, sizeof *run.flights, "the schedule", err));
    TRY(allocate((void **)&run.ready, n, sizeof *run.ready, "the schedule", err));
    TRY(allocate((void **)&run.awake, 2 * n, sizeof *run.awake, "the schedule", err));
    for (int i = 0; i < n; i++)
        run.awake[run.n_awake++] = n - 1 - i;
    for (;;) {
        while (run.n_awake > 0) {
            int id = run.awake[--run.n_awake];
            const struct host_stream *s = &h->streams[id];
            int after_op = s->head > 0 && s->items[s->head - 1].kind < HOST_RECORD;
            advance(&run, id, after_op);
        }
        if (run.n_flights + run.n_ready == 0)
            break;
        TRY(interrupt_seen(err));
        TRY(happens_next(&run));
    }
    TRY(all_done(h, err));
out:
    free(run.flights);
    free(run.ready);
    free(run.awake);
    return status;
}
