/* report.c - both iterations in words: what is in which bucket, the head, the picture, the numbers
 * side by side, and why what is exposed is exposed. */
#include "overlap/step_parts.h"

#include <inttypes.h>
#include <string.h>

#include "common/format.h"
#include "overlap/timeline.h"
#include "ring/trace_text.h"

/* ---- head ---- */

const char *step_slow(const struct step *p, char buffer[STEP_SLOW_SIZE])
{
    buffer[0] = '\0';
    if (p->s->slow)
        snprintf(buffer, STEP_SLOW_SIZE, "rank %d computes %g times as long", p->s->slow_rank,
                 p->s->slow_factor);
    return buffer;
}

/* What waits for a gradient that never comes. */
static void print_never(const struct step *p)
{
    const struct tensor *t = p->never_ready;
    int k = buckets_find(&p->buckets, &p->model, t), last = p->buckets.n - 1;
    char line[512], later[64] = "";
    if (k + 1 < last)
        snprintf(later, sizeof later, "; buckets %d %s %d wait for it", k + 1,
                 k + 2 < last ? "to" : "and", last);
    else if (k < last)
        snprintf(later, sizeof later, "; bucket %d waits for it", last);
    snprintf(line, sizeof line,
             "%s never becomes ready on any rank; bucket %d (%d tensor%s, %.1f MiB) waits for it%s"
             "%s, and the optimizer for all. The iteration never ends", t->name, k,
             p->buckets.items[k].n, p->buckets.items[k].n == 1 ? "" : "s",
             step_mib(p->buckets.items[k].bytes), later,
             later[0] ? ", since buckets are launched in order" : "");
    format_words(p->out, "stuck", line);
}

static const char *const work_words[] = {
    [WORK_WAITS] = "made of kernels that wait, and leave the chip empty",
    [WORK_ARITHMETIC] = "made of kernels that fill the chip with arithmetic, as long as this takes "
                        "on an idle GPU",
    [WORK_MEMORY] = "made of kernels that fill the chip with reads of its memory, as long as this "
                    "takes on an idle GPU",
};

/* How long the backward pass takes, what it is made of, and who is slower. */
static void print_backward(const struct step *p)
{
    const struct settings *s = p->s;
    char slow[STEP_SLOW_SIZE], how[SHOW_ENGINE_SIZE], line[400];
    int64_t largest = 0;
    fprintf(p->out, "  backward  %.1f us a rank, shared out by the model's work\n", p->backward_us);
    if (s->backward_us <= 0)
        fprintf(p->out, "            (assumed: 4 FLOP per weight and use, 32 samples, 200 "
                        "TFLOP/s)\n");
    if (s->backend == BACKEND_CUDA) {
        format_words(p->out, "", work_words[s->work]);
        fprintf(p->out, "  times     CUDA events, in us; of %d runs that of the median time\n",
                STEP_RUNS);
    } else if (!s->random)
        fprintf(p->out, "            (a kernel takes at least %g us%s)\n",
                step_us(s->model.kernel_latency_ns), s->slow ? ", on the slow rank, too" : "");
    if (s->link_file && !s->random)
        fprintf(p->out, "  link      %s: %.4g us + bytes / %.6g GB/s\n", s->model.name,
                step_us(s->model.link_latency_ns), s->model.link_GBps);
    for (int i = 0; i < p->buckets.n; i++)
        largest = p->buckets.items[i].bytes > largest ? p->buckets.items[i].bytes : largest;
    if (p->calls)
        snprintf(line, sizeof line, "nccl (NCCL %s: one ncclAllReduce a bucket and rank, on the "
                 "send lane)", p->calls->nccl->version);
    else
        snprintf(line, sizeof line, "%s (%s%s)", engine_name(s->engine),
                 show_engine(s->engine, s->backend == BACKEND_HOST, 0, largest, s->n_ranks, how),
                 p->automatic ? "; auto takes it: copy engines leave the processors to the "
                                "backward pass" : "");
    format_words(p->out, "engine", line);
    if (s->random)
        fprintf(p->out, "  times     none: a random schedule, seed %" PRIu64 "; each choice counts "
                "as 1 us\n", s->seed);
    if (s->slow)
        fprintf(p->out, "  slow      %s\n", step_slow(p, slow));
    if (s->slow_link)
        fprintf(p->out, "  slow      copies between ranks %d and %d take %g times as long\n",
                s->slow_ranks[0], s->slow_ranks[1], s->slow_link_times);
}

/* Of a plan of calls only the order can be proven. */
static void print_proof(const struct step *p)
{
    const struct story *story = &p->overlapped.story;
    char line[320];
    if (p->calls && !step_refuted(p, &story->proof))
        snprintf(line, sizeof line, "%" PRId64 " ops and calls: no two of them collide, where a "
                 "call reads and writes the rank's part of its bucket. What NCCL does within a "
                 "call is not proven", story->plan.n_ops);
    else
        proof_line(&story->plan, &story->proof, line, sizeof line);
    format_words(p->out, "proof", line);
}

static void print_head(const struct step *p)
{
    const struct settings *s = p->s;
    char bytes[FORMAT_SIZE], line[320];
    fprintf(p->out, "overlap: %s,%s%" PRId64 " tensor%s in %" PRId64 " layer%s, %s of %s, %s, on "
            "each of %d rank%s\n", p->model.name, step_break(p), p->model.n_tensors,
            p->model.n_tensors == 1 ? "" : "s", p->model.n_layers,
            p->model.n_layers == 1 ? "" : "s",
            format_bytes(p->model.count * (int64_t)dtype_size(s->dtype), bytes),
            dtype_name(s->dtype), redop_name(s->redop), s->n_ranks, s->n_ranks == 1 ? "" : "s");
    if (s->times_only)
        format_words(p->out, "note", "simulated GPUs, and no data moves; times are modelled");
    else if (p->notice[0])
        format_words(p->out, "note", p->notice);
    int used = snprintf(line, sizeof line, "%d, rule %s, in launch order:", p->buckets.n,
                        bucket_rule_name(p->rule));
    for (int k = 0; k < p->buckets.n && k < 6; k++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %" PRId64,
                         p->buckets.items[k].bytes);
    snprintf(line + used, sizeof line - (size_t)used, "%s bytes", p->buckets.n > 6 ? " .." : "");
    format_words(p->out, "buckets", line);
    print_backward(p);
    if (p->never_ready)
        print_never(p);
    print_proof(p);
    if (p->never_ready)
        fprintf(p->out, "            (of the buckets that stay: no rank gets the others' "
                        "gradients)\n");
    fprintf(p->out, "            no compute waits, directly or through others, for a %s: %s\n",
            p->calls ? "call" : "copy or an add", p->computes_wait ? "NOT SO" : "so it is");
}

/* ---- numbers ---- */

static void print_ranks(const struct step *p)
{
    int shown = p->s->n_ranks < 16 ? p->s->n_ranks : 16;
    if (p->s->no_overlap)
        fprintf(p->out, "\n  and overlapped:");
    fprintf(p->out, "\n  us        compute  communication = hidden + exposed  exposed = slow rank "
            "+ order + tail\n");
    for (int rank = 0; rank < shown; rank++) {
        const struct figures *f = &p->overlapped.figures[rank];
        fprintf(p->out, "  rank %-3d %8.1f       %8.1f %8.1f  %8.1f            %8.1f %7.1f %6.1f\n",
                rank, step_us(f->compute), step_us(f->communication), step_us(f->hidden),
                step_us(f->exposed), step_us(f->slow), step_us(f->order), step_us(f->tail));
    }
    if (shown < p->s->n_ranks)
        fprintf(p->out, "  ... and %d more ranks\n", p->s->n_ranks - shown);
}

/* The first has the label "why", the others stand below it. */
static void print_cause(const struct step *p, const char **label, const char *line)
{
    format_words(p->out, *label, line);
    *label = "";
}

static void print_tail(const struct step *p, const char **label, int64_t tail)
{
    const struct buckets *b = &p->buckets;
    const struct bucket *last = &b->items[buckets_last(b)];
    int64_t more = last->bytes - last->cap;
    char line[400];
    int used = snprintf(line, sizeof line, "%.1f us, the tail: bucket %d, %.1f MiB, completes with "
                        "the layer computed last, and has nothing left to hide behind",
                        step_us(tail), buckets_last(b), step_mib(last->bytes));
    if (last->cap && more > 0)
        snprintf(line + used, sizeof line - (size_t)used, "; bucket too large: with %s it is %.1f "
                 "MiB beyond its cap, about %.1f us of this",
                 p->model.tensors[b->order[last->first + last->n - 1]].name, step_mib(more),
                 step_us(tail) * (double)more / (double)last->bytes);
    print_cause(p, label, line);
}

#define SLOW_RANK ", slow rank: another's backward pass still runs, and buckets complete when it " \
                  "has computed them"

/* The causes of what is exposed on the rank whose backward pass ends last, in the order in which
 * they add up to it; and, since that rank never waits for a slow one, what another pays. */
static void print_why(const struct step *p, int rank)
{
    const struct figures *f = &p->overlapped.figures[rank];
    int other = figures_waiting(p->overlapped.figures, p->s->n_ranks);
    char line[400];
    const char *label = "why";
    if (f->slow) {
        snprintf(line, sizeof line, "%.1f us" SLOW_RANK, step_us(f->slow));
        print_cause(p, &label, line);
    }
    if (f->order) {
        snprintf(line, sizeof line, "%.1f us, launch order: buckets before the last one are still "
                 "on their way, and it waits its turn%s", step_us(f->order),
                 p->serial.figures[rank].communication > p->serial.figures[rank].compute
                     ? " (all communication takes longer than the backward pass)" : "");
        print_cause(p, &label, line);
    }
    if (f->tail)
        print_tail(p, &label, f->tail);
    if (f->exposed == 0)
        print_cause(p, &label, p->s->n_ranks > 1 ? "nothing is exposed"
                                                 : "nothing is exposed: one rank sends nothing");
    if (other != rank && p->overlapped.figures[other].slow > f->slow) {
        snprintf(line, sizeof line, "%.1f us on rank %d" SLOW_RANK,
                 step_us(p->overlapped.figures[other].slow), other);
        print_cause(p, &label, line);
    }
    if (f->idle && p->s->n_ranks > 1) {
        snprintf(line, sizeof line, "(bucket not ready: for %.1f us of the backward pass no bucket "
                 "is complete and unsent, and the links rest; nothing is lost by that alone)",
                 step_us(f->idle));
        format_words(p->out, "", line);
    }
}

static double ratio(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void print_row(const struct step *p, const char *what, int64_t overlapped, int64_t serial,
                      const char *meaning)
{
    fprintf(p->out, "  %-20s%12.1f%12.1f  %s\n", what, step_us(overlapped), step_us(serial),
            meaning);
}

/* From the first communication to the end of compute. */
static int64_t logged(const struct figures *f)
{
    return f->communication && f->compute_end > f->first_start ? f->compute_end - f->first_start
                                                               : 0;
}

static void print_numbers(const struct step *p)
{
    int n = p->s->n_ranks, rank = figures_slowest(p->overlapped.figures, n);
    const struct figures *f = &p->overlapped.figures[rank], *g = &p->serial.figures[rank];
    int64_t arrived = figures_complete(p->overlapped.figures, n);
    int64_t ideal = figures_ideal(g);
    char line[320];
    fprintf(p->out, "\n  %-20s%12s%12s\n", "us", "overlapped", "serial");
    print_row(p, "compute", f->compute, g->compute, "the backward pass");
    print_row(p, "communication", f->communication, g->communication, "some bucket is under way");
    print_row(p, "hidden", f->hidden, g->hidden, "of that, while it computes");
    print_row(p, "exposed", f->exposed, g->exposed, "the rest, which the iteration pays for");
    print_row(p, "DDP's overlap", logged(f), logged(g),
              "from the first communication to the end of compute");
    fprintf(p->out, "  %-20s%12.3f%12.3f  %s\n", "HTA's overlap",
            ratio(f->hidden, f->communication), ratio(g->hidden, g->communication),
            "hidden / communication");
    print_row(p, "gradients complete", arrived, figures_complete(p->serial.figures, n),
              "the last bucket has arrived on the last rank");
    print_row(p, "iteration", p->overlapped.story.timing.total_ns, p->serial.story.timing.total_ns,
              "with the optimizer");
    fprintf(p->out, "  of rank %d, whose backward pass ends last; %.2f times as fast as serial\n",
            rank, p->overlapped.story.timing.total_ns
                      ? ratio(p->serial.story.timing.total_ns, p->overlapped.story.timing.total_ns)
                      : 1);
    snprintf(line, sizeof line, "%.1f us to complete gradients: compute and the last bucket's "
             "%s, or all communication where that is longer; each as it is in the serial run. "
             "Overlapped takes %.2f times that%s", step_us(ideal), p->calls ? "call" : "ring",
             ideal ? ratio(arrived, ideal) : 1,
             arrived < ideal ? ", since ranks that differ get in each other's way less" : "");
    format_words(p->out, "ideal", line);
    print_why(p, rank);
}

static void print_verdicts(const struct step *p)
{
    const struct verdict *v = &p->overlapped.story.verdict;
    fprintf(p->out, "\n");
    if (p->s->times_only) {
        fprintf(p->out, "  values                     n/a: --times-only moves no data\n");
        return;
    }
    if (p->never_ready) {
        fprintf(p->out, "  values                     n/a: the iteration never ends\n");
        return;
    }
    fprintf(p->out, "  all ranks bit-identical    %s\n", v->n_different ? "NO" : "yes");
    if (step_exact(p))
        fprintf(p->out, "  value right                %s   every gradient, as the optimizer left "
                "it\n", v->n_wrong ? "NO" : "yes");
    else
        fprintf(p->out, "  value right                n/a   these sums depend on the order of the "
                "additions, and NCCL keeps its own\n");
    if (p->calls && step_exact(p))
        fprintf(p->out, "                             compared with the ring's additions, on whose "
                "order these sums do not depend\n");
    text_not_finite(p->out, &p->overlapped.story.plan, v);
    fprintf(p->out, "  hash of the result         0x%016" PRIx64 "%s\n", v->hash,
            p->serial.story.verdict.hash == v->hash ? " (overlapped and serial)"
                                             : " overlapped; serial gives ANOTHER");
}

enum status step_report(const struct step *p, int ops)
{
    enum status status = STATUS_OK;
    const struct iteration *shown = p->s->no_overlap ? &p->serial : &p->overlapped;
    if (!p->s->quiet) {
        print_head(p);
        if (ops)
            TRY(step_list(p, shown));
        fprintf(p->out, "\n%s: digits are buckets in launch order%s, u is the optimizer, a dot is "
                "rest\n", p->s->no_overlap ? "serial" : "overlapped",
                p->buckets.n > 10 ? " (0 again after 9)" : "");
        timeline_print(&shown->story.plan, &shown->story.timing, p->bucket_of,
                       p->s->random ? "choices" : "us", p->out);
        if (!p->never_ready && !p->s->random) {
            print_ranks(p);
            print_numbers(p);
        }
        fprintf(p->out, "  host      waits inside the step: 0 (every op is queued before the first "
                "is waited for)\n");
    }
    print_verdicts(p);
out:
    return status;
}
