/* device_cuda_work.c - a backward pass that computes nothing but is as much work as one.
 *
 * Work is a number of equal blocks, each a few microseconds long when the chip is full: so a kernel
 * has many waves of them, as real kernels have, and an add on a stream of high priority gets its
 * turn between two waves. How long a block takes on this GPU, when it has the GPU to itself, is
 * measured when the device is opened, and so are an element's writing beside it and a compute
 * without either; a compute then has as many blocks as fill the rest of the time asked for. It
 * takes longer when it has to share the GPU: that is the point of it.
 */
#include <stdlib.h>

#include "common/device_cuda.h"
#include "common/kernels.h"
#include "common/sort.h"

#define SCRATCH_BYTES ((int64_t)512 << 20) /* more than any cache holds */
#define WAVES 20                           /* of a compute that is measured */
#define ROW 8                              /* such computes, as layers of a network are */
#define RUNS 5
#define DIVISOR 2                          /* as for an average */

static struct kernels_work blocks_of_work(const struct cuda_device *c, int gpu, int64_t blocks)
{
    return (struct kernels_work){.kind = c->work, .blocks = blocks,
                                 .scratch = c->gpus[gpu].scratch,
                                 .stretches = SCRATCH_BYTES / KERNELS_STRETCH_BYTES};
}

/* ns that a compute of `count` elements with so many blocks of work takes, in a row of them. */
static enum status measure(struct cuda_device *c, int gpu, int64_t blocks, int64_t count,
                           int64_t *ns, struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_gpu *g = &c->gpus[gpu];
    cudaEvent_t begin = NULL, end = NULL;
    float ms;
    TRY(cuda_ok(cudaEventCreate(&begin), "an event", -1, err));
    TRY(cuda_ok(cudaEventCreate(&end), "an event", -1, err));
    TRY(cuda_ok(cudaEventRecord(begin, g->stream), "calibrating work", -1, err));
    for (int i = 0; i < ROW; i++)
        TRY(cuda_ok(kernels_compute(c->dtype, (struct pattern){0}, 0, 0, DIVISOR, 0, g->scratch,
                                    count, blocks_of_work(c, gpu, blocks), g->blocks, g->stream),
                    "calibrating work", -1, err));
    TRY(cuda_ok(cudaEventRecord(end, g->stream), "calibrating work", -1, err));
    TRY(cuda_finish(c, g->stream, cuda_deadline(c), "calibrating work", -1, err));
    TRY(cuda_ok(cudaEventElapsedTime(&ms, begin, end), "calibrating work", -1, err));
    *ns = (int64_t)((double)ms * 1e6 / ROW);
out:
    if (begin)
        (void)cudaEventDestroy(begin);
    if (end)
        (void)cudaEventDestroy(end);
    return status;
}

/* What one more block and one more element take, beside each other, and what is left for the
 * compute itself: of three computes, the second of which has twice the blocks of the first, and the
 * third twice the elements. They take turns, of which the first warms up, and medians count. */
static enum status measure_each(struct cuda_device *c, int gpu, struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_gpu *g = &c->gpus[gpu];
    const int64_t blocks = (int64_t)g->blocks * WAVES;
    const int64_t count = SCRATCH_BYTES / 8 / (int64_t)dtype_size(c->dtype);
    int64_t runs[3][RUNS];
    double ns[3];
    for (int run = -1; run < RUNS; run++)
        for (int i = 0; i < 3; i++)
            TRY(measure(c, gpu, i == 1 ? 2 * blocks : blocks, i == 2 ? 2 * count : count,
                        &runs[i][run < 0 ? 0 : run], err));
    for (int i = 0; i < 3; i++) {
        sort_int64(runs[i], RUNS);
        ns[i] = (double)runs[i][RUNS / 2];
    }
    if (ns[1] <= ns[0])
        TRY(fail(err, STATUS_MACHINE, "device %d: twice the work took no longer (%.3f and %.3f "
                 "ms), so work cannot be measured here", g->id, ns[0] / 1e6, ns[1] / 1e6));
    g->block_ns = (ns[1] - ns[0]) / (double)blocks;
    g->element_ns = ns[2] > ns[0] ? (ns[2] - ns[0]) / (double)count : 0;
    g->compute_ns = ns[0] - (double)blocks * g->block_ns - (double)count * g->element_ns;
    g->compute_ns = g->compute_ns > 0 ? g->compute_ns : 0;
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
    TRY(measure_each(c, gpu, err));
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
    double rest = (double)ns - g->compute_ns - (double)count * g->element_ns;
    int busy = c->work != WORK_WAITS && rest > 0;
    return blocks_of_work(c, gpu, busy ? (int64_t)(rest / g->block_ns + 0.5) : 0);
}
