/* device_cuda_work.c - a backward pass that computes nothing but is as much work as one.
 *
 * Work is a number of equal blocks, each a few microseconds long when the chip is full: so a kernel
 * has many waves of them, as real kernels have, and an add on a stream of high priority gets its
 * turn between two waves. How long a block takes on this GPU, when it has the GPU to itself, is
 * measured when the device is opened, and so is how long writing takes; a compute then has as many
 * blocks as fill the rest of the time asked for. It takes longer when it has to share the GPU: that
 * is the point of it.
 */
#include <stdlib.h>

#include "common/device_cuda.h"
#include "common/kernels.h"

#define SCRATCH_BYTES ((int64_t)512 << 20) /* more than any cache holds */
#define WAVES 40                          /* measured at once */

static struct kernels_work blocks_of_work(const struct cuda_device *c, int gpu, int64_t blocks)
{
    return (struct kernels_work){.kind = c->work, .blocks = blocks,
                                 .scratch = c->gpus[gpu].scratch,
                                 .stretches = SCRATCH_BYTES / KERNELS_STRETCH_BYTES};
}

/* Milliseconds that a compute of `count` elements with so many blocks of work takes. */
static enum status measure(struct cuda_device *c, int gpu, int64_t blocks, int64_t count, float *ms,
                           struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_gpu *g = &c->gpus[gpu];
    cudaEvent_t begin = NULL, end = NULL;
    TRY(cuda_ok(cudaEventCreate(&begin), "an event", -1, err));
    TRY(cuda_ok(cudaEventCreate(&end), "an event", -1, err));
    TRY(cuda_ok(cudaEventRecord(begin, g->stream), "calibrating work", -1, err));
    TRY(cuda_ok(kernels_compute(c->dtype, (struct pattern){0}, 0, 0, 1, 0, g->scratch, count,
                                blocks_of_work(c, gpu, blocks), g->blocks, g->stream),
                "calibrating work", -1, err));
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

/* ns that one more block, or one more element, takes. A launch costs the same for n of them and for
 * 2n, so that it falls out of the difference; the first one, which warms up, does not count. */
static enum status measure_one(struct cuda_device *c, int gpu, int64_t blocks, int64_t count,
                               double *ns, struct error *err)
{
    enum status status = STATUS_OK;
    float ms[3];
    for (int i = 0; i < 3; i++)
        TRY(measure(c, gpu, blocks * (1 + i / 2), count * (1 + i / 2), &ms[i], err));
    *ns = (double)(ms[2] - ms[1]) * 1e6 / (double)(blocks + count);
    if (!(*ns > 0))
        TRY(fail(err, STATUS_MACHINE, "device %d: twice the work took no longer (%.3f and %.3f "
                 "ms), so work cannot be measured here", c->gpus[gpu].id, ms[1], ms[2]));
out:
    return status;
}

static enum status calibrate(struct cuda_device *c, int gpu, struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_gpu *g = &c->gpus[gpu];
    TRY(cuda_use(c, gpu, err));
    TRY(cuda_ok(cudaMalloc(&g->scratch, SCRATCH_BYTES), "memory to measure work", -1, err));
    TRY(cuda_ok(cudaMemsetAsync(g->scratch, 0, SCRATCH_BYTES, g->stream), "memory to measure work",
                -1, err));
    TRY(measure_one(c, gpu, (int64_t)g->blocks * WAVES, 0, &g->block_ns, err));
    TRY(measure_one(c, gpu, 0, SCRATCH_BYTES / 2 / (int64_t)dtype_size(c->dtype), &g->element_ns,
                    err));
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

struct kernels_work cuda_work(const struct cuda_device *c, int gpu, int64_t ns, int64_t count)
{
    const struct cuda_gpu *g = &c->gpus[gpu];
    double rest = (double)ns - (double)count * g->element_ns;
    int busy = c->work != WORK_WAITS && rest > 0;
    return blocks_of_work(c, gpu, busy ? (int64_t)(rest / g->block_ns + 0.5) : 0);
}
