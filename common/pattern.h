/* pattern.h - the data of a rank when none is given: a pure function of where an element stands.
 *
 * The same few lines fill host buffers, device buffers and the reference, so nothing has to be
 * kept. Every value is exact in each of our types, and differs by rank, element and iteration
 * (except PATTERN_CONSTANT, which is there to show what constant data hides):
 *   PATTERN_INDEX   (element + 31 rank + 101 iteration) mod 251: small whole numbers, so that the
 *                   sum over 60000 ranks is still exact in float32; 251 is prime, so no segment
 *                   size lines up with it. In bfloat16, which holds whole numbers up to 256, that
 *                   mod 29: the sum over 9 ranks is exact; in float16, up to 2048, over 8
 *   PATTERN_POWERS  for prod: signed powers of two whose products over consecutive ranks stay
 *                   small (exact, no overflow)
 *   PATTERN_RANDOM  a hash (splitmix64) of seed, rank, iteration and element: floats in [-1, 1),
 *                   of as many random bits as the type's significand; int32 in -1000 .. 1000
 *   PATTERN_CONSTANT the value `constant` of this rank
 */
#ifndef COMMON_PATTERN_H
#define COMMON_PATTERN_H

#include "common/arith.h"
#include "common/dtype.h"

enum pattern_kind { PATTERN_INDEX, PATTERN_POWERS, PATTERN_RANDOM, PATTERN_CONSTANT };

struct pattern {
    enum pattern_kind kind;
    uint64_t seed;
    double constant;
};

#define PATTERN_PERIOD 251 /* of INDEX and POWERS, in elements */

/* Bits of significand: whole numbers up to 2 to this power are exact. */
ARITH int pattern_digits(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT64    ? 53
           : dtype == DTYPE_FLOAT32  ? 24
           : dtype == DTYPE_FLOAT16  ? 11
           : dtype == DTYPE_BFLOAT16 ? 8
                                     : 31;
}

/* INDEX is below this. */
ARITH int pattern_index_end(enum dtype dtype)
{
    return dtype == DTYPE_BFLOAT16 ? 29 : PATTERN_PERIOD;
}

/* Is the sum of INDEX over so many ranks exact, and the product of POWERS, in any order? A product
 * of half of the ranks, each at most 4, is the largest on the way. */
ARITH int pattern_is_exact(enum dtype dtype, int is_prod, int n_ranks)
{
    const int64_t most = (int64_t)n_ranks * (pattern_index_end(dtype) - 1);
    if (is_prod)
        return dtype == DTYPE_INT32 || n_ranks + 1 <= (dtype == DTYPE_FLOAT16 ? 15 : 127);
    return dtype == DTYPE_INT32 || most <= (int64_t)1 << pattern_digits(dtype);
}

/* Sebastiano Vigna's splitmix64 finaliser (public domain, prng.di.unimi.it/splitmix64.c). */
ARITH uint64_t pattern_hash(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

ARITH double pattern_powers(int is_float, int rank, int phase)
{
    int exponent =
        is_float ? (rank % 2 ? -1 : 1) * (1 + phase % 2) : rank < 24 && (rank + phase) % 2;
    double magnitude = exponent >= 0 ? (double)(1 << exponent) : 1.0 / (1 << -exponent);
    return (phase + 5 * rank) % 3 == 0 ? -magnitude : magnitude;
}

ARITH double pattern_random(uint64_t seed, enum dtype dtype, int rank, int iteration,
                            int64_t element)
{
    uint64_t h = pattern_hash(seed);
    h = pattern_hash(h ^ ((uint64_t)(uint32_t)rank << 32 | (uint32_t)iteration));
    h = pattern_hash(h ^ (uint64_t)element);
    const int digits = pattern_digits(dtype);
    if (dtype == DTYPE_INT32)
        return (double)(h % 2001) - 1000.0;
    return (double)(h >> (64 - digits)) / (double)(1ull << (digits - 1)) - 1.0;
}

ARITH double pattern_value(struct pattern p, enum dtype dtype, int rank, int iteration,
                           int64_t element)
{
    int phase =
        (int)((element % PATTERN_PERIOD + 31ll * rank + 101ll * iteration) % PATTERN_PERIOD);
    switch (p.kind) {
    case PATTERN_INDEX: return phase % pattern_index_end(dtype);
    case PATTERN_POWERS:
        return pattern_powers(dtype != DTYPE_INT32, rank,
                              (int)((element % PATTERN_PERIOD + iteration) % PATTERN_PERIOD));
    case PATTERN_RANDOM: return pattern_random(p.seed, dtype, rank, iteration, element);
    default: return p.constant;
    }
}

#endif
