/* explain.c - why every tensor is in its bucket. */
#include <inttypes.h>

#include "overlap/step_parts.h"

#define NAME_WIDTH 44

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static void print_tensor(const struct step *p, const struct tensor *t, int64_t together)
{
    int64_t bytes = t->count * (int64_t)dtype_size(p->s->dtype);
    if (fprintf(p->out, "  %-*s", NAME_WIDTH, t->name) > NAME_WIDTH + 2)
        fprintf(p->out, "\n  %-*s", NAME_WIDTH, "");
    fprintf(p->out, " %12" PRId64 " bytes, together %12" PRId64 "\n", bytes, together);
}

/* Small caps in bytes: 0.0 MiB would say nothing. */
static void print_end(const struct step *p, int k, const struct tensor *last)
{
    const struct bucket *b = &p->buckets.items[k];
    if (!b->cap || b->bytes < b->cap)
        fprintf(p->out, "  closed bucket %d at the end: no tensor is left (%.1f MiB)\n", k,
                step_mib(b->bytes));
    else if (step_mib(b->cap) < 0.1)
        fprintf(p->out, "  closed bucket %d after %s: %" PRId64 " >= %" PRId64 " bytes\n", k,
                last->name, b->bytes, b->cap);
    else
        fprintf(p->out, "  closed bucket %d after %s: %.1f >= %.1f MiB\n", k, last->name,
                step_mib(b->bytes), step_mib(b->cap));
}

void step_explain(const struct step *p)
{
    const struct buckets *b = &p->buckets;
    const struct model *m = &p->model;
    int64_t element = (int64_t)dtype_size(p->s->dtype);
    fprintf(p->out, "%s:%s%" PRId64 " tensor%s in %" PRId64 " layer%s, %" PRId64 " elements of %s, "
            "%" PRId64 " bytes\nrule %s; gradients get ready in the reverse of the order of "
            "registration\n", m->name, step_break(p), m->n_tensors, plural(m->n_tensors),
            m->n_layers, plural(m->n_layers), m->count, dtype_name(p->s->dtype), m->count * element,
            bucket_rule_name(p->rule));
    for (int k = 0; k < b->n; k++) {
        const struct bucket *bucket = &b->items[k];
        const struct tensor *t = NULL;
        int64_t bytes = 0;
        fprintf(p->out, "\nbucket %d of %d in launch order (B%d in the article's count), ", k, b->n,
                b->n - 1 - k);
        if (bucket->cap)
            fprintf(p->out, "cap %.6g MiB\n", step_mib(bucket->cap));
        else
            fprintf(p->out, "no cap\n");
        for (int i = 0; i < bucket->n; i++) {
            t = &m->tensors[b->order[bucket->first + i]];
            bytes += t->count * element;
            print_tensor(p, t, bytes);
        }
        print_end(p, k, t);
    }
}
