/* test_fit.c - the fit of a model gives the model back. */
#include "ring/fit.h" /* first: check.h defines a macro `fail` */

#include <check.h>
#include <stddef.h>
#include <string.h>

#include "tests/files.h"
#include "tests/suites.h"

static int device_of[] = {0, 1, 2, 3, 4};

static const struct device_model models[] = {
    {.link_latency_ns = 2400, .link_GBps = 392, .kernel_latency_ns = 2000, .memory_GBps = 4800},
    {.link_latency_ns = 0, .link_GBps = 15.75, .kernel_latency_ns = 0, .memory_GBps = 900},
    /* the host is slower than the devices */
    {.link_latency_ns = 2400, .link_GBps = 392, .kernel_latency_ns = 1500, .memory_GBps = 3210,
     .queue_copy_ns = 4321, .queue_kernel_ns = 3987, .queue_record_ns = 876, .queue_wait_ns = 543,
     .queue_graph_ns = 789,
     .wait_ns = 1234, .graph_launch_ns = 6789, .graph_edge_ns = 345,
     .graph_wait_ns = 2000, .add_takes_percent = 87},
    /* and much faster */
    {.link_latency_ns = 98765, .link_GBps = 31.5, .kernel_latency_ns = 54321, .memory_GBps = 123,
     .queue_copy_ns = 1, .queue_kernel_ns = 2, .queue_record_ns = 3, .queue_wait_ns = 4,
     .wait_ns = 50000, .graph_launch_ns = 3, .graph_edge_ns = 77777},
    /* what is not there stays 0 */
    {.link_latency_ns = 1000, .link_GBps = 100, .kernel_latency_ns = 3000, .memory_GBps = 2000,
     .queue_wait_ns = 5000},
    {.link_latency_ns = 1000, .link_GBps = 100, .kernel_latency_ns = 3000, .memory_GBps = 2000,
     .graph_launch_ns = 5000},
    {.link_latency_ns = 1000, .link_GBps = 100, .kernel_latency_ns = 3000, .memory_GBps = 2000,
     .wait_ns = 5000, .queue_record_ns = 10},
};
#define N_MODELS (int)(sizeof models / sizeof *models)

/* None of its numbers is another's multiple. */
static const struct device_model base = {
    .link_latency_ns = 2413, .link_GBps = 391.2, .kernel_latency_ns = 1511, .memory_GBps = 3210,
    .queue_copy_ns = 4327, .queue_kernel_ns = 3989, .queue_record_ns = 877, .queue_wait_ns = 547,
    .queue_graph_ns = 311, .wait_ns = 1237, .graph_launch_ns = 26793, .graph_edge_ns = 2347,
    .graph_wait_ns = 4903, .add_takes_percent = 213,
};
#define TIME(member) offsetof(struct device_model, member)
static const size_t times[] = {
    TIME(link_latency_ns), TIME(kernel_latency_ns), TIME(queue_copy_ns), TIME(queue_kernel_ns),
    TIME(queue_record_ns), TIME(queue_wait_ns), TIME(queue_graph_ns), TIME(wait_ns),
    TIME(graph_launch_ns), TIME(graph_edge_ns), TIME(graph_wait_ns), TIME(add_takes_percent),
};
#define N_TIMES (int)(sizeof times / sizeof *times)

static void assert_same(const struct device_model *got, const struct device_model *want)
{
#define SAME(member) ck_assert_int_eq(got->member, want->member)
    SAME(link_latency_ns);
    ck_assert_double_eq(got->link_GBps, want->link_GBps);
    SAME(kernel_latency_ns);
    ck_assert_double_eq(got->memory_GBps, want->memory_GBps);
    SAME(queue_copy_ns);
    SAME(queue_kernel_ns);
    SAME(queue_record_ns);
    SAME(queue_wait_ns);
    SAME(queue_graph_ns);
    SAME(wait_ns);
    SAME(graph_launch_ns);
    SAME(graph_edge_ns);
    SAME(graph_wait_ns);
    SAME(add_takes_percent);
}

static enum status fit_of(const struct device_model *model, int n_ranks, struct device_model *got,
                          struct error *err)
{
    struct settings s = {.n_ranks = n_ranks, .device_of = device_of, .backend = BACKEND_HOST,
                         .model = *model};
    ck_assert_int_eq(init_parse(&s.data, "index", DTYPE_FLOAT32, 0, err), STATUS_OK);
    const enum status status = fit_measure(&s, got, err);
    init_free(&s.data);
    return status;
}

static void assert_given_back(const struct device_model *model)
{
    for (int n = 2; n <= 5; n++) {
        struct device_model got;
        struct error err = {""};
        ck_assert_msg(fit_of(model, n, &got, &err) == STATUS_OK, "%d ranks: %s", n, err.text);
        assert_same(&got, model);
    }
}

START_TEST(the_fit_of_a_model_is_the_model) { assert_given_back(&models[_i]); }
END_TEST

/* Each number in turn is not there, and each stands alone. */
START_TEST(a_number_that_is_0_stays_0)
{
    struct device_model model = base;
    memset((char *)&model + times[_i], 0, sizeof(int64_t));
    assert_given_back(&model);
    model = base;
    for (int i = 0; i < N_TIMES; i++)
        if (i != _i && times[i] != TIME(graph_launch_ns)) /* queue_graph alone is refused, below */
            memset((char *)&model + times[i], 0, sizeof(int64_t));
    assert_given_back(&model);
}
END_TEST

/* With a sentence that begins so. */
static void assert_not_fitted(const struct device_model *model, const char *words,
                              struct error *err)
{
    struct device_model got;
    ASSERT_REFUSED(fit_of(model, 2, &got, err), STATUS_MACHINE, err, words);
    ck_assert_msg(strstr(err->text, words) == err->text, "%s", err->text);
}

START_TEST(a_host_that_hides_the_devices_is_refused)
{
    struct device_model model = models[0];
    struct error err = {""};
    model.queue_kernel_ns = 100000000;
    assert_not_fitted(&model, "--fit: copy_rate cannot be fitted: queueing takes the host so ",
                      &err);
    model = models[0];
    model.queue_graph_ns = 400000; /* six ops: 2400 us, and the devices take less */
    assert_not_fitted(&model, "--fit: graph_wait cannot be fitted: launching a graph of 6 ops "
                      "takes the host 2400 us (queue_graph: 400 us for each), and all of it takes "
                      "2400, so", &err);
    ck_assert_msg(strstr(err.text, "more than 2667 us") != NULL, "%s", err.text);
}
END_TEST

/* Where the host hides small copies of a graph, larger ones are tried. */
START_TEST(a_host_that_hides_small_copies_is_fitted)
{
    struct device_model model = models[0];
    model.graph_launch_ns = model.graph_edge_ns = model.graph_wait_ns = 500;
    model.queue_graph_ns = 2600;
    assert_given_back(&model);
}
END_TEST

START_TEST(ops_that_outlast_computes_are_refused)
{
    struct device_model model = models[0];
    struct error err = {""};
    model.memory_GBps = 0.01;
    assert_not_fitted(&model, "--fit: add_takes cannot be fitted: an op takes so long that ",
                      &err);
}
END_TEST

/* By hand. Exact: 10 + x / 2. Not exact: y = 1000 at x = 0, and 2000 and 4000 at 1: the line goes
 * through the first, and its slope has the least (1000 - slope)^2 / 4 + (3000 - slope)^2 / 16. With
 * y = x - 100 the latency would be -100: it is 0, and y / x the mean by the weights (x / y)^2. */
START_TEST(a_line_has_the_least_relative_errors)
{
    static const double x[] = {0, 10, 1000}, y[] = {10, 15, 510};
    static const double x2[] = {0, 1, 1}, y2[] = {1000, 2000, 4000};
    static const double x3[] = {1100, 10100}, y3[] = {1000, 10000};
    double latency, rate;
    struct error err = {""};
    ck_assert_int_eq(fit_line(x, y, 3, &latency, &rate, &err), STATUS_OK);
    ck_assert_double_eq_tol(latency, 10, 1e-9);
    ck_assert_double_eq_tol(rate, 2, 1e-9);
    ck_assert_int_eq(fit_line(x2, y2, 3, &latency, &rate, &err), STATUS_OK);
    ck_assert_double_eq_tol(latency, 1000, 1e-9);
    ck_assert_double_eq_tol(1 / rate, 1400, 1e-9);
    ck_assert_int_eq(fit_line(x3, y3, 2, &latency, &rate, &err), STATUS_OK);
    ck_assert_double_eq(latency, 0);
    ck_assert_double_eq_tol(1 / rate, (1.1 + 1.01) / (1.1 * 1.1 + 1.01 * 1.01), 1e-9);
}
END_TEST

START_TEST(times_that_do_not_grow_are_refused)
{
    static const double x[] = {4, 1000, 1000000}, y[] = {50, 49, 48};
    double latency, rate;
    struct error err = {""};
    ck_assert_int_eq(fit_line(x, y, 3, &latency, &rate, &err), STATUS_MACHINE);
    ck_assert_ptr_nonnull(strstr(err.text, "of 50 ns for 4 bytes and of 48 ns for 1e+06 bytes"));
}
END_TEST

/* Nothing before a model is there; then the rows so far, and why there are no more. */
START_TEST(the_rows_as_json)
{
    char names[2][96] = {"a", "b"}, text[4096];
    const struct path json = in("fit.json");
    struct settings s = {.n_ranks = 2, .device_of = device_of, .backend = BACKEND_CUDA,
                         .bench = {.json = json.text, .calls = 7}};
    struct fit_row rows[] = {
        {.what = "ring 4 B", .bytes = 4, .engine = "graph", .predicted_us = 3, .measured_us = 4,
         .median_us = 5},
        {.what = "overlap x", .engine = "eager", .predicted_us = 1},
    };
    struct fit_report report = {.s = &s, .model = base, .names = names, .rows = rows, .n_rows = 2};
    struct error err = {"a device error"};
    ck_assert_int_eq(fit_finish(&report, STATUS_MACHINE, &err), STATUS_MACHINE);
    ck_assert_int_eq(n_files(), 0);
    report.fitted = 1;
    ck_assert_int_eq(fit_finish(&report, STATUS_MACHINE, &err), STATUS_MACHINE);
    ck_assert_str_eq(err.text, "a device error");
    FILE *file = fopen(json.text, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(
        text,
        "{\"tool\":\"ring_demo\",\"schema\":1,\"backend\":\"cuda\",\"modelled\":false,"
        "\"shared\":false,\"ranks\":2,\"devices\":[{\"rank\":0,\"device\":0,\"name\":\"a\"},"
        "{\"rank\":1,\"device\":1,\"name\":\"b\"}],\"calls\":7,\"link\":{\"copy_latency_ns\":2413,"
        "\"copy_rate_GBps\":391.2,\"kernel_latency_ns\":1511,\"memory_rate_GBps\":3210,"
        "\"queue_copy_ns\":4327,\"queue_kernel_ns\":3989,\"queue_record_ns\":877,"
        "\"queue_wait_ns\":547,\"queue_graph_ns\":311,\"wait_latency_ns\":1237,"
        "\"graph_launch_ns\":26793,\"graph_edge_ns\":2347,\"graph_wait_ns\":4903,"
        "\"add_takes_percent\":213},\"ended_early\":\"a device error\",\"rows\":[\n"
        "{\"what\":\"ring\",\"engine\":\"graph\",\"size_bytes\":4,\"predicted_us\":3,"
        "\"measured_us\":4,\"median_us\":5,\"error\":-0.25},\n"
        "{\"what\":\"overlap\",\"engine\":\"eager\",\"predicted_us\":1,\"measured_us\":0,"
        "\"median_us\":0}\n]}\n");
}
END_TEST

Suite *fit_suite(void)
{
    Suite *suite = suite_create("fit");
    TCase *tests = tcase_create("fit");
    tcase_add_loop_test(tests, the_fit_of_a_model_is_the_model, 0, N_MODELS);
    tcase_add_loop_test(tests, a_number_that_is_0_stays_0, 0, N_TIMES);
    tcase_add_test(tests, a_host_that_hides_the_devices_is_refused);
    tcase_add_test(tests, a_host_that_hides_small_copies_is_fitted);
    tcase_add_test(tests, ops_that_outlast_computes_are_refused);
    tcase_add_unchecked_fixture(tests, open_folder, remove_folder);
    tcase_add_test(tests, the_rows_as_json);
    tcase_add_test(tests, a_line_has_the_least_relative_errors);
    tcase_add_test(tests, times_that_do_not_grow_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
