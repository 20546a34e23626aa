/* npy_write.c - a .npy file written to a temporary name in the same folder; rename gives it its
 * name in one step. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/npy.h"
#include "common/npy_parts.h"
#include "common/quote.h"

/* Only a regular file that may be written gives way: rename would also replace a device. */
static enum status check_target(const char *path, struct error *err)
{
    struct stat info;
    const char *slash = strrchr(path, '/');
    if (lstat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode))
            return fail(err, STATUS_USAGE, "%s: is %s, which no .npy file may replace",
                        quote_path(path).text, npy_kind_of_file(&info));
        return access(path, W_OK) == 0 ? STATUS_OK : npy_cannot(path, "written", errno, err);
    }
    if (errno != ENOENT)
        return npy_cannot(path, "written", errno, err);
    if ((slash ? slash[1] : path[0]) == '\0')
        return fail(err, STATUS_USAGE, "'%s': names no file to write", quote_path(path).text);
    return STATUS_OK;
}

/* ".npy-PROCESS-NUMBER.tmp" in the folder of the path: short, so that it fits wherever it does. */
static enum status open_temporary(struct npy_writer *w, struct error *err)
{
    const char *slash = strrchr(w->path, '/');
    int folder = slash ? (int)(slash - w->path) + 1 : 0;
    void *memory;
    enum status status = allocate(&memory, folder + 64, 1, "a file name", err);
    if (status != STATUS_OK)
        return status;
    char *name = memory;
    for (int i = 0;; i++) {
        sprintf(name, "%.*s.npy-%ld-%d.tmp", folder, w->path, (long)getpid(), i);
        w->file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->file >= 0)
            break;
        if (errno != EINTR && (errno != EEXIST || i == INT16_MAX)) {
            status = npy_cannot(w->path, "written", errno, err);
            free(name);
            return status;
        }
    }
    w->temporary = name;
    return STATUS_OK;
}

static enum status write_all(struct npy_writer *w, const void *bytes, int64_t n_bytes,
                             struct error *err)
{
    const char *from = bytes;
    while (n_bytes > 0) {
        ssize_t done = write(w->file, from,
                             (size_t)(n_bytes < NPY_MAX_IO_BYTES ? n_bytes : NPY_MAX_IO_BYTES));
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return npy_cannot(w->path, "written", done < 0 ? errno : EIO, err);
        from += done;
        n_bytes -= done;
    }
    return STATUS_OK;
}

/* Version 1.0, padded with blanks so that the elements begin at a multiple of 64 bytes, as NumPy
 * does. NPY_MAX_DIMS dimensions stay far below the 65535 bytes that ask for version 2.0. */
static enum status write_header(struct npy_writer *w, const struct npy *like, struct error *err)
{
    char shape[NPY_SHAPE_TEXT], text[NPY_SHAPE_TEXT + 192];
    _Static_assert(sizeof text < 65536, "the header fits version 1.0");
    npy_shape_text(like, shape);
    memcpy(text, NPY_MAGIC "\x01\x00", 8);
    int end = 10 + sprintf(text + 10, "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }",
                           npy_codes[like->dtype], shape);
    int total = (end + 1 + 63) / 64 * 64;
    memset(text + end, ' ', (size_t)(total - end));
    text[total - 1] = '\n';
    text[8] = (char)((total - 10) & 255);
    text[9] = (char)((total - 10) >> 8);
    return write_all(w, text, total, err);
}

/* All elements are there: no descriptor is kept until the commit, so that many files can wait for
 * theirs together. */
static enum status finish(struct npy_writer *w, struct error *err)
{
    int closed = close(w->file) == 0 || errno == EINTR ? 0 : errno; /* Linux closes it anyway */
    w->file = -1;
    return closed == 0 ? STATUS_OK : npy_cannot(w->path, "written", closed, err);
}

enum status npy_check_dtype(const char *path, enum dtype dtype, struct error *err)
{
    return npy_codes[dtype]
               ? STATUS_OK
               : fail(err, STATUS_USAGE, "%s: a .npy file cannot hold %s, NumPy has no such type; "
                      "float32 holds all of its values", quote_path(path).text, dtype_name(dtype));
}

enum status npy_create(struct npy_writer *w, const char *path, const struct npy *like,
                       struct error *err)
{
    enum status status;
    memset(w, 0, sizeof *w);
    TRY(npy_check_dtype(path, like->dtype, err));
    w->dtype = like->dtype;
    w->left = like->count;
    TRY(npy_copy_text(&w->path, path, err));
    TRY(check_target(path, err));
    TRY(open_temporary(w, err));
    TRY(write_header(w, like, err));
    if (w->left == 0)
        TRY(finish(w, err));
out:
    if (status != STATUS_OK)
        npy_discard(w);
    return status;
}

enum status npy_append(struct npy_writer *w, const void *elements, int64_t count,
                       struct error *err)
{
    if (!w->temporary)
        return fail(err, STATUS_MACHINE, "append to a .npy file that is not being written");
    enum status status;
    if (count < 0 || count > w->left)
        status = fail(err, STATUS_MACHINE, "%s: %lld elements to write where %lld are left",
                      quote_path(w->path).text, (long long)count, (long long)w->left);
    else
        status = write_all(w, elements, count * (int64_t)dtype_size(w->dtype), err);
    w->left -= count;
    if (status == STATUS_OK && w->left == 0 && w->file >= 0)
        status = finish(w, err);
    if (status != STATUS_OK)
        npy_discard(w);
    return status;
}

enum status npy_commit(struct npy_writer *w, struct error *err)
{
    if (!w->temporary)
        return fail(err, STATUS_MACHINE, "commit of a .npy file that is not being written");
    enum status status = STATUS_OK;
    if (w->left != 0)
        status = fail(err, STATUS_MACHINE, "%s: not written: %lld elements are missing",
                      quote_path(w->path).text, (long long)w->left);
    else if (rename(w->temporary, w->path) != 0)
        status = npy_cannot(w->path, "written", errno, err);
    if (status == STATUS_OK) {
        free(w->temporary);
        w->temporary = NULL;
    }
    npy_discard(w);
    return status;
}

void npy_discard(struct npy_writer *w)
{
    if (w->temporary) {
        if (w->file >= 0)
            close(w->file);
        unlink(w->temporary);
    }
    free(w->temporary);
    free(w->path);
    memset(w, 0, sizeof *w);
}

char *npy_path(const char *pattern, int rank)
{
    size_t n_marks = 0;
    for (const char *p = pattern; (p = strstr(p, "%r")); p += 2)
        n_marks++;
    char *path = malloc(strlen(pattern) + 12 * n_marks + 1), *to = path;
    if (!path)
        return NULL;
    for (const char *mark; (mark = strstr(pattern, "%r")); pattern = mark + 2)
        to += sprintf(to, "%.*s%d", (int)(mark - pattern), pattern, rank);
    strcpy(to, pattern);
    return path;
}
