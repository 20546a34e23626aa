/* test_cuda.c - the cuda backend on real GPUs; a program of its own.
 *
 * CUDA must not be used in a forked child of a process that has touched it, so nothing forks here,
 * and the caller sets the time limit (timeout 600 test_cuda). Without a GPU it says why, and
 * passes.
 */
#include "ring/museum.h" /* first: check.h defines a macro `fail` */

#include "tests/device_contract.h"
#include "tests/kernel_contract.h"
#include "tests/run_contract.h"

#include <stdio.h>
#include <stdlib.h>

static struct span span(int rank, enum memory memory, int64_t first, int64_t count)
{
    return (struct span){rank, memory, first, count};
}

/* The bits of every memory after a ring step, so that two ways of copying can be compared. */
static unsigned char *bits_after_step(const struct device_setup *setup, int64_t count)
{
    const size_t bytes = (size_t)count * dtype_size(setup->dtype);
    unsigned char *bits = malloc(bytes * (size_t)setup->n_ranks);
    struct device *d = NULL;
    ck_assert_ptr_nonnull(bits);
    CONTRACT_OK(device_open(BACKEND_CUDA, &d, setup, &err));
    CONTRACT_OK(d->verbs->alloc(d, count, count, 4 * setup->n_ranks, &err));
    contract_ring_step(d, setup->n_ranks, setup->dtype, count, 7);
    for (int rank = 0; rank < setup->n_ranks; rank++)
        CONTRACT_OK(d->verbs->get(d, span(rank, MEMORY_DATA, 0, count),
                                  bits + bytes * (size_t)rank, &err));
    if (setup->peer_off)
        for (int i = 0; i < setup->n_links; i++)
            ck_assert(d->facts.paths[i] == PATH_SAME || d->facts.paths[i] == PATH_STAGED);
    d->verbs->close(d);
    return bits;
}

START_TEST(without_peer_access_the_bits_are_the_same)
{
    enum { COUNT = 1000003, RANKS = 4 };
    struct contract_setup s;
    contract_setup(&s, BACKEND_CUDA, RANKS, DTYPE_FLOAT32);
    unsigned char *direct = bits_after_step(&s.setup, COUNT);
    s.setup.peer_off = 1;
    unsigned char *staged = bits_after_step(&s.setup, COUNT);
    ck_assert_int_eq(memcmp(direct, staged, (size_t)COUNT * RANKS * sizeof(float)), 0);
    free(direct);
    free(staged);
}
END_TEST

/* A graph cannot stage copies through the host: refused, naming the ranks. */
START_TEST(a_graph_without_peer_access_is_refused)
{
    struct contract_setup s;
    struct device *d = NULL;
    struct error err = {""};
    contract_setup(&s, BACKEND_CUDA, 2, DTYPE_FLOAT32);
    s.setup.peer_off = 1;
    CONTRACT_OK(device_open(BACKEND_CUDA, &d, &s.setup, &err));
    CONTRACT_OK(d->verbs->alloc(d, 8, 8, 0, &err));
    CONTRACT_OK(d->verbs->graph_begin(d, &err));
    enum status status = d->verbs->copy(d, stream_id(1, LANE_SEND), span(1, MEMORY_DATA, 0, 8),
                                        span(0, MEMORY_INBOX, 0, 8), &err);
    if (s.device_of[0] == s.device_of[1]) {
        ck_assert_int_eq(status, STATUS_OK);
    } else {
        ck_assert_int_eq(status, STATUS_MACHINE);
        ck_assert_msg(strstr(err.text, "from rank 1 (device 1) to rank 0 (device 0)") != NULL, "%s",
                      err.text);
    }
    d->verbs->close(d);
}
END_TEST

/* The second device finds peer access enabled, and must neither fail nor disable it. */
START_TEST(two_devices_may_be_open_at_once)
{
    enum { COUNT = 5003, RANKS = 3 };
    struct device *a = contract_open(BACKEND_CUDA, RANKS, DTYPE_INT32, COUNT, COUNT, 4 * RANKS);
    struct device *b = contract_open(BACKEND_CUDA, RANKS, DTYPE_FLOAT64, COUNT, COUNT, 4 * RANKS);
    contract_ring_step(b, RANKS, DTYPE_FLOAT64, COUNT, 0);
    b->verbs->close(b);
    contract_ring_step(a, RANKS, DTYPE_INT32, COUNT, 0);
    a->verbs->close(a);
}
END_TEST

START_TEST(a_device_that_is_not_there_is_refused)
{
    struct contract_setup s;
    struct device *d = NULL;
    contract_setup(&s, BACKEND_CUDA, 2, DTYPE_FLOAT32);
    s.device_of[1] = 4096;
    CONTRACT_REFUSED(device_open(BACKEND_CUDA, &d, &s.setup, &err));
    ck_assert_ptr_null(d);
    s.device_of[1] = -1;
    CONTRACT_REFUSED(device_open(BACKEND_CUDA, &d, &s.setup, &err));
    ck_assert_ptr_null(d);
}
END_TEST

/* Untimed events order, and have no time. */
START_TEST(untimed_events_have_no_time)
{
    enum { COUNT = 4099, RANKS = 3 };
    struct contract_setup s;
    struct device *d = NULL;
    int64_t ns = 0;
    contract_setup(&s, BACKEND_CUDA, RANKS, DTYPE_FLOAT32);
    s.setup.timed = 0;
    CONTRACT_OK(device_open(BACKEND_CUDA, &d, &s.setup, &err));
    ck_assert_int_eq(d->facts.clock_error_ns, 0);
    CONTRACT_OK(d->verbs->alloc(d, COUNT, COUNT, 4 * RANKS, &err));
    contract_ring_step(d, RANKS, DTYPE_FLOAT32, COUNT, 0);
    CONTRACT_REFUSED(d->verbs->elapsed(d, 0, &ns, &err));
    d->verbs->close(d);
}
END_TEST

START_TEST(times_need_a_sync)
{
    struct device *d = contract_open(BACKEND_CUDA, 1, DTYPE_FLOAT32, 8, 8, 2);
    int64_t ns = 0;
    CONTRACT_OK(d->verbs->record(d, 0, stream_id(0, LANE_SEND), &err));
    CONTRACT_REFUSED(d->verbs->elapsed(d, 0, &ns, &err));
    d->verbs->close(d);

    d = contract_open(BACKEND_CUDA, 1, DTYPE_FLOAT32, 8, 8, 2);
    CONTRACT_OK(d->verbs->record(d, 0, stream_id(0, LANE_SEND), &err));
    CONTRACT_REFUSED(d->verbs->record(d, 0, stream_id(0, LANE_SEND), &err));
    d->verbs->close(d);
}
END_TEST

/* An event moves to another device's stream in a later round: CUDA forbids to record it there. */
START_TEST(events_may_change_their_device)
{
    enum { RANKS = 5 };
    struct device *d = contract_open(BACKEND_CUDA, RANKS, DTYPE_FLOAT32, 8, 8, 1);
    for (int rank = 0; rank < RANKS; rank++) {
        int64_t ns = 0;
        CONTRACT_OK(d->verbs->record(d, 0, stream_id(rank, LANE_REDUCE), &err));
        CONTRACT_OK(d->verbs->wait(d, stream_id((rank + 1) % RANKS, LANE_SEND), 0, &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        CONTRACT_OK(d->verbs->elapsed(d, 0, &ns, &err));
    }
    d->verbs->close(d);
}
END_TEST

/* Pulling: the copy is queued by the receiver. */
START_TEST(any_stream_may_copy)
{
    enum { COUNT = 1003, RANKS = 3 };
    struct device *d = contract_open(BACKEND_CUDA, RANKS, DTYPE_INT32, COUNT, COUNT, 0);
    int32_t sent[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; i++)
        sent[i] = 7 * i - 1000;
    CONTRACT_OK(d->verbs->put(d, span(0, MEMORY_DATA, 0, COUNT), sent, &err));
    for (int by = 0; by < RANKS; by++)
        for (int to = 0; to < RANKS; to++) {
            memset(got, 0, sizeof got);
            CONTRACT_OK(d->verbs->put(d, span(to, MEMORY_INBOX, 0, COUNT), got, &err));
            CONTRACT_OK(d->verbs->copy(d, stream_id(by, LANE_SEND), span(0, MEMORY_DATA, 0, COUNT),
                                       span(to, MEMORY_INBOX, 0, COUNT), &err));
            CONTRACT_OK(d->verbs->sync(d, &err));
            CONTRACT_OK(d->verbs->get(d, span(to, MEMORY_INBOX, 0, COUNT), got, &err));
            ck_assert_int_eq(memcmp(sent, got, sizeof got), 0);
        }
    d->verbs->close(d);
}
END_TEST

/* More elements than 32 bits count: what was computed beyond 2^32, and what was added there. Left
 * out where the GPU has no 32 GiB to spare. */
START_TEST(counts_pass_32_bits)
{
    enum { COUNT = 1027 };
    const int64_t far = ((int64_t)1 << 32) - 500, total = far + COUNT;
    const struct pattern pattern = {PATTERN_RANDOM, 3, 0};
    struct contract_setup s;
    struct device *d = NULL;
    struct error no_room = {""};
    float got[COUNT], inbox[COUNT];
    contract_setup(&s, BACKEND_CUDA, 1, DTYPE_FLOAT32);
    CONTRACT_OK(device_open(BACKEND_CUDA, &d, &s.setup, &err));
    if (d->verbs->alloc(d, total, total, 0, &no_room) == STATUS_OK) {
        const struct span data = span(0, MEMORY_DATA, 0, total);
        const struct span copied = span(0, MEMORY_INBOX, 0, total);
        const int stream = stream_id(0, LANE_COMPUTE);
        CONTRACT_OK(d->verbs->compute(d, stream, pattern, 0, 1, 0, data, &err));
        CONTRACT_OK(d->verbs->copy(d, stream, data, copied, &err));
        CONTRACT_OK(d->verbs->reduce(d, stream, REDOP_SUM, copied, data, &err));
        CONTRACT_OK(d->verbs->scale(d, stream, 4, data, &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        CONTRACT_OK(d->verbs->get(d, span(0, MEMORY_DATA, far, COUNT), got, &err));
        CONTRACT_OK(d->verbs->get(d, span(0, MEMORY_INBOX, far, COUNT), inbox, &err));
        for (int i = 0; i < COUNT; i++) {
            const float value = (float)pattern_value(pattern, DTYPE_FLOAT32, 0, 0, far + i);
            ck_assert(inbox[i] == value && got[i] == value / 2);
        }
    } else {
        printf("cuda suite: counts beyond 2^32: left out: %s\n", no_room.text);
    }
    d->verbs->close(d);
}
END_TEST

START_TEST(the_inventory_describes_what_opens)
{
    struct device_inventory inventory;
    device_inventory(BACKEND_CUDA, &inventory);
    ck_assert_int_eq(inventory.built, 1);
    ck_assert_str_eq(inventory.why, "");
    ck_assert_str_ne(inventory.driver, "none");
    for (int a = 0; a < inventory.n_devices; a++) {
        struct device *d = NULL;
        struct device_setup setup = {.n_ranks = 1, .device_of = &a, .dtype = DTYPE_FLOAT32};
        CONTRACT_OK(device_open(BACKEND_CUDA, &d, &setup, &err));
        ck_assert_ptr_nonnull(strstr(d->facts.names[0], inventory.devices[a].name));
        ck_assert_ptr_nonnull(strstr(d->facts.names[0], inventory.devices[a].bus));
        ck_assert_int_gt(inventory.devices[a].major, 0);
        ck_assert(inventory.devices[a].memory_bytes > 0 && inventory.peer[a][a] == 1);
        d->verbs->close(d);
    }
}
END_TEST

/* Exhibits that lack nothing but waits: wrong every time when the right op is held back, and right
 * every time with the waits restored. */
START_TEST(missing_waits_show_every_time)
{
    struct device_inventory inventory;
    struct museum museum = {.backend = BACKEND_CUDA, .runs = 1000,
                            .model = {.name = "test", .link_latency_ns = 2400, .link_GBps = 392,
                                      .kernel_latency_ns = 2000, .memory_GBps = 4800}};
    int n_shown = 0;
    device_inventory(BACKEND_CUDA, &inventory);
    museum.n_devices = inventory.n_devices;
    for (int i = 0; i < n_bugs; i++) {
        char *text = NULL;
        size_t length;
        struct error err = {""};
        int as_labelled = 0;
        if (!bugs[i].missing_waits)
            continue;
        museum.file = open_memstream(&text, &length);
        enum status status = museum_show(&museum, &bugs[i], &as_labelled, &err);
        fclose(museum.file);
        ck_assert_msg(status == STATUS_OK && as_labelled, "%s: %s", bugs[i].name, err.text);
        ck_assert_msg(strstr(text, "wrong in 1000 of 1000 runs") != NULL, "%s", text);
        ck_assert_msg(strstr(text, "right in 1000 of 1000 runs") != NULL, "%s", text);
        free(text);
        n_shown++;
    }
    ck_assert_int_ge(n_shown, 5);
}
END_TEST

static Suite *cuda_suite(void)
{
    Suite *suite = suite_create("cuda");
    TCase *tcase = tcase_create("cuda alone");
    tcase_add_test(tcase, without_peer_access_the_bits_are_the_same);
    tcase_add_test(tcase, a_graph_without_peer_access_is_refused);
    tcase_add_test(tcase, two_devices_may_be_open_at_once);
    tcase_add_test(tcase, a_device_that_is_not_there_is_refused);
    tcase_add_test(tcase, untimed_events_have_no_time);
    tcase_add_test(tcase, times_need_a_sync);
    tcase_add_test(tcase, events_may_change_their_device);
    tcase_add_test(tcase, any_stream_may_copy);
    tcase_add_test(tcase, counts_pass_32_bits);
    tcase_add_test(tcase, the_inventory_describes_what_opens);
    tcase_add_test(tcase, missing_waits_show_every_time);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    struct device_inventory inventory;
    device_inventory(BACKEND_CUDA, &inventory);
    if (inventory.n_devices == 0) {
        printf("cuda suite: skipped: %s\n", inventory.why);
        return EXIT_SUCCESS;
    }
    SRunner *runner = srunner_create(device_contract_suite(BACKEND_CUDA, "device: cuda"));
    srunner_add_suite(runner, cuda_suite());
    srunner_add_suite(runner, run_contract_suite(BACKEND_CUDA, "run: cuda"));
    srunner_add_suite(runner, kernel_contract_suite());
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
