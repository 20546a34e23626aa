/* bucket.h - which gradients travel together: tensors packed into buckets, and why each bucket ends
 * where it does. Pure: nothing is run, and nothing is asked of the machine.
 *
 * The rule is that of PyTorch's DistributedDataParallel (compute_bucket_assignment_by_size in
 * torch/csrc/distributed/c10d/reducer.cpp): tensors are taken one after the other, a tensor is
 * appended, and then the bucket closes when it holds as many bytes as its cap or more; a tensor is
 * never split; the first bucket may have a smaller cap, so that communication begins early.
 * Gradients become ready in the reverse of the order in which the tensors were registered, about;
 * DDP sees the real order in the first iteration, and packs anew by it. A bucket_cap_mb that a user
 * gives replaces the first bucket's cap, too (torch/nn/parallel/distributed.py, in the versions in
 * which its default is None).
 */
#ifndef OVERLAP_BUCKET_H
#define OVERLAP_BUCKET_H

#include "overlap/model.h"

enum bucket_rule {
    BUCKETS_PYTORCH,  /* caps: 1 MiB for the first bucket, then 25 MiB; in ready order */
    BUCKETS_EXPLICIT, /* the same with a cap that was given: it is the first one's, too */
    BUCKETS_ONE,      /* everything in one: as in DDP's first iteration */
    N_BUCKET_RULES
};

struct bucket {
    int first, n;      /* positions in buckets.order */
    int64_t bytes;     /* of the gradients in it */
    int64_t cap;       /* bytes at which it closes; 0: none */
    int64_t begin;     /* elements of all buckets before it: where its gradients lie in the data */
    int64_t count;     /* elements */
};

struct buckets {
    int *order;        /* owned, [n_tensors]: tensors in the order in which they get ready */
    int n_tensors;
    struct bucket *items; /* owned; in launch order. The article counts them from the end: B3..B0 */
    int n;
};

/* Packs sizes[0 .. n-1] (bytes; of types[i], which are not mixed) in this order: group[i] gets the
 * number of its bucket, counted by where each bucket begins. The first bucket of a type closes at
 * caps[0], the second at caps[1], .., the last cap serves all further ones. Returns how many
 * buckets there are. */
int bucket_assign(const int64_t *sizes, const int *types, int n, const int64_t *caps, int n_caps,
                  int *group);

/* The buckets of a model whose elements have `element_bytes`. Caps in bytes, > 0. */
enum status buckets_open(struct buckets *buckets, const struct model *model, int element_bytes,
                         enum bucket_rule rule, int64_t first_cap, int64_t cap,
                         struct error *err);
void buckets_free(struct buckets *buckets); /* also of zeroed ones */

/* The bucket of a tensor of the model; buckets->n where tensor is NULL. */
int buckets_find(const struct buckets *buckets, const struct model *model,
                 const struct tensor *tensor);

/* The last bucket with elements, which is the last that travels; the first where none has any. */
int buckets_last(const struct buckets *buckets);

const char *bucket_rule_name(enum bucket_rule rule); /* "pytorch-explicit" */

#endif
