/* museum.h - shows the exhibits of bugs.h, and tries whether what their labels claim is so.
 *
 * Every test that a label speaks of is carried out, on simulated GPUs; what is held back (see
 * run.h) and what is timed runs on the backend that is asked for. Nothing is told untried.
 */
#ifndef RING_MUSEUM_H
#define RING_MUSEUM_H

#include <stdio.h>

#include "common/device.h"
#include "ring/bugs.h"

struct museum {
    enum device_backend backend;
    int n_devices, peer_off;   /* cuda: visible GPUs; do without peer access */
    int runs;                  /* of each plan that is held back */
    struct device_model model; /* of simulated GPUs */
    FILE *file;
};

/* The catalogue as a table: a line for each exhibit, and who notices it. *as_labelled: every label
 * holds. */
enum status museum_list(const struct museum *museum, int *as_labelled, struct error *err);

/* One exhibit, in full. STATUS_MACHINE: it could not be shown here. */
enum status museum_show(const struct museum *museum, const struct bug *bug, int *as_labelled,
                        struct error *err);

/* For each wait of a ring of n ranks, with one slot: does anybody notice when it is left out? The
 * proof, and 1, 10 and 100 random schedules. *all_proven: the proof noticed every one. */
enum status museum_waits(const struct museum *museum, int n_ranks, int *all_proven,
                         struct error *err);

#endif
