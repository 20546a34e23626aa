/* plan_text.h - a plan as lines of text, to be read, saved, changed by hand and read back.
 *
 * docs/plan-format.md is its manual. In short:
 *
 *     plan 1                    the format's version; first line but for comments
 *     ranks 2
 *     count 8                   elements of each rank's data
 *     goal allreduce            the default; others: reduce-scatter, all-gather, broadcast RANK,
 *                               reduce RANK
 *     inbox 4                   elements of each rank's inbox (default 0)
 *     there: copy 0.data[0:4] -> 1.inbox[0:4]
 *     add: reduce 1.inbox[0:4] -> 1.data[0:4] after there arrived
 *
 * An op is NAME: KIND [SOURCE ->] DESTINATION, then clauses in any order: labels (`iteration`,
 * `bucket`, `step`, `segment`, `piece`, each with a number), `lane RANK.LANE` where it is not the
 * usual one, and for each wait `after NAME REASON`. RANK.MEMORY[FIRST:END] are the elements FIRST
 * to END-1. Blanks separate words; # begins a comment. A wait may name an op of a later line.
 */
#ifndef RING_PLAN_TEXT_H
#define RING_PLAN_TEXT_H

#include <stdio.h>

#include "ring/plan.h"

/* Write errors show in ferror(file), which the caller asks. */
void plan_write(const struct plan *plan, FILE *file);

/* Reads what plan_write wrote: exactly the same plan. `source` names the text in messages, which
 * are FILE:LINE:COLUMN: what was found, what was expected (STATUS_USAGE). On failure *plan is
 * empty. Of labels only iteration means anything to the proof. */
enum status plan_read(struct plan *plan, const char *text, size_t length, const char *source,
                      struct error *err);

/* The same from a file, or from standard input where `path` is "-". STATUS_USAGE: unreadable. */
enum status plan_read_file(struct plan *plan, const char *path, struct error *err);

#endif
