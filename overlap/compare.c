/* compare.c - one row for each kind of compute and each length of the backward pass. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/interrupt.h"
#include "common/output.h"
#include "common/sort.h"
#include "overlap/compare_parts.h"
#include "ring/kernel.h"
#include "ring/ring.h"

/* bench's engines as run's. */
static const enum engine engines[N_BENCH_ENGINES] = {
    [BENCH_EAGER] = ENGINE_EAGER, [BENCH_GRAPH] = ENGINE_GRAPH, [BENCH_KERNEL] = ENGINE_KERNEL,
    [BENCH_AUTO] = ENGINE_AUTO, [BENCH_NCCL] = ENGINE_NCCL,
};

/* ---- engines ---- */

static enum status open_holder(struct compare *c)
{
    enum status status = STATUS_OK;
    const struct settings *s = c->step.s;
    const struct ring_shape shape = {.n_ranks = s->n_ranks, .count = s->n_ranks, .pieces = 1,
                                     .slots = 1, .iterations = 1};
    const struct run_options options = {.device_of = s->device_of, .timeout_s = s->timeout_s,
                                        .peer_off = s->peer_off, .model = s->model};
    struct plan plan = {0};
    TRY(ring_plan(&plan, &shape, c->step.err));
    TRY(run_open(&c->holder, s->backend, &plan, &options, c->step.err));
    for (int i = 0; i < c->holder->facts.n_links; i++)
        c->staged |= c->holder->facts.paths[i] == PATH_STAGED;
    show_notice(s, &c->holder->facts, c->step.notice, sizeof c->step.notice);
out:
    plan_free(&plan);
    return status;
}

static enum status possible(void *context, enum bench_engine engine, struct error *why)
{
    struct compare *c = context;
    const struct settings *s = c->step.s;
    switch (engine) {
    case BENCH_EAGER: return STATUS_OK;
    case BENCH_GRAPH: return c->staged ? bench_no_graph(why) : STATUS_OK;
    case BENCH_KERNEL: return ring_kernel_try(c->holder, s->n_ranks, s->device_of, why);
    case BENCH_AUTO: return fail(why, STATUS_USAGE, "with overlap it is always eager");
    default: return step_open_calls(&c->step, why);
    }
}

static int first_engine(const struct compare *c)
{
    int i = 0;
    while (i < N_BENCH_ENGINES - 1 && !c->on[i])
        i++;
    return i;
}

/* ---- measuring ---- */

/* What one engine makes of the step: in the serial run, or overlapped. `verified`: every element of
 * the result is compared. */
static enum status run_once(struct compare *c, int engine, int serial, int verified,
                            struct iteration *it)
{
    enum status status = STATUS_OK;
    struct step *p = &c->step;
    TRY(interrupt_seen(p->err));
    p->s->engine = engines[engine];
    TRY(step_run(p, it, serial, p->s->backend, !verified));
    if (step_refuted(p, &it->story.proof))
        TRY(fail(p->err, STATUS_WRONG, "the plan of engine %s is refuted",
                 engine_name(engines[engine])));
    if (verified) {
        c->n_wrong += it->story.verdict.n_wrong + it->story.verdict.n_different;
        c->n_compared += it->story.verdict.n_checked;
        c->rounded |= !step_exact(p);
    }
out:
    return status;
}

/* Compute and communication apart, and the ideal that follows. */
static enum status measure_alone(struct compare *c, int engine, struct compare_row *row)
{
    struct iteration it = {.figures = NULL};
    const int n = c->step.s->n_ranks;
    enum status status = run_once(c, engine, 1, 0, &it);
    if (status == STATUS_OK) {
        const struct figures *f = &it.figures[figures_slowest(it.figures, n)];
        int64_t optimizer = it.story.timing.total_ns - figures_complete(it.figures, n);
        double ideal = step_us(figures_ideal(f) + optimizer);
        row->communication[engine] = step_us(f->communication);
        row->compute = row->compute > 0 ? row->compute : step_us(f->compute);
        row->ideal = row->ideal > 0 && row->ideal < ideal ? row->ideal : ideal;
    }
    step_free_iteration(&it);
    return status;
}

/* Timed as training would see it, and, once, verified. */
static enum status measure_iteration(struct compare *c, int engine, int round,
                                     struct compare_row *row)
{
    enum status status = STATUS_OK;
    struct iteration it = {.figures = NULL};
    const struct settings *s = c->step.s;
    struct spread spread;
    if (round == 0 && s->bench.check && s->backend == BACKEND_CUDA)
        TRY(run_once(c, engine, 0, 1, &it));
    step_free_iteration(&it); /* two need not fit side by side */
    TRY(interrupt_seen(c->step.err));
    c->step.s->engine = engines[engine];
    TRY(step_time(&c->step, 0, &spread));
    row->rounds[engine][round] = spread.median_ns / 1e3;
out:
    step_free_iteration(&it);
    return status;
}

static enum status measure_row(struct compare *c, const char *bound, double backward_us,
                               struct compare_row *row)
{
    enum status status = STATUS_OK;
    *row = (struct compare_row){.bound = bound, .backward = backward_us};
    c->step.s->backward_us = backward_us;
    TRY(step_share_out(&c->step));
    for (int i = 0; i < N_BENCH_ENGINES; i++)
        if (c->on[i])
            TRY(measure_alone(c, i, row));
    for (int round = 0; round < c->n_rounds; round++)
        for (int i = 0; i < N_BENCH_ENGINES; i++)
            if (c->on[i])
                TRY(measure_iteration(c, i, round, row));
    for (int i = 0; i < N_BENCH_ENGINES; i++)
        sort_doubles(row->rounds[i], c->n_rounds);
out:
    return status;
}

static const double ratios[] = COMPARE_RATIOS;
#define N_RATIOS (sizeof ratios / sizeof *ratios)

/* The last ratio is the largest; a layer is one compute, which devices limit. */
static enum status check_lengths(struct compare *c, double communication_us)
{
    enum status status = STATUS_OK;
    struct step *p = &c->step;
    const struct device_model *m = &p->s->model;
    const double ratio = ratios[N_RATIOS - 1];
    char link[160] = "bench --overlap";
    int64_t longest = 0;
    p->s->backward_us = ratio * communication_us;
    TRY(step_share_out(p));
    for (int64_t i = 0; i < p->model.n_layers; i++)
        longest = p->layer_ns[i] > longest ? p->layer_ns[i] : longest;
    if (longest <= DEVICE_MAX_DELAY_NS)
        return STATUS_OK;
    const double seconds = (double)longest / 1e9, most = DEVICE_MAX_DELAY_NS / 1e9;
    const int host = p->s->backend == BACKEND_HOST;
    if (host && strcmp(m->name, "link") == 0) /* of GBps:us */
        snprintf(link, sizeof link, "--link %.6g:%.6g", m->link_GBps,
                 (double)m->link_latency_ns / 1e3);
    else if (host)
        snprintf(link, sizeof link, "--link %s", m->name);
    status = fail(p->err, host ? STATUS_USAGE : STATUS_MACHINE,
                  "%s: too slow for these gradients: communication takes %.3g s, so a backward "
                  "pass of %g times that has a layer of %.3g s, and at most %g s are possible; a "
                  "link %.0f times as fast, or less to send (--layers), is wanted", link,
                  communication_us / 1e6, ratio, seconds, most, ceil(seconds / most));
out:
    return status;
}

/* Of the first engine, behind a backward pass of next to nothing. */
static enum status measure_communication(struct compare *c, double *us)
{
    enum status status = STATUS_OK;
    struct compare_row row = {.ideal = 0};
    c->step.s->backward_us = (double)c->step.model.n_layers;
    TRY(step_share_out(&c->step));
    TRY(measure_alone(c, first_engine(c), &row));
    *us = row.communication[first_engine(c)];
    if (*us <= 0)
        TRY(fail(c->step.err, STATUS_USAGE, c->step.s->n_ranks == 1
                 ? "bench --overlap: a single rank sends nothing, so there is nothing to hide; "
                   "take two or more"
                 : "bench --overlap: communication takes no time, so there is nothing to hide; a "
                   "slower --link, or more to send (--layers), is wanted"));
    TRY(check_lengths(c, *us));
out:
    return status;
}

/* ---- the command ---- */

static enum status measure_rows(struct compare *c, double communication_us)
{
    enum status status = STATUS_OK;
    static const struct { enum device_work work; const char *name; } bounds[] = {
        {WORK_ARITHMETIC, "arithmetic"}, {WORK_MEMORY, "memory"},
    };
    const int host = c->step.s->backend == BACKEND_HOST; /* whose model knows but one kind */
    TRY(output_flush(c->step.err));
    for (int b = 0; b < (host ? 1 : 2); b++)
        for (size_t i = 0; i < N_RATIOS; i++) {
            struct compare_row *row = &c->rows[c->n_rows];
            c->step.s->work = bounds[b].work;
            TRY(measure_row(c, host ? "(modelled)" : bounds[b].name, ratios[i] * communication_us,
                            row));
            compare_print_row(c, row);
            c->n_rows++;
            TRY(output_flush(c->step.err));
        }
out:
    return status;
}

/* What is not given is such that communication is worth hiding. */
static void fill_in(struct settings *s)
{
    if (!s->network && !s->layers)
        s->layers = "16x25MiB";
    if (s->cap_mib <= 0 && !s->bucket_rule)
        s->cap_mib = 25;
    s->pieces = s->pieces ? s->pieces : 2;
}

static void print_json(const void *of, FILE *file) { compare_print_json(of, file); }

enum status overlap_compare(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct compare c = {.step = {.s = s, .out = stdout, .err = err}};
    struct error json_err = {""};
    double communication_us;
    fill_in(s);
    TRY(step_open(&c.step));
    TRY(step_settle(&c.step));
    TRY(output_check(s->bench.json, err));
    c.n_rounds = s->backend == BACKEND_CUDA ? COMPARE_ROUNDS : 1;
    TRY(open_holder(&c));
    TRY(bench_choose(&s->bench, possible, &c, c.on, c.why, err));
    interrupt_catch();
    status = measure_communication(&c, &communication_us);
    if (status != STATUS_OK && interrupt_seen(NULL) == STATUS_OK)
        goto out; /* a refusal: there is nothing to show */
    compare_print_head(&c);
    if (status == STATUS_OK)
        status = measure_rows(&c, communication_us);
    if (status != STATUS_OK)
        snprintf(c.ended, sizeof c.ended, "%.255s", err->text);
    compare_print_end(&c);
    if (bench_json_write(s->bench.json, print_json, &c, &json_err) != STATUS_OK &&
        status == STATUS_OK)
        TRY(fail(err, STATUS_MACHINE, "%s", json_err.text));
    TRY(status);
    if (c.n_wrong)
        TRY(fail(err, STATUS_WRONG, "%" PRId64 " elements are wrong", c.n_wrong));
out:
    step_free(&c.step);
    if (c.holder)
        c.holder->verbs->close(c.holder);
    return status;
}
