/* outcome.h - what a run brings forth, as plain data: times, values, verdicts.
 *
 * run.c and verify.c fill these; the writers of traces read them, and so need to know nothing of
 * devices.
 */
#ifndef RING_OUTCOME_H
#define RING_OUTCOME_H

#include <stdint.h>

/* When each op began and ended, in ns since the first began. */
struct timing {
    int per_op;                 /* begin_ns and end_ns are there */
    int64_t *begin_ns, *end_ns; /* owned, [n_ops] */
    int64_t total_ns;           /* from the first begin to the last end */
    int wall;                   /* not per_op: total_ns is the host's clock, queueing included */
    int64_t clock_error_ns;     /* per_op: how far the devices' clocks may be apart */
};

/* The element read in each segment is its first. Plans of more than VALUES_MAX_RANKS ranks or
 * VALUES_MAX_OPS ops stop at each step, too, but nothing is read. */
#define VALUES_MAX_RANKS 16
#define VALUES_MAX_OPS 4000
static inline int values_fit(int n_ranks, int64_t n_ops)
{
    return n_ranks <= VALUES_MAX_RANKS && n_ops <= VALUES_MAX_OPS;
}

struct values {
    int n_stops;                /* stop 0 is before the first op */
    struct stop {
        int iteration, step;    /* the last ring step done; step NONE at stop 0, behind the ops
                                   that fill data anew, and in plans without steps */
        int64_t end;            /* ops [.., end) of the run's sequence are done */
    } *stops;                   /* owned */
    double *read; /* owned, [n_stops][n_ranks][n_ranks segments]; empty: NaN. Or NULL */
};

void timing_free(struct timing *timing);
void values_free(struct values *values);

/* ---- of verify.h ---- */

struct misfit { /* the first bad element, by position and then rank */
    int rank, segment;
    int64_t element;
    double got, want;
};

struct verdict {
    int64_t n_checked;          /* elements, of all ranks, that the goal wants */
    int64_t n_different;        /* elements whose bits differ from rank 0's, where they must not */
    int64_t n_wrong;            /* elements that differ from the reference */
    struct misfit different;    /* valid where n_different > 0; want = rank 0's */
    struct misfit wrong;        /* valid where n_wrong > 0 */
    uint64_t hash;              /* of the result: FNV-1a, 64 bits, over rank 0's bytes; where ranks
                                   differ, over the hashes of all ranks */
    int64_t n_infinite;         /* elements of the reference that are infinite, and ... */
    int64_t n_nan;              /* ... NaN */
    double distance, relative;  /* of rank 0: largest |result - float64 result|, and that
                                   over its size */
};

#endif
