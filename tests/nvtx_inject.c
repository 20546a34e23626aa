/* nvtx_inject.c - a profiler that keeps no times: a library that writes down every range it is
 * told. With NVTX_INJECTION64_PATH=build/nvtx_inject.so and NVTX_INJECT_FILE=FILE in the
 * environment, a program that uses NVTX appends to FILE a line for each call:
 *
 *     ring_demo push step s=0 (1 of 6), scatter-reduce        DOMAIN push TEXT
 *     ring_demo pop                                           DOMAIN pop
 *
 * A line is written before the call returns, so that those of a process that was killed are there.
 * With NVTX_INJECT_RAISE=N, the push number N (from 1) raises SIGTERM when it is written: somebody
 * stops the program just then.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

static int file = -1;
static long until_raise; /* pushes; 0: never */

/* A handle is the domain's name, which lives as long as the process. */
static nvtxDomainHandle_t NVTX_API create(const char *name)
{
    return (nvtxDomainHandle_t)(void *)strdup(name);
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range)
{
    const int text = range->messageType == NVTX_MESSAGE_TYPE_ASCII;
    dprintf(file, "%s push %s\n", domain ? (const char *)(void *)domain : "-",
            text ? range->message.ascii : "-");
    if (until_raise > 0 && --until_raise == 0)
        raise(SIGTERM);
    return 0;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
    dprintf(file, "%s pop\n", domain ? (const char *)(void *)domain : "-");
    return 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

/* What NVTX calls once it has opened us; 0: leave us out. */
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    const char *path = getenv("NVTX_INJECT_FILE"), *raised = getenv("NVTX_INJECT_RAISE");
    NvtxFunctionTable table = NULL;
    unsigned int size = 0;
    if (!path || !callbacks ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
        size <= NVTX_CBID_CORE2_DomainCreateA)
        return 0;
    file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0) {
        perror(path);
        return 0;
    }
    until_raise = raised ? atol(raised) : 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
