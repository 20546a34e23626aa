/* fit_table.c - what was fitted, as a file; and what it predicts, beside what is measured. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/built.h"
#include "common/format.h"
#include "common/interrupt.h"
#include "common/json.h"
#include "common/link_file.h"
#include "common/output.h"
#include "common/quote.h"
#include "ring/bench_parts.h"
#include "ring/fit.h"

/* ---- the file ---- */

static void describe_machine(const struct settings *s, FILE *file)
{
    const struct device_inventory *found = &s->inventory;
    if (s->backend == BACKEND_HOST) {
        fprintf(file, "# simulated GPUs, whose clock was modelled by --link %s\n", s->model.name);
        return;
    }
    for (int rank = 0; rank < s->n_ranks; rank++)
        fprintf(file, "# rank %d: %s (%s)\n", rank, found->devices[s->device_of[rank]].name,
                found->devices[s->device_of[rank]].bus);
    fprintf(file, "# %s, %s\n", found->runtime, found->driver);
}

enum status fit_write(const struct settings *s, const struct device_model *model,
                      struct error *err)
{
    enum status status = STATUS_OK;
    struct output output = {.path = NULL};
    char date[32] = "at an unknown time";
    const time_t now = time(NULL);
    const struct tm *utc = gmtime(&now);
    if (utc)
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", utc);
    TRY(output_begin(&output, s->bench.fit, err));
    fprintf(output.file, "# fitted by ring_demo bench --fit, %s, on %d ranks\n", date, s->n_ranks);
    describe_machine(s, output.file);
    link_file_write(model, output.file);
    TRY(output_end(&output, err));
out:
    output_discard(&output);
    return status;
}

/* ---- the table ---- */

static void print_head(const struct settings *s, const struct device_model *m, FILE *file)
{
    if (s->backend == BACKEND_HOST)
        fprintf(file, "# times are MODELLED: no GPU took part; link %s was fitted\n",
                s->model.name);
    fprintf(file,
            "# fitted on %d ranks, written to %s; rings: %d all-reduces a sample\n"
            "# a copy: %.4g us + bytes / %.4g GB/s; a kernel: %.4g us + bytes touched / %.4g GB/s\n"
            "# the host queues a copy in %.4g us, a kernel %.4g, a record %.4g, a wait %.4g; a "
            "wait lasts %.4g\n"
            "# a graph: %.4g us to launch, and %.4g of the host's for each op; an edge %.4g us, "
            "and a wait %.4g more\n"
            "# an add takes %" PRId64 " %% of its time from a compute beside it\n"
            "#\n"
            "# what                 engine   predicted us    measured us   error %%      median "
            "us\n",
            s->n_ranks, quote_path(s->bench.fit).text, s->bench.calls,
            (double)m->link_latency_ns / 1e3,
            m->link_GBps, (double)m->kernel_latency_ns / 1e3, m->memory_GBps,
            (double)m->queue_copy_ns / 1e3, (double)m->queue_kernel_ns / 1e3,
            (double)m->queue_record_ns / 1e3, (double)m->queue_wait_ns / 1e3,
            (double)m->wait_ns / 1e3, (double)m->graph_launch_ns / 1e3,
            (double)m->queue_graph_ns / 1e3, (double)m->graph_edge_ns / 1e3,
            (double)m->graph_wait_ns / 1e3, m->add_takes_percent);
}

static void print_row(const struct fit_row *row, FILE *file)
{
    fprintf(file, "  %-20s %-6s %14.2f %14.2f", row->what, row->engine, row->predicted_us,
            row->measured_us);
    if (row->measured_us > 0)
        fprintf(file, " %+9.1f", 100 * (row->predicted_us / row->measured_us - 1));
    else
        fprintf(file, " %9s", "n/a");
    fprintf(file, " %14.2f\n", row->median_us);
}

enum status fit_add_row(struct fit_report *report, const struct fit_row *row, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(make_room((void **)&report->rows, report->n_rows + 1, &report->capacity,
                  sizeof *report->rows, "rows", err));
    report->rows[report->n_rows++] = *row;
    print_row(row, stdout);
    TRY(output_flush(err));
out:
    return status;
}

void fit_report_free(struct fit_report *report)
{
    free(report->names);
    free(report->rows);
    memset(report, 0, sizeof *report);
}

/* ---- JSON ---- */

struct ending { /* what the file tells of */
    const struct fit_report *report;
    const char *ended; /* why it ended early, or "" */
};

static void print_json(const void *of, FILE *file)
{
    const struct ending *ending = of;
    const struct fit_report *r = ending->report;
    bench_json_begin(r->s, r->s->n_ranks, r->names, file);
    fprintf(file, ",\"calls\":%d,\"link\":", r->s->bench.calls);
    link_file_json(&r->model, file);
    if (ending->ended[0])
        json_named(file, "ended_early", ending->ended);
    fprintf(file, ",\"rows\":[");
    for (int64_t i = 0; i < r->n_rows; i++) {
        const struct fit_row *row = &r->rows[i];
        fprintf(file, "%s\n{\"what\":\"%s\",\"engine\":\"%s\"", i ? "," : "",
                row->bytes ? "ring" : "overlap", row->engine);
        if (row->bytes)
            fprintf(file, ",\"size_bytes\":%" PRId64, row->bytes);
        json_number(file, "predicted_us", row->predicted_us);
        json_number(file, "measured_us", row->measured_us);
        json_number(file, "median_us", row->median_us);
        if (row->measured_us > 0)
            json_number(file, "error", row->predicted_us / row->measured_us - 1);
        fputc('}', file);
    }
    fprintf(file, "\n]}\n");
}

enum status fit_finish(const struct fit_report *report, enum status status, struct error *err)
{
    struct error why = {""};
    const struct ending ending = {report, status == STATUS_OK ? "" : err->text};
    if (report->fitted && status != STATUS_OK)
        printf("# ended early: %s\n", err->text);
    if (report->fitted &&
        bench_json_write(report->s->bench.json, print_json, &ending, &why) != STATUS_OK &&
        status == STATUS_OK)
        return fail(err, STATUS_MACHINE, "%s", why.text);
    return status;
}

/* ---- rings ---- */

/* One size on both: the same plans, by each engine that both have. */
static enum status compare_size(struct bench *measured, struct bench *predicted, int64_t bytes,
                                struct fit_report *report)
{
    enum status status = STATUS_OK;
    const int64_t count = bytes / (int64_t)dtype_size(measured->s->dtype);
    char size[FORMAT_SIZE];
    for (int engine = BENCH_EAGER; engine <= BENCH_GRAPH; engine++) {
        for (int i = BENCH_EAGER; i <= BENCH_GRAPH; i++)
            measured->on[i] = predicted->on[i] = i == engine; /* no contest: each by itself */
        TRY(bench_size(measured, count));
        TRY(bench_size(predicted, count));
        const struct bench_row *m = &measured->rows[measured->n_rows - 1];
        struct fit_row row = {.bytes = m->bytes, .engine = bench_engine_name(m->engine),
                              .predicted_us = predicted->rows[predicted->n_rows - 1].median_us,
                              .measured_us = m->min_us, .median_us = m->median_us};
        snprintf(row.what, sizeof row.what, "ring %s", format_bytes(m->bytes, size));
        TRY(fit_add_row(report, &row, measured->err));
    }
out:
    return status;
}

static enum status compare_rings(struct settings *s, struct fit_report *report, struct error *err)
{
    enum status status = STATUS_OK;
    struct settings simulated = *s;
    struct bench measured = {.s = s, .out = stdout, .err = err};
    struct bench predicted = {.s = &simulated, .out = stdout, .err = err, .simulated = 1};
    const struct bench_options *o = &s->bench;
    simulated.backend = BACKEND_HOST;
    simulated.model = report->model;
    measured.moving = 1;
    TRY(bench_open_devices(&measured));
    report->names = measured.names;
    measured.names = NULL;
    report->fitted = 1;
    print_head(s, &report->model, stdout);
    TRY(output_flush(err));
    for (int64_t bytes = o->min_bytes; bytes <= o->max_bytes; bytes = bench_next_size(o, bytes))
        TRY(compare_size(&measured, &predicted, bytes, report));
out:
    if (measured.device)
        measured.device->verbs->close(measured.device);
    free(measured.names);
    free(measured.rows);
    free(predicted.rows);
    return status;
}

/* Of ranks that share a device neither link nor engine can be told apart. */
static enum status check_ranks(const struct settings *s, struct error *err)
{
    if (s->n_ranks < 2)
        return fail(err, STATUS_MACHINE, "--fit: one rank copies to nobody; two GPUs or more are "
                    "wanted");
    for (int rank = 0; rank < s->n_ranks; rank++)
        for (int other = 0; other < rank; other++)
            if (s->device_of[rank] == s->device_of[other])
                return fail(err, STATUS_USAGE, "--fit: ranks %d and %d share device %d; a device "
                            "for each rank is wanted", other, rank, s->device_of[rank]);
    return STATUS_OK;
}

enum status fit_rings(struct settings *s, struct fit_report *report, struct error *err)
{
    enum status status = STATUS_OK;
    *report = (struct fit_report){.s = s};
    s->bench.pieces = s->pieces;
    s->bench.check = 0; /* bench does that */
    TRY(settings_settle(s, NULL, err));
    TRY(bench_settle_sizes(s, err));
    TRY(check_ranks(s, err));
    TRY(bench_check_calls(s, err));
    TRY(output_check(s->bench.fit, err));
    TRY(output_check(s->bench.json, err));
    interrupt_catch();
    TRY(fit_measure(s, &report->model, err));
    link_file_name(&report->model, s->bench.fit);
    TRY(fit_write(s, &report->model, err));
    interrupt_catch(); /* again: a file that is whole lets signals go */
    TRY(compare_rings(s, report, err));
out:
    return status;
}
