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

/* Bytes of a segment, for each rank. With less, twice as many ops take the slower of the two hosts
 * there longer to queue than the copies take. */
#define TWO_PIECES_EAGER ((int64_t)8 << 20)
#define TWO_PIECES_GRAPH ((int64_t)4 << 20)

enum engine auto_engine(int64_t bytes, int n_ranks, int kernel)
{
    int i = 0;
    while (table[i].segment_bytes < bytes / n_ranks)
        i++;
    return kernel || table[i].engine != ENGINE_KERNEL ? table[i].engine : ENGINE_EAGER;
}

int64_t auto_two_pieces_from(int n_ranks, enum engine engine)
{
    return n_ranks * (engine == ENGINE_GRAPH ? TWO_PIECES_GRAPH : TWO_PIECES_EAGER);
}

int auto_pieces(int64_t bytes, int n_ranks, enum engine engine)
{
    return bytes / n_ranks >= auto_two_pieces_from(n_ranks, engine) ? 2 : 1;
}
