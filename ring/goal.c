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

void goal_vote(const struct contents *contents, const struct extent *extent, struct span where,
               int iteration, int64_t *votes)
{
    const struct plan *plan = contents->plan;
    int n = plan->n_ranks, owner = where.rank;
    int64_t end = where.first + where.count, first, count;
    if (plan->goal == GOAL_ALL_GATHER)
        owner = contents_rank(contents, extent);
    if (!goal_by_segment(plan) || where.count == 0 || owner == NONE ||
        !goal_holds(contents, extent, iteration, plan->goal == GOAL_ALL_GATHER ? owner : WANT_SUM))
        return;
    for (int segment = plan_segment(plan, where.first); segment < n; segment++) {
        plan_part(0, plan->count, n, segment, &first, &count);
        if (first >= end)
            break;
        int64_t from = first > where.first ? first : where.first;
        votes[(segment - owner + n) % n] += (first + count < end ? first + count : end) - from;
    }
}

int goal_elected(const struct plan *plan, const int64_t *votes)
{
    int best = 0;
    for (int d = 0; d < plan->n_ranks && goal_by_segment(plan); d++)
        if (votes[d] > votes[best])
            best = d;
    return best;
}

int goal_shift(const struct contents *contents, int iteration)
{
    const struct plan *plan = contents->plan;
    int64_t votes[PLAN_MAX_RANKS] = {0};
    for (int rank = 0; rank < plan->n_ranks && goal_by_segment(plan); rank++) {
        const struct extents *data = contents_memory(contents, rank, MEMORY_DATA);
        for (int64_t i = 0; i < data->n; i++)
            goal_vote(contents, &data->items[i],
                      (struct span){rank, MEMORY_DATA, data->items[i].first,
                                    extents_length(data, i)}, iteration, votes);
    }
    return goal_elected(plan, votes);
}
