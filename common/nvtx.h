/* nvtx.h - named stretches of the host's time, for a profiler that is attached (Nsight Systems).
 *
 *     if (nvtx_listens())
 *         nvtx_begin("step s=0 (1 of 6), scatter-reduce");
 *     ...                                    what is queued here is shown under these words
 *     nvtx_end();                            the innermost that is open
 *
 * Ranges nest, on the thread that opens them, in the domain "ring_demo". A profiler that follows
 * CUDA projects a range onto the work that was queued within it. Where the build found no nvtx3
 * header, and where no profiler listens, all of this does nothing; nvtx_listens() is for callers
 * who would otherwise make words that nobody reads.
 */
#ifndef COMMON_NVTX_H
#define COMMON_NVTX_H

int nvtx_listens(void);
void nvtx_begin(const char *text); /* read before it returns; not kept */
void nvtx_end(void);

#endif
