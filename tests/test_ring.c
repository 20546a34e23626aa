/* test_ring.c - the ring's plans: proven for every shape, and not one wait too many.
 *
 * The test of every wait proves 357774 plans, one for each wait of each shape.
 * N = 2, 3, 4 and 5 each hide some fault that another shows, so every property is asked of all.
 */
#include <stdio.h>

#include "tests/plans.h"
#include "tests/suites.h"

/* Visits N = 1..8, pieces 1..4, slots 1..3, seven counts, 1..3 iterations. */
static void for_each_shape(int from_ranks, int to_ranks, void (*visit)(struct plan *))
{
    for (int n = from_ranks; n <= to_ranks; n++)
        for (int pieces = 1; pieces <= 4; pieces++)
            for (int slots = 1; slots <= 3; slots++)
                for (int iterations = 1; iterations <= 3; iterations++) {
                    const int64_t counts[] = {0, 1, n - 1, n, n + 1, 1000, 1003};
                    for (int c = 0; c < 7; c++) {
                        struct plan plan = make_plan((struct ring_shape){
                            .n_ranks = n, .count = counts[c], .pieces = pieces, .slots = slots,
                            .iterations = iterations});
                        visit(&plan);
                        plan_free(&plan);
                    }
                }
}

static void prove_it(struct plan *plan) { assert_proven(plan); }

START_TEST(every_shape_is_proven) { for_each_shape(_i, _i, prove_it); }
END_TEST

START_TEST(every_redop_is_proven)
{
    for (int n = 1; n <= 5; n++)
        for (int op = 0; op < N_REDOPS; op++)
            for (int type = 0; type < N_DTYPES; type++)
                for (int64_t count = 0; count <= 23; count += count < 7 ? 1 : 8) {
                    struct plan plan = make_plan((struct ring_shape){
                        .n_ranks = n, .count = count, .pieces = 2, .iterations = 2,
                        .redop = (enum redop)op, .dtype = (enum dtype)type});
                    assert_proven(&plan);
                    plan_free(&plan);
                }
}
END_TEST

/* Without any single one of its waits the plan has a hazard. */
static void each_wait_matters(struct plan *plan)
{
    for (int64_t op = 0; op < plan->n_ops; op++)
        for (int i = 0; i < plan->ops[op].n_waits; i++) {
            struct wait taken = take_wait(plan, op, i);
            struct proof proof = prove(plan);
            ck_assert_msg(proof_hazards(&proof) > 0,
                          "N=%d count=%ld pieces=%d slots=%d iterations=%d: op %ld does not need "
                          "its wait for op %ld", plan->n_ranks, (long)plan->count, plan->pieces,
                          plan->slots, plan->iterations, (long)op, (long)taken.op);
            proof_free(&proof);
            put_back(plan, op, i, taken);
        }
}

/* Each wait names an op with which its own op shares memory; then, since none is implied by the
 * others, each is needed (see each_wait_matters, which tries it). */
static void each_wait_guards_memory(struct plan *plan)
{
    for (int64_t id = 0; id < plan->n_ops; id++)
        for (int i = 0; i < plan->ops[id].n_waits; i++) {
            const struct op *op = &plan->ops[id];
            const struct op *other = &plan->ops[plan->waits[op->first_wait + i].op];
            const struct span *spans[] = {&op->src, &op->dst},
                              *others[] = {&other->src, &other->dst};
            int shared = 0;
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    shared += (a == 1 || b == 1) && spans[a]->rank == others[b]->rank &&
                              spans[a]->memory == others[b]->memory &&
                              spans[a]->first < others[b]->first + others[b]->count &&
                              others[b]->first < spans[a]->first + spans[a]->count;
            ck_assert_int_gt(shared, 0);
        }
}

START_TEST(every_wait_matters) { for_each_shape(_i, _i, each_wait_matters); }
END_TEST

START_TEST(every_wait_guards_memory) { for_each_shape(_i, _i, each_wait_guards_memory); }
END_TEST

/* Two and three all-reduces, of parts of unequal size, through the same inboxes, unrelated but for
 * them: only `drained` keeps the second from overwriting what the first still adds. */
START_TEST(parts_that_share_inboxes)
{
    static const int64_t sizes[][3] = {{10, 0, 0}, {7, 13, 0}, {20, 3, 11}, {1, 1, 30}, {0, 5, 2}};
    int n = _i;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int pieces = 1; pieces <= 3; pieces++)
            for (int slots = 1; slots <= 3; slots++) {
                struct plan plan;
                struct ring ring;
                struct error err = {""};
                int64_t first = 0, total = sizes[s][0] + sizes[s][1] + sizes[s][2];
                ck_assert_int_eq(plan_init(&plan, n, total, DTYPE_FLOAT32, REDOP_SUM, &err), 0);
                ck_assert_int_eq(ring_open(&ring, &plan, pieces, slots, 30, &err), STATUS_OK);
                for (int part = 0; part < 3; part++) {
                    struct ring_part p = {.first = first, .count = sizes[s][part], .bucket = part};
                    ck_assert_int_eq(ring_scatter_reduce(&ring, &p, &err), STATUS_OK);
                    ck_assert_int_eq(ring_all_gather(&ring, &p, &err), STATUS_OK);
                    first += sizes[s][part];
                }
                ring_close(&ring);
                ck_assert_int_eq(plan_drop_implied(&plan, &err), STATUS_OK);
                assert_proven(&plan);
                each_wait_matters(&plan);
                plan_free(&plan);
            }
}
END_TEST

static int64_t faults_of_order(const struct plan *plan)
{
    struct proof proof = prove(plan);
    int64_t n = proof_total(&proof) - proof.counts[FINDING_SUM] - proof.counts[FINDING_SCALE];
    proof_free(&proof);
    return n;
}

/* The same data again and again: in order; and, but for N = 3, where the ring's own waits are
 * enough, not without waits between the iterations. */
START_TEST(the_same_data_again)
{
    int n = _i;
    for (int pieces = 1; pieces <= 3; pieces++)
        for (int slots = 1; slots <= 3; slots++)
            for (int op = 0; op < 2; op++)
                for (int type = 0; type < N_DTYPES; type++) {
                    struct plan plan = make_plan((struct ring_shape){
                        .n_ranks = n, .count = 23, .pieces = pieces, .slots = slots,
                        .iterations = 3, .redop = (enum redop)op, .dtype = (enum dtype)type,
                        .same_data = 1});
                    int64_t n_needed = 0;
                    ck_assert_int_eq(faults_of_order(&plan), 0);
                    for (int64_t id = 0; id < plan.n_ops; id++) {
                        ck_assert_int_ne(plan.ops[id].kind, OP_COMPUTE);
                        for (int i = 0; i < plan.ops[id].n_waits; i++) {
                            struct wait taken = take_wait(&plan, id, i);
                            int between =
                                plan.ops[taken.op].iteration != plan.ops[id].iteration;
                            n_needed += between && faults_of_order(&plan) > 0;
                            put_back(&plan, id, i, taken);
                        }
                    }
                    ck_assert_msg(n_needed > 0 || n == 1 || n == 3,
                                  "N=%d: no wait between iterations is needed", n);
                    plan_free(&plan);
                }
}
END_TEST

START_TEST(the_rule_of_the_ring)
{
    int n = _i;
    struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
    ck_assert_int_eq(plan.n_ops, (int64_t)n * (n - 1) * 3);
    for (int64_t id = 0; id < plan.n_ops; id++) {
        const struct op *op = &plan.ops[id];
        int s = op->step;
        ck_assert_int_eq(op->lane, op->kind == OP_COPY ? LANE_SEND : LANE_REDUCE);
        if (op->kind == OP_REDUCE) {
            ck_assert_int_eq(op->src.memory, MEMORY_INBOX);
            ck_assert_int_eq(op->src.rank, op->rank);
            continue;
        }
        ck_assert_int_eq(op->src.rank, op->rank);
        ck_assert_int_eq(op->dst.rank, (op->rank + 1) % n);
        ck_assert_int_eq(op->segment, ((op->rank - s) % n + n) % n);
        ck_assert_int_eq(op->src.first, 4 * op->segment);
        ck_assert_int_eq(op->dst.memory, s < n - 1 ? MEMORY_INBOX : MEMORY_DATA);
    }
    plan_free(&plan);
}
END_TEST

START_TEST(one_rank_has_nothing_to_do)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 1, .count = 10});
    ck_assert_int_eq(plan.n_ops, 0);
    ck_assert_int_eq(plan.inbox_count, 0);
    plan_free(&plan);
}
END_TEST

/* 10 elements on 4 ranks: segments of 3, 3, 2, 2, so ranks send 15, 16, 15 and 14 of them. */
START_TEST(uneven_segments_are_sent_whole)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 4, .count = 10});
    int64_t sent[4] = {0};
    for (int64_t id = 0; id < plan.n_ops; id++)
        if (plan.ops[id].kind == OP_COPY)
            sent[plan.ops[id].rank] += plan.ops[id].src.count;
    ck_assert_int_eq(sent[0], 15);
    ck_assert_int_eq(sent[1], 16);
    ck_assert_int_eq(sent[2], 15);
    ck_assert_int_eq(sent[3], 14);
    plan_free(&plan);
}
END_TEST

START_TEST(nothing_empty_is_copied_or_added)
{
    for (int64_t count = 0; count < 12; count++) {
        struct plan plan =
            make_plan((struct ring_shape){.n_ranks = 5, .count = count, .pieces = 3});
        for (int64_t id = 0; id < plan.n_ops; id++)
            ck_assert_int_gt(plan.ops[id].dst.count, 0);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(counts_beyond_32_bits)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 4, .count = 2200000000ll});
    const struct op *op = &plan.ops[find_op(&plan, OP_COPY, 0, 3)];
    ck_assert_int_eq(op->src.first, 1650000000ll);
    assert_proven(&plan);
    plan_free(&plan);
    plan = make_plan((struct ring_shape){.n_ranks = 3, .count = 1ll << 50, .pieces = 2});
    assert_proven(&plan);
    plan_free(&plan);
}
END_TEST

START_TEST(many_ranks)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 200, .count = 1000});
    assert_proven(&plan);
    plan_free(&plan);
}
END_TEST

/* Where the end is not waited for, N = 2, 4 and 5 race and N = 3 does not: so one N is no test. */
START_TEST(the_end_must_be_waited_for)
{
    static const int races[] = {[2] = 1, [3] = 1, [4] = 1, [5] = 1};
    for (int n = 2; n <= 5; n++) {
        struct plan plan =
            make_plan((struct ring_shape){.n_ranks = n, .count = 8 * n, .iterations = 2});
        int found = 0;
        for (int64_t id = 0; id < plan.n_ops; id++)
            if (plan.ops[id].kind == OP_COMPUTE)
                plan.ops[id].n_waits = 0;
        struct proof proof = prove(&plan);
        for (int i = 0; i < proof.n_findings; i++)
            found |= proof.findings[i].kind == FINDING_WRITE_AFTER_READ;
        ck_assert_int_eq(found, races[n]);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

Suite *ring_suite(void)
{
    Suite *suite = suite_create("ring");
    TCase *tests = tcase_create("ring");
    int quick =
        getenv("RING_DEMO_QUICK") != NULL; /* sanitizers and valgrind take ten times as long */
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, the_rule_of_the_ring, 2, 9);
    tcase_add_test(tests, one_rank_has_nothing_to_do);
    tcase_add_test(tests, uneven_segments_are_sent_whole);
    tcase_add_test(tests, nothing_empty_is_copied_or_added);
    tcase_add_loop_test(tests, every_shape_is_proven, 1, 9);
    tcase_add_test(tests, every_redop_is_proven);
    tcase_add_loop_test(tests, every_wait_guards_memory, 1, 9);
    tcase_add_loop_test(tests, every_wait_matters, 2, quick ? 5 : 9);
    tcase_add_loop_test(tests, parts_that_share_inboxes, 2, 6);
    tcase_add_loop_test(tests, the_same_data_again, 1, 6);
    tcase_add_test(tests, counts_beyond_32_bits);
    tcase_add_test(tests, many_ranks);
    tcase_add_test(tests, the_end_must_be_waited_for);
    suite_add_tcase(suite, tests);
    return suite;
}
