/* test_overlap.c - models have the published sizes, buckets end where PyTorch ends them. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "overlap/calls.h" /* first: check.h defines a macro `fail` */
#include "overlap/compare_parts.h"
#include "overlap/figures.h"
#include "overlap/overlap.h"
#include "ring/plan_text.h"

#include "tests/files.h"
#include "tests/run_contract.h"
#include "tests/suites.h"

static struct model open_model(const char *name)
{
    struct model model;
    struct error err = {""};
    ck_assert_msg(model_open(&model, name, &err) == STATUS_OK, "%s", err.text);
    return model;
}

START_TEST(models_have_the_published_sizes)
{
    /* torchvision's model cards; Hugging Face's gpt2; 784*512+512 + 512*512+512 + 512*10+10 */
    static const struct {
        const char *name;
        int64_t count;
        int n_tensors;
        const char *first, *last;
    } cases[] = {
        {"resnet18", 11689512, 62, "conv1.weight", "fc.bias"},
        {"resnet50", 25557032, 161, "conv1.weight", "fc.bias"},
        {"gpt2", 124439808, 148, "transformer.wte.weight", "transformer.ln_f.bias"},
        {"mlp", 669706, 6, "linear_relu_stack.0.weight", "linear_relu_stack.4.bias"},
        {"article", 20 * 1310720, 20, "layer0", "layer19"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model model = open_model(cases[i].name);
        int64_t count = 0, in_layers = 0;
        for (int t = 0; t < model.n_tensors; t++)
            count += model.tensors[t].count;
        for (int l = 0; l < model.n_layers; l++)
            in_layers += model.layers[l].count;
        ck_assert_int_eq(count, cases[i].count);
        ck_assert_int_eq(in_layers, cases[i].count);
        ck_assert_int_eq(model.count, cases[i].count);
        ck_assert_int_eq(model.n_tensors, cases[i].n_tensors);
        ck_assert_str_eq(model.tensors[0].name, cases[i].first);
        ck_assert_str_eq(model.tensors[model.n_tensors - 1].name, cases[i].last);
        model_free(&model);
    }
    struct model none;
    struct error err = {""};
    ck_assert_int_eq(model_open(&none, "vgg", &err), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "resnet18"));
}
END_TEST

/* One backward pass of ResNet-50 takes twice the published 4.1 GFLOP (multiply-adds: x 2) of a
 * forward one; of ResNet-18 twice 1.8. */
START_TEST(work_is_about_what_is_published)
{
    const char *const names[] = {"resnet18", "resnet50"};
    const double forward[] = {1.81e9, 4.09e9}; /* multiply-adds, torchvision's model cards */
    for (int i = 0; i < 2; i++) {
        struct model model = open_model(names[i]);
        double flop = 0;
        for (int l = 0; l < model.n_layers; l++)
            flop += model.layers[l].flop;
        ck_assert_msg(flop / (4 * forward[i]) > 0.98 && flop / (4 * forward[i]) < 1.03, "%s: %g",
                      names[i], flop / (4 * forward[i]));
        model_free(&model);
    }
}
END_TEST

static void assert_bytes(const struct model *model, enum bucket_rule rule, int first_mib,
                         int cap_mib, const int64_t *bytes, int n)
{
    struct buckets b;
    struct error err = {""};
    int64_t begin = 0;
    ck_assert_int_eq(buckets_open(&b, model, 4, rule, (int64_t)first_mib << 20,
                                  (int64_t)cap_mib << 20, &err), STATUS_OK);
    ck_assert_int_eq(b.n, n);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(b.items[i].bytes, bytes[i]);
        ck_assert_int_eq(b.items[i].count * 4, bytes[i]);
        ck_assert_int_eq(b.items[i].begin, begin);
        begin += b.items[i].count;
    }
    ck_assert_int_eq(begin, model->count);
    buckets_free(&b);
}

START_TEST(resnet18_as_pytorch_packs_it)
{
    struct model model = open_model("resnet18");
    assert_bytes(&model, BUCKETS_PYTORCH, 1, 25, (int64_t[]){2052000, 28852224, 15853824}, 3);
    assert_bytes(&model, BUCKETS_PYTORCH, 1, 35, (int64_t[]){2052000, 38297600, 6408448}, 3);
    assert_bytes(&model, BUCKETS_ONE, 1, 25, (int64_t[]){4 * 11689512}, 1);
    model_free(&model);
}
END_TEST

START_TEST(the_article_has_four_buckets)
{
    struct model model = open_model("article");
    const int64_t full = 25 << 20;
    assert_bytes(&model, BUCKETS_EXPLICIT, 1, 25, (int64_t[]){full, full, full, full}, 4);
    model_free(&model);
}
END_TEST

/* Three Linear(512, 512), caps 1 and 1 MiB. */
START_TEST(three_linear_layers_either_way_round)
{
    const int64_t forward[] = {1048576, 2048, 1048576, 2048, 1048576, 2048}, mib = 1 << 20;
    const int forward_group[] = {0, 1, 1, 2, 2, 3}, ready_group[] = {0, 0, 1, 1, 2, 2};
    int64_t ready[6], bytes[3] = {0};
    int group[6];
    ck_assert_int_eq(bucket_assign(forward, NULL, 6, (int64_t[]){mib, mib}, 2, group), 4);
    ck_assert_int_eq(memcmp(group, forward_group, sizeof group), 0);
    for (int i = 0; i < 6; i++)
        ready[i] = forward[5 - i];
    ck_assert_int_eq(bucket_assign(ready, NULL, 6, (int64_t[]){mib, mib}, 2, group), 3);
    ck_assert_int_eq(memcmp(group, ready_group, sizeof group), 0);
    for (int i = 0; i < 6; i++)
        bytes[group[i]] += ready[i];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(bytes[i], 1050624);
}
END_TEST

/* Each type has buckets, and caps, of its own; empty tensors close nothing. */
START_TEST(types_are_not_mixed)
{
    const int64_t sizes[] = {4, 4, 4, 0, 4, 4, 100}, caps[] = {4, 8};
    const int types[] = {0, 1, 0, 1, 1, 0, 1}, want[] = {0, 1, 2, 3, 3, 2, 3};
    int group[7];
    ck_assert_int_eq(bucket_assign(sizes, types, 7, caps, 2, group), 4);
    ck_assert_int_eq(memcmp(group, want, sizeof group), 0);
}
END_TEST

START_TEST(layers_of_ones_own)
{
    static const char *const bad[] = {"20x", "20x6", "0x4B", "2x3B", "2x0B", "2x1.1KiB",
                                      "999999999x4B", "/nowhere"};
    struct model model;
    struct error err = {""};
    ck_assert_int_eq(model_open_layers(&model, "20x6.25MiB", &err), STATUS_OK);
    ck_assert_int_eq(model.n_layers, 20);
    ck_assert_int_eq(model.count, 20 * 1638400);
    model_free(&model);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err.text[0] = '\0';
        ck_assert_msg(model_open_layers(&model, bad[i], &err) == STATUS_USAGE, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(err.text, bad[i]));
    }
}
END_TEST

static enum status open_text(struct model *model, const char *text, struct error *err)
{
    open_folder();
    const struct path path = in("layers");
    FILE *file = fopen(path.text, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    enum status status = model_open_layers(model, path.text, err);
    remove_folder();
    return status;
}

START_TEST(layers_from_a_file)
{
    static const struct { const char *text, *says; } bad[] = {
        {"a 1\na 2\n", "'a'"}, {"b.w 1\nc 1\nb.w 1\n", "'b.w'"}, {". 5\n", ":1:"},
        {"ok 1\na. 5\n", ":2:"}, {".a 5\n", ":1:"}, {"\x1b[31mred 5\n", ":1:"},
        {"\xc2\x9b" "31mred 5\n", ":1:"}, {"a\x7f 5\n", ":1:"}, {"a\n", ":1:"},
        {"a 5 x\n", ":1:"}, {"# none\n", "no tensor"},
    };
    char text[2 * MODEL_NAME_SIZE];
    struct model model;
    struct error err = {""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(open_text(&model, bad[i].text, &err) == STATUS_USAGE, "%s", bad[i].text);
        ck_assert_msg(strstr(err.text, bad[i].says) != NULL, "'%s': %s", bad[i].text, err.text);
    }
    /* a byte order mark, letters of any alphabet, and all of a long name */
    snprintf(text, sizeof text, "\xef\xbb\xbf\xc3\xa9.w 1\n%0*d.w 2\n", MODEL_NAME_SIZE - 3, 7);
    ck_assert_msg(open_text(&model, text, &err) == STATUS_OK, "%s", err.text);
    ck_assert_str_eq(model.tensors[0].name, "\xc3\xa9.w");
    ck_assert_str_eq(model.layers[0].name, "\xc3\xa9");
    ck_assert_uint_eq(strlen(model.tensors[1].name), MODEL_NAME_SIZE - 1);
    ck_assert_str_eq(model.tensors[1].name + MODEL_NAME_SIZE - 4, "7.w");
    model_free(&model);
}
END_TEST

/* ---- the iteration as a plan ---- */

/* Small layers, so that buckets end within and between them. */
struct trained {
    struct model model;
    struct buckets buckets;
    int64_t layer_ns[8];
};

static void open_iteration(struct trained *it, int cap)
{
    struct error err = {""};
    const int counts[] = {7, 0, 12, 5, 31, 1};
    char text[400];
    for (int i = 0, used = 0; i < 6; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "l%d.weight %d\nl%d.bias 3 # a bias\n", i, counts[i], i);
        it->layer_ns[i] = 500 * (i + 1);
    }
    ck_assert_msg(open_text(&it->model, text, &err) == STATUS_OK, "%s", err.text);
    ck_assert_int_eq(it->model.n_layers, 6);
    ck_assert_int_eq(buckets_open(&it->buckets, &it->model, 4, BUCKETS_EXPLICIT, 0, cap, &err), 0);
}

static void close_iteration(struct trained *it)
{
    model_free(&it->model);
    buckets_free(&it->buckets);
}

static struct plan plan_with(const struct trained *it, int n, int serial, int calls,
                             enum redop redop)
{
    struct plan plan;
    struct error err = {""};
    double slowness[8] = {1, 3, 1, 1, 1, 1, 1, 1};
    const struct overlap_shape shape = {
        .n_ranks = n, .pieces = 1 + n % 2, .slots = 2, .redop = redop, .model = &it->model,
        .buckets = &it->buckets, .layer_ns = it->layer_ns, .slowness = slowness, .serial = serial,
        .calls = calls,
    };
    ck_assert_msg(overlap_plan(&plan, &shape, &err) == STATUS_OK, "%s", err.text);
    return plan;
}

static struct plan plan_iteration(const struct trained *it, int n, int serial, enum redop redop)
{
    return plan_with(it, n, serial, 0, redop);
}

START_TEST(proven_and_no_compute_waits)
{
    for (int n = 1; n <= 8; n++)
        for (int cap = 1; cap <= 400; cap = 3 * cap + 7)
            for (int serial = 0; serial < 2; serial++) {
                struct trained it;
                int64_t op;
                open_iteration(&it, cap);
                struct plan plan = plan_iteration(&it, n, serial, n % 2 ? REDOP_AVG : REDOP_SUM);
                assert_proven(&plan);
                ck_assert_int_eq(overlap_compute_waits(&plan, &op, NULL), STATUS_OK);
                ck_assert_int_eq(op, NONE);
                plan_free(&plan);
                close_iteration(&it);
            }
}
END_TEST

/* The check of no_compute_waits can fail. */
START_TEST(a_compute_that_waits_is_found)
{
    struct trained it;
    int64_t op, copy = 0, compute;
    open_iteration(&it, 40);
    struct plan plan = plan_iteration(&it, 3, 0, REDOP_SUM);
    while (plan.ops[copy].kind != OP_COPY)
        copy++;
    for (compute = plan.n_ops - 1; plan.ops[compute].kind != OP_COMPUTE;)
        compute--;
    ck_assert_int_eq(plan_add_wait(&plan, compute, (struct wait){copy, WAIT_SERIAL}, NULL), 0);
    ck_assert_int_eq(overlap_compute_waits(&plan, &op, NULL), STATUS_OK);
    ck_assert_int_eq(op, compute);
    plan_free(&plan);
    close_iteration(&it);
}
END_TEST

START_TEST(every_wait_is_needed)
{
    for (int n = 2; n <= 5; n++) {
        struct trained it;
        open_iteration(&it, 60);
        struct plan plan = plan_iteration(&it, n, 0, REDOP_AVG);
        for (int64_t id = 0; id < plan.n_ops; id++)
            for (int i = 0; i < plan.ops[id].n_waits; i++) {
                char name[OP_NAME_SIZE];
                struct wait taken = take_wait(&plan, id, i);
                struct proof proof = prove(&plan);
                ck_assert_msg(proof_total(&proof) > 0, "N=%d, %s", n, op_name(&plan, id, name));
                proof_free(&proof);
                put_back(&plan, id, i, taken);
            }
        plan_free(&plan);
        close_iteration(&it);
    }
}
END_TEST

/* Only waits differ between the two plans, and none of the serial one's is of another reason. */
START_TEST(the_serial_plan_differs_in_waits_only)
{
    struct trained it;
    int n_serial = 0;
    open_iteration(&it, 40);
    struct plan a = plan_iteration(&it, 4, 0, REDOP_AVG), b = plan_iteration(&it, 4, 1, REDOP_AVG);
    ck_assert_int_eq(a.n_ops, b.n_ops);
    for (int64_t id = 0; id < a.n_ops; id++) {
        struct op x = a.ops[id], y = b.ops[id];
        x.first_wait = y.first_wait = 0;
        x.n_waits = y.n_waits = 0;
        size_t labels = offsetof(struct op, scaled) + sizeof x.scaled; /* then, perhaps, a gap */
        size_t rest = offsetof(struct op, cost_ns);
        ck_assert_int_eq(memcmp(&x, &y, labels), 0);
        ck_assert_int_eq(memcmp((char *)&x + rest, (char *)&y + rest, sizeof x - rest), 0);
    }
    for (int64_t i = 0; i < b.n_waits; i++)
        n_serial += b.waits[i].reason == WAIT_SERIAL;
    ck_assert_int_gt(n_serial, 0);
    plan_free(&a);
    plan_free(&b);
    close_iteration(&it);
}
END_TEST

/* Same bits either way, under the model and any random schedule; and the figures add up. */
START_TEST(runs_right_and_adds_up)
{
    for (int n = 1; n <= 5; n++) {
        struct trained it;
        uint64_t hash = 0;
        open_iteration(&it, 60);
        for (int way = 0; way < 6; way++) {
            const struct run_options options = {.timed = 1, .random = way > 1,
                                                .seed = (uint64_t)way};
            struct bench b;
            struct figures f[8];
            bench_open(&b, BACKEND_HOST, plan_iteration(&it, n, way % 2, REDOP_AVG), "random:3",
                       &options);
            bench_run(&b);
            ck_assert_int_eq(b.verdict.n_wrong + b.verdict.n_different, 0);
            ck_assert_int_eq(b.verdict.n_checked, n * it.model.count);
            ck_assert(way == 0 || b.verdict.hash == hash);
            hash = b.verdict.hash;
            ck_assert_int_eq(figures_find(&b.plan, &it.buckets, &b.timing, f, NULL), STATUS_OK);
            for (int rank = 0; rank < n; rank++) {
                ck_assert_int_eq(f[rank].hidden + f[rank].exposed, f[rank].communication);
                ck_assert_int_eq(f[rank].slow + f[rank].order + f[rank].tail, f[rank].exposed);
                ck_assert_int_le(f[rank].hidden, f[rank].compute);
                ck_assert_int_eq(f[rank].communication > 0, n > 1);
                ck_assert(way != 1 || f[rank].communication == 0 ||
                          f[rank].first_start >= f[rank].compute_end);
            }
            bench_close(&b);
        }
        close_iteration(&it);
    }
}
END_TEST

/* Of a plan with two buckets of one element each. */
static void figures_of(const struct plan *plan, int64_t *begin, int64_t *end, struct figures *f)
{
    const struct timing timing = {.per_op = 1, .begin_ns = begin, .end_ns = end};
    struct bucket items[] = {{.begin = 0, .count = 1}, {.begin = 1, .count = 1}};
    const struct buckets buckets = {.items = items, .n = 2};
    ck_assert_int_eq(figures_find(plan, &buckets, &timing, f, NULL), STATUS_OK);
}

/* Times by hand: one rank computes 3 us, sends 4 to 9 and 11 to 12, and computes again 8 to 10. */
START_TEST(figures_by_hand)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 4\n"
                                 "a: compute 0.data[0:1] layer 1\n"
                                 "x: copy 0.data[0:1] -> 1.data[0:1] bucket 0\n"
                                 "y: copy 0.data[0:1] -> 1.data[0:1] bucket 0\n"
                                 "b: compute 0.data[1:2] layer 0\n"
                                 "z: copy 0.data[1:2] -> 1.data[1:2] bucket 1\n");
    int64_t begin[] = {0, 4000, 6000, 8000, 11000}, end[] = {3000, 5000, 9000, 10000, 12000};
    struct figures f[2];
    figures_of(&plan, begin, end, f);
    ck_assert_int_eq(f[0].compute, 5000);
    ck_assert_int_eq(f[0].communication, 6000); /* bucket 0 from its first begin to its last end */
    ck_assert_int_eq(f[0].hidden, 1000);
    ck_assert_int_eq(f[0].exposed, 5000);
    ck_assert_int_eq(f[0].compute_end, 10000);
    ck_assert_int_eq(f[0].last_bucket, 12000 - 9000);
    ck_assert_int_eq(f[0].iteration, 12000);
    ck_assert_int_eq(f[0].idle, 4000 + 1000); /* to 4, and from 9 to 10 */
    ck_assert_int_eq(f[1].communication, 0);
    plan_free(&plan);
}
END_TEST

/* Rank 0 has bucket 0 after 2 us and bucket 1 after 4; rank 1, slow, after 5 and 10. Bucket 0 is
 * under way from 2 to 12, bucket 1 from 11 to 15. */
START_TEST(causes_by_hand)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 2\n"
                                 "a0: compute 0.data[0:1]\nb0: compute 0.data[1:2]\n"
                                 "a1: compute 1.data[0:1]\nb1: compute 1.data[1:2]\n"
                                 "x: copy 0.data[0:1] -> 1.data[0:1] bucket 0\n"
                                 "y: copy 0.data[1:2] -> 1.data[1:2] bucket 1\n");
    int64_t begin[] = {0, 2000, 0, 5000, 2000, 11000}, end[] = {2000, 4000, 5000, 10000, 12000,
                                                                15000};
    struct figures f[2];
    figures_of(&plan, begin, end, f);
    ck_assert_int_eq(f[0].exposed, 11000);
    ck_assert_int_eq(f[0].slow, 6000);  /* 4 to 10 */
    ck_assert_int_eq(f[0].order, 2000); /* 10 to 12 */
    ck_assert_int_eq(f[0].tail, 3000);  /* 12 to 15 */
    ck_assert_int_eq(f[0].last_bucket, 3000); /* bucket 0 ends at 12 */
    ck_assert_int_eq(f[0].idle, 2000);
    ck_assert_int_eq(figures_waiting(f, 2), 0);
    ck_assert_int_eq(figures_slowest(f, 2), 1);
    plan_free(&plan);
}
END_TEST

/* As text, and from it: its names are distinct. */
static void assert_reads_back(const struct plan *plan)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(file);
    plan_write(plan, file);
    fclose(file);
    struct plan again = read_plan(text);
    ck_assert_int_eq(again.n_ops, plan->n_ops);
    plan_free(&again);
    free(text);
}

/* A gradient that no rank computes: its bucket and all later ones stay, and so does the optimizer;
 * the plan is refuted. Wherever the tensor lies in its layer. */
START_TEST(a_tensor_that_never_becomes_ready)
{
    struct trained it;
    open_iteration(&it, 40);
    for (int64_t t = 0; t < it.model.n_tensors; t++) {
        const struct tensor *never = &it.model.tensors[t];
        int k = buckets_find(&it.buckets, &it.model, never);
        int64_t computed = 0, time = 0, n_empty = 0;
        struct plan plan;
        struct error err = {""};
        const struct overlap_shape shape = {
            .n_ranks = 3, .pieces = 1, .slots = 2, .redop = REDOP_SUM, .model = &it.model,
            .buckets = &it.buckets, .layer_ns = it.layer_ns, .never_ready = never,
        };
        ck_assert_int_eq(overlap_plan(&plan, &shape, &err), STATUS_OK);
        for (int64_t id = 0; id < plan.n_ops; id++) {
            ck_assert_int_lt(plan.ops[id].bucket, k);
            ck_assert_int_ne(plan.ops[id].kind, OP_UPDATE);
            if (plan.ops[id].kind == OP_COMPUTE) {
                computed += plan.ops[id].dst.count;
                time += plan.ops[id].cost_ns;
                n_empty += plan.ops[id].dst.count == 0;
            }
        }
        ck_assert_int_eq(computed, 3 * (it.model.count - never->count));
        ck_assert_int_eq(time, 3 * 500 * (1 + 2 + 3 + 4 + 5 + 6)); /* none is lost, none is new */
        int nothing_left = it.model.layers[never->layer].count == never->count;
        ck_assert_int_eq(n_empty, nothing_left ? 3 : 0); /* a layer takes its time all the same */
        assert_reads_back(&plan);
        struct proof proof = prove(&plan);
        ck_assert_int_gt(proof_total(&proof), 0);
        proof_free(&proof);
        plan_free(&plan);
    }
    close_iteration(&it);
}
END_TEST

/* Where calls stand for rings nothing collides, and without any of the waits something does. */
START_TEST(the_order_of_calls_is_proven)
{
    for (int n = 2; n <= 5; n++)
        for (int serial = 0; serial < 2; serial++) {
            struct trained it;
            int64_t op;
            open_iteration(&it, 60);
            struct plan plan = plan_with(&it, n, serial, 1, REDOP_AVG);
            struct proof proof = prove(&plan);
            ck_assert_int_eq(proof_hazards(&proof), 0);
            ck_assert_int_gt(proof.counts[FINDING_SUM], 0); /* nothing is said of the sums */
            proof_free(&proof);
            ck_assert_int_eq(overlap_compute_waits(&plan, &op, NULL), STATUS_OK);
            ck_assert_int_eq(op, NONE);
            for (int64_t id = 0; id < plan.n_ops && !serial; id++)
                for (int i = 0; i < plan.ops[id].n_waits; i++) {
                    struct wait taken = take_wait(&plan, id, i);
                    proof = prove(&plan);
                    ck_assert_int_gt(proof_hazards(&proof), 0);
                    proof_free(&proof);
                    put_back(&plan, id, i, taken);
                }
            plan_free(&plan);
            close_iteration(&it);
        }
}
END_TEST

/* In the place of a library: of data that is all ones an all-reduce leaves the number of ranks. */
struct fake {
    int n_calls, n_ranks;
    int64_t at; /* the element behind the last call's */
};

static enum status call_fake(void *context, struct device *device, const struct op *ops,
                             struct error *err)
{
    struct fake *fake = context;
    const struct pattern sum = {.kind = PATTERN_CONSTANT, .constant = fake->n_ranks};
    enum status status = STATUS_OK;
    ck_assert_int_eq(ops[0].bucket, fake->n_calls++);
    ck_assert_int_eq(ops[0].dst.first, fake->at);
    fake->at += ops[0].dst.count;
    for (int rank = 0; rank < fake->n_ranks && status == STATUS_OK; rank++) {
        ck_assert_int_eq(ops[rank].rank, rank);
        status = device->verbs->compute(device, stream_id(rank, LANE_SEND), sum, 0, 1, 0,
                                        ops[rank].dst, err);
    }
    return status;
}

/* In any order that the waits allow: behind the bucket's computes, before the optimizer. */
START_TEST(calls_are_made_in_order)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct trained it;
        struct bench b;
        struct error err = {""};
        open_iteration(&it, 60);
        struct fake fake = {.n_ranks = 2 + (int)(seed % 4)};
        const struct run_calls calls = {call_fake, &fake};
        const struct run_options options = {.engine = ENGINE_NCCL, .calls = &calls, .timed = 1,
                                            .computed = 1, .random = seed > 3, .seed = seed};
        struct plan ring = plan_iteration(&it, fake.n_ranks, 0, REDOP_SUM);
        bench_open(&b, BACKEND_HOST, plan_with(&it, fake.n_ranks, (int)(seed & 1), 1, REDOP_SUM),
                   "ones", &options);
        ck_assert_msg(run_plan(b.device, &b.plan, &b.init, &b.options, &b.timing, &err) == 0, "%s",
                      err.text);
        ck_assert_int_eq(verify(b.device, &ring, &b.init, &b.verdict, &err), 0);
        ck_assert_int_eq(b.verdict.n_wrong, 0);
        ck_assert_int_eq(fake.n_calls, it.buckets.n);
        ck_assert_int_eq(fake.at, ring.count);
        plan_free(&ring);
        bench_close(&b);
        close_iteration(&it);
    }
}
END_TEST

START_TEST(when_a_library_gives_the_bits_of_the_ring)
{
    static const struct {
        int n_ranks;
        enum dtype dtype;
        enum redop redop;
        int default_data, exact;
    } cases[] = {
        {2, DTYPE_FLOAT32, REDOP_AVG, 0, 1}, /* a + b = b + a, whatever they are */
        {3, DTYPE_FLOAT32, REDOP_AVG, 1, 0}, /* a third is rounded */
        {3, DTYPE_FLOAT64, REDOP_AVG, 1, 0},
        {3, DTYPE_INT32, REDOP_AVG, 1, 1},   /* divided at the end, once */
        {4, DTYPE_FLOAT32, REDOP_AVG, 1, 1},
        {4, DTYPE_FLOAT32, REDOP_AVG, 0, 0},
        {6, DTYPE_FLOAT32, REDOP_AVG, 1, 0},
        {3, DTYPE_FLOAT32, REDOP_SUM, 1, 1},
        {3, DTYPE_FLOAT32, REDOP_SUM, 0, 0},
        {3, DTYPE_FLOAT32, REDOP_PROD, 1, 1},
        {3, DTYPE_FLOAT32, REDOP_MIN, 0, 1},
        {3, DTYPE_FLOAT32, REDOP_MAX, 0, 1},
        {8, DTYPE_FLOAT16, REDOP_SUM, 1, 1},
        {9, DTYPE_FLOAT16, REDOP_SUM, 1, 0}, /* 9 x 250 is above 2048 */
        {8, DTYPE_FLOAT16, REDOP_AVG, 1, 1},
        {9, DTYPE_BFLOAT16, REDOP_SUM, 1, 1},
        {10, DTYPE_BFLOAT16, REDOP_SUM, 1, 0}, /* 10 x 28 is above 256 */
        {10, DTYPE_BFLOAT16, REDOP_MAX, 1, 1},
        {3, DTYPE_FLOAT16, REDOP_AVG, 1, 0},
        {8, DTYPE_FLOAT16, REDOP_PROD, 1, 1},
        {16, DTYPE_FLOAT16, REDOP_PROD, 1, 0}, /* 4 to the 8th is 65536 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(nccl_is_exact(cases[i].n_ranks, cases[i].dtype, cases[i].redop,
                                    cases[i].default_data) == cases[i].exact,
                      "case %zu", i);
}
END_TEST

/* A row on two GPUs, with three turns of two engines; eager is off. */
START_TEST(a_comparison_as_json)
{
    int device_of[] = {0, 0};
    char names[2][96] = {"a GPU", "a GPU"}, *text = NULL;
    size_t length;
    struct device holder = {.facts = {.n_devices = 1, .names = names}};
    struct settings s = {.n_ranks = 2, .device_of = device_of, .backend = BACKEND_CUDA,
                         .redop = REDOP_AVG, .pieces = 3, .slots = 4};
    struct compare c = {
        .step = {.s = &s, .model = {.name = "m", .count = 5}, .buckets = {.n = 6}},
        .on = {[BENCH_GRAPH] = 1, [BENCH_NCCL] = 1}, .holder = &holder, .n_rounds = COMPARE_ROUNDS,
        .n_wrong = 7, .n_compared = 80, .n_rows = 1, .ended = "interrupted",
    };
    c.rows[0] = (struct compare_row){
        .bound = "memory", .backward = 10, .compute = 11, .ideal = 12,
        .communication = {[BENCH_EAGER] = 1, [BENCH_GRAPH] = 2, [BENCH_NCCL] = 3},
        .rounds = {[BENCH_GRAPH] = {20, 25, 28}, [BENCH_NCCL] = {40, 50, 70}},
    };
    FILE *file = open_memstream(&text, &length);
    compare_print_json(&c, file);
    fclose(file);
    ck_assert_str_eq(
        text,
        "{\"tool\":\"ring_demo\",\"schema\":1,\"backend\":\"cuda\",\"modelled\":false,"
        "\"shared\":true,\"ranks\":2,\"devices\":[{\"rank\":0,\"device\":0,\"name\":\"a GPU\"},"
        "{\"rank\":1,\"device\":0,\"name\":\"a GPU\"}],\"model\":\"m\",\"buckets\":6,\"bytes\":20,"
        "\"dtype\":\"float32\",\"redop\":\"avg\",\"pieces\":3,\"slots\":4,\"turns\":3,\"runs\":15,"
        "\"ended_early\":\"interrupted\",\"n_wrong\":7,\"n_compared\":80,\"rows\":[\n"
        "{\"bound\":\"memory\",\"backward_us\":10,\"compute_us\":11,\"ideal_us\":12,\"engines\":["
        "{\"engine\":\"graph\",\"communication_us\":2,\"iteration_us\":25,\"min_us\":20,"
        "\"max_us\":28,\"nccl_time_over_time\":2},"
        "{\"engine\":\"nccl\",\"communication_us\":3,\"iteration_us\":50,\"min_us\":40,"
        "\"max_us\":70}]}\n]}\n");
    free(text);
}
END_TEST

Suite *overlap_suite(void)
{
    Suite *suite = suite_create("overlap");
    TCase *tests = tcase_create("overlap");
    tcase_add_test(tests, models_have_the_published_sizes);
    tcase_add_test(tests, work_is_about_what_is_published);
    tcase_add_test(tests, resnet18_as_pytorch_packs_it);
    tcase_add_test(tests, the_article_has_four_buckets);
    tcase_add_test(tests, three_linear_layers_either_way_round);
    tcase_add_test(tests, types_are_not_mixed);
    tcase_add_test(tests, layers_of_ones_own);
    tcase_add_test(tests, layers_from_a_file);
    tcase_add_test(tests, proven_and_no_compute_waits);
    tcase_add_test(tests, a_compute_that_waits_is_found);
    tcase_add_test(tests, every_wait_is_needed);
    tcase_add_test(tests, the_serial_plan_differs_in_waits_only);
    tcase_add_test(tests, runs_right_and_adds_up);
    tcase_add_test(tests, figures_by_hand);
    tcase_add_test(tests, causes_by_hand);
    tcase_add_test(tests, a_tensor_that_never_becomes_ready);
    tcase_add_test(tests, the_order_of_calls_is_proven);
    tcase_add_test(tests, calls_are_made_in_order);
    tcase_add_test(tests, when_a_library_gives_the_bits_of_the_ring);
    tcase_add_test(tests, a_comparison_as_json);
    suite_add_tcase(suite, tests);
    return suite;
}
