/* span.h - where data lies and where work queues: the names a plan and a device share.
 *
 * A rank has two memories, `data` (its gradient buffer) and `inbox` (where a neighbour's segments
 * land), and three lanes. Ops of one lane run in order; ops of different lanes only when a wait
 * says so. Positions and counts are in elements, always 64 bits wide.
 */
#ifndef COMMON_SPAN_H
#define COMMON_SPAN_H

#include <stdint.h>

enum memory { MEMORY_DATA, MEMORY_INBOX, N_MEMORIES };

enum lane { LANE_COMPUTE, LANE_SEND, LANE_REDUCE, N_LANES };

struct span {
    int rank;
    enum memory memory;
    int64_t first; /* element */
    int64_t count; /* elements; 0 = no span */
};

/* A stream is one lane of one rank, as a small integer: 0 .. n_ranks * N_LANES - 1. */
static inline int stream_id(int rank, enum lane lane) { return rank * N_LANES + (int)lane; }

#endif
