/* outcome.c - gives back what a run brought forth. */
#include "ring/outcome.h"

#include <stdlib.h>
#include <string.h>

void timing_free(struct timing *timing)
{
    free(timing->begin_ns);
    free(timing->end_ns);
    memset(timing, 0, sizeof *timing);
}

void values_free(struct values *values)
{
    free(values->stops);
    free(values->read);
    memset(values, 0, sizeof *values);
}
