/* arith.h - the arithmetic of one element, the same bits on every backend.
 *
 * gcc, clang and nvcc all compile these few lines, without contraction, flushing or fast-math
 * (the Makefile says so to each), and three rules remove what is left to chance:
 *   - a NaN result is always stored as the one quiet NaN below (hardware differs in payloads);
 *   - min(-0, +0) is -0 and max(-0, +0) is +0, and a NaN wins over any number;
 *   - integers wrap, computed unsigned, so that nothing is undefined.
 * min and max of equal floats combine their bits: equal numbers have equal bits except for the
 * two zeros, where OR yields -0 and AND yields +0.
 *
 * float16 (IEEE's binary16: 11 bits of significand, at most 65504) and bfloat16 (a float32's upper
 * half: 8 bits, its range) are 16 bits in memory and are computed with in float32: every operator
 * widens, does what float32 does, and rounds the result to the type, to nearest, ties to even,
 * beyond the range to infinity; subnormals are kept. A result is thus rounded twice, which is as
 * good as once:
 *   - a sum: two roundings of p bits after 24 equal one where 24 >= 2p + 2 (Figueroa, "When is
 *     double rounding innocuous?", 1995); that is 24 for float16 and 18 for bfloat16. Subnormal
 *     sums are exact in both;
 *   - a product has 22 or 16 bits, so that float32 holds it exactly; of bfloat16 it may lie below
 *     float32's normal range and lose bits there, but then it is below half of bfloat16's least
 *     number, and 0 either way: what is larger ends at 2^-149, which float32 holds;
 *   - min and max round nothing;
 *   - a part of an avg is multiplied by (float)(1.0 / n), the factor in float32: in the type it
 *     would be wrong by up to 2^-8 (bfloat16), in all parts alike. So it is the exact quotient
 *     rounded once, for all numbers and n up to 13; in float16, for larger n, a few numbers end
 *     at the other neighbour, where the quotient lies next to the middle.
 */
#ifndef COMMON_ARITH_H
#define COMMON_ARITH_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define ARITH static inline __host__ __device__
#else
#define ARITH static inline
#endif

#define ARITH_NAN16 0x7fffu /* of float16 and of bfloat16 */
#define ARITH_NAN32 0x7fffffffu
#define ARITH_NAN64 0x7fffffffffffffffull

#define ARITH_FLOAT(T, U, NAN_BITS)                                                             \
    ARITH T arith_from_bits_##T(U bits) { T x; memcpy(&x, &bits, sizeof x); return x; }         \
    ARITH U arith_bits_##T(T x) { U bits; memcpy(&bits, &x, sizeof bits); return bits; }        \
    ARITH T arith_canonical_##T(T x) { return x == x ? x : arith_from_bits_##T(NAN_BITS); }     \
    ARITH T arith_sum_##T(T a, T b) { return arith_canonical_##T(a + b); }                      \
    ARITH T arith_prod_##T(T a, T b) { return arith_canonical_##T(a * b); }                     \
    ARITH T arith_min_##T(T a, T b)                                                             \
    {                                                                                           \
        U bits = a < b ? arith_bits_##T(a) : b < a ? arith_bits_##T(b)                          \
               : a == b ? (arith_bits_##T(a) | arith_bits_##T(b)) : (U)NAN_BITS;                \
        return arith_from_bits_##T(bits);                                                       \
    }                                                                                           \
    ARITH T arith_max_##T(T a, T b)                                                             \
    {                                                                                           \
        U bits = a > b ? arith_bits_##T(a) : b > a ? arith_bits_##T(b)                          \
               : a == b ? (arith_bits_##T(a) & arith_bits_##T(b)) : (U)NAN_BITS;                \
        return arith_from_bits_##T(bits);                                                       \
    }                                                                                           \
    /* avg, before adding: times (T)(1.0 / n) */                                                \
    ARITH T arith_scale_##T(T a, int n) { return arith_canonical_##T(a * (T)(1.0 / n)); }       \
    /* a number as the type holds it */                                                         \
    ARITH T arith_held_##T(double x) { return arith_canonical_##T((T)x); }

ARITH_FLOAT(float, uint32_t, ARITH_NAN32)
ARITH_FLOAT(double, uint64_t, ARITH_NAN64)

/* Types of their own, so that C++ tells them apart, and typedefs, so that macros can name them. */
typedef struct { uint16_t bits; } float16;
typedef struct { uint16_t bits; } bfloat16;

/* The exponent's field moves to its new place; the product gives it its new bias, and makes
 * subnormals normal. */
ARITH float arith_widen_float16(float16 x)
{
    const uint32_t bits = x.bits, size = (bits & 0x7fff) << 13, sign = (bits & 0x8000) << 16;
    const uint32_t finite = arith_bits_float(arith_from_bits_float(size) * 0x1p112f);
    return arith_from_bits_float((size < 0x0f800000 ? finite : size | 0x7f800000) | sign);
}

/* Adding 0.5 rounds to its last place, 2^-24, which is that of float16's subnormals. For others:
 * half of the last place that stays, less 1, and 1 where that is odd. */
ARITH float16 arith_round_float16(float x)
{
    const uint32_t bits = arith_bits_float(x), all = bits & 0x7fffffff;
    const uint32_t size = all < 0x47800000 ? all : 0x47800000; /* 65536 is infinite already */
    const uint32_t small = arith_bits_float(arith_from_bits_float(size) + 0.5f) - 0x3f000000;
    const uint32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    const uint32_t half = (size < 0x38800000 ? small : normal) | (bits >> 16 & 0x8000);
    const float16 rounded = {(uint16_t)(all > 0x7f800000 ? ARITH_NAN16 : half)};
    return rounded;
}

ARITH float arith_widen_bfloat16(bfloat16 x)
{
    return arith_from_bits_float((uint32_t)x.bits << 16);
}

ARITH bfloat16 arith_round_bfloat16(float x)
{
    const uint32_t bits = arith_bits_float(x), half = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const bfloat16 rounded = {(uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? ARITH_NAN16 : half)};
    return rounded;
}

/* The float next to x whose last bit is 1, unless x is a float: rounding that to fewer bits is as
 * good as rounding x. */
ARITH float arith_odd_float(double x)
{
    const float nearest = (float)x;
    const double back = nearest;
    const uint32_t bits = arith_bits_float(nearest);
    const int beyond = x < 0 ? back < x : back > x;
    if (back == x || x != x || bits & 1)
        return nearest;
    return arith_from_bits_float(beyond ? bits - 1 : bits + 1);
}

#define ARITH_FLOAT_16(T)                                                                       \
    ARITH T arith_from_bits_##T(uint16_t bits) { T x = {bits}; return x; }                      \
    ARITH uint16_t arith_bits_##T(T x) { return x.bits; }                                       \
    ARITH T arith_canonical_##T(T x) { return arith_round_##T(arith_widen_##T(x)); }            \
    ARITH T arith_held_##T(double x) { return arith_round_##T(arith_odd_float(x)); }            \
    ARITH T arith_scale_##T(T a, int n)                                                         \
    {                                                                                           \
        return arith_round_##T(arith_widen_##T(a) * (float)(1.0 / n));                          \
    }                                                                                           \
    ARITH_WIDENED(sum, T) ARITH_WIDENED(prod, T) ARITH_WIDENED(min, T) ARITH_WIDENED(max, T)
#define ARITH_WIDENED(op, T)                                                                    \
    ARITH T arith_##op##_##T(T a, T b)                                                          \
    {                                                                                           \
        return arith_round_##T(arith_##op##_float(arith_widen_##T(a), arith_widen_##T(b)));     \
    }

ARITH_FLOAT_16(float16)
ARITH_FLOAT_16(bfloat16)

ARITH int32_t arith_sum_int32_t(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}
ARITH int32_t arith_prod_int32_t(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}
ARITH int32_t arith_min_int32_t(int32_t a, int32_t b) { return a < b ? a : b; }
ARITH int32_t arith_max_int32_t(int32_t a, int32_t b) { return a > b ? a : b; }
/* avg, after the sum: divided by n >= 1, truncated toward zero */
ARITH int32_t arith_scale_int32_t(int32_t a, int n) { return a / n; }
ARITH int32_t arith_held_int32_t(double x) { return (int32_t)x; }

/* X(DTYPE_FLOAT32, float) ..: for whoever makes tables of loops. An avg adds like a sum. */
#define ARITH_TYPES(X)                                                                          \
    X(DTYPE_FLOAT32, float) X(DTYPE_FLOAT64, double) X(DTYPE_FLOAT16, float16)                  \
    X(DTYPE_BFLOAT16, bfloat16) X(DTYPE_INT32, int32_t)

#endif
