/* test_run.c - what only the host backend can show: schedules, broken plans, verdicts. */
#include "tests/run_contract.h"

#include "ring/sampled.h"
#include "tests/suites.h"

static struct bench host_bench_of(struct plan plan, const char *init, int random, uint64_t seed)
{
    struct bench b;
    int device_of[64];
    for (int i = 0; i < 64; i++)
        device_of[i] = i;
    const struct run_options options = {.device_of = device_of, .timed = 1, .random = random,
                                        .seed = seed};
    bench_open(&b, BACKEND_HOST, plan, init, &options);
    bench_run(&b);
    return b;
}

static struct bench host_bench(struct plan plan, int random, uint64_t seed)
{
    return host_bench_of(plan, "index", random, seed);
}

START_TEST(every_schedule_gives_the_same_bits)
{
    for (int n = 2; n <= 5; n++) {
        const struct ring_shape shape = {.n_ranks = n, .count = 57, .pieces = 2, .iterations = 2};
        struct bench model = host_bench(make_plan(shape), 0, 0);
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct bench b = host_bench(make_plan(shape), 1, seed);
            ck_assert_int_eq(b.verdict.n_wrong, 0);
            ck_assert_uint_eq(b.verdict.hash, model.verdict.hash);
            bench_close(&b);
        }
        bench_close(&model);
    }
}
END_TEST

/* Deletes one wait after another; some seed must show each as a wrong result, and the same seed the
 * same one again. */
START_TEST(a_missing_wait_shows_under_some_schedule)
{
    const struct ring_shape shape = {.n_ranks = 3, .count = 30};
    struct plan whole = make_plan(shape);
    for (int64_t op = 0; op < whole.n_ops; op++)
        for (int i = 0; i < whole.ops[op].n_waits; i++) {
            int shown = 0;
            for (uint64_t seed = 0; seed < 300 && !shown; seed++) {
                struct plan plan = make_plan(shape);
                take_wait(&plan, op, i);
                struct bench b = host_bench(plan, 1, seed);
                shown = b.verdict.n_wrong > 0;
                if (shown) {
                    struct plan again = make_plan(shape);
                    take_wait(&again, op, i);
                    struct bench c = host_bench(again, 1, seed);
                    ck_assert_uint_eq(b.verdict.hash, c.verdict.hash);
                    ck_assert_int_eq(b.verdict.n_wrong, c.verdict.n_wrong);
                    bench_close(&c);
                }
                bench_close(&b);
            }
            ck_assert_msg(shown, "op %ld without its wait %d was right 300 times", (long)op, i);
        }
    plan_free(&whole);
}
END_TEST

/* Two adds to one place at once: both read the old value, one is lost. By lot, not always. */
START_TEST(reads_come_first_and_writes_later)
{
    int lost = 0, kept = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct bench b =
            host_bench_of(read_plan("plan 1\nranks 3\ncount 1\ninbox 2\n"
                                    "a: copy 0.data[0:1] -> 2.inbox[0:1]\n"
                                    "b: copy 1.data[0:1] -> 2.inbox[1:2]\n"
                                    "c: reduce 2.inbox[0:1] -> 2.data[0:1] after a arrived\n"
                                    "d: reduce 2.inbox[1:2] -> 2.data[0:1] after b arrived "
                                    "lane 2.send\n"),
                          "values:1,10,100", 1, seed);
        float got;
        struct error err;
        ck_assert_int_eq(b.device->verbs->get(b.device, (struct span){2, MEMORY_DATA, 0, 1}, &got,
                                              &err), 0);
        kept += got == 111;
        lost += got == 101 || got == 110;
        bench_close(&b);
    }
    ck_assert_int_gt(kept, 0);
    ck_assert_int_gt(lost, 0);
    ck_assert_int_eq(kept + lost, 40);
}
END_TEST

static const struct device_verbs *real_verbs;
static int n_copies, n_graphs, n_launches;

static enum status count_copy(struct device *d, int stream, struct span from, struct span to,
                              struct error *err)
{
    n_copies++;
    return real_verbs->copy(d, stream, from, to, err);
}

static enum status count_graph_end(struct device *d, struct error *err)
{
    n_graphs++;
    return real_verbs->graph_end(d, err);
}

static enum status count_graph_launch(struct device *d, struct error *err)
{
    n_launches++;
    return real_verbs->graph_launch(d, err);
}

/* A GPU's four runs (the first warms up) launch one graph, whose ops were queued once. */
START_TEST(a_graph_is_built_once)
{
    for (int engine = 0; engine <= ENGINE_GRAPH; engine++) {
        const struct run_options options = {.timed = 1, .runs = 3, .engine = (enum engine)engine};
        struct bench b;
        bench_open(&b, BACKEND_HOST, make_plan((struct ring_shape){.n_ranks = 3, .count = 9}),
                   "index", &options);
        struct device_verbs verbs = *(real_verbs = b.device->verbs);
        verbs.copy = count_copy;
        verbs.graph_end = count_graph_end;
        verbs.graph_launch = count_graph_launch;
        b.device->verbs = &verbs;
        b.device->facts.simulated = 0; /* which are not run several times */
        n_copies = n_graphs = n_launches = 0;
        bench_run(&b);
        ck_assert_int_eq(b.verdict.n_wrong + b.verdict.n_different, 0);
        ck_assert_int_eq(n_copies, engine == ENGINE_GRAPH ? 12 : 4 * 12);
        ck_assert_int_eq(n_graphs, engine == ENGINE_GRAPH ? 1 : 0);
        ck_assert_int_eq(n_launches, engine == ENGINE_GRAPH ? 4 : 0);
        bench_close(&b);
    }
}
END_TEST

START_TEST(the_modelled_clock_is_exact)
{
    const struct run_options options = {
        .timed = 1,
        .model = {.name = "test", .link_latency_ns = 1500, .link_GBps = 2.0,
                  .kernel_latency_ns = 250, .memory_GBps = 8.0},
    };
    struct bench b;
    bench_open(&b, BACKEND_HOST, make_plan((struct ring_shape){.n_ranks = 2, .count = 2000}),
               "index", &options);
    bench_run(&b);
    /* 4000 bytes: 1500 + 4000/2 = 3500 ns to copy, 250 + 3 x 4000/8 = 1750 ns to add */
    ck_assert_int_eq(b.timing.end_ns[0], 3500);
    ck_assert_int_eq(b.timing.begin_ns[2], 3500);
    ck_assert_int_eq(b.timing.end_ns[2], 5250);
    ck_assert_int_eq(b.timing.total_ns, 8750);
    bench_close(&b);
}
END_TEST

#define CHAIN "plan 1\nranks 2\ncount 1000\ninbox 1000\n" \
              "a: copy 0.data[0:1000] -> 1.inbox[0:1000]\n" \
              "b: reduce 1.inbox[0:1000] -> 1.data[0:1000] after a arrived\n" \
              "c: copy 1.data[0:1000] -> 0.data[0:1000] after b ready\n"

/* A copy takes 3500 ns, an add 1750. Every op has a record before it and one behind it. */
static const struct device_model queueing = {
    .name = "test", .link_latency_ns = 1500, .link_GBps = 2, .kernel_latency_ns = 250,
    .memory_GBps = 8, .queue_copy_ns = 1000, .queue_kernel_ns = 2000, .queue_record_ns = 100,
    .queue_wait_ns = 50, .wait_ns = 300, .graph_launch_ns = 5000, .graph_edge_ns = 200,
    .graph_wait_ns = 500, .add_takes_percent = 40,
};

static void assert_times(const char *text, enum engine engine, int64_t queue_kernel_ns,
                         const int64_t begin_ns[3], const int64_t end_ns[3])
{
    struct run_options options = {.engine = engine, .timed = 1, .model = queueing};
    struct bench b;
    options.model.queue_kernel_ns = queue_kernel_ns;
    bench_open(&b, BACKEND_HOST, read_plan(text), "index", &options);
    bench_run(&b);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(b.timing.begin_ns[i], begin_ns[i]);
        ck_assert_int_eq(b.timing.end_ns[i], end_ns[i]);
    }
    bench_close(&b);
}

/* a's begin is recorded at 100, which is where the trace begins; a itself is queued at 1100. */
START_TEST(queueing_takes_the_hosts_time)
{
    /* Devices are slower: a from 1100 to 4600; b 300 behind its end, from 4900; c from 6950. */
    assert_times(CHAIN, ENGINE_EAGER, 2000, (int64_t[]){0, 4800, 6850},
                 (int64_t[]){4500, 6550, 10350});
    /* The host is slower: b is queued at 1350 + 20000, ends at 23100; c from 23400. */
    assert_times(CHAIN, ENGINE_EAGER, 20000, (int64_t[]){0, 4800, 23300},
                 (int64_t[]){4500, 23000, 26800});
}
END_TEST

/* 700 ns for each edge, and on a lane 200; the host's time for queueing does not count. */
START_TEST(a_graph_has_edges)
{
    assert_times(CHAIN, ENGINE_GRAPH, 20000, (int64_t[]){0, 4200, 6650},
                 (int64_t[]){3500, 5950, 10150});
    assert_times("plan 1\nranks 2\ncount 1000\ninbox 1000\n"
                 "a: copy 0.data[0:1000] -> 1.inbox[0:1000]\n"
                 "b: copy 0.data[0:1000] -> 1.inbox[0:1000]\n"
                 "c: copy 1.data[0:1000] -> 0.inbox[0:1000]\n",
                 ENGINE_GRAPH, 20000, (int64_t[]){0, 3500, 0}, (int64_t[]){3500, 7200, 3500});
}
END_TEST

/* b begins at 4200 and lasts 1750, of which 700 are taken from a compute of its own device. */
START_TEST(an_add_takes_time_from_a_compute)
{
    static const char head[] = "plan 1\nranks 2\ncount 1000\ninbox 1000\n"
                               "a: copy 0.data[0:1000] -> 1.inbox[0:1000]\n"
                               "b: reduce 1.inbox[0:1000] -> 1.data[0:1000] after a arrived\n";
    for (int rank = 0; rank < 2; rank++) {
        char text[300];
        snprintf(text, sizeof text, "%sc: compute %d.data[0:1] takes 20000\n", head, rank);
        assert_times(text, ENGINE_GRAPH, 0, (int64_t[]){0, 4200, 0},
                     (int64_t[]){3500, 5950, rank == 1 ? 20700 : 20000});
    }
}
END_TEST

/* Two launches: 5000 ns to launch, 10150 for the chain, twice. Eager: the host is done when the
 * last record is queued. A graph of three ops is queued in no time, unless the model says one. */
START_TEST(samples_count_from_the_first_verb)
{
    for (int engine = 0; engine <= ENGINE_GRAPH; engine++) {
        const struct run_options options = {.engine = (enum engine)engine, .model = queueing};
        struct run_sample sample;
        struct error err = {""};
        struct bench b;
        int64_t ns;
        bench_open(&b, BACKEND_HOST, read_plan(CHAIN), "index", &options);
        ck_assert_int_eq(run_sample_open(&sample, b.device, &b.plan, &b.init, &b.options, &err), 0);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(run_sample(&sample, engine == ENGINE_GRAPH ? 2 : 1, &ns, &err), 0);
            ck_assert_int_eq(ns, engine == ENGINE_GRAPH ? 30300 : 10350);
            ck_assert_int_eq(sample.queued_ns,
                             engine == ENGINE_EAGER ? 2 * 1000 + 2000 + 3 * 100 + 2 * 50 : 0);
        }
        run_sample_close(&sample);
        bench_close(&b);
    }
}
END_TEST

/* The chain has three ops, takes 10150 ns and begins 5000 ns after the launch. With 1000 ns an op
 * the host is ahead of the devices, but for the first op. With 10000 it comes past the last op at
 * 60000, and a copy takes 3500; while the first op of the second launch is waited for. */
START_TEST(launching_a_graph_takes_the_hosts_time)
{
    static const int64_t each[] = {1000, 10000}, want_ns[] = {1000 + 30300, 60000 + 3500};
    for (int i = 0; i < 2; i++) {
        struct run_options options = {.engine = ENGINE_GRAPH, .model = queueing};
        struct run_sample sample;
        struct error err = {""};
        struct bench b;
        int64_t ns;
        options.model.queue_graph_ns = each[i];
        bench_open(&b, BACKEND_HOST, read_plan(CHAIN), "index", &options);
        ck_assert_int_eq(run_sample_open(&sample, b.device, &b.plan, &b.init, &b.options, &err), 0);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(run_sample(&sample, 2, &ns, &err), 0);
            ck_assert_int_eq(ns, want_ns[i]);
            ck_assert_int_eq(sample.queued_ns, 2 * 3 * each[i]);
        }
        run_sample_close(&sample);
        bench_close(&b);
    }
}
END_TEST

/* The same, as samples of three plans that take turns. */
START_TEST(plans_are_sampled_in_turn)
{
    int device_of[] = {0, 1, 2};
    struct settings s = {.n_ranks = 3, .device_of = device_of, .backend = BACKEND_HOST,
                         .model = queueing};
    struct plan plan = read_plan(CHAIN);
    struct sampled sampled[] = {{.plan = &plan, .engine = ENGINE_GRAPH, .launches = 2},
                                {.plan = &plan, .engine = ENGINE_EAGER},
                                {.plan = &plan, .engine = ENGINE_GRAPH}};
    static const double done_ns[] = {30300, 10350, 15150}, queued_ns[] = {0, 4400, 0};
    struct error err = {""};
    s.n_ranks = plan.n_ranks;
    ck_assert_msg(sample_plans(&s, sampled, 3, 1, &err) == STATUS_OK, "%s", err.text);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq(sampled[i].done.least_ns, done_ns[i]);
        ck_assert_double_eq(sampled[i].done.median_ns, done_ns[i]);
        ck_assert_double_eq(sampled[i].queued.least_ns, queued_ns[i]);
        ck_assert(!sampled[i].staged);
    }
    plan_free(&plan);
}
END_TEST

/* The copy is queued behind the add's end, so it reads the sum: the inbox's NaN. */
START_TEST(what_begins_late_reads_late)
{
    struct run_options options = {.timed = 1, .model = queueing};
    struct error err;
    struct bench b;
    float got = 0;
    options.model.queue_copy_ns = 50000;
    bench_open(&b, BACKEND_HOST,
               read_plan("plan 1\nranks 2\ncount 10\ninbox 10\n"
                         "a: reduce 0.inbox[0:10] -> 0.data[0:10]\n"
                         "b: copy 0.data[0:10] -> 1.data[0:10]\n"),
               "index", &options);
    bench_run(&b);
    ck_assert_int_eq(b.device->verbs->get(b.device, (struct span){1, MEMORY_DATA, 3, 1}, &got,
                                          &err), 0);
    ck_assert_msg(got != got, "%g was read", (double)got);
    bench_close(&b);
}
END_TEST

/* Writes one element of one rank anew, as a fault would, and verifies. */
static struct verdict verdict_after(struct bench *b, int rank, int64_t element, float value)
{
    struct verdict verdict;
    struct error err = {""};
    ck_assert_int_eq(b->device->verbs->put(
                         b->device, (struct span){rank, MEMORY_DATA, element, 1}, &value, &err), 0);
    ck_assert_int_eq(verify(b->device, &b->plan, &b->init, &verdict, &err), STATUS_OK);
    return verdict;
}

START_TEST(one_wrong_element_is_found)
{
    for (int64_t element = 0; element < 20001; element += element == 0 ? 8191 : 5905) {
        struct bench b =
            host_bench(make_plan((struct ring_shape){.n_ranks = 3, .count = 20001}), 0, 0);
        struct verdict v = verdict_after(&b, 1, element, 0.5f);
        ck_assert_int_eq(v.n_different, 1);
        ck_assert_int_eq(v.n_wrong, 1);
        ck_assert_int_eq(v.wrong.rank, 1);
        ck_assert_int_eq(v.wrong.element, element);
        ck_assert_int_eq(v.wrong.segment, element / 6667);
        ck_assert_double_eq(v.wrong.got, 0.5);
        ck_assert_uint_ne(v.hash, b.verdict.hash);
        bench_close(&b);
    }
}
END_TEST

START_TEST(ranks_that_agree_can_all_be_wrong)
{
    struct bench b = host_bench(make_plan((struct ring_shape){.n_ranks = 4, .count = 100}), 0, 0);
    for (int rank = 0; rank < 3; rank++)
        verdict_after(&b, rank, 42, 7.25f);
    struct verdict v = verdict_after(&b, 3, 42, 7.25f);
    ck_assert_int_eq(v.n_different, 0);
    ck_assert_int_eq(v.n_wrong, 4);
    ck_assert_int_eq(v.wrong.rank, 0);
    bench_close(&b);
}
END_TEST

START_TEST(a_wrong_rank_0_is_found_too)
{
    struct bench b = host_bench(make_plan((struct ring_shape){.n_ranks = 4, .count = 100}), 0, 0);
    struct verdict v = verdict_after(&b, 0, 99, -1);
    ck_assert_int_eq(v.n_different, 3);
    ck_assert_int_eq(v.n_wrong, 1);
    ck_assert_int_eq(v.wrong.rank, 0);
    bench_close(&b);
}
END_TEST

/* A sum that misses a rank is wrong even where the run did just what the plan says. */
START_TEST(an_incomplete_plan_is_judged_by_the_true_sum)
{
    struct bench b = host_bench(read_plan("plan 1\nranks 2\ncount 4\n"
                                          "a: copy 0.data[0:4] -> 1.data[0:4]\n"), 0, 0);
    ck_assert_int_eq(b.verdict.n_different, 0);
    ck_assert_int_eq(b.verdict.n_wrong, 8);
    ck_assert_double_eq(b.verdict.wrong.want, 0 + 31);
    bench_close(&b);
}
END_TEST

START_TEST(too_much_memory_is_refused_before_any_is_taken)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 4, .count = 1ll << 45});
    struct device *device;
    struct error err = {""};
    int device_of[] = {0, 1, 2, 3};
    const struct run_options options = {.device_of = device_of, .timed = 1};
    ck_assert_int_eq(run_open(&device, BACKEND_HOST, &plan, &options, &err), STATUS_MACHINE);
    ck_assert_ptr_null(device);
    ck_assert_ptr_nonnull(strstr(err.text, "GiB"));
    plan_free(&plan);
}
END_TEST

/* The host's verbs, but the seventh copy fails; then nothing further may be asked of the device. */
static const struct device_verbs *host_verbs;
static int copies_left;

static enum status failing_copy(struct device *d, int stream, struct span from, struct span to,
                                struct error *err)
{
    ck_assert_int_ge(copies_left, 0);
    if (copies_left-- > 0)
        return host_verbs->copy(d, stream, from, to, err);
    snprintf(err->text, sizeof err->text, "the seventh copy");
    return STATUS_MACHINE;
}

/* tests/test_nvtx.sh asks that its ranges are ended, too. */
START_TEST(a_verb_that_fails_ends_the_run)
{
    const struct run_options options = {.timed = 1, .engine = _i ? ENGINE_GRAPH : ENGINE_EAGER};
    struct error err = {""};
    struct bench b;
    bench_open(&b, BACKEND_HOST, make_plan((struct ring_shape){.n_ranks = 4, .count = 100}),
               "index", &options);
    host_verbs = b.device->verbs;
    struct device_verbs verbs = *host_verbs;
    verbs.copy = failing_copy;
    copies_left = 6;
    b.device->verbs = &verbs;
    ck_assert_int_eq(run_plan(b.device, &b.plan, &b.init, &b.options, &b.timing, &err),
                     STATUS_MACHINE);
    ck_assert_str_eq(err.text, "the seventh copy");
    bench_close(&b);
}
END_TEST

Suite *run_suite(void)
{
    Suite *suite = suite_create("run, verify");
    TCase *tests = tcase_create("run");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, every_schedule_gives_the_same_bits);
    tcase_add_test(tests, a_missing_wait_shows_under_some_schedule);
    tcase_add_test(tests, reads_come_first_and_writes_later);
    tcase_add_test(tests, a_graph_is_built_once);
    tcase_add_test(tests, the_modelled_clock_is_exact);
    tcase_add_test(tests, queueing_takes_the_hosts_time);
    tcase_add_test(tests, a_graph_has_edges);
    tcase_add_test(tests, an_add_takes_time_from_a_compute);
    tcase_add_test(tests, samples_count_from_the_first_verb);
    tcase_add_test(tests, plans_are_sampled_in_turn);
    tcase_add_test(tests, launching_a_graph_takes_the_hosts_time);
    tcase_add_test(tests, what_begins_late_reads_late);
    tcase_add_test(tests, one_wrong_element_is_found);
    tcase_add_test(tests, ranks_that_agree_can_all_be_wrong);
    tcase_add_test(tests, a_wrong_rank_0_is_found_too);
    tcase_add_test(tests, an_incomplete_plan_is_judged_by_the_true_sum);
    tcase_add_test(tests, too_much_memory_is_refused_before_any_is_taken);
    suite_add_tcase(suite, tests);
    TCase *failures = tcase_create("run: a verb that fails");
    tcase_add_loop_test(failures, a_verb_that_fails_ends_the_run, 0, 2);
    suite_add_tcase(suite, failures);
    return suite;
}

