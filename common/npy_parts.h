/* npy_parts.h - what npy.c (reading) and npy_write.c share; nobody else includes it. */
#ifndef COMMON_NPY_PARTS_H
#define COMMON_NPY_PARTS_H

#include <sys/stat.h>

#include "common/dtype.h"
#include "common/status.h"

#define NPY_MAGIC "\x93NUMPY"
#define NPY_MAX_IO_BYTES (1 << 30) /* of one call to read or write: some systems take no more */

extern const char *const npy_codes[N_DTYPES]; /* "f4", ..; NULL: NumPy has no such type */

/* "PATH: cannot be WHAT: why": STATUS_USAGE, or STATUS_MACHINE where the machine lacks something */
enum status npy_cannot(const char *path, const char *what, int error, struct error *err);
const char *npy_kind_of_file(const struct stat *info); /* of what is no regular file: "a pipe" */
enum status npy_copy_text(char **out, const char *text, struct error *err);

#endif
