/* link_file.h - a device_model (device.h) as text: what `bench --fit` writes and `--link` reads.
 *
 *     link 1                        first, but for comments: the version
 *     copy_latency 2400 ns          one line for each number: name, value, unit
 *     copy_rate 392 GB/s
 *     ...
 *
 * '#' begins a comment. Every name of the table is there once, in any order; nothing else is.
 * (queue_graph, graph_wait and add_takes came later: a file without one means 0.) Times are whole
 * nanoseconds, rates GB/s = 1e9 bytes per second, shares whole percents.
 */
#ifndef COMMON_LINK_FILE_H
#define COMMON_LINK_FILE_H

#include <stdio.h>

#include "common/device.h"

#define LINK_FILE_VERSION 1
#define LINK_MAX_NS 1000000000 /* of any of the times; rates are from 1e-6 to 1e6 GB/s */
#define LINK_MAX_PERCENT 10000

/* Whether --link's argument means a file: it has a dot or a slash and is no GBps:us, or is one. */
int link_file_is_meant(const char *text);

/* The model of a file; its name is the file's. STATUS_USAGE: cannot be read, names the line. */
enum status link_file_read(struct device_model *model, const char *path, struct error *err);

/* The numbers, in the order of the table, to a file or for people; comments are the caller's. */
void link_file_write(const struct device_model *model, FILE *file);

/* The same as a JSON object, with units in the names: {"copy_latency_ns":2400, ..} */
void link_file_json(const struct device_model *model, FILE *file);

/* As it is in such a file: rates have four digits. */
void link_file_round(struct device_model *model);

/* Puts the file's name into model->name. */
void link_file_name(struct device_model *model, const char *path);

#endif
