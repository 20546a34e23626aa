/* verify.c - window by window over the elements, so that memory does not grow with them.
 *
 * contents.h tells what every stretch must hold as a sum of sums; evaluating that tree on the input
 * gives the reference. The chain of a ring is as deep as there are ranks, but needs two buffers:
 * the deeper side is evaluated first, in place, and a leaf beside it.
 */
#include "ring/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"
#include "common/loops.h"
#include "ring/goal.h"
#include "ring/order.h"

#define WINDOW 8192       /* elements looked at together */
/* Instead of a node: the plan's sum is not complete; anything is right here; ONE_RANK - r: rank r's
 * data is wanted, and the plan does not bring it. */
enum { IN_RANK_ORDER = -2, NOT_WANTED = -3, ONE_RANK = -4 };

/* A stretch of the window for which one expression is the reference. */
struct part {
    int64_t first, count, node; /* alike in size: parts are compared as bytes */
};

struct verifier {
    const struct plan *plan;
    const struct init *init;
    struct contents contents;
    int shift; /* goal_shift() */
    struct verdict *verdict;
    struct error *err;
    struct part *parts, *next_parts;  /* [WINDOW] */
    int n_parts;
    char *want, *got, *first_got;     /* [WINDOW] elements; first_got: rank 0's */
    double *exact;                    /* [WINDOW]: in float64 */
    uint64_t *hashes;                 /* [n_ranks] */
};

/* ---- the reference ---- */

static enum status fill(struct verifier *v, int rank, int iteration, int64_t first, int64_t count,
                        void *out)
{
    return init_fill(v->init, rank, iteration, first, count, out, v->err);
}

static int is_leaf(const struct verifier *v, int32_t node)
{
    return v->contents.nodes[node].kind == NODE_LEAF;
}

static enum status evaluate(struct verifier *v, int32_t id, int64_t first, int64_t count, void *out)
{
    enum status status = STATUS_OK;
    const struct node *node = &v->contents.nodes[id];
    void *side = NULL;
    if (node->kind == NODE_LEAF)
        return fill(v, node->left, node->right, first, count, out);
    if (node->kind == NODE_SCALE) {
        TRY(evaluate(v, node->left, first, count, out));
        loop_scale(v->plan->dtype, out,
                   node->right == NODE_OF_UPDATE ? PLAN_UPDATE_DIVISOR : v->plan->n_ranks, count);
        return STATUS_OK;
    }
    /* All our operators give the same bits either way round. */
    int32_t deep = is_leaf(v, node->right) ? node->left : node->right;
    TRY(evaluate(v, deep, first, count, out));
    TRY(allocate(&side, count, dtype_size(v->plan->dtype), "the reference", v->err));
    TRY(evaluate(v, node->left + node->right - deep, first, count, side));
    loop_reduce(v->plan->dtype, v->plan->redop, out, side, count);
out:
    free(side);
    return status;
}

static enum status evaluate_in_rank_order(struct verifier *v, int64_t first, int64_t count,
                                          void *out)
{
    enum status status = STATUS_OK;
    const struct plan *plan = v->plan;
    int average = plan->redop == REDOP_AVG && plan->n_ranks > 1;
    int before = average && dtype_is_float(plan->dtype);
    void *side = NULL;
    TRY(allocate(&side, count, dtype_size(plan->dtype), "the reference", v->err));
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        void *here = rank == 0 ? out : side;
        TRY(fill(v, rank, plan->iterations - 1, first, count, here));
        if (before)
            loop_scale(plan->dtype, here, plan->n_ranks, count);
        if (rank > 0)
            loop_reduce(plan->dtype, plan->redop, out, side, count);
    }
    if (average && !before)
        loop_scale(plan->dtype, out, plan->n_ranks, count);
    if (plan->updates)
        loop_scale(plan->dtype, out, PLAN_UPDATE_DIVISOR, count);
out:
    free(side);
    return status;
}

/* Where a segment ends; the data's end where segments do not matter. */
static int64_t segment_end(const struct plan *plan, int segment)
{
    int64_t first, count;
    if (!goal_by_segment(plan))
        return plan->count;
    plan_part(0, plan->count, plan->n_ranks, segment, &first, &count);
    return first + count;
}

static int64_t reference_of(const struct verifier *v, int rank, int segment,
                            const struct extent *extent)
{
    int wanted = goal_wants(v->plan, v->shift, rank, segment);
    return wanted == WANT_NOTHING ? NOT_WANTED
           : goal_holds(&v->contents, extent, v->plan->iterations - 1, wanted) ? extent->node
           : wanted == WANT_SUM ? IN_RANK_ORDER
                                : ONE_RANK - wanted;
}

/* What this rank's window should hold, as parts; 1 = the same parts as the rank before. */
static int same_parts(struct verifier *v, int rank, int64_t first, int64_t count)
{
    struct extents *memory = contents_memory(&v->contents, rank, MEMORY_DATA);
    int n = 0, segment = plan_segment(v->plan, first);
    for (int64_t i = extents_find(memory, first); count > 0;) {
        int64_t end = memory->items[i].first + extents_length(memory, i);
        int64_t limit = segment_end(v->plan, segment);
        int64_t here = (end < limit ? end : limit) - first;
        int64_t node = reference_of(v, rank, segment, &memory->items[i]);
        here = here < count ? here : count;
        if (n > 0 && v->next_parts[n - 1].node == node)
            v->next_parts[n - 1].count += here;
        else
            v->next_parts[n++] = (struct part){first, here, node};
        first += here;
        count -= here;
        i += first == end;
        segment += first == limit;
    }
    int same =
        n == v->n_parts && memcmp(v->parts, v->next_parts, (size_t)n * sizeof *v->parts) == 0;
    struct part *swap = v->parts;
    v->parts = v->next_parts;
    v->next_parts = swap;
    v->n_parts = n;
    return same;
}

static enum status make_reference(struct verifier *v, int64_t first)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < v->n_parts; i++) {
        const struct part *p = &v->parts[i];
        void *out = v->want + (size_t)(p->first - first) * dtype_size(v->plan->dtype);
        if (p->node == NOT_WANTED)
            continue;
        if (p->node == IN_RANK_ORDER)
            TRY(evaluate_in_rank_order(v, p->first, p->count, out));
        else if (p->node <= ONE_RANK)
            TRY(fill(v, (int)(ONE_RANK - p->node), v->plan->iterations - 1, p->first, p->count,
                     out));
        else
            TRY(evaluate(v, (int32_t)p->node, p->first, p->count, out));
    }
out:
    return status;
}

/* ---- comparing ---- */

/* Counts elements of a and b that differ, in bits or, where nan_equal, in value; keeps the first */
static void compare(const struct plan *plan, int rank, int64_t first, int64_t count, const char *a,
                    const char *b, int nan_equal, int64_t *n_bad, struct misfit *misfit)
{
    size_t size = dtype_size(plan->dtype);
    if (memcmp(a, b, (size_t)count * size) == 0)
        return;
    for (int64_t i = 0; i < count; i++) {
        const char *x = a + (size_t)i * size, *y = b + (size_t)i * size;
        if (memcmp(x, y, size) == 0)
            continue;
        double got = dtype_load(plan->dtype, x), want = dtype_load(plan->dtype, y);
        if (nan_equal && isnan(got) && isnan(want))
            continue;
        if ((*n_bad)++ == 0)
            *misfit = (struct misfit){rank, plan_segment(plan, first + i), first + i, got, want};
    }
}

static uint64_t fnv1a(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

#define FNV1A_BASIS 0xcbf29ce484222325ull

/* A rank that agrees with rank 0 so far shares its hash, which spares hashing it again. */
static void hash_window(uint64_t *hashes, int rank, uint64_t before, const char *got,
                        const char *first_got, size_t bytes)
{
    int agrees = rank > 0 && hashes[rank] == before && memcmp(got, first_got, bytes) == 0;
    hashes[rank] = agrees ? hashes[0] : fnv1a(hashes[rank], got, bytes);
}

static uint64_t join_hashes(const uint64_t *hashes, int n)
{
    for (int i = 1; i < n; i++)
        if (hashes[i] != hashes[0])
            return fnv1a(FNV1A_BASIS, hashes, (size_t)n * sizeof *hashes);
    return hashes[0];
}

/* ---- float64 beside it ---- */

static double join(enum redop op, double a, double b)
{
    switch (op) {
    case REDOP_MIN: return a < b ? a : b;
    case REDOP_MAX: return a > b ? a : b;
    case REDOP_PROD: return a * b;
    default: return a + b;
    }
}

static enum status measure_distance(struct verifier *v, int64_t first, int64_t count)
{
    enum status status = STATUS_OK;
    const struct plan *plan = v->plan;
    size_t size = dtype_size(plan->dtype);
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        TRY(fill(v, rank, plan->iterations - 1, first, count, v->got));
        for (int64_t i = 0; i < count; i++) {
            double x = dtype_load(plan->dtype, v->got + (size_t)i * size);
            v->exact[i] = rank == 0 ? x : join(plan->redop, v->exact[i], x);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        double x = dtype_load(plan->dtype, v->first_got + (size_t)i * size);
        double exact = plan->redop == REDOP_AVG ? v->exact[i] / plan->n_ranks : v->exact[i];
        exact = plan->updates ? exact / PLAN_UPDATE_DIVISOR : exact;
        double distance = fabs(x - exact);
        if (!isfinite(x) || !isfinite(exact) || distance == 0)
            continue;
        v->verdict->distance = fmax(v->verdict->distance, distance);
        if (exact != 0)
            v->verdict->relative = fmax(v->verdict->relative, distance / fabs(exact));
    }
out:
    return status;
}

static void count_special(struct verifier *v, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double x = dtype_load(v->plan->dtype, v->want + (size_t)i * dtype_size(v->plan->dtype));
        v->verdict->n_infinite += isinf(x) != 0;
        v->verdict->n_nan += isnan(x) != 0;
    }
}

/* ---- all of it ---- */

static void compare_parts(struct verifier *v, int rank, int64_t first, const char *got)
{
    for (int i = 0; i < v->n_parts; i++) {
        const struct part *p = &v->parts[i];
        size_t skip = (size_t)(p->first - first) * dtype_size(v->plan->dtype);
        if (p->node == NOT_WANTED)
            continue;
        compare(v->plan, rank, p->first, p->count, got + skip, v->want + skip, 1,
                &v->verdict->n_wrong, &v->verdict->wrong);
        v->verdict->n_checked += p->count;
    }
}

static enum status verify_window(struct verifier *v, struct device *device, int64_t first,
                                 int64_t count)
{
    enum status status = STATUS_OK;
    struct verdict *verdict = v->verdict;
    size_t bytes = (size_t)count * dtype_size(v->plan->dtype);
    uint64_t before = v->hashes[0];
    for (int rank = 0; rank < v->plan->n_ranks; rank++) {
        char *got = rank == 0 ? v->first_got : v->got;
        struct span at = {rank, MEMORY_DATA, first, count};
        TRY(interrupt_seen(v->err));
        if (!same_parts(v, rank, first, count))
            TRY(make_reference(v, first));
        TRY(device->verbs->get(device, at, got, v->err));
        if (goal_same_everywhere(v->plan))
            compare(v->plan, rank, first, count, got, v->first_got, 0, &verdict->n_different,
                    &verdict->different);
        compare_parts(v, rank, first, got);
        hash_window(v->hashes, rank, before, got, v->first_got, bytes);
    }
    if (dtype_is_float(v->plan->dtype) && v->plan->goal == GOAL_ALLREDUCE) {
        count_special(v, count);
        TRY(measure_distance(v, first, count));
    }
out:
    return status;
}

static enum status open_verifier(struct verifier *v)
{
    enum status status = STATUS_OK;
    struct order order = {0};
    TRY(allocate((void **)&v->parts, WINDOW, sizeof *v->parts, "the reference", v->err));
    TRY(allocate((void **)&v->next_parts, WINDOW, sizeof *v->parts, "the reference", v->err));
    TRY(allocate((void **)&v->want, WINDOW, sizeof(double), "the reference", v->err));
    TRY(allocate((void **)&v->got, WINDOW, sizeof(double), "the reference", v->err));
    TRY(allocate((void **)&v->first_got, WINDOW, sizeof(double), "the reference", v->err));
    TRY(allocate((void **)&v->exact, WINDOW, sizeof(double), "the reference", v->err));
    TRY(allocate((void **)&v->hashes, v->plan->n_ranks, sizeof *v->hashes, "hashes", v->err));
    for (int rank = 0; rank < v->plan->n_ranks; rank++)
        v->hashes[rank] = FNV1A_BASIS;
    TRY(order_open(&order, v->plan, v->err));
    TRY(contents_init(&v->contents, v->plan, v->err));
    for (int64_t i = 0; i < order.n_sequence; i++) {
        const struct op *op = &v->plan->ops[order_at(&order, i)];
        TRY(contents_apply(&v->contents, op, v->err));
    }
    v->shift = goal_shift(&v->contents, v->plan->iterations - 1);
out:
    order_close(&order);
    return status;
}

enum status verify(struct device *device, const struct plan *plan, const struct init *init,
                   struct verdict *verdict, struct error *err)
{
    enum status status = STATUS_OK;
    struct verifier v = {.plan = plan, .init = init, .verdict = verdict, .err = err};
    memset(verdict, 0, sizeof *verdict);
    TRY(open_verifier(&v));
    for (int64_t first = 0; first < plan->count; first += WINDOW)
        TRY(verify_window(&v, device, first,
                          plan->count - first < WINDOW ? plan->count - first : WINDOW));
    verdict->hash = join_hashes(v.hashes, plan->n_ranks);
out:
    contents_free(&v.contents);
    free(v.parts);
    free(v.next_parts);
    free(v.want);
    free(v.got);
    free(v.first_got);
    free(v.exact);
    free(v.hashes);
    return status;
}

enum status verify_hash(struct device *device, const struct plan *plan, uint64_t *hash,
                        struct error *err)
{
    enum status status = STATUS_OK;
    char *got = NULL, *first_got = NULL;
    uint64_t *hashes = NULL;
    TRY(allocate((void **)&got, WINDOW, sizeof(double), "hashing", err));
    TRY(allocate((void **)&first_got, WINDOW, sizeof(double), "hashing", err));
    TRY(allocate((void **)&hashes, plan->n_ranks, sizeof *hashes, "hashing", err));
    for (int rank = 0; rank < plan->n_ranks; rank++)
        hashes[rank] = FNV1A_BASIS;
    for (int64_t first = 0; first < plan->count; first += WINDOW) {
        int64_t count = plan->count - first < WINDOW ? plan->count - first : WINDOW;
        uint64_t before = hashes[0];
        for (int rank = 0; rank < plan->n_ranks; rank++) {
            char *here = rank == 0 ? first_got : got;
            struct span at = {rank, MEMORY_DATA, first, count};
            TRY(device->verbs->get(device, at, here, err));
            hash_window(hashes, rank, before, here, first_got,
                        (size_t)count * dtype_size(plan->dtype));
        }
    }
    *hash = join_hashes(hashes, plan->n_ranks);
out:
    free(got);
    free(first_got);
    free(hashes);
    return status;
}
