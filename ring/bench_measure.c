/* bench_measure.c - one size: every engine by turns, then every element of every engine.
 *
 * Nothing is opened, proven, allocated or ordered between the first sample and the last: a sample
 * is queueing, or launching, and a sync. On simulated GPUs times come from the model, which needs
 * no data, so one sample says all; the data then moves once, to be verified.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/processors.h"
#include "common/sort.h"
#include "ring/auto.h"
#include "ring/bench_parts.h"
#include "ring/check.h"
#include "ring/ring.h"
#include "ring/verify.h"

#define N_SAMPLES 20
#define MOVING_LEAST 5 /* on another processor each: so many, and up to ... */
#define MOVING_MOST 60 /* ... so many, as long as they take less than ... */
#define MOVING_NS 2000000000

/* ---- peer copies ---- */

#define COPIES_LEAST ((int64_t)64 << 20) /* bytes of a rank's data: shorter copies tell latency */
#define COPIES_MOST ((int64_t)1 << 30)
#define COPIES_TOGETHER ((int64_t)4 << 30) /* bytes that a rank sends in a sample */
#define COPIES_SAMPLES 5

/* Every rank copies the lower half of its data into the upper half of the next one's, n times. */
static enum status plan_copies(struct plan *plan, int n_ranks, int64_t half, int n,
                               struct error *err)
{
    enum status status = STATUS_OK;
    TRY(plan_init(plan, n_ranks, 2 * half, DTYPE_FLOAT32, REDOP_SUM, err));
    for (int i = 0; i < n && n_ranks > 1; i++)
        for (int rank = 0; rank < n_ranks; rank++) {
            struct op op = {.kind = OP_COPY, .lane = LANE_SEND, .rank = rank, .bucket = NONE,
                            .step = NONE, .segment = NONE, .piece = NONE, .layer = NONE};
            op.src = (struct span){rank, MEMORY_DATA, 0, half};
            op.dst = (struct span){(rank + 1) % n_ranks, MEMORY_DATA, half, half};
            TRY(plan_append(plan, op, NULL, 0, NULL, err));
        }
out:
    return status;
}

static struct run_options options_of(const struct bench *b, enum engine engine, int times_only)
{
    const struct settings *s = b->s;
    return (struct run_options){.engine = engine, .device_of = s->device_of,
                                .timeout_s = s->timeout_s, .peer_off = s->peer_off,
                                .model = s->model, .times_only = times_only};
}

static enum status keep_facts(struct bench *b, const struct device_facts *facts)
{
    enum status status = STATUS_OK;
    void *names = NULL;
    b->simulated = facts->simulated;
    b->n_devices = facts->n_devices;
    for (int i = 0; i < facts->n_links; i++)
        b->staged |= facts->paths[i] == PATH_STAGED;
    TRY(allocate(&names, b->s->n_ranks, sizeof *b->names, "names", b->err));
    b->names = names;
    memcpy(b->names, facts->names, (size_t)b->s->n_ranks * sizeof *b->names);
out:
    return status;
}

enum status bench_open_devices(struct bench *b)
{
    enum status status = STATUS_OK;
    const struct run_options options = options_of(b, ENGINE_EAGER, 0);
    struct plan plan = {0};
    TRY(plan_copies(&plan, b->s->n_ranks, 1, 1, b->err));
    TRY(run_open(&b->device, b->s->backend, &plan, &options, b->err));
    TRY(keep_facts(b, &b->device->facts));
out:
    plan_free(&plan);
    return status;
}

enum status bench_try_kernel(struct bench *b, struct error *why)
{
    return ring_kernel_try(b->device, b->s->n_ranks, b->s->device_of, why);
}

enum status bench_copies(struct bench *b)
{
    enum status status = STATUS_OK;
    const int host = b->s->backend == BACKEND_HOST;
    const struct run_options options = options_of(b, ENGINE_EAGER, host);
    struct plan plan = {0};
    struct device *device = NULL;
    struct run_sample sample = {.order = NULL};
    int64_t bytes = b->s->bench.max_bytes, ns;
    bytes = bytes < COPIES_LEAST ? COPIES_LEAST : bytes > COPIES_MOST ? COPIES_MOST : bytes;
    const int64_t half = bytes / 2 / 4;
    const int n = host ? 2 : (int)(COPIES_TOGETHER / (half * 4));
    if (b->s->n_ranks == 1)
        return STATUS_OK;
    TRY(plan_copies(&plan, b->s->n_ranks, half, n, b->err));
    TRY(run_open(&device, b->s->backend, &plan, &options, b->err));
    TRY(run_sample_open(&sample, device, &plan, &b->s->data, &options, b->err));
    for (int i = 0; i <= COPIES_SAMPLES; i++) { /* the first warms up */
        TRY(run_sample(&sample, 1, &ns, b->err));
        double GBps = (double)(half * 4) * n / (double)ns;
        if (i > 0 && GBps > b->copy_GBps)
            b->copy_GBps = GBps;
    }
    b->copy_bytes = half * 4;
out:
    run_sample_close(&sample);
    if (device)
        device->verbs->close(device);
    plan_free(&plan);
    return status;
}

/* ---- one size ---- */

enum contender { EAGER, GRAPH, KERNEL, AUTO, NCCL_CALLERS, NCCL_WINDOWS, N_CONTENDERS };

static const enum contender contenders[BENCH_NCCL] = { /* of NCCL the faster one */
    [BENCH_EAGER] = EAGER, [BENCH_GRAPH] = GRAPH, [BENCH_KERNEL] = KERNEL, [BENCH_AUTO] = AUTO,
};

struct size {
    struct bench *b;
    int64_t count;
    struct plan one, many;  /* an all-reduce; -n of them, of the same data */
    struct plan graphed;    /* an all-reduce, perhaps in other pieces */
    struct run_options eager_options, graph_options;
    struct device *device;
    struct run_sample eager, graph, once; /* many; one, as a graph; one, op by op */
    struct ring_kernel *kernel;
    struct ring_call call;
    enum contender chosen;  /* what AUTO is */
    int runs[N_CONTENDERS];
    double us[N_CONTENDERS][MOVING_MOST]; /* of one all-reduce; sorted at the end */
    int n_samples;
    void **data;            /* owned, [n_ranks]: where it lies, for NCCL */
};

/* `sums`: they must be those of the goal, too. */
static enum status prove(const struct size *z, const struct plan *plan, int sums)
{
    enum status status = STATUS_OK;
    struct proof proof = {0};
    char text[FINDING_TEXT_SIZE];
    TRY(check_plan(plan, &proof, z->b->err));
    int64_t piled_up = proof.counts[FINDING_SUM] + proof.counts[FINDING_SCALE];
    if (proof_total(&proof) > (sums ? 0 : piled_up))
        status = fail(z->b->err, STATUS_WRONG, "the plan is refuted: %s",
                      finding_text(plan, proof.findings, text, sizeof text));
out:
    proof_free(&proof);
    return status;
}

static struct ring_shape shape_of(const struct settings *s, int64_t count, enum engine engine,
                                  int calls)
{
    const int64_t bytes = count * (int64_t)dtype_size(s->dtype);
    const int chosen = auto_pieces(bytes, s->n_ranks, engine);
    return (struct ring_shape){
        .n_ranks = s->n_ranks, .count = count, .dtype = s->dtype, .redop = s->redop,
        .pieces = s->bench.pieces > 0 ? s->bench.pieces : chosen, .slots = s->slots,
        .iterations = calls, .same_data = calls > 1,
    };
}

enum status bench_check_calls(const struct settings *s, struct error *err)
{
    const int64_t count = s->bench.max_bytes / (int64_t)dtype_size(s->dtype);
    const struct ring_shape shape = shape_of(s, count, ENGINE_EAGER, s->bench.calls);
    return ring_check_ops(&shape, err);
}

static enum status make_plan(const struct size *z, enum engine engine, int calls, struct plan *plan)
{
    enum status status = STATUS_OK;
    const struct ring_shape shape = shape_of(z->b->s, z->count, engine, calls);
    TRY(ring_plan(plan, &shape, z->b->err));
    TRY(prove(z, plan, calls == 1));
out:
    return status;
}

static enum status make_plans(struct size *z)
{
    enum status status = STATUS_OK;
    if (z->b->on[BENCH_GRAPH])
        TRY(make_plan(z, ENGINE_GRAPH, 1, &z->graphed));
    TRY(make_plan(z, ENGINE_EAGER, 1, &z->one));
    TRY(make_plan(z, ENGINE_EAGER, z->b->s->bench.calls, &z->many));
out:
    return status;
}

static enum status open_nccl_data(struct size *z)
{
    enum status status = STATUS_OK;
    const struct settings *s = z->b->s;
    struct nccl *nccl = z->b->nccl;
    TRY(allocate((void **)&z->data, s->n_ranks, sizeof *z->data, "addresses", z->b->err));
    for (int rank = 0; rank < s->n_ranks; rank++)
        z->data[rank] = z->device->verbs->address(
            z->device, (struct span){rank, MEMORY_DATA, 0, z->count});
    nccl->verbs->take(nccl, z->data, z->count, s->dtype, s->redop);
    z->runs[NCCL_CALLERS] = 1;
    z->runs[NCCL_WINDOWS] = !nccl->no_windows[0];
out:
    return status;
}

static enum status open_kernel(struct size *z)
{
    const struct settings *s = z->b->s;
    const struct ring_kernel_setup setup = {.n_ranks = s->n_ranks, .device_of = s->device_of,
                                            .dtype = s->dtype, .redop = s->redop,
                                            .count = z->count};
    const int64_t bytes = z->count * (int64_t)dtype_size(s->dtype);
    z->call = (struct ring_call){.count = z->count, .recorded = NONE,
                                 .protocol = ring_protocol_for(bytes, s->n_ranks)};
    z->chosen = auto_engine(bytes, s->n_ranks, z->b->kernel) == ENGINE_KERNEL ? KERNEL : EAGER;
    z->runs[KERNEL] = z->b->on[BENCH_KERNEL];
    z->runs[AUTO] = z->b->on[BENCH_AUTO];
    return z->runs[KERNEL] || (z->runs[AUTO] && z->chosen == KERNEL)
               ? ring_kernel_open(&z->kernel, z->device, &setup, z->b->err)
               : STATUS_OK;
}

/* With room for any of the plans. */
static enum status open_device(struct size *z)
{
    struct plan *roomy = z->graphed.n_ops > z->many.n_ops ? &z->graphed : &z->many;
    if (roomy->inbox_count < z->graphed.inbox_count)
        roomy->inbox_count = z->graphed.inbox_count;
    if (roomy->inbox_count < z->many.inbox_count)
        roomy->inbox_count = z->many.inbox_count;
    return run_open(&z->device, z->b->s->backend, roomy, &z->eager_options, z->b->err);
}

static enum status open_size(struct size *z, int times_only)
{
    enum status status = STATUS_OK;
    const struct bench *b = z->b;
    const struct init *init = &b->s->data;
    z->eager_options = options_of(b, ENGINE_EAGER, times_only);
    z->graph_options = options_of(b, ENGINE_GRAPH, times_only);
    TRY(open_device(z));
    if (!times_only)
        TRY(run_load(z->device, &z->one, init, b->err));
    TRY(run_sample_open(&z->eager, z->device, &z->many, init, &z->eager_options, b->err));
    TRY(run_sample_open(&z->once, z->device, &z->one, init, &z->eager_options, b->err));
    if (b->on[BENCH_GRAPH])
        TRY(run_sample_open(&z->graph, z->device, &z->graphed, init, &z->graph_options, b->err));
    z->runs[EAGER] = b->on[BENCH_EAGER];
    z->runs[GRAPH] = b->on[BENCH_GRAPH];
    TRY(open_kernel(z));
    if (b->on[BENCH_NCCL])
        TRY(open_nccl_data(z));
out:
    return status;
}

static void close_size(struct size *z)
{
    if (z->data)
        z->b->nccl->verbs->drop(z->b->nccl);
    free(z->data);
    z->data = NULL;
    ring_kernel_close(z->kernel);
    z->kernel = NULL;
    run_sample_close(&z->eager);
    run_sample_close(&z->graph);
    run_sample_close(&z->once);
    if (z->device)
        z->device->verbs->close(z->device);
    z->device = NULL;
}

/* ---- samples ---- */

static enum status sample_nccl(struct size *z, enum nccl_buffers buffers, int times, int64_t *ns)
{
    enum status status = STATUS_OK;
    struct nccl *nccl = z->b->nccl;
    const int64_t begin = clock_ns();
    TRY(nccl->verbs->queue(nccl, buffers, times, z->b->err));
    TRY(nccl->verbs->sync(nccl, z->b->err));
    *ns = clock_ns() - begin;
out:
    return status;
}

static enum status sample_kernel(struct size *z, int times, int64_t *ns)
{
    enum status status = STATUS_OK;
    const int64_t begin = clock_ns();
    for (int i = 0; i < times; i++)
        TRY(ring_kernel_queue(z->kernel, &z->call, z->b->err));
    TRY(z->device->verbs->sync(z->device, z->b->err));
    TRY(ring_kernel_judge(z->kernel, z->b->err));
    *ns = clock_ns() - begin;
out:
    return status;
}

static enum contender meant(const struct size *z, enum contender who)
{
    return who == AUTO ? z->chosen : who;
}

static enum status take_sample(struct size *z, enum contender who, double *us)
{
    enum status status = STATUS_OK;
    const int calls = z->b->s->bench.calls;
    int64_t ns = 0;
    TRY(interrupt_seen(z->b->err));
    switch (meant(z, who)) {
    case EAGER: TRY(run_sample(&z->eager, 1, &ns, z->b->err)); break;
    case GRAPH: TRY(run_sample(&z->graph, calls, &ns, z->b->err)); break;
    case KERNEL: TRY(sample_kernel(z, calls, &ns)); break;
    case NCCL_CALLERS: TRY(sample_nccl(z, NCCL_DEFAULT, calls, &ns)); break;
    default: TRY(sample_nccl(z, NCCL_SYMMETRIC, calls, &ns)); break;
    }
    *us = (double)ns / 1e3 / calls;
out:
    return status;
}

/* Sample i of each engine; NONE: they do not count. */
static enum status take_turn(struct size *z, int i)
{
    enum status status = STATUS_OK;
    double us;
    for (int who = 0; who < N_CONTENDERS; who++)
        if (z->runs[who])
            TRY(take_sample(z, (enum contender)who, i == NONE ? &us : &z->us[who][i]));
out:
    return status;
}

static enum status take_samples(struct size *z)
{
    enum status status = STATUS_OK;
    struct processors *processors = NULL;
    const struct bench_options *o = &z->b->s->bench;
    const int wanted = (o->warmups + o->calls - 1) / o->calls; /* one, at least: it makes events */
    const int n_warm = z->b->simulated ? 0 : wanted > 0 ? wanted : 1;
    if (z->b->moving && !z->b->simulated)
        processors = processors_open();
    const int least = z->b->simulated ? 1 : processors ? MOVING_LEAST : N_SAMPLES;
    const int most = processors ? MOVING_MOST : least;
    for (int i = 0; i < n_warm; i++)
        TRY(take_turn(z, NONE));
    const int64_t begin = clock_ns();
    while (z->n_samples < least || (z->n_samples < most && clock_ns() - begin < MOVING_NS)) {
        if (processors_next(processors)) /* to whose caches all this is new */
            TRY(take_turn(z, NONE));
        TRY(take_turn(z, z->n_samples++));
    }
    for (int who = 0; who < N_CONTENDERS; who++)
        sort_doubles(z->us[who], z->n_samples);
out:
    processors_close(processors);
    return status;
}

/* ---- verified ---- */

static enum status reduce_once_nccl(struct size *z, int windows)
{
    enum status status = STATUS_OK;
    struct nccl *nccl = z->b->nccl;
    int64_t ns;
    if (windows)
        TRY(nccl->verbs->to_windows(nccl, z->b->err));
    TRY(sample_nccl(z, windows ? NCCL_SYMMETRIC : NCCL_DEFAULT, 1, &ns));
    if (windows)
        TRY(nccl->verbs->from_windows(nccl, z->b->err));
out:
    return status;
}

static enum status count_wrong(struct size *z, enum contender who, int64_t *n_wrong)
{
    enum status status = STATUS_OK;
    struct verdict verdict;
    int64_t ns;
    *n_wrong = BENCH_UNCHECKED;
    if (!z->b->s->bench.check)
        return STATUS_OK;
    TRY(interrupt_seen(z->b->err));
    TRY(run_load(z->device, &z->one, &z->b->s->data, z->b->err));
    switch (meant(z, who)) {
    case EAGER: TRY(run_sample(&z->once, 1, &ns, z->b->err)); break;
    case GRAPH: TRY(run_sample(&z->graph, 1, &ns, z->b->err)); break;
    case KERNEL: TRY(sample_kernel(z, 1, &ns)); break;
    default: TRY(reduce_once_nccl(z, who == NCCL_WINDOWS)); break;
    }
    TRY(verify(z->device, &z->one, &z->b->s->data, &verdict, z->b->err));
    const struct settings *s = z->b->s;
    const int exact = who < NCCL_CALLERS || nccl_is_exact(s->n_ranks, s->dtype, s->redop, 1);
    *n_wrong = exact ? verdict.n_wrong : BENCH_ROUNDS;
out:
    return status;
}

/* ---- rows ---- */

static double median(const struct size *z, enum contender who)
{
    return z->us[who][z->n_samples / 2];
}

/* Of NCCL's two the faster one. */
static enum contender fastest_nccl(const struct size *z)
{
    return z->runs[NCCL_WINDOWS] && median(z, NCCL_WINDOWS) < median(z, NCCL_CALLERS)
               ? NCCL_WINDOWS : NCCL_CALLERS;
}

static const char *how(const struct size *z, enum contender who)
{
    switch (who) {
    case KERNEL: return ring_protocol_name(z->call.protocol);
    case AUTO: return engine_name(z->chosen == KERNEL ? ENGINE_KERNEL : ENGINE_EAGER);
    case NCCL_CALLERS: return "default";
    case NCCL_WINDOWS: return "symmetric";
    default: return "";
    }
}

static const struct plan *plan_of(const struct size *z, enum contender who)
{
    return who == GRAPH ? &z->graphed : &z->one;
}

/* Beside a rank's data. */
static int64_t memory_beside(const struct size *z, enum contender who)
{
    const int64_t element = (int64_t)dtype_size(z->b->s->dtype);
    switch (meant(z, who)) {
    case KERNEL: return ring_kernel_bytes(z->kernel);
    case NCCL_CALLERS: return 0;
    case NCCL_WINDOWS: return z->count * element;
    default: return plan_of(z, who)->inbox_count * element;
    }
}

static enum status add_row(struct size *z, enum bench_engine engine, enum contender who)
{
    enum status status = STATUS_OK;
    struct bench *b = z->b;
    const int64_t bytes = z->count * (int64_t)dtype_size(b->s->dtype);
    struct bench_row row = {
        .engine = engine, .count = z->count, .bytes = bytes, .pieces = plan_of(z, who)->pieces,
        .slots = z->one.slots, .median_us = median(z, who), .min_us = z->us[who][0],
        .p99_us = z->us[who][(z->n_samples * 99 + 99) / 100 - 1], .how = how(z, who),
        .memory_bytes = bytes + memory_beside(z, who),
    };
    bench_fill_rates(b, &row, z->runs[NCCL_CALLERS] ? median(z, fastest_nccl(z)) : 0);
    TRY(count_wrong(z, who, &row.n_wrong));
    TRY(make_room((void **)&b->rows, b->n_rows + 1, &b->capacity, sizeof *b->rows, "rows",
                  b->err));
    b->rows[b->n_rows++] = row;
out:
    return status;
}

enum status bench_size(struct bench *b, int64_t count)
{
    enum status status = STATUS_OK;
    struct size z = {.b = b, .count = count};
    const int64_t n_rows = b->n_rows;
    TRY(make_plans(&z));
    TRY(open_size(&z, b->simulated));
    TRY(take_samples(&z));
    if (b->simulated && b->s->bench.check) {
        close_size(&z);
        TRY(open_size(&z, 0));
    }
    for (int engine = 0; engine < N_BENCH_ENGINES; engine++)
        if (b->on[engine])
            TRY(add_row(&z, (enum bench_engine)engine,
                        engine == BENCH_NCCL ? fastest_nccl(&z) : contenders[engine]));
out:
    if (status != STATUS_OK)
        b->n_rows = n_rows; /* a size is there whole or not at all */
    close_size(&z);
    plan_free(&z.graphed);
    plan_free(&z.one);
    plan_free(&z.many);
    return status;
}
