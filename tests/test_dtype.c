/* test_dtype.c - names and sizes, and what may stand in an element of each type. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "common/dtype.h"
#include "tests/suites.h"

static const enum dtype types[] = {
    DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_INT32,
};
#define N_TYPES ((int)(sizeof types / sizeof *types))

START_TEST(names_are_read_back)
{
    for (int i = 0; i < N_DTYPES; i++) {
        enum dtype dtype = N_DTYPES;
        ck_assert_int_eq(dtype_parse(dtype_name((enum dtype)i), &dtype), 1);
        ck_assert_int_eq(dtype, i);
        ck_assert_ptr_nonnull(strstr(DTYPE_NAMES, dtype_name((enum dtype)i)));
    }
    for (int i = 0; i < N_REDOPS; i++) {
        enum redop op = N_REDOPS;
        ck_assert_int_eq(redop_parse(redop_name((enum redop)i), &op), 1);
        ck_assert_int_eq(op, i);
    }
}
END_TEST

START_TEST(foreign_names_are_refused)
{
    static const char *const names[] = {"",        "float", "float3", "float322",
                                        "Float32", "sum ",  "add",    "half"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        enum dtype dtype = DTYPE_FLOAT64;
        enum redop op = REDOP_MAX;
        ck_assert_int_eq(dtype_parse(names[i], &dtype), 0);
        ck_assert_int_eq(redop_parse(names[i], &op), 0);
        ck_assert_int_eq(dtype, DTYPE_FLOAT64);
        ck_assert_int_eq(op, REDOP_MAX);
    }
}
END_TEST

START_TEST(sizes_and_kinds)
{
    ck_assert_str_eq(dtype_name(DTYPE_FLOAT32), "float32");
    ck_assert_str_eq(dtype_name(DTYPE_FLOAT64), "float64");
    ck_assert_str_eq(dtype_name(DTYPE_INT32), "int32");
    ck_assert_str_eq(dtype_name(DTYPE_FLOAT16), "float16");
    ck_assert_str_eq(dtype_name(DTYPE_BFLOAT16), "bfloat16");
    ck_assert_uint_eq(dtype_size(DTYPE_FLOAT16), 2);
    ck_assert_uint_eq(dtype_size(DTYPE_BFLOAT16), 2);
    ck_assert(dtype_is_float(DTYPE_FLOAT16) && dtype_is_float(DTYPE_BFLOAT16));
    ck_assert_uint_eq(dtype_nan(DTYPE_FLOAT16), 0x7fff);
    ck_assert_uint_eq(dtype_nan(DTYPE_FLOAT64), 0x7fffffffffffffff);
    ck_assert_uint_eq(dtype_size(DTYPE_FLOAT32), 4);
    ck_assert_uint_eq(dtype_size(DTYPE_FLOAT64), 8);
    ck_assert_uint_eq(dtype_size(DTYPE_INT32), 4);
    ck_assert(dtype_is_float(DTYPE_FLOAT32) && dtype_is_float(DTYPE_FLOAT64));
    ck_assert(!dtype_is_float(DTYPE_INT32));
}
END_TEST

/* Stores into an odd address, as elements of a file may have. */
static int round_trip(enum dtype dtype, double in, double *out)
{
    unsigned char memory[16];
    memset(memory, 0xa5, sizeof memory);
    int stored = dtype_store(dtype, in, memory + 1);
    size_t used = stored ? dtype_size(dtype) : 0;
    ck_assert_int_eq(memory[0], 0xa5);
    for (size_t i = 1 + used; i < sizeof memory; i++)
        ck_assert_int_eq(memory[i], 0xa5); /* stored nothing where it refused, nothing behind it */
    if (stored)
        *out = dtype_load(dtype, memory + 1);
    return stored;
}

START_TEST(whole_numbers_fit_every_type)
{
    static const double values[] = {0, 1, -1, 250, -1000, 32768, -32768};
    for (int t = 0; t < N_TYPES; t++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            double out = NAN;
            ck_assert(round_trip(types[t], values[i], &out));
            ck_assert(out == values[i]);
        }
}
END_TEST

START_TEST(int32_takes_whole_numbers_in_range)
{
    static const double good[] = {2147483647.0, -2147483648.0, -0.0};
    static const double bad[] = {2147483648.0, -2147483649.0, 0.5, -0.5, 1e300, 2147483646.5,
                                 NAN, INFINITY, -INFINITY};
    double out;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert(round_trip(DTYPE_INT32, good[i], &out));
        ck_assert(out == good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!round_trip(DTYPE_INT32, bad[i], &out), "%g was stored", bad[i]);
}
END_TEST

START_TEST(float32_takes_what_is_in_range)
{
    double out;
    ck_assert(round_trip(DTYPE_FLOAT32, FLT_MAX, &out) && out == FLT_MAX);
    ck_assert(round_trip(DTYPE_FLOAT32, 0.1, &out) && out == 0.1f);
    ck_assert(round_trip(DTYPE_FLOAT32, INFINITY, &out) && out == INFINITY);
    ck_assert(round_trip(DTYPE_FLOAT32, -INFINITY, &out) && out == -INFINITY);
    ck_assert(round_trip(DTYPE_FLOAT32, NAN, &out) && isnan(out));
    ck_assert(round_trip(DTYPE_FLOAT32, -0.0, &out) && out == 0 && signbit(out));
    ck_assert(!round_trip(DTYPE_FLOAT32, 1e40, &out));
    ck_assert(!round_trip(DTYPE_FLOAT32, -1e40, &out));
}
END_TEST

/* Rounded from the double, once: by way of float32 the last one would end at 1. */
START_TEST(types_of_16_bits_take_what_is_in_range)
{
    static const struct {
        enum dtype dtype;
        double in, want;
    } good[] = {
        {DTYPE_FLOAT16, 65504, 65504},         {DTYPE_FLOAT16, 0.1, 0x1.998p-4},
        {DTYPE_FLOAT16, 2049, 2048},           {DTYPE_FLOAT16, 2051, 2052},
        {DTYPE_FLOAT16, 0x1p-24, 0x1p-24},     {DTYPE_FLOAT16, 0x1p-25, 0},
        {DTYPE_BFLOAT16, 0x1.fep127, 0x1.fep127}, {DTYPE_BFLOAT16, 257, 256},
        {DTYPE_BFLOAT16, 0x1p-133, 0x1p-133},  {DTYPE_BFLOAT16, 65505, 65536},
        {DTYPE_FLOAT16, -INFINITY, -INFINITY}, {DTYPE_BFLOAT16, INFINITY, INFINITY},
        {DTYPE_BFLOAT16, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7},
        {DTYPE_FLOAT16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10},
    };
    double out;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert(round_trip(good[i].dtype, good[i].in, &out));
        ck_assert_msg(out == good[i].want, "%a is stored as %a", good[i].in, out);
    }
    for (int t = DTYPE_FLOAT16; t <= DTYPE_BFLOAT16; t++) {
        ck_assert(round_trip((enum dtype)t, NAN, &out) && isnan(out));
        ck_assert(round_trip((enum dtype)t, -0.0, &out) && out == 0 && signbit(out));
        ck_assert(!round_trip((enum dtype)t, 3.4e38, &out)); /* float32 has it */
        ck_assert(!round_trip((enum dtype)t, -1e40, &out));
    }
    ck_assert(round_trip(DTYPE_FLOAT16, 65519.99, &out) && out == 65504);
    ck_assert(!round_trip(DTYPE_FLOAT16, 65520, &out) && !round_trip(DTYPE_FLOAT16, -7e4, &out));
    ck_assert(round_trip(DTYPE_BFLOAT16, 0x1.fefffp127, &out) && out == 0x1.fep127);
    ck_assert(!round_trip(DTYPE_BFLOAT16, -0x1.ffp127, &out));
    ck_assert(round_trip(DTYPE_FLOAT32, 3.4028235e38, &out) && out == FLT_MAX);
    ck_assert(!round_trip(DTYPE_FLOAT32, 0x1.ffffffp127, &out));
}
END_TEST

START_TEST(float64_takes_everything)
{
    static const double values[] = {DBL_MAX, -DBL_MAX, DBL_MIN, 4.9e-324, 0.1, INFINITY, -INFINITY};
    double out;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        ck_assert(round_trip(DTYPE_FLOAT64, values[i], &out) && out == values[i]);
    ck_assert(round_trip(DTYPE_FLOAT64, NAN, &out) && isnan(out));
}
END_TEST

Suite *dtype_suite(void)
{
    Suite *suite = suite_create("dtype");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, names_are_read_back);
    tcase_add_test(tests, foreign_names_are_refused);
    tcase_add_test(tests, sizes_and_kinds);
    tcase_add_test(tests, whole_numbers_fit_every_type);
    tcase_add_test(tests, int32_takes_whole_numbers_in_range);
    tcase_add_test(tests, float32_takes_what_is_in_range);
    tcase_add_test(tests, types_of_16_bits_take_what_is_in_range);
    tcase_add_test(tests, float64_takes_everything);
    suite_add_tcase(suite, tests);
    return suite;
}
