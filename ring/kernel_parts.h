/* kernel_parts.h - what kernel_steps.cu (the threads) and kernel_cuda*.c (the host) share; nobody
 * else includes it.
 */
#ifndef RING_KERNEL_PARTS_H
#define RING_KERNEL_PARTS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "common/dtype.h"
#include "ring/kernel.h"

#define KERNEL_MAX_BLOCKS 128   /* of threads, a rank: a few more were slower */
#define KERNEL_PACKET_BYTES 12  /* of data; with its flag a packet has 16 */
#define KERNEL_THREADS 512
#define KERNEL_ROUNDS 64       /* of the clocks' token */

/* The memory that a rank has for its neighbour before it to write into. Each part twice: calls
 * alternate between the halves. */
struct kernel_post {
    struct { uint64_t halves[2]; } *packets; /* [2][2(N-1)][of the largest segment] */
    char *inbox;        /* [2][N-1][bytes of the largest segment + 16] */
    uint32_t *flags;    /* [2][2(N-1)][KERNEL_MAX_BLOCKS]: the call whose slice is there */
    uint32_t *token;    /* of the clocks */
};

/* Who did not get what, written by a thread that gave up. In memory of the host. */
struct kernel_stuck {
    int32_t stuck, step;
};

/* Of a block of threads, at a step: in ns of the device's timer; 0 where it had nothing to do. */
struct kernel_stamp {
    uint64_t begin, end;
};

struct kernel_done { /* in device memory, as struct ring_kernel_step tells */
    int32_t segment, received, added, kept, sent;
    int64_t first, count;
};

struct kernel_rank {
    int rank;
    void *data, *next_data;          /* element 0; each aligned to 16 bytes */
    struct kernel_post post, next_post;
    struct kernel_stuck *stuck;
    struct kernel_stamp *stamps;     /* [recorded][2N - 1][most_blocks] */
    struct kernel_done *done;        /* [recorded][2N - 1] */
};

/* The arguments of a launch: this device's ranks, and the call. Arguments are copied with each
 * launch, so that few bytes are a shorter launch; a rank that has its device alone is among them
 * all the same, since it is then there when the kernel begins. */
struct kernel_launch {
    struct kernel_rank alone;
    const struct kernel_rank *ranks; /* [n_local], on the device; NULL: alone */
    int blocks;                      /* of each rank */
    int n_ranks;
    int recorded, most_blocks;       /* place in stamps and done; NONE: nothing is recorded */
    uint32_t epoch;                  /* number of the call, from 1 */
    int64_t first;                   /* element of the data */
    int64_t segment_count;           /* elements of a segment; the first `longer` have one more */
    int64_t longer;
    int64_t slice;                   /* vectors of a segment for each block; what is left is less */
    int64_t segment_packets, segment_bytes; /* room for a segment, in the memory of kernel_post */
    int held_rank, held_step;
    int64_t held_ns;
    int64_t timeout_ns;
};

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel for these; a pointer for CUDA. */
const void *kernel_function(enum ring_protocol protocol, enum dtype dtype, enum redop redop);

/* One token goes around the ring KERNEL_ROUNDS times: a block of one thread for each rank. The
 * stamps are [KERNEL_ROUNDS + 1]: of rank 0 when it sent the token off and when it was back, of
 * another rank, as `end`, when it had it; and behind them, as `begin`, the least difference between
 * two readings of the timer. */
const void *kernel_clock_function(void);

#ifdef __cplusplus
}
#endif

#endif
