/* device_cuda_clock.c - one clock out of several GPUs' clocks.
 *
 * CUDA tells the time between two events of one device only. So each device gets a mark whose
 * time on device 0's clock is known within bounds: gpu 0 records `begin`; gpu g waits for it and
 * records its mark; gpu 0 waits for that and records `end`. The mark lies between begin and end,
 * hence at their middle, give or take half their distance. The tightest of a few tries counts.
 *
 * Any later event of gpu g then happened at mark_ns + elapsed(mark, event). Zero is gpu 0's own
 * mark, taken last, so all that a round queues comes after it (within the clocks' uncertainty:
 * on another device than gpu 0 a first event can carry a time a little below zero).
 */
#include "common/device_cuda.h"

#define CLOCK_TRIES 8

static enum status create(cudaEvent_t *event, struct error *err)
{
    return cuda_ok(cudaEventCreateWithFlags(event, cudaEventDefault), "the clocks", -1, err);
}

enum status cuda_clock_open(struct cuda_device *c, struct error *err)
{
    enum status status = STATUS_OK;
    for (int g = 0; g < c->n_gpus; g++) {
        TRY(cuda_use(c, g, err));
        TRY(create(&c->gpus[g].mark, err));
        TRY(create(&c->gpus[g].spare, err));
    }
    TRY(cuda_use(c, 0, err));
    TRY(create(&c->clock_begin, err));
    TRY(create(&c->clock_end, err));
    TRY(cuda_clock_start(c, err)); /* the first marks of a process are slow */
out:
    return status;
}

static enum status record(struct cuda_device *c, cudaEvent_t event, int gpu, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(cuda_use(c, gpu, err));
    TRY(cuda_ok(cudaEventRecord(event, c->gpus[gpu].stream), "a clock mark", -1, err));
out:
    return status;
}

static enum status record_after(struct cuda_device *c, cudaEvent_t event, int gpu,
                                cudaEvent_t after, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(cuda_use(c, gpu, err));
    TRY(cuda_ok(cudaStreamWaitEvent(c->gpus[gpu].stream, after, 0), "a clock mark", -1, err));
    TRY(record(c, event, gpu, err));
out:
    return status;
}

static enum status between(cudaEvent_t begin, cudaEvent_t end, int64_t *ns, struct error *err)
{
    float ms = 0;
    enum status status = cuda_ok(cudaEventElapsedTime(&ms, begin, end), "reading a clock", -1, err);
    *ns = (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
    return status;
}

static void swap(cudaEvent_t *a, cudaEvent_t *b)
{
    cudaEvent_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Marks gpu g on the clock that begins at gpu 0's event `zero`. */
static enum status mark(struct cuda_device *c, int g, cudaEvent_t zero, int64_t deadline,
                        int64_t *error_ns, struct error *err)
{
    struct cuda_gpu *gpu = &c->gpus[g];
    enum status status = STATUS_OK;
    int64_t best = INT64_MAX;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        int64_t begin_ns, width_ns;
        TRY(record(c, c->clock_begin, 0, err));
        TRY(record_after(c, gpu->spare, g, c->clock_begin, err));
        TRY(record_after(c, c->clock_end, 0, gpu->spare, err));
        TRY(cuda_finish(c, c->gpus[0].stream, deadline, "a clock mark", -1, err));
        TRY(between(c->clock_begin, c->clock_end, &width_ns, err));
        if (width_ns < best) {
            TRY(between(zero, c->clock_begin, &begin_ns, err));
            best = width_ns;
            gpu->mark_ns = begin_ns + width_ns / 2;
            swap(&gpu->mark, &gpu->spare);
        }
    }
    *error_ns = (best + 1) / 2;
out:
    return status;
}

enum status cuda_clock_start(struct cuda_device *c, struct error *err)
{
    const int64_t deadline = cuda_deadline(c);
    struct cuda_gpu *first = &c->gpus[0];
    enum status status = STATUS_OK;
    int64_t zero_ns = 0, error_ns = 0, largest = 0;
    TRY(record(c, first->spare, 0, err));
    for (int g = 1; g < c->n_gpus; g++) {
        TRY(mark(c, g, first->spare, deadline, &error_ns, err));
        largest = error_ns > largest ? error_ns : largest;
    }
    TRY(record(c, first->mark, 0, err));
    TRY(cuda_finish(c, first->stream, deadline, "a clock mark", -1, err));
    TRY(between(first->spare, first->mark, &zero_ns, err));
    for (int g = 1; g < c->n_gpus; g++)
        c->gpus[g].mark_ns -= zero_ns;
    first->mark_ns = 0;
    c->base.facts.clock_error_ns = largest;
out:
    return status;
}

void cuda_clock_close(struct cuda_device *c)
{
    for (int g = 0; g < c->n_gpus; g++) {
        if (c->gpus[g].mark)
            (void)cudaEventDestroy(c->gpus[g].mark);
        if (c->gpus[g].spare)
            (void)cudaEventDestroy(c->gpus[g].spare);
    }
    if (c->clock_begin)
        (void)cudaEventDestroy(c->clock_begin);
    if (c->clock_end)
        (void)cudaEventDestroy(c->clock_end);
}
