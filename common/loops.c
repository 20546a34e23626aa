/* loops.c - one loop per type and operator, plain enough for the compiler to vectorise. */
#include "common/loops.h"

#include "common/arith.h"

#define REDUCE_LOOP(op, T)                                                              \
    static void reduce_##op##_##T(void *to, const void *from, int64_t count)            \
    {                                                                                   \
        T *restrict dst = to;                                                           \
        const T *restrict src = from;                                                   \
        for (int64_t i = 0; i < count; i++)                                             \
            dst[i] = arith_##op##_##T(dst[i], src[i]);                                  \
    }
#define LOOPS(dtype, T)                                                                 \
    REDUCE_LOOP(sum, T)                                                                 \
    REDUCE_LOOP(min, T)                                                                 \
    REDUCE_LOOP(max, T)                                                                 \
    REDUCE_LOOP(prod, T)                                                                \
    static void scale_##T(void *data, int n, int64_t count)                             \
    {                                                                                   \
        T *x = data;                                                                    \
        for (int64_t i = 0; i < count; i++)                                             \
            x[i] = arith_scale_##T(x[i], n);                                            \
    }
ARITH_TYPES(LOOPS)

static const struct {
    void (*reduce[N_REDOPS])(void *dst, const void *src, int64_t count);
    void (*scale)(void *data, int n, int64_t count);
} loops[N_DTYPES] = {
#define ROW(dtype, T)                                                                       \
    [dtype] = {{[REDOP_SUM] = reduce_sum_##T, [REDOP_AVG] = reduce_sum_##T,                 \
                [REDOP_MIN] = reduce_min_##T, [REDOP_MAX] = reduce_max_##T,                 \
                [REDOP_PROD] = reduce_prod_##T},                                            \
               scale_##T},
    ARITH_TYPES(ROW)
#undef ROW
};

void loop_reduce(enum dtype dtype, enum redop op, void *dst, const void *src, int64_t count)
{
    loops[dtype].reduce[op](dst, src, count);
}

void loop_scale(enum dtype dtype, void *data, int n, int64_t count)
{
    loops[dtype].scale(data, n, count);
}
