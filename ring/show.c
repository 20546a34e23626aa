/* show.c - puts a run into words (a scene) and hands them to the writers of traces. */
#include "ring/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/output.h"
#include "common/quote.h"
#include "ring/kernel.h"
#include "ring/quiz.h"
#include "ring/trace.h"

void story_free(struct story *story)
{
    if (story->device)
        story->device->verbs->close(story->device);
    values_free(&story->values);
    timing_free(&story->timing);
    proof_free(&story->proof);
    plan_free(&story->plan);
}

void show_notice(const struct settings *s, const struct device_facts *facts, char *text,
                 size_t size)
{
    int n = facts->n_devices, simulated = s->backend == BACKEND_HOST;
    const char *modelled = s->times_only ? ": no data moves, times are modelled"
                                         : ": real data moves, times are modelled";
    text[0] = '\0';
    if (n < s->n_ranks)
        snprintf(text, size, "%d ranks share %d%s GPU%s%s", s->n_ranks, n,
                 simulated ? " simulated" : "", n == 1 ? "" : "s",
                 simulated ? modelled : ": right sums, but not the times of as many GPUs");
    else if (simulated)
        snprintf(text, size, "no GPU is used, but %d simulated GPU%s%s", n, n == 1 ? "" : "s",
                 modelled);
}

const char *show_engine(enum engine engine, int simulated, int two_passes, int64_t bytes,
                        int n_ranks, char text[SHOW_ENGINE_SIZE])
{
    const char *how = simulated ? "all ops kept, then queued as one, as a CUDA graph would be"
                                : "all ops as one CUDA graph";
    char kernel[160];
    if (engine == ENGINE_EAGER)
        return "op by op";
    const char *protocol = ring_protocol_name(ring_protocol_for(bytes, n_ranks));
    snprintf(kernel, sizeof kernel, "one kernel a rank, by %s; an add and the copy behind it are "
             "one step of it, which begins when the first of its data is there", protocol);
    snprintf(text, SHOW_ENGINE_SIZE, "%s%s", engine == ENGINE_KERNEL ? kernel : how,
             two_passes ? "; the values are read in a second run, op by op" : "");
    return text;
}

static void describe_engine(const struct settings *s, const struct story *story, char *text,
                            size_t size)
{
    char own[SHOW_ENGINE_SIZE];
    snprintf(text, size, "%s%s%s",
             show_engine(story->engine, story->device->facts.simulated, story->two_passes,
                         s->count * (int64_t)dtype_size(s->dtype), s->n_ranks, own),
             story->why_engine[0] ? "; taken by auto: " : "", story->why_engine);
}

static void describe_held_back(const struct settings *s, char *text, size_t size)
{
    text[0] = '\0';
    if (s->delay)
        snprintf(text, size, "%.*s starts %" PRId64 " us late",
                 (int)(strrchr(s->delay, ':') - s->delay), s->delay, s->delay_ns / 1000);
}

/* What a search found. */
static void describe_search(const struct settings *s, const struct story *story, char *text,
                            size_t size)
{
    text[0] = '\0';
    if (s->n_seeds && (story->verdict.n_different || story->verdict.n_wrong))
        snprintf(text, size, "of seeds 0 to %d the first that goes wrong is %" PRIu64
                 ": --schedule random:%" PRIu64, s->n_seeds - 1, story->seed, story->seed);
    else if (s->n_seeds)
        snprintf(text, size, "none of seeds 0 to %d goes wrong", s->n_seeds - 1);
}

static void describe_times(const struct settings *s, const struct story *story, char *text,
                           size_t size)
{
    const int kernel = story->engine == ENGINE_KERNEL;
    if (s->backend == BACKEND_HOST && s->random)
        snprintf(text, size,
                 "none: a random schedule, seed %" PRIu64 "; each choice counts as 1 us",
                 story->seed);
    else if (s->backend == BACKEND_HOST)
        snprintf(text, size, "modelled, in us since the first op began");
    else if (story->timing.per_op)
        snprintf(text, size,
                 "%s, in us since the first op began; the devices' clocks agree within %.*f us",
                 kernel ? "the GPUs' own timers" : "CUDA events", kernel ? 2 : 1,
                 (double)story->timing.clock_error_ns / 1000);
    else
        snprintf(text, size, "the host's clock, for the whole run; --trace has each op's");
}

static void describe_model(const struct settings *s, char *text, size_t size)
{
    text[0] = '\0';
    if (s->backend == BACKEND_HOST && !s->random)
        snprintf(text, size,
                 "link %s: %.4g us + bytes / %.6g GB/s; kernel: %.4g us + bytes touched "
                 "/ %.6g GB/s",
                 s->model.name, (double)s->model.link_latency_ns / 1000, s->model.link_GBps,
                 (double)s->model.kernel_latency_ns / 1000, s->model.memory_GBps);
    if (text[0] && s->slow_link)
        snprintf(text + strlen(text), size - strlen(text), "; between %d and %d %g times as long",
                 s->slow_ranks[0], s->slow_ranks[1], s->slow_link_times);
}

static int has_fresh_data(const struct plan *plan)
{
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (plan->ops[id].kind == OP_COMPUTE && plan->ops[id].iteration > 0)
            return 1;
    return 0;
}

static void describe_data(const struct settings *s, const struct plan *plan, char *text,
                          size_t size)
{
    const char *init = s->init ? s->init : "index";
    if (s->input)
        snprintf(text, size, "%s: %d file%s", quote_path(s->input).text, s->n_ranks,
                 s->n_ranks == 1 ? "" : "s");
    else if (strcmp(init, "index") == 0 && s->redop == REDOP_PROD)
        snprintf(text, size, "index: signed powers of two that differ by rank and element");
    else if (strcmp(init, "index") == 0)
        snprintf(text, size, "index: element i of rank r holds (i + 31 r%s) mod 251%s",
                 has_fresh_data(plan) ? " + 101 iteration" : "",
                 s->dtype == DTYPE_BFLOAT16 ? " mod 29" : "");
    else
        snprintf(text, size, "%s", quote_text(init).text);
}

static void describe_written(const struct settings *s, const struct story *story, char *text,
                             size_t size)
{
    text[0] = '\0';
    if (s->output)
        snprintf(text, size,
                 story->written                 ? "%s"
                 : proof_total(&story->proof) ? "nothing to %s: the plan is refuted"
                                                : "nothing to %s: the result is not right",
                 quote_path(s->output).text);
    if (s->trace_file)
        snprintf(text + strlen(text), size - strlen(text), "%s%s (the trace)", text[0] ? ", " : "",
                 quote_path(s->trace_file).text);
}

static const char *const path_names[N_PATHS] = {
    [PATH_SAME] = "on one device", [PATH_PEER] = "peer access",
    [PATH_STAGED] = "staged through the host's memory", [PATH_MODEL] = "modelled link",
};

/* Of traces for programs. */
static enum status (*const writers[N_TRACES])(const struct scene *, FILE *, struct error *) = {
    [TRACE_JSON] = trace_json, [TRACE_PERFETTO] = trace_perfetto,
    [TRACE_HTML] = trace_html,
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
        TRY(output_begin(&output, s->trace_file, err));
        const struct show all = {.file = output.file, .steps = 1, .color = s->color == 1};
        struct scene own = *scene;
        own.written = ""; /* the file does not tell about itself */
        TRY(writers[s->trace] ? writers[s->trace](&own, output.file, err)
                              : trace_text(&own, &all, err));
        TRY(output_end(&output, err));
    }
    if (writers[s->trace] && !s->trace_file)
        TRY(writers[s->trace](scene, stdout, err));
    else if (!scene->training)
        TRY(trace_text(scene, &here, err));
out:
    output_discard(&output);
    return status;
}

enum status show(const struct settings *s, const struct story *story, struct error *err)
{
    enum status status = STATUS_OK;
    char notice[256], times[160], origin[256] = "", fault[120] = "", held_back[120],
         search[120], model[320], data[300], written[600], how[2 * SHOW_ENGINE_SIZE];
    struct scene_link *links = NULL;
    const struct device_facts *facts = &story->device->facts;
    show_notice(s, facts, notice, sizeof notice);
    describe_times(s, story, times, sizeof times);
    describe_model(s, model, sizeof model);
    describe_data(s, &story->plan, data, sizeof data);
    describe_written(s, story, written, sizeof written);
    describe_search(s, story, search, sizeof search);
    describe_held_back(s, held_back, sizeof held_back);
    describe_engine(s, story, how, sizeof how);
    if (s->plan_file)
        snprintf(origin, sizeof origin, "%s", strcmp(s->plan_file, "-") == 0 ? "standard input"
                                              : quote_path(s->plan_file).text);
    if (s->bug)
        snprintf(fault, sizeof fault, "%s: %s", s->bug->name, s->bug->title);
    TRY(allocate((void **)&links, facts->n_links, sizeof *links, "links", err));
    for (int i = 0; i < facts->n_links; i++)
        links[i] = (struct scene_link){facts->links[i].from, facts->links[i].to,
                                       path_names[facts->paths[i]]};
    const struct scene scene = {
        .plan = &story->plan, .proof = &story->proof,
        .timing = &story->timing,
        .values = story->two_passes ? &story->values : NULL,
        .verdict = s->times_only || s->never_ready ? NULL : &story->verdict,
        .training = story->training,
        .second_hash = story->second_hash,
        .backend = story->device->verbs->name, .engine = engine_name(story->engine),
        .engine_how = how, .by_kernel = story->engine == ENGINE_KERNEL,
        .simulated = facts->simulated, .n_devices = facts->n_devices, .device_of = s->device_of,
        .device_names = facts->names, .n_links = facts->n_links, .links = links,
        .notice = notice, .link_model = model, .times = times, .data = data, .written = written,
        .origin = origin, .fault = fault, .held_back = held_back,
        .search = search, .stale_uploads = s->bug && s->bug->stale_uploads,
        .random = s->random, .clock_error_ns = story->timing.clock_error_ns,
    };
    if (writers[s->trace] && notice[0])
        fprintf(stderr, "ring_demo: note: %s\n", notice);
    TRY(s->quiz ? quiz_ring(&scene, s->quiz_seed, isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
                            stdin, stdout, err)
                : write_trace(s, &scene, err));
out:
    free(links);
    return status;
}
