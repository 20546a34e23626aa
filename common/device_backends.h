/* device_backends.h - what a backend gives to device.c's table, and nobody else includes. */
#ifndef COMMON_DEVICE_BACKENDS_H
#define COMMON_DEVICE_BACKENDS_H

#include "common/device.h"

void device_host_inventory(struct device_inventory *out);
enum status device_host_open(struct device **out, const struct device_setup *setup,
                             struct error *err);

void device_cuda_inventory(struct device_inventory *out);
enum status device_cuda_open(struct device **out, const struct device_setup *setup,
                             struct error *err);

#endif
