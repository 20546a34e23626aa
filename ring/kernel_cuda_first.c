/* kernel_cuda_first.c - before anybody's call: does what is written arrive, and what time is it on
 * which device?
 */
#include <stdlib.h>

#include "common/pattern.h"
#include "ring/kernel_cuda.h"
#include "ring/plan.h"

#define CLOCK_CALLS 3 /* the first warms up */

/* ---- a first call, to see whether what is written arrives ---- */

static uint32_t probe_value(int rank, int i)
{
    return (uint32_t)pattern_hash((uint64_t)rank * KERNEL_PROBE_COUNT + (uint64_t)i);
}

/* The same kernels, of int32 and on other data; both protocols. */
static enum status try_protocol(struct ring_kernel *k, enum ring_protocol protocol,
                                void *const *data, struct error *err)
{
    enum status status = STATUS_OK;
    uint32_t values[KERNEL_PROBE_COUNT];
    for (int rank = 0; rank < k->n_ranks; rank++) {
        for (int i = 0; i < KERNEL_PROBE_COUNT; i++)
            values[i] = probe_value(rank, i);
        TRY(kernel_ok(cudaSetDevice(k->gpus[k->ranks[rank].gpu].id), "using a device", err));
        TRY(kernel_ok(cudaMemcpy(data[rank], values, sizeof values, cudaMemcpyHostToDevice),
                 "a first call", err));
    }
    kernel_aim(k, &(struct ring_call){.count = KERNEL_PROBE_COUNT, .recorded = NONE}, DTYPE_INT32,
               k->most_blocks < 3 ? k->most_blocks : 3);
    TRY(kernel_launch(k, kernel_function(protocol, DTYPE_INT32, REDOP_SUM), KERNEL_THREADS, err));
    TRY(kernel_finish(k, err));
    for (int rank = 0; rank < k->n_ranks; rank++) {
        TRY(kernel_fetch(k, rank, values, data[rank], sizeof values, err));
        for (int i = 0; i < KERNEL_PROBE_COUNT; i++) {
            uint32_t sum = 0;
            for (int other = 0; other < k->n_ranks; other++)
                sum += probe_value(other, i);
            if (values[i] != sum)
                return fail(err, STATUS_MACHINE, "a first call of the ring's kernel by %s left a "
                            "wrong sum on rank %d: what its neighbour writes does not arrive",
                            ring_protocol_name(protocol), rank);
        }
    }
out:
    return status;
}

enum status kernel_probe(struct ring_kernel *k, struct error *err)
{
    enum status status = STATUS_OK;
    void **data = NULL;
    TRY(allocate((void **)&data, k->n_ranks, sizeof *data, "a first call", err));
    for (int rank = 0; rank < k->n_ranks; rank++) {
        TRY(kernel_ok(cudaSetDevice(k->gpus[k->ranks[rank].gpu].id), "using a device", err));
        TRY(kernel_zeroed(&data[rank], KERNEL_PROBE_COUNT * (int64_t)sizeof(int32_t), err));
    }
    for (int rank = 0; rank < k->n_ranks; rank++) {
        kernel_rank_of(k, rank)->data = data[rank];
        kernel_rank_of(k, rank)->next_data = data[(rank + 1) % k->n_ranks];
    }
    TRY(kernel_publish(k, err));
    for (int protocol = 0; protocol < N_PROTOCOLS; protocol++)
        TRY(try_protocol(k, (enum ring_protocol)protocol, data, err));
out:
    for (int rank = 0; data && rank < k->n_ranks; rank++)
        (void)cudaFree(data[rank]);
    free(data);
    return status;
}

/* ---- clocks ---- */

/* One call of the clocks' kernel; keeps what its tightest round says, where that is better. */
static enum status send_token(struct ring_kernel *k, struct kernel_stamp *stamps, int64_t *best_ns,
                              struct error *err)
{
    enum status status = STATUS_OK;
    const int n = KERNEL_ROUNDS + 1;
    int tightest = 0;
    for (int g = 0; g < k->n_gpus; g++)
        k->gpus[g].launch.blocks = 1;
    for (int rank = 0; rank < k->n_ranks; rank++) {
        TRY(kernel_ok(cudaSetDevice(k->gpus[k->ranks[rank].gpu].id), "using a device", err));
        TRY(kernel_ok(cudaMemset(kernel_rank_of(k, rank)->post.token, 0, sizeof(uint32_t)),
                      "clocks", err));
        TRY(kernel_ok(cudaStreamSynchronize(NULL), "clocks", err));
    }
    TRY(kernel_launch(k, kernel_clock_function(), 1, err));
    TRY(kernel_finish(k, err));
    for (int rank = 0; rank < k->n_ranks; rank++)
        TRY(kernel_fetch(k, rank, stamps + rank * n, kernel_rank_of(k, rank)->stamps,
                  n * (int64_t)sizeof *stamps, err));
    for (int i = 1; i < KERNEL_ROUNDS; i++)
        if (stamps[i].end - stamps[i].begin < stamps[tightest].end - stamps[tightest].begin)
            tightest = i;
    const int64_t around_ns = (int64_t)(stamps[tightest].end - stamps[tightest].begin);
    if (*best_ns > 0 && around_ns >= *best_ns)
        return STATUS_OK;
    *best_ns = around_ns;
    for (int rank = k->n_ranks - 1; rank >= 0; rank--) { /* of a device its first rank's counts */
        const int64_t there = (int64_t)stamps[rank * n + tightest].end;
        const int64_t here = (int64_t)stamps[tightest].begin + around_ns * rank / k->n_ranks;
        if (k->ranks[rank].gpu > 0)
            k->gpus[k->ranks[rank].gpu].clock_ns = there - here;
    }
    const int64_t tick_ns = (int64_t)stamps[KERNEL_ROUNDS].begin;
    k->clock_error_ns = (k->n_gpus > 1 ? around_ns / 2 : 0) + tick_ns;
out:
    return status;
}

enum status kernel_set_clocks(struct ring_kernel *k, struct error *err)
{
    enum status status = STATUS_OK;
    struct kernel_stamp *stamps = NULL;
    int64_t best_ns = 0;
    void *got = NULL;
    TRY(allocate((void **)&stamps, (int64_t)k->n_ranks * (KERNEL_ROUNDS + 1), sizeof *stamps,
                 "clocks", err));
    for (int rank = 0; rank < k->n_ranks; rank++) {
        TRY(kernel_ok(cudaSetDevice(k->gpus[k->ranks[rank].gpu].id), "using a device", err));
        TRY(kernel_zeroed(&got, (KERNEL_ROUNDS + 1) * (int64_t)sizeof *stamps, err));
        kernel_rank_of(k, rank)->stamps = got;
    }
    TRY(kernel_publish(k, err));
    for (int i = 0; i < CLOCK_CALLS; i++)
        TRY(send_token(k, stamps, &best_ns, err));
out:
    for (int rank = 0; rank < k->n_ranks; rank++) {
        (void)cudaFree(kernel_rank_of(k, rank)->stamps);
        kernel_rank_of(k, rank)->stamps = k->ranks[rank].stamps;
    }
    free(stamps);
    return status;
}
