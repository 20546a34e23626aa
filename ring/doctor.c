/* doctor.c - asks the backends what they find and says it so that a newcomer knows what to do. */
#include "ring/doctor.h"

#include <stdlib.h>

#include "common/built.h"
#include "common/device.h"

static void print_devices(const struct device_inventory *cuda, FILE *file)
{
    for (int i = 0; i < cuda->n_devices; i++)
        fprintf(file, "  device %-3d %s, %s, compute capability %d.%d, %.1f GiB\n", i,
                cuda->devices[i].name, cuda->devices[i].bus, cuda->devices[i].major,
                cuda->devices[i].minor, (double)cuda->devices[i].memory_bytes / (1 << 30));
}

static void print_peers(const struct device_inventory *cuda, FILE *file)
{
    int n = cuda->n_devices, missing = 0;
    if (n < 2)
        return;
    fprintf(file,
            "  peer access, as the driver says (row reaches column; each link is tested before "
            "use):\n            ");
    for (int b = 0; b < n; b++)
        fprintf(file, " %3d", b);
    fputc('\n', file);
    for (int a = 0; a < n; a++) {
        fprintf(file, "        %3d ", a);
        for (int b = 0; b < n; b++) {
            fprintf(file, " %3s", a == b ? "-" : cuda->peer[a][b] ? "yes" : "no");
            missing += !cuda->peer[a][b];
        }
        fputc('\n', file);
    }
    if (missing)
        fprintf(file, "  where it is missing, copies are staged through the host's memory: right, "
                      "but slower\n");
}

static void print_advice(const struct device_inventory *cuda, FILE *file)
{
    int n = cuda->n_devices;
    if (n == 0)
        fprintf(file, "  try        ./ring_demo --gpus 4 --trace     (four simulated GPUs)\n");
    else if (n == 1)
        fprintf(file,
                "  try        ./ring_demo --gpus 4 --trace     (four ranks share the one GPU)\n");
    else
        fprintf(file,
                "  try        ./ring_demo --trace              (one rank on each of %d GPUs)\n", n);
}

void doctor_print(FILE *file)
{
    struct device_inventory *cuda = malloc(sizeof *cuda);
    int n_features;
    const struct built *features = built_features(&n_features);
    fprintf(file, "ring_demo %s\n", built_version());
    for (int i = 0; i < n_features; i++)
        fprintf(file, "  %-10s %s%s\n", features[i].name,
                features[i].present ? "built in: " : "not built in: ", features[i].detail);
    if (!cuda) {
        fprintf(file, "  not enough memory to look for GPUs\n");
        return;
    }
    device_inventory(BACKEND_CUDA, cuda);
    if (cuda->built)
        fprintf(file, "  driver     %s; runtime: %s\n", cuda->driver, cuda->runtime);
    if (cuda->n_devices == 0)
        fprintf(file, "  GPUs       none: %s\n", cuda->why);
    else
        fprintf(file, "  GPUs       %d\n", cuda->n_devices);
    print_devices(cuda, file);
    print_peers(cuda, file);
    fprintf(file, "  --backend auto takes %s\n",
            cuda->n_devices ? "cuda: the GPUs above"
                            : "host: simulated GPUs, real data, modelled times");
    print_advice(cuda, file);
    free(cuda);
}

void version_print(FILE *file)
{
    int n;
    const struct built *features = built_features(&n);
    fprintf(file, "ring_demo %s\n", built_version());
    for (int i = 0; i < n; i++)
        fprintf(file, "%s: %s%s\n", features[i].name, features[i].present ? "" : "no, ",
                features[i].detail);
}
