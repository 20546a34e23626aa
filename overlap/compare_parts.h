/* compare_parts.h - what compare.c (measuring) and compare_table.c (the table, and JSON) share;
 * nobody else includes it.
 */
#ifndef OVERLAP_COMPARE_PARTS_H
#define OVERLAP_COMPARE_PARTS_H

#include "overlap/compare.h"
#include "overlap/step_parts.h"

/* A kind of compute and a length of the backward pass. Times are in us. */
struct compare_row {
    const char *bound;                       /* what the compute is made of: "arithmetic" */
    double backward;                         /* what was asked for */
    double compute;                          /* alone, in the serial run of the first engine */
    double communication[N_BENCH_ENGINES];   /* alone, in each engine's serial run */
    double rounds[N_BENCH_ENGINES][COMPARE_ROUNDS]; /* the iteration; sorted at the end */
    double ideal;
};

struct compare {
    struct step step;
    int on[N_BENCH_ENGINES];
    char why[N_BENCH_ENGINES][BENCH_WHY_SIZE]; /* of those that are off */
    struct device *holder; /* owned; with next to no memory: keeps the links of the ring open, so
                              that what NCCL found enabled stays so between two runs */
    int staged;            /* some link has no peer access */
    int n_rounds;
    int64_t n_wrong, n_compared; /* elements */
    int rounded;           /* some result of NCCL could not be compared */
    struct compare_row rows[COMPARE_ROWS];
    int n_rows;            /* that are whole */
    char ended[256];       /* why it ended early, or "" */
};

/* The median iteration. */
double compare_iteration(const struct compare *compare, const struct compare_row *row, int engine);

void compare_print_head(const struct compare *compare);
void compare_print_row(const struct compare *compare, const struct compare_row *row);
void compare_print_end(const struct compare *compare);
void compare_print_json(const struct compare *compare, FILE *file);

#endif
