/* predict.c - the same iteration on this machine's devices and on the modelled clock. */
#include "overlap/predict.h"

#include "overlap/step.h"

static enum status time_on(const struct settings *s, enum engine engine,
                           enum device_backend backend, const struct device_model *model,
                           struct spread *spread, struct error *err)
{
    struct settings own = {
        .command = COMMAND_OVERLAP, .n_ranks = s->n_ranks, .devices = s->devices,
        .backend = backend, .backend_given = 1, .engine = engine, .count = -1, .pieces = 2,
        .slots = s->slots, .model = *model, .timeout_s = s->timeout_s, .peer_off = s->peer_off,
        .layers = PREDICT_LAYERS, .backward_us = PREDICT_BACKWARD_US, .work = WORK_ARITHMETIC,
    };
    enum status status = overlap_time(&own, 1, spread, err);
    settings_free(&own);
    return status;
}

enum status predict_overlap(const struct settings *s, struct fit_report *report,
                            struct error *err)
{
    enum status status = STATUS_OK;
    struct spread measured, predicted;
    for (int i = 0; i <= ENGINE_GRAPH; i++) { /* no model knows NCCL */
        const enum engine engine = (enum engine)i;
        TRY(time_on(s, engine, s->backend, &s->model, &measured, err));
        TRY(time_on(s, engine, BACKEND_HOST, &report->model, &predicted, err));
        const struct fit_row row = {.what = "overlap " PREDICT_LAYERS,
                                    .engine = engine_name(engine),
                                    .predicted_us = predicted.least_ns / 1e3,
                                    .measured_us = measured.least_ns / 1e3,
                                    .median_us = measured.median_ns / 1e3};
        TRY(fit_add_row(report, &row, err));
    }
out:
    return status;
}
