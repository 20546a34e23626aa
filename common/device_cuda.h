/* device_cuda.h - what the files of the cuda backend share; nobody else includes it.
 *
 *   device_cuda.c            open, close, memory
 *   device_cuda_queue.c      the verbs that queue work, events, sync
 *   device_cuda_graph.c      keeps what is queued as a CUDA graph
 *   device_cuda_gate.c       holds the GPUs back until a timed round is queued
 *   device_cuda_clock.c      one clock out of several GPUs' clocks
 *   device_cuda_links.c      peer access, tried before it is trusted
 *   device_cuda_inventory.c  what there is, and why there is nothing
 *
 * Two kinds of index: a rank is of the ring; a gpu is a row of `gpus`, which lists each distinct
 * device once. CUDA's own number of a device occurs only as gpus[g].id.
 */
#ifndef COMMON_DEVICE_CUDA_H
#define COMMON_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#include "common/device.h"
#include "common/kernels.h"

struct cuda_rank {
    int gpu;
    cudaStream_t streams[N_LANES]; /* NULL = not yet created */
    void *memory[N_MEMORIES];
    int n_queued[N_LANES];         /* verbs since the gate was shut */
};

struct cuda_gpu {
    int id;
    int blocks;              /* of a kernel's grid, at most */
    cudaStream_t stream;     /* borrowed from its first rank, for marks and probes */
    char name[96];
    cudaEvent_t mark, spare; /* see device_cuda_clock.c */
    int64_t mark_ns;         /* the mark on the common clock */
    double block_ns, element_ns; /* of work and of writing: see device_cuda_work.c; ... */
    double compute_ns;           /* ... of a compute without either; ... */
    void *scratch;               /* ... and what is read and written to measure them */
};

/* An event belongs to the GPU it was created on and can be recorded there only, so it is created
 * at its first record. `round` is the round (see below) of its last record, 0 = never. */
struct cuda_event {
    cudaEvent_t event;
    int gpu;
    int64_t round;
    int64_t graph;          /* number of the graph that records it, 0 = none; there ... */
    cudaGraphNode_t node;   /* ... whoever waits for it follows this node; NULL: nobody need wait */
};

/* Nodes of a graph, each once: what the next node of a stream has to wait for. */
struct cuda_nodes {
    cudaGraphNode_t *items;
    int64_t n, capacity;
};

struct cuda_graph {
    int keeping;            /* between graph_begin and graph_end */
    int64_t number;         /* counts graph_begin */
    int64_t round;          /* of the last launch, 0 = never */
    cudaGraph_t nodes;
    cudaGraphExec_t ready;  /* NULL until graph_end */
    cudaStream_t stream;    /* of the first GPU; launches are queued here */
    struct cuda_nodes *ends; /* [n_ranks * N_LANES] */
};

/* How one GPU's copies reach another GPU; see device_cuda_links.c. */
enum cuda_pair { PAIR_UNUSED, PAIR_PEER, PAIR_PEER_OURS, PAIR_STAGED };

struct cuda_device {
    struct device base; /* first, so that a struct device * is one of these */
    int n_ranks, n_gpus;
    enum dtype dtype;
    int timed, timeout_s, peer_off;
    enum device_work work;
    struct cuda_rank *ranks;
    struct cuda_gpu *gpus;
    unsigned char *pairs;       /* [n_gpus * n_gpus] of enum cuda_pair: [from * n_gpus + to] */
    int64_t counts[N_MEMORIES]; /* elements of each memory of each rank; 0 before alloc */
    int allocated;
    int64_t n_events;
    struct cuda_event *events;
    cudaEvent_t clock_begin, clock_end;
    struct cuda_graph graph;
    struct cuda_gate *gate;     /* of a timed device, else NULL; see device_cuda_gate.c */

    /* A round is the time from the first queued verb to the sync that ends it. */
    int64_t round; /* of the work queued last; 0 = none yet */
    int queued;    /* the round is not yet synced */
    int hung;      /* work did not end in time: no call that waits for the GPU may be made */
};

/* STATUS_OK for cudaSuccess; else "<verb> on rank <rank>: <what CUDA says>". Empties CUDA's error
 * slot, so that the next launch is not blamed. rank may be -1: a sentence without one. */
enum status cuda_ok(cudaError_t result, const char *verb, int rank, struct error *err);

/* Makes the GPU the current device of this thread. Other libraries may have changed it, so every
 * verb says it anew. */
enum status cuda_use(struct cuda_device *c, int gpu, struct error *err);

/* Waits for a stream (of `rank`; `what` says for the sentence which work) until the deadline, a
 * time of clock_ns(). */
int64_t cuda_deadline(const struct cuda_device *c);
enum status cuda_finish(struct cuda_device *c, cudaStream_t stream, int64_t deadline,
                        const char *what, int rank, struct error *err);
enum status cuda_finish_all(struct cuda_device *c, struct error *err);

/* Blocking transfers on the stream, which is of the current device. */
enum status cuda_move(struct cuda_device *c, cudaStream_t stream, void *to, const void *from,
                      size_t bytes, enum cudaMemcpyKind kind, const char *what, int rank,
                      struct error *err);

/* Number of GPUs this process sees, > 0; else STATUS_MACHINE with the reason in plain words.
 * Must be the process's first CUDA call: it sets what CUDA reads from the environment. */
enum status cuda_visible(int *n, struct error *err);

enum status cuda_links_open(struct cuda_device *c, const struct device_setup *setup,
                            struct error *err);
void cuda_links_close(struct cuda_device *c);

/* The gate: made and removed with the device; shut as a round begins, let go at its sync or when
 * cuda_gate_count (told of every verb) finds a stream full. Letting go twice does nothing. */
enum status cuda_gate_make(struct cuda_device *c, struct error *err);
enum status cuda_gate_shut(struct cuda_device *c, struct error *err);
void cuda_gate_count(struct cuda_device *c, int stream);
void cuda_gate_let_go(struct cuda_device *c);
void cuda_gate_remove(struct cuda_device *c);

/* What the verbs that queue do while a graph is being kept. A kernel is launched between
 * kernel_begin and kernel_end, which catch it: `launched` is what its launch returned. `to` and
 * `from` are addresses on the ranks' devices. */
enum status cuda_graph_copy(struct cuda_device *c, int stream, void *to, const void *from,
                            size_t bytes, struct error *err);
enum status cuda_graph_kernel_begin(struct cuda_device *c, int stream, struct error *err);
enum status cuda_graph_kernel_end(struct cuda_device *c, int stream, cudaError_t launched,
                                  const char *verb, struct error *err);
enum status cuda_graph_record(struct cuda_device *c, int64_t event, int stream, struct error *err);
enum status cuda_graph_wait(struct cuda_device *c, int stream, int64_t event, struct error *err);
void cuda_graph_close(struct cuda_device *c); /* what CUDA gave; */
void cuda_graph_free(struct cuda_device *c);  /* and what it takes on the host */

/* The event is created on this GPU, where it is not there already. */
enum status cuda_event_on(struct cuda_device *c, int64_t event, int gpu, struct error *err);

/* A new round, where none runs: clock, gate. Also called for a launch. */
enum status cuda_round_begin(struct cuda_device *c, struct error *err);

/* Work that fills a GPU for so long: open measures it, for cuda_work to say how much that is. */
enum status cuda_work_open(struct cuda_device *c, struct error *err);
struct kernels_work cuda_work(const struct cuda_device *c, int gpu, int64_t ns,
                              int64_t count);
void cuda_work_close(struct cuda_device *c);

enum status cuda_clock_open(struct cuda_device *c, struct error *err);
enum status cuda_clock_start(struct cuda_device *c, struct error *err);
void cuda_clock_close(struct cuda_device *c);

/* The verbs of device_cuda_queue.c. */
enum status cuda_check_span(const struct cuda_device *c, struct span span, const char *verb,
                            struct error *err);
enum status cuda_stream(struct device *d, int stream, void **out, struct error *err);
enum status cuda_copy(struct device *d, int stream, struct span from, struct span to,
                      struct error *err);
enum status cuda_reduce(struct device *d, int stream, enum redop op, struct span from,
                        struct span to, struct error *err);
enum status cuda_compute(struct device *d, int stream, struct pattern pattern, int iteration,
                         int n, int64_t ns, struct span to, struct error *err);
enum status cuda_scale(struct device *d, int stream, int n, struct span at, struct error *err);
enum status cuda_delay(struct device *d, int stream, int64_t ns, struct error *err);
enum status cuda_record(struct device *d, int64_t event, int stream, struct error *err);
enum status cuda_wait(struct device *d, int stream, int64_t event, struct error *err);
enum status cuda_sync(struct device *d, struct error *err);
enum status cuda_elapsed(struct device *d, int64_t event, int64_t *ns, struct error *err);

/* The verbs of device_cuda_graph.c. */
enum status cuda_graph_begin(struct device *d, struct error *err);
enum status cuda_graph_end(struct device *d, struct error *err);
enum status cuda_graph_launch(struct device *d, struct error *err);

#endif
