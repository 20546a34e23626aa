/* findings.c - the proof's findings as sentences that a student understands: who, where, what is
 * wrong, and what would be right. */
#include "ring/check_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void add_words(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* ---- sums ---- */

/* "ranks 1, 3..5", of those r with cover[r] within [least, most]; returns how many. */
static int list_ranks(const int32_t *cover, int n, int least, int most, char *text, size_t size)
{
    int found = 0, shown = 0;
    text[0] = '\0';
    for (int r = 0; r < n; r++)
        found += cover[r] >= least && cover[r] <= most;
    snprintf(text, size, found == 1 ? "rank " : "ranks ");
    for (int r = 0, end; r < n; r = end + 1) {
        end = r;
        if (cover[r] < least || cover[r] > most)
            continue;
        while (end + 1 < n && cover[end + 1] >= least && cover[end + 1] <= most)
            end++;
        if (shown++ == 4) {
            add_words(text, size, ", ..");
            break;
        }
        add_words(text, size, end > r ? "%s%d..%d" : "%s%d", shown > 1 ? ", " : "", r, end);
    }
    return found;
}

/* "rank 1 is missing, rank 2 is counted twice" */
static void describe_cover(const struct contents *c, const struct node *node, char *text,
                           size_t size)
{
    static const struct {
        int least, most;
        const char *one, *many;
    } faults[] = {
        {0, 0, "is missing", "are missing"},
        {2, 2, "is counted twice", "are counted twice"},
        {3, INT32_MAX, "is counted more than twice", "are counted more than twice"},
    };
    int32_t cover[PLAN_MAX_RANKS] = {0};
    char ranks[80];
    for (int i = 0; i < node->n_terms; i++) {
        const struct term *t = &c->terms[node->first_term + i];
        for (int r = t->rank; r < t->rank + t->n_ranks; r++)
            cover[r] = t->times > INT32_MAX - cover[r] ? INT32_MAX : cover[r] + t->times;
    }
    for (int i = 0; i < 3; i++) {
        int n = list_ranks(cover, c->plan->n_ranks, faults[i].least, faults[i].most, ranks,
                           sizeof ranks);
        if (n > 0)
            add_words(text, size, "%s%s %s", text[0] ? ", " : "", ranks,
                      n == 1 ? faults[i].one : faults[i].many);
    }
}

/* What else may be wrong with contributions: the first of each sort is told. A wrong number of
 * scalings is told without a rank where it is the same for all. */
static void describe_terms(const struct finding *f, const struct contents *c,
                           const struct node *node, char *text, size_t size)
{
    const struct term *terms = &c->terms[node->first_term];
    int wanted = contents_scaled(c->plan) && f->kind == FINDING_SUM && f->wanted == WANT_SUM;
    int updates = f->kind == FINDING_SUM && f->wanted == WANT_SUM ? c->plan->updates : 0;
    int told[4] = {0}, alike = 1;
    for (int i = 1; i < node->n_terms; i++)
        alike = alike && terms[i].scales == terms[0].scales;
    for (int i = 0; i < node->n_terms; i++) {
        const struct term *t = &terms[i];
        const char *comma = text[0] ? ", " : "";
        int64_t off = t->apart + f->shift;
        char whose[32] = "it";
        if (!alike)
            snprintf(whose, sizeof whose, "rank %d's", t->rank);
        if (off != 0 && !told[0]++)
            add_words(text, size, "%srank %d's are its elements [%" PRId64 ":%" PRId64 "]", comma,
                      t->rank, f->where.first + off, f->where.first + off + f->where.count);
        else if (t->iteration != f->iteration && !told[1]++)
            add_words(text, size, "%srank %d's is of iteration %d, not %d", comma, t->rank,
                      t->iteration, f->iteration);
        else if (t->updates != updates && !told[3]++)
            add_words(text, size, "%san optimizer made a step of it %d time%s, not %d", comma,
                      t->updates, t->updates == 1 ? "" : "s", updates);
        else if (t->scales != wanted && !told[2]++)
            add_words(text, size, "%s%s was scaled %d time%s, not %d", comma, whose, t->scales,
                      t->scales == 1 ? "" : "s", wanted);
    }
}

void finding_describe_sum(struct finding *f, const struct contents *c)
{
    const struct node *node = f->node == NONE ? NULL : &c->nodes[f->node];
    char ranks[64], why[160] = "";
    if (!node) {
        snprintf(f->detail, sizeof f->detail, "something that nobody wrote");
        return;
    }
    if (f->wanted == WANT_SUM)
        describe_cover(c, node, why, sizeof why);
    describe_terms(f, c, node, why, sizeof why);
    contents_ranks(c, f->node, ranks, sizeof ranks);
    snprintf(f->detail, sizeof f->detail,
             f->wanted == WANT_SUM       ? "%s%s%s"
             : node->kind == NODE_LEAF ? "rank %s's%s%s"
                                         : "the sum of ranks %s%s%s",
             ranks, why[0] ? ": " : "", why);
}

/* "0.data[0:4]", or "data[0:4] of ranks 0..3" */
static void where_text(const struct finding *f, char *text, size_t size)
{
    const struct span *w = &f->where;
    if (f->n_ranks > 1)
        snprintf(text, size, "%s[%" PRId64 ":%" PRId64 "] of ranks %d..%d", memory_name(w->memory),
                 w->first, w->first + w->count, w->rank, w->rank + f->n_ranks - 1);
    else
        snprintf(text, size, "%d.%s[%" PRId64 ":%" PRId64 "]", w->rank, memory_name(w->memory),
                 w->first, w->first + w->count);
}

static void sum_text(const struct plan *plan, const struct finding *f, const char *op,
                     const char *where, char *buffer, size_t size)
{
    const char *what = f->wanted == WANT_SUM ? "sum" : "data";
    if (f->op == NONE)
        snprintf(buffer, size, "wrong %s: at the end %s holds %s", what, where, f->detail);
    else
        snprintf(buffer, size, "wrong %s: %s overwrites %s while it holds %s", what, op, where,
                 f->detail);
    if (f->wanted != WANT_SUM || plan->n_ranks == 1)
        add_words(buffer, size, "; it should hold rank %d's data",
                  f->wanted != WANT_SUM ? f->wanted : 0);
    else
        add_words(buffer, size, "; it should hold each of the %d ranks exactly once%s",
                  plan->n_ranks, plan->redop == REDOP_AVG && plan->n_ranks > 1
                                     ? ", scaled once" : "");
}

/* ---- waits ---- */

static void later_text(const struct plan *plan, const struct finding *f, const char *op,
                       const char *other, char *buffer, size_t size)
{
    const struct op *o = &plan->ops[f->op];
    if (f->op == f->other)
        snprintf(buffer, size, "can never finish: %s waits for itself", op);
    else
        snprintf(buffer, size, "can never finish: %s waits for %s, which comes later on the same "
                 "lane, %d.%s", op, other, o->rank, lane_name(o->lane));
}

static void redundant_text(const struct plan *plan, const struct finding *f, const char *op,
                           const char *other, char *buffer, size_t size)
{
    char name[OP_NAME_SIZE];
    const struct op *a = &plan->ops[f->op], *b = &plan->ops[f->other], *v = &plan->ops[f->via];
    const char *via = op_name(plan, f->via, name);
    snprintf(buffer, size, "remark: %s need not wait for %s: ", op, other);
    if (a->rank == b->rank && a->lane == b->lane)
        add_words(buffer, size, "it comes later on the same lane, %d.%s, anyway", a->rank,
                  lane_name(a->lane));
    else if (f->via == f->other)
        add_words(buffer, size, "it waits for it twice");
    else if (a->rank == v->rank && a->lane == v->lane)
        add_words(buffer, size, "%s, before it on lane %d.%s, ends no earlier", via, a->rank,
                  lane_name(a->lane));
    else
        add_words(buffer, size, "it waits for %s, which ends no earlier", via);
}

/* ---- all kinds ---- */

const char *finding_kind_name(enum finding_kind kind)
{
    static const char *const names[N_FINDING_KINDS] = {
        [FINDING_SPAN] = "span", [FINDING_LANE] = "lane", [FINDING_LATER] = "later",
        [FINDING_CIRCLE] = "circle", [FINDING_READ_AFTER_WRITE] = "hazard",
        [FINDING_WRITE_AFTER_READ] = "hazard", [FINDING_WRITE_AFTER_WRITE] = "hazard",
        [FINDING_UNWRITTEN] = "unwritten", [FINDING_PEER] = "peer", [FINDING_SCALE] = "early",
        [FINDING_SUM] = "sum", [REMARK_REDUNDANT] = "redundant", [REMARK_PULL] = "pull",
    };
    return names[kind];
}

const char *finding_hazard_name(enum finding_kind kind)
{
    return kind == FINDING_READ_AFTER_WRITE   ? "read-after-write"
           : kind == FINDING_WRITE_AFTER_READ ? "write-after-read"
                                              : "write-after-write";
}

enum wait_reason finding_missing(const struct plan *plan, const struct finding *f)
{
    return f->kind == FINDING_WRITE_AFTER_READ   ? WAIT_DRAINED
           : plan->ops[f->other].kind == OP_COPY ? WAIT_ARRIVED
                                                 : WAIT_READY;
}

/* "hazard (read-after-write): " what has happened "; b should wait for a: arrived" */
static void hazard_text(const struct plan *plan, const struct finding *f, const char *op,
                        const char *other, const char *where, char *buffer, size_t size)
{
    snprintf(buffer, size, "hazard (%s): ", finding_hazard_name(f->kind));
    if (f->kind == FINDING_READ_AFTER_WRITE)
        add_words(buffer, size, "%s reads %s, which %s may not have written yet", op, where, other);
    else if (f->kind == FINDING_WRITE_AFTER_READ)
        add_words(buffer, size, "%s overwrites %s, which %s may still be reading", op, where,
                  other);
    else
        add_words(buffer, size, "%s and %s both write %s, and nothing says which comes last", op,
                  other, where);
    add_words(buffer, size, "; %s should wait for %s: %s", op, other,
              wait_reason_name(finding_missing(plan, f)));
}

const char *finding_text(const struct plan *plan, const struct finding *f, char *buffer,
                         size_t size)
{
    char op_buffer[OP_NAME_SIZE], other_buffer[OP_NAME_SIZE], where[80];
    const char *op = f->op == NONE ? "" : op_name(plan, f->op, op_buffer);
    int two = finding_is_hazard(f) || f->kind == FINDING_LATER || f->kind == REMARK_REDUNDANT;
    const char *other = two ? op_name(plan, f->other, other_buffer) : "";
    where_text(f, where, sizeof where);
    switch (f->kind) {
    case FINDING_SPAN:
        snprintf(buffer, size, "cannot run: %s touches %s, %s", op, where, f->detail);
        break;
    case FINDING_LANE:
        snprintf(buffer, size, "cannot run: %s works on rank %d's memory, but is queued on a lane "
                 "of rank %d; a kernel belongs on a lane of the rank whose memory it writes", op,
                 f->where.rank, plan->ops[f->op].rank);
        break;
    case FINDING_LATER: later_text(plan, f, op, other, buffer, size); break;
    case FINDING_CIRCLE: snprintf(buffer, size, "can never finish: %s", f->detail); break;
    case FINDING_READ_AFTER_WRITE:
    case FINDING_WRITE_AFTER_READ:
    case FINDING_WRITE_AFTER_WRITE:
        hazard_text(plan, f, op, other, where, buffer, size);
        break;
    case FINDING_UNWRITTEN:
        snprintf(buffer, size, "reads nothing: %s reads %s, which nobody has written before", op,
                 where);
        break;
    case FINDING_PEER:
        snprintf(buffer, size, "reads a peer's memory: %s runs on rank %d and reads %s; that works "
                 "only with peer access; copy to rank %d first, and add from there", op,
                 plan->ops[f->op].rank, where, plan->ops[f->op].rank);
        break;
    case FINDING_SCALE:
        if (plan->ops[f->op].kind == OP_UPDATE)
            snprintf(buffer, size, "updated too early: %s makes a step of %s, which holds %s; an "
                     "optimizer wants the sum of all %d ranks", op, where, f->detail,
                     plan->n_ranks);
        else
            snprintf(buffer, size, "scaled too early: %s divides %s, which holds %s; integers are "
                     "divided once the sum of all %d ranks is there", op, where, f->detail,
                     plan->n_ranks);
        break;
    case FINDING_SUM: sum_text(plan, f, op, where, buffer, size); break;
    case REMARK_REDUNDANT: redundant_text(plan, f, op, other, buffer, size); break;
    default:
        snprintf(buffer, size, "remark: %s copies from rank %d on a lane of rank %d; usual is a "
                 "lane of the sender", op, plan->ops[f->op].src.rank, plan->ops[f->op].rank);
    }
    return buffer;
}

/* "3 hazards", with a comma before it where something stands there already */
static void add_count(char *buffer, size_t size, int64_t n, const char *one, const char *many,
                      int *first)
{
    if (n == 0)
        return;
    add_words(buffer, size, "%s%" PRId64 " %s", *first ? "" : ", ", n, n == 1 ? one : many);
    *first = 0;
}

const char *proof_line(const struct plan *plan, const struct proof *proof, char *buffer,
                       size_t size)
{
    const int64_t *n = proof->counts;
    char words[GOAL_WORDS_SIZE];
    int first = 1;
    snprintf(buffer, size, "%" PRId64 " op%s, %" PRId64 " wait%s: ", plan->n_ops,
             plan->n_ops == 1 ? "" : "s", plan->n_waits, plan->n_waits == 1 ? "" : "s");
    if (proof_total(proof) == 0)
        add_words(buffer, size, "no hazard; at the end %s", goal_words(plan, words));
    else
        add_words(buffer, size, "REFUTED: ");
    add_count(buffer, size, n[FINDING_SPAN] + n[FINDING_LANE], "op that cannot run",
              "ops that cannot run", &first);
    add_count(buffer, size, n[FINDING_LATER] + n[FINDING_CIRCLE], "wait without end",
              "waits without end", &first);
    add_count(buffer, size, proof_hazards(proof), "hazard", "hazards", &first);
    add_count(buffer, size, n[FINDING_UNWRITTEN], "read of nothing", "reads of nothing", &first);
    add_count(buffer, size, n[FINDING_PEER], "read of a peer's memory",
              "reads of a peer's memory", &first);
    add_count(buffer, size, n[FINDING_SCALE], "early use", "early uses", &first);
    add_count(buffer, size, n[FINDING_SUM], goal_copies(plan->goal) ? "wrong stretch" : "wrong sum",
              goal_copies(plan->goal) ? "wrong stretches" : "wrong sums", &first);
    if (n[REMARK_REDUNDANT])
        add_words(buffer, size, "; %" PRId64 " redundant wait%s", n[REMARK_REDUNDANT],
                  n[REMARK_REDUNDANT] == 1 ? "" : "s");
    if (proof->n_serial)
        add_words(buffer, size, "; %" PRId64 " serial", proof->n_serial);
    return buffer;
}
