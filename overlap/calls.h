/* calls.h - engine nccl: the all-reduce of each bucket by NCCL, in place of the ring's ops.
 *
 * The plan is overlap.h's with `calls`: run.c queues computes, waits, events and the optimizer as
 * ever, and asks here for what lies between. A call is queued on the send lanes of all ranks, so
 * that it begins, on a rank, when the rank's last compute of the bucket has ended, and the events
 * around it tell when. For avg the gradients are divided as they are written, as for the ring, and
 * NCCL adds them up.
 *
 *     TRY(calls_open(&calls, n_ranks, device_of, timeout_s, err));
 *     calls->dtype = ..; calls->redop = ..;
 *     options.calls = &calls->run;
 *     calls_close(calls);
 */
#ifndef OVERLAP_CALLS_H
#define OVERLAP_CALLS_H

#include "common/nccl.h"
#include "ring/run.h"

struct calls {
    struct run_calls run;
    struct nccl *nccl;   /* owned */
    int n_ranks;
    enum dtype dtype;    /* of the data; the caller's to set, like ... */
    enum redop redop;    /* ... what the buckets are reduced by */
    void **streams, **data; /* owned, [n_ranks]: of the next call */
};

/* STATUS_MACHINE, in one line: there is no NCCL, or it cannot serve these ranks. */
enum status calls_open(struct calls **calls, int n_ranks, const int *device_of, int timeout_s,
                       struct error *err);
void calls_close(struct calls *calls); /* may be NULL */

#endif
