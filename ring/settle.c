/* settle.c - what was not said is filled in from what this machine and the input have; what was
 * said and cannot be is refused. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/format.h"
#include "common/output.h"
#include "common/quote.h"
#include "ring/settings.h"

static enum status choose_backend(struct settings *s, struct error *err)
{
    const char *host_only = s->random               ? "--schedule"
                            : s->link_given           ? "--link"
                            : s->slow_link            ? "--slow link"
                            : s->bug && s->bug->stale_uploads ? "--bug host-buffer"
                                                      : NULL;
    int asks_cuda = s->backend_given ? s->backend == BACKEND_CUDA : !host_only;
    if (asks_cuda) /* asking starts the driver, which takes a while */
        device_inventory(BACKEND_CUDA, &s->inventory);
    if (!s->backend_given)
        s->backend = s->inventory.n_devices > 0 && !host_only ? BACKEND_CUDA : BACKEND_HOST;
    if (s->backend == BACKEND_CUDA && s->inventory.n_devices == 0)
        return fail(err, STATUS_MACHINE, "--backend cuda: %s", s->inventory.why);
    if (s->backend == BACKEND_CUDA && host_only)
        return fail(err, STATUS_USAGE, "%s is for --backend host%s", host_only,
                    s->bug && s->bug->stale_uploads ? ": uploads to real GPUs are waited for" : "");
    if (s->backend == BACKEND_HOST && s->cuda_only)
        return fail(err, STATUS_USAGE,
                    "%s is for the cuda backend; here the host backend is used%s", s->cuda_only,
                    s->backend_given ? ""
                    : host_only      ? ", since another option asks for it"
                                     : ", since there is no GPU");
    return STATUS_OK;
}

/* A number that the user gave must be the plan's; one that was not given becomes it. */
static struct quote plan_source(const struct settings *s)
{
    return quote_path(strcmp(s->plan_file, "-") == 0 ? "standard input" : s->plan_file);
}

static enum status adopt_number(const struct settings *s, const char *option, int64_t given,
                                int64_t none, int64_t own, struct error *err)
{
    if (given == none || given == own)
        return STATUS_OK;
    return fail(err, STATUS_USAGE, "--%s %" PRId64 ": the plan %s has %" PRId64 "; leave --%s out",
                option, given, plan_source(s).text, own, option);
}

static enum status adopt_name(const struct settings *s, const char *option, int given,
                              const char *name, const char *own, struct error *err)
{
    if (!given || strcmp(name, own) == 0)
        return STATUS_OK;
    return fail(err, STATUS_USAGE, "--%s %s: the plan %s has %s; leave --%s out", option, name,
                plan_source(s).text, own, option);
}

static enum status adopt_plan(struct settings *s, const struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    if (!plan)
        return STATUS_OK;
    if (s->bug)
        return fail(err, STATUS_USAGE, "--bug and --plan: a fault is put into the ring's own plan; "
                    "leave one of them out");
    TRY(adopt_number(s, "gpus", s->n_ranks, 0, plan->n_ranks, err));
    TRY(adopt_number(s, "count", s->count, -1, plan->count, err));
    TRY(adopt_number(s, "pieces", s->pieces, 0, plan->pieces, err));
    TRY(adopt_number(s, "slots", s->slots, 0, plan->slots, err));
    TRY(adopt_number(s, "repeat", s->repeat, 0, plan->iterations, err));
    TRY(adopt_name(s, "dtype", s->dtype_given, dtype_name(s->dtype), dtype_name(plan->dtype), err));
    TRY(adopt_name(s, "op", s->redop_given, redop_name(s->redop), redop_name(plan->redop), err));
    s->n_ranks = plan->n_ranks;
    s->count = plan->count;
    s->pieces = plan->pieces;
    s->slots = plan->slots;
    s->repeat = plan->iterations;
    s->dtype = plan->dtype;
    s->dtype_given = 1;
    s->redop = plan->redop;
out:
    return status;
}

static enum status open_data(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    if (!s->input)
        return STATUS_OK;
    if (s->init)
        return fail(err, STATUS_USAGE, "--init and --input: only one of them can give the data");
    if (s->repeat > 1)
        return fail(err, STATUS_USAGE,
                    "--repeat %d with --input: each repetition takes fresh data, "
                    "and files hold only one set",
                    s->repeat);
    TRY(init_open_files(&s->data, s->input, s->n_ranks, err));
    const struct npy *first = &s->data.files[0];
    if (s->count >= 0 && s->count != first->count)
        return fail(err, STATUS_USAGE, s->plan_file ? "--plan: its count is %" PRId64 ", and the "
                                                      "--input files hold %" PRId64 " elements each"
                                                    : "--count %" PRId64 ": the --input files "
                                                      "hold %" PRId64 " elements each; leave "
                                                      "--count out",
                    s->count, first->count);
    if (s->dtype_given && s->dtype != first->dtype)
        return fail(err, STATUS_USAGE, s->plan_file ? "--plan: its dtype is %s, and the --input "
                                                      "files hold %s"
                                                    : "--dtype %s: the --input files hold %s; "
                                                      "leave --dtype out",
                    dtype_name(s->dtype), dtype_name(first->dtype));
    s->n_ranks = s->data.n_files;
    s->count = first->count;
    s->dtype = first->dtype;
out:
    return status;
}

/* Reads LIST into device_of; *n gets how many there are. */
static enum status read_devices(struct settings *s, int *n, struct error *err)
{
    enum status status = STATUS_OK;
    int known = s->backend == BACKEND_CUDA ? s->inventory.n_devices : PLAN_MAX_RANKS;
    TRY(allocate((void **)&s->device_of, PLAN_MAX_RANKS, sizeof *s->device_of, "devices", err));
    *n = 0;
    for (const char *at = s->devices;; at++) {
        char number[16];
        size_t length = strcspn(at, ",");
        int64_t device = 0;
        snprintf(number, sizeof number, "%.*s", (int)(length < 15 ? length : 15), at);
        if (*n == PLAN_MAX_RANKS)
            return fail(err, STATUS_USAGE, "--devices %s: more than %d ranks",
                        quote_text(s->devices).text, PLAN_MAX_RANKS);
        if (length > 14 || !parse_count(number, 0, 1000000, 0, &device))
            return fail(err, STATUS_USAGE, "--devices %s: device numbers with commas between are "
                        "wanted, as in 0,1,0,1", quote_text(s->devices).text);
        if (device >= known)
            return fail(err, STATUS_MACHINE, "--devices %s: there is no device %" PRId64 "; there "
                        "%s %d (0 to %d)", quote_text(s->devices).text, device,
                        known == 1 ? "is" : "are", known, known - 1);
        s->device_of[(*n)++] = (int)device;
        at += length;
        if (*at == '\0')
            break;
    }
out:
    return status;
}

/* Ranks and their devices; round-robin where they were not given. */
static enum status place_ranks(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    int visible = s->backend == BACKEND_CUDA ? s->inventory.n_devices : PLAN_MAX_RANKS, listed = 0;
    if (s->devices) {
        TRY(read_devices(s, &listed, err));
        if (s->n_ranks && s->n_ranks != listed)
            return fail(err, STATUS_USAGE,
                        "--devices %s names %d devices for %d ranks; one for each "
                        "rank is wanted",
                        quote_text(s->devices).text, listed, s->n_ranks);
        s->n_ranks = listed;
    }
    if (!s->n_ranks)
        s->n_ranks = s->backend == BACKEND_CUDA &&
                             (visible >= 2 || s->command == COMMAND_BENCH) ? visible : 4;
    if (s->command == COMMAND_BENCH && !s->devices && s->n_ranks > visible)
        return fail(err, STATUS_USAGE, "--gpus %d: there %s %d, and ranks that share one do not "
                    "show how fast several are; where that is wanted, say it with --devices, as in "
                    "0,0", s->n_ranks, visible == 1 ? "is" : "are", visible);
    if (!s->devices) {
        TRY(allocate((void **)&s->device_of, s->n_ranks, sizeof *s->device_of, "devices", err));
        for (int rank = 0; rank < s->n_ranks; rank++)
            s->device_of[rank] = rank % visible;
    }
out:
    return status;
}

/* Where a path is or would be: the folder, and the name in it. */
static int find_place(const char *path, struct stat *folder, const char **name)
{
    char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    *name = slash ? path + (slash - copy) + 1 : path;
    if (slash)
        slash[slash == copy] = '\0';
    int found = copy && stat(slash ? copy : ".", folder) == 0;
    free(copy);
    return found;
}

static int same_file(const char *a, const char *b)
{
    struct stat x, y;
    const char *name_a, *name_b;
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return find_place(a, &x, &name_a) && find_place(b, &y, &name_b) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino && strcmp(name_a, name_b) == 0;
}

/* Refuses `path`, made from what `option` gave, where it is one of the files that are read. */
static enum status check_clash(const struct settings *s, const char *option, const char *given,
                               const char *path, struct error *err)
{
    const char *const texts[] = {s->plan_file, s->layers, s->link_file};
    struct stat info, other;
    int exists = stat(path, &info) == 0;
    for (int i = 0; exists && i < 3; i++)
        if (texts[i] && stat(texts[i], &other) == 0 && S_ISREG(other.st_mode) &&
            other.st_dev == info.st_dev && other.st_ino == info.st_ino)
            return fail(err, STATUS_USAGE, "--%s %s: would overwrite the input %s; name another "
                        "file", option, quote_path(given).text, quote_path(texts[i]).text);
    for (int i = 0; exists && i < s->data.n_files; i++)
        if (s->data.files[i].identity[0] == (int64_t)info.st_dev &&
            s->data.files[i].identity[1] == (int64_t)info.st_ino)
            return fail(err, STATUS_USAGE, "--%s %s: would overwrite the input %s; name another "
                        "file", option, quote_path(given).text,
                        quote_path(s->data.files[i].path).text);
    return STATUS_OK;
}

/* An output that would end in another's place, or in an input's, is refused before anything runs */
static enum status check_outputs(const struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    char *path = NULL;
    if (s->trace_file)
        TRY(check_clash(s, "trace-file", s->trace_file, s->trace_file, err));
    if (s->bench.fit)
        TRY(check_clash(s, "fit", s->bench.fit, s->bench.fit, err));
    if (s->bench.json)
        TRY(check_clash(s, "json", s->bench.json, s->bench.json, err));
    if (s->bench.fit && s->bench.json && same_file(s->bench.fit, s->bench.json))
        return fail(err, STATUS_USAGE, "--json %s: is the file of --fit; name another one",
                    quote_path(s->bench.json).text);
    if (!s->output)
        return STATUS_OK;
    if (s->n_ranks > 1 && !strstr(s->output, "%r"))
        return fail(err, STATUS_USAGE, "--output %s: with %d ranks the name needs %%r, the rank",
                    quote_path(s->output).text, s->n_ranks);
    TRY(npy_check_dtype(s->output, s->dtype, err));
    for (int rank = 0; rank < s->n_ranks; rank++) {
        free(path);
        path = npy_path(s->output, rank);
        if (!path)
            TRY(fail(err, STATUS_MACHINE, "not enough memory for the name of an output file"));
        TRY(check_clash(s, "output", s->output, path, err));
        if (s->trace_file && same_file(path, s->trace_file))
            TRY(fail(err, STATUS_USAGE, "--trace-file %s: is an --output file, too; name another",
                     quote_path(path).text));
    }
out:
    free(path);
    return status;
}

/* Combinations of options that say nothing sensible; before anything is opened. */
static enum status check_shown(struct settings *s, struct error *err)
{
    if (s->trace_file && strcmp(s->trace_file, "-") == 0)
        s->trace_file = NULL; /* standard output, as everywhere */
    else if (s->trace_file && s->step)
        return fail(err, STATUS_USAGE, "--step pages the trace on the terminal, and --trace-file "
                    "sends it elsewhere; leave one out");
    if (s->trace == TRACE_NONE && (s->trace_file || s->step))
        s->trace = TRACE_TEXT;
    if (s->step && s->trace > TRACE_TEXT)
        return fail(err, STATUS_USAGE, "--step pages the text trace, no other; leave one out");
    if (s->trace > TRACE_JSON && !s->trace_file && isatty(STDOUT_FILENO))
        return fail(err, STATUS_USAGE, "--trace=%s, and no text for a terminal; name the file: "
                    "--trace-file FILE", s->trace == TRACE_HTML
                        ? "html is a page for a browser" : "perfetto is a file for "
                          "ui.perfetto.dev");
    if (s->quiet && s->trace == TRACE_TEXT && !s->trace_file)
        return fail(err, STATUS_USAGE,
                    "--quiet prints the verdicts only, --trace every step; leave "
                    "one out, or send the trace to a --trace-file");
    return output_check(s->trace_file, err);
}

/* The kernel knows the ring, and cuts it by blocks of threads. */
static enum status check_engine(struct settings *s, struct error *err)
{
    const int kernel = s->engine == ENGINE_KERNEL;
    const struct { int given; const char *option, *why; } wrong[] = {
        {kernel && s->plan_file, "plan", "the ring's kernel is no player of plans"},
        {kernel && s->bug, "bug", "the ring's kernel has no broken variants"},
        {kernel && s->pieces > 1, "pieces", "the ring's kernel has blocks of threads, no pieces"},
        {kernel && s->slots > 0, "slots", "the ring's kernel has an inbox of its own"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (wrong[i].given)
            return fail(err, STATUS_USAGE, "--%s with --engine kernel: %s; eager, graph or auto is "
                        "wanted", wrong[i].option, wrong[i].why);
    return STATUS_OK;
}

/* Whether something is copied between the two: in a ring, between neighbours. */
static int is_link(const struct settings *s, const struct plan *plan, int a, int b)
{
    if (!plan)
        return (a + 1) % s->n_ranks == b || (b + 1) % s->n_ranks == a;
    for (int64_t id = 0; id < plan->n_ops; id++) {
        const struct op *op = &plan->ops[id];
        if (op->kind == OP_COPY && ((op->src.rank == a && op->dst.rank == b) ||
                                    (op->src.rank == b && op->dst.rank == a)))
            return 1;
    }
    return 0;
}

static enum status settle_slow_link(struct settings *s, const struct plan *plan, struct error *err)
{
    const int *ranks = s->slow_ranks;
    if (!s->slow_link)
        return STATUS_OK;
    if (ranks[0] >= s->n_ranks || ranks[1] >= s->n_ranks)
        return fail(err, STATUS_USAGE, "--slow %s: there are ranks 0 to %d",
                    quote_text(s->slow_link).text, s->n_ranks - 1);
    if (!is_link(s, plan, ranks[0], ranks[1]))
        return fail(err, STATUS_USAGE, "--slow %s: nothing is copied between ranks %d and %d%s",
                    quote_text(s->slow_link).text, ranks[0], ranks[1],
                    plan ? "" : "; neighbours in the ring are wanted");
    s->model.slow_ranks[0] = ranks[0];
    s->model.slow_ranks[1] = ranks[1];
    s->model.slow_times = s->slow_link_times;
    return STATUS_OK;
}

enum status settings_settle(struct settings *s, const struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(check_shown(s, err));
    TRY(check_engine(s, err));
    TRY(adopt_plan(s, plan, err));
    s->pieces += s->pieces == 0;
    s->slots = s->slots == 0 ? 2 : s->slots;
    s->repeat += s->repeat == 0;
    TRY(choose_backend(s, err));
    TRY(open_data(s, err));
    TRY(place_ranks(s, err));
    if (s->count < 0)
        s->count = 1024 * (int64_t)s->n_ranks;
    if (s->count > INT64_MAX / 16 / s->n_ranks)
        TRY(fail(err, STATUS_USAGE, "--count %" PRId64 ": with %d ranks at most %" PRId64
                 " elements are possible", s->count, s->n_ranks, INT64_MAX / 16 / s->n_ranks));
    if (!s->input)
        TRY(init_parse(&s->data, s->init ? s->init : "index", s->dtype, s->redop == REDOP_PROD,
                       err));
    TRY(check_outputs(s, err));
    TRY(settle_slow_link(s, plan, err));
out:
    return status;
}

void settings_free(struct settings *s)
{
    init_free(&s->data);
    free(s->device_of);
}
