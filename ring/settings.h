/* settings.h - what the user asked for, and what that means on this machine.
 *
 * settings_read() takes the command line; settings_settle() fills in what was left open: backend,
 * number of ranks, their devices, count and type (from --input's files, where given). Nothing that
 * was asked for is changed: what cannot be is refused.
 */
#ifndef RING_SETTINGS_H
#define RING_SETTINGS_H

#include <stdio.h>

#include "common/device.h"
#include "common/init.h"
#include "ring/plan.h"

enum command { COMMAND_RING, COMMAND_PLAN, COMMAND_CHECK, COMMAND_DOCTOR, N_COMMANDS };

enum trace_kind { TRACE_NONE, TRACE_TEXT, TRACE_JSON };

struct settings {
    enum command command;
    int help, version;
    const char *file;             /* check: FILE or "-" */

    int n_ranks;                  /* 0: not given, until settled */
    const char *devices;          /* --devices, as text */
    enum device_backend backend;
    int backend_given;
    int64_t count;                /* -1: not given, until settled */
    enum dtype dtype;
    int dtype_given;
    enum redop redop;
    int pieces, slots, repeat;
    const char *init, *input, *output; /* texts; NULL: not given */
    enum trace_kind trace;
    const char *trace_file;
    int step, quiet;
    int color;                    /* 1 always, 0 never, -1 auto */
    int random;
    uint64_t seed;
    struct device_model model;
    int link_given;
    int timeout_s, peer_off;
    const char *cuda_only;        /* an option that was given and only cuda has, or NULL */

    int *device_of;               /* owned; settled */
    struct init data;             /* settled: init_free() */
    struct device_inventory inventory; /* settled: of the cuda backend */
};

enum status settings_read(struct settings *settings, int argc, char **argv, struct error *err);
enum status settings_settle(struct settings *settings, struct error *err);
void settings_free(struct settings *settings);

void settings_help(enum command command, FILE *file);

#endif
