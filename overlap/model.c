/* model.c - networks as they register their parameters, one call a module. */
#include "overlap/model.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/input.h"
#include "common/quote.h"

/* ---- building ---- */

struct builder {
    struct model *model;
    enum status status; /* the first failure; nothing is added after it */
    struct error *err;
};

/* A tensor of a layer; `uses` is how often a sample uses each element. */
static void add(struct builder *b, const char *layer, const char *tensor, int64_t count,
                double uses)
{
    struct model *m = b->model;
    struct layer *last = m->n_layers > 0 ? &m->layers[m->n_layers - 1] : NULL;
    if (b->status == STATUS_OK && !(last && strcmp(last->name, layer) == 0)) {
        b->status = make_room((void **)&m->layers, m->n_layers + 1, &m->layers_capacity,
                              sizeof *m->layers, "the model", b->err);
        if (b->status == STATUS_OK) {
            m->layers[m->n_layers] = (struct layer){.first = (int)m->n_tensors};
            snprintf(m->layers[m->n_layers].name, MODEL_NAME_SIZE, "%s", layer);
            m->n_layers++;
        }
    }
    if (b->status == STATUS_OK)
        b->status = make_room((void **)&m->tensors, m->n_tensors + 1, &m->tensors_capacity,
                              sizeof *m->tensors, "the model", b->err);
    if (b->status != STATUS_OK)
        return;
    last = &m->layers[m->n_layers - 1];
    struct tensor *t = &m->tensors[m->n_tensors++];
    *t = (struct tensor){.count = count, .layer = (int)m->n_layers - 1};
    int length = snprintf(t->name, sizeof t->name, "%s%s%s", layer, tensor[0] ? "." : "", tensor);
    if (length >= MODEL_NAME_SIZE)
        b->status = fail(b->err, STATUS_USAGE, "%s.%s: a name has less than %d characters", layer,
                         tensor, MODEL_NAME_SIZE);
    last->n++;
    last->count += count;
    last->flop += 4 * (double)count * uses;
    m->count += count;
}

static void add_pair(struct builder *b, const char *layer, int64_t weight, int64_t bias,
                     double uses)
{
    add(b, layer, "weight", weight, uses);
    add(b, layer, "bias", bias, uses);
}

static void linear(struct builder *b, const char *layer, int64_t in, int64_t out, double uses)
{
    add_pair(b, layer, in * out, out, uses);
}

/* A convolution of k x k that gives size x size outputs, and the normalisation behind it. */
static void conv(struct builder *b, const char *prefix, const char *layer, const char *norm,
                 int64_t in, int64_t out, int k, int size)
{
    char name[MODEL_NAME_SIZE];
    snprintf(name, sizeof name, "%s%s", prefix, layer);
    add(b, name, "weight", in * out * k * k, (double)size * size);
    snprintf(name, sizeof name, "%s%s", prefix, norm);
    add_pair(b, name, out, out, (double)size * size);
}

/* ---- the networks ---- */

#define EQUAL_USES 64 /* of the weights of equal layers: a backward pass as long as two rings */

static void article(struct builder *b)
{
    char name[MODEL_NAME_SIZE];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        add(b, name, "", (5 << 20) / 4, EQUAL_USES);
    }
}

static void mlp(struct builder *b)
{
    linear(b, "linear_relu_stack.0", 28 * 28, 512, 1);
    linear(b, "linear_relu_stack.2", 512, 512, 1);
    linear(b, "linear_relu_stack.4", 512, 10, 1);
}

/* Stages 1 to 4 of a ResNet: `blocks` of them each; wide: bottlenecks of three convolutions. */
static void resnet(struct builder *b, const int *blocks, int wide)
{
    int64_t in = 64;
    char prefix[MODEL_NAME_SIZE];
    conv(b, "", "conv1", "bn1", 3, 64, 7, 112);
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < blocks[stage]; block++) {
            int64_t width = 64 << stage, out = wide ? 4 * width : width;
            int size = 56 >> stage, before = block == 0 && stage > 0 ? 2 * size : size;
            snprintf(prefix, sizeof prefix, "layer%d.%d.", stage + 1, block);
            if (wide) {
                conv(b, prefix, "conv1", "bn1", in, width, 1, before);
                conv(b, prefix, "conv2", "bn2", width, width, 3, size);
                conv(b, prefix, "conv3", "bn3", width, out, 1, size);
            } else {
                conv(b, prefix, "conv1", "bn1", in, out, 3, size);
                conv(b, prefix, "conv2", "bn2", out, out, 3, size);
            }
            if (in != out)
                conv(b, prefix, "downsample.0", "downsample.1", in, out, 1, size);
            in = out;
        }
    linear(b, "fc", in, 1000, 1);
}

static void resnet18(struct builder *b) { resnet(b, (const int[]){2, 2, 2, 2}, 0); }
static void resnet50(struct builder *b) { resnet(b, (const int[]){3, 4, 6, 3}, 1); }

static void gpt2(struct builder *b)
{
    enum { WIDTH = 768, TOKENS = 1024, WORDS = 50257, BLOCKS = 12 };
    static const struct {
        const char *name;
        int64_t in, out; /* in 0: a normalisation */
    } parts[] = {
        {"ln_1", 0, WIDTH}, {"attn.c_attn", WIDTH, 3 * WIDTH}, {"attn.c_proj", WIDTH, WIDTH},
        {"ln_2", 0, WIDTH}, {"mlp.c_fc", WIDTH, 4 * WIDTH},    {"mlp.c_proj", 4 * WIDTH, WIDTH},
    };
    char name[MODEL_NAME_SIZE];
    add(b, "transformer.wte", "weight", (int64_t)WORDS * WIDTH, TOKENS); /* also the output layer */
    add(b, "transformer.wpe", "weight", (int64_t)TOKENS * WIDTH, 1);
    for (int block = 0; block < BLOCKS; block++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            snprintf(name, sizeof name, "transformer.h.%d.%s", block, parts[i].name);
            if (parts[i].in)
                linear(b, name, parts[i].in, parts[i].out, TOKENS);
            else
                add_pair(b, name, parts[i].out, parts[i].out, TOKENS);
        }
    add_pair(b, "transformer.ln_f", WIDTH, WIDTH, TOKENS);
}

static const struct {
    const char *name;
    void (*build)(struct builder *);
} models[] = {
    {"article", article}, {"mlp", mlp}, {"resnet18", resnet18}, {"resnet50", resnet50},
    {"gpt2", gpt2},
};
#define N_MODELS (int)(sizeof models / sizeof *models)

enum status model_open(struct model *model, const char *name, struct error *err)
{
    struct builder b = {.model = model, .err = err};
    memset(model, 0, sizeof *model);
    for (int i = 0; i < N_MODELS; i++)
        if (strcmp(models[i].name, name) == 0) {
            snprintf(model->name, sizeof model->name, "%s", name);
            models[i].build(&b);
            if (b.status != STATUS_OK)
                model_free(model);
            return b.status;
        }
    return fail(err, STATUS_USAGE, "--model %s: article, mlp, resnet18, resnet50 or gpt2 is wanted",
                quote_text(name).text);
}

void model_free(struct model *model)
{
    free(model->tensors);
    free(model->layers);
    memset(model, 0, sizeof *model);
}

/* ---- models of one's own ---- */

#define MOST_LAYERS 100000
#define MOST_ELEMENTS ((int64_t)1 << 40)

/* "20x6.25MiB": how many layers of how many 4-byte elements; 0 = it is no such text. */
static int parse_equal(const char *text, int64_t *n, int64_t *count)
{
    static const struct { const char *unit; double bytes; } units[] = {
        {"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824},
    };
    char *end;
    if (!isdigit((unsigned char)*text))
        return 0;
    *n = strtoll(text, &end, 10);
    if (*end != 'x' || !isdigit((unsigned char)end[1]))
        return 0;
    double size = strtod(end + 1, &end);
    for (int i = 0; i < 4; i++)
        if (strcmp(end, units[i].unit) == 0) {
            double elements = size * units[i].bytes / 4;
            *count = elements < (double)MOST_ELEMENTS ? (int64_t)elements : 0;
            return *n >= 1 && *n <= MOST_LAYERS && elements == floor(elements) && *count > 0;
        }
    return 0;
}

/* What can be printed anywhere; the dots in it have names on both sides. */
static int is_name(const char *name)
{
    size_t length = strlen(name);
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (quote_width(*c, 1) != 1 || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
            return 0; /* control characters; the second kind is U+0080 to U+009F in UTF-8 */
    return length < MODEL_NAME_SIZE && name[0] != '.' && name[length - 1] != '.' &&
           !strstr(name, "..");
}

static enum status read_line(struct builder *b, char *line, const char *source, int number)
{
    char layer[MODEL_NAME_SIZE], *save = NULL, *end = NULL;
    line[strcspn(line, "#\r")] = '\0';
    const struct quote found = quote_text(line);
    const char *name = strtok_r(line, " \t", &save);
    if (!name)
        return STATUS_OK;
    const char *count = strtok_r(NULL, " \t", &save), *flop = strtok_r(NULL, " \t", &save);
    int64_t elements = count && isdigit((unsigned char)*count) ? strtoll(count, &end, 10) : -1;
    double work = flop ? strtod(flop, &end) : 0;
    if (elements < 0 || elements > MOST_ELEMENTS || *end || !is_name(name) ||
        !(work >= 0 && work < 1e30) || strtok_r(NULL, " \t", &save) ||
        b->model->n_tensors == MOST_LAYERS)
        return fail(b->err, STATUS_USAGE,
                    "%s:%d: found '%s', expected NAME COUNT [FLOP], as in fc.weight 512000: a name "
                    "of less than %d printable characters, a count from 0 to 2^40, a FLOP below "
                    "1e30, and at most %d tensors", source, number, found.text, MODEL_NAME_SIZE,
                    MOST_LAYERS);
    const char *dot = strrchr(name, '.');
    snprintf(layer, sizeof layer, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
    add(b, layer, dot ? dot + 1 : "", elements, flop && elements > 0 ? work / 4 / (double)elements
                                                                     : 1);
    return b->status;
}

static int compare_names(const void *a, const void *b)
{
    const struct tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Who asks for a tensor by its name must get the one that was meant. */
static enum status refuse_twins(const struct model *m, const char *source, struct error *err)
{
    enum status status = STATUS_OK;
    const struct tensor **sorted = NULL;
    TRY(allocate((void **)&sorted, m->n_tensors, sizeof *sorted, "the model", err));
    for (int64_t i = 0; i < m->n_tensors; i++)
        sorted[i] = &m->tensors[i];
    qsort(sorted, (size_t)m->n_tensors, sizeof *sorted, compare_names);
    for (int64_t i = 1; i < m->n_tensors; i++)
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
            TRY(fail(err, STATUS_USAGE, "%s: two tensors are named '%s'; each needs its own name",
                     source, quote_text(sorted[i]->name).text));
out:
    free(sorted);
    return status;
}

static enum status read_file(struct builder *b, const char *path)
{
    enum status status = STATUS_OK;
    const struct quote source = quote_path(strcmp(path, "-") == 0 ? "standard input" : path);
    char *text = NULL, *again;
    size_t length;
    int number = 0;
    TRY(input_read(path, source.text, 1 << 26, &text, &length, b->err));
    again = realloc(text, length + 1);
    if (!again)
        TRY(fail(b->err, STATUS_MACHINE, "%s: not enough memory to read it", source.text));
    text = again;
    text[length] = '\0';
    if (strlen(text) < length)
        TRY(fail(b->err, STATUS_USAGE, "%s: is no text", source.text));
    char *begin = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text; /* a byte order mark */
    for (char *line = begin, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        TRY(read_line(b, line, source.text, ++number));
    }
    if (b->model->n_tensors == 0)
        TRY(fail(b->err, STATUS_USAGE, "%s: names no tensor", source.text));
    TRY(refuse_twins(b->model, source.text, b->err));
out:
    free(text);
    return status;
}

enum status model_open_layers(struct model *model, const char *text, struct error *err)
{
    struct builder b = {.model = model, .err = err};
    int64_t n = 0, count = 0;
    char name[MODEL_NAME_SIZE];
    memset(model, 0, sizeof *model);
    snprintf(model->name, sizeof model->name, "%.*s", MODEL_NAME_SIZE - 1, quote_path(text).text);
    if (parse_equal(text, &n, &count)) {
        for (int64_t i = 0; i < n; i++) {
            snprintf(name, sizeof name, "layer%" PRId64, i);
            add(&b, name, "", count, EQUAL_USES);
        }
    } else if (isdigit((unsigned char)*text) && strpbrk(text, "xX") && access(text, F_OK) != 0) {
        b.status = fail(err, STATUS_USAGE,
                        "--layers %s: NxSIZE is wanted, as in 20x6.25MiB: N from 1 to %d, SIZE in "
                        "B, KiB, MiB or GiB and a multiple of 4 bytes, or a file",
                        quote_text(text).text, MOST_LAYERS);
    } else {
        b.status = read_file(&b, text);
    }
    if (b.status != STATUS_OK)
        model_free(model);
    return b.status;
}
