/* trace_steps.c - every ring step: its ops with their waits and times, then what every segment of
 * every rank holds: whose contributions (worked out by holds.c) and the value of its first
 * element (read from the devices in the second pass). Rings of many ranks or ops get one line a
 * step.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "ring/trace_text.h"

#define CELL_SIZE 48

static int digits(int64_t n)
{
    char buffer[32];
    return snprintf(buffer, sizeof buffer, "%" PRId64, n);
}

static void print_rule(const struct text *t)
{
    int n = t->scene->plan->n_ranks;
    if (n < 2)
        return;
    if (t->scene->origin[0] || t->scene->fault[0]) {
        fprintf(t->file,
                "\nAn op should wait until what it reads is ready or has arrived, and what it "
                "overwrites has\nbeen drained; the op before it on its own lane has ended anyway, "
                "and is not written.\n");
        return;
    }
    fprintf(t->file,
            "\nAt step s, rank r sends segment (r - s) mod %d to rank r+1. 2(N-1) = %d "
            "steps: %d collect\n(scatter-reduce), %d hand out (all-gather). An op waits "
            "until what it reads is ready or has\narrived, and what it overwrites has been "
            "drained; and for the op before it on its own lane,\nwhich is not written: each "
            "rank has a lane for the copies it sends, and one for its adds.\n",
            n, ring_steps(n), n - 1, n - 1);
}

/* ---- one step ---- */

const char *trace_who(const struct op *op, int width, const char *computes,
                      char buffer[TRACE_WHO_SIZE])
{
    static const char *const verbs[N_OP_KINDS] = {
        [OP_REDUCE] = "adds", [OP_SCALE] = "scales", [OP_UPDATE] = "updates",
    };
    if (op->kind == OP_COPY)
        snprintf(buffer, TRACE_WHO_SIZE, "rank %*d -> rank %*d", width, op->src.rank, width,
                 op->dst.rank);
    else
        snprintf(buffer, TRACE_WHO_SIZE, "rank %*d %s", width, op->rank,
                 verbs[op->kind] ? verbs[op->kind] : computes);
    return buffer;
}

void trace_waits(FILE *file, const struct plan *plan, const struct op *op, int column)
{
    for (int i = 0; i < op->n_waits; i++) {
        const struct wait *wait = &plan->waits[op->first_wait + i];
        char name[OP_NAME_SIZE], text[OP_NAME_SIZE + 32];
        int length = snprintf(text, sizeof text, "%s%s %s", i == 0 ? "after " : "",
                              op_name(plan, wait->op, name), wait_reason_name(wait->reason));
        fprintf(file, i > 0 ? "," : "");
        if (column + 2 + length < TEXT_WIDTH) /* a comma may follow */
            column += fprintf(file, i == 0 && column < 70 ? "  %s" : " %s", text);
        else
            column = fprintf(file, "\n%*s", TEXT_WIDTH - 1, text) - 1;
    }
    fputc('\n', file);
}

/* "inbox[0:4]"; "[0:4]" where that is data. */
static int print_span(const struct span *span, char *text, size_t size)
{
    return snprintf(text, size, "%s[%" PRId64 ":%" PRId64 "]",
                    span->memory == MEMORY_INBOX ? "inbox" : "", span->first,
                    span->first + span->count);
}

/* What an op without a segment writes, and from where where that is another place. */
static void print_spans(const struct op *op, char *text, size_t size)
{
    int same = op->src.memory == op->dst.memory && op->src.first == op->dst.first;
    int used = 0;
    if (op->kind == OP_COPY && !same) {
        used = print_span(&op->src, text, size);
        used += snprintf(text + used, size - (size_t)used, " -> ");
    }
    print_span(&op->dst, text + used, size - (size_t)used);
}

void text_op(const struct text *t, int64_t at)
{
    const struct scene *s = t->scene;
    int64_t id = order_at(&t->holds.order, at);
    const struct op *op = &s->plan->ops[id];
    char who[TRACE_WHO_SIZE], part[120] = "", holds[64], bytes[FORMAT_SIZE], name[OP_NAME_SIZE];
    int r = t->rank_width;
    trace_who(op, r, "refills", who);
    if (op->segment != NONE)
        snprintf(part, sizeof part, "segment %*d", r, op->segment);
    else if (t->name_width)
        print_spans(op, part, sizeof part);
    if (op->piece != NONE && s->plan->pieces > 1)
        snprintf(part + strlen(part), sizeof part - strlen(part), " p%d", op->piece);
    snprintf(holds, sizeof holds, "%s%s", op->kind == OP_COPY ? "" : "now ", t->holds.after[id]);
    int column = t->name_width ? fprintf(t->file, "  %-*s", t->name_width,
                                         op_name(s->plan, id, name)) : 0;
    column += fprintf(t->file, "  %-*s  %-*s  %-*s  %*s", 2 * r + 14, who, t->segment_width, part,
                      t->holds_width, holds, t->bytes_width,
                         format_bytes(op->dst.count * (int64_t)dtype_size(s->plan->dtype), bytes));
    if (s->timing && s->timing->per_op)
        column += fprintf(t->file, "  %*.1f ..%*.1f", t->time_width,
                          text_us(s->timing->begin_ns[id]), t->time_width + 1,
                          text_us(s->timing->end_ns[id]));
    trace_waits(t->file, s->plan, op, column);
}

void text_step_title(const struct text *t, const struct stop *stop, int64_t begin)
{
    const struct plan *plan = t->scene->plan;
    char title[160], iteration[48] = "";
    if (plan->iterations > 1)
        snprintf(iteration, sizeof iteration, "iteration %d, ", stop->iteration);
    if (stop->step == NONE && t->scene->origin[0] && stop->end == begin + 1)
        snprintf(title, sizeof title, "%sop %" PRId64 " of %" PRId64, iteration, stop->end,
                 plan->n_ops);
    else if (stop->step == NONE && t->scene->origin[0] && stop->end > begin)
        snprintf(title, sizeof title, "%sops %" PRId64 "..%" PRId64 " of %" PRId64, iteration,
                 begin + 1, stop->end, plan->n_ops);
    else if (stop->step == NONE && plan->iterations == 1 && stop->end > begin && begin > 0)
        snprintf(title, sizeof title, "behind the last step");
    else if (stop->step == NONE)
        snprintf(title, sizeof title, "%sbefore the first %s", iteration,
                 t->scene->origin[0] ? "op" : "step");
    else
        plan_step_title(plan, stop->iteration, stop->step, t->own_steps, title);
    text_heading(t, title);
}

/* One op, and under a copy the add of what it brought. Each is printed once. */
static void print_with_add(const struct text *t, int64_t at, int64_t end)
{
    const struct op *ops = t->scene->plan->ops, *op = &ops[order_at(&t->holds.order, at)];
    if (t->printed[at])
        return;
    text_op(t, at);
    t->printed[at] = 1;
    for (int64_t i = at + 1; op->kind == OP_COPY && i < end; i++) {
        const struct op *add = &ops[order_at(&t->holds.order, i)];
        if (add->kind == OP_REDUCE && !t->printed[i] && add->src.rank == op->dst.rank &&
            add->src.memory == op->dst.memory && add->src.first == op->dst.first) {
            text_op(t, i);
            t->printed[i] = 1;
            return;
        }
    }
}

/* The ops of one stop; all pieces that one rank sends stand together. */
static enum status print_ops(struct text *t, int64_t end)
{
    enum status status = STATUS_OK;
    const struct op *ops = t->scene->plan->ops;
    int64_t begin = t->holds.done;
    TRY(holds_run(&t->holds, end, t->err));
    for (int64_t i = begin; i < end; i++) {
        const struct op *op = &ops[order_at(&t->holds.order, i)];
        int copies = op->kind == OP_COPY && !t->printed[i];
        print_with_add(t, i, end);
        for (int64_t j = i + 1; copies && j < end; j++) {
            const struct op *other = &ops[order_at(&t->holds.order, j)];
            if (other->kind == OP_COPY && other->rank == op->rank)
                print_with_add(t, j, end);
        }
    }
out:
    return status;
}

/* ---- the state table ---- */

typedef char cell[CELL_SIZE];

/* "0+1 = 31": whose contributions a segment holds, and the value read in its first element; with
 * "~" where not all of its elements hold the same. */
static void fill_cell(const struct text *t, const double *read, int rank, int segment,
                      cell out)
{
    const struct plan *plan = t->scene->plan;
    int64_t first, count;
    char ranks[24], value[FORMAT_SIZE];
    int mixed;
    plan_part(0, plan->count, plan->n_ranks, segment, &first, &count);
    if (count == 0) {
        snprintf(out, CELL_SIZE, "empty");
        return;
    }
    holds_segment(&t->holds, rank, segment, &mixed, ranks, sizeof ranks);
    snprintf(out, CELL_SIZE, "%s%s = %.20s", ranks, mixed ? "~" : "",
             format_value(read[rank * plan->n_ranks + segment], value));
}

/* Which elements a segment is. */
static void fill_range(const struct plan *plan, int segment, cell out)
{
    int64_t first, count;
    plan_part(0, plan->count, plan->n_ranks, segment, &first, &count);
    snprintf(out, CELL_SIZE, "[%" PRId64 ":%" PRId64 "]", first, first + count);
}

/* Columns [from, to) of one row, as wide as t->cell_width, without blanks at the end. */
static void print_row(const struct text *t, const char *label, cell *row, int from, int to)
{
    fprintf(t->file, "  %-*s", t->rank_width + 5, label);
    for (int segment = from; segment < to; segment++)
        fprintf(t->file, "  %-*s", segment + 1 < to ? t->cell_width : 1, row[segment]);
    fputc('\n', t->file);
}

/* The cells of a stop: two rows of headings, then a row for each rank. */
static void fill_cells(struct text *t, int stop, cell *cells)
{
    int n = t->scene->plan->n_ranks;
    const double *read = t->scene->values->read + (int64_t)stop * n * n;
    for (int segment = 0; segment < n; segment++) {
        snprintf(cells[segment], CELL_SIZE, "segment %d", segment);
        fill_range(t->scene->plan, segment, cells[n + segment]);
    }
    for (int i = 0; i < n * n; i++)
        fill_cell(t, read, i / n, i % n, cells[2 * n + i]);
    /* columns never get narrower again, so that tables can be compared */
    for (int i = 0; i < n * (n + 2); i++)
        if ((int)strlen(cells[i]) > t->cell_width)
            t->cell_width = (int)strlen(cells[i]);
}

/* Is what the plan says not what must have happened? */
static int is_dubious(const struct text *t)
{
    return proof_hazards(t->scene->proof) > 0 || t->scene->stale_uploads;
}

static void print_legend(const struct text *t)
{
    if (!is_dubious(t))
        fprintf(t->file, "  a cell tells whose contributions a segment holds = the value read in "
                         "its first element\n");
    else
        fprintf(t->file, "  a cell tells whose contributions a segment should hold, if ops ran as "
                         "listed = the value read\n  in its first element\n");
    if (t->scene->fault[0] || t->scene->origin[0])
        fprintf(t->file, "  (~: not in all of its elements)\n");
    if (proof_hazards(t->scene->proof) > 0)
        fprintf(t->file,
                "  THE PLAN HAS HAZARDS: the values are those of a run that stops at every step, "
                "which hides\n  some of them; the result at the end is that of a run that does not "
                "stop\n");
}

enum status text_table(struct text *t, int stop)
{
    enum status status = STATUS_OK;
    int n = t->scene->plan->n_ranks, to;
    cell *cells = NULL;
    TRY(allocate((void **)&cells, (int64_t)n * (n + 2), sizeof *cells, "the state table", t->err));
    if (stop == 0)
        print_legend(t);
    fill_cells(t, stop, cells);
    int fit = (TEXT_WIDTH - 7 - t->rank_width) / (t->cell_width + 2);
    for (int from = 0; from < n; from = to) {
        to = fit < 1 ? from + 1 : from + fit < n ? from + fit : n;
        print_row(t, "", cells, from, to);
        if (stop == 0)
            print_row(t, "", cells + n, from, to);
        for (int rank = 0; rank < n; rank++) {
            char label[32];
            snprintf(label, sizeof label, "rank %d", rank);
            print_row(t, label, cells + (2 + rank) * n, from, to);
        }
    }
out:
    free(cells);
    return status;
}

/* ---- all steps ---- */

/* Does every rank r hold segment (r+1) mod N complete, but for a division still to come? */
static int all_own(const struct text *t, int iteration)
{
    const struct plan *plan = t->scene->plan;
    int n = plan->n_ranks, own = 1;
    for (int rank = 0; rank < n; rank++) {
        struct extents *data = contents_memory(&t->holds.contents, rank, MEMORY_DATA);
        int64_t first, count;
        plan_part(0, plan->count, n, (rank + 1) % n, &first, &count);
        for (int64_t i = extents_find(data, first);
             count > 0 && i < data->n && data->items[i].first < first + count; i++)
            own = own && (contents_complete(&t->holds.contents, &data->items[i], iteration) ||
                          contents_is_sum(&t->holds.contents, &data->items[i], iteration, 0, 0));
    }
    return own;
}

static void print_owners(const struct text *t, int iteration)
{
    int n = t->scene->plan->n_ranks, column;
    if (is_dubious(t)) /* who owns what is not for the plan alone to say */
        return;
    if (!all_own(t, iteration)) {
        fprintf(t->file, "\nBy now rank r should own segment (r+1) mod %d, complete. It is not "
                         "so.\n", n);
        return;
    }
    fprintf(t->file, "\nAfter scatter-reduce rank r owns segment (r+1) mod %d, complete:\n", n);
    column = fprintf(t->file, " ");
    for (int rank = 0; rank < n; rank++) {
        char owner[64];
        int length = snprintf(owner, sizeof owner, " rank %d: segment %d%s", rank, (rank + 1) % n,
                              rank + 1 < n ? "," : "");
        if (column + length > TEXT_WIDTH)
            column = fprintf(t->file, "\n ") - 1;
        column += fprintf(t->file, "%s", owner);
    }
    fputc('\n', t->file);
}

static int pause_here(const struct text *t)
{
    int c;
    fprintf(t->file, "-- Enter: next step (the run is over; this only pages), q: to the end -- ");
    fflush(t->file);
    int first = c = getchar();
    while (c != '\n' && c != EOF)
        c = getchar();
    return first != 'q' && c != EOF;
}

static void print_step_line(const struct text *t, const struct stop *stop, int64_t begin)
{
    const struct scene *s = t->scene;
    int64_t bytes = 0, first = INT64_MAX, last = 0;
    char size[FORMAT_SIZE], title[PLAN_TITLE_SIZE];
    if (stop->step == NONE && !s->origin[0])
        return;
    for (int64_t i = begin; i < stop->end; i++) {
        int64_t id = order_at(&t->holds.order, i);
        const struct op *op = &s->plan->ops[id];
        bytes += op->kind == OP_COPY ? op->dst.count * (int64_t)dtype_size(s->plan->dtype) : 0;
        if (s->timing && s->timing->per_op) {
            first = s->timing->begin_ns[id] < first ? s->timing->begin_ns[id] : first;
            last = s->timing->end_ns[id] > last ? s->timing->end_ns[id] : last;
        }
    }
    if (s->plan->iterations > 1 && s->origin[0])
        fprintf(t->file, "  iteration %d", stop->iteration);
    if (s->origin[0])
        fprintf(t->file, "  ops %" PRId64 "..%" PRId64 ": %s copied", begin + 1, stop->end,
                format_bytes(bytes, size));
    else
        fprintf(t->file, "  %s: %" PRId64 " ops, %s copied",
                plan_step_title(s->plan, stop->iteration, stop->step, 0, title),
                stop->end - begin, format_bytes(bytes, size));
    if (last > 0)
        fprintf(t->file, ", %.1f .. %.1f us", text_us(first), text_us(last));
    fputc('\n', t->file);
}

static void print_summary_of_steps(const struct text *t)
{
    const struct values *v = t->scene->values;
    fprintf(t->file,
            "\n%d ranks, %" PRId64 " ops: one line a step. Every op: --trace=json, or at most "
            "%d ranks and %d ops.\n",
            t->scene->plan->n_ranks, t->scene->plan->n_ops, VALUES_MAX_RANKS, VALUES_MAX_OPS);
    for (int stop = 1; stop < v->n_stops; stop++)
        print_step_line(t, &v->stops[stop], v->stops[stop - 1].end);
}

static void widen(int *width, const char *text)
{
    *width = (int)strlen(text) > *width ? (int)strlen(text) : *width;
}

/* What the op of a plan that was read needs. */
static void measure_op(struct text *t, int64_t id)
{
    const struct plan *plan = t->scene->plan;
    const struct op *op = &plan->ops[id];
    char text[120], name[OP_NAME_SIZE];
    widen(&t->name_width, op_name(plan, id, name));
    print_spans(op, text, sizeof text);
    if (op->segment == NONE)
        widen(&t->segment_width, text);
    widen(&t->bytes_width, format_bytes(op->dst.count * (int64_t)dtype_size(plan->dtype), text));
}

/* Columns that every line of the steps shares. */
static void measure(struct text *t)
{
    const struct scene *s = t->scene;
    char bytes[FORMAT_SIZE];
    int64_t first, count;
    t->rank_width = digits(s->plan->n_ranks - 1);
    t->cell_width = 10 + t->rank_width;
    t->time_width = s->timing ? digits(s->timing->total_ns / 1000) + 2 : 0;
    t->holds_width = s->plan->n_ranks > 3 ? 7 + 3 * t->rank_width : 9;
    t->segment_width =
        8 + t->rank_width + (s->plan->pieces > 1 ? 2 + digits(s->plan->pieces - 1) : 0);
    t->own_steps = s->origin[0] ? plan_last_step(s->plan) + 1 : 0;
    for (int64_t id = 0; id < s->plan->n_ops && s->origin[0]; id++)
        measure_op(t, id);
    int whole = s->plan->iterations > 1 || s->plan->redop == REDOP_AVG; /* ops on all of the data */
    for (int part = 0; part < 2 + whole; part++) {
        plan_part(0, s->plan->count, part < 2 ? s->plan->n_ranks : 1, part % 2, &first, &count);
        int width = (int)strlen(format_bytes(count * (int64_t)dtype_size(s->plan->dtype), bytes));
        t->bytes_width = width > t->bytes_width ? width : t->bytes_width;
    }
}

enum status text_steps_open(struct text *t)
{
    enum status status = STATUS_OK;
    int64_t n = t->scene->plan->n_ops;
    measure(t);
    TRY(holds_open(&t->holds, t->scene->plan, t->err));
    TRY(allocate((void **)&t->printed, n, 1, "the trace", t->err));
out:
    return status;
}

void text_steps_close(struct text *t)
{
    free(t->printed);
    holds_close(&t->holds);
}

enum status text_steps(struct text *t)
{
    enum status status = STATUS_OK;
    const struct plan *plan = t->scene->plan;
    const struct values *v = t->scene->values;
    if (plan->n_ops == 0) {
        fprintf(t->file, "\nNothing to do: the plan is empty%s.\n",
                proof_total(t->scene->proof) ? "" : ", every rank's data is already the result");
        return STATUS_OK;
    }
    print_rule(t);
    TRY(text_steps_open(t));
    if (!values_fit(plan->n_ranks, plan->n_ops)) {
        print_summary_of_steps(t);
        goto out;
    }
    int paging = t->show->pause;
    for (int stop = 0; stop < v->n_stops; stop++) {
        text_step_title(t, &v->stops[stop], stop > 0 ? v->stops[stop - 1].end : 0);
        TRY(print_ops(t, v->stops[stop].end));
        TRY(text_table(t, stop));
        if (v->stops[stop].step == plan->n_ranks - 2 && !t->scene->origin[0])
            print_owners(t, v->stops[stop].iteration);
        if (paging && stop + 1 < v->n_stops)
            paging = pause_here(t);
    }
out:
    text_steps_close(t);
    return status;
}
