/* device_cuda_inventory.c - which GPUs there are, and in plain words why there are none.
 *
 * The runtime is linked statically and looks for the driver (libcuda.so.1) at its first call, so
 * all of this also answers on a machine without one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/device_backends.h"
#include "common/device_cuda.h"

static int major_of(int version) { return version / 1000; }
static int minor_of(int version) { return version % 1000 / 10; }

static enum status why_none(cudaError_t result, struct error *err)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return fail(err, STATUS_MACHINE,
                    "there is no NVIDIA driver on this machine (libcuda.so.1 was not found)");
    if (result == cudaErrorInsufficientDriver) /* any driver of the same major version will do */
        return fail(err, STATUS_MACHINE,
                    "the NVIDIA driver is too old: it serves CUDA up to %d.%d, and this program "
                    "needs a driver for CUDA >= %d.0",
                    major_of(driver), minor_of(driver), major_of(CUDART_VERSION));
    if (result == cudaSuccess || result == cudaErrorNoDevice)
        return fail(err, STATUS_MACHINE,
                    "there is an NVIDIA driver, but no GPU is visible%s%.80s%s",
                    visible ? " (CUDA_VISIBLE_DEVICES is \"" : "", visible ? visible : "",
                    visible ? "\")" : "");
    return fail(err, STATUS_MACHINE, "the NVIDIA driver does not answer: %s (%s)",
                cudaGetErrorString(result), cudaGetErrorName(result));
}

enum status cuda_visible(int *n, struct error *err)
{
    /* By default 8 hardware queues serve all streams of a device; three lanes a rank exceed them
     * from three ranks a device on, and work in a shared queue waits for what it need not. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    *n = 0;
    const cudaError_t result = cudaGetDeviceCount(n);
    (void)cudaGetLastError();
    if (result == cudaSuccess && *n > 0)
        return STATUS_OK;
    *n = 0;
    return why_none(result, err);
}

static void describe(struct device_inventory *out, int id)
{
    struct cudaDeviceProp properties;
    char bus[sizeof out->devices[id].bus] = "";
    if (cudaGetDeviceProperties(&properties, id) == cudaSuccess) {
        snprintf(out->devices[id].name, sizeof out->devices[id].name, "%.63s", properties.name);
        out->devices[id].major = properties.major;
        out->devices[id].minor = properties.minor;
        out->devices[id].memory_bytes = properties.totalGlobalMem;
    }
    if (cudaDeviceGetPCIBusId(bus, (int)sizeof bus, id) == cudaSuccess)
        memcpy(out->devices[id].bus, bus, sizeof bus);
    for (int to = 0; to < out->n_devices; to++) {
        int can = to == id;
        if (to != id && cudaDeviceCanAccessPeer(&can, id, to) != cudaSuccess)
            can = 0;
        out->peer[id][to] = can != 0;
    }
    (void)cudaGetLastError();
}

void device_cuda_inventory(struct device_inventory *out)
{
    struct error err = {""};
    int n = 0, driver = 0;
    if (cuda_visible(&n, &err) != STATUS_OK)
        snprintf(out->why, sizeof out->why, "%.255s", err.text);
    snprintf(out->runtime, sizeof out->runtime, "CUDA runtime %d.%d", major_of(CUDART_VERSION),
             minor_of(CUDART_VERSION));
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
        snprintf(out->driver, sizeof out->driver, "CUDA driver %d.%d", major_of(driver),
                 minor_of(driver));
    else
        snprintf(out->driver, sizeof out->driver, "none");
    out->n_devices = n < INVENTORY_MAX ? n : INVENTORY_MAX;
    for (int id = 0; id < out->n_devices; id++)
        describe(out, id);
}
