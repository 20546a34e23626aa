/* step.c - one iteration twice: overlapped, and for comparison with its rings behind the backward
 * pass. Both move the same data and must give the same bits. */
#include "overlap/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "common/quote.h"
#include "overlap/overlap.h"
#include "overlap/timeline.h"
#include "overlap/training.h"
#include "ring/run.h"
#include "ring/show.h"
#include "ring/verify.h"

struct iteration { /* one way to run it */
    struct story story;
    struct figures *figures; /* owned, [n_ranks] */
};

struct step {
    struct settings *s;
    struct model model;
    struct buckets buckets;
    enum bucket_rule rule;
    int64_t *layer_ns;   /* owned, [n_layers] */
    int *bucket_of;      /* owned, [n_layers]: the last bucket that a layer's gradients go into */
    double *slowness;    /* owned, [n_ranks] */
    double backward_us;  /* of a rank that is not slow */
    int computes_wait;   /* some compute waits for communication */
    struct iteration overlapped, serial;
    char notice[256];    /* on simulated or shared GPUs */
    struct error *err;
};

#define MIB 1048576.0

/* ---- what is asked for ---- */

static enum status choose_rule(struct step *p)
{
    const struct settings *s = p->s;
    int explicit_cap = s->cap_mib > 0 || (!s->layers && strcmp(p->model.name, "article") == 0);
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

/* The model's buckets with this cap; in place of earlier ones. */
static enum status pack(struct step *p, double cap_mib)
{
    double first = p->s->first_mib > 0 ? p->s->first_mib : 1;
    buckets_free(&p->buckets);
    return buckets_open(&p->buckets, &p->model, (int)dtype_size(p->s->dtype), p->rule,
                        (int64_t)(first * MIB), (int64_t)(cap_mib * MIB), p->err);
}

static enum status open_model(struct step *p)
{
    enum status status = STATUS_OK;
    struct settings *s = p->s;
    if (s->network && s->layers)
        return fail(p->err, STATUS_USAGE, "--model and --layers: only one of them can give the "
                    "layers");
    if (s->dtype_given && !dtype_is_float(s->dtype))
        return fail(p->err, STATUS_USAGE, "--dtype %s: gradients are floats; float32 or float64 is "
                    "wanted", dtype_name(s->dtype));
    TRY(s->layers ? model_open_layers(&p->model, s->layers, p->err)
                  : model_open(&p->model, s->network ? s->network : "article", p->err));
    TRY(choose_rule(p));
    TRY(pack(p, s->cap_mib > 0 ? s->cap_mib : 25));
out:
    return status;
}

/* How long each layer takes; and which bucket it is drawn for. */
static enum status share_out(struct step *p)
{
    enum status status = STATUS_OK;
    const struct model *m = &p->model;
    double flop = 0;
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

/* ---- --explain ---- */

static void explain(const struct step *p)
{
    const struct buckets *b = &p->buckets;
    printf("%s: %" PRId64 " tensors in %" PRId64 " layers, %" PRId64 " elements of %s, %" PRId64
           " bytes\nrule %s, tensors in the order in which their gradients get ready: the reverse "
           "of their registration\n", p->model.name, p->model.n_tensors, p->model.n_layers,
           p->model.count, dtype_name(p->s->dtype),
           p->model.count * (int64_t)dtype_size(p->s->dtype), bucket_rule_name(p->rule));
    for (int k = 0; k < b->n; k++) {
        const struct bucket *bucket = &b->items[k];
        int64_t bytes = 0;
        const struct tensor *t = NULL;
        printf("\nbucket %d of %d in launch order (B%d in the article's count), ", k, b->n,
               b->n - 1 - k);
        if (bucket->cap)
            printf("cap %.6g MiB\n", (double)bucket->cap / MIB);
        else
            printf("no cap\n");
        for (int i = 0; i < bucket->n; i++) {
            t = &p->model.tensors[b->order[bucket->first + i]];
            bytes += t->count * (int64_t)dtype_size(p->s->dtype);
            printf("  %-44s %12" PRId64 " bytes, together %12" PRId64 "\n", t->name,
                   t->count * (int64_t)dtype_size(p->s->dtype), bytes);
        }
        if (t && bucket->cap && bytes >= bucket->cap)
            printf("  closed bucket %d after %s: %.1f >= %.1f MiB\n", k, t->name,
                   (double)bytes / MIB, (double)bucket->cap / MIB);
        else
            printf("  closed bucket %d at the end: no tensor is left (%.1f MiB)\n", k,
                   (double)bytes / MIB);
    }
}

/* ---- running ---- */

static enum status make_plan(struct step *p, struct plan *plan, int serial)
{
    const struct settings *s = p->s;
    const struct overlap_shape shape = {
        .n_ranks = s->n_ranks, .pieces = s->pieces, .slots = s->slots, .dtype = s->dtype,
        .redop = s->redop, .model = &p->model, .buckets = &p->buckets, .layer_ns = p->layer_ns,
        .slowness = p->slowness, .serial = serial,
    };
    return overlap_plan(plan, &shape, p->err);
}

/* On `backend`; with times_only nothing is verified. */
static enum status run_iteration(struct step *p, struct iteration *it, int serial,
                                 enum device_backend backend, int times_only)
{
    enum status status = STATUS_OK;
    const struct settings *s = p->s;
    struct story *story = &it->story;
    const struct run_options options = {
        .device_of = s->device_of, .timed = 1, .timeout_s = s->timeout_s, .peer_off = s->peer_off,
        .model = s->model, .random = s->random, .seed = s->seed,
        .times_only = times_only, .work = s->work,
    };
    TRY(make_plan(p, &story->plan, serial));
    TRY(check_plan(&story->plan, &story->proof, p->err));
    TRY(run_open(&story->device, backend, &story->plan, &options, p->err));
    TRY(run_plan(story->device, &story->plan, &s->data, &options, &story->timing, p->err));
    if (!times_only)
        TRY(verify(story->device, &story->plan, &s->data, &story->verdict, p->err));
    TRY(allocate((void **)&it->figures, s->n_ranks, sizeof *it->figures, "figures", p->err));
    TRY(timeline_figures(&story->plan, &story->timing, it->figures, p->err));
out:
    return status;
}

/* Gives the device's memory back and keeps the rest: two iterations need not fit side by side. */
static void leave_device(struct iteration *it)
{
    it->story.device->verbs->close(it->story.device);
    it->story.device = NULL;
}

static void free_iteration(struct iteration *it)
{
    story_free(&it->story);
    free(it->figures);
    memset(it, 0, sizeof *it);
}

/* ---- the report ---- */

static double us(int64_t ns) { return (double)ns / 1000; }

/* The rank whose backward pass ends last. */
static int slowest(const struct figures *figures, int n_ranks)
{
    int rank = 0;
    for (int r = 1; r < n_ranks; r++)
        if (figures[r].compute_end > figures[rank].compute_end)
            rank = r;
    return rank;
}

static const char *const work_words[] = {
    [WORK_WAITS] = "wait, and leave the chip empty",
    [WORK_ARITHMETIC] = "fill the chip with arithmetic, as long as this takes on an idle GPU",
    [WORK_MEMORY] = "fill the chip with reads of its memory, as long as this takes on an idle GPU",
};

static void print_head(const struct step *p)
{
    const struct settings *s = p->s;
    const struct story *story = &p->overlapped.story;
    char bytes[FORMAT_SIZE], line[320];
    printf("overlap: %s, %" PRId64 " tensors in %" PRId64 " layers, %s of %s, %s, on each of %d "
           "rank%s\n", p->model.name, p->model.n_tensors, p->model.n_layers,
           format_bytes(p->model.count * (int64_t)dtype_size(s->dtype), bytes),
           dtype_name(s->dtype), redop_name(s->redop), s->n_ranks, s->n_ranks == 1 ? "" : "s");
    if (s->times_only)
        format_words(stdout, "note", "simulated GPUs, and no data moves; times are modelled");
    else if (p->notice[0])
        format_words(stdout, "note", p->notice);
    int used = snprintf(line, sizeof line, "%d, rule %s, in launch order:", p->buckets.n,
                        bucket_rule_name(p->rule));
    for (int k = 0; k < p->buckets.n && k < 6; k++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %" PRId64,
                         p->buckets.items[k].bytes);
    snprintf(line + used, sizeof line - (size_t)used, "%s bytes", p->buckets.n > 6 ? " .." : "");
    format_words(stdout, "buckets", line);
    printf("  backward  %.1f us a rank, shared out by the model's work\n", p->backward_us);
    if (s->backward_us <= 0)
        printf("            (assumed: 4 FLOP per weight and use, 32 samples, 200 TFLOP/s)\n");
    if (s->backend == BACKEND_CUDA)
        printf("            made of kernels that %s\n", work_words[s->work]);
    if (s->slow)
        printf("  slow      rank %d computes %g times as long\n", s->slow_rank, s->slow_factor);
    if (s->slow_link)
        printf("  slow      copies between ranks %d and %d take %g times as long\n",
               s->slow_ranks[0], s->slow_ranks[1], s->slow_link_times);
    format_words(stdout, "proof", proof_line(&story->plan, &story->proof, line, sizeof line));
    printf("            no compute waits, directly or through others, for a copy or an add: %s\n",
           p->computes_wait ? "NOT SO" : "so it is");
}

static void print_ranks(const struct step *p)
{
    int shown = p->s->n_ranks < 16 ? p->s->n_ranks : 16;
    printf("\n  us        compute  communication   hidden  exposed  = tail behind its own "
           "compute\n");
    for (int rank = 0; rank < shown; rank++) {
        const struct figures *f = &p->overlapped.figures[rank];
        int64_t tail = f->last_end > f->compute_end ? f->last_end - f->compute_end : 0;
        printf("  rank %-3d %8.1f       %8.1f %8.1f %8.1f  %8.1f\n", rank, us(f->compute),
               us(f->communication), us(f->hidden), us(f->exposed), us(tail));
    }
    if (shown < p->s->n_ranks)
        printf("  ... and %d more ranks\n", p->s->n_ranks - shown);
}

/* Why what is exposed on the slowest rank is exposed. */
static void print_why(const struct step *p, int rank)
{
    const struct figures *f = &p->overlapped.figures[rank];
    int64_t end = f->compute_end;
    int waiting = 0;
    int64_t last_ready = 0;
    for (int r = 0; r < p->s->n_ranks && p->s->slow; r++)
        if (p->overlapped.figures[r].compute_end < end &&
            p->overlapped.figures[r].exposed > f->exposed)
            waiting++;
    for (int64_t id = 0; id < p->overlapped.story.plan.n_ops; id++) {
        const struct op *op = &p->overlapped.story.plan.ops[id];
        if (op->rank == rank && op->bucket != NONE && op->bucket < p->buckets.n - 1 &&
            p->overlapped.story.timing.end_ns[id] > last_ready)
            last_ready = p->overlapped.story.timing.end_ns[id];
    }
    if (f->exposed == 0)
        printf("  why       nothing is exposed\n");
    else if (last_ready <= end)
        printf("  why       the tail: bucket %d, %.1f MiB, completes with the last layer, and its "
               "ring has nothing\n            left to hide behind\n", p->buckets.n - 1,
               (double)p->buckets.items[p->buckets.n - 1].bytes / MIB);
    else
        printf("  why       communication takes longer than the backward pass: earlier buckets are "
               "still on their\n            way when the last layer is done\n");
    if (waiting)
        printf("            and %d other rank%s for rank %d: a ring goes on when its slowest rank "
               "has the bucket\n", waiting, waiting == 1 ? " waits" : "s wait", rank);
}

static void print_numbers(const struct step *p)
{
    int rank = slowest(p->overlapped.figures, p->s->n_ranks);
    const struct figures *f = &p->overlapped.figures[rank];
    double serial = us(p->serial.story.timing.total_ns);
    double overlapped = us(p->overlapped.story.timing.total_ns);
    int64_t bound = f->compute > f->communication ? f->compute : f->communication;
    printf("\n  of rank %d, whose backward pass ends last:\n", rank);
    printf("  compute              %10.1f us  its backward pass\n", us(f->compute));
    printf("  communication        %10.1f us  some bucket of it is under way\n",
           us(f->communication));
    printf("  hidden               %10.1f us  of that, while it computes: %.0f %%\n", us(f->hidden),
           f->communication ? 100.0 * (double)f->hidden / (double)f->communication : 0);
    printf("  exposed              %10.1f us  the rest, which the iteration pays for\n",
           us(f->exposed));
    printf("  first start to end   %10.1f us  first communication to the end of compute, as DDP "
           "logs it\n", us(f->compute_end > f->first_start ? f->compute_end - f->first_start
                                                                  : 0));
    print_why(p, rank);
    printf("\n  iteration, serial    %10.1f us  rings begin when the backward pass is over\n",
           serial);
    printf("  iteration, overlapped%10.1f us  %.2f times as fast\n", overlapped,
           overlapped > 0 ? serial / overlapped : 1);
    printf("  no less than         %10.1f us  the longer of compute and communication\n",
           us(bound));
}

static void print_verdicts(const struct step *p)
{
    const struct verdict *v = &p->overlapped.story.verdict;
    printf("\n");
    if (p->s->times_only) {
        printf("  values                     n/a: --times-only moves no data\n");
        return;
    }
    printf("  all ranks bit-identical    %s\n", v->n_different ? "NO" : "yes");
    printf("  value right                %s   every gradient, as the optimizer left it\n",
           v->n_wrong ? "NO" : "yes");
    printf("  hash of the result         0x%016" PRIx64 "%s\n", v->hash,
           p->serial.story.verdict.hash == v->hash ? " (overlapped and serial)"
                                             : " overlapped; serial gives ANOTHER");
}

static enum status judge(const struct step *p)
{
    const struct iteration *both[] = {&p->overlapped, &p->serial};
    for (int i = 0; i < 2; i++) {
        if (proof_total(&both[i]->story.proof))
            return fail(p->err, STATUS_WRONG, "the plan is refuted");
        if (both[i]->story.verdict.n_wrong || both[i]->story.verdict.n_different)
            return fail(p->err, STATUS_WRONG, "the result is wrong");
    }
    if (p->computes_wait)
        return fail(p->err, STATUS_WRONG, "a compute waits for communication");
    return p->overlapped.story.verdict.hash == p->serial.story.verdict.hash
               ? STATUS_OK
               : fail(p->err, STATUS_WRONG, "the overlapped run and the serial one gave different "
                      "results");
}

static void print_report(const struct step *p)
{
    const struct iteration *shown = p->s->no_overlap ? &p->serial : &p->overlapped;
    if (!p->s->quiet) {
        print_head(p);
        printf("\n%s: digits are buckets in launch order, u is the optimizer, a dot is rest\n",
               p->s->no_overlap ? "serial" : "overlapped");
        timeline_print(&shown->story.plan, &shown->story.timing, p->bucket_of, stdout);
        print_ranks(p);
        print_numbers(p);
        printf("  host waits inside the step: 0 (every op is queued before the first is waited "
               "for)\n");
    }
    print_verdicts(p);
}

/* The model says how many elements there are; an average is what DDP makes of gradients. */
static enum status settle(struct step *p)
{
    struct settings *s = p->s;
    if (s->count >= 0)
        return fail(p->err, STATUS_USAGE, "--count: overlap takes its count from the model; leave "
                    "it out");
    s->count = p->model.count;
    s->redop = s->redop_given ? s->redop : REDOP_AVG;
    return settings_settle(s, NULL, p->err);
}

static void free_step(struct step *p)
{
    free_iteration(&p->overlapped);
    free_iteration(&p->serial);
    buckets_free(&p->buckets);
    model_free(&p->model);
    free(p->layer_ns);
    free(p->bucket_of);
    free(p->slowness);
}

/* ---- --sweep-cap ---- */

#define MOST_CAPS 64

static enum status read_caps(const struct step *p, double *caps, int *n)
{
    *n = 0;
    for (const char *at = p->s->sweep;; at++) {
        char *end;
        double cap = strtod(at, &end);
        if (end == at || !(cap >= 1e-6 && cap <= 1e6) || *n == MOST_CAPS ||
            (*end != ',' && *end != '\0'))
            return fail(p->err, STATUS_USAGE,
                        "--sweep-cap %s: up to %d caps in MiB are wanted, with commas between, as "
                        "in 1,5,10,25", quote_text(p->s->sweep).text, MOST_CAPS);
        caps[(*n)++] = cap;
        at = end;
        if (*end == '\0')
            return STATUS_OK;
    }
}

/* Exposed time of the rank whose backward pass ends last, and the whole iteration, in us. */
static enum status try_cap(struct step *p, enum device_backend backend, double *exposed,
                           double *iteration)
{
    struct iteration it = {.figures = NULL};
    enum status status = run_iteration(p, &it, 0, backend, backend == BACKEND_HOST);
    if (status == STATUS_OK) {
        *exposed = us(it.figures[slowest(it.figures, p->s->n_ranks)].exposed);
        *iteration = us(it.story.timing.total_ns);
    }
    free_iteration(&it);
    return status;
}

/* One line for each cap: as the model predicts, and on GPUs as measured beside it. */
static enum status sweep(struct step *p)
{
    enum status status = STATUS_OK;
    double caps[MOST_CAPS], exposed, iteration, best = INFINITY, best_cap = 0;
    int n, measured = p->s->backend == BACKEND_CUDA;
    TRY(read_caps(p, caps, &n));
    printf("caps of buckets: %s, %d ranks, backward %.1f us\n\n"
           "                            model: %s%s\n"
           "   cap MiB  buckets    ops  exposed us  iteration us%s\n", p->model.name, p->s->n_ranks,
           p->backward_us, p->s->model.name, measured ? ", and measured beside it" : "",
           measured ? "   exposed us  iteration us" : "");
    for (int i = 0; i < n; i++) {
        struct plan plan = {0};
        TRY(pack(p, caps[i]));
        status = make_plan(p, &plan, 0);
        int64_t n_ops = plan.n_ops;
        plan_free(&plan);
        if (status != STATUS_OK)
            goto out;
        TRY(try_cap(p, BACKEND_HOST, &exposed, &iteration));
        printf("%10.6g %8d %6" PRId64 "  %10.1f  %12.1f", caps[i], p->buckets.n, n_ops, exposed,
               iteration);
        if (measured) {
            TRY(try_cap(p, BACKEND_CUDA, &exposed, &iteration));
            printf("   %10.1f  %12.1f", exposed, iteration);
        }
        printf("\n");
        if (iteration < best) {
            best = iteration;
            best_cap = caps[i];
        }
    }
    printf("\n  best: %.6g MiB, %.1f us an iteration (%s)\n", best_cap, best,
           measured ? "measured, single runs" : "modelled");
out:
    return status;
}

/* ---- the commands ---- */

enum status overlap_make_plan(struct settings *s, struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    struct step p = {.s = s, .err = err};
    TRY(open_model(&p));
    TRY(settle(&p));
    TRY(share_out(&p));
    TRY(make_plan(&p, plan, s->no_overlap));
out:
    free_step(&p);
    return status;
}

/* The trace of one of the two. */
static enum status show_iteration(struct step *p, struct iteration *it)
{
    enum status status = STATUS_OK;
    struct scene_training training = {.n_layers = 0};
    char slow[64] = "";
    TRY(training_open(&training, &p->model, &p->buckets, it->figures, p->s->n_ranks, p->err));
    training.overlapped = it == &p->overlapped;
    if (p->s->slow)
        snprintf(slow, sizeof slow, "rank %d computes %g times as long", p->s->slow_rank,
                 p->s->slow_factor);
    training.slow = slow;
    it->story.training = &training;
    TRY(show(p->s, &it->story, p->err));
out:
    training_free(&training);
    return status;
}

enum status overlap_step(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct step p = {.s = s, .err = err};
    int64_t waiting;
    TRY(open_model(&p));
    if (s->explain) {
        explain(&p);
        goto out;
    }
    if (s->trace == TRACE_TEXT || (s->trace != TRACE_NONE && s->sweep) ||
        (s->trace == TRACE_NONE && s->trace_file))
        TRY(fail(err, STATUS_USAGE, "--trace: overlap has a picture of its own; --trace=json, "
                 "perfetto and html are offered, of one run"));
    TRY(settle(&p));
    if (s->times_only && s->backend != BACKEND_HOST)
        TRY(fail(err, STATUS_USAGE, "--times-only is for --backend host"));
    TRY(share_out(&p));
    if (s->sweep) {
        TRY(sweep(&p));
        goto out;
    }
    struct iteration *shown = s->no_overlap ? &p.serial : &p.overlapped;
    struct iteration *other = s->no_overlap ? &p.overlapped : &p.serial;
    TRY(run_iteration(&p, other, other == &p.serial, s->backend, s->times_only));
    leave_device(other);
    TRY(run_iteration(&p, shown, shown == &p.serial, s->backend, s->times_only));
    TRY(overlap_compute_waits(&p.overlapped.story.plan, &waiting, err));
    p.computes_wait = waiting != NONE;
    show_notice(s, &shown->story.device->facts, p.notice, sizeof p.notice);
    if (s->trace != TRACE_NONE)
        TRY(show_iteration(&p, shown));
    if (s->trace == TRACE_NONE || s->trace_file)
        print_report(&p);
    TRY(judge(&p));
out:
    free_step(&p);
    return status;
}
