/* kernel.h - the ring inside one kernel per rank: engine `kernel`.
 *
 * The same 2(N-1) steps as plan.h's, and one in which the last segment only arrives, by the threads
 * of one kernel on each rank, which write into their neighbour's memory themselves. Nothing is
 * queued between two steps, so a step costs what the link's latency costs, one or two microseconds
 * in place of some ten. The plan stays the description: what the kernel says it did can be read
 * (ring_kernel_read) and is compared with the plan's copies and adds by a test, and the additions
 * come in the plan's order, hence the same bits.
 *
 * Two protocols, see kernel_steps.cu:
 *   packets  each 12 bytes of data (of float64 8) travel with a flag beside them, in the same
 *            store. No thread waits for more than its own elements; a third more bytes (of float64
 *            twice as many). For small messages.
 *   vectors  whole 16-byte vectors, each block of threads a slice of every segment, and a flag when
 *            a slice is there. For larger ones.
 * The largest belong to the copy engines (engines eager and graph), which need no threads.
 *
 *     TRY(ring_kernel_open(&kernel, device, &setup, err));
 *     TRY(ring_kernel_queue(kernel, &call, err));  any number of times
 *     TRY(device->verbs->sync(device, err));
 *     TRY(ring_kernel_judge(kernel, err));         did each wait end?
 *     ring_kernel_close(kernel);                   before the device
 *
 * A kernel waits by asking again and again, so all that wait for each other must run at the same
 * time. Ranks on one device are one launch, which CUDA starts as a whole or not at all
 * (cudaLaunchCooperativeKernel); kernels of different devices are queued device by device for one
 * call before the next call is. And every such wait has an end: after timeout_ms a kernel gives up,
 * and ring_kernel_judge tells who waited for whom.
 *
 * Where it runs: real GPUs (compute capability 7.0 or more), peer access on each link of the ring,
 * not under compute-sanitizer, which delays threads at will. Elsewhere open refuses, and says why.
 */
#ifndef RING_KERNEL_H
#define RING_KERNEL_H

#include "common/device.h"

enum ring_protocol { PROTOCOL_PACKETS, PROTOCOL_VECTORS, N_PROTOCOLS };
const char *ring_protocol_name(enum ring_protocol protocol); /* "packets" */

#define RING_PACKETS_ROOM ((int64_t)1 << 20) /* bytes of a segment for which packets have room */

/* The faster one for so many bytes of a rank's data. */
enum ring_protocol ring_protocol_for(int64_t bytes, int n_ranks);

struct ring_kernel; /* memory of its own on each device, beside the ranks' */

struct ring_kernel_setup {
    int n_ranks;
    const int *device_of;  /* [n_ranks], as for the device */
    enum dtype dtype;
    enum redop redop;
    int64_t count;         /* elements of the largest call */
    int n_recorded;        /* calls whose steps are recorded; 0: none */
    int timeout_ms;        /* of each wait; 0: 10 s */
};

/* STATUS_MACHINE: this device cannot, and why. The setup's arrays need not outlive the call. */
enum status ring_kernel_open(struct ring_kernel **out, struct device *device,
                             const struct ring_kernel_setup *setup, struct error *err);
void ring_kernel_close(struct ring_kernel *kernel); /* may be NULL; after a sync, or a failure */

/* Opens and closes one: can it be had on these devices? */
enum status ring_kernel_try(struct device *device, int n_ranks, const int *device_of,
                            struct error *err);

/* Bytes that it takes for a rank, beside the rank's data. */
int64_t ring_kernel_bytes(const struct ring_kernel *kernel);

/* An all-reduce of elements [first, first + count) of each rank's data, in place. It is queued on
 * the stream ring_kernel_stream() of each rank, behind what is there. */
struct ring_call {
    int64_t first, count;
    enum ring_protocol protocol;
    int blocks;             /* of threads, for each rank; 0: as many as the size asks for */
    int recorded;           /* its number, 0 .. n_recorded - 1; NONE: it is not */
    int held_rank;          /* this rank holds back its step held_step ... */
    int held_step;
    int64_t held_ns;        /* ... for so long; 0: none does */
};
enum status ring_kernel_queue(struct ring_kernel *kernel, const struct ring_call *call,
                              struct error *err);

/* A number for device.h's verbs. Ranks that share a device share it. */
int ring_kernel_stream(const struct ring_kernel *kernel, int rank);

/* After sync. STATUS_MACHINE: a wait did not end; the sentence has the chain of who waited for
 * whom. The kernel is of no use then. */
enum status ring_kernel_judge(struct ring_kernel *kernel, struct error *err);

/* What one rank did in a step of a call, by its own record. Step 2N-2 has no send: there the last
 * segment arrives. A step begins when its first block of threads has what it needs, and ends when
 * the last one has sent; both in ns of one clock for all devices. */
struct ring_kernel_step {
    int segment;            /* NONE: nothing was there to be done */
    int64_t first, count;   /* its elements */
    int received, added, kept, sent; /* from the rank before; to own data; in own data; onwards */
    int64_t begin_ns, end_ns;
};

/* steps: [n_ranks * (2N - 1)], rank by rank. After sync. */
enum status ring_kernel_read(struct ring_kernel *kernel, int recorded,
                             struct ring_kernel_step *steps, struct error *err);

/* How far two devices' clocks may be apart in those times, resolution included. */
int64_t ring_kernel_clock_error_ns(const struct ring_kernel *kernel);

#endif
