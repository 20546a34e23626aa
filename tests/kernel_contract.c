/* kernel_contract.c - see kernel_contract.h.
 *
 * A case opens devices for a ring plan, runs the plan op by op, and then the kernel on the same
 * data. Where a device or a link cannot have the kernel, its tests pass and say why.
 */
#include "ring/kernel.h" /* first: check.h defines a macro `fail` */

#include "tests/device_contract.h"
#include "tests/kernel_contract.h"

#include <stdio.h>

#define OK(call)                                                                                  \
    do {                                                                                          \
        struct error err = {""};                                                                  \
        ck_assert_msg((call) == STATUS_OK, "%s", err.text);                                       \
    } while (0)

/* Open as long as the suite runs, so that peer access is not enabled anew for each test. */
static struct device *holder;

static void hold_links(void)
{
    struct contract_setup s;
    contract_setup(&s, BACKEND_CUDA, 8, DTYPE_FLOAT32);
    OK(device_open(BACKEND_CUDA, &holder, &s.setup, &err));
}

static void let_links_go(void)
{
    holder->verbs->close(holder);
    holder = NULL;
}

struct rig {
    struct bench bench;
    struct ring_kernel *kernel;
    int device_of[64];
};

static void place(struct rig *rig, int n_ranks)
{
    static struct device_inventory inventory;
    device_inventory(BACKEND_CUDA, &inventory);
    for (int rank = 0; rank < n_ranks; rank++)
        rig->device_of[rank] = rank % inventory.n_devices;
}

/* 0: this machine cannot have the kernel; said. */
static int rig_open(struct rig *rig, struct ring_shape shape, const char *init,
                    struct ring_kernel_setup setup)
{
    struct error err = {""};
    place(rig, shape.n_ranks);
    bench_open(&rig->bench, BACKEND_CUDA, make_plan(shape), init,
               &(struct run_options){.device_of = rig->device_of});
    setup.n_ranks = shape.n_ranks;
    setup.device_of = rig->device_of;
    setup.dtype = shape.dtype;
    setup.redop = shape.redop;
    setup.count = shape.count;
    if (ring_kernel_open(&rig->kernel, rig->bench.device, &setup, &err) == STATUS_OK)
        return 1;
    ck_assert_ptr_null(rig->kernel);
    ck_assert_msg(strstr(err.text, "peer access") || strstr(err.text, "sanitizer") ||
                  strstr(err.text, "capability"), "%s", err.text);
    printf("kernel: left out: %s\n", err.text);
    bench_close(&rig->bench);
    return 0;
}

static void rig_close(struct rig *rig)
{
    ring_kernel_close(rig->kernel);
    bench_close(&rig->bench);
}

static void load(struct rig *rig)
{
    OK(run_load(rig->bench.device, &rig->bench.plan, &rig->bench.init, &err));
}

static void finish(struct rig *rig)
{
    OK(rig->bench.device->verbs->sync(rig->bench.device, &err));
    OK(ring_kernel_judge(rig->kernel, &err));
}

static void reduce(struct rig *rig, struct ring_call call)
{
    OK(ring_kernel_queue(rig->kernel, &call, &err));
    finish(rig);
}

static unsigned char *bits(const struct rig *rig, int rank)
{
    const struct plan *plan = &rig->bench.plan;
    unsigned char *got = malloc((size_t)plan->count * dtype_size(plan->dtype) + 1);
    OK(rig->bench.device->verbs->get(rig->bench.device,
                                     (struct span){rank, MEMORY_DATA, 0, plan->count}, got, &err));
    return got;
}

static const int rank_counts[] = {1, 2, 3, 4, 5, 8};
#define N_RANK_COUNTS (int)(sizeof rank_counts / sizeof *rank_counts)

/* ---- the same bits as the plan ---- */

static void compare_with_plan(struct ring_shape shape, const char *init)
{
    struct rig rig;
    unsigned char *want[64];
    if (!rig_open(&rig, shape, init, (struct ring_kernel_setup){.n_recorded = 0}))
        return;
    const size_t bytes = (size_t)shape.count * dtype_size(shape.dtype);
    bench_run(&rig.bench);
    for (int rank = 0; rank < shape.n_ranks; rank++)
        want[rank] = bits(&rig, rank);
    for (int protocol = 0; protocol < N_PROTOCOLS; protocol++) {
        if (protocol == PROTOCOL_PACKETS && (int64_t)bytes > RING_PACKETS_ROOM)
            continue;
        load(&rig);
        reduce(&rig, (struct ring_call){.count = shape.count, .recorded = NONE,
                                        .protocol = (enum ring_protocol)protocol});
        for (int rank = 0; rank < shape.n_ranks; rank++) {
            unsigned char *got = bits(&rig, rank);
            ck_assert_msg(memcmp(got, want[rank], bytes) == 0,
                          "N=%d count=%ld %s %s %s: rank %d differs", shape.n_ranks,
                          (long)shape.count, dtype_name(shape.dtype), redop_name(shape.redop),
                          ring_protocol_name((enum ring_protocol)protocol), rank);
            free(got);
        }
    }
    for (int rank = 0; rank < shape.n_ranks; rank++)
        free(want[rank]);
    rig_close(&rig);
}

START_TEST(every_type_and_redop)
{
    for (int n = 2; n <= 5; n++)
        for (int dtype = 0; dtype < N_DTYPES; dtype++)
            for (int redop = 0; redop < N_REDOPS; redop++)
                compare_with_plan((struct ring_shape){.n_ranks = n, .count = 10007,
                                                      .dtype = (enum dtype)dtype,
                                                      .redop = (enum redop)redop},
                                  dtype == DTYPE_INT32 ? "index" : "random:7");
}
END_TEST

START_TEST(every_count)
{
    static const int64_t counts[] = {1, 3, 7, 9, 31, 4099, 65537, 1000003};
    for (int i = 0; i < N_RANK_COUNTS; i++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int k = 0; k < 2; k++)
                compare_with_plan((struct ring_shape){.n_ranks = rank_counts[i],
                                                      .count = counts[c],
                                                      .dtype = k ? DTYPE_FLOAT16 : DTYPE_FLOAT32},
                                  "random:3");
}
END_TEST

START_TEST(nan_and_infinity_pass_through)
{
    static const char *const inits[] = {"values:1,nan,2", "values:inf,-inf,0", "values:0,-0"};
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++)
        for (int dtype = 0; dtype < N_DTYPES; dtype++)
            for (int redop = 0; redop < N_REDOPS && dtype_is_float((enum dtype)dtype); redop++)
                compare_with_plan((struct ring_shape){.n_ranks = 3, .count = 97,
                                                      .dtype = (enum dtype)dtype,
                                                      .redop = (enum redop)redop}, inits[i]);
}
END_TEST

/* ---- a part of the data, at any offset ---- */

/* What lies beside the part is as it was. */
static uint32_t part_wanted(unsigned char *const *before, int n, int rank, int64_t i, int64_t first,
                            int64_t count)
{
    uint32_t sum = 0;
    if (i < first || i >= first + count)
        return ((uint32_t *)(void *)before[rank])[i];
    for (int other = 0; other < n; other++)
        sum += ((uint32_t *)(void *)before[other])[i];
    return sum;
}

static void reduce_part(struct rig *rig, int64_t first, int64_t count, enum ring_protocol protocol)
{
    const struct plan *plan = &rig->bench.plan;
    const int n = plan->n_ranks;
    unsigned char *before[64];
    load(rig);
    for (int rank = 0; rank < n; rank++)
        before[rank] = bits(rig, rank);
    reduce(rig, (struct ring_call){.first = first, .count = count, .protocol = protocol,
                                   .recorded = NONE});
    for (int rank = 0; rank < n; rank++) {
        uint32_t *got = (uint32_t *)(void *)bits(rig, rank);
        int64_t i = 0;
        while (i < plan->count && got[i] == part_wanted(before, n, rank, i, first, count))
            i++;
        ck_assert_msg(i == plan->count, "N=%d [%ld, +%ld) %s: rank %d element %ld", n, (long)first,
                      (long)count, ring_protocol_name(protocol), rank, (long)i);
        free(got);
    }
    for (int rank = 0; rank < n; rank++)
        free(before[rank]);
}

START_TEST(parts_at_any_offset)
{
    struct rig rig;
    for (int i = 1; i < N_RANK_COUNTS; i++) {
        if (!rig_open(&rig, (struct ring_shape){.n_ranks = rank_counts[i], .count = 3001,
                                                .dtype = DTYPE_INT32},
                      "index", (struct ring_kernel_setup){.n_recorded = 0}))
            return;
        for (int64_t first = 0; first < 6; first++)
            for (int64_t count = 1; count < 3001 - first; count = count * 3 + 1)
                for (int protocol = 0; protocol < N_PROTOCOLS; protocol++)
                    reduce_part(&rig, first, count, (enum ring_protocol)protocol);
        rig_close(&rig);
    }
}
END_TEST

START_TEST(what_has_no_room_is_refused)
{
    struct rig rig;
    struct error err = {""};
    static const struct ring_call calls[] = {
        {.first = -1, .count = 2, .recorded = NONE}, {.first = 0, .count = -1, .recorded = NONE},
        {.first = 2, .count = 999999, .recorded = NONE, .protocol = PROTOCOL_VECTORS},
        {.first = 0, .count = 1000000, .recorded = NONE, .protocol = PROTOCOL_PACKETS},
    };
    if (!rig_open(&rig, (struct ring_shape){.n_ranks = 2, .count = 1000000}, "index",
                  (struct ring_kernel_setup){.n_recorded = 0}))
        return;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        ck_assert_int_eq(ring_kernel_queue(rig.kernel, &calls[i], &err), STATUS_MACHINE);
    rig_close(&rig);
}
END_TEST

/* ---- the steps are the plan's ---- */

static void compare_steps(const struct rig *rig, const struct ring_kernel_step *steps)
{
    const struct plan *plan = &rig->bench.plan;
    const int n = plan->n_ranks, each = 2 * n - 1;
    const int64_t error_ns = ring_kernel_clock_error_ns(rig->kernel);
    int64_t n_copies = 0, n_adds = 0;
    for (int i = 0; i < n * each; i++) {
        n_copies += steps[i].segment != NONE && steps[i].count > 0 && steps[i].sent;
        n_adds += steps[i].segment != NONE && steps[i].count > 0 && steps[i].added;
    }
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        const int adds = op->kind == OP_REDUCE;
        const struct ring_kernel_step *step = &steps[op->rank * each + op->step + adds];
        ck_assert_int_eq(step->segment, op->segment);
        ck_assert_int_eq(step->count, op->src.count);
        ck_assert_int_eq(step->first, adds ? op->dst.first : op->src.first);
        ck_assert_int_eq(adds ? step->added : step->sent, 1);
        ck_assert_int_eq(step->received, adds || op->step > 0);
        ck_assert_int_eq(step->kept, op->step + adds >= n - 1);
        ck_assert_int_gt(step->begin_ns, 0);
        ck_assert_int_le(step->begin_ns, step->end_ns);
        n_copies -= !adds;
        n_adds -= adds;
        if (adds)
            continue;
        /* what arrives was sent before, as far as the clocks can tell */
        const struct ring_kernel_step *arrival = &steps[(op->rank + 1) % n * each + op->step + 1];
        ck_assert_int_le(step->begin_ns, arrival->begin_ns + 2 * error_ns);
        ck_assert_int_eq(arrival->segment, op->segment);
        ck_assert_int_eq(arrival->received, 1);
    }
    ck_assert_int_eq(n_copies, 0);
    ck_assert_int_eq(n_adds, 0);
}

START_TEST(the_steps_are_those_of_the_plan)
{
    static const int64_t counts[] = {1, 5, 4099, 200003};
    struct rig rig;
    for (int i = 1; i < N_RANK_COUNTS; i++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const int n = rank_counts[i], n_steps = n * (2 * n - 1);
            struct ring_kernel_step *steps = malloc((size_t)n_steps * sizeof *steps);
            if (!rig_open(&rig, (struct ring_shape){.n_ranks = n, .count = counts[c]}, "index",
                          (struct ring_kernel_setup){.n_recorded = 3})) {
                free(steps);
                return;
            }
            load(&rig);
            for (int call = 0; call < 3; call++) {
                reduce(&rig, (struct ring_call){.count = counts[c], .recorded = call,
                                                .protocol = (enum ring_protocol)(call % 2)});
                OK(ring_kernel_read(rig.kernel, call, steps, &err));
                compare_steps(&rig, steps);
            }
            free(steps);
            rig_close(&rig);
        }
}
END_TEST

/* ---- again and again ---- */

enum { CALLS_COUNT = 70001, CALLS_TOGETHER = 16 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* What a rank began with and has now, after calls on these parts. The first call makes the sum of
 * all ranks of an element, each further one n times as much. */
static void compare_calls(const struct rig *rig, int rank, const uint32_t *begin,
                          const uint32_t *sum, const struct ring_call *calls)
{
    const uint32_t n = (uint32_t)rig->bench.plan.n_ranks;
    uint32_t *got = (uint32_t *)(void *)bits(rig, rank);
    static uint64_t factor[CALLS_COUNT]; /* 0: no call came here */
    memset(factor, 0, sizeof factor);
    for (int c = 0; c < CALLS_TOGETHER; c++)
        for (int64_t i = calls[c].first; i < calls[c].first + calls[c].count; i++)
            factor[i] = factor[i] == 0 ? 1 : factor[i] * n;
    int i = 0;
    while (i < CALLS_COUNT && got[i] == (factor[i] ? sum[i] * (uint32_t)factor[i] : begin[i]))
        i++;
    ck_assert_msg(i == CALLS_COUNT, "N=%u: rank %d element %d", n, rank, i);
    free(got);
}

/* Calls of random sizes, offsets and protocols, many behind each other; then all is compared. */
static void call_at_random(int n, int n_calls)
{
    struct rig rig;
    uint64_t random = 88172645463325252u + (uint64_t)n;
    static uint32_t begin[8][CALLS_COUNT], sum[CALLS_COUNT];
    if (!rig_open(&rig, (struct ring_shape){.n_ranks = n, .count = CALLS_COUNT,
                                            .dtype = DTYPE_INT32},
                  "random:5", (struct ring_kernel_setup){.n_recorded = 0}))
        return;
    memset(sum, 0, sizeof sum);
    for (int rank = 0; rank < n; rank++) {
        OK(init_fill(&rig.bench.init, rank, 0, 0, CALLS_COUNT, begin[rank], &err));
        for (int i = 0; i < CALLS_COUNT; i++)
            sum[i] += begin[rank][i];
    }
    for (int done = 0; done < n_calls; done += CALLS_TOGETHER) {
        struct ring_call calls[CALLS_TOGETHER];
        for (int rank = 0; rank < n; rank++)
            OK(rig.bench.device->verbs->put(
                rig.bench.device, (struct span){rank, MEMORY_DATA, 0, CALLS_COUNT}, begin[rank],
                &err));
        for (int i = 0; i < CALLS_TOGETHER; i++) {
            const int64_t most = (int64_t)1 << next_random(&random) % 17;
            const int64_t count = 1 + (int64_t)(next_random(&random) >> 1) % most;
            calls[i] = (struct ring_call){
                .first = (int64_t)(next_random(&random) >> 1) % (CALLS_COUNT - count),
                .count = count, .recorded = NONE,
                .blocks = (int)(next_random(&random) % 6),
                .protocol = (enum ring_protocol)(next_random(&random) % N_PROTOCOLS)};
            OK(ring_kernel_queue(rig.kernel, &calls[i], &err));
        }
        finish(&rig);
        for (int rank = 0; rank < n; rank++)
            compare_calls(&rig, rank, begin[rank], sum, calls);
    }
    rig_close(&rig);
}

START_TEST(calls_of_random_sizes_behind_each_other)
{
    const char *asked = getenv("RING_DEMO_CALLS"); /* of each number of ranks */
    for (int i = 1; i < N_RANK_COUNTS; i++)
        call_at_random(rank_counts[i], asked ? atoi(asked) : 800);
}
END_TEST

/* ---- as an engine of run.h ---- */

/* Fresh data each time: the next one's may not come before the kernels are through. */
START_TEST(as_an_engine_it_gives_the_same_bits)
{
    static const int64_t counts[] = {0, 1, 3001, 200003};
    for (int i = 0; i < N_RANK_COUNTS; i++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int timed = 0; timed < 2; timed++) {
                struct rig rig;
                uint64_t hash[2];
                const struct ring_shape shape = {.n_ranks = rank_counts[i], .count = counts[c],
                                                 .iterations = 3, .redop = REDOP_AVG};
                place(&rig, rank_counts[i]);
                bench_open(&rig.bench, BACKEND_CUDA, make_plan(shape), "random:11",
                           &(struct run_options){.device_of = rig.device_of, .timed = timed});
                struct error err = {""};
                if (ring_kernel_try(rig.bench.device, shape.n_ranks, rig.device_of, &err) ||
                    counts[c] == 0) {
                    bench_close(&rig.bench);
                    continue;
                }
                for (int engine = 0; engine < 2; engine++) {
                    rig.bench.options.engine = engine ? ENGINE_KERNEL : ENGINE_EAGER;
                    rig.bench.options.device_of = rig.device_of;
                    bench_run(&rig.bench);
                    ck_assert_int_eq(rig.bench.verdict.n_wrong, 0);
                    hash[engine] = rig.bench.verdict.hash;
                }
                ck_assert_uint_eq(hash[0], hash[1]);
                bench_close(&rig.bench);
            }
}
END_TEST

/* ---- no wait without an end ---- */

START_TEST(a_rank_that_does_not_send_is_named)
{
    for (int protocol = 0; protocol < N_PROTOCOLS; protocol++) {
        struct rig rig;
        struct error err = {""};
        if (!rig_open(&rig, (struct ring_shape){.n_ranks = 3, .count = 3000}, "index",
                      (struct ring_kernel_setup){.timeout_ms = 40}))
            return;
        load(&rig);
        OK(ring_kernel_queue(rig.kernel, &(struct ring_call){
            .count = 3000, .protocol = (enum ring_protocol)protocol, .recorded = NONE,
            .held_rank = 1, .held_step = 1, .held_ns = 400000000}, &err));
        OK(rig.bench.device->verbs->sync(rig.bench.device, &err));
        ck_assert_int_eq(ring_kernel_judge(rig.kernel, &err), STATUS_MACHINE);
        ck_assert_msg(strstr(err.text, "gave up after 0.04 s: rank 2 waited for segment 0 from "
                             "rank 1 (step s=1); for that rank 0 waited for segment 0 from "
                             "rank 2 (step s=2)") != NULL, "%s", err.text);
        rig_close(&rig);
    }
}
END_TEST

/* ---- where it cannot be ---- */

START_TEST(without_peer_access_it_is_refused)
{
    struct rig rig = {.kernel = NULL};
    struct error err = {""};
    place(&rig, 2);
    if (rig.device_of[1] == rig.device_of[0])
        return;
    bench_open(&rig.bench, BACKEND_CUDA, make_plan((struct ring_shape){.n_ranks = 2, .count = 8}),
               "index", &(struct run_options){.device_of = rig.device_of, .peer_off = 1});
    const struct ring_kernel_setup setup = {.n_ranks = 2, .device_of = rig.device_of, .count = 8};
    ck_assert_int_eq(ring_kernel_open(&rig.kernel, rig.bench.device, &setup, &err), STATUS_MACHINE);
    ck_assert_msg(strstr(err.text, "no peer access") || strstr(err.text, "sanitizer"), "%s",
                  err.text);
    rig_close(&rig);
}
END_TEST

/* No GPU runs as many blocks at once. */
START_TEST(too_many_ranks_on_a_device_are_refused)
{
    enum { RANKS = 2048 };
    static int device_of[RANKS];
    struct error err = {""};
    struct device *device = NULL;
    struct ring_kernel *kernel = NULL;
    struct contract_setup s;
    contract_setup(&s, BACKEND_CUDA, 2, DTYPE_FLOAT32);
    OK(device_open(BACKEND_CUDA, &device, &s.setup, &err));
    const struct ring_kernel_setup setup = {.n_ranks = RANKS, .device_of = device_of};
    ck_assert_int_eq(ring_kernel_open(&kernel, device, &setup, &err), STATUS_MACHINE);
    ck_assert_ptr_null(kernel);
    ck_assert_msg(strstr(err.text, "2048 ranks share device 0, and their kernels cannot all run") ||
                  strstr(err.text, "sanitizer"), "%s", err.text);
    device->verbs->close(device);
}
END_TEST

Suite *kernel_contract_suite(void)
{
    Suite *suite = suite_create("kernel: cuda");
    TCase *tests = tcase_create("the ring inside one kernel");
    tcase_add_unchecked_fixture(tests, hold_links, let_links_go);
    tcase_add_test(tests, every_type_and_redop);
    tcase_add_test(tests, every_count);
    tcase_add_test(tests, nan_and_infinity_pass_through);
    tcase_add_test(tests, parts_at_any_offset);
    tcase_add_test(tests, what_has_no_room_is_refused);
    tcase_add_test(tests, the_steps_are_those_of_the_plan);
    tcase_add_test(tests, as_an_engine_it_gives_the_same_bits);
    tcase_add_test(tests, a_rank_that_does_not_send_is_named);
    tcase_add_test(tests, without_peer_access_it_is_refused);
    tcase_add_test(tests, too_many_ranks_on_a_device_are_refused);
    suite_add_tcase(suite, tests);
    TCase *again = tcase_create("again and again");
    tcase_add_unchecked_fixture(again, hold_links, let_links_go);
    tcase_add_test(again, calls_of_random_sizes_behind_each_other);
    suite_add_tcase(suite, again);
    return suite;
}
