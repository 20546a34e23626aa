/* nccl.c - the one place that knows whether NCCL was built in. */
#include "common/nccl.h"

#include <stddef.h>

static enum status (*const built)(struct nccl **out, int n_ranks, const int *device_of,
                                  int timeout_s, struct error *err) =
#ifdef HAVE_NCCL
    nccl_cuda_open;
#else
    NULL;
#endif

enum status nccl_open(struct nccl **out, int n_ranks, const int *device_of, int timeout_s,
                      struct error *err)
{
    *out = NULL;
    if (!built)
        return fail(err, STATUS_MACHINE, "this ring_demo was built without nccl.h");
    return built(out, n_ranks, device_of, timeout_s, err);
}
