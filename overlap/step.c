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
#include "ring/check.h"
#include "ring/run.h"
#include "ring/verify.h"

struct iteration { /* one way to run it */
    struct plan plan;
    struct proof proof;
    struct timing timing;
    struct verdict verdict;
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
    double cap = s->cap_mib > 0 ? s->cap_mib : 25, first = s->first_mib > 0 ? s->first_mib : 1;
    TRY(buckets_open(&p->buckets, &p->model, (int)dtype_size(s->dtype), p->rule,
                     (int64_t)(first * MIB), (int64_t)(cap * MIB), p->err));
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

static enum status run_iteration(struct step *p, struct iteration *it, int serial)
{
    enum status status = STATUS_OK;
    const struct settings *s = p->s;
    struct device *device = NULL;
    const struct overlap_shape shape = {
        .n_ranks = s->n_ranks, .pieces = s->pieces, .slots = s->slots, .dtype = s->dtype,
        .redop = s->redop, .model = &p->model, .buckets = &p->buckets, .layer_ns = p->layer_ns,
        .slowness = p->slowness, .serial = serial,
    };
    const struct run_options options = {
        .device_of = s->device_of, .timed = 1, .timeout_s = s->timeout_s, .peer_off = s->peer_off,
        .model = s->model, .random = s->random, .seed = s->seed,
        .times_only = s->times_only,
    };
    TRY(overlap_plan(&it->plan, &shape, p->err));
    TRY(check_plan(&it->plan, &it->proof, p->err));
    TRY(run_open(&device, s->backend, &it->plan, &options, p->err));
    TRY(run_plan(device, &it->plan, &s->data, &options, &it->timing, p->err));
    if (!s->times_only)
        TRY(verify(device, &it->plan, &s->data, &it->verdict, p->err));
    TRY(allocate((void **)&it->figures, s->n_ranks, sizeof *it->figures, "figures", p->err));
    TRY(timeline_figures(&it->plan, &it->timing, it->figures, p->err));
out:
    if (device)
        device->verbs->close(device);
    return status;
}

static void free_iteration(struct iteration *it)
{
    plan_free(&it->plan);
    proof_free(&it->proof);
    timing_free(&it->timing);
    free(it->figures);
}

/* ---- the report ---- */

static double us(int64_t ns) { return (double)ns / 1000; }

/* The rank whose backward pass ends last. */
static int slowest(const struct step *p)
{
    int rank = 0;
    for (int r = 1; r < p->s->n_ranks; r++)
        if (p->overlapped.figures[r].compute_end > p->overlapped.figures[rank].compute_end)
            rank = r;
    return rank;
}

static void print_head(const struct step *p)
{
    const struct settings *s = p->s;
    char bytes[FORMAT_SIZE], line[256];
    printf("overlap: %s, %" PRId64 " tensors in %" PRId64 " layers, %s of %s, %s, on each of %d "
           "rank%s\n", p->model.name, p->model.n_tensors, p->model.n_layers,
           format_bytes(p->model.count * (int64_t)dtype_size(s->dtype), bytes),
           dtype_name(s->dtype), redop_name(s->redop), s->n_ranks, s->n_ranks == 1 ? "" : "s");
    if (s->backend == BACKEND_HOST)
        printf("  note      no GPU is used, but simulated ones: %s, times are modelled\n",
               s->times_only ? "no data moves" : "real data moves");
    printf("  buckets   %d, rule %s, in launch order:", p->buckets.n, bucket_rule_name(p->rule));
    for (int k = 0; k < p->buckets.n && k < 6; k++)
        printf(" %" PRId64, p->buckets.items[k].bytes);
    printf("%s bytes\n", p->buckets.n > 6 ? " .." : "");
    printf("  backward  %.1f us a rank, shared out by the model's work\n", p->backward_us);
    if (s->backward_us <= 0)
        printf("            (assumed: 4 FLOP per weight and use, 32 samples, 200 TFLOP/s)\n");
    if (s->backend == BACKEND_CUDA)
        printf("            computes only pass the time: a kernel that waits and leaves the chip "
               "empty\n");
    if (s->slow)
        printf("  slow      rank %d computes %g times as long\n", s->slow_rank, s->slow_factor);
    printf("  proof     %s\n", proof_line(&p->overlapped.plan, &p->overlapped.proof, line,
                                          sizeof line));
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
    for (int64_t id = 0; id < p->overlapped.plan.n_ops; id++) {
        const struct op *op = &p->overlapped.plan.ops[id];
        if (op->rank == rank && op->bucket != NONE && op->bucket < p->buckets.n - 1 &&
            p->overlapped.timing.end_ns[id] > last_ready)
            last_ready = p->overlapped.timing.end_ns[id];
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
    int rank = slowest(p);
    const struct figures *f = &p->overlapped.figures[rank];
    double serial = us(p->serial.timing.total_ns), overlapped = us(p->overlapped.timing.total_ns);
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
    const struct verdict *v = &p->overlapped.verdict;
    printf("\n");
    if (p->s->times_only) {
        printf("  values                     n/a: --times-only moves no data\n");
        return;
    }
    printf("  all ranks bit-identical    %s\n", v->n_different ? "NO" : "yes");
    printf("  value right                %s   every gradient, as the optimizer left it\n",
           v->n_wrong ? "NO" : "yes");
    printf("  hash of the result         0x%016" PRIx64 "%s\n", v->hash,
           p->serial.verdict.hash == v->hash ? " (overlapped and serial)"
                                             : " overlapped; serial gives ANOTHER");
}

static enum status judge(const struct step *p)
{
    const struct iteration *both[] = {&p->overlapped, &p->serial};
    for (int i = 0; i < 2; i++) {
        if (proof_total(&both[i]->proof))
            return fail(p->err, STATUS_WRONG, "the plan is refuted");
        if (both[i]->verdict.n_wrong || both[i]->verdict.n_different)
            return fail(p->err, STATUS_WRONG, "the result is wrong");
    }
    if (p->computes_wait)
        return fail(p->err, STATUS_WRONG, "a compute waits for communication");
    return p->overlapped.verdict.hash == p->serial.verdict.hash
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
        timeline_print(&shown->plan, &shown->timing, p->bucket_of, stdout);
        print_ranks(p);
        print_numbers(p);
        printf("  host waits inside the step: 0 (every op is queued before the first is waited "
               "for)\n");
    }
    print_verdicts(p);
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
    if (s->count >= 0 || s->repeat > 1)
        TRY(fail(err, STATUS_USAGE, "overlap takes its count from the model"));
    s->count = p.model.count;
    s->redop = s->redop_given ? s->redop : REDOP_AVG;
    TRY(settings_settle(s, NULL, err));
    if (s->times_only && s->backend != BACKEND_HOST)
        TRY(fail(err, STATUS_USAGE, "--times-only is for --backend host"));
    TRY(share_out(&p));
    TRY(run_iteration(&p, &p.overlapped, 0));
    TRY(run_iteration(&p, &p.serial, 1));
    TRY(overlap_compute_waits(&p.overlapped.plan, &waiting, err));
    p.computes_wait = waiting != NONE;
    print_report(&p);
    TRY(judge(&p));
out:
    free_iteration(&p.overlapped);
    free_iteration(&p.serial);
    buckets_free(&p.buckets);
    model_free(&p.model);
    free(p.layer_ns);
    free(p.bucket_of);
    free(p.slowness);
    return status;
}
