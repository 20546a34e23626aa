/* suites.h - every suite of the tests, one per module; a row here and one in the runner. */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

Suite *npy_suite(void);
Suite *init_suite(void);
Suite *arith_suite(void);
Suite *arith16_suite(void);
Suite *dtype_suite(void);
Suite *plan_suite(void);
Suite *ring_suite(void);
Suite *check_suite(void);
Suite *run_suite(void);
Suite *plan_text_suite(void);
Suite *corpus_suite(void);
Suite *bugs_suite(void);
Suite *overlap_suite(void);
Suite *tools_suite(void);
Suite *quiz_suite(void);
Suite *bench_suite(void);
Suite *link_file_suite(void);
Suite *fit_suite(void);

#endif
