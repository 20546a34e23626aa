/* trace_text.c - the run as a page of text, 100 columns wide: head, steps (trace_steps.c), result.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "ring/goal.h"
#include "ring/trace_text.h"

void text_heading(const struct text *t, const char *words)
{
    fprintf(t->file, "\n%s%s%s\n", text_paint(t, TEXT_BOLD), words, text_paint(t, TEXT_PLAIN));
}

/* ---- head ---- */

static void print_ring(const struct text *t)
{
    int n = t->scene->plan->n_ranks, column = fprintf(t->file, "  ring      ");
    for (int rank = 0; rank < n; rank++) {
        if (column > TEXT_WIDTH - 30 && rank < n - 1) {
            fprintf(t->file, "... -> %d -> ", n - 1);
            break;
        }
        column += fprintf(t->file, "%d -> ", rank);
    }
    fprintf(t->file, "0\n");
}

/* Ranks on each device; a line per distinct device, or a few words where each rank has its own. */
static void print_devices(const struct text *t)
{
    const struct scene *s = t->scene;
    int n = s->plan->n_ranks, shown = 0;
    if (s->simulated && s->n_devices == n)
        return;
    for (int rank = 0; rank < n; rank++) {
        int first = 0, column;
        while (s->device_of[first] != s->device_of[rank])
            first++;
        if (first != rank)
            continue;
        if (shown++ == 16) {
            fprintf(t->file, "            ... %d devices in all\n", s->n_devices);
            return;
        }
        column = fprintf(t->file, "  %-9s device %d, %s: rank", shown == 1 ? "devices" : "",
                         s->device_of[rank], s->device_names[rank]);
        for (int r = rank; r < n && column < TEXT_WIDTH - 6; r++)
            if (s->device_of[r] == s->device_of[rank])
                column += fprintf(t->file, " %d", r);
        fputc('\n', t->file);
    }
}

/* Links by path: "0->1 1->2: peer access". */
static void print_links(const struct text *t)
{
    const struct scene *s = t->scene;
    int shown = 0;
    for (int i = 0; i < s->n_links; i++) {
        int first = 0;
        while (strcmp(s->links[first].path, s->links[i].path) != 0)
            first++;
        if (first != i)
            continue;
        int column = fprintf(t->file, "  %-9s", shown++ == 0 ? "links" : ""), skipped = 0;
        for (int j = i; j < s->n_links; j++) {
            if (strcmp(s->links[j].path, s->links[i].path) != 0)
                continue;
            if (column < 60)
                column += fprintf(t->file, " %d->%d", s->links[j].from, s->links[j].to);
            else
                skipped++;
        }
        if (skipped)
            fprintf(t->file, " and %d more", skipped);
        fprintf(t->file, ": %s\n", s->links[i].path);
    }
    if (s->link_model[0])
        format_words(t->file, "model", s->link_model);
}

/* "all-reduce (sum)", "broadcast from rank 0" */
static const char *describe_goal(const struct plan *plan, char *buffer, size_t size)
{
    const char *name = plan->goal == GOAL_ALLREDUCE ? "all-reduce" : goal_name(plan->goal);
    int adds = !goal_copies(plan->goal);
    snprintf(buffer, size, "%s", name);
    if (adds)
        snprintf(buffer + strlen(buffer), size - strlen(buffer), " (%s)", redop_name(plan->redop));
    if (goal_has_root(plan->goal))
        snprintf(buffer + strlen(buffer), size - strlen(buffer), " %s rank %d",
                 adds ? "to" : "from", plan->root);
    return buffer;
}

void text_run_head(const struct text *t)
{
    const struct scene *s = t->scene;
    const struct plan *plan = s->plan;
    char size[FORMAT_SIZE], goal[80];
    fprintf(t->file, "%s%s of %" PRId64 " %s, %s, on each of %d rank%s%s\n",
            text_paint(t, TEXT_BOLD), describe_goal(plan, goal, sizeof goal), plan->count,
            dtype_name(plan->dtype),
            format_bytes(plan->count * (int64_t)dtype_size(plan->dtype), size), plan->n_ranks,
            plan->n_ranks == 1 ? "" : "s", text_paint(t, TEXT_PLAIN));
    if (s->notice[0])
        format_words(t->file, "note", s->notice);
    if (s->origin[0])
        format_words(t->file, "plan", s->origin);
    else
        print_ring(t);
    if (s->fault[0])
        format_words(t->file, "fault", s->fault);
    if (s->held_back[0])
        format_words(t->file, "held back", s->held_back);
}

static void print_head(const struct text *t)
{
    const struct scene *s = t->scene;
    const struct plan *plan = s->plan;
    char inbox[FORMAT_SIZE], line[512];
    int64_t bytes = (int64_t)dtype_size(plan->dtype);
    text_run_head(t);
    print_devices(t);
    print_links(t);
    format_words(t->file, "data", s->data);
    if (s->by_kernel)
        snprintf(line, sizeof line, "%s (%s)", s->engine, s->engine_how);
    else if (s->origin[0])
        snprintf(line, sizeof line, "%s (%s); inbox of %s", s->engine, s->engine_how,
                 format_bytes(plan->inbox_count * bytes, inbox));
    else
        snprintf(line, sizeof line, "%s (%s); %d piece%s a segment; inbox of %d slot%s, %s",
                 s->engine, s->engine_how, plan->pieces, plan->pieces == 1 ? "" : "s", plan->slots,
                 plan->slots == 1 ? "" : "s", format_bytes(plan->inbox_count * bytes, inbox));
    format_words(t->file, "engine", line);
    format_words(t->file, "times", s->times);
    format_words(t->file, "proof", proof_line(plan, s->proof, line, sizeof line));
    for (int i = 0; i < s->proof->n_findings && i < 10; i++) {
        char sentence[FINDING_TEXT_SIZE];
        format_words(t->file, "",
                     finding_text(plan, &s->proof->findings[i], sentence, sizeof sentence));
    }
    if (proof_total(s->proof) > 10)
        fprintf(t->file, "            ... and %" PRId64 " more findings\n",
                proof_total(s->proof) - 10);
}

/* ---- result ---- */

static void print_misfit(const struct text *t, const char *than, int64_t n, const struct misfit *m)
{
    char got[FORMAT_SIZE], want[FORMAT_SIZE];
    fprintf(t->file, "                             %" PRId64 " element%s; first: rank %d, segment "
                     "%d, element %" PRId64 ": got %s, %s %s\n", n, n == 1 ? "" : "s", m->rank,
            m->segment, m->element, format_value(m->got, got), than, format_value(m->want, want));
}

static void print_answer(const struct text *t, const char *question, int good)
{
    fprintf(t->file, "  %-25s  %s%s%s", question, text_paint(t, good ? TEXT_GREEN : TEXT_RED),
            good ? "yes" : "NO", text_paint(t, TEXT_PLAIN));
}

static const char *why_distant(enum redop redop)
{
    return redop == REDOP_PROD  ? ", since each product rounds"
           : redop == REDOP_AVG ? ", since scaling and adding round"
                                : ", since each addition rounds";
}

void text_not_finite(FILE *file, const struct plan *plan, const struct verdict *v)
{
    if (v->n_infinite + v->n_nan > 0)
        fprintf(file, "  %-25s  %" PRId64 " infinite and %" PRId64 " NaN elements: such is the %s "
                "in %s\n", "not finite", v->n_infinite, v->n_nan, redop_name(plan->redop),
                dtype_name(plan->dtype));
}

static void print_verdict(const struct text *t)
{
    const struct scene *s = t->scene;
    const struct verdict *v = s->verdict;
    if (s->search[0])
        fprintf(t->file, "  %-25s  %s\n", "random schedules", s->search);
    if (goal_same_everywhere(s->plan)) {
        print_answer(t, "all ranks bit-identical", v->n_different == 0);
        fprintf(t->file, "   %" PRId64 " elements of %d rank%s\n", v->n_checked, s->plan->n_ranks,
                s->plan->n_ranks == 1 ? "" : "s");
    } else {
        fprintf(t->file, "  %-25s  n/a   the goal is not the same data on all ranks\n",
                "all ranks bit-identical");
    }
    if (v->n_different)
        print_misfit(t, "rank 0 has", v->n_different, &v->different);
    print_answer(t, "value right", v->n_wrong == 0);
    fprintf(t->file, "   against the same %s made on the host, bit for bit\n",
            goal_copies(s->plan->goal) ? "data" : "additions");
    if (v->n_wrong)
        print_misfit(t, "want", v->n_wrong, &v->wrong);
    if (dtype_is_float(s->plan->dtype) && s->plan->goal == GOAL_ALLREDUCE)
        fprintf(t->file,
                v->distance > 0 ? "  %-25s  at most %.3g (relative: %.3g)%s\n"
                : v->n_infinite + v->n_nan > 0 ? "  %-25s  none, where both are finite\n"
                                               : "  %-25s  none\n",
                "distance to float64", v->distance, v->relative,
                v->n_wrong ? "" : why_distant(s->plan->redop));
    text_not_finite(t->file, s->plan, v);
    fprintf(t->file, "  %-25s  0x%016" PRIx64, "hash of the result", v->hash);
    if (s->values && s->second_hash == v->hash)
        fprintf(t->file, " (of both runs, the timed and the shown)");
    else if (s->values)
        fprintf(t->file, " in the timed run, %s0x%016" PRIx64 " in the one shown: THEY DIFFER%s",
                text_paint(t, TEXT_RED), s->second_hash, text_paint(t, TEXT_PLAIN));
    fputc('\n', t->file);
}

static enum status print_figures(const struct text *t)
{
    enum status status = STATUS_OK;
    const struct scene *s = t->scene;
    struct traffic traffic;
    char a[FORMAT_SIZE], b[FORMAT_SIZE];
    int n = s->plan->n_ranks;
    TRY(trace_traffic(s, &traffic, t->err));
    int64_t size = s->plan->count * (int64_t)dtype_size(s->plan->dtype);
    fprintf(t->file, "  %-25s  %s", "bytes sent by each rank", format_bytes(traffic.least_sent, a));
    if (traffic.most_sent != traffic.least_sent)
        fprintf(t->file, " to %s", format_bytes(traffic.most_sent, a));
    if (s->plan->goal == GOAL_ALLREDUCE) {
        fprintf(t->file, "; 2(N-1)/N x S = %.6g x %s", (double)ring_steps(n) / n,
                format_bytes(size, b));
        if (s->plan->iterations > 1)
            fprintf(t->file, ", %d times", s->plan->iterations);
    }
    fputc('\n', t->file);
    if (traffic.busiest_from != NONE) {
        fprintf(t->file, "  %-25s  ", traffic.all_alike ? "each link" : "busiest link");
        if (!traffic.all_alike)
            fprintf(t->file, "%d -> %d: ", traffic.busiest_from, traffic.busiest_to);
        fprintf(t->file, "%s", format_bytes(traffic.busiest_bytes, a));
        if (traffic.busiest_ns)
            fprintf(t->file, ", in use %.1f of %.1f us", text_us(traffic.busiest_ns),
                    text_us(s->timing->total_ns));
        fputc('\n', t->file);
    }
    if (s->plan->n_ops == 0) {
        fprintf(t->file, "  %-25s  n/a: nothing was sent\n", "time");
        return STATUS_OK;
    }
    if (s->random) {
        fprintf(t->file, "  %-25s  none: a random schedule, of %" PRId64 " choices\n", "time",
                2 * s->plan->n_ops); /* each op began and ended by one */
        return STATUS_OK;
    }
    fprintf(t->file, "  %-25s  %.1f us%s", "time", text_us(s->timing->total_ns),
            s->simulated       ? " (modelled)"
            : s->timing->wall ? " (host clock, queueing included, no warm-up)"
                               : " (one run, after one to warm up)");
    if (n > 1 && s->plan->goal == GOAL_ALLREDUCE)
        fprintf(t->file, "\n  %-25s  algbw = S/t = %.4g GB/s; busbw = algbw x 2(N-1)/N = %.4g GB/s",
                "rates", trace_algbw(s), trace_busbw(s));
    fputc('\n', t->file);
out:
    return status;
}

enum status trace_text(const struct scene *scene, const struct show *show, struct error *err)
{
    enum status status = STATUS_OK;
    struct text t = {.scene = scene, .show = show, .file = show->file, .err = err};
    if (!show->quiet)
        print_head(&t);
    if (show->steps && scene->values)
        TRY(text_steps(&t));
    if (!show->quiet)
        text_heading(&t, "result");
    print_verdict(&t);
    if (!show->quiet)
        TRY(print_figures(&t));
    if (!show->quiet && scene->written[0])
        format_words(t.file, "written", scene->written);
out:
    return status;
}
