/* bucket.c - append, then close when the cap is reached. */
#include "overlap/bucket.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TYPES 8

int bucket_assign(const int64_t *sizes, const int *types, int n, const int64_t *caps, int n_caps,
                  int *group)
{
    struct { int open, closed; int64_t bytes; } of_type[MOST_TYPES] = {{0, 0, 0}};
    int n_buckets = 0;
    for (int i = 0; i < n; i++) {
        int type = types ? types[i] % MOST_TYPES : 0;
        if (of_type[type].bytes < 0 || of_type[type].open == 0) { /* a new bucket, from 1 */
            of_type[type].open = ++n_buckets;
            of_type[type].bytes = 0;
        }
        group[i] = of_type[type].open - 1;
        of_type[type].bytes += sizes[i];
        int closed = of_type[type].closed;
        if (of_type[type].bytes >= caps[closed < n_caps ? closed : n_caps - 1]) {
            of_type[type].bytes = -1;
            of_type[type].closed++;
        }
    }
    return n_buckets;
}

static const char *const rule_names[] = {"pytorch", "pytorch-explicit", "one"};
const char *bucket_rule_name(enum bucket_rule rule) { return rule_names[rule]; }

void buckets_free(struct buckets *b)
{
    free(b->order);
    free(b->items);
    memset(b, 0, sizeof *b);
}

enum status buckets_open(struct buckets *b, const struct model *model, int element_bytes,
                         enum bucket_rule rule, int64_t first_cap, int64_t cap, struct error *err)
{
    enum status status = STATUS_OK;
    int n = (int)model->n_tensors, *group = NULL;
    int64_t *sizes = NULL;
    const int64_t caps[] = {rule == BUCKETS_ONE    ? INT64_MAX
                            : rule == BUCKETS_EXPLICIT ? cap
                                                       : first_cap,
                            cap};
    memset(b, 0, sizeof *b);
    TRY(allocate((void **)&b->order, n, sizeof *b->order, "buckets", err));
    TRY(allocate((void **)&b->items, n + 1, sizeof *b->items, "buckets", err));
    TRY(allocate((void **)&group, n, sizeof *group, "buckets", err));
    TRY(allocate((void **)&sizes, n, sizeof *sizes, "buckets", err));
    b->n_tensors = n;
    for (int i = 0; i < n; i++) {
        b->order[i] = n - 1 - i;
        sizes[i] = model->tensors[b->order[i]].count * element_bytes;
    }
    b->n = bucket_assign(sizes, NULL, n, caps, 2, group);
    for (int i = 0; i < n; i++) {
        struct bucket *k = &b->items[group[i]];
        if (k->n++ == 0) {
            k->first = i;
            k->cap = rule == BUCKETS_ONE ? 0 : caps[group[i] > 0];
            k->begin = i == 0 ? 0 : b->items[group[i] - 1].begin + b->items[group[i] - 1].count;
        }
        k->bytes += sizes[i];
        k->count += model->tensors[b->order[i]].count;
    }
out:
    free(group);
    free(sizes);
    if (status != STATUS_OK)
        buckets_free(b);
    return status;
}

int buckets_find(const struct buckets *b, const struct model *model, const struct tensor *tensor)
{
    for (int k = 0; k < b->n; k++)
        for (int i = b->items[k].first; i < b->items[k].first + b->items[k].n; i++)
            if (&model->tensors[b->order[i]] == tensor)
                return k;
    return b->n;
}

int buckets_last(const struct buckets *b)
{
    int last = b->n - 1;
    while (last > 0 && b->items[last].count == 0)
        last--;
    return last;
}
