/* measure_host.c - the simulated GPUs against a plain loop: what moving real data costs beyond the
 * bytes. `make measure` runs it.
 *
 * One ring of 8 ranks and 64 MiB each, by turns: the plan, carried out by the host backend; and its
 * copies and adds alone, each a memcpy or a loop over two arrays, in the plan's order, on memory of
 * the same size. Neither loads nor verifies. The fastest of several turns counts, by the clock of
 * the processor, so that other processes do not.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ring/ring.h"
#include "ring/run.h"

#define N_RANKS 8
#define COUNT ((int64_t)16 << 20) /* of float32 */
#define TURNS 7

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static float *place(float *const *memories, struct span span)
{
    return memories[span.rank * N_MEMORIES + (int)span.memory] + span.first;
}

static void add(float *restrict to, const float *restrict from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void plain(const struct plan *plan, float *const *memories)
{
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        if (op->kind == OP_COPY)
            memcpy(place(memories, op->dst), place(memories, op->src),
                   (size_t)op->src.count * sizeof(float));
        else
            add(place(memories, op->dst), place(memories, op->src), op->src.count);
    }
}

/* Zeros, each page of them touched. */
static enum status take_memories(const struct plan *plan, float **memories, struct error *err)
{
    enum status status = STATUS_OK;
    const int64_t counts[N_MEMORIES] = {[MEMORY_DATA] = plan->count,
                                        [MEMORY_INBOX] = plan->inbox_count};
    for (int i = 0; i < N_RANKS * N_MEMORIES; i++) {
        TRY(allocate((void **)&memories[i], counts[i % N_MEMORIES], sizeof(float), "memory", err));
        for (int64_t at = 0; at < counts[i % N_MEMORIES]; at++)
            memories[i][at] = 0;
    }
out:
    return status;
}

static void print(const char *what, double seconds, double bytes)
{
    printf("%-58s %10.4f %9.2f GB/s\n", what, seconds, bytes / seconds / 1e9);
}

static enum status measure(struct device *device, const struct plan *plan, const struct init *init,
                           const struct run_options *options, float *const *memories,
                           struct error *err)
{
    enum status status = STATUS_OK;
    struct run_sample sample = {.order = NULL};
    double least[2] = {1e9, 1e9}, bytes = 0, begin;
    int64_t ns;
    TRY(run_load(device, plan, init, err));
    TRY(run_sample_open(&sample, device, plan, init, options, err));
    for (int i = 0; i < TURNS; i++) {
        begin = cpu_seconds();
        plain(plan, memories);
        least[0] = cpu_seconds() - begin < least[0] ? cpu_seconds() - begin : least[0];
        begin = cpu_seconds();
        TRY(run_sample(&sample, 1, &ns, err));
        least[1] = cpu_seconds() - begin < least[1] ? cpu_seconds() - begin : least[1];
    }
    for (int64_t id = 0; id < plan->n_ops; id++)
        bytes += (double)plan->ops[id].dst.count * sizeof(float) *
                 (plan->ops[id].kind == OP_COPY ? 2 : 3);
    printf("# 8 ranks of 64 MiB, one all-reduce: %.3f GB read and written, seconds of one core\n",
           bytes / 1e9);
    print("memcpy and a loop that adds", least[0], bytes);
    print("the host backend", least[1], bytes);
    printf("%-58s %10.2f\n", "ratio", least[1] / least[0]);
out:
    run_sample_close(&sample);
    return status;
}

int main(void)
{
    enum status status = STATUS_OK;
    struct error err = {""};
    const int device_of[N_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    const struct ring_shape shape = {.n_ranks = N_RANKS, .count = COUNT, .pieces = 1, .slots = 2,
                                     .iterations = 1};
    const struct run_options options = {.device_of = device_of, .model = {.link_GBps = 400,
                                        .memory_GBps = 4800}};
    struct plan plan = {0};
    struct init init = {0};
    struct device *device = NULL;
    float *memories[N_RANKS * N_MEMORIES] = {NULL};
    TRY(init_parse(&init, "index", DTYPE_FLOAT32, REDOP_SUM, &err));
    TRY(ring_plan(&plan, &shape, &err));
    TRY(run_open(&device, BACKEND_HOST, &plan, &options, &err));
    TRY(take_memories(&plan, memories, &err));
    TRY(measure(device, &plan, &init, &options, memories, &err));
out:
    if (status != STATUS_OK)
        fprintf(stderr, "measure_host: %s\n", err.text);
    for (int i = 0; i < N_RANKS * N_MEMORIES; i++)
        free(memories[i]);
    if (device)
        device->verbs->close(device);
    init_free(&init);
    plan_free(&plan);
    return (int)status;
}
