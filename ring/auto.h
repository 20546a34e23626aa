/* auto.h - engine `auto`: the fastest engine for a size, from a table of what was measured.
 *
 * What a step costs beside its bytes decides: about two microseconds in the kernel, ten and more
 * where it is an op; and how fast its bytes go: slower by the kernel's threads than by a copy
 * engine. Both are a matter of the segment's size, not of the whole buffer's.
 *
 * Two pieces let a copy and an add overlap, and are twice as many ops: 3N of them in a step, which
 * one thread queues for all ranks, eagerly or, in about half the time, by launching a graph. So
 * the more ranks, the longer a copy has to take for that to be hidden.
 */
#ifndef RING_AUTO_H
#define RING_AUTO_H

#include "ring/kernel.h"
#include "ring/run.h"

/* bytes: of a rank's data. `kernel`: it can be had. */
enum engine auto_engine(int64_t bytes, int n_ranks, int kernel);

/* Bytes of a segment from which two pieces are faster than one, by engine eager or graph. */
int64_t auto_two_pieces_from(int n_ranks, enum engine engine);

/* How many pieces are faster, for so many bytes of a rank's data. */
int auto_pieces(int64_t bytes, int n_ranks, enum engine engine);

#endif
