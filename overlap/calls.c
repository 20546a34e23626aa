/* calls.c - one group of ncclAllReduce for each bucket, on the ranks' send lanes. */
#include "overlap/calls.h"

#include <stdlib.h>

static enum status queue(void *context, struct device *device, const struct op *ops,
                         struct error *err)
{
    enum status status = STATUS_OK;
    struct calls *c = context;
    for (int rank = 0; rank < c->n_ranks; rank++) {
        const struct op *op = &ops[rank];
        TRY(device->verbs->stream(device, stream_id(op->rank, op->lane), &c->streams[rank], err));
        c->data[rank] = device->verbs->address(device, op->dst);
    }
    TRY(c->nccl->verbs->reduce(c->nccl, c->streams, c->data, ops->dst.count, c->dtype,
                               c->redop == REDOP_AVG ? REDOP_SUM : c->redop, err));
out:
    return status;
}

enum status calls_open(struct calls **out, int n_ranks, const int *device_of, int timeout_s,
                       struct error *err)
{
    enum status status = STATUS_OK;
    struct calls *c = NULL;
    *out = NULL;
    TRY(allocate((void **)&c, 1, sizeof *c, "NCCL's calls", err));
    c->run = (struct run_calls){queue, c};
    c->n_ranks = n_ranks;
    TRY(allocate((void **)&c->streams, n_ranks, sizeof *c->streams, "NCCL's calls", err));
    TRY(allocate((void **)&c->data, n_ranks, sizeof *c->data, "NCCL's calls", err));
    TRY(nccl_open(&c->nccl, n_ranks, device_of, timeout_s, err));
    *out = c;
    return STATUS_OK;
out:
    calls_close(c);
    return status;
}

void calls_close(struct calls *c)
{
    if (!c)
        return;
    if (c->nccl)
        c->nccl->verbs->close(c->nccl);
    free(c->streams);
    free(c->data);
    free(c);
}
