/* quiz.c - one table of kinds of questions. Each kind looks at one candidate (an op, a cell of the
 * state table, a finding, a rank) and either makes a question of it or passes; lots are drawn for
 * the candidate to begin with.
 */
#include "ring/quiz.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "common/pattern.h"

#define SHORT_SIZE 64

/* ---- what several kinds ask themselves ---- */

static const struct op *op_at(const struct quiz_view *v, int64_t candidate)
{
    return &v->plan->ops[v->ops[candidate]];
}

/* The same ring's same step? */
static int same_step(const struct op *a, const struct op *b)
{
    return a->bucket == b->bucket && a->iteration == b->iteration && a->step == b->step;
}

/* "At step s=3, w" or "W": how a question begins. */
static const char *at_step(const struct quiz_view *v, const struct op *op, const char *capital,
                           char *text)
{
    if (v->many_steps)
        snprintf(text, SHORT_SIZE, "At step s=%d, %c", op->step, capital[0] - 'A' + 'a');
    else
        snprintf(text, SHORT_SIZE, "%s", capital);
    return text;
}

/* The segment that a copy or an add is labelled with, where its span bears the label out. */
static int segment_of(const struct quiz_view *v, const struct op *op)
{
    const struct span *at = op->kind == OP_COPY ? &op->src : &op->dst;
    if (op->segment == NONE || at->count == 0 || at->memory != MEMORY_DATA)
        return NONE;
    if (op->bucket == NONE && (plan_segment(v->plan, at->first) != op->segment ||
                               plan_segment(v->plan, at->first + at->count - 1) != op->segment))
        return NONE;
    return op->segment;
}

static int is_ranks(const struct quiz_view *v, const char *text)
{
    int counts[PLAN_MAX_RANKS];
    return quiz_ranks(text, v->plan->n_ranks, counts);
}

/* ---- the kinds ---- */

static int ask_sends(const struct quiz_view *v, int64_t candidate, struct question *q)
{
    const struct op *op = op_at(v, candidate);
    int segment = segment_of(v, op);
    char begin[SHORT_SIZE];
    if (op->kind != OP_COPY || segment == NONE || op->src.rank == op->dst.rank)
        return 0;
    for (int64_t i = 0; i < v->n_ops; i++) {
        const struct op *other = op_at(v, i);
        if (other->kind == OP_COPY && other->src.rank == op->src.rank && same_step(other, op) &&
            segment_of(v, other) != segment)
            return 0;
    }
    snprintf(q->text, sizeof q->text, "%shich segment does rank %d send%s?",
             at_step(v, op, "W", begin), op->src.rank, v->many_steps ? "" : " now");
    snprintf(q->answer, sizeof q->answer, "%d", segment);
    q->ops[0] = v->ops[candidate];
    return 1;
}

/* Of our own ring everybody knows: its right-hand neighbour. */
static int ask_receiver(const struct quiz_view *v, int64_t candidate, struct question *q)
{
    const struct op *op = op_at(v, candidate);
    char begin[SHORT_SIZE];
    if (op->kind != OP_COPY || op->src.rank == op->dst.rank || !v->changed)
        return 0;
    for (int64_t i = 0; i < v->n_ops; i++) {
        const struct op *other = op_at(v, i);
        if (other->kind == OP_COPY && other->src.rank == op->src.rank && same_step(other, op) &&
            other->dst.rank != op->dst.rank)
            return 0;
    }
    snprintf(q->text, sizeof q->text, "%so which rank does rank %d send%s?",
             at_step(v, op, "T", begin), op->src.rank, v->many_steps ? "" : " now");
    snprintf(q->answer, sizeof q->answer, "%d", op->dst.rank);
    q->ops[0] = v->ops[candidate];
    return 1;
}

/* The last op of the moment that writes into a segment of a rank's data, or NONE. */
static int64_t writer_of(const struct quiz_view *v, int rank, int segment)
{
    int64_t first, count, writer = NONE;
    plan_part(0, v->plan->count, v->plan->n_ranks, segment, &first, &count);
    for (int64_t i = 0; i < v->n_ops; i++) {
        const struct span *to = &op_at(v, i)->dst;
        if (to->rank == rank && to->memory == MEMORY_DATA && to->first < first + count &&
            first < to->first + to->count)
            writer = v->ops[i];
    }
    return writer;
}

/* A cell of the state table: rank, segment, whose contributions. 0: it is empty or uncertain. */
static int read_cell(const struct quiz_view *v, int64_t candidate, struct question *q,
                     char held[HOLDS_SIZE])
{
    int n = v->plan->n_ranks, mixed;
    int64_t first, count;
    q->rank = (int)(candidate / n);
    q->segment = (int)(candidate % n);
    plan_part(0, v->plan->count, n, q->segment, &first, &count);
    if (v->dubious || count == 0)
        return 0;
    holds_segment(v->holds, q->rank, q->segment, &mixed, held, HOLDS_SIZE);
    return !mixed && is_ranks(v, held);
}

static int ask_holds(const struct quiz_view *v, int64_t candidate, struct question *q)
{
    char held[HOLDS_SIZE];
    if (!read_cell(v, candidate, q, held))
        return 0;
    snprintf(q->text, sizeof q->text, "Whose contributions will segment %d of rank %d hold "
             "afterwards?", q->segment, q->rank);
    snprintf(q->answer, sizeof q->answer, "%s", held);
    q->ops[0] = writer_of(v, q->rank, q->segment);
    return 1;
}

/* Only whole numbers: those can be worked out in one's head, and are printed in full. */
static int ask_value(const struct quiz_view *v, int64_t candidate, struct question *q)
{
    char held[HOLDS_SIZE], value[FORMAT_SIZE];
    if (!read_cell(v, candidate, q, held))
        return 0;
    double read = v->read[candidate];
    if (!(fabs(read) < 1e6) || read != floor(read))
        return 0;
    snprintf(q->text, sizeof q->text, "Which value will the first element of segment %d of rank %d "
             "have afterwards?", q->segment, q->rank);
    snprintf(q->answer, sizeof q->answer, "%s", format_value(read, value));
    q->number = read;
    return 1;
}

/* The sum that an add leaves behind, where there is no table; all its pieces must agree. */
static int ask_sum(const struct quiz_view *v, int64_t candidate, struct question *q)
{
    const struct op *op = op_at(v, candidate);
    const char *held = v->holds->after[v->ops[candidate]];
    char begin[SHORT_SIZE];
    if (op->kind != OP_REDUCE || segment_of(v, op) == NONE || v->dubious || v->read ||
        !is_ranks(v, held))
        return 0;
    for (int64_t i = 0; i < v->n_ops; i++) {
        const struct op *other = op_at(v, i);
        if (other->kind == OP_REDUCE && other->rank == op->rank && same_step(other, op) &&
            other->segment == op->segment && strcmp(v->holds->after[v->ops[i]], held) != 0)
            return 0;
    }
    snprintf(q->text, sizeof q->text, "%sank %d adds segment %d. Whose contributions does it hold "
             "then?", at_step(v, op, "R", begin), op->rank, op->segment);
    snprintf(q->answer, sizeof q->answer, "%s", held);
    q->ops[0] = v->ops[candidate];
    return 1;
}

static int meet(const struct span *a, const struct span *b)
{
    return a->rank == b->rank && a->memory == b->memory && a->first < b->first + b->count &&
           b->first < a->first + a->count;
}

static unsigned bit(enum wait_reason reason) { return 1u << reason; }

/* For which reasons `op` must wait for `other`, as far as their own spans tell: a bit each. */
static unsigned reasons(const struct op *op, const struct op *other)
{
    enum wait_reason made = other->kind == OP_COPY ? WAIT_ARRIVED : WAIT_READY;
    unsigned found = 0;
    if (meet(&op->src, &other->dst) || meet(&op->dst, &other->dst))
        found |= bit(made);
    if (meet(&op->dst, &other->src))
        found |= bit(WAIT_DRAINED);
    return found;
}

static const char *const because[N_WAIT_REASONS] = {
    [WAIT_READY] = "ready: what it reads has been produced",
    [WAIT_ARRIVED] = "arrived: what it reads, or writes over, has landed",
    [WAIT_DRAINED] = "drained: what it overwrites has been read",
    [WAIT_SERIAL] = "serial: an order that is wanted, not needed",
};

/* The candidate's waits are tried from the last one on: `drained` is the one to think about. */
static int ask_why(const struct quiz_view *v, int64_t candidate, struct question *q)
{
    const struct op *op = op_at(v, candidate);
    const struct wait *waits = &v->plan->waits[op->first_wait];
    char name[OP_NAME_SIZE], other[OP_NAME_SIZE];
    for (int i = op->n_waits - 1; i >= 0; i--) {
        int times = 0;
        unsigned found = reasons(op, &v->plan->ops[waits[i].op]);
        for (int j = 0; j < op->n_waits; j++)
            times += waits[j].op == waits[i].op;
        if (times > 1 || (found && found != bit(waits[i].reason)) || (!found && v->changed))
            continue;
        snprintf(q->text, sizeof q->text, "%s waits for %s. Why: %s?",
                 op_name(v->plan, v->ops[candidate], name), op_name(v->plan, waits[i].op, other),
                 v->proof->n_serial ? "ready, arrived, drained or serial"
                                    : "ready, arrived or drained");
        snprintf(q->answer, sizeof q->answer, "%s", wait_reason_name(waits[i].reason));
        q->because = because[waits[i].reason];
        q->ops[0] = v->ops[candidate];
        return 1;
    }
    return 0;
}

/* Have all hazards been kept? Else there may be another for the same op. */
static int all_kept(const struct proof *proof)
{
    for (int kind = FINDING_READ_AFTER_WRITE; kind <= FINDING_WRITE_AFTER_WRITE; kind++)
        if (proof->counts[kind] > PROOF_MAX_FINDINGS)
            return 0;
    return 1;
}

static int ask_missing(const struct quiz_view *v, int64_t candidate, struct question *q)
{
    const struct finding *f = &v->proof->findings[candidate];
    char name[OP_NAME_SIZE];
    int here = 0;
    if (!finding_is_hazard(f) || !all_kept(v->proof))
        return 0;
    for (int i = 0; i < v->proof->n_findings; i++)
        if (i != candidate && finding_is_hazard(&v->proof->findings[i]) &&
            v->proof->findings[i].op == f->op)
            return 0;
    for (int64_t i = 0; i < v->n_ops && !here; i++)
        here = v->ops[i] == f->op;
    const char *other = op_name(v->plan, f->other, name);
    if (!here || strcmp(other, "q") == 0) /* which would end the quiz */
        return 0;
    snprintf(q->answer, sizeof q->answer, "%s", other);
    snprintf(q->text, sizeof q->text, "%s lacks a wait, says the proof. For which op should it "
             "wait?", op_name(v->plan, f->op, name));
    q->finding = (int)candidate;
    q->ops[0] = f->op;
    return 1;
}

/* From begin to end of what a rank computes; 0: it rests in between, or computes nothing. */
static int compute_span(const struct quiz_view *v, int rank, int64_t *begin, int64_t *end,
                        int64_t *last)
{
    *last = NONE;
    for (int64_t id = 0; id < v->plan->n_ops; id++) {
        const struct op *op = &v->plan->ops[id];
        if (op->kind != OP_COMPUTE || op->rank != rank)
            continue;
        if (*last == NONE)
            *begin = v->timing->begin_ns[id];
        else if (v->timing->begin_ns[id] > *end)
            return 0;
        *last = id;
        *end = v->timing->end_ns[id];
    }
    return *last != NONE;
}

static int ask_exposed(const struct quiz_view *v, int64_t candidate, struct question *q)
{
    int rank = (int)candidate, bucket = v->n_ops ? op_at(v, 0)->bucket : NONE;
    int64_t begin, end, ring_begin = INT64_MAX, ring_end = 0;
    if (bucket == NONE || v->random || !v->timing->per_op ||
        !compute_span(v, rank, &begin, &end, &q->ops[0]))
        return 0;
    for (int64_t i = 0; i < v->n_ops; i++) {
        int64_t id = v->ops[i];
        if (op_at(v, i)->rank != rank || op_at(v, i)->bucket != bucket)
            continue;
        if (v->timing->begin_ns[id] < ring_begin)
            ring_begin = v->timing->begin_ns[id];
        if (v->timing->end_ns[id] > ring_end) {
            ring_end = v->timing->end_ns[id];
            q->ops[1] = id;
        }
    }
    if (q->ops[1] == NONE || ring_begin < begin)
        return 0;
    int64_t from = ring_begin > end ? ring_begin : end;
    q->number = ring_end > from ? (double)(ring_end - from) / 1000 : 0;
    q->slack = 0.16; /* three times were rounded to 0.1 us */
    snprintf(q->text, sizeof q->text, "Rank %d computes from %.1f to %.1f us, and its ring of "
             "bucket %d runs from %.1f to %.1f us.\nHow many us of that are exposed?", rank,
             (double)begin / 1000, (double)end / 1000, bucket, (double)ring_begin / 1000,
             (double)ring_end / 1000);
    snprintf(q->answer, sizeof q->answer, "%.1f us", q->number);
    q->because = "exposed: a bucket is on its way while nothing is computed";
    return 1;
}

/* ---- the table ---- */

static int64_t count_ops(const struct quiz_view *v) { return v->n_ops; }
static int64_t count_findings(const struct quiz_view *v) { return v->proof->n_findings; }
static int64_t count_ranks(const struct quiz_view *v) { return v->plan->n_ranks; }
static int64_t count_cells(const struct quiz_view *v)
{
    return v->read ? (int64_t)v->plan->n_ranks * v->plan->n_ranks : 0;
}

static const struct kind {
    const char *name;
    enum quiz_form form;
    int64_t (*count)(const struct quiz_view *view); /* candidates */
    /* Makes a question of this candidate; 0: it is none, or its answer is not certain. */
    int (*ask)(const struct quiz_view *view, int64_t candidate, struct question *question);
} kinds[] = {
    {"exposed", FORM_TIME, count_ranks, ask_exposed},
    {"missing", FORM_OP, count_findings, ask_missing},
    {"sends", FORM_SEGMENT, count_ops, ask_sends},
    {"holds", FORM_RANKS, count_cells, ask_holds},
    {"sum", FORM_RANKS, count_ops, ask_sum},
    {"why", FORM_REASON, count_ops, ask_why},
    {"value", FORM_VALUE, count_cells, ask_value},
    {"receiver", FORM_RANK, count_ops, ask_receiver},
};
#define N_KINDS (int)(sizeof kinds / sizeof *kinds)

/* ---- making a quiz ---- */

static uint64_t draw(struct quiz *quiz)
{
    return pattern_hash(pattern_hash(quiz->seed) ^ ++quiz->drawn);
}

/* Do the lines that prove an earlier answer of this moment show this one, too? */
static int is_given_away(const struct quiz *quiz, const struct question *q)
{
    for (int64_t i = quiz->n_questions; i > 0; i--) {
        const struct question *earlier = &quiz->questions[i - 1];
        if (earlier->moment != quiz->n_moments - 1)
            return 0;
        if (q->rank != NONE && q->rank == earlier->rank)
            return 1;
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++)
                if (q->ops[a] != NONE && q->ops[a] == earlier->ops[b])
                    return 1;
    }
    return 0;
}

/* A number without common divisors with that of the candidates: steps this wide visit them all, and
 * not in the order of ranks. */
#define STRIDE 1000003

/* The first candidate from a random one on that makes a question of this kind. */
static int find_question(struct quiz *quiz, const struct quiz_view *view, const struct kind *kind,
                         struct question *q)
{
    int64_t n = kind->count(view), start = n > 0 ? (int64_t)(draw(quiz) % (uint64_t)n) : 0;
    int64_t stride = n % STRIDE ? STRIDE : 1;
    for (int64_t i = 0; i < n; i++) {
        *q = (struct question){.form = kind->form, .kind = kind->name, .ops = {NONE, NONE},
                               .rank = NONE, .segment = NONE, .finding = NONE};
        if (kind->ask(view, (start + i * stride) % n, q) && !is_given_away(quiz, q))
            return 1;
    }
    return 0;
}

/* The row of a rank in that part of a folded table that has the segment's column. */
static void print_table_row(const char *table, int rank, int segment, FILE *file)
{
    char column[SHORT_SIZE], row[SHORT_SIZE];
    int inside = 0;
    snprintf(column, sizeof column, "segment %d ", segment);
    snprintf(row, sizeof row, "  rank %d ", rank);
    for (const char *line = table, *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *heading = line + strspn(line, " ");
        if (strncmp(heading, "segment ", 8) == 0) {
            const char *at = strstr(line, column);
            char last[SHORT_SIZE];
            int length = snprintf(last, sizeof last, "segment %d\n", segment);
            inside = (at && at < end) ||
                     (end - line >= length - 1 &&
                      strncmp(end + 1 - length, last, (size_t)length) == 0);
        } else if (inside && strncmp(line, row, strlen(row)) == 0) {
            fprintf(file, "%.*s\n", (int)(end - line), line);
            return;
        }
    }
}

/* The lines of the trace that show that the answer is so. */
static enum status prove_answer(const struct quiz_view *v, struct question *q, struct error *err)
{
    char sentence[FINDING_TEXT_SIZE];
    size_t size = 0;
    FILE *file = open_memstream(&q->lines, &size);
    if (!file)
        return fail(err, STATUS_MACHINE, "not enough memory for a question");
    if (q->finding != NONE)
        format_words(file, "", finding_text(v->plan, &v->proof->findings[q->finding], sentence,
                                            sizeof sentence));
    for (int i = 0; i < 2; i++)
        if (q->ops[i] != NONE)
            v->print_op(v->context, q->ops[i], file);
    if (q->rank != NONE)
        print_table_row(v->table, q->rank, q->segment, file);
    int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return fail(err, STATUS_MACHINE, "not enough memory for a question");
    return STATUS_OK;
}

static enum status add_question(struct quiz *quiz, const struct quiz_view *view,
                                struct question *q, struct error *err)
{
    enum status status = STATUS_OK;
    q->moment = (int)quiz->n_moments - 1;
    TRY(prove_answer(view, q, err));
    TRY(make_room((void **)&quiz->questions, quiz->n_questions + 1, &quiz->questions_capacity,
                  sizeof *quiz->questions, "the quiz", err));
    quiz->questions[quiz->n_questions++] = *q;
    q->lines = NULL;
out:
    free(q->lines);
    return status;
}

/* The least asked kind that is not yet tried here; lots are drawn where several are. */
static int choose_kind(struct quiz *quiz, unsigned tried)
{
    int best = NONE, start = (int)(draw(quiz) % N_KINDS);
    for (int i = 0; i < N_KINDS; i++) {
        int k = (start + i) % N_KINDS;
        if (!(tried & 1u << k) && (best == NONE || quiz->n_asked[k] < quiz->n_asked[best]))
            best = k;
    }
    return best;
}

static enum status add_moment(struct quiz *quiz, const struct quiz_view *view, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(make_room((void **)&quiz->moments, quiz->n_moments + 1, &quiz->moments_capacity,
                  sizeof *quiz->moments, "the quiz", err));
    struct quiz_moment *moment = &quiz->moments[quiz->n_moments++];
    *moment = (struct quiz_moment){strdup(view->title), strdup(view->table)};
    if (!moment->title || !moment->table)
        return fail(err, STATUS_MACHINE, "not enough memory for a question");
out:
    return status;
}

enum status quiz_ask_about(struct quiz *quiz, const struct quiz_view *view, int n_wanted,
                           struct error *err)
{
    _Static_assert(N_KINDS <= (int)(sizeof quiz->n_asked / sizeof *quiz->n_asked), "kinds");
    enum status status = STATUS_OK;
    unsigned tried = 0;
    quiz->plan = view->plan;
    TRY(add_moment(quiz, view, err));
    for (int k; n_wanted > 0 && (k = choose_kind(quiz, tried)) != NONE; tried |= 1u << k) {
        struct question q;
        if (!find_question(quiz, view, &kinds[k], &q))
            continue;
        TRY(add_question(quiz, view, &q, err));
        quiz->n_asked[k]++;
        n_wanted--;
    }
out:
    return status;
}

void quiz_free(struct quiz *quiz)
{
    for (int64_t i = 0; i < quiz->n_questions; i++)
        free(quiz->questions[i].lines);
    for (int64_t i = 0; i < quiz->n_moments; i++) {
        free(quiz->moments[i].title);
        free(quiz->moments[i].table);
    }
    free(quiz->questions);
    free(quiz->moments);
    free(quiz->table);
    memset(quiz, 0, sizeof *quiz);
}
