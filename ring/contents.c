/* contents.c - hash-consed sums over stretches of elements. */
#include "ring/contents.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ring/order.h"

#define MOST_BYTES (1ll << 29) /* of terms, and of stretches */

/* ---- terms: which ranks a node holds ---- */

static int compare_group(const struct term *a, const struct term *b)
{
    if (a->iteration != b->iteration)
        return a->iteration < b->iteration ? -1 : 1;
    if (a->apart != b->apart)
        return a->apart < b->apart ? -1 : 1;
    if (a->updates != b->updates)
        return a->updates < b->updates ? -1 : 1;
    return (a->scales > b->scales) - (a->scales < b->scales);
}

/* Appends to the newest node's terms, joining runs that touch. */
static void emit(struct contents *c, int64_t first, struct term t)
{
    struct term *last = c->n_terms > first ? &c->terms[c->n_terms - 1] : NULL;
    if (last && compare_group(last, &t) == 0 && last->times == t.times &&
        last->rank + last->n_ranks == t.rank)
        last->n_ranks += t.n_ranks;
    else
        c->terms[c->n_terms++] = t;
}

/* Takes the first n ranks off a run. */
static struct term take(struct term *t, int32_t n)
{
    struct term head = *t;
    head.n_ranks = n;
    t->rank += n;
    t->n_ranks -= n;
    return head;
}

static int32_t add_times(int32_t a, int32_t b) { return a > INT32_MAX - b ? INT32_MAX : a + b; }

/* Both lists are sorted by group, then rank, without overlap inside a group; so is the result. */
static void merge_terms(struct contents *c, int64_t first, const struct term *a, int n_a,
                        const struct term *b, int n_b, int64_t apart)
{
    struct term x = {0}, y = {0};
    int i = 0, j = 0;
    for (;;) {
        if (x.n_ranks == 0 && i < n_a)
            x = a[i++];
        if (y.n_ranks == 0 && j < n_b) {
            y = b[j++];
            y.apart += apart;
        }
        if (x.n_ranks == 0 && y.n_ranks == 0)
            return;
        int order = x.n_ranks == 0 ? 1 : y.n_ranks == 0 ? -1 : compare_group(&x, &y);
        if (order < 0 || (order == 0 && x.rank + x.n_ranks <= y.rank)) {
            emit(c, first, take(&x, x.n_ranks));
        } else if (order > 0 || y.rank + y.n_ranks <= x.rank) {
            emit(c, first, take(&y, y.n_ranks));
        } else if (x.rank < y.rank) {
            emit(c, first, take(&x, y.rank - x.rank));
        } else if (y.rank < x.rank) {
            emit(c, first, take(&y, x.rank - y.rank));
        } else {
            int32_t n = x.n_ranks < y.n_ranks ? x.n_ranks : y.n_ranks;
            struct term both = take(&x, n);
            both.times = add_times(both.times, take(&y, n).times);
            emit(c, first, both);
        }
    }
}

/* ---- nodes ---- */

static uint64_t hash_node(const struct node *n)
{
    uint64_t h = (uint64_t)n->kind;
    h = (h ^ (uint32_t)n->left) * 0x9e3779b97f4a7c15ull;
    h = (h ^ (h >> 29) ^ (uint32_t)n->right) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ (h >> 32) ^ (uint64_t)n->apart) * 0x94d049bb133111ebull;
    return h ^ (h >> 31);
}

static enum status grow_table(struct contents *c, struct error *err)
{
    int64_t size = c->table_size ? c->table_size * 2 : 1024;
    int32_t *table;
    enum status status = allocate((void **)&table, size, sizeof *table, "the proof", err);
    if (status != STATUS_OK)
        return status;
    for (int64_t i = 0; i < size; i++)
        table[i] = NONE;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        int64_t at = (int64_t)(hash_node(&c->nodes[i]) & (uint64_t)(size - 1));
        c->nodes[i].next = table[at];
        table[at] = i;
    }
    free(c->table);
    c->table = table;
    c->table_size = size;
    return STATUS_OK;
}

static enum status add_terms(struct contents *c, struct node *n, struct error *err)
{
    const struct node *l = n->kind == NODE_LEAF ? NULL : &c->nodes[n->left];
    const struct node *r = n->kind == NODE_SUM ? &c->nodes[n->right] : NULL;
    /* merging cuts each run at most once per run of the other side */
    int64_t most = l ? 2 * ((int64_t)l->n_terms + (r ? r->n_terms : 0)) + 1 : 1;
    c->work += 32 * most;
    if (c->n_terms + most > MOST_BYTES / (int64_t)sizeof *c->terms)
        return fail(err, STATUS_MACHINE,
                    "too much to prove: the plan makes sums of too many different contributions, "
                    "more than %lld MiB of them", MOST_BYTES >> 20);
    enum status status = make_room((void **)&c->terms, c->n_terms + most, &c->terms_capacity,
                                   sizeof *c->terms, "the proof", err);
    if (status != STATUS_OK)
        return status;
    n->first_term = c->n_terms;
    if (n->kind == NODE_LEAF)
        c->terms[c->n_terms++] =
            (struct term){.rank = n->left, .n_ranks = 1, .times = 1, .iteration = n->right};
    else
        merge_terms(c, n->first_term, c->terms + l->first_term, l->n_terms,
                    r ? c->terms + r->first_term : NULL, r ? r->n_terms : 0, n->apart);
    n->n_terms = (int32_t)(c->n_terms - n->first_term);
    for (int64_t i = n->first_term; n->kind == NODE_SCALE && i < c->n_terms; i++)
        if (n->right == NODE_OF_UPDATE)
            c->terms[i].updates++;
        else
            c->terms[i].scales++;
    return STATUS_OK;
}

/* The node equal to n, made where there is none yet. */
static enum status intern(struct contents *c, struct node n, int32_t *out, struct error *err)
{
    enum status status = STATUS_OK;
    if (c->n_nodes >= c->table_size)
        TRY(grow_table(c, err));
    int64_t at = (int64_t)(hash_node(&n) & (uint64_t)(c->table_size - 1));
    for (int32_t i = c->table[at]; i != NONE; i = c->nodes[i].next) {
        const struct node *m = &c->nodes[i];
        if (m->kind == n.kind && m->left == n.left && m->right == n.right && m->apart == n.apart) {
            *out = i;
            return STATUS_OK;
        }
    }
    if (c->n_nodes == INT32_MAX)
        return fail(err, STATUS_MACHINE, "the plan makes more than %d different sums", INT32_MAX);
    TRY(make_room((void **)&c->nodes, c->n_nodes + 1, &c->nodes_capacity, sizeof *c->nodes,
                  "the proof", err));
    TRY(add_terms(c, &n, err));
    n.next = c->table[at];
    c->table[at] = *out = (int32_t)c->n_nodes;
    c->nodes[c->n_nodes++] = n;
out:
    return status;
}

static enum status leaf(struct contents *c, int rank, int iteration, int32_t *out,
                        struct error *err)
{
    return intern(c, (struct node){.kind = NODE_LEAF, .left = rank, .right = iteration}, out, err);
}

static enum status scaled(struct contents *c, int32_t node, int32_t how, int32_t *out,
                          struct error *err)
{
    return intern(c, (struct node){.kind = NODE_SCALE, .left = node, .right = how}, out, err);
}

/* ---- memories ---- */

enum status contents_init(struct contents *c, const struct plan *plan, struct error *err)
{
    enum status status = STATUS_OK;
    *c = (struct contents){.plan = plan};
    TRY(allocate((void **)&c->memories, (int64_t)plan->n_ranks * N_MEMORIES, sizeof *c->memories,
                 "the proof", err));
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        struct extent own = {.writer = NONE, .readers = NONE};
        struct extent nothing = {.writer = NONE, .readers = NONE, .node = NONE};
        TRY(leaf(c, rank, 0, &own.node, err));
        TRY(extents_init(contents_memory(c, rank, MEMORY_DATA), plan->count, own, err));
        TRY(extents_init(contents_memory(c, rank, MEMORY_INBOX), plan->inbox_count, nothing, err));
    }
out:
    return status;
}

void contents_free(struct contents *c)
{
    for (int i = 0; c->memories && i < c->plan->n_ranks * N_MEMORIES; i++)
        extents_free(&c->memories[i]);
    free(c->memories);
    free(c->nodes);
    free(c->terms);
    free(c->table);
    memset(c, 0, sizeof *c);
}

/* What comes to stand in a stretch of dst when `op` meets what it holds and what src holds there */
static enum status result(struct contents *c, const struct op *op, struct extent old,
                          struct extent src, struct extent *out, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t shift = src.shift + op->src.first - op->dst.first; /* src's, seen from dst's place */
    *out = old;
    switch (op->kind) {
    case OP_COPY:
        out->node = src.node;
        out->shift = shift;
        return STATUS_OK;
    case OP_COMPUTE:
        out->shift = 0;
        TRY(leaf(c, op->dst.rank, op->iteration, &out->node, err));
        return op->scaled ? scaled(c, out->node, NONE, &out->node, err) : STATUS_OK;
    case OP_SCALE:
    case OP_UPDATE:
        return old.node == NONE ? STATUS_OK
                                : scaled(c, old.node, op->kind == OP_UPDATE ? NODE_OF_UPDATE : NONE,
                                         &out->node, err);
    default:
        out->node = NONE;
        return old.node == NONE || src.node == NONE
                   ? STATUS_OK
                   : intern(c,
                            (struct node){.kind = NODE_SUM, .left = old.node, .right = src.node,
                                          .apart = shift - old.shift},
                            &out->node, err);
    }
out:
    return status;
}

enum status contents_apply(struct contents *c, const struct op *op, struct error *err)
{
    enum status status = STATUS_OK;
    struct extents *dst = contents_memory(c, op->dst.rank, op->dst.memory);
    int64_t length;
    for (int64_t done = 0; done < op->dst.count; done += length) {
        struct extent from = {.node = NONE};
        length = op->dst.count - done;
        if (op->src.count > 0) {
            struct extents *src = contents_memory(c, op->src.rank, op->src.memory);
            int64_t place = op->src.first + done, i = extents_find(src, place);
            int64_t rest = src->items[i].first + extents_length(src, i) - place;
            from = src->items[i];
            length = rest < length ? rest : length;
        }
        int64_t begin, end;
        int64_t before = dst->n;
        TRY(extents_cut(dst, op->dst.first + done, length, &begin, &end, &c->work, err));
        c->n_extents += dst->n - before;
        c->work += 16 * (end - begin);
        if (c->n_extents > MOST_BYTES / (int64_t)sizeof *dst->items || c->work > ORDER_MAX_WORK)
            TRY(fail(err, STATUS_MACHINE,
                     "too much to prove: the plan cuts the ranks' memories in too many pieces "
                     "(%" PRId64 " so far)", c->n_extents));
        for (int64_t i = begin; i < end; i++) {
            struct extent now;
            TRY(result(c, op, dst->items[i], from, &now, err));
            dst->items[i] = now;
        }
    }
out:
    return status;
}

/* ---- questions ---- */

int contents_is_sum(const struct contents *c, const struct extent *extent, int iteration,
                    int scales, int updates)
{
    if (extent->node == NONE || extent->shift != 0 || c->nodes[extent->node].n_terms != 1)
        return 0;
    const struct term *t = &c->terms[c->nodes[extent->node].first_term];
    return t->rank == 0 && t->n_ranks == c->plan->n_ranks && t->times == 1 && t->apart == 0 &&
           t->scales == scales && t->updates == updates && t->iteration == iteration;
}

int contents_newest(const struct contents *c, int32_t node)
{
    int newest = NONE;
    for (int i = 0; node != NONE && i < c->nodes[node].n_terms; i++) {
        int iteration = c->terms[c->nodes[node].first_term + i].iteration;
        newest = iteration > newest ? iteration : newest;
    }
    return newest;
}

int contents_rank(const struct contents *c, const struct extent *extent)
{
    const struct node *node = extent->node == NONE ? NULL : &c->nodes[extent->node];
    return node && node->kind == NODE_LEAF && extent->shift == 0 ? node->left : NONE;
}

int contents_is_rank(const struct contents *c, const struct extent *extent, int iteration, int rank)
{
    return contents_rank(c, extent) == rank && c->nodes[extent->node].right == iteration;
}

int contents_complete(const struct contents *c, const struct extent *extent, int iteration)
{
    return contents_is_sum(c, extent, iteration, contents_scaled(c->plan), c->plan->updates);
}

const char *contents_ranks(const struct contents *c, int32_t node, char *buffer, size_t size)
{
    char piece[64];
    size_t used = 0;
    snprintf(buffer, size, "-");
    for (int i = 0; node != NONE && i < c->nodes[node].n_terms; i++) {
        const struct term *t = &c->terms[c->nodes[node].first_term + i];
        int last = t->rank + t->n_ranks - 1;
        if (t->n_ranks == 1 && t->times == 2)
            snprintf(piece, sizeof piece, "%d+%d", t->rank, t->rank);
        else if (t->n_ranks == 1 && t->times == 1)
            snprintf(piece, sizeof piece, "%d", t->rank);
        else if (t->n_ranks == 1)
            snprintf(piece, sizeof piece, "%d*%d", t->times, t->rank);
        else if (t->times > 1)
            snprintf(piece, sizeof piece, "%d*(%d..%d)", t->times, t->rank, last);
        else
            snprintf(piece, sizeof piece, t->n_ranks == 2 ? "%d+%d" : "%d..%d", t->rank, last);
        size_t length = strlen(piece) + (i > 0);
        if (used + length + 3 > size) {
            snprintf(buffer + used, size - used, "..");
            break;
        }
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? "+" : "", piece);
    }
    return buffer;
}
