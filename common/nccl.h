/* nccl.h - the vendor's all-reduce, to compare with.
 *
 * libnccl.so.2 is opened at run time, so the program starts without it; where it is missing, or
 * where it cannot serve these ranks, nccl_open says why in one line. It knows nothing of rings:
 * ranks, buffers, a type and an operator.
 *
 *     TRY(nccl_open(&nccl, n_ranks, device_of, timeout_s, err));
 *     nccl->verbs->take(nccl, data, count, dtype, redop);    for each size
 *     TRY(nccl->verbs->queue(nccl, NCCL_DEFAULT, 20, err));
 *     TRY(nccl->verbs->sync(nccl, err));
 *     nccl->verbs->close(nccl);
 *
 * Two kinds of buffer. Default: the caller's, as they are. Symmetric windows: NCCL's own memory,
 * registered by all ranks together, with which it may use kernels that read and write peers'
 * memory directly; each takes as much memory again. Which is faster depends on the size.
 */
#ifndef COMMON_NCCL_H
#define COMMON_NCCL_H

#include <stdint.h>

#include "common/dtype.h"
#include "common/status.h"

enum nccl_buffers { NCCL_DEFAULT, NCCL_SYMMETRIC, N_NCCL_BUFFERS };

struct nccl {
    const struct nccl_verbs *verbs;
    char version[32];      /* "2.28.9", of the library that was found */
    char no_windows[256];  /* why there are no symmetric windows, since the last take; "" = there
                              are */
};

/* A status is STATUS_OK, or STATUS_MACHINE and a sentence. */
struct nccl_verbs {
    void (*close)(struct nccl *nccl); /* may be NULL */

    /* From now on the buffers of the ranks are data[0 ..], addresses on their devices, of `count`
     * elements; all-reduces are in place. Makes windows of this size, where NCCL can. */
    void (*take)(struct nccl *nccl, void *const *data, int64_t count, enum dtype dtype,
                 enum redop redop);
    /* Gives the windows back; the data is the caller's again. */
    void (*drop)(struct nccl *nccl);

    /* Copies every rank's data into its window, or its window into its data; done on return. */
    enum status (*to_windows)(struct nccl *nccl, struct error *err);
    enum status (*from_windows)(struct nccl *nccl, struct error *err);

    /* Queues so many all-reduces behind each other; each is one group of a call for every rank. */
    enum status (*queue)(struct nccl *nccl, enum nccl_buffers buffers, int times,
                         struct error *err);
    enum status (*sync)(struct nccl *nccl, struct error *err); /* with the time-out of open */

    /* Queues one all-reduce, in place, of data[0 ..] on streams[0 ..], a buffer and a stream on
     * each rank's device: both are the caller's, who orders the streams and waits for them. */
    enum status (*reduce)(struct nccl *nccl, void *const *streams, void *const *data,
                          int64_t count, enum dtype dtype, enum redop redop, struct error *err);
    /* What was queued on a caller's stream did not end: close will not wait for it. */
    void (*abandon)(struct nccl *nccl);
};

/* NCCL adds in an order of its own. Are its results those of any other order, bit for bit? For two
 * ranks always, since a + b is b + a, and for min and max; for more ranks where no addition rounds:
 * of the default pattern, whose sums and products are exact for so many ranks as pattern_is_exact()
 * says (of float16 8, of bfloat16 9), unless an avg of floats multiplies by a 1/N that does not end
 * in binary. */
int nccl_is_exact(int n_ranks, enum dtype dtype, enum redop redop, int default_data);

enum status nccl_open(struct nccl **out, int n_ranks, const int *device_of, int timeout_s,
                      struct error *err);

/* What nccl.c's table refers to, where it was built. */
enum status nccl_cuda_open(struct nccl **out, int n_ranks, const int *device_of, int timeout_s,
                           struct error *err);

#endif
