/* overlap.c - layers from last to first; behind the one that completes a bucket, the bucket's ring.
 */
#include "overlap/overlap.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ring/order.h"
#include "ring/ring.h"

struct builder {
    struct plan *plan;
    const struct overlap_shape *shape;
    struct ring ring;
    int64_t *begin;   /* [n_layers]: first element of its gradients in the data */
    int64_t *latest;  /* [n_ranks]: the rank's latest compute ... */
    int64_t *called;  /* ... and, of a plan of calls, the rank's part in the latest call, or NONE */
    int next_bucket;  /* the first that is not complete yet */
    int n_launched;   /* this one never is complete, or there are so many */
    struct error *err;
};

/* Where each layer's gradients lie. Layers are runs of tensors, and the order is reversed as a
 * whole, so that each layer is one stretch. */
static void place_layers(struct builder *b)
{
    const struct model *m = b->shape->model;
    int64_t at = 0;
    for (int64_t layer = m->n_layers - 1; layer >= 0; layer--) {
        b->begin[layer] = at;
        at += m->layers[layer].count;
    }
}

/* Where a tensor's gradient lies: behind those of all tensors registered after it. */
static int64_t place_of(const struct model *m, const struct tensor *tensor)
{
    int64_t at = 0;
    for (const struct tensor *later = tensor + 1; later < m->tensors + m->n_tensors; later++)
        at += later->count;
    return at;
}

/* The backward pass, on every rank, of a layer or (part >= 0) a part of one. */
static enum status compute_part(struct builder *b, int layer, int part, int64_t first,
                                int64_t count, int64_t part_ns)
{
    enum status status = STATUS_OK;
    const struct overlap_shape *s = b->shape;
    for (int rank = 0; rank < s->n_ranks; rank++) {
        double ns = (double)part_ns * (s->slowness ? s->slowness[rank] : 1);
        struct op op = {.kind = OP_COMPUTE, .lane = LANE_COMPUTE, .rank = rank, .bucket = NONE,
                        .step = NONE, .segment = NONE, .piece = part, .layer = layer,
                        .scaled = s->redop == REDOP_AVG && s->n_ranks > 1,
                        .cost_ns = (int64_t)ns,
                        .dst = {rank, MEMORY_DATA, first, count}};
        if (ns > 1e9)
            TRY(fail(b->err, STATUS_USAGE, "the backward pass of layer '%s' takes %.3g s on rank "
                     "%d; at most 1 s is possible", s->model->layers[layer].name, ns / 1e9, rank));
        TRY(plan_append(b->plan, op, NULL, 0, &b->latest[rank], b->err));
    }
out:
    return status;
}

/* A layer takes its time even where one of its gradients never comes, or all of them. */
static enum status compute_layer(struct builder *b, int layer)
{
    enum status status = STATUS_OK;
    const struct overlap_shape *s = b->shape;
    int64_t first = b->begin[layer], end = first + s->model->layers[layer].count;
    int64_t ns = s->layer_ns[layer];
    if (!s->never_ready || s->never_ready->layer != layer)
        return compute_part(b, layer, NONE, first, end - first, ns);
    int64_t gap = place_of(s->model, s->never_ready), behind = gap + s->never_ready->count;
    int n_parts = (first < gap) + (behind < end);
    if (first < gap || n_parts == 0)
        TRY(compute_part(b, layer, n_parts == 2 ? 0 : NONE, first, gap - first, ns));
    if (behind < end)
        TRY(compute_part(b, layer, n_parts == 2 ? 1 : NONE, behind, end - behind,
                         n_parts == 2 ? 0 : ns));
out:
    return status;
}

/* A library's all-reduce of a bucket: it reads and writes each rank's part of it. */
static enum status call(struct builder *b, const struct ring_part *part)
{
    enum status status = STATUS_OK;
    for (int rank = 0; rank < b->shape->n_ranks && b->shape->n_ranks > 1; rank++) {
        struct op op = {.kind = OP_SCALE, .lane = LANE_SEND, .rank = rank, .bucket = part->bucket,
                        .step = NONE, .segment = NONE, .piece = NONE, .layer = NONE,
                        .dst = {rank, MEMORY_DATA, part->first, part->count}};
        struct wait waits[] = {{b->latest[rank], WAIT_READY}};
        TRY(plan_append(b->plan, op, waits, 1, &b->called[rank], b->err));
    }
out:
    return status;
}

static enum status launch(struct builder *b, const struct ring_part *part)
{
    enum status status = STATUS_OK;
    if (b->shape->calls)
        return call(b, part);
    TRY(ring_scatter_reduce(&b->ring, part, b->err));
    TRY(ring_all_gather(&b->ring, part, b->err));
out:
    return status;
}

/* The rings of all buckets whose elements all lie before `ready`. */
static enum status launch_buckets(struct builder *b, int64_t ready)
{
    enum status status = STATUS_OK;
    const struct buckets *buckets = b->shape->buckets;
    for (; b->next_bucket < b->n_launched; b->next_bucket++) {
        const struct bucket *k = &buckets->items[b->next_bucket];
        struct ring_part part = {.first = k->begin, .count = k->count, .bucket = b->next_bucket,
                                 .produced = b->latest, .scaled = 1};
        if (k->begin + k->count > ready)
            break;
        if (k->count == 0)
            continue;
        TRY(launch(b, &part));
    }
out:
    return status;
}

static enum status update(struct builder *b, int rank)
{
    struct op op = {.kind = OP_UPDATE, .lane = LANE_COMPUTE, .rank = rank, .bucket = NONE,
                    .step = NONE, .segment = NONE, .piece = NONE, .layer = NONE,
                    .dst = {rank, MEMORY_DATA, 0, b->plan->count}};
    struct wait waits[] = {{b->ring.arrived[rank], WAIT_ARRIVED},
                           {b->ring.sent[rank], WAIT_DRAINED}, {b->called[rank], WAIT_READY}};
    return plan_append(b->plan, op, waits, 3, NULL, b->err);
}

/* What comes first on a rank's send and reduce lanes waits for its last compute. */
static enum status make_serial(struct builder *b)
{
    enum status status = STATUS_OK;
    int n = b->shape->n_ranks;
    unsigned char *seen = NULL; /* [n_ranks * N_LANES] */
    TRY(allocate((void **)&seen, (int64_t)n * N_LANES, 1, "the serial plan", b->err));
    for (int64_t id = 0; id < b->plan->n_ops; id++) {
        const struct op *op = &b->plan->ops[id];
        int lane = stream_id(op->rank, op->lane);
        if (op->lane != LANE_COMPUTE && !seen[lane]++)
            TRY(plan_add_wait(b->plan, id, (struct wait){b->latest[op->rank], WAIT_SERIAL},
                              b->err));
    }
out:
    free(seen);
    return status;
}

enum status overlap_plan(struct plan *plan, const struct overlap_shape *shape, struct error *err)
{
    enum status status = STATUS_OK;
    const struct model *m = shape->model;
    struct builder b = {.plan = plan, .shape = shape, .err = err};
    int64_t largest = 0;
    b.n_launched = buckets_find(shape->buckets, m, shape->never_ready);
    TRY(plan_init(plan, shape->n_ranks, m->count, shape->dtype, shape->redop, err));
    for (int i = 0; i < shape->buckets->n; i++)
        if (shape->buckets->items[i].count > largest)
            largest = shape->buckets->items[i].count;
    double n_ops = 3.0 * shape->n_ranks * shape->n_ranks * shape->pieces * shape->buckets->n +
                   (double)m->n_layers * shape->n_ranks;
    if (n_ops > RING_MAX_OPS)
        TRY(fail(err, STATUS_USAGE, "%d ranks, %d buckets, %d pieces, %" PRId64 " layers: %.3g ops "
                 "are more than the %.3g that a plan may have", shape->n_ranks, shape->buckets->n,
                 shape->pieces, m->n_layers, n_ops, (double)RING_MAX_OPS));
    plan->updates = 1;
    TRY(ring_open(&b.ring, plan, shape->pieces, shape->slots, largest, err));
    TRY(allocate((void **)&b.begin, m->n_layers, sizeof *b.begin, "the backward pass", err));
    TRY(allocate((void **)&b.latest, shape->n_ranks, sizeof *b.latest, "the backward pass", err));
    TRY(allocate((void **)&b.called, shape->n_ranks, sizeof *b.called, "the backward pass", err));
    for (int rank = 0; rank < shape->n_ranks; rank++)
        b.called[rank] = NONE;
    if (shape->calls)
        plan->inbox_count = 0;
    place_layers(&b);
    for (int layer = (int)m->n_layers - 1; layer >= 0; layer--) {
        TRY(compute_layer(&b, layer));
        TRY(launch_buckets(&b, b.begin[layer] + m->layers[layer].count));
    }
    if (shape->serial)
        TRY(make_serial(&b));
    for (int rank = 0; rank < shape->n_ranks && !shape->never_ready; rank++)
        TRY(update(&b, rank));
    TRY(plan_drop_implied(plan, err));
out:
    free(b.begin);
    free(b.latest);
    free(b.called);
    ring_close(&b.ring);
    return status;
}

enum status overlap_compute_waits(const struct plan *plan, int64_t *op, struct error *err)
{
    enum status status = STATUS_OK;
    struct order order = {0};
    int64_t id;
    unsigned char *after = NULL; /* [n_ops]: comes behind a copy, a reduce or a scale */
    *op = NONE;
    TRY(order_open(&order, plan, err));
    TRY(allocate((void **)&after, plan->n_ops, 1, "the backward pass", err));
    for (int64_t at = 0; at < order.n_sequence; at++) {
        id = order_at(&order, at);
        const struct op *o = &plan->ops[id];
        int behind = order.before[id] != NONE && after[order.before[id]];
        for (int i = 0; i < o->n_waits; i++)
            behind |= after[plan->waits[o->first_wait + i].op];
        if (behind && o->kind == OP_COMPUTE && *op == NONE)
            *op = id;
        after[id] = behind || o->kind == OP_COPY || o->kind == OP_REDUCE || o->kind == OP_SCALE;
    }
out:
    free(after);
    order_close(&order);
    return status;
}
