/* fit.c - plans that show one number of the model each, and the line through what was measured. */
#include "ring/fit.h"

#include <math.h>
#include <stdlib.h>

#include "common/interrupt.h"
#include "common/link_file.h"
#include "common/sort.h"
#include "ring/run.h"

#define N_SAMPLES 15
#define N_QUEUED 48   /* ops of a rank, in rows that the host's time is measured by */
#define N_PAIRS 8     /* copies, and adds, of the shorter chain */
#define N_LAUNCHES 10
#define FINEST_NS 100.0 /* nothing is measured so well that less would be an error */
#define HOLD_NS 200000 /* longer than the host needs: the first of many launches is slow */

enum shape { COPIES, ADDS, WAITING_ADDS, CHAIN };

struct trial {
    enum shape shape;
    enum engine engine;
    int64_t count;       /* elements of an op */
    int n;               /* ops of a rank; of a chain, its copies, which are followed by an add */
    int timed;           /* a record more for each op */
    int64_t hold_ns;     /* all begins behind a compute of this length; 0: at once */
};

struct fit {
    const struct settings *s;
    struct device_model *model;
    double copy_ns, add_ns; /* of one element */
    struct error *err;
};

/* ---- plans ---- */

static struct op op_of(enum op_kind kind, int rank)
{
    return (struct op){.kind = kind, .lane = op_usual_lane(kind), .rank = rank, .bucket = NONE,
                       .step = NONE, .segment = NONE, .piece = NONE, .layer = NONE};
}

/* From the lower half of its data, to the next one's inbox. */
static struct op copy_of(const struct plan *plan, const struct trial *t, int rank)
{
    struct op op = op_of(OP_COPY, rank);
    op.src = (struct span){rank, MEMORY_DATA, 0, t->count};
    op.dst = (struct span){(rank + 1) % plan->n_ranks, MEMORY_INBOX, 0, t->count};
    return op;
}

/* Of the inbox, to the upper half: rows of copies and of adds touch different memory. */
static struct op add_of(const struct trial *t, int rank)
{
    struct op op = op_of(OP_REDUCE, rank);
    op.src = (struct span){rank, MEMORY_INBOX, 0, t->count};
    op.dst = (struct span){rank, MEMORY_DATA, t->count, t->count};
    return op;
}

static enum status plan_row(struct plan *plan, const struct trial *t, const int64_t *held,
                            struct error *err)
{
    enum status status = STATUS_OK;
    int64_t last = NONE;
    for (int i = 0; i < t->n; i++)
        for (int rank = 0; rank < plan->n_ranks; rank++) {
            struct op op = t->shape == COPIES ? copy_of(plan, t, rank) : add_of(t, rank);
            const struct wait waits[] = {{i == 0 ? held[rank] : NONE, WAIT_SERIAL},
                                         {t->shape == WAITING_ADDS ? last : NONE, WAIT_SERIAL}};
            TRY(plan_append(plan, op, waits, 2, &last, err));
        }
out:
    return status;
}

static enum status plan_chain(struct plan *plan, const struct trial *t, int64_t held,
                              struct error *err)
{
    enum status status = STATUS_OK;
    int64_t last = held;
    for (int i = 0; i < t->n; i++) {
        struct wait wait = {last, WAIT_SERIAL};
        TRY(plan_append(plan, copy_of(plan, t, i % plan->n_ranks), &wait, 1, &last, err));
        wait.op = last;
        TRY(plan_append(plan, add_of(t, (i + 1) % plan->n_ranks), &wait, 1, &last, err));
    }
out:
    return status;
}

static enum status make_plan(const struct fit *f, const struct trial *t, struct plan *plan)
{
    enum status status = STATUS_OK;
    int64_t *held = NULL;
    const int n = f->s->n_ranks;
    TRY(plan_init(plan, n, 2 * t->count, DTYPE_FLOAT32, REDOP_SUM, f->err));
    plan->inbox_count = t->count;
    TRY(allocate((void **)&held, n, sizeof *held, "a plan", f->err));
    for (int rank = 0; rank < n; rank++) {
        struct op op = op_of(OP_COMPUTE, rank);
        op.dst = (struct span){rank, MEMORY_DATA, 0, 1};
        op.cost_ns = t->hold_ns;
        held[rank] = NONE;
        if (t->hold_ns > 0)
            TRY(plan_append(plan, op, NULL, 0, &held[rank], f->err));
    }
    TRY(t->shape == CHAIN ? plan_chain(plan, t, held[0], f->err)
                          : plan_row(plan, t, held, f->err));
out:
    free(held);
    return status;
}

/* ---- measuring ---- */

static enum status check_paths(const struct fit *f, const struct device *device)
{
    for (int i = 0; i < device->facts.n_links; i++)
        if (device->facts.paths[i] == PATH_STAGED)
            return fail(f->err, STATUS_MACHINE, "--fit: rank %d has no peer access to rank %d; "
                        "copies through the host have no place in the model",
                        device->facts.links[i].from, device->facts.links[i].to);
    return STATUS_OK;
}

/* Medians: of the time until all is done (of a graph, for one launch), and until all is queued. */
static enum status try_plan(const struct fit *f, const struct trial *t, double *ns, double *queued)
{
    enum status status = STATUS_OK;
    const struct settings *s = f->s;
    const int is_graph = t->engine == ENGINE_GRAPH, launches = is_graph ? N_LAUNCHES : 1;
    const struct run_options options = {
        .engine = t->engine, .device_of = s->device_of, .timed = t->timed,
        .timeout_s = s->timeout_s, .peer_off = s->peer_off, .model = s->model,
        .work = WORK_WAITS, .times_only = s->backend == BACKEND_HOST,
    };
    struct plan plan = {0};
    struct device *device = NULL;
    struct run_sample sample = {.order = NULL};
    int64_t all[N_SAMPLES], until_queued[N_SAMPLES];
    TRY(make_plan(f, t, &plan));
    TRY(run_open(&device, s->backend, &plan, &options, f->err));
    TRY(check_paths(f, device));
    TRY(run_sample_open(&sample, device, &plan, &s->data, &options, f->err));
    const int n = device->facts.simulated ? 1 : N_SAMPLES;
    for (int i = device->facts.simulated ? 0 : -3; i < n; i++) { /* below 0 they warm up */
        TRY(interrupt_seen(f->err));
        TRY(run_sample(&sample, launches, &all[i < 0 ? 0 : i], f->err));
        until_queued[i < 0 ? 0 : i] = sample.queued_ns;
    }
    sort_int64(all, n);
    sort_int64(until_queued, n);
    *ns = (double)all[n / 2] / launches;
    *queued = (double)until_queued[n / 2];
out:
    run_sample_close(&sample);
    if (device)
        device->verbs->close(device);
    plan_free(&plan);
    return status;
}

/* What one more op costs the devices (of a chain: a copy and an add): two lengths of one trial,
 * held back until the host has queued the longer. */
static enum status try_more(const struct fit *f, struct trial t, double *ns)
{
    enum status status = STATUS_OK;
    const struct device_model *m = f->model;
    const int64_t each = m->queue_copy_ns + m->queue_kernel_ns + 2 * m->queue_record_ns +
                         2 * m->queue_wait_ns;
    const int n = t.n;
    double shorter, longer, queued;
    t.hold_ns = HOLD_NS + 6 * each * n * f->s->n_ranks;
    if (t.hold_ns > DEVICE_MAX_DELAY_NS)
        TRY(fail(f->err, STATUS_MACHINE, "--fit: queueing takes the host so long (%.4g us for one "
                 "op of a kind) that it cannot be kept apart from the devices' time",
                 (double)each / 1e3));
    TRY(try_plan(f, &t, &shorter, &queued));
    t.n = 3 * n;
    TRY(try_plan(f, &t, &longer, &queued));
    *ns = (longer - shorter) / (2 * n);
out:
    return status;
}

/* ---- the numbers ---- */

static int64_t no_less_than_0(double ns) { return ns > 0 ? llround(ns) : 0; }

static enum status fit_queueing(struct fit *f)
{
    enum status status = STATUS_OK;
    const double n = (double)N_QUEUED * f->s->n_ranks;
    double copies, adds, recorded, waiting, ns;
    struct trial t = {.shape = COPIES, .count = 1, .n = N_QUEUED};
    TRY(try_plan(f, &t, &ns, &copies));
    t.shape = ADDS;
    TRY(try_plan(f, &t, &ns, &adds));
    t.timed = 1;
    TRY(try_plan(f, &t, &ns, &recorded));
    t.timed = 0;
    t.shape = WAITING_ADDS;
    TRY(try_plan(f, &t, &ns, &waiting));
    const double record = recorded > adds ? (recorded - adds) / n : 0;
    f->model->queue_record_ns = no_less_than_0(record);
    f->model->queue_copy_ns = no_less_than_0(copies / n - record);
    f->model->queue_kernel_ns = no_less_than_0(adds / n - record);
    f->model->queue_wait_ns = no_less_than_0((waiting - adds) / (n - 1)); /* the first has none */
out:
    return status;
}

enum status fit_line(const double *x, const double *y, int n, double *latency, double *rate,
                     struct error *err)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, slope;
    for (int i = 0; i < n; i++) {
        const double to = y[i] > FINEST_NS ? y[i] : FINEST_NS, weight = 1 / (to * to);
        w += weight;
        wx += weight * x[i];
        wy += weight * y[i];
        wxx += weight * x[i] * x[i];
        wxy += weight * x[i] * y[i];
    }
    slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    *latency = (wy - slope * wx) / w;
    if (*latency < 0) {
        *latency = 0;
        slope = wxy / wxx;
    }
    *rate = 1 / slope;
    return slope > 0 && *rate >= 1e-6 && *rate <= 1e6
               ? STATUS_OK
               : fail(err, STATUS_MACHINE, "--fit: times of %.6g ns for %.6g bytes and of %.6g ns "
                      "for %.6g bytes give no rate from 1e-6 to 1e6 GB/s", y[0], x[0], y[n - 1],
                      x[n - 1]);
}

/* Bytes of an op. What is larger takes long enough to need few. */
static const struct { int64_t bytes; int n; } sizes[] = {
    {4, 32}, {256 << 10, 32}, {1 << 20, 32}, {4 << 20, 16}, {16 << 20, 8}, {64 << 20, 4},
    {256 << 20, 2},
};
#define N_SIZES (int)(sizeof sizes / sizeof *sizes)

/* `passes`: how often an op reads or writes its bytes; *one_ns gets what one element takes. */
static enum status fit_rate(struct fit *f, enum shape shape, int passes, int64_t *latency_ns,
                            double *GBps, double *one_ns)
{
    enum status status = STATUS_OK;
    double x[N_SIZES], y[N_SIZES], latency;
    for (int i = 0; i < N_SIZES; i++) {
        const struct trial t = {.shape = shape, .count = sizes[i].bytes / 4, .n = sizes[i].n};
        x[i] = (double)(passes * sizes[i].bytes);
        TRY(try_more(f, t, &y[i]));
        if (y[i] < 0)
            TRY(fail(f->err, STATUS_MACHINE, "--fit: more %s took less time; something else was "
                     "running", shape == COPIES ? "copies" : "adds"));
    }
    TRY(fit_line(x, y, N_SIZES, &latency, GBps, f->err));
    *latency_ns = no_less_than_0(latency);
    *one_ns = y[0];
out:
    return status;
}

static enum status fit_graph(struct fit *f)
{
    enum status status = STATUS_OK;
    struct trial t = {.shape = CHAIN, .engine = ENGINE_GRAPH, .count = 1, .n = N_PAIRS};
    double shorter, longer, queued;
    TRY(try_plan(f, &t, &shorter, &queued));
    t.n = 3 * N_PAIRS;
    TRY(try_plan(f, &t, &longer, &queued));
    const double ops = f->copy_ns + f->add_ns;
    const double edge = ((longer - shorter) / (2 * N_PAIRS) - ops) / 2;
    f->model->graph_edge_ns = no_less_than_0(edge);
    f->model->graph_launch_ns = no_less_than_0(
        shorter - N_PAIRS * ops - (2 * N_PAIRS - 1) * (double)f->model->graph_edge_ns);
out:
    return status;
}

enum status fit_measure(const struct settings *s, struct device_model *model, struct error *err)
{
    enum status status = STATUS_OK;
    struct fit f = {.s = s, .model = model, .err = err};
    const struct trial chain = {.shape = CHAIN, .count = 1, .n = N_PAIRS};
    double pair_ns;
    *model = (struct device_model){.name = ""};
    TRY(fit_queueing(&f));
    TRY(fit_rate(&f, COPIES, 1, &model->link_latency_ns, &model->link_GBps, &f.copy_ns));
    TRY(fit_rate(&f, ADDS, 3, &model->kernel_latency_ns, &model->memory_GBps, &f.add_ns));
    TRY(try_more(&f, chain, &pair_ns));
    model->wait_ns = no_less_than_0((pair_ns - f.copy_ns - f.add_ns) / 2);
    TRY(fit_graph(&f));
    link_file_round(model);
out:
    return status;
}
