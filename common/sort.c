/* sort.c - qsort, with the order that each type has. */
#include "common/sort.h"

#include <stdlib.h>

static int compare_int64(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void sort_int64(int64_t *items, int64_t n)
{
    if (n > 0)
        qsort(items, (size_t)n, sizeof *items, compare_int64);
}

void sort_doubles(double *items, int64_t n)
{
    if (n > 0)
        qsort(items, (size_t)n, sizeof *items, compare_doubles);
}
