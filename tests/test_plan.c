/* test_plan.c - parts, names, and which waits are needless. */
#include <stdio.h>

#include "tests/plans.h"
#include "tests/suites.h"

START_TEST(parts_cover_once_and_differ_by_one)
{
    static const int64_t totals[] = {0, 1, 2, 3, 10, 1000, 1003, 10556587, 5ll << 30};
    for (size_t t = 0; t < sizeof totals / sizeof *totals; t++)
        for (int n = 1; n <= 40; n++) {
            int64_t next = 7, first, count, largest = 0, least = INT64_MAX;
            for (int i = 0; i < n; i++) {
                plan_part(7, totals[t], n, i, &first, &count);
                ck_assert_int_eq(first, next);
                next = first + count;
                largest = count > largest ? count : largest;
                least = count < least ? count : least;
            }
            ck_assert_int_eq(next, 7 + totals[t]);
            ck_assert_int_le(largest - least, 1);
        }
}
END_TEST

START_TEST(ten_elements_on_four_ranks)
{
    static const int64_t firsts[] = {0, 3, 6, 8}, counts[] = {3, 3, 2, 2};
    for (int i = 0; i < 4; i++) {
        int64_t first, count;
        plan_part(0, 10, 4, i, &first, &count);
        ck_assert_int_eq(first, firsts[i]);
        ck_assert_int_eq(count, counts[i]);
    }
}
END_TEST

START_TEST(impossible_shapes_are_refused)
{
    struct plan plan;
    struct error err;
    ck_assert_int_eq(plan_init(&plan, 0, 1, DTYPE_FLOAT32, REDOP_SUM, &err), STATUS_USAGE);
    ck_assert_int_eq(plan_init(&plan, PLAN_MAX_RANKS + 1, 1, DTYPE_FLOAT32, REDOP_SUM, &err),
                     STATUS_USAGE);
    ck_assert_int_eq(plan_init(&plan, 2, -1, DTYPE_FLOAT32, REDOP_SUM, &err), STATUS_USAGE);
    ck_assert_int_eq(plan_init(&plan, 2, INT64_MAX / 16, DTYPE_FLOAT32, REDOP_SUM, &err),
                     STATUS_USAGE);
    ck_assert_str_ne(err.text, "");
    static const int wrong[][2] = {{0, 1}, {1, 0}, {-1, 1}, {5000, 1}, {1, 5000}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ring ring;
        ck_assert_int_eq(plan_init(&plan, 2, 8, DTYPE_FLOAT32, REDOP_SUM, &err), STATUS_OK);
        ck_assert_int_eq(ring_open(&ring, &plan, wrong[i][0], wrong[i][1], 8, &err), STATUS_USAGE);
        ring_close(&ring);
        plan_free(&plan);
    }
}
END_TEST

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

START_TEST(names_are_unique)
{
    struct plan plan = make_plan((struct ring_shape){
        .n_ranks = 5, .count = 1003, .pieces = 3, .iterations = 3, .redop = REDOP_AVG});
    char(*names)[OP_NAME_SIZE] = calloc((size_t)plan.n_ops, OP_NAME_SIZE);
    for (int64_t id = 0; id < plan.n_ops; id++) {
        op_name(&plan, id, names[id]);
        ck_assert_ptr_null(strpbrk(names[id], " \t\n"));
    }
    qsort(names, (size_t)plan.n_ops, OP_NAME_SIZE, compare_names);
    for (int64_t id = 1; id < plan.n_ops; id++)
        ck_assert_str_ne(names[id - 1], names[id]);
    free(names);
    plan_free(&plan);
}
END_TEST

/* a copies to 1, which adds, which waits twice; the copy back waits for both, though the add
 * implies the copy. */
START_TEST(implied_and_doubled_waits_are_dropped)
{
    struct plan plan = read_plan(
        "plan 1\nranks 2\ncount 2\ninbox 1\n"
        "a: copy 0.data[0:1] -> 1.inbox[0:1]\n"
        "b: reduce 1.inbox[0:1] -> 1.data[0:1] after a arrived after a arrived\n"
        "c: copy 1.data[0:1] -> 0.data[0:1] after a drained after b ready\n"
        "d: copy 1.data[1:2] -> 0.data[1:2] after b ready\n");
    struct error err;
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof.counts[REMARK_REDUNDANT], 3);
    proof_free(&proof);
    ck_assert_int_eq(plan_drop_implied(&plan, &err), STATUS_OK);
    static const int left[] = {0, 1, 1, 0};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(plan.ops[i].n_waits, left[i]);
    ck_assert_int_eq(plan.waits[plan.ops[2].first_wait].op, 1);
    ck_assert_int_eq(plan.n_waits, 2);
    plan_free(&plan);
}
END_TEST

Suite *plan_suite(void)
{
    Suite *suite = suite_create("plan");
    TCase *tests = tcase_create("plan");
    tcase_add_test(tests, parts_cover_once_and_differ_by_one);
    tcase_add_test(tests, ten_elements_on_four_ranks);
    tcase_add_test(tests, impossible_shapes_are_refused);
    tcase_add_test(tests, names_are_unique);
    tcase_add_test(tests, implied_and_doubled_waits_are_dropped);
    suite_add_tcase(suite, tests);
    return suite;
}
