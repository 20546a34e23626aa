/* bench.c - which engines, which sizes; and what becomes of the rows. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"
#include "common/output.h"
#include "ring/bench_parts.h"

const char *bench_engine_name(enum bench_engine engine)
{
    static const char *const names[N_BENCH_ENGINES] = {
        [BENCH_EAGER] = "eager", [BENCH_GRAPH] = "graph", [BENCH_KERNEL] = "kernel",
        [BENCH_AUTO] = "auto", [BENCH_NCCL] = "nccl",
    };
    return names[engine];
}

/* ---- engines ---- */

enum status bench_no_graph(struct error *why)
{
    return fail(why, STATUS_MACHINE, "some GPUs have no peer access to the next one, and a graph "
                "cannot stage copies through the host");
}

static enum status possible(void *context, enum bench_engine engine, struct error *why)
{
    struct bench *b = context;
    const int host = b->s->backend == BACKEND_HOST;
    switch (engine) {
    case BENCH_EAGER: return STATUS_OK;
    case BENCH_GRAPH: return b->staged ? bench_no_graph(why) : STATUS_OK;
    case BENCH_KERNEL: return bench_try_kernel(b, why);
    case BENCH_AUTO:
        b->kernel = b->on[BENCH_KERNEL] || bench_try_kernel(b, NULL) == STATUS_OK;
        return host && !b->s->bench.engines_given
                   ? fail(why, STATUS_MACHINE, "on simulated GPUs it is always eager")
                   : STATUS_OK;
    default:
        return host ? fail(why, STATUS_MACHINE, "NCCL runs on GPUs, and these are simulated")
                    : nccl_open(&b->nccl, b->s->n_ranks, b->s->device_of, b->s->timeout_s, why);
    }
}

enum status bench_choose(const struct bench_options *o,
                         enum status (*possible)(void *context, enum bench_engine engine,
                                                 struct error *why),
                         void *context, int on[N_BENCH_ENGINES],
                         char why_not[N_BENCH_ENGINES][BENCH_WHY_SIZE], struct error *err)
{
    for (int i = 0; i < N_BENCH_ENGINES; i++) {
        struct error why = {""};
        on[i] = !o->engines_given || o->engines[i];
        if (!on[i])
            continue;
        enum status status = possible(context, (enum bench_engine)i, &why);
        if (status == STATUS_OK)
            continue;
        on[i] = 0;
        snprintf(why_not[i], BENCH_WHY_SIZE, "%.*s", BENCH_WHY_SIZE - 1, why.text);
        if (o->engines_given)
            return fail(err, status, "--engine %s: %s", bench_engine_name((enum bench_engine)i),
                        why.text);
    }
    return STATUS_OK;
}

/* ---- sizes ---- */

enum status bench_settle_sizes(struct settings *s, struct error *err)
{
    struct bench_options *o = &s->bench;
    const int64_t element = (int64_t)dtype_size(s->dtype);
    const int64_t least = 1024, most = o->fit ? (int64_t)1 << 30 : (int64_t)64 << 20;
    if (!o->min_bytes)
        o->min_bytes = o->max_bytes && o->max_bytes < least ? o->max_bytes : least;
    if (!o->max_bytes)
        o->max_bytes = o->min_bytes > most ? o->min_bytes : most;
    if (!o->calls)
        o->calls = o->fit ? 100 : 20;
    if (o->min_bytes > o->max_bytes)
        return fail(err, STATUS_USAGE, "-b %" PRId64 " -e %" PRId64 ": the smallest size is "
                    "larger than the largest", o->min_bytes, o->max_bytes);
    const int steps = o->min_bytes >= element;
    if (!steps || (o->step_bytes > 0 && o->step_bytes < element))
        return fail(err, STATUS_USAGE, "-%c %" PRId64 ": one %s takes %" PRId64 " bytes",
                    steps ? 'i' : 'b', steps ? o->step_bytes : o->min_bytes,
                    dtype_name(s->dtype), element);
    if (o->step_bytes == 0 && o->factor == 1 && o->min_bytes < o->max_bytes)
        return fail(err, STATUS_USAGE, "-f 1: sizes never come from %" PRId64 " to %" PRId64
                    " bytes; take a factor of 2 or more, or -i", o->min_bytes, o->max_bytes);
    return STATUS_OK;
}

int64_t bench_next_size(const struct bench_options *o, int64_t bytes)
{
    if (o->step_bytes > 0)
        return bytes > INT64_MAX - o->step_bytes ? INT64_MAX : bytes + o->step_bytes;
    return o->factor == 1 || bytes > INT64_MAX / o->factor ? INT64_MAX : bytes * o->factor;
}

static enum status measure_sizes(struct bench *b)
{
    enum status status = STATUS_OK;
    const struct bench_options *o = &b->s->bench;
    TRY(output_flush(b->err));
    for (int64_t bytes = o->min_bytes; bytes <= o->max_bytes; bytes = bench_next_size(o, bytes)) {
        int64_t first = b->n_rows;
        TRY(bench_size(b, bytes / (int64_t)dtype_size(b->s->dtype)));
        for (int64_t i = first; i < b->n_rows; i++)
            bench_print_row(b, &b->rows[i]);
        TRY(output_flush(b->err));
    }
out:
    return status;
}

/* ---- the end ---- */

/* Also behind a Ctrl-C, so it does not ask for one. */
enum status bench_json_write(const char *path, void (*print)(const void *of, FILE *file),
                             const void *of, struct error *err)
{
    enum status status = STATUS_OK;
    struct output output = {.path = NULL};
    if (!path)
        return STATUS_OK;
    TRY(output_open(&output, path, err));
    print(of, output.file);
    TRY(output_commit(&output, err));
out:
    output_discard(&output);
    return status;
}

static void print_json(const void *of, FILE *file) { bench_print_json(of, file); }

enum status bench_judge(const struct bench *b)
{
    for (int64_t i = 0; i < b->n_rows; i++)
        if (b->rows[i].n_wrong > 0)
            return fail(b->err, STATUS_WRONG, "%" PRId64 " elements are wrong with engine %s at %"
                        PRId64 " bytes", b->rows[i].n_wrong, bench_engine_name(b->rows[i].engine),
                        b->rows[i].bytes);
    return STATUS_OK;
}

enum status bench(struct settings *s, struct error *err)
{
    enum status status = STATUS_OK;
    struct bench b = {.s = s, .out = stdout, .err = err};
    struct error json_err = {""};
    s->bench.pieces = s->pieces; /* settling puts 1 for 0 */
    TRY(settings_settle(s, NULL, err));
    TRY(bench_settle_sizes(s, err));
    TRY(output_check(s->bench.json, err));
    TRY(bench_open_devices(&b));
    TRY(bench_copies(&b));
    TRY(bench_choose(&s->bench, possible, &b, b.on, b.why, err));
    interrupt_catch();
    status = bench_queueing(&b);
    if (status != STATUS_OK && interrupt_seen(NULL) == STATUS_OK)
        goto out;
    bench_print_head(&b);
    if (status == STATUS_OK)
        status = measure_sizes(&b);
    if (status != STATUS_OK)
        snprintf(b.ended, sizeof b.ended, "%.255s", err->text);
    bench_print_end(&b);
    if (bench_json_write(s->bench.json, print_json, &b, &json_err) != STATUS_OK &&
        status == STATUS_OK)
        TRY(fail(err, STATUS_MACHINE, "%s", json_err.text));
    TRY(status);
    TRY(bench_judge(&b));
out:
    if (b.nccl)
        b.nccl->verbs->close(b.nccl);
    if (b.device)
        b.device->verbs->close(b.device);
    free(b.names);
    free(b.rows);
    return status;
}
