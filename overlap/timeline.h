/* timeline.h - a picture of a run of overlap's plan: what each lane of each rank does when. */
#ifndef OVERLAP_TIMELINE_H
#define OVERLAP_TIMELINE_H

#include <stdio.h>

#include "ring/outcome.h"
#include "ring/plan.h"

/* 100 columns: for each rank (the first few, where there are many) its three lanes, a digit for the
 * bucket that is computed for, sent or added in each slot of time, counted in launch order; a dot
 * where the lane rests, u for the optimizer. bucket_of[n_layers]: the last bucket that a layer's
 * gradients go into. `unit` is what the times are said in, 1000 ns each. */
void timeline_print(const struct plan *plan, const struct timing *timing, const int *bucket_of,
                    const char *unit, FILE *file);

#endif
