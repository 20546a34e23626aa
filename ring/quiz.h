/* quiz.h - questions about a run that is over, with their answers and the lines that prove them.
 *
 * Questions are pure functions of plan, proof, timing and states; nothing is run for them, and no
 * device is known here. A quiz is made moment by moment (a moment is what is asked about together:
 * a ring step, or a bucket), in the order of the run:
 *
 *     struct quiz quiz = {.seed = 7};
 *     for (each moment)
 *         TRY(quiz_ask_about(&quiz, &view, 2, err));
 *     TRY(quiz_hold(&quiz, stdin, stdout, at_a_terminal, err));
 *     quiz_free(&quiz);
 *
 * The same view and seed give the same quiz. Nothing is asked whose answer is not certain: where a
 * plan has hazards, nobody is asked what a segment holds; where two waits or two findings would
 * both be an answer, neither is asked for. Nor is what an earlier answer of the same moment gives
 * away, by the lines that prove it.
 */
#ifndef RING_QUIZ_H
#define RING_QUIZ_H

#include <stdio.h>

#include "ring/check.h"
#include "ring/holds.h"
#include "ring/outcome.h"
#include "ring/plan.h"

enum quiz_form {   /* of an answer; each is read kindly: quiz_judge() */
    FORM_SEGMENT,  /* a segment's number */
    FORM_RANK,     /* a rank's number */
    FORM_RANKS,    /* whose contributions: "0+1", "0..2", "all" */
    FORM_VALUE,    /* what an element holds */
    FORM_TIME,     /* us */
    FORM_REASON,   /* ready, arrived, drained, serial */
    FORM_OP,       /* an op's name */
    N_FORMS
};

#define QUESTION_SIZE 320
#define QUIZ_ANSWER_SIZE 128 /* what is typed is longer only when it is no answer */

struct question {
    enum quiz_form form;
    const char *kind;              /* "sends", .. : a row of quiz.c's table */
    int moment;                    /* in quiz.moments */
    char text[QUESTION_SIZE];
    char answer[QUIZ_ANSWER_SIZE]; /* as the trace writes it */
    double number, slack;          /* FORM_TIME: what is that close is right */
    const char *because;           /* one sentence more, or NULL */
    int64_t ops[2];                /* whose lines of the trace prove it; NONE: none, ... */
    int rank, segment;             /* ... and the row of the state table; NONE: none */
    int finding;                   /* and this finding of the proof; NONE: none */
    char *lines;                   /* owned: those lines, as they stand in the text trace */
};

/* What is known about one moment. */
struct quiz_view {
    const char *title;           /* "step s=0 (1 of 6), scatter-reduce" */
    const struct plan *plan;
    const struct proof *proof;
    const struct timing *timing;
    const struct holds *holds;   /* run at least to the end of the moment */
    const int64_t *ops;          /* the moment's ops, in the order of the run */
    int64_t n_ops;
    const double *read;          /* [n_ranks][n_ranks]: values when it is over, and holds is run to
                                    there, neither further; NULL: nobody looked */
    const char *table;           /* the state table when it is over, as printed; or "" */
    int changed;                 /* the plan is not of our builders' making: its labels are no
                                    evidence */
    int dubious;                 /* what memories hold is not for the plan alone to say */
    int random;                  /* times count the choices of a random schedule */
    int many_steps;              /* the moment is a whole ring: questions name the step */
    /* Prints the op's line of the text trace. */
    void (*print_op)(const void *context, int64_t id, FILE *file);
    const void *context;
};

struct quiz_moment {
    char *title, *table;         /* owned */
};

struct quiz {
    uint64_t seed;               /* set by the caller */
    const struct plan *plan;
    struct question *questions;  /* owned */
    int64_t n_questions, questions_capacity;
    struct quiz_moment *moments; /* owned */
    int64_t n_moments, moments_capacity;
    char *table;                 /* owned: the state table before the first step, or NULL */
    uint64_t drawn;              /* how often lots were drawn */
    int n_asked[16];             /* of each kind */
};

/* Adds up to n_wanted questions about one moment, of kinds that were asked least so far. */
enum status quiz_ask_about(struct quiz *quiz, const struct quiz_view *view, int n_wanted,
                           struct error *err);
void quiz_free(struct quiz *quiz); /* also of a zeroed one */

/* Is what was typed right? Blanks, case and the words around an answer ("segment 2", "rank 1.")
 * do not matter; contributions may be given in any order and any of the trace's forms. */
enum quiz_verdict { QUIZ_WRONG, QUIZ_RIGHT, QUIZ_UNCLEAR };
enum quiz_verdict quiz_judge(const struct question *question, const struct plan *plan,
                             const char *typed);

/* "a segment's number, as in 2": what an answer of this form is. */
const char *quiz_wanted(enum quiz_form form);

/* Whose contributions `text` names, as in "0+1", "0..2" or "all": how often each rank.
 * counts[n_ranks]; 0: it names none. */
int quiz_ranks(const char *text, int n_ranks, int *counts);

/* Asks. With `dialogue` one question at a time: reads an answer from `in`, says whether it is right
 * and shows the lines that prove it, until the end or "q", and then tells the score. Else all
 * questions, and apart from them, behind a line "key", all answers with those lines. */
enum status quiz_hold(const struct quiz *quiz, FILE *in, FILE *out, int dialogue,
                      struct error *err);

/* For a run of the ring: trace_quiz.c. */
struct scene;
enum status quiz_ring(const struct scene *scene, uint64_t seed, int dialogue, FILE *in, FILE *out,
                      struct error *err);

#endif
