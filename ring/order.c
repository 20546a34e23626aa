/* order.c - one walk that keeps a vector clock per op for just as long as somebody needs it.
 *
 * An op's clock is the maximum of the clocks of all it comes after: the op before it in its lane,
 * and the ops it waits for. Each of these clocks counts its own op, too. `a` happens before `b`
 * exactly when b's clock, at a's lane, has reached a's place in that lane.
 */
#include "ring/order.h"

#include <stdlib.h>
#include <string.h>

static const struct wait *waits_of(const struct order *o, int64_t id)
{
    return o->plan->waits ? o->plan->waits + o->plan->ops[id].first_wait : NULL;
}

static int lane_of(const struct order *o, int64_t id)
{
    const struct op *op = &o->plan->ops[id];
    return o->lane_index[stream_id(op->rank, op->lane)];
}

/* Numbers the lanes in use and the ops in them, and counts who needs whose clock. */
static enum status number_lanes(struct order *o, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = o->plan;
    int n_streams = plan->n_ranks * N_LANES;
    int64_t *last = NULL;
    TRY(allocate((void **)&last, n_streams, sizeof *last, "lanes", err));
    for (int i = 0; i < n_streams; i++)
        last[i] = o->lane_index[i] = NONE;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        int stream = stream_id(plan->ops[id].rank, plan->ops[id].lane);
        if (last[stream] == NONE)
            o->lane_index[stream] = o->n_lanes++;
        o->before[id] = last[stream];
        o->in_lane[id] = last[stream] == NONE ? 1 : o->in_lane[last[stream]] + 1;
        if (last[stream] != NONE)
            o->users[last[stream]]++;
        last[stream] = id;
        for (int i = 0; i < plan->ops[id].n_waits; i++)
            o->users[waits_of(o, id)[i].op]++;
    }
out:
    free(last);
    return status;
}

/* Kahn's algorithm, for plans in which some op waits for one listed after it. */
static enum status sort(struct order *o, struct error *err)
{
    enum status status = STATUS_OK;
    const struct plan *plan = o->plan;
    int64_t n = plan->n_ops, *first = NULL, *after = NULL, *missing = NULL;
    TRY(allocate((void **)&o->sequence, n, sizeof *o->sequence, "the order of ops", err));
    TRY(allocate((void **)&o->runs, n, 1, "the order of ops", err));
    TRY(allocate((void **)&first, n + 2, sizeof *first, "the order of ops", err));
    TRY(allocate((void **)&missing, n, sizeof *missing, "the order of ops", err));
    TRY(allocate((void **)&after, n + plan->n_waits, sizeof *after, "the order of ops", err));

    /* after[first[a] .. first[a + 1]) = the ops that come after a, by lane or wait */
    for (int64_t id = 0; id < n; id++)
        first[id + 2] = first[id + 1] + o->users[id];
    for (int64_t id = 0; id < n; id++) {
        if (o->before[id] != NONE)
            after[first[o->before[id] + 1]++] = id;
        for (int i = 0; i < plan->ops[id].n_waits; i++)
            after[first[waits_of(o, id)[i].op + 1]++] = id;
        missing[id] = plan->ops[id].n_waits + (o->before[id] != NONE);
        if (missing[id] == 0)
            o->sequence[o->n_sequence++] = id;
    }
    for (int64_t at = 0; at < o->n_sequence; at++) {
        int64_t id = o->sequence[at];
        o->runs[id] = 1;
        for (int64_t i = first[id]; i < first[id + 1]; i++)
            if (--missing[after[i]] == 0)
                o->sequence[o->n_sequence++] = after[i];
    }
out:
    free(first);
    free(missing);
    free(after);
    return status;
}

enum status order_open(struct order *o, const struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t n = plan->n_ops;
    int forward = 1;
    *o = (struct order){.plan = plan, .id = NONE, .n_sequence = n};
    TRY(allocate((void **)&o->lane_index, plan->n_ranks * N_LANES, sizeof *o->lane_index, "lanes",
                 err));
    TRY(allocate((void **)&o->in_lane, n, sizeof *o->in_lane, "the order of ops", err));
    TRY(allocate((void **)&o->before, n, sizeof *o->before, "the order of ops", err));
    TRY(allocate((void **)&o->users, n, sizeof *o->users, "the order of ops", err));
    TRY(allocate((void **)&o->clocks, n, sizeof *o->clocks, "the order of ops", err));
    TRY(number_lanes(o, err));
    TRY(allocate((void **)&o->spare, n, sizeof *o->spare, "the order of ops", err));
    TRY(allocate((void **)&o->zero, o->n_lanes, sizeof *o->zero, "the order of ops", err));
    for (int64_t id = 0; id < n && forward; id++)
        for (int i = 0; i < plan->ops[id].n_waits; i++)
            forward = forward && waits_of(o, id)[i].op < id;
    if (!forward) {
        o->n_sequence = 0;
        TRY(sort(o, err));
    }
out:
    return status;
}

void order_close(struct order *o)
{
    for (int64_t i = 0; o->clocks && i < o->plan->n_ops; i++)
        free(o->clocks[i]);
    for (int64_t i = 0; i < o->n_spare; i++)
        free(o->spare[i]);
    free(o->now);
    free(o->zero);
    free(o->spare);
    free(o->clocks);
    free(o->users);
    free(o->before);
    free(o->in_lane);
    free(o->lane_index);
    free(o->sequence);
    free(o->runs);
    memset(o, 0, sizeof *o);
}

static void release(struct order *o, int64_t id)
{
    if (--o->users[id] == 0) {
        o->spare[o->n_spare++] = o->clocks[id];
        o->clocks[id] = NULL;
    }
}

/* The op just visited counts itself and keeps its clock if anybody will ask for it. */
static void leave(struct order *o)
{
    int64_t id = o->id;
    if (id == NONE)
        return;
    o->now[lane_of(o, id)] = (int32_t)o->in_lane[id];
    if (o->users[id] > 0)
        o->clocks[id] = o->now;
    else
        o->spare[o->n_spare++] = o->now;
    o->now = NULL;
    if (o->before[id] != NONE)
        release(o, o->before[id]);
    for (int i = 0; i < o->plan->ops[id].n_waits; i++)
        release(o, waits_of(o, id)[i].op);
    o->id = NONE;
}

static void merge(int32_t *now, const int32_t *a, const int32_t *b, int n)
{
    for (int i = 0; i < n; i++)
        now[i] = a[i] > b[i] ? a[i] : b[i];
}

enum status order_next(struct order *o, int64_t *id, struct error *err)
{
    enum status status = STATUS_OK;
    leave(o);
    *id = NONE;
    if (o->at == o->n_sequence)
        return STATUS_OK;
    if (o->n_spare > 0)
        o->now = o->spare[--o->n_spare];
    else
        TRY(allocate((void **)&o->now, o->n_lanes, sizeof *o->now, "the proof's clocks", err));

    *id = o->id = order_at(o, o->at++);
    const struct wait *waits = waits_of(o, o->id);
    const int32_t *first = o->before[o->id] == NONE ? o->zero : o->clocks[o->before[o->id]];
    int n_waits = o->plan->ops[o->id].n_waits;
    merge(o->now, first, n_waits > 0 ? o->clocks[waits[0].op] : first, o->n_lanes);
    for (int i = 1; i < n_waits; i++)
        merge(o->now, o->now, o->clocks[waits[i].op], o->n_lanes);
out:
    return status;
}

int order_has(const struct order *o, int64_t a)
{
    return o->now[lane_of(o, a)] >= o->in_lane[a];
}

int order_implied(const struct order *o, int i)
{
    const struct wait *waits = waits_of(o, o->id);
    int lane = lane_of(o, waits[i].op);
    int64_t place = o->in_lane[waits[i].op];
    if (o->before[o->id] != NONE && o->clocks[o->before[o->id]][lane] >= place)
        return 1;
    for (int j = 0; j < o->plan->ops[o->id].n_waits; j++)
        if (j != i && (waits[j].op != waits[i].op || j < i) &&
            o->clocks[waits[j].op][lane] >= place)
            return 1;
    return 0;
}

/* A stuck op that a stuck op comes right after: the one before it in its lane, or one waited for */
static int64_t stuck_before(const struct order *o, int64_t id)
{
    int64_t previous = o->before[id];
    for (int i = 0; (previous == NONE || o->runs[previous]) && i < o->plan->ops[id].n_waits; i++)
        previous = waits_of(o, id)[i].op;
    return previous;
}

int order_stuck(const struct order *o, int64_t *circle, int max)
{
    if (!o->runs || o->n_sequence == o->plan->n_ops)
        return 0;
    int64_t id = 0, n = o->plan->n_ops, length = 0;
    while (o->runs[id])
        id++;
    for (int64_t back = 0; back < n; back++) /* so many steps back end inside a circle */
        id = stuck_before(o, id);
    int64_t first = id, at = id;
    do { /* once around, for its length and the op that is listed first */
        at = stuck_before(o, at);
        first = at < first ? at : first;
        length++;
    } while (at != id);
    at = first;
    for (int64_t i = length - 1; i >= 0; i--) { /* backwards, so that it reads forwards */
        at = stuck_before(o, at);
        if (i < max)
            circle[i] = at;
    }
    /* the last step back from `first` arrives there again: circle[0] is first */
    return length < max ? (int)length : max;
}
