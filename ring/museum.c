/* museum.c - an exhibit is a right plan, a broken one, and what comes of both on the same data. */
#include "ring/museum.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "common/sort.h"
#include "ring/check.h"
#include "ring/goal.h"
#include "ring/run.h"

#define N_SEEDS 100          /* of random schedules */
#define HELD_BACK_NS 1000000
#define TEST_COUNT 4096      /* elements, where an exhibit's own count is for timing */
#define N_TIMINGS 9

static const struct {
    const char *name, *head; /* in full; as a column's head */
} tests[N_TESTS] = {
    [TEST_FIRST] = {"element 0 of each rank, no other", "elem.0"},
    [TEST_RANKS] = {"the ranks, compared with each other", "ranks"},
    [TEST_CONSTANT] = {"data of ones", "ones"},
    [TEST_ZEROS] = {"data of zeros", "zeros"},
    [TEST_TWO] = {"two ranks", "two"},
    [TEST_ONE_RUN] = {"one run", "once"},
    [TEST_RANDOM] = {"100 random schedules", "random"},
    [TEST_PROOF] = {"the proof", "proof"},
};

/* ---- running ---- */

/* A plan on devices, with its data; may be run again and again. */
struct stage {
    const struct plan *plan;
    struct run_options options;
    struct device *device;
    struct init init;
};

/* All of every rank's data, and how long it took. */
struct result {
    char *data; /* owned */
    int64_t total_ns;
};

static int64_t result_bytes(const struct plan *plan)
{
    return plan->n_ranks * plan->count * (int64_t)dtype_size(plan->dtype);
}

static enum status stage_open(struct stage *stage, const struct museum *m,
                              enum device_backend backend, const struct plan *plan,
                              const char *data, struct run_options options, struct error *err)
{
    enum status status = STATUS_OK;
    int device_of[PLAN_MAX_RANKS];
    *stage = (struct stage){.plan = plan, .options = options};
    for (int rank = 0; rank < plan->n_ranks; rank++)
        device_of[rank] = backend == BACKEND_CUDA ? rank % m->n_devices : rank;
    options.device_of = device_of;
    options.model = m->model;
    options.timeout_s = 60;
    options.peer_off = m->peer_off;
    TRY(init_parse(&stage->init, data, plan->dtype, plan->redop == REDOP_PROD, err));
    TRY(run_open(&stage->device, backend, plan, &options, err));
out:
    return status;
}

static void stage_close(struct stage *stage)
{
    if (stage->device)
        stage->device->verbs->close(stage->device);
    init_free(&stage->init);
}

static enum status stage_run(struct stage *stage, struct result *result, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = stage->plan;
    struct timing timing = {0};
    TRY(run_plan(stage->device, plan, &stage->init, &stage->options, &timing, err));
    result->total_ns = timing.total_ns;
    if (!result->data)
        TRY(allocate((void **)&result->data, result_bytes(plan), 1, "a result", err));
    for (int rank = 0; rank < plan->n_ranks; rank++)
        TRY(stage->device->verbs->get(stage->device,
                                      (struct span){rank, MEMORY_DATA, 0, plan->count},
                                      result->data + rank * (result_bytes(plan) / plan->n_ranks),
                                      err));
out:
    timing_free(&timing);
    return status;
}

static enum status run_once(const struct museum *m, enum device_backend backend,
                            const struct plan *plan, const char *data, struct run_options options,
                            struct result *result, struct error *err)
{
    struct stage stage;
    enum status status = stage_open(&stage, m, backend, plan, data, options, err);
    if (status == STATUS_OK)
        status = stage_run(&stage, result, err);
    stage_close(&stage);
    return status;
}

/* ---- a right plan and a broken one ---- */

struct pair {
    struct plan right, broken;
    int changed;    /* the fault found its place */
    struct proof proof; /* of the broken one */
};

static void pair_close(struct pair *pair)
{
    proof_free(&pair->proof);
    plan_free(&pair->right);
    plan_free(&pair->broken);
}

static enum status pair_open(struct pair *pair, const struct bug *bug, struct ring_shape shape,
                             struct error *err)
{
    enum status status = STATUS_OK;
    int64_t n_changes = 0;
    memset(pair, 0, sizeof *pair);
    TRY(ring_plan(&pair->right, &shape, err));
    TRY(ring_plan(&pair->broken, &shape, err));
    if (bug->prepare)
        TRY(bug->prepare(&pair->right, err));
    TRY(bug_put(bug, &pair->broken, &n_changes, err));
    pair->changed = n_changes > 0;
    TRY(check_plan(&pair->broken, &pair->proof, err));
out:
    return status;
}

/* What the right plan makes of this data; it does so in every order. */
static enum status run_right(const struct museum *m, const struct pair *pair, const char *data,
                             struct result *right, struct error *err)
{
    return run_once(m, BACKEND_HOST, &pair->right, data, (struct run_options){.timed = 1}, right,
                    err);
}

/* How the broken plan's result differs from the right one's, on the same data. */
struct difference {
    int anywhere, in_first, between_ranks;
};

static enum status compare(const struct museum *m, const struct bug *bug, const struct pair *pair,
                           const char *data, struct run_options options,
                           const struct result *right, struct difference *d, struct error *err)
{
    enum status status = STATUS_OK;
    struct result broken = {NULL, 0};
    const struct plan *plan = &pair->right;
    size_t size = dtype_size(plan->dtype), bytes = (size_t)plan->count * size;
    memset(d, 0, sizeof *d);
    options.stale_uploads = bug->stale_uploads;
    TRY(run_once(m, BACKEND_HOST, &pair->broken, data, options, &broken, err));
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        const char *a = right->data + (size_t)rank * bytes, *b = broken.data + (size_t)rank * bytes;
        d->anywhere |= memcmp(a, b, bytes) != 0;
        d->in_first |= memcmp(a, b, size) != 0;
        d->between_ranks |= goal_same_everywhere(plan) && memcmp(broken.data, b, bytes) != 0;
    }
out:
    free(broken.data);
    return status;
}

/* ---- the tests that a label speaks of ---- */

struct trial {
    unsigned noticed_by; /* bits, as in struct bug */
    int place_on_two;    /* two ranks have a place for the fault */
    int n_wrong;         /* of the random schedules */
    int first_seed;
};

static enum status try_schedules(const struct museum *m, const struct bug *bug,
                                 const struct pair *pair, struct trial *f, struct error *err)
{
    enum status status = STATUS_OK;
    struct result right = {NULL, 0};
    TRY(run_right(m, pair, "index", &right, err));
    for (int seed = 0; seed < N_SEEDS; seed++) {
        const struct run_options options = {.timed = 1, .random = 1, .seed = (uint64_t)seed};
        struct difference d;
        TRY(compare(m, bug, pair, "index", options, &right, &d, err));
        if (d.anywhere && f->n_wrong++ == 0)
            f->first_seed = seed;
    }
    f->noticed_by |= (unsigned)(f->n_wrong > 0) << TEST_RANDOM;
out:
    free(right.data);
    return status;
}

static enum status try_data(const struct museum *m, const struct bug *bug, const struct pair *pair,
                            const char *data, enum test test, struct trial *f,
                            struct error *err)
{
    enum status status = STATUS_OK;
    struct result right = {NULL, 0};
    struct difference d;
    TRY(run_right(m, pair, data, &right, err));
    TRY(compare(m, bug, pair, data, (struct run_options){.timed = 1}, &right, &d, err));
    f->noticed_by |= (unsigned)d.anywhere << test;
    if (test == TEST_ONE_RUN) {
        f->noticed_by |= (unsigned)d.in_first << TEST_FIRST;
        f->noticed_by |= (unsigned)d.between_ranks << TEST_RANKS;
    }
out:
    free(right.data);
    return status;
}

static enum status try_all(const struct museum *m, const struct bug *bug, struct trial *f,
                           struct error *err)
{
    enum status status = STATUS_OK;
    struct ring_shape shape = bug->shape;
    struct pair pair = {.changed = 0}, two = {.changed = 0};
    memset(f, 0, sizeof *f);
    shape.count = shape.count > 2 * TEST_COUNT ? TEST_COUNT : shape.count;
    TRY(pair_open(&pair, bug, shape, err));
    f->noticed_by |= (unsigned)(proof_total(&pair.proof) > 0) << TEST_PROOF;
    if (!proof_can_run(&pair.proof))
        goto out;
    TRY(try_data(m, bug, &pair, "index", TEST_ONE_RUN, f, err));
    TRY(try_data(m, bug, &pair, "ones", TEST_CONSTANT, f, err));
    TRY(try_data(m, bug, &pair, "values:0", TEST_ZEROS, f, err));
    TRY(try_schedules(m, bug, &pair, f, err));
    shape.n_ranks = 2;
    TRY(pair_open(&two, bug, shape, err));
    f->place_on_two = two.changed;
    if (two.changed && proof_can_run(&two.proof))
        TRY(try_data(m, bug, &two, "index", TEST_TWO, f, err));
out:
    pair_close(&pair);
    pair_close(&two);
    return status;
}

/* ---- the catalogue ---- */

static int print_label_fault(const struct museum *m, const struct bug *bug,
                             const struct trial *f)
{
    for (int test = 0; test < N_TESTS; test++)
        if ((bug->noticed_by ^ f->noticed_by) >> test & 1)
            fprintf(m->file, "  THE LABEL OF %s IS WRONG: %s: it is %snoticed\n", bug->name,
                    tests[test].name, f->noticed_by >> test & 1 ? "" : "not ");
    return bug->noticed_by == f->noticed_by;
}

enum status museum_list(const struct museum *m, int *as_labelled, struct error *err)
{
    enum status status = STATUS_OK;
    *as_labelled = 1;
    fprintf(m->file, "%d broken rings, each tried here and now. Who notices?\n\n%-18s", n_bugs, "");
    for (int test = 0; test < N_TESTS; test++)
        fprintf(m->file, test + 1 < N_TESTS ? " %-6s" : " %s\n", tests[test].head);
    for (int i = 0; i < n_bugs; i++) {
        struct trial f;
        TRY(try_all(m, &bugs[i], &f, err));
        fprintf(m->file, "%-18s", bugs[i].name);
        for (int test = 0; test < N_TESTS; test++)
            fprintf(m->file, test + 1 < N_TESTS ? " %-6s" : " %s",
                    f.noticed_by >> test & 1 ? "yes" : "-");
        fprintf(m->file, "\n  %s\n", bugs[i].title);
        *as_labelled &= print_label_fault(m, &bugs[i], &f);
    }
    fprintf(m->file, "\nThe tests:");
    for (int test = 0; test < N_TESTS; test++)
        fprintf(m->file, "\n  %-7s %s", tests[test].head, tests[test].name);
    fprintf(m->file,
            "\nUnless said otherwise every element of every rank is compared, on data that differs "
            "by rank\nand element.  ring_demo bugs NAME shows one exhibit.\n");
out:
    return status;
}

/* ---- one exhibit ---- */

/* The judgement, and the first finding of each kind. */
static void print_proof(const struct museum *m, const struct pair *pair)
{
    char text[FINDING_TEXT_SIZE];
    const struct proof *proof = &pair->proof;
    int shown = 0;
    format_words(m->file, "proof", proof_line(&pair->broken, proof, text, sizeof text));
    for (int i = 0; i < proof->n_findings; i++)
        if (i == 0 || proof->findings[i].kind != proof->findings[i - 1].kind) {
            format_words(m->file, "", finding_text(&pair->broken, &proof->findings[i], text,
                                                  sizeof text));
            shown++;
        }
    if (proof_total(proof) > shown)
        fprintf(m->file, "            ... and %" PRId64 " more\n", proof_total(proof) - shown);
}

static void print_tests(const struct museum *m, const struct trial *f, int runs)
{
    fprintf(m->file, "\n  Would a test notice?\n");
    for (int test = 0; test < N_TESTS; test++) {
        fprintf(m->file, "    %-38s %s", tests[test].name,
                !runs && test != TEST_PROOF            ? "it cannot run"
                : test == TEST_TWO && !f->place_on_two ? "NO: there is no place for it"
                : f->noticed_by >> test & 1            ? "yes"
                                                       : "NO");
        if (test == TEST_RANDOM && f->n_wrong > 0)
            fprintf(m->file, ": %d are wrong, the first is --schedule random:%d", f->n_wrong,
                    f->first_seed);
        fputc('\n', m->file);
    }
}

static const char *backend_words(const struct museum *m)
{
    return m->backend == BACKEND_CUDA ? "on this machine's GPUs" : "on simulated GPUs";
}

/* The op that the first hazard should have waited for. */
static int64_t held_back_op(const struct pair *pair)
{
    int i = 0;
    while (i + 1 < pair->proof.n_findings && !finding_is_hazard(&pair->proof.findings[i]))
        i++;
    return pair->proof.findings[i].other;
}

/* In how many of m->runs runs the result equals `want`, an op being held back. */
static enum status count_equal(const struct museum *m, const struct plan *plan, int64_t delayed,
                               const struct result *want, int *n_equal, struct error *err)
{
    enum status status = STATUS_OK;
    struct stage stage;
    struct result got = {NULL, 0};
    const struct run_options options = {.timed = m->backend == BACKEND_HOST, .delayed = delayed,
                                        .delay_ns = HELD_BACK_NS};
    *n_equal = 0;
    TRY(stage_open(&stage, m, m->backend, plan, "index", options, err));
    for (int i = 0; i < m->runs; i++) {
        TRY(stage_run(&stage, &got, err));
        *n_equal += memcmp(got.data, want->data, (size_t)result_bytes(plan)) == 0;
    }
out:
    stage_close(&stage);
    free(got.data);
    return status;
}

/* The wrong sum, every time: the op that somebody should have waited for is held back. */
static enum status show_held_back(const struct museum *m, const struct bug *bug,
                                  const struct pair *pair, int *every_time, struct error *err)
{
    enum status status = STATUS_OK;
    struct result want = {NULL, 0};
    int n_lucky, n_right;
    char name[OP_NAME_SIZE];
    int64_t delayed = held_back_op(pair);
    TRY(run_right(m, pair, "index", &want, err));
    TRY(count_equal(m, &pair->broken, delayed, &want, &n_lucky, err));
    TRY(count_equal(m, &pair->right, delayed, &want, &n_right, err));
    fprintf(m->file,
            "\n  Held back, %s: %s starts %d us late\n"
            "    as it is                               wrong in %d of %d runs\n"
            "    with the waits restored                right in %d of %d runs\n",
            backend_words(m), op_name(&pair->broken, delayed, name), HELD_BACK_NS / 1000,
            m->runs - n_lucky, m->runs, n_right, m->runs);
    *every_time = n_lucky == 0;
    if (n_lucky > 0)
        fprintf(m->file, "  THE LABEL OF %s IS WRONG: it does not go wrong every time\n",
                bug->name);
    if (n_right < m->runs)
        status = fail(err, STATUS_WRONG, "%s: the right plan gave a wrong result", bug->name);
out:
    free(want.data);
    return status;
}

/* The median of several runs; on simulated GPUs they are all alike. */
static enum status measure(const struct museum *m, const struct plan *plan, double *us,
                           struct error *err)
{
    enum status status = STATUS_OK;
    struct result result = {NULL, 0};
    struct stage stage;
    int64_t ns[N_TIMINGS];
    int n = m->backend == BACKEND_HOST ? 1 : N_TIMINGS;
    TRY(stage_open(&stage, m, m->backend, plan, "index", (struct run_options){.timed = 1}, err));
    for (int i = 0; i < n; i++) {
        TRY(stage_run(&stage, &result, err));
        ns[i] = result.total_ns;
    }
    sort_int64(ns, n);
    *us = (double)ns[n / 2] / 1000;
out:
    stage_close(&stage);
    free(result.data);
    return status;
}

static enum status show_times(const struct museum *m, const struct pair *pair, struct error *err)
{
    enum status status = STATUS_OK;
    double right, broken;
    TRY(measure(m, &pair->right, &right, err));
    TRY(measure(m, &pair->broken, &broken, err));
    fprintf(m->file,
            "\n  Right, but slow, %s: %.1f us instead of %.1f, %.2f times as long\n",
            backend_words(m), broken, right, broken / right);
out:
    return status;
}

/* What the article prints, and what every segment really holds. */
static enum status show_article(const struct museum *m, const struct bug *bug, struct error *err)
{
    enum status status = STATUS_OK;
    static const char *const orders[] = {"as it is queued", "copy, then add"};
    struct result result = {NULL, 0};
    struct plan plan = {0};
    int n = bug->shape.n_ranks;
    fprintf(m->file,
            "\n  To compile it needs: no blank between CHECK_CUDA and its parameters; that macro's "
            "lines joined\n  by backslashes; __LINE__ and __global__ for **LINE** and **global**; "
            "two stray tags removed.\n"
            "  GPU g begins with g in every element, and 6.0 is claimed for all. %s the segments "
            "hold\n",
            m->backend == BACKEND_CUDA ? "On these GPUs" : "On simulated GPUs");
    for (int copy_first = 1; copy_first >= 0; copy_first--) {
        plan_free(&plan);
        TRY(plan_init(&plan, n, bug->shape.count, DTYPE_FLOAT32, REDOP_SUM, err));
        TRY(bug_article_plan(&plan, copy_first, err));
        TRY(run_once(m, m->backend, &plan, "rank",
                     (struct run_options){.timed = m->backend == BACKEND_HOST}, &result, err));
        for (int rank = 0; rank < n; rank++) {
            fprintf(m->file, "    %-15s GPU %d: ", rank == 0 ? orders[copy_first] : "", rank);
            for (int segment = 0; segment < n; segment++) {
                int64_t first, count;
                plan_part(0, plan.count, n, segment, &first, &count);
                const char *at = result.data + (size_t)(rank * plan.count + first) * sizeof(float);
                fprintf(m->file, "  %.1f", dtype_load(DTYPE_FLOAT32, at));
            }
            fprintf(m->file, "%s\n", rank == 0 ? "   of which it prints the first" : "");
        }
    }
out:
    plan_free(&plan);
    free(result.data);
    return status;
}

static void print_shape(const struct museum *m, const struct bug *bug, const struct pair *pair)
{
    const struct ring_shape *s = &bug->shape;
    char command[260], part[48] = "", late[OP_NAME_SIZE + 20] = "", name[OP_NAME_SIZE];
    if (s->pieces > 1)
        snprintf(part, sizeof part, " --pieces %d", s->pieces);
    if (s->slots != 2)
        snprintf(part + strlen(part), sizeof part - strlen(part), " --slots %d", s->slots);
    if (s->iterations > 1)
        snprintf(part + strlen(part), sizeof part - strlen(part), " --repeat %d", s->iterations);
    if (bug->missing_waits)
        snprintf(late, sizeof late, " --delay %s:%d",
                 op_name(&pair->broken, held_back_op(pair), name), HELD_BACK_NS / 1000);
    snprintf(command, sizeof command,
             "ring_demo --bug %s -g %d -c %" PRId64 " --init %s%s%s --trace", bug->name, s->n_ranks,
             s->count, bug->init, part, late);
    fputc('\n', m->file);
    format_words(m->file, "see it", command);
}

/* What these GPUs cannot do is said, and the rest of the exhibit is shown. */
static enum status or_say_so(const struct museum *m, enum status status, const struct error *err)
{
    if (status != STATUS_MACHINE || m->backend != BACKEND_CUDA)
        return status;
    fprintf(m->file, "\n  Cannot be shown on this machine's GPUs: %s\n",
            err ? err->text : "they refuse");
    return STATUS_OK;
}

enum status museum_show(const struct museum *m, const struct bug *bug, int *as_labelled,
                        struct error *err)
{
    enum status status = STATUS_OK;
    struct trial f;
    struct pair pair = {.changed = 0};
    int every_time = 1;
    fprintf(m->file, "%s: %s\n", bug->name, bug->title);
    format_words(m->file, "from", bug->origin);
    format_words(m->file, "believed", bug->believed);
    format_words(m->file, "happens", bug->happens);
    format_words(m->file, "cure", bug->cure);
    TRY(pair_open(&pair, bug, bug->shape, err));
    print_proof(m, &pair);
    TRY(try_all(m, bug, &f, err));
    print_tests(m, &f, proof_can_run(&pair.proof));
    if (bug->missing_waits)
        TRY(or_say_so(m, show_held_back(m, bug, &pair, &every_time, err), err));
    if (bug->noticed_by == 0)
        TRY(or_say_so(m, show_times(m, &pair, err), err));
    if (strcmp(bug->name, "article") == 0)
        TRY(or_say_so(m, show_article(m, bug, err), err));
    print_shape(m, bug, &pair);
    *as_labelled = print_label_fault(m, bug, &f) && every_time;
out:
    pair_close(&pair);
    return status;
}

/* ---- every wait, left out ---- */

/* Leaves out the i-th wait of an op; put_back() undoes it. */
static struct wait take_wait(struct plan *plan, int64_t id, int i)
{
    struct op *op = &plan->ops[id];
    struct wait *waits = plan->waits + op->first_wait, taken = waits[i];
    waits[i] = waits[--op->n_waits];
    return taken;
}

static void put_back(struct plan *plan, int64_t id, int i, struct wait taken)
{
    struct op *op = &plan->ops[id];
    struct wait *waits = plan->waits + op->first_wait;
    waits[op->n_waits++] = waits[i];
    waits[i] = taken;
}

/* The first of N_SEEDS random schedules that goes wrong, or N_SEEDS. */
static enum status first_wrong(const struct museum *m, const struct plan *plan,
                               const struct result *want, int *seed, struct error *err)
{
    enum status status = STATUS_OK;
    struct result got = {NULL, 0};
    size_t bytes = (size_t)result_bytes(plan);
    for (*seed = 0; *seed < N_SEEDS; ++*seed) {
        const struct run_options options = {.timed = 1, .random = 1, .seed = (uint64_t)*seed};
        TRY(run_once(m, BACKEND_HOST, plan, "index", options, &got, err));
        if (memcmp(got.data, want->data, bytes) != 0)
            break;
    }
out:
    free(got.data);
    return status;
}

struct tally {
    int n_waits, proven, within[3]; /* 1, 10, 100 schedules */
};

static enum status try_without(const struct museum *m, struct plan *plan, int64_t id, int i,
                               const struct result *want, struct tally *tally, struct error *err)
{
    enum status status = STATUS_OK;
    static const int limits[] = {1, 10, 100};
    char name[OP_NAME_SIZE], other[OP_NAME_SIZE], text[2 * OP_NAME_SIZE + 32];
    struct proof proof = {0};
    struct wait taken = take_wait(plan, id, i);
    int seed = 0;
    TRY(check_plan(plan, &proof, err));
    TRY(first_wrong(m, plan, want, &seed, err));
    int proven = proof_total(&proof) > 0;
    snprintf(text, sizeof text, "%s: after %s %s", op_name(plan, id, name),
             op_name(plan, taken.op, other), wait_reason_name(taken.reason));
    fprintf(m->file, "  %-48s %-6s", text, proven ? "yes" : "NO");
    for (int k = 0; k < 3; k++) {
        fprintf(m->file, k < 2 ? " %-4s" : " %s", seed < limits[k] ? "yes" : "-");
        tally->within[k] += seed < limits[k];
    }
    fputc('\n', m->file);
    tally->n_waits++;
    tally->proven += proven;
out:
    put_back(plan, id, i, taken);
    proof_free(&proof);
    return status;
}

enum status museum_waits(const struct museum *m, int n_ranks, int *all_proven, struct error *err)
{
    enum status status = STATUS_OK;
    const struct ring_shape shape = {.n_ranks = n_ranks, .count = 4 * n_ranks, .pieces = 1,
                                     .slots = 1, .iterations = 1};
    struct plan plan = {0};
    struct result want = {NULL, 0};
    struct tally tally = {0};
    TRY(ring_plan(&plan, &shape, err));
    TRY(run_once(m, BACKEND_HOST, &plan, "index", (struct run_options){.timed = 1}, &want, err));
    fprintf(m->file,
            "A ring of %d ranks, one slot, with one wait left out. Who notices?\n\n"
            "  %-48s %-6s %s\n  %-48s %-6s %-4s %-4s %s\n", n_ranks, "", "", "random schedules",
            "left out", "proof", "1", "10", "100");
    for (int64_t id = 0; id < plan.n_ops; id++)
        for (int i = 0; i < plan.ops[id].n_waits; i++)
            TRY(try_without(m, &plan, id, i, &want, &tally, err));
    fprintf(m->file, "\n  of %-45d %-6d %-4d %-4d %d\n", tally.n_waits, tally.proven,
            tally.within[0], tally.within[1], tally.within[2]);
    *all_proven = tally.proven == tally.n_waits;
out:
    plan_free(&plan);
    free(want.data);
    return status;
}
