/* kernel_none.c - in place of kernel_cuda.c where there is no nvcc: nothing can be opened. */
#include "ring/kernel.h"

#include <stddef.h>

enum status ring_kernel_open(struct ring_kernel **out, struct device *device,
                             const struct ring_kernel_setup *setup, struct error *err)
{
    (void)device;
    (void)setup;
    *out = NULL;
    return fail(err, STATUS_MACHINE, "this ring_demo was built without CUDA");
}

/* Nobody has one. */
void ring_kernel_close(struct ring_kernel *kernel) { (void)kernel; }
int64_t ring_kernel_bytes(const struct ring_kernel *kernel) { (void)kernel; return 0; }
int ring_kernel_stream(const struct ring_kernel *kernel, int rank) { (void)kernel; return rank; }
int64_t ring_kernel_clock_error_ns(const struct ring_kernel *kernel) { (void)kernel; return 0; }

enum status ring_kernel_queue(struct ring_kernel *kernel, const struct ring_call *call,
                              struct error *err)
{
    (void)kernel;
    (void)call;
    return fail(err, STATUS_MACHINE, "there is no kernel");
}

enum status ring_kernel_judge(struct ring_kernel *kernel, struct error *err)
{
    (void)kernel;
    return fail(err, STATUS_MACHINE, "there is no kernel");
}

enum status ring_kernel_read(struct ring_kernel *kernel, int recorded,
                             struct ring_kernel_step *steps, struct error *err)
{
    (void)kernel;
    (void)recorded;
    (void)steps;
    return fail(err, STATUS_MACHINE, "there is no kernel");
}
