/* init.h - what each rank's data holds before the ring: a pattern, or one .npy file a rank.
 *
 * init_fill() gives any stretch of any rank's data again at any time, so the upload and the
 * reference read the same source and no second buffer is kept.
 */
#ifndef COMMON_INIT_H
#define COMMON_INIT_H

#include <stdint.h>

#include "common/npy.h"
#include "common/pattern.h"
#include "common/status.h"

#define INIT_MAX_VALUES 4096

struct init {
    enum dtype dtype;
    struct pattern pattern;  /* where n_values and n_files are 0; CONSTANT: the rank */
    int n_values;            /* --init values:a,b,..: rank r holds values[r % n_values] */
    double *values;          /* owned */
    int n_files;             /* --input: one per rank */
    struct npy *files;       /* owned; the same in every iteration */
};

/* Reads "index", "rank", "ones", "random:SEED" or "values:a,b,..". `prod` turns the default index
 * pattern into signed powers of two, so that products stay exact. STATUS_USAGE names the text.
 * Values are kept as the type holds them: 0.1 rounded to float32, 257 to 256 in bfloat16 (as ranks
 * beyond 256 are by "rank"; float16: beyond 2048); what has no place is refused. */
enum status init_parse(struct init *init, const char *text, enum dtype dtype, int prod,
                       struct error *err);

/* Opens `pattern` with %r = 0, 1, .. : n_ranks files, or, where n_ranks is 0, as many as are found
 * without a gap. All must have one shape and one dtype. STATUS_USAGE names the file. A pattern
 * without %r is one file, for one rank. */
enum status init_open_files(struct init *init, const char *pattern, int n_ranks,
                            struct error *err);

/* The pattern of one rank (with `constant` set for it); only where n_files is 0. */
struct pattern init_pattern(const struct init *init, int rank);

/* Writes `count` elements of rank's data, from element `first`, for this iteration, to out, which
 * is aligned for the type. Whatever is no file gives pattern_value() as the type holds it, a NaN
 * canonical (arith.h). */
enum status init_fill(const struct init *init, int rank, int iteration, int64_t first,
                      int64_t count, void *out, struct error *err);

void init_free(struct init *init); /* also of a zeroed or half-built one */

#endif
