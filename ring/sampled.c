/* sampled.c - a few turns to warm up, then those that count; one alone on the modelled clock. */
#include "ring/sampled.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/processors.h"
#include "common/sort.h"

#define N_WARMUPS 3

struct running {
    struct device *device;
    struct run_options options;
    struct run_sample sample;
    int64_t ns[SAMPLED_MOVING_RUNS], queued_ns[SAMPLED_MOVING_RUNS];
};

static enum status start(struct running *r, const struct settings *s, struct sampled *of,
                         struct error *err)
{
    enum status status = STATUS_OK;
    if (of->like) {
        of->staged = of->like->staged;
        return STATUS_OK;
    }
    r->options = (struct run_options){
        .engine = of->engine, .calls = of->calls, .device_of = s->device_of,
        .timeout_s = s->timeout_s, .peer_off = s->peer_off, .model = s->model, .work = of->work,
        .times_only = s->backend == BACKEND_HOST,
    };
    TRY(run_open(&r->device, s->backend, of->plan, &r->options, err));
    TRY(run_sample_open(&r->sample, r->device, of->plan, &s->data, &r->options, err));
    for (int i = 0; i < r->device->facts.n_links; i++)
        of->staged |= r->device->facts.paths[i] == PATH_STAGED;
out:
    return status;
}

/* Sample i of each; it may be taken again. */
static enum status take_turn(struct running *running, const struct sampled *sampled, int n, int i,
                             struct error *err)
{
    enum status status = STATUS_OK;
    for (int which = 0; which < n; which++) {
        const struct sampled *s = &sampled[which];
        struct run_sample *sample = &running[(s->like ? s->like : s) - sampled].sample;
        TRY(interrupt_seen(err));
        TRY(run_sample(sample, s->launches > 1 ? s->launches : 1, &running[which].ns[i], err));
        running[which].queued_ns[i] = sample->queued_ns;
    }
out:
    return status;
}

static struct spread spread_of(int64_t *ns, int n)
{
    sort_int64(ns, n);
    return (struct spread){(double)ns[0], (double)ns[n / 2]};
}

static enum status take(struct running *running, struct sampled *sampled, int n,
                        struct processors *processors, struct error *err)
{
    enum status status = STATUS_OK;
    const int simulated = running->device->facts.simulated;
    const int least = simulated ? 1 : SAMPLED_RUNS;
    const int most = processors ? SAMPLED_MOVING_RUNS : least;
    const int64_t begin = clock_ns();
    int taken = 0;
    for (int i = 0; i < N_WARMUPS && !simulated; i++)
        TRY(take_turn(running, sampled, n, 0, err));
    while (taken < least || (taken < most && clock_ns() - begin < SAMPLED_MOVING_NS)) {
        if (processors_next(processors)) /* to whose caches all this is new */
            TRY(take_turn(running, sampled, n, taken, err));
        TRY(take_turn(running, sampled, n, taken++, err));
    }
    for (int i = 0; i < n; i++) {
        sampled[i].done = spread_of(running[i].ns, taken);
        sampled[i].queued = spread_of(running[i].queued_ns, taken);
    }
out:
    return status;
}

enum status sample_plans(const struct settings *s, struct sampled *sampled, int n, int moving,
                         struct error *err)
{
    enum status status = STATUS_OK;
    struct processors *processors = NULL;
    struct running *running = NULL;
    TRY(allocate((void **)&running, n, sizeof *running, "samples", err));
    for (int i = 0; i < n; i++)
        TRY(start(&running[i], s, &sampled[i], err));
    if (moving && s->backend != BACKEND_HOST)
        processors = processors_open();
    TRY(take(running, sampled, n, processors, err));
out:
    processors_close(processors);
    for (int i = n - 1; running && i >= 0; i--) { /* the first may have enabled peer access */
        run_sample_close(&running[i].sample);
        if (running[i].device)
            running[i].device->verbs->close(running[i].device);
    }
    free(running);
    return status;
}
