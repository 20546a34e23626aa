/* goal.c - five collectives, told apart by who wants what where. */
#include "ring/goal.h"

static const struct {
    const char *name;
    int has_root, by_segment, same_everywhere;
    const char *words;
} goals[N_GOALS] = {
    [GOAL_ALLREDUCE] = {"allreduce", 0, 0, 1, "every element holds each rank exactly once"},
    [GOAL_REDUCE_SCATTER] = {"reduce-scatter", 0, 1, 0,
                             "each rank holds one segment with each rank exactly once"},
    [GOAL_ALL_GATHER] = {"all-gather", 0, 1, 1, "every rank holds one segment of each rank"},
    [GOAL_BROADCAST] = {"broadcast", 1, 0, 1, "every rank holds rank %d's data"},
    [GOAL_REDUCE] = {"reduce", 1, 0, 0, "rank %d's data holds each rank exactly once"},
};

const char *goal_name(enum goal goal) { return goals[goal].name; }
int goal_has_root(enum goal goal) { return goals[goal].has_root; }
int goal_copies(enum goal goal) { return goal == GOAL_BROADCAST || goal == GOAL_ALL_GATHER; }
int goal_by_segment(const struct plan *plan) { return goals[plan->goal].by_segment; }
int goal_same_everywhere(const struct plan *plan) { return goals[plan->goal].same_everywhere; }

const char *goal_words(const struct plan *plan, char buffer[GOAL_WORDS_SIZE])
{
    if (!goal_has_root(plan->goal))
        return goals[plan->goal].words;
    snprintf(buffer, GOAL_WORDS_SIZE, goals[plan->goal].words, plan->root);
    return buffer;
}

int goal_wants(const struct plan *plan, int shift, int rank, int segment)
{
    int n = plan->n_ranks, owner = (segment - shift + n) % n;
    switch (plan->goal) {
    case GOAL_REDUCE_SCATTER: return owner == rank ? WANT_SUM : WANT_NOTHING;
    case GOAL_ALL_GATHER: return owner;
    case GOAL_BROADCAST: return plan->root;
    case GOAL_REDUCE: return rank == plan->root ? WANT_SUM : WANT_NOTHING;
    default: return WANT_SUM;
    }
}

int goal_holds(const struct contents *contents, const struct extent *extent, int iteration,
               int wanted)
{
    return wanted == WANT_NOTHING ||
           (wanted == WANT_SUM ? contents_complete(contents, extent, iteration)
                               : contents_is_rank(contents, extent, iteration, wanted));
}

/* Every (rank, segment) that holds what some d wants there is a vote for that d. */
int goal_shift(const struct contents *contents, int iteration)
{
    const struct plan *plan = contents->plan;
    int n = plan->n_ranks, best = 0;
    int32_t votes[PLAN_MAX_RANKS] = {0};
    for (int rank = 0; rank < n && goal_by_segment(plan); rank++)
        for (int segment = 0; segment < n; segment++) {
            struct extents *data = contents_memory(contents, rank, MEMORY_DATA);
            int64_t first, count;
            plan_part(0, plan->count, n, segment, &first, &count);
            if (count == 0)
                continue;
            const struct extent *extent = &data->items[extents_find(data, first)];
            int owner = plan->goal == GOAL_ALL_GATHER ? contents_rank(contents, extent) : rank;
            int d = (segment - owner + n) % n;
            int right = goal_holds(contents, extent, iteration, goal_wants(plan, d, rank, segment));
            /* a rank's own segment is there from the beginning and says nothing */
            if (owner != NONE && right && (plan->goal != GOAL_ALL_GATHER || owner != rank))
                votes[d]++;
        }
    for (int d = 0; d < n; d++)
        if (votes[d] > votes[best])
            best = d;
    return best;
}
