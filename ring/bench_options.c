/* bench_options.c - bench's letters are those of nccl-tests, which differ from ring's. */
#include <string.h>

#include "common/format.h"
#include "common/link_file.h"
#include "common/quote.h"
#include "ring/settings.h"

const struct bench_options bench_defaults = {
    .factor = 4, .warmups = 5, .check = 1,
};

#define MAX_BYTES (INT64_MAX / 16)
#define SETTER(name) static enum status name(void *to, const char *text, struct error *err)
#define BENCH_SETTINGS struct settings *s = to; struct bench_options *b = &s->bench

static enum status set_bytes(char letter, const char *text, int64_t *out, struct error *err)
{
    return parse_count(text, 1, MAX_BYTES, 1, out)
               ? STATUS_OK
               : fail(err, STATUS_USAGE, "-%c %s: bytes are wanted, from 1; suffixes K, M, G are "
                      "powers of 1024", letter, quote_text(text).text);
}

static enum status set_times(char letter, const char *text, int least, int most, int *out,
                             struct error *err)
{
    int64_t value;
    if (!parse_count(text, least, most, 0, &value))
        return fail(err, STATUS_USAGE, "-%c %s: a whole number from %d to %d is wanted", letter,
                    quote_text(text).text, least, most);
    *out = (int)value;
    return STATUS_OK;
}

SETTER(set_min) { BENCH_SETTINGS; return set_bytes('b', text, &b->min_bytes, err); }
SETTER(set_max) { BENCH_SETTINGS; return set_bytes('e', text, &b->max_bytes, err); }
SETTER(set_step) { BENCH_SETTINGS; return set_bytes('i', text, &b->step_bytes, err); }
SETTER(set_calls) { BENCH_SETTINGS; return set_times('n', text, 1, 100000, &b->calls, err); }
SETTER(set_warmups) { BENCH_SETTINGS; return set_times('w', text, 0, 100000, &b->warmups, err); }
SETTER(set_check) { BENCH_SETTINGS; return set_times('c', text, 0, 1, &b->check, err); }

SETTER(set_factor)
{
    BENCH_SETTINGS;
    b->step_bytes = 0;
    return set_times('f', text, 1, 1 << 20, &b->factor, err);
}

SETTER(set_type)
{
    BENCH_SETTINGS;
    static const struct {
        const char *name;
        enum dtype dtype;
    } types[] = {
        {"float", DTYPE_FLOAT32}, {"double", DTYPE_FLOAT64}, {"half", DTYPE_FLOAT16},
        {"int", DTYPE_INT32},
    };
    (void)b;
    s->dtype_given = 1;
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (strcmp(text, types[i].name) == 0) {
            s->dtype = types[i].dtype;
            return STATUS_OK;
        }
    if (dtype_parse(text, &s->dtype))
        return STATUS_OK;
    return fail(err, STATUS_USAGE, "-d %s: float, double, half, bfloat16 or int32 is wanted",
                quote_text(text).text);
}

SETTER(set_engines)
{
    BENCH_SETTINGS;
    memset(b->engines, 0, sizeof b->engines);
    b->engines_given = 1;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int i = 0;
        while (i < N_BENCH_ENGINES &&
               (strlen(bench_engine_name((enum bench_engine)i)) != length ||
                strncmp(bench_engine_name((enum bench_engine)i), at, length) != 0))
            i++;
        if (i == N_BENCH_ENGINES)
            return fail(err, STATUS_USAGE, "--engine %s: eager, graph, kernel, auto or nccl are "
                        "wanted, with commas between",
                        text[0] ? quote_text(text).text : "''");
        b->engines[i] = 1;
        at += length;
        if (*at == '\0')
            return STATUS_OK;
    }
}

SETTER(set_json)
{
    BENCH_SETTINGS;
    b->json = text;
    if (strcmp(text, "-") == 0)
        return fail(err, STATUS_USAGE, "--json -: the table is on standard output; the name of a "
                    "file is wanted");
    return text[0] ? STATUS_OK : fail(err, STATUS_USAGE, "--json '': the name of a file is wanted");
}

SETTER(set_fit)
{
    BENCH_SETTINGS;
    b->fit = text;
    return link_file_is_meant(text)
               ? STATUS_OK
               : fail(err, STATUS_USAGE, "--fit %s: the name of a file with a dot in it is wanted, "
                      "as in this.link", text[0] ? quote_text(text).text : "''");
}

SETTER(set_overlap)
{
    BENCH_SETTINGS;
    (void)text;
    (void)err;
    b->overlap = 1;
    return STATUS_OK;
}

#define BENCH (1u << COMMAND_BENCH | OPTIONS_SIZES)
#define COMPARE (1u << COMMAND_BENCH | OPTIONS_COMPARE)

const struct option_row bench_rows[N_BENCH_ROWS] = {
    {'b', "minbytes", "B", BENCH | OPTIONS_FIT,
     "the smallest size (default 1K); K, M, G are powers of 1024", set_min},
    {'e', "maxbytes", "B", BENCH | OPTIONS_FIT,
     "the largest size (default 64M; of --fit 1G)", set_max},
    {'f', "stepfactor", "F", BENCH | OPTIONS_FIT,
     "each size is F times the one before (default 4)", set_factor},
    {'i', "stepbytes", "B", BENCH | OPTIONS_FIT, "or so many bytes more than it", set_step},
    {'n', "iters", "N", BENCH | OPTIONS_FIT,
     "all-reduces of a sample, back to back (default 20; of --fit 100)", set_calls},
    {'w', "warmup_iters", "N", BENCH | OPTIONS_FIT,
     "all-reduces before the first sample, rounded up to whole samples,\n"
     "one at least (default 5)",
     set_warmups},
    {'c', "check", "0|1", BENCH | COMPARE,
     "compare every element after the samples (default 1)", set_check},
    {'d', "datatype", "T", BENCH | COMPARE, "float (default), double, half, bfloat16 or int32",
     set_type},
    {0, "engine", "LIST", BENCH | COMPARE,
     "eager, graph, kernel, auto, nccl, with commas between\n"
     "(default: all that this machine can do)",
     set_engines},
    {0, "json", "FILE", BENCH | COMPARE | OPTIONS_FIT, "write the rows there, too, as JSON",
     set_json},
    {0, "fit", "FILE", BENCH | OPTIONS_FIT,
     "fit the modelled clock to this machine, write its numbers there, for\n"
     "--link, and print what it predicts beside what is measured",
     set_fit},
    {0, "overlap", NULL, COMPARE,
     "iterations with overlap instead of sizes: each engine beside NCCL,\n"
     "for several lengths of the backward pass (docs/benchmark.md)",
     set_overlap},
};
