/* verify.h - is every element of every rank right? Two questions, answered apart.
 *
 *   all ranks bit-identical   the ranks agree with each other, whatever they hold;
 *   value right               they hold what they should.
 *
 * The first proves nothing (all can be wrong alike), the second is not enough (a wrong rank may
 * hide within a tolerance), so both are asked, over every element, and there is no tolerance: the
 * reference makes the plan's own additions in the plan's own order, in the same type, so equality
 * is exact. Where the plan's sum is not complete, the reference adds in order of rank instead.
 * Where the plan's goal wants nothing (goal.h), nothing is compared, and where it does not want the
 * same data everywhere, the first question is not asked. NaN equals NaN. What the type's rounding
 * costs is printed beside it, as distance to float64.
 */
#ifndef RING_VERIFY_H
#define RING_VERIFY_H

#include "common/device.h"
#include "common/init.h"
#include "ring/outcome.h"
#include "ring/plan.h"

/* Compares what the devices hold after the run. Iteration: the plan's last. */
enum status verify(struct device *device, const struct plan *plan, const struct init *init,
                   struct verdict *verdict, struct error *err);

/* Only the hash, of what the devices hold now. */
enum status verify_hash(struct device *device, const struct plan *plan, uint64_t *hash,
                        struct error *err);

#endif
