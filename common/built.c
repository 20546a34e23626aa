/* built.c - one table of what the Makefile found.
 *
 * HAVE_NVCC, HAVE_NCCL and HAVE_NVTX are defined where the thing is there; CUDA_DETAIL,
 * NCCL_DETAIL and NVTX_DETAIL are strings either way. Without the Makefile (cc common/built.c)
 * nothing is there.
 */
#include "common/built.h"

#ifdef HAVE_NVCC
enum { CUDA_PRESENT = 1 };
#else
enum { CUDA_PRESENT = 0 };
#endif

#ifdef HAVE_NCCL
enum { NCCL_PRESENT = 1 };
#else
enum { NCCL_PRESENT = 0 };
#endif

#ifdef HAVE_NVTX
enum { NVTX_PRESENT = 1 };
#else
enum { NVTX_PRESENT = 0 };
#endif

#ifndef CUDA_DETAIL
#define CUDA_DETAIL "not looked for"
#endif
#ifndef NCCL_DETAIL
#define NCCL_DETAIL "not looked for"
#endif
#ifndef NVTX_DETAIL
#define NVTX_DETAIL "not looked for"
#endif

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

#if defined(__clang__)
#define COMPILER "clang " VERSION(__clang_major__, __clang_minor__, __clang_patchlevel__)
#elif defined(__GNUC__)
#define COMPILER "gcc " VERSION(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__)
#else
#define COMPILER "a C11 compiler"
#endif

static const struct built features[] = {
    {"cuda", CUDA_PRESENT, CUDA_DETAIL},
    {"nccl", NCCL_PRESENT, NCCL_DETAIL},
    {"nvtx", NVTX_PRESENT, NVTX_DETAIL},
    {"compiler", 1, COMPILER},
};

const struct built *built_features(int *n)
{
    *n = (int)(sizeof features / sizeof features[0]);
    return features;
}

const char *built_version(void)
{
    return "0.1.0";
}
