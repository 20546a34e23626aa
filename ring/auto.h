/* auto.h - engine `auto`: the fastest engine for a size, from a table of what was measured, with
 * two ranks; more are supposed to behave alike.
 *
 * Where a segment is small, what a step costs beside its bytes decides: one or two microseconds in
 * the kernel, ten and more where it is ops. Where it is large, the speed of its bytes does: a copy
 * engine moves them faster than the kernel's threads. So the size of a segment counts, not that of
 * the whole buffer.
 *
 * Two pieces let a copy and an add overlap, and are twice as many ops, which one thread queues for
 * all ranks, eagerly or, in about half the time, by launching a graph. So the more ranks, the
 * longer a copy has to take for that to be hidden.
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
