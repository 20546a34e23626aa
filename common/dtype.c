/* dtype.c - the tables behind dtype.h. */
#include "common/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    int is_float;
} dtypes[N_DTYPES] = {
    [DTYPE_FLOAT32] = {"float32", 4, 1},
    [DTYPE_FLOAT64] = {"float64", 8, 1},
    [DTYPE_INT32] = {"int32", 4, 0},
};

static const char *const redops[N_REDOPS] = {
    [REDOP_SUM] = "sum", [REDOP_AVG] = "avg", [REDOP_MIN] = "min",
    [REDOP_MAX] = "max", [REDOP_PROD] = "prod",
};

const char *dtype_name(enum dtype dtype) { return dtypes[dtype].name; }
size_t dtype_size(enum dtype dtype) { return dtypes[dtype].size; }
int dtype_is_float(enum dtype dtype) { return dtypes[dtype].is_float; }
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

double dtype_load(enum dtype dtype, const void *element)
{
    float f;
    double d;
    int32_t i;
    switch (dtype) {
    case DTYPE_FLOAT32: memcpy(&f, element, sizeof f); return f;
    case DTYPE_FLOAT64: memcpy(&d, element, sizeof d); return d;
    default: memcpy(&i, element, sizeof i); return i;
    }
}

int dtype_store(enum dtype dtype, double value, void *element)
{
    if (dtype == DTYPE_INT32) {
        if (!(value >= INT32_MIN && value <= INT32_MAX) || value != floor(value))
            return 0;
        int32_t i = (int32_t)value;
        memcpy(element, &i, sizeof i);
    } else if (dtype == DTYPE_FLOAT32) {
        if (isfinite(value) && fabs(value) > FLT_MAX)
            return 0;
        float f = (float)value;
        memcpy(element, &f, sizeof f);
    } else {
        memcpy(element, &value, sizeof value);
    }
    return 1;
}
