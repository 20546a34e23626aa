/* kernel.c - what the host knows of the kernels without CUDA: which protocol for which size. */
#include "ring/kernel.h"

#include <stddef.h>

const char *ring_protocol_name(enum ring_protocol protocol)
{
    static const char *const names[N_PROTOCOLS] = {
        [PROTOCOL_PACKETS] = "packets", [PROTOCOL_VECTORS] = "vectors",
    };
    return names[protocol];
}

/* Bytes of a segment up to which a third more bytes cost less than a journey of a flag; two H200,
 * docs/benchmark.md. */
#define PACKETS_MOST ((int64_t)512 << 10)

enum ring_protocol ring_protocol_for(int64_t bytes, int n_ranks)
{
    return bytes / n_ranks <= PACKETS_MOST ? PROTOCOL_PACKETS : PROTOCOL_VECTORS;
}

enum status ring_kernel_try(struct device *device, int n_ranks, const int *device_of,
                            struct error *err)
{
    struct ring_kernel *kernel = NULL;
    const struct ring_kernel_setup setup = {.n_ranks = n_ranks, .device_of = device_of};
    enum status status = ring_kernel_open(&kernel, device, &setup, err);
    ring_kernel_close(kernel);
    return status;
}
