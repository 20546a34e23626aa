/* order.c - one walk that keeps a vector clock per op for just as long as somebody needs it.
 *
 * An op's clock is the maximum of the clocks of all it comes after: the op before it in its lane,
 * and the ops it waits for. Each of these clocks counts its own op, too. `a` happens before `b`
 * exactly when b's clock, at a's lane, has reached a's place in that lane.
 */
#include "ring/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"

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
        o->wide = o->wide || o->in_lane[id] > INT16_MAX;
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

/* ---- clocks ---- */

static int64_t place(const struct order *o, const void *clock, int lane)
{
    return o->wide ? ((const int32_t *)clock)[lane] : ((const int16_t *)clock)[lane];
}

static void set_place(const struct order *o, void *clock, int lane, int64_t to)
{
    if (o->wide)
        ((int32_t *)clock)[lane] = (int32_t)to;
    else
        ((int16_t *)clock)[lane] = (int16_t)to;
}

#define MERGE(type, now, a, b, n)                         \
    for (int i = 0; i < (n); i++)                         \
        ((type *)(now))[i] = ((const type *)(a))[i] > ((const type *)(b))[i] \
                                 ? ((const type *)(a))[i] \
                                 : ((const type *)(b))[i]

static void merge(struct order *o, void *now, const void *a, const void *b)
{
    o->work += o->n_lanes;
    if (o->wide)
        MERGE(int32_t, now, a, b, o->n_lanes);
    else
        MERGE(int16_t, now, a, b, o->n_lanes);
}

static size_t clock_bytes(const struct order *o)
{
    return (size_t)o->n_lanes * (o->wide ? sizeof(int32_t) : sizeof(int16_t));
}

static enum status make_clock(struct order *o, void **out, struct error *err)
{
    if (o->n_spare > 0) {
        *out = o->spare[--o->n_spare];
        return STATUS_OK;
    }
    if (++o->n_made * (int64_t)clock_bytes(o) > ORDER_MAX_BYTES)
        return fail(err, STATUS_MACHINE,
                    "too much to prove: %" PRId64 " ops on %d lanes are waited for much later; "
                    "their clocks would take more than %lld MiB",
                    o->n_made, o->n_lanes, ORDER_MAX_BYTES >> 20);
    return allocate(out, (long long)clock_bytes(o), 1, "the proof's clocks", err);
}

/* ---- the walk ---- */

enum status order_open(struct order *o, const struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t n = plan->n_ops;
    int forward = 1, most_waits = 0;
    *o = (struct order){.plan = plan, .id = NONE, .n_sequence = n};
    TRY(allocate((void **)&o->lane_index, plan->n_ranks * N_LANES, sizeof *o->lane_index, "lanes",
                 err));
    TRY(allocate((void **)&o->in_lane, n, sizeof *o->in_lane, "the order of ops", err));
    TRY(allocate((void **)&o->before, n, sizeof *o->before, "the order of ops", err));
    TRY(allocate((void **)&o->users, n, sizeof *o->users, "the order of ops", err));
    TRY(allocate((void **)&o->clocks, n, sizeof *o->clocks, "the order of ops", err));
    TRY(number_lanes(o, err));
    TRY(allocate((void **)&o->spare, n, sizeof *o->spare, "the order of ops", err));
    TRY(allocate((void **)&o->kept_of, o->n_lanes, sizeof *o->kept_of, "the order of ops", err));
    TRY(allocate(&o->zero, (long long)clock_bytes(o), 1, "the order of ops", err));
    for (int lane = 0; lane < o->n_lanes; lane++)
        o->kept_of[lane] = NONE;
    for (int64_t id = 0; id < n; id++) {
        most_waits = plan->ops[id].n_waits > most_waits ? plan->ops[id].n_waits : most_waits;
        for (int i = 0; i < plan->ops[id].n_waits && forward; i++)
            forward = waits_of(o, id)[i].op < id;
    }
    TRY(allocate((void **)&o->kept, most_waits, sizeof *o->kept, "the order of ops", err));
    if (!forward) {
        o->n_sequence = 0;
        TRY(sort(o, err));
        TRY(allocate((void **)&o->positions, n, sizeof *o->positions, "the order of ops", err));
        for (int64_t at = 0; at < o->n_sequence; at++)
            o->positions[o->sequence[at]] = at;
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
    free(o->kept);
    free(o->kept_of);
    free(o->to_follow);
    free(o->assumed);
    free(o->first_assumed);
    free(o->spare);
    free(o->clocks);
    free(o->users);
    free(o->before);
    free(o->in_lane);
    free(o->lane_index);
    free(o->sequence);
    free(o->positions);
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
    set_place(o, o->now, lane_of(o, id), o->in_lane[id]);
    if (o->users[id] > 0)
        o->clocks[id] = o->now;
    else
        o->spare[o->n_spare++] = o->now;
    o->now = NULL;
    if (o->before[id] != NONE)
        release(o, o->before[id]);
    for (int i = 0; i < o->plan->ops[id].n_waits; i++)
        release(o, waits_of(o, id)[i].op);
    for (int i = 0; i < o->n_kept; i++)
        o->kept_of[lane_of(o, waits_of(o, id)[o->kept[i]].op)] = NONE;
    o->id = NONE;
}

/* Of the waits for ops of one lane the one for the last op (the first such wait) implies the
 * others. */
static void keep_latest(struct order *o)
{
    const struct wait *waits = waits_of(o, o->id);
    for (int i = 0; i < o->plan->ops[o->id].n_waits; i++) {
        int32_t *kept = &o->kept_of[lane_of(o, waits[i].op)];
        if (*kept == NONE || o->in_lane[waits[i].op] > o->in_lane[waits[*kept].op])
            *kept = i;
    }
    o->n_kept = 0;
    for (int i = 0; i < o->plan->ops[o->id].n_waits; i++)
        if (o->kept_of[lane_of(o, waits[i].op)] == i)
            o->kept[o->n_kept++] = i;
    o->work += 8 * (int64_t)o->plan->ops[o->id].n_waits;
}

enum status order_next(struct order *o, int64_t *id, struct error *err)
{
    enum status status = STATUS_OK;
    leave(o);
    *id = NONE;
    if (o->at == o->n_sequence)
        return STATUS_OK;
    TRY(interrupt_seen(err));
    if (o->work > ORDER_MAX_WORK)
        return fail(err, STATUS_MACHINE,
                    "too much to prove: %" PRId64 " of %" PRId64 " ops took all the work that a "
                    "plan may take; fewer ranks or fewer ops are wanted",
                    o->at, o->plan->n_ops);
    TRY(make_clock(o, &o->now, err));
    *id = o->id = order_at(o, o->at++);
    keep_latest(o);
    const struct wait *waits = waits_of(o, o->id);
    const void *first = o->before[o->id] == NONE ? o->zero : o->clocks[o->before[o->id]];
    merge(o, o->now, first, o->n_kept > 0 ? o->clocks[waits[o->kept[0]].op] : first);
    for (int i = 1; i < o->n_kept; i++)
        merge(o, o->now, o->now, o->clocks[waits[o->kept[i]].op]);
out:
    return status;
}

int order_has(const struct order *o, int64_t a)
{
    return place(o, o->now, lane_of(o, a)) >= o->in_lane[a];
}

static enum status note_assumed(struct order *o, int64_t a, struct error *err)
{
    enum status status = STATUS_OK;
    if (!o->first_assumed) {
        TRY(allocate((void **)&o->first_assumed, o->plan->n_ops, sizeof a, "the proof", err));
        for (int64_t id = 0; id < o->plan->n_ops; id++)
            o->first_assumed[id] = NONE;
    }
    TRY(make_room((void **)&o->assumed, o->n_assumed + 1, &o->assumed_capacity, sizeof *o->assumed,
                  "the proof", err));
    o->assumed[o->n_assumed] = (struct assumed){a, o->first_assumed[o->id]};
    o->first_assumed[o->id] = o->n_assumed++;
out:
    return status;
}

static enum status follow(struct order *o, int64_t *n, int64_t op, struct error *err)
{
    enum status status = make_room((void **)&o->to_follow, *n + 1, &o->follow_capacity, sizeof op,
                                   "the proof", err);
    if (status == STATUS_OK)
        o->to_follow[(*n)++] = op;
    o->work += 8;
    return status;
}

enum status order_assume(struct order *o, int64_t a, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t n = 0;
    TRY(note_assumed(o, a, err));
    TRY(follow(o, &n, a, err));
    while (n > 0) {
        int64_t id = o->to_follow[--n];
        int lane = lane_of(o, id);
        int64_t known = place(o, o->now, lane);
        if (o->in_lane[id] > known)
            set_place(o, o->now, lane, o->in_lane[id]);
        for (; id != NONE && o->in_lane[id] > known; id = o->before[id]) {
            for (int i = 0; i < o->plan->ops[id].n_waits; i++)
                TRY(follow(o, &n, waits_of(o, id)[i].op, err));
            for (int64_t i = o->first_assumed[id]; i != NONE; i = o->assumed[i].next)
                TRY(follow(o, &n, o->assumed[i].op, err));
        }
    }
out:
    return status;
}

int64_t order_implied(struct order *o, int i)
{
    const struct wait *waits = waits_of(o, o->id);
    int64_t op = waits[i].op, before = o->before[o->id];
    int lane = lane_of(o, op), latest = o->kept_of[lane];
    if (before != NONE && place(o, o->clocks[before], lane) >= o->in_lane[op])
        return before;
    if (latest != i)
        return waits[latest].op;
    o->work += 8 * o->n_kept;
    for (int j = 0; j < o->n_kept; j++)
        if (o->kept[j] != i &&
            place(o, o->clocks[waits[o->kept[j]].op], lane) >= o->in_lane[op])
            return waits[o->kept[j]].op;
    return NONE;
}

int64_t order_stuck(const struct order *o, int64_t id, int *wait)
{
    *wait = NONE;
    if (o->before[id] != NONE && !order_runs(o, o->before[id]))
        return o->before[id];
    do
        ++*wait;
    while (order_runs(o, waits_of(o, id)[*wait].op));
    return waits_of(o, id)[*wait].op;
}
