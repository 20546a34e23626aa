/* built.h - what this binary was built with; `doctor` and `--version` print it.
 *
 * The Makefile finds out what the machine has and tells built.c alone; nobody else asks. (Which
 * backends there are is device.c's table: it needs their functions, not their names.)
 */
#ifndef COMMON_BUILT_H
#define COMMON_BUILT_H

struct built {
    const char *name;   /* "cuda", "nccl", "nvtx", "compiler" */
    int present;
    const char *detail; /* present: the version; otherwise why not, in plain words */
};

/* The table, *n rows long; constant, not to be freed. */
const struct built *built_features(int *n);

const char *built_version(void); /* of ring_demo itself: "0.1.0" */

#endif
