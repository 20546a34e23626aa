/* input.h - all of a text file, or of standard input, in memory. */
#ifndef COMMON_INPUT_H
#define COMMON_INPUT_H

#include <stddef.h>

#include "common/status.h"

/* Reads `path` ("-": standard input) whole; *text is the caller's to free, also on failure. `name`
 * stands for the input in sentences. STATUS_USAGE: cannot be read, or has more than `most` bytes.
 */
enum status input_read(const char *path, const char *name, size_t most, char **text,
                       size_t *length, struct error *err);

#endif
