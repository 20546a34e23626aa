/* figures.c - intervals of time, their unions, and what each moment is spent on. */
#include "overlap/figures.h"

#include <stdlib.h>
#include <string.h>

#include "common/sort.h"

struct interval {
    int64_t begin, end;
};

static int compare_intervals(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin)
                                : (x->end > y->end) - (x->end < y->end);
}

/* Sorts, and joins those that touch; returns how many are left. */
static int unite(struct interval *items, int n)
{
    int kept = 0;
    if (n > 0)
        qsort(items, (size_t)n, sizeof *items, compare_intervals);
    for (int i = 0; i < n; i++) {
        if (kept > 0 && items[i].begin <= items[kept - 1].end) {
            if (items[i].end > items[kept - 1].end)
                items[kept - 1].end = items[i].end;
        } else {
            items[kept++] = items[i];
        }
    }
    return kept;
}

static int64_t total(const struct interval *items, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += items[i].end - items[i].begin;
    return sum;
}

/* Of two unions. */
static int64_t common(const struct interval *a, int n_a, const struct interval *b, int n_b)
{
    int64_t sum = 0;
    for (int i = 0, j = 0; i < n_a && j < n_b;) {
        int64_t begin = a[i].begin > b[j].begin ? a[i].begin : b[j].begin;
        int64_t end = a[i].end < b[j].end ? a[i].end : b[j].end;
        sum += end > begin ? end - begin : 0;
        if (a[i].end < b[j].end)
            i++;
        else
            j++;
    }
    return sum;
}

static int covers(const struct interval *items, int n, int64_t moment)
{
    for (int i = 0; i < n; i++)
        if (items[i].begin <= moment && moment < items[i].end)
            return 1;
    return 0;
}

/* What is known of one rank, and room for it. */
struct view {
    const struct plan *plan;
    const struct buckets *buckets;
    const struct timing *timing;
    int64_t all_computed;        /* when the last rank's backward pass ended */
    struct interval *computes;   /* [n_ops]; united */
    int n_computes;
    struct interval *of_bucket;  /* [n_buckets]; end 0: none of its ops is the rank's */
    struct interval *under_way;  /* [n_buckets]; united */
    int n_under_way;
    int64_t *moments;            /* [2 * n_buckets + 2 * n_ops + 1]: something begins or ends */
};

int64_t figures_ready(const struct plan *plan, const struct buckets *buckets,
                      const struct timing *timing, int k)
{
    const struct bucket *b = &buckets->items[k];
    int64_t ready = 0;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        if (op->kind == OP_COMPUTE && op->dst.first < b->begin + b->count &&
            b->begin < op->dst.first + op->dst.count && timing->end_ns[id] > ready)
            ready = timing->end_ns[id];
    }
    return ready;
}

static void collect(struct view *v, int rank)
{
    memset(v->of_bucket, 0, (size_t)v->buckets->n * sizeof *v->of_bucket);
    v->n_computes = v->n_under_way = 0;
    for (int64_t id = 0; id < v->plan->n_ops; id++) {
        const struct op *op = &v->plan->ops[id];
        struct interval at = {v->timing->begin_ns[id], v->timing->end_ns[id]};
        if (op->rank != rank)
            continue;
        if (op->kind == OP_COMPUTE) {
            v->computes[v->n_computes++] = at;
        } else if (op->bucket != NONE) {
            struct interval *k = &v->of_bucket[op->bucket];
            if (k->end == 0 || at.begin < k->begin)
                k->begin = at.begin;
            k->end = at.end > k->end ? at.end : k->end;
        }
    }
    for (int k = 0; k < v->buckets->n; k++)
        if (v->of_bucket[k].end > 0)
            v->under_way[v->n_under_way++] = v->of_bucket[k];
    v->n_computes = unite(v->computes, v->n_computes);
    v->n_under_way = unite(v->under_way, v->n_under_way);
}

/* Between two moments nothing changes, so that what holds at the first holds until the second. */
static int list_moments(struct view *v)
{
    int n = 0;
    for (int i = 0; i < v->n_computes; i++) {
        v->moments[n++] = v->computes[i].begin;
        v->moments[n++] = v->computes[i].end;
    }
    for (int k = 0; k < v->buckets->n; k++) {
        v->moments[n++] = v->of_bucket[k].begin;
        v->moments[n++] = v->of_bucket[k].end;
    }
    v->moments[n++] = v->all_computed;
    sort_int64(v->moments, n);
    return n;
}

static void find_causes(struct view *v, struct figures *f)
{
    int n = list_moments(v), last = buckets_last(v->buckets);
    for (int i = 0; i + 1 < n; i++) {
        int64_t now = v->moments[i], span = v->moments[i + 1] - now;
        int k = 0;
        while (k < v->buckets->n && !covers(&v->of_bucket[k], 1, now))
            k++;
        if (span == 0 || k == v->buckets->n || covers(v->computes, v->n_computes, now))
            continue;
        *(now < v->all_computed ? &f->slow : k < last ? &f->order : &f->tail) += span;
    }
}

/* When the last of the buckets before k ended; or k begins, where there was none. */
static int64_t end_before(const struct view *v, int k)
{
    int64_t end = v->of_bucket[k].begin;
    for (int i = 0, found = 0; i < k; i++)
        if (v->of_bucket[i].end > 0 && (!found++ || v->of_bucket[i].end > end))
            end = v->of_bucket[i].end;
    return end;
}

static void judge_rank(struct view *v, int rank, struct figures *f)
{
    collect(v, rank);
    const struct interval *c = v->computes, *k = v->under_way;
    *f = (struct figures){.compute = total(c, v->n_computes),
                          .communication = total(k, v->n_under_way)};
    f->hidden = common(c, v->n_computes, k, v->n_under_way);
    f->exposed = f->communication - f->hidden;
    find_causes(v, f);
    f->compute_end = v->n_computes ? c[v->n_computes - 1].end : 0;
    f->first_start = v->n_under_way ? k[0].begin : 0;
    f->last_end = v->n_under_way ? k[v->n_under_way - 1].end : 0;
    f->last_bucket = f->last_end - end_before(v, buckets_last(v->buckets));
    struct interval pass = {v->n_computes ? c[0].begin : 0, f->compute_end};
    f->idle = total(&pass, 1) - common(&pass, 1, k, v->n_under_way);
    for (int64_t id = 0; id < v->plan->n_ops; id++)
        if (v->plan->ops[id].rank == rank && v->timing->end_ns[id] > f->iteration)
            f->iteration = v->timing->end_ns[id];
}

enum status figures_find(const struct plan *plan, const struct buckets *buckets,
                         const struct timing *timing, struct figures *figures, struct error *err)
{
    enum status status = STATUS_OK;
    struct view v = {.plan = plan, .buckets = buckets, .timing = timing};
    int n = buckets->n;
    TRY(allocate((void **)&v.computes, plan->n_ops, sizeof *v.computes, "figures", err));
    TRY(allocate((void **)&v.of_bucket, n, sizeof *v.of_bucket, "figures", err));
    TRY(allocate((void **)&v.under_way, n, sizeof *v.under_way, "figures", err));
    TRY(allocate((void **)&v.moments, 2 * (int64_t)n + 2 * plan->n_ops + 1, sizeof *v.moments,
                 "figures", err));
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (plan->ops[id].kind == OP_COMPUTE && timing->end_ns[id] > v.all_computed)
            v.all_computed = timing->end_ns[id];
    for (int rank = 0; rank < plan->n_ranks; rank++)
        judge_rank(&v, rank, &figures[rank]);
out:
    free(v.computes);
    free(v.of_bucket);
    free(v.under_way);
    free(v.moments);
    return status;
}

int64_t figures_complete(const struct figures *figures, int n_ranks)
{
    int64_t end = 0;
    for (int rank = 0; rank < n_ranks; rank++) {
        const struct figures *f = &figures[rank];
        int64_t here = f->last_end > f->compute_end ? f->last_end : f->compute_end;
        end = here > end ? here : end;
    }
    return end;
}

int64_t figures_ideal(const struct figures *serial)
{
    int64_t alone = serial->compute + serial->last_bucket;
    return alone > serial->communication ? alone : serial->communication;
}

int figures_waiting(const struct figures *figures, int n_ranks)
{
    int rank = 0;
    for (int r = 1; r < n_ranks; r++)
        if (figures[r].slow > figures[rank].slow)
            rank = r;
    return rank;
}

int figures_slowest(const struct figures *figures, int n_ranks)
{
    int rank = 0;
    for (int r = 1; r < n_ranks; r++)
        if (figures[r].compute_end > figures[rank].compute_end)
            rank = r;
    return rank;
}
