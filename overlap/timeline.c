/* timeline.c - lanes drawn with characters. */
#include "overlap/timeline.h"

#include <string.h>

#define SLOTS 81      /* columns of time */
#define MOST_RANKS 8  /* drawn */

static char sign_of(const struct op *op, const int *bucket_of)
{
    int bucket = op->kind == OP_COMPUTE ? bucket_of[op->layer] : op->bucket;
    return op->kind == OP_UPDATE ? 'u' : bucket == NONE ? '?' : (char)('0' + bucket % 10);
}

/* One lane of one rank: in each slot the op that takes most of it. */
static void draw(const struct plan *plan, const struct timing *timing, int rank, enum lane lane,
                 const int *bucket_of, char *line)
{
    int64_t most[SLOTS] = {0};
    double slot = (double)timing->total_ns / SLOTS;
    memset(line, '.', SLOTS);
    line[SLOTS] = '\0';
    for (int64_t id = 0; id < plan->n_ops && slot > 0; id++) {
        const struct op *op = &plan->ops[id];
        if (op->rank != rank || op->lane != lane)
            continue;
        int first = (int)((double)timing->begin_ns[id] / slot);
        for (int i = first; i < SLOTS && (double)i * slot < (double)timing->end_ns[id]; i++) {
            double begin = (double)i * slot, end = begin + slot;
            double from = (double)timing->begin_ns[id], to = (double)timing->end_ns[id];
            int64_t share = (int64_t)((to < end ? to : end) - (from > begin ? from : begin));
            if (share > most[i]) {
                most[i] = share;
                line[i] = sign_of(op, bucket_of);
            }
        }
    }
}

void timeline_print(const struct plan *plan, const struct timing *timing, const int *bucket_of,
                    const char *unit, FILE *file)
{
    char line[SLOTS + 1];
    int shown = plan->n_ranks <= MOST_RANKS ? plan->n_ranks : MOST_RANKS;
    fprintf(file, "%-19s0%*.1f %s\n", "", SLOTS - 2 - (int)strlen(unit),
            (double)timing->total_ns / 1000, unit);
    for (int rank = 0; rank < shown; rank++)
        for (int lane = 0; lane < N_LANES; lane++) {
            char label[32] = "";
            if (lane == 0)
                snprintf(label, sizeof label, "rank %d", rank);
            draw(plan, timing, rank, (enum lane)lane, bucket_of, line);
            fprintf(file, "  %-8s %-8s%s\n", label, lane_name((enum lane)lane), line);
        }
    if (shown < plan->n_ranks)
        fprintf(file, "  ... and %d more ranks\n", plan->n_ranks - shown);
}
