/* predict.h - the last rows of `bench --fit`: an overlapped iteration, predicted and measured. */
#ifndef OVERLAP_PREDICT_H
#define OVERLAP_PREDICT_H

#include "ring/settings.h"

/* What is run: as many equal layers, each a bucket, of a backward pass that takes so long; each
 * segment is cut in two pieces. */
#define PREDICT_LAYERS "16x25MiB"
#define PREDICT_BACKWARD_US 2000

/* `settings` are settled, for bench. A row for each engine, to standard output (fit.h). */
enum status predict_overlap(const struct settings *settings, const struct device_model *model,
                            struct error *err);

#endif
