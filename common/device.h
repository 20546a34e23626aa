/* device.h - the verbs with which a plan is carried out, and the two machines that know them.
 *
 * `cuda` drives real GPUs; `host` simulates them without threads: real data, modelled clock.
 * Whoever holds a struct device queues work on streams (stream_id() of span.h) and orders it by
 * events, exactly as in CUDA; nothing queued need have happened before sync() returns.
 *
 * Life:  device_open -> alloc -> put .. -> sync -> { copy reduce compute scale delay record wait }
 *        -> sync -> elapsed .. get .. -> close.    After a sync new work may be queued.
 *
 * Or the work is kept as a graph, and queued as a whole as often as wanted:
 *        graph_begin -> { copy .. wait } -> graph_end -> { graph_launch .. -> sync -> elapsed .. }
 *
 * Ids are small integers end to end: ranks 0.., streams rank * N_LANES + lane, events 0.. as many
 * as alloc was told. For op i of a plan event 2i marks its begin and event 2i+1 its end.
 *
 * Every verb returns STATUS_OK or leaves a sentence in err. What the caller got wrong and what the
 * machine cannot do are both STATUS_MACHINE here. After any failure only close() is of use.
 */
#ifndef COMMON_DEVICE_H
#define COMMON_DEVICE_H

#include <stdint.h>

#include "common/dtype.h"
#include "common/pattern.h"
#include "common/span.h"
#include "common/status.h"

/* How the host backend turns work into nanoseconds: a copy takes latency + bytes / rate, and so
 * does a kernel, for the bytes it reads and writes (one that reads another rank's memory goes at
 * the link's rate). GBps = 1e9 bytes per second.
 *
 * Queueing costs, too. One host thread queues everything: each verb takes it queue_.._ns, and
 * nothing happens on a device before the verb that asks for it is over. Behind a wait a stream goes
 * on wait_ns after the event at the earliest. Launching a graph takes the host queue_graph_ns for
 * each copy and kernel in it, in the order in which they were kept, and nothing for records and
 * waits; none begins before the host has come past it. The graph begins graph_launch_ns after the
 * host has come past the first of them, and after the graph before has ended; there an op begins
 * graph_edge_ns after the one before it on its stream, and graph_edge_ns + graph_wait_ns after
 * those that it waits for.
 *
 * Adds take turns with computes: a compute that runs on a device where an add begins lasts longer
 * by add_takes_percent of the time that the add lasts. */
struct device_model {
    char name[64];             /* of the link, as printed */
    int64_t link_latency_ns;
    double link_GBps;
    int64_t kernel_latency_ns; /* to start and end one */
    double memory_GBps;
    int64_t queue_copy_ns, queue_kernel_ns, queue_record_ns, queue_wait_ns, queue_graph_ns;
    int64_t wait_ns;
    int64_t graph_launch_ns, graph_edge_ns, graph_wait_ns;
    int64_t add_takes_percent;
    int slow_ranks[2];         /* copies between these two take slow_times as long; 0: none does */
    double slow_times;
};

/* A path from one rank to another's memory: for copies, and for kernels that read there. */
struct device_link {
    int from, to; /* ranks */
};

/* What compute() does in the time it is given: wait on one thread and then write, or keep the
 * arithmetic units of the whole device busy, or its memory. Simulated GPUs only pass the time. */
enum device_work { WORK_WAITS, WORK_ARITHMETIC, WORK_MEMORY, N_WORKS };

struct device_setup {
    int n_ranks;
    const int *device_of;            /* [n_ranks]: device of each rank; several may share one */
    int n_links;
    const struct device_link *links; /* every (from, to) that copies will use, and (its rank, the
                                        other) where a kernel reads another's memory; from != to */
    enum dtype dtype;
    int timed;                       /* events carry times (always so on the host backend) */
    int timeout_s;                   /* cuda: sync gives up after so many seconds */
    enum device_work work;           /* cuda: see above; measured once by open */
    int peer_off;                    /* cuda: do not use peer access even where there is some */
    struct device_model model;       /* host */
    int random;                      /* host: instead of the modelled clock, pick any op that the */
    uint64_t seed;                   /*       waits allow, by this seed; times then count picks */
    int times_only;                  /* host: no memory is taken, no data moves, get gives zeros */
};

/* What the header of a trace tells about the machine; filled by open. */
enum device_path { PATH_SAME, PATH_PEER, PATH_STAGED, PATH_MODEL, N_PATHS };
struct device_facts {
    int simulated;                /* no GPU took part */
    int n_devices;                /* distinct devices among device_of */
    char (*names)[96];            /* [n_ranks]: "NVIDIA H200 (0000:18:00.0)" */
    int n_links;
    struct device_link *links;    /* [n_links]: setup's */
    enum device_path *paths;      /* [n_links] */
    int64_t clock_error_ns;       /* largest uncertainty between two devices' clocks; 0 = exact */
    int64_t queued_ns;            /* simulated: when the host had queued the last verb of a run */
};

struct device {
    const struct device_verbs *verbs;
    struct device_facts facts;
};

#define DEVICE_MAX_DELAY_NS 1000000000

struct device_verbs {
    const char *name; /* of the backend: "cuda", "host" */

    /* Frees everything; waits for nothing. d may be NULL. */
    void (*close)(struct device *d);

    /* Once, before everything below: both memories of each rank (element counts; inboxes start as
     * NaN, or as 0x7fffffff for int32) and n_events events. STATUS_MACHINE, naming what is needed
     * and what is free, before anything is taken where it cannot fit. */
    enum status (*alloc)(struct device *d, int64_t data_count, int64_t inbox_count,
                         int64_t n_events, struct error *err);

    /* Blocking transfers between the caller's memory and a span; nothing else may be queued. */
    enum status (*put)(struct device *d, struct span to, const void *from, struct error *err);
    enum status (*get)(struct device *d, struct span from, void *to, struct error *err);

    /* Where a span lies, for a library that works on a device's memory itself; it must be done, and
     * nothing queued, before the next verb. On cuda an address of the rank's device. NULL: there is
     * no such span. */
    void *(*address)(struct device *d, struct span at);

    /* The stream itself, for a library that queues on it; what it queues comes behind all that
     * precedes it on the stream. Asked for anew before each of its calls, since it begins what sync
     * ends, as a verb that queues does. On cuda a cudaStream_t, refused while a graph is kept;
     * host: refused, it has none. */
    enum status (*stream)(struct device *d, int stream, void **out, struct error *err);

    /* Queue to[i] = from[i]. Any ranks; counts are equal; the stream belongs to the sender. */
    enum status (*copy)(struct device *d, int stream, struct span from, struct span to,
                        struct error *err);
    /* Queue to[i] = to[i] op from[i]; `to` lies on the stream's own rank. `from` does, too, or the
     * setup names a link from the stream's rank to from's and the kernel can reach over it. */
    enum status (*reduce)(struct device *d, int stream, enum redop op, struct span from,
                          struct span to, struct error *err);
    /* Queue to[i] = the pattern's value for (rank, iteration, element to.first + i), divided by n
     * as scale does (1: as it is). It takes ns (0 .. DEVICE_MAX_DELAY_NS), or as long as the
     * writing takes where that is longer; on a real device by work of the setup's kind, and longer
     * where it has to share the device. */
    enum status (*compute)(struct device *d, int stream, struct pattern pattern, int iteration,
                           int n, int64_t ns, struct span to, struct error *err);
    /* Queue a division by n (arith_scale of arith.h; not 0 or -1), in place: of an avg over n
     * ranks, or the optimizer's. */
    enum status (*scale)(struct device *d, int stream, int n, struct span at, struct error *err);

    /* Queue: for so long (0 .. DEVICE_MAX_DELAY_NS) the stream does nothing else. It is how a plan
     * with a missing wait is made to go wrong for certain: see run.h. */
    enum status (*delay)(struct device *d, int stream, int64_t ns, struct error *err);

    /* Queue: the event happens when all that precedes it on the stream is done. An event is
     * recorded once between two syncs, before anything waits for it. */
    enum status (*record)(struct device *d, int64_t event, int stream, struct error *err);
    /* Queue: what follows on the stream waits for the event, on whichever rank it was recorded. */
    enum status (*wait)(struct device *d, int stream, int64_t event, struct error *err);

    /* Returns when all queued work is done, or with STATUS_MACHINE: a device error, or a time-out
     * that names the first stream still busy. The next verb that queues starts the clock anew. */
    enum status (*sync)(struct device *d, struct error *err);

    /* After sync: when the event happened, in ns since the clock started. */
    enum status (*elapsed)(struct device *d, int64_t event, int64_t *ns, struct error *err);

    /* A graph: from begin to end the verbs that queue are kept, in place of being carried out, and
     * launch queues all that was kept, on its streams and by its events, once. A device has one
     * graph; begin throws an earlier one away. An event is recorded once in a graph, before
     * anything in it waits for it. Between two syncs there are either launches alone, each
     * beginning when the one before has ended, or other verbs alone; an event's time is then that
     * of the last launch. Refused, naming the ranks: on cuda, a copy over a link without peer
     * access, since a graph cannot stage it through the host. */
    enum status (*graph_begin)(struct device *d, struct error *err);
    enum status (*graph_end)(struct device *d, struct error *err);
    enum status (*graph_launch)(struct device *d, struct error *err);
};

/* The backends, in the order in which `auto` prefers them. */
enum device_backend { BACKEND_CUDA, BACKEND_HOST, N_BACKENDS };

/* What a backend finds on this machine, for doctor, for `auto` and for placing ranks. */
#define INVENTORY_MAX 64
struct device_inventory {
    int built;                 /* compiled into this binary */
    int n_devices;             /* 0: see why */
    char why[256];             /* plain words: why there is no device; "" where there is */
    char runtime[64];          /* "CUDA runtime 13.0" */
    char driver[64];           /* "CUDA driver 13.0", or "none" */
    struct {
        char name[64], bus[24];
        int major, minor;      /* compute capability */
        uint64_t memory_bytes;
    } devices[INVENTORY_MAX];
    unsigned char peer[INVENTORY_MAX][INVENTORY_MAX]; /* [a][b]: a can reach b's memory */
};
void device_inventory(enum device_backend backend, struct device_inventory *out);

/* Opens the devices: contexts, streams, links. On success *out must be closed with its own verb
 * close; on failure *out is NULL. The setup's arrays need not outlive the call. */
enum status device_open(enum device_backend backend, struct device **out,
                        const struct device_setup *setup, struct error *err);

#endif
