/* dtype.c - the tables behind dtype.h. */
#include "common/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "common/arith.h"

static const struct {
    const char *name;
    size_t size;
    int is_float;
    double too_large; /* rounds to infinity, as does what is larger */
    uint64_t nan;
} dtypes[N_DTYPES] = {
    [DTYPE_FLOAT32] = {"float32", 4, 1, 0x1.ffffffp127, ARITH_NAN32},
    [DTYPE_FLOAT64] = {"float64", 8, 1, INFINITY, ARITH_NAN64},
    [DTYPE_FLOAT16] = {"float16", 2, 1, 65520, ARITH_NAN16},
    [DTYPE_BFLOAT16] = {"bfloat16", 2, 1, 0x1.ffp127, ARITH_NAN16},
    [DTYPE_INT32] = {"int32", 4, 0, 0, ARITH_NAN32},
};

static const char *const redops[N_REDOPS] = {
    [REDOP_SUM] = "sum", [REDOP_AVG] = "avg", [REDOP_MIN] = "min",
    [REDOP_MAX] = "max", [REDOP_PROD] = "prod",
};

const char *dtype_name(enum dtype dtype) { return dtypes[dtype].name; }
size_t dtype_size(enum dtype dtype) { return dtypes[dtype].size; }
int dtype_is_float(enum dtype dtype) { return dtypes[dtype].is_float; }
uint64_t dtype_nan(enum dtype dtype) { return dtypes[dtype].nan; }
const char *redop_name(enum redop op) { return redops[op]; }

int dtype_parse(const char *name, enum dtype *out)
{
    for (int i = 0; i < N_DTYPES; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            *out = (enum dtype)i;
            return 1;
        }
    return 0;
}

int redop_parse(const char *name, enum redop *out)
{
    for (int i = 0; i < N_REDOPS; i++)
        if (strcmp(name, redops[i]) == 0) {
            *out = (enum redop)i;
            return 1;
        }
    return 0;
}

static inline double number_float(float x) { return x; }
static inline double number_double(double x) { return x; }
static inline double number_float16(float16 x) { return arith_widen_float16(x); }
static inline double number_bfloat16(bfloat16 x) { return arith_widen_bfloat16(x); }
static inline double number_int32_t(int32_t x) { return x; }

double dtype_load(enum dtype dtype, const void *element)
{
    switch (dtype) {
#define LOAD(D, T) case D: { T x; memcpy(&x, element, sizeof x); return number_##T(x); }
    ARITH_TYPES(LOAD)
#undef LOAD
    default: return NAN;
    }
}

static int has_place(enum dtype dtype, double value)
{
    if (dtype == DTYPE_INT32)
        return value >= INT32_MIN && value <= INT32_MAX && value == floor(value);
    return !isfinite(value) || fabs(value) < dtypes[dtype].too_large;
}

int dtype_store(enum dtype dtype, double value, void *element)
{
    if (!has_place(dtype, value))
        return 0;
    switch (dtype) {
#define STORE(D, T)                                                                       \
    case D: { T x = arith_held_##T(value); memcpy(element, &x, sizeof x); return 1; }
    ARITH_TYPES(STORE)
#undef STORE
    default: return 0;
    }
}
