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
#include "common/quote.h"
#include "ring/doctor.h"
#include "ring/plan_text.h"
#include "ring/ring.h"
#include "ring/run.h"
#include "ring/settings.h"
#include "ring/show.h"
#include "ring/verify.h"

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
    if (s->trace == TRACE_TEXT) {
        TRY(run_values(story->device, &story->plan, &s->data, &story->values, err));
        TRY(verify_hash(story->device, &story->plan, &story->second_hash, err));
        story->two_passes = 1;
    }
out:
    return status;
}

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

/* A result that is not right is not written. */
static enum status write_result(const struct settings *s, struct story *story, struct error *err)
{
    const struct npy flat = {.dtype = s->dtype, .n_dims = 1, .shape = {s->count},
                             .count = s->count};
    if (!s->output || judge(story, NULL) != STATUS_OK)
        return STATUS_OK;
    interrupt_catch();
    enum status status = run_output(story->device, &story->plan, s->output,
                                    s->data.n_files ? s->data.files : &flat, err);
    story->written = status == STATUS_OK;
    return status == STATUS_OK ? interrupt_stop(err) : status;
}

/* ---- the commands ---- */

static enum status command_ring(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct story story = {.device = NULL};
    if (s->step && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        return fail(err, STATUS_USAGE,
                    "--step pauses for a key, and standard input or output is no "
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

/* All of a file, or of standard input ("-"); *text is the caller's to free. */
static enum status read_all(const char *path, const char *name, char **text, size_t *length,
                            struct error *err)
{
    enum status status = STATUS_OK;
    int64_t capacity = 0;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    *length = 0;
    if (!file)
        return fail(err, STATUS_USAGE, "%s: cannot be read: %s", name, strerror(errno));
    for (size_t n = 1; n > 0; *length += n) {
        if (*length > PLAN_TEXT_MOST)
            TRY(fail(err, STATUS_USAGE, "%s: has more than 1 GiB, more than any plan", name));
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

static enum status command_check(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct plan plan = {0};
    struct proof proof = {0};
    char *text = NULL, line[512];
    size_t length;
    const struct quote quoted = quote_path(strcmp(s->file, "-") == 0 ? "standard input" : s->file);
    const char *name = quoted.text;
    TRY(read_all(s->file, name, &text, &length, err));
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
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && status <= STATUS_WRONG)
        status = fail(&err, STATUS_MACHINE, "standard output: could not be written whole%s%s",
                      errno ? ": " : "", errno ? strerror(errno) : "");
    if (status != STATUS_OK)
        fprintf(stderr, "ring_demo: %s\n", err.text);
    interrupt_release();
    return (int)status;
}
