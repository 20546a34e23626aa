/* kernel_cuda.h - what the host's side of the kernels shares; nobody else includes it.
 *
 *   kernel_cuda.c        open, close, memory, launches, records
 *   kernel_cuda_first.c  a first call, tried before it is trusted; one clock for several devices
 */
#ifndef RING_KERNEL_CUDA_H
#define RING_KERNEL_CUDA_H

#include "ring/kernel_parts.h"

#define KERNEL_PROBE_COUNT 1021 /* elements of the first call */
#define KERNEL_PROBE_BYTES (KERNEL_PROBE_COUNT * (int64_t)sizeof(int32_t))

/* A device with its ranks, in ring order. */
struct kernel_gpu {
    int id, stream;
    int n_processors;
    int comes_early;        /* programmatic dependent launch, of compute capability 9.0 on */
    int n_local;
    struct kernel_rank *local; /* owned, [n_local] */
    void *copy;             /* of that, on the device; NULL: a rank alone */
    struct kernel_launch launch;
    int64_t clock_ns;       /* to be taken off this device's timer, for the common clock */
};

struct ring_kernel {
    struct device *device;  /* the caller's */
    int n_ranks, n_gpus, n_recorded;
    enum dtype dtype;
    enum redop redop;
    int64_t count;          /* of the largest call */
    int64_t packets_count;  /* elements of the largest call by packets */
    int64_t timeout_ns;
    int most_blocks;        /* of a rank: so that all blocks of a device run at once */
    uint32_t epoch;
    int64_t clock_error_ns, bytes;
    struct kernel_gpu *gpus;       /* owned */
    struct kernel_holding {
        int gpu, local;     /* place in gpus, and in that one's list */
        void *memory;       /* the post; in one piece */
        struct kernel_stamp *stamps; /* [n_recorded][2N - 1][most_blocks] */
        struct kernel_done *done;    /* [n_recorded][2N - 1] */
    } *ranks;               /* owned */
    struct kernel_stuck *stuck; /* [n_ranks], of the host, where the devices see it */
    int *blocks;            /* owned, [n_recorded]: of that call */
};

static inline int kernel_steps(const struct ring_kernel *k) { return 2 * (k->n_ranks - 1); }

static inline struct kernel_rank *kernel_rank_of(const struct ring_kernel *k, int rank)
{
    return &k->gpus[k->ranks[rank].gpu].local[k->ranks[rank].local];
}

/* STATUS_OK for cudaSuccess; else a sentence. Empties CUDA's error slot. */
enum status kernel_ok(cudaError_t result, const char *what, struct error *err);

/* Memory of the current device, all zero. */
enum status kernel_zeroed(void **memory, int64_t bytes, struct error *err);

/* What the launches to come know of their ranks: to be said again when that has changed. */
enum status kernel_publish(struct ring_kernel *k, struct error *err);

/* What the next launches are about: a new call, of elements of that type, in so many blocks. */
void kernel_aim(struct ring_kernel *k, const struct ring_call *call, enum dtype dtype, int blocks);

/* All devices' kernels of a call, one behind the other; each begins when its stream comes to it. */
enum status kernel_launch(struct ring_kernel *k, const void *function, int threads,
                          struct error *err);
enum status kernel_finish(struct ring_kernel *k, struct error *err); /* sync and judge */

/* Reads from a rank's device. */
enum status kernel_fetch(const struct ring_kernel *k, int rank, void *to, const void *from,
                         int64_t bytes, struct error *err);

/* Both need links and memory, and leave ranks' data and stamps to be published anew. */
enum status kernel_probe(struct ring_kernel *k, struct error *err);
enum status kernel_set_clocks(struct ring_kernel *k, struct error *err);

#endif
