/* run_contract.c - see run_contract.h. */
#include "tests/run_contract.h"

#include <math.h>
#include <stdio.h>

#include "common/arith.h"

void bench_open(struct bench *b, enum device_backend backend, struct plan plan, const char *init,
                const struct run_options *options)
{
    static struct device_inventory inventory;
    struct error err = {""};
    int device_of[64];
    struct run_options own = options ? *options : (struct run_options){.timed = 1};
    memset(b, 0, sizeof *b);
    b->plan = plan;
    if (!own.device_of) {
        device_inventory(backend, &inventory);
        int n = inventory.n_devices > 0 ? inventory.n_devices : 64;
        for (int rank = 0; rank < 64; rank++)
            device_of[rank] = rank % n;
        own.device_of = device_of;
    }
    if (own.model.link_GBps == 0)
        own.model = (struct device_model){.name = "test", .link_latency_ns = 2000, .link_GBps = 100,
                                          .kernel_latency_ns = 1000, .memory_GBps = 1000};
    ck_assert_msg(init_parse(&b->init, init, plan.dtype, plan.redop == REDOP_PROD, &err) == 0, "%s",
                  err.text);
    ck_assert_msg(run_open(&b->device, backend, &b->plan, &own, &err) == 0, "%s", err.text);
    b->options = own;
    b->options.device_of = NULL;
}

void bench_run(struct bench *b)
{
    struct error err = {""};
    timing_free(&b->timing);
    ck_assert_msg(run_plan(b->device, &b->plan, &b->init, &b->options, &b->timing, &err) == 0, "%s",
                  err.text);
    ck_assert_msg(verify(b->device, &b->plan, &b->init, &b->verdict, &err) == 0, "%s", err.text);
}

void bench_close(struct bench *b)
{
    b->device->verbs->close(b->device);
    timing_free(&b->timing);
    init_free(&b->init);
    plan_free(&b->plan);
}

/* ---- the plain sum ---- */

static double plain(enum redop op, double a, double b)
{
    return op == REDOP_MIN ? fmin(a, b) : op == REDOP_MAX ? fmax(a, b)
         : op == REDOP_PROD ? a * b : a + b;
}

/* Exact patterns only. avg: of as many ranks as a power of two, or of integers. */
static void assert_plain(struct bench *b)
{
    const struct plan *plan = &b->plan;
    struct error err = {""};
    int64_t n = plan->count;
    char *got = malloc((size_t)n * 8 + 8), *in = malloc((size_t)n * 8 + 8);
    double *want = calloc((size_t)n + 1, sizeof *want);
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        ck_assert_int_eq(init_fill(&b->init, rank, plan->iterations - 1, 0, n, in, &err), 0);
        for (int64_t i = 0; i < n; i++) {
            double x = dtype_load(plan->dtype, in + (size_t)i * dtype_size(plan->dtype));
            want[i] = rank == 0 ? x : plain(plan->redop, want[i], x);
        }
    }
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        ck_assert_int_eq(b->device->verbs->get(b->device, (struct span){rank, MEMORY_DATA, 0, n},
                                               got, &err), 0);
        for (int64_t i = 0; i < n; i++) {
            double w = plan->redop != REDOP_AVG ? want[i]
                       : dtype_is_float(plan->dtype) ? want[i] / plan->n_ranks
                                                     : trunc(want[i] / plan->n_ranks);
            ck_assert_double_eq(dtype_load(plan->dtype, got + (size_t)i * dtype_size(plan->dtype)),
                                w);
        }
    }
    free(got);
    free(in);
    free(want);
}

static void assert_good(const struct bench *b)
{
    ck_assert_int_eq(b->verdict.n_different, 0);
    ck_assert_int_eq(b->verdict.n_wrong, 0);
    ck_assert_int_eq(b->verdict.n_checked, b->plan.count * b->plan.n_ranks);
}

static enum device_backend backend_of_suite; /* set once, before the tests run */

static const int rank_counts[] = {1, 2, 3, 4, 5, 8};

START_TEST(every_type_and_redop)
{
    int n = rank_counts[_i];
    for (int type = 0; type < N_DTYPES; type++)
        for (int op = 0; op < N_REDOPS; op++) {
            struct bench b;
            bench_open(&b, backend_of_suite,
                       make_plan((struct ring_shape){.n_ranks = n, .count = 1003, .pieces = 2,
                                                     .dtype = (enum dtype)type,
                                                     .redop = (enum redop)op}), "index", NULL);
            bench_run(&b);
            assert_good(&b);
            if (op != REDOP_AVG || type == DTYPE_INT32 || (n & (n - 1)) == 0)
                assert_plain(&b);
            bench_close(&b);
        }
}
END_TEST

START_TEST(every_shape)
{
    int n = rank_counts[_i];
    const int64_t counts[] = {0, 1, n - 1, n, n + 1, 1000};
    for (int c = 0; c < 6; c++)
        for (int pieces = 1; pieces <= 3; pieces++)
            for (int slots = 1; slots <= 3; slots++) {
                struct bench b;
                bench_open(&b, backend_of_suite,
                           make_plan((struct ring_shape){.n_ranks = n, .count = counts[c],
                                                         .pieces = pieces, .slots = slots,
                                                         .iterations = 1 + pieces % 3}),
                           "index", NULL);
                bench_run(&b);
                assert_good(&b);
                assert_plain(&b);
                bench_close(&b);
            }
}
END_TEST

/* NaN from any rank, with whatever payload, ends as the one NaN on all ranks. */
START_TEST(nan_and_infinity_pass_through)
{
    static const char *const inits[] = {"values:1,nan,2", "values:inf,1,2", "values:inf,-inf,0",
                                        "values:-0,0"};
    for (int n = 2; n <= 5; n++)
        for (int i = 0; i < 4; i++)
            for (int type = 0; type < N_DTYPES; type++)
                for (int op = 0; op < N_REDOPS && dtype_is_float((enum dtype)type); op++) {
                    struct bench b;
                    struct error err;
                    bench_open(&b, backend_of_suite,
                               make_plan((struct ring_shape){.n_ranks = n, .count = 9,
                                                             .dtype = (enum dtype)type,
                                                             .redop = (enum redop)op}),
                               inits[i], NULL);
                    bench_run(&b);
                    assert_good(&b);
                    if (i == 0) {
                        const uint64_t nan = dtype_nan((enum dtype)type);
                        uint64_t got[9];
                        ck_assert_int_eq(b.device->verbs->get(
                                             b.device, (struct span){n - 1, MEMORY_DATA, 0, 9}, got,
                                             &err), 0);
                        ck_assert_mem_eq(got, &nan, dtype_size((enum dtype)type));
                    }
                    bench_close(&b);
                }
}
END_TEST

START_TEST(the_value_pass_gives_the_same_bits)
{
    for (int n = 1; n <= 5; n++)
        for (int iterations = 1; iterations <= 2; iterations++) {
            struct bench b;
            struct values values;
            struct error err = {""};
            uint64_t hash = 0;
            bench_open(&b, backend_of_suite,
                       make_plan((struct ring_shape){.n_ranks = n, .count = 103, .pieces = 2,
                                                     .iterations = iterations}), "random:7", NULL);
            bench_run(&b);
            ck_assert_msg(run_values(b.device, &b.plan, &b.init, &b.options, &values, &err) == 0,
                          "%s",
                          err.text);
            ck_assert_int_eq(verify_hash(b.device, &b.plan, &hash, &err), 0);
            ck_assert_uint_eq(hash, b.verdict.hash);
            ck_assert_int_eq(values.n_stops,
                             n == 1 && iterations == 1 ? 1
                             : n == 1                  ? 2
                                                       : iterations * (1 + ring_steps(n)));
            values_free(&values);
            bench_close(&b);
        }
}
END_TEST

/* What the value pass reads after each step is what the ring's rule says. */
START_TEST(values_are_read_step_by_step)
{
    for (int n = 2; n <= 5; n++) {
        struct bench b;
        struct values values;
        struct error err = {""};
        bench_open(&b, backend_of_suite, make_plan((struct ring_shape){.n_ranks = n, .count = n}),
                   "values:1,10,100,1000,10000", NULL);
        bench_run(&b);
        ck_assert_int_eq(run_values(b.device, &b.plan, &b.init, &b.options, &values, &err),
                         STATUS_OK);
        static const double own[] = {1, 10, 100, 1000, 10000};
        for (int step = 0; step < n - 1; step++)
            for (int rank = 0; rank < n; rank++) {
                /* rank received segment (rank - 1 - step), begun step + 1 ranks back */
                int segment = ((rank - 1 - step) % n + n) % n;
                double want = 0;
                for (int back = 0; back <= step + 1; back++)
                    want += own[(rank - back + n) % n];
                ck_assert_double_eq(values.read[((step + 1) * n + rank) * n + segment], want);
            }
        values_free(&values);
        bench_close(&b);
    }
}
END_TEST

START_TEST(times_respect_the_waits)
{
    struct bench b;
    bench_open(&b, backend_of_suite,
               make_plan((struct ring_shape){.n_ranks = 4, .count = 4096, .pieces = 2}), "index",
               NULL);
    bench_run(&b);
    int64_t slack = b.device->facts.clock_error_ns * 2 + (b.device->facts.simulated ? 0 : 1000);
    for (int64_t id = 0; id < b.plan.n_ops; id++) {
        ck_assert_int_le(b.timing.begin_ns[id], b.timing.end_ns[id]);
        for (int i = 0; i < b.plan.ops[id].n_waits; i++) {
            int64_t other = b.plan.waits[b.plan.ops[id].first_wait + i].op;
            ck_assert_int_le(b.timing.end_ns[other], b.timing.begin_ns[id] + slack);
        }
    }
    bench_close(&b);
}
END_TEST

static int has_staged_link(const struct device *device)
{
    for (int i = 0; i < device->facts.n_links; i++)
        if (device->facts.paths[i] == PATH_STAGED)
            return 1;
    return 0;
}

/* One graph, launched often: bits as op by op, whether timed or not, and op by op again behind it
 * in the value pass. Under the model the times are the same ones, too. */
START_TEST(a_graph_gives_the_same_bits)
{
    int n = rank_counts[_i];
    for (int type = 0; type < N_DTYPES; type++)
        for (int op = 0; op < N_REDOPS; op++)
            for (int timed = 0; timed < 2; timed++) {
                uint64_t hashes[ENGINE_GRAPH + 1], shown = 0;
                int64_t total_ns[ENGINE_GRAPH + 1];
                for (int engine = 0; engine <= ENGINE_GRAPH; engine++) {
                    const struct run_options options = {.timed = timed, .runs = 3,
                                                        .engine = (enum engine)engine};
                    struct bench b;
                    struct values values;
                    struct error err = {""};
                    bench_open(&b, backend_of_suite,
                               make_plan((struct ring_shape){
                                   .n_ranks = n, .count = 1003, .pieces = 2, .iterations = 2,
                                   .dtype = (enum dtype)type, .redop = (enum redop)op}),
                               "random:11", &options);
                    if (has_staged_link(b.device)) {
                        bench_close(&b);
                        return;
                    }
                    for (int again = 0; again < 2; again++) {
                        bench_run(&b);
                        assert_good(&b);
                    }
                    hashes[engine] = b.verdict.hash;
                    total_ns[engine] = b.timing.total_ns;
                    ck_assert_int_eq(run_values(b.device, &b.plan, &b.init, &b.options, &values,
                                                &err), STATUS_OK);
                    ck_assert_int_eq(verify_hash(b.device, &b.plan, &shown, &err), STATUS_OK);
                    ck_assert_uint_eq(shown, hashes[engine]);
                    values_free(&values);
                    bench_close(&b);
                }
                ck_assert_uint_eq(hashes[ENGINE_GRAPH], hashes[ENGINE_EAGER]);
                if (backend_of_suite == BACKEND_HOST && timed)
                    ck_assert_int_eq(total_ns[ENGINE_GRAPH], total_ns[ENGINE_EAGER]);
            }
}
END_TEST

/* The same result wherever it runs: bits of this backend and of the host's. */
START_TEST(the_same_bits_as_the_host)
{
    static const int64_t counts[] = {7, 4099, 100000};
    int n = rank_counts[_i];
    for (int type = 0; type < N_DTYPES; type++)
        for (int op = 0; op < N_REDOPS; op++)
            for (int c = 0; c < 3; c++) {
                uint64_t hashes[2];
                for (int host = 0; host < 2; host++) {
                    struct bench b;
                    bench_open(&b, host ? BACKEND_HOST : backend_of_suite,
                               make_plan((struct ring_shape){
                                   .n_ranks = n, .count = counts[c], .pieces = 1 + c,
                                   .iterations = 2, .dtype = (enum dtype)type,
                                   .redop = (enum redop)op}), "random:11", NULL);
                    bench_run(&b);
                    assert_good(&b);
                    hashes[host] = b.verdict.hash;
                    bench_close(&b);
                }
                ck_assert_uint_eq(hashes[0], hashes[1]);
            }
}
END_TEST

START_TEST(one_hash_a_thousand_times)
{
    struct bench b;
    bench_open(&b, backend_of_suite, make_plan((struct ring_shape){.n_ranks = 4, .count = 4096}),
               "random:7", NULL);
    bench_run(&b);
    uint64_t hash = b.verdict.hash;
    for (int i = 1; i < 1000; i++) {
        bench_run(&b);
        assert_good(&b);
        ck_assert_uint_eq(b.verdict.hash, hash);
    }
    ck_assert_uint_eq(hash, 0xcb65d5865e7521d7ull); /* on any machine and backend */
    bench_close(&b);
}
END_TEST

START_TEST(one_device_for_all_ranks)
{
    int device_of[8] = {0};
    const struct run_options options = {.device_of = device_of, .timed = 1};
    struct bench b;
    bench_open(&b, backend_of_suite, make_plan((struct ring_shape){.n_ranks = 8, .count = 1003}),
               "index", &options);
    bench_run(&b);
    assert_good(&b);
    assert_plain(&b);
    ck_assert_int_eq(b.device->facts.n_devices, 1);
    bench_close(&b);
}
END_TEST

Suite *run_contract_suite(enum device_backend backend, const char *name)
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    int n = (int)(sizeof rank_counts / sizeof *rank_counts);
    backend_of_suite = backend;
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, every_type_and_redop, 0, n);
    tcase_add_loop_test(tests, every_shape, 0, n);
    tcase_add_test(tests, nan_and_infinity_pass_through);
    tcase_add_test(tests, the_value_pass_gives_the_same_bits);
    tcase_add_test(tests, values_are_read_step_by_step);
    tcase_add_test(tests, times_respect_the_waits);
    tcase_add_loop_test(tests, a_graph_gives_the_same_bits, 0, n);
    tcase_add_test(tests, one_hash_a_thousand_times);
    tcase_add_test(tests, one_device_for_all_ranks);
    if (backend != BACKEND_HOST)
        tcase_add_loop_test(tests, the_same_bits_as_the_host, 0, n);
    suite_add_tcase(suite, tests);
    return suite;
}
