/* status.c - one place that formats refusals, one that allocates arrays, one that grows them. */
#include "common/status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum status fail(struct error *err, enum status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

enum status allocate(void **out, long long count, unsigned long size, const char *what,
                     struct error *err)
{
    *out = NULL;
    if (count >= 0 && (unsigned long long)count <= PTRDIFF_MAX / (size ? size : 1))
        *out = calloc(count ? (size_t)count : 1, size ? size : 1);
    if (!*out)
        return fail(err, STATUS_MACHINE, "not enough memory for %s (%lld x %lu bytes)", what, count,
                    size);
    return STATUS_OK;
}

enum status make_room(void **items, long long wanted, int64_t *capacity, unsigned long size,
                      const char *what, struct error *err)
{
    if (wanted <= *capacity)
        return STATUS_OK;
    int64_t larger = wanted > 2 * *capacity ? wanted : 2 * *capacity;
    void *moved = (unsigned long long)larger <= PTRDIFF_MAX / size
                      ? realloc(*items, (size_t)larger * size)
                      : NULL;
    if (!moved)
        return fail(err, STATUS_MACHINE, "not enough memory for %s (%lld x %lu bytes)", what,
                    (long long)larger, size);
    *items = moved;
    *capacity = larger;
    return STATUS_OK;
}
