/* bench_table.c - the rows as nccl-tests prints them, and as JSON.
 *
 * Everything but a row begins with '#', so that scripts written for nccl-tests find size, count,
 * type, redop, root, four columns out of place (which is not done: N/A) and four in place. What
 * those do not know follows: engine, fastest and slowest sample, NCCL's time over this one, memory.
 */
#include <inttypes.h>
#include <stdarg.h>

#include "common/format.h"
#include "common/json.h"
#include "ring/auto.h"
#include "ring/bench_parts.h"
#include "ring/plan.h"

static const char *type_name(const struct bench *b)
{
    static const char *const names[N_DTYPES] = {
        [DTYPE_FLOAT32] = "float", [DTYPE_FLOAT64] = "double", [DTYPE_FLOAT16] = "half",
        [DTYPE_BFLOAT16] = "bfloat16", [DTYPE_INT32] = "int32",
    };
    return names[b->s->dtype];
}

static int is_shared(const struct bench *b) { return b->n_devices < b->s->n_ranks; }

/* A line that begins with '#'. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void note(const struct bench *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(b->out, "# ");
    vfprintf(b->out, format, arguments);
    fputc('\n', b->out);
    va_end(arguments);
}

/* ---- head ---- */

static void print_devices(const struct bench *b)
{
    int n = b->s->n_ranks < 16 ? b->s->n_ranks : 16;
    for (int rank = 0; rank < n && !b->simulated; rank++)
        note(b, "rank %d: device %d, %s", rank, b->s->device_of[rank], b->names[rank]);
    if (n < b->s->n_ranks && !b->simulated)
        note(b, "... and %d ranks more", b->s->n_ranks - n);
    if (is_shared(b))
        note(b, "note: %d ranks share %d %sGPU%s; rows are marked, and say nothing of %d GPUs",
             b->s->n_ranks, b->n_devices, b->simulated ? "simulated " : "",
             b->n_devices == 1 ? "" : "s", b->s->n_ranks);
}

static void print_engines(const struct bench *b)
{
    fprintf(b->out, "# engines:");
    for (int i = 0; i < N_BENCH_ENGINES; i++)
        if (b->on[i])
            fprintf(b->out, " %s", bench_engine_name((enum bench_engine)i));
    fprintf(b->out, b->nccl ? " (NCCL %s)\n" : "\n", b->nccl ? b->nccl->version : "");
    for (int i = 0; i < N_BENCH_ENGINES; i++)
        if (b->why[i][0])
            note(b, "left out: %s: %s", bench_engine_name((enum bench_engine)i), b->why[i]);
}

static void print_queueing(const struct bench *b)
{
    const char *before = "# queueing:";
    for (int i = 0; i < N_BENCH_ENGINES; i++)
        if (b->queueing[i].measured) {
            fprintf(b->out, "%s %s %.3f us per op", before,
                    bench_engine_name((enum bench_engine)i), b->queueing[i].us_per_op);
            before = ",";
        }
    if (before[0] == ',')
        fprintf(b->out, b->simulated ? " (the model's)\n" : "\n");
}

static void print_settings(const struct bench *b)
{
    const struct bench_options *o = &b->s->bench;
    const int n = b->s->n_ranks;
    char size[FORMAT_SIZE], graph[FORMAT_SIZE];
    note(b, "%d all-reduce%s a sample, back to back; time is the median sample's, of one "
         "all-reduce", o->calls, o->calls == 1 ? "" : "s");
    if (o->pieces > 0)
        note(b, "%d pieces a segment, %d slots", o->pieces, b->s->slots);
    else
        note(b, "2 pieces where a segment has %s or more (graph: %s), else 1; %d slots",
             format_bytes(auto_two_pieces_from(n, ENGINE_EAGER), size),
             format_bytes(auto_two_pieces_from(n, ENGINE_GRAPH), graph), b->s->slots);
    if (n > 1)
        note(b, "peer copies of %s, all ranks at once: %.2f GB/s each",
             format_bytes(b->copy_bytes, size), b->copy_GBps);
    else
        note(b, "busbw is n/a: a single rank sends nothing, 2(N-1)/N = 0; times are what queueing "
             "costs");
}

void bench_print_head(const struct bench *b)
{
    if (b->simulated)
        note(b, "times are MODELLED: no GPU took part, %d simulated GPU%s; link %s: %.4g us + "
             "bytes / %.6g GB/s", b->n_devices, b->n_devices == 1 ? "" : "s", b->s->model.name,
             (double)b->s->model.link_latency_ns / 1000, b->s->model.link_GBps);
    note(b, "ring_demo bench: all-reduce, in place, on %d rank%s", b->s->n_ranks,
         b->s->n_ranks == 1 ? "" : "s");
    print_devices(b);
    print_engines(b);
    print_settings(b);
    print_queueing(b);
    fprintf(b->out, "#\n"
           "#    size       count    type  redop  root  out-of-place         time    algbw    busbw"
           "  #wrong  engine       min       p99  nccl/t      memory\n"
           "#     (B)  (elements)                       (not done)           (us)   (GB/s)   (GB/s)"
           "                      (us)      (us)             (B/rank)\n");
}

/* ---- rows ---- */

/* The definitions of nccl-tests, doc/PERFORMANCE.md; GB = 1e9 bytes. */
void bench_fill_rates(const struct bench *b, struct bench_row *row, double nccl_us)
{
    const int n = b->s->n_ranks;
    row->algbw = row->median_us > 0 ? (double)row->bytes / row->median_us / 1e3 : 0;
    row->busbw = row->algbw * ring_steps(n) / n;
    row->above_copies = n > 1 && row->busbw > b->copy_GBps;
    row->ratio = row->median_us > 0 ? nccl_us / row->median_us : 0;
}

/* A number in so many columns, or "n/a". */
static void print_rate(const struct bench *b, double value, int width, int is_there)
{
    if (is_there)
        fprintf(b->out, " %*.2f", width, value);
    else
        fprintf(b->out, " %*s", width, "n/a");
}

static void print_wrong(const struct bench *b, int64_t n_wrong)
{
    if (n_wrong >= 0)
        fprintf(b->out, " %7" PRId64, n_wrong);
    else
        fprintf(b->out, " %7s", n_wrong == BENCH_UNCHECKED ? "N/A" : "rounds");
}

void bench_print_row(const struct bench *b, const struct bench_row *row)
{
    fprintf(b->out, "%9" PRId64 " %11" PRId64 " %7s %6s %5d   N/A N/A N/A N/A %10.2f", row->bytes,
           row->count, type_name(b), redop_name(b->s->redop), -1, row->median_us);
    print_rate(b, row->algbw, 8, row->algbw > 0);
    print_rate(b, row->busbw, 8, row->busbw > 0);
    print_wrong(b, row->n_wrong);
    fprintf(b->out, "  %-6s %9.2f %9.2f", bench_engine_name(row->engine), row->min_us, row->p99_us);
    print_rate(b, row->ratio, 7, row->ratio > 0);
    fprintf(b->out, " %11" PRId64, row->memory_bytes);
    if (row->how[0])
        fprintf(b->out, row->engine == BENCH_NCCL ? "  %s buffers" : "  %s", row->how);
    if (is_shared(b))
        fprintf(b->out, "  shared");
    if (row->above_copies)
        fprintf(b->out, row->engine == BENCH_NCCL ? "  above copies" : "  IMPOSSIBLE");
    fprintf(b->out, "\n");
}

static int64_t total_wrong(const struct bench *b)
{
    int64_t n = 0;
    for (int64_t i = 0; i < b->n_rows; i++)
        n += b->rows[i].n_wrong > 0 ? b->rows[i].n_wrong : 0;
    return n;
}

static void print_above(const struct bench *b)
{
    int own = 0, theirs = 0;
    for (int64_t i = 0; i < b->n_rows; i++) {
        own |= b->rows[i].above_copies && b->rows[i].engine != BENCH_NCCL;
        theirs |= b->rows[i].above_copies && b->rows[i].engine == BENCH_NCCL;
    }
    if (own)
        note(b, "IMPOSSIBLE: a busbw above the %.2f GB/s of peer copies; a ring cannot carry that, "
             "something was not measured right", b->copy_GBps);
    if (theirs)
        note(b, "above copies: a busbw above the %.2f GB/s of peer copies; a ring cannot carry "
             "that, adding within the switch can", b->copy_GBps);
}

void bench_print_end(const struct bench *b)
{
    int rounds = 0;
    if (b->s->bench.check)
        note(b, "wrong elements: %" PRId64 "%s", total_wrong(b),
             b->n_rows ? "" : ", of none compared");
    else
        note(b, "wrong elements: not looked for (-c 0)");
    for (int64_t i = 0; i < b->n_rows; i++)
        rounds |= b->rows[i].n_wrong == BENCH_ROUNDS;
    if (rounds)
        note(b, "rounds: averages of %d ranks are rounded, in an order that NCCL keeps to itself; "
             "they were not compared", b->s->n_ranks);
    print_above(b);
    if (b->ended[0])
        note(b, "ended early: %s", b->ended);
}

/* ---- JSON ---- */

static void print_json_row(const struct bench *b, const struct bench_row *row, FILE *file)
{
    fprintf(file, "{\"engine\":\"%s\"", bench_engine_name(row->engine));
    if (row->how[0])
        json_named(file, row->engine == BENCH_NCCL     ? "buffers"
                         : row->engine == BENCH_KERNEL ? "protocol"
                                                       : "taken", row->how);
    fprintf(file, ",\"size_bytes\":%" PRId64 ",\"count\":%" PRId64, row->bytes, row->count);
    json_named(file, "dtype", dtype_name(b->s->dtype));
    json_named(file, "redop", redop_name(b->s->redop));
    json_number(file, "time_us", row->median_us);
    json_number(file, "min_us", row->min_us);
    json_number(file, "p99_us", row->p99_us);
    if (row->algbw > 0)
        json_number(file, "algbw_GBps", row->algbw);
    if (row->busbw > 0)
        json_number(file, "busbw_GBps", row->busbw);
    if (row->n_wrong >= 0)
        fprintf(file, ",\"n_wrong\":%" PRId64, row->n_wrong);
    if (row->ratio > 0)
        json_number(file, "nccl_time_over_time", row->ratio);
    fprintf(file, ",\"memory_bytes\":%" PRId64, row->memory_bytes);
    if (row->engine != BENCH_NCCL)
        fprintf(file, ",\"pieces\":%d,\"slots\":%d", row->pieces, row->slots);
    fprintf(file, ",\"above_copies\":%s}", row->above_copies ? "true" : "false");
}

static void print_json_queueing(const struct bench *b, FILE *file)
{
    char number[FORMAT_SIZE];
    int n = 0;
    for (int i = 0; i < N_BENCH_ENGINES; i++)
        if (b->queueing[i].measured)
            fprintf(file, "%s\"%s\":%s", n++ ? "," : ",\"queueing_us_per_op\":{",
                    bench_engine_name((enum bench_engine)i),
                    format_json_number(b->queueing[i].us_per_op, number));
    if (n > 0)
        fputc('}', file);
}

void bench_json_begin(const struct settings *s, int n_devices, char (*names)[96], FILE *file)
{
    const int modelled = s->backend == BACKEND_HOST;
    fprintf(file, "{\"tool\":\"ring_demo\",\"schema\":1");
    json_named(file, "backend", modelled ? "host" : "cuda");
    fprintf(file, ",\"modelled\":%s,\"shared\":%s,\"ranks\":%d,\"devices\":[",
            modelled ? "true" : "false", n_devices < s->n_ranks ? "true" : "false", s->n_ranks);
    for (int rank = 0; rank < s->n_ranks; rank++) {
        fprintf(file, "%s{\"rank\":%d,\"device\":%d", rank ? "," : "", rank, s->device_of[rank]);
        json_named(file, "name", names[rank]);
        fputc('}', file);
    }
    fputc(']', file);
}

void bench_print_json(const struct bench *b, FILE *file)
{
    const struct settings *s = b->s;
    bench_json_begin(s, b->n_devices, b->names, file);
    fprintf(file, ",\"calls\":%d", s->bench.calls);
    if (b->nccl)
        json_named(file, "nccl", b->nccl->version);
    if (s->n_ranks > 1) {
        json_number(file, "copy_GBps", b->copy_GBps);
        fprintf(file, ",\"copy_bytes\":%" PRId64, b->copy_bytes);
    }
    print_json_queueing(b, file);
    if (b->ended[0])
        json_named(file, "ended_early", b->ended);
    fprintf(file, ",\"n_wrong\":%" PRId64 ",\"rows\":[", total_wrong(b));
    for (int64_t i = 0; i < b->n_rows; i++) {
        fputs(i ? ",\n" : "\n", file);
        print_json_row(b, &b->rows[i], file);
    }
    fprintf(file, "\n]}\n");
}
