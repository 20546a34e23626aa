/* sweep.c - the same iteration with several caps: as the model predicts, and on GPUs as measured
 * beside it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/quote.h"
#include "overlap/step_parts.h"

#define MOST_CAPS 64

static enum status read_caps(const struct step *p, double *caps, int *n)
{
    *n = 0;
    for (const char *at = p->s->sweep;; at++) {
        char *end;
        double cap = strtod(at, &end);
        if (end == at || !(cap >= 1e-6 && cap <= 1e6) || *n == MOST_CAPS ||
            (*end != ',' && *end != '\0'))
            return fail(p->err, STATUS_USAGE,
                        "--sweep-cap '%s': up to %d caps from 1e-06 to 1e+06 MiB are wanted, with "
                        "commas between, as in 1,5,10,25", quote_text(p->s->sweep).text,
                        MOST_CAPS);
        caps[(*n)++] = cap;
        at = end;
        if (*end == '\0')
            return STATUS_OK;
    }
}

/* Ops; exposed time of the rank whose backward pass ends last, and the whole iteration, in us. */
static enum status try_cap(const struct step *p, enum device_backend backend, int64_t *n_ops,
                           double *exposed, double *iteration)
{
    struct iteration it = {.figures = NULL};
    enum status status = step_run(p, &it, 0, backend, backend == BACKEND_HOST);
    if (status == STATUS_OK) {
        *n_ops = it.story.plan.n_ops;
        *exposed = step_us(it.figures[figures_slowest(it.figures, p->s->n_ranks)].exposed);
        *iteration = step_us(it.story.timing.total_ns);
    }
    step_free_iteration(&it);
    return status;
}

enum status step_sweep(struct step *p)
{
    enum status status = STATUS_OK;
    double caps[MOST_CAPS], exposed, iteration, best = INFINITY, best_cap = 0;
    int64_t n_ops, best_ops = 0;
    int n, measured = p->s->backend == BACKEND_CUDA;
    TRY(read_caps(p, caps, &n));
    printf("caps of buckets: %s,%s%d rank%s, backward %.1f us, rule %s\n\n"
           "                               model: %s%s\n"
           "   cap MiB  buckets  launches  exposed us  iteration us%s\n", p->model.name,
           step_break(p), p->s->n_ranks, p->s->n_ranks == 1 ? "" : "s", p->backward_us,
           bucket_rule_name(p->rule), p->s->model.name,
           measured ? ", and measured beside it" : "",
           measured ? "   exposed us  iteration us" : "");
    for (int i = 0; i < n; i++) {
        TRY(step_pack(p, caps[i]));
        TRY(try_cap(p, BACKEND_HOST, &n_ops, &exposed, &iteration));
        printf("%10.6g %8d  %8" PRId64 "  %10.1f  %12.1f", caps[i], p->buckets.n, n_ops,
               exposed, iteration);
        if (measured) {
            TRY(try_cap(p, BACKEND_CUDA, &n_ops, &exposed, &iteration));
            printf("   %10.1f  %12.1f", exposed, iteration);
        }
        printf("\n");
        if (iteration < best || (iteration == best && n_ops < best_ops)) {
            best = iteration;
            best_ops = n_ops;
            best_cap = caps[i];
        }
    }
    printf("\n  launches: ops that are queued; iteration: the backward pass, what is exposed, the "
           "optimizer\n  best: --bucket-cap-mb %.6g", best_cap);
    if (p->s->first_mib > 0)
        printf(" --first-bucket-mb %.6g", p->s->first_mib);
    else if (p->rule == BUCKETS_PYTORCH)
        printf(" --bucket-rule pytorch");
    printf(", %.1f us an iteration (%s)\n", best, measured ? "measured, medians" : "modelled");
out:
    return status;
}
