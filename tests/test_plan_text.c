/* test_plan_text.c - what is written is read back exactly; what cannot be read is named. */
#include <stdio.h>

#include "tests/plans.h"
#include "tests/suites.h"

/* The plan as text; the caller frees it. */
static char *text_of(const struct plan *plan)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    plan_write(plan, file);
    fclose(file);
    return text;
}

static void assert_same_plan(const struct plan *a, const struct plan *b)
{
    ck_assert_int_eq(a->n_ops, b->n_ops);
    ck_assert_int_eq(a->n_waits, b->n_waits);
    ck_assert_int_eq(a->n_ranks, b->n_ranks);
    ck_assert_int_eq(a->count, b->count);
    ck_assert_int_eq(a->dtype, b->dtype);
    ck_assert_int_eq(a->redop, b->redop);
    ck_assert_int_eq(a->iterations, b->iterations);
    ck_assert_int_eq(a->pieces, b->pieces);
    ck_assert_int_eq(a->slots, b->slots);
    ck_assert_int_eq(a->inbox_count, b->inbox_count);
    ck_assert_int_eq(a->goal, b->goal);
    ck_assert_int_eq(a->root, b->root);
    for (int64_t i = 0; i < a->n_ops; i++) {
        struct op x = a->ops[i], y = b->ops[i];
        ck_assert_msg(x.kind == y.kind && x.lane == y.lane && x.rank == y.rank &&
                          x.iteration == y.iteration && x.bucket == y.bucket && x.step == y.step &&
                          x.segment == y.segment && x.piece == y.piece && x.n_waits == y.n_waits &&
                          x.first_wait == y.first_wait,
                      "op %ld differs", (long)i);
        ck_assert(x.dst.rank == y.dst.rank && x.dst.memory == y.dst.memory &&
                  x.dst.first == y.dst.first && x.dst.count == y.dst.count);
        ck_assert(x.src.rank == y.src.rank && x.src.memory == y.src.memory &&
                  x.src.first == y.src.first && x.src.count == y.src.count);
    }
    for (int64_t i = 0; i < a->n_waits; i++)
        ck_assert(a->waits[i].op == b->waits[i].op && a->waits[i].reason == b->waits[i].reason);
}

START_TEST(round_trip_is_exact)
{
    for (int n = 1; n <= 5; n++)
        for (int op = 0; op < N_REDOPS; op++)
            for (int pieces = 1; pieces <= 2; pieces++) {
                struct plan plan = make_plan((struct ring_shape){
                    .n_ranks = n, .count = 103, .pieces = pieces, .iterations = pieces,
                    .redop = (enum redop)op, .dtype = (enum dtype)(n % N_DTYPES)});
                char *text = text_of(&plan);
                struct plan again = read_plan(text);
                assert_same_plan(&plan, &again);
                assert_proven(&again);
                char *text_again = text_of(&again);
                ck_assert_str_eq(text, text_again);
                free(text);
                free(text_again);
                plan_free(&plan);
                plan_free(&again);
            }
}
END_TEST

/* The clauses of computes; and one that scales must not be where nothing is to be scaled. */
START_TEST(computes_take_time_and_scale)
{
    for (int avg = 0; avg < 2; avg++) {
        char text[500];
        snprintf(text, sizeof text,
                 "plan 1\nranks 2\ncount 2\ngoal reduce 1\ndtype float32\nredop %s\n"
                 "iterations 1\npieces 1\nslots 1\ninbox 2\n"
                 "a: compute 0.data[0:2] scaled takes 70\nb: compute 1.data[0:2] scaled\n"
                 "c: copy 0.data[0:2] -> 1.inbox[0:2] after a ready\n"
                 "d: reduce 1.inbox[0:2] -> 1.data[0:2] after c arrived after b ready\n",
                 avg ? "avg" : "sum");
        struct plan plan = read_plan(text);
        char *again = text_of(&plan);
        struct proof proof = prove(&plan);
        ck_assert_str_eq(text, again);
        ck_assert_int_eq(plan.ops[0].cost_ns, 70);
        ck_assert_int_eq(proof_total(&proof) == 0, avg);
        proof_free(&proof);
        free(again);
        plan_free(&plan);
    }
}
END_TEST

/* Names of hands stay; names that the plan would make itself are not kept. */
START_TEST(names_and_goals_come_back)
{
    static const char *const goals[] = {"allreduce", "reduce-scatter", "all-gather", "broadcast 1",
                                        "reduce 0"};
    for (int i = 0; i < 5; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "plan 1\nranks 2\ncount 4\ngoal %s\ndtype float32\nredop sum\niterations 1\n"
                 "pieces 1\nslots 1\ninbox 0\n%s: copy 0.data[0:4] -> 1.data[0:4]\n",
                 goals[i], i % 2 ? "x" : "copy.r0");
        struct plan plan = read_plan(text);
        char *again = text_of(&plan);
        ck_assert_str_eq(text, again);
        ck_assert_int_eq(plan.names != NULL, i % 2);
        free(again);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(a_span_without_elements_is_all_of_the_memory)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 4\ninbox 7\n"
                                 "a: copy 0.data -> 1.data\nb: compute 1.inbox\n");
    ck_assert_int_eq(plan.ops[0].src.count, 4);
    ck_assert_int_eq(plan.ops[0].dst.count, 4);
    ck_assert_int_eq(plan.ops[1].dst.count, 7);
    plan_free(&plan);
}
END_TEST

START_TEST(by_hand)
{
    struct plan plan = read_plan("# a broadcast, with blanks, tabs and no last newline\n\n"
                                 "plan 1   # the version\n"
                                 "\tranks 3\r\n"
                                 "count 5\n"
                                 "one: copy 0.data[0:5] -> 1.data[0:5]\n"
                                 "two:  copy  1.data[0:5]  ->  2.data[0:5]  after one arrived # !\n"
                                 "own: compute 2.inbox[0:0] lane 1.send bucket 4");
    ck_assert_int_eq(plan.n_ops, 3);
    ck_assert_int_eq(plan.ops[1].lane, LANE_SEND);
    ck_assert_int_eq(plan.ops[1].rank, 1);
    ck_assert_int_eq(plan.ops[1].step, NONE);
    ck_assert_int_eq(plan.ops[2].rank, 1);
    ck_assert_int_eq(plan.ops[2].lane, LANE_SEND);
    ck_assert_int_eq(plan.ops[2].bucket, 4);
    ck_assert_str_eq(plan.names[1], "two");
    plan_free(&plan);
}
END_TEST

#define HEAD "plan 1\nranks 2\ncount 4\n"
#define NO_COUNT "plan 1\nranks 2\n"

START_TEST(what_cannot_be_read_is_named)
{
    static const char *const cases[][2] = {
        {"", "t:1:1: found the end of the text, expected 'plan 1' on the first line"},
        {"# nothing\n", "expected 'plan 1'"},
        {"plan 2\n", "t:1:6: found '2', expected 1"},
        {"plan x\n", "t:1:6: found 'x', expected a whole number"},
        {"plan 1 2\n", "t:1:8: found '2', expected the end of the line"},
        {"plan 1\ncount 3\n", "t:2:1: found 'count', expected 'ranks N'"},
        {"plan 1\nranks 0\n", "t:2:7: found '0', expected a whole number from 1"},
        {"plan 1\nranks 5000\n", "a whole number from 1 to 4096"},
        {"plan 1\nranks -1\n", "found '-1'"},
        {HEAD "colour 3\n", "t:4:1: found 'colour', expected NAME:"},
        {HEAD "count 4\n", "t:4:1: found 'count', expected each setting once"},
        {NO_COUNT, "expected a line 'count E'"},
        {NO_COUNT "count\n", "t:3:6: found the end of the line"},
        {NO_COUNT "count 99999999999999999999\n", "found '99999999999999999999'"},
        {HEAD "dtype float8\n",
         "t:4:7: found 'float8', expected float32, float64, float16, bfloat16 or int32"},
        {HEAD "redop xor\n", "expected sum, avg, min, max or prod"},
        {HEAD "pieces 0\n", "t:4:8: found '0', expected a whole number from 1 to 4096"},
        {HEAD "a: move 0.data[0:1] -> 1.data[0:1]\n", "t:4:4: found 'move', expected an op: copy"},
        {HEAD "a: copy 2.data[0:1] -> 1.data[0:1]\n",
         "t:4:9: found '2.data[0:1]', expected a rank from 0 to 1"},
        {HEAD "a: copy 0.outbox[0:1] -> 1.data[0:1]\n", "t:4:9: found"},
        {HEAD "a: copy 0.data[1:0] -> 1.data[0:1]\n", "FIRST <= END"},
        {HEAD "a: copy 0.data[0:1 -> 1.data[0:1]\n", "t:4:9: found '0.data[0:1'"},
        {HEAD "a: copy 0.data[0:1]] -> 1.data[0:1]\n", "t:4:9: found"},
        {HEAD "a: copy 0.data[0:1] 1.data[0:1]\n", "t:4:21: found '1.data[0:1]', expected ->"},
        {HEAD "a: copy 0.data[0:1] -> 1.data[0:2]\n",
         "t:4:24: found '1.data[0:2]', expected as many elements as on the left of ->: 1, not 2"},
        {HEAD "a: copy 0.data[0:1] ->\n", "found the end of the line, expected a span"},
        {HEAD "a: copy 0.data[0:1] -> 1.data[0:1] later\n",
         "t:4:36: found 'later', expected iteration"},
        {HEAD "a: scale 0.data[0:1] scaled\n", "t:4:22: found 'scaled', expected scaled only with"},
        {HEAD "dtype int32\na: compute 0.data scaled\n", "of floats"},
        {HEAD "a: copy 0.data[0:1] -> 1.data[0:1] step\n", "found the end of the line"},
        {HEAD "a: copy 0.data[0:1] -> 1.data[0:1] lane 0.left\n", "expected a lane: RANK.compute"},
        {HEAD "a: copy 0.data[0:1] -> 1.data[0:1] after\n", "expected the name of an op"},
        {HEAD "a: copy 0.data[0:1] -> 1.data[0:1] after b\n", "expected a reason: ready, arrived"},
        {HEAD "a: copy 0.data[0:1] -> 1.data[0:1] after b gone\n",
         "t:4:44: found 'gone', expected a reason"},
        {HEAD "a: copy 0.data[0:1] -> 1.data[0:1] after b ready\n",
         "t:4:42: found 'b', expected the name of an op of this plan"},
        {HEAD "a: scale 0.data[0:1]\na: scale 0.data[1:2]\n",
         "t:5:1: found 'a', expected a name that no"},
        {HEAD "a: scale 0.data[0:1]\ncount 5\n", "settings come before the first op"},
        {HEAD "a: copy 0.data->1.data\n", "expected blanks around ->"},
        {HEAD "a: copy 0.data [0:1] -> 1.data\n",
         "t:4:16: found '[0:1]', expected -> (there is no blank"},
        {HEAD "a: copy 0.data -> 1.inbox\n", "not 0 (an inbox has none without a line 'inbox E'"},
        {HEAD "a : copy 0.data -> 1.data\n", "no blank before the colon"},
        {HEAD "a: scale 0.data step 1 step 2\n", "found 'step', expected each label once"},
        {HEAD "a: scale 0.data -> 1.data\n", "no ->: compute, scale and update have a destination"},
        {HEAD "a: scale 0.data lane 2.send\n", "ranks 0 to 1"},
        {HEAD "goal sum\n", "t:4:6: found 'sum', expected allreduce, reduce-scatter"},
        {HEAD "goal broadcast\n", "t:4:15: found the end of the line, expected the rank of the"},
        {HEAD "goal reduce 2\n", "t:4:13: found '2', expected a whole number from 0 to 1"},
        {HEAD "goal allreduce 1\n", "t:4:16: found '1', expected the end of the line"},
        {HEAD "copy: copy 0.data -> 1.data\n", "t:4:1: found 'copy:', expected a name"},
        {HEAD "after: copy 0.data -> 1.data\n", "not copy, reduce, compute, scale, update"},
        {HEAD ": scale 0.data[0:1]\n", "t:4:1: found ':'"},
        {HEAD "a\033[31m: scale 0.data[0:1]\n", "found 'a?[31m:', expected a name"},
        {HEAD "a: scale 0.data[0:1]\f after b ready\n", "found 'b', expected the name of an op"},
        {HEAD "a: scale 0.data[0:1] \v junk\n", "found 'junk'"},
        {"\x01\x02\xff\xfe\n", "t:1:1: found '?"
                               "??"
                               "?'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct error err = {""};
        enum status status = plan_read(&plan, cases[i][0], strlen(cases[i][0]), "t", &err);
        ck_assert_msg(status == STATUS_USAGE, "case %d was read", (int)i);
        ck_assert_msg(strstr(err.text, cases[i][1]) != NULL, "case %d: no '%s' in '%s'", (int)i,
                      cases[i][1], err.text);
        ck_assert_ptr_null(plan.ops);
    }
}
END_TEST

/* Cut anywhere, a plan is refused or is a shorter plan; it never crashes (run under sanitizers). */
START_TEST(cut_anywhere_and_changed_anywhere)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 2, .count = 5, .iterations = 2});
    char *text = text_of(&plan);
    size_t length = strlen(text);
    static const char bytes[] = {0, '\n', ' ', ':', '9', '[', '-', '#', 'a'};
    for (size_t cut = 0; cut <= length; cut++)
        for (size_t b = 0; b <= sizeof bytes; b++) {
            struct plan again;
            struct error err;
            char *changed = malloc(length + 1);
            memcpy(changed, text, length);
            size_t n = b == sizeof bytes ? cut : length;
            if (b < sizeof bytes && cut < length)
                changed[cut] = bytes[b];
            changed = realloc(changed, n + (n == 0));
            if (plan_read(&again, changed, n, "t", &err) == STATUS_OK) {
                struct proof proof = prove(&again);
                proof_free(&proof);
                plan_free(&again);
            }
            free(changed);
        }
    free(text);
    plan_free(&plan);
}
END_TEST

START_TEST(long_names_and_lines)
{
    size_t n = 1 << 20;
    char *text = malloc(n + 200), *at = text;
    at += sprintf(at, HEAD);
    memset(at, 'x', n);
    sprintf(at + n, ": scale 0.data[0:1]\nb: scale 0.data[1:2] after y ready\n");
    struct plan plan;
    struct error err;
    ck_assert_int_eq(plan_read(&plan, text, strlen(text), "t", &err), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "t:4:1: found 'xxx"));
    ck_assert_ptr_nonnull(strstr(err.text, "at most 60"));
    free(text);
}
END_TEST

Suite *plan_text_suite(void)
{
    Suite *suite = suite_create("plan text");
    TCase *tests = tcase_create("plan text");
    tcase_add_test(tests, round_trip_is_exact);
    tcase_add_test(tests, computes_take_time_and_scale);
    tcase_add_test(tests, names_and_goals_come_back);
    tcase_add_test(tests, a_span_without_elements_is_all_of_the_memory);
    tcase_add_test(tests, by_hand);
    tcase_add_test(tests, what_cannot_be_read_is_named);
    tcase_add_test(tests, cut_anywhere_and_changed_anywhere);
    tcase_add_test(tests, long_names_and_lines);
    suite_add_tcase(suite, tests);
    return suite;
}
