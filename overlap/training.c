/* training.c - from models, buckets and figures to what a scene holds. */
#include "overlap/training.h"

#include <stdlib.h>

enum status training_open(struct scene_training *t, const struct model *model,
                          const struct buckets *buckets, const struct figures *figures,
                          int n_ranks, struct error *err)
{
    enum status status = STATUS_OK;
    const char **layers = NULL;
    struct scene_bucket *items = NULL;
    struct scene_figures *ranks = NULL;
    *t = (struct scene_training){.model = model->name, .slow = ""};
    TRY(allocate((void **)&layers, model->n_layers, sizeof *layers, "the trace", err));
    t->layers = layers;
    TRY(allocate((void **)&items, buckets->n, sizeof *items, "the trace", err));
    t->buckets = items;
    TRY(allocate((void **)&ranks, n_ranks, sizeof *ranks, "the trace", err));
    t->figures = ranks;
    for (; t->n_layers < model->n_layers; t->n_layers++)
        layers[t->n_layers] = model->layers[t->n_layers].name;
    for (; t->n_buckets < buckets->n; t->n_buckets++) {
        const struct bucket *b = &buckets->items[t->n_buckets];
        items[t->n_buckets] = (struct scene_bucket){b->bytes, b->begin, b->count};
    }
    for (int rank = 0; rank < n_ranks; rank++)
        ranks[rank] = (struct scene_figures){
            .compute_ns = figures[rank].compute, .communication_ns = figures[rank].communication,
            .hidden_ns = figures[rank].hidden, .exposed_ns = figures[rank].exposed};
out:
    return status;
}

void training_free(struct scene_training *t)
{
    free((void *)t->layers);
    free((void *)t->buckets);
    free((void *)t->figures);
    *t = (struct scene_training){.n_layers = 0};
}
