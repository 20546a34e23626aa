/* show.h - says what a run has brought forth, where and how the user wants it said. */
#ifndef RING_SHOW_H
#define RING_SHOW_H

#include "ring/check.h"
#include "ring/outcome.h"
#include "common/device.h"
#include "ring/settings.h"

struct scene_training; /* trace.h */

/* All that one run of a plan brings forth. */
struct story {
    struct plan plan;
    struct proof proof;
    struct device *device;
    enum engine engine; /* that carried it out: what auto took, where auto was asked for */
    char why_engine[200]; /* of auto: why that one; else "" */
    struct timing timing;
    struct values values;
    struct verdict verdict;
    uint64_t second_hash;
    int two_passes;
    const struct scene_training *training; /* not owned; of overlap's runs, else NULL */
    int written; /* the result, to --output */
    uint64_t seed; /* of the random schedule that was run last */
};

/* One sentence on simulated or shared GPUs, or "". */
void show_notice(const struct settings *settings, const struct device_facts *facts, char *text,
                 size_t size);

/* How an engine carries a plan out, in words; `bytes` are those of a rank's part in a ring.
 * `two_passes`: the values shown are of another run. */
#define SHOW_ENGINE_SIZE 256
const char *show_engine(enum engine engine, int simulated, int two_passes, int64_t bytes,
                        int n_ranks, char text[SHOW_ENGINE_SIZE]);

void story_free(struct story *story); /* closes the device, too; also of a zeroed one */

/* The trace, where one was asked for, to its file or to standard output; the report where the trace
 * is not (but for a training's, which its caller reports). The devices are still open.
 * STATUS_USAGE, STATUS_MACHINE: a file could not be written. */
enum status show(const struct settings *settings, const struct story *story, struct error *err);

#endif
