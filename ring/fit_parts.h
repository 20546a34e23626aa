/* fit_parts.h - what fit.c (numbers from trials) and fit_plans.c (their plans) share; nobody else
 * includes it.
 */
#ifndef RING_FIT_PARTS_H
#define RING_FIT_PARTS_H

#include "ring/run.h"

enum shape { RECORDS, COPIES, ADDS, CHAINS, COMPUTES, COMPUTES_AND_ADDS };

struct trial {
    const char *fits;    /* the number that it is for, as the file has it */
    enum shape shape;
    enum engine engine;
    int launches;        /* of a graph; 0 is 1 */
    int64_t count;       /* elements of an op */
    int n;               /* ops of a rank; of chains, rounds: copy, add, copy */
    int64_t hold_ns;     /* all begins behind a compute of this length; 0: at once */
    int64_t compute_ns;  /* of computes */
    enum device_work work;
};

/* The plan of a trial on n_ranks ranks, of float32. */
enum status fit_plan(const struct trial *trial, int n_ranks, struct plan *plan, struct error *err);

#endif
