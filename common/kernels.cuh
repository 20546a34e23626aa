// kernels.cuh - what any kernel may need: arith.h by the type of its arguments, vectors, the time.
#ifndef COMMON_KERNELS_CUH
#define COMMON_KERNELS_CUH

#include <stdint.h>

#include "common/arith.h"
#include "common/dtype.h"

namespace {

template <typename T> struct alignas(16) vector {
    static const int LENGTH = 16 / sizeof(T);
    T x[LENGTH];
};

// arith.h's functions carry their type in their name; here it is in their arguments, or given.
template <typename T> struct name_of;
template <typename T> __device__ T held(double x);

#define OVERLOADS(D, T)                                                                           \
    template <enum redop OP> __device__ T combined(T a, T b)                                      \
    {                                                                                             \
        return OP == REDOP_MIN    ? arith_min_##T(a, b)                                           \
               : OP == REDOP_MAX  ? arith_max_##T(a, b)                                           \
               : OP == REDOP_PROD ? arith_prod_##T(a, b)                                          \
                                  : arith_sum_##T(a, b);                                          \
    }                                                                                             \
    __device__ T scaled(T a, int n) { return arith_scale_##T(a, n); }                             \
    template <> __device__ T held<T>(double x) { return arith_held_##T(x); }                      \
    template <> struct name_of<T> { static const enum dtype dtype = D; };
ARITH_TYPES(OVERLOADS)

// Of this GPU, in ns; how finely it ticks depends on the GPU.
__device__ uint64_t global_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

} // namespace

#endif
