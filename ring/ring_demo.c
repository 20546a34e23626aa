/* ring_demo.c - the front door: options -> plan -> check -> run -> verify -> show.
 *
 * Each command is that list, or a part of it. Only main prints errors.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/interrupt.h"
#include "common/output.h"
#include "common/quote.h"
#include "ring/check.h"
#include "ring/doctor.h"
#include "ring/plan_text.h"
#include "ring/ring.h"
#include "ring/run.h"
#include "ring/settings.h"
#include "ring/trace.h"
#include "ring/verify.h"

/* All that one run of a plan brings forth. */
struct story {
    struct plan plan;
    struct proof proof;
    struct device *device;
    struct timing timing;
    struct values values;
    struct verdict verdict;
    uint64_t second_hash;
    int ran, two_passes;
};

static void story_free(struct story *story)
{
    if (story->device)
        story->device->verbs->close(story->device);
    values_free(&story->values);
    timing_free(&story->timing);
    proof_free(&story->proof);
    plan_free(&story->plan);
}

/* ---- run and verify ---- */

static enum status make_plan(const struct settings *s, struct plan *plan, struct error *err)
{
    const struct ring_shape shape = {
        .n_ranks = s->n_ranks, .count = s->count, .dtype = s->dtype, .redop = s->redop,
        .pieces = s->pieces, .slots = s->slots, .iterations = s->repeat,
    };
    return ring_plan(plan, &shape, err);
}

static enum status run_passes(const struct settings *s, struct story *story, struct error *err)
{
    enum status status = STATUS_OK;
    const struct run_options options = {
        .device_of = s->device_of, .timed = s->trace != TRACE_NONE || s->backend == BACKEND_HOST,
        .timeout_s = s->timeout_s, .peer_off = s->peer_off, .model = s->model,
        .random = s->random, .seed = s->seed,
    };
    TRY(run_open(&story->device, s->backend, &story->plan, &options, err));
    TRY(run_plan(story->device, &story->plan, &s->data, options.timed, &story->timing, err));
    TRY(verify(story->device, &story->plan, &s->data, &story->verdict, err));
    story->ran = 1;
    if (s->trace == TRACE_TEXT) {
        TRY(run_values(story->device, &story->plan, &s->data, &story->values, err));
        TRY(verify_hash(story->device, &story->plan, &story->second_hash, err));
        story->two_passes = 1;
    }
out:
    return status;
}

/* A result that is not right is not written. */
static enum status write_result(const struct settings *s, const struct story *story,
                                struct error *err)
{
    const struct npy flat = {.dtype = s->dtype, .n_dims = 1, .shape = {s->count},
                             .count = s->count};
    if (!s->output || story->verdict.n_different || story->verdict.n_wrong)
        return STATUS_OK;
    interrupt_catch();
    return run_output(story->device, &story->plan, s->output,
                      s->data.n_files ? s->data.files : &flat, err);
}

/* ---- show ---- */

static void describe_notice(const struct settings *s, const struct device_facts *facts,
                            char *text, size_t size)
{
    int n = facts->n_devices, simulated = s->backend == BACKEND_HOST;
    const char *modelled = ": real data moves, times are modelled";
    text[0] = '\0';
    if (n < s->n_ranks)
        snprintf(text, size, "%d ranks share %d%s GPU%s%s", s->n_ranks, n,
                 simulated ? " simulated" : "", n == 1 ? "" : "s",
                 simulated ? modelled : ": right sums, but not the times of as many GPUs");
    else if (simulated)
        snprintf(text, size, "no GPU is used, but %d simulated GPU%s%s", n, n == 1 ? "" : "s",
                 modelled);
}

static void describe_times(const struct settings *s, const struct story *story, char *text,
                           size_t size)
{
    if (s->backend == BACKEND_HOST && s->random)
        snprintf(text, size, "none: a random schedule, seed %" PRIu64 "; each choice counts as 1 us",
                 s->seed);
    else if (s->backend == BACKEND_HOST)
        snprintf(text, size, "modelled, in us since the first op began");
    else if (story->timing.per_op)
        snprintf(text, size, "CUDA events, in us since the first op began; the devices' clocks agree "
                 "within %.1f us", (double)story->device->facts.clock_error_ns / 1000);
    else
        snprintf(text, size, "the host's clock, for the whole run; --trace has each op's");
}

static void describe_model(const struct settings *s, char *text, size_t size)
{
    text[0] = '\0';
    if (s->backend == BACKEND_HOST && !s->random)
        snprintf(text, size, "link %s: %.4g us + bytes / %.6g GB/s; kernel: %.4g us + bytes touched "
                 "/ %.6g GB/s", s->model.name, (double)s->model.link_latency_ns / 1000,
                 s->model.link_GBps, (double)s->model.kernel_latency_ns / 1000,
                 s->model.memory_GBps);
}

static void describe_data(const struct settings *s, char *text, size_t size)
{
    const char *init = s->init ? s->init : "index";
    if (s->input)
        snprintf(text, size, "%s: %d file%s", quote_path(s->input).text, s->n_ranks,
                 s->n_ranks == 1 ? "" : "s");
    else if (strcmp(init, "index") == 0 && s->redop == REDOP_PROD)
        snprintf(text, size, "index: signed powers of two that differ by rank and element");
    else if (strcmp(init, "index") == 0)
        snprintf(text, size, "index: element i of rank r holds (i + 31 r%s) mod 251",
                 s->repeat > 1 ? " + 101 iteration" : "");
    else
        snprintf(text, size, "%s", quote_text(init).text);
}

static void describe_written(const struct settings *s, const struct story *story, char *text,
                             size_t size)
{
    int wrong = story->verdict.n_different || story->verdict.n_wrong;
    text[0] = '\0';
    if (s->output)
        snprintf(text, size, wrong ? "nothing to %s: the result is not right" : "%s",
                 quote_path(s->output).text);
    if (s->trace_file)
        snprintf(text + strlen(text), size - strlen(text), "%s%s (the trace)", text[0] ? ", " : "",
                 quote_path(s->trace_file).text);
}

static const char *const path_names[N_PATHS] = {
    [PATH_SAME] = "on one device", [PATH_PEER] = "peer access",
    [PATH_STAGED] = "staged through the host's memory", [PATH_MODEL] = "modelled link",
};

/* The trace to its file or to standard output; and what is said there where the trace is not. */
static enum status write_trace(const struct settings *s, const struct scene *scene,
                               struct error *err)
{
    enum status status = STATUS_OK;
    struct output output = {.path = NULL};
    int no_color = getenv("NO_COLOR") && getenv("NO_COLOR")[0];
    const struct show here = {
        .file = stdout, .steps = s->trace == TRACE_TEXT && !s->trace_file, .quiet = s->quiet,
        .pause = s->step,
        .color = s->color == 1 || (s->color == -1 && isatty(STDOUT_FILENO) && !no_color),
    };
    if (s->trace_file) {
        interrupt_catch();
        TRY(output_open(&output, s->trace_file, err));
        const struct show all = {.file = output.file, .steps = 1, .color = s->color == 1};
        struct scene own = *scene;
        own.written = ""; /* the file does not tell about itself */
        TRY(s->trace == TRACE_JSON ? trace_json(&own, output.file, err)
                                   : trace_text(&own, &all, err));
        TRY(interrupt_seen(err));
        TRY(output_commit(&output, err));
    }
    if (s->trace == TRACE_JSON && !s->trace_file)
        TRY(trace_json(scene, stdout, err));
    else
        TRY(trace_text(scene, &here, err));
out:
    output_discard(&output);
    return status;
}

/* Puts the story into a scene and has it written. */
static enum status show(const struct settings *s, const struct story *story, struct error *err)
{
    enum status status = STATUS_OK;
    char notice[256], times[160], model[200], data[300], written[600];
    struct scene_link *links = NULL;
    const struct device_facts *facts = &story->device->facts;
    describe_notice(s, facts, notice, sizeof notice);
    describe_times(s, story, times, sizeof times);
    describe_model(s, model, sizeof model);
    describe_data(s, data, sizeof data);
    describe_written(s, story, written, sizeof written);
    TRY(allocate((void **)&links, facts->n_links, sizeof *links, "links", err));
    for (int i = 0; i < facts->n_links; i++)
        links[i] = (struct scene_link){facts->links[i].from, facts->links[i].to,
                                       path_names[facts->paths[i]]};
    const struct scene scene = {
        .plan = &story->plan, .proof = &story->proof,
        .timing = story->ran ? &story->timing : NULL,
        .values = story->two_passes ? &story->values : NULL,
        .verdict = story->ran ? &story->verdict : NULL,
        .second_hash = story->second_hash,
        .backend = story->device->verbs->name, .engine = "eager",
        .simulated = facts->simulated, .n_devices = facts->n_devices, .device_of = s->device_of,
        .device_names = facts->names, .n_links = facts->n_links, .links = links,
        .written = written, .random = s->random, .notice = notice, .link_model = model, .times = times, .data = data,
        .clock_error_ns = facts->clock_error_ns,
    };
    if (s->trace == TRACE_JSON && notice[0])
        fprintf(stderr, "ring_demo: note: %s\n", notice);
    TRY(write_trace(s, &scene, err));
out:
    free(links);
    return status;
}

/* ---- the commands ---- */

static enum status judge(const struct story *story, struct error *err)
{
    if (proof_total(&story->proof))
        return fail(err, STATUS_WRONG, "the plan is refuted");
    if (story->verdict.n_different || story->verdict.n_wrong)
        return fail(err, STATUS_WRONG, "the result is wrong");
    if (story->two_passes && story->second_hash != story->verdict.hash)
        return fail(err, STATUS_WRONG, "two runs of the same plan gave different results");
    return STATUS_OK;
}

static enum status command_ring(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct story story = {.device = NULL};
    if (s->step && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        return fail(err, STATUS_USAGE, "--step pauses for a key, and standard input or output is no "
                    "terminal; leave --step out to print all steps");
    TRY(settings_settle(s, err));
    TRY(make_plan(s, &story.plan, err));
    TRY(check_plan(&story.plan, &story.proof, err));
    TRY(run_passes(s, &story, err));
    TRY(write_result(s, &story, err));
    TRY(show(s, &story, err));
    TRY(judge(&story, err));
out:
    story_free(&story);
    return status;
}

static enum status command_plan(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct plan plan = {0};
    TRY(settings_settle(s, err));
    TRY(make_plan(s, &plan, err));
    plan_write(&plan, stdout);
out:
    plan_free(&plan);
    return status;
}

#define PLAN_TEXT_MOST (1l << 30) /* bytes; a plan of 1024 ranks takes 400 MB */

/* All of a file, or of standard input; *text is the caller's to free. */
static enum status read_all(const char *name, char **text, size_t *length, struct error *err)
{
    enum status status = STATUS_OK;
    size_t capacity = 1 << 16, n;
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    *length = 0;
    if (!file)
        return fail(err, STATUS_USAGE, "%s: cannot be read: %s", quote_path(name).text,
                    strerror(errno));
    TRY(allocate((void **)text, (long long)capacity, 1, "the file", err));
    while ((n = fread(*text + *length, 1, capacity - *length, file)) > 0) {
        *length += n;
        if (*length > PLAN_TEXT_MOST)
            TRY(fail(err, STATUS_USAGE, "%s: has more than 1 GiB, more than any plan",
                     quote_path(name).text));
        if (*length == capacity) {
            char *moved = realloc(*text, capacity *= 2);
            if (!moved)
                TRY(fail(err, STATUS_MACHINE, "%s: not enough memory to read it",
                         quote_path(name).text));
            *text = moved;
        }
    }
    if (ferror(file))
        TRY(fail(err, STATUS_USAGE, "%s: cannot be read: %s", quote_path(name).text,
                 strerror(errno)));
out:
    if (file != stdin)
        fclose(file);
    return status;
}

static enum status command_check(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct plan plan = {0};
    struct proof proof = {0};
    char *text = NULL, line[512];
    size_t length;
    const char *name = strcmp(s->file, "-") == 0 ? "standard input" : quote_path(s->file).text;
    TRY(read_all(s->file, &text, &length, err));
    TRY(plan_read(&plan, text, length, name, err));
    TRY(check_plan(&plan, &proof, err));
    printf("%s\n", proof_line(&plan, &proof, line, sizeof line));
    for (int i = 0; i < proof.n_findings; i++)
        printf("  %s\n", finding_text(&plan, &proof.findings[i], line, sizeof line));
    if (proof_total(&proof) > proof.n_findings)
        printf("  ... and %" PRId64 " more\n", proof_total(&proof) - proof.n_findings);
    if (proof_total(&proof))
        status = fail(err, STATUS_WRONG, "%s: the plan is refuted", name);
out:
    free(text);
    proof_free(&proof);
    plan_free(&plan);
    return status;
}

static enum status command_doctor(struct settings *s, struct error *err)
{
    (void)s;
    (void)err;
    doctor_print(stdout);
    return STATUS_OK;
}

static enum status (*const commands[N_COMMANDS])(struct settings *, struct error *) = {
    [COMMAND_RING] = command_ring, [COMMAND_PLAN] = command_plan,
    [COMMAND_CHECK] = command_check, [COMMAND_DOCTOR] = command_doctor,
};

int main(int argc, char **argv)
{
    struct settings settings;
    struct error err = {""};
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is told as a full disk is */
    enum status status = settings_read(&settings, argc, argv, &err);
    if (status == STATUS_OK && settings.help)
        settings_help(settings.command, stdout);
    else if (status == STATUS_OK && settings.version)
        version_print(stdout);
    else if (status == STATUS_OK)
        status = commands[settings.command](&settings, &err);
    settings_free(&settings);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        int unwritten = status == STATUS_OK || status == STATUS_WRONG;
        if (unwritten)
            status = fail(&err, STATUS_MACHINE, "standard output: could not be written whole: %s",
                          strerror(errno));
    }
    if (status != STATUS_OK)
        fprintf(stderr, "ring_demo: %s\n", err.text);
    interrupt_release();
    return (int)status;
}
