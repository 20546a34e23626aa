/* holds.h - whose contributions stand where, op after op: "0+1" on the way, "all" at the end.
 *
 * A walk over the plan in the order of the run, on the contents that contents.h works out; the
 * traces print what it tells. What an op leaves behind is told for the first element that it
 * writes.
 *
 *     TRY(holds_open(&holds, plan, err));
 *     TRY(holds_run(&holds, stop.end, err));    carries out the ops of the run up to there
 *     ... holds.after[id], holds_segment(..)
 *     holds_close(&holds);
 */
#ifndef RING_HOLDS_H
#define RING_HOLDS_H

#include "ring/contents.h"
#include "ring/order.h"

#define HOLDS_SIZE 40

struct holds {
    const struct plan *plan;
    struct order order;
    struct contents contents;   /* as after the first `done` ops of the order's sequence */
    int64_t done;
    char (*after)[HOLDS_SIZE];  /* owned, [n_ops], by id: what stood where the op wrote; "" where it
                                   was not carried out yet */
};

/* STATUS_MACHINE: no memory, or more work than contents.h allows; close it then, too. */
enum status holds_open(struct holds *holds, const struct plan *plan, struct error *err);
void holds_close(struct holds *holds); /* also of a zeroed one */

/* Carries out the ops of the sequence up to, and without, position `end`. */
enum status holds_run(struct holds *holds, int64_t end, struct error *err);

/* The first element of a segment (not empty) of a rank's data, now. *mixed: not all elements of
 * the segment hold the same. Returns buffer; cut short by "..", where it is too small. */
const char *holds_segment(const struct holds *holds, int rank, int segment, int *mixed,
                          char *buffer, size_t size);

#endif
