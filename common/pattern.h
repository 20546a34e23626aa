/* pattern.h - the data of a rank when none is given: a pure function of where an element stands.
 *
 * The same few lines fill host buffers, device buffers and the reference, so nothing has to be
 * kept. Every value is exact in each of our types, and differs by rank, element and iteration
 * (except PATTERN_CONSTANT, which is there to show what constant data hides):
 *   PATTERN_INDEX   (element + 31 rank + 101 iteration) mod 251: small whole numbers, so that the
 *                   sum over 60000 ranks is still exact in float32; 251 is prime, so no segment
 *                   size lines up with it
 *   PATTERN_POWERS  for prod: signed powers of two whose products over consecutive ranks stay
 *                   small (exact, no overflow)
 *   PATTERN_RANDOM  a hash (splitmix64) of seed, rank, iteration and element: floats in [-1, 1),
 *                   int32 in -1000 .. 1000
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
    if (dtype == DTYPE_INT32)
        return (double)(h % 2001) - 1000.0;
    if (dtype == DTYPE_FLOAT32)
        return (double)(h >> 40) / 8388608.0 - 1.0; /* 24 bits over 2^23 */
    return (double)(h >> 11) / 4503599627370496.0 - 1.0; /* 53 bits over 2^52 */
}

ARITH double pattern_value(struct pattern p, enum dtype dtype, int rank, int iteration,
                           int64_t element)
{
    int phase =
        (int)((element % PATTERN_PERIOD + 31ll * rank + 101ll * iteration) % PATTERN_PERIOD);
    switch (p.kind) {
    case PATTERN_INDEX: return phase;
    case PATTERN_POWERS:
        return pattern_powers(dtype != DTYPE_INT32, rank,
                              (int)((element % PATTERN_PERIOD + iteration) % PATTERN_PERIOD));
    case PATTERN_RANDOM: return pattern_random(p.seed, dtype, rank, iteration, element);
    default: return p.constant;
    }
}

#endif
