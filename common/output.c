/* output.c - open, write elsewhere, rename. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "common/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/interrupt.h"
#include "common/quote.h"

static enum status refuse(const char *path, int why, struct error *err)
{
    return fail(err, STATUS_USAGE, "%s: cannot be written: %s", quote_path(path).text,
                strerror(why));
}

/* Fills in the names; both stay NULL for what is written directly. errno 0: it can be written. */
static enum status find_target(struct output *output, const char *path, struct error *err)
{
    struct stat info;
    *output = (struct output){.path = path};
    int exists = stat(path, &info) == 0;
    if ((exists && !S_ISREG(info.st_mode)) || strncmp(path, "/dev/", 5) == 0)
        return STATUS_OK; /* /dev/stdout may be a file, but one that is already open */
    if (exists && access(path, W_OK) != 0) /* a rename would not ask for it */
        return refuse(path, errno, err);
    if (!exists && lstat(path, &info) == 0) /* a link to nowhere: open() will make what it names */
        return STATUS_OK;
    output->target = exists ? realpath(path, NULL) : strdup(path);
    /* a short name of its own, so that it fits wherever `path` does */
    const char *slash = output->target ? strrchr(output->target, '/') : NULL;
    int folder = slash ? (int)(slash - output->target) + 1 : 0;
    output->temporary = malloc((size_t)folder + 48);
    if (!output->target || !output->temporary)
        return fail(err, STATUS_MACHINE, "%s: not enough memory for its name",
                    quote_path(path).text);
    sprintf(output->temporary, "%.*s.ring_demo-%ld.tmp", folder, output->target, (long)getpid());
    return STATUS_OK;
}

static void forget(struct output *output)
{
    free(output->target);
    free(output->temporary);
    output->target = output->temporary = NULL;
}

enum status output_check(const char *path, struct error *err)
{
    struct output output;
    struct stat info;
    if (!path)
        return STATUS_OK;
    enum status status = find_target(&output, path, err);
    if (status == STATUS_OK && output.temporary) { /* whether its folder takes a file, it tells */
        FILE *file = fopen(output.temporary, "wx");
        if (file) {
            fclose(file);
            unlink(output.temporary);
        } else {
            status = refuse(path, errno, err);
        }
    } else if (status == STATUS_OK && stat(path, &info) == 0) {
        /* opening a pipe would wait for its reader, and tell it that all is over */
        if (S_ISDIR(info.st_mode) || access(path, W_OK) != 0)
            status = refuse(path, S_ISDIR(info.st_mode) ? EISDIR : errno, err);
    }
    forget(&output);
    return status;
}

enum status output_open(struct output *output, const char *path, struct error *err)
{
    *output = (struct output){.file = stdout};
    if (!path)
        return STATUS_OK;
    enum status status = find_target(output, path, err);
    if (status == STATUS_OK) {
        output->file = output->temporary ? fopen(output->temporary, "wx") : fopen(path, "w");
        if (!output->file)
            status = refuse(path, errno, err);
    }
    if (status != STATUS_OK)
        forget(output);
    return status;
}

enum status output_commit(struct output *output, struct error *err)
{
    const struct quote name = quote_path(output->path ? output->path : "standard output");
    enum status status = STATUS_OK;
    int failed = ferror(output->file), why = 0; /* why an earlier write failed nobody knows now */
    if (fflush(output->file) != 0)
        failed = why = errno;
    if (output->path && fclose(output->file) != 0 && !failed)
        failed = why = errno;
    output->file = NULL;
    if (failed)
        status = fail(err, STATUS_MACHINE, "%s: could not be written whole%s%s", name.text,
                      why ? ": " : "", why ? strerror(why) : "");
    else if (output->temporary && rename(output->temporary, output->target) != 0)
        status = fail(err, STATUS_MACHINE, "%s: could not be put in place: %s", name.text,
                      strerror(errno));
    if (status == STATUS_OK)
        forget(output);
    return status;
}

enum status output_begin(struct output *output, const char *path, struct error *err)
{
    interrupt_catch();
    enum status status = output_open(output, path, err);
    /* written directly: nothing would be left behind, and a pipe may block */
    if (status == STATUS_OK && !output->temporary)
        status = interrupt_stop(err);
    return status;
}

enum status output_end(struct output *output, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(interrupt_seen(err));
    TRY(output_commit(output, err));
    TRY(interrupt_stop(err));
out:
    return status;
}

enum status output_flush(struct error *err)
{
    errno = 0;
    return fflush(stdout) == 0 && !ferror(stdout)
               ? STATUS_OK
               : fail(err, STATUS_MACHINE, "standard output: could not be written whole%s%s",
                      errno ? ": " : "", errno ? strerror(errno) : "");
}

void output_discard(struct output *output)
{
    if (output->file && output->path)
        fclose(output->file);
    output->file = NULL;
    if (output->temporary)
        unlink(output->temporary);
    forget(output);
}
