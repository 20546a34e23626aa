/* kernels.h - everything that runs on a GPU, as plain C functions that queue it on a stream.
 *
 * The arithmetic is that of arith.h and pattern.h, so the bits equal the host's. Pointers are
 * device memory of the stream's device, which must be the current one; they need only be aligned
 * to their own element (16-byte aligned ones run faster). Counts are in elements and may exceed
 * 2^32; a count of 0 queues nothing.
 *
 * `blocks` caps the grid (see KERNELS_BLOCKS_PER_SM). Each function returns the launch's own
 * error; what goes wrong while a kernel runs is reported by a later call, as always in CUDA.
 */
#ifndef COMMON_KERNELS_H
#define COMMON_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "common/device.h"
#include "common/dtype.h"
#include "common/pattern.h"

#define KERNELS_BLOCKS_PER_SM 4 /* times the number of SMs: enough to fill the memory's bandwidth */

#ifdef __cplusplus
extern "C" {
#endif

/* to[i] = to[i] op from[i] */
cudaError_t kernels_reduce(enum dtype dtype, enum redop op, void *to, const void *from,
                           int64_t count, int blocks, cudaStream_t stream);

/* at[i] = arith_scale(at[i], n) */
cudaError_t kernels_scale(enum dtype dtype, int n, void *at, int64_t count, int blocks,
                          cudaStream_t stream);

/* What a compute does beside its writing: `blocks` blocks of work, each of a few microseconds where
 * the device is full of them; arithmetic, or reading `scratch` (its stretches by turns). */
#define KERNELS_STRETCH_BYTES 32768
struct kernels_work {
    enum device_work kind; /* WORK_WAITS: none */
    int64_t blocks;
    const void *scratch;
    int64_t stretches;     /* of scratch, of KERNELS_STRETCH_BYTES each */
};

/* to[i] = the pattern's value for (rank, iteration, element first + i), divided as arith_scale does
 * where n is not 1; to is element `first`.
 * With work, its blocks are the grid: they share out the writing, too. */
cudaError_t kernels_compute(enum dtype dtype, struct pattern pattern, int rank, int iteration,
                            int n, int64_t first, void *to, int64_t count, struct kernels_work work,
                            int blocks, cudaStream_t stream);

/* to[i] = the low `size` bytes of bits; size is 2, 4 or 8 */
cudaError_t kernels_fill(size_t size, uint64_t bits, void *to, int64_t count, int blocks,
                         cudaStream_t stream);

/* Does nothing for `ns` nanoseconds of the GPU's global timer, on one thread. */
cudaError_t kernels_delay(int64_t ns, cudaStream_t stream);

/* Loads every kernel on the current device. CUDA otherwise loads each at its first launch, which
 * falls into the first measurement and can wait for kernels that already run. */
cudaError_t kernels_load(void);

#ifdef __cplusplus
}
#endif

#endif
