// kernel_steps.cu - the 2(N-1) steps of the ring, as the threads of one kernel see them.
//
// At step s a rank takes what came at step s-1, adds its own part as long as the segment is not
// complete (s <= N-1), and sends it on. That is all; both kernels below are this loop, and differ
// in how a thread knows that something has come.
//
// Why the flag travels with the data in a small message. A store into a neighbour's memory is on
// its way for about a microsecond, and two stores may arrive in either order. To write data, wait
// until it has arrived, and then raise a flag costs two such journeys. A packet is one store of 128
// bits, 96 of data and 32 of flag: whoever sees the flag has the data, since a store of one value
// (PTX ISA, st of type .b128) is never seen in part. A quarter of what is sent is flags, which does
// not matter where the journey is all that counts. (NCCL's protocol LL has the same idea.)
//
// What release and acquire promise (packets do without; vectors need them). A block writes its
// slice of a segment with ordinary stores and then stores the flag with `release`: nobody who sees
// the flag can miss what was written before it. The reader loads the flag with `acquire`: nothing
// that it reads afterwards can be older than the flag. Together with a barrier on either side,
// which ties the block's threads to the one that handles the flag, the whole slice is there.
// (PTX ISA, "Memory consistency model".)
//
// Why two halves alternate. The memory into which a neighbour sends may be overwritten when it has
// been read, and nobody tells the sender. But a rank that has ended call e has, for every segment,
// had a part from all other ranks in call e; so they have all begun it, so they have all ended call
// e-1. What was read in call e-1 is free in call e+1: calls of even and of odd number use a half
// each. A flag is the number of its call, so that nothing need ever be cleared.
//
// Why large messages belong to the copy engines. These stores take threads of many processors and
// reach some 0.9 of what a copy engine moves over the same link, which takes none. Starting copies
// costs more than that tenth until segments have some 32 MiB (docs/benchmark.md).
#include "common/kernels.cuh"
#include "ring/kernel_parts.h"

namespace {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700

// Where calls follow each other on a stream, the next kernel's blocks may come while this one still
// works (programmatic dependent launch), so that they are there when it ends: a launch's time less
// between two calls. They find out what their first step is, and touch no memory before the call
// before has ended.
__device__ void let_next_come()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ void wait_for_call_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- flags and packets --------------------------------------------------------------------------

__device__ void raise(uint32_t *flag, uint32_t epoch)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
}

// Calls before this one count as not there. A neighbour may be one call ahead, but its flags are in
// the other half.
__device__ bool is_raised(const uint32_t *flag, uint32_t epoch)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value == epoch;
}

template <typename T> union packet {
    T x[KERNEL_PACKET_BYTES / sizeof(T)];
    struct { uint64_t low, high; } halves; // the flag is the upper half of the high one
};

template <typename T>
__device__ void send_packet(void *to, union packet<T> packet, uint32_t epoch)
{
    const uint64_t high = (uint64_t)epoch << 32 | (uint32_t)packet.halves.high;
    asm volatile("{ .reg .b128 all;\n\t"
                 "mov.b128 all, {%1, %2};\n\t"
                 "st.relaxed.sys.global.b128 [%0], all; }" ::"l"(to),
                 "l"(packet.halves.low), "l"(high)
                 : "memory");
}

template <typename T>
__device__ bool take_packet(const void *from, union packet<T> *packet, uint32_t epoch)
{
    asm volatile("{ .reg .b128 all;\n\t"
                 "ld.relaxed.sys.global.b128 all, [%2];\n\t"
                 "mov.b128 {%0, %1}, all; }" : "=l"(packet->halves.low), "=l"(packet->halves.high)
                 : "l"(from)
                 : "memory");
    return packet->halves.high >> 32 == epoch;
}

// ---- waiting ------------------------------------------------------------------------------------

// Asks until the answer is yes, or for timeout_ns.
template <typename F> __device__ bool wait_until(F there, int64_t timeout_ns)
{
    uint64_t begin = 0;
    for (unsigned asked = 1; !there(); asked++) {
        if (asked % 1024 > 0)
            continue;
        const uint64_t now = global_ns();
        begin = begin > 0 ? begin : now;
        if (now - begin > (uint64_t)timeout_ns)
            return false;
    }
    return true;
}

__device__ void give_up(const struct kernel_rank &me, int step)
{
    me.stuck->step = step;
    me.stuck->stuck = 1;
}

__device__ void hold_back(const struct kernel_launch &l, int rank, int step)
{
    if (l.held_ns == 0 || rank != l.held_rank || step != l.held_step)
        return;
    const uint64_t begin = global_ns();
    while (global_ns() - begin < (uint64_t)l.held_ns)
        ;
}

// ---- what a rank does in a step -----------------------------------------------------------------

struct step {
    int64_t first, count;     // of the segment, among the elements of the data
    int segment;
    bool received, added;     // something has come; it is to be added to the rank's own
    bool kept, sent;          // the result is to be stored there; and to be sent on
    bool scaled_first, scaled_after; // avg, of floats and of integers
};

template <typename T, enum redop OP>
__device__ struct step step_of(const struct kernel_launch &l, int rank, int s)
{
    const int n = l.n_ranks;
    const bool is_float = name_of<T>::dtype != DTYPE_INT32, average = OP == REDOP_AVG;
    struct step t;
    t.segment = (rank + 2 * n - s) % n;
    t.first = l.first + l.segment_count * t.segment + (t.segment < l.longer ? t.segment : l.longer);
    t.count = l.segment_count + (t.segment < l.longer);
    t.received = s > 0;
    t.added = s > 0 && s <= n - 1;
    t.kept = s >= n - 1;
    t.sent = s < 2 * (n - 1);
    t.scaled_first = average && is_float && s <= n - 1;
    t.scaled_after = average && !is_float && s == n - 1;
    return t;
}

template <typename T, enum redop OP>
__device__ T value(const struct step &t, int n, T own, T came)
{
    own = t.scaled_first ? scaled(own, n) : own;
    own = t.added ? combined<OP>(own, came) : own;
    return t.scaled_after ? scaled(own, n) : own;
}

// ---- the record ---------------------------------------------------------------------------------

// By the first thread of each block.
__device__ void note_begin(const struct kernel_launch &l, const struct kernel_rank &me, int block,
                           int s, const struct step &t)
{
    const int64_t at = (int64_t)l.recorded * (2 * l.n_ranks - 1) + s;
    if (l.recorded < 0 || threadIdx.x > 0)
        return;
    me.stamps[at * l.most_blocks + block].begin = global_ns();
    if (block == 0)
        me.done[at] = {t.segment, t.received, t.added, t.kept, t.sent, t.first, t.count};
}

__device__ void note_end(const struct kernel_launch &l, const struct kernel_rank &me, int block,
                         int s)
{
    const int64_t at = (int64_t)l.recorded * (2 * l.n_ranks - 1) + s;
    if (l.recorded >= 0 && threadIdx.x == 0)
        me.stamps[at * l.most_blocks + block].end = global_ns();
}

// ---- packets ------------------------------------------------------------------------------------
// Every thread walks its own packets, and waits for nobody else's.

template <typename T, enum redop OP>
__global__ void __launch_bounds__(KERNEL_THREADS) packets_kernel(const struct kernel_launch l)
{
    const int LENGTH = KERNEL_PACKET_BYTES / sizeof(T), steps = 2 * (l.n_ranks - 1);
    let_next_come();
    const struct kernel_rank me = l.ranks ? l.ranks[blockIdx.x / l.blocks] : l.alone;
    const int block = blockIdx.x % l.blocks;
    const int64_t half = (l.epoch % 2) * steps * l.segment_packets;
    T *data = (T *)me.data;
    for (int s = 0; s <= steps; s++) {
        const struct step t = step_of<T, OP>(l, me.rank, s);
        const int64_t came = half + (s - 1) * l.segment_packets;
        const int64_t goes = half + s * l.segment_packets;
        if (s == 0)
            wait_for_call_before();
        hold_back(l, me.rank, s);
        for (int64_t i = block * KERNEL_THREADS + threadIdx.x; i * LENGTH < t.count;
             i += l.blocks * KERNEL_THREADS) {
            const int64_t left = t.count - i * LENGTH;
            union packet<T> own = {}, got = {};
            T *at = data + t.first + i * LENGTH;
            if (!t.received || t.added)
                for (int k = 0; k < LENGTH; k++)
                    own.x[k] = k < left ? at[k] : T{};
            if (t.received && !wait_until([&] {
                    return take_packet(me.post.packets + came + i, &got, l.epoch);
                }, l.timeout_ns))
                return give_up(me, s);
            if (i < l.blocks * KERNEL_THREADS)
                note_begin(l, me, block, s, t);
            if (!t.received || t.added)
                for (int k = 0; k < LENGTH; k++)
                    got.x[k] = value<T, OP>(t, l.n_ranks, own.x[k], got.x[k]);
            if (t.sent)
                send_packet(me.next_post.packets + goes + i, got, l.epoch);
            for (int k = 0; t.kept && k < LENGTH && k < left; k++)
                at[k] = got.x[k];
            note_end(l, me, block, s);
        }
    }
}

// ---- vectors ------------------------------------------------------------------------------------
// Block b of every rank has slice b of every segment, so that a flag a block and step is enough.

// What a step reads and writes; NULL: nothing. All are equally aligned, since the segment lies at
// the same elements of every rank's data, and the inbox takes it at the same distance from a
// vector's boundary.
template <typename V> struct lines {
    const V *own, *came;
    V *keep, *send;
};

// The threads of a block walk the vectors from begin to end, each with some at once, so that their
// journeys overlap.
template <typename T, enum redop OP>
__device__ void move(const struct step &t, int n, const struct lines<vector<T>> &p, int64_t begin,
                     int64_t end)
{
    const int AT_ONCE = 2; // more were slower: a kernel's code has to be fetched, too
    for (int64_t i = begin + threadIdx.x; i < end; i += AT_ONCE * KERNEL_THREADS) {
        vector<T> a[AT_ONCE], b[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            if (i + u * KERNEL_THREADS < end) {
                a[u] = p.own[i + u * KERNEL_THREADS];
                if (p.came)
                    b[u] = p.came[i + u * KERNEL_THREADS];
            }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            if (i + u * KERNEL_THREADS < end) {
#pragma unroll
                for (int k = 0; k < vector<T>::LENGTH; k++)
                    a[u].x[k] = value<T, OP>(t, n, a[u].x[k], b[u].x[k]);
                if (p.send)
                    p.send[i + u * KERNEL_THREADS] = a[u];
                if (p.keep)
                    p.keep[i + u * KERNEL_THREADS] = a[u];
            }
    }
}

// A slice of the vectors; the few elements before the first and behind the last vector of a segment
// are block 0's.
template <typename T, enum redop OP>
__device__ void move_slice(const struct kernel_launch &l, int block, const struct step &t,
                           const struct lines<T> &p)
{
    const int LENGTH = vector<T>::LENGTH;
    const int64_t past = t.first % LENGTH, until_vector = past ? LENGTH - past : 0;
    const int64_t head = until_vector < t.count ? until_vector : t.count;
    const int64_t vectors = (t.count - head) / LENGTH;
    const int64_t begin = block * l.slice, end = begin + l.slice;
    const struct lines<vector<T>> v = {
        (const vector<T> *)(p.own + head), p.came ? (const vector<T> *)(p.came + head) : NULL,
        p.keep ? (vector<T> *)(p.keep + head) : NULL, p.send ? (vector<T> *)(p.send + head) : NULL};
    move<T, OP>(t, l.n_ranks, v, begin, end < vectors ? end : vectors);
    const int64_t i = threadIdx.x < head ? threadIdx.x : threadIdx.x + vectors * LENGTH;
    if (block > 0 || i >= t.count)
        return;
    const T result = value<T, OP>(t, l.n_ranks, p.own[i], p.came ? p.came[i] : T{});
    if (p.send)
        p.send[i] = result;
    if (p.keep)
        p.keep[i] = result;
}

template <typename T, enum redop OP>
__global__ void __launch_bounds__(KERNEL_THREADS) vectors_kernel(const struct kernel_launch l)
{
    const int n = l.n_ranks, steps = 2 * (n - 1);
    let_next_come();
    const struct kernel_rank me = l.ranks ? l.ranks[blockIdx.x / l.blocks] : l.alone;
    const int block = blockIdx.x % l.blocks;
    const int64_t half = l.epoch % 2;
    for (int s = 0; s <= steps; s++) {
        const struct step t = step_of<T, OP>(l, me.rank, s);
        const int64_t past = t.first % vector<T>::LENGTH * sizeof(T);
        // a segment that is not complete travels by the inbox, a complete one from data to data
        T *came = (T *)(me.post.inbox + (half * (n - 1) + s - 1) * l.segment_bytes + past);
        T *goes = (T *)(me.next_post.inbox + (half * (n - 1) + s) * l.segment_bytes + past);
        T *own = (T *)me.data + t.first, *next = (T *)me.next_data + t.first;
        const struct lines<T> lines = {own, t.added ? came : NULL, s == n - 1 ? own : NULL,
                                       s < n - 1 ? goes : next};
        const uint32_t *here = me.post.flags + (half * steps + s - 1) * KERNEL_MAX_BLOCKS + block;
        uint32_t *there = me.next_post.flags + (half * steps + s) * KERNEL_MAX_BLOCKS + block;
        bool gone = false;
        if (s == 0)
            wait_for_call_before();
        if (threadIdx.x == 0 && t.received)
            gone = !wait_until([&] { return is_raised(here, l.epoch); }, l.timeout_ns);
        if (gone)
            give_up(me, s);
        if (__syncthreads_or(gone))
            return;
        hold_back(l, me.rank, s);
        note_begin(l, me, block, s, t);
        if (t.sent) {
            move_slice<T, OP>(l, block, t, lines);
            __syncthreads();
            if (threadIdx.x == 0)
                raise(there, l.epoch);
        }
        note_end(l, me, block, s);
    }
}

// ---- clocks -------------------------------------------------------------------------------------

// A block for each rank of the device, of one thread. How finely the timer ticks stands behind the
// last round.
__global__ void clock_kernel(const struct kernel_launch l)
{
    const struct kernel_rank me = l.ranks ? l.ranks[blockIdx.x] : l.alone;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        const uint64_t before = global_ns();
        uint64_t now = before;
        while (now == before)
            now = global_ns();
        least = now - before < least ? now - before : least;
    }
    me.stamps[KERNEL_ROUNDS].begin = least;
    for (uint32_t round = 1; round <= KERNEL_ROUNDS; round++) {
        struct kernel_stamp stamp;
        stamp.begin = global_ns();
        if (me.rank == 0)
            raise(me.next_post.token, round);
        if (!wait_until([&] { return is_raised(me.post.token, round); }, l.timeout_ns))
            return give_up(me, (int)round);
        stamp.end = global_ns();
        if (me.rank > 0)
            raise(me.next_post.token, round);
        me.stamps[round - 1] = stamp;
    }
}

#else // an older GPU: kernel_cuda.c does not come here

template <typename T, enum redop OP> __global__ void packets_kernel(const struct kernel_launch) {}
template <typename T, enum redop OP> __global__ void vectors_kernel(const struct kernel_launch) {}
__global__ void clock_kernel(const struct kernel_launch) {}

#endif

#define ROW(KERNEL, T)                                                                            \
    {(const void *)KERNEL<T, REDOP_SUM>, (const void *)KERNEL<T, REDOP_AVG>,                      \
     (const void *)KERNEL<T, REDOP_MIN>, (const void *)KERNEL<T, REDOP_MAX>,                      \
     (const void *)KERNEL<T, REDOP_PROD>},
#define PACKETS_ROW(D, T) ROW(packets_kernel, T)
#define VECTORS_ROW(D, T) ROW(vectors_kernel, T)

const void *const functions[N_PROTOCOLS][N_DTYPES][N_REDOPS] = {
    {ARITH_TYPES(PACKETS_ROW)}, {ARITH_TYPES(VECTORS_ROW)}};

static_assert(PROTOCOL_PACKETS == 0 && PROTOCOL_VECTORS == 1 && N_PROTOCOLS == 2,
              "functions must follow enum ring_protocol");

} // namespace

const void *kernel_function(enum ring_protocol protocol, enum dtype dtype, enum redop redop)
{
    return functions[protocol][dtype][redop];
}

const void *kernel_clock_function(void)
{
    return (const void *)clock_kernel;
}
