/* bench_queueing.c - what queueing costs the host, of the ring's own ops.
 *
 * Rings of one element a segment, back to back: every op has the waits and the record that it has
 * in any ring, and moves next to nothing. Twice as many rings take the host so much longer to queue
 * as their ops cost; what a sample costs once, whatever is in it, falls out of the difference. An
 * eager sample queues op by op; one of the graph launches a graph that holds all of them.
 */
#include "ring/bench_parts.h"
#include "ring/ring.h"
#include "ring/sampled.h"

#define OPS_WANTED 120 /* at least, in the shorter plan */
#define RANKS_MOST 128 /* two of their rings have 97536 ops */

static enum status measure(const struct bench *b, enum engine engine, double *us)
{
    enum status status = STATUS_OK;
    const int n = b->s->n_ranks, ops = 3 * n * (n - 1); /* two copies for each add */
    const int rings = (OPS_WANTED + ops - 1) / ops;
    struct plan plans[2] = {{0}};
    struct sampled sampled[2] = {{.plan = &plans[0], .engine = engine},
                                 {.plan = &plans[1], .engine = engine}};
    for (int i = 0; i < 2; i++) {
        const struct ring_shape shape = {
            .n_ranks = n, .count = n, .dtype = b->s->dtype, .redop = REDOP_SUM, .pieces = 1,
            .slots = b->s->slots, .iterations = rings * (1 + i), .same_data = 1,
        };
        TRY(ring_plan(&plans[i], &shape, b->err));
    }
    TRY(sample_plans(b->s, sampled, 2, 1, b->err));
    *us = (sampled[1].queued.least_ns - sampled[0].queued.least_ns) / 1e3 /
          (double)(plans[1].n_ops - plans[0].n_ops);
out:
    plan_free(&plans[0]);
    plan_free(&plans[1]);
    return status;
}

enum status bench_queueing(struct bench *b)
{
    enum status status = STATUS_OK;
    static const struct { enum bench_engine bench; enum engine run; } ours[] = {
        {BENCH_EAGER, ENGINE_EAGER}, {BENCH_GRAPH, ENGINE_GRAPH},
    };
    const int n = b->s->n_ranks;
    for (int i = 0; i < 2 && n > 1 && n <= RANKS_MOST; i++) {
        struct bench_queueing *q = &b->queueing[ours[i].bench];
        if (b->on[ours[i].bench])
            TRY(measure(b, ours[i].run, &q->us_per_op));
        q->measured = b->on[ours[i].bench];
    }
out:
    return status;
}
