/* plan_read.c - reading a plan's text: one pass over words; then the waits find the ops they name
 * in a hash table, since they may point ahead.
 *
 * Lines and columns are counted only where there is something to complain about.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/input.h"
#include "common/quote.h"
#include "ring/goal.h"
#include "ring/plan_text.h"

struct word {
    const char *text;
    int length;
};

struct reader {
    struct plan *plan;
    const char *source, *text, *at, *end;
    int line_begun;        /* a line is being read: what is left of it precedes the next */
    struct word word;      /* the one being looked at; length 0 = end of line, or of text */
    struct word *names;    /* [n_ops]: of the ops, where they stand */
    struct word *awaited;  /* [n_waits]: the names that waits name */
    int64_t names_capacity, awaited_capacity;
    uint64_t key;          /* of the hash of names */
    unsigned settings;     /* bit i: settings[i] was given */
    struct error *err;
};

static enum status complain(const struct reader *r, struct word w, const char *wanted)
{
    int n = w.length < 40 ? w.length : 40, line = 1;
    char found[60] = "";
    snprintf(found, sizeof found, "the end of the %s", w.text == r->end ? "text" : "line");
    const char *begin = r->text, *newline;
    while ((newline = memchr(begin, '\n', (size_t)(w.text - begin))) != NULL) {
        begin = newline + 1;
        line++;
    }
    if (n > 0) {
        snprintf(found, sizeof found, "'%.*s'%s", n, w.text, n < w.length ? ".." : "");
        for (char *c = found; *c; c++)
            if (!isprint((unsigned char)*c))
                *c = '?';
    }
    return fail(r->err, STATUS_USAGE, "%s:%d:%lld: found %s, expected %s", r->source, line,
                (long long)(w.text - begin) + 1, found, wanted);
}

static int is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Words are cut at blanks; "NAME:" keeps its colon. Stays at the end of the line until next_line */
static void next_word(struct reader *r)
{
    const char *at = r->at, *end = r->end;
    while (at < end && *at != '\n' && is_blank(*at))
        at++;
    const char *begin = at;
    if (begin == end || *begin != '#')
        while (at < end && !is_blank(*at))
            at++;
    r->at = at;
    int64_t length = at - begin;
    r->word = (struct word){begin, length < INT32_MAX ? (int)length : INT32_MAX};
}

/* Goes to the first word of the next line that has one; 0 at the end of the text. */
static int next_line(struct reader *r)
{
    for (;;) {
        if (r->line_begun) {
            const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
            if (!newline)
                return 0;
            r->at = newline + 1;
        }
        r->line_begun = 1;
        next_word(r);
        if (r->word.length > 0)
            return 1;
        if (r->at == r->end)
            return 0;
    }
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

static enum status read_number(struct reader *r, int64_t least, int64_t most, int64_t *out)
{
    const char *from = r->word.text, *end = from + r->word.length;
    char wanted[80];
    if (!scan_number(&from, end, most, out) || from != end || *out < least) {
        snprintf(wanted, sizeof wanted, "a whole number from %" PRId64 " to %" PRId64, least, most);
        return complain(r, r->word, wanted);
    }
    next_word(r);
    return STATUS_OK;
}

static enum status read_int(struct reader *r, int64_t least, int64_t most, int *out)
{
    int64_t value = 0;
    enum status status = read_number(r, least, most, &value);
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
    char wanted[180];
    if (scan_rank(r, &from, end, &out->rank))
        memory = scan_name(&from, end, memory_word, N_MEMORIES);
    if (memory != NONE && from == end) { /* all of it */
        *out = (struct span){out->rank, (enum memory)memory, 0,
                             memory == MEMORY_DATA ? r->plan->count : r->plan->inbox_count};
        next_word(r);
        return STATUS_OK;
    }
    if (memory != NONE && *from++ == '[' &&
        scan_number(&from, end, INT64_MAX / 2, &out->first) && from < end &&
        *from++ == ':' && scan_number(&from, end, INT64_MAX / 2, &last) && from + 1 == end &&
        *from == ']' && last >= out->first) {
        out->memory = (enum memory)memory;
        out->count = last - out->first;
        next_word(r);
        return STATUS_OK;
    }
    from = r->word.text;
    int64_t rank;
    if (end - from > 2 && memchr(from, '>', (size_t)(end - from)))
        snprintf(wanted, sizeof wanted, "blanks around ->");
    else if (scan_number(&from, end, INT64_MAX - 1, &rank) && rank >= r->plan->n_ranks)
        snprintf(wanted, sizeof wanted, "a rank from 0 to %d", r->plan->n_ranks - 1);
    else
        snprintf(wanted, sizeof wanted,
                 "a span RANK.MEMORY or RANK.MEMORY[FIRST:END], as in 0.data[2:4] for elements 2 "
                 "and 3; memory data or inbox, FIRST <= END");
    return complain(r, r->word, wanted);
}

static enum status complain_lane(const struct reader *r)
{
    char wanted[100];
    snprintf(wanted, sizeof wanted,
             "a lane: RANK.compute, RANK.send or RANK.reduce, ranks 0 to %d", r->plan->n_ranks - 1);
    return complain(r, r->word, wanted);
}

static enum status read_lane(struct reader *r, struct op *op)
{
    const char *from = r->word.text, *end = from + r->word.length;
    int lane = NONE;
    if (!scan_rank(r, &from, end, &op->rank) ||
        (lane = scan_name(&from, end, lane_word, N_LANES)) == NONE || from != end)
        return complain_lane(r);
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
    TRY(reserve(r, (void **)&r->awaited, plan->n_waits, &r->awaited_capacity, sizeof name));
    TRY(reserve(r, (void **)&plan->waits, plan->n_waits, &plan->waits_capacity,
                sizeof *plan->waits));
    r->awaited[plan->n_waits] = name;
    plan->waits[plan->n_waits++] = (struct wait){NONE, (enum wait_reason)reason};
out:
    return status;
}

#define MOST_COST_NS 1000000000 /* as long as devices delay */

static enum status read_clauses(struct reader *r, struct op *op)
{
    enum status status = STATUS_OK;
    unsigned given = 0; /* bit i: label i; the next one: the lane */
    while (r->word.length > 0) {
        struct word clause = r->word;
        int i = 0;
        while (i < N_OP_LABELS && !is(clause, op_label_name(i)))
            i++;
        if ((i < N_OP_LABELS || is(clause, "lane")) && given & 1u << i)
            return complain(r, clause, "each label once, and one lane");
        given |= i < N_OP_LABELS || is(clause, "lane") ? 1u << i : 0;
        next_word(r);
        if (i < N_OP_LABELS) {
            TRY(read_int(r, 0, INT32_MAX - 1, op_label(op, i)));
        } else if (is(clause, "lane")) {
            TRY(read_lane(r, op));
        } else if (is(clause, "scaled")) {
            op->scaled = 1;
            if (op->kind != OP_COMPUTE || !dtype_is_float(r->plan->dtype))
                return complain(r, clause, "scaled only with a compute, of floats: integers are "
                                           "divided when their sum is complete");
        } else if (is(clause, "takes")) {
            TRY(read_number(r, 0, MOST_COST_NS, &op->cost_ns));
        } else if (is(clause, "after")) {
            TRY(read_wait(r));
            op->n_waits++;
        } else {
            return complain(r, clause,
                            is(clause, "->") ? "no ->: compute, scale and update have a "
                                               "destination alone"
                                             : "iteration, bucket, step, segment, piece, layer, "
                                               "lane, scaled, takes or after");
        }
    }
out:
    return status;
}

/* Names come back in sentences, on terminals: so no control characters, and not without end; and
 * no word that means something here. */
static int is_name(struct word w)
{
    for (int i = 0; i < w.length; i++)
        if (w.text[i] < 0x21 || w.text[i] > 0x7e)
            return 0;
    w.length--; /* the colon */
    for (int i = 0; i < N_OP_KINDS; i++)
        if (is(w, kind_word(i)))
            return 0;
    return w.length <= 60 && !is(w, "after");
}

/* The two sides of -> differ in size; mostly because the inbox was not told of. */
static enum status complain_counts(const struct reader *r, struct word destination,
                                   const struct op *op)
{
    char wanted[160];
    int no_inbox = r->plan->inbox_count == 0 &&
                   (op->src.memory == MEMORY_INBOX || op->dst.memory == MEMORY_INBOX);
    snprintf(wanted, sizeof wanted,
             "as many elements as on the left of ->: %" PRId64 ", not %" PRId64 "%s", op->src.count,
             op->dst.count, no_inbox ? " (an inbox has none without a line 'inbox E' before the "
                                       "first op)" : "");
    return complain(r, destination, wanted);
}

/* NAME: has been seen; the rest of the line makes an op. */
static enum status read_op(struct reader *r, struct word name)
{
    enum status status = STATUS_OK;
    struct plan *plan = r->plan;
    struct op op = {.bucket = NONE, .step = NONE, .segment = NONE, .piece = NONE, .layer = NONE,
                    .first_wait = plan->n_waits};
    next_word(r);
    const char *from = r->word.text, *end = from + r->word.length;
    int kind = scan_name(&from, end, kind_word, N_OP_KINDS);
    if (!is_name(name))
        return complain(r, name, "a name of at most 60 printable ASCII characters, not copy, "
                                 "reduce, compute, scale, update or after");
    if (kind == NONE || from != end)
        return complain(r, r->word, "an op: copy, reduce (which adds), compute, scale or "
                                    "update");
    op.kind = (enum op_kind)kind;
    next_word(r);
    if (op.kind == OP_COPY || op.kind == OP_REDUCE) {
        TRY(read_span(r, &op.src));
        if (!is(r->word, "->"))
            return complain(r, r->word, r->word.length > 0 && *r->word.text == '['
                                            ? "-> (there is no blank within a span)" : "->");
        next_word(r);
    }
    struct word destination = r->word;
    TRY(read_span(r, &op.dst));
    if (op.src.count != op.dst.count && (op.kind == OP_COPY || op.kind == OP_REDUCE))
        return complain_counts(r, destination, &op);
    op.lane = op_usual_lane(op.kind);
    op.rank = (op.kind == OP_COPY ? op.src : op.dst).rank;
    TRY(read_clauses(r, &op));

    TRY(reserve(r, (void **)&plan->ops, plan->n_ops, &plan->ops_capacity, sizeof op));
    TRY(reserve(r, (void **)&r->names, plan->n_ops, &r->names_capacity, sizeof name));
    r->names[plan->n_ops] = (struct word){name.text, name.length - 1};
    plan->ops[plan->n_ops++] = op;
out:
    return status;
}

static const char *const settings[] = {"count", "goal", "dtype", "redop", "inbox", "iterations",
                                       "pieces", "slots", "updates"};
#define N_SETTINGS (int)(sizeof settings / sizeof *settings)
enum {
    SET_COUNT, SET_GOAL, SET_DTYPE, SET_REDOP, SET_INBOX, SET_ITERATIONS, SET_PIECES, SET_SLOTS,
    SET_UPDATES
};

static const char *goal_word(int i) { return goal_name((enum goal)i); }

static enum status read_goal(struct reader *r)
{
    int goal = 0;
    char wanted[48];
    while (goal < N_GOALS && !is(r->word, goal_word(goal)))
        goal++;
    if (is(r->word, "all-reduce")) /* beside all-gather, who would not write it so */
        goal = GOAL_ALLREDUCE;
    if (goal == N_GOALS)
        return complain(r, r->word, "allreduce, reduce-scatter, all-gather, broadcast RANK or "
                                    "reduce RANK");
    r->plan->goal = (enum goal)goal;
    next_word(r);
    if (!goal_has_root(r->plan->goal))
        return STATUS_OK;
    if (r->word.length == 0) {
        snprintf(wanted, sizeof wanted, "the rank of the %s", goal_word(goal));
        return complain(r, r->word, wanted);
    }
    return read_int(r, 0, r->plan->n_ranks - 1, &r->plan->root);
}

static enum status read_name(struct reader *r, int setting)
{
    char name[16];
    int clean = memchr(r->word.text, '\0', (size_t)r->word.length) == NULL;
    snprintf(name, sizeof name, "%.*s", clean ? r->word.length : 0, r->word.text);
    if (setting == SET_DTYPE && !dtype_parse(name, &r->plan->dtype))
        return complain(r, r->word, DTYPE_NAMES);
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
        return complain(r, key, "NAME: (no blank before the colon) to begin an op, or count, goal, "
                                "dtype, redop, inbox, iterations, pieces, slots or updates");
    if (r->settings & 1u << setting)
        return complain(r, key, "each setting once");
    r->settings |= 1u << setting;
    next_word(r);
    switch (setting) {
    case SET_COUNT: return read_number(r, 0, most, &plan->count);
    case SET_INBOX: return read_number(r, 0, most, &plan->inbox_count);
    case SET_GOAL: return read_goal(r);
    case SET_ITERATIONS: return read_int(r, 1, 1000000, &plan->iterations);
    case SET_PIECES: return read_int(r, 1, 4096, &plan->pieces);
    case SET_SLOTS: return read_int(r, 1, 4096, &plan->slots);
    case SET_UPDATES: return read_int(r, 0, 1, &plan->updates);
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
    TRY(read_int(r, 0, INT32_MAX, &version));
    if (version != 1)
        return complain(r, number, "1, the version of the format that this ring_demo reads");
    if (r->word.length > 0)
        return complain(r, r->word, "the end of the line");
    if (!next_line(r) || !is(r->word, "ranks"))
        return complain(r, r->word, "'ranks N' on the second line");
    next_word(r);
    TRY(read_int(r, 1, PLAN_MAX_RANKS, &ranks));
    if (r->word.length > 0)
        return complain(r, r->word, "the end of the line");
    TRY(plan_init(r->plan, ranks, 0, DTYPE_FLOAT32, REDOP_SUM, r->err));
out:
    return status;
}

/* ---- names ---- */

/* Keyed, so that nobody can write a file whose names all collide. */
static uint64_t hash_word(uint64_t key, struct word w)
{
    uint64_t hash = key;
    for (int i = 0; i < w.length; i++) {
        hash = (hash ^ (unsigned char)w.text[i]) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    return hash;
}

static int same_word(struct word a, struct word b)
{
    return a.length == b.length && memcmp(a.text, b.text, (size_t)a.length) == 0;
}

/* The slot of the table that holds the op of this name, or the free one where it would be. */
static int64_t *find_slot(const struct reader *r, int64_t *table, int64_t size, struct word name)
{
    int64_t slot = (int64_t)(hash_word(r->key, name) & (uint64_t)(size - 1));
    while (table[slot] != NONE && !same_word(r->names[table[slot]], name))
        slot = (slot + 1) & (size - 1);
    return &table[slot];
}

static enum status resolve_waits(struct reader *r)
{
    enum status status = STATUS_OK;
    struct plan *plan = r->plan;
    int64_t *table = NULL, size = 16;
    while (size < 2 * plan->n_ops)
        size *= 2;
    TRY(allocate((void **)&table, size, sizeof *table, r->source, r->err));
    for (int64_t i = 0; i < size; i++)
        table[i] = NONE;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        int64_t *slot = find_slot(r, table, size, r->names[id]);
        if (*slot != NONE)
            TRY(complain(r, r->names[id], "a name that no other op has"));
        *slot = id;
    }
    for (int64_t i = 0; i < plan->n_waits; i++) {
        plan->waits[i].op = *find_slot(r, table, size, r->awaited[i]);
        if (plan->waits[i].op == NONE)
            TRY(complain(r, r->awaited[i], "the name of an op of this plan"));
    }
out:
    free(table);
    return status;
}

/* The plan keeps the names, unless they are the ones that it would make itself. */
static enum status keep_names(struct reader *r)
{
    enum status status = STATUS_OK;
    struct plan *plan = r->plan;
    char made[OP_NAME_SIZE];
    int64_t bytes = 0, same = 0;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        bytes += r->names[id].length + 1;
        same += is(r->names[id], op_name(plan, id, made));
    }
    if (same == plan->n_ops)
        return STATUS_OK;
    TRY(allocate((void **)&plan->names, plan->n_ops, sizeof *plan->names, r->source, r->err));
    TRY(allocate((void **)&plan->names_text, bytes, 1, r->source, r->err));
    char *at = plan->names_text;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        plan->names[id] = memcpy(at, r->names[id].text, (size_t)r->names[id].length);
        at += r->names[id].length + 1;
    }
out:
    return status;
}

enum status plan_read(struct plan *plan, const char *text, size_t length, const char *source,
                      struct error *err)
{
    enum status status = STATUS_OK;
    struct reader r = {.plan = plan, .source = source, .text = text, .at = text,
                       .end = text + length, .word = {text, 0}, .err = err};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    r.key = (uint64_t)now.tv_nsec * 0xbf58476d1ce4e5b9ull ^ (uint64_t)(uintptr_t)&r ^
            (uint64_t)now.tv_sec;
    memset(plan, 0, sizeof *plan);
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* some editors' mark of UTF-8 */
        r.at += 3;
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
    TRY(resolve_waits(&r));
    TRY(keep_names(&r));
out:
    free(r.names);
    free(r.awaited);
    if (status != STATUS_OK)
        plan_free(plan);
    return status;
}

#define MOST_BYTES ((size_t)1 << 30) /* a plan of 1024 ranks takes 400 MB */

enum status plan_read_file(struct plan *plan, const char *path, struct error *err)
{
    enum status status = STATUS_OK;
    const struct quote quoted = quote_path(strcmp(path, "-") == 0 ? "standard input" : path);
    char *text = NULL;
    size_t length;
    memset(plan, 0, sizeof *plan);
    TRY(input_read(path, quoted.text, MOST_BYTES, &text, &length, err));
    TRY(plan_read(plan, text, length, quoted.text, err));
out:
    free(text);
    return status;
}
