/* run_kernel.h - engine kernel of run.c: whole rings of a plan, each as one call of kernel.h.
 *
 * The ops of one ring (of an iteration, or of a bucket) are found by their labels. What precedes or
 * follows them, computes and the optimizer, is queued op by op as ever: the call begins behind all
 * that its ops wait for, and who waits for one of its ops waits for the whole call. Only run.c
 * includes this.
 */
#ifndef RING_RUN_KERNEL_H
#define RING_RUN_KERNEL_H

#include "ring/kernel.h"
#include "ring/run.h"

/* Event 2i marks the begin of op i, event 2i+1 its end. */
static inline int64_t begin_event(int64_t id) { return 2 * id; }
static inline int64_t end_event(int64_t id) { return 2 * id + 1; }

struct run_kernel;

/* `open` devices for this plan (run_open). STATUS_MACHINE: the kernel cannot be had here, or the
 * plan's rings are not whole ones. */
enum status run_kernel_open(struct run_kernel **out, struct device *device,
                            const struct plan *plan, const struct run_options *options,
                            struct error *err);
void run_kernel_close(struct run_kernel *kernel); /* may be NULL */

/* Is this op part of a ring? Then it is queued with the first of them, which is told here. Before
 * any other op is queued, with its own waits, run_kernel_wait is told. */
int run_kernel_has(const struct run_kernel *kernel, int64_t id);
enum status run_kernel_queue(struct run_kernel *kernel, int64_t id, struct error *err);
enum status run_kernel_wait(struct run_kernel *kernel, int64_t id, struct error *err);

/* After sync: did every wait end; and when began and ended each op? Times are of the devices' own
 * timers, of other ops (timing has them already) moved to that clock. */
enum status run_kernel_judge(struct run_kernel *kernel, struct error *err);
enum status run_kernel_times(struct run_kernel *kernel, struct timing *timing, struct error *err);

#endif
