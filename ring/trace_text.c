/* trace_text.c - the run as a page of text, 100 columns wide where the ring is small enough.
 *
 * Head, then every ring step with its ops, their waits and times, then what every segment of every
 * rank holds: whose contributions (worked out by contents.c) and the value of its first element
 * (read from the devices in the second pass). Rings of many ranks or ops get one line a step.
 */
#include "ring/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "ring/contents.h"
#include "ring/order.h"

#define WIDTH 100
#define FULL_OPS 4000 /* up to so many, and VALUES_MAX_RANKS ranks, every op gets a line */
#define CELL_SIZE 48
#define HELD_SIZE 40

struct text {
    const struct scene *scene;
    const struct show *show;
    FILE *file;
    struct order order;
    struct contents contents; /* as after the stop being shown */
    int64_t done;             /* ops of the sequence in contents */
    unsigned char *printed;   /* [n_ops], by place in the sequence */
    char (*held)[HELD_SIZE];  /* [n_ops], by place: what stood in dst's first element after the op */
    int time_width;           /* columns of a time in us, one decimal */
    int cell_width;           /* of the state table, so far */
    int rank_width, holds_width, bytes_width, segment_width;
    struct error *err;
};

/* ---- small words ---- */

static const char *paint(const struct text *t, const char *code)
{
    return t->show->color ? code : "";
}
#define BOLD "\033[1m"
#define GREEN "\033[32m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

static void heading(const struct text *t, const char *words)
{
    fprintf(t->file, "\n%s%s%s\n", paint(t, BOLD), words, paint(t, PLAIN));
}

static int64_t op_at(const struct text *t, int64_t place)
{
    return t->order.sequence ? t->order.sequence[place] : place;
}

static double us(int64_t ns) { return (double)ns / 1000.0; }

static int digits(int64_t n)
{
    char buffer[32];
    return snprintf(buffer, sizeof buffer, "%" PRId64, n);
}

/* ---- head ---- */

/* "  label     words": broken between words where the line would be too long. */
static void print_words(const struct text *t, const char *label, const char *words)
{
    int column = fprintf(t->file, "  %-9s", label);
    while (*words) {
        int length = (int)strcspn(words, " ");
        if (column + 1 + length > WIDTH)
            column = fprintf(t->file, "\n%11s", "") - 1;
        column += fprintf(t->file, " %.*s", length, words);
        words += length + (words[length] == ' ');
    }
    fputc('\n', t->file);
}

static void print_ring(const struct text *t)
{
    int n = t->scene->plan->n_ranks, column = fprintf(t->file, "  ring      ");
    for (int rank = 0; rank < n; rank++) {
        if (column > WIDTH - 30 && rank < n - 1) {
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
        for (int r = rank; r < n && column < WIDTH - 6; r++)
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
        print_words(t, "model", s->link_model);
}

static void print_head(const struct text *t)
{
    const struct scene *s = t->scene;
    const struct plan *plan = s->plan;
    char size[FORMAT_SIZE], inbox[FORMAT_SIZE], line[256];
    int64_t bytes = (int64_t)dtype_size(plan->dtype);
    fprintf(t->file, "%sall-reduce (%s) of %" PRId64 " %s, %s, on each of %d rank%s%s\n",
            paint(t, BOLD), redop_name(plan->redop), plan->count, dtype_name(plan->dtype),
            format_bytes(plan->count * bytes, size), plan->n_ranks, plan->n_ranks == 1 ? "" : "s",
            paint(t, PLAIN));
    if (s->notice[0])
        print_words(t, "note", s->notice);
    print_ring(t);
    print_devices(t);
    print_links(t);
    print_words(t, "data", s->data);
    fprintf(t->file, "  %-9s %s (op by op); %d piece%s a segment; inbox of %d slot%s, %s\n", "engine",
            s->engine, plan->pieces, plan->pieces == 1 ? "" : "s", plan->slots,
            plan->slots == 1 ? "" : "s", format_bytes(plan->inbox_count * bytes, inbox));
    print_words(t, "times", s->times);
    print_words(t, "proof", proof_line(plan, s->proof, line, sizeof line));
    for (int i = 0; i < s->proof->n_findings && i < 10; i++) {
        char sentence[512];
        print_words(t, "", finding_text(plan, &s->proof->findings[i], sentence, sizeof sentence));
    }
    if (proof_total(s->proof) > 10)
        fprintf(t->file, "            ... and %" PRId64 " more findings\n",
                proof_total(s->proof) - 10);
}

static void print_rule(const struct text *t)
{
    int n = t->scene->plan->n_ranks;
    if (n < 2)
        return;
    fprintf(t->file, "\nAt step s, rank r sends segment (r - s) mod %d to rank r+1. 2(N-1) = %d "
                     "steps: %d collect\n(scatter-reduce), %d hand out (all-gather). An op waits "
                     "until what it reads is ready or has\narrived, and what it overwrites has been "
                     "drained; and for the op before it on its own lane,\nwhich is not written: each "
                     "rank has a lane for the copies it sends, and one for its adds.\n",
            n, ring_steps(n), n - 1, n - 1);
}

/* ---- one step ---- */

/* "after s0.reduce.r1 ready, s0.copy.r2 drained", behind `column` characters of the line; a wait that
 * would leave the line goes to the end of the next. */
static void print_waits(const struct text *t, const struct op *op, int column)
{
    const struct plan *plan = t->scene->plan;
    for (int i = 0; i < op->n_waits; i++) {
        const struct wait *wait = &plan->waits[op->first_wait + i];
        char name[OP_NAME_SIZE], text[OP_NAME_SIZE + 32];
        int length = snprintf(text, sizeof text, "%s%s %s", i == 0 ? "after " : "",
                              op_name(plan, wait->op, name), wait_reason_name(wait->reason));
        fprintf(t->file, i > 0 ? "," : "");
        if (column + 2 + length < WIDTH) /* a comma may follow */
            column += fprintf(t->file, i == 0 && column < 70 ? "  %s" : " %s", text);
        else
            column = fprintf(t->file, "\n%*s", WIDTH - 1, text) - 1;
    }
    fputc('\n', t->file);
}

/* Whose contributions a stretch holds: "0+1", or "all" where the sum is complete. */
static const char *whose(const struct text *t, const struct extent *extent, char *buffer,
                         size_t size)
{
    const struct contents *c = &t->contents;
    int iteration =
        extent->node == NONE ? 0 : c->terms[c->nodes[extent->node].first_term].iteration;
    if (c->plan->n_ranks > 1 && contents_complete(c, extent, iteration))
        return "all";
    return contents_ranks(c, extent->node, buffer, size);
}

/* Applies an op to the contents and notes what it left. */
static enum status apply(struct text *t, int64_t place)
{
    const struct op *op = &t->scene->plan->ops[op_at(t, place)];
    const struct extents *memory = contents_memory(&t->contents, op->dst.rank, op->dst.memory);
    char buffer[HELD_SIZE];
    enum status status = contents_apply(&t->contents, op, t->err);
    if (status == STATUS_OK)
        snprintf(t->held[place], HELD_SIZE, "%s",
                 whose(t, &memory->items[extents_find(memory, op->dst.first)], buffer,
                       sizeof buffer));
    return status;
}

static void print_op(const struct text *t, int64_t place)
{
    const struct scene *s = t->scene;
    int64_t id = op_at(t, place);
    const struct op *op = &s->plan->ops[id];
    char who[64], part[48] = "", holds[64], bytes[FORMAT_SIZE];
    int r = t->rank_width;
    if (op->kind == OP_COPY)
        snprintf(who, sizeof who, "rank %*d -> rank %*d", r, op->src.rank, r, op->dst.rank);
    else
        snprintf(who, sizeof who, "rank %*d %s", r, op->rank,
                 op->kind == OP_REDUCE ? "adds" : op->kind == OP_SCALE ? "scales" : "refills");
    if (op->segment != NONE)
        snprintf(part, sizeof part, "segment %*d", r, op->segment);
    if (op->piece != NONE && s->plan->pieces > 1)
        snprintf(part + strlen(part), sizeof part - strlen(part), " p%d", op->piece);
    snprintf(holds, sizeof holds, "%s%s", op->kind == OP_COPY ? "" : "now ", t->held[place]);
    int column = fprintf(t->file, "  %-*s  %-*s  %-*s  %*s", 2 * r + 14, who, t->segment_width,
                         part, t->holds_width, holds, t->bytes_width,
                         format_bytes(op->dst.count * (int64_t)dtype_size(s->plan->dtype), bytes));
    if (s->timing && s->timing->per_op)
        column += fprintf(t->file, "  %*.1f ..%*.1f", t->time_width,
                          us(s->timing->begin_ns[id]), t->time_width + 1,
                          us(s->timing->end_ns[id]));
    print_waits(t, op, column);
}

static void print_step_title(const struct text *t, const struct stop *stop)
{
    const struct plan *plan = t->scene->plan;
    char title[160], iteration[48] = "";
    int n = plan->n_ranks;
    if (plan->iterations > 1)
        snprintf(iteration, sizeof iteration, "iteration %d, ", stop->iteration);
    if (stop->step == NONE)
        snprintf(title, sizeof title, "%sbefore the first step", iteration);
    else
        snprintf(title, sizeof title, "%sstep s=%d (%d of %d), %s", iteration, stop->step,
                 stop->step + 1, ring_steps(n),
                 ring_gathers(n, stop->step) ? "all-gather" : "scatter-reduce");
    heading(t, title);
}

/* One op, and under a copy the add of what it brought. Each is printed once. */
static void print_with_add(const struct text *t, int64_t place, int64_t end)
{
    const struct op *ops = t->scene->plan->ops, *op = &ops[op_at(t, place)];
    if (t->printed[place])
        return;
    print_op(t, place);
    t->printed[place] = 1;
    for (int64_t i = place + 1; op->kind == OP_COPY && i < end; i++) {
        const struct op *add = &ops[op_at(t, i)];
        if (add->kind == OP_REDUCE && !t->printed[i] && add->src.rank == op->dst.rank &&
            add->src.memory == op->dst.memory && add->src.first == op->dst.first) {
            print_op(t, i);
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
    int64_t begin = t->done;
    for (; t->done < end; t->done++)
        TRY(apply(t, t->done));
    for (int64_t i = begin; i < end; i++) {
        const struct op *op = &ops[op_at(t, i)];
        int copies = op->kind == OP_COPY && !t->printed[i];
        print_with_add(t, i, end);
        for (int64_t j = i + 1; copies && j < end; j++) {
            const struct op *other = &ops[op_at(t, j)];
            if (other->kind == OP_COPY && other->rank == op->rank)
                print_with_add(t, j, end);
        }
    }
out:
    return status;
}

/* ---- the state table ---- */

typedef char cell[CELL_SIZE];

/* "0+1 = 31": whose contributions a segment holds, and the value read in its first element. */
static void fill_cell(const struct text *t, const double *read, int rank, int segment,
                      cell out)
{
    const struct plan *plan = t->scene->plan;
    const struct extents *memory = contents_memory(&t->contents, rank, MEMORY_DATA);
    int64_t first, count;
    char ranks[24], value[FORMAT_SIZE];
    plan_part(0, plan->count, plan->n_ranks, segment, &first, &count);
    if (count == 0) {
        snprintf(out, CELL_SIZE, "empty");
        return;
    }
    const struct extent *extent = &memory->items[extents_find(memory, first)];
    snprintf(out, CELL_SIZE, "%s = %.20s", whose(t, extent, ranks, sizeof ranks),
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

static enum status print_state(struct text *t, int stop)
{
    enum status status = STATUS_OK;
    int n = t->scene->plan->n_ranks, to;
    cell *cells = NULL;
    TRY(allocate((void **)&cells, (int64_t)n * (n + 2), sizeof *cells, "the state table", t->err));
    fill_cells(t, stop, cells);
    int fit = (WIDTH - 7 - t->rank_width) / (t->cell_width + 2);
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

static void print_owners(const struct text *t)
{
    int n = t->scene->plan->n_ranks, column;
    fprintf(t->file, "\nAfter scatter-reduce rank r owns segment (r+1) mod %d, complete:\n", n);
    column = fprintf(t->file, " ");
    for (int rank = 0; rank < n; rank++) {
        char owner[64];
        int length = snprintf(owner, sizeof owner, " rank %d: segment %d%s", rank, (rank + 1) % n,
                              rank + 1 < n ? "," : "");
        if (column + length > WIDTH)
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
    char size[FORMAT_SIZE];
    if (stop->step == NONE)
        return;
    for (int64_t i = begin; i < stop->end; i++) {
        int64_t id = op_at(t, i);
        const struct op *op = &s->plan->ops[id];
        bytes += op->kind == OP_COPY ? op->dst.count * (int64_t)dtype_size(s->plan->dtype) : 0;
        if (s->timing && s->timing->per_op) {
            first = s->timing->begin_ns[id] < first ? s->timing->begin_ns[id] : first;
            last = s->timing->end_ns[id] > last ? s->timing->end_ns[id] : last;
        }
    }
    if (s->plan->iterations > 1)
        fprintf(t->file, "  iteration %d", stop->iteration);
    fprintf(t->file, "  step s=%d (%d of %d), %s: %" PRId64 " ops, %s copied", stop->step,
            stop->step + 1, ring_steps(s->plan->n_ranks),
            ring_gathers(s->plan->n_ranks, stop->step) ? "all-gather" : "scatter-reduce",
            stop->end - begin, format_bytes(bytes, size));
    if (last > 0)
        fprintf(t->file, ", %.1f .. %.1f us", us(first), us(last));
    fputc('\n', t->file);
}

static void print_summary_of_steps(const struct text *t)
{
    const struct values *v = t->scene->values;
    fprintf(t->file, "\n%d ranks, %" PRId64 " ops: one line a step. Every op: --trace=json, or at most "
                     "%d ranks and %d ops.\n",
            t->scene->plan->n_ranks, t->scene->plan->n_ops, VALUES_MAX_RANKS, FULL_OPS);
    for (int stop = 1; stop < v->n_stops; stop++)
        print_step_line(t, &v->stops[stop], v->stops[stop - 1].end);
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
    t->segment_width = 8 + t->rank_width + (s->plan->pieces > 1 ? 2 + digits(s->plan->pieces - 1) : 0);
    int whole = s->plan->iterations > 1 || s->plan->redop == REDOP_AVG; /* ops on all of the data */
    for (int part = 0; part < 2 + whole; part++) {
        plan_part(0, s->plan->count, part < 2 ? s->plan->n_ranks : 1, part % 2, &first, &count);
        int width = (int)strlen(format_bytes(count * (int64_t)dtype_size(s->plan->dtype), bytes));
        t->bytes_width = width > t->bytes_width ? width : t->bytes_width;
    }
}

static enum status print_steps(struct text *t)
{
    enum status status = STATUS_OK;
    const struct plan *plan = t->scene->plan;
    const struct values *v = t->scene->values;
    if (plan->n_ops == 0) {
        fprintf(t->file, "\nNothing to do: the plan is empty, every rank's data is already the "
                         "result.\n");
        return STATUS_OK;
    }
    print_rule(t);
    if (plan->n_ranks > VALUES_MAX_RANKS || plan->n_ops > FULL_OPS) {
        print_summary_of_steps(t);
        return STATUS_OK;
    }
    int paging = t->show->pause;
    for (int stop = 0; stop < v->n_stops; stop++) {
        print_step_title(t, &v->stops[stop]);
        if (stop == 0)
            fprintf(t->file, "  a cell tells whose contributions a segment holds = the value read in "
                             "its first element\n");
        TRY(print_ops(t, v->stops[stop].end));
        TRY(print_state(t, stop));
        if (v->stops[stop].step == plan->n_ranks - 2)
            print_owners(t);
        if (paging && stop + 1 < v->n_stops)
            paging = pause_here(t);
    }
out:
    return status;
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
    fprintf(t->file, "  %-25s  %s%s%s", question, paint(t, good ? GREEN : RED), good ? "yes" : "NO",
            paint(t, PLAIN));
}

static void print_verdict(const struct text *t)
{
    const struct scene *s = t->scene;
    const struct verdict *v = s->verdict;
    print_answer(t, "all ranks bit-identical", v->n_different == 0);
    fprintf(t->file, "   %" PRId64 " elements of %d rank%s\n", v->n_checked, s->plan->n_ranks,
            s->plan->n_ranks == 1 ? "" : "s");
    if (v->n_different)
        print_misfit(t, "rank 0 has", v->n_different, &v->different);
    print_answer(t, "value right", v->n_wrong == 0);
    fprintf(t->file, "   against the same additions made on the host, bit for bit\n");
    if (v->n_wrong)
        print_misfit(t, "want", v->n_wrong, &v->wrong);
    if (dtype_is_float(s->plan->dtype))
        fprintf(t->file, v->distance > 0 ? "  %-25s  at most %.3g (relative: %.3g), since each addition "
                                           "rounds\n" : "  %-25s  none\n",
                "distance to float64", v->distance, v->relative);
    if (v->n_infinite + v->n_nan > 0)
        fprintf(t->file, "  %-25s  %" PRId64 " infinite and %" PRId64 " NaN elements: such is the %s "
                         "in %s\n", "not finite", v->n_infinite, v->n_nan,
                redop_name(s->plan->redop), dtype_name(s->plan->dtype));
    fprintf(t->file, "  %-25s  0x%016" PRIx64, "hash of the result", v->hash);
    if (s->values && s->second_hash == v->hash)
        fprintf(t->file, " (of both runs, the timed and the shown)");
    else if (s->values)
        fprintf(t->file, " in the timed run, %s0x%016" PRIx64 " in the one shown: THEY DIFFER%s",
                paint(t, RED), s->second_hash, paint(t, PLAIN));
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
    fprintf(t->file, "; 2(N-1)/N x S = %.6g x %s", (double)ring_steps(n) / n,
            format_bytes(size, b));
    fprintf(t->file, s->plan->iterations > 1 ? ", %d times\n" : "\n", s->plan->iterations);
    if (traffic.busiest_from != NONE) {
        fprintf(t->file, "  %-25s  ", traffic.all_alike ? "each link" : "busiest link");
        if (!traffic.all_alike)
            fprintf(t->file, "%d -> %d: ", traffic.busiest_from, traffic.busiest_to);
        fprintf(t->file, "%s", format_bytes(traffic.busiest_bytes, a));
        if (traffic.busiest_ns && !s->random)
            fprintf(t->file, ", in use %.1f of %.1f us", us(traffic.busiest_ns),
                    us(s->timing->total_ns));
        fputc('\n', t->file);
    }
    if (s->plan->n_ops == 0) {
        fprintf(t->file, "  %-25s  n/a: nothing was sent\n", "time");
        return STATUS_OK;
    }
    if (s->random) {
        fprintf(t->file, "  %-25s  none: a random schedule, of %" PRId64 " choices\n", "time",
                s->timing->total_ns / 1000);
        return STATUS_OK;
    }
    fprintf(t->file, "  %-25s  %.1f us%s", "time", us(s->timing->total_ns),
            s->simulated       ? " (modelled)"
            : s->timing->wall ? " (host clock, queueing included, no warm-up)"
                               : " (one run, after one to warm up)");
    if (n > 1)
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
    TRY(order_open(&t.order, scene->plan, err));
    TRY(contents_init(&t.contents, scene->plan, err));
    TRY(allocate((void **)&t.printed, scene->plan->n_ops, 1, "the trace", err));
    TRY(allocate((void **)&t.held, scene->plan->n_ops, sizeof *t.held, "the trace", err));
    measure(&t);
    if (!show->quiet)
        print_head(&t);
    if (show->steps && scene->values)
        TRY(print_steps(&t));
    if (!show->quiet)
        heading(&t, "result");
    if (!scene->verdict) {
        print_answer(&t, "value right", 0);
        fprintf(t.file, "   not run: the plan cannot run\n");
    } else {
        print_verdict(&t);
        if (!show->quiet)
            TRY(print_figures(&t));
        if (!show->quiet && scene->written[0])
            print_words(&t, "written", scene->written);
    }
out:
    free(t.printed);
    free(t.held);
    contents_free(&t.contents);
    order_close(&t.order);
    return status;
}
