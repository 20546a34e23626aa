/* fuzz_plan.c - any bytes at all, taken for a plan: read, proven, written, read again, and, where
 * it is small and can run, run on simulated GPUs and verified.
 *
 * `make fuzz` hands this function to libFuzzer; test_corpus.c hands it what was found before.
 */
#include "tests/fuzz_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/check.h"
#include "ring/plan_text.h"
#include "ring/run.h"
#include "ring/verify.h"

#define MUST(what)                                                    \
    do {                                                              \
        if (!(what)) {                                                \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                  \
        }                                                             \
    } while (0)

static void write_and_read(const struct plan *plan)
{
    char *text = NULL, *again = NULL;
    size_t length = 0, again_length = 0;
    struct plan copy;
    struct error err = {""};
    FILE *file = open_memstream(&text, &length);
    plan_write(plan, file);
    fclose(file);
    MUST(plan_read(&copy, text, length, "again", &err) == STATUS_OK);
    file = open_memstream(&again, &again_length);
    plan_write(&copy, file);
    fclose(file);
    MUST(length == again_length && memcmp(text, again, length) == 0);
    plan_free(&copy);
    free(text);
    free(again);
}

/* A proven plan gives the right result, whatever the order. A refuted one may give any, but must
 * not fail otherwise. */
static void run(const struct plan *plan, int proven)
{
    int device_of[16];
    struct run_options options = {.device_of = device_of, .timed = 1, .random = 1, .seed = 5,
                                  .model = {.name = "fuzz", .link_latency_ns = 100, .link_GBps = 1,
                                      .kernel_latency_ns = 100, .memory_GBps = 1}};
    struct device *device = NULL;
    struct timing timing = {0};
    struct verdict verdict;
    struct values values = {0};
    struct init init;
    struct error err = {""};
    for (int rank = 0; rank < 16; rank++)
        device_of[rank] = rank;
    MUST(init_parse(&init, "index", plan->dtype, plan->redop == REDOP_PROD, &err) == STATUS_OK);
    MUST(run_open(&device, BACKEND_HOST, plan, &options, &err) == STATUS_OK);
    MUST(run_plan(device, plan, &init, &options, &timing, &err) == STATUS_OK);
    MUST(verify(device, plan, &init, &verdict, &err) == STATUS_OK);
    MUST(!proven || (verdict.n_wrong == 0 && verdict.n_different == 0));
    MUST(run_values(device, plan, &init, &options, &values, &err) == STATUS_OK);
    device->verbs->close(device);
    values_free(&values);
    timing_free(&timing);
    init_free(&init);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct plan plan;
    struct proof proof;
    struct error err = {""};
    char sentence[FINDING_TEXT_SIZE];
    if (plan_read(&plan, (const char *)data, size, "fuzz", &err) != STATUS_OK) {
        MUST(plan.ops == NULL && err.text[0] && !strchr(err.text, '\n'));
        return 0;
    }
    write_and_read(&plan);
    if (check_plan(&plan, &proof, &err) == STATUS_OK) {
        MUST(strlen(proof_line(&plan, &proof, sentence, sizeof sentence)) > 0);
        for (int i = 0; i < proof.n_findings + proof.n_remarks; i++)
            MUST(strlen(finding_text(&plan, &proof.findings[i], sentence, sizeof sentence)) > 0);
        if (proof_can_run(&proof) && plan.n_ranks <= 16 && plan.count <= 4096 &&
            plan.inbox_count <= 4096 && plan.n_ops <= 300 && plan.iterations <= 8)
            run(&plan, proof_total(&proof) == 0);
        proof_free(&proof);
    }
    plan_free(&plan);
    return 0;
}
