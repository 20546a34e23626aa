/* device_cuda_gate.c - holds the GPUs back until a timed round is queued.
 *
 * Queueing an op takes the host longer than a GPU takes for a small copy. Without a gate a trace
 * would show when the host got round to each op, not what the op waited for. So in a timed round
 * every stream first waits for a host function, which returns when the gate opens: at sync, or
 * when some stream holds as much as may safely pile up (CUDA blocks the host when its queues are
 * full, about a thousand commands, and a host blocked behind its own gate would be stuck).
 *
 * The gate opens by itself after GATE_MS, for the case that launches wait for their end
 * (CUDA_LAUNCH_BLOCKING, debuggers, sanitizers).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/device_cuda.h"

#define GATE_MS 250
#define GATE_FULL 300 /* verbs on one stream; each is up to two commands */

/* `open` is guarded by `mutex` while a host function is behind the gate. */
struct cuda_gate {
    int open;
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    cudaStream_t stream;
    cudaEvent_t event;
};

/* Runs on a thread of CUDA's, in the place of the gate's stream. */
static void CUDART_CB hold(void *data)
{
    struct cuda_gate *gate = data;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += GATE_MS * 1000000l;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&gate->mutex);
    while (!gate->open && pthread_cond_timedwait(&gate->opened, &gate->mutex, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&gate->mutex);
}

enum status cuda_gate_make(struct cuda_device *c, struct error *err)
{
    enum status status = STATUS_OK;
    void *got = NULL;
    struct cuda_gate *gate;
    TRY(allocate(&got, 1, sizeof *gate, "the gate", err));
    gate = got;
    gate->open = 1;
    if (pthread_mutex_init(&gate->mutex, NULL) != 0 ||
        pthread_cond_init(&gate->opened, NULL) != 0) {
        free(gate); /* neither takes anything on the systems that CUDA runs on */
        return fail(err, STATUS_MACHINE, "no mutex or condition variable could be had");
    }
    c->gate = gate;
    TRY(cuda_use(c, 0, err));
    TRY(cuda_ok(cudaStreamCreateWithFlags(&gate->stream, cudaStreamNonBlocking), "the gate", -1,
                err));
    TRY(cuda_ok(cudaEventCreateWithFlags(&gate->event, cudaEventDisableTiming), "the gate", -1,
                err));
out:
    return status;
}

enum status cuda_gate_shut(struct cuda_device *c, struct error *err)
{
    enum status status = STATUS_OK;
    struct cuda_gate *gate = c->gate;
    pthread_mutex_lock(&gate->mutex);
    gate->open = 0; /* the host function before this one has ended with its round */
    pthread_mutex_unlock(&gate->mutex);
    TRY(cuda_use(c, 0, err));
    TRY(cuda_ok(cudaLaunchHostFunc(gate->stream, hold, gate), "the gate", -1, err));
    TRY(cuda_ok(cudaEventRecord(gate->event, gate->stream), "the gate", -1, err));
    if (c->graph.stream)
        TRY(cuda_ok(cudaStreamWaitEvent(c->graph.stream, gate->event, 0), "the gate", -1, err));
    for (int rank = 0; rank < c->n_ranks; rank++) {
        TRY(cuda_use(c, c->ranks[rank].gpu, err));
        for (int lane = 0; lane < N_LANES; lane++) {
            TRY(cuda_ok(cudaStreamWaitEvent(c->ranks[rank].streams[lane], gate->event, 0),
                        "the gate", rank, err));
            c->ranks[rank].n_queued[lane] = 0;
        }
    }
out:
    if (status != STATUS_OK)
        cuda_gate_let_go(c);
    return status;
}

void cuda_gate_count(struct cuda_device *c, int stream)
{
    if (c->gate && ++c->ranks[stream / N_LANES].n_queued[stream % N_LANES] == GATE_FULL)
        cuda_gate_let_go(c);
}

void cuda_gate_let_go(struct cuda_device *c)
{
    struct cuda_gate *gate = c->gate;
    if (!gate)
        return;
    pthread_mutex_lock(&gate->mutex);
    gate->open = 1;
    pthread_cond_signal(&gate->opened);
    pthread_mutex_unlock(&gate->mutex);
}

/* Where CUDA cannot say that the host function has ended, the gate is left to the process's end:
 * the function may still look at it. */
void cuda_gate_remove(struct cuda_device *c)
{
    struct cuda_gate *gate = c->gate;
    c->gate = NULL;
    if (!gate || (gate->stream && cudaStreamSynchronize(gate->stream) != cudaSuccess))
        return;
    if (gate->event)
        (void)cudaEventDestroy(gate->event);
    if (gate->stream)
        (void)cudaStreamDestroy(gate->stream);
    pthread_cond_destroy(&gate->opened);
    pthread_mutex_destroy(&gate->mutex);
    free(gate);
}
