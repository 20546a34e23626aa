/* check.h - two proofs over a plan, before anything runs.
 *
 * Ordering: any two ops that touch the same elements, at least one of them writing, must be ordered
 * by lanes and waits; two that are not are a hazard. Sums: run on symbols (contents.h), every
 * element of every rank's data must end up holding each rank's contribution exactly once, from the
 * right place, and scaled once for avg. Both look at elements, not at labels, so they judge any
 * plan, however it came about.
 *
 * Ops are visited in one order that lanes and waits allow. Each access is compared with the last
 * writer, and each write also with the readers since; because "must have ended before" is
 * transitive, no pair is left out as long as no hazard is found.
 */
#ifndef RING_CHECK_H
#define RING_CHECK_H

#include "ring/plan.h"

enum finding_kind {
    FINDING_SPAN,   /* a span leaves its memory or overlaps the op's other one, or a kernel works on
                       another rank's memory: cannot run */
    FINDING_CIRCLE, /* ops that wait for each other: can never finish */
    FINDING_READ_AFTER_WRITE,
    FINDING_WRITE_AFTER_READ,
    FINDING_WRITE_AFTER_WRITE,
    FINDING_SUM,   /* an element does not hold every rank exactly once */
    FINDING_SCALE, /* integers divided before the sum was complete */
    N_FINDING_KINDS
};

struct finding {
    enum finding_kind kind;
    int64_t op;     /* the later op; NONE for a sum at the end */
    int64_t other;  /* hazards: the earlier op, for which `op` should wait */
    struct span where;
    char detail[160]; /* what is there instead of the sum; the circle; why it cannot run */
};

#define PROOF_MAX_FINDINGS 100 /* kept; all are counted (past these, a stretch at a time) */

struct proof {
    int n_findings;
    struct finding *findings; /* owned; the first PROOF_MAX_FINDINGS */
    int64_t counts[N_FINDING_KINDS];
    int64_t n_redundant; /* waits that lanes and other waits imply (a remark, not a finding) */
    int64_t n_serial;    /* waits with reason `serial`, wanted rather than needed */
};

/* Judges the plan. STATUS_OK whatever the judgement is; STATUS_MACHINE: no memory. The
 * spans, lanes and waits of the plan must name existing ranks and ops, as plan_read sees to. */
enum status check_plan(const struct plan *plan, struct proof *proof, struct error *err);
void proof_free(struct proof *proof);

int64_t proof_total(const struct proof *proof);    /* all findings; 0 = proven */
int64_t proof_hazards(const struct proof *proof);  /* of the three hazard kinds */
int proof_can_run(const struct proof *proof);      /* no span outside memory, no circle */

/* One finding as a sentence or two, naming ops, memory and cure. Returns buffer. */
const char *finding_text(const struct plan *plan, const struct finding *finding, char *buffer,
                         size_t size);
/* The judgement in one line. Returns buffer. */
const char *proof_line(const struct plan *plan, const struct proof *proof, char *buffer,
                       size_t size);

#endif
