/* fit.h - `ring_demo bench --fit FILE.link`: the numbers of the modelled clock, from this machine.
 *
 *     fit_measure -> a model -> fit_write -> the file -> fit_rings: predicted beside measured
 *
 * A model (struct device_model of device.h) is fitted by plans that show one of its numbers each:
 *
 *   queueing      the host's time until rows of tiny ops are queued: copies; adds; adds with one
 *                 record more; adds that wait for each other
 *   copies, adds  rows of them, of several sizes, on all ranks at once, behind a compute that lasts
 *                 until all is queued: what an op more costs is the devices' time alone. Latency
 *                 and rate are the line that has the least squares of relative errors
 *   waits         a chain of tiny copies and adds, round the ranks, likewise: what an op more costs
 *                 beyond its own time
 *   graph         the same chain as a graph, launched several times: the same, and what is left for
 *                 the launch
 *
 * On simulated GPUs this fits the modelled clock itself and gives its numbers back.
 */
#ifndef RING_FIT_H
#define RING_FIT_H

#include "ring/settings.h"

/* The settings are settled, the ranks two or more, each on a device of its own. */
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

/* A line of the table: what, with which engine, and the error of what was predicted. */
void fit_print_head(const struct settings *settings, const struct device_model *model, FILE *file);
void fit_print_row(const char *what, const char *engine, double predicted_us, double measured_us,
                   FILE *file);

/* Settles; measures; writes; prints the head and a row for each size and engine. */
enum status fit_rings(struct settings *settings, struct device_model *model, struct error *err);

#endif
