/* compare_table.c - the rows of bench --overlap, for people and as JSON. */
#include <inttypes.h>

#include "common/format.h"
#include "common/json.h"
#include "overlap/compare_parts.h"
#include "ring/sampled.h"

void compare_print_head(const struct compare *c)
{
    const struct step *p = &c->step;
    const struct settings *s = p->s;
    char bytes[FORMAT_SIZE];
    printf("# ring_demo bench --overlap: %s, %d bucket%s, %s of %s, %s, on %d rank%s\n",
           p->model.name, p->buckets.n, p->buckets.n == 1 ? "" : "s",
           format_bytes(p->model.count * (int64_t)dtype_size(s->dtype), bytes),
           dtype_name(s->dtype), redop_name(s->redop), s->n_ranks, s->n_ranks == 1 ? "" : "s");
    if (s->backend == BACKEND_HOST)
        printf("# times are MODELLED: simulated GPUs, link %s, and no data moves\n",
               s->model.name);
    else if (p->notice[0])
        printf("# note: %s\n", p->notice);
    for (int rank = 0; rank < s->n_ranks && s->backend == BACKEND_CUDA; rank++)
        printf("# rank %d: device %d, %s\n", rank, s->device_of[rank],
               c->holder->facts.names[rank]);
    if (p->calls)
        printf("# NCCL %s\n", p->calls->nccl->version);
    for (int i = 0; i < N_BENCH_ENGINES; i++)
        if (c->why[i][0])
            printf("# left out: %s: %s\n", bench_engine_name((enum bench_engine)i), c->why[i]);
    printf("# ring: %d piece%s a segment, %d slot%s\n", s->pieces, s->pieces == 1 ? "" : "s",
           s->slots, s->slots == 1 ? "" : "s");
    if (s->backend == BACKEND_CUDA)
        printf("# iterations: by the host's clock, medians of %d turns of %d runs; what is alone: "
               "by events, %d runs\n", c->n_rounds, SAMPLED_RUNS, STEP_RUNS);
    printf("# in us. /nccl: NCCL's iteration over this one. ideal: no schedule of these buckets "
           "takes less\n#\n"
           "#              backward  compute    communication alone                 iteration\n"
           "# bound by        asked    alone    eager    graph   kernel     nccl     eager  /nccl"
           "    graph  /nccl   kernel  /nccl     nccl    ideal\n");
}

static void print_time(int is_there, double us)
{
    if (is_there)
        printf(" %8.1f", us);
    else
        printf(" %8s", "n/a");
}

double compare_iteration(const struct compare *c, const struct compare_row *row, int engine)
{
    return row->rounds[engine][c->n_rounds / 2];
}

/* NCCL's iteration over this one; 0: there is none. */
static double ratio(const struct compare *c, const struct compare_row *row, int engine)
{
    return c->on[engine] && c->on[BENCH_NCCL] && engine != BENCH_NCCL
               ? compare_iteration(c, row, BENCH_NCCL) / compare_iteration(c, row, engine)
               : 0;
}

void compare_print_row(const struct compare *c, const struct compare_row *row)
{
    printf("%-14s", row->bound);
    print_time(1, row->backward);
    print_time(1, row->compute);
    for (int i = 0; i < N_BENCH_ENGINES; i++)
        if (i != BENCH_AUTO)
            print_time(c->on[i], row->communication[i]);
    printf(" ");
    for (int i = 0; i < N_BENCH_ENGINES; i++) {
        if (i == BENCH_AUTO) /* is eager */
            continue;
        print_time(c->on[i], compare_iteration(c, row, i));
        if (i == BENCH_NCCL)
            continue;
        if (ratio(c, row, i) > 0)
            printf(" %6.2f", ratio(c, row, i));
        else
            printf(" %6s", "n/a");
    }
    print_time(1, row->ideal);
    printf("\n");
}

void compare_print_end(const struct compare *c)
{
    const struct settings *s = c->step.s;
    if (s->backend == BACKEND_HOST)
        printf("# wrong elements: not looked for, no data moved\n");
    else if (!s->bench.check)
        printf("# wrong elements: not looked for (-c 0)\n");
    else
        printf("# wrong elements: %" PRId64 " of %" PRId64 " compared\n", c->n_wrong,
               c->n_compared);
    if (c->rounded)
        printf("# rounds: averages of %d ranks are rounded, in an order that NCCL keeps to itself; "
               "of NCCL it was only asked whether ranks agree\n", s->n_ranks);
    if (c->ended[0])
        printf("# ended early: %s\n", c->ended);
}

/* ---- JSON ---- */

static void print_json_row(const struct compare *c, const struct compare_row *row, FILE *file)
{
    fprintf(file, "{\"bound\":");
    json_string(file, c->step.s->backend == BACKEND_HOST ? "modelled" : row->bound);
    json_number(file, "backward_us", row->backward);
    json_number(file, "compute_us", row->compute);
    json_number(file, "ideal_us", row->ideal);
    fprintf(file, ",\"engines\":[");
    for (int i = 0, n = 0; i < N_BENCH_ENGINES; i++) {
        if (!c->on[i])
            continue;
        fprintf(file, "%s{\"engine\":\"%s\"", n++ ? "," : "",
                bench_engine_name((enum bench_engine)i));
        json_number(file, "communication_us", row->communication[i]);
        json_number(file, "iteration_us", compare_iteration(c, row, i));
        json_number(file, "min_us", row->rounds[i][0]);
        json_number(file, "max_us", row->rounds[i][c->n_rounds - 1]);
        if (ratio(c, row, i) > 0)
            json_number(file, "nccl_time_over_time", ratio(c, row, i));
        fputc('}', file);
    }
    fprintf(file, "]}");
}

void compare_print_json(const struct compare *c, FILE *file)
{
    const struct step *p = &c->step;
    const struct settings *s = p->s;
    bench_json_begin(s, c->holder->facts.n_devices, c->holder->facts.names, file);
    json_named(file, "model", p->model.name);
    fprintf(file, ",\"buckets\":%d,\"bytes\":%" PRId64, p->buckets.n,
            p->model.count * (int64_t)dtype_size(s->dtype));
    json_named(file, "dtype", dtype_name(s->dtype));
    json_named(file, "redop", redop_name(s->redop));
    fprintf(file, ",\"pieces\":%d,\"slots\":%d,\"turns\":%d,\"runs\":%d", s->pieces, s->slots,
            c->n_rounds, s->backend == BACKEND_HOST ? 1 : SAMPLED_RUNS);
    if (p->calls)
        json_named(file, "nccl", p->calls->nccl->version);
    if (c->ended[0])
        json_named(file, "ended_early", c->ended);
    if (c->n_compared > 0)
        fprintf(file, ",\"n_wrong\":%" PRId64 ",\"n_compared\":%" PRId64, c->n_wrong,
                c->n_compared);
    fprintf(file, ",\"rows\":[");
    for (int i = 0; i < c->n_rows; i++) {
        fputs(i ? ",\n" : "\n", file);
        print_json_row(c, &c->rows[i], file);
    }
    fprintf(file, "\n]}\n");
}
