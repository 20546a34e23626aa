/* step.c - one iteration twice: overlapped, and for comparison with its rings behind the backward
 * pass. Both move the same data and must give the same bits. */
#include "overlap/step_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"
#include "common/nccl.h"
#include "common/output.h"
#include "common/quote.h"
#include "overlap/training.h"
#include "ring/run.h"
#include "ring/sampled.h"
#include "ring/verify.h"

/* ---- what is asked for ---- */

static enum status choose_rule(struct step *p)
{
    const struct settings *s = p->s;
    int explicit_cap = s->cap_mib > 0 || s->sweep ||
                       (!s->layers && strcmp(p->model.name, "article") == 0);
    p->rule = explicit_cap && s->first_mib == 0 ? BUCKETS_EXPLICIT : BUCKETS_PYTORCH;
    if (!s->bucket_rule)
        return STATUS_OK;
    for (int rule = 0; rule < N_BUCKET_RULES; rule++)
        if (strcmp(s->bucket_rule, bucket_rule_name((enum bucket_rule)rule)) == 0) {
            p->rule = (enum bucket_rule)rule;
            return STATUS_OK;
        }
    return fail(p->err, STATUS_USAGE, "--bucket-rule %s: pytorch, pytorch-explicit or one is "
                "wanted", quote_text(s->bucket_rule).text);
}

enum status step_pack(struct step *p, double cap_mib)
{
    double first = p->s->first_mib > 0 ? p->s->first_mib : 1;
    buckets_free(&p->buckets);
    return buckets_open(&p->buckets, &p->model, (int)dtype_size(p->s->dtype), p->rule,
                        (int64_t)(first * STEP_MIB), (int64_t)(cap_mib * STEP_MIB), p->err);
}

/* The tensor of --never-ready. */
static enum status find_never_ready(struct step *p)
{
    const char *name = p->s->never_ready;
    for (int64_t i = 0; name && i < p->model.n_tensors; i++)
        if (strcmp(p->model.tensors[i].name, name) == 0)
            p->never_ready = &p->model.tensors[i];
    return !name || p->never_ready
               ? STATUS_OK
               : fail(p->err, STATUS_USAGE, "--never-ready '%s': %s has no tensor of this name; "
                      "--explain lists them, %s for one", quote_text(name).text, p->model.name,
                      p->model.tensors[0].name);
}

/* Pairs of options of which one would be ignored. */
static enum status refuse_pairs(const struct settings *s, enum bucket_rule rule,
                                struct error *err)
{
    const int one = rule == BUCKETS_ONE, equal = rule == BUCKETS_EXPLICIT;
    const int nccl = s->engine == ENGINE_NCCL, kernel = s->engine == ENGINE_KERNEL;
    const struct { int given; const char *sentence; } pairs[] = {
        {one && s->cap_mib > 0, "--bucket-cap-mb: rule one has no cap"},
        {one && s->sweep, "--sweep-cap: rule one has no cap"},
        {s->times_only && s->init, "--init: --times-only moves no data"},
        {(one || equal) && s->first_mib > 0, "--first-bucket-mb: only rule pytorch has a cap of "
                                             "its own for the first bucket"},
        {s->no_overlap && s->never_ready, "--no-overlap with --never-ready: no ring begins before "
                                          "all is computed, and that never is"},
        {nccl && s->quiz, "--quiz with --engine nccl: a quiz asks about ops, and NCCL has none to "
                          "show"},
        {nccl && s->trace != TRACE_NONE, "--trace with --engine nccl: a trace lists ops, and NCCL "
                                         "has none to show"},
        {nccl && s->sweep, "--sweep-cap with --engine nccl: the model beside it is the ring's"},
        {kernel && s->sweep, "--sweep-cap with --engine kernel: the model beside it queues ops"},
        {nccl && s->pieces > 0, "--pieces with --engine nccl: NCCL cuts segments as it likes"},
        {nccl && s->slots > 0, "--slots with --engine nccl: NCCL has no inbox of ours"},
        {nccl && s->peer_off, "--p2p off with --engine nccl: NCCL chooses its own paths, unless "
                              "NCCL_P2P_DISABLE=1 is in the environment"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].given)
            return fail(err, STATUS_USAGE, "%s; leave one out", pairs[i].sentence);
    return s->n_seeds ? fail(err, STATUS_USAGE, "--schedule search: overlap runs one schedule; "
                             "model or random:SEED is wanted")
                      : STATUS_OK;
}

enum status step_open(struct step *p)
{
    enum status status = STATUS_OK;
    struct settings *s = p->s;
    if (s->network && s->layers)
        return fail(p->err, STATUS_USAGE, "--model and --layers: only one of them can give the "
                    "layers");
    if (s->dtype_given && !dtype_is_float(s->dtype))
        return fail(p->err, STATUS_USAGE, "--dtype %s: gradients are floats; float32, float64, "
                    "float16 or bfloat16 is wanted", dtype_name(s->dtype));
    TRY(s->layers ? model_open_layers(&p->model, s->layers, p->err)
                  : model_open(&p->model, s->network ? s->network : "article", p->err));
    p->automatic = s->engine == ENGINE_AUTO;
    s->engine = p->automatic ? ENGINE_EAGER : s->engine;
    TRY(choose_rule(p));
    TRY(refuse_pairs(s, p->rule, p->err));
    TRY(step_pack(p, s->cap_mib > 0 ? s->cap_mib : 25));
    TRY(find_never_ready(p));
out:
    return status;
}

static void free_shares(struct step *p)
{
    free(p->layer_ns);
    free(p->bucket_of);
    free(p->slowness);
    p->layer_ns = NULL;
    p->bucket_of = NULL;
    p->slowness = NULL;
}

/* How long each layer takes; and which bucket it is drawn for. */
enum status step_share_out(struct step *p)
{
    enum status status = STATUS_OK;
    const struct model *m = &p->model;
    double flop = 0;
    free_shares(p);
    TRY(allocate((void **)&p->layer_ns, m->n_layers, sizeof *p->layer_ns, "the model", p->err));
    TRY(allocate((void **)&p->bucket_of, m->n_layers, sizeof *p->bucket_of, "the model", p->err));
    TRY(allocate((void **)&p->slowness, p->s->n_ranks, sizeof *p->slowness, "the model", p->err));
    for (int64_t i = 0; i < m->n_layers; i++)
        flop += m->layers[i].flop;
    p->backward_us = p->s->backward_us > 0 ? p->s->backward_us
                                           : flop * STEP_BATCH / STEP_FLOPS * 1e6;
    for (int64_t i = 0; i < m->n_layers; i++)
        p->layer_ns[i] = flop > 0 ? llround(p->backward_us * 1e3 * m->layers[i].flop / flop) : 0;
    for (int k = 0; k < p->buckets.n; k++)
        for (int i = 0; i < p->buckets.items[k].n; i++)
            p->bucket_of[m->tensors[p->buckets.order[p->buckets.items[k].first + i]].layer] = k;
    for (int rank = 0; rank < p->s->n_ranks; rank++)
        p->slowness[rank] = p->s->slow && p->s->slow_rank == rank ? p->s->slow_factor : 1;
    if (p->s->slow && p->s->slow_rank >= p->s->n_ranks)
        TRY(fail(p->err, STATUS_USAGE, "--slow %s: there are ranks 0 to %d",
                 quote_text(p->s->slow).text, p->s->n_ranks - 1));
out:
    return status;
}

/* ---- running ---- */

/* Where a plan is too much to plan or to prove, its many buckets are what can be changed. */
static enum status name_buckets(const struct step *p, enum status status)
{
    const struct error cause = *p->err;
    return status == STATUS_MACHINE && interrupt_seen(NULL) == STATUS_OK
               ? fail(p->err, status, "%s (%d buckets of %d ranks: a larger cap makes fewer)",
                      cause.text, p->buckets.n, p->s->n_ranks)
               : status;
}

static enum status make_plan(const struct step *p, struct plan *plan, int serial, int calls)
{
    const struct settings *s = p->s;
    const struct overlap_shape shape = {
        .n_ranks = s->n_ranks, .pieces = s->pieces, .slots = s->slots, .dtype = s->dtype,
        .redop = s->redop, .model = &p->model, .buckets = &p->buckets, .layer_ns = p->layer_ns,
        .slowness = p->slowness, .never_ready = p->never_ready, .serial = serial,
        .calls = calls,
    };
    return name_buckets(p, overlap_plan(plan, &shape, p->err));
}

enum status step_plan(const struct step *p, struct plan *plan, int serial)
{
    return make_plan(p, plan, serial, p->s->engine == ENGINE_NCCL);
}

int step_refuted(const struct step *p, const struct proof *proof)
{
    int64_t sums = proof->counts[FINDING_SUM] + proof->counts[FINDING_SCALE];
    return proof_total(proof) > (p->s->engine == ENGINE_NCCL ? sums : 0);
}

int step_exact(const struct step *p)
{
    const struct settings *s = p->s;
    const int is_default = !s->init || strcmp(s->init, "index") == 0;
    return s->engine != ENGINE_NCCL ||
           nccl_is_exact(s->n_ranks, s->dtype, s->redop, is_default);
}

enum status step_open_calls(struct step *p, struct error *err)
{
    enum status status = STATUS_OK;
    const struct settings *s = p->s;
    if (s->backend == BACKEND_HOST)
        return fail(err, STATUS_MACHINE, "NCCL runs on GPUs, and these are simulated");
    TRY(calls_open(&p->calls, s->n_ranks, s->device_of, s->timeout_s, err));
    p->calls->dtype = s->dtype;
    p->calls->redop = s->redop;
out:
    return status;
}

/* Whatever made them, the results are those of the ring's additions. */
static enum status verify_iteration(const struct step *p, struct iteration *it, int serial)
{
    enum status status = STATUS_OK;
    struct plan ring = {0};
    if (p->s->engine != ENGINE_NCCL)
        return verify(it->story.device, &it->story.plan, &p->s->data, &it->story.verdict, p->err);
    TRY(make_plan(p, &ring, serial, 0));
    TRY(verify(it->story.device, &ring, &p->s->data, &it->story.verdict, p->err));
    if (!step_exact(p))
        it->story.verdict.n_wrong = 0;
out:
    plan_free(&ring);
    return status;
}

enum status step_run(const struct step *p, struct iteration *it, int serial,
                     enum device_backend backend, int times_only)
{
    enum status status = STATUS_OK;
    const struct settings *s = p->s;
    struct story *story = &it->story;
    const struct run_options options = {
        .engine = s->engine, .device_of = s->device_of, .timed = 1, .runs = STEP_RUNS,
        .computed = times_only || !p->never_ready,
        .timeout_s = s->timeout_s, .peer_off = s->peer_off, .model = s->model,
        .random = s->random, .seed = s->seed, .times_only = times_only, .work = s->work,
        .calls = s->engine == ENGINE_NCCL ? &p->calls->run : NULL,
        .words = {.n_buckets = p->buckets.n},
    };
    story->seed = s->seed;
    story->engine = s->engine;
    TRY(step_plan(p, &story->plan, serial));
    TRY(name_buckets(p, check_plan(&story->plan, &story->proof, p->err)));
    TRY(run_open(&story->device, backend, &story->plan, &options, p->err));
    TRY(run_plan(story->device, &story->plan, &s->data, &options, &story->timing, p->err));
    if (!times_only && !p->never_ready)
        TRY(verify_iteration(p, it, serial));
    TRY(allocate((void **)&it->figures, s->n_ranks, sizeof *it->figures, "figures", p->err));
    TRY(figures_find(&story->plan, &p->buckets, &story->timing, it->figures, p->err));
out:
    if (status == STATUS_MACHINE && options.calls) /* what was queued may be stuck */
        p->calls->nccl->verbs->abandon(p->calls->nccl);
    return status;
}

enum status step_time(const struct step *p, int moving, struct spread *spread)
{
    enum status status = STATUS_OK;
    const struct settings *s = p->s;
    struct plan plan = {0};
    struct proof proof = {0};
    struct sampled sampled = {.plan = &plan, .engine = s->engine, .work = s->work,
                              .calls = s->engine == ENGINE_NCCL ? &p->calls->run : NULL};
    TRY(step_plan(p, &plan, 0));
    TRY(name_buckets(p, check_plan(&plan, &proof, p->err)));
    if (step_refuted(p, &proof))
        TRY(fail(p->err, STATUS_WRONG, "the plan of engine %s is refuted", engine_name(s->engine)));
    TRY(sample_plans(s, &sampled, 1, moving, p->err));
    *spread = sampled.done;
out:
    if (status == STATUS_MACHINE && sampled.calls) /* what was queued may be stuck */
        p->calls->nccl->verbs->abandon(p->calls->nccl);
    proof_free(&proof);
    plan_free(&plan);
    return status;
}

/* Gives the device's memory back and keeps the rest: two iterations need not fit side by side. */
static void leave_device(struct iteration *it)
{
    it->story.device->verbs->close(it->story.device);
    it->story.device = NULL;
}

void step_free_iteration(struct iteration *it)
{
    story_free(&it->story);
    free(it->figures);
    memset(it, 0, sizeof *it);
}

static enum status judge(const struct step *p)
{
    const struct iteration *both[] = {&p->overlapped, &p->serial};
    if (p->never_ready)
        return fail(p->err, STATUS_WRONG, "%s never becomes ready: the iteration cannot end",
                    p->never_ready->name);
    for (int i = 0; i < 2; i++) {
        if (step_refuted(p, &both[i]->story.proof))
            return fail(p->err, STATUS_WRONG, "the plan is refuted");
        if (both[i]->story.verdict.n_wrong || both[i]->story.verdict.n_different)
            return fail(p->err, STATUS_WRONG, "the result is wrong");
    }
    if (p->computes_wait)
        return fail(p->err, STATUS_WRONG, "a compute waits for communication");
    return !step_exact(p) || p->overlapped.story.verdict.hash == p->serial.story.verdict.hash
               ? STATUS_OK
               : fail(p->err, STATUS_WRONG, "the overlapped run and the serial one gave different "
                      "results");
}

/* The model says how many elements there are; an average is what DDP makes of gradients. */
enum status step_settle(struct step *p)
{
    struct settings *s = p->s;
    if (s->count >= 0)
        return fail(p->err, STATUS_USAGE, "--count: overlap takes its count from the model; leave "
                    "it out");
    s->count = p->model.count;
    s->redop = s->redop_given ? s->redop : REDOP_AVG;
    return settings_settle(s, NULL, p->err);
}

void step_free(struct step *p)
{
    step_free_iteration(&p->overlapped);
    step_free_iteration(&p->serial);
    buckets_free(&p->buckets);
    model_free(&p->model);
    calls_close(p->calls);
    free_shares(p);
}

/* ---- the commands ---- */

enum status overlap_make_plan(struct settings *s, struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    struct step p = {.s = s, .out = stdout, .err = err};
    TRY(step_open(&p));
    TRY(step_settle(&p));
    TRY(step_share_out(&p));
    TRY(step_plan(&p, plan, s->no_overlap));
out:
    step_free(&p);
    return status;
}

enum status overlap_time(struct settings *s, int moving, struct spread *spread,
                         struct error *err)
{
    enum status status = STATUS_OK;
    struct step p = {.s = s, .out = stdout, .err = err};
    TRY(step_open(&p));
    TRY(step_settle(&p));
    TRY(step_share_out(&p));
    TRY(step_time(&p, moving, spread));
out:
    step_free(&p);
    return status;
}

/* The report to standard output; with --trace, every op with it, there or in --trace-file. */
static enum status tell(struct step *p)
{
    enum status status = STATUS_OK;
    struct output output = {.path = NULL};
    const char *path = p->s->trace_file;
    if (path) {
        TRY(output_begin(&output, path, p->err));
        p->out = output.file;
        TRY(step_report(p, 1));
        TRY(output_end(&output, p->err));
        p->out = stdout;
    }
    TRY(step_report(p, p->s->trace == TRACE_TEXT && !path));
out:
    output_discard(&output);
    return status;
}

/* The trace of one of the two, for programs to read; where it goes to a file, the report, too. */
static enum status show_iteration(struct step *p, struct iteration *it)
{
    enum status status = STATUS_OK;
    struct scene_training training = {.n_layers = 0};
    char slow[STEP_SLOW_SIZE];
    TRY(training_open(&training, &p->model, &p->buckets, it->figures, p->s->n_ranks, p->err));
    training.overlapped = it == &p->overlapped;
    training.slow = step_slow(p, slow);
    training.never_ready = p->never_ready ? p->never_ready->name : NULL;
    it->story.training = &training;
    TRY(show(p->s, &it->story, p->err));
    if (p->s->trace_file)
        TRY(step_report(p, 0));
out:
    training_free(&training);
    return status;
}

enum status overlap_step(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct step p = {.s = s, .out = stdout, .err = err};
    struct error why = {""};
    int64_t waiting;
    TRY(step_open(&p));
    if (s->explain) {
        step_explain(&p);
        goto out;
    }
    TRY(step_settle(&p));
    if (s->times_only && s->backend != BACKEND_HOST)
        TRY(fail(err, STATUS_USAGE, "--times-only is for --backend host"));
    TRY(step_share_out(&p));
    if (s->engine == ENGINE_NCCL && step_open_calls(&p, &why) != STATUS_OK)
        TRY(fail(err, STATUS_MACHINE, "--engine nccl: %s", why.text));
    if (s->sweep) {
        TRY(step_sweep(&p));
        goto out;
    }
    struct iteration *shown = s->no_overlap ? &p.serial : &p.overlapped;
    struct iteration *other = s->no_overlap ? &p.overlapped : &p.serial;
    TRY(step_run(&p, other, other == &p.serial, s->backend, s->times_only));
    leave_device(other);
    TRY(step_run(&p, shown, shown == &p.serial, s->backend, s->times_only));
    TRY(overlap_compute_waits(&p.overlapped.story.plan, &waiting, err));
    p.computes_wait = waiting != NONE;
    show_notice(s, &shown->story.device->facts, p.notice, sizeof p.notice);
    TRY(s->quiz ? step_quiz(&p, shown)
        : s->trace == TRACE_NONE || s->trace == TRACE_TEXT ? tell(&p) : show_iteration(&p, shown));
    TRY(judge(&p));
out:
    step_free(&p);
    return status;
}
