/* findings.h - what check.c (finds) and findings.c (words) share; nobody else includes it. */
#ifndef RING_FINDINGS_H
#define RING_FINDINGS_H

#include "ring/check.h"
#include "ring/goal.h"

/* Puts into detail what a stretch holds instead of what is wanted there. */
void finding_describe_sum(struct finding *f, const struct contents *contents, int iteration);

#endif
