/* processors.h - the calling thread on one processor after another.
 *
 * Two processors of a system often are two threads of one core. While the other one works, a core
 * has about half of its units and caches left for this one, and a host that queues takes 1.3 to
 * 1.6 times as long (docs/benchmark.md); who works there need not even be of this system, but of
 * another one under the same hypervisor. So how long queueing takes an undisturbed host is the
 * least of samples on many processors.
 */
#ifndef COMMON_PROCESSORS_H
#define COMMON_PROCESSORS_H

struct processors;

/* Those that this thread may run on. NULL: there is only one, or they cannot be chosen here. */
struct processors *processors_open(void);
/* Moves to the next one, in a circle. Returns whether it did. */
int processors_next(struct processors *processors);
/* May run on each of them again. */
void processors_close(struct processors *processors);

#endif
