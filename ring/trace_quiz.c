/* trace_quiz.c - the quiz of a ring: each of its steps is a moment, and what proves an answer is
 * the line that trace_steps.c prints there. */
#include <stdlib.h>
#include <string.h>

#include "ring/quiz.h"
#include "ring/trace_text.h"

#define PER_STEP 2 /* questions */

/* Text that a part of the trace is printed into, to be kept. */
struct slip {
    char *text; /* owned */
    size_t size;
};

static enum status slip_open(struct slip *slip, struct text *t)
{
    free(slip->text);
    slip->text = NULL;
    t->file = open_memstream(&slip->text, &slip->size);
    return t->file ? STATUS_OK : fail(t->err, STATUS_MACHINE, "not enough memory for the quiz");
}

static enum status slip_close(struct text *t)
{
    return fclose(t->file) == 0 ? STATUS_OK
                                : fail(t->err, STATUS_MACHINE, "not enough memory for the quiz");
}

static void print_op(const void *context, int64_t id, FILE *file)
{
    struct text t = *(const struct text *)context;
    t.file = file;
    text_op(&t, order_position(&t.holds.order, id));
}

static enum status print_table(struct text *t, int stop, struct slip *table)
{
    enum status status = STATUS_OK;
    TRY(slip_open(table, t));
    if (t->scene->values->read)
        status = text_table(t, stop);
    enum status closed = slip_close(t);
    status = status == STATUS_OK ? closed : status;
out:
    return status;
}

/* Without the empty line before it and the end of its own. */
static enum status print_title(struct text *t, int stop, int64_t begin, struct slip *title)
{
    enum status status = STATUS_OK;
    TRY(slip_open(title, t));
    text_step_title(t, &t->scene->values->stops[stop], begin);
    TRY(slip_close(t));
    title->text[strcspn(title->text + 1, "\n") + 1] = '\0';
out:
    return status;
}

static enum status ask_about_stop(struct text *t, int stop, int64_t *ops, struct quiz *quiz)
{
    enum status status = STATUS_OK;
    struct slip title = {NULL, 0}, table = {NULL, 0};
    const struct scene *s = t->scene;
    int64_t begin = t->holds.done, end = s->values->stops[stop].end;
    int n = s->plan->n_ranks;
    for (int64_t at = begin; at < end; at++)
        ops[at - begin] = order_at(&t->holds.order, at);
    TRY(print_title(t, stop, begin, &title));
    TRY(holds_run(&t->holds, end, t->err));
    TRY(print_table(t, stop, &table));
    const struct quiz_view view = {
        .title = title.text + 1, .plan = s->plan, .proof = s->proof, .timing = s->timing,
        .holds = &t->holds, .ops = ops, .n_ops = end - begin,
        .read = s->values->read ? s->values->read + (int64_t)stop * n * n : NULL,
        .table = table.text, .changed = s->origin[0] || s->fault[0],
        .dubious = proof_hazards(s->proof) > 0 || s->stale_uploads ||
                   s->second_hash != s->verdict->hash,
        .random = s->random, .print_op = print_op, .context = t,
    };
    TRY(quiz_ask_about(quiz, &view, PER_STEP, t->err));
out:
    free(title.text);
    free(table.text);
    return status;
}

static enum status make_quiz(struct text *t, struct quiz *quiz)
{
    enum status status = STATUS_OK;
    const struct values *values = t->scene->values;
    struct slip first = {NULL, 0};
    int64_t *ops = NULL;
    TRY(text_steps_open(t));
    TRY(allocate((void **)&ops, t->scene->plan->n_ops, sizeof *ops, "the quiz", t->err));
    status = print_table(t, 0, &first);
    quiz->table = first.text;
    TRY(status);
    for (int stop = 1; stop < values->n_stops; stop++)
        TRY(ask_about_stop(t, stop, ops, quiz));
out:
    free(ops);
    text_steps_close(t);
    return status;
}

enum status quiz_ring(const struct scene *scene, uint64_t seed, int dialogue, FILE *in, FILE *out,
                      struct error *err)
{
    enum status status = STATUS_OK;
    const struct show plain = {.file = out};
    struct text t = {.scene = scene, .show = &plain, .file = out, .err = err};
    struct quiz quiz = {.seed = seed};
    text_run_head(&t);
    TRY(make_quiz(&t, &quiz));
    TRY(quiz_hold(&quiz, in, out, dialogue, err));
out:
    quiz_free(&quiz);
    return status;
}
