/* fit.c - trials that differ in one thing, so that the difference of their times is one number. */
#include "ring/fit.h"

#include <math.h>
#include <stdlib.h>

#include "common/link_file.h"
#include "ring/fit_parts.h"
#include "ring/sampled.h"

#define N_QUEUED 24      /* ops of a rank, in the shorter of two rows that are queued ... */
#define TIMES_QUEUED 4   /* ... and the longer one has so many times as many */
#define N_ROUNDS 8       /* of the shorter of two chains */
#define N_GRAPHED 5      /* rounds of the longer of two graphs; the shorter has one */
#define N_COMPUTES 13    /* likewise */
#define N_LAUNCHES 20    /* of the shorter of two rows of them ... */
#define MORE_LAUNCHES 60 /* ... and so many more of the longer one */
#define N_ANEW 3         /* times that a graph is made */
#define FINEST_NS 100.0  /* nothing is measured so well that less would be an error */
#define HOLD_NS 200000   /* longer than the host needs: the first of many launches is slow */

#define LEAST_GRAPHED ((int64_t)512 << 10) /* bytes of a graph's ops, in the smaller trial ... */
#define TIMES_GRAPHED 4                    /* ... and so many times as many in the larger one */
#define MOST_GRAPHED ((int64_t)128 << 20)
#define BESIDE_COUNT ((int64_t)8 << 20) /* elements of an add beside a compute */

/* Two trials, and how much more the second one costs. What a sample costs once falls out. */
struct pair {
    struct trial less, more;
    double ns, queued_ns;
    double ops, waits;   /* that are queued */
};
#define MOST_PAIRS 5

struct fit {
    const struct settings *s;
    struct device_model *model;
    struct error *err;
};

/* ---- measuring ---- */

/* In all launches of it. */
static double queued(const struct sampled *of, int64_t n_in_plan)
{
    return (double)(of->launches > 1 ? of->launches : 1) * (double)n_in_plan;
}

/* All trials of n pairs take turns. */
static enum status try_pairs(const struct fit *f, struct pair *pairs, int n)
{
    enum status status = STATUS_OK;
    struct plan plans[2 * MOST_PAIRS] = {{0}};
    struct sampled sampled[2 * MOST_PAIRS] = {{0}};
    for (int i = 0; i < 2 * n; i++) {
        const struct trial *t = i % 2 ? &pairs[i / 2].more : &pairs[i / 2].less;
        TRY(fit_plan(t, f->s->n_ranks, &plans[i], f->err));
        const int same = i % 2 && t->launches != pairs[i / 2].less.launches;
        sampled[i] = (struct sampled){.plan = &plans[i], .engine = t->engine,
                                      .launches = t->launches, .work = t->work,
                                      .like = same ? &sampled[i - 1] : NULL};
    }
    TRY(sample_plans(f->s, sampled, 2 * n, 1, f->err));
    for (int i = 0; i < n; i++) {
        const struct sampled *less = &sampled[2 * i], *more = less + 1;
        if (more->staged)
            TRY(fail(f->err, STATUS_MACHINE, "--fit: some ranks have no peer access to the next "
                     "one; copies through the host have no place in the model"));
        pairs[i].ns = more->done.least_ns - less->done.least_ns;
        pairs[i].queued_ns = more->queued.least_ns - less->queued.least_ns;
        pairs[i].ops = queued(more, more->plan->n_ops) - queued(less, less->plan->n_ops);
        pairs[i].waits = queued(more, more->plan->n_waits) - queued(less, less->plan->n_waits);
    }
out:
    for (int i = 0; i < 2 * n; i++)
        plan_free(&plans[i]);
    return status;
}

/* Until the host has queued three times t.n ops of a rank. */
static enum status hold(const struct fit *f, struct trial *t)
{
    const struct device_model *m = f->model;
    const int64_t each = m->queue_copy_ns + m->queue_kernel_ns + 2 * m->queue_record_ns +
                         2 * m->queue_wait_ns;
    t->hold_ns = HOLD_NS + (t->shape >= CHAINS ? 12 : 6) * each * t->n * f->s->n_ranks;
    return t->hold_ns <= DEVICE_MAX_DELAY_NS
               ? STATUS_OK
               : fail(f->err, STATUS_MACHINE, "--fit: %s cannot be fitted: queueing takes the host "
                      "so long (queue_copy, queue_kernel, and two of queue_record and of "
                      "queue_wait: %.4g us) that the devices would have to be held back for %.3g "
                      "s, and at most %g s are possible", t->fits, (double)each / 1e3,
                      (double)t->hold_ns / 1e9, DEVICE_MAX_DELAY_NS / 1e9);
}

/* For each of n trials, what one op more of a rank takes the devices (of chains: a round), held
 * back until the host has queued the longer plan, so that its time does not count. */
static enum status try_held(const struct fit *f, const struct trial *trials, int n, double *ns)
{
    enum status status = STATUS_OK;
    struct pair pairs[MOST_PAIRS];
    for (int i = 0; i < n; i++) {
        pairs[i].less = trials[i];
        TRY(hold(f, &pairs[i].less));
        pairs[i].more = pairs[i].less;
        pairs[i].more.n *= 3;
    }
    TRY(try_pairs(f, pairs, n));
    for (int i = 0; i < n; i++)
        ns[i] = pairs[i].ns / (2 * trials[i].n);
out:
    return status;
}

/* Of a graph: what a launch takes, and what it takes the host. Where that is nearly all, it hides
 * what the devices take. */
struct launch {
    double ns, host_ns;
    double ops;
};

static int hides(const struct launch *l) { return l->host_ns > 0 && l->host_ns >= 0.9 * l->ns; }

/* The one of the two that hides them, or NULL. */
static const struct launch *hiding(const struct launch *shorter, const struct launch *longer)
{
    return hides(shorter) ? shorter : hides(longer) ? longer : NULL;
}

static enum status refuse_hidden(const struct fit *f, const char *fits, const struct launch *l)
{
    return fail(f->err, STATUS_MACHINE, "--fit: %s cannot be fitted: launching a graph of %.0f ops "
                "takes the host %.4g us (queue_graph: %.4g us for each), and all of it takes %.4g, "
                "so what the devices take cannot be seen; they would have to take more than %.4g "
                "us, or the host less for each op", fits, l->ops, l->host_ns / 1e3,
                (double)f->model->queue_graph_ns / 1e3, l->ns / 1e3, l->host_ns / 0.9e3);
}

/* As a graph of n ops of a rank, what a launch more takes, behind others. Made anew, the same graph
 * may take 1.15 times as long as before: the mean of a few. */
static enum status try_launch(const struct fit *f, struct trial t, int n, struct launch *l)
{
    enum status status = STATUS_OK;
    struct pair pairs[N_ANEW];
    t.engine = ENGINE_GRAPH;
    t.n = n;
    t.launches = N_LAUNCHES;
    for (int i = 0; i < N_ANEW; i++) {
        pairs[i].less = pairs[i].more = t;
        pairs[i].more.launches += MORE_LAUNCHES;
    }
    TRY(try_pairs(f, pairs, N_ANEW));
    *l = (struct launch){.ops = pairs->ops / MORE_LAUNCHES};
    for (int i = 0; i < N_ANEW; i++)
        l->ns += pairs[i].ns / MORE_LAUNCHES / N_ANEW;
    l->host_ns = l->ops * (double)f->model->queue_graph_ns;
out:
    return status;
}

/* ---- the numbers ---- */

static int64_t no_less_than_0(double ns) { return ns > 0 ? llround(ns) : 0; }

static enum status fit_queueing(struct fit *f)
{
    enum status status = STATUS_OK;
    struct device_model *m = f->model;
    enum { GRAPHED = CHAINS + 1, N_PAIRS };
    struct pair pairs[N_PAIRS];
    double each[N_PAIRS]; /* an op, with its record and its waits */
    for (int i = 0; i < N_PAIRS; i++) {
        pairs[i].less = (struct trial){.shape = i < CHAINS ? (enum shape)i : CHAINS, .count = 1,
                                       .engine = i == GRAPHED ? ENGINE_GRAPH : ENGINE_EAGER,
                                       .n = N_QUEUED};
        pairs[i].more = pairs[i].less;
        pairs[i].more.n *= TIMES_QUEUED;
    }
    TRY(try_pairs(f, pairs, N_PAIRS));
    for (int i = 0; i < N_PAIRS; i++)
        each[i] = pairs[i].queued_ns / pairs[i].ops;
    m->queue_record_ns = no_less_than_0(each[RECORDS]);
    m->queue_copy_ns = no_less_than_0(each[COPIES] - each[RECORDS]);
    m->queue_kernel_ns = no_less_than_0(each[ADDS] - each[RECORDS]);
    m->queue_wait_ns = no_less_than_0((each[CHAINS] - (2 * each[COPIES] + each[ADDS]) / 3) *
                                      pairs[CHAINS].ops / pairs[CHAINS].waits);
    m->queue_graph_ns = no_less_than_0(each[GRAPHED]);
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
        TRY(try_held(f, &t, 1, &y[i]));
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
    TRY(try_held(f, &t, 1, &ns));
    f->model->wait_ns = no_less_than_0((ns - round_ns(f->model, sizeof(float))) / 3);
out:
    return status;
}

/* A compute may last only so long. */
static enum status check_compute(const struct fit *f, const struct trial *t)
{
    return t->compute_ns <= DEVICE_MAX_DELAY_NS
               ? STATUS_OK
               : fail(f->err, STATUS_MACHINE, "--fit: %s cannot be fitted: an op takes so long "
                      "that computes beside it would have to take %.3g s, and at most %g s are "
                      "possible", t->fits, (double)t->compute_ns / 1e9, DEVICE_MAX_DELAY_NS / 1e9);
}

/* The computes fill the device, and each outlasts its add. */
static enum status fit_sharing(struct fit *f)
{
    enum status status = STATUS_OK;
    const int64_t add = add_ns(f->model, 4 * BESIDE_COUNT);
    const struct trial alone = {.fits = "add_takes", .shape = COMPUTES, .count = BESIDE_COUNT,
                                .n = N_ROUNDS, .work = WORK_ARITHMETIC,
                                .compute_ns = 100000 + 4 * (add + f->model->wait_ns)};
    struct trial both[] = {alone, alone};
    double each[2];
    both[1].shape = COMPUTES_AND_ADDS;
    TRY(check_compute(f, &alone));
    TRY(try_held(f, both, 2, each));
    const int64_t percent = no_less_than_0(100 * (each[1] - each[0]) / (double)add);
    f->model->add_takes_percent = percent < LINK_MAX_PERCENT ? percent : LINK_MAX_PERCENT;
out:
    return status;
}

/* Computes are given their time: long enough to hide the host, and known without a fit. */
static enum status fit_edge(struct fit *f)
{
    enum status status = STATUS_OK;
    struct device_model *m = f->model;
    const struct trial t = {
        .fits = "graph_edge", .shape = COMPUTES, .count = 1,
        .compute_ns = 20000 + 2 * (m->kernel_latency_ns + f->s->n_ranks * m->queue_graph_ns)};
    struct launch shorter, longer;
    TRY(check_compute(f, &t));
    TRY(try_launch(f, t, 1, &shorter));
    TRY(try_launch(f, t, N_COMPUTES, &longer));
    const struct launch *hidden = hiding(&shorter, &longer);
    if (hidden)
        TRY(refuse_hidden(f, t.fits, hidden));
    m->graph_edge_ns =
        no_less_than_0((longer.ns - shorter.ns) / (N_COMPUTES - 1) - (double)t.compute_ns);
out:
    return status;
}

/* Launches of graphs of one round and of more, of ops of so many bytes, or of twice as many, again
 * and again, where the host hides what the devices take. */
static enum status try_chains(const struct fit *f, int64_t *bytes, struct launch *shorter,
                              struct launch *longer)
{
    enum status status = STATUS_OK;
    for (;; *bytes *= 2) {
        const struct trial t = {.fits = "graph_wait", .shape = CHAINS, .count = *bytes / 4};
        TRY(try_launch(f, t, 1, shorter));
        TRY(try_launch(f, t, N_GRAPHED, longer));
        const struct launch *hidden = hiding(shorter, longer);
        if (!hidden)
            return STATUS_OK;
        if (*bytes > MOST_GRAPHED / 2)
            TRY(refuse_hidden(f, t.fits, hidden));
    }
out:
    return status;
}

/* A graph of n rounds takes its launch, n rounds, and a wait less than it has ops in a chain.
 * Smaller copies begin sooner in a graph: the mean of two sizes. */
static enum status fit_graph(struct fit *f)
{
    enum status status = STATUS_OK;
    struct device_model *m = f->model;
    struct launch shorter, longer;
    double wait = 0, launch = 0;
    int64_t bytes = LEAST_GRAPHED;
    TRY(fit_edge(f));
    for (int i = 0; i < 2; i++, bytes *= TIMES_GRAPHED) {
        TRY(try_chains(f, &bytes, &shorter, &longer));
        const double round = round_ns(m, bytes);
        const double each = ((longer.ns - shorter.ns) / (N_GRAPHED - 1) - round) / 3;
        wait += each / 2;
        launch += (shorter.ns - round - 2 * each) / 2;
    }
    m->graph_wait_ns = no_less_than_0(wait - (double)m->graph_edge_ns);
    m->graph_launch_ns = no_less_than_0(launch);
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
