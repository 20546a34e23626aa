/* test_bench.c - bench's rows: rates, marks, verdicts, and the same numbers as JSON. */
#include "ring/auto.h" /* these first: check.h defines a macro `fail` */
#include "ring/bench_parts.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suites.h"

static int device_of[] = {0, 1, 2, 3};
static char names[4][96] = {"a", "b", "c", "d"};

static struct settings settings_of(int n_ranks)
{
    return (struct settings){.n_ranks = n_ranks, .device_of = device_of, .slots = 2,
                             .backend = BACKEND_CUDA, .bench = bench_defaults};
}

static struct bench bench_of(struct settings *s, struct bench_row *rows, int64_t n_rows)
{
    return (struct bench){.s = s, .rows = rows, .n_rows = n_rows, .n_devices = s->n_ranks,
                          .names = names, .copy_GBps = 392, .copy_bytes = 64 << 20};
}

/* 64 MiB in a millisecond. */
static struct bench_row row_of(enum bench_engine engine)
{
    return (struct bench_row){.engine = engine, .how = engine == BENCH_NCCL ? "default" : "",
                              .count = 16 << 20, .bytes = 64 << 20, .memory_bytes = 96 << 20,
                              .pieces = 2, .slots = 2, .median_us = 1000, .min_us = 900.126,
                              .p99_us = 1100};
}

static char *printed(struct bench *b, void (*print)(struct bench *b))
{
    char *text = NULL;
    size_t length;
    b->out = open_memstream(&text, &length);
    print(b);
    fclose(b->out);
    return text;
}

static void all_rows(struct bench *b)
{
    for (int64_t i = 0; i < b->n_rows; i++)
        bench_print_row(b, &b->rows[i]);
}
static void the_head(struct bench *b) { bench_print_head(b); }
static void the_end(struct bench *b) { bench_print_end(b); }
static void as_json(struct bench *b) { bench_print_json(b, b->out); }

static void assert_says(struct bench *b, void (*print)(struct bench *b), const char *words)
{
    char *text = printed(b, print);
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in:\n%s", words, text);
    free(text);
}

static void assert_silent(struct bench *b, void (*print)(struct bench *b), const char *words)
{
    char *text = printed(b, print);
    ck_assert_msg(strstr(text, words) == NULL, "'%s' in:\n%s", words, text);
    free(text);
}

START_TEST(rates_by_definition)
{
    static const double factors[] = {0, 1, 4.0 / 3, 1.5};
    for (int n = 1; n <= 4; n++) {
        struct settings s = settings_of(n);
        struct bench_row row = row_of(BENCH_EAGER);
        struct bench b = bench_of(&s, &row, 1);
        bench_fill_rates(&b, &row, 2500);
        ck_assert_double_eq_tol(row.algbw, 67.108864, 1e-12);
        ck_assert_double_eq_tol(row.busbw, 67.108864 * factors[n - 1], 1e-12);
        ck_assert_double_eq_tol(row.ratio, 2.5, 1e-12);
        ck_assert_int_eq(row.above_copies, 0);
    }
    struct settings s = settings_of(4);
    struct bench_row row = row_of(BENCH_EAGER);
    struct bench b = bench_of(&s, &row, 1);
    bench_fill_rates(&b, &row, 0);
    assert_says(&b, all_rows, "   67.11   100.66 ");
    assert_says(&b, all_rows, "    n/a   100663296"); /* no NCCL */
    row.median_us = 0; /* a single simulated rank */
    bench_fill_rates(&b, &row, 0);
    assert_says(&b, all_rows, "      n/a      n/a ");
}
END_TEST

/* 13 fields as in nccl-tests: size, count, type, redop, root; time, rates and #wrong twice. */
START_TEST(a_row_reads_as_nccl_tests)
{
    struct settings s = settings_of(2);
    struct bench_row row = row_of(BENCH_GRAPH);
    struct bench b = bench_of(&s, &row, 1);
    char type[16], redop[16], no[4][8], engine[16];
    double time, algbw, busbw;
    long size, count, root, wrong;
    row.n_wrong = 7;
    bench_fill_rates(&b, &row, 0);
    char *text = printed(&b, all_rows);
    ck_assert_int_eq(sscanf(text, "%ld %ld %15s %15s %ld %7s %7s %7s %7s %lf %lf %lf %ld %15s",
                            &size, &count, type, redop, &root, no[0], no[1], no[2], no[3], &time,
                            &algbw, &busbw, &wrong, engine), 14);
    free(text);
    ck_assert_int_eq(size, 64 << 20);
    ck_assert_int_eq(count, 16 << 20);
    ck_assert_str_eq(type, "float");
    ck_assert_str_eq(redop, "sum");
    ck_assert_int_eq(root, -1);
    ck_assert_str_eq(no[3], "N/A");
    ck_assert_double_eq(time, 1000);
    ck_assert_double_eq(busbw, 67.11);
    ck_assert_int_eq(wrong, 7);
    ck_assert_str_eq(engine, "graph");
}
END_TEST

START_TEST(what_cannot_be_is_marked)
{
    struct settings s = settings_of(2);
    struct bench_row rows[] = {row_of(BENCH_EAGER), row_of(BENCH_NCCL)};
    struct bench b = bench_of(&s, rows, 2);
    for (int above = 0; above < 2; above++) {
        b.copy_GBps = above ? 67 : 67.2;
        for (int i = 0; i < 2; i++)
            bench_fill_rates(&b, &rows[i], 1000);
        ck_assert_int_eq(rows[0].above_copies, above);
        (above ? assert_says : assert_silent)(&b, all_rows, "  IMPOSSIBLE\n");
        (above ? assert_says : assert_silent)(&b, all_rows, "default buffers  above copies\n");
        (above ? assert_says : assert_silent)(&b, the_end, "# IMPOSSIBLE: a busbw above the 67.00");
        (above ? assert_says : assert_silent)(&b, the_end, "# above copies: ");
        assert_says(&b, as_json, above ? "\"above_copies\":true" : "\"above_copies\":false");
    }
    assert_silent(&b, all_rows, "shared");
    b.n_devices = 1;
    assert_says(&b, all_rows, "  shared  ");
    assert_says(&b, the_head, "# note: 2 ranks share 1 GPU; ");
    assert_says(&b, as_json, "\"shared\":true");
}
END_TEST

START_TEST(one_wrong_element_is_judged)
{
    struct settings s = settings_of(3);
    struct bench_row rows[] = {row_of(BENCH_EAGER), row_of(BENCH_GRAPH), row_of(BENCH_NCCL)};
    struct error err = {""};
    struct bench b = bench_of(&s, rows, 3);
    b.err = &err;
    rows[2].n_wrong = BENCH_ROUNDS;
    ck_assert_int_eq(bench_judge(&b), STATUS_OK);
    assert_says(&b, the_end, "# wrong elements: 0\n");
    assert_says(&b, the_end, "# rounds: averages of 3 ranks");
    assert_says(&b, all_rows, " rounds ");
    rows[1].n_wrong = 1;
    ck_assert_int_eq(bench_judge(&b), STATUS_WRONG);
    ck_assert_msg(strstr(err.text, "engine graph at 67108864 bytes") != NULL, "%s", err.text);
    assert_says(&b, the_end, "# wrong elements: 1\n");
    assert_says(&b, as_json, "\"n_wrong\":1,\"rows\":[");
    rows[0].n_wrong = BENCH_UNCHECKED;
    assert_says(&b, all_rows, "     N/A  eager");
    assert_silent(&b, as_json, "\"n_wrong\":-1");
}
END_TEST

START_TEST(an_early_end_is_told)
{
    struct settings s = settings_of(2);
    struct bench b = bench_of(&s, NULL, 0);
    assert_silent(&b, the_end, "ended early");
    assert_silent(&b, as_json, "ended_early");
    strcpy(b.ended, "interrupted");
    assert_says(&b, the_end, "# ended early: interrupted\n");
    assert_says(&b, the_end, "of none compared");
    assert_says(&b, as_json, ",\"ended_early\":\"interrupted\"");
}
END_TEST

START_TEST(queueing_is_told_where_it_was_measured)
{
    struct settings s = settings_of(2);
    struct bench b = bench_of(&s, NULL, 0);
    assert_silent(&b, the_head, "queueing");
    assert_silent(&b, as_json, "queueing");
    b.queueing[BENCH_GRAPH] = (struct bench_queueing){1, 0.75};
    assert_says(&b, the_head, "\n# queueing: graph 0.750 us per op\n");
    assert_says(&b, as_json, ",\"queueing_us_per_op\":{\"graph\":0.75},");
    b.queueing[BENCH_EAGER] = (struct bench_queueing){1, 4.5};
    b.simulated = 1;
    assert_says(&b, the_head,
                "\n# queueing: eager 4.500 us per op, graph 0.750 us per op (the model's)\n");
    assert_says(&b, as_json, ",\"queueing_us_per_op\":{\"eager\":4.5,\"graph\":0.75},");
}
END_TEST

/* An engine that is asked for twice as often does not count twice; every word is looked at. */
START_TEST(engines_are_listed)
{
    static const struct {
        const char *text;
        int engines[N_BENCH_ENGINES];
    } good[] = {{"eager", {[BENCH_EAGER] = 1}},
                {"nccl,eager", {[BENCH_NCCL] = 1, [BENCH_EAGER] = 1}},
                {"graph,auto,graph", {[BENCH_GRAPH] = 1, [BENCH_AUTO] = 1}},
                {"kernel", {[BENCH_KERNEL] = 1}}};
    static const char *const bad[] = {"", "eager,", ",graph", "eage", "eagers", "eager graph"};
    const struct option_row *row = bench_rows;
    while (strcmp(row->name, "engine") != 0)
        row++;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct settings s = settings_of(2);
        struct error err = {""};
        ck_assert_int_eq(row->set(&s, good[i].text, &err), STATUS_OK);
        for (int e = 0; e < N_BENCH_ENGINES; e++)
            ck_assert_int_eq(s.bench.engines[e], good[i].engines[e]);
    }
    for (int i = 0; i < 6; i++) {
        struct settings s = settings_of(2);
        struct error err = {""};
        ck_assert_msg(row->set(&s, bad[i], &err) == STATUS_USAGE, "'%s' was taken", bad[i]);
    }
}
END_TEST

/* The kernel for small segments, copies for large ones, of whatever number of ranks; packets for
 * the smallest, where their room is. */
START_TEST(auto_goes_by_the_segment)
{
    for (int n = 2; n <= 64; n *= 2) {
        int copies = 0, vectors = 0;
        for (int64_t bytes = n; bytes <= (int64_t)64 << 30; bytes *= 2) {
            const enum engine engine = auto_engine(bytes, n, 1);
            const enum ring_protocol protocol = ring_protocol_for(bytes, n);
            ck_assert(engine == ENGINE_KERNEL || engine == ENGINE_EAGER);
            ck_assert(!copies || engine == ENGINE_EAGER);
            ck_assert(!vectors || protocol == PROTOCOL_VECTORS);
            ck_assert(protocol == PROTOCOL_VECTORS || bytes / n <= RING_PACKETS_ROOM);
            ck_assert_int_eq(auto_engine(bytes, n, 0), ENGINE_EAGER);
            ck_assert_int_eq(auto_engine(bytes, n, 1), auto_engine(bytes / n * 2, 2, 1));
            copies |= engine == ENGINE_EAGER;
            vectors |= protocol == PROTOCOL_VECTORS;
        }
        ck_assert(copies && vectors);
        ck_assert_int_eq(auto_engine(n, n, 1), ENGINE_KERNEL);
        for (int engine = ENGINE_EAGER; engine <= ENGINE_GRAPH; engine++) {
            const int64_t from = n * auto_two_pieces_from(n, (enum engine)engine);
            ck_assert_int_eq(auto_pieces(n, n, (enum engine)engine), 1);
            ck_assert_int_eq(auto_pieces(from - 1, n, (enum engine)engine), 1);
            ck_assert_int_eq(auto_pieces(from, n, (enum engine)engine), 2);
        }
        ck_assert(auto_two_pieces_from(n, ENGINE_GRAPH) < auto_two_pieces_from(n, ENGINE_EAGER));
        ck_assert(auto_two_pieces_from(n, ENGINE_GRAPH) < auto_two_pieces_from(n + 1,
                                                                               ENGINE_GRAPH));
    }
}
END_TEST

Suite *bench_suite(void)
{
    Suite *suite = suite_create("bench");
    TCase *tests = tcase_create("bench");
    tcase_add_test(tests, auto_goes_by_the_segment);
    tcase_add_test(tests, rates_by_definition);
    tcase_add_test(tests, a_row_reads_as_nccl_tests);
    tcase_add_test(tests, what_cannot_be_is_marked);
    tcase_add_test(tests, one_wrong_element_is_judged);
    tcase_add_test(tests, an_early_end_is_told);
    tcase_add_test(tests, queueing_is_told_where_it_was_measured);
    tcase_add_test(tests, engines_are_listed);
    suite_add_tcase(suite, tests);
    return suite;
}
