/* test_bugs.c - every exhibit is what its label says, and nothing of ours is one. */
#include <stdio.h>
#include <stdlib.h>

#include "ring/museum.h" /* first: check.h defines a macro `fail` */
#include "tests/plans.h"
#include "tests/suites.h"

/* The exhibit's plan, with ranks and pieces as wanted. */
static struct plan make_broken(const struct bug *bug, struct ring_shape shape, int *has_place)
{
    struct plan plan = make_plan(shape);
    struct error err = {""};
    enum status status = bug_apply(bug, &plan, &err);
    ck_assert_msg(status == STATUS_OK || status == STATUS_USAGE, "%s", err.text);
    *has_place = status == STATUS_OK;
    return plan;
}

/* Two exhibits have no fault in the plan: one is only slow, one is in the upload. */
static int is_in_plan(const struct bug *bug) { return bug->noticed_by >> TEST_PROOF & 1; }

START_TEST(the_proof_objects_to_every_exhibit_that_is_in_the_plan)
{
    int n_outside = 0;
    for (int i = 0; i < n_bugs; i++)
        for (int pieces = 1; pieces <= 2; pieces++) {
            struct ring_shape shape = bugs[i].shape;
            int has_place;
            shape.count = shape.count > 10000 ? 4096 : shape.count;
            shape.pieces = strcmp(bugs[i].name, "article") == 0 ? 1 : pieces; /* it has none */
            struct plan plan = make_broken(&bugs[i], shape, &has_place);
            struct proof proof = prove(&plan);
            ck_assert_msg(has_place, "%s, %d pieces", bugs[i].name, pieces);
            ck_assert_msg((proof_total(&proof) > 0) == is_in_plan(&bugs[i]), "%s, %d pieces",
                          bugs[i].name, pieces);
            n_outside += !is_in_plan(&bugs[i]);
            proof_free(&proof);
            plan_free(&plan);
        }
    ck_assert_int_eq(n_outside, 2 * 2);
}
END_TEST

/* What each exhibit's first finding says: the right ops, the right cure. */
START_TEST(the_first_finding_names_the_right_ops)
{
    static const char *const says[][2] = {
        {"article", "s0.reduce.r1 should wait for s0.copy.r0: arrived"},
        {"own-segment", "s0.reduce.r0 runs on rank 0 and reads 3.data[3072:4096]"},
        {"add-early", "s0.reduce.r0 should wait for s0.copy.r3: arrived"},
        {"peer-read", "copy to rank 0 first, and add from there"},
        {"gather-index", "s3.copy.r0 should wait for s2.copy.r1: drained"},
        {"first-element", "holds 2: ranks 0..1, 3 are missing; it should hold each of the 4"},
        {"zero-bucket", "data[0:1024] of ranks 0..3 holds 3: ranks 0..2 are missing"},
        {"stream-for-event", "i1.s0.copy.r0 should wait for i1.compute.r0: ready"},
        {"slot-early", "s1.copy.r0 should wait for s0.reduce.r1: drained"},
        {"no-exit-wait", "compute.r0 should wait for s5.copy.r0: drained"},
        {"event-early", "s0.reduce.r0 should wait for s0.copy.r3: arrived"},
        {"remainder", "0.data[4096:4098] holds 0: ranks 1..3 are missing"},
        {"vector-tail", "data[1020:1023] of ranks 0..3 holds 3: ranks 0..2 are missing"},
        {"added-twice", "data[3072:4096] of ranks 0..3 holds 0..2+3+3: rank 3 is counted twice"},
        {"fat-segment", "s0.copy.r3 touches 3.data[3078:4104], but rank 3's data has 4098"},
        {"all-receive-first", "s0.copy.r0 waits for s0.copy.r3, s0.copy.r3 waits for s0.copy.r2"},
    };
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        const struct bug *bug = bug_find(says[i][0]);
        int has_place;
        ck_assert_msg(bug != NULL, "%s", says[i][0]);
        struct plan plan = make_broken(bug, bug->shape, &has_place);
        struct proof proof = prove(&plan);
        char text[FINDING_TEXT_SIZE];
        ck_assert_int_gt(proof.n_findings, 0);
        finding_text(&plan, proof.findings, text, sizeof text);
        ck_assert_msg(strstr(text, says[i][1]) != NULL, "%s: no '%s' in '%s'", bug->name,
                      says[i][1], text);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

/* Each exhibit finds its place from two ranks to eight, or says what it needs; where it does, the
 * proof objects, but for the all-gather's index, which is right on two. */
START_TEST(on_two_to_eight_ranks)
{
    for (int i = 0; i < n_bugs; i++)
        for (int n = 2; n <= 8; n++) {
            struct ring_shape shape = bugs[i].shape;
            int has_place;
            shape.n_ranks = n;
            shape.count = 13 * n + n - 1;
            struct plan plan = make_broken(&bugs[i], shape, &has_place);
            struct proof proof = prove(&plan);
            if (has_place)
                ck_assert_msg((proof_total(&proof) > 0) == is_in_plan(&bugs[i]), "%s, N=%d",
                              bugs[i].name, n);
            else
                ck_assert_msg(n == 2, "%s, N=%d", bugs[i].name, n);
            proof_free(&proof);
            plan_free(&plan);
        }
}
END_TEST

START_TEST(labels_are_tried_and_hold)
{
    struct museum museum = {.backend = BACKEND_HOST, .runs = 3,
                            .model = {.name = "test", .link_latency_ns = 2400, .link_GBps = 392,
                                      .kernel_latency_ns = 2000, .memory_GBps = 4800}};
    struct error err = {""};
    int as_labelled = 0;
    char *text = NULL;
    size_t length;
    museum.file = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(museum.file);
    ck_assert_msg(museum_list(&museum, &as_labelled, &err) == STATUS_OK, "%s", err.text);
    ck_assert(as_labelled);
    for (int i = 0; i < n_bugs; i++) {
        as_labelled = 0;
        rewind(museum.file);
        ck_assert_msg(museum_show(&museum, &bugs[i], &as_labelled, &err) == STATUS_OK, "%s",
                      err.text);
        fflush(museum.file);
        ck_assert(as_labelled);
        ck_assert(!bugs[i].missing_waits || strstr(text, "wrong in 3 of 3 runs") != NULL);
    }
    fclose(museum.file);
    free(text);
}
END_TEST

/* A label that claims too much or too little is found out. */
START_TEST(wrong_labels_are_found_out)
{
    struct bug bug = *bug_find("gather-index");
    char *text = NULL;
    size_t length;
    struct museum museum = {.backend = BACKEND_HOST, .runs = 1,
                            .model = {.name = "test", .link_latency_ns = 2400, .link_GBps = 392,
                                      .kernel_latency_ns = 2000, .memory_GBps = 4800}};
    struct error err = {""};
    int as_labelled = 1;
    museum.file = open_memstream(&text, &length);
    bug.noticed_by ^= 1u << TEST_TWO | 1u << TEST_PROOF;
    ck_assert_int_eq(museum_show(&museum, &bug, &as_labelled, &err), STATUS_OK);
    fclose(museum.file);
    ck_assert(!as_labelled);
    ck_assert_ptr_nonnull(strstr(text, "IS WRONG: two ranks: it is not noticed"));
    ck_assert_ptr_nonnull(strstr(text, "IS WRONG: the proof: it is noticed\n"));
    free(text);
}
END_TEST

START_TEST(the_proof_misses_no_wait)
{
    const struct museum museum = {.backend = BACKEND_HOST, .runs = 1,
                                  .model = {.name = "test", .link_latency_ns = 2400,
                                            .link_GBps = 392, .kernel_latency_ns = 2000,
                                            .memory_GBps = 4800},
                                  .file = fopen("/dev/null", "w")};
    struct error err = {""};
    for (int n = 2; n <= 5; n++) {
        int all = 0;
        ck_assert_msg(museum_waits(&museum, n, &all, &err) == STATUS_OK, "%s", err.text);
        ck_assert(all);
    }
    fclose(museum.file);
}
END_TEST

/* The article, in the order that it means: 0, 2, 4, 6 on every GPU, whoever compares them. */
START_TEST(the_article_holds_0_2_4_6)
{
    struct plan plan;
    struct error err = {""};
    char ranks[64];
    ck_assert_int_eq(plan_init(&plan, 4, 4096, DTYPE_FLOAT32, REDOP_SUM, &err), STATUS_OK);
    ck_assert_int_eq(bug_article_plan(&plan, 1, &err), STATUS_OK);
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof_hazards(&proof), 0);
    ck_assert_int_eq(proof.counts[FINDING_SUM], 4); /* each on all four ranks */
    for (int i = 0; i < proof.n_findings; i++)
        if (proof.findings[i].kind == FINDING_SUM) {
            int segment = (int)(proof.findings[i].where.first / 1024);
            snprintf(ranks, sizeof ranks, "%d+%d:", segment, segment);
            ck_assert_int_eq(proof.findings[i].n_ranks, 4);
            ck_assert_msg(strncmp(proof.findings[i].detail, ranks, strlen(ranks)) == 0, "%s",
                          proof.findings[i].detail);
        }
    proof_free(&proof);
    plan_free(&plan);
}
END_TEST

Suite *bugs_suite(void)
{
    Suite *suite = suite_create("bugs");
    TCase *tests = tcase_create("bugs");
    tcase_add_test(tests, the_proof_objects_to_every_exhibit_that_is_in_the_plan);
    tcase_add_test(tests, the_first_finding_names_the_right_ops);
    tcase_add_test(tests, on_two_to_eight_ranks);
    tcase_add_test(tests, labels_are_tried_and_hold);
    tcase_add_test(tests, wrong_labels_are_found_out);
    tcase_add_test(tests, the_proof_misses_no_wait);
    tcase_add_test(tests, the_article_holds_0_2_4_6);
    suite_add_tcase(suite, tests);
    return suite;
}
