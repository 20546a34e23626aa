/* doctor.h - what this machine can do, in plain words. */
#ifndef RING_DOCTOR_H
#define RING_DOCTOR_H

#include <stdio.h>

void doctor_print(FILE *file);
void version_print(FILE *file); /* the version and what was built in */

#endif
