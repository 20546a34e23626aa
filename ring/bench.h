/* bench.h - `ring_demo bench`: how fast each engine is, in the form of nccl-tests.
 *
 *     sizes -> plans, proven -> samples of every engine by turns -> verified -> a row each
 *
 * A sample is so many all-reduces (-n) queued behind each other between two syncs. Engines take
 * turns, sample by sample, in one process, so that what disturbs one disturbs all. Behind the
 * samples every engine gets fresh data and does one all-reduce more, and each element is compared.
 *
 *   eager   the plan of -n all-reduces of the same data (ring.h, same_data), queued op by op
 *   graph   the graph of one all-reduce, launched -n times
 *   kernel  -n launches of the ring's kernel (kernel.h)
 *   auto    the one of these that auto.h names for the size
 *   nccl    -n grouped calls of ncclAllReduce; with plain buffers and with symmetric windows, of
 *           which the faster is shown (nccl.h)
 */
#ifndef RING_BENCH_H
#define RING_BENCH_H

#include <stdint.h>
#include <stdio.h>

#include "common/options.h"

/* Engines that bench knows, in the order of the rows. */
enum bench_engine {
    BENCH_EAGER, BENCH_GRAPH, BENCH_KERNEL, BENCH_AUTO, BENCH_NCCL, N_BENCH_ENGINES
};

const char *bench_engine_name(enum bench_engine engine); /* "eager" */

struct bench_options {
    int64_t min_bytes, max_bytes;             /* 0: not given, until settled */
    int64_t step_bytes;                       /* 0: by factor */
    int factor;                               /* 1: one size alone */
    int calls;                                /* of a sample; 0: not given, until settled */
    int warmups;                              /* before the first one */
    int check;
    int overlap;                              /* overlap/compare.h instead of the table of sizes */
    int pieces;                               /* 0: by size */
    int engines_given, engines[N_BENCH_ENGINES]; /* which were named */
    const char *json;                         /* a file's name, or NULL */
    const char *fit;                          /* likewise: see fit.h */
};

/* Which engines take part: all, or those that were asked for. One that is not to be had is off, and
 * why_not says why; one that was asked for and is not is an error. `possible` is asked for each,
 * and may open what the engine needs. */
#define BENCH_WHY_SIZE 320
enum status bench_choose(const struct bench_options *options,
                         enum status (*possible)(void *context, enum bench_engine engine,
                                                 struct error *why),
                         void *context, int on[N_BENCH_ENGINES],
                         char why_not[N_BENCH_ENGINES][BENCH_WHY_SIZE], struct error *err);
enum status bench_no_graph(struct error *why); /* what to say where a link is staged */

/* Also what is taken where an option is left out. */
extern const struct bench_options bench_defaults;

/* The options that only bench has; they are set in struct settings (settings.h). */
#define N_BENCH_ROWS 12
extern const struct option_row bench_rows[N_BENCH_ROWS];

struct settings;

/* Files of --json: those of the table of sizes, of --overlap and of --fit begin alike. `begin`
 * prints the opening brace and the members tool, schema, backend, modelled, shared, ranks and
 * devices (names: [n_ranks], of n_devices different ones); `write` makes the file whole or not at
 * all, of what print(of, file) prints, also behind a Ctrl-C. No path: it does nothing. */
void bench_json_begin(const struct settings *settings, int n_devices, char (*names)[96],
                      FILE *file);
enum status bench_json_write(const char *path, void (*print)(const void *of, FILE *file),
                             const void *of, struct error *err);

/* STATUS_WRONG: some element is wrong. What had been measured before an error or a Ctrl-C is shown,
 * and written to --json, all the same. */
enum status bench(struct settings *settings, struct error *err);

#endif
