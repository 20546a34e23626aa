/* dtype.h - element types and reduction operators, by name and by number.
 *
 * All tables of formats live here: a new type is a row in dtype.c and a column of arithmetic in
 * arith.h, where it says what float16 and bfloat16 are. `avg` is a sum whose parts are scaled:
 * float types multiplied by 1.0 / n before adding (the factor in the type, but in float32 for the
 * two of 16 bits), so that a mean in range never overflows on the way; int32 divided after the sum,
 * truncated toward zero.
 */
#ifndef COMMON_DTYPE_H
#define COMMON_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum dtype {
    DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_INT32, N_DTYPES
};
#define DTYPE_NAMES "float32, float64, float16, bfloat16 or int32"

enum redop { REDOP_SUM, REDOP_AVG, REDOP_MIN, REDOP_MAX, REDOP_PROD, N_REDOPS };

const char *dtype_name(enum dtype dtype);           /* "float32" */
size_t dtype_size(enum dtype dtype);                /* bytes of one element */
int dtype_is_float(enum dtype dtype);
uint64_t dtype_nan(enum dtype dtype);               /* arith.h's NaN; int32: the same bits */
int dtype_parse(const char *name, enum dtype *out); /* 0 = no such name */

const char *redop_name(enum redop op);              /* "sum" */
int redop_parse(const char *name, enum redop *out);

/* One element read as a double (exact for all types here), and a double stored as an element,
 * rounded once, to nearest. dtype_store returns 0, and stores nothing, where the value has no place
 * in the type: a finite value that would round to infinity, or anything but a whole number
 * in range for int32. */
double dtype_load(enum dtype dtype, const void *element);
int dtype_store(enum dtype dtype, double value, void *element);

#endif
