/* plan.h - start reading here: an all-reduce is a list of ops.
 *
 * A plan is the complete list of what will be queued on the devices: copies, adds, and what each
 * of them waits for and why. ring.c writes such a list, check.c proves it, run.c carries it out,
 * trace_*.c shows it; none of them knows how another works. So a plan can be printed, saved,
 * changed by hand and proven without anything being run.
 *
 * The ring in two sentences. At step s (0 .. 2N-3) rank r sends segment (r - s) mod N to rank r+1:
 * for the first N-1 steps into the neighbour's inbox, whence the neighbour adds it to its data
 * (scatter-reduce), after which rank r owns segment (r+1) mod N, complete; for the last N-1 steps
 * straight into the neighbour's data (all-gather). Patarasuk and Yuan, "Bandwidth optimal
 * all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69 (2009), show
 * that no algorithm moves fewer bytes per rank than this 2(N-1)/N of the buffer.
 *
 * Each rank has three lanes (common/span.h; a lane is a CUDA stream): one for what it computes, one
 * for the copies it sends, one for its adds. Ops of one lane run in the order of the list. Ops of
 * different lanes run in any order, unless one waits for the other. There are no pointers in the
 * list, only numbers.
 */
#ifndef RING_PLAN_H
#define RING_PLAN_H

#include <stdint.h>

#include "common/dtype.h"
#include "common/span.h"
#include "common/status.h"

#define PLAN_MAX_RANKS 4096
#define NONE (-1)

enum op_kind {
    OP_COPY,    /* dst = src; queued on the sender's send lane */
    OP_REDUCE,  /* dst = dst (redop) src; on the receiver's reduce lane, in local memory only */
    OP_COMPUTE, /* dst = fresh data of this rank for `iteration`; on the compute lane */
    OP_SCALE,   /* dst = dst / n_ranks, for avg; on the reduce lane */
    OP_UPDATE,  /* dst = dst / PLAN_UPDATE_DIVISOR: the optimizer, on the compute lane */
    N_OP_KINDS
};

enum wait_reason {
    WAIT_READY,   /* what I read has been produced */
    WAIT_ARRIVED, /* what I read, or write over, has landed */
    WAIT_DRAINED, /* what I overwrite has been read */
    WAIT_SERIAL,  /* an order that is wanted, not needed */
    N_WAIT_REASONS
};

/* What an optimizer makes of a gradient, in its place: a step of plain gradient descent with a
 * learning rate of 2^-10, exact in floats. */
#define PLAN_UPDATE_DIVISOR (-1024)

struct wait {
    int64_t op; /* index in the plan */
    enum wait_reason reason;
};

struct op {
    enum op_kind kind;
    enum lane lane; /* with rank: whose lane it is queued on */
    int rank;
    /* Labels for people; NONE where meaningless. A bucket is one of several all-reduces of a plan,
     * a layer is what a compute makes the gradients of; of one that two computes share, the pieces
     * are 0 and 1. */
    int iteration, bucket, step, segment, piece, layer;
    int n_waits;
    int scaled;         /* compute: the data is divided by n_ranks as it is written, for avg */
    int64_t cost_ns;    /* compute: so long it takes, its writing included; else 0 */
    int64_t first_wait; /* in plan.waits */
    struct span src;    /* copy, reduce; elsewhere count = 0 */
    struct span dst;
};

enum goal { /* what the plan is for; goal.h says what each demands */
    GOAL_ALLREDUCE,
    GOAL_REDUCE_SCATTER,
    GOAL_ALL_GATHER,
    GOAL_BROADCAST, /* of plan.root's data */
    GOAL_REDUCE,    /* at plan.root */
    N_GOALS
};

struct plan {
    int n_ranks;
    int64_t count;  /* elements of each rank's data */
    enum dtype dtype;
    enum redop redop;
    enum goal goal;
    int root;       /* of goals that name a rank; else 0 */
    int iterations; /* all-reduces of fresh data, one after the other */
    int pieces;     /* per segment */
    int slots;      /* per inbox */
    int updates;    /* how often an optimizer has changed each element at the end: 0 or 1 */
    int64_t inbox_count; /* elements of each rank's inbox */

    struct op *ops; /* owned, like waits */
    int64_t n_ops, ops_capacity;
    struct wait *waits;
    int64_t n_waits, waits_capacity;
    const char **names; /* owned, [n_ops]: names that were read; NULL: they are as op_name() says */
    char *names_text;   /* owned: what they point into */
};

/* An empty plan of this shape. Refuses (STATUS_USAGE) n_ranks outside 1 .. PLAN_MAX_RANKS, a
 * negative count, and sizes whose bytes overflow int64. */
enum status plan_init(struct plan *plan, int n_ranks, int64_t count, enum dtype dtype,
                      enum redop redop, struct error *err);
void plan_free(struct plan *plan); /* also of a zeroed one */

/* Appends `op` (its first_wait and n_waits are filled in here) with its waits; a wait whose op is
 * NONE is left out, so that callers need not ask whether there is something to wait for. *id gets
 * the op's index, where id is not NULL. */
enum status plan_append(struct plan *plan, struct op op, const struct wait *waits, int n_waits,
                        int64_t *id, struct error *err);

/* Gives an op one wait more. The op it names may come later in the plan. */
enum status plan_add_wait(struct plan *plan, int64_t id, struct wait wait, struct error *err);

/* Drops every wait that lane order and the other waits already imply. What stays is the least set
 * with the same order (the transitive reduction: Aho, Garey, Ullman, SIAM J. Comput. 1, 1972).
 * STATUS_USAGE, and no change, where ops wait in a circle. */
enum status plan_drop_implied(struct plan *plan, struct error *err);

/* Element range [*first, *first + *count) of part i when `total` elements from `base` are cut in n:
 * the first total mod n parts hold one element more. Segments and pieces are both cut so. */
void plan_part(int64_t base, int64_t total, int n, int i, int64_t *first, int64_t *count);

/* The segment, of n_ranks, in which an element of the data lies. */
int plan_segment(const struct plan *plan, int64_t element);

/* The op's name, unique in a plan, without blanks. Ours are made from the labels: "s0.copy.r0",
 * "s2.reduce.r1.p1", "i1.compute.r3". Returns the name: buffer, or the plan's own. */
#define OP_NAME_SIZE 80
const char *op_name(const struct plan *plan, int64_t id, char buffer[OP_NAME_SIZE]);

/* What is printed over the ops of a step: "step s=0 (1 of 6), scatter-reduce". Where the labels are
 * somebody's own, of a plan that was read, `own_steps` is how many steps they name, and the phase
 * is left out: "step s=0 (1 of 3)"; for ours it is 0. In a plan of several iterations it begins
 * with that: "iteration 1, step s=0 ..". And over those of a bucket, of n: "bucket 0 of 3 (B2)",
 * counted as they are launched and, in brackets, from the front of the model. Both return buffer.
 */
#define PLAN_TITLE_SIZE 96
const char *plan_step_title(const struct plan *plan, int iteration, int step, int own_steps,
                            char buffer[PLAN_TITLE_SIZE]);
const char *plan_bucket_title(int bucket, int n, char buffer[PLAN_TITLE_SIZE]);

/* The largest label of its kind in the plan; NONE: no op has one. */
int plan_last_step(const struct plan *plan);
int plan_last_bucket(const struct plan *plan);

const char *op_kind_name(enum op_kind kind);       /* "copy" */
const char *lane_name(enum lane lane);             /* "send" */
const char *memory_name(enum memory memory);       /* "inbox" */
const char *wait_reason_name(enum wait_reason why); /* "arrived" */

/* The lane on which an op of this kind is queued, unless somebody says otherwise: of its source's
 * rank for a copy, of its destination's for the others. */
enum lane op_usual_lane(enum op_kind kind);

/* The labels of an op, by number: iteration, bucket, step, segment, piece, layer. */
#define N_OP_LABELS 6
const char *op_label_name(int i);
int *op_label(struct op *op, int i);

/* Steps of a ring of n ranks, and whether step s belongs to its second phase, all-gather. */
static inline int ring_steps(int n_ranks) { return 2 * (n_ranks - 1); }
static inline int ring_gathers(int n_ranks, int step) { return step >= n_ranks - 1; }

#endif
