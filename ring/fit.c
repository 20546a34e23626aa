/* fit.c - plans that differ in one thing, so that the difference of their times is one number. */
#include "ring/fit.h"

#include <math.h>
#include <stdlib.h>

#include "common/link_file.h"
#include "ring/sampled.h"

#define N_QUEUED 48     /* ops of a rank, in the shorter of two rows that are queued */
#define N_ROUNDS 8      /* of the shorter of two chains */
#define N_GRAPHED 5     /* rounds, or computes, of the longer of two graphs; the shorter has one */
#define N_LAUNCHES 10
#define FINEST_NS 100.0 /* nothing is measured so well that less would be an error */
#define HOLD_NS 200000  /* longer than the host needs: the first of many launches is slow */

#define LEAST_GRAPHED ((int64_t)1 << 20) /* bytes of a graph's ops: small copies are kernels */
#define MOST_GRAPHED ((int64_t)64 << 20)
#define BESIDE_COUNT ((int64_t)2 << 20) /* elements of an add beside a compute */

enum shape { RECORDS, COPIES, ADDS, CHAINS, COMPUTES, COMPUTES_AND_ADDS };

struct trial {
    const char *fits;    /* the number that it is for, as the file has it */
    enum shape shape;
    enum engine engine;
    int64_t count;       /* elements of an op */
    int n;               /* ops of a rank; of chains, rounds: copy, add, copy */
    int64_t hold_ns;     /* all begins behind a compute of this length; 0: at once */
    int64_t compute_ns;  /* of computes */
    enum device_work work;
};

/* What a trial took, or by how much a longer one took more. */
struct cost {
    double ns, queued_ns;
    double ops, waits;   /* of the plan */
};

struct fit {
    const struct settings *s;
    struct device_model *model;
    struct error *err;
};

/* ---- plans ---- */

static struct op op_of(enum op_kind kind, int rank)
{
    return (struct op){.kind = kind, .lane = op_usual_lane(kind), .rank = rank, .bucket = NONE,
                       .step = NONE, .segment = NONE, .piece = NONE, .layer = NONE};
}

/* From the lower half of its data, to one of two places of the next one's inbox. */
static struct op copy_of(const struct plan *plan, const struct trial *t, int rank, int i)
{
    struct op op = op_of(OP_COPY, rank);
    op.src = (struct span){rank, MEMORY_DATA, 0, t->count};
    op.dst = (struct span){(rank + 1) % plan->n_ranks, MEMORY_INBOX, i % 2 * t->count, t->count};
    return op;
}

/* What the add made, to the lower half of the next one's data. */
static struct op sum_of(const struct plan *plan, const struct trial *t, int rank)
{
    struct op op = op_of(OP_COPY, rank);
    op.src = (struct span){rank, MEMORY_DATA, t->count, t->count};
    op.dst = (struct span){(rank + 1) % plan->n_ranks, MEMORY_DATA, 0, t->count};
    return op;
}

static struct op compute_of(int rank, int64_t ns)
{
    struct op op = op_of(OP_COMPUTE, rank);
    op.dst = (struct span){rank, MEMORY_DATA, 0, 1};
    op.cost_ns = ns;
    return op;
}

/* Of the inbox, to the upper half: rows of copies and of adds touch different memory. */
static struct op add_of(const struct trial *t, int rank, int i)
{
    struct op op = op_of(OP_REDUCE, rank);
    op.src = (struct span){rank, MEMORY_INBOX, i % 2 * t->count, t->count};
    op.dst = (struct span){rank, MEMORY_DATA, t->count, t->count};
    return op;
}

/* Ops of one kind on every rank, none of which waits for another. Of an op without an element run.c
 * queues nothing but its record. */
static enum status plan_rows(struct plan *plan, const struct trial *t, const int64_t *held,
                             struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < t->n; i++)
        for (int rank = 0; rank < plan->n_ranks; rank++) {
            const struct op op = t->shape == COPIES ? copy_of(plan, t, rank, i)
                                 : t->shape == ADDS ? add_of(t, rank, i)
                                                    : op_of(OP_REDUCE, rank);
            const struct wait wait = {i == 0 ? held[rank] : NONE, WAIT_SERIAL};
            TRY(plan_append(plan, op, &wait, 1, NULL, err));
        }
out:
    return status;
}

/* Round by round every rank copies to the next, which adds, and copies the sum, which the next copy
 * sends on: each op waits for one of another lane, and two of three for one of another rank, as in
 * a ring. (With more than two ranks some wait for readers, too, who are done long before.) */
static enum status plan_chains(struct plan *plan, const struct trial *t, const int64_t *held,
                               struct error *err)
{
    enum status status = STATUS_OK;
    const int n = plan->n_ranks;
    int64_t *ids = NULL;
    TRY(allocate((void **)&ids, 5 * n, sizeof *ids, "a plan", err));
    int64_t *sums = ids, *copies = ids + n, *adds[3] = {ids + 2 * n, ids + 3 * n, ids + 4 * n};
    for (int i = 0; i < 5 * n; i++)
        ids[i] = NONE;
    for (int i = 0; i < t->n; i++) {
        const int64_t *before = adds[(i + 1) % 3];
        for (int rank = 0; rank < n; rank++) {
            const struct wait waits[] = {{i == 0 ? held[rank] : sums[(rank + n - 1) % n],
                                          WAIT_ARRIVED},
                                         {before[(rank + 1) % n], WAIT_DRAINED}};
            TRY(plan_append(plan, copy_of(plan, t, rank, i), waits, 2, &copies[rank], err));
        }
        for (int rank = 0; rank < n; rank++) {
            const struct wait waits[] = {{copies[(rank + n - 1) % n], WAIT_ARRIVED},
                                         {sums[rank], WAIT_DRAINED}};
            TRY(plan_append(plan, add_of(t, rank, i), waits, 2, &adds[i % 3][rank], err));
        }
        for (int rank = 0; rank < n; rank++) {
            const struct wait waits[] = {{adds[i % 3][rank], WAIT_READY},
                                         {copies[(rank + 1) % n], WAIT_DRAINED}};
            TRY(plan_append(plan, sum_of(plan, t, rank), waits, 2, &sums[rank], err));
        }
    }
    TRY(plan_drop_implied(plan, err));
out:
    free(ids);
    return status;
}

/* Beside each compute of a rank, once the one before has ended, an add, or none. */
static enum status plan_computes(struct plan *plan, const struct trial *t, const int64_t *held,
                                 struct error *err)
{
    enum status status = STATUS_OK;
    int64_t last = NONE;
    for (int rank = 0; rank < plan->n_ranks; rank++)
        for (int i = 0; i < t->n; i++) {
            const struct wait wait = {i == 0 ? held[rank] : last, WAIT_SERIAL};
            TRY(plan_append(plan, compute_of(rank, t->compute_ns), NULL, 0, &last, err));
            if (t->shape == COMPUTES_AND_ADDS)
                TRY(plan_append(plan, add_of(t, rank, i), &wait, 1, NULL, err));
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
    plan->inbox_count = 2 * t->count;
    TRY(allocate((void **)&held, n, sizeof *held, "a plan", f->err));
    for (int rank = 0; rank < n; rank++) {
        held[rank] = NONE;
        if (t->hold_ns > 0)
            TRY(plan_append(plan, compute_of(rank, t->hold_ns), NULL, 0, &held[rank], f->err));
    }
    TRY(t->shape == CHAINS  ? plan_chains(plan, t, held, f->err)
        : t->shape > CHAINS ? plan_computes(plan, t, held, f->err)
                            : plan_rows(plan, t, held, f->err));
out:
    free(held);
    return status;
}

/* ---- measuring ---- */

static enum status try_plan(const struct fit *f, const struct trial *t, int launches,
                            struct cost *cost)
{
    enum status status = STATUS_OK;
    struct plan plan = {0};
    struct sampled sampled;
    TRY(make_plan(f, t, &plan));
    const struct sample_way way = {.engine = t->engine, .launches = launches, .work = t->work};
    TRY(sample_plan(f->s, &plan, &way, &sampled, f->err));
    if (sampled.staged)
        TRY(fail(f->err, STATUS_MACHINE, "--fit: some ranks have no peer access to the next one; "
                 "copies through the host have no place in the model"));
    *cost = (struct cost){sampled.ns, sampled.queued_ns, (double)plan.n_ops, (double)plan.n_waits};
out:
    plan_free(&plan);
    return status;
}

/* What `longer` ops of a rank cost more than t.n of them. What a sample costs once falls out. */
static enum status try_more(const struct fit *f, struct trial t, int longer, struct cost *cost)
{
    enum status status = STATUS_OK;
    struct cost more;
    TRY(try_plan(f, &t, 1, cost));
    t.n = longer;
    TRY(try_plan(f, &t, 1, &more));
    *cost = (struct cost){more.ns - cost->ns, more.queued_ns - cost->queued_ns,
                          more.ops - cost->ops, more.waits - cost->waits};
out:
    return status;
}

/* What one op more of a rank takes the devices (of chains: a round), held back until the
 * host has queued the longer plan, so that its time does not count. */
static enum status try_held(const struct fit *f, struct trial t, double *ns)
{
    enum status status = STATUS_OK;
    const struct device_model *m = f->model;
    const int64_t each = m->queue_copy_ns + m->queue_kernel_ns + 2 * m->queue_record_ns +
                         2 * m->queue_wait_ns;
    struct cost more;
    t.hold_ns = HOLD_NS + (t.shape >= CHAINS ? 12 : 6) * each * t.n * f->s->n_ranks;
    if (t.hold_ns > DEVICE_MAX_DELAY_NS)
        TRY(fail(f->err, STATUS_MACHINE, "--fit: %s cannot be fitted: queueing takes the host so "
                 "long (queue_copy, queue_kernel, and two of queue_record and of queue_wait: %.4g "
                 "us) that the devices would have to be held back for %.3g s, and at most %g s are "
                 "possible", t.fits, (double)each / 1e3, (double)t.hold_ns / 1e9,
                 DEVICE_MAX_DELAY_NS / 1e9));
    TRY(try_more(f, t, 3 * t.n, &more));
    *ns = more.ns / (2 * t.n);
out:
    return status;
}

/* As a graph, what a launch more takes, behind others. */
static enum status try_launch(const struct fit *f, struct trial t, int n, double *ns)
{
    enum status status = STATUS_OK;
    struct cost some, more;
    t.engine = ENGINE_GRAPH;
    t.n = n;
    TRY(try_plan(f, &t, N_LAUNCHES, &some));
    TRY(try_plan(f, &t, 2 * N_LAUNCHES, &more));
    *ns = (more.ns - some.ns) / N_LAUNCHES;
    const double host_ns = more.ops * (double)f->model->queue_graph_ns;
    if (host_ns > 0 && host_ns >= 0.9 * *ns)
        TRY(fail(f->err, STATUS_MACHINE, "--fit: %s cannot be fitted: launching a graph of %.0f "
                 "ops takes the host %.4g us (queue_graph: %.4g us for each), and all of it takes "
                 "%.4g, so what the devices take cannot be seen; they would have to take more "
                 "than %.4g us, or the host less for each op", t.fits, more.ops, host_ns / 1e3,
                 (double)f->model->queue_graph_ns / 1e3, *ns / 1e3, host_ns / 0.9e3));
out:
    return status;
}

/* ---- the numbers ---- */

static int64_t no_less_than_0(double ns) { return ns > 0 ? llround(ns) : 0; }

static enum status fit_queueing(struct fit *f)
{
    enum status status = STATUS_OK;
    struct device_model *m = f->model;
    double each[CHAINS]; /* of a row: an op and its record */
    struct cost more;
    for (int shape = 0; shape < CHAINS; shape++) {
        const struct trial t = {.shape = (enum shape)shape, .count = 1, .n = N_QUEUED};
        TRY(try_more(f, t, 2 * N_QUEUED, &more));
        each[shape] = more.queued_ns / more.ops;
    }
    m->queue_record_ns = no_less_than_0(each[RECORDS]);
    m->queue_copy_ns = no_less_than_0(each[COPIES] - each[RECORDS]);
    m->queue_kernel_ns = no_less_than_0(each[ADDS] - each[RECORDS]);
    struct trial t = {.shape = CHAINS, .count = 1, .n = N_QUEUED};
    TRY(try_more(f, t, 2 * N_QUEUED, &more));
    const double unwaited = more.ops * (2 * each[COPIES] + each[ADDS]) / 3;
    m->queue_wait_ns = no_less_than_0((more.queued_ns - unwaited) / more.waits);
    t.engine = ENGINE_GRAPH;
    TRY(try_more(f, t, 2 * N_QUEUED, &more));
    m->queue_graph_ns = no_less_than_0(more.queued_ns / more.ops);
out:
    return status;
}

struct fit_host fit_host(const struct device_model *m)
{
    const double each = (double)(2 * m->queue_copy_ns + m->queue_kernel_ns) / 3;
    return (struct fit_host){(each + (double)(m->queue_record_ns + m->queue_wait_ns)) / 1e3,
                             (double)m->queue_graph_ns / 1e3};
}

enum status fit_host_again(const struct settings *s, struct fit_host *host, struct error *err)
{
    struct device_model model = {.name = ""};
    struct fit f = {.s = s, .model = &model, .err = err};
    const enum status status = fit_queueing(&f);
    *host = fit_host(&model);
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
               : fail(err, STATUS_MACHINE, "times of %.6g ns for %.6g bytes and of %.6g ns for "
                      "%.6g bytes give no rate from 1e-6 to 1e6 GB/s", y[0], x[0], y[n - 1],
                      x[n - 1]);
}

/* Bytes of an op. What is larger takes long enough to need few. */
static const struct { int64_t bytes; int n; } sizes[] = {
    {4, 32}, {256 << 10, 32}, {1 << 20, 32}, {4 << 20, 16}, {16 << 20, 8}, {64 << 20, 4},
    {256 << 20, 2},
};
#define N_SIZES (int)(sizeof sizes / sizeof *sizes)

/* `passes`: how often an op reads or writes its bytes. */
static enum status fit_rate(struct fit *f, enum shape shape, int passes, int64_t *latency_ns,
                            double *GBps)
{
    enum status status = STATUS_OK;
    const char *number = shape == COPIES ? "copy_rate" : "memory_rate";
    struct error why = {""};
    double x[N_SIZES], y[N_SIZES], latency;
    for (int i = 0; i < N_SIZES; i++) {
        const struct trial t = {.fits = number, .shape = shape, .count = sizes[i].bytes / 4,
                                .n = sizes[i].n};
        x[i] = (double)(passes * sizes[i].bytes);
        TRY(try_held(f, t, &y[i]));
        if (y[i] < 0)
            TRY(fail(f->err, STATUS_MACHINE, "--fit: %s cannot be fitted: more ops took less time; "
                     "something else was running", number));
    }
    if (fit_line(x, y, N_SIZES, &latency, GBps, &why) != STATUS_OK)
        TRY(fail(f->err, STATUS_MACHINE, "--fit: %s cannot be fitted: %s", number, why.text));
    *latency_ns = no_less_than_0(latency);
out:
    return status;
}

static int64_t add_ns(const struct device_model *m, int64_t bytes)
{
    return m->kernel_latency_ns + llround(3 * (double)bytes / m->memory_GBps);
}

/* A round, of ops of so many bytes, as the model has them by now: so what is found for waits, edges
 * and launches makes up, together with these, the chain that was measured. */
static double round_ns(const struct device_model *m, int64_t bytes)
{
    return (double)(2 * (m->link_latency_ns + llround((double)bytes / m->link_GBps)) +
                    add_ns(m, bytes));
}

static enum status fit_waits(struct fit *f)
{
    enum status status = STATUS_OK;
    const struct trial t = {.fits = "wait_latency", .shape = CHAINS, .count = 1,
                            .n = N_ROUNDS};
    double ns;
    TRY(try_held(f, t, &ns));
    f->model->wait_ns = no_less_than_0((ns - round_ns(f->model, sizeof(float))) / 3);
out:
    return status;
}

/* The computes fill the device, and each outlasts its add. */
static enum status fit_sharing(struct fit *f)
{
    enum status status = STATUS_OK;
    const int64_t add = add_ns(f->model, 4 * BESIDE_COUNT);
    const int64_t ns = 100000 + 4 * (add + f->model->wait_ns);
    struct trial t = {.fits = "add_takes", .shape = COMPUTES, .count = BESIDE_COUNT,
                      .n = N_ROUNDS, .work = WORK_ARITHMETIC,
                      .compute_ns = ns < DEVICE_MAX_DELAY_NS ? ns : DEVICE_MAX_DELAY_NS};
    double alone, beside;
    TRY(try_held(f, t, &alone));
    t.shape = COMPUTES_AND_ADDS;
    TRY(try_held(f, t, &beside));
    const int64_t percent = no_less_than_0(100 * (beside - alone) / (double)add);
    f->model->add_takes_percent = percent < LINK_MAX_PERCENT ? percent : LINK_MAX_PERCENT;
out:
    return status;
}

/* Computes are given their time: long enough to hide the host, and known without a fit. */
static enum status fit_edge(struct fit *f)
{
    enum status status = STATUS_OK;
    struct device_model *m = f->model;
    const int64_t ns = 20000 + 2 * (m->kernel_latency_ns + f->s->n_ranks * m->queue_graph_ns);
    const struct trial t = {.fits = "graph_edge", .shape = COMPUTES, .count = 1,
                            .compute_ns = ns < DEVICE_MAX_DELAY_NS ? ns : DEVICE_MAX_DELAY_NS};
    double shorter, longer;
    TRY(try_launch(f, t, 1, &shorter));
    TRY(try_launch(f, t, N_GRAPHED, &longer));
    m->graph_edge_ns =
        no_less_than_0((longer - shorter) / (N_GRAPHED - 1) - (double)t.compute_ns);
out:
    return status;
}

/* Bytes of a graph's ops: a copy takes no less than the host for an op of each rank, so that more
 * ranks do not hide what the devices take. */
static int64_t graphed_bytes(const struct fit *f)
{
    const struct device_model *m = f->model;
    const double wanted = m->link_GBps * (double)(f->s->n_ranks * m->queue_graph_ns);
    return wanted <= (double)LEAST_GRAPHED  ? LEAST_GRAPHED
           : wanted >= (double)MOST_GRAPHED ? MOST_GRAPHED
                                            : (int64_t)wanted / 4 * 4;
}

/* A graph of n rounds takes its launch, n rounds, and a wait less than it has ops in a chain. */
static enum status fit_graph(struct fit *f)
{
    enum status status = STATUS_OK;
    struct device_model *m = f->model;
    const int64_t bytes = graphed_bytes(f);
    const struct trial t = {.fits = "graph_wait", .shape = CHAINS, .count = bytes / 4};
    const double round = round_ns(m, bytes);
    double shorter, longer;
    TRY(fit_edge(f));
    TRY(try_launch(f, t, 1, &shorter));
    TRY(try_launch(f, t, N_GRAPHED, &longer));
    const double wait = ((longer - shorter) / (N_GRAPHED - 1) - round) / 3;
    m->graph_wait_ns = no_less_than_0(wait - (double)m->graph_edge_ns);
    m->graph_launch_ns =
        no_less_than_0(shorter - round - 2 * (double)(m->graph_edge_ns + m->graph_wait_ns));
out:
    return status;
}

enum status fit_measure(const struct settings *s, struct device_model *model, struct error *err)
{
    enum status status = STATUS_OK;
    struct fit f = {.s = s, .model = model, .err = err};
    *model = (struct device_model){.name = ""};
    TRY(fit_queueing(&f));
    TRY(fit_rate(&f, COPIES, 1, &model->link_latency_ns, &model->link_GBps));
    TRY(fit_rate(&f, ADDS, 3, &model->kernel_latency_ns, &model->memory_GBps));
    link_file_round(model);
    TRY(fit_waits(&f));
    TRY(fit_sharing(&f));
    TRY(fit_graph(&f));
out:
    return status;
}
