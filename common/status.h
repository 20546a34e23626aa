/* status.h - how a function says that it could not do its work.
 *
 * Every function that can fail returns an enum status and takes, as its last parameter, a
 * struct error in which fail() leaves one sentence: what was wrong, named, and what would be
 * right. Nothing is printed here: only main prints errors. The numbers are the exit statuses.
 *
 *     enum status status = STATUS_OK;
 *     TRY(npy_open(&npy, path, err));       goes to `out:` when it fails
 *   out:
 *     npy_close(&npy);
 *     return status;
 */
#ifndef COMMON_STATUS_H
#define COMMON_STATUS_H

#include <stdint.h>

enum status {
    STATUS_OK = 0,
    STATUS_WRONG = 1,   /* a wrong result or a hazard */
    STATUS_USAGE = 2,   /* a wrong command line or an unreadable input */
    STATUS_MACHINE = 3, /* this machine cannot do it: no device, no memory, a device error */
};

struct error {
    char text[1024]; /* one line, no newline, no leading program name */
};

/* Writes the sentence into err (which may be NULL) and returns `status`, so that a refusal is one
 * line: return fail(err, STATUS_USAGE, "--gpus %s: ...", text); */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
enum status fail(struct error *err, enum status status, const char *format, ...);

/* malloc and calloc for arrays, with the failure told: NULL never comes back with STATUS_OK.
 * count and size are checked for overflow; zero bytes give a valid pointer. Zeroed. */
enum status allocate(void **out, long long count, unsigned long size, const char *what,
                     struct error *err);

/* Makes room for `wanted` items in an array that grows by doubling: *capacity tells for how many
 * there is room. On failure the array stays as it was. */
enum status make_room(void **items, long long wanted, int64_t *capacity, unsigned long size,
                      const char *what, struct error *err);

#define TRY(call)                 \
    do {                          \
        status = (call);          \
        if (status != STATUS_OK)  \
            goto out;             \
    } while (0)

#endif
