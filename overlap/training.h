/* training.h - an iteration of training as the writers of traces want it: names, buckets and
 * figures as plain data, with nothing of overlap/ in it. */
#ifndef OVERLAP_TRAINING_H
#define OVERLAP_TRAINING_H

#include "overlap/bucket.h"
#include "overlap/timeline.h"
#include "ring/trace.h"

/* Owns its arrays; the names stay the model's. `slow` and `overlapped` are left to the caller.
 * STATUS_MACHINE: no memory; free it then, too. */
enum status training_open(struct scene_training *training, const struct model *model,
                          const struct buckets *buckets, const struct figures *figures,
                          int n_ranks, struct error *err);
void training_free(struct scene_training *training); /* also of a zeroed one */

#endif
