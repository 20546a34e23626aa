/* extents.h - a memory cut into stretches of elements that share one fate.
 *
 * For every element something is kept: who wrote it last and who read it since, and what it holds.
 * Elements are touched in long runs, so it is kept once per stretch. A stretch is cut where a span
 * begins or ends inside it, and never glued again: in a ring the cuts are the pieces of the
 * segments.
 */
#ifndef RING_EXTENTS_H
#define RING_EXTENTS_H

#include <stdint.h>

#include "common/status.h"

struct extent {
    int64_t first;  /* element; the stretch ends where the next begins */
    int64_t writer; /* check.c: op that wrote it last, or NONE */
    int64_t readers; /* check.c: head of the list of ops that read it since, or NONE */
    int64_t shift;  /* contents.c: it holds element (its place + shift) of the ranks' data */
    int32_t node;   /* contents.c: what it holds, or NONE */
    int32_t shared; /* check.c: another stretch, cut from this one, has the same list of readers */
};

/* One memory: items[0 .. n-1] by rising `first`, beginning at 0; the last ends at `count`. */
struct extents {
    struct extent *items; /* owned */
    int64_t n, capacity, count;
    int64_t near;         /* where the last search ended: the next one often looks there */
};

/* One stretch that is all of the memory, like `all` but for its place. count may be 0. */
enum status extents_init(struct extents *memory, int64_t count, struct extent all,
                         struct error *err);
void extents_free(struct extents *memory);

/* Cuts so that [first, first + count) is whole stretches, items[*from] .. items[*to - 1]. The span
 * lies inside the memory and count > 0. Earlier indices into this memory go stale. *work grows by
 * what that cost (in the unit of order.h). */
enum status extents_cut(struct extents *memory, int64_t first, int64_t count, int64_t *from,
                        int64_t *to, int64_t *work, struct error *err);

/* Elements in items[i]. */
int64_t extents_length(const struct extents *memory, int64_t i);

/* The stretch that holds this element. */
int64_t extents_find(struct extents *memory, int64_t element);

#endif
