/* fuzz_plan.h - see fuzz_plan.c. */
#ifndef TESTS_FUZZ_PLAN_H
#define TESTS_FUZZ_PLAN_H

#include <stddef.h>

/* libFuzzer's name for it. Aborts where something is not as it must be. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#endif
