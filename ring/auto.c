/* auto.c - the table. */
#include "ring/auto.h"

/* Up to so many bytes of a segment. The crossing points are those of two H200 (NV18, CUDA 13.0):
 * docs/benchmark.md has the measurement. */
static const struct {
    int64_t segment_bytes;
    enum engine engine;
} table[] = {
    {(int64_t)32 << 20, ENGINE_KERNEL},
    {INT64_MAX, ENGINE_EAGER},
};

#define TWO_PIECES_FROM ((int64_t)4 << 20) /* bytes of a segment */

enum engine auto_engine(int64_t bytes, int n_ranks, int kernel)
{
    int i = 0;
    while (table[i].segment_bytes < bytes / n_ranks)
        i++;
    return kernel || table[i].engine != ENGINE_KERNEL ? table[i].engine : ENGINE_EAGER;
}

int auto_pieces(int64_t bytes, int n_ranks)
{
    return bytes / n_ranks >= TWO_PIECES_FROM ? 2 : 1;
}
