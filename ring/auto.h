/* auto.h - engine `auto`: the fastest engine for a size, from a table of what was measured.
 *
 * What a step costs beside its bytes decides: about two microseconds in the kernel, ten and more
 * where it is an op; and how fast its bytes go: slower by the kernel's threads than by a copy
 * engine. Both are a matter of the segment's size, not of the whole buffer's. Two pieces let a
 * copy and an add overlap.
 */
#ifndef RING_AUTO_H
#define RING_AUTO_H

#include "ring/kernel.h"
#include "ring/run.h"

/* bytes: of a rank's data. `kernel`: it can be had. */
enum engine auto_engine(int64_t bytes, int n_ranks, int kernel);

/* Pieces with which the engines eager and graph are faster, for so many bytes of a rank's data. */
int auto_pieces(int64_t bytes, int n_ranks);

#endif
