/* link_file.c - one table of names and units feeds reader and writer. */
#include "common/link_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/format.h"
#include "common/quote.h"

#define MAX_LINE 256
#define MAX_FILE 65536

static const struct field {
    const char *name, *comment;
    enum unit { NS, GBPS, PERCENT } unit;
    int may_lack; /* 0 in files that were written before it was there */
    size_t offset;
} fields[] = {
#define FIELD(name, unit, may_lack, member, comment) \
    {name, comment, unit, may_lack, offsetof(struct device_model, member)}
#define TIME(name, member, comment) FIELD(name, NS, 0, member, comment)
#define LATER(name, member, comment) FIELD(name, NS, 1, member, comment)
#define RATE(name, member, comment) FIELD(name, GBPS, 0, member, comment)
    TIME("copy_latency", link_latency_ns, "a copy: latency + bytes / rate"),
    RATE("copy_rate", link_GBps, NULL),
    TIME("kernel_latency", kernel_latency_ns, "a kernel: latency + bytes touched / rate"),
    RATE("memory_rate", memory_GBps, NULL),
    TIME("queue_copy", queue_copy_ns, "eager: the host's time for each of these"),
    TIME("queue_kernel", queue_kernel_ns, NULL),
    TIME("queue_record", queue_record_ns, NULL),
    TIME("queue_wait", queue_wait_ns, NULL),
    LATER("queue_graph", queue_graph_ns, "graph: the host's time to launch it, for each op"),
    TIME("wait_latency", wait_ns, "eager: from an event to what waits for it"),
    TIME("graph_launch", graph_launch_ns, "before a graph's first op"),
    TIME("graph_edge", graph_edge_ns, "between its ops that depend on each other"),
    LATER("graph_wait", graph_wait_ns, "more, where they are of different lanes"),
    FIELD("add_takes", PERCENT, 1, add_takes_percent, "of an add's time, from computes beside it"),
};
#define N_FIELDS (int)(sizeof fields / sizeof *fields)

static const struct {
    const char *name, *in_json;
    int is_rate; /* a double; otherwise an int64_t, up to `most` */
    int most;
} units[] = {
    [NS] = {"ns", "ns", 0, LINK_MAX_NS}, [GBPS] = {"GB/s", "GBps", 1, 0},
    [PERCENT] = {"%", "percent", 0, LINK_MAX_PERCENT},
};

static int64_t *whole_of(struct device_model *model, const struct field *field)
{
    return (int64_t *)(void *)((char *)model + field->offset);
}

static double *rate_of(struct device_model *model, const struct field *field)
{
    return (double *)(void *)((char *)model + field->offset);
}

/* ---- reading ---- */

struct reader {
    const char *path;
    int line;
    int version_seen;
    int seen[N_FIELDS]; /* in which line */
    struct device_model *model;
    struct error *err;
};

static enum status take_version(struct reader *r, int n, char words[4][MAX_LINE])
{
    if (n != 2 || strcmp(words[0], "link") != 0)
        return fail(r->err, STATUS_USAGE, "%s:%d: '%s': the first line is wanted to be 'link %d'",
                    quote_path(r->path).text, r->line, quote_text(words[0]).text,
                    LINK_FILE_VERSION);
    if (strcmp(words[1], "1") != 0)
        return fail(r->err, STATUS_USAGE, "%s:%d: link %s: version %d is wanted; write the file "
                    "anew with bench --fit", quote_path(r->path).text, r->line,
                    quote_text(words[1]).text, LINK_FILE_VERSION);
    r->version_seen = 1;
    return STATUS_OK;
}

static enum status take_rate(struct reader *r, const char *name, const char *text, double *out)
{
    char *end;
    *out = strspn(text, "0123456789.eE+-") == strlen(text) ? strtod(text, &end) : 0;
    if (!(*out >= 1e-6 && *out <= 1e6) || *end)
        return fail(r->err, STATUS_USAGE, "%s:%d: %s %s: a number from 1e-6 to 1e6 is wanted",
                    quote_path(r->path).text, r->line, name, quote_text(text).text);
    return STATUS_OK;
}

static enum status take_field(struct reader *r, int n, char words[4][MAX_LINE])
{
    int i = 0;
    while (i < N_FIELDS && strcmp(words[0], fields[i].name) != 0)
        i++;
    if (i == N_FIELDS)
        return fail(r->err, STATUS_USAGE, "%s:%d: '%s' is no number of a link; %s, for one, is",
                    quote_path(r->path).text, r->line, quote_text(words[0]).text, fields[0].name);
    const char *unit = units[fields[i].unit].name;
    const int most = units[fields[i].unit].most;
    if (r->seen[i])
        return fail(r->err, STATUS_USAGE, "%s:%d: %s stands in line %d already",
                    quote_path(r->path).text, r->line, words[0], r->seen[i]);
    if (n != 3 || strcmp(words[2], unit) != 0)
        return fail(r->err, STATUS_USAGE, "%s:%d: %s: one number and the unit %s are wanted",
                    quote_path(r->path).text, r->line, words[0], unit);
    r->seen[i] = r->line;
    if (units[fields[i].unit].is_rate)
        return take_rate(r, words[0], words[1], rate_of(r->model, &fields[i]));
    if (!parse_count(words[1], 0, most, 0, whole_of(r->model, &fields[i])))
        return fail(r->err, STATUS_USAGE, "%s:%d: %s %s: a whole number from 0 to %d is wanted",
                    quote_path(r->path).text, r->line, words[0], quote_text(words[1]).text, most);
    return STATUS_OK;
}

static enum status take_line(struct reader *r, char *line)
{
    char words[4][MAX_LINE], more[2];
    if (strlen(line) >= MAX_LINE)
        return fail(r->err, STATUS_USAGE, "%s:%d: the line is longer than %d bytes",
                    quote_path(r->path).text, r->line, MAX_LINE - 1);
    line[strcspn(line, "#\r")] = '\0';
    int n = sscanf(line, "%255s %255s %255s %1s", words[0], words[1], words[2], more);
    return n <= 0 ? STATUS_OK : r->version_seen ? take_field(r, n, words)
                                                : take_version(r, n, words);
}

static enum status take_text(struct reader *r, char *text)
{
    enum status status = STATUS_OK;
    for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (end || *line) {
            r->line++;
            TRY(take_line(r, line));
        }
    }
out:
    return status;
}

static enum status check_whole(const struct reader *r)
{
    for (int i = 0; i < N_FIELDS && r->version_seen; i++)
        if (!r->seen[i] && !fields[i].may_lack)
            return fail(r->err, STATUS_USAGE, "%s:%d: the file ends without %s",
                        quote_path(r->path).text, r->line, fields[i].name);
    return r->version_seen ? STATUS_OK
                           : fail(r->err, STATUS_USAGE, "%s: is empty; a file of bench --fit is "
                                  "wanted", quote_path(r->path).text);
}

enum status link_file_read(struct device_model *model, const char *path, struct error *err)
{
    enum status status = STATUS_OK;
    struct reader r = {.path = path, .model = model, .err = err};
    char *text = NULL;
    *model = (struct device_model){.name = ""};
    FILE *file = fopen(path, "r");
    if (!file)
        return fail(err, STATUS_USAGE, "%s: cannot be read: %s; a link's name, GBps:us or a file "
                    "of bench --fit is wanted", quote_path(path).text, strerror(errno));
    TRY(allocate((void **)&text, MAX_FILE + 1, 1, "a link's file", err));
    size_t length = fread(text, 1, MAX_FILE, file);
    if (ferror(file))
        TRY(fail(err, STATUS_USAGE, "%s: cannot be read: %s", quote_path(path).text,
                 strerror(errno)));
    if (length == MAX_FILE || strlen(text) != length)
        TRY(fail(err, STATUS_USAGE, "%s: %s; a file of bench --fit is wanted",
                 quote_path(path).text, length == MAX_FILE ? "is too large" : "is no text"));
    TRY(take_text(&r, text));
    TRY(check_whole(&r));
    link_file_name(model, path);
out:
    free(text);
    fclose(file);
    return status;
}

/* ---- writing, and names ---- */

void link_file_write(const struct device_model *model, FILE *file)
{
    struct device_model own = *model;
    char number[32];
    fprintf(file, "link %d\n", LINK_FILE_VERSION);
    for (int i = 0; i < N_FIELDS; i++) {
        const struct field *field = &fields[i];
        const char *unit = units[field->unit].name;
        if (units[field->unit].is_rate)
            snprintf(number, sizeof number, "%.4g %s", *rate_of(&own, field), unit);
        else
            snprintf(number, sizeof number, "%" PRId64 " %s", *whole_of(&own, field), unit);
        fprintf(file, field->comment ? "%-15s %-16s # %s\n" : "%-15s %s\n", field->name, number,
                field->comment);
    }
}

void link_file_json(const struct device_model *model, FILE *file)
{
    struct device_model own = *model;
    char number[FORMAT_SIZE];
    for (int i = 0; i < N_FIELDS; i++) {
        const struct field *field = &fields[i];
        fprintf(file, "%c\"%s_%s\":", i ? ',' : '{', field->name, units[field->unit].in_json);
        if (units[field->unit].is_rate)
            fputs(format_json_number(*rate_of(&own, field), number), file);
        else
            fprintf(file, "%" PRId64, *whole_of(&own, field));
    }
    fputc('}', file);
}

void link_file_round(struct device_model *model)
{
    char number[32];
    for (int i = 0; i < N_FIELDS; i++)
        if (units[fields[i].unit].is_rate) {
            snprintf(number, sizeof number, "%.4g", *rate_of(model, &fields[i]));
            *rate_of(model, &fields[i]) = strtod(number, NULL);
        }
}

void link_file_name(struct device_model *model, const char *path)
{
    const struct quote name = quote_path(path);
    const size_t most = sizeof model->name - 1, length = strlen(name.text);
    if (length <= most)
        memcpy(model->name, name.text, length + 1);
    else
        snprintf(model->name, sizeof model->name, "...%.60s", name.text + length - (most - 3));
}

int link_file_is_meant(const char *text)
{
    struct stat info;
    int is_numbers = text[strspn(text, "0123456789.eE+-:")] == '\0' && strchr(text, ':');
    return !is_numbers && (strpbrk(text, "./") || stat(text, &info) == 0);
}
