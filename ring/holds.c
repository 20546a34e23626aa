/* holds.c - a walk over the plan that notes, in words, what each op leaves behind. */
#include "ring/holds.h"

#include <stdlib.h>
#include <string.h>

enum status holds_open(struct holds *h, const struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    *h = (struct holds){.plan = plan};
    TRY(order_open(&h->order, plan, err));
    TRY(contents_init(&h->contents, plan, err));
    TRY(allocate((void **)&h->after, plan->n_ops, sizeof *h->after, "the trace", err));
out:
    return status;
}

void holds_close(struct holds *h)
{
    if (!h->plan)
        return;
    free(h->after);
    contents_free(&h->contents);
    order_close(&h->order);
    memset(h, 0, sizeof *h);
}

/* Is the sum of all ranks there, but perhaps for the optimizer's division? */
static int is_complete(const struct contents *c, const struct extent *extent)
{
    int scales = contents_scaled(c->plan), complete = 0;
    if (extent->node == NONE || c->plan->n_ranks == 1)
        return 0;
    int iteration = c->terms[c->nodes[extent->node].first_term].iteration;
    for (int updates = 0; updates <= c->plan->updates; updates++)
        complete |= contents_is_sum(c, extent, iteration, scales, updates);
    return complete;
}

/* Whose contributions a stretch holds: "0+1", or "all" where the sum is complete. */
static const char *whose(const struct contents *c, const struct extent *extent, char *buffer,
                         size_t size)
{
    if (!is_complete(c, extent))
        return contents_ranks(c, extent->node, buffer, size);
    snprintf(buffer, size, "all");
    return buffer;
}

enum status holds_run(struct holds *h, int64_t end, struct error *err)
{
    enum status status = STATUS_OK;
    for (; h->done < end; h->done++) {
        int64_t id = order_at(&h->order, h->done);
        const struct op *op = &h->plan->ops[id];
        struct extents *memory = contents_memory(&h->contents, op->dst.rank, op->dst.memory);
        TRY(contents_apply(&h->contents, op, err));
        if (op->dst.count > 0)
            whose(&h->contents, &memory->items[extents_find(memory, op->dst.first)],
                  h->after[id], HOLDS_SIZE);
    }
out:
    return status;
}

/* Do all elements of a segment hold the same? */
static int alike(const struct contents *c, struct extents *memory, int64_t first, int64_t count)
{
    char a[HOLDS_SIZE], b[HOLDS_SIZE];
    int64_t i = extents_find(memory, first);
    whose(c, &memory->items[i], a, sizeof a);
    for (i++; i < memory->n && memory->items[i].first < first + count; i++)
        if (strcmp(whose(c, &memory->items[i], b, sizeof b), a) != 0)
            return 0;
    return 1;
}

const char *holds_segment(const struct holds *h, int rank, int segment, int *mixed, char *buffer,
                          size_t size)
{
    struct extents *memory = contents_memory(&h->contents, rank, MEMORY_DATA);
    int64_t first, count;
    plan_part(0, h->plan->count, h->plan->n_ranks, segment, &first, &count);
    *mixed = !alike(&h->contents, memory, first, count);
    return whose(&h->contents, &memory->items[extents_find(memory, first)], buffer, size);
}
