/* fit.h - `ring_demo bench --fit FILE.link`: the numbers of the modelled clock, from this machine.
 *
 *     fit_measure -> a model -> fit_write -> the file -> fit_rings: predicted beside measured
 *
 * A model (struct device_model of device.h) is fitted by plans whose time, were the model true,
 * would be a sum of its numbers. Two of them differ in one thing, mostly in how many ops there are;
 * the difference of their times is what that costs. They take turns, each turn on another processor
 * of the host, and of each the least time counts: the model is of an undisturbed host
 * (common/processors.h). No event is timed, since timed ones cost more and no engine has them but
 * in a trace. In this order, each by those before:
 *
 *   queue_record   rows of ops that have no element: the host queues nothing but their records
 *   queue_copy     rows of copies of one element, beyond their records
 *   queue_kernel   rows of adds of one element, likewise
 *   queue_wait     chains, in which each op waits for the one before, beyond the same ops in rows
 *   queue_graph    the same chains as one graph: how much longer a launch takes the host
 *   copy_, kernel_ and memory_   rows of copies, and of adds, of several sizes, on all ranks at
 *                  once, behind a compute that lasts until all is queued, so that the host's time
 *                  does not count. Latency and rate are the line of least squares of *relative*
 *                  errors
 *   wait_latency   chains, held back likewise, beyond what their ops take
 *   add_takes      computes in a row, an add beside each, beyond the same computes alone
 *   graph_edge     graphs of more computes in a row against fewer, beyond the time they are given
 *   graph_wait     graphs of longer chains against shorter ones, beyond what ops and edges take
 *   graph_launch   what is left of the shorter ones
 *
 * A chain is what a ring is made of: every rank copies to the next, which adds, and copies the sum
 * to the next, which copies it on; all ranks at once. Two of three waits are for an op of another
 * rank, and all of them for one of another lane. A graph is launched many times, and the difference
 * of two numbers of launches counts, so that the first one and the sync fall out. A graph that is
 * made anew has other times, so the mean of a few counts. The ops of a graph's chains are of 512
 * KiB and of 2 MiB, or larger where the host would else be slower than the devices: small copies
 * within a graph are made otherwise than large ones and begin sooner, so the mean of both counts.
 *
 * On simulated GPUs this fits the modelled clock itself and gives its numbers back.
 */
#ifndef RING_FIT_H
#define RING_FIT_H

#include "ring/settings.h"

/* The settings are settled, the ranks two or more, each on a device of its own. STATUS_MACHINE also
 * where the host is so slow that what the devices take cannot be seen. */
enum status fit_measure(const struct settings *settings, struct device_model *model,
                        struct error *err);

/* Latency and rate of y[i] = latency + x[i] / rate: both are 0 or more, and the sum of
 * ((y - fitted) / y)^2 is the least; a y below 100 divides as 100. STATUS_MACHINE: y does not grow
 * with x. */
enum status fit_line(const double *x, const double *y, int n, double *latency, double *rate,
                     struct error *err);

/* The file, whole or not at all; its comments name the machine, the versions and the date. */
enum status fit_write(const struct settings *settings, const struct device_model *model,
                      struct error *err);

/* What was predicted beside what was measured, of an undisturbed host: of a ring of so many bytes,
 * or, where bytes is 0, of the overlapped iteration. */
struct fit_row {
    char what[40]; /* "ring 1 KiB" */
    int64_t bytes;
    const char *engine;
    double predicted_us, measured_us; /* of all samples the least */
    double median_us;
};

struct fit_report {
    const struct settings *s;
    struct device_model model;
    int fitted;        /* the model is there, and written to its file */
    char (*names)[96]; /* owned, [n_ranks]: of the devices */
    struct fit_row *rows; /* owned */
    int64_t n_rows, capacity;
};
void fit_report_free(struct fit_report *report); /* also of a zeroed one */

/* Settles; measures; writes; prints the head and a row for each size and engine. */
enum status fit_rings(struct settings *settings, struct fit_report *report, struct error *err);

/* Prints the row, and keeps it. */
enum status fit_add_row(struct fit_report *report, const struct fit_row *row, struct error *err);

/* Where a model was fitted: the rows to --json, behind an error or a Ctrl-C, too, which `status`
 * and err tell of (STATUS_OK: all went well). Returns the status, or why there is no file. */
enum status fit_finish(const struct fit_report *report, enum status status, struct error *err);

#endif
