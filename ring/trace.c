/* trace.c - sums over a run that every writer prints. */
#include "ring/trace.h"

#include <stdlib.h>

struct link_use {
    int64_t bytes, ns;
};

/* The link of a copy; links are sorted by (from, to). */
static int find_link(const struct scene *scene, const struct op *op)
{
    int low = 0, high = scene->n_links;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        const struct scene_link *l = &scene->links[middle];
        if (l->from < op->src.rank || (l->from == op->src.rank && l->to <= op->dst.rank))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* What each rank sends and each link carries. */
static void add_up(const struct scene *scene, int64_t *sent, struct link_use *uses)
{
    const struct plan *plan = scene->plan;
    const struct timing *timing = scene->timing;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        int64_t bytes = op->dst.count * (int64_t)dtype_size(plan->dtype);
        if (op->kind != OP_COPY || op->src.rank == op->dst.rank)
            continue;
        struct link_use *use = &uses[find_link(scene, op)];
        sent[op->src.rank] += bytes;
        use->bytes += bytes;
        if (timing && timing->per_op && !scene->random)
            use->ns += timing->end_ns[id] - timing->begin_ns[id];
    }
}

enum status trace_traffic(const struct scene *scene, struct traffic *t, struct error *err)
{
    enum status status = STATUS_OK;
    struct link_use *uses = NULL;
    int64_t *sent = NULL;
    *t = (struct traffic){.least_sent = INT64_MAX, .busiest_from = NONE, .busiest_to = NONE,
                          .all_alike = 1};
    TRY(allocate((void **)&sent, scene->plan->n_ranks, sizeof *sent, "traffic", err));
    TRY(allocate((void **)&uses, scene->n_links, sizeof *uses, "traffic", err));
    add_up(scene, sent, uses);
    for (int rank = 0; rank < scene->plan->n_ranks; rank++) {
        t->least_sent = sent[rank] < t->least_sent ? sent[rank] : t->least_sent;
        t->most_sent = sent[rank] > t->most_sent ? sent[rank] : t->most_sent;
    }
    for (int i = 0; i < scene->n_links; i++) {
        t->all_alike = t->all_alike && uses[i].bytes == uses[0].bytes && uses[i].ns == uses[0].ns;
        if (uses[i].bytes > t->busiest_bytes ||
            (uses[i].bytes == t->busiest_bytes && uses[i].ns > t->busiest_ns)) {
            t->busiest_bytes = uses[i].bytes;
            t->busiest_ns = uses[i].ns;
            t->busiest_from = scene->links[i].from;
            t->busiest_to = scene->links[i].to;
        }
    }
out:
    free(sent);
    free(uses);
    return status;
}

double trace_algbw(const struct scene *scene)
{
    const struct plan *plan = scene->plan;
    if (!scene->timing || scene->timing->total_ns <= 0)
        return 0;
    double bytes = (double)plan->count * (double)dtype_size(plan->dtype) * plan->iterations;
    return bytes / (double)scene->timing->total_ns; /* bytes per ns = GB per s */
}

double trace_busbw(const struct scene *scene)
{
    int n = scene->plan->n_ranks;
    return trace_algbw(scene) * ring_steps(n) / n;
}
