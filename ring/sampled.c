/* sampled.c - a few samples to warm up, then those that count; one alone on the modelled clock. */
#include "ring/sampled.h"

#include "common/interrupt.h"
#include "common/sort.h"

#define N_WARMUPS 3

static enum status take(struct run_sample *sample, int launches, struct sampled *out,
                        struct error *err)
{
    enum status status = STATUS_OK;
    const int simulated = sample->device->facts.simulated, n = simulated ? 1 : SAMPLED_RUNS;
    int64_t ns[SAMPLED_RUNS], queued_ns[SAMPLED_RUNS];
    for (int i = simulated ? 0 : -N_WARMUPS; i < n; i++) {
        const int at = i < 0 ? 0 : i;
        TRY(interrupt_seen(err));
        TRY(run_sample(sample, launches, &ns[at], err));
        queued_ns[at] = sample->queued_ns;
    }
    sort_int64(ns, n);
    sort_int64(queued_ns, n);
    out->ns = (double)ns[n / 2];
    out->queued_ns = (double)queued_ns[n / 2];
out:
    return status;
}

enum status sample_plan(const struct settings *s, const struct plan *plan,
                        const struct sample_way *way, struct sampled *sampled, struct error *err)
{
    enum status status = STATUS_OK;
    const struct run_options options = {
        .engine = way->engine, .calls = way->calls, .device_of = s->device_of,
        .timeout_s = s->timeout_s, .peer_off = s->peer_off, .model = s->model, .work = way->work,
        .times_only = s->backend == BACKEND_HOST,
    };
    struct device *device = NULL;
    struct run_sample sample = {.order = NULL};
    *sampled = (struct sampled){.staged = 0};
    TRY(run_open(&device, s->backend, plan, &options, err));
    for (int i = 0; i < device->facts.n_links; i++)
        sampled->staged |= device->facts.paths[i] == PATH_STAGED;
    TRY(run_sample_open(&sample, device, plan, &s->data, &options, err));
    TRY(take(&sample, way->launches > 1 ? way->launches : 1, sampled, err));
out:
    run_sample_close(&sample);
    if (device)
        device->verbs->close(device);
    return status;
}
