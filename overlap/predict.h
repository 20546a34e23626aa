/* predict.h - the last rows of `bench --fit`: an overlapped iteration, predicted and measured. */
#ifndef OVERLAP_PREDICT_H
#define OVERLAP_PREDICT_H

#include "ring/fit.h"

/* What is run: as many equal layers, each a bucket, of a backward pass that takes so long; each
 * segment is cut in two pieces. */
#define PREDICT_LAYERS "16x25MiB"
#define PREDICT_BACKWARD_US 2000

/* `settings` are settled, for bench. A row for each engine of the report (fit.h), by its model. */
enum status predict_overlap(const struct settings *settings, struct fit_report *report,
                            struct error *err);

#endif
