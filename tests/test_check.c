/* test_check.c - the proof objects to what is wrong, names the ops, and to nothing else. */
#include <stdio.h>

#include "tests/plans.h"
#include "tests/suites.h"

/* Some finding of this kind, as a sentence, says `what`. */
static void assert_says(const struct plan *plan, enum finding_kind kind, const char *what)
{
    struct proof proof = prove(plan);
    char text[512] = "(no finding of this kind)";
    int said = 0;
    for (int i = 0; i < proof.n_findings && !said; i++)
        if (proof.findings[i].kind == kind)
            said = strstr(finding_text(plan, &proof.findings[i], text, sizeof text), what) != NULL;
    ck_assert_msg(said, "'%s' is not in '%s'", what, text);
    proof_free(&proof);
}

/* All deleted waits of one op. */
static void forget_waits(struct plan *plan, int64_t op) { plan->ops[op].n_waits = 0; }

START_TEST(an_add_that_does_not_wait_for_its_copy)
{
    for (int n = 2; n <= 5; n++) {
        struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
        forget_waits(&plan, find_op(&plan, OP_REDUCE, 0, 1));
        assert_says(&plan, FINDING_READ_AFTER_WRITE,
                    "s0.reduce.r1 should wait for s0.copy.r0: arrived");
        plan_free(&plan);
    }
}
END_TEST

START_TEST(a_copy_that_does_not_wait_for_the_add)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 4, .count = 16});
    forget_waits(&plan, find_op(&plan, OP_COPY, 1, 2));
    assert_says(&plan, FINDING_READ_AFTER_WRITE,
                "s1.copy.r2 reads 2.data[4:8], which s0.reduce.r2 may not have written yet; "
                "s1.copy.r2 should wait for s0.reduce.r2: ready");
    plan_free(&plan);
}
END_TEST

/* With S slots the first place is used again at step S: without `drained` the race is there. */
START_TEST(an_inbox_place_used_again_too_early)
{
    for (int slots = 1; slots <= 2; slots++) {
        struct plan plan =
            make_plan((struct ring_shape){.n_ranks = 4, .count = 16, .slots = slots});
        int64_t copy = find_op(&plan, OP_COPY, slots, 0);
        for (int i = 0; i < plan.ops[copy].n_waits; i++)
            if (plan.waits[plan.ops[copy].first_wait + i].reason == WAIT_DRAINED)
                take_wait(&plan, copy, i);
        char wanted[96];
        snprintf(wanted, sizeof wanted, "s%d.copy.r0 should wait for s0.reduce.r1: drained", slots);
        assert_says(&plan, FINDING_WRITE_AFTER_READ, wanted);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(two_writers_of_one_place)
{
    struct plan plan = read_plan("plan 1\nranks 3\ncount 3\n"
                                 "a: copy 0.data[0:2] -> 2.data[0:2]\n"
                                 "b: copy 1.data[0:2] -> 2.data[1:3]\n");
    assert_says(&plan, FINDING_WRITE_AFTER_WRITE, "b and a both write 2.data[1:2]");
    plan_free(&plan);
}
END_TEST

START_TEST(reading_together_is_no_hazard)
{
    struct plan plan = read_plan("plan 1\nranks 3\ncount 3\n"
                                 "a: copy 0.data[0:2] -> 1.data[0:2]\n"
                                 "b: copy 0.data[0:2] -> 2.data[0:2] lane 0.reduce\n");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof_hazards(&proof), 0);
    proof_free(&proof);
    plan_free(&plan);
}
END_TEST

START_TEST(a_rank_added_twice)
{
    for (int n = 2; n <= 5; n++) {
        struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
        /* the same add again, right behind itself on its lane */
        struct op again = plan.ops[find_op(&plan, OP_REDUCE, n - 2, 1)];
        struct wait waits[2];
        int n_waits = again.n_waits;
        memcpy(waits, plan.waits + again.first_wait, sizeof *waits * (size_t)n_waits);
        ck_assert_int_eq(plan_append(&plan, again, waits, n_waits, NULL, NULL), STATUS_OK);
        struct proof proof = prove(&plan);
        ck_assert_int_gt(proof.counts[FINDING_SUM], 0);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(one_element_of_one_segment_missed)
{
    for (int n = 2; n <= 5; n++)
        for (int step = 0; step < 2 * (n - 1); step++) {
            struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
            struct op *op = &plan.ops[find_op(&plan, OP_COPY, step, n - 1)];
            op->src.count--;
            op->dst.count--;
            struct proof proof = prove(&plan);
            ck_assert_msg(proof_total(&proof) > 0, "N=%d, step %d", n, step);
            proof_free(&proof);
            plan_free(&plan);
        }
}
END_TEST

START_TEST(an_add_dropped_shows_who_is_missing)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 3, .count = 6});
    struct op *op = &plan.ops[find_op(&plan, OP_REDUCE, 1, 0)];
    op->src.count = op->dst.count = 0;
    assert_says(&plan, FINDING_SUM, "at the end 0.data[2:4] holds 0; wanted each of the 3 ranks");
    plan_free(&plan);
}
END_TEST

/* The article's all-gather sends segment (r - s - 1) where (r + 1 - s) is right: at N = 2 the same.
 */
START_TEST(the_gather_index_is_right_by_luck_on_two)
{
    for (int n = 2; n <= 5; n++) {
        struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
        for (int64_t id = 0; id < plan.n_ops; id++) {
            struct op *op = &plan.ops[id];
            if (op->step >= n - 1) {
                int segment = (op->rank - (op->step - (n - 1)) - 1 + 2 * n) % n;
                op->src.first = op->dst.first = 4 * segment;
            }
        }
        struct proof proof = prove(&plan);
        ck_assert_int_eq(proof_total(&proof) > 0, n > 2);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(elements_from_elsewhere)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 2\ninbox 2\n"
                                 "a: copy 0.data[0:1] -> 1.inbox[0:1]\n"
                                 "b: reduce 1.inbox[0:1] -> 1.data[1:2] after a arrived\n");
    assert_says(&plan, FINDING_SUM, "some of it from other elements");
    plan_free(&plan);
}
END_TEST

START_TEST(an_inbox_read_before_anything_landed)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 1\ninbox 1\n"
                                 "b: reduce 1.inbox[0:1] -> 1.data[0:1]\n");
    assert_says(&plan, FINDING_SUM, "1.data[0:1] holds - (nothing was written there)");
    plan_free(&plan);
}
END_TEST

START_TEST(an_average_is_scaled_exactly_once)
{
    for (int type = 0; type < N_DTYPES; type++)
        for (int times = 0; times <= 2; times += 2) {
            struct plan plan = make_plan((struct ring_shape){
                .n_ranks = 3, .count = 9, .redop = REDOP_AVG, .dtype = (enum dtype)type});
            assert_proven(&plan);
            for (int64_t id = plan.n_ops - 1; id >= 0; id--)
                if (plan.ops[id].kind == OP_SCALE && times == 0)
                    plan.ops[id].kind = OP_COMPUTE; /* of the same data: changes nothing but that */
            if (times == 2) {
                struct op again = {.kind = OP_SCALE, .lane = LANE_SEND, .step = NONE,
                                   .segment = NONE, .bucket = NONE, .piece = NONE,
                                   .dst = {0, MEMORY_DATA, 0, 9}};
                struct wait after[] = {{plan.n_ops - 1, WAIT_READY}, {plan.n_ops - 2, WAIT_READY},
                                       {plan.n_ops - 3, WAIT_READY}};
                ck_assert_int_eq(plan_append(&plan, again, after, 3, NULL, NULL), STATUS_OK);
            }
            struct proof proof = prove(&plan);
            ck_assert_int_gt(proof_total(&proof), 0);
            proof_free(&proof);
            plan_free(&plan);
        }
}
END_TEST

START_TEST(integers_divided_too_early)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 1\ninbox 1\ndtype int32\nredop avg\n"
                                 "z: scale 0.data[0:1]\n");
    assert_says(&plan, FINDING_SCALE, "z divides 0.data[0:1], which holds 0");
    plan_free(&plan);
}
END_TEST

START_TEST(spans_that_leave_their_memory)
{
    static const char *const ops[] = {
        "x: copy 0.data[3:5] -> 1.data[3:5]\n", "x: copy 0.data[0:1] -> 1.inbox[0:1]\n",
        "x: copy 0.data[0:2] -> 0.data[1:3]\n", "x: copy 0.data[9:9] -> 1.data[0:0]\n",
        "x: reduce 1.data[0:1] -> 0.data[0:1]\n", "x: scale 0.data[0:1] lane 1.reduce\n"};
    for (int i = 0; i < 6; i++) {
        char text[128];
        snprintf(text, sizeof text, "plan 1\nranks 2\ncount 4\n%s", ops[i]);
        struct plan plan = read_plan(text);
        struct proof proof = prove(&plan);
        ck_assert_int_eq(proof_can_run(&proof), i == 3);
        ck_assert_int_eq(proof.counts[FINDING_SPAN] > 0, i != 3);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(ops_that_wait_in_a_circle)
{
    struct plan plan = read_plan("plan 1\nranks 3\ncount 3\n"
                                 "a: copy 0.data[0:1] -> 1.data[0:1] after c arrived\n"
                                 "b: copy 1.data[1:2] -> 2.data[1:2] after a arrived\n"
                                 "c: copy 2.data[2:3] -> 0.data[2:3] after b arrived\n");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof_can_run(&proof), 0);
    proof_free(&proof);
    assert_says(&plan, FINDING_CIRCLE, "can never finish: a, before b, before c, before a");
    plan_free(&plan);
}
END_TEST

START_TEST(an_op_that_waits_for_itself_or_a_later_one_of_its_lane)
{
    static const char *const texts[] = {
        "plan 1\nranks 2\ncount 1\na: copy 0.data[0:1] -> 1.data[0:1] after a ready\n",
        "plan 1\nranks 2\ncount 2\na: copy 0.data[0:1] -> 1.data[0:1] after b ready\n"
        "b: copy 0.data[1:2] -> 1.data[1:2]\n"};
    for (int i = 0; i < 2; i++) {
        struct plan plan = read_plan(texts[i]);
        struct proof proof = prove(&plan);
        ck_assert_int_eq(proof.counts[FINDING_CIRCLE], 1);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(a_wait_for_a_later_line_is_fine)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 1\ninbox 1\n"
                                 "back: copy 1.data[0:1] -> 0.data[0:1] after add ready\n"
                                 "add: reduce 1.inbox[0:1] -> 1.data[0:1] after there arrived\n"
                                 "there: copy 0.data[0:1] -> 1.inbox[0:1]\n");
    assert_proven(&plan);
    plan_free(&plan);
}
END_TEST

START_TEST(serial_waits_are_listed_apart)
{
    struct plan plan = read_plan("plan 1\nranks 1\ncount 1\n"
                                 "a: scale 0.data[0:0]\n"
                                 "b: compute 0.data[0:0] after a serial\n");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof.n_serial, 1);
    ck_assert_int_eq(proof.n_redundant, 0);
    ck_assert_int_eq(proof_total(&proof), 0);
    proof_free(&proof);
    plan_free(&plan);
}
END_TEST

START_TEST(findings_beyond_the_limit_are_counted)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 16, .count = 160});
    for (int64_t id = 0; id < plan.n_ops; id++)
        plan.ops[id].n_waits = 0;
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof.n_findings, PROOF_MAX_FINDINGS);
    ck_assert_int_gt(proof_total(&proof), PROOF_MAX_FINDINGS);
    proof_free(&proof);
    plan_free(&plan);
}
END_TEST

Suite *check_suite(void)
{
    Suite *suite = suite_create("check");
    TCase *tests = tcase_create("check");
    tcase_add_test(tests, an_add_that_does_not_wait_for_its_copy);
    tcase_add_test(tests, a_copy_that_does_not_wait_for_the_add);
    tcase_add_test(tests, an_inbox_place_used_again_too_early);
    tcase_add_test(tests, two_writers_of_one_place);
    tcase_add_test(tests, reading_together_is_no_hazard);
    tcase_add_test(tests, a_rank_added_twice);
    tcase_add_test(tests, one_element_of_one_segment_missed);
    tcase_add_test(tests, an_add_dropped_shows_who_is_missing);
    tcase_add_test(tests, the_gather_index_is_right_by_luck_on_two);
    tcase_add_test(tests, elements_from_elsewhere);
    tcase_add_test(tests, an_inbox_read_before_anything_landed);
    tcase_add_test(tests, an_average_is_scaled_exactly_once);
    tcase_add_test(tests, integers_divided_too_early);
    tcase_add_test(tests, spans_that_leave_their_memory);
    tcase_add_test(tests, ops_that_wait_in_a_circle);
    tcase_add_test(tests, an_op_that_waits_for_itself_or_a_later_one_of_its_lane);
    tcase_add_test(tests, a_wait_for_a_later_line_is_fine);
    tcase_add_test(tests, serial_waits_are_listed_apart);
    tcase_add_test(tests, findings_beyond_the_limit_are_counted);
    suite_add_tcase(suite, tests);
    return suite;
}
