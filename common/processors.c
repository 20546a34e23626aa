/* processors.c - by the scheduler of Linux; elsewhere there is nothing to choose. */
#define _GNU_SOURCE /* for cpu_set_t and sched_setaffinity */
#include "common/processors.h"

#include <stddef.h>

#ifdef __linux__

#include <sched.h>
#include <stdlib.h>

struct processors {
    cpu_set_t all;
    int at;        /* begins where the thread is */
};

struct processors *processors_open(void)
{
    struct processors *p = calloc(1, sizeof *p);
    if (p && sched_getaffinity(0, sizeof p->all, &p->all) == 0 && CPU_COUNT(&p->all) > 1) {
        const int at = sched_getcpu();
        p->at = at < 0 || at >= CPU_SETSIZE ? 0 : at;
        return p;
    }
    free(p);
    return NULL;
}

int processors_next(struct processors *p)
{
    cpu_set_t one;
    if (!p)
        return 0;
    do
        p->at = (p->at + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(p->at, &p->all));
    CPU_ZERO(&one);
    CPU_SET(p->at, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

void processors_close(struct processors *p)
{
    if (p)
        (void)sched_setaffinity(0, sizeof p->all, &p->all);
    free(p);
}

#else

struct processors *processors_open(void) { return NULL; }

int processors_next(struct processors *p) { return p != NULL; }

void processors_close(struct processors *p) { (void)p; }

#endif
