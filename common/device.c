/* device.c - the table of backends: the one place that knows which were built in. */
#include "common/device.h"

#include <stdio.h>
#include <string.h>

#include "common/device_backends.h"

static const struct {
    const char *name;
    void (*inventory)(struct device_inventory *out);
    enum status (*open)(struct device **out, const struct device_setup *setup, struct error *err);
} backends[N_BACKENDS] = {
#ifdef HAVE_CUDA
    [BACKEND_CUDA] = {"cuda", device_cuda_inventory, device_cuda_open},
#else
    [BACKEND_CUDA] = {"cuda", NULL, NULL},
#endif
    [BACKEND_HOST] = {"host", device_host_inventory, device_host_open},
};

void device_inventory(enum device_backend backend, struct device_inventory *out)
{
    memset(out, 0, sizeof *out);
    if (backends[backend].inventory) {
        out->built = 1;
        backends[backend].inventory(out);
    } else {
        snprintf(out->why, sizeof out->why,
                 "this ring_demo was built without CUDA");
    }
}

enum status device_open(enum device_backend backend, struct device **out,
                        const struct device_setup *setup, struct error *err)
{
    *out = NULL;
    if (!backends[backend].open)
        return fail(err, STATUS_MACHINE, "the %s backend is not in this build",
                    backends[backend].name);
    return backends[backend].open(out, setup, err);
}
