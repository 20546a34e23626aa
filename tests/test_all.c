/* test_all.c - runs every suite that needs no GPU; each test in a process of its own. */
#include <stdlib.h>

#include "tests/device_contract.h"
#include "tests/run_contract.h"
#include "tests/suites.h"

static Suite *host_contract(void) { return device_contract_suite(BACKEND_HOST, "device: host"); }
static Suite *host_runs(void) { return run_contract_suite(BACKEND_HOST, "run: host"); }

static Suite *(*const suites[])(void) = {
    dtype_suite, arith_suite, tools_suite, npy_suite,       init_suite, host_contract,
    plan_suite,  ring_suite,  check_suite, plan_text_suite, host_runs,  run_suite,
    bugs_suite,  corpus_suite, overlap_suite, quiz_suite, bench_suite,
    link_file_suite, fit_suite,   arith16_suite,
};

int main(void)
{
    SRunner *runner = srunner_create(suites[0]());
    for (size_t i = 1; i < sizeof suites / sizeof *suites; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    int none = srunner_ntests_run(runner) == 0;
    srunner_free(runner);
    return failed > 0 || none ? EXIT_FAILURE : EXIT_SUCCESS;
}
