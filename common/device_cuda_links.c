/* device_cuda_links.c - how one GPU's memory reaches another's, tried before it is trusted.
 *
 * A copy between two GPUs goes directly where peer access is enabled, else the driver stages it
 * through the host. There are machines where the driver grants peer access and the data arrives
 * as zeros, so each pair that the ring uses first carries a pattern.
 *
 * The direction: copies are pushed, queued on the sender's stream, and it is the sender's copy
 * engine that writes the receiver's memory. So the sender's device gets access to the receiver's,
 * and not the other way round; a ring of more than two devices needs no more than that. (For a
 * cudaMemcpyPeerAsync CUDA does not document which direction counts. The probe queues exactly as
 * the copies will, so what it proves is what will be used.)
 */
#include <stdlib.h>
#include <string.h>

#include "common/device_cuda.h"

#define PROBE_WORDS 2048 /* 8 KiB */

static unsigned char *pair_of(struct cuda_device *c, int from, int to)
{
    return &c->pairs[from * c->n_gpus + to];
}

static enum status enable(struct cuda_device *c, int from, int to, enum cuda_pair *pair,
                          struct error *err)
{
    enum status status = STATUS_OK;
    int can = 0;
    *pair = PAIR_STAGED;
    if (c->peer_off)
        return STATUS_OK;
    TRY(cuda_ok(cudaDeviceCanAccessPeer(&can, c->gpus[from].id, c->gpus[to].id),
                "asking for peer access", -1, err));
    if (!can)
        return STATUS_OK;
    TRY(cuda_use(c, from, err));
    const cudaError_t result = cudaDeviceEnablePeerAccess(c->gpus[to].id, 0);
    if (result == cudaErrorPeerAccessAlreadyEnabled || result == cudaErrorTooManyPeers ||
        result == cudaErrorPeerAccessUnsupported)
        (void)cudaGetLastError(); /* else the next launch is blamed */
    else
        TRY(cuda_ok(result, "enabling peer access", -1, err));
    if (result == cudaSuccess)
        *pair = PAIR_PEER_OURS;
    else if (result == cudaErrorPeerAccessAlreadyEnabled)
        *pair = PAIR_PEER;
out:
    return status;
}

/* Sends a pattern from GPU to GPU, over poison; *good tells whether it arrived. The ranks are
 * those of the link that asks, for the sentences. */
static enum status probe(struct cuda_device *c, const struct device_link *link, int *good,
                         struct error *err)
{
    const int from = c->ranks[link->from].gpu, to = c->ranks[link->to].gpu;
    struct cuda_gpu *sender = &c->gpus[from], *receiver = &c->gpus[to];
    enum status status = STATUS_OK;
    uint32_t sent[PROBE_WORDS], got[PROBE_WORDS];
    void *source = NULL, *sink = NULL;
    for (int i = 0; i < PROBE_WORDS; i++)
        sent[i] = (uint32_t)pattern_hash((uint64_t)from << 40 | (uint64_t)to << 20 | (uint64_t)i);
    memset(got, 0xa5, sizeof got);

    TRY(cuda_use(c, to, err));
    TRY(cuda_ok(cudaMalloc(&sink, sizeof got), "memory for a link test", link->to, err));
    TRY(cuda_move(c, receiver->stream, sink, got, sizeof got, cudaMemcpyHostToDevice,
                  "a link test", link->to, err));
    TRY(cuda_use(c, from, err));
    TRY(cuda_ok(cudaMalloc(&source, sizeof sent), "memory for a link test", link->from, err));
    TRY(cuda_move(c, sender->stream, source, sent, sizeof sent, cudaMemcpyHostToDevice,
                  "a link test", link->from, err));
    TRY(cuda_ok(cudaMemcpyPeerAsync(sink, receiver->id, source, sender->id, sizeof sent,
                                    sender->stream),
                "a link test", link->from, err));
    TRY(cuda_finish(c, sender->stream, cuda_deadline(c), "a link test", link->from, err));
    TRY(cuda_use(c, to, err));
    TRY(cuda_move(c, receiver->stream, got, sink, sizeof got, cudaMemcpyDeviceToHost,
                  "a link test", link->to, err));
    *good = memcmp(sent, got, sizeof got) == 0;
out:
    if (!c->hung) {
        (void)cudaFree(source);
        (void)cudaFree(sink);
    }
    return status;
}

static enum status open_link(struct cuda_device *c, const struct device_link *link,
                             struct error *err)
{
    const int from = c->ranks[link->from].gpu, to = c->ranks[link->to].gpu;
    enum status status = STATUS_OK;
    enum cuda_pair pair = PAIR_STAGED;
    int good = 0;
    if (from == to || *pair_of(c, from, to) != PAIR_UNUSED)
        return STATUS_OK;
    TRY(enable(c, from, to, &pair, err));
    *pair_of(c, from, to) = (unsigned char)pair; /* now, so that close undoes it */
    TRY(probe(c, link, &good, err));
    if (!good && pair != PAIR_STAGED) {
        TRY(cuda_use(c, from, err));
        TRY(cuda_ok(cudaDeviceDisablePeerAccess(c->gpus[to].id), "disabling peer access",
                    link->from, err));
        *pair_of(c, from, to) = PAIR_STAGED;
        TRY(probe(c, link, &good, err));
    }
    if (!good)
        status = fail(err, STATUS_MACHINE,
                      "what rank %d (device %d, %s) sends to rank %d (device %d, %s) does not "
                      "arrive, neither directly nor through the host",
                      link->from, c->gpus[from].id, c->gpus[from].name, link->to, c->gpus[to].id,
                      c->gpus[to].name);
out:
    return status;
}

enum status cuda_links_open(struct cuda_device *c, const struct device_setup *setup,
                            struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < setup->n_links; i++) {
        const struct device_link *link = &setup->links[i];
        if (link->from < 0 || link->from >= c->n_ranks || link->to < 0 || link->to >= c->n_ranks)
            return fail(err, STATUS_MACHINE, "link %d joins rank %d to rank %d, of %d ranks", i,
                        link->from, link->to, c->n_ranks);
        TRY(open_link(c, link, err));
    }
    for (int i = 0; i < setup->n_links; i++) { /* once no pair changes any more */
        const int from = c->ranks[setup->links[i].from].gpu;
        const int to = c->ranks[setup->links[i].to].gpu;
        c->base.facts.paths[i] = from == to                                 ? PATH_SAME
                                 : *pair_of(c, from, to) == PAIR_STAGED ? PATH_STAGED
                                                                        : PATH_PEER;
    }
out:
    return status;
}

void cuda_links_close(struct cuda_device *c)
{
    for (int from = 0; c->pairs && from < c->n_gpus; from++)
        for (int to = 0; to < c->n_gpus; to++)
            if (*pair_of(c, from, to) == PAIR_PEER_OURS && cudaSetDevice(c->gpus[from].id) == 0)
                (void)cudaDeviceDisablePeerAccess(c->gpus[to].id);
}
