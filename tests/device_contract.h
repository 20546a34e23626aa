/* device_contract.h - what every backend owes to those who use device.h, as one suite.
 *
 * The suite needs no fork per test and keeps no state, so it also serves CUDA, which must not be
 * used in a forked child. Ranks are placed round-robin on the devices that there are; on the host
 * backend each rank has its own.
 */
#ifndef TESTS_DEVICE_CONTRACT_H
#define TESTS_DEVICE_CONTRACT_H

#include "common/device.h" /* first: check.h defines the macro fail() */

#include <check.h>
#include <string.h>

Suite *device_contract_suite(enum device_backend backend, const char *name);

/* For further tests of a backend: */

#define CONTRACT_MAX_RANKS 8

/* The verbs' verdicts; `call` must use &err, which these make. */
#define CONTRACT_OK(call)                                                          \
    do {                                                                           \
        struct error err = {""};                                                   \
        enum status got_ = (call);                                                 \
        ck_assert_msg(got_ == STATUS_OK, "%s gave %d: %s", #call, got_, err.text); \
    } while (0)

/* Refused with a sentence of one line. */
#define CONTRACT_REFUSED(call)                                                     \
    do {                                                                           \
        struct error err = {""};                                                   \
        enum status got_ = (call);                                                 \
        ck_assert_msg(got_ == STATUS_MACHINE, "%s gave %d, not a refusal: %s",     \
                      #call, got_, err.text);                                      \
        ck_assert_msg(err.text[0] && !strchr(err.text, '\n'),                      \
                      "%s was refused without a sentence of one line", #call);     \
    } while (0)

/* A setup of n ranks with a link for every ordered pair, and what it points to. */
struct contract_setup {
    struct device_setup setup;
    int device_of[CONTRACT_MAX_RANKS];
    struct device_link links[CONTRACT_MAX_RANKS * CONTRACT_MAX_RANKS];
};
void contract_setup(struct contract_setup *out, enum device_backend backend, int n_ranks,
                    enum dtype dtype);

/* Opened so, timed, with memories and events; the test fails where that fails. */
struct device *contract_open(enum device_backend backend, int n_ranks, enum dtype dtype,
                             int64_t data_count, int64_t inbox_count, int64_t n_events);

/* One step of a ring, all ranks at once: each computes its data, sends it to the next rank's inbox
 * and adds what arrives. 4 events per rank. Then checks every element of every rank. */
void contract_ring_step(struct device *d, int n_ranks, enum dtype dtype, int64_t count,
                        int iteration);

#endif
