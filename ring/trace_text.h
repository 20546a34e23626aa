/* trace_text.h - what trace_text.c (head and result), trace_steps.c (the steps) and trace_quiz.c
 * (questions about them) share; nobody else includes it. */
#ifndef RING_TRACE_TEXT_H
#define RING_TRACE_TEXT_H

#include "common/format.h"
#include "ring/holds.h"
#include "ring/trace.h"

#define TEXT_WIDTH FORMAT_WIDTH

#define TEXT_BOLD "\033[1m"
#define TEXT_GREEN "\033[32m"
#define TEXT_RED "\033[31m"
#define TEXT_PLAIN "\033[0m"

struct text {
    const struct scene *scene;
    const struct show *show;
    FILE *file;
    /* of trace_steps.c, which opens and closes them */
    struct holds holds;     /* as after the stop being shown */
    unsigned char *printed; /* [n_ops], by position in the sequence */
    int time_width;           /* columns of a time in us, one decimal */
    int cell_width;           /* of the state table, so far */
    int rank_width, holds_width, bytes_width, segment_width;
    int own_steps;  /* see plan_step_title() */
    int name_width; /* of the names of a plan that was read; 0: they go without saying */
    struct error *err;
};

/* A colour, or nothing where there is to be none. */
static inline const char *text_paint(const struct text *t, const char *code)
{
    return t->show->color ? code : "";
}

static inline double text_us(int64_t ns) { return (double)ns / 1000.0; }

void text_heading(const struct text *t, const char *words);

/* How many elements of the result are no numbers or infinite: a line, or none. */
void text_not_finite(FILE *file, const struct plan *plan, const struct verdict *v);

/* What is run, on what and with which fault, but not what the proof says. */
void text_run_head(const struct text *t);

/* Every ring step, or a line for each where the ring is large. scene->values is there. */
enum status text_steps(struct text *t);

/* Its parts, between text_steps_open() and text_steps_close(); t->holds is run stop by stop. */
enum status text_steps_open(struct text *t);
void text_steps_close(struct text *t); /* also where it was not opened */
void text_step_title(const struct text *t, const struct stop *stop, int64_t begin);
void text_op(const struct text *t, int64_t at); /* by its position in the run's sequence */
enum status text_table(struct text *t, int stop); /* what every segment holds; values were read */

#endif
