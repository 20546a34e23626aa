/* sort.h - numbers in rising order: for medians, and for moments of time. A double is no NaN. */
#ifndef COMMON_SORT_H
#define COMMON_SORT_H

#include <stdint.h>

void sort_int64(int64_t *items, int64_t n);
void sort_doubles(double *items, int64_t n);

#endif
