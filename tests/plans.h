/* plans.h - plans that several suites need: of a shape, and with one thing changed. */
#ifndef TESTS_PLANS_H
#define TESTS_PLANS_H

#include <stdlib.h>
#include <string.h>

#include "ring/check.h"
#include "ring/plan_text.h"
#include "ring/ring.h"

#include <check.h> /* last: it defines a macro `fail` */

static inline struct plan make_plan(struct ring_shape shape)
{
    struct plan plan;
    struct error err = {""};
    shape.pieces += shape.pieces == 0;
    shape.slots += shape.slots == 0 ? 2 : 0;
    shape.iterations += shape.iterations == 0;
    ck_assert_msg(ring_plan(&plan, &shape, &err) == STATUS_OK, "%s", err.text);
    return plan;
}

static inline struct plan read_plan(const char *text)
{
    struct plan plan;
    struct error err = {""};
    ck_assert_msg(plan_read(&plan, text, strlen(text), "test", &err) == STATUS_OK, "%s", err.text);
    return plan;
}

static inline struct proof prove(const struct plan *plan)
{
    struct proof proof;
    struct error err = {""};
    ck_assert_msg(check_plan(plan, &proof, &err) == STATUS_OK, "%s", err.text);
    return proof;
}

static inline void assert_proven(const struct plan *plan)
{
    struct proof proof = prove(plan);
    char text[FINDING_TEXT_SIZE];
    ck_assert_msg(proof_total(&proof) == 0, "N=%d count=%ld pieces=%d slots=%d iterations=%d: %s",
                  plan->n_ranks, (long)plan->count, plan->pieces, plan->slots, plan->iterations,
                  finding_text(plan, proof.findings, text, sizeof text));
    ck_assert_int_eq(proof.n_remarks, 0);
    proof_free(&proof);
}

/* Takes the i-th wait of the plan away; put_back undoes it. Its op keeps the others in order. */
static inline struct wait take_wait(struct plan *plan, int64_t op, int i)
{
    struct op *o = &plan->ops[op];
    struct wait *waits = plan->waits + o->first_wait, taken = waits[i];
    memmove(waits + i, waits + i + 1, (size_t)(o->n_waits - i - 1) * sizeof *waits);
    o->n_waits--;
    return taken;
}

static inline void put_back(struct plan *plan, int64_t op, int i, struct wait taken)
{
    struct op *o = &plan->ops[op];
    struct wait *waits = plan->waits + o->first_wait;
    memmove(waits + i + 1, waits + i, (size_t)(o->n_waits - i) * sizeof *waits);
    waits[i] = taken;
    o->n_waits++;
}

/* The op of this kind, step and rank, by its place in the plan. */
static inline int64_t find_op(const struct plan *plan, enum op_kind kind, int step, int rank)
{
    int64_t id = 0;
    while (id < plan->n_ops && !(plan->ops[id].kind == kind && plan->ops[id].step == step &&
                                 plan->ops[id].rank == rank))
        id++;
    ck_assert_int_lt(id, plan->n_ops);
    return id;
}

#endif
