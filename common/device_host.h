/* device_host.h - what device_host.c (verbs, queues, memory) and device_host_run.c (the scheduler)
 * share. Nobody else includes it. */
#ifndef COMMON_DEVICE_HOST_H
#define COMMON_DEVICE_HOST_H

#include "common/device.h"

enum host_kind {
    HOST_COPY, HOST_REDUCE, HOST_COMPUTE, HOST_SCALE, HOST_DELAY, HOST_RECORD, HOST_WAIT
};

/* One thing queued on a stream. */
struct host_item {
    enum host_kind kind;
    struct span from, to;
    int64_t ns;                 /* delay; compute: it takes no less */
    int64_t queued_ns;          /* when the host has queued it; of the graph: since its launch */
    union {
        int64_t event;          /* record, wait */
        enum redop redop;       /* reduce */
        int n;                  /* scale */
        struct { struct pattern pattern; int iteration, n; } fill; /* compute */
    } u;
};

/* A span that an op in flight is reading. If somebody else writes there before the op ends, the
 * elements as they were when it began are kept aside. */
struct host_read {
    struct span span;            /* count 0 = reads nothing */
    char *kept;                  /* owned, or NULL: still as they were */
    struct host_read *next, **link; /* in host.reads of this memory */
};

struct host_stream {
    struct host_item *items;     /* owned; items[head ..] are still to come */
    int64_t n_items, capacity, head;
    int64_t time_ns;             /* when what precedes items[head] was done */
    int busy;                    /* items[head] has begun */
    int64_t late_ns;             /* so much later than it was to end it will */
    int ended;                   /* an op of this run has ended here, the last one at ... */
    int64_t end_ns;
    struct host_item *kept;      /* owned: of the graph */
    int64_t n_kept, kept_capacity;
    struct host_read reads[2]; /* of the op in flight: its source, what it adds to or scales */
    int waiting_next;            /* next stream that waits for the same event, or -1 */
};

struct host_event {
    int owner;                   /* rank that recorded it first, or -1: belongs to nobody yet */
    int recorded;                /* in this run, a run being from one sync to the next */
    int64_t graph;               /* number of the graph that records it, 0 = none */
    int happened;
    int64_t time_ns;
    int waiting;                 /* first stream that waits for it, or -1 */
};

struct host {
    struct device base;
    int n_ranks;
    int *device_of;              /* owned copy */
    enum dtype dtype;
    struct device_model model;
    int random;
    uint64_t seed;
    int times_only;
    int64_t counts[N_MEMORIES];  /* elements of each rank's memories */
    char **memories;             /* [n_ranks * N_MEMORIES] */
    struct host_read **reads;    /* [n_ranks * N_MEMORIES]: spans in flight */
    struct host_stream *streams; /* [n_ranks * N_LANES] */
    int64_t n_events;
    struct host_event *events;
    int64_t start_ns;            /* when the streams begin: later than 0 behind a launch */
    int keeping;                 /* between graph_begin and graph_end */
    int launched;                /* what is queued is a launch of the graph */
    int64_t graph;               /* number of the graph; counts graph_begin */
    int has_graph;               /* one that can be launched */
    int64_t n_kept_ops;          /* copies, kernels and delays of the graph */
    int finished; /* a sync ended the run; the next verb that queues begins another */
    int queued;                  /* something waits for a sync */
};

static inline int host_memory(struct span s) { return s.rank * N_MEMORIES + (int)s.memory; }

static inline char *host_address(const struct host *h, struct span s)
{
    return h->memories[host_memory(s)] + (size_t)s.first * dtype_size(h->dtype);
}

/* Carries out all that is queued. STATUS_MACHINE: no memory, or streams that wait for each other */
enum status host_run(struct host *h, struct error *err);

#endif
