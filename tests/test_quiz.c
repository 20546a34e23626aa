/* test_quiz.c - questions are certain, repeat with their seed, and answers are read kindly. That
 * keys are right is for tests/quiz_key.py to say, which works them out from the JSON lines. */
#include <stdio.h>

#include "ring/quiz.h"
#include "tests/plans.h"
#include "tests/suites.h"

static void print_op(const void *context, int64_t id, FILE *file)
{
    char name[OP_NAME_SIZE];
    fprintf(file, "  line of %s\n", op_name(context, id, name));
}

/* A quiz about a whole plan as one moment: every kind that has no table. */
static struct quiz quiz_of(const struct plan *plan, uint64_t seed, int changed)
{
    struct quiz quiz = {.seed = seed};
    struct holds holds;
    struct timing timing = {.per_op = 0};
    struct error err = {""};
    struct proof proof = prove(plan);
    int64_t *ops = calloc((size_t)plan->n_ops + 1, sizeof *ops);
    ck_assert_int_eq(holds_open(&holds, plan, &err), STATUS_OK);
    ck_assert_int_eq(holds_run(&holds, plan->n_ops, &err), STATUS_OK);
    for (int64_t at = 0; at < plan->n_ops; at++)
        ops[at] = order_at(&holds.order, at);
    const struct quiz_view view = {
        .title = "all of it", .plan = plan, .proof = &proof, .timing = &timing, .holds = &holds,
        .ops = ops, .n_ops = plan->n_ops, .table = "", .changed = changed,
        .dubious = proof_hazards(&proof) > 0, .many_steps = 1, .print_op = print_op,
        .context = plan,
    };
    ck_assert_msg(quiz_ask_about(&quiz, &view, 8, &err) == STATUS_OK, "%s", err.text);
    holds_close(&holds);
    proof_free(&proof);
    free(ops);
    return quiz;
}

static int asks(const struct quiz *quiz, const char *kind)
{
    int n = 0;
    for (int64_t i = 0; i < quiz->n_questions; i++)
        n += strcmp(quiz->questions[i].kind, kind) == 0;
    return n;
}

/* How often a kind is asked for over many seeds. */
static int asked_of(const char *text, const char *kind)
{
    struct plan plan = read_plan(text);
    int n = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct quiz quiz = quiz_of(&plan, seed, 1);
        n += asks(&quiz, kind);
        quiz_free(&quiz);
    }
    plan_free(&plan);
    return n;
}

/* All that a sheet prints. */
static char *sheet_of(const struct quiz *quiz)
{
    char *text = NULL;
    size_t size;
    struct error err;
    FILE *out = open_memstream(&text, &size);
    ck_assert_int_eq(quiz_hold(quiz, stdin, out, 0, &err), STATUS_OK);
    fclose(out);
    return text;
}

START_TEST(the_same_seed_asks_the_same)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 5, .count = 50});
    int n_same = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct quiz one = quiz_of(&plan, seed, 0), two = quiz_of(&plan, seed, 0),
                    other = quiz_of(&plan, seed + 1000, 0);
        char *a = sheet_of(&one), *b = sheet_of(&two), *c = sheet_of(&other);
        ck_assert_str_eq(a, b);
        n_same += strcmp(strchr(a, ':'), strchr(c, ':')) == 0;
        ck_assert_int_ge(one.n_questions, 3);
        free(a);
        free(b);
        free(c);
        quiz_free(&one);
        quiz_free(&two);
        quiz_free(&other);
    }
    ck_assert_int_le(n_same, 2);
    plan_free(&plan);
}
END_TEST

#define HEAD "plan 1\nranks 3\ncount 6\ninbox 4\n"

START_TEST(nothing_is_asked_that_has_two_answers)
{
    static const char *const copy = HEAD "goal broadcast 0\na: copy 0.data -> 1.data\n";
    char text[400];
    /* as it should be: the wait is asked for, and so are segments and receivers */
    snprintf(text, sizeof text, "%sb: copy 1.data -> 2.data after a arrived\n", copy);
    ck_assert_int_gt(asked_of(text, "why"), 0);
    ck_assert_int_gt(asked_of(text, "receiver"), 0);
    /* the reason that is written is not the one that the spans show */
    snprintf(text, sizeof text, "%sb: copy 1.data -> 2.data after a drained\n", copy);
    ck_assert_int_eq(asked_of(text, "why"), 0);
    /* two waits for the same op */
    snprintf(text, sizeof text, "%sb: copy 1.data -> 2.data after a arrived after a ready\n", copy);
    ck_assert_int_eq(asked_of(text, "why"), 0);
    /* a wait whose reason lies behind other ops */
    ck_assert_int_eq(asked_of(HEAD "a: copy 0.data[0:2] -> 1.inbox[0:2]\n"
                              "b: copy 2.data[0:2] -> 0.inbox[0:2] after a arrived\n", "why"), 0);
    /* two receivers */
    ck_assert_int_eq(asked_of(HEAD "a: copy 0.data[0:2] -> 1.inbox[0:2]\n"
                              "b: copy 0.data[2:4] -> 2.inbox[0:2]\n", "receiver"), 0);
    /* a label that its span belies, and two segments in one step */
    ck_assert_int_gt(asked_of(HEAD "a: copy 0.data[2:4] -> 1.inbox[0:2] segment 1\n", "sends"), 0);
    ck_assert_int_eq(asked_of(HEAD "a: copy 0.data[2:4] -> 1.inbox[0:2] segment 2\n", "sends"), 0);
    ck_assert_int_eq(asked_of(HEAD "a: copy 0.data[2:4] -> 1.inbox[0:2] segment 1\n"
                              "b: copy 0.data[4:6] -> 1.inbox[2:4] segment 2\n", "sends"), 0);
}
END_TEST

START_TEST(hazards_are_asked_for_and_sums_are_not)
{
    static const char *const right =
        HEAD "a: copy 0.data[0:2] -> 1.inbox[0:2] segment 0\n"
        "b: reduce 1.inbox[0:2] -> 1.data[0:2] segment 0 after a arrived\n";
    static const char *const wrong =
        HEAD "a: copy 0.data[0:2] -> 1.inbox[0:2] segment 0\n"
        "b: reduce 1.inbox[0:2] -> 1.data[0:2] segment 0\n";
    ck_assert_int_gt(asked_of(right, "sum"), 0);
    ck_assert_int_eq(asked_of(right, "missing"), 0);
    ck_assert_int_eq(asked_of(wrong, "sum"), 0);
    ck_assert_int_gt(asked_of(wrong, "missing"), 0);
    /* two ops that one should wait for; an op whose name would end the quiz */
    ck_assert_int_eq(asked_of(HEAD "a: copy 0.data[0:1] -> 1.inbox[0:1]\n"
                              "c: copy 2.data[1:2] -> 1.inbox[1:2]\n"
                              "b: reduce 1.inbox[0:2] -> 1.data[0:2]\n", "missing"), 0);
    ck_assert_int_eq(asked_of(HEAD "q: copy 0.data[0:2] -> 1.inbox[0:2]\n"
                              "b: reduce 1.inbox[0:2] -> 1.data[0:2]\n", "missing"), 0);
}
END_TEST

START_TEST(answers_are_read_kindly)
{
    static const struct {
        enum quiz_form form;
        const char *answer, *typed;
        int verdict;
    } cases[] = {
        {FORM_SEGMENT, "2", "2", QUIZ_RIGHT},
        {FORM_SEGMENT, "2", "  Segment 2 . ", QUIZ_RIGHT},
        {FORM_SEGMENT, "2", "SEGMENT=2", QUIZ_RIGHT},
        {FORM_SEGMENT, "2", "it is segment 2!", QUIZ_RIGHT},
        {FORM_SEGMENT, "2", "segment2", QUIZ_RIGHT},
        {FORM_SEGMENT, "2", "3", QUIZ_WRONG},
        {FORM_SEGMENT, "2", "22", QUIZ_WRONG},
        {FORM_SEGMENT, "2", "-2", QUIZ_WRONG},
        {FORM_SEGMENT, "2", "two", QUIZ_UNCLEAR},
        {FORM_SEGMENT, "2", "2 or 3", QUIZ_UNCLEAR},
        {FORM_SEGMENT, "2", "nan", QUIZ_UNCLEAR},
        {FORM_SEGMENT, "2", "rank", QUIZ_UNCLEAR},
        {FORM_RANK, "0", "rank 0", QUIZ_RIGHT},
        {FORM_RANKS, "0+2", "0+2", QUIZ_RIGHT},
        {FORM_RANKS, "0+2", "2, 0", QUIZ_RIGHT},
        {FORM_RANKS, "0+2", "ranks 0 and 2", QUIZ_RIGHT},
        {FORM_RANKS, "0+2", "rank 2 & rank 0", QUIZ_RIGHT},
        {FORM_RANKS, "0+2", "0 2", QUIZ_RIGHT},
        {FORM_RANKS, "0+2", "0..2", QUIZ_WRONG},
        {FORM_RANKS, "0+2", "0+2+2", QUIZ_WRONG},
        {FORM_RANKS, "0+2", "all", QUIZ_WRONG},
        {FORM_RANKS, "0+2", "0+", QUIZ_UNCLEAR},
        {FORM_RANKS, "0+2", "4", QUIZ_UNCLEAR},
        {FORM_RANKS, "0+2", "99999999999999999999", QUIZ_UNCLEAR},
        {FORM_RANKS, "0+2", "2..0", QUIZ_UNCLEAR},
        {FORM_RANKS, "all", "0..3", QUIZ_RIGHT},
        {FORM_RANKS, "all", "0-3", QUIZ_RIGHT},
        {FORM_RANKS, "all", "ALL", QUIZ_RIGHT},
        {FORM_RANKS, "all", "0+1+2+3", QUIZ_RIGHT},
        {FORM_RANKS, "1..3", "3 2 1", QUIZ_RIGHT},
        {FORM_RANKS, "2*(0..1)", "0+0+1+1", QUIZ_RIGHT},
        {FORM_RANKS, "0+2+2", "0 + 2*2", QUIZ_RIGHT},
        {FORM_RANKS, "8*0", "8*0", QUIZ_RIGHT},
        {FORM_VALUE, "31", "31.0", QUIZ_RIGHT},
        {FORM_VALUE, "31", "= 31", QUIZ_UNCLEAR},
        {FORM_VALUE, "31", "30", QUIZ_WRONG},
        {FORM_TIME, "31.0 us", "31", QUIZ_RIGHT},
        {FORM_TIME, "31.0 us", "31.1 us", QUIZ_RIGHT},
        {FORM_TIME, "31.0 us", "31.2us", QUIZ_WRONG},
        {FORM_TIME, "31.0 us", "none", QUIZ_WRONG},
        {FORM_TIME, "31.0 us", "31 ms", QUIZ_UNCLEAR},
        {FORM_REASON, "drained", " Drained.", QUIZ_RIGHT},
        {FORM_REASON, "drained", "ready", QUIZ_WRONG},
        {FORM_REASON, "drained", "because", QUIZ_UNCLEAR},
        {FORM_OP, "s0.copy.r1", "S0.COPY.R1 ", QUIZ_RIGHT},
        {FORM_OP, "s0.copy.r1", "s0.copy.r2", QUIZ_WRONG},
        {FORM_OP, "s0.copy.r1", "s9.copy.r2", QUIZ_UNCLEAR},
    };
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 4, .count = 8});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct question q = {.form = cases[i].form, .number = 31,
                             .slack = cases[i].form == FORM_TIME ? 0.16 : 0};
        snprintf(q.answer, sizeof q.answer, "%s", cases[i].answer);
        ck_assert_msg((int)quiz_judge(&q, &plan, cases[i].typed) == cases[i].verdict, "%s: '%s'",
                      cases[i].answer, cases[i].typed);
    }
    plan_free(&plan);
}
END_TEST

/* What a dialogue prints when `typed` is typed; every answer "@" stands for the right one. */
static char *hold(const struct quiz *quiz, const char *typed)
{
    char *text = NULL, input[4096] = "";
    size_t size;
    struct error err;
    int64_t n = 0;
    for (const char *c = typed; *c; c++) {
        char plain[2] = {*c, '\0'};
        strcat(input, *c == '@' ? quiz->questions[n].answer : plain);
        n += *c == '\n';
    }
    FILE *in = input[0] ? fmemopen(input, strlen(input), "r") : fopen("/dev/null", "r");
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(in);
    ck_assert_int_eq(quiz_hold(quiz, in, out, 1, &err), STATUS_OK);
    fclose(in);
    fclose(out);
    return text;
}

static void assert_dialogue(const struct quiz *quiz, const char *typed, const char *score,
                            const char *also)
{
    char *text = hold(quiz, typed);
    ck_assert_msg(strstr(text, score) && strstr(text, also), "'%s': no '%s' or '%s' in: %s", typed,
                  score, also, text);
    free(text);
}

START_TEST(a_dialogue_keeps_the_score)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 3, .count = 9});
    struct quiz quiz = quiz_of(&plan, 5, 0);
    char line[1200];
    ck_assert_int_eq(quiz.n_questions, 3);
    assert_dialogue(&quiz, "@\n@\n@\n", "score: 3 of 3 right\n", "      right: ");
    assert_dialogue(&quiz, "@\n@\n@", "score: 3 of 3 right\n", "      right: ");
    assert_dialogue(&quiz, "@\n\n@\n", "score: 2 of 3 right\n", "      passed: ");
    assert_dialogue(&quiz, "", "score: 0 of 0 right, 3 not answered\n", "> ");
    assert_dialogue(&quiz, "@\n", "score: 1 of 1 right, 2 not answered\n", "  line of ");
    assert_dialogue(&quiz, "@\n q \n@\n", "score: 1 of 1 right, 2 not answered\n", "> ");
    assert_dialogue(&quiz, "@\nQ\n", "score: 1 of 1 right, 2 not answered\n", "> ");
    memset(line, 'x', sizeof line);
    line[1000] = '\n';
    line[1001] = 'q';
    line[1002] = '\0';
    assert_dialogue(&quiz, line, "score: 0 of 0 right, 3 not answered\n",
                    "; Enter alone passes, q ends\n");
    quiz_free(&quiz);
    plan_free(&plan);
}
END_TEST

Suite *quiz_suite(void)
{
    Suite *suite = suite_create("quiz");
    TCase *tests = tcase_create("quiz");
    tcase_add_test(tests, the_same_seed_asks_the_same);
    tcase_add_test(tests, nothing_is_asked_that_has_two_answers);
    tcase_add_test(tests, hazards_are_asked_for_and_sums_are_not);
    tcase_add_test(tests, answers_are_read_kindly);
    tcase_add_test(tests, a_dialogue_keeps_the_score);
    suite_add_tcase(suite, tests);
    return suite;
}
