/* step_parts.h - what step.c (the command), explain.c (its buckets), report.c (its words),
 * listing.c (its ops), sweep.c (its table of caps) and quiz.c (questions about its buckets) share;
 * nobody else includes it. */
#ifndef OVERLAP_STEP_PARTS_H
#define OVERLAP_STEP_PARTS_H

#include <stdio.h>
#include <string.h>

#include "overlap/calls.h"
#include "overlap/figures.h"
#include "overlap/overlap.h"
#include "overlap/step.h"
#include "ring/holds.h"
#include "ring/show.h"

#define STEP_RUNS 5 /* on GPUs; the median counts */
#define STEP_MIB 1048576.0

struct iteration { /* one way to run it */
    struct story story;
    struct figures *figures; /* owned, [n_ranks] */
};

struct step {
    struct settings *s;
    struct model model;
    struct buckets buckets;
    enum bucket_rule rule;
    const struct tensor *never_ready; /* of the model, or NULL */
    int64_t *layer_ns;   /* owned, [n_layers] */
    int *bucket_of;      /* owned, [n_layers]: the last bucket that a layer's gradients go into */
    double *slowness;    /* owned, [n_ranks] */
    double backward_us;  /* of a rank that is not slow */
    struct calls *calls; /* owned; NULL: nothing is called */
    int automatic;       /* the engine was left to auto */
    int computes_wait;   /* some compute waits for communication */
    struct iteration overlapped, serial;
    char notice[256];    /* on simulated or shared GPUs */
    FILE *out;           /* where the report goes */
    struct error *err;
};

/* What the command line asks for, in this order: the model and its buckets; ranks, devices, data;
 * how long each layer takes (again after s->backward_us has changed). Free it, also half made. */
enum status step_open(struct step *step);
enum status step_settle(struct step *step);
enum status step_share_out(struct step *step);
void step_free(struct step *step);

/* Opens NCCL, for engine nccl: step->calls. STATUS_MACHINE: it cannot be had here. */
enum status step_open_calls(struct step *step, struct error *err);

/* A plan of calls is refuted by hazards alone; its sums are NCCL's. */
int step_refuted(const struct step *step, const struct proof *proof);
/* Does the engine of now give a result that can be compared, bit for bit? (calls.h) */
int step_exact(const struct step *step);

/* The model's buckets with this cap; in place of earlier ones. */
enum status step_pack(struct step *step, double cap_mib);

enum status step_plan(const struct step *step, struct plan *plan, int serial);

/* On `backend`; with times_only nothing is verified. */
enum status step_run(const struct step *step, struct iteration *it, int serial,
                     enum device_backend backend, int times_only);
void step_free_iteration(struct iteration *it);

/* How long the overlapped iteration takes, on the settings' backend: by the host's clock, from when
 * it begins to queue it until all is done, with no event timed (sampled.h). Nothing is verified. */
enum status step_time(const struct step *step, int moving, struct spread *spread);

/* Why every tensor is where it is. */
void step_explain(const struct step *step);

/* Both iterations in words and numbers; with `ops`, every op of the one shown, too. */
enum status step_report(const struct step *step, int ops);
enum status step_list(const struct step *step, const struct iteration *it);

/* What one line of that list needs. Close l->holds, also where opening failed. */
struct listing {
    const struct step *step;
    const struct iteration *it;
    struct holds holds;
    int name_width, time_width;
};
enum status listing_open(struct listing *listing, const struct step *step,
                         const struct iteration *it);
void listing_print(const struct listing *listing, int64_t id, FILE *file);

/* --quiz: three questions about every bucket. */
enum status step_quiz(const struct step *step, const struct iteration *it);

/* --sweep-cap: one line for each cap. */
enum status step_sweep(struct step *step);

/* "rank 1 computes 3 times as long"; "" where no rank is slow. Returns buffer. */
#define STEP_SLOW_SIZE 64
const char *step_slow(const struct step *step, char buffer[STEP_SLOW_SIZE]);

/* Behind the model's name in a heading: a blank, or a new line where the name is long. */
static inline const char *step_break(const struct step *step)
{
    return strlen(step->model.name) > 24 ? "\n  " : " ";
}

static inline double step_us(int64_t ns) { return (double)ns / 1000; }
static inline double step_mib(int64_t bytes) { return (double)bytes / STEP_MIB; }

#endif
