/* ring.c - scatter-reduce, then all-gather, as a list of ops.
 *
 * Push, two lanes: rank r's copies run on its send lane, rank r's adds on its reduce lane, so that
 * the copy of one piece and the add of the one before overlap. Every op gets all the waits that
 * its memory asks for; those that others imply are dropped at the end (plan_drop_implied), which
 * keeps the reasoning here local:
 *   a copy   waits until what it reads is ready (or has arrived), and until the place of the inbox
 *            that it overwrites has been drained by the add that read it last;
 *   an add   waits until its operand has arrived, and until its own rank's data has been produced.
 * A copy of the all-gather overwrites the neighbour's data without a wait for its readers: the
 * segment it carries went once around the ring, through that neighbour, to become complete.
 */
#include "ring/ring.h"

#include <stdlib.h>
#include <string.h>

enum status ring_open(struct ring *ring, struct plan *plan, int pieces, int slots,
                      int64_t largest_part, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t n = plan->n_ranks, segment, first;
    *ring = (struct ring){.plan = plan};
    if (pieces < 1 || slots < 1 || pieces > 4096 || slots > 4096)
        return fail(err, STATUS_USAGE, "%d pieces, %d slots: each from 1 to 4096", pieces, slots);
    plan->pieces = pieces;
    plan->slots = slots;
    plan_part(0, largest_part, plan->n_ranks, 0, &first, &segment);
    plan_part(0, segment, pieces, 0, &first, &ring->place_count);
    double places = (double)n * pieces * slots;
    if (places > RING_MAX_PLACES || (double)ring->place_count * places > (double)(INT64_MAX / 16))
        return fail(err, STATUS_USAGE,
                    "%d ranks, %d pieces, %d slots: inboxes of more than %.3g places "
                    "or too many elements; take less of one of them",
                    plan->n_ranks, pieces, slots, (double)RING_MAX_PLACES);
    plan->inbox_count = n > 1 ? ring->place_count * pieces * slots : 0;

    TRY(allocate((void **)&ring->readers, n * slots * pieces, sizeof *ring->readers, "ring", err));
    TRY(allocate((void **)&ring->latest, n * pieces, sizeof *ring->latest, "ring", err));
    TRY(allocate((void **)&ring->incoming, n * pieces, sizeof *ring->incoming, "ring", err));
    TRY(allocate((void **)&ring->produced, n, sizeof *ring->produced, "ring", err));
    TRY(allocate((void **)&ring->drained, n, sizeof *ring->drained, "ring", err));
    TRY(allocate((void **)&ring->arrived, n, sizeof *ring->arrived, "ring", err));
    TRY(allocate((void **)&ring->sent, n, sizeof *ring->sent, "ring", err));
    for (int64_t i = 0; i < n * slots * pieces; i++)
        ring->readers[i] = NONE;
    for (int64_t i = 0; i < n; i++)
        ring->arrived[i] = ring->sent[i] = NONE;
out:
    return status;
}

void ring_close(struct ring *ring)
{
    free(ring->readers);
    free(ring->latest);
    free(ring->incoming);
    free(ring->produced);
    free(ring->drained);
    free(ring->arrived);
    free(ring->sent);
    memset(ring, 0, sizeof *ring);
}

static int next_rank(const struct ring *ring, int rank) { return (rank + 1) % ring->plan->n_ranks; }

/* The segment that `rank` sends at `step`: (rank - step) mod N. */
static int segment_sent(const struct ring *ring, int rank, int step)
{
    int n = ring->plan->n_ranks;
    return (rank + 2 * n - step) % n;
}

/* Where a piece of a segment lies in a rank's data. */
static struct span data_span(const struct ring *ring, const struct ring_part *part, int rank,
                             int segment, int piece)
{
    struct span at = {.rank = rank, .memory = MEMORY_DATA};
    plan_part(part->first, part->count, ring->plan->n_ranks, segment, &at.first, &at.count);
    plan_part(at.first, at.count, ring->plan->pieces, piece, &at.first, &at.count);
    return at;
}

/* The index, in the inbox and in ring->readers, of the place for a piece that comes at `step`. */
static int64_t inbox_place(const struct ring *ring, int step, int piece)
{
    return (int64_t)(step % ring->plan->slots) * ring->plan->pieces + piece;
}

static struct span inbox_span(const struct ring *ring, int rank, int step, int piece, int64_t count)
{
    return (struct span){.rank = rank, .memory = MEMORY_INBOX,
                         .first = inbox_place(ring, step, piece) * ring->place_count,
                         .count = count};
}

static int64_t *reader_of(struct ring *ring, int rank, int step, int piece)
{
    int64_t places = (int64_t)ring->plan->slots * ring->plan->pieces;
    return &ring->readers[rank * places + inbox_place(ring, step, piece)];
}

static int64_t *of_piece(const struct ring *ring, int64_t *per_piece, int rank, int piece)
{
    return &per_piece[(int64_t)rank * ring->plan->pieces + piece];
}

/* An op with its labels and nothing else. */
static struct op labelled(const struct ring_part *part, enum op_kind kind, int rank,
                          enum lane lane, int step, int segment, int piece)
{
    return (struct op){.kind = kind, .lane = lane, .rank = rank, .iteration = part->iteration,
                       .bucket = part->bucket, .step = step, .segment = segment, .piece = piece,
                       .layer = NONE};
}

/* What `made` has made can be used: it is ready, or, of a copy, has arrived. */
static struct wait made_by(const struct ring *ring, int64_t made)
{
    int landed = made != NONE && ring->plan->ops[made].kind == OP_COPY;
    return (struct wait){made, landed ? WAIT_ARRIVED : WAIT_READY};
}

/* rank pushes one piece to its neighbour; *arrival gets the copy, where there is one. */
static enum status push(struct ring *ring, const struct ring_part *part, int rank, int step,
                        int piece, int64_t *arrival, struct error *err)
{
    int to = next_rank(ring, rank), segment = segment_sent(ring, rank, step);
    int gathers = ring_gathers(ring->plan->n_ranks, step);
    struct op op = labelled(part, OP_COPY, rank, LANE_SEND, step, segment, piece);
    op.src = data_span(ring, part, rank, segment, piece);
    op.dst = gathers ? data_span(ring, part, to, segment, piece)
                     : inbox_span(ring, to, step, piece, op.src.count);
    *arrival = NONE;
    if (op.src.count == 0)
        return STATUS_OK;

    struct wait waits[] = {
        made_by(ring, *of_piece(ring, ring->latest, rank, piece)),
        {gathers ? NONE : *reader_of(ring, to, step, piece), WAIT_DRAINED},
    };
    enum status status = plan_append(ring->plan, op, waits, 2, arrival, err);
    ring->sent[rank] = *arrival;
    if (gathers)
        ring->arrived[to] = *arrival;
    return status;
}

/* rank adds the piece that `arrival` brought. */
static enum status add(struct ring *ring, const struct ring_part *part, int rank, int step,
                       int piece, int64_t arrival, struct error *err)
{
    const struct op *copy = &ring->plan->ops[arrival];
    struct op op = labelled(part, OP_REDUCE, rank, LANE_REDUCE, step, copy->segment, piece);
    op.src = copy->dst;
    op.dst = copy->src;
    op.dst.rank = rank;
    struct wait waits[] = {{arrival, WAIT_ARRIVED}, made_by(ring, ring->produced[rank]),
                           {ring->drained[rank], WAIT_DRAINED}};
    int64_t id = NONE;
    enum status status = plan_append(ring->plan, op, waits, 3, &id, err);
    *reader_of(ring, rank, step, piece) = *of_piece(ring, ring->latest, rank, piece) = id;
    return status;
}

/* avg: scales `at`, which was made by op `made`, and read before by `drained`; *id gets the scale
 * op. */
static enum status scale(struct ring *ring, const struct ring_part *part, struct span at,
                         int segment, int piece, int64_t made, int64_t drained, int64_t *id,
                         struct error *err)
{
    struct op op = labelled(part, OP_SCALE, at.rank, LANE_REDUCE, NONE, segment, piece);
    struct wait waits[] = {made_by(ring, made), {drained, WAIT_DRAINED}};
    op.dst = at;
    return at.count > 0 ? plan_append(ring->plan, op, waits, 2, id, err) : STATUS_OK;
}

/* Who made each rank's part; for an avg of floats, every rank's part is scaled first,
 * unless it was by whoever made it. */
static enum status begin(struct ring *ring, const struct ring_part *part, struct error *err)
{
    enum status status = STATUS_OK;
    int n = ring->plan->n_ranks;
    for (int rank = 0; rank < n; rank++) {
        ring->produced[rank] = part->again      ? ring->arrived[rank]
                               : part->produced ? part->produced[rank]
                                                : NONE;
        ring->drained[rank] = part->again ? ring->sent[rank] : NONE;
        struct span all = {rank, MEMORY_DATA, part->first, part->count};
        if (ring->plan->redop == REDOP_AVG && dtype_is_float(ring->plan->dtype) && !part->scaled)
            TRY(scale(ring, part, all, NONE, NONE, ring->produced[rank], ring->drained[rank],
                      &ring->produced[rank], err));
        for (int piece = 0; piece < ring->plan->pieces; piece++)
            *of_piece(ring, ring->latest, rank, piece) = ring->produced[rank];
    }
out:
    return status;
}

enum status ring_scatter_reduce(struct ring *ring, const struct ring_part *part,
                                struct error *err)
{
    enum status status = STATUS_OK;
    int n = ring->plan->n_ranks;
    if (n == 1)
        return STATUS_OK;
    TRY(begin(ring, part, err));
    for (int step = 0; step < n - 1; step++)
        for (int piece = 0; piece < ring->plan->pieces; piece++) {
            for (int rank = 0; rank < n; rank++)
                TRY(push(ring, part, rank, step, piece,
                         of_piece(ring, ring->incoming, next_rank(ring, rank), piece), err));
            for (int rank = 0; rank < n; rank++) {
                int64_t arrival = *of_piece(ring, ring->incoming, rank, piece);
                if (arrival != NONE)
                    TRY(add(ring, part, rank, step, piece, arrival, err));
            }
        }
out:
    return status;
}

/* avg of integers: rank r divides segment (r+1) mod N, which it owns, before it is handed out. */
static enum status scale_owned(struct ring *ring, const struct ring_part *part, struct error *err)
{
    enum status status = STATUS_OK;
    for (int rank = 0; rank < ring->plan->n_ranks; rank++)
        for (int piece = 0; piece < ring->plan->pieces; piece++) {
            int segment = next_rank(ring, rank);
            int64_t *made = of_piece(ring, ring->latest, rank, piece);
            TRY(scale(ring, part, data_span(ring, part, rank, segment, piece), segment, piece,
                      *made, NONE, made, err));
        }
out:
    return status;
}

enum status ring_all_gather(struct ring *ring, const struct ring_part *part, struct error *err)
{
    enum status status = STATUS_OK;
    int n = ring->plan->n_ranks;
    if (n == 1)
        return STATUS_OK;
    if (ring->plan->redop == REDOP_AVG && !dtype_is_float(ring->plan->dtype))
        TRY(scale_owned(ring, part, err));
    for (int step = n - 1; step < ring_steps(n); step++) {
        for (int piece = 0; piece < ring->plan->pieces; piece++)
            for (int rank = 0; rank < n; rank++)
                TRY(push(ring, part, rank, step, piece,
                         of_piece(ring, ring->incoming, next_rank(ring, rank), piece), err));
        /* what arrived at this step is what is sent on at the next */
        int64_t *arrivals = ring->incoming;
        ring->incoming = ring->latest;
        ring->latest = arrivals;
    }
out:
    return status;
}

enum status ring_refill(struct ring *ring, int iteration, int64_t *produced, struct error *err)
{
    enum status status = STATUS_OK;
    const struct ring_part all = {.count = ring->plan->count, .iteration = iteration,
                                  .bucket = NONE};
    for (int rank = 0; rank < ring->plan->n_ranks && all.count > 0; rank++) {
        struct op op = labelled(&all, OP_COMPUTE, rank, LANE_COMPUTE, NONE, NONE, NONE);
        struct wait waits[] = {{ring->arrived[rank], WAIT_ARRIVED},
                               {ring->sent[rank], WAIT_DRAINED}};
        op.dst = (struct span){rank, MEMORY_DATA, 0, all.count};
        TRY(plan_append(ring->plan, op, waits, 2, &produced[rank], err));
    }
out:
    return status;
}

enum status ring_check_ops(const struct ring_shape *shape, struct error *err)
{
    double parts = (double)shape->n_ranks * shape->pieces; /* that hold an element, at most */
    parts = (double)shape->count < parts ? (double)shape->count : parts;
    const double n_ops = 3 * parts * (shape->n_ranks - 1) * shape->iterations;
    return n_ops <= RING_MAX_OPS
               ? STATUS_OK
               : fail(err, STATUS_USAGE, "ranks: %d, pieces: %d, times: %d: %.3g ops are more than "
                      "the %.3g that a plan may have; take less of one of them", shape->n_ranks,
                      shape->pieces, shape->iterations, n_ops, (double)RING_MAX_OPS);
}

enum status ring_plan(struct plan *plan, const struct ring_shape *shape, struct error *err)
{
    enum status status = STATUS_OK;
    struct ring ring = {0};
    int64_t *produced = NULL;
    TRY(plan_init(plan, shape->n_ranks, shape->count, shape->dtype, shape->redop, err));
    if (shape->iterations < 1)
        TRY(fail(err, STATUS_USAGE, "%d iterations: at least 1", shape->iterations));
    TRY(ring_check_ops(shape, err));
    TRY(ring_open(&ring, plan, shape->pieces, shape->slots, shape->count, err));
    TRY(allocate((void **)&produced, shape->n_ranks, sizeof *produced, "ring", err));
    for (int rank = 0; rank < shape->n_ranks; rank++)
        produced[rank] = NONE;
    plan->iterations = shape->iterations;
    for (int iteration = 0; iteration < shape->iterations; iteration++) {
        struct ring_part part = {.count = shape->count, .iteration = iteration, .bucket = NONE,
                                 .produced = shape->same_data ? NULL : produced,
                                 .again = shape->same_data && iteration > 0};
        if (iteration > 0 && !shape->same_data)
            TRY(ring_refill(&ring, iteration, produced, err));
        TRY(ring_scatter_reduce(&ring, &part, err));
        TRY(ring_all_gather(&ring, &part, err));
    }
    TRY(plan_drop_implied(plan, err));
out:
    free(produced);
    ring_close(&ring);
    return status;
}
