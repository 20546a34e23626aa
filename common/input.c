/* input.c - reads until there is no more: pipes and terminals have no size to ask for. */
#include "common/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum status input_read(const char *path, const char *name, size_t most, char **text,
                       size_t *length, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t capacity = 0;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    *text = NULL;
    *length = 0;
    if (!file)
        return fail(err, STATUS_USAGE, "%s: cannot be read: %s", name, strerror(errno));
    for (size_t n = 1; n > 0; *length += n) {
        if (*length > most)
            TRY(fail(err, STATUS_USAGE, "%s: has more than %zu MiB, which is more than is sensible",
                     name, most >> 20));
        TRY(make_room((void **)text, (long long)*length + 4096, &capacity, 1, name, err));
        n = fread(*text + *length, 1, (size_t)capacity - *length, file);
    }
    if (ferror(file))
        TRY(fail(err, STATUS_USAGE, "%s: cannot be read: %s", name, strerror(errno)));
out:
    if (file != stdin)
        fclose(file);
    return status;
}
