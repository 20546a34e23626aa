/* loops.h - arith.h over arrays: what the host backend computes with, and the reference too. */
#ifndef COMMON_LOOPS_H
#define COMMON_LOOPS_H

#include <stdint.h>

#include "common/dtype.h"

/* dst[i] = dst[i] op src[i]; avg adds. dst and src are aligned for the type and do not overlap. */
void loop_reduce(enum dtype dtype, enum redop op, void *dst, const void *src, int64_t count);

/* The scaling of avg over n ranks, in place. */
void loop_scale(enum dtype dtype, void *data, int n, int64_t count);

#endif
