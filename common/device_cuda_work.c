/* device_cuda_work.c - a backward pass that computes nothing but is as much work as one.
 *
 * Work is a number of equal blocks, each a few microseconds long when the chip is full: so a kernel
 * has many waves of them, as real kernels have, and an add on a stream of high priority gets its
 * turn between two waves. How long a block takes on this GPU, when it has the GPU to itself, is
 * measured when the device is opened; a compute then has as many blocks as fill the time asked for,
 * which write the gradients on their way. It takes longer when it has to share: that is its point.
 */
#include <stdlib.h>

#include "common/device_cuda.h"
#include "common/kernels.h"

#define SCRATCH_BYTES ((size_t)512 << 20) /* of memory-bound work: more than any cache holds */
#define WAVES 40                          /* measured at once */

static struct kernels_work blocks_of_work(const struct cuda_device *c, int gpu, int64_t blocks)
{
    return (struct kernels_work){.kind = c->work, .blocks = blocks,
                                 .scratch = c->gpus[gpu].scratch,
                                 .stretches = SCRATCH_BYTES / KERNELS_STRETCH_BYTES};
}

/* Milliseconds that so many blocks take. */
static enum status measure(struct cuda_device *c, int gpu, int64_t blocks, float *ms,
                           struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_gpu *g = &c->gpus[gpu];
    const struct kernels_work work = blocks_of_work(c, gpu, blocks);
    cudaEvent_t begin = NULL, end = NULL;
    TRY(cuda_ok(cudaEventCreate(&begin), "an event", -1, err));
    TRY(cuda_ok(cudaEventCreate(&end), "an event", -1, err));
    TRY(cuda_ok(cudaEventRecord(begin, g->stream), "calibrating work", -1, err));
    TRY(cuda_ok(kernels_compute(c->dtype, (struct pattern){0}, 0, 0, 0, NULL, 0, work, g->blocks,
                                g->stream), "calibrating work", -1, err));
    TRY(cuda_ok(cudaEventRecord(end, g->stream), "calibrating work", -1, err));
    TRY(cuda_finish(c, g->stream, cuda_deadline(c), "calibrating work", -1, err));
    TRY(cuda_ok(cudaEventElapsedTime(ms, begin, end), "calibrating work", -1, err));
out:
    if (begin)
        (void)cudaEventDestroy(begin);
    if (end)
        (void)cudaEventDestroy(end);
    return status;
}

static enum status calibrate(struct cuda_device *c, int gpu, struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_gpu *g = &c->gpus[gpu];
    float warm_up, once, twice;
    int64_t blocks = (int64_t)g->blocks * WAVES;
    TRY(cuda_use(c, gpu, err));
    if (c->work == WORK_MEMORY) {
        TRY(cuda_ok(cudaMalloc(&g->scratch, SCRATCH_BYTES), "memory for memory-bound work", -1,
                    err));
        TRY(cuda_ok(cudaMemsetAsync(g->scratch, 0, SCRATCH_BYTES, g->stream),
                    "memory for memory-bound work", -1, err));
    }
    TRY(measure(c, gpu, blocks, &warm_up, err));
    TRY(measure(c, gpu, blocks, &once, err));
    TRY(measure(c, gpu, 2 * blocks, &twice, err));
    /* the launch costs the same in both, so that it falls out of the difference */
    g->block_ns = (double)(twice - once) * 1e6 / (double)blocks;
    if (!(g->block_ns > 0))
        TRY(fail(err, STATUS_MACHINE, "device %d: twice the work took no longer (%.3f and %.3f "
                 "ms), so work cannot be measured here", g->id, once, twice));
out:
    return status;
}

enum status cuda_work_open(struct cuda_device *c, struct error *err)
{
    enum status status = STATUS_OK;
    for (int gpu = 0; gpu < c->n_gpus && c->work != WORK_WAITS; gpu++)
        TRY(calibrate(c, gpu, err));
out:
    return status;
}

void cuda_work_close(struct cuda_device *c)
{
    for (int gpu = 0; c->gpus && gpu < c->n_gpus; gpu++)
        if (c->gpus[gpu].scratch && cudaSetDevice(c->gpus[gpu].id) == cudaSuccess)
            (void)cudaFree(c->gpus[gpu].scratch);
}

struct kernels_work cuda_work(const struct cuda_device *c, int gpu, int64_t ns)
{
    int busy = c->work != WORK_WAITS && ns > 0;
    return blocks_of_work(c, gpu, busy ? (int64_t)((double)ns / c->gpus[gpu].block_ns + 0.5) : 0);
}
