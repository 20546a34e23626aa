/* kernel_cuda.c - the host's side of the kernels: their memory, their launches, their clocks.
 *
 * A launch's arguments lie ready for each device, and only what differs from call to call is filled
 * in. All memory is zeroed once: no flag is ever the number of a call before that call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/kernel_cuda.h"
#include "ring/plan.h"

#define DEFAULT_TIMEOUT_MS 10000
#define LEAST_CAPABILITY 7  /* release, acquire and independent threads came with it */
#define FEW_BLOCKS 64       /* are faster for segments of up to so many bytes; */
#define FEW_BLOCKS_MOST ((int64_t)4 << 20) /* two H200, docs/benchmark.md */

enum status kernel_ok(cudaError_t result, const char *what, struct error *err)
{
    if (result == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError();
    return fail(err, STATUS_MACHINE, "the ring's kernel: %s: %s (%s)", what,
                cudaGetErrorString(result), cudaGetErrorName(result));
}

/* ---- what this machine can do ---- */

/* Its injected library delays threads as it likes, and kernels that wait for each other then need
 * not end. */
static int is_sanitized(void)
{
    const char *preloaded = getenv("LD_PRELOAD"), *injected = getenv("CUDA_INJECTION64_PATH");
    return (preloaded && strstr(preloaded, "anitizer")) ||
           (injected && strstr(injected, "anitizer")) ||
           getenv("NV_SANITIZER_INJECTION_PORT_BASE") != NULL;
}

static enum status check_links(const struct device_facts *facts,
                               const struct ring_kernel_setup *setup, struct error *err)
{
    for (int rank = 0; rank < setup->n_ranks; rank++) {
        const int next = (rank + 1) % setup->n_ranks;
        int i = 0;
        while (i < facts->n_links &&
               (facts->links[i].from != rank || facts->links[i].to != next))
            i++;
        if (setup->device_of[rank] == setup->device_of[next])
            continue;
        if (i == facts->n_links)
            return fail(err, STATUS_MACHINE, "the devices were opened without the link from rank "
                        "%d to rank %d, which a ring has", rank, next);
        if (facts->paths[i] == PATH_STAGED)
            return fail(err, STATUS_MACHINE, "rank %d has no peer access to rank %d's memory, "
                        "where its kernel would have to write; eager copies through the host",
                        rank, next);
    }
    return STATUS_OK;
}

static enum status open_gpu(struct kernel_gpu *gpu, struct error *err)
{
    enum status status = STATUS_OK;
    int major = 0, together = 0;
    TRY(kernel_ok(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu->id),
                  "asking for a device's capability", err));
    TRY(kernel_ok(cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, gpu->id),
                  "asking for a device's capability", err));
    TRY(kernel_ok(cudaDeviceGetAttribute(&gpu->n_processors, cudaDevAttrMultiProcessorCount,
                                         gpu->id), "asking for a device's capability", err));
    gpu->comes_early = major >= 9;
    if (major < LEAST_CAPABILITY || !together)
        return fail(err, STATUS_MACHINE, "device %d has compute capability %d.x%s; the ring's "
                    "kernel needs %d.0 and launches that start as a whole", gpu->id, major,
                    together ? "" : ", without cooperative launches", LEAST_CAPABILITY);
out:
    return status;
}

/* How many blocks of a rank run at once wherever ranks share a device. */
static enum status find_blocks(struct ring_kernel *k, struct error *err)
{
    enum status status = STATUS_OK;
    k->most_blocks = KERNEL_MAX_BLOCKS;
    for (int g = 0; g < k->n_gpus; g++)
        for (int protocol = 0; protocol < N_PROTOCOLS; protocol++) {
            struct kernel_gpu *gpu = &k->gpus[g];
            int each = 0;
            TRY(kernel_ok(cudaSetDevice(gpu->id), "using a device", err));
            TRY(kernel_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                         &each, kernel_function((enum ring_protocol)protocol, k->dtype, k->redop),
                         KERNEL_THREADS, 0), "asking how many blocks fit", err));
            const int fit = each * gpu->n_processors / gpu->n_local;
            if (fit < 1)
                return fail(err, STATUS_MACHINE, "%d ranks share device %d, and their kernels "
                            "cannot all run at the same time there: %d blocks of %d threads fit",
                            gpu->n_local, gpu->id, each * gpu->n_processors,
                            KERNEL_THREADS);
            k->most_blocks = fit < k->most_blocks ? fit : k->most_blocks;
        }
out:
    return status;
}

/* ---- memory ---- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t up_to(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* Where the parts of a post lie in its memory; returns how many bytes that is. */
static int64_t lay_out(const struct ring_kernel *k, const struct kernel_launch *l, char *memory,
                       struct kernel_post *post)
{
    const int64_t packets = 2 * kernel_steps(k) * l->segment_packets * 16;
    const int64_t inbox = 2 * (k->n_ranks - 1) * l->segment_bytes;
    const int64_t flags = 2 * kernel_steps(k) * KERNEL_MAX_BLOCKS * (int64_t)sizeof(uint32_t);
    *post = (struct kernel_post){(void *)memory, memory + packets,
                                 (uint32_t *)(memory + packets + inbox),
                                 (uint32_t *)(memory + packets + inbox + flags)};
    return packets + inbox + flags + 16;
}

enum status kernel_zeroed(void **memory, int64_t bytes, struct error *err)
{
    enum status status = STATUS_OK;
    const cudaError_t taken = cudaMalloc(memory, (size_t)bytes);
    if (taken == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return fail(err, STATUS_MACHINE, "the ring's kernel needs %lld bytes beside each rank's "
                    "data, and they are not free", (long long)bytes);
    }
    TRY(kernel_ok(taken, "memory", err));
    TRY(kernel_ok(cudaMemset(*memory, 0, (size_t)bytes), "memory", err));
    TRY(kernel_ok(cudaStreamSynchronize(NULL), "memory", err));
out:
    return status;
}

/* For all ranks alike: the room for a segment, of a first call's, too. */
static void size_segments(struct ring_kernel *k, struct kernel_launch *l)
{
    const int64_t size = (int64_t)dtype_size(k->dtype), n = k->n_ranks;
    const int64_t room = RING_PACKETS_ROOM / size * n;
    k->packets_count = k->count < room ? k->count : room;
    const int64_t of_packet = KERNEL_PACKET_BYTES / size * size;
    const int64_t one = larger(size, sizeof(int32_t)); /* more, of the longer segments */
    const int64_t by_packets = larger(k->packets_count * size, KERNEL_PROBE_BYTES) / n + one;
    l->segment_packets = by_packets / of_packet + 1;
    l->segment_bytes = up_to(larger(k->count * size, KERNEL_PROBE_BYTES) / n + one + 16, 16);
}

static enum status take_memory(struct ring_kernel *k, int rank, struct error *err)
{
    enum status status = STATUS_OK;
    struct kernel_holding *r = &k->ranks[rank];
    struct kernel_gpu *gpu = &k->gpus[r->gpu];
    struct kernel_rank *me = &gpu->local[r->local];
    void *got = NULL;
    const int64_t steps = k->n_recorded * (kernel_steps(k) + 1);
    size_segments(k, &gpu->launch);
    TRY(kernel_ok(cudaSetDevice(gpu->id), "using a device", err));
    k->bytes = lay_out(k, &gpu->launch, NULL, &me->post);
    TRY(kernel_zeroed(&r->memory, k->bytes, err));
    lay_out(k, &gpu->launch, r->memory, &me->post);
    if (steps > 0) {
        TRY(kernel_zeroed(&got, steps * k->most_blocks * (int64_t)sizeof *r->stamps, err));
        me->stamps = r->stamps = got;
        TRY(kernel_zeroed(&got, steps * (int64_t)sizeof *r->done, err));
        me->done = r->done = got;
    }
out:
    return status;
}

/* What the launches to come know of their ranks. */
enum status kernel_publish(struct ring_kernel *k, struct error *err)
{
    enum status status = STATUS_OK;
    for (int g = 0; g < k->n_gpus; g++) {
        struct kernel_gpu *gpu = &k->gpus[g];
        const int64_t bytes = gpu->n_local * (int64_t)sizeof *gpu->local;
        gpu->launch.alone = gpu->local[0];
        if (gpu->n_local == 1)
            continue;
        TRY(kernel_ok(cudaSetDevice(gpu->id), "using a device", err));
        if (!gpu->copy)
            TRY(kernel_zeroed(&gpu->copy, bytes, err));
        TRY(kernel_ok(cudaMemcpy(gpu->copy, gpu->local, (size_t)bytes, cudaMemcpyHostToDevice),
                 "memory", err));
        gpu->launch.ranks = gpu->copy;
    }
out:
    return status;
}

/* Once all have memory: whose is whose. */
static enum status join(struct ring_kernel *k, struct error *err)
{
    enum status status = STATUS_OK;
    struct kernel_stuck *seen = NULL;
    TRY(kernel_ok(cudaHostAlloc((void **)&k->stuck, (size_t)k->n_ranks * sizeof *k->stuck,
                           cudaHostAllocPortable | cudaHostAllocMapped), "memory", err));
    memset(k->stuck, 0, (size_t)k->n_ranks * sizeof *k->stuck);
    for (int rank = 0; rank < k->n_ranks; rank++) {
        struct kernel_rank *me = kernel_rank_of(k, rank);
        const int next = (rank + 1) % k->n_ranks;
        TRY(kernel_ok(cudaSetDevice(k->gpus[k->ranks[rank].gpu].id), "using a device", err));
        TRY(kernel_ok(cudaHostGetDevicePointer((void **)&seen, k->stuck, 0), "memory", err));
        me->stuck = seen + rank;
        me->next_post = kernel_rank_of(k, next)->post;
    }
out:
    return status;
}

/* ---- launches ---- */

/* All devices' kernels of a call, one behind the other; each begins when its stream comes to it.
 * Ranks that share a device are launched as a whole. Of a rank alone the blocks may come while the
 * call before it still works: kernel_steps.cu has them wait. */
enum status kernel_launch(struct ring_kernel *k, const void *function, int threads,
                          struct error *err)
{
    enum status status = STATUS_OK;
    for (int g = 0; g < k->n_gpus; g++) {
        struct kernel_gpu *gpu = &k->gpus[g];
        void *stream = NULL, *arguments[] = {&gpu->launch};
        cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeCooperative};
        TRY(k->device->verbs->stream(k->device, gpu->stream, &stream, err));
        const cudaLaunchConfig_t config = {
            .gridDim = {(unsigned)(gpu->n_local * gpu->launch.blocks), 1, 1},
            .blockDim = {(unsigned)threads, 1, 1}, .stream = stream, .attrs = &attribute,
            .numAttrs = gpu->n_local > 1 || gpu->comes_early,
        };
        if (gpu->n_local > 1) {
            attribute.val.cooperative = 1;
        } else {
            attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attribute.val.programmaticStreamSerializationAllowed = 1;
        }
        TRY(kernel_ok(cudaLaunchKernelExC(&config, function, arguments), "its launch", err));
    }
out:
    return status;
}

/* So many blocks that each thread has something to do; more than most_blocks do not fit. */
static int blocks_for(const struct ring_kernel *k, const struct ring_call *call)
{
    const int64_t size = (int64_t)dtype_size(k->dtype);
    const int64_t segment = (call->count + k->n_ranks - 1) / k->n_ranks * size;
    const int64_t unit = call->protocol == PROTOCOL_PACKETS ? KERNEL_PACKET_BYTES : 16;
    const int64_t each = KERNEL_THREADS * unit;
    const int most = segment <= FEW_BLOCKS_MOST && k->most_blocks > FEW_BLOCKS ? FEW_BLOCKS
                                                                             : k->most_blocks;
    const int64_t wanted = call->blocks > 0 ? call->blocks : (segment + each - 1) / each;
    return (int)(wanted < most ? wanted : most);
}

/* Divisions are made here, once: threads take long for them. */
void kernel_aim(struct ring_kernel *k, const struct ring_call *call, enum dtype dtype, int blocks)
{
    const int64_t each = call->count / k->n_ranks, longer = call->count % k->n_ranks;
    const int64_t vectors = (each + (longer > 0)) * (int64_t)dtype_size(dtype) / 16;
    k->epoch++;
    for (int g = 0; g < k->n_gpus; g++) {
        struct kernel_launch *l = &k->gpus[g].launch;
        l->blocks = blocks;
        l->recorded = call->recorded;
        l->epoch = k->epoch;
        l->first = call->first;
        l->segment_count = each;
        l->longer = longer;
        l->slice = (vectors + blocks - 1) / blocks;
        l->held_rank = call->held_rank;
        l->held_step = call->held_step;
        l->held_ns = call->held_ns;
    }
}

enum status ring_kernel_queue(struct ring_kernel *k, const struct ring_call *call,
                              struct error *err)
{
    enum status status = STATUS_OK;
    const int64_t most = call->protocol == PROTOCOL_PACKETS ? k->packets_count : k->count;
    if (call->first < 0 || call->count < 0 || call->first > k->count - call->count ||
        call->count > most)
        return fail(err, STATUS_MACHINE, "the ring's kernel: %lld elements from element %lld, by "
                    "%s: there is room for %lld of %lld", (long long)call->count,
                    (long long)call->first, ring_protocol_name(call->protocol), (long long)most,
                    (long long)k->count);
    if (call->count == 0 || k->n_ranks == 1)
        return STATUS_OK;
    if (k->epoch == UINT32_MAX) /* a flag of the first calls would be taken for one of the next */
        return fail(err, STATUS_MACHINE, "the ring's kernel: it has been called %u times, and has "
                    "to be opened anew", k->epoch);
    const int blocks = blocks_for(k, call);
    kernel_aim(k, call, k->dtype, blocks);
    if (call->recorded != NONE)
        k->blocks[call->recorded] = blocks;
    TRY(kernel_launch(k, kernel_function(call->protocol, k->dtype, k->redop), KERNEL_THREADS, err));
out:
    return status;
}

int ring_kernel_stream(const struct ring_kernel *k, int rank)
{
    return k->gpus[k->ranks[rank].gpu].stream;
}

int64_t ring_kernel_bytes(const struct ring_kernel *k) { return k->bytes; }

/* ---- who waited for whom ---- */

enum status ring_kernel_judge(struct ring_kernel *k, struct error *err)
{
    char chain[256] = "";
    size_t length = 0;
    int rank = NONE; /* of those that gave up, the one at the earliest step: nobody kept its source
                        waiting */
    for (int i = 0; i < k->n_ranks; i++)
        if (k->stuck[i].stuck && (rank == NONE || k->stuck[i].step < k->stuck[rank].step))
            rank = i;
    if (rank == NONE)
        return STATUS_OK;
    for (int n = 0; n < 4; n++) {
        const int step = k->stuck[rank].step - 1, next = (rank + 1) % k->n_ranks;
        const int source = (rank + k->n_ranks - 1) % k->n_ranks;
        length += (size_t)snprintf(chain + length, sizeof chain - length,
                                   "%srank %d waited for segment %d from rank %d (step s=%d)",
                                   n > 0 ? "; for that " : "", rank,
                                   (source + 2 * k->n_ranks - step) % k->n_ranks, source, step);
        length = length < sizeof chain ? length : sizeof chain - 1;
        if (!k->stuck[next].stuck || k->stuck[next].step <= k->stuck[rank].step)
            break;
        rank = next;
    }
    return fail(err, STATUS_MACHINE, "the ring's kernel gave up after %.3g s: %s",
                (double)k->timeout_ns / 1e9, chain);
}

enum status kernel_finish(struct ring_kernel *k, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(k->device->verbs->sync(k->device, err));
    TRY(ring_kernel_judge(k, err));
out:
    return status;
}

/* ---- what was recorded ---- */

enum status kernel_fetch(const struct ring_kernel *k, int rank, void *to, const void *from,
                         int64_t bytes, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(kernel_ok(cudaSetDevice(k->gpus[k->ranks[rank].gpu].id), "using a device", err));
    TRY(kernel_ok(cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyDeviceToHost), "reading its record",
             err));
out:
    return status;
}

/* From the first block's begin to the last one's end. */
static void span_blocks(const struct kernel_stamp *stamps, int blocks, int64_t clock_ns,
                        struct ring_kernel_step *step)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (int b = 0; b < blocks; b++) {
        begin = stamps[b].begin > 0 && stamps[b].begin < begin ? stamps[b].begin : begin;
        end = stamps[b].end > end ? stamps[b].end : end;
    }
    step->begin_ns = begin == UINT64_MAX ? 0 : (int64_t)begin - clock_ns;
    step->end_ns = begin == UINT64_MAX ? 0 : (int64_t)end - clock_ns;
}

static enum status read_rank(struct ring_kernel *k, int rank, int recorded,
                             struct kernel_stamp *stamps, struct kernel_done *done,
                             struct ring_kernel_step *steps, struct error *err)
{
    enum status status = STATUS_OK;
    const struct kernel_holding *r = &k->ranks[rank];
    const int n = kernel_steps(k) + 1, blocks = k->blocks[recorded];
    const int64_t first = (int64_t)recorded * n;
    TRY(kernel_fetch(k, rank, stamps, r->stamps + first * k->most_blocks,
              (int64_t)n * k->most_blocks * (int64_t)sizeof *stamps, err));
    TRY(kernel_fetch(k, rank, done, r->done + first, n * (int64_t)sizeof *done, err));
    for (int s = 0; s < n; s++) {
        const struct kernel_done *d = &done[s];
        steps[s] = (struct ring_kernel_step){d->segment, d->first, d->count, d->received, d->added,
                                             d->kept, d->sent, 0, 0};
        span_blocks(stamps + s * k->most_blocks, blocks, k->gpus[r->gpu].clock_ns, &steps[s]);
        if (steps[s].begin_ns == 0)
            steps[s].segment = NONE;
    }
out:
    return status;
}

enum status ring_kernel_read(struct ring_kernel *k, int recorded, struct ring_kernel_step *steps,
                             struct error *err)
{
    enum status status = STATUS_OK;
    const int n = kernel_steps(k) + 1;
    struct kernel_stamp *stamps = NULL;
    struct kernel_done *done = NULL;
    TRY(allocate((void **)&stamps, (int64_t)n * k->most_blocks, sizeof *stamps, "a record", err));
    TRY(allocate((void **)&done, n, sizeof *done, "a record", err));
    for (int rank = 0; rank < k->n_ranks; rank++)
        TRY(read_rank(k, rank, recorded, stamps, done, steps + (int64_t)rank * n, err));
out:
    free(stamps);
    free(done);
    return status;
}

/* ---- open and close ---- */

static enum status take_data(struct ring_kernel *k, struct error *err)
{
    for (int rank = 0; rank < k->n_ranks; rank++) {
        void *data = k->device->verbs->address(k->device,
                                               (struct span){rank, MEMORY_DATA, 0, k->count});
        if (k->count > 0 && (!data || (uintptr_t)data % 16 > 0))
            return fail(err, STATUS_MACHINE, "the ring's kernel: rank %d has no data of %lld "
                        "elements", rank, (long long)k->count);
        kernel_rank_of(k, rank)->data = data;
        kernel_rank_of(k, (rank + k->n_ranks - 1) % k->n_ranks)->next_data = data;
    }
    return kernel_publish(k, err);
}

static enum status make(struct ring_kernel **out, struct device *device,
                        const struct ring_kernel_setup *setup, struct error *err)
{
    enum status status = STATUS_OK;
    struct ring_kernel *k = NULL;
    TRY(allocate((void **)&k, 1, sizeof *k, "the ring's kernel", err));
    *out = k;
    k->device = device;
    k->n_ranks = setup->n_ranks;
    k->n_recorded = setup->n_recorded;
    k->dtype = setup->dtype;
    k->redop = setup->redop;
    k->count = setup->count;
    k->timeout_ns = (int64_t)(setup->timeout_ms > 0 ? setup->timeout_ms : DEFAULT_TIMEOUT_MS) *
                    1000000;
    TRY(allocate((void **)&k->gpus, k->n_ranks, sizeof *k->gpus, "the ring's kernel", err));
    TRY(allocate((void **)&k->ranks, k->n_ranks, sizeof *k->ranks, "the ring's kernel", err));
    TRY(allocate((void **)&k->blocks, k->n_recorded, sizeof *k->blocks, "the ring's kernel", err));
    for (int rank = 0; rank < k->n_ranks; rank++) {
        struct kernel_holding *r = &k->ranks[rank];
        while (r->gpu < k->n_gpus && k->gpus[r->gpu].id != setup->device_of[rank])
            r->gpu++;
        if (r->gpu == k->n_gpus)
            k->gpus[k->n_gpus++] = (struct kernel_gpu){.id = setup->device_of[rank],
                                                .stream = stream_id(rank, LANE_SEND)};
        r->local = k->gpus[r->gpu].n_local++;
    }
    for (int g = 0; g < k->n_gpus; g++)
        TRY(allocate((void **)&k->gpus[g].local, k->gpus[g].n_local, sizeof *k->gpus[g].local,
                     "the ring's kernel", err));
    for (int rank = 0; rank < k->n_ranks; rank++)
        kernel_rank_of(k, rank)->rank = rank;
out:
    return status;
}

/* What does not differ from call to call. CUDA would otherwise load a kernel at its first launch,
 * and waits for kernels that run before it does. */
static enum status prepare(struct ring_kernel *k, struct kernel_gpu *gpu, struct error *err)
{
    enum status status = STATUS_OK;
    struct kernel_launch *l = &gpu->launch;
    struct cudaFuncAttributes attributes;
    l->n_ranks = k->n_ranks;
    l->timeout_ns = k->timeout_ns;
    TRY(open_gpu(gpu, err));
    TRY(kernel_ok(cudaSetDevice(gpu->id), "using a device", err));
    TRY(kernel_ok(cudaFuncGetAttributes(&attributes, kernel_clock_function()), "loading it", err));
    for (int i = 0; i < N_PROTOCOLS; i++) {
        const enum ring_protocol protocol = (enum ring_protocol)i;
        const void *own = kernel_function(protocol, k->dtype, k->redop);
        const void *first = kernel_function(protocol, DTYPE_INT32, REDOP_SUM);
        TRY(kernel_ok(cudaFuncGetAttributes(&attributes, own), "loading it", err));
        TRY(kernel_ok(cudaFuncGetAttributes(&attributes, first), "loading it", err));
    }
out:
    return status;
}

enum status ring_kernel_open(struct ring_kernel **out, struct device *device,
                             const struct ring_kernel_setup *setup, struct error *err)
{
    enum status status = STATUS_OK;
    struct ring_kernel *k = NULL;
    *out = NULL;
    if (device->facts.simulated)
        return fail(err, STATUS_MACHINE, "the ring's kernel runs on GPUs, and these are simulated");
    if (is_sanitized())
        return fail(err, STATUS_MACHINE, "the ring's kernel is off under compute-sanitizer, which "
                    "delays threads that wait for each other");
    TRY(check_links(&device->facts, setup, err));
    TRY(make(&k, device, setup, err));
    for (int g = 0; g < k->n_gpus; g++)
        TRY(prepare(k, &k->gpus[g], err));
    TRY(find_blocks(k, err));
    for (int g = 0; g < k->n_gpus; g++)
        k->gpus[g].launch.most_blocks = k->most_blocks;
    for (int rank = 0; rank < k->n_ranks; rank++)
        TRY(take_memory(k, rank, err));
    TRY(join(k, err));
    if (k->n_ranks > 1) {
        TRY(kernel_probe(k, err));
        if (k->n_recorded > 0)
            TRY(kernel_set_clocks(k, err));
    }
    TRY(take_data(k, err));
    *out = k;
    return STATUS_OK;
out:
    ring_kernel_close(k);
    return status;
}

void ring_kernel_close(struct ring_kernel *k)
{
    if (!k)
        return;
    for (int rank = 0; k->ranks && rank < k->n_ranks; rank++) {
        (void)cudaFree(k->ranks[rank].memory);
        (void)cudaFree(k->ranks[rank].stamps);
        (void)cudaFree(k->ranks[rank].done);
    }
    for (int g = 0; g < k->n_gpus; g++) {
        (void)cudaFree(k->gpus[g].copy);
        free(k->gpus[g].local);
    }
    (void)cudaFreeHost(k->stuck);
    (void)cudaGetLastError();
    free(k->gpus);
    free(k->ranks);
    free(k->blocks);
    free(k);
}

int64_t ring_kernel_clock_error_ns(const struct ring_kernel *k) { return k->clock_error_ns; }
