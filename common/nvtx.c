/* nvtx.c - the one place that knows whether NVTX was built in. Its header is all of it: the first
 * call opens the library that a profiler names in the environment, or else makes each later call
 * a test of a pointer. */
#include "common/nvtx.h"

#ifdef HAVE_NVTX

#include <nvtx3/nvToolsExt.h>
#include <stddef.h>

/* NULL: nobody listens. Opened once, since a profiler takes each as another domain. */
static nvtxDomainHandle_t domain(void)
{
    static nvtxDomainHandle_t opened;
    static int asked;
    if (!asked)
        opened = nvtxDomainCreateA("ring_demo");
    asked = 1;
    return opened;
}

int nvtx_listens(void)
{
    return domain() != NULL;
}

void nvtx_begin(const char *text)
{
    nvtxEventAttributes_t range = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = text}};
    if (domain())
        (void)nvtxDomainRangePushEx(domain(), &range);
}

void nvtx_end(void)
{
    if (domain())
        (void)nvtxDomainRangePop(domain());
}

#else

int nvtx_listens(void) { return 0; }
void nvtx_begin(const char *text) { (void)text; }
void nvtx_end(void) {}

#endif
