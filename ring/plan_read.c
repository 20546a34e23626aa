/* plan_read.c - reading a plan's text: one pass over words; then the waits find the ops they name
 * in a sorted list, since they may point ahead. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ring/plan_text.h"

struct word {
    const char *text;
    int length, line, column;
};

struct pending { /* a wait whose op may come on a later line */
    struct word name;
    int64_t at; /* in plan.waits */
};

struct reader {
    struct plan *plan;
    const char *source, *at, *end, *line_start;
    int line;
    struct word word; /* the one being looked at; length 0 = end of line, or of text */
    struct pending *pending;
    int64_t n_pending, pending_capacity;
    int64_t names_capacity, words_capacity;
    struct word *words;    /* [n_ops]: the names where they stand */
    unsigned settings;     /* bit i: settings[i] was given */
    struct error *err;
};

static enum status complain(struct reader *r, struct word w, const char *wanted)
{
    int n = w.length < 40 ? w.length : 40;
    char found[48] = "the end of the line";
    if (n > 0) {
        snprintf(found, sizeof found, "'%.*s'", n, w.text);
        for (char *c = found; *c; c++)
            if (!isprint((unsigned char)*c))
                *c = '?';
    }
    return fail(r->err, STATUS_USAGE, "%s:%d:%d: found %s, expected %s", r->source, w.line,
                w.column, found, wanted);
}

/* Words are cut at blanks; "NAME:" keeps its colon. Stays at the end of the line until next_line */
static void next_word(struct reader *r)
{
    while (r->at < r->end && *r->at != '\n' && isspace((unsigned char)*r->at))
        r->at++;
    const char *begin = r->at;
    if (begin == r->end || *begin != '#')
        while (r->at < r->end && !isspace((unsigned char)*r->at))
            r->at++;
    r->word = (struct word){begin, (int)(r->at - begin), r->line, (int)(begin - r->line_start) + 1};
}

/* Goes to the first word of the next line that has one; 0 at the end of the text. */
static int next_line(struct reader *r)
{
    do {
        const char *newline = r->at < r->end ? memchr(r->at, '\n', (size_t)(r->end - r->at)) : NULL;
        if (r->line > 0 && !newline)
            return 0;
        if (r->line > 0)
            r->at = newline + 1;
        r->line++;
        r->line_start = r->at;
        next_word(r);
    } while (r->word.length == 0);
    return 1;
}

static int is(struct word w, const char *text)
{
    return (size_t)w.length == strlen(text) && memcmp(w.text, text, (size_t)w.length) == 0;
}

/* A whole number at *from, not beyond `end`; moves *from behind it. 0 = there is none in range. */
static int scan_number(const char **from, const char *end, int64_t most, int64_t *out)
{
    const char *c = *from;
    int64_t value = 0;
    if (c == end || !isdigit((unsigned char)*c))
        return 0;
    for (; c < end && isdigit((unsigned char)*c); c++) {
        int digit = *c - '0';
        if (digit > most || value > (most - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    *from = c;
    *out = value;
    return 1;
}

static enum status read_number(struct reader *r, int64_t most, int64_t *out)
{
    const char *from = r->word.text, *end = from + r->word.length;
    char wanted[64];
    if (!scan_number(&from, end, most, out) || from != end) {
        snprintf(wanted, sizeof wanted, "a whole number from 0 to %" PRId64, most);
        return complain(r, r->word, wanted);
    }
    next_word(r);
    return STATUS_OK;
}

static enum status read_int(struct reader *r, int64_t most, int *out)
{
    int64_t value = 0;
    enum status status = read_number(r, most, &value);
    *out = (int)value;
    return status;
}

/* RANK.WORD, as in "3.inbox" or "3.send": *rest is what follows the rank and the dot. */
static int scan_rank(struct reader *r, const char **from, const char *end, int *rank)
{
    int64_t value;
    if (!scan_number(from, end, r->plan->n_ranks - 1, &value) || *from == end || **from != '.')
        return 0;
    ++*from;
    *rank = (int)value;
    return 1;
}

/* Which of n names stands at *from? Moves *from behind it; NONE = none of them. */
static int scan_name(const char **from, const char *end, const char *(*name)(int), int n)
{
    for (int i = 0; i < n; i++) {
        size_t length = strlen(name(i));
        if ((size_t)(end - *from) >= length && memcmp(*from, name(i), length) == 0) {
            *from += length;
            return i;
        }
    }
    return NONE;
}

static const char *memory_word(int i) { return memory_name((enum memory)i); }
static const char *lane_word(int i) { return lane_name((enum lane)i); }
static const char *reason_word(int i) { return wait_reason_name((enum wait_reason)i); }
static const char *kind_word(int i) { return op_kind_name((enum op_kind)i); }

static enum status read_span(struct reader *r, struct span *out)
{
    const char *from = r->word.text, *end = from + r->word.length;
    int64_t last = 0;
    int memory = NONE;
    char wanted[120];
    if (scan_rank(r, &from, end, &out->rank) &&
        (memory = scan_name(&from, end, memory_word, N_MEMORIES)) != NONE && from < end &&
        *from++ == '[' && scan_number(&from, end, INT64_MAX / 2, &out->first) && from < end &&
        *from++ == ':' && scan_number(&from, end, INT64_MAX / 2, &last) && from + 1 == end &&
        *from == ']' && last >= out->first) {
        out->memory = (enum memory)memory;
        out->count = last - out->first;
        next_word(r);
        return STATUS_OK;
    }
    snprintf(wanted, sizeof wanted,
             "a span RANK.MEMORY[FIRST:END], ranks 0 to %d, memory data or inbox, FIRST <= END",
             r->plan->n_ranks - 1);
    return complain(r, r->word, wanted);
}

static enum status read_lane(struct reader *r, struct op *op)
{
    const char *from = r->word.text, *end = from + r->word.length;
    int lane = NONE;
    if (!scan_rank(r, &from, end, &op->rank) ||
        (lane = scan_name(&from, end, lane_word, N_LANES)) == NONE || from != end)
        return complain(r, r->word, "a lane: RANK.compute, RANK.send or RANK.reduce");
    op->lane = (enum lane)lane;
    next_word(r);
    return STATUS_OK;
}

/* Room for one item more than `used`. */
static enum status reserve(struct reader *r, void **items, int64_t used, int64_t *capacity,
                           size_t size)
{
    return make_room(items, used + 1, capacity, size, r->source, r->err);
}

/* after NAME REASON: the wait is appended to the plan, its op found later. */
static enum status read_wait(struct reader *r)
{
    enum status status = STATUS_OK;
    struct plan *plan = r->plan;
    struct word name = r->word;
    if (name.length == 0)
        return complain(r, name, "the name of an op");
    next_word(r);
    const char *from = r->word.text, *end = from + r->word.length;
    int reason = scan_name(&from, end, reason_word, N_WAIT_REASONS);
    if (reason == NONE || from != end)
        return complain(r, r->word, "a reason: ready, arrived, drained or serial");
    next_word(r);
    TRY(reserve(r, (void **)&plan->waits, plan->n_waits, &plan->waits_capacity,
                sizeof *plan->waits));
    TRY(reserve(r, (void **)&r->pending, r->n_pending, &r->pending_capacity, sizeof *r->pending));
    r->pending[r->n_pending++] = (struct pending){name, plan->n_waits};
    plan->waits[plan->n_waits++] = (struct wait){NONE, (enum wait_reason)reason};
out:
    return status;
}

static enum status read_clauses(struct reader *r, struct op *op)
{
    enum status status = STATUS_OK;
    while (r->word.length > 0) {
        struct word clause = r->word;
        int i = 0;
        while (i < N_OP_LABELS && !is(clause, op_label_name(i)))
            i++;
        next_word(r);
        if (i < N_OP_LABELS) {
            TRY(read_int(r, INT32_MAX - 1, op_label(op, i)));
        } else if (is(clause, "lane")) {
            TRY(read_lane(r, op));
        } else if (is(clause, "after")) {
            TRY(read_wait(r));
            op->n_waits++;
        } else {
            return complain(r, clause, "iteration, bucket, step, segment, piece, lane or after");
        }
    }
out:
    return status;
}

/* Names come back in sentences, on terminals: so no control characters, and not without end. */
static int is_name(struct word w)
{
    for (int i = 0; i < w.length; i++)
        if (w.text[i] < 0x21 || w.text[i] > 0x7e)
            return 0;
    return w.length <= 61; /* with its colon */
}

/* NAME: has been seen; the rest of the line makes an op. */
static enum status read_op(struct reader *r, struct word name)
{
    enum status status = STATUS_OK;
    struct plan *plan = r->plan;
    struct op op = {.bucket = NONE, .step = NONE, .segment = NONE, .piece = NONE,
                    .first_wait = plan->n_waits};
    next_word(r);
    const char *from = r->word.text, *end = from + r->word.length;
    int kind = scan_name(&from, end, kind_word, N_OP_KINDS);
    if (!is_name(name))
        return complain(r, name, "a name of at most 60 printable ASCII characters");
    if (kind == NONE || from != end)
        return complain(r, r->word, "an op: copy, reduce, compute or scale");
    op.kind = (enum op_kind)kind;
    next_word(r);
    if (op.kind == OP_COPY || op.kind == OP_REDUCE) {
        TRY(read_span(r, &op.src));
        if (!is(r->word, "->"))
            return complain(r, r->word, "->");
        next_word(r);
    }
    struct word destination = r->word;
    TRY(read_span(r, &op.dst));
    if (op.src.count != op.dst.count && (op.kind == OP_COPY || op.kind == OP_REDUCE))
        return complain(r, destination, "as many elements on the right of -> as on the left");
    op.lane = op_usual_lane(op.kind);
    op.rank = (op.kind == OP_COPY ? op.src : op.dst).rank;
    TRY(read_clauses(r, &op));

    TRY(reserve(r, (void **)&plan->ops, plan->n_ops, &plan->ops_capacity, sizeof op));
    TRY(reserve(r, (void **)&plan->names, plan->n_ops, &r->names_capacity, sizeof *plan->names));
    TRY(reserve(r, (void **)&r->words, plan->n_ops, &r->words_capacity, sizeof *r->words));
    r->words[plan->n_ops] = name;
    r->words[plan->n_ops].length--; /* the colon */
    plan->names[plan->n_ops] = strndup(name.text, (size_t)name.length - 1);
    if (!plan->names[plan->n_ops])
        return fail(r->err, STATUS_MACHINE, "%s: not enough memory to read it", r->source);
    plan->ops[plan->n_ops++] = op;
out:
    return status;
}

static const char *const settings[] = {"count", "inbox", "iterations", "pieces", "slots", "dtype",
                                       "redop"};
#define N_SETTINGS (int)(sizeof settings / sizeof *settings)
enum { SET_COUNT, SET_INBOX, SET_ITERATIONS, SET_PIECES, SET_SLOTS, SET_DTYPE, SET_REDOP };

static enum status read_name(struct reader *r, int setting)
{
    char name[16];
    snprintf(name, sizeof name, "%.*s", r->word.length, r->word.text);
    if (setting == SET_DTYPE && !dtype_parse(name, &r->plan->dtype))
        return complain(r, r->word, "float32, float64 or int32");
    if (setting == SET_REDOP && !redop_parse(name, &r->plan->redop))
        return complain(r, r->word, "sum, avg, min, max or prod");
    next_word(r);
    return STATUS_OK;
}

/* count, dtype, .. : everything about the plan but its ranks and ops. Each once. */
static enum status read_setting(struct reader *r, struct word key)
{
    struct plan *plan = r->plan;
    int64_t most = INT64_MAX / 16 / plan->n_ranks;
    int setting = 0;
    while (setting < N_SETTINGS && !is(key, settings[setting]))
        setting++;
    if (setting == N_SETTINGS)
        return complain(r, key, "NAME: to begin an op, or count, dtype, redop, iterations, pieces, "
                                "slots or inbox");
    if (r->settings & 1u << setting)
        return complain(r, key, "each setting once");
    r->settings |= 1u << setting;
    next_word(r);
    switch (setting) {
    case SET_COUNT: return read_number(r, most, &plan->count);
    case SET_INBOX: return read_number(r, most, &plan->inbox_count);
    case SET_ITERATIONS: return read_int(r, 1000000, &plan->iterations);
    case SET_PIECES: return read_int(r, 4096, &plan->pieces);
    case SET_SLOTS: return read_int(r, 4096, &plan->slots);
    default: return read_name(r, setting);
    }
}

static enum status read_head(struct reader *r)
{
    enum status status = STATUS_OK;
    int version = 0, ranks = 0;
    if (!next_line(r) || !is(r->word, "plan"))
        return complain(r, r->word, "'plan 1' on the first line");
    next_word(r);
    struct word number = r->word;
    TRY(read_int(r, INT32_MAX, &version));
    if (version != 1)
        return complain(r, number, "1, the version of the format that this ring_demo reads");
    if (r->word.length > 0)
        return complain(r, r->word, "the end of the line");
    if (!next_line(r) || !is(r->word, "ranks"))
        return complain(r, r->word, "'ranks N' on the second line");
    next_word(r);
    number = r->word;
    TRY(read_int(r, PLAN_MAX_RANKS, &ranks));
    if (ranks < 1)
        return complain(r, number, "at least 1 rank");
    if (r->word.length > 0)
        return complain(r, r->word, "the end of the line");
    TRY(plan_init(r->plan, ranks, 0, DTYPE_FLOAT32, REDOP_SUM, r->err));
out:
    return status;
}

struct entry {
    const char *name;
    int64_t id;
};

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static enum status resolve_waits(struct reader *r)
{
    enum status status = STATUS_OK;
    struct plan *plan = r->plan;
    struct entry *entries = NULL;
    char *name = NULL;
    TRY(allocate((void **)&entries, plan->n_ops, sizeof *entries, "names", r->err));
    for (int64_t i = 0; i < plan->n_ops; i++)
        entries[i] = (struct entry){plan->names[i], i};
    qsort(entries, (size_t)plan->n_ops, sizeof *entries, compare_entries);
    for (int64_t i = 1; i < plan->n_ops; i++)
        if (strcmp(entries[i - 1].name, entries[i].name) == 0) {
            int64_t a = entries[i - 1].id, b = entries[i].id;
            status = complain(r, r->words[a > b ? a : b], "a name that no other op has");
            goto out;
        }
    for (int64_t i = 0; i < r->n_pending; i++) {
        struct word w = r->pending[i].name;
        free(name);
        name = strndup(w.text, (size_t)w.length);
        const struct entry key = {name ? name : "", NONE};
        const struct entry *found =
            bsearch(&key, entries, (size_t)plan->n_ops, sizeof key, compare_entries);
        if (!found) {
            status = complain(r, w, "the name of an op of this plan");
            goto out;
        }
        plan->waits[r->pending[i].at].op = found->id;
    }
out:
    free(name);
    free(entries);
    return status;
}

enum status plan_read(struct plan *plan, const char *text, size_t length, const char *source,
                      struct error *err)
{
    enum status status = STATUS_OK;
    struct reader r = {.plan = plan, .source = source, .at = text, .end = text + length,
                       .line_start = text, .word = {.line = 1, .column = 1}, .err = err};
    memset(plan, 0, sizeof *plan);
    TRY(read_head(&r));
    while (next_line(&r)) {
        struct word first = r.word;
        if (first.length > 1 && first.text[first.length - 1] == ':')
            TRY(read_op(&r, first));
        else if (plan->n_ops > 0)
            TRY(complain(&r, first, "NAME: to begin an op (settings come before the first op)"));
        else
            TRY(read_setting(&r, first));
        if (r.word.length > 0)
            TRY(complain(&r, r.word, "the end of the line"));
    }
    if (!(r.settings & 1u << SET_COUNT))
        TRY(complain(&r, r.word, "a line 'count E', the elements of each rank's data"));
    if (plan->iterations < 1 || plan->pieces < 1 || plan->slots < 1)
        TRY(fail(err, STATUS_USAGE, "%s: iterations, pieces and slots are at least 1", source));
    TRY(resolve_waits(&r));
out:
    free(r.pending);
    free(r.words);
    if (status != STATUS_OK)
        plan_free(plan);
    return status;
}
