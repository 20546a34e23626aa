/* test_arith16.c - float16 and bfloat16 of arith.h beside a rounding of doubles that shares no line
 * with it: the number in units of the type's last place there, made whole by rint. */
#include <math.h>

#include "common/arith.h"
#include "common/pattern.h"
#include "tests/suites.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* A type by what its standard says, and its functions on bits. */
struct format {
    const char *name;
    int digits, least_exponent; /* of significand; of the smallest subnormal */
    double most;
    uint16_t inf;
    double (*widen)(uint16_t);
    uint16_t (*round)(float), (*held)(double), (*canonical)(uint16_t), (*scale)(uint16_t, int);
    uint16_t (*ops[4])(uint16_t, uint16_t);
};
enum { SUM, PROD, MIN, MAX, N_OPS };

#define OF(x, T) arith_from_bits_##T(x)
#define OP(op, T)                                                                           \
    static uint16_t op##_##T(uint16_t a, uint16_t b)                                        \
    {                                                                                       \
        return arith_##op##_##T(OF(a, T), OF(b, T)).bits;                                   \
    }
#define FUNCTIONS(T)                                                                        \
    OP(sum, T) OP(prod, T) OP(min, T) OP(max, T)                                            \
    static double widen_##T(uint16_t x) { return arith_widen_##T(OF(x, T)); }               \
    static uint16_t round_##T(float x) { return arith_round_##T(x).bits; }                  \
    static uint16_t held_##T(double x) { return arith_held_##T(x).bits; }                   \
    static uint16_t canonical_##T(uint16_t x) { return arith_canonical_##T(OF(x, T)).bits; } \
    static uint16_t scale_##T(uint16_t x, int n) { return arith_scale_##T(OF(x, T), n).bits; }
FUNCTIONS(float16)
FUNCTIONS(bfloat16)

#define FORMAT(T, DIGITS, LEAST, MOST, INF)                                                 \
    {#T, DIGITS, LEAST, MOST, INF, widen_##T, round_##T, held_##T, canonical_##T, scale_##T, \
     {sum_##T, prod_##T, min_##T, max_##T}}
static const struct format formats[] = {
    FORMAT(float16, 11, -24, 65504, 0x7c00),
    FORMAT(bfloat16, 8, -133, 0x1.fep127, 0x7f80),
};
#define F16 (&formats[0])
#define B16 (&formats[1])

/* ---- the other way ---- */

/* The bits of a number, rounded once. */
static uint16_t bits_of(const struct format *f, double x)
{
    int exponent;
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x))
        return 0x7fff;
    if (isinf(x) || x == 0)
        return sign | (x == 0 ? 0 : f->inf);
    frexp(x, &exponent);
    const int unit = exponent - f->digits > f->least_exponent ? exponent - f->digits
                                                              : f->least_exponent;
    const double units = rint(ldexp(fabs(x), -unit)), step = ldexp(1, f->digits - 1);
    if (ldexp(units, unit) > f->most)
        return sign | f->inf;
    /* units counts from 0 in the first binade, from step in each other one */
    return sign | (uint16_t)(units + (unit - f->least_exponent) * step);
}

static double value_of(const struct format *f, uint16_t bits)
{
    const int step = 1 << (f->digits - 1), size = bits & 0x7fff, binade = size / step;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (size >= f->inf)
        return size == f->inf ? sign * INFINITY : NAN;
    return sign * (binade == 0 ? ldexp(size, f->least_exponent)
                               : ldexp(size % step + step, f->least_exponent + binade - 1));
}

static double exact(int op, double a, double b)
{
    switch (op) {
    case SUM: return a + b; /* 53 bits are at least 2 * 11 + 2 */
    case PROD: return a * b;
    case MIN: return isnan(a) || isnan(b) ? NAN : a < b || (a == b && signbit(a)) ? a : b;
    default: return isnan(a) || isnan(b) ? NAN : a > b || (a == b && signbit(b)) ? a : b;
    }
}

static void check_ops(const struct format *f, uint16_t a, uint16_t b)
{
    for (int op = 0; op < N_OPS; op++) {
        const uint16_t got = f->ops[op](a, b);
        const uint16_t want = bits_of(f, exact(op, value_of(f, a), value_of(f, b)));
        if (got != want) /* an assertion is slow */
            ck_abort_msg("%s: op %d of %04x and %04x is %04x, not %04x", f->name, op, a, b, got,
                         want);
    }
}

/* ---- */

START_TEST(every_number_is_read_and_written)
{
    for (int i = 0; i < COUNT(formats); i++)
        for (int bits = 0; bits < 65536; bits++) {
            const struct format *f = &formats[i];
            const double want = value_of(f, (uint16_t)bits), got = f->widen((uint16_t)bits);
            const uint16_t back = isnan(want) ? 0x7fff : (uint16_t)bits;
            if (isnan(want) ? !isnan(got) : got != want || signbit(got) != signbit(want))
                ck_abort_msg("%s: %04x is %g, not %g", f->name, bits, got, want);
            if (f->canonical((uint16_t)bits) != back || f->round((float)want) != back ||
                f->held(want) != back || bits_of(f, want) != back)
                ck_abort_msg("%s: %04x does not come back", f->name, bits);
        }
}
END_TEST

/* Halfway to the next number, and next to that, as float32 and as float64 can tell it. */
START_TEST(numbers_between_round_to_nearest_even)
{
    for (int i = 0; i < COUNT(formats); i++)
        for (int bits = 0; bits < 65536; bits++) {
            const struct format *f = &formats[i];
            const uint16_t half = (uint16_t)(bits / 2 | (bits % 2) << 15);
            if ((half & 0x7fff) >= f->inf)
                continue;
            const double from = value_of(f, half);
            const double to = (half & 0x7fff) + 1 == f->inf ? copysign(2 * f->most - fabs(value_of(
                                  f, (uint16_t)(half - 1))), from) : value_of(f, half + 1);
            const double middle = (from + to) / 2;
            const double near[] = {middle, nextafter(middle, to), nextafter(middle, from),
                                   (3 * from + to) / 4, (from + 3 * to) / 4};
            const float narrow = (float)middle;
            const float close[] = {narrow, nextafterf(narrow, INFINITY), nextafterf(narrow, 0)};
            for (int k = 0; k < COUNT(near); k++)
                if (f->held(near[k]) != bits_of(f, near[k]))
                    ck_abort_msg("%s: %.17g is held as %04x, not %04x", f->name, near[k],
                                 f->held(near[k]), bits_of(f, near[k]));
            for (int k = 0; k < COUNT(close); k++)
                if (f->round(close[k]) != bits_of(f, close[k]))
                    ck_abort_msg("%s: %.9g is rounded to %04x, not %04x", f->name, close[k],
                                 f->round(close[k]), bits_of(f, close[k]));
        }
}
END_TEST

START_TEST(far_numbers_are_held)
{
    static const double far[] = {1e300, -1e300, 1e-300, -1e-300, 5e-324, INFINITY, -INFINITY,
                                 3.5e38, 0x1p-150, 0x1.8p-149, 0x1p-134, 0x1.000001p-134, 0x1p-25,
                                 0x1.0000000000001p-25, -0.0};
    for (int i = 0; i < COUNT(formats) * COUNT(far); i++) {
        const struct format *f = &formats[i % COUNT(formats)];
        const double x = far[i / COUNT(formats)];
        ck_assert_msg(f->held(x) == bits_of(f, x), "%s: %g", f->name, x);
        ck_assert_msg(f->round((float)x) == bits_of(f, (float)x), "%s: %g", f->name, x);
    }
    ck_assert_uint_eq(F16->held(NAN), 0x7fff);
    ck_assert_uint_eq(B16->held(-NAN), 0x7fff);
}
END_TEST

/* Each number with those at the edges, and pairs of any bits. */
START_TEST(operators_round_once)
{
    static const uint16_t edges[] = {0, 1, 2, 0x3ff, 0x400, 0x7f, 0x80, 0x3c00, 0x3c01, 0x3f80,
                                     0x7bff, 0x7c00, 0x7f7f, 0x7f80, 0x7c01, 0x7fff, 0x1c01,
                                     0x2e66};
    for (int i = 0; i < COUNT(formats); i++) {
        for (int a = 0; a < 65536; a++)
            for (int b = 0; b < 2 * COUNT(edges); b++)
                check_ops(&formats[i], (uint16_t)a,
                          edges[b % COUNT(edges)] | (b < COUNT(edges) ? 0 : 0x8000));
        for (uint64_t k = 0; k < 2000000; k++) {
            const uint64_t any = pattern_hash(k);
            check_ops(&formats[i], (uint16_t)any, (uint16_t)(any >> 16));
        }
    }
}
END_TEST

/* Products at the lower end of bfloat16, where float32 loses bits, too: all significands. */
START_TEST(small_products_round_as_once)
{
    for (int exponent = 50; exponent < 75; exponent++) /* 2^-67 times 2^-77 .. 2^-53 */
        for (int a = 0; a < 128; a++)
            for (int b = 0; b < 128; b++) {
                check_ops(B16, (uint16_t)(60 << 7 | a), (uint16_t)(exponent << 7 | b));
                check_ops(B16, (uint16_t)(0x8000 | 60 << 7 | a), (uint16_t)(exponent << 7 | b));
            }
}
END_TEST

START_TEST(by_hand)
{
    static const struct {
        const struct format *f;
        int op;
        double a, b, want;
    } cases[] = {
        {F16, SUM, 2048, 1, 2048},        {F16, SUM, 2048, 3, 2052}, /* both to even */
        {F16, SUM, 65504, 15, 65504},     {F16, SUM, 65504, 16, INFINITY},
        {F16, SUM, 65504, 32, INFINITY},  {F16, SUM, -65504, -32, -INFINITY},
        {F16, SUM, 0x1p-24, 0x1p-24, 0x1p-23}, {F16, SUM, 0x1p-14, -0x1p-24, 0x1.ff8p-15},
        {F16, PROD, 0x1p-14, 0.5, 0x1p-15},    {F16, PROD, 0x1p-24, 0.5, 0},
        {F16, PROD, 0x1.8p-24, 0.5, 0x1p-24},  {F16, PROD, 256, 256, INFINITY},
        {F16, PROD, -0x1p-24, 0.25, -0.0},
        {B16, SUM, 256, 1, 256},          {B16, SUM, 256, 3, 260},
        {B16, SUM, 0x1.fep127, 0x1p119, INFINITY}, {B16, SUM, 0x1.fep127, 0x1p118, 0x1.fep127},
        {B16, PROD, 0x1p-126, 0.5, 0x1p-127},  {B16, PROD, 0x1p-133, 0.5, 0},
        {B16, PROD, 0x1p127, -2, -INFINITY},
        {F16, MIN, 0.0, -0.0, -0.0}, {F16, MIN, -0.0, 0.0, -0.0}, {F16, MAX, 0.0, -0.0, 0.0},
        {B16, MIN, 0.0, -0.0, -0.0}, {B16, MAX, -0.0, 0.0, 0.0}, {B16, MAX, -0.0, -0.0, -0.0},
        {F16, SUM, INFINITY, -INFINITY, NAN},  {B16, PROD, INFINITY, 0, NAN},
        {F16, MIN, NAN, -INFINITY, NAN},  {B16, MAX, 1, NAN, NAN},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const struct format *f = cases[i].f;
        const uint16_t got = f->ops[cases[i].op](bits_of(f, cases[i].a), bits_of(f, cases[i].b));
        ck_assert_msg(got == bits_of(f, cases[i].want), "case %d: %s op %d: %04x is %g", i, f->name,
                      cases[i].op, got, value_of(f, got));
    }
}
END_TEST

/* No sum that would overflow is made; and a third of the numbers would be another one, were the
 * factor of 16 bits. */
START_TEST(avg_has_its_factor_in_float32)
{
    ck_assert_uint_eq(F16->scale(bits_of(F16, 40000), 2), bits_of(F16, 20000));
    ck_assert_uint_eq(F16->scale(bits_of(F16, -65504), 2), bits_of(F16, -32752));
    ck_assert_uint_eq(F16->scale(bits_of(F16, 3), 3), bits_of(F16, 1));
    ck_assert_uint_eq(B16->scale(bits_of(B16, 3), 3), bits_of(B16, 1));
    ck_assert_uint_eq(B16->scale(bits_of(B16, -0.0), 3), 0x8000);
    ck_assert_uint_eq(B16->scale(bits_of(B16, INFINITY), 3), 0x7f80);
    ck_assert_uint_eq(F16->scale(0xfc01, 1), 0x7fff);
    for (int i = 0; i < COUNT(formats); i++)
        for (int n = 1; n <= 4096; n = n < 16 ? n + 1 : 2 * n + n % 3)
            for (int bits = 0; bits < formats[i].inf; bits++) {
                const struct format *f = &formats[i];
                const double quotient = value_of(f, (uint16_t)bits) / n;
                const int away = f->scale((uint16_t)bits, n) - bits_of(f, quotient);
                if (away < -1 || away > 1 || (away != 0 && (n < 14 || f == B16)))
                    ck_abort_msg("%s: %04x / %d is %d places away", f->name, bits, n, away);
            }
}
END_TEST

Suite *arith16_suite(void)
{
    Suite *suite = suite_create("arith16");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_number_is_read_and_written);
    tcase_add_test(tests, numbers_between_round_to_nearest_even);
    tcase_add_test(tests, far_numbers_are_held);
    tcase_add_test(tests, operators_round_once);
    tcase_add_test(tests, small_products_round_as_once);
    tcase_add_test(tests, by_hand);
    tcase_add_test(tests, avg_has_its_factor_in_float32);
    suite_add_tcase(suite, tests);
    return suite;
}
