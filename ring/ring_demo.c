/* ring_demo.c - the front door: options -> plan -> check -> run -> verify -> show.
 *
 * Each command is that list, or a part of it. Only main prints errors.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/format.h"
#include "common/interrupt.h"
#include "common/output.h"
#include "common/quote.h"
#include "overlap/compare.h"
#include "overlap/predict.h"
#include "overlap/step.h"
#include "ring/auto.h"
#include "ring/doctor.h"
#include "ring/fit.h"
#include "ring/museum.h"
#include "ring/plan_text.h"
#include "ring/ring.h"
#include "ring/run.h"
#include "ring/settings.h"
#include "ring/show.h"
#include "ring/verify.h"

/* ---- run and verify ---- */

static enum status judge_values(const struct story *story)
{
    return story->verdict.n_different || story->verdict.n_wrong ? STATUS_WRONG : STATUS_OK;
}

/* Settings first, but for --plan, whose file says how many ranks there are. */
static enum status make_plan(struct settings *s, struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    if (s->plan_file)
        TRY(plan_read_file(plan, s->plan_file, err));
    TRY(settings_settle(s, s->plan_file ? plan : NULL, err));
    const struct ring_shape shape = {
        .n_ranks = s->n_ranks, .count = s->count, .dtype = s->dtype, .redop = s->redop,
        .pieces = s->pieces, .slots = s->slots, .iterations = s->repeat,
    };
    if (!s->plan_file)
        TRY(ring_plan(plan, &shape, err));
    if (s->bug)
        TRY(bug_apply(s->bug, plan, err));
out:
    return status;
}

/* The op that --delay names. */
static enum status find_delayed(const struct settings *s, const struct plan *plan, int64_t *out,
                                struct error *err)
{
    int length = s->delay ? (int)(strrchr(s->delay, ':') - s->delay) : 0;
    char name[OP_NAME_SIZE];
    for (*out = 0; s->delay && *out < plan->n_ops; ++*out) {
        const char *own = op_name(plan, *out, name);
        if ((int)strlen(own) == length && strncmp(own, s->delay, (size_t)length) == 0)
            return STATUS_OK;
    }
    return !s->delay ? STATUS_OK
                     : fail(err, STATUS_USAGE, "--delay %s: the plan has no op of this name; "
                            "ring_demo plan prints its names, as in s0.copy.r0",
                            quote_text(s->delay).text);
}

/* What auto means on these devices. */
static void take_engine(const struct settings *s, struct story *story)
{
    const int64_t bytes = s->count * (int64_t)dtype_size(s->dtype);
    struct error why = {""};
    char size[FORMAT_SIZE];
    story->engine = s->engine;
    if (s->engine != ENGINE_AUTO)
        return;
    if (s->plan_file || s->bug) {
        story->engine = ENGINE_EAGER;
        snprintf(story->why_engine, sizeof story->why_engine, "the kernel knows no plan but the "
                 "ring's");
        return;
    }
    story->engine = auto_engine(bytes, s->n_ranks, 1);
    snprintf(story->why_engine, sizeof story->why_engine, "the fastest for segments of %s",
             format_bytes(bytes / s->n_ranks, size));
    if (story->engine == ENGINE_KERNEL &&
        ring_kernel_try(story->device, s->n_ranks, s->device_of, &why) != STATUS_OK) {
        story->engine = auto_engine(bytes, s->n_ranks, 0);
        snprintf(story->why_engine, sizeof story->why_engine, "the kernel is not to be had: %.160s",
                 why.text);
    }
}

static enum status run_first(const struct settings *s, struct run_options *options,
                             struct story *story, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(run_open(&story->device, s->backend, &story->plan, options, err));
    take_engine(s, story);
    options->engine = story->engine;
    TRY(run_plan(story->device, &story->plan, &s->data, options, &story->timing, err));
    TRY(verify(story->device, &story->plan, &s->data, &story->verdict, err));
out:
    return status;
}

/* Other seeds, until one shows a wrong result; the story ends with that one, or with the last. */
static enum status search_seeds(const struct settings *s, struct run_options *options,
                                struct story *story, struct error *err)
{
    enum status status = STATUS_OK;
    while (judge_values(story) == STATUS_OK && story->seed + 1 < (uint64_t)s->n_seeds) {
        story->device->verbs->close(story->device);
        story->device = NULL;
        timing_free(&story->timing);
        options->seed = ++story->seed;
        TRY(run_first(s, options, story, err));
    }
out:
    return status;
}

static enum status run_passes(const struct settings *s, struct story *story, struct error *err)
{
    enum status status = STATUS_OK;
    struct run_options options = {
        .device_of = s->device_of,
        .timed = s->trace != TRACE_NONE || s->backend == BACKEND_HOST,
        .delay_ns = s->delay_ns, .timeout_s = s->timeout_s, .peer_off = s->peer_off,
        .model = s->model, .random = s->random, .seed = s->seed,
        .stale_uploads = s->bug && s->bug->stale_uploads,
        .words = {.own_labels = s->plan_file != NULL},
    };
    story->seed = s->seed;
    TRY(find_delayed(s, &story->plan, &options.delayed, err));
    TRY(run_first(s, &options, story, err));
    TRY(search_seeds(s, &options, story, err));
    if (s->trace != TRACE_NONE) {
        TRY(run_values(story->device, &story->plan, &s->data, &options, &story->values, err));
        TRY(verify_hash(story->device, &story->plan, &story->second_hash, err));
        story->two_passes = 1;
    }
out:
    return status;
}

static enum status judge(const struct story *story, struct error *err)
{
    if (proof_total(&story->proof))
        return fail(err, STATUS_WRONG, "the plan is refuted%s",
                    judge_values(story) == STATUS_OK ? "" : ", and the result is wrong");
    if (judge_values(story) != STATUS_OK)
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

/* The judgement, every finding that was kept, and what may be left out. */
static void print_proof(const struct plan *plan, const struct proof *proof)
{
    char line[FINDING_TEXT_SIZE];
    int64_t n_remarks = proof->counts[REMARK_REDUNDANT] + proof->counts[REMARK_PULL];
    printf("%s\n", proof_line(plan, proof, line, sizeof line));
    for (int i = 0; i < proof->n_findings + proof->n_remarks; i++) {
        if (i == proof->n_findings && proof_total(proof) > proof->n_findings)
            printf("  ... and %" PRId64 " more\n", proof_total(proof) - proof->n_findings);
        printf("  %s\n", finding_text(plan, &proof->findings[i], line, sizeof line));
    }
    if (proof->n_remarks == 0 && proof_total(proof) > proof->n_findings)
        printf("  ... and %" PRId64 " more\n", proof_total(proof) - proof->n_findings);
    if (n_remarks > proof->n_remarks)
        printf("  ... and %" PRId64 " more remarks\n", n_remarks - proof->n_remarks);
}

static enum status command_ring(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct story story = {.device = NULL};
    char text[FINDING_TEXT_SIZE];
    if (s->step && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        return fail(err, STATUS_USAGE,
                    "--step pauses for a key, and standard input or output is no "
                    "terminal; leave --step out to print all steps");
    TRY(make_plan(s, &story.plan, err));
    TRY(check_plan(&story.plan, &story.proof, err));
    if (!proof_can_run(&story.proof)) {
        if (s->trace <= TRACE_TEXT && !s->quiet)
            print_proof(&story.plan, &story.proof);
        TRY(fail(err, STATUS_WRONG, "the plan is refuted, and cannot run: %s",
                 finding_text(&story.plan, story.proof.findings, text, sizeof text)));
    }
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
    if (s->network || s->layers)
        TRY(overlap_make_plan(s, &plan, err));
    else
        TRY(make_plan(s, &plan, err));
    plan_write(&plan, stdout);
out:
    plan_free(&plan);
    return status;
}

static enum status command_check(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct plan plan = {0};
    struct proof proof = {0};
    TRY(plan_read_file(&plan, s->file, err));
    TRY(check_plan(&plan, &proof, err));
    print_proof(&plan, &proof);
    if (proof_total(&proof))
        status = fail(err, STATUS_WRONG, "%s: the plan is refuted",
                      strcmp(s->file, "-") == 0 ? "standard input" : quote_path(s->file).text);
out:
    proof_free(&proof);
    plan_free(&plan);
    return status;
}

#define EVERY_WAIT "every-wait" /* no exhibit, but a table: what each wait of the ring is for */

static enum status command_bugs(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    int as_claimed = 1, every_wait = s->file && strcmp(s->file, EVERY_WAIT) == 0;
    const struct bug *bug = s->file ? bug_find(s->file) : NULL;
    if (s->n_ranks && !every_wait)
        return fail(err, STATUS_USAGE, "--gpus is for bugs " EVERY_WAIT "; each exhibit has its "
                    "own number of ranks");
    if (s->n_ranks == 1 || s->n_ranks > 16)
        return fail(err, STATUS_USAGE, "--gpus %d: from 2 to 16 for bugs " EVERY_WAIT, s->n_ranks);
    if (s->file && !bug && !every_wait)
        return fail(err, STATUS_USAGE, "there is no exhibit '%s'; ring_demo bugs lists them, and "
                    "there is " EVERY_WAIT, quote_text(s->file).text);
    int n_ranks = s->n_ranks ? s->n_ranks : 3;
    TRY(settings_settle(s, NULL, err));
    const struct museum museum = {
        .backend = s->backend, .n_devices = s->inventory.n_devices, .peer_off = s->peer_off,
        .runs = s->runs,
        .model = s->model, .file = stdout,
    };
    TRY(every_wait ? museum_waits(&museum, n_ranks, &as_claimed, err)
        : bug      ? museum_show(&museum, bug, &as_claimed, err)
                   : museum_list(&museum, &as_claimed, err));
    if (!as_claimed)
        status = fail(err, STATUS_WRONG, "something is not as it is claimed to be");
out:
    return status;
}

static enum status command_bench(struct settings *s, struct error *err)
{
    struct fit_report report;
    if (!s->bench.fit)
        return s->bench.overlap ? overlap_compare(s, err) : bench(s, err);
    enum status status = fit_rings(s, &report, err);
    if (status == STATUS_OK)
        status = predict_overlap(s, &report, err);
    status = fit_finish(&report, status, err);
    fit_report_free(&report);
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
    [COMMAND_CHECK] = command_check, [COMMAND_BUGS] = command_bugs,
    [COMMAND_OVERLAP] = overlap_step, [COMMAND_BENCH] = command_bench,
    [COMMAND_DOCTOR] = command_doctor,
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
    if (output_flush(status <= STATUS_WRONG ? &err : NULL) != STATUS_OK && status <= STATUS_WRONG)
        status = STATUS_MACHINE;
    interrupt_stop(NULL); /* nobody reads standard output any more: it ends here */
    if (status != STATUS_OK)
        fprintf(stderr, "ring_demo: %s\n", err.text);
    interrupt_release();
    return (int)status;
}
