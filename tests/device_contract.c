/* device_contract.c - the promises of device.h, tried on whichever backend the caller names.
 *
 * All comparisons are of bits. Expected values come from arith.h and pattern.h, never from a
 * device. Loop tests carry the backend in their index: _i = backend * SPAN + case, so that no test
 * depends on a variable that another suite could change.
 */
#include "tests/device_contract.h"

#include <math.h>
#include <stdlib.h>

#define SPAN 32
#define BACKEND ((enum device_backend)(_i / SPAN))
#define CASE (_i % SPAN)

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

static const int ring_sizes[] = {1, 2, 3, 4, 5, 8};
#define N_RING_SIZES LENGTH(ring_sizes)

/* Opening. */

void contract_setup(struct contract_setup *out, enum device_backend backend, int n_ranks,
                    enum dtype dtype)
{
    struct device_inventory inventory;
    memset(out, 0, sizeof *out);
    device_inventory(backend, &inventory);
    for (int rank = 0; rank < n_ranks; rank++) {
        const int real = backend == BACKEND_CUDA && inventory.n_devices > 0;
        out->device_of[rank] = real ? rank % inventory.n_devices : rank;
    }
    int n_links = 0;
    for (int from = 0; from < n_ranks; from++)
        for (int to = 0; to < n_ranks; to++)
            if (from != to)
                out->links[n_links++] = (struct device_link){from, to};
    out->setup = (struct device_setup){
        .n_ranks = n_ranks, .device_of = out->device_of, .n_links = n_links,
        .links = out->links, .dtype = dtype, .timed = 1, .timeout_s = 30,
        .model = {.name = "test", .link_latency_ns = 1500, .link_GBps = 50,
                  .kernel_latency_ns = 2000, .memory_GBps = 1000},
    };
}

struct device *contract_open(enum device_backend backend, int n_ranks, enum dtype dtype,
                             int64_t data_count, int64_t inbox_count, int64_t n_events)
{
    struct contract_setup s;
    struct device *d = NULL;
    contract_setup(&s, backend, n_ranks, dtype);
    CONTRACT_OK(device_open(backend, &d, &s.setup, &err));
    CONTRACT_OK(d->verbs->alloc(d, data_count, inbox_count, n_events, &err));
    return d;
}

static struct span span(int rank, enum memory memory, int64_t first, int64_t count)
{
    return (struct span){rank, memory, first, count};
}

static void *buffer(enum dtype dtype, int64_t count)
{
    void *memory = calloc((size_t)count + 1, dtype_size(dtype));
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Values: every pair of special ones first, then anything. */

#define SPECIALS_OF_32                                                                          \
    0x7fc00001, 0xffc12345, 0x7f800001, 0xffffffff, 0x7fffffff, 0, 0x80000000, 0x7f800000,      \
    0xff800000, 0x7f7fffff, 0xff7fffff, 1, 0x80000001, 0x007fffff, 0x3f800000, 0xbfc00000,      \
    0x3dcccccd
#define N_SPECIALS 17
static const uint64_t specials[N_DTYPES][N_SPECIALS] = {
    [DTYPE_FLOAT32] = {SPECIALS_OF_32},
    [DTYPE_INT32] = {SPECIALS_OF_32},
    [DTYPE_FLOAT64] = {
        0x7ff8000000000001, 0xfff8000012345678, 0x7ff0000000000001, 0xffffffffffffffff,
        0x7fffffffffffffff, 0,                  0x8000000000000000, 0x7ff0000000000000,
        0xfff0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 1,
        0x8000000000000001, 0x000fffffffffffff, 0x3ff0000000000000, 0xbff8000000000000,
        0x3fb999999999999a,
    },
    [DTYPE_FLOAT16] = {
        0x7e01, 0xfe12, 0x7c01, 0xffff, 0x7fff, 0,      0x8000, 0x7c00, 0xfc00, 0x7bff, 0xfbff, 1,
        0x8001, 0x03ff, 0x3c00, 0xbe00, 0x2e66,
    },
    [DTYPE_BFLOAT16] = {
        0x7fc1, 0xffc2, 0x7f81, 0xffff, 0x7fff, 0,      0x8000, 0x7f80, 0xff80, 0x7f7f, 0xff7f, 1,
        0x8001, 0x007f, 0x3f80, 0xbfc0, 0x3dcd,
    },
};

static void fill_bits(enum dtype dtype, void *out, int64_t count, int second)
{
    const size_t size = dtype_size(dtype);
    for (int64_t i = 0; i < count; i++) {
        const int64_t which = (second ? i / N_SPECIALS : i) % N_SPECIALS;
        const uint64_t any = pattern_hash((uint64_t)i * 2 + (uint64_t)second);
        const int special = i < 2 * N_SPECIALS * N_SPECIALS;
        const uint64_t bits = special ? specials[dtype][which] : any;
        memcpy((char *)out + (size_t)i * size, &bits, size); /* its low bytes come first */
    }
}

#define REDUCED(D, T)                                                       \
    case D: {                                                               \
        T *a = (T *)to + to_first;                                          \
        const T *b = (const T *)from + from_first;                          \
        for (int64_t i = 0; i < count; i++)                                 \
            a[i] = op == REDOP_MIN    ? arith_min_##T(a[i], b[i])           \
                   : op == REDOP_MAX  ? arith_max_##T(a[i], b[i])           \
                   : op == REDOP_PROD ? arith_prod_##T(a[i], b[i])          \
                                      : arith_sum_##T(a[i], b[i]);          \
        return;                                                             \
    }
static void expect_reduced(enum dtype dtype, enum redop op, void *to, int64_t to_first,
                           const void *from, int64_t from_first, int64_t count)
{
    switch (dtype) {
        ARITH_TYPES(REDUCED)
    default: ck_abort_msg("no such type");
    }
}

#define SCALED(D, T)                                                        \
    case D:                                                                 \
        for (int64_t i = first; i < first + count; i++)                     \
            ((T *)at)[i] = arith_scale_##T(((T *)at)[i], n);                \
        return;
static void expect_scaled(enum dtype dtype, int n, void *at, int64_t first, int64_t count)
{
    switch (dtype) {
        ARITH_TYPES(SCALED)
    default: ck_abort_msg("no such type");
    }
}

static void expect_pattern(enum dtype dtype, struct pattern pattern, int rank, int iteration,
                           void *to, int64_t first, int64_t count)
{
    const uint64_t nan = dtype_nan(dtype);
    int stored = 1; /* asserted once: every ck_assert writes to a file */
    for (int64_t i = first; i < first + count; i++) {
        char *element = (char *)to + (size_t)i * dtype_size(dtype);
        const double value = pattern_value(pattern, dtype, rank, iteration, i);
        if (value == value)
            stored &= dtype_store(dtype, value, element);
        else
            memcpy(element, &nan, dtype_size(dtype));
    }
    ck_assert(stored);
}

static void same_bits(enum dtype dtype, const void *got, const void *expected, int64_t count,
                      const char *what)
{
    const size_t size = dtype_size(dtype);
    for (int64_t i = 0; i < count; i++)
        if (memcmp((const char *)got + (size_t)i * size, (const char *)expected + (size_t)i * size,
                   size) != 0)
            ck_abort_msg("%s: %s element %lld is %.17g, not %.17g (or in other bits)", what,
                         dtype_name(dtype), (long long)i,
                         dtype_load(dtype, (const char *)got + (size_t)i * size),
                         dtype_load(dtype, (const char *)expected + (size_t)i * size));
}

/* The whole of a memory, so that what lies beside a span is compared too. */
static void memory_is(struct device *d, enum dtype dtype, int rank, enum memory memory,
                      const void *expected, int64_t count, const char *what)
{
    void *got = buffer(dtype, count);
    CONTRACT_OK(d->verbs->get(d, span(rank, memory, 0, count), got, &err));
    same_bits(dtype, got, expected, count, what);
    free(got);
}

static void put_all(struct device *d, int rank, enum memory memory, const void *from,
                    int64_t count)
{
    CONTRACT_OK(d->verbs->put(d, span(rank, memory, 0, count), from, &err));
}

static void poison(enum dtype dtype, void *to, int64_t count)
{
    memset(to, 0xff, (size_t)count * dtype_size(dtype));
    for (int64_t i = 0; i < count; i++) /* the highest byte, little-endian */
        ((unsigned char *)to)[(size_t)(i + 1) * dtype_size(dtype) - 1] = 0x7f;
}

/* Memory. */

START_TEST(what_is_put_is_got)
{
    enum { COUNT = 1003 };
    const int n = ring_sizes[CASE];
    for (int t = 0; t < N_DTYPES; t++) {
        const enum dtype dtype = (enum dtype)t;
        struct device *d = contract_open(BACKEND, n, dtype, COUNT, COUNT, 0);
        char *bits = buffer(dtype, 2 * n * COUNT);
        fill_bits(dtype, bits, 2 * n * COUNT, 0);
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < 2 * n; i++) {
                char *mine = bits + (size_t)i * COUNT * dtype_size(dtype);
                const enum memory memory = i % 2 ? MEMORY_INBOX : MEMORY_DATA;
                if (pass == 0) {
                    put_all(d, i / 2, memory, mine, COUNT);
                    /* an odd stretch in the middle, from its own place */
                    memset(mine + 7 * dtype_size(dtype), 3, 500 * dtype_size(dtype));
                    CONTRACT_OK(d->verbs->put(d, span(i / 2, memory, 7, 500),
                                              mine + 7 * dtype_size(dtype), &err));
                } else {
                    memory_is(d, dtype, i / 2, memory, mine, COUNT, "put and get");
                    char part[5 * 8] = "";
                    CONTRACT_OK(d->verbs->get(d, span(i / 2, memory, 505, 5), part, &err));
                    same_bits(dtype, part, mine + 505 * dtype_size(dtype), 5, "a part");
                }
            }
        free(bits);
        d->verbs->close(d);
    }
}
END_TEST

START_TEST(addresses_are_those_of_the_elements)
{
    struct device *d = contract_open(BACKEND, 2, DTYPE_FLOAT64, 10, 5, 0);
    char *data[2];
    for (int rank = 0; rank < 2; rank++) {
        data[rank] = d->verbs->address(d, span(rank, MEMORY_DATA, 0, 10));
        ck_assert_ptr_nonnull(data[rank]);
        ck_assert_ptr_eq(d->verbs->address(d, span(rank, MEMORY_DATA, 7, 3)), data[rank] + 7 * 8);
        ck_assert_ptr_nonnull(d->verbs->address(d, span(rank, MEMORY_INBOX, 0, 5)));
    }
    ck_assert_ptr_ne(data[0], data[1]);
    ck_assert_ptr_null(d->verbs->address(d, span(0, MEMORY_DATA, 7, 4)));
    ck_assert_ptr_null(d->verbs->address(d, span(2, MEMORY_DATA, 0, 1)));
    d->verbs->close(d);
}
END_TEST

START_TEST(inboxes_start_as_nan)
{
    enum { COUNT = 1027 };
    for (int t = 0; t < N_DTYPES; t++) {
        struct device *d = contract_open(BACKEND, 3, (enum dtype)t, 8, COUNT, 0);
        void *expected = buffer((enum dtype)t, COUNT);
        poison((enum dtype)t, expected, COUNT);
        for (int rank = 0; rank < 3; rank++)
            memory_is(d, (enum dtype)t, rank, MEMORY_INBOX, expected, COUNT, "a new inbox");
        free(expected);
        d->verbs->close(d);
    }
}
END_TEST

START_TEST(memories_may_be_empty)
{
    static const int64_t counts[][2] = {{0, 0}, {0, 5}, {5, 0}};
    for (int i = 0; i < LENGTH(counts); i++) {
        struct device *d = contract_open(BACKEND, 2, DTYPE_FLOAT32, counts[i][0], counts[i][1], 2);
        const struct span data = span(0, MEMORY_DATA, counts[i][0], 0);
        const struct span inbox = span(0, MEMORY_INBOX, counts[i][1], 0);
        const struct span beyond = span(1, MEMORY_INBOX, 0, 0);
        char none[1] = "";
        CONTRACT_OK(d->verbs->put(d, data, none, &err));
        CONTRACT_OK(d->verbs->get(d, inbox, none, &err));
        CONTRACT_OK(d->verbs->copy(d, stream_id(0, LANE_SEND), data, beyond, &err));
        CONTRACT_OK(d->verbs->reduce(d, stream_id(0, LANE_REDUCE), REDOP_SUM, inbox, data, &err));
        CONTRACT_OK(d->verbs->scale(d, stream_id(0, LANE_REDUCE), 2, data, &err));
        CONTRACT_OK(d->verbs->compute(d, stream_id(0, LANE_COMPUTE), (struct pattern){0}, 0, 1, 0,
                                      data, &err));
        CONTRACT_OK(d->verbs->record(d, 0, stream_id(0, LANE_SEND), &err));
        CONTRACT_OK(d->verbs->wait(d, stream_id(1, LANE_REDUCE), 0, &err));
        CONTRACT_OK(d->verbs->record(d, 1, stream_id(1, LANE_REDUCE), &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        d->verbs->close(d);
    }
}
END_TEST

START_TEST(too_much_memory_is_refused)
{
    static const int64_t counts[][2] = {
        {(int64_t)1 << 60, 8}, {8, (int64_t)1 << 60}, {INT64_MAX, INT64_MAX}, {INT64_MAX / 16, 1},
    };
    for (int i = 0; i < LENGTH(counts); i++) {
        struct contract_setup s;
        struct device *d = NULL;
        contract_setup(&s, BACKEND, 3, i % 2 ? DTYPE_FLOAT64 : DTYPE_FLOAT32);
        CONTRACT_OK(device_open(BACKEND, &d, &s.setup, &err));
        CONTRACT_REFUSED(d->verbs->alloc(d, counts[i][0], counts[i][1], 4, &err));
        d->verbs->close(d);
    }
}
END_TEST

/* Ops. */

START_TEST(copies_reach_every_rank)
{
    enum { COUNT = 1003 };
    const int n = ring_sizes[CASE];
    const enum dtype dtype = (enum dtype)(CASE % N_DTYPES);
    const size_t size = dtype_size(dtype);
    struct device *d = contract_open(BACKEND, n, dtype, COUNT, COUNT, 0);
    char *data = buffer(dtype, COUNT), *expected = buffer(dtype, COUNT);
    fill_bits(dtype, data, COUNT, 0);
    for (int from = 0; from < n; from++) {
        put_all(d, from, MEMORY_DATA, data, COUNT);
        for (int to = 0; to < n; to++) {
            const int64_t first = 1 + from, there = 3 + to, count = 977 - from;
            poison(dtype, expected, COUNT);
            put_all(d, to, MEMORY_INBOX, expected, COUNT);
            CONTRACT_OK(d->verbs->copy(d, stream_id(from, LANE_SEND),
                                       span(from, MEMORY_DATA, first, count),
                                       span(to, MEMORY_INBOX, there, count), &err));
            CONTRACT_OK(d->verbs->sync(d, &err));
            memcpy(expected + (size_t)there * size, data + (size_t)first * size,
                   (size_t)count * size);
            memory_is(d, dtype, to, MEMORY_INBOX, expected, COUNT, "a copy");
        }
        memory_is(d, dtype, from, MEMORY_DATA, data, COUNT, "what was copied from");
    }
    free(data);
    free(expected);
    d->verbs->close(d);
}
END_TEST

/* CASE = dtype * N_REDOPS + redop */
START_TEST(reductions_have_the_bits_of_arith)
{
    enum { COUNT = 65537 + 4 };
    static const int64_t counts[] = {0, 1, 3, 4, 5, 1003, 65537};
    static const int64_t firsts[][2] = {{0, 0}, {1, 1}, {3, 3}, {1, 0}, {2, 3}, {0, 2}};
    const enum dtype dtype = (enum dtype)(CASE / N_REDOPS);
    const enum redop op = (enum redop)(CASE % N_REDOPS);
    struct device *d = contract_open(BACKEND, 2, dtype, COUNT, COUNT, 0);
    void *data = buffer(dtype, COUNT), *inbox = buffer(dtype, COUNT);
    fill_bits(dtype, inbox, COUNT, 1);
    for (int rank = 0; rank < 2; rank++)
        put_all(d, rank, MEMORY_INBOX, inbox, COUNT);
    for (int i = 0; i < LENGTH(counts) * LENGTH(firsts); i++) {
        const int64_t count = counts[i / LENGTH(firsts)];
        const int64_t *first = firsts[i % LENGTH(firsts)];
        const int rank = i % 2;
        fill_bits(dtype, data, COUNT, 0);
        put_all(d, rank, MEMORY_DATA, data, COUNT);
        CONTRACT_OK(d->verbs->reduce(d, stream_id(rank, LANE_REDUCE), op,
                                     span(rank, MEMORY_INBOX, first[1], count),
                                     span(rank, MEMORY_DATA, first[0], count), &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        expect_reduced(dtype, op, data, first[0], inbox, first[1], count);
        memory_is(d, dtype, rank, MEMORY_DATA, data, COUNT, redop_name(op));
    }
    memory_is(d, dtype, 0, MEMORY_INBOX, inbox, COUNT, "what was added");
    free(data);
    free(inbox);
    d->verbs->close(d);
}
END_TEST

START_TEST(scaling_has_the_bits_of_arith)
{
    enum { COUNT = 1003 };
    static const int ns[] = {1, 2, 3, 7, 1024};
    const enum dtype dtype = (enum dtype)CASE;
    struct device *d = contract_open(BACKEND, 1, dtype, COUNT, 0, 0);
    void *data = buffer(dtype, COUNT);
    for (int i = 0; i < LENGTH(ns); i++) {
        fill_bits(dtype, data, COUNT, i % 2);
        put_all(d, 0, MEMORY_DATA, data, COUNT);
        CONTRACT_OK(d->verbs->scale(d, stream_id(0, LANE_REDUCE), ns[i],
                                    span(0, MEMORY_DATA, i, 990), &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        expect_scaled(dtype, ns[i], data, i, 990);
        memory_is(d, dtype, 0, MEMORY_DATA, data, COUNT, "scale");
    }
    free(data);
    d->verbs->close(d);
}
END_TEST

START_TEST(computing_gives_the_pattern)
{
    enum { COUNT = 1003, RANKS = 3 };
    static const struct pattern patterns[] = {
        {PATTERN_INDEX, 0, 0},          {PATTERN_POWERS, 0, 0},
        {PATTERN_RANDOM, 1, 0},         {PATTERN_RANDOM, 0xfedcba9876543210, 0},
        {PATTERN_CONSTANT, 0, -7},      {PATTERN_CONSTANT, 0, 0.1},
        {PATTERN_CONSTANT, 0, -0.0},    {PATTERN_CONSTANT, 0, (double)INFINITY},
        {PATTERN_CONSTANT, 0, (double)NAN},
    };
    const enum dtype dtype = (enum dtype)CASE;
    const int n_patterns = dtype == DTYPE_INT32 ? 5 : LENGTH(patterns);
    struct device *d = contract_open(BACKEND, RANKS, dtype, COUNT, COUNT, 0);
    void *expected = buffer(dtype, COUNT);
    for (int i = 0; i < n_patterns * RANKS; i++) {
        const struct pattern pattern = patterns[i / RANKS];
        const enum memory memory = i % 2 ? MEMORY_INBOX : MEMORY_DATA;
        const int rank = i % RANKS, iteration = i / RANKS;
        poison(dtype, expected, COUNT);
        put_all(d, rank, memory, expected, COUNT);
        CONTRACT_OK(d->verbs->compute(d, stream_id(rank, LANE_COMPUTE), pattern, iteration, 1, 0,
                                      span(rank, memory, 1 + rank, 980), &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        expect_pattern(dtype, pattern, rank, iteration, expected, 1 + rank, 980);
        memory_is(d, dtype, rank, memory, expected, COUNT, "compute");
    }
    free(expected);
    d->verbs->close(d);
}
END_TEST

/* Order. */

/* Queues: the stream waits for `after` (-1: nothing), then event 2i marks the begin of op i. */
static void begin_op(struct device *d, int i, int stream, int after)
{
    if (after >= 0)
        CONTRACT_OK(d->verbs->wait(d, stream, 2 * after + 1, &err));
    CONTRACT_OK(d->verbs->record(d, 2 * i, stream, &err));
}

/* One value travels round the ring and grows: copy to the next rank, add, copy on. Op 0 to n-1 are
 * the computes, then copy and add alternate. Returns the number of ops. */
static int queue_chain(struct device *d, int n, int64_t count, int iteration)
{
    const struct pattern pattern = {PATTERN_INDEX, 0, 0};
    int op = 0;
    for (int rank = 0; rank < n; rank++, op++) {
        const int stream = stream_id(rank, LANE_COMPUTE);
        begin_op(d, op, stream, -1);
        CONTRACT_OK(d->verbs->compute(d, stream, pattern, iteration, 1, 0,
                                      span(rank, MEMORY_DATA, 0, count), &err));
        CONTRACT_OK(d->verbs->record(d, 2 * op + 1, stream, &err));
    }
    for (int from = 0; from < n; from++) {
        const int to = (from + 1) % n;
        const int send = stream_id(from, LANE_SEND), add = stream_id(to, LANE_REDUCE);
        begin_op(d, op, send, from == 0 ? 0 : op - 1);
        CONTRACT_OK(d->verbs->copy(d, send, span(from, MEMORY_DATA, 0, count),
                                   span(to, MEMORY_INBOX, 1, count), &err));
        CONTRACT_OK(d->verbs->record(d, 2 * op + 1, send, &err));
        op++;
        CONTRACT_OK(d->verbs->wait(d, add, 2 * to + 1, &err)); /* the receiver's compute */
        begin_op(d, op, add, op - 1);
        CONTRACT_OK(d->verbs->reduce(d, add, REDOP_SUM, span(to, MEMORY_INBOX, 1, count),
                                     span(to, MEMORY_DATA, 0, count), &err));
        CONTRACT_OK(d->verbs->record(d, 2 * op + 1, add, &err));
        op++;
    }
    return op;
}

static int64_t time_of(struct device *d, int64_t event)
{
    int64_t ns = INT64_MIN;
    CONTRACT_OK(d->verbs->elapsed(d, event, &ns, &err));
    return ns;
}

/* On several real GPUs two times compare within the uncertainty of both clocks and the 0.5 us to
 * which events are told; the simulated clock is exact. */
static void check_times(struct device *d, int n, int n_ops)
{
    const int64_t slack = d->facts.simulated ? 0 : 2 * d->facts.clock_error_ns + 1000;
    for (int op = 0; op < n_ops; op++) {
        const int64_t begin = time_of(d, 2 * op), end = time_of(d, 2 * op + 1);
        ck_assert_msg(begin >= -slack, "op %d begins at %lld ns", op, (long long)begin);
        ck_assert_msg(end >= begin, "op %d ends %lld ns before it begins", op,
                      (long long)(begin - end));
        if (op > n) { /* the chain: each waits for the one before */
            const int64_t before = time_of(d, 2 * (op - 1) + 1);
            ck_assert_msg(begin >= before - slack, "op %d begins %lld ns before op %d ends", op,
                          (long long)(before - begin), op - 1);
        }
    }
    ck_assert_int_gt(time_of(d, 2 * (n_ops - 1) + 1), 0);
}

START_TEST(waits_order_a_chain_across_ranks)
{
    enum { COUNT = 1 << 17 };
    const enum dtype dtype = DTYPE_FLOAT32;
    const struct pattern pattern = {PATTERN_INDEX, 0, 0};
    const int n = ring_sizes[CASE];
    struct device *d = contract_open(BACKEND, n, dtype, COUNT, COUNT + 1, 6 * n);
    void *expected = buffer(dtype, COUNT), *part = buffer(dtype, COUNT);
    for (int iteration = 0; iteration < 3; iteration++) { /* events are used again after a sync */
        const int n_ops = queue_chain(d, n, COUNT, iteration);
        CONTRACT_OK(d->verbs->sync(d, &err));
        check_times(d, n, n_ops);
        expect_pattern(dtype, pattern, 0, iteration, expected, 0, COUNT);
        for (int rank = 1; rank <= n; rank++) { /* rank 0 last: it adds what came all the way */
            expect_pattern(dtype, pattern, rank % n, iteration, part, 0, COUNT);
            expect_reduced(dtype, REDOP_SUM, expected, 0, part, 0, COUNT);
            memory_is(d, dtype, rank % n, MEMORY_DATA, expected, COUNT, "the chain");
        }
    }
    free(expected);
    free(part);
    d->verbs->close(d);
}
END_TEST

void contract_ring_step(struct device *d, int n, enum dtype dtype, int64_t count, int iteration)
{
    const struct pattern pattern = {PATTERN_RANDOM, 5, 0};
    for (int rank = 0; rank < n; rank++) { /* events 4r: computed, 4r+1: sent, 4r+2: added */
        const int compute = stream_id(rank, LANE_COMPUTE), send = stream_id(rank, LANE_SEND);
        CONTRACT_OK(d->verbs->compute(d, compute, pattern, iteration, 1, 0,
                                      span(rank, MEMORY_DATA, 0, count), &err));
        CONTRACT_OK(d->verbs->record(d, 4 * rank, compute, &err));
        CONTRACT_OK(d->verbs->wait(d, send, 4 * rank, &err));
        CONTRACT_OK(d->verbs->copy(d, send, span(rank, MEMORY_DATA, 0, count),
                                   span((rank + 1) % n, MEMORY_INBOX, 0, count), &err));
        CONTRACT_OK(d->verbs->record(d, 4 * rank + 1, send, &err));
    }
    for (int rank = 0; rank < n; rank++) {
        const int add = stream_id(rank, LANE_REDUCE), before = (rank + n - 1) % n;
        CONTRACT_OK(d->verbs->wait(d, add, 4 * before + 1, &err)); /* arrived */
        CONTRACT_OK(d->verbs->wait(d, add, 4 * rank + 1, &err));   /* drained */
        CONTRACT_OK(d->verbs->reduce(d, add, REDOP_SUM, span(rank, MEMORY_INBOX, 0, count),
                                     span(rank, MEMORY_DATA, 0, count), &err));
        CONTRACT_OK(d->verbs->record(d, 4 * rank + 2, add, &err));
    }
    CONTRACT_OK(d->verbs->sync(d, &err));
    void *expected = buffer(dtype, count), *arrived = buffer(dtype, count);
    for (int rank = 0; rank < n; rank++) {
        expect_pattern(dtype, pattern, rank, iteration, expected, 0, count);
        expect_pattern(dtype, pattern, (rank + n - 1) % n, iteration, arrived, 0, count);
        memory_is(d, dtype, rank, MEMORY_INBOX, arrived, count, "what arrived");
        expect_reduced(dtype, REDOP_SUM, expected, 0, arrived, 0, count);
        memory_is(d, dtype, rank, MEMORY_DATA, expected, count, "a ring step");
    }
    free(expected);
    free(arrived);
}

START_TEST(all_ranks_step_at_once)
{
    enum { COUNT = 40001 };
    const int n = ring_sizes[CASE];
    const enum dtype dtype = (enum dtype)(CASE % N_DTYPES);
    struct device *d = contract_open(BACKEND, n, dtype, COUNT, COUNT, 4 * n);
    for (int iteration = 0; iteration < 3; iteration++)
        contract_ring_step(d, n, dtype, COUNT, iteration);
    d->verbs->close(d);
}
END_TEST

/* A graph has no copies that go through the host: a test of it ends here, on such a machine. */
static int closed_if_staged(struct device *d)
{
    for (int i = 0; i < d->facts.n_links; i++)
        if (d->facts.paths[i] == PATH_STAGED) {
            d->verbs->close(d);
            return 1;
        }
    return 0;
}

/* A graph of the chain, launched again and again: the same bits, and times that keep the order. */
START_TEST(a_graph_is_launched_again_and_again)
{
    enum { COUNT = 1 << 15, ITERATION = 2 };
    const enum dtype dtype = DTYPE_FLOAT32;
    const struct pattern pattern = {PATTERN_INDEX, 0, 0};
    const int n = ring_sizes[CASE];
    struct device *d = contract_open(BACKEND, n, dtype, COUNT, COUNT + 1, 6 * n);
    if (closed_if_staged(d))
        return;
    void *expected = buffer(dtype, COUNT), *part = buffer(dtype, COUNT);
    for (int graph = 0; graph < 2; graph++) { /* the second takes the first one's place */
        int n_ops = 0;
        CONTRACT_OK(d->verbs->graph_begin(d, &err));
        n_ops = queue_chain(d, n, COUNT, ITERATION + graph);
        CONTRACT_OK(d->verbs->graph_end(d, &err));
        for (int launches = 1; launches <= 3; launches++) {
            for (int rank = 0; rank < n; rank++) { /* what is kept was not carried out */
                poison(dtype, expected, COUNT);
                put_all(d, rank, MEMORY_DATA, expected, COUNT);
                memory_is(d, dtype, rank, MEMORY_DATA, expected, COUNT, "before a launch");
            }
            for (int i = 0; i < launches; i++)
                CONTRACT_OK(d->verbs->graph_launch(d, &err));
            CONTRACT_OK(d->verbs->sync(d, &err));
            check_times(d, n, n_ops);
            expect_pattern(dtype, pattern, 0, ITERATION + graph, expected, 0, COUNT);
            for (int rank = 1; rank <= n; rank++) {
                expect_pattern(dtype, pattern, rank % n, ITERATION + graph, part, 0, COUNT);
                expect_reduced(dtype, REDOP_SUM, expected, 0, part, 0, COUNT);
                memory_is(d, dtype, rank % n, MEMORY_DATA, expected, COUNT, "a graph's chain");
            }
        }
        (void)queue_chain(d, n, COUNT, 7); /* and op by op in between, by the same events */
        CONTRACT_OK(d->verbs->sync(d, &err));
    }
    free(expected);
    free(part);
    d->verbs->close(d);
}
END_TEST

/* Each launch begins when the one before has ended: it goes on with what that one left. */
START_TEST(launches_follow_each_other)
{
    enum { COUNT = 1003, N = 3, LAUNCHES = 20 };
    struct device *d = contract_open(BACKEND, N, DTYPE_INT32, COUNT, COUNT, 2 * N);
    int32_t values[COUNT], ones[COUNT];
    int64_t before = 0, after = 0;
    if (closed_if_staged(d))
        return;
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    for (int rank = 0; rank < N; rank++)
        put_all(d, rank, MEMORY_DATA, ones, COUNT);
    CONTRACT_OK(d->verbs->graph_begin(d, &err)); /* each rank adds the sum of it and its left one */
    for (int rank = 0; rank < N; rank++) {
        CONTRACT_OK(d->verbs->copy(d, stream_id(rank, LANE_SEND), span(rank, MEMORY_DATA, 0, COUNT),
                                   span((rank + 1) % N, MEMORY_INBOX, 0, COUNT), &err));
        CONTRACT_OK(d->verbs->record(d, rank, stream_id(rank, LANE_SEND), &err));
    }
    for (int rank = 0; rank < N; rank++) {
        const int add = stream_id(rank, LANE_REDUCE);
        CONTRACT_OK(d->verbs->wait(d, add, rank, &err));
        CONTRACT_OK(d->verbs->wait(d, add, (rank + N - 1) % N, &err));
        CONTRACT_OK(d->verbs->reduce(d, add, REDOP_SUM, span(rank, MEMORY_INBOX, 0, COUNT),
                                     span(rank, MEMORY_DATA, 0, COUNT), &err));
        CONTRACT_OK(d->verbs->record(d, N + rank, add, &err));
    }
    CONTRACT_OK(d->verbs->graph_end(d, &err));
    for (int launch = 0; launch < LAUNCHES; launch++)
        CONTRACT_OK(d->verbs->graph_launch(d, &err));
    CONTRACT_OK(d->verbs->sync(d, &err));
    before = time_of(d, N);
    for (int rank = 0; rank < N; rank++) {
        CONTRACT_OK(d->verbs->get(d, span(rank, MEMORY_DATA, 0, COUNT), values, &err));
        for (int i = 0; i < COUNT; i++)
            ck_assert_int_eq(values[i], 1 << LAUNCHES);
    }
    CONTRACT_OK(d->verbs->graph_launch(d, &err));
    CONTRACT_OK(d->verbs->sync(d, &err));
    after = time_of(d, N);
    ck_assert_msg(before > after, "the last of %d launches ends at %ld ns, a single one at %ld ns",
                  LAUNCHES, (long)before, (long)after);
    d->verbs->close(d);
}
END_TEST

static void keep_scale(struct device *d)
{
    CONTRACT_OK(d->verbs->graph_begin(d, &err));
    CONTRACT_OK(d->verbs->scale(d, stream_id(0, LANE_REDUCE), 2, span(0, MEMORY_DATA, 0, 4), &err));
    CONTRACT_OK(d->verbs->record(d, 0, stream_id(0, LANE_REDUCE), &err));
}

START_TEST(misuse_of_a_graph_is_refused)
{
    const int s0 = stream_id(0, LANE_REDUCE), s1 = stream_id(1, LANE_REDUCE);
    const struct span a = span(0, MEMORY_DATA, 0, 4);
    struct device *d = contract_open(BACKEND, 2, DTYPE_FLOAT32, 10, 5, 4);
    float four[4] = {0};
    int64_t ns = 0;
    switch (CASE) {
    case 0: CONTRACT_REFUSED(d->verbs->graph_end(d, &err)); break;
    case 1: CONTRACT_REFUSED(d->verbs->graph_launch(d, &err)); break;
    case 2: keep_scale(d); CONTRACT_REFUSED(d->verbs->graph_begin(d, &err)); break;
    case 3: keep_scale(d); CONTRACT_REFUSED(d->verbs->graph_launch(d, &err)); break;
    case 4: keep_scale(d); CONTRACT_REFUSED(d->verbs->sync(d, &err)); break;
    case 5: keep_scale(d); CONTRACT_REFUSED(d->verbs->put(d, a, four, &err)); break;
    case 6: keep_scale(d); CONTRACT_REFUSED(d->verbs->get(d, a, four, &err)); break;
    case 7: keep_scale(d); CONTRACT_REFUSED(d->verbs->record(d, 0, s0, &err)); break; /* twice */
    case 8: keep_scale(d); CONTRACT_REFUSED(d->verbs->wait(d, s1, 1, &err)); break; /* never */
    case 9: /* recorded, but not in the graph */
        CONTRACT_OK(d->verbs->record(d, 1, s0, &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        keep_scale(d);
        CONTRACT_REFUSED(d->verbs->wait(d, s1, 1, &err));
        break;
    case 10: /* work is queued */
        CONTRACT_OK(d->verbs->scale(d, s0, 2, a, &err));
        CONTRACT_REFUSED(d->verbs->graph_begin(d, &err));
        break;
    case 11:
        keep_scale(d);
        CONTRACT_OK(d->verbs->graph_end(d, &err));
        CONTRACT_OK(d->verbs->scale(d, s0, 2, a, &err));
        CONTRACT_REFUSED(d->verbs->graph_launch(d, &err));
        break;
    case 12: /* behind a launch */
        keep_scale(d);
        CONTRACT_OK(d->verbs->graph_end(d, &err));
        CONTRACT_OK(d->verbs->graph_launch(d, &err));
        CONTRACT_REFUSED(d->verbs->scale(d, s0, 2, a, &err));
        break;
    case 13: /* kept, but not launched */
        keep_scale(d);
        CONTRACT_OK(d->verbs->graph_end(d, &err));
        CONTRACT_REFUSED(d->verbs->elapsed(d, 0, &ns, &err));
        break;
    case 14: /* recorded in a launch, but not since the last sync */
        keep_scale(d);
        CONTRACT_OK(d->verbs->graph_end(d, &err));
        CONTRACT_OK(d->verbs->graph_launch(d, &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        CONTRACT_REFUSED(d->verbs->wait(d, s1, 0, &err));
        break;
    default: /* what began is thrown away by close */
        keep_scale(d);
    }
    d->verbs->close(d);
}
END_TEST
#define N_GRAPH_MISUSES 16

/* Nothing to keep, or nothing but events: it can be launched all the same. */
START_TEST(a_graph_may_be_empty)
{
    struct device *d = contract_open(BACKEND, 2, DTYPE_FLOAT32, 4, 4, 2);
    for (int events = 0; events < 2; events++) {
        CONTRACT_OK(d->verbs->graph_begin(d, &err));
        if (events) {
            CONTRACT_OK(d->verbs->copy(d, stream_id(0, LANE_SEND), span(0, MEMORY_DATA, 0, 0),
                                       span(1, MEMORY_INBOX, 4, 0), &err));
            CONTRACT_OK(d->verbs->record(d, 0, stream_id(0, LANE_SEND), &err));
            CONTRACT_OK(d->verbs->wait(d, stream_id(1, LANE_REDUCE), 0, &err));
            CONTRACT_OK(d->verbs->reduce(d, stream_id(1, LANE_REDUCE), REDOP_SUM,
                                         span(1, MEMORY_INBOX, 0, 0), span(1, MEMORY_DATA, 0, 0),
                                         &err));
            CONTRACT_OK(d->verbs->record(d, 1, stream_id(1, LANE_REDUCE), &err));
        }
        CONTRACT_OK(d->verbs->graph_end(d, &err));
        CONTRACT_OK(d->verbs->graph_launch(d, &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
    }
    d->verbs->close(d);
}
END_TEST

/* Refusals: each case on a device of its own, since after a failure only close is of use. */

static enum status refused_span(struct device *d, int which, struct error *err)
{
    const struct span bad[] = {
        span(0, MEMORY_DATA, 0, 11),         span(0, MEMORY_DATA, 10, 1),
        span(0, MEMORY_DATA, -1, 2),         span(0, MEMORY_DATA, 0, -1),
        span(2, MEMORY_DATA, 0, 1),          span(-1, MEMORY_DATA, 0, 1),
        span(0, MEMORY_INBOX, 5, 1),         span(0, MEMORY_DATA, INT64_MAX, 1),
        span(0, MEMORY_DATA, 1, INT64_MAX),
    };
    const struct span good = span(0, MEMORY_DATA, 0, bad[which % 9].count);
    char memory[16 * 8] = "";
    const int stream = stream_id(0, LANE_SEND);
    switch (which / 9) {
    case 0: return d->verbs->put(d, bad[which % 9], memory, err);
    case 1: return d->verbs->get(d, bad[which % 9], memory, err);
    case 2: return d->verbs->copy(d, stream, bad[which % 9], good, err);
    case 3: return d->verbs->copy(d, stream, good, bad[which % 9], err);
    case 4: return d->verbs->reduce(d, stream, REDOP_SUM, bad[which % 9], good, err);
    case 5: return d->verbs->reduce(d, stream, REDOP_SUM, good, bad[which % 9], err);
    case 6: return d->verbs->scale(d, stream, 2, bad[which % 9], err);
    default: return d->verbs->compute(d, stream, (struct pattern){0}, 0, 1, 0, bad[which % 9], err);
    }
}

START_TEST(spans_beyond_a_memory_are_refused)
{
    for (int which = 9 * CASE; which < 9 * (CASE + 1); which++) {
        struct device *d = contract_open(BACKEND, 2, DTYPE_FLOAT32, 10, 5, 4);
        CONTRACT_REFUSED(refused_span(d, which, &err));
        d->verbs->close(d);
    }
}
END_TEST

START_TEST(misuse_is_refused)
{
    enum { N_EVENTS = 4 };
    const int s0 = stream_id(0, LANE_REDUCE), s1 = stream_id(1, LANE_REDUCE);
    const struct span a = span(0, MEMORY_DATA, 0, 4), b = span(0, MEMORY_INBOX, 0, 4);
    const struct span other = span(1, MEMORY_DATA, 0, 4), shorter = span(1, MEMORY_DATA, 0, 3);
    struct device *d = contract_open(BACKEND, 2, DTYPE_FLOAT32, 10, 5, N_EVENTS);
    int64_t ns = 0;
    float four[4] = {0};
    switch (CASE) {
    case 0: CONTRACT_REFUSED(d->verbs->wait(d, s1, 0, &err)); break; /* never recorded */
    case 1: CONTRACT_REFUSED(d->verbs->record(d, N_EVENTS, s0, &err)); break;
    case 2: CONTRACT_REFUSED(d->verbs->record(d, -1, s0, &err)); break;
    case 3: CONTRACT_REFUSED(d->verbs->wait(d, s0, N_EVENTS, &err)); break;
    case 4: CONTRACT_REFUSED(d->verbs->wait(d, s0, -1, &err)); break;
    case 5: CONTRACT_REFUSED(d->verbs->elapsed(d, N_EVENTS, &ns, &err)); break;
    case 6: CONTRACT_REFUSED(d->verbs->elapsed(d, 0, &ns, &err)); break; /* never recorded */
    case 7: CONTRACT_REFUSED(d->verbs->reduce(d, s1, REDOP_SUM, b, a, &err)); break;
    case 8: CONTRACT_REFUSED(d->verbs->reduce(d, s0, REDOP_SUM, b, other, &err)); break;
    case 9: CONTRACT_REFUSED(d->verbs->delay(d, s0, DEVICE_MAX_DELAY_NS + 1, &err)); break;
    case 10: CONTRACT_REFUSED(d->verbs->scale(d, s1, 2, a, &err)); break;
    case 11:
        CONTRACT_REFUSED(d->verbs->compute(d, s1, (struct pattern){0}, 0, 1, 0, a, &err));
        break;
    case 12: CONTRACT_REFUSED(d->verbs->copy(d, s0, a, shorter, &err)); break;
    case 13: CONTRACT_REFUSED(d->verbs->copy(d, 2 * N_LANES, a, other, &err)); break;
    case 14: CONTRACT_REFUSED(d->verbs->record(d, 0, -1, &err)); break;
    case 15: CONTRACT_REFUSED(d->verbs->scale(d, s0, 0, a, &err)); break;
    case 16: CONTRACT_REFUSED(d->verbs->reduce(d, s0, N_REDOPS, b, a, &err)); break;
    case 17: CONTRACT_REFUSED(d->verbs->alloc(d, 1, 1, 1, &err)); break; /* a second time */
    case 18: /* what is queued may still change it */
        CONTRACT_OK(d->verbs->scale(d, s0, 2, a, &err));
        CONTRACT_REFUSED(d->verbs->get(d, a, four, &err));
        break;
    case 19:
        CONTRACT_OK(d->verbs->scale(d, s0, 2, a, &err));
        CONTRACT_REFUSED(d->verbs->put(d, a, four, &err));
        break;
    case 20: CONTRACT_REFUSED(d->verbs->delay(d, 2 * N_LANES, 1, &err)); break;
    case 21: CONTRACT_REFUSED(d->verbs->delay(d, s0, -1, &err)); break;
    case 22:
        CONTRACT_REFUSED(d->verbs->compute(d, s0, (struct pattern){0}, 0, 1, -1, a, &err));
        break;
    default: /* recorded before the last sync does not count */
        CONTRACT_OK(d->verbs->record(d, 0, s0, &err));
        CONTRACT_OK(d->verbs->wait(d, s1, 0, &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        CONTRACT_REFUSED(d->verbs->wait(d, s1, 0, &err));
    }
    d->verbs->close(d);
}
END_TEST
#define N_MISUSES 24

/* A kernel reads another rank's memory only where the setup names the link, and where the machine
 * has the path. */
START_TEST(kernels_reach_over_links_only)
{
    enum { COUNT = 1001 };
    for (int with = 0; with < 2; with++) {
        struct contract_setup s;
        struct device *d = NULL;
        float a[COUNT], b[COUNT], got[COUNT];
        const struct span from = span(1, MEMORY_DATA, 0, COUNT);
        const struct span to = span(0, MEMORY_DATA, 0, COUNT);
        contract_setup(&s, BACKEND, 2, DTYPE_FLOAT32);
        s.setup.n_links *= with;
        CONTRACT_OK(device_open(BACKEND, &d, &s.setup, &err));
        int same = s.device_of[0] == s.device_of[1];
        int may = with ? d->facts.paths[0] != PATH_STAGED : BACKEND == BACKEND_CUDA && same;
        CONTRACT_OK(d->verbs->alloc(d, COUNT, 0, 1, &err));
        for (int i = 0; i < COUNT; i++) {
            a[i] = (float)i;
            b[i] = (float)(1000 - 3 * i);
        }
        CONTRACT_OK(d->verbs->put(d, to, a, &err));
        CONTRACT_OK(d->verbs->put(d, from, b, &err));
        if (may) {
            CONTRACT_OK(d->verbs->reduce(d, stream_id(0, LANE_REDUCE), REDOP_SUM, from, to, &err));
            CONTRACT_OK(d->verbs->sync(d, &err));
            CONTRACT_OK(d->verbs->get(d, to, got, &err));
            for (int i = 0; i < COUNT; i++)
                ck_assert(got[i] == (float)(1000 - 2 * i));
        } else {
            CONTRACT_REFUSED(
                d->verbs->reduce(d, stream_id(0, LANE_REDUCE), REDOP_SUM, from, to, &err));
        }
        d->verbs->close(d);
    }
}
END_TEST

/* What follows a delay on its stream comes so much later; other streams do not care. */
START_TEST(a_delay_holds_its_stream_back)
{
    enum { NS = 2000000 };
    struct device *d = contract_open(BACKEND, 2, DTYPE_FLOAT32, 4, 4, 4);
    int64_t begin, end, other;
    const int s0 = stream_id(0, LANE_SEND), s1 = stream_id(1, LANE_SEND);
    CONTRACT_OK(d->verbs->record(d, 0, s0, &err));
    CONTRACT_OK(d->verbs->delay(d, s0, NS, &err));
    CONTRACT_OK(d->verbs->record(d, 1, s0, &err));
    CONTRACT_OK(d->verbs->copy(d, s1, span(1, MEMORY_DATA, 0, 4), span(0, MEMORY_INBOX, 0, 4),
                               &err));
    CONTRACT_OK(d->verbs->record(d, 2, s1, &err));
    CONTRACT_OK(d->verbs->sync(d, &err));
    CONTRACT_OK(d->verbs->elapsed(d, 0, &begin, &err));
    CONTRACT_OK(d->verbs->elapsed(d, 1, &end, &err));
    CONTRACT_OK(d->verbs->elapsed(d, 2, &other, &err));
    ck_assert_msg(end - begin >= NS - NS / 100, "%ld ns", (long)(end - begin));
    ck_assert_msg(other < end, "%ld and %ld ns", (long)other, (long)end);
    d->verbs->close(d);
}
END_TEST

/* A compute takes the time it is given, whatever it does in it, and writes all the same; here
 * divided by 4. */
START_TEST(a_compute_takes_its_time)
{
    enum { COUNT = 1003, NS = 2000000 };
    const int s0 = stream_id(0, LANE_COMPUTE);
    const struct pattern pattern = {.kind = PATTERN_CONSTANT, .constant = 5};
    for (int work = 0; work < N_WORKS; work++) {
        struct contract_setup s;
        struct device *d = NULL;
        int64_t begin, end;
        float got[COUNT];
        contract_setup(&s, BACKEND, 1, DTYPE_FLOAT32);
        s.setup.work = (enum device_work)work;
        CONTRACT_OK(device_open(BACKEND, &d, &s.setup, &err));
        CONTRACT_OK(d->verbs->alloc(d, COUNT, 0, 2, &err));
        CONTRACT_OK(d->verbs->record(d, 0, s0, &err));
        CONTRACT_OK(d->verbs->compute(d, s0, pattern, 0, 4, NS, span(0, MEMORY_DATA, 0, COUNT),
                                      &err));
        CONTRACT_OK(d->verbs->record(d, 1, s0, &err));
        CONTRACT_OK(d->verbs->sync(d, &err));
        CONTRACT_OK(d->verbs->elapsed(d, 0, &begin, &err));
        CONTRACT_OK(d->verbs->elapsed(d, 1, &end, &err));
        ck_assert_msg(end - begin >= NS - NS / 4, "work %d: %ld ns", work, (long)(end - begin));
        CONTRACT_OK(d->verbs->get(d, span(0, MEMORY_DATA, 0, COUNT), got, &err));
        for (int i = 0; i < COUNT; i++)
            ck_assert(got[i] == 1.25f);
        d->verbs->close(d);
    }
}
END_TEST

/* Opening, closing, facts. */

START_TEST(close_takes_everything)
{
    struct contract_setup s;
    struct device *d = NULL;
    contract_setup(&s, BACKEND, 2, DTYPE_FLOAT64);
    CONTRACT_OK(device_open(BACKEND, &d, &s.setup, &err));
    const struct device_verbs *verbs = d->verbs;
    verbs->close(NULL);
    verbs->close(d); /* before alloc */

    d = contract_open(BACKEND, 2, DTYPE_FLOAT64, 4096, 4096, 2); /* with work still queued */
    CONTRACT_OK(d->verbs->compute(d, stream_id(0, LANE_COMPUTE), (struct pattern){0}, 0, 1, 0,
                                  span(0, MEMORY_DATA, 0, 4096), &err));
    CONTRACT_OK(d->verbs->copy(d, stream_id(0, LANE_COMPUTE), span(0, MEMORY_DATA, 0, 4096),
                               span(1, MEMORY_INBOX, 0, 4096), &err));
    CONTRACT_OK(d->verbs->record(d, 0, stream_id(0, LANE_COMPUTE), &err));
    d->verbs->close(d);

    d = contract_open(BACKEND, 2, DTYPE_FLOAT64, 4, 4, 0); /* with none, and a sync for nothing */
    CONTRACT_OK(d->verbs->sync(d, &err));
    CONTRACT_OK(d->verbs->sync(d, &err));
    d->verbs->close(d);
}
END_TEST

START_TEST(facts_are_filled)
{
    for (int i = 0; i < N_RING_SIZES; i++) {
        struct contract_setup s;
        struct device *d = NULL;
        contract_setup(&s, BACKEND, ring_sizes[i], DTYPE_FLOAT32);
        CONTRACT_OK(device_open(BACKEND, &d, &s.setup, &err));
        ck_assert_int_eq(d->facts.simulated, BACKEND == BACKEND_HOST);
        ck_assert_str_eq(d->verbs->name, BACKEND == BACKEND_HOST ? "host" : "cuda");
        int n_devices = 0;
        for (int rank = 0; rank < ring_sizes[i]; rank++) {
            int seen = 0;
            for (int earlier = 0; earlier < rank; earlier++)
                seen |= s.device_of[earlier] == s.device_of[rank];
            n_devices += !seen;
            ck_assert_msg(d->facts.names[rank][0], "rank %d has no name", rank);
        }
        ck_assert_int_eq(d->facts.n_devices, n_devices);
        for (int link = 0; link < s.setup.n_links; link++) {
            const int same = s.device_of[s.links[link].from] == s.device_of[s.links[link].to];
            const enum device_path path = d->facts.paths[link];
            ck_assert_int_lt((int)path, N_PATHS);
            if (BACKEND == BACKEND_HOST)
                ck_assert(path == PATH_MODEL);
            else
                ck_assert(same ? path == PATH_SAME : path == PATH_PEER || path == PATH_STAGED);
        }
        ck_assert_int_ge(d->facts.clock_error_ns, 0);
        d->verbs->close(d);
    }
}
END_TEST

Suite *device_contract_suite(enum device_backend backend, const char *name)
{
    const int base = (int)backend * SPAN;
    const struct {
        const char *name;
        const TTest *test;
        int n_cases;
    } tests[] = {
        {"put and get", what_is_put_is_got, N_RING_SIZES},
        {"addresses", addresses_are_those_of_the_elements, 1},
        {"inboxes", inboxes_start_as_nan, 1},
        {"empty memories", memories_may_be_empty, 1},
        {"too much memory", too_much_memory_is_refused, 1},
        {"copies", copies_reach_every_rank, N_RING_SIZES},
        {"reductions", reductions_have_the_bits_of_arith, N_DTYPES * N_REDOPS},
        {"scaling", scaling_has_the_bits_of_arith, N_DTYPES},
        {"computing", computing_gives_the_pattern, N_DTYPES},
        {"a chain", waits_order_a_chain_across_ranks, N_RING_SIZES},
        {"all at once", all_ranks_step_at_once, N_RING_SIZES},
        {"a graph", a_graph_is_launched_again_and_again, N_RING_SIZES},
        {"launches", launches_follow_each_other, 1},
        {"misuse of a graph", misuse_of_a_graph_is_refused, N_GRAPH_MISUSES},
        {"an empty graph", a_graph_may_be_empty, 1},
        {"bad spans", spans_beyond_a_memory_are_refused, 8},
        {"misuse", misuse_is_refused, N_MISUSES},
        {"reach", kernels_reach_over_links_only, 1},
        {"delay", a_delay_holds_its_stream_back, 1},
        {"work", a_compute_takes_its_time, 1},
        {"close", close_takes_everything, 1},
        {"facts", facts_are_filled, 1},
    };
    Suite *suite = suite_create(name);
    for (int i = 0; i < LENGTH(tests); i++) {
        TCase *tcase = tcase_create(tests[i].name);
        tcase_set_timeout(tcase, 60);
        tcase_add_loop_test(tcase, tests[i].test, base, base + tests[i].n_cases);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}
