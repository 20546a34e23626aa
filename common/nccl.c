/* nccl.c - the one place that knows whether NCCL was built in. */
#include "common/nccl.h"

#include <stddef.h>

#include "common/pattern.h"

static enum status (*const built)(struct nccl **out, int n_ranks, const int *device_of,
                                  int timeout_s, struct error *err) =
#ifdef HAVE_NCCL
    nccl_cuda_open;
#else
    NULL;
#endif

int nccl_is_exact(int n_ranks, enum dtype dtype, enum redop redop, int default_data)
{
    const int rounds = redop == REDOP_AVG && dtype_is_float(dtype) &&
                       (n_ranks & (n_ranks - 1)) != 0;
    return n_ranks <= 2 || redop == REDOP_MIN || redop == REDOP_MAX ||
           (default_data && !rounds && pattern_is_exact(dtype, redop == REDOP_PROD, n_ranks));
}

enum status nccl_open(struct nccl **out, int n_ranks, const int *device_of, int timeout_s,
                      struct error *err)
{
    *out = NULL;
    if (!built)
        return fail(err, STATUS_MACHINE, "this ring_demo was built without nccl.h");
    return built(out, n_ranks, device_of, timeout_s, err);
}
