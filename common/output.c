/* output.c - open, write elsewhere, rename. */
#include "common/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/quote.h"

enum status output_open(struct output *output, const char *path, struct error *err)
{
    struct stat info;
    *output = (struct output){.file = stdout, .path = path};
    if (!path)
        return STATUS_OK;
    int exists = stat(path, &info) == 0;
    if (!exists || S_ISREG(info.st_mode)) {
        size_t size = strlen(path) + 32;
        output->temporary = malloc(size);
        if (!output->temporary)
            return fail(err, STATUS_MACHINE, "not enough memory for the name of a file");
        snprintf(output->temporary, size, "%s.tmp-%ld", path, (long)getpid());
    }
    if (exists && access(path, W_OK) != 0) {
        output->file = NULL; /* a rename would not ask for the right to write */
    } else {
        output->file = fopen(output->temporary ? output->temporary : path, "w");
    }
    if (output->file)
        return STATUS_OK;
    free(output->temporary);
    output->temporary = NULL;
    return fail(err, STATUS_USAGE, "%s: cannot be written: %s", quote_path(path).text,
                strerror(errno));
}

enum status output_commit(struct output *output, struct error *err)
{
    const char *name = output->path ? quote_path(output->path).text : "standard output";
    enum status status = STATUS_OK;
    int bad = fflush(output->file) != 0 || ferror(output->file), why = errno;
    if (output->path)
        bad = fclose(output->file) != 0 || bad;
    output->file = NULL;
    if (bad)
        status = fail(err, STATUS_MACHINE, "%s: could not be written whole: %s", name,
                      strerror(why));
    else if (output->temporary && rename(output->temporary, output->path) != 0)
        status = fail(err, STATUS_MACHINE, "%s: could not be put in place: %s", name,
                      strerror(errno));
    if (status == STATUS_OK) {
        free(output->temporary);
        output->temporary = NULL;
    }
    return status;
}

void output_discard(struct output *output)
{
    if (output->file && output->path)
        fclose(output->file);
    output->file = NULL;
    if (output->temporary) {
        unlink(output->temporary);
        free(output->temporary);
        output->temporary = NULL;
    }
}
