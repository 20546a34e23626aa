/* timeline.c - intervals, their unions, and lanes drawn with characters. */
#include "overlap/timeline.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 81      /* columns of time */
#define MOST_RANKS 8  /* drawn */

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

static int count_buckets(const struct plan *plan)
{
    int last = NONE;
    for (int64_t id = 0; id < plan->n_ops; id++)
        last = plan->ops[id].bucket > last ? plan->ops[id].bucket : last;
    return last + 1;
}

/* The intervals of one rank; of_bucket[n] starts empty (end 0). */
static void collect(const struct plan *plan, const struct timing *timing, int rank,
                    struct interval *computes, int *n_computes, struct interval *of_bucket)
{
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        struct interval at = {timing->begin_ns[id], timing->end_ns[id]};
        if (op->rank != rank)
            continue;
        if (op->kind == OP_COMPUTE) {
            computes[(*n_computes)++] = at;
        } else if (op->bucket != NONE) {
            struct interval *k = &of_bucket[op->bucket];
            if (k->end == 0 || at.begin < k->begin)
                k->begin = at.begin;
            k->end = at.end > k->end ? at.end : k->end;
        }
    }
}

static void judge_rank(const struct plan *plan, const struct timing *timing, int rank,
                       struct interval *computes, struct interval *of_bucket, int n_buckets,
                       struct figures *f)
{
    int n_computes = 0, n = 0;
    memset(of_bucket, 0, (size_t)n_buckets * sizeof *of_bucket);
    collect(plan, timing, rank, computes, &n_computes, of_bucket);
    for (int i = 0; i < n_buckets; i++)
        if (of_bucket[i].end > 0)
            of_bucket[n++] = of_bucket[i];
    n_computes = unite(computes, n_computes);
    n = unite(of_bucket, n);
    *f = (struct figures){.compute = total(computes, n_computes),
                          .communication = total(of_bucket, n)};
    f->hidden = common(computes, n_computes, of_bucket, n);
    f->exposed = f->communication - f->hidden;
    f->compute_end = n_computes ? computes[n_computes - 1].end : 0;
    f->first_start = n ? of_bucket[0].begin : 0;
    f->last_end = n ? of_bucket[n - 1].end : 0;
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (plan->ops[id].rank == rank && timing->end_ns[id] > f->iteration)
            f->iteration = timing->end_ns[id];
}

enum status timeline_figures(const struct plan *plan, const struct timing *timing,
                             struct figures *figures, struct error *err)
{
    enum status status = STATUS_OK;
    int n_buckets = count_buckets(plan);
    struct interval *computes = NULL, *of_bucket = NULL;
    TRY(allocate((void **)&computes, plan->n_ops, sizeof *computes, "the timeline", err));
    TRY(allocate((void **)&of_bucket, n_buckets, sizeof *of_bucket, "the timeline", err));
    for (int rank = 0; rank < plan->n_ranks; rank++)
        judge_rank(plan, timing, rank, computes, of_bucket, n_buckets, &figures[rank]);
out:
    free(computes);
    free(of_bucket);
    return status;
}

/* ---- the picture ---- */

static char sign_of(const struct op *op, const int *bucket_of)
{
    int bucket = op->kind == OP_COMPUTE ? bucket_of[op->layer] : op->bucket;
    return op->kind == OP_UPDATE ? 'u' : bucket == NONE ? '?' : (char)('0' + bucket % 10);
}

/* One lane of one rank: in each slot the op that takes most of it. */
static void draw(const struct plan *plan, const struct timing *timing, int rank, enum lane lane,
                 const int *bucket_of, char *line)
{
    int64_t most[SLOTS] = {0};
    double slot = (double)timing->total_ns / SLOTS;
    memset(line, '.', SLOTS);
    line[SLOTS] = '\0';
    for (int64_t id = 0; id < plan->n_ops && slot > 0; id++) {
        const struct op *op = &plan->ops[id];
        if (op->rank != rank || op->lane != lane)
            continue;
        int first = (int)((double)timing->begin_ns[id] / slot);
        for (int i = first; i < SLOTS && (double)i * slot < (double)timing->end_ns[id]; i++) {
            double begin = (double)i * slot, end = begin + slot;
            double from = (double)timing->begin_ns[id], to = (double)timing->end_ns[id];
            int64_t share = (int64_t)((to < end ? to : end) - (from > begin ? from : begin));
            if (share > most[i]) {
                most[i] = share;
                line[i] = sign_of(op, bucket_of);
            }
        }
    }
}

void timeline_print(const struct plan *plan, const struct timing *timing, const int *bucket_of,
                    FILE *file)
{
    char line[SLOTS + 1];
    int shown = plan->n_ranks <= MOST_RANKS ? plan->n_ranks : MOST_RANKS;
    fprintf(file, "%-19s0%*.1f us\n", "", SLOTS - 4, (double)timing->total_ns / 1000);
    for (int rank = 0; rank < shown; rank++)
        for (int lane = 0; lane < N_LANES; lane++) {
            char label[32] = "";
            if (lane == 0)
                snprintf(label, sizeof label, "rank %d", rank);
            draw(plan, timing, rank, (enum lane)lane, bucket_of, line);
            fprintf(file, "  %-8s %-8s%s\n", label, lane_name((enum lane)lane), line);
        }
    if (shown < plan->n_ranks)
        fprintf(file, "  ... and %d more ranks\n", plan->n_ranks - shown);
}
