/* nccl_cuda.c - the few entry points of libnccl.so.2, looked up by name.
 *
 * Only types and constants are taken from nccl.h; nothing is linked. One communicator and one
 * stream for each rank, all driven by this thread, so every call for all ranks is a group.
 */
#include "common/nccl.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"

#define LIBRARY "libnccl.so.2"
#define SPIN_NS 2000000 /* poll without sleeping at first */

/* Entry points that every NCCL 2 has, and those that came with windows (2.27). */
#define NEEDED(X)                                                                            \
    X(ncclGetVersion) X(ncclGetErrorString) X(ncclCommInitAll) X(ncclCommDestroy)            \
    X(ncclCommAbort) X(ncclGroupStart) X(ncclGroupEnd) X(ncclAllReduce)
#define OF_WINDOWS(X)                                                                        \
    X(ncclMemAlloc) X(ncclMemFree) X(ncclCommWindowRegister) X(ncclCommWindowDeregister)

struct library {
    void *handle;
#define MEMBER(name) __typeof__(name) *name;
    NEEDED(MEMBER)
    OF_WINDOWS(MEMBER)
};

struct rank {
    int device;
    ncclComm_t comm;
    cudaStream_t stream;
    void *data;          /* the caller's */
    void *at;            /* of the next call: its buffer ... */
    cudaStream_t on;     /* ... and its stream */
    void *memory;        /* ncclMemAlloc's */
    ncclWindow_t window;
};

struct nccl_cuda {
    struct nccl base; /* first */
    struct library lib;
    int n_ranks, timeout_s;
    int hung;
    struct rank *ranks;
    int64_t count;
    size_t bytes;
    ncclDataType_t dtype;
    ncclRedOp_t redop;
};

static struct nccl_cuda *of(struct nccl *nccl) { return (struct nccl_cuda *)nccl; }

static enum status cuda(cudaError_t result, const char *what, struct error *err)
{
    if (result == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError();
    return fail(err, STATUS_MACHINE, "NCCL: %s: %s (%s)", what, cudaGetErrorString(result),
                cudaGetErrorName(result));
}

static enum status check(const struct nccl_cuda *n, ncclResult_t result, const char *what,
                         struct error *err)
{
    return result == ncclSuccess
               ? STATUS_OK
               : fail(err, STATUS_MACHINE, "NCCL: %s: %s", what, n->lib.ncclGetErrorString(result));
}

/* ---- the library ---- */

/* C has no cast from an object's address to a function's; POSIX has dlsym write it. */
#define LOOK_UP(name) *(void **)(&lib->name) = dlsym(lib->handle, #name);

static enum status open_library(struct library *lib, struct error *err)
{
    lib->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle)
        return fail(err, STATUS_MACHINE, LIBRARY " was not found; "
                    "LD_LIBRARY_PATH can name its folder");
    NEEDED(LOOK_UP)
    OF_WINDOWS(LOOK_UP)
#define MISSING(name) || !lib->name
    if (0 NEEDED(MISSING))
        return fail(err, STATUS_MACHINE, LIBRARY " lacks an entry point of NCCL 2");
    return STATUS_OK;
}

static int has_windows(const struct library *lib) { return !(0 OF_WINDOWS(MISSING)); }

/* 22809 is 2.28.9. */
static enum status read_version(struct nccl_cuda *n, struct error *err)
{
    enum status status = STATUS_OK;
    int v = 0;
    TRY(check(n, n->lib.ncclGetVersion(&v), "its version", err));
    snprintf(n->base.version, sizeof n->base.version, "%d.%d.%d", v / 10000, v / 100 % 100,
             v % 100);
out:
    return status;
}

/* ---- windows ---- */

static void free_windows(struct nccl_cuda *n)
{
    for (int r = 0; r < n->n_ranks; r++)
        if (n->ranks[r].window)
            (void)n->lib.ncclCommWindowDeregister(n->ranks[r].comm, n->ranks[r].window);
    for (int r = 0; r < n->n_ranks; r++) {
        if (n->ranks[r].memory && cudaSetDevice(n->ranks[r].device) == cudaSuccess)
            (void)n->lib.ncclMemFree(n->ranks[r].memory);
        n->ranks[r].memory = NULL;
        n->ranks[r].window = NULL;
    }
}

static enum status make_windows(struct nccl_cuda *n, struct error *err)
{
    enum status status = STATUS_OK;
    const size_t align = NCCL_WIN_REQUIRED_ALIGNMENT;
    const size_t bytes = (n->bytes + align - 1) / align * align;
    if (!has_windows(&n->lib))
        return fail(err, STATUS_MACHINE, "NCCL %s has none", n->base.version);
    for (int r = 0; r < n->n_ranks; r++) {
        TRY(cuda(cudaSetDevice(n->ranks[r].device), "a window's device", err));
        TRY(check(n, n->lib.ncclMemAlloc(&n->ranks[r].memory, bytes), "memory of a window", err));
    }
    TRY(check(n, n->lib.ncclGroupStart(), "a group", err));
    for (int r = 0; r < n->n_ranks && status == STATUS_OK; r++)
        status = check(n, n->lib.ncclCommWindowRegister(n->ranks[r].comm, n->ranks[r].memory,
                                                        bytes, &n->ranks[r].window,
                                                        NCCL_WIN_COLL_SYMMETRIC),
                       "a window", err);
    const ncclResult_t ended = n->lib.ncclGroupEnd();
    TRY(status);
    TRY(check(n, ended, "a window", err));
    for (int r = 0; r < n->n_ranks; r++)
        if (!n->ranks[r].window)
            TRY(fail(err, STATUS_MACHINE, "NCCL makes none on these devices"));
out:
    return status;
}

/* ---- the verbs ---- */

static enum status nccl_sync(struct nccl *nccl, struct error *err)
{
    struct nccl_cuda *n = of(nccl);
    enum status status = STATUS_OK;
    const int64_t begin = clock_ns();
    for (int r = 0; r < n->n_ranks; r++)
        for (;;) {
            const cudaError_t result = cudaStreamQuery(n->ranks[r].stream);
            if (result != cudaErrorNotReady) {
                TRY(cuda(result, "an all-reduce", err));
                break;
            }
            (void)cudaGetLastError();
            const int64_t waited = clock_ns() - begin;
            n->hung = waited > (int64_t)n->timeout_s * 1000000000;
            if (n->hung)
                return fail(err, STATUS_MACHINE, "NCCL: an all-reduce did not end within %d s",
                            n->timeout_s);
            if (waited > SPIN_NS)
                nanosleep(&(struct timespec){0, 50000}, NULL);
        }
out:
    return status;
}

static void nccl_drop(struct nccl *nccl)
{
    struct nccl_cuda *n = of(nccl);
    free_windows(n);
    n->count = 0;
}

/* By number: older headers have the name ncclBfloat16 only behind cuda_bf16.h. NCCL knows the type
 * since 2.10, and refuses it before. */
#define NCCL_BFLOAT16 ((ncclDataType_t)9)

static const ncclDataType_t types[N_DTYPES] = {
    [DTYPE_FLOAT32] = ncclFloat32, [DTYPE_FLOAT64] = ncclFloat64, [DTYPE_FLOAT16] = ncclFloat16,
    [DTYPE_BFLOAT16] = NCCL_BFLOAT16, [DTYPE_INT32] = ncclInt32,
};
static const ncclRedOp_t ops[N_REDOPS] = {
    [REDOP_SUM] = ncclSum, [REDOP_AVG] = ncclAvg, [REDOP_MIN] = ncclMin, [REDOP_MAX] = ncclMax,
    [REDOP_PROD] = ncclProd,
};

static void nccl_take(struct nccl *nccl, void *const *data, int64_t count, enum dtype dtype,
                      enum redop redop)
{
    struct nccl_cuda *n = of(nccl);
    struct error why = {""};
    free_windows(n);
    for (int r = 0; r < n->n_ranks; r++)
        n->ranks[r].data = data[r];
    n->count = count;
    n->bytes = (size_t)count * dtype_size(dtype);
    n->dtype = types[dtype];
    n->redop = ops[redop];
    if (make_windows(n, &why) != STATUS_OK)
        free_windows(n);
    snprintf(nccl->no_windows, sizeof nccl->no_windows, "%.255s", why.text);
}

static enum status move(struct nccl_cuda *n, int back, struct error *err)
{
    enum status status = STATUS_OK;
    for (int r = 0; r < n->n_ranks; r++) {
        struct rank *rank = &n->ranks[r];
        if (!rank->memory)
            return fail(err, STATUS_MACHINE, "NCCL: there are no windows");
        TRY(cuda(cudaSetDevice(rank->device), "a window's copy", err));
        TRY(cuda(cudaMemcpyAsync(back ? rank->data : rank->memory, back ? rank->memory : rank->data,
                                 n->bytes, cudaMemcpyDeviceToDevice, rank->stream),
                 "a window's copy", err));
    }
    TRY(nccl_sync(&n->base, err));
out:
    return status;
}

static enum status nccl_to_windows(struct nccl *nccl, struct error *err)
{
    return move(of(nccl), 0, err);
}

static enum status nccl_from_windows(struct nccl *nccl, struct error *err)
{
    return move(of(nccl), 1, err);
}

/* One group: every rank's buffer `at` on its stream `on`. */
static enum status call_all(struct nccl_cuda *n, int64_t count, ncclDataType_t dtype,
                            ncclRedOp_t redop, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(check(n, n->lib.ncclGroupStart(), "a group", err));
    for (int r = 0; r < n->n_ranks && status == STATUS_OK; r++)
        status = check(n, n->lib.ncclAllReduce(n->ranks[r].at, n->ranks[r].at, (size_t)count, dtype,
                                               redop, n->ranks[r].comm, n->ranks[r].on),
                       "an all-reduce", err);
    const ncclResult_t ended = n->lib.ncclGroupEnd();
    TRY(status);
    TRY(check(n, ended, "an all-reduce", err));
out:
    return status;
}

static enum status nccl_queue(struct nccl *nccl, enum nccl_buffers buffers, int times,
                              struct error *err)
{
    struct nccl_cuda *n = of(nccl);
    enum status status = STATUS_OK;
    for (int r = 0; r < n->n_ranks; r++) {
        struct rank *rank = &n->ranks[r];
        rank->at = buffers == NCCL_SYMMETRIC ? rank->memory : rank->data;
        rank->on = rank->stream;
    }
    for (int i = 0; i < times; i++)
        TRY(call_all(n, n->count, n->dtype, n->redop, err));
out:
    return status;
}

static enum status nccl_reduce(struct nccl *nccl, void *const *streams, void *const *data,
                               int64_t count, enum dtype dtype, enum redop redop,
                               struct error *err)
{
    struct nccl_cuda *n = of(nccl);
    for (int r = 0; r < n->n_ranks; r++) {
        n->ranks[r].at = data[r];
        n->ranks[r].on = streams[r];
    }
    return call_all(n, count, types[dtype], ops[redop], err);
}

static void nccl_abandon(struct nccl *nccl) { of(nccl)->hung = 1; }

/* After a time-out nothing is given back, since that would wait for the GPU. The library stays
 * loaded: it has threads and handlers of its own. */
static void nccl_close(struct nccl *nccl)
{
    struct nccl_cuda *n = of(nccl);
    if (!n)
        return;
    if (n->ranks && !n->hung)
        free_windows(n);
    for (int r = 0; n->ranks && !n->hung && r < n->n_ranks; r++) {
        if (n->ranks[r].comm)
            (void)n->lib.ncclCommDestroy(n->ranks[r].comm);
        if (n->ranks[r].stream)
            (void)cudaStreamDestroy(n->ranks[r].stream);
    }
    free(n->ranks);
    free(n);
}

/* ---- open ---- */

static const struct nccl_verbs verbs = {
    .close = nccl_close, .take = nccl_take, .drop = nccl_drop, .to_windows = nccl_to_windows,
    .from_windows = nccl_from_windows, .queue = nccl_queue, .sync = nccl_sync,
    .reduce = nccl_reduce, .abandon = nccl_abandon,
};

static enum status check_devices(int n_ranks, const int *device_of, struct error *err)
{
    for (int a = 0; a < n_ranks; a++)
        for (int b = 0; b < a; b++)
            if (device_of[a] == device_of[b])
                return fail(err, STATUS_MACHINE, "NCCL takes one rank a device; ranks %d and %d "
                            "share device %d", b, a, device_of[a]);
    return STATUS_OK;
}

static enum status open_comms(struct nccl_cuda *n, const int *device_of, struct error *err)
{
    enum status status = STATUS_OK;
    ncclComm_t *comms = NULL;
    void *got = NULL;
    TRY(allocate(&got, n->n_ranks, sizeof *comms, "NCCL's ranks", err));
    comms = got;
    TRY(check(n, n->lib.ncclCommInitAll(comms, n->n_ranks, device_of), "opening its ranks", err));
    for (int r = 0; r < n->n_ranks; r++)
        n->ranks[r].comm = comms[r];
    for (int r = 0; r < n->n_ranks; r++) {
        n->ranks[r].device = device_of[r];
        TRY(cuda(cudaSetDevice(device_of[r]), "a rank's device", err));
        TRY(cuda(cudaStreamCreateWithFlags(&n->ranks[r].stream, cudaStreamNonBlocking),
                 "a rank's stream", err));
    }
out:
    free(comms);
    return status;
}

enum status nccl_cuda_open(struct nccl **out, int n_ranks, const int *device_of, int timeout_s,
                           struct error *err)
{
    enum status status = STATUS_OK;
    struct nccl_cuda *n = NULL;
    void *got = NULL;
    TRY(check_devices(n_ranks, device_of, err));
    TRY(allocate(&got, 1, sizeof *n, "NCCL", err));
    n = got;
    n->base.verbs = &verbs;
    n->timeout_s = timeout_s > 0 ? timeout_s : 60;
    TRY(allocate(&got, n_ranks, sizeof *n->ranks, "NCCL's ranks", err));
    n->ranks = got;
    n->n_ranks = n_ranks;
    TRY(open_library(&n->lib, err));
    TRY(read_version(n, err));
    TRY(open_comms(n, device_of, err));
    *out = &n->base;
    return STATUS_OK;
out:
    nccl_close(n ? &n->base : NULL);
    return status;
}
