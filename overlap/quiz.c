/* quiz.c - the quiz of an iteration: each bucket is a moment, and what proves an answer is the line
 * that listing.c prints. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/format.h"
#include "overlap/step_parts.h"
#include "ring/quiz.h"

#define PER_BUCKET 3 /* questions */

static void print_head(const struct step *p)
{
    const struct settings *s = p->s;
    char bytes[FORMAT_SIZE];
    fprintf(p->out, "%s: %s, %s of %s, %s, %d bucket%s, on each of %d rank%s\n",
            s->no_overlap ? "overlap, the serial run" : "overlap", p->model.name,
            format_bytes(p->model.count * (int64_t)dtype_size(s->dtype), bytes),
            dtype_name(s->dtype), redop_name(s->redop), p->buckets.n,
            p->buckets.n == 1 ? "" : "s", s->n_ranks, s->n_ranks == 1 ? "" : "s");
    if (p->notice[0])
        format_words(p->out, "note", p->notice);
}

static void print_op(const void *context, int64_t id, FILE *file)
{
    listing_print(context, id, file);
}

static enum status ask_about_bucket(const struct listing *l, int k, int64_t *ops,
                                    struct quiz *quiz)
{
    const struct step *p = l->step;
    const struct story *story = &l->it->story;
    char title[80];
    int64_t n_ops = 0;
    for (int64_t id = 0; id < story->plan.n_ops; id++)
        if (story->plan.ops[id].bucket == k)
            ops[n_ops++] = id;
    snprintf(title, sizeof title, "bucket %d of %d, %.1f MiB", k, p->buckets.n,
             step_mib(p->buckets.items[k].bytes));
    const struct quiz_view view = {
        .title = title, .plan = &story->plan, .proof = &story->proof, .timing = &story->timing,
        .holds = &l->holds, .ops = ops, .n_ops = n_ops, .table = "",
        .dubious = proof_hazards(&story->proof) > 0, .random = p->s->random, .many_steps = 1,
        .print_op = print_op, .context = l,
    };
    return quiz_ask_about(quiz, &view, PER_BUCKET, p->err);
}

enum status step_quiz(const struct step *p, const struct iteration *it)
{
    enum status status = STATUS_OK;
    struct listing l = {.step = p};
    struct quiz quiz = {.seed = p->s->quiz_seed};
    int64_t *ops = NULL;
    print_head(p);
    TRY(listing_open(&l, p, it));
    TRY(allocate((void **)&ops, it->story.plan.n_ops, sizeof *ops, "the quiz", p->err));
    for (int k = 0; k < p->buckets.n; k++)
        TRY(ask_about_bucket(&l, k, ops, &quiz));
    TRY(quiz_hold(&quiz, stdin, p->out, isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), p->err));
out:
    free(ops);
    quiz_free(&quiz);
    holds_close(&l.holds);
    return status;
}
