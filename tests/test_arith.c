/* test_arith.c - the rules of arith.h and the promises of pattern.h, element by element. */
#include <float.h>
#include <math.h>

#include "common/arith.h"
#include "common/pattern.h"
#include "tests/suites.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* --- arith.h --- */

static const uint32_t nans32[] = {0x7fffffff, 0xffffffff, 0x7fc00000, 0xffc00000, 0x7fc01234,
                                  0x7f800001, 0xff800001};
static const uint64_t nans64[] = {0x7fffffffffffffff, 0xffffffffffffffff, 0x7ff8000000000000,
                                  0xfff8000000000000, 0x7ff8000000001234, 0x7ff0000000000001,
                                  0xfff0000000000001};

/* A NaN of any payload, on either side of a number, an infinity or another NaN, in every op. */
#define TEST_NANS(T, NANS, NAN_BITS)                                                              \
    START_TEST(nan_is_canonical_##T)                                                              \
    {                                                                                             \
        static T (*const ops[])(T, T) = {arith_sum_##T, arith_prod_##T, arith_min_##T,            \
                                         arith_max_##T};                                          \
        const T others[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN};                            \
        for (int n = 0; n < COUNT(NANS); n++) {                                                   \
            T nan = arith_from_bits_##T(NANS[n]);                                                 \
            ck_assert(arith_bits_##T(arith_canonical_##T(nan)) == (NAN_BITS));                    \
            ck_assert(arith_bits_##T(arith_scale_##T(nan, 3)) == (NAN_BITS));                     \
            for (int i = 0; i < COUNT(ops) * COUNT(others); i++) {                                \
                T other = others[i % COUNT(others)];                                              \
                T left = ops[i / COUNT(others)](nan, other);                                      \
                T right = ops[i / COUNT(others)](other, nan);                                     \
                ck_assert_msg(arith_bits_##T(left) == (NAN_BITS), "op %d, nan %d", i, n);         \
                ck_assert_msg(arith_bits_##T(right) == (NAN_BITS), "op %d, nan %d", i, n);        \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    END_TEST                                                                                      \
    START_TEST(invalid_is_canonical_##T)                                                          \
    {                                                                                             \
        T inf = INFINITY;                                                                         \
        ck_assert(arith_bits_##T(arith_sum_##T(inf, -inf)) == (NAN_BITS));                        \
        ck_assert(arith_bits_##T(arith_sum_##T(-inf, inf)) == (NAN_BITS));                        \
        ck_assert(arith_bits_##T(arith_prod_##T(0, inf)) == (NAN_BITS));                          \
        ck_assert(arith_bits_##T(arith_prod_##T(-inf, 0)) == (NAN_BITS));                         \
        ck_assert(arith_sum_##T(inf, inf) == inf && arith_prod_##T(inf, -inf) == -inf);           \
        ck_assert(arith_canonical_##T(-inf) == -inf && arith_canonical_##T(1.5) == (T)1.5);       \
    }                                                                                             \
    END_TEST

TEST_NANS(float, nans32, 0x7fffffffu)
TEST_NANS(double, nans64, 0x7fffffffffffffffull)

#define SIGN_OF(x) ((x) == 0 ? (signbit(x) ? -1 : 1) : 0) /* -1 is -0, 1 is +0 */

#define TEST_ZEROS(T)                                                                             \
    START_TEST(zeros_keep_their_order_##T)                                                        \
    {                                                                                             \
        T p = 0, m = -p;                                                                          \
        ck_assert(SIGN_OF(m) == -1);                                                              \
        ck_assert(SIGN_OF(arith_min_##T(p, m)) == -1 && SIGN_OF(arith_min_##T(m, p)) == -1);      \
        ck_assert(SIGN_OF(arith_min_##T(p, p)) == 1 && SIGN_OF(arith_min_##T(m, m)) == -1);       \
        ck_assert(SIGN_OF(arith_max_##T(p, m)) == 1 && SIGN_OF(arith_max_##T(m, p)) == 1);        \
        ck_assert(SIGN_OF(arith_max_##T(p, p)) == 1 && SIGN_OF(arith_max_##T(m, m)) == -1);       \
        ck_assert(SIGN_OF(arith_sum_##T(p, m)) == 1 && SIGN_OF(arith_sum_##T(m, p)) == 1);        \
        ck_assert(SIGN_OF(arith_sum_##T(m, m)) == -1 && SIGN_OF(arith_sum_##T(1, -1)) == 1);      \
        ck_assert(SIGN_OF(arith_prod_##T(m, 1)) == -1 && SIGN_OF(arith_prod_##T(m, -1)) == 1);    \
        ck_assert(SIGN_OF(arith_scale_##T(m, 3)) == -1);                                          \
    }                                                                                             \
    END_TEST                                                                                      \
    START_TEST(smaller_and_larger_##T)                                                            \
    {                                                                                             \
        const T sorted[] = {-INFINITY, -2, -1, 0, 1, 2, INFINITY};                                \
        for (int a = 0; a < COUNT(sorted); a++)                                                   \
            for (int b = 0; b < COUNT(sorted); b++) {                                             \
                ck_assert(arith_min_##T(sorted[a], sorted[b]) == sorted[a < b ? a : b]);          \
                ck_assert(arith_max_##T(sorted[a], sorted[b]) == sorted[a > b ? a : b]);          \
            }                                                                                     \
    }                                                                                             \
    END_TEST

TEST_ZEROS(float)
TEST_ZEROS(double)

START_TEST(floats_round_once)
{
    ck_assert(arith_sum_float(16777216.0f, 1.0f) == 16777216.0f);
    ck_assert(arith_sum_float(FLT_MAX, FLT_MAX) == INFINITY);
    ck_assert(arith_prod_float(0.1f, 3.0f) == 0.1f * 3.0f);
    ck_assert(arith_prod_float(FLT_MIN, 0.5f) == FLT_MIN / 2); /* subnormal, not flushed */
    ck_assert(arith_scale_float(7.0f, 3) == 7.0f * (float)(1.0 / 3));
    ck_assert(arith_scale_float(10.0f, 3) != 10.0f / 3); /* a product, not a quotient */
    ck_assert(arith_scale_double(7.0, 3) == 7.0 * (1.0 / 3));
    ck_assert(arith_scale_double(-8.0, 4) == -2.0);
}
END_TEST

START_TEST(int32_wraps)
{
    ck_assert_int_eq(arith_sum_int32_t(INT32_MAX, 1), INT32_MIN);
    ck_assert_int_eq(arith_sum_int32_t(INT32_MIN, -1), INT32_MAX);
    ck_assert_int_eq(arith_sum_int32_t(INT32_MIN, INT32_MIN), 0);
    ck_assert_int_eq(arith_prod_int32_t(INT32_MIN, -1), INT32_MIN);
    ck_assert_int_eq(arith_prod_int32_t(-1, INT32_MIN), INT32_MIN);
    ck_assert_int_eq(arith_prod_int32_t(INT32_MIN, INT32_MIN), 0);
    ck_assert_int_eq(arith_prod_int32_t(65536, 65536), 0);
    ck_assert_int_eq(arith_prod_int32_t(INT32_MAX, INT32_MAX), 1);
    ck_assert_int_eq(arith_prod_int32_t(-7, 3), -21);
}
END_TEST

START_TEST(int32_smaller_and_larger)
{
    static const int32_t sorted[] = {INT32_MIN, -1, 0, 1, INT32_MAX};
    for (int a = 0; a < COUNT(sorted); a++)
        for (int b = 0; b < COUNT(sorted); b++) {
            ck_assert_int_eq(arith_min_int32_t(sorted[a], sorted[b]), sorted[a < b ? a : b]);
            ck_assert_int_eq(arith_max_int32_t(sorted[a], sorted[b]), sorted[a > b ? a : b]);
        }
}
END_TEST

START_TEST(int32_avg_truncates_toward_zero)
{
    static const int cases[][3] = {{7, 2, 3},   {-7, 2, -3}, {1, 2, 0},   {-1, 2, 0},
                                   {-8, 3, -2}, {8, 3, 2},   {-9, 3, -3}, {INT32_MIN, 1, INT32_MIN},
                                   {INT32_MIN, 2, -1073741824}, {INT32_MAX, 4, 536870911}};
    for (int i = 0; i < COUNT(cases); i++)
        ck_assert_int_eq(arith_scale_int32_t(cases[i][0], cases[i][1]), cases[i][2]);
}
END_TEST

START_TEST(types_are_listed_once_each)
{
    int seen[N_DTYPES] = {0};
#define CHECK_TYPE(DTYPE, T)                             \
    seen[DTYPE]++;                                       \
    ck_assert_uint_eq(sizeof(T), dtype_size(DTYPE));
    ARITH_TYPES(CHECK_TYPE)
    for (int i = 0; i < N_DTYPES; i++)
        ck_assert_int_eq(seen[i], 1);
}
END_TEST

/* --- pattern.h --- */

static int exact(enum dtype dtype, double value)
{
    unsigned char element[16];
    return dtype_store(dtype, value, element) && dtype_load(dtype, element) == value;
}

/* All of a period's ranks in types that have room for them; in bfloat16 any 13 neighbours. */
START_TEST(index_differs_by_rank_element_and_iteration)
{
    static const int64_t elements[] = {0, 1, 250, 251, 1000003, INT64_C(1) << 40};
    struct pattern p = {.kind = PATTERN_INDEX};
    for (int e = 0; e < COUNT(elements) * N_DTYPES; e++) {
        const enum dtype dtype = (enum dtype)(e / COUNT(elements));
        const int64_t element = elements[e % COUNT(elements)];
        const int apart = dtype == DTYPE_BFLOAT16 ? 13 : PATTERN_PERIOD;
        int seen[PATTERN_PERIOD] = {0};
        for (int rank = 0; rank < PATTERN_PERIOD; rank++) {
            double v = pattern_value(p, dtype, rank, 0, element);
            ck_assert(v >= 0 && v < pattern_index_end(dtype) && v == floor(v));
            ck_assert(seen[(int)v] == 0 || rank + 1 - seen[(int)v] >= apart);
            seen[(int)v] = rank + 1;
        }
        for (int rank = 0; rank < 1024; rank += 31) {
            double v = pattern_value(p, dtype, rank, 0, element);
            ck_assert(v != pattern_value(p, dtype, rank, 1, element));
            ck_assert(v != pattern_value(p, dtype, rank, 0, element + 1));
            ck_assert(v == pattern_value(p, dtype, rank, 0, element + PATTERN_PERIOD));
        }
    }
    ck_assert(pattern_value(p, DTYPE_INT32, 2, 3, 10) == (10 + 62 + 303) % 251);
    ck_assert(pattern_value(p, DTYPE_FLOAT16, 2, 3, 10) == (10 + 62 + 303) % 251);
    ck_assert(pattern_value(p, DTYPE_BFLOAT16, 2, 3, 10) == (10 + 62 + 303) % 251 % 29);
}
END_TEST

/* So many ranks as are promised, and no more: the largest numbers, added one by one. */
START_TEST(sums_of_the_index_are_exact)
{
    for (int t = 0; t < N_DTYPES; t++) {
        const enum dtype dtype = (enum dtype)t;
        const double most = pattern_index_end(dtype) - 1;
        for (int n = 1; n < 100; n++) {
            int all_exact = 1;
            for (int sum = 0; sum <= n * (int)most; sum++)
                all_exact &= exact(dtype, sum);
            ck_assert_int_eq(pattern_is_exact(dtype, 0, n), all_exact);
        }
    }
    ck_assert(pattern_is_exact(DTYPE_FLOAT16, 0, 8) && !pattern_is_exact(DTYPE_FLOAT16, 0, 9));
    ck_assert(pattern_is_exact(DTYPE_BFLOAT16, 0, 9) && !pattern_is_exact(DTYPE_BFLOAT16, 0, 10));
    ck_assert(pattern_is_exact(DTYPE_FLOAT32, 0, 60000));
    ck_assert(!pattern_is_exact(DTYPE_FLOAT32, 0, 70000));
}
END_TEST

/* Of all ranks whose factors are above 1, and of all whose factors are below. */
START_TEST(products_of_the_powers_are_exact_in_any_order)
{
    struct pattern p = {.kind = PATTERN_POWERS};
    for (int t = 0; t < N_DTYPES; t++)
        for (int n = 1; n <= 14; n++)
            for (int64_t element = 0; element < PATTERN_PERIOD; element++) {
                double large = 1, small = 1;
                for (int rank = 0; rank < n; rank++) {
                    double v = pattern_value(p, (enum dtype)t, rank, 0, element);
                    large *= fabs(v) > 1 ? v : 1;
                    small *= fabs(v) < 1 ? v : 1;
                }
                if (!pattern_is_exact((enum dtype)t, 1, n) || !exact((enum dtype)t, large) ||
                    !exact((enum dtype)t, small))
                    ck_abort_msg("%s, %d ranks: %g, %g", dtype_name((enum dtype)t), n, large,
                                 small);
            }
    ck_assert(!pattern_is_exact(DTYPE_FLOAT16, 1, 16));
}
END_TEST

/* The ring multiplies neighbours, beginning anywhere: every run of the cycle 0 .. n - 1. */
static void check_products(enum dtype dtype, int n, int64_t element, int iteration)
{
    struct pattern p = {.kind = PATTERN_POWERS};
    for (int start = 0; start < n; start++) {
        double product = 1;
        for (int i = 0; i < n; i++) {
            double v = pattern_value(p, dtype, (start + i) % n, iteration, element);
            product *= v;
            /* far from the smallest and largest of every type, half precision included */
            int small = fabs(product) <= 32768 && fabs(product) >= 1.0 / 16384;
            if (!small || !exact(dtype, v) || !exact(dtype, product)) /* an assertion is slow */
                ck_abort_msg("%s, %d ranks from %d, element %lld: %g", dtype_name(dtype), n, start,
                             (long long)element, product);
        }
    }
}

START_TEST(powers_stay_exact)
{
    for (int t = 0; t < N_DTYPES; t++)
        for (int n = 1; n <= 40; n++)
            for (int64_t element = 0; element < PATTERN_PERIOD; element++)
                check_products((enum dtype)t, n, element, (int)element % 3);
}
END_TEST

START_TEST(powers_repeat_and_vary)
{
    struct pattern p = {.kind = PATTERN_POWERS};
    for (int t = 0; t < N_DTYPES; t++) {
        int n_different = 0, n_negative = 0;
        for (int64_t e = 0; e < PATTERN_PERIOD; e++) {
            double v = pattern_value(p, (enum dtype)t, 1, 0, e);
            ck_assert(v == pattern_value(p, (enum dtype)t, 1, 0, e + 4 * PATTERN_PERIOD));
            n_different += v != pattern_value(p, (enum dtype)t, 2, 0, e);
            n_negative += v < 0;
        }
        ck_assert_int_gt(n_different, PATTERN_PERIOD / 2);
        ck_assert(n_negative > 50 && n_negative < 200);
    }
}
END_TEST

START_TEST(random_is_exact_and_in_range)
{
    struct pattern p = {.kind = PATTERN_RANDOM, .seed = 7};
    for (int t = 0; t < N_DTYPES; t++) {
        double sum = 0, most = -INFINITY, least = INFINITY;
        for (int64_t e = 0; e < 20000; e++) {
            double v = pattern_value(p, (enum dtype)t, 3, 1, e);
            if (!exact((enum dtype)t, v))
                ck_abort_msg("%s: %.17g", dtype_name((enum dtype)t), v);
            sum += v;
            most = v > most ? v : most;
            least = v < least ? v : least;
        }
        double range = dtype_is_float((enum dtype)t) ? 1 : 1000;
        ck_assert(least >= -range && most <= range && (range > 1 || most < 1));
        ck_assert(least < -0.99 * range && most > 0.99 * range);
        ck_assert(fabs(sum / 20000) < 0.02 * range);
    }
}
END_TEST

START_TEST(random_differs_by_everything)
{
    struct pattern p = {.kind = PATTERN_RANDOM, .seed = 7}, q = p;
    q.seed = 8;
    for (int t = 0; t < N_DTYPES; t++) {
        enum dtype dtype = (enum dtype)t;
        int same[5] = {0};
        for (int64_t e = 0; e < 1000; e++) {
            double v = pattern_value(p, dtype, 3, 1, e);
            same[0] += v == pattern_value(q, dtype, 3, 1, e);
            same[1] += v == pattern_value(p, dtype, 4, 1, e);
            same[2] += v == pattern_value(p, dtype, 3, 2, e);
            same[3] += v == pattern_value(p, dtype, 3, 1, e + 1);
            same[4] += v == pattern_value(p, dtype, 1, 3, e);
            ck_assert(v == pattern_value(p, dtype, 3, 1, e));
        }
        for (int i = 0; i < COUNT(same); i++)
            ck_assert_msg(same[i] < 10, "%s: %d equal in case %d", dtype_name(dtype), same[i], i);
    }
}
END_TEST

START_TEST(hash_is_splitmix64) /* the first outputs of the generator with state 0 */
{
    ck_assert(pattern_hash(0) == 0xe220a8397b1dcdafull);
    ck_assert(pattern_hash(0x9e3779b97f4a7c15ull) == 0x6e789e6aa1b965f4ull);
}
END_TEST

START_TEST(constant_is_constant)
{
    struct pattern p = {.kind = PATTERN_CONSTANT, .constant = -2.5};
    for (int i = 0; i < 1000; i++)
        ck_assert(pattern_value(p, DTYPE_FLOAT64, i, i, i) == -2.5);
}
END_TEST

Suite *arith_suite(void)
{
    Suite *suite = suite_create("arith");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, nan_is_canonical_float);
    tcase_add_test(tests, nan_is_canonical_double);
    tcase_add_test(tests, invalid_is_canonical_float);
    tcase_add_test(tests, invalid_is_canonical_double);
    tcase_add_test(tests, zeros_keep_their_order_float);
    tcase_add_test(tests, zeros_keep_their_order_double);
    tcase_add_test(tests, smaller_and_larger_float);
    tcase_add_test(tests, smaller_and_larger_double);
    tcase_add_test(tests, floats_round_once);
    tcase_add_test(tests, int32_wraps);
    tcase_add_test(tests, int32_smaller_and_larger);
    tcase_add_test(tests, int32_avg_truncates_toward_zero);
    tcase_add_test(tests, types_are_listed_once_each);
    tcase_add_test(tests, index_differs_by_rank_element_and_iteration);
    tcase_add_test(tests, sums_of_the_index_are_exact);
    tcase_add_test(tests, products_of_the_powers_are_exact_in_any_order);
    tcase_add_test(tests, powers_stay_exact);
    tcase_add_test(tests, powers_repeat_and_vary);
    tcase_add_test(tests, random_is_exact_and_in_range);
    tcase_add_test(tests, random_differs_by_everything);
    tcase_add_test(tests, hash_is_splitmix64);
    tcase_add_test(tests, constant_is_constant);
    suite_add_tcase(suite, tests);
    return suite;
}
