/* bugs.h - the museum's catalogue: faults that people really made, each as a small change to a
 * right plan, with what they believed and what happens instead.
 *
 * Nothing runs here. museum.c shows an exhibit and measures what its label claims; --bug puts one
 * into any run.
 */
#ifndef RING_BUGS_H
#define RING_BUGS_H

#include "ring/ring.h"

/* What might notice a fault: tests as people write them, and the proof. In this order they are told
 * in tables. Unless said otherwise, every element of every rank is compared with what it should be,
 * on data that differs by rank and element. */
enum test {
    TEST_FIRST,    /* only element 0 of each rank is compared */
    TEST_RANKS,    /* the ranks are compared with each other only */
    TEST_CONSTANT, /* every element of every rank begins as 1 */
    TEST_ZEROS,    /* ... as 0 */
    TEST_TWO,      /* two ranks */
    TEST_ONE_RUN,  /* one run, in the order that the model's times make */
    TEST_RANDOM,   /* a hundred random schedules */
    TEST_PROOF,    /* check.c, before anything runs */
    N_TESTS
};

struct bug {
    const char *name, *title;
    const char *origin;   /* the article, or the report that it was retold from */
    const char *believed, *happens, *cure;
    struct ring_shape shape; /* of the exhibit: where the fault can be seen */
    const char *init;     /* the data on which its author tried it */
    unsigned noticed_by;  /* bit t: what enum test t is claimed to notice; the museum tries them */

    /* What the right plan needs beside the ring, for the fault to have a place; or NULL. */
    enum status (*prepare)(struct plan *plan, struct error *err);

    /* Puts the fault into a plan of ring_plan(); *n_changes gets how many ops or waits it touched.
     * 0: the plan has no place for it. */
    enum status (*apply)(struct plan *plan, int64_t *n_changes, struct error *err);
    const char *needs;    /* what a plan must have to have a place for it */
    int stale_uploads;    /* the fault is in the run, not in the plan: see run.h */
    int missing_waits;    /* it is nothing but waits that are missing: held back at the right place
                             (the first hazard's earlier op), it goes wrong every time */
};

extern const struct bug bugs[];
extern const int n_bugs;

const struct bug *bug_find(const char *name); /* NULL: there is none */

/* prepare() and apply(); bug_apply: STATUS_USAGE where the plan has no place for the fault. */
enum status bug_put(const struct bug *bug, struct plan *plan, int64_t *n_changes,
                    struct error *err);
enum status bug_apply(const struct bug *bug, struct plan *plan, struct error *err);

/* The article's ring, repaired only where it would not compile or run at all; `copy_first`: each
 * add waits for its copy, which the article leaves to luck. The plan must be initialised. */
enum status bug_article_plan(struct plan *plan, int copy_first, struct error *err);

#endif
