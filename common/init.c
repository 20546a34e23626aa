/* init.c - names become patterns or values, and any stretch of them can be computed again.
 *
 * "rank" is the constant pattern, whose constant is the rank itself; "ones" is "values:1". Index
 * and powers repeat every PATTERN_PERIOD elements and a constant always does, so one period is
 * computed and copied; only random is computed element by element.
 */
#include "common/init.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/quote.h"

/* What one form of --init is told: `argument` follows the colon, NULL where there is none. */
struct request {
    const char *text, *argument;
    int prod;
};

typedef enum status read_form(struct init *init, const struct request *r, struct error *err);
static read_form read_index, read_rank, read_ones, read_random, read_values;

static const struct {
    const char *name, *shown;
    read_form *read;
    int wants_argument;
} forms[] = {
    {"index", "index", read_index, 0},
    {"rank", "rank", read_rank, 0},
    {"ones", "ones", read_ones, 0},
    {"random", "random:SEED", read_random, 1},
    {"values", "values:a,b,..", read_values, 1},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* --- --init -------------------------------------------------------------------------------- */

static enum status read_index(struct init *init, const struct request *r, struct error *err)
{
    (void)err;
    init->pattern.kind = r->prod ? PATTERN_POWERS : PATTERN_INDEX;
    return STATUS_OK;
}

static enum status read_rank(struct init *init, const struct request *r, struct error *err)
{
    (void)r, (void)err;
    init->pattern.kind = PATTERN_CONSTANT;
    return STATUS_OK;
}

static enum status read_random(struct init *init, const struct request *r, struct error *err)
{
    const char *p = r->argument;
    uint64_t seed = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (seed > (UINT64_MAX - digit) / 10)
            break;
        seed = 10 * seed + digit;
    }
    if (*p || p == r->argument)
        return fail(err, STATUS_USAGE,
                    "--init %s: the seed is a whole number from 0 to %llu, as in random:1",
                    quote_text(r->text).text, (unsigned long long)UINT64_MAX);
    init->pattern.kind = PATTERN_RANDOM;
    init->pattern.seed = seed;
    return STATUS_OK;
}

/* NULL, or why the value that strtod made of an entry cannot stand in the type. Rounding is as
 * everywhere (0.1); a number that would become infinite or 0 is refused. On success *value is
 * what the type holds. */
static const char *fit(enum dtype dtype, double *value, int out_of_range)
{
    double element; /* the largest type */
    if (out_of_range && *value == 0)
        return "is too small for";
    if (!dtype_is_float(dtype) && !(isfinite(*value) && *value == floor(*value)))
        return "is no whole number, as needed for";
    if ((out_of_range && isinf(*value)) || !dtype_store(dtype, *value, &element))
        return "is too large for";
    double held = dtype_load(dtype, &element);
    if (held == 0 && *value != 0)
        return "is too small for";
    *value = held;
    return NULL;
}

/* One entry, up to the next comma. The locale stays "C", so the decimal point is a point. */
static enum status read_value(struct init *init, const char *entry, size_t length,
                              struct error *err)
{
    char *end;
    errno = 0;
    double value = strtod(entry, &end);
    const char *why = NULL;
    if (length == 0 || end != entry + length || !strchr("+-.0123456789niNI", *entry))
        why = "is not a number";
    else
        why = fit(init->dtype, &value, errno == ERANGE);
    if (why) {
        int is_number = end == entry + length && length > 0;
        return fail(err, STATUS_USAGE, "--init values: entry %d, '%s', %s%s%s", init->n_values + 1,
                    quote_bytes(entry, length).text, why, is_number ? " " : "",
                    is_number ? dtype_name(init->dtype) : "");
    }
    init->values[init->n_values++] = value;
    return STATUS_OK;
}

static enum status read_values(struct init *init, const struct request *r, struct error *err)
{
    int count = 1;
    for (const char *p = r->argument; *p; p++)
        count += *p == ',';
    if (count > INIT_MAX_VALUES)
        return fail(err, STATUS_USAGE, "--init values: %d values; at most %d are read", count,
                    INIT_MAX_VALUES);
    void *memory;
    enum status status = allocate(&memory, count, sizeof *init->values, "the values of --init",
                                  err);
    init->values = memory;
    const char *entry = r->argument;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        size_t length = strcspn(entry, ",");
        status = read_value(init, entry, length, err);
        entry += length + 1;
    }
    return status;
}

static enum status read_ones(struct init *init, const struct request *r, struct error *err)
{
    struct request one = {r->text, "1", r->prod};
    return read_values(init, &one, err);
}

static enum status unknown(const char *text, struct error *err)
{
    char list[128] = "";
    for (int i = 0; i < N_FORMS; i++) {
        strcat(list, i ? ", " : "");
        strcat(list, forms[i].shown);
    }
    return fail(err, STATUS_USAGE, "--init %s: no such data; there are %s", quote_text(text).text,
                list);
}

enum status init_parse(struct init *init, const char *text, enum dtype dtype, int prod,
                       struct error *err)
{
    size_t length = strcspn(text, ":");
    struct request r = {text, text[length] ? text + length + 1 : NULL, prod};
    memset(init, 0, sizeof *init);
    init->dtype = dtype;
    for (int i = 0; i < N_FORMS; i++) {
        if (strlen(forms[i].name) != length || memcmp(forms[i].name, text, length) != 0)
            continue;
        if (!forms[i].wants_argument != !r.argument)
            return fail(err, STATUS_USAGE, "--init %s: it is written %s", quote_text(text).text,
                        forms[i].shown);
        enum status status = forms[i].read(init, &r, err);
        if (status != STATUS_OK)
            init_free(init);
        return status;
    }
    return unknown(text, err);
}

/* --- --input ------------------------------------------------------------------------------- */

static enum status name_of_rank(const char *pattern, int rank, char **path, struct error *err)
{
    *path = npy_path(pattern, rank);
    return *path ? STATUS_OK : fail(err, STATUS_MACHINE, "not enough memory for a file name");
}

/* How many of the files 0, 1, .. are there. Whatever is there but cannot be looked at counts: it
 * is refused when it is opened, not passed over. */
static enum status count_files(const char *pattern, int *n_files, struct error *err)
{
    for (*n_files = 0; *n_files < INT_MAX; ++*n_files) {
        char *path;
        struct stat info;
        enum status status = name_of_rank(pattern, *n_files, &path, err);
        if (status != STATUS_OK)
            return status;
        int missing = lstat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR);
        free(path);
        if (missing)
            break;
    }
    return STATUS_OK;
}

static enum status same_form(const struct npy *a, const struct npy *b, struct error *err)
{
    char shape_a[NPY_SHAPE_TEXT], shape_b[NPY_SHAPE_TEXT];
    npy_shape_text(a, shape_a);
    npy_shape_text(b, shape_b);
    if (a->dtype == b->dtype && strcmp(shape_a, shape_b) == 0)
        return STATUS_OK;
    return fail(err, STATUS_USAGE,
                "%s holds %s of shape %s, but %s holds %s of shape %s: all ranks need the same",
                quote_path(b->path).text, dtype_name(b->dtype), quote_text(shape_b).text,
                quote_path(a->path).text, dtype_name(a->dtype), quote_text(shape_a).text);
}

static enum status open_file(struct init *init, const char *pattern, struct error *err)
{
    enum status status;
    char *path = NULL;
    struct npy *npy = &init->files[init->n_files];
    TRY(name_of_rank(pattern, init->n_files, &path, err));
    TRY(npy_open(npy, path, err));
    init->n_files++;
    TRY(same_form(&init->files[0], npy, err));
out:
    free(path);
    return status;
}

enum status init_open_files(struct init *init, const char *pattern, int n_ranks,
                            struct error *err)
{
    enum status status;
    void *memory;
    int many = strstr(pattern, "%r") != NULL;
    memset(init, 0, sizeof *init);
    if (!many && n_ranks > 1)
        return fail(err, STATUS_USAGE,
                    "--input %s: one file for %d ranks; write %%r where the rank's number stands, "
                    "as in in%%r.npy",
                    quote_path(pattern).text, n_ranks);
    if (n_ranks == 0 && many)
        TRY(count_files(pattern, &n_ranks, err));
    if (n_ranks == 0)
        n_ranks = 1; /* so that opening it names what is missing */
    TRY(allocate(&memory, n_ranks, sizeof *init->files, "the input files", err));
    init->files = memory;
    while (init->n_files < n_ranks)
        TRY(open_file(init, pattern, err));
    init->dtype = init->files[0].dtype;
out:
    if (status != STATUS_OK)
        init_free(init);
    return status;
}

/* --- the data ------------------------------------------------------------------------------ */

typedef void compute(struct pattern p, int rank, int iteration, int64_t first, int64_t count,
                     void *out);

#define DEFINE_COMPUTE(DTYPE, T)                                                                  \
    static void compute_##T(struct pattern p, int rank, int iteration, int64_t first,             \
                            int64_t count, void *out)                                             \
    {                                                                                             \
        T *to = out;                                                                              \
        for (int64_t i = 0; i < count; i++)                                                       \
            to[i] = arith_held_##T(pattern_value(p, DTYPE, rank, iteration, first + i));          \
    }
ARITH_TYPES(DEFINE_COMPUTE)

#define COMPUTE_ROW(DTYPE, T) [DTYPE] = compute_##T,
static compute *const computes[N_DTYPES] = {ARITH_TYPES(COMPUTE_ROW)};

/* The first `filled` bytes are whole periods; doubled until they fill a cache, then repeated. */
static void repeat(char *out, int64_t filled, int64_t bytes)
{
    int64_t block = filled;
    while (filled < bytes) {
        int64_t n = block < bytes - filled ? block : bytes - filled;
        memcpy(out + filled, out, (size_t)n);
        filled += n;
        if (block < 1 << 16)
            block = filled;
    }
}

struct pattern init_pattern(const struct init *init, int rank)
{
    struct pattern p = init->pattern;
    if (init->n_values > 0) {
        p.kind = PATTERN_CONSTANT;
        p.constant = init->values[rank % init->n_values];
    } else if (p.kind == PATTERN_CONSTANT) {
        p.constant = rank;
    }
    return p;
}

enum status init_fill(const struct init *init, int rank, int iteration, int64_t first,
                      int64_t count, void *out, struct error *err)
{
    int64_t size = (int64_t)dtype_size(init->dtype);
    if (init->n_files > 0 && rank >= init->n_files)
        return fail(err, STATUS_MACHINE, "no input file for rank %d: there are %d", rank,
                    init->n_files);
    if (init->n_files > 0)
        return npy_read(&init->files[rank], first, count, out, err);
    struct pattern p = init_pattern(init, rank);
    int64_t computed = p.kind != PATTERN_RANDOM && count > PATTERN_PERIOD ? PATTERN_PERIOD : count;
    computes[init->dtype](p, rank, iteration, first, computed, out);
    repeat(out, computed * size, count * size);
    return STATUS_OK;
}

void init_free(struct init *init)
{
    for (int i = 0; i < init->n_files; i++)
        npy_close(&init->files[i]);
    free(init->files);
    free(init->values);
    memset(init, 0, sizeof *init);
}
