/* goal.h - what must stand where when a plan is done.
 *
 *   allreduce       every rank's data: the sum of all ranks
 *   reduce R        rank R's data: the sum of all ranks; the others may hold anything
 *   broadcast R     every rank's data: rank R's
 *   reduce-scatter  of each segment one rank holds the sum: rank r of segment (r + d) mod N
 *   all-gather      every rank's data: of segment (r + d) mod N, rank r's
 *
 * d is the same for all ranks. MPI and NCCL have d = 0, this ring d = 1 (plan.h); a plan may have
 * any, and goal_shift() finds out which it is. "Sum" is the plan's redop, scaled for avg.
 */
#ifndef RING_GOAL_H
#define RING_GOAL_H

#include "ring/contents.h"

/* What is wanted in the elements of one segment of one rank: the sum, nothing in particular, or, as
 * its number, one rank's own data. */
enum { WANT_SUM = -1, WANT_NOTHING = -2 };
int goal_wants(const struct plan *plan, int shift, int rank, int segment);

/* Do the wants of one rank differ from segment to segment? */
int goal_by_segment(const struct plan *plan);

/* Must all ranks end up with the same data? */
int goal_same_everywhere(const struct plan *plan);

/* d is found by vote. Every stretch of data that holds what some d wants there, after `iteration`,
 * is a vote for that d, as heavy as it has elements: goal_vote() adds it to votes[n_ranks], and
 * goal_elected() is the d with most (0 where the goal knows none). goal_shift() lets all stretches
 * vote that are there now. */
void goal_vote(const struct contents *contents, const struct extent *extent, struct span where,
               int iteration, int64_t *votes);
int goal_elected(const struct plan *plan, const int64_t *votes);
int goal_shift(const struct contents *contents, int iteration);

/* Does this stretch hold what is wanted, of this iteration? */
int goal_holds(const struct contents *contents, const struct extent *extent, int iteration,
               int wanted);

const char *goal_name(enum goal goal);     /* "all-gather" */
int goal_has_root(enum goal goal);         /* broadcast, reduce: a rank is named with it */
int goal_copies(enum goal goal);           /* nothing is added: broadcast, all-gather */
/* What is reached when the goal is: "every element holds each rank exactly once". Returns buffer */
#define GOAL_WORDS_SIZE 96
const char *goal_words(const struct plan *plan, char buffer[GOAL_WORDS_SIZE]);

#endif
