/* run_contract.h - every plan of ours runs right on a backend: a suite for each, and its tools.
 *
 * The results are compared with sums made here, in the plainest way, not with verify.c's.
 */
#ifndef TESTS_RUN_CONTRACT_H
#define TESTS_RUN_CONTRACT_H

#include "ring/run.h" /* first: check.h defines a macro `fail` */
#include "ring/verify.h"

#include "tests/plans.h"

Suite *run_contract_suite(enum device_backend backend, const char *name);

/* A plan, opened on devices, with its data. */
struct bench {
    struct plan plan;
    struct run_options options; /* device_of is gone once they are open */
    struct init init;
    struct device *device;
    struct timing timing;
    struct verdict verdict;
};

/* Options may be NULL: round-robin over the devices there are, timed. */
void bench_open(struct bench *bench, enum device_backend backend, struct plan plan,
                const char *init, const struct run_options *options);
void bench_run(struct bench *bench); /* pass 1, then verify */
void bench_close(struct bench *bench);

#endif
