/* step.h - `ring_demo overlap`: from the command line to the picture.
 *
 *     model -> buckets -> two plans, overlapped and serial -> check -> run -> verify -> timeline
 *
 * How long a layer's backward pass takes is said by --backward-us (the whole pass, shared out by
 * the model's work) or assumed: the work of a batch of STEP_BATCH samples at STEP_FLOPS.
 */
#ifndef OVERLAP_STEP_H
#define OVERLAP_STEP_H

#include "ring/sampled.h"

#define STEP_BATCH 32
#define STEP_FLOPS 200e12

/* STATUS_WRONG: a refuted plan, a wrong result, or two runs that differ. */
enum status overlap_step(struct settings *settings, struct error *err);

/* The plan that these settings make (--no-overlap: the serial one), without running it. */
enum status overlap_make_plan(struct settings *settings, struct plan *plan, struct error *err);

/* How long the overlapped iteration takes on the settings' backend, from the moment when the host
 * begins to queue it (sampled.h): untimed, so that nothing holds the devices back until all is
 * queued, and no op has an event more than in training. `moving`: see sampled.h. No element
 * is compared. STATUS_WRONG: a refuted plan. */
enum status overlap_time(struct settings *settings, int moving, struct spread *spread,
                         struct error *err);

#endif
