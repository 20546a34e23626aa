/* arith.h - the arithmetic of one element, the same bits on every backend.
 *
 * gcc, clang and nvcc all compile these few lines, without contraction, flushing or fast-math
 * (the Makefile says so to each), and three rules remove what is left to chance:
 *   - a NaN result is always stored as the one quiet NaN below (hardware differs in payloads);
 *   - min(-0, +0) is -0 and max(-0, +0) is +0, and a NaN wins over any number;
 *   - integers wrap, computed unsigned, so that nothing is undefined.
 * min and max of equal floats combine their bits: equal numbers have equal bits except for the
 * two zeros, where OR yields -0 and AND yields +0.
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
    ARITH T arith_scale_##T(T a, int n) { return arith_canonical_##T(a * (T)(1.0 / n)); }

ARITH_FLOAT(float, uint32_t, ARITH_NAN32)
ARITH_FLOAT(double, uint64_t, ARITH_NAN64)

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

/* X(DTYPE_FLOAT32, float) ..: for whoever makes tables of loops. An avg adds like a sum. */
#define ARITH_TYPES(X) X(DTYPE_FLOAT32, float) X(DTYPE_FLOAT64, double) X(DTYPE_INT32, int32_t)

#endif
