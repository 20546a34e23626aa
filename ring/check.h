/* check.h - two proofs over a plan, before anything runs.
 *
 * Ordering: any two ops that touch the same elements, at least one of them writing, must be ordered
 * by lanes and waits; two that are not are a hazard. Sums: run on symbols (contents.h), every
 * element must end up holding what the plan's goal wants there (goal.h): each rank's contribution
 * exactly once, from the right place, and scaled once for avg. Both look at elements, not at
 * labels, so they judge any plan, however it came about.
 *
 * Ops are visited in one order that lanes and waits allow. Each access is compared with the last
 * writer, and each write also with the readers since; because "must have ended before" is
 * transitive, no pair is left out as long as no hazard is found. A hazard that was found counts as
 * cured from there on, so that what follows from it is not told as well: each one told needs a wait
 * of its own.
 */
#ifndef RING_CHECK_H
#define RING_CHECK_H

#include "ring/plan.h"

/* In the order in which they are told: what is in the way of everything else comes first. */
enum finding_kind {
    FINDING_SPAN,   /* a span leaves its memory or overlaps the op's other one: cannot run */
    FINDING_LANE,   /* a kernel on another rank's lane: cannot run */
    FINDING_LATER,  /* waits for itself, or for a later op of its lane: can never finish */
    FINDING_CIRCLE, /* ops that wait for each other: can never finish */
    FINDING_READ_AFTER_WRITE,
    FINDING_WRITE_AFTER_READ,
    FINDING_WRITE_AFTER_WRITE,
    FINDING_UNWRITTEN, /* reads what nobody has written, in an inbox */
    FINDING_PEER,   /* a kernel reads another rank's memory: runs only with peer access */
    FINDING_SCALE,  /* integers divided before the sum was complete */
    FINDING_SUM,    /* an element does not hold what the goal wants */
    N_FAULT_KINDS,
    /* Remarks: nothing is wrong. */
    REMARK_REDUNDANT = N_FAULT_KINDS, /* a wait that lanes and other waits imply */
    REMARK_PULL,    /* a copy that is not on a lane of its sender */
    N_FINDING_KINDS
};

struct finding {
    enum finding_kind kind;
    int64_t op;     /* the later op; NONE for a sum at the end */
    int64_t other;  /* hazards: the earlier op, for which `op` should wait; waits: the op named */
    int64_t via;    /* REDUNDANT: the op that implies it */
    struct span where;
    int n_ranks;    /* SUM: it is so on this many ranks, from where.rank on */
    int32_t node;   /* SUM, SCALE: what is there (contents.h) ... */
    int64_t shift;
    int iteration;  /* SUM, SCALE: whose result it should be */
    int wanted;     /* ... and what should be (goal.h) */
    char detail[240]; /* the rest of the sentence, where it needs one */
};

#define PROOF_MAX_FINDINGS 100 /* kept of each kind; all are counted (past these, by stretches) */

struct proof {
    struct finding *findings; /* owned; faults, then remarks */
    int n_findings, n_remarks;
    int64_t counts[N_FINDING_KINDS];
    int64_t n_serial;         /* waits with reason `serial`, wanted rather than needed */
};

/* Judges the plan. STATUS_OK whatever the judgement is; STATUS_MACHINE: no memory, or more work
 * than order.h allows; on failure *proof is empty. The spans, lanes and waits of the plan must name
 * existing ranks and ops, as plan_read sees to. */
enum status check_plan(const struct plan *plan, struct proof *proof, struct error *err);
void proof_free(struct proof *proof);

int64_t proof_total(const struct proof *proof);    /* all faults; 0 = proven */
int64_t proof_hazards(const struct proof *proof);  /* of the three hazard kinds */
int proof_can_run(const struct proof *proof);      /* every span in its memory, and no circle */

static inline int finding_is_hazard(const struct finding *f)
{
    return f->kind >= FINDING_READ_AFTER_WRITE && f->kind <= FINDING_WRITE_AFTER_WRITE;
}

/* For programs: "hazard", "sum", ..; of a hazard which one: "read-after-write"; and the reason of
 * the wait that a hazard lacks: `op` should wait for `other`. */
const char *finding_kind_name(enum finding_kind kind);
const char *finding_hazard_name(enum finding_kind kind);
enum wait_reason finding_missing(const struct plan *plan, const struct finding *finding);

/* One finding as a sentence or two, naming ops, memory and cure. Returns buffer. */
#define FINDING_TEXT_SIZE 640
const char *finding_text(const struct plan *plan, const struct finding *finding, char *buffer,
                         size_t size);
/* The judgement in one line. Returns buffer. */
const char *proof_line(const struct plan *plan, const struct proof *proof, char *buffer,
                       size_t size);

#endif
