// kernels.cu - one loop over memory, and the four things that are done with it.
//
// Every kernel has the same shape: to[i] = f(i, to[i], from[i]). stretch() walks it in a
// grid-stride loop that reads some units before it writes any, so that enough reads are under
// way to fill the memory's bandwidth. A unit is a 16-byte vector where both sides can be aligned
// to it, else a single element; what f does not look at is not read.
#include "common/kernels.h"

#include "common/kernels.cuh"

namespace {

const int THREADS = 256;
const int UNROLL = 4;       // units at once; of 8 elements half as many, for the code's size

template <typename T> struct single {
    static const int LENGTH = 1;
    T x[1];
};

// count elements = `head` singles, then `vectors` vectors, then `tail` singles.
struct cut {
    int64_t head, vectors, tail;
};

template <typename T> struct cut cut_at_vectors(const void *to, const void *from, int64_t count)
{
    const uintptr_t off = (uintptr_t)to % 16;
    const int64_t head = (int64_t)((off ? 16 - off : 0) / sizeof(T));
    if (off != (uintptr_t)from % 16 || count < head)
        return {count, 0, 0};
    const int64_t vectors = (count - head) / vector<T>::LENGTH;
    return {head, vectors, count - head - vectors * vector<T>::LENGTH};
}

// n units; the first element of the first one has the index `first`.
template <typename V, typename F>
__device__ void stretch(V *to, const V *from, int64_t n, int64_t first, F f)
{
    constexpr int AT_ONCE = V::LENGTH < 8 ? UNROLL : UNROLL / 2;
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (AT_ONCE - 1) * stride < n; i += AT_ONCE * stride) {
        V a[AT_ONCE], b[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            a[u] = to[i + u * stride];
            b[u] = from[i + u * stride];
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
#pragma unroll
            for (int k = 0; k < V::LENGTH; k++)
                a[u].x[k] = f(first + (i + u * stride) * V::LENGTH + k, a[u].x[k], b[u].x[k]);
            to[i + u * stride] = a[u];
        }
    }
    for (; i < n; i += stride) {
        V a = to[i], b = from[i];
#pragma unroll
        for (int k = 0; k < V::LENGTH; k++)
            a.x[k] = f(first + i * V::LENGTH + k, a.x[k], b.x[k]);
        to[i] = a;
    }
}

template <typename T, typename F>
__device__ void each(T *to, const T *from, struct cut cut, F f)
{
    const int64_t end = cut.head + cut.vectors * vector<T>::LENGTH;
    stretch((single<T> *)to, (const single<T> *)from, cut.head, 0, f);
    stretch((vector<T> *)(to + cut.head), (const vector<T> *)(from + cut.head), cut.vectors,
            cut.head, f);
    stretch((single<T> *)(to + end), (const single<T> *)(from + end), cut.tail, end, f);
}

template <typename T, enum redop OP>
__global__ void __launch_bounds__(THREADS) reduce_kernel(T *to, const T *from, struct cut cut)
{
    each(to, from, cut, [](int64_t, T a, T b) { return combined<OP>(a, b); });
}

template <typename T> __global__ void __launch_bounds__(THREADS) scale_kernel(T *at, int n,
                                                                              struct cut cut)
{
    each(at, (const T *)at, cut, [n](int64_t, T a, T) { return scaled(a, n); });
}

const int WORK_ROUNDS = 200; // of a multiplication and an addition on each of 4 chains

// Keeps a block busy. Nothing is ever stored, but the compiler cannot know that.
template <enum device_work WORK>
__device__ void be_busy(struct kernels_work work, void *never)
{
    unsigned sum = 0;
    if (WORK == WORK_ARITHMETIC) {
        float x[4] = {threadIdx.x + 0.f, threadIdx.x + 1.f, threadIdx.x + 2.f, threadIdx.x + 3.f};
        for (int i = 0; i < WORK_ROUNDS; i++)
            for (int k = 0; k < 4; k++)
                x[k] = x[k] * 0.5f + 1;
        sum = x[0] + x[1] + x[2] + x[3] == -1;
    } else if (WORK == WORK_MEMORY) {
        const int n = KERNELS_STRETCH_BYTES / sizeof(uint4);
        const uint4 *from = (const uint4 *)work.scratch + blockIdx.x % work.stretches * n;
        for (int i = threadIdx.x; i < n; i += THREADS) {
            const uint4 v = from[i];
            sum += v.x ^ v.y ^ v.z ^ v.w;
        }
        sum = sum == 0xdeadbeef;
    }
    if (sum)
        *(char *)never = 1;
}

template <typename T, enum device_work WORK>
__global__ void __launch_bounds__(THREADS)
compute_kernel(T *to, struct pattern pattern, int rank, int iteration, int n,
               int64_t first, struct cut cut, struct kernels_work work)
{
    each(to, (const T *)to, cut, [=](int64_t i, T, T) {
        const T x = held<T>(pattern_value(pattern, name_of<T>::dtype, rank, iteration, first + i));
        return n == 1 ? x : scaled(x, n);
    });
    be_busy<WORK>(work, to);
}

template <typename U>
__global__ void __launch_bounds__(THREADS) fill_kernel(U *to, U bits, struct cut cut)
{
    each(to, (const U *)to, cut, [bits](int64_t, U, U) { return bits; });
}

// The tables, rows in the order of enum dtype, columns in the order of enum redop or
// of enum device_work.
#define REDUCE_ROW(D, T)                                                                          \
    {(const void *)reduce_kernel<T, REDOP_SUM>, (const void *)reduce_kernel<T, REDOP_SUM>,        \
     (const void *)reduce_kernel<T, REDOP_MIN>, (const void *)reduce_kernel<T, REDOP_MAX>,        \
     (const void *)reduce_kernel<T, REDOP_PROD>},
#define SCALE_ROW(D, T) (const void *)scale_kernel<T>,
#define COMPUTE_ROW(D, T)                                                                         \
    {(const void *)compute_kernel<T, WORK_WAITS>,                                                 \
     (const void *)compute_kernel<T, WORK_ARITHMETIC>,                                            \
     (const void *)compute_kernel<T, WORK_MEMORY>},
#define CUT_ROW(D, T) cut_at_vectors<T>,
#define IN_ORDER(D, T) && position++ == D

constexpr bool in_order()
{
    int position = 0;
    return true ARITH_TYPES(IN_ORDER) && position == N_DTYPES;
}
static_assert(in_order(), "ARITH_TYPES must list the types in the order of enum dtype");
static_assert(REDOP_SUM == 0 && REDOP_AVG == 1 && REDOP_MIN == 2 && REDOP_MAX == 3 &&
              REDOP_PROD == 4 && N_REDOPS == 5, "REDUCE_ROW must follow enum redop");

const void *const reduce_kernels[N_DTYPES][N_REDOPS] = {ARITH_TYPES(REDUCE_ROW)};
const void *const scale_kernels[N_DTYPES] = {ARITH_TYPES(SCALE_ROW)};
const void *const compute_kernels[N_DTYPES][N_WORKS] = {ARITH_TYPES(COMPUTE_ROW)};
const void *const fill_kernels[] = {(const void *)fill_kernel<uint16_t>,
                                    (const void *)fill_kernel<uint32_t>,
                                    (const void *)fill_kernel<uint64_t>};

__global__ void delay_kernel(int64_t ns)
{
    const uint64_t begin = global_ns();
    while (global_ns() - begin < (uint64_t)ns)
        ;
}

struct cut (*const cuts[N_DTYPES])(const void *, const void *, int64_t) = {ARITH_TYPES(CUT_ROW)};

cudaError_t launch_grid(const void *kernel, int64_t grid, int threads, void **args,
                        cudaStream_t stream)
{
    const cudaError_t launched =
        cudaLaunchKernel(kernel, (unsigned)grid, (unsigned)threads, args, 0, stream);
    const cudaError_t last = cudaGetLastError(); // also empties the slot
    return launched != cudaSuccess ? launched : last;
}

cudaError_t launch(const void *kernel, struct cut cut, int blocks, void **args,
                   cudaStream_t stream)
{
    int64_t units = cut.head > cut.vectors ? cut.head : cut.vectors;
    units = cut.tail > units ? cut.tail : units;
    const int64_t wanted = (units + THREADS - 1) / THREADS;
    return units > 0 ? launch_grid(kernel, wanted < blocks ? wanted : blocks, THREADS, args, stream)
                     : cudaSuccess;
}

cudaError_t load(const void *const *kernels, size_t n)
{
    cudaError_t result = cudaSuccess;
    for (size_t i = 0; i < n && result == cudaSuccess; i++) {
        struct cudaFuncAttributes attributes;
        result = cudaFuncGetAttributes(&attributes, kernels[i]);
    }
    return result;
}

} // namespace

cudaError_t kernels_reduce(enum dtype dtype, enum redop op, void *to, const void *from,
                           int64_t count, int blocks, cudaStream_t stream)
{
    struct cut cut = cuts[dtype](to, from, count);
    void *args[] = {&to, &from, &cut};
    return launch(reduce_kernels[dtype][op], cut, blocks, args, stream);
}

cudaError_t kernels_scale(enum dtype dtype, int n, void *at, int64_t count, int blocks,
                          cudaStream_t stream)
{
    struct cut cut = cuts[dtype](at, at, count);
    void *args[] = {&at, &n, &cut};
    return launch(scale_kernels[dtype], cut, blocks, args, stream);
}

cudaError_t kernels_compute(enum dtype dtype, struct pattern pattern, int rank, int iteration,
                            int n, int64_t first, void *to, int64_t count, struct kernels_work work,
                            int blocks, cudaStream_t stream)
{
    const int64_t most = INT32_MAX; // of a grid's blocks
    struct cut cut = cuts[dtype](to, to, count);
    void *args[] = {&to, &pattern, &rank, &iteration, &n, &first, &cut, &work};
    const void *kernel = compute_kernels[dtype][work.kind];
    return work.kind == WORK_WAITS || work.blocks == 0
               ? launch(compute_kernels[dtype][WORK_WAITS], cut, blocks, args, stream)
               : launch_grid(kernel, work.blocks < most ? work.blocks : most, THREADS, args,
                             stream);
}

cudaError_t kernels_fill(size_t size, uint64_t bits, void *to, int64_t count, int blocks,
                         cudaStream_t stream)
{
    struct cut cut = size == 8   ? cut_at_vectors<uint64_t>(to, to, count)
                     : size == 4 ? cut_at_vectors<uint32_t>(to, to, count)
                                 : cut_at_vectors<uint16_t>(to, to, count);
    void *args[] = {&to, &bits, &cut}; // little-endian: the low bytes come first
    return launch(fill_kernels[size / 4], cut, blocks, args, stream);
}

cudaError_t kernels_delay(int64_t ns, cudaStream_t stream)
{
    void *args[] = {&ns};
    return launch_grid((const void *)delay_kernel, 1, 1, args, stream);
}

cudaError_t kernels_load(void)
{
    const void *const delay = (const void *)delay_kernel;
    cudaError_t result = load(&reduce_kernels[0][0], N_DTYPES * N_REDOPS);
    if (result == cudaSuccess)
        result = load(scale_kernels, N_DTYPES);
    if (result == cudaSuccess)
        result = load(&compute_kernels[0][0], N_DTYPES * N_WORKS);
    if (result == cudaSuccess)
        result = load(fill_kernels, sizeof fill_kernels / sizeof *fill_kernels);
    if (result == cudaSuccess)
        result = load(&delay, 1);
    return result;
}
