/* kernel_contract.h - the ring inside one kernel, against the plan: a suite for real GPUs. */
#ifndef TESTS_KERNEL_CONTRACT_H
#define TESTS_KERNEL_CONTRACT_H

#include "tests/run_contract.h"

Suite *kernel_contract_suite(void);

#endif
