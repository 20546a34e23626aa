/* output.h - a text file that appears whole or not at all.
 *
 * Written under a temporary name beside `path` and renamed when all of it is there, so that neither
 * half a file nor the loss of an old one can come of it. A symbolic link is followed. What is no
 * regular file (a terminal, a pipe, /dev/null) is written directly. path NULL is standard output.
 */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <stdio.h>

#include "common/status.h"

struct output {
    FILE *file;
    const char *path; /* not owned; NULL: standard output */
    char *target;     /* owned; the file meant by path, links followed; NULL: written directly */
    char *temporary;  /* owned; beside target */
};

/* Whether output_open would do, as far as can be told before; nothing stays behind. STATUS_USAGE
 * names the path. */
enum status output_check(const char *path, struct error *err);

/* STATUS_USAGE: cannot be written there. */
enum status output_open(struct output *output, const char *path, struct error *err);
/* Flushes, closes and names the file. STATUS_MACHINE: not all could be written. */
enum status output_commit(struct output *output, struct error *err);
/* The same two, and a Ctrl-C that comes between them takes the file away (interrupt.h). */
enum status output_begin(struct output *output, const char *path, struct error *err);
enum status output_end(struct output *output, struct error *err);
/* Standard output so far. STATUS_MACHINE: not all of it could be written. Why is known only where
 * it is asked behind each few lines. */
enum status output_flush(struct error *err);
void output_discard(struct output *output); /* also of a committed or zeroed one: then nothing */

#endif
