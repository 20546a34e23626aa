/* bugs.c - each fault is a few lines that change a right plan; the table at the end says the rest.
 *
 * "The article" is a text that circulates with two listings, a ring over cudaMemcpyPeerAsync and an
 * overlap pipeline over NCCL. The reports are public; they are retold here, not quoted.
 */
#include "ring/bugs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"

/* ---- changing waits ---- */

/* Keeps the waits for which keep() says so; the others are the change. */
static int64_t filter_waits(struct plan *plan,
                            int (*keep)(const struct plan *, const struct op *, struct wait))
{
    int64_t dropped = 0;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        struct op *op = &plan->ops[id];
        struct wait *waits = plan->waits + op->first_wait;
        int kept = 0;
        for (int i = 0; i < op->n_waits; i++)
            if (keep(plan, op, waits[i]))
                waits[kept++] = waits[i];
        dropped += op->n_waits - kept;
        op->n_waits = kept;
    }
    return dropped;
}

static int not_of_add(const struct plan *plan, const struct op *op, struct wait wait)
{
    (void)plan;
    return op->kind != OP_REDUCE || wait.reason != WAIT_ARRIVED;
}

static int not_for_compute(const struct plan *plan, const struct op *op, struct wait wait)
{
    (void)op;
    return plan->ops[wait.op].kind != OP_COMPUTE;
}

static int not_for_slot(const struct plan *plan, const struct op *op, struct wait wait)
{
    (void)plan;
    return op->kind != OP_COPY || wait.reason != WAIT_DRAINED;
}

static int not_for_sent(const struct plan *plan, const struct op *op, struct wait wait)
{
    (void)plan;
    return op->kind != OP_COMPUTE || wait.reason != WAIT_DRAINED;
}

/* Rank 0 goes on alone: it fills its data with what its next all-reduce will need. Rank 1's result
 * is looked at. */
static enum status refill_rank_0(struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    struct wait waits[2] = {{NONE, WAIT_ARRIVED}, {NONE, WAIT_DRAINED}}; /* as ring.h says */
    struct op op = {.kind = OP_COMPUTE, .lane = LANE_COMPUTE, .iteration = plan->iterations,
                    .bucket = NONE, .step = NONE, .segment = NONE, .piece = NONE,
                    .layer = NONE, .dst = {0, MEMORY_DATA, 0, plan->count}};
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *o = &plan->ops[id];
        if (o->kind == OP_COPY && o->dst.rank == 0 && o->dst.memory == MEMORY_DATA)
            waits[0].op = id;
        if (o->kind == OP_COPY && o->rank == 0)
            waits[1].op = id;
    }
    if (plan->count == 0 || waits[1].op == NONE)
        return STATUS_OK;
    plan->goal = GOAL_REDUCE;
    plan->root = 1;
    TRY(plan_append(plan, op, waits, 2, NULL, err));
    TRY(plan_drop_implied(plan, err));
out:
    return status;
}

#define APPLY(name) static enum status name(struct plan *plan, int64_t *n, struct error *err)

APPLY(add_early) { (void)err; *n = filter_waits(plan, not_of_add); return STATUS_OK; }
APPLY(stream_for_event) { (void)err; *n = filter_waits(plan, not_for_compute); return STATUS_OK; }
APPLY(slot_early) { (void)err; *n = filter_waits(plan, not_for_slot); return STATUS_OK; }
APPLY(no_exit_wait) { (void)err; *n = filter_waits(plan, not_for_sent); return STATUS_OK; }

/* An event recorded before op X happens when what precedes X on its lane has ended. */
APPLY(event_early)
{
    enum status status = STATUS_OK;
    int64_t *before = NULL, *last = NULL, n_streams = (int64_t)plan->n_ranks * N_LANES;
    *n = plan->n_waits;
    TRY(allocate((void **)&before, plan->n_ops, sizeof *before, "the exhibit", err));
    TRY(allocate((void **)&last, n_streams, sizeof *last, "the exhibit", err));
    for (int64_t i = 0; i < n_streams; i++)
        last[i] = NONE;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        int64_t *lane = &last[stream_id(plan->ops[id].rank, plan->ops[id].lane)];
        before[id] = *lane;
        *lane = id;
    }
    for (int64_t id = 0; id < plan->n_ops; id++) {
        struct op *op = &plan->ops[id];
        struct wait *waits = plan->waits + op->first_wait;
        int kept = 0;
        for (int i = 0; i < op->n_waits; i++)
            if (before[waits[i].op] != NONE)
                waits[kept++] = (struct wait){before[waits[i].op], waits[i].reason};
        op->n_waits = kept;
    }
out:
    free(before);
    free(last);
    return status;
}

/* Whole-stream syncs: what begins a lane's part of a step waits for all lanes' ends of the step
 * before. */
static enum status sync_steps(struct plan *plan, int64_t *n, struct error *err)
{
    enum status status = STATUS_OK;
    int n_streams = plan->n_ranks * N_LANES;
    int64_t *last = NULL, *previous = NULL; /* [n_streams]: of this step, and of the one before */
    int step = NONE;
    TRY(allocate((void **)&last, n_streams, sizeof *last, "the exhibit", err));
    TRY(allocate((void **)&previous, n_streams, sizeof *previous, "the exhibit", err));
    for (int i = 0; i < n_streams; i++)
        last[i] = previous[i] = NONE;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        int stream = stream_id(op->rank, op->lane);
        if (op->step != step) {
            step = op->step;
            for (int i = 0; i < n_streams; i++) {
                previous[i] = last[i] != NONE ? last[i] : previous[i];
                last[i] = NONE;
            }
        }
        for (int i = 0; i < n_streams && last[stream] == NONE; i++)
            if (previous[i] != NONE && i != stream) {
                TRY(plan_add_wait(plan, id, (struct wait){previous[i], WAIT_SERIAL}, err));
                ++*n;
            }
        last[stream] = id;
    }
out:
    free(last);
    free(previous);
    return status;
}

/* Everybody receives before it sends: the first copies wait for each other around the ring. */
APPLY(all_receive_first)
{
    enum status status = STATUS_OK;
    int64_t first[PLAN_MAX_RANKS];
    int found = 0;
    for (int64_t id = 0; id < plan->n_ops && found < plan->n_ranks; id++)
        if (plan->ops[id].kind == OP_COPY && plan->ops[id].step == 0)
            first[found++] = id;
    for (int i = 0; i < found && found == plan->n_ranks; i++) {
        TRY(plan_add_wait(plan, first[i],
                     (struct wait){first[(i + found - 1) % found], WAIT_ARRIVED}, err));
        ++*n;
    }
out:
    return status;
}

/* Waits that were left out or moved leave holes in the plan's list: it is written anew. */
static enum status close_gaps(struct plan *plan, struct error *err)
{
    struct wait *waits = NULL;
    int64_t n = 0;
    enum status status = allocate((void **)&waits, plan->n_waits, sizeof *waits, "the plan", err);
    if (status != STATUS_OK)
        return status;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        struct op *op = &plan->ops[id];
        for (int i = 0; i < op->n_waits; i++)
            waits[n + i] = plan->waits[op->first_wait + i];
        op->first_wait = n;
        n += op->n_waits;
    }
    if (n > 0)
        memcpy(plan->waits, waits, (size_t)n * sizeof *waits);
    plan->n_waits = n;
    free(waits);
    return STATUS_OK;
}

/* ---- changing ops ---- */

static int scatters(const struct plan *plan, const struct op *op)
{
    return op->step != NONE && !ring_gathers(plan->n_ranks, op->step);
}

static int left_of(const struct plan *plan, int rank)
{
    return (rank + plan->n_ranks - 1) % plan->n_ranks;
}

/* The add reads the sender's data instead of what has arrived. */
static int64_t read_peers(struct plan *plan)
{
    int64_t n = 0;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        struct op *op = &plan->ops[id];
        if (op->kind != OP_REDUCE)
            continue;
        op->src = op->dst;
        op->src.rank = left_of(plan, op->rank);
        n++;
    }
    return n;
}

APPLY(peer_read) { (void)err; *n = read_peers(plan); return STATUS_OK; }

APPLY(own_segment)
{
    (void)err;
    *n = read_peers(plan);
    for (int64_t id = 0; id < plan->n_ops; id++) {
        struct op *op = &plan->ops[id];
        if (op->kind == OP_COPY && scatters(plan, op)) {
            int to = op->dst.rank;
            op->dst = op->src;
            op->dst.rank = to;
            ++*n;
        }
    }
    return STATUS_OK;
}

/* The all-gather with (r - s - 1), s counted from 0 again, where (r + 1 - s) is right. */
APPLY(gather_index)
{
    (void)err;
    int ranks = plan->n_ranks;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        struct op *op = &plan->ops[id];
        if (op->step == NONE || scatters(plan, op))
            continue;
        int segment = (op->rank - (op->step - (ranks - 1)) - 1 + 2 * ranks) % ranks;
        int64_t first, count;
        *n += segment != op->segment;
        plan_part(0, plan->count, ranks, segment, &first, &count);
        plan_part(first, count, plan->pieces, op->piece, &first, &count);
        op->segment = segment;
        op->src.first = op->dst.first = first;
        op->src.count = op->dst.count = count;
    }
    return STATUS_OK;
}

/* Gives each piece the place and size that cut() makes of its segment. */
static int64_t recut(struct plan *plan,
                     void (*cut)(const struct plan *, int, int64_t *first, int64_t *count))
{
    int64_t n = 0;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        struct op *op = &plan->ops[id];
        struct span before = op->kind == OP_COPY ? op->src : op->dst;
        int64_t first, count;
        if (op->segment == NONE)
            continue;
        cut(plan, op->segment, &first, &count);
        plan_part(first, count, plan->pieces, op->piece, &first, &count);
        n += count != before.count || first != before.first;
        for (int i = 0; i < 2; i++) {
            struct span *span = i ? &op->dst : &op->src;
            if (span->count == 0)
                continue;
            span->count = count;
            if (span->memory == MEMORY_DATA)
                span->first = first;
        }
    }
    return n;
}

static void cut_floor(const struct plan *plan, int segment, int64_t *first, int64_t *count)
{
    *count = plan->count / plan->n_ranks;
    *first = segment * *count;
}

static void cut_fat(const struct plan *plan, int segment, int64_t *first, int64_t *count)
{
    *count = plan->count / plan->n_ranks + plan->count % plan->n_ranks;
    *first = segment * *count;
}

APPLY(no_remainder) { (void)err; *n = recut(plan, cut_floor); return STATUS_OK; }

APPLY(fat_segment)
{
    (void)err;
    *n = recut(plan, cut_fat);
    return STATUS_OK;
}

/* A kernel that adds four elements at a time, and forgets those that are left. */
APPLY(vector_tail)
{
    (void)err;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        struct op *op = &plan->ops[id];
        if (op->kind == OP_REDUCE && op->dst.count % 4) {
            op->src.count = op->dst.count -= op->dst.count % 4;
            ++*n;
        }
    }
    return STATUS_OK;
}

/* The last add of a segment does nothing. */
static int64_t lose_add(struct plan *plan, int segment)
{
    for (int64_t id = plan->n_ops - 1; id >= 0; id--) {
        struct op *op = &plan->ops[id];
        if (op->kind == OP_REDUCE && op->segment == segment) {
            op->src.count = op->dst.count = 0;
            return 1;
        }
    }
    return 0;
}

APPLY(lost_add) { (void)err; *n = lose_add(plan, plan->n_ranks - 1); return STATUS_OK; }

APPLY(lost_adds)
{
    (void)err;
    for (int segment = 0; segment < plan->n_ranks; segment++)
        *n += lose_add(plan, segment);
    return STATUS_OK;
}

/* The first add a second time, right behind itself. */
APPLY(added_twice)
{
    enum status status = STATUS_OK;
    int64_t id = 0;
    while (id < plan->n_ops && plan->ops[id].kind != OP_REDUCE)
        id++;
    if (id == plan->n_ops)
        return STATUS_OK;
    TRY(make_room((void **)&plan->ops, plan->n_ops + 1, &plan->ops_capacity, sizeof *plan->ops,
                  "the plan", err));
    memmove(plan->ops + id + 1, plan->ops + id,
            (size_t)(plan->n_ops - id) * sizeof *plan->ops);
    plan->n_ops++;
    plan->ops[id + 1].n_waits = 0;
    plan->ops[id + 1].step = NONE; /* a name of its own: "reduce.r0" */
    for (int64_t i = 0; i < plan->n_waits; i++)
        plan->waits[i].op += plan->waits[i].op >= id;
    *n = 1;
out:
    return status;
}

APPLY(stale_upload) /* see run.c; fresh data of another iteration would cover it up */
{
    (void)err;
    *n = plan->n_ranks > 1 && plan->count > 0 && plan->iterations == 1;
    return STATUS_OK;
}

/* ---- the article ---- */

/* What GPU `rank` does at one step: it copies its segment onto its right neighbour's, and there, on
 * the neighbour's only stream, the copied segment's source is added. Each GPU has one stream. */
static enum status article_op(struct plan *plan, int rank, int step, int segment, int copy_first,
                              struct error *err)
{
    enum status status = STATUS_OK;
    int to = (rank + 1) % plan->n_ranks;
    struct op copy = {.kind = OP_COPY, .lane = LANE_SEND, .rank = rank, .bucket = NONE,
                      .step = step, .segment = segment, .piece = NONE, .layer = NONE};
    copy.src = (struct span){rank, MEMORY_DATA, 0, 0};
    plan_part(0, plan->count, plan->n_ranks, segment, &copy.src.first, &copy.src.count);
    copy.dst = copy.src;
    copy.dst.rank = to;
    struct op add = copy;
    add.kind = OP_REDUCE;
    add.rank = to;
    if (copy.src.count == 0)
        return STATUS_OK;
    struct wait wait = {NONE, WAIT_ARRIVED};
    int64_t id;
    TRY(plan_append(plan, copy, NULL, 0, &id, err));
    wait.op = copy_first ? id : NONE;
    if (!ring_gathers(plan->n_ranks, step))
        TRY(plan_append(plan, add, &wait, 1, NULL, err));
out:
    return status;
}

enum status bug_article_plan(struct plan *plan, int copy_first, struct error *err)
{
    enum status status = STATUS_OK;
    int n = plan->n_ranks;
    int64_t n_syncs = 0;
    plan->n_ops = plan->n_waits = plan->inbox_count = 0;
    for (int step = 0; step < ring_steps(n); step++)
        for (int rank = 0; rank < n; rank++) {
            int s = ring_gathers(n, step) ? step - (n - 1) + 1 : step;
            TRY(article_op(plan, rank, step, (rank - s + 2 * n) % n, copy_first, err));
        }
    TRY(sync_steps(plan, &n_syncs, err));
    TRY(plan_drop_implied(plan, err));
out:
    return status;
}

APPLY(article)
{
    if (plan->n_ranks < 2 || plan->iterations > 1 || plan->pieces > 1 || plan->redop == REDOP_AVG)
        return STATUS_OK;
    *n = plan->n_ops;
    return bug_article_plan(plan, 0, err);
}

/* ---- the catalogue ---- */

#define BIT(test) (1u << TEST_##test)
#define USUAL (BIT(CONSTANT) | BIT(TWO) | BIT(ONE_RUN) | BIT(RANDOM) | BIT(PROOF))
#define ARTICLE_RING "the article's ring"
#define RANKS "two ranks or more, and elements in every segment"
#define SHAPE(...) {.dtype = DTYPE_FLOAT32, .redop = REDOP_SUM, __VA_ARGS__}
#define FOUR SHAPE(.n_ranks = 4, .count = 4096, .pieces = 1, .slots = 2, .iterations = 1)

const struct bug bugs[] = {
    {.name = "article", .title = "the article's ring, replayed",
     .origin = ARTICLE_RING ", repaired only where it would not compile",
     .believed = "each GPU ends up with the sum of all, 6.0 in every element",
     .happens = "the copy destroys the neighbour's own segment; the add may run before it, and "
                "reads the sender's memory; the all-gather hands out the wrong segments, and "
                "makes all GPUs alike",
     .cure = "an inbox, an event per step, adds that read only what has arrived, and (r + 1 - s) "
             "mod N in the all-gather: ring.c",
     .shape = FOUR, .init = "rank", .noticed_by = USUAL | BIT(FIRST), .apply = article,
     .needs = RANKS ", and none of --repeat, --pieces and avg"},
    {.name = "own-segment", .title = "the copy lands on the neighbour's own segment",
     .origin = ARTICLE_RING "; multiples of own data, too, in "
               "github.com/pytorch/pytorch/issues/31572",
     .believed = "the neighbour's buffer is the natural place for what it is to add",
     .happens = "its own contribution is overwritten before it was added, and the sender's is "
                "counted twice",
     .cure = "copy into an inbox, and add from there",
     .shape = FOUR, .init = "rank", .noticed_by = USUAL | BIT(FIRST), .apply = own_segment,
     .needs = RANKS},
    {.name = "add-early", .title = "the add does not wait for the copy",
     .origin = ARTICLE_RING "; also github.com/pyscf/gpu4pyscf/pull/794",
     .believed = "what is queued later runs later",
     .happens = "copy and add are on streams of two GPUs, and nothing orders those: the add reads "
                "the inbox before anything has landed there",
     .cure = "record an event behind the copy, and let the add's stream wait for it",
     .shape = FOUR, .init = "rank", .noticed_by = USUAL | BIT(FIRST), .apply = add_early,
     .needs = RANKS, .missing_waits = 1},
    {.name = "peer-read", .title = "the add reads the peer's memory",
     .origin = ARTICLE_RING,
     .believed = "with peer access a kernel may as well read where the data is",
     .happens = "right sums where there is peer access; the copy that went before was for nothing, "
                "every element crosses the link once more in small reads, and without peer access "
                "the kernel fails",
     .cure = "read the inbox: local memory, and the wait for the copy is enough",
     .shape = FOUR, .init = "rank", .noticed_by = BIT(PROOF), .apply = peer_read,
     .needs = RANKS},
    {.name = "gather-index", .title = "the all-gather sends the wrong segment",
     .origin = ARTICLE_RING,
     .believed = "the second loop counts from 0 like the first, with one more subtracted",
     .happens = "segments that are not complete are handed out; with two ranks the wrong formula "
                "names the right segment",
     .cure = "one rule for all steps: rank r sends segment (r - s) mod N, s from 0 to 2N-3",
     .shape = FOUR, .init = "rank",
     .noticed_by = (USUAL | BIT(FIRST)) & ~BIT(TWO),
     .apply = gather_index, .needs = "three ranks or more, and elements in every segment"},
    {.name = "step-sync", .title = "all streams are waited for at every step",
     .origin = ARTICLE_RING,
     .believed = "safe, and therefore good",
     .happens = "right, but slow: nobody goes on before the slowest has come, copy and add of "
                "different pieces no longer overlap across steps; here the GPUs wait for each "
                "other, in the article the host waits for them, and its round trips come on top",
     .cure = "wait for the one op whose work is needed",
     .shape = SHAPE(.n_ranks = 4, .count = 4 << 20, .pieces = 4, .slots = 2, .iterations = 1),
     .init = "rank", .noticed_by = 0, .apply = sync_steps, .needs = RANKS},
    {.name = "first-element", .title = "the check looks at one element",
     .origin = ARTICLE_RING,
     .believed = "if the first element is right, so are the others",
     .happens = "here one add of the last segment does nothing, and element 0 is in the first",
     .cure = "compare every element of every rank",
     .shape = FOUR, .init = "rank", .apply = lost_add,
     .noticed_by = USUAL,
     .needs = RANKS},
    {.name = "zero-bucket", .title = "the check looks at a bucket of zeros",
     .origin = "the article's overlap pipeline, which verifies the bucket whose gradients are 0",
     .believed = "one bucket is as good as another",
     .happens = "zeros add up to zero, whoever is missing; here the last add of every segment "
                "does nothing",
     .cure = "data that differs by rank and by element",
     .shape = FOUR, .init = "values:0", .apply = lost_adds,
     .noticed_by = USUAL | BIT(FIRST), .needs = RANKS},
    {.name = "stream-for-event", .title = "a stream is passed where an event belongs",
     .origin = "the article's overlap pipeline; the same race: github.com/torch/cutorch/pull/192 "
               "and github.com/ROCm/rocm-systems/pull/10229",
     .believed = "cudaStreamWaitEvent(communication, compute) lets one stream wait for the other",
     .happens = "C++ refuses it; with a cast CUDA calls the handle invalid, and who ignores that "
                "has no wait: gradients travel before they are computed",
     .cure = "record an event on the compute stream, and wait for that",
     .shape = SHAPE(.n_ranks = 4, .count = 4096, .pieces = 1, .slots = 2, .iterations = 2),
     .init = "rank", .noticed_by = USUAL | BIT(FIRST), .apply = stream_for_event,
     .needs = "ops that compute: --repeat 2 or more", .missing_waits = 1},
    {.name = "slot-early", .title = "a place of the inbox is used again too early",
     .origin = "github.com/hw-native-sys/simpler/pull/972",
     .believed = "one barrier a step is enough, the neighbour will have read by then",
     .happens = "what was not yet added is overwritten by the next segment",
     .cure = "the sender waits until the place has been drained",
     .shape = SHAPE(.n_ranks = 4, .count = 4096, .pieces = 1, .slots = 1, .iterations = 1),
     .init = "rank", .noticed_by = BIT(RANDOM) | BIT(PROOF), .apply = slot_early,
     .needs = "more steps of scatter-reduce, N-1, than --slots, and elements in every segment",
     .missing_waits = 1},
    {.name = "no-exit-wait", .title = "the buffer is reused while the neighbour still reads it",
     .origin = "github.com/ROCm/aiter/pull/3514",
     .believed = "when my last segment has arrived, I am done",
     .happens = "my last copy may still be reading for my neighbour what I already overwrite",
     .cure = "wait for the last arrival and for the own last send",
     .shape = FOUR, .init = "rank", .noticed_by = BIT(RANDOM) | BIT(PROOF),
     .prepare = refill_rank_0, .apply = no_exit_wait, .needs = RANKS,
     .missing_waits = 1},
    {.name = "host-buffer", .title = "the host's buffer is refilled while the upload runs",
     .origin = "github.com/pytorch/pytorch/issues/130785",
     .believed = "the call has returned, so the buffer is free",
     .happens = "an asynchronous upload reads later: rank r gets rank r+1's data (the last keeps "
                "its own). The fault is not in the plan, so the proof says nothing; real "
                "GPUs are not asked here, since our uploads to them are waited for",
     .cure = "keep the buffer until the upload's event has happened",
     .shape = FOUR, .init = "rank",
     .noticed_by = BIT(FIRST) | BIT(TWO) | BIT(ONE_RUN) | BIT(RANDOM), .apply = stale_upload,
     .needs = RANKS ", and no --repeat", .stale_uploads = 1},
    {.name = "event-early", .title = "the event is recorded before the work",
     .origin = "a wrong order of two calls, seen in many first attempts",
     .believed = "the event belongs to the work, wherever it is recorded",
     .happens = "it happens when what came before is done: whoever waits for it does not wait for "
                "the work",
     .cure = "first the work, then the record",
     .shape = FOUR, .init = "rank",
     .noticed_by = USUAL | BIT(FIRST) | BIT(RANKS) | BIT(ZEROS), .apply = event_early,
     .needs = "waits", .missing_waits = 1},
    {.name = "remainder", .title = "the remainder is dropped",
     .origin = "github.com/hw-native-sys/pypto/pull/1942",
     .believed = "count / N elements a segment",
     .happens = "the last count mod N elements are in no segment; with a round count there are "
                "none",
     .cure = "the first count mod N segments hold one element more",
     .shape = SHAPE(.n_ranks = 4, .count = 4098, .pieces = 1, .slots = 2, .iterations = 1),
     .init = "rank", .apply = no_remainder,
     .noticed_by = (USUAL | BIT(RANKS)) & ~BIT(TWO),
     .needs = "a count that N does not divide"},
    {.name = "vector-tail", .title = "the kernel forgets the elements behind the last vector",
     .origin = "sizes off the vector's grid, which abort in github.com/openucx/ucc/pull/1312 and "
               "fault in github.com/microsoft/mscclpp/issues/682; here they are forgotten",
     .believed = "four elements at a time",
     .happens = "up to three elements of each add are left out; in round sizes there are none",
     .cure = "a scalar loop for the tail",
     .shape = SHAPE(.n_ranks = 4, .count = 4090, .pieces = 1, .slots = 2, .iterations = 1),
     .init = "rank", .apply = vector_tail,
     .noticed_by = USUAL,
     .needs = "pieces whose size is no multiple of 4"},
    {.name = "added-twice", .title = "one rank is added twice",
     .origin = "an add that is queued by two loops, or retried",
     .believed = "once more cannot hurt",
     .happens = "one segment holds one contribution twice, alike on all ranks",
     .cure = "each contribution exactly once: count them",
     .shape = FOUR, .init = "rank", .apply = added_twice,
     .noticed_by = USUAL,
     .needs = RANKS},
    {.name = "fat-segment", .title = "every segment gets the remainder",
     .origin = "github.com/hashmij/cuda-allreduce-poc",
     .believed = "count / N + count mod N elements are enough for everybody",
     .happens = "the segments are too long together: the last ones end beyond the buffer",
     .cure = "the first count mod N segments hold one element more",
     .shape = SHAPE(.n_ranks = 4, .count = 4098, .pieces = 1, .slots = 2, .iterations = 1),
     .init = "rank", .noticed_by = BIT(PROOF), .apply = fat_segment,
     .needs = "a count that N does not divide"},
    {.name = "all-receive-first", .title = "everybody receives before it sends",
     .origin = "the classical deadlock of blocking sends and receives",
     .believed = "first take, then give",
     .happens = "each waits for its neighbour, all around the ring, for ever",
     .cure = "somebody must begin: a copy waits only for what it reads and overwrites",
     .shape = FOUR, .init = "rank", .noticed_by = BIT(PROOF), .apply = all_receive_first,
     .needs = RANKS},
};
const int n_bugs = sizeof bugs / sizeof *bugs;

const struct bug *bug_find(const char *name)
{
    for (int i = 0; i < n_bugs; i++)
        if (strcmp(bugs[i].name, name) == 0)
            return &bugs[i];
    return NULL;
}

enum status bug_put(const struct bug *bug, struct plan *plan, int64_t *n_changes,
                    struct error *err)
{
    enum status status = STATUS_OK;
    *n_changes = 0;
    if (bug->prepare)
        TRY(bug->prepare(plan, err));
    TRY(bug->apply(plan, n_changes, err));
    TRY(close_gaps(plan, err));
out:
    return status;
}

enum status bug_apply(const struct bug *bug, struct plan *plan, struct error *err)
{
    int64_t n_changes;
    enum status status = bug_put(bug, plan, &n_changes, err);
    if (status == STATUS_OK && n_changes == 0)
        return fail(err, STATUS_USAGE, "--bug %s: this plan has no place for it; it needs %s",
                    bug->name, bug->needs);
    return status;
}
