/* settings.c - the table of options, and what each does to the settings. */
#include "ring/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/format.h"
#include "common/link_file.h"
#include "common/options.h"
#include "common/quote.h"

/* ---- links of the host backend ---- */

/* Datasheet rates are peaks per direction, in GB/s = 1e9 bytes per second; latencies of the
 * datasheet rows are that of nvlink4's measurement, since datasheets give none. */
static const struct {
    const char *name;
    double GBps, us;
} links[] = {
    /* cudaMemcpyPeerAsync between two NVIDIA H200 over NV18, CUDA 13.0, both directions at once:
     * 392 GB/s at 1 GiB; 206 GB/s at 1 MiB, which is 2.4 us more than 1 MiB takes at 392 GB/s */
    {"nvlink4", 392, 2.4},
    {"nvlink3", 300, 2.4},  /* NVIDIA A100 datasheet: 600 GB/s, both directions together */
    {"nvlink2", 150, 2.4},  /* NVIDIA V100 datasheet: 300 GB/s, both directions together */
    {"pcie5", 63, 2.4},     /* PCI-SIG: 32 GT/s x 16 lanes, 128b/130b coding */
    {"pcie4", 31.5, 2.4},   /* PCI-SIG: 16 GT/s x 16 lanes, 128b/130b coding */
    {"pcie3", 15.75, 2.4},  /* PCI-SIG: 8 GT/s x 16 lanes, 128b/130b coding */
};
#define N_LINKS (int)(sizeof links / sizeof *links)

/* Kernels: NVIDIA H200 datasheet, 4.8 TB/s of memory bandwidth; 2 us to start one is assumed. */
#define KERNEL_NS 2000
#define MEMORY_GBPS 4800

static void set_model(struct device_model *model, const char *name, double GBps, double us)
{
    *model = (struct device_model){.link_latency_ns = llround(us * 1000), .link_GBps = GBps,
                                   .kernel_latency_ns = KERNEL_NS, .memory_GBps = MEMORY_GBPS};
    snprintf(model->name, sizeof model->name, "%s", name);
}

/* ---- one function per option ---- */

#define SETTER(name) static enum status name(void *to, const char *text, struct error *err)
#define SETTINGS struct settings *s = to

static enum status set_number(const char *option, const char *text, int64_t least, int64_t most,
                              int suffix, int64_t *out, struct error *err)
{
    if (!parse_count(text, least, most, suffix, out))
        return fail(err, STATUS_USAGE, "--%s %s: a whole number from %" PRId64 " to %" PRId64
                    " is wanted%s", option, quote_text(text).text, least, most,
                    suffix ? " (suffixes K, M, G are powers of 1024)" : "");
    return STATUS_OK;
}

static enum status set_int(const char *option, const char *text, int least, int most, int *out,
                           struct error *err)
{
    int64_t value = 0;
    enum status status = set_number(option, text, least, most, 0, &value, err);
    if (status == STATUS_OK)
        *out = (int)value;
    return status;
}

SETTER(set_gpus) { SETTINGS; return set_int("gpus", text, 1, PLAN_MAX_RANKS, &s->n_ranks, err); }
SETTER(set_pieces) { SETTINGS; return set_int("pieces", text, 1, 4096, &s->pieces, err); }
SETTER(set_slots) { SETTINGS; return set_int("slots", text, 1, 4096, &s->slots, err); }
SETTER(set_repeat) { SETTINGS; return set_int("repeat", text, 1, 1000000, &s->repeat, err); }

SETTER(set_timeout)
{
    SETTINGS;
    s->cuda_only = "--timeout";
    return set_int("timeout", text, 1, 86400, &s->timeout_s, err);
}

SETTER(set_seed)
{
    SETTINGS;
    int64_t seed = 0;
    s->quiz_seed_given = 1;
    enum status status = set_number("seed", text, 0, INT64_MAX, 0, &seed, err);
    s->quiz_seed = (uint64_t)seed;
    return status;
}

SETTER(set_count)
{
    SETTINGS;
    return set_number("count", text, 0, INT64_MAX / 16, 1, &s->count, err);
}

SETTER(set_devices) { SETTINGS; (void)err; s->devices = text; return STATUS_OK; }
SETTER(set_init) { SETTINGS; (void)err; s->init = text; return STATUS_OK; }

static enum status set_file(const char *option, const char *text, const char **out,
                            struct error *err)
{
    *out = text;
    return text[0] ? STATUS_OK
                   : fail(err, STATUS_USAGE, "--%s '': the name of a file is wanted", option);
}

SETTER(set_input) { SETTINGS; return set_file("input", text, &s->input, err); }
SETTER(set_output) { SETTINGS; return set_file("output", text, &s->output, err); }
SETTER(set_trace_file) { SETTINGS; return set_file("trace-file", text, &s->trace_file, err); }
SETTER(set_step) { SETTINGS; (void)err; (void)text; s->step = 1; return STATUS_OK; }
SETTER(set_quiz) { SETTINGS; (void)err; (void)text; s->quiz = 1; return STATUS_OK; }
SETTER(set_quiet) { SETTINGS; (void)err; (void)text; s->quiet = 1; return STATUS_OK; }
SETTER(set_help) { SETTINGS; (void)err; (void)text; s->help = 1; return STATUS_OK; }
SETTER(set_version) { SETTINGS; (void)err; (void)text; s->version = 1; return STATUS_OK; }

SETTER(set_backend)
{
    SETTINGS;
    s->backend_given = strcmp(text, "auto") != 0;
    s->backend = strcmp(text, "cuda") == 0 ? BACKEND_CUDA : BACKEND_HOST;
    if (s->backend_given && s->backend == BACKEND_HOST && strcmp(text, "host") != 0)
        return fail(err, STATUS_USAGE, "--backend %s: auto, cuda or host is wanted",
                    quote_text(text).text);
    return STATUS_OK;
}

SETTER(set_dtype)
{
    SETTINGS;
    s->dtype_given = 1;
    if (!dtype_parse(text, &s->dtype))
        return fail(err, STATUS_USAGE, "--dtype %s: " DTYPE_NAMES " is wanted",
                    quote_text(text).text);
    return STATUS_OK;
}

SETTER(set_redop)
{
    SETTINGS;
    s->redop_given = 1;
    if (!redop_parse(text, &s->redop))
        return fail(err, STATUS_USAGE, "--op %s: sum, avg, min, max or prod is wanted",
                    quote_text(text).text);
    return STATUS_OK;
}

SETTER(set_engine)
{
    SETTINGS;
    for (int i = 0; i < N_ENGINES; i++)
        if (strcmp(text, engine_name((enum engine)i)) == 0) {
            s->engine = (enum engine)i;
            break;
        } else if (i == N_ENGINES - 1) {
            return fail(err, STATUS_USAGE, "--engine %s: eager, graph, kernel%s is wanted",
                        quote_text(text).text,
                        s->command == COMMAND_OVERLAP ? ", nccl or auto" : " or auto");
        }
    return s->engine != ENGINE_NCCL || s->command == COMMAND_OVERLAP
               ? STATUS_OK
               : fail(err, STATUS_USAGE, "--engine nccl: NCCL shows none of its steps, so it is "
                      "for overlap and bench; eager, graph, kernel or auto is wanted");
}

SETTER(set_trace)
{
    SETTINGS;
    static const char *const names[N_TRACES] = {
        [TRACE_TEXT] = "text", [TRACE_JSON] = "json", [TRACE_PERFETTO] = "perfetto",
        [TRACE_HTML] = "html",
    };
    s->trace = TRACE_TEXT;
    for (int kind = TRACE_TEXT; text && kind < N_TRACES; kind++)
        if (strcmp(text, names[kind]) == 0)
            s->trace = (enum trace_kind)kind;
    return !text || strcmp(text, names[s->trace]) == 0
               ? STATUS_OK
               : fail(err, STATUS_USAGE, "--trace=%s: text, json, perfetto or html is wanted",
                      quote_text(text).text);
}

SETTER(set_schedule)
{
    SETTINGS;
    int64_t seed = 0;
    int search = strncmp(text, "search:", 7) == 0;
    s->random = search || strncmp(text, "random:", 7) == 0;
    if (s->random ? !parse_count(text + 7, search, search ? 1000000 : INT64_MAX, 0, &seed)
                  : strcmp(text, "model") != 0)
        return fail(err, STATUS_USAGE,
                    "--schedule %s: model, random:SEED or search:K is wanted, SEED a whole number, "
                    "K from 1 to 1000000", quote_text(text).text);
    s->seed = search ? 0 : (uint64_t)seed;
    s->n_seeds = search ? (int)seed : 0;
    return STATUS_OK;
}

SETTER(set_link)
{
    SETTINGS;
    char *end;
    s->link_given = 1;
    s->link_file = NULL;
    for (int i = 0; i < N_LINKS; i++)
        if (strcmp(text, links[i].name) == 0) {
            set_model(&s->model, links[i].name, links[i].GBps, links[i].us);
            return STATUS_OK;
        }
    if (link_file_is_meant(text)) {
        struct error why = {""};
        if (link_file_read(&s->model, text, &why) != STATUS_OK)
            return fail(err, STATUS_USAGE, "--link %s", why.text);
        s->link_file = text;
        return STATUS_OK;
    }
    double GBps = strtod(text, &end), us = 0;
    int plain = strspn(text, "0123456789.eE+-:") == strlen(text); /* no blanks, no hexadecimal */
    int numbers = plain && end != text && *end == ':' && end[1] != '\0';
    if (numbers)
        us = strtod(end + 1, &end);
    if (!numbers || *end != '\0' || !(GBps >= 1e-6 && GBps <= 1e6) || !(us >= 0 && us <= 1e6))
        return fail(err, STATUS_USAGE,
                    "--link %s: nvlink4, nvlink3, nvlink2, pcie5, pcie4, pcie3 or "
                    "GBps:us is wanted, as in 25:1.5 (GB/s from 1e-6 to 1e6, us from 0 to 1e6), or "
                    "the name of a file with a dot in it",
                    quote_text(text).text);
    set_model(&s->model, "link", GBps, us);
    return STATUS_OK;
}

SETTER(set_p2p)
{
    SETTINGS;
    s->cuda_only = "--p2p";
    s->peer_off = strcmp(text, "off") == 0;
    if (!s->peer_off && strcmp(text, "auto") != 0)
        return fail(err, STATUS_USAGE, "--p2p %s: auto or off is wanted", quote_text(text).text);
    return STATUS_OK;
}

SETTER(set_plan) { SETTINGS; return set_file("plan", text, &s->plan_file, err); }
SETTER(set_runs) { SETTINGS; return set_int("runs", text, 1, 1000000, &s->runs, err); }

SETTER(set_bug)
{
    SETTINGS;
    s->bug = bug_find(text);
    return s->bug ? STATUS_OK
                  : fail(err, STATUS_USAGE, "--bug %s: there is no such exhibit; ring_demo bugs "
                         "lists them", quote_text(text).text);
}

/* NAME:US; names may hold colons, too. The op is looked for once the plan is there. */
SETTER(set_delay)
{
    SETTINGS;
    const char *colon = strrchr(text, ':');
    int64_t us = 0;
    if (!colon || colon == text || !parse_count(colon + 1, 1, DEVICE_MAX_DELAY_NS / 1000, 0, &us))
        return fail(err, STATUS_USAGE, "--delay %s: OP:US is wanted, as in s0.copy.r0:300 (us from "
                    "1 to %d)", quote_text(text).text, DEVICE_MAX_DELAY_NS / 1000);
    s->delay = text;
    s->delay_ns = us * 1000;
    return STATUS_OK;
}

static enum status set_real(const char *option, const char *text, double least, double most,
                            const char *unit, double *out, struct error *err)
{
    char *end;
    int plain = strspn(text, "0123456789.eE+-") == strlen(text);
    *out = strtod(text, &end);
    if (!plain || end == text || *end || !(*out >= least && *out <= most))
        return fail(err, STATUS_USAGE, "--%s %s: a number of %s from %g to %g is wanted", option,
                    quote_text(text).text, unit, least, most);
    return STATUS_OK;
}

SETTER(set_network) { SETTINGS; (void)err; s->network = text; return STATUS_OK; }
SETTER(set_layers) { SETTINGS; return set_file("layers", text, &s->layers, err); }
SETTER(set_bucket_rule) { SETTINGS; (void)err; s->bucket_rule = text; return STATUS_OK; }
SETTER(set_explain) { SETTINGS; (void)err; (void)text; s->explain = 1; return STATUS_OK; }
SETTER(set_no_overlap) { SETTINGS; (void)err; (void)text; s->no_overlap = 1; return STATUS_OK; }
SETTER(set_times_only) { SETTINGS; (void)err; (void)text; s->times_only = 1; return STATUS_OK; }

SETTER(set_cap)
{
    SETTINGS;
    return set_real("bucket-cap-mb", text, 1e-6, 1e6, "MiB", &s->cap_mib, err);
}

SETTER(set_first)
{
    SETTINGS;
    return set_real("first-bucket-mb", text, 1e-6, 1e6, "MiB", &s->first_mib, err);
}

SETTER(set_backward)
{
    SETTINGS;
    return set_real("backward-us", text, 0.001, 1e9, "us", &s->backward_us, err);
}

SETTER(set_compute)
{
    SETTINGS;
    static const char *const names[] = {
        [WORK_WAITS] = "waits", [WORK_ARITHMETIC] = "arithmetic", [WORK_MEMORY] = "memory",
    };
    s->cuda_only = "--compute";
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            s->work = (enum device_work)i;
            return STATUS_OK;
        }
    return fail(err, STATUS_USAGE, "--compute %s: arithmetic, memory or waits is wanted",
                quote_text(text).text);
}

SETTER(set_never)
{
    SETTINGS;
    if (s->never_ready)
        return fail(err, STATUS_USAGE, "--never-ready '%s': '%s' was named already; one tensor is "
                    "possible", quote_text(text).text, quote_text(s->never_ready).text);
    s->never_ready = text;
    return STATUS_OK;
}

SETTER(set_sweep) { SETTINGS; (void)err; s->sweep = text; return STATUS_OK; }

/* A small number at *text, and then this character: moves behind both. -1: there is none. */
static int take_rank(const char **text, char then)
{
    char *end;
    if (**text < '0' || **text > '9')
        return -1;
    long rank = strtol(*text, &end, 10);
    if (*end != then || rank >= PLAN_MAX_RANKS)
        return -1;
    *text = end + 1;
    return (int)rank;
}

SETTER(set_slow)
{
    SETTINGS;
    const char *at = text;
    char *end;
    int is_link = strncmp(text, "link=", 5) == 0, a = -1, b = -1;
    if (is_link || strncmp(text, "rank=", 5) == 0) {
        at += 5;
        a = take_rank(&at, is_link ? '-' : ':');
        b = is_link && a >= 0 ? take_rank(&at, ':') : a;
    }
    double factor = *at >= '0' && *at <= '9' ? strtod(at, &end) : 0;
    if (is_link ? s->slow_link : s->slow)
        return fail(err, STATUS_USAGE, "--slow %s: %s is slow already; one %s is possible",
                    quote_text(text).text, is_link ? s->slow_link : s->slow,
                    is_link ? "link" : "rank");
    if (a < 0 || b < 0 || (is_link && a == b) || !(factor >= 1 && factor <= 1000) ||
        strcmp(end + (*end == 'x'), "") != 0 || (!is_link && s->command == COMMAND_RING))
        return fail(err, STATUS_USAGE, "--slow %s: link=A-B:X is wanted, as in link=0-1:3x, or, of "
                    "overlap, rank=R:X: copies between two ranks, or a rank's compute, take X "
                    "times as long, X from 1 to 1000", quote_text(text).text);
    if (is_link) {
        s->slow_link = text;
        s->slow_ranks[0] = a;
        s->slow_ranks[1] = b;
        s->slow_link_times = factor;
    } else {
        s->slow = text;
        s->slow_rank = a;
        s->slow_factor = factor;
    }
    return STATUS_OK;
}

SETTER(set_color)
{
    SETTINGS;
    s->color = strcmp(text, "always") == 0 ? 1 : strcmp(text, "never") == 0 ? 0 : -1;
    if (s->color == -1 && strcmp(text, "auto") != 0)
        return fail(err, STATUS_USAGE, "--color %s: auto, always or never is wanted",
                    quote_text(text).text);
    return STATUS_OK;
}

/* ---- the table ---- */

#define RING (1u << COMMAND_RING)
#define OVERLAP (1u << COMMAND_OVERLAP)
#define BENCH (1u << COMMAND_BENCH | OPTIONS_SIZES | OPTIONS_COMPARE)
#define COMPARE (1u << COMMAND_BENCH | OPTIONS_COMPARE)
#define PLAN (1u << COMMAND_PLAN)
#define CHECK (1u << COMMAND_CHECK)
#define BUGS (1u << COMMAND_BUGS)
#define EVERY (((1u << N_COMMANDS) - 1) | OPTIONS_SIZES | OPTIONS_COMPARE)
/* Of overlap's, what still means something with these two. */
#define EXPLAIN (1u << 20)
#define SWEEP (1u << 21)
#define FIT OPTIONS_FIT

static const struct option_row rows[] = {
    {'g', "gpus", "N", RING | OVERLAP | BENCH | FIT | PLAN | BUGS | SWEEP,
     "ranks (default: all GPUs if 2 or more, else 4; bugs: 3)",
     set_gpus},
    {0, "devices", "LIST", RING | OVERLAP | BENCH | FIT | SWEEP,
     "each rank's device, as in 0,1,0,1; repeats share one",
     set_devices},
    {0, "backend", "B", RING | OVERLAP | BENCH | FIT | BUGS | SWEEP,
     "auto (cuda if there is a GPU), cuda or host (simulated)",
     set_backend},
    {0, "model", "M", OVERLAP | COMPARE | PLAN | EXPLAIN | SWEEP,
     "article, mlp, resnet18, resnet50 or gpt2 (of plan: prints\n"
     "overlap's plan)",
     set_network},
    {0, "layers", "L", OVERLAP | COMPARE | PLAN | EXPLAIN | SWEEP,
     "20x6.25MiB, or a file of lines NAME COUNT [FLOP]",
     set_layers},
    {0, "bucket-rule", "R", OVERLAP | COMPARE | PLAN | EXPLAIN | SWEEP,
     "pytorch (default), pytorch-explicit (of article, and\n"
     "where a cap is given) or one", set_bucket_rule},
    {0, "bucket-cap-mb", "X", OVERLAP | COMPARE | PLAN | EXPLAIN,
     "a bucket closes at X MiB or more (default 25)",
     set_cap},
    {0, "first-bucket-mb", "X", OVERLAP | COMPARE | PLAN | EXPLAIN | SWEEP,
     "the same of the first bucket (pytorch: 1)",
     set_first},
    {0, "sweep-cap", "LIST", OVERLAP | SWEEP,
     "try several caps, as in 1,5,25, and print a table",
     set_sweep},
    {0, "explain", NULL, OVERLAP | EXPLAIN,
     "print why each tensor is in its bucket, run nothing",
     set_explain},
    {0, "no-overlap", NULL, OVERLAP | PLAN,
     "the serial run: rings begin when all is computed",
     set_no_overlap},
    {0, "backward-us", "T", OVERLAP | PLAN | SWEEP,
     "time of the backward pass (default: by its work)",
     set_backward},
    {0, "compute", "KIND", OVERLAP | SWEEP,
     "real GPUs: the backward pass is bound by arithmetic\n"
     "(default) or memory, or waits and leaves the chip empty",
     set_compute},
    {0, "never-ready", "NAME", OVERLAP | PLAN,
     "no rank computes this tensor's gradient: what waits?",
     set_never},
    {0, "slow", "WHAT:X", RING | OVERLAP | PLAN | SWEEP,
     "X times as long: link=A-B:X, simulated copies between A\n"
     "and B; rank=R:X, of overlap, what rank R computes",
     set_slow},
    {0, "times-only", NULL, OVERLAP | SWEEP,
     "simulated GPUs: no data moves, nothing is verified",
     set_times_only},
    {0, "plan", "FILE", RING | PLAN,
     "run this plan, not the ring's own (-: standard input)",
     set_plan},
    {0, "bug", "NAME", RING | PLAN, "put a fault into the ring; ring_demo bugs lists them",
     set_bug},
    {'c', "count", "E", RING | PLAN,
     "elements of each rank (default 1024 x N); 4K is 4096",
     set_count},
    {'d', "dtype", "T", RING | OVERLAP | PLAN | EXPLAIN | SWEEP,
     "float32 (default), float64, float16, bfloat16 or int32", set_dtype},
    {'o', "op", "OP", RING | OVERLAP | BENCH | PLAN | SWEEP,
     "sum (default), avg (overlap's), min, max or prod", set_redop},
    {0, "pieces", "P", RING | OVERLAP | BENCH | FIT | PLAN | SWEEP,
     "cut segments in P: copy and add overlap (default 1;\n"
     "of bench by size, of bench --overlap 2)",
     set_pieces},
    {0, "slots", "S", RING | OVERLAP | BENCH | FIT | PLAN | SWEEP,
     "segments an inbox has room for (default 2)",
     set_slots},
    {0, "repeat", "K", RING | PLAN,
     "K all-reduces of fresh data, back to back (default 1)",
     set_repeat},
    {0, "init", "I", RING | OVERLAP,
     "index (default), rank, ones, random:SEED, values:a,b,..",
     set_init},
    {0, "input", "PATTERN", RING,
     "data from .npy files, as in 'grad-%r.npy', %r the rank",
     set_input},
    {0, "output", "PATTERN", RING, "write each rank's result to such files", set_output},
    {0, "trace", "[=KIND]", RING | OVERLAP,
     "every step: text (default), json, perfetto or html",
     set_trace},
    {0, "trace-file", "FILE", RING | OVERLAP,
     "write the trace there, a summary to standard output",
     set_trace_file},
    {0, "step", NULL, RING, "pause after each ring step of the trace", set_step},
    {0, "quiz", NULL, RING | OVERLAP, "ask about each step of the finished run", set_quiz},
    {0, "seed", "S", RING | OVERLAP, "the same S, the same questions of --quiz", set_seed},
    {0, "engine", "E", RING | OVERLAP | SWEEP,
     "eager (default), graph, kernel, auto or, of overlap, nccl", set_engine},
    {0, "schedule", "S", RING | OVERLAP,
     "simulated GPUs: model (default), random:SEED, any order\n"
     "that the waits allow, or search:K, until one goes wrong",
     set_schedule},
    {0, "delay", "OP:US", RING, "hold one op back for US us, as in s0.copy.r0:300", set_delay},
    {0, "link", "L", RING | OVERLAP | BENCH | FIT | SWEEP,
     "simulated GPUs: nvlink4 (default), nvlink3, nvlink2,\n"
     "pcie5, pcie4, pcie3, GBps:us, or FILE of bench --fit",
     set_link},
    {0, "p2p", "W", RING | OVERLAP | BENCH | FIT | BUGS | SWEEP,
     "real GPUs: auto (default) or off (through the host)",
     set_p2p},
    {0, "timeout", "S", RING | OVERLAP | BENCH | FIT | SWEEP,
     "real GPUs: give up after S seconds (default 60)",
     set_timeout},
    {0, "runs", "K", BUGS, "run what is held back K times (default 10)", set_runs},
    {0, "color", "WHEN", RING, "auto (default), always or never; NO_COLOR is honoured", set_color},
    {'q', "quiet", NULL, RING | OVERLAP, "print the verdicts only", set_quiet},
    {'h', "help", NULL, EVERY | EXPLAIN | SWEEP, "print this", set_help},
    {0, "version", NULL, EVERY | EXPLAIN | SWEEP,
     "print the version and what was built in", set_version},
};
#define N_ROWS (int)(sizeof rows / sizeof *rows)

#define N_EXAMPLES 3

static const struct {
    const char *name, *operand, *help;
    const char *examples[N_EXAMPLES]; /* behind "ring_demo " */
} commands[N_COMMANDS] = {
    [COMMAND_RING] = {"ring", "", "one ring all-reduce, explained",
                      {"--gpus 4 --trace", "-g 3 -c 10 --quiz",
                       "--input 'grad-%r.npy' --output 'sum-%r.npy'"}},
    [COMMAND_OVERLAP] = {"overlap", "", "one backward pass with buckets, the same way",
                         {"overlap", "overlap --model resnet18 --bucket-cap-mb 5",
                          "overlap --slow rank=1:3x"}},
    [COMMAND_BENCH] = {"bench", "", "how fast each engine is, beside NCCL",
                       {"bench", "bench -b 1M -e 1G -f 4 --json bench.json",
                        "bench --engine eager,graph -n 100"}},
    [COMMAND_PLAN] = {"plan", "", "print the plan as text, without running it",
                      {"plan -g 3 -c 6", "plan -g 4 --bug slot-early --slots 1",
                       "plan --model mlp | ring_demo check -"}},
    [COMMAND_CHECK] = {"check", "FILE|-", "prove or refute a plan (- is standard input)",
                       {"check my.plan", "check - < my.plan", "plan -g 5 | ring_demo check -"}},
    [COMMAND_BUGS] = {"bugs", "[NAME]", "the museum: broken rings (or every-wait)",
                      {"bugs", "bugs gather-index", "bugs every-wait -g 4"}},
    [COMMAND_DOCTOR] = {"doctor", "", "what this machine can do, in plain words",
                        {"doctor", "doctor && ring_demo --trace", "--version"}},
};

/* bench's own rows come first: what is printed for it begins with its letters. */
#define N_ALL (N_BENCH_ROWS + N_ROWS)
static void join_rows(struct option_row all[N_ALL])
{
    memcpy(all, bench_rows, sizeof bench_rows);
    memcpy(all + N_BENCH_ROWS, rows, sizeof rows);
}

void settings_help(enum command command, FILE *file)
{
    struct option_row all[N_ALL];
    join_rows(all);
    if (command == COMMAND_RING) {
        fprintf(file, "ring_demo: how GPUs add up their gradients. Usage:\n");
        for (int i = 0; i < N_COMMANDS; i++)
            fprintf(file, "  ring_demo %-8s%-7s %s%s\n", commands[i].name, commands[i].operand,
                    commands[i].help, i == COMMAND_RING ? " (the default)" : "");
    } else {
        fprintf(file, "ring_demo %s%s%s: %s\n", commands[command].name,
                commands[command].operand[0] ? " " : "", commands[command].operand,
                commands[command].help);
    }
    fprintf(file, "\n");
    options_print(all, N_ALL, (int)command, file);
    if (command == COMMAND_RING)
        fprintf(file, "\nExit status: 0 good; 1 wrong result or hazard; 2 usage or unreadable "
                      "input;\n3 this machine cannot do it. More: man ring_demo\n");
    fprintf(file, "\nExamples:\n");
    for (int i = 0; i < N_EXAMPLES; i++)
        fprintf(file, "  ring_demo %s\n", commands[command].examples[i]);
}

/* Options that their command has, but that would change nothing here. */
static enum status check_given(const struct settings *s, const struct option_row *all,
                               uint64_t given, struct error *err)
{
    enum status status = STATUS_OK;
    int training = s->network || s->layers;
    if (s->command == COMMAND_PLAN)
        TRY(options_allow(all, N_ALL, given, training ? OVERLAP : RING,
                          training ? "--model or --layers" : "a plan of the ring", err));
    if (s->command == COMMAND_PLAN && (s->slow_link || (s->slow && !training)))
        return fail(err, STATUS_USAGE, "--slow %s: a plan says how long computes take, not copies; "
                    "leave it out", s->slow_link ? s->slow_link : s->slow);
    if (s->explain)
        TRY(options_allow(all, N_ALL, given, EXPLAIN, "--explain", err));
    if (s->sweep)
        TRY(options_allow(all, N_ALL, given, SWEEP, "--sweep-cap", err));
    if (s->bench.fit && s->bench.overlap)
        return fail(err, STATUS_USAGE, "--overlap with --fit: one compares engines, the other fits "
                    "the modelled clock (and predicts an overlapped iteration, too); leave one "
                    "out");
    if (s->command == COMMAND_BENCH)
        TRY(s->bench.fit ? options_allow(all, N_ALL, given, OPTIONS_FIT, "--fit", err)
            : s->bench.overlap
                ? options_allow(all, N_ALL, given, OPTIONS_COMPARE, "--overlap", err)
                : options_allow(all, N_ALL, given, OPTIONS_SIZES, "a table of sizes", err));
out:
    return status;
}

/* A quiz is shown instead of everything else; it asks about a traced run. */
static enum status check_quiz(struct settings *s, struct error *err)
{
    const char *other = s->trace != TRACE_NONE ? "--trace"
                        : s->trace_file        ? "--trace-file"
                        : s->step              ? "--step"
                        : s->quiet             ? "--quiet"
                                               : NULL;
    if (s->quiz_seed_given && !s->quiz)
        return fail(err, STATUS_USAGE, "--seed chooses the questions of --quiz; random data is "
                    "--init random:SEED, a random order --schedule random:SEED");
    if (s->quiz && other)
        return fail(err, STATUS_USAGE, "--quiz with %s: a quiz shows nothing but what proves its "
                    "answers; leave one out", other);
    if (s->quiz && !s->quiz_seed_given)
        s->quiz_seed = (uint64_t)time(NULL);
    if (s->quiz)
        s->trace = TRACE_TEXT;
    return STATUS_OK;
}

enum status settings_read(struct settings *s, int argc, char **argv, struct error *err)
{
    enum status status = STATUS_OK;
    struct option_row all[N_ALL];
    int operand = 0;
    uint64_t given = 0;
    *s = (struct settings){.count = -1, .color = -1, .runs = 10,
                            .work = WORK_ARITHMETIC, .bench = bench_defaults};
    join_rows(all);
    set_model(&s->model, links[0].name, links[0].GBps, links[0].us);
    if (argc > 1 && argv[1][0] != '-') {
        int command = 0;
        while (command < N_COMMANDS && strcmp(argv[1], commands[command].name) != 0)
            command++;
        if (command == N_COMMANDS)
            return fail(err, STATUS_USAGE, "unknown command '%s'; ring, overlap, bench, plan, "
                        "check, bugs and doctor are the commands", quote_text(argv[1]).text);
        s->command = (enum command)command;
        argc--;
        argv++;
    }
    TRY(options_read(all, N_ALL, (int)s->command, argc, argv, s, &given, &operand, err));
    if (s->help || s->version)
        return STATUS_OK;
    TRY(check_given(s, all, given, err));
    if (s->command == COMMAND_CHECK && operand == argc)
        return fail(err, STATUS_USAGE,
                    "check needs a file: ring_demo check FILE, or - for standard "
                    "input");
    if (s->command == COMMAND_CHECK)
        s->file = argv[operand++];
    if (s->command == COMMAND_BUGS && operand < argc)
        s->file = argv[operand++];
    if (operand < argc)
        return fail(err, STATUS_USAGE, "unexpected argument '%s'%s", quote_text(argv[operand]).text,
                    s->command > COMMAND_PLAN ? ""
                                              : "; a command comes before the options, and a plan "
                                                "in a file is for check FILE or --plan FILE");
    TRY(check_quiz(s, err));
out:
    return status;
}
