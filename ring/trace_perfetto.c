/* trace_perfetto.c - the run in the Chrome trace event format, which ui.perfetto.dev and
 * chrome://tracing open: a process for each rank, a track for each of its lanes, a slice for each
 * op, an arrow for each wait between two lanes, and a counter of the bytes that are under way.
 *
 * A viewer sorts events by time, keeps the order of the file among equal times, and ties an arrow's
 * end to the slice that is open on its track just then. So ops are written in the order of the run,
 * and behind each slice the arrows that end and then those that begin in it; an arrow begins in the
 * slice's last nanosecond, since at its end the next slice may have begun.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/json.h"
#include "ring/holds.h"
#include "ring/trace.h"

struct view {
    const struct scene *scene;
    FILE *file;
    struct order order;
    struct holds holds;      /* told: whose contributions ops leave behind */
    int told;
    int64_t *first_after;    /* [n_ops + 1]: an op's place in after[] */
    struct after {
        int64_t op, wait;    /* who waits for it, and by which wait of the plan */
    } *after;                /* [n_waits] */
    unsigned char *used;     /* [n_ranks * N_LANES]: has ops */
};

/* Some viewers take process 0 for the idle one, and a thread with its process's number for the main
 * one; so neither is used. */
static int process_of(int rank) { return rank + 1; }
static int track_of(int rank, enum lane lane) { return process_of(rank) * 10 + (int)lane; }

static void begin_event(const struct view *v, const char *phase, int process, int track)
{
    fprintf(v->file, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d", phase, process, track);
}

/* ---- names ---- */

static void print_name(const struct view *v, int process, int track, const char *what,
                       const char *name, int place)
{
    begin_event(v, "M", process, track);
    fprintf(v->file, ",\"name\":\"%s_name\",\"args\":{\"name\":\"%s\"}}", what, name);
    begin_event(v, "M", process, track);
    fprintf(v->file, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%d}}", what, place);
}

static void print_names(const struct view *v)
{
    int n = v->scene->plan->n_ranks;
    char name[64];
    for (int rank = 0; rank < n; rank++) {
        snprintf(name, sizeof name, "rank %d, device %d", rank, v->scene->device_of[rank]);
        print_name(v, process_of(rank), track_of(rank, LANE_COMPUTE), "process", name, rank);
        for (int lane = 0; lane < N_LANES; lane++)
            if (v->used[stream_id(rank, (enum lane)lane)])
                print_name(v, process_of(rank), track_of(rank, (enum lane)lane), "thread",
                           lane_name((enum lane)lane), lane);
    }
    print_name(v, process_of(n), track_of(n, LANE_COMPUTE), "process", "all links", n);
}

/* Stands in the file before the events. */
static void print_head(const struct view *v)
{
    const struct scene *s = v->scene;
    char line[FINDING_TEXT_SIZE];
    fprintf(v->file, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"ring_demo\"");
    json_named(v->file, "notice", s->notice);
    json_named(v->file, "times", s->times);
    json_named(v->file, "data", s->data);
    json_named(v->file, "plan", s->origin);
    json_named(v->file, "fault", s->fault);
    json_named(v->file, "proof", proof_line(s->plan, s->proof, line, sizeof line));
    if (s->verdict) {
        int wrong = s->verdict->n_wrong || s->verdict->n_different;
        json_named(v->file, "result", wrong ? "wrong" : "right");
        fprintf(v->file, ",\"hash\":\"0x%016" PRIx64 "\"", s->verdict->hash);
    }
    fprintf(v->file, "},\"traceEvents\":[\n"
                     "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_labels\",\"args\":{\"labels\":",
            process_of(0));
    json_string(v->file, s->simulated ? "simulated GPUs" : "GPUs");
    fprintf(v->file, "}}");
}

/* ---- ops and their waits ---- */

/* ["s0.reduce.r0 ready","s0.reduce.r1 drained"] */
static void print_waits(const struct view *v, const struct op *op)
{
    const struct plan *plan = v->scene->plan;
    fprintf(v->file, ",\"waits\":[");
    for (int i = 0; i < op->n_waits; i++) {
        const struct wait *wait = &plan->waits[op->first_wait + i];
        char name[OP_NAME_SIZE], words[OP_NAME_SIZE + 32];
        snprintf(words, sizeof words, "%s %s", op_name(plan, wait->op, name),
                 wait_reason_name(wait->reason));
        fprintf(v->file, i ? "," : "");
        json_string(v->file, words);
    }
    fputc(']', v->file);
}

static void print_slice(const struct view *v, int64_t id)
{
    const struct plan *plan = v->scene->plan;
    const struct timing *timing = v->scene->timing;
    struct op op = plan->ops[id];
    char name[OP_NAME_SIZE];
    begin_event(v, "X", process_of(op.rank), track_of(op.rank, op.lane));
    json_us(v->file, "ts", timing->begin_ns[id]);
    json_us(v->file, "dur", timing->end_ns[id] - timing->begin_ns[id]);
    fprintf(v->file, ",\"cat\":\"%s\"", op_kind_name(op.kind));
    json_named(v->file, "name", op_name(plan, id, name));
    fprintf(v->file, ",\"args\":{\"id\":%" PRId64, id);
    if (op.kind == OP_COPY)
        fprintf(v->file, ",\"from\":%d,\"to\":%d", op.src.rank, op.dst.rank);
    for (int i = 0; i < N_OP_LABELS; i++)
        if (*op_label(&op, i) != NONE)
            fprintf(v->file, ",\"%s\":%d", op_label_name(i), *op_label(&op, i));
    fprintf(v->file, ",\"bytes\":%" PRId64, op.dst.count * (int64_t)dtype_size(plan->dtype));
    print_waits(v, &op);
    if (v->told)
        json_named(v->file, "holds", v->holds.after[id]);
    fprintf(v->file, "}}");
}

/* Where the arrow of a wait begins and ends: inside both slices, and not backwards. 0: it cannot
 * be drawn, since by the devices' clocks the one ended before the other began. */
static int place_arrow(const struct timing *t, int64_t from, int64_t to, int64_t *begin,
                       int64_t *end)
{
    *begin = t->end_ns[from] - (t->end_ns[from] > t->begin_ns[from]);
    if (*begin > t->begin_ns[to])
        *begin = t->begin_ns[to];
    if (*begin < t->begin_ns[from])
        *begin = t->begin_ns[from];
    *end = *begin > t->begin_ns[to] ? *begin : t->begin_ns[to];
    return *end <= t->end_ns[to];
}

/* One end of the arrow of wait number `wait`, by which `to` waits for an op of another lane. */
static void print_arrow(const struct view *v, int64_t wait, int64_t to, int begins)
{
    const struct plan *plan = v->scene->plan;
    int64_t from = plan->waits[wait].op, begin, end;
    const struct op *a = &plan->ops[from], *b = &plan->ops[to], *here = begins ? a : b;
    if ((a->rank == b->rank && a->lane == b->lane) ||
        !place_arrow(v->scene->timing, from, to, &begin, &end))
        return;
    begin_event(v, begins ? "s" : "f", process_of(here->rank), track_of(here->rank, here->lane));
    json_us(v->file, "ts", begins ? begin : end);
    fprintf(v->file, ",\"id\":%" PRId64 ",\"cat\":\"wait\",\"name\":\"%s\"%s}", wait + 1,
            wait_reason_name(plan->waits[wait].reason), begins ? "" : ",\"bp\":\"e\"");
}

static void print_ops(const struct view *v)
{
    const struct plan *plan = v->scene->plan;
    for (int64_t at = 0; at < v->order.n_sequence; at++) {
        int64_t id = order_at(&v->order, at);
        const struct op *op = &plan->ops[id];
        print_slice(v, id);
        for (int i = 0; i < op->n_waits; i++)
            print_arrow(v, op->first_wait + i, id, 0);
        for (int64_t i = v->first_after[id]; i < v->first_after[id + 1]; i++)
            print_arrow(v, v->after[i].wait, v->after[i].op, 1);
    }
}

/* ---- bytes under way ---- */

struct change {
    int64_t ns, bytes;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static enum status print_counter(const struct view *v, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = v->scene->plan;
    const struct timing *timing = v->scene->timing;
    struct change *changes = NULL;
    int64_t n = 0, now = 0;
    TRY(allocate((void **)&changes, 2 * plan->n_ops, sizeof *changes, "the trace", err));
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        int64_t bytes = op->dst.count * (int64_t)dtype_size(plan->dtype);
        if (op->kind != OP_COPY || op->src.rank == op->dst.rank)
            continue;
        changes[n++] = (struct change){timing->begin_ns[id], bytes};
        changes[n++] = (struct change){timing->end_ns[id], -bytes};
    }
    qsort(changes, (size_t)n, sizeof *changes, compare_changes);
    for (int64_t i = 0; i < n; i++) {
        now += changes[i].bytes;
        if (i + 1 < n && changes[i + 1].ns == changes[i].ns)
            continue;
        begin_event(v, "C", process_of(plan->n_ranks), track_of(plan->n_ranks, LANE_COMPUTE));
        json_us(v->file, "ts", changes[i].ns);
        fprintf(v->file, ",\"name\":\"in flight\",\"args\":{\"bytes\":%" PRId64 "}}", now);
    }
out:
    free(changes);
    return status;
}

/* ---- all of it ---- */

/* Who waits for each op. */
static enum status open_waiters(struct view *v, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = v->scene->plan;
    int64_t n = plan->n_ops;
    TRY(allocate((void **)&v->first_after, n + 2, sizeof *v->first_after, "the trace", err));
    TRY(allocate((void **)&v->after, plan->n_waits, sizeof *v->after, "the trace", err));
    /* counted two places further on, so that filling moves each to where it belongs */
    for (int64_t id = 0; id < n; id++)
        for (int i = 0; i < plan->ops[id].n_waits; i++)
            v->first_after[plan->waits[plan->ops[id].first_wait + i].op + 2]++;
    for (int64_t i = 2; i < n + 2; i++)
        v->first_after[i] += v->first_after[i - 1];
    for (int64_t id = 0; id < n; id++)
        for (int i = 0; i < plan->ops[id].n_waits; i++) {
            int64_t wait = plan->ops[id].first_wait + i;
            int64_t place = v->first_after[plan->waits[wait].op + 1]++;
            v->after[place] = (struct after){.op = id, .wait = wait};
        }
out:
    return status;
}

enum status trace_perfetto(const struct scene *scene, FILE *file, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = scene->plan;
    struct view v = {.scene = scene, .file = file, .told = plan->n_ops <= TRACE_MAX_HOLDS};
    TRY(order_open(&v.order, plan, err));
    TRY(open_waiters(&v, err));
    TRY(allocate((void **)&v.used, (int64_t)plan->n_ranks * N_LANES, 1, "the trace", err));
    for (int64_t id = 0; id < plan->n_ops; id++)
        v.used[stream_id(plan->ops[id].rank, plan->ops[id].lane)] = 1;
    if (v.told) {
        TRY(holds_open(&v.holds, plan, err));
        TRY(holds_run(&v.holds, v.holds.order.n_sequence, err));
    }
    print_head(&v);
    print_names(&v);
    print_ops(&v);
    TRY(print_counter(&v, err));
    fprintf(file, "\n]}\n");
out:
    free(v.used);
    free(v.after);
    free(v.first_after);
    holds_close(&v.holds);
    order_close(&v.order);
    return status;
}
