/* compare.h - `ring_demo bench --overlap`: the same iteration by each engine, beside NCCL.
 *
 * All engines have the same buckets and the same compute. How long communication alone takes is
 * measured first; the backward passes are then COMPARE_RATIOS times that. On GPUs they are made of
 * work that fills the chip, once bound by arithmetic and once by memory. Engines take turns, and an
 * iteration is the median over COMPARE_ROUNDS turns, each itself the median of SAMPLED_RUNS runs by
 * the host's clock: no event is timed, since timed ones cost time, most of all in a graph. Compute
 * and communication alone are of a serial run whose ops are timed.
 *
 * The ideal is that of figures.h and the optimizer behind it: of all engines the least, each by its
 * own serial run. No engine that is on can beat it, but for noise.
 */
#ifndef OVERLAP_COMPARE_H
#define OVERLAP_COMPARE_H

#include "ring/settings.h"

#define COMPARE_RATIOS {0.75, 1, 1.5}
#define COMPARE_ROUNDS 3
#define COMPARE_ROWS 6 /* at most: two kinds of compute, three lengths */

/* What had been measured before an error or a Ctrl-C is shown, and written to --json, all the same.
 * STATUS_WRONG: some element of some engine is wrong. STATUS_MACHINE: an engine that was asked for
 * by name cannot be had. */
enum status overlap_compare(struct settings *settings, struct error *err);

#endif
