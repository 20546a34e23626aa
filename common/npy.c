/* npy.c - a .npy file is a magic, a version, a length, a Python dict as text, then the elements.
 *
 * The dict is read by a small recursive descent over exactly the header's bytes: it accepts what
 * Python accepts of {'descr': .., 'fortran_order': .., 'shape': ..} and nothing else. No length in
 * the file is believed before it was held against the file's size.
 */
#include "common/npy.h"
#include "common/npy_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/quote.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are copied between file and memory as they are: little-endian machines only"
#endif

#define N_KEYS 3
#define MAX_ELEMENTS (INT64_MAX / 16) /* so that every offset in bytes fits 64 bits */

enum { MAGIC_BYTES = 6, PREFIX_BYTES = 12, MAX_HEADER_BYTES = 1 << 20 };

const char *const npy_codes[N_DTYPES] = {
    [DTYPE_FLOAT32] = "f4", [DTYPE_FLOAT64] = "f8", [DTYPE_FLOAT16] = "f2", [DTYPE_INT32] = "i4",
};

/* What is often mistaken for a .npy file, by its first bytes. */
static const struct {
    const char *begin, *what;
} strangers[] = {
    {"PK\x03\x04", "an .npz archive or another zip file; save each array alone with np.save"},
    {"\x80", "a Python pickle, which is never loaded; save the array with np.save"},
};

struct header {
    const char *at, *end;
    struct npy *npy;
    int fortran;
};

typedef enum status read_value(struct header *h, struct error *err);
static read_value read_descr, read_order, read_shape;

static const struct {
    const char *name;
    read_value *read;
} keys[N_KEYS] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};

/* The system's refusal: what the machine lacks, or else what is wrong with the path. */
enum status npy_cannot(const char *path, const char *what, int error, struct error *err)
{
    static const int lacks[] = {ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM};
    enum status status = STATUS_USAGE;
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (error == lacks[i])
            status = STATUS_MACHINE;
    return fail(err, status, "%s: cannot be %s: %s", quote_path(path).text, what, strerror(error));
}

const char *npy_kind_of_file(const struct stat *info)
{
    return S_ISDIR(info->st_mode)    ? "a directory"
           : S_ISFIFO(info->st_mode) ? "a pipe"
           : S_ISLNK(info->st_mode)  ? "a symbolic link"
                                     : "a device or a socket";
}

enum status npy_copy_text(char **out, const char *text, struct error *err)
{
    void *copy;
    enum status status = allocate(&copy, (long long)strlen(text) + 1, 1, "a file name", err);
    *out = copy;
    if (status == STATUS_OK)
        strcpy(copy, text);
    return status;
}

/* --- reading ------------------------------------------------------------------------------- */

/* Non-blocking, so that a pipe without a writer is refused and not waited for. */
static enum status open_regular(const char *path, int *file, struct stat *info, struct error *err)
{
    do
        *file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    while (*file < 0 && errno == EINTR);
    if (*file < 0 || fstat(*file, info) != 0)
        return npy_cannot(path, "read", errno, err);
    if (!S_ISREG(info->st_mode))
        return fail(err, STATUS_USAGE, "%s: is %s, not a .npy file", quote_path(path).text,
                    npy_kind_of_file(info));
    return STATUS_OK;
}

static void identify(const struct stat *info, int64_t out[4])
{
    out[0] = (int64_t)info->st_dev;
    out[1] = (int64_t)info->st_ino;
    out[2] = info->st_size;
    out[3] = info->st_mtime;
}

static enum status read_at(int file, const char *path, void *out, int64_t bytes, int64_t offset,
                           struct error *err)
{
    char *to = out;
    while (bytes > 0) {
        ssize_t got = pread(file, to, (size_t)(bytes < NPY_MAX_IO_BYTES ? bytes : NPY_MAX_IO_BYTES),
                            (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return npy_cannot(path, "read", errno, err);
        if (got == 0)
            return fail(err, STATUS_USAGE, "%s: became shorter while it was read",
                        quote_path(path).text);
        to += got;
        bytes -= got;
        offset += got;
    }
    return STATUS_OK;
}

static enum status not_npy(const char *path, const char *begin, int64_t bytes, struct error *err)
{
    if (bytes == 0)
        return fail(err, STATUS_USAGE, "%s: is empty, not a .npy file; np.save writes one",
                    quote_path(path).text);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (strncmp(begin, strangers[i].begin, strlen(strangers[i].begin)) == 0)
            return fail(err, STATUS_USAGE, "%s: is not a .npy file but %s",
                        quote_path(path).text, strangers[i].what);
    return fail(err, STATUS_USAGE,
                "%s: is not a .npy file: it begins with '%s', not with '\\x93NUMPY'; "
                "np.save writes one",
                quote_path(path).text, quote_bytes(begin, (size_t)bytes).text);
}

/* Magic (6 bytes), version (2), length of the header in 2 bytes (version 1.0) or 4, low byte
 * first. Leaves data_offset behind the header, and the header's own length in *length. */
static enum status read_prefix(struct npy *npy, int file, int64_t size, int64_t *length,
                               struct error *err)
{
    unsigned char b[PREFIX_BYTES + 1] = {0};
    int64_t have = size < PREFIX_BYTES ? size : PREFIX_BYTES;
    enum status status = read_at(file, npy->path, b, have, 0, err);
    if (status != STATUS_OK)
        return status;
    if (have < MAGIC_BYTES || memcmp(b, NPY_MAGIC, MAGIC_BYTES) != 0)
        return not_npy(npy->path, (const char *)b, have, err);
    if (have >= 8 && (b[6] < 1 || b[6] > 3 || b[7] != 0))
        return fail(err, STATUS_USAGE, "%s: .npy version %d.%d; 1.0, 2.0 and 3.0 can be read",
                    quote_path(npy->path).text, b[6], b[7]);
    int wide = b[6] >= 2;
    npy->data_offset = wide ? 12 : 10;
    if (have < npy->data_offset)
        return fail(err, STATUS_USAGE, "%s: truncated: it ends after %lld bytes, before its header",
                    quote_path(npy->path).text, (long long)have);
    *length = b[8] | b[9] << 8 | (wide ? (int64_t)b[10] << 16 | (int64_t)b[11] << 24 : 0);
    if (*length > size - npy->data_offset)
        return fail(err, STATUS_USAGE,
                    "%s: truncated: its header should be %lld bytes long, but only %lld follow",
                    quote_path(npy->path).text, (long long)*length,
                    (long long)(size - npy->data_offset));
    if (*length > MAX_HEADER_BYTES)
        return fail(err, STATUS_USAGE, "%s: a header of %lld bytes; at most %d are read",
                    quote_path(npy->path).text, (long long)*length, MAX_HEADER_BYTES);
    npy->data_offset += *length;
    return STATUS_OK;
}

static void skip_blanks(struct header *h)
{
    while (h->at < h->end && *h->at && strchr(" \t\r\n\f", *h->at))
        h->at++;
}

static int accept(struct header *h, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(h);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, word, length) != 0)
        return 0;
    h->at += length;
    return 1;
}

static enum status expected(struct header *h, const char *what, struct error *err)
{
    skip_blanks(h);
    const char *path = h->npy->path;
    size_t left = (size_t)(h->end - h->at);
    if (left == 0)
        return fail(err, STATUS_USAGE, "%s: damaged header: it ends where %s should follow",
                    quote_path(path).text, what);
    return fail(err, STATUS_USAGE, "%s: damaged header: '%s' where %s should follow",
                quote_path(path).text, quote_bytes(h->at, left < 24 ? left : 24).text, what);
}

static enum status read_string(struct header *h, const char **text, size_t *length,
                               const char *what, struct error *err)
{
    const char *mark = accept(h, "'") ? "'" : accept(h, "\"") ? "\"" : NULL;
    if (!mark)
        return expected(h, what, err);
    *text = h->at;
    const char *end = memchr(h->at, *mark, (size_t)(h->end - h->at));
    if (!end) {
        h->at = h->end;
        return expected(h, "a closing quote", err);
    }
    *length = (size_t)(end - h->at);
    h->at = end + 1;
    return STATUS_OK;
}

static enum status unsupported(const struct header *h, const char *text, size_t length,
                               struct error *err)
{
    char list[N_DTYPES * 32] = "";
    for (int i = 0; i < N_DTYPES; i++)
        if (npy_codes[i])
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s'<%s' (%s)", i ? ", " : "",
                     npy_codes[i], dtype_name((enum dtype)i));
    return fail(err, STATUS_USAGE, "%s: elements of type '%s'; supported are %s",
                quote_path(h->npy->path).text, quote_bytes(text, length).text, list);
}

/* '<' is little-endian. '=', '|' and no mark mean the reader's own order, as in NumPy. */
static enum status read_descr(struct header *h, struct error *err)
{
    const char *text, *path = h->npy->path;
    size_t length;
    skip_blanks(h);
    size_t left = (size_t)(h->end - h->at);
    if (left > 0 && (*h->at == '[' || *h->at == '('))
        return fail(err, STATUS_USAGE,
                    "%s: a structured type, %s ..; save one field, as in np.save(path, arr['x'])",
                    quote_path(path).text, quote_bytes(h->at, left < 40 ? left : 40).text);
    enum status status = read_string(h, &text, &length, "a type such as '<f4'", err);
    if (status != STATUS_OK)
        return status;
    size_t mark = length > 0 && memchr("<>=|", text[0], 4);
    for (int i = 0; i < N_DTYPES; i++) {
        if (!npy_codes[i] || length - mark != strlen(npy_codes[i]) ||
            memcmp(text + mark, npy_codes[i], length - mark) != 0)
            continue;
        if (text[0] == '>')
            return fail(
                err, STATUS_USAGE, "%s: big-endian %s ('>%s'); save it with arr.astype('<%s')",
                quote_path(path).text, dtype_name((enum dtype)i), npy_codes[i], npy_codes[i]);
        h->npy->dtype = (enum dtype)i;
        return STATUS_OK;
    }
    if (length - mark == 2 && memcmp(text + mark, "V2", 2) == 0)
        return fail(err, STATUS_USAGE,
                    "%s: elements of type '%s', two bytes without a meaning, as bfloat16 is saved; "
                    "NumPy has no such type, float32 holds its values: save it with "
                    "arr.astype('<f4')",
                    quote_path(path).text, quote_bytes(text, length).text);
    if (length > mark && text[mark] == 'O')
        return fail(err, STATUS_USAGE,
                    "%s: pickled Python objects ('%s'), which are never loaded; "
                    "save numbers, as with arr.astype('<f4')",
                    quote_path(path).text, quote_bytes(text, length).text);
    return unsupported(h, text, length, err);
}

static enum status read_order(struct header *h, struct error *err)
{
    h->fortran = accept(h, "True");
    return h->fortran || accept(h, "False") ? STATUS_OK : expected(h, "True or False", err);
}

static enum status too_large(const struct header *h, struct error *err)
{
    return fail(err, STATUS_USAGE, "%s: its shape has more elements than a file can hold (%lld)",
                quote_path(h->npy->path).text, (long long)MAX_ELEMENTS);
}

static enum status read_dimension(struct header *h, int64_t *out, struct error *err)
{
    skip_blanks(h);
    if (h->at == h->end || *h->at < '0' || *h->at > '9')
        return expected(h, "a dimension (a whole number from 0)", err);
    for (*out = 0; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
        int digit = *h->at - '0';
        if (*out > (MAX_ELEMENTS - digit) / 10)
            return too_large(h, err);
        *out = 10 * *out + digit;
    }
    accept(h, "L"); /* Python 2 wrote long integers so */
    return STATUS_OK;
}

static enum status read_shape(struct header *h, struct error *err)
{
    struct npy *npy = h->npy;
    int comma = 1;
    if (!accept(h, "("))
        return expected(h, "a shape such as (3, 4)", err);
    while (!accept(h, ")")) {
        if (!comma)
            return expected(h, "',' or ')'", err);
        if (npy->n_dims == NPY_MAX_DIMS)
            return fail(err, STATUS_USAGE, "%s: more than %d dimensions; arr.reshape(-1) has one",
                        quote_path(npy->path).text, NPY_MAX_DIMS);
        enum status status = read_dimension(h, &npy->shape[npy->n_dims], err);
        if (status != STATUS_OK)
            return status;
        npy->n_dims++;
        comma = accept(h, ",");
    }
    if (npy->n_dims == 1 && !comma) {
        h->at--; /* in Python (3) is a number, (3,) a shape */
        return expected(h, "','", err);
    }
    return STATUS_OK;
}

static enum status read_entry(struct header *h, unsigned *seen, struct error *err)
{
    const char *text, *path = h->npy->path;
    size_t length;
    enum status status = read_string(h, &text, &length, "a key such as 'shape'", err);
    if (status != STATUS_OK)
        return status;
    int k = 0;
    while (k < N_KEYS && (strlen(keys[k].name) != length || memcmp(keys[k].name, text, length)))
        k++;
    if (k == N_KEYS || *seen & 1u << k)
        return fail(err, STATUS_USAGE,
                    "%s: damaged header: %s key '%s'; descr, fortran_order and shape stand there, "
                    "once each",
                    quote_path(path).text, k == N_KEYS ? "unknown" : "a second",
                    quote_bytes(text, length).text);
    *seen |= 1u << k;
    return accept(h, ":") ? keys[k].read(h, err) : expected(h, "':'", err);
}

static enum status read_dict(struct header *h, struct error *err)
{
    unsigned seen = 0;
    int comma = 1;
    if (!accept(h, "{"))
        return expected(h, "'{'", err);
    while (!accept(h, "}")) {
        if (!comma)
            return expected(h, "',' or '}'", err);
        enum status status = read_entry(h, &seen, err);
        if (status != STATUS_OK)
            return status;
        comma = accept(h, ",");
    }
    skip_blanks(h);
    if (h->at < h->end)
        return expected(h, "nothing but blanks", err);
    for (int k = 0; k < N_KEYS; k++)
        if (!(seen & 1u << k))
            return fail(err, STATUS_USAGE, "%s: damaged header: it lacks the key '%s'",
                        quote_path(h->npy->path).text, keys[k].name);
    return STATUS_OK;
}

/* Elements of the shape. As in NumPy, the dimensions that are not 0 must fit even beside a 0. */
static enum status count_elements(struct header *h, struct error *err)
{
    struct npy *npy = h->npy;
    int64_t product = 1;
    int empty = 0;
    for (int i = 0; i < npy->n_dims; i++) {
        if (npy->shape[i] == 0)
            empty = 1;
        else if (product > MAX_ELEMENTS / npy->shape[i])
            return too_large(h, err);
        else
            product *= npy->shape[i];
    }
    npy->count = empty ? 0 : product;
    return STATUS_OK;
}

static enum status read_header(struct npy *npy, const char *text, int64_t length, struct error *err)
{
    struct header h = {text, text + length, npy, 0};
    enum status status;
    TRY(read_dict(&h, err));
    TRY(count_elements(&h, err));
    if (h.fortran && npy->n_dims > 1) {
        char shape[NPY_SHAPE_TEXT];
        npy_shape_text(npy, shape);
        return fail(err, STATUS_USAGE,
                    "%s: Fortran order of shape %s; save it with np.ascontiguousarray(arr)",
                    quote_path(npy->path).text, quote_text(shape).text);
    }
out:
    return status;
}

static enum status check_size(const struct npy *npy, int64_t size, struct error *err)
{
    long long want = (long long)npy->count * (long long)dtype_size(npy->dtype);
    long long have = size - npy->data_offset;
    const char *name = dtype_name(npy->dtype);
    if (have < want)
        return fail(err, STATUS_USAGE,
                    "%s: truncated: %lld elements of %s are %lld bytes, but only %lld follow the "
                    "header",
                    quote_path(npy->path).text, (long long)npy->count, name, want, have);
    if (have > want)
        return fail(err, STATUS_USAGE,
                    "%s: %lld bytes too many: %lld elements of %s are %lld bytes, but %lld follow "
                    "the header",
                    quote_path(npy->path).text, have - want, (long long)npy->count, name, want,
                    have);
    return STATUS_OK;
}

enum status npy_open(struct npy *npy, const char *path, struct error *err)
{
    enum status status;
    struct stat info;
    int file = -1;
    int64_t length = 0;
    void *text = NULL;
    memset(npy, 0, sizeof *npy);
    TRY(npy_copy_text(&npy->path, path, err));
    TRY(open_regular(path, &file, &info, err));
    identify(&info, npy->identity);
    TRY(read_prefix(npy, file, info.st_size, &length, err));
    TRY(allocate(&text, length, 1, "the header of a .npy file", err));
    TRY(read_at(file, path, text, length, npy->data_offset - length, err));
    TRY(read_header(npy, text, length, err));
    TRY(check_size(npy, info.st_size, err));
out:
    if (file >= 0)
        close(file);
    free(text);
    if (status != STATUS_OK)
        npy_close(npy);
    return status;
}

enum status npy_read(const struct npy *npy, int64_t first, int64_t count, void *out,
                     struct error *err)
{
    enum status status;
    struct stat info;
    int64_t identity[4], size = (int64_t)dtype_size(npy->dtype);
    int file = -1;
    if (!npy->path || first < 0 || count < 0 || count > npy->count - first)
        return fail(err, STATUS_MACHINE, "%s: read of %lld elements from %lld, of %lld",
                    npy->path ? quote_path(npy->path).text : "closed .npy file", (long long)count,
                    (long long)first, (long long)npy->count);
    TRY(open_regular(npy->path, &file, &info, err));
    identify(&info, identity);
    if (memcmp(identity, npy->identity, sizeof identity) != 0)
        status = fail(err, STATUS_USAGE, "%s: was changed or replaced since it was first read",
                      quote_path(npy->path).text);
    else
        status = read_at(file, npy->path, out, count * size, npy->data_offset + first * size, err);
out:
    if (file >= 0)
        close(file);
    return status;
}

void npy_close(struct npy *npy)
{
    free(npy->path);
    memset(npy, 0, sizeof *npy);
}

void npy_shape_text(const struct npy *npy, char out[NPY_SHAPE_TEXT])
{
    int n = sprintf(out, "(");
    for (int i = 0; i < npy->n_dims; i++)
        n += sprintf(out + n, "%s%lld", i ? ", " : "", (long long)npy->shape[i]);
    sprintf(out + n, npy->n_dims == 1 ? ",)" : ")");
}
