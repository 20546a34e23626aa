/* extents.c - a sorted array; cutting moves the tail up by one. */
#include "ring/extents.h"

#include <stdlib.h>
#include <string.h>

enum status extents_init(struct extents *memory, int64_t count, struct extent all,
                         struct error *err)
{
    memset(memory, 0, sizeof *memory);
    enum status status = allocate((void **)&memory->items, 1, sizeof all, "the proof", err);
    if (status == STATUS_OK) {
        all.first = 0;
        memory->items[0] = all;
        memory->n = memory->capacity = 1;
        memory->count = count;
    }
    return status;
}

void extents_free(struct extents *memory)
{
    free(memory->items);
    memset(memory, 0, sizeof *memory);
}

int64_t extents_length(const struct extents *memory, int64_t i)
{
    return (i + 1 < memory->n ? memory->items[i + 1].first : memory->count) -
           memory->items[i].first;
}

static int holds(const struct extents *memory, int64_t i, int64_t element)
{
    return i < memory->n && memory->items[i].first <= element &&
           (i + 1 == memory->n || element < memory->items[i + 1].first);
}

int64_t extents_find(struct extents *memory, int64_t element)
{
    int64_t low = 0, high = memory->n; /* items[low].first <= element < items[high].first */
    for (int64_t i = memory->near; i < memory->near + 2; i++)
        if (holds(memory, i, element))
            return memory->near = i;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (memory->items[middle].first <= element)
            low = middle;
        else
            high = middle;
    }
    return memory->near = low;
}

/* Makes `element` the first of a stretch; *index gets that stretch. */
static enum status cut_at(struct extents *memory, int64_t element, int64_t *index, int64_t *work,
                          struct error *err)
{
    int64_t i = extents_find(memory, element);
    *work += 32;
    if (memory->items[i].first != element) {
        enum status status = make_room((void **)&memory->items, memory->n + 1, &memory->capacity,
                                       sizeof *memory->items, "the proof", err);
        if (status != STATUS_OK)
            return status;
        i++;
        memmove(memory->items + i + 1, memory->items + i,
                (size_t)(memory->n - i) * sizeof *memory->items);
        *work += 8 * (memory->n - i);
        memory->n++;
        memory->items[i - 1].shared = 1;
        memory->items[i] = memory->items[i - 1];
        memory->items[i].first = element;
    }
    *index = memory->near = i;
    return STATUS_OK;
}

enum status extents_cut(struct extents *memory, int64_t first, int64_t count, int64_t *from,
                        int64_t *to, int64_t *work, struct error *err)
{
    enum status status = STATUS_OK;
    TRY(cut_at(memory, first, from, work, err));
    if (first + count == memory->count)
        *to = memory->n;
    else
        TRY(cut_at(memory, first + count, to, work, err));
    memory->near = *from;
out:
    return status;
}
