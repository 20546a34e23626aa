/* npy.h - arrays in NumPy's .npy files: read any part, write one whole or not at all.
 *
 * Format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1.0 to 3.0.
 * Read are C order, any shape, little-endian float32, float64, float16 and int32 ('<f4', '<f8',
 * '<f2', '<i4'); NumPy has no bfloat16.
 * Everything else (Fortran order, big-endian, other types, truncated or foreign files) is
 * STATUS_USAGE with a sentence that names the file, what is wrong with it and what would be right.
 * A NaN read from a file keeps its bits; only arithmetic makes NaNs canonical.
 */
#ifndef COMMON_NPY_H
#define COMMON_NPY_H

#include <stdint.h>

#include "common/dtype.h"
#include "common/status.h"

#define NPY_MAX_DIMS 32 /* NumPy's own limit (64 since 2.0) is not needed here */

/* No descriptor stays open (1024 ranks would exhaust them): npy_read opens the file again and
 * refuses it when it is no longer the one that npy_open read. */
struct npy {
    char *path;            /* owned; NULL = closed */
    int64_t identity[4];   /* device, inode, bytes, second of its last change */
    enum dtype dtype;
    int n_dims;            /* 0 = a single number */
    int64_t shape[NPY_MAX_DIMS];
    int64_t count;         /* elements = product of the shape */
    int64_t data_offset;   /* bytes */
};

/* After a failure *npy is closed. A machine's fault (no memory, an I/O error): STATUS_MACHINE. */
enum status npy_open(struct npy *npy, const char *path, struct error *err);
/* Elements [first, first + count) to out, which holds count * dtype_size bytes. */
enum status npy_read(const struct npy *npy, int64_t first, int64_t count, void *out,
                     struct error *err);
void npy_close(struct npy *npy); /* also of a closed or zeroed one */

/* "(3, 4)", "(12,)" or "()", as Python writes a shape. */
#define NPY_SHAPE_TEXT (22 * NPY_MAX_DIMS + 4)
void npy_shape_text(const struct npy *npy, char out[NPY_SHAPE_TEXT]);

/* Same shape and dtype as `like` (from which only shape, n_dims, count and dtype are read): create
 * writes the header to a temporary name beside `path`, append adds elements in order, commit gives
 * the file its name; discard removes the temporary. A failed or missing commit leaves whatever
 * stood at `path` untouched. Cannot be written (no folder, no right, full disk): STATUS_USAGE for
 * the path itself, STATUS_MACHINE for a full disk or an I/O error. Only a regular file is replaced:
 * a folder, a device or a symbolic link at `path`, or a file without the right to write, is refused
 * at create. Any failure removes the temporary at once; discard may still follow.
 * Whoever runs under a file size limit ignores SIGXFSZ, so that it is told as a full disk is. */
struct npy_writer {
    int file;        /* while temporary is not NULL */
    char *path;      /* owned: the final name */
    char *temporary; /* owned; NULL = nothing to discard */
    enum dtype dtype;
    int64_t left;    /* elements still to come */
};
/* STATUS_USAGE where no .npy file can hold the type; create asks, too. */
enum status npy_check_dtype(const char *path, enum dtype dtype, struct error *err);
enum status npy_create(struct npy_writer *w, const char *path, const struct npy *like,
                       struct error *err);
enum status npy_append(struct npy_writer *w, const void *elements, int64_t count,
                       struct error *err);
enum status npy_commit(struct npy_writer *w, struct error *err);
void npy_discard(struct npy_writer *w); /* also of a committed or zeroed one: then nothing */

/* `pattern` with every %r replaced by the rank; other % stay. Caller frees; NULL = no memory. */
char *npy_path(const char *pattern, int rank);

#endif
