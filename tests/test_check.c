/* test_check.c - the proof objects to what is wrong, names the ops, and to nothing else. */
#include <stdio.h>

#include "tests/plans.h"
#include "tests/suites.h"

/* Some finding of this kind, as a sentence, says `what`. */
static void assert_says(const struct plan *plan, enum finding_kind kind, const char *what)
{
    struct proof proof = prove(plan);
    char text[FINDING_TEXT_SIZE] = "(no finding of this kind)";
    int said = 0;
    for (int i = 0; i < proof.n_findings && !said; i++)
        if (proof.findings[i].kind == kind)
            said = strstr(finding_text(plan, &proof.findings[i], text, sizeof text), what) != NULL;
    ck_assert_msg(said, "'%s' is not in '%s'", what, text);
    proof_free(&proof);
}

/* All deleted waits of one op. */
static void forget_waits(struct plan *plan, int64_t op) { plan->ops[op].n_waits = 0; }

START_TEST(an_add_that_does_not_wait_for_its_copy)
{
    for (int n = 2; n <= 5; n++) {
        struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
        forget_waits(&plan, find_op(&plan, OP_REDUCE, 0, 1));
        assert_says(&plan, FINDING_READ_AFTER_WRITE,
                    "s0.reduce.r1 should wait for s0.copy.r0: arrived");
        plan_free(&plan);
    }
}
END_TEST

START_TEST(a_copy_that_does_not_wait_for_the_add)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 4, .count = 16});
    forget_waits(&plan, find_op(&plan, OP_COPY, 1, 2));
    assert_says(&plan, FINDING_READ_AFTER_WRITE,
                "s1.copy.r2 reads 2.data[4:8], which s0.reduce.r2 may not have written yet; "
                "s1.copy.r2 should wait for s0.reduce.r2: ready");
    plan_free(&plan);
}
END_TEST

/* With S slots the first place is used again at step S: without `drained` the race is there. */
START_TEST(an_inbox_place_used_again_too_early)
{
    for (int slots = 1; slots <= 2; slots++) {
        struct plan plan =
            make_plan((struct ring_shape){.n_ranks = 4, .count = 16, .slots = slots});
        int64_t copy = find_op(&plan, OP_COPY, slots, 0);
        for (int i = 0; i < plan.ops[copy].n_waits; i++)
            if (plan.waits[plan.ops[copy].first_wait + i].reason == WAIT_DRAINED)
                take_wait(&plan, copy, i);
        char wanted[96];
        snprintf(wanted, sizeof wanted, "s%d.copy.r0 should wait for s0.reduce.r1: drained", slots);
        assert_says(&plan, FINDING_WRITE_AFTER_READ, wanted);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(two_writers_of_one_place)
{
    struct plan plan = read_plan("plan 1\nranks 3\ncount 3\n"
                                 "a: copy 0.data[0:2] -> 2.data[0:2]\n"
                                 "b: copy 1.data[0:2] -> 2.data[1:3]\n");
    assert_says(&plan, FINDING_WRITE_AFTER_WRITE, "b and a both write 2.data[1:2]");
    plan_free(&plan);
}
END_TEST

START_TEST(reading_together_is_no_hazard)
{
    struct plan plan = read_plan("plan 1\nranks 3\ncount 3\n"
                                 "a: copy 0.data[0:2] -> 1.data[0:2]\n"
                                 "b: copy 0.data[0:2] -> 2.data[0:2] lane 0.reduce\n");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof_hazards(&proof), 0);
    proof_free(&proof);
    plan_free(&plan);
}
END_TEST

START_TEST(a_rank_added_twice)
{
    for (int n = 2; n <= 5; n++) {
        struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
        /* the same add again, right behind itself on its lane */
        struct op again = plan.ops[find_op(&plan, OP_REDUCE, n - 2, 1)];
        struct wait waits[2];
        int n_waits = again.n_waits;
        memcpy(waits, plan.waits + again.first_wait, sizeof *waits * (size_t)n_waits);
        ck_assert_int_eq(plan_append(&plan, again, waits, n_waits, NULL, NULL), STATUS_OK);
        struct proof proof = prove(&plan);
        ck_assert_int_gt(proof.counts[FINDING_SUM], 0);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(one_element_of_one_segment_missed)
{
    for (int n = 2; n <= 5; n++)
        for (int step = 0; step < 2 * (n - 1); step++) {
            struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
            struct op *op = &plan.ops[find_op(&plan, OP_COPY, step, n - 1)];
            op->src.count--;
            op->dst.count--;
            struct proof proof = prove(&plan);
            ck_assert_msg(proof_total(&proof) > 0, "N=%d, step %d", n, step);
            proof_free(&proof);
            plan_free(&plan);
        }
}
END_TEST

START_TEST(an_add_dropped_shows_who_is_missing)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 3, .count = 6});
    struct op *op = &plan.ops[find_op(&plan, OP_REDUCE, 1, 0)];
    op->src.count = op->dst.count = 0;
    assert_says(&plan, FINDING_SUM,
                "at the end data[2:4] of ranks 0..2 holds 0: ranks 1..2 are missing;");
    plan_free(&plan);
}
END_TEST

/* The article's all-gather sends segment (r - s - 1) where (r + 1 - s) is right: at N = 2 the same.
 */
START_TEST(the_gather_index_is_right_by_luck_on_two)
{
    for (int n = 2; n <= 5; n++) {
        struct plan plan = make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n});
        for (int64_t id = 0; id < plan.n_ops; id++) {
            struct op *op = &plan.ops[id];
            if (op->step >= n - 1) {
                int segment = (op->rank - (op->step - (n - 1)) - 1 + 2 * n) % n;
                op->src.first = op->dst.first = 4 * segment;
            }
        }
        struct proof proof = prove(&plan);
        ck_assert_int_eq(proof_total(&proof) > 0, n > 2);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

/* The sentence speaks of the whole stretch, also where it grew. */
START_TEST(elements_from_elsewhere_in_several_stretches)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 8\ngoal broadcast 0\n"
                                 "z: copy 0.data -> 1.data\n"
                                 "y: compute 1.data[6:8] after z arrived\n"
                                 "a: copy 0.data[0:4] -> 1.data[4:8] after y ready\n");
    assert_says(&plan, FINDING_SUM,
                "1.data[4:8] holds rank 0's: rank 0's are its elements [0:4]");
    plan_free(&plan);
}
END_TEST

START_TEST(elements_from_elsewhere)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 2\ninbox 2\n"
                                 "a: copy 0.data[0:1] -> 1.inbox[0:1]\n"
                                 "b: reduce 1.inbox[0:1] -> 1.data[1:2] after a arrived\n");
    assert_says(&plan, FINDING_SUM, "1.data[1:2] holds 0+1: rank 0's are its elements [0:1]");
    plan_free(&plan);
}
END_TEST

START_TEST(an_inbox_read_before_anything_landed)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 1\ninbox 1\n"
                                 "b: reduce 1.inbox[0:1] -> 1.data[0:1]\n");
    assert_says(&plan, FINDING_UNWRITTEN, "b reads 1.inbox[0:1], which nobody has written before");
    assert_says(&plan, FINDING_SUM, "1.data[0:1] holds something that nobody wrote");
    plan_free(&plan);
}
END_TEST

START_TEST(an_average_is_scaled_exactly_once)
{
    for (int type = 0; type < N_DTYPES; type++)
        for (int times = 0; times <= 2; times += 2) {
            struct plan plan = make_plan((struct ring_shape){
                .n_ranks = 3, .count = 9, .redop = REDOP_AVG, .dtype = (enum dtype)type});
            assert_proven(&plan);
            for (int64_t id = plan.n_ops - 1; id >= 0; id--)
                if (plan.ops[id].kind == OP_SCALE && times == 0)
                    plan.ops[id].kind = OP_COMPUTE; /* of the same data: changes nothing but that */
            if (times == 2) {
                struct op again = {.kind = OP_SCALE, .lane = LANE_SEND, .step = NONE,
                                   .segment = NONE, .bucket = NONE, .piece = NONE,
                                   .dst = {0, MEMORY_DATA, 0, 9}};
                struct wait after[] = {{plan.n_ops - 1, WAIT_READY}, {plan.n_ops - 2, WAIT_READY},
                                       {plan.n_ops - 3, WAIT_READY}};
                ck_assert_int_eq(plan_append(&plan, again, after, 3, NULL, NULL), STATUS_OK);
            }
            struct proof proof = prove(&plan);
            ck_assert_int_gt(proof_total(&proof), 0);
            proof_free(&proof);
            plan_free(&plan);
        }
}
END_TEST

START_TEST(integers_divided_too_early)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 1\ninbox 1\ndtype int32\nredop avg\n"
                                 "z: scale 0.data[0:1]\n");
    assert_says(&plan, FINDING_SCALE, "z divides 0.data[0:1], which holds 0");
    plan_free(&plan);
}
END_TEST

START_TEST(spans_that_leave_their_memory)
{
    static const char *const ops[] = {
        "x: copy 0.data[3:5] -> 1.data[3:5]\n", "x: copy 0.data[0:1] -> 1.inbox[0:1]\n",
        "x: copy 0.data[0:2] -> 0.data[1:3]\n", "x: copy 0.data[9:9] -> 1.data[0:0]\n",
        "x: scale 0.data[0:1] lane 1.reduce\n"};
    for (int i = 0; i < 5; i++) {
        char text[128];
        snprintf(text, sizeof text, "plan 1\nranks 2\ncount 4\n%s", ops[i]);
        struct plan plan = read_plan(text);
        struct proof proof = prove(&plan);
        ck_assert_int_eq(proof_can_run(&proof), i == 3);
        ck_assert_int_eq(proof.counts[FINDING_SPAN], i < 3);
        ck_assert_int_eq(proof.counts[FINDING_LANE], i == 4);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(ops_that_wait_in_a_circle)
{
    struct plan plan = read_plan("plan 1\nranks 3\ncount 3\n"
                                 "a: copy 0.data[0:1] -> 1.data[0:1] after c arrived\n"
                                 "b: copy 1.data[1:2] -> 2.data[1:2] after a arrived\n"
                                 "c: copy 2.data[2:3] -> 0.data[2:3] after b arrived\n");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof_can_run(&proof), 0);
    proof_free(&proof);
    assert_says(&plan, FINDING_CIRCLE,
                "can never finish: a waits for c, c waits for b, b waits for a");
    plan_free(&plan);
}
END_TEST

START_TEST(an_op_that_waits_for_itself_or_a_later_one_of_its_lane)
{
    static const char *const texts[] = {
        "plan 1\nranks 2\ncount 1\na: copy 0.data[0:1] -> 1.data[0:1] after a ready\n",
        "plan 1\nranks 2\ncount 2\na: copy 0.data[0:1] -> 1.data[0:1] after b ready\n"
        "b: copy 0.data[1:2] -> 1.data[1:2]\n"};
    for (int i = 0; i < 2; i++) {
        struct plan plan = read_plan(texts[i]);
        struct proof proof = prove(&plan);
        ck_assert_int_eq(proof.counts[FINDING_CIRCLE], 0); /* one sentence is enough */
        ck_assert_int_eq(proof.counts[FINDING_LATER], 1);
        ck_assert_int_eq(proof_total(&proof), 1);
        proof_free(&proof);
        assert_says(&plan, FINDING_LATER, i == 0 ? "a waits for itself" : "a waits for b, which "
                                                   "comes later on the same lane, 0.send");
        plan_free(&plan);
    }
}
END_TEST

START_TEST(circles_without_a_common_op_are_all_told)
{
    struct plan plan = read_plan("plan 1\nranks 4\ncount 4\n"
                                 "a: scale 0.data[0:1] after b ready\n"
                                 "b: scale 1.data[0:1] after a ready\n"
                                 "c: scale 2.data[0:1] after d ready\n"
                                 "e: scale 2.data[1:2]\n"
                                 "d: scale 3.data[0:1] after e ready\n");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof.counts[FINDING_CIRCLE], 2);
    proof_free(&proof);
    assert_says(&plan, FINDING_CIRCLE, "a waits for b, b waits for a");
    assert_says(&plan, FINDING_CIRCLE,
                "c waits for d, d waits for e, e follows c on lane 2.reduce");
    plan_free(&plan);
}
END_TEST

START_TEST(a_kernel_that_reads_a_peer)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 2\ngoal reduce 1\n"
                                 "x: reduce 0.data -> 1.data\n");
    assert_says(&plan, FINDING_PEER, "x runs on rank 1 and reads 0.data[0:2]; that works only with "
                                     "peer access; copy to rank 1 first");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof_total(&proof), 1);
    ck_assert_int_eq(proof_can_run(&proof), 1);
    proof_free(&proof);
    plan_free(&plan);
}
END_TEST

static void assert_remark(const char *ops, enum finding_kind kind, const char *wanted)
{
    char head[512], text[FINDING_TEXT_SIZE];
    snprintf(head, sizeof head, "plan 1\nranks 3\ncount 2\ngoal broadcast 0\n%s", ops);
    struct plan plan = read_plan(head);
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof_total(&proof), 0);
    ck_assert_int_eq(proof.n_remarks, 1);
    ck_assert_int_eq(proof.findings[0].kind, kind);
    ck_assert_str_eq(finding_text(&plan, proof.findings, text, sizeof text), wanted);
    proof_free(&proof);
    plan_free(&plan);
}

START_TEST(needless_waits_are_remarks)
{
    assert_remark("a: copy 0.data -> 1.data\nb: copy 0.data -> 2.data after a drained\n",
                  REMARK_REDUNDANT,
                  "remark: b need not wait for a: it comes later on the same lane, 0.send, anyway");
    assert_remark("a: copy 0.data -> 1.data\n"
                  "b: copy 1.data -> 2.data after a arrived after a arrived\n",
                  REMARK_REDUNDANT, "remark: b need not wait for a: it waits for it twice");
    assert_remark("a: copy 0.data -> 1.data\nb: copy 1.data[0:1] -> 2.data[0:1] after a arrived\n"
                  "c: copy 1.data[1:2] -> 2.data[1:2] after a arrived\n", REMARK_REDUNDANT,
                  "remark: c need not wait for a: b, before it on lane 1.send, ends no earlier");
    assert_remark("a: copy 0.data -> 1.data\nb: copy 1.data -> 2.data after a arrived\n"
                  "c: copy 2.data[0:0] -> 0.data[0:0] after b arrived after a arrived\n",
                  REMARK_REDUNDANT,
                  "remark: c need not wait for a: it waits for b, which ends no earlier");
    assert_remark("a: copy 0.data -> 1.data lane 1.send\nb: copy 1.data -> 2.data\n",
                  REMARK_PULL,
                  "remark: a copies from rank 0 on a lane of rank 1; usual is a lane of the "
                  "sender");
}
END_TEST

/* Two racing ops and what only follows from them: one wait is missing, one hazard is told. */
START_TEST(a_hazard_told_counts_as_cured)
{
    struct plan plan = read_plan("plan 1\nranks 3\ncount 2\ngoal broadcast 0\n"
                                 "a: copy 0.data -> 1.data\n"
                                 "b: copy 1.data -> 2.data\n"
                                 "c: copy 1.data -> 2.data after b arrived\n");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof_total(&proof), 1);
    proof_free(&proof);
    assert_says(&plan, FINDING_READ_AFTER_WRITE, "b should wait for a: arrived");
    plan_free(&plan);
}
END_TEST

/* Three ways to say what is wrong with a sum, and what a rank's own data is. */
START_TEST(missing_doubled_and_foreign_contributions)
{
    static const struct {
        const char *ops, *says;
    } cases[] = {
        {"a: copy 0.data -> 1.inbox\nb: reduce 1.inbox -> 1.data after a arrived\n"
         "c: reduce 1.inbox -> 1.data\n",
         "holds 0+0+1: rank 2 is missing, rank 0 is counted twice"},
        {"a: copy 0.data -> 1.data\n", "data[0:2] of ranks 0..1 holds 0: ranks 1..2 are missing"},
        {"a: compute 0.data iteration 3\n", "rank 0's is of iteration 3, not 0"},
        {"a: scale 0.data\n", "it was scaled 1 time, not 0"},
        {"a: copy 1.inbox -> 0.data\n", "0.data[0:2] holds something that nobody wrote"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text, "plan 1\nranks 3\ncount 2\ninbox 2\n%s", cases[i].ops);
        struct plan plan = read_plan(text);
        assert_says(&plan, FINDING_SUM, cases[i].says);
        plan_free(&plan);
    }
}
END_TEST

/* ---- goals ---- */

static int is_proven(const char *goal, const char *ops)
{
    char text[1000];
    snprintf(text, sizeof text, "plan 1\nranks 3\ncount 6\ninbox 6\ngoal %s\n%s", goal, ops);
    struct plan plan = read_plan(text);
    struct proof proof = prove(&plan);
    int proven = proof_total(&proof) == 0;
    proof_free(&proof);
    plan_free(&plan);
    return proven;
}

START_TEST(each_goal_wants_its_own_and_no_less)
{
    static const char *const goals[] = {"broadcast 1", "reduce 0", "reduce-scatter", "all-gather"};
    static const char *const plans[] = {
        "a: copy 1.data -> 0.data\nb: copy 1.data -> 2.data\n",
        "a: copy 1.data -> 0.inbox\nb: reduce 0.inbox -> 0.data after a arrived\n"
        "c: copy 2.data -> 0.inbox after b drained\nd: reduce 0.inbox -> 0.data after c arrived\n",
        /* rank r gets segment r from both others */
        "a: copy 1.data[0:2] -> 0.inbox[0:2]\nb: copy 2.data[0:2] -> 0.inbox[2:4]\n"
        "c: reduce 0.inbox[0:2] -> 0.data[0:2] after a arrived\n"
        "d: reduce 0.inbox[2:4] -> 0.data[0:2] after b arrived\n"
        "e: copy 0.data[2:4] -> 1.inbox[0:2]\nf: copy 2.data[2:4] -> 1.inbox[2:4]\n"
        "g: reduce 1.inbox[0:2] -> 1.data[2:4] after e arrived\n"
        "h: reduce 1.inbox[2:4] -> 1.data[2:4] after f arrived\n"
        "i: copy 0.data[4:6] -> 2.inbox[0:2]\nj: copy 1.data[4:6] -> 2.inbox[2:4]\n"
        "k: reduce 2.inbox[0:2] -> 2.data[4:6] after i arrived\n"
        "l: reduce 2.inbox[2:4] -> 2.data[4:6] after j arrived\n",
        "a: copy 0.data[0:2] -> 1.data[0:2]\nb: copy 0.data[0:2] -> 2.data[0:2]\n"
        "c: copy 1.data[2:4] -> 0.data[2:4]\nd: copy 1.data[2:4] -> 2.data[2:4]\n"
        "e: copy 2.data[4:6] -> 0.data[4:6]\nf: copy 2.data[4:6] -> 1.data[4:6]\n"};
    for (int goal = 0; goal < 4; goal++)
        for (int plan = 0; plan < 4; plan++)
            ck_assert_msg(is_proven(goals[goal], plans[plan]) == (goal == plan),
                          "goal %s, plan of %s", goals[goal], goals[plan]);
    ck_assert(!is_proven("broadcast 0", plans[0]));
    ck_assert(!is_proven("reduce 1", plans[1]));
}
END_TEST

/* Half of our ring is a reduce-scatter whose segments are shifted by one, the other half an
 * all-gather; and a scatter that gives two ranks the same segment is none. */
START_TEST(halves_of_the_ring)
{
    for (int n = 1; n <= 5; n++)
        for (int count = n - 1; count <= 3 * n; count += n + 1) {
            struct plan plan;
            struct ring ring;
            struct ring_part part = {.count = count, .bucket = NONE};
            for (int half = 0; half < 2; half++) {
                ck_assert_int_eq(plan_init(&plan, n, count, DTYPE_INT32, REDOP_MAX, NULL), 0);
                ck_assert_int_eq(ring_open(&ring, &plan, 1, 2, count, NULL), STATUS_OK);
                plan.goal = half ? GOAL_ALL_GATHER : GOAL_REDUCE_SCATTER;
                if (half) /* who begins with what it owns needs none of the first half's ops */
                    for (int rank = 0; rank < n; rank++)
                        ring.latest[rank] = NONE;
                ck_assert_int_eq(half ? ring_all_gather(&ring, &part, NULL)
                                      : ring_scatter_reduce(&ring, &part, NULL), STATUS_OK);
                struct proof proof = prove(&plan);
                ck_assert_int_eq(proof_total(&proof), 0);
                proof_free(&proof);
                if (n > 2 && count >= n) {
                    plan.ops[plan.n_ops - 1].dst.count = plan.ops[plan.n_ops - 1].src.count = 0;
                    proof = prove(&plan);
                    ck_assert_int_gt(proof.counts[FINDING_SUM], 0);
                    proof_free(&proof);
                }
                ring_close(&ring);
                plan_free(&plan);
            }
        }
}
END_TEST

START_TEST(more_than_may_be_proven_is_refused)
{
    if (getenv("RING_DEMO_QUICK")) /* takes a GiB first */
        return;
    char *text = malloc(400 * 20000), *at = text;
    at += sprintf(at, "plan 1\nranks 2\ncount 1000000\ninbox 1000000\n");
    for (int i = 0; i < 20000; i++) /* contributions of 20000 different elements to one */
        at += sprintf(at, "c%d: copy 0.data[%d:%d] -> 1.inbox[%d:%d]\n"
                          "r%d: reduce 1.inbox[%d:%d] -> 1.data[0:1] after c%d arrived\n",
                      i, i, i + 1, i, i + 1, i, i, i + 1, i);
    struct plan plan = read_plan(text);
    struct proof proof;
    struct error err = {""};
    ck_assert_int_eq(check_plan(&plan, &proof, &err), STATUS_MACHINE);
    ck_assert_ptr_nonnull(strstr(err.text, "too much to prove"));
    plan_free(&plan);
    free(text);
}
END_TEST

START_TEST(a_wait_for_a_later_line_is_fine)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 1\ninbox 1\n"
                                 "back: copy 1.data[0:1] -> 0.data[0:1] after add ready\n"
                                 "add: reduce 1.inbox[0:1] -> 1.data[0:1] after there arrived\n"
                                 "there: copy 0.data[0:1] -> 1.inbox[0:1]\n");
    assert_proven(&plan);
    plan_free(&plan);
}
END_TEST

START_TEST(serial_waits_are_listed_apart)
{
    struct plan plan = read_plan("plan 1\nranks 1\ncount 1\n"
                                 "a: scale 0.data[0:0]\n"
                                 "b: compute 0.data[0:0] after a serial\n");
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof.n_serial, 1);
    ck_assert_int_eq(proof.counts[REMARK_REDUNDANT], 0);
    ck_assert_int_eq(proof_total(&proof), 0);
    proof_free(&proof);
    plan_free(&plan);
}
END_TEST

START_TEST(findings_beyond_the_limit_are_counted)
{
    struct plan plan = make_plan((struct ring_shape){.n_ranks = 16, .count = 160});
    for (int64_t id = 0; id < plan.n_ops; id++)
        plan.ops[id].n_waits = 0;
    struct proof proof = prove(&plan);
    ck_assert_int_eq(proof.n_findings, 3 * PROOF_MAX_FINDINGS); /* of three kinds */
    ck_assert_int_gt(proof_total(&proof), 3 * PROOF_MAX_FINDINGS);
    proof_free(&proof);
    plan_free(&plan);
}
END_TEST

/* Each iteration's result must have been there, with one d for all ranks, before the next one's
 * data takes its place, whoever brings that. */
START_TEST(every_iteration_is_judged)
{
    static const char *const refuted[] = {
        /* rank 1 never got iteration 0's data */
        "goal broadcast 0\na: compute 0.data iteration 1\nb: copy 0.data -> 1.data after a ready\n",
        /* iteration 0 was never reduced; the fresh data comes by way of the inboxes */
        "a0: compute 0.inbox iteration 1\na1: compute 1.inbox iteration 1\n"
        "b0: copy 0.inbox -> 0.data after a0 ready\nb1: copy 1.inbox -> 1.data after a1 ready\n"
        "c0: copy 0.data -> 1.inbox after b1 drained\n"
        "d1: reduce 1.inbox -> 1.data after c0 arrived\n"
        "e1: copy 1.data -> 0.data after d1 ready\n",
        /* iteration 1 is left out */
        "goal broadcast 0\na: copy 0.data -> 1.data\n"
        "b: compute 0.data iteration 2 after a drained\nc: copy 0.data -> 1.data after b ready\n",
        /* both ranks hold the sum of segment 0, none that of segment 1 */
        "goal reduce-scatter\na: copy 0.data[0:2] -> 1.inbox[0:2]\n"
        "b: copy 1.data[0:2] -> 0.inbox[0:2]\n"
        "c: reduce 0.inbox[0:2] -> 0.data[0:2] after b arrived after a drained\n"
        "p0: compute 0.data iteration 1 after c ready\n"
        "d: reduce 1.inbox[0:2] -> 1.data[0:2] after a arrived after b drained\n"
        "p1: compute 1.data iteration 1 after d ready\n"
        "a1: copy 0.data[2:4] -> 1.inbox[2:4] after p0 ready\n"
        "b1: copy 1.data[0:2] -> 0.inbox[2:4] after p1 ready\n"
        "c1: reduce 0.inbox[2:4] -> 0.data[0:2] after b1 arrived after p0 ready\n"
        "d1: reduce 1.inbox[2:4] -> 1.data[2:4] after a1 arrived after p1 ready\n"};
    for (int i = 0; i < 4; i++) {
        char text[1000];
        snprintf(text, sizeof text, "plan 1\nranks 2\ncount 4\ninbox 4\niterations %d\n%s",
                 i == 2 ? 3 : 2, refuted[i]);
        struct plan plan = read_plan(text);
        struct proof proof = prove(&plan);
        ck_assert_int_eq(proof_hazards(&proof), 0);
        ck_assert_msg(proof.counts[FINDING_SUM] > 0, "case %d", i);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

/* d is what most elements say, not what the first one says. */
START_TEST(a_needless_copy_does_not_change_d)
{
    struct plan plan = read_plan("plan 1\nranks 2\ncount 4\ngoal reduce-scatter\ninbox 2\n"
                                 "a: copy 0.data[0:2] -> 1.inbox\nb: copy 1.data[2:4] -> 0.inbox\n"
                                 "c: reduce 0.inbox -> 0.data[2:4] after b arrived\n"
                                 "d: reduce 1.inbox -> 1.data[0:2] after a arrived\n"
                                 "e: copy 0.data[2:4] -> 1.data[2:4] after c ready\n"
                                 "f: copy 1.data[0:1] -> 0.data[0:1] after d ready\n");
    assert_proven(&plan);
    plan_free(&plan);
}
END_TEST

/* As many findings as waits are wanted: a ring without any needs those it had. */
START_TEST(a_ring_without_waits_wants_its_own)
{
    for (int n = 2; n <= 6; n++) {
        struct plan plan =
            make_plan((struct ring_shape){.n_ranks = n, .count = 4 * n, .slots = 1});
        for (int64_t id = 0; id < plan.n_ops; id++)
            plan.ops[id].n_waits = 0;
        struct proof proof = prove(&plan);
        ck_assert_int_eq(proof_hazards(&proof), plan.n_waits);
        proof_free(&proof);
        plan_free(&plan);
    }
}
END_TEST

/* Both copies read all of it, in stretches that an earlier copy cut. */
START_TEST(two_findings_name_all_elements)
{
    struct plan plan = read_plan("plan 1\nranks 3\ncount 4\niterations 2\n"
                                 "s: copy 0.data[0:2] -> 1.data[0:2]\nr1: copy 0.data -> 1.data\n"
                                 "r2: copy 0.data -> 2.data lane 2.send\n"
                                 "w: compute 0.data iteration 1\n");
    assert_says(&plan, FINDING_WRITE_AFTER_READ, "w overwrites 0.data[0:4], which r1 may still be");
    assert_says(&plan, FINDING_WRITE_AFTER_READ, "w overwrites 0.data[0:4], which r2 may still be");
    plan_free(&plan);
}
END_TEST

Suite *check_suite(void)
{
    Suite *suite = suite_create("check");
    TCase *tests = tcase_create("check");
    tcase_add_test(tests, an_add_that_does_not_wait_for_its_copy);
    tcase_add_test(tests, a_copy_that_does_not_wait_for_the_add);
    tcase_add_test(tests, an_inbox_place_used_again_too_early);
    tcase_add_test(tests, two_writers_of_one_place);
    tcase_add_test(tests, reading_together_is_no_hazard);
    tcase_add_test(tests, a_rank_added_twice);
    tcase_add_test(tests, one_element_of_one_segment_missed);
    tcase_add_test(tests, an_add_dropped_shows_who_is_missing);
    tcase_add_test(tests, the_gather_index_is_right_by_luck_on_two);
    tcase_add_test(tests, elements_from_elsewhere);
    tcase_add_test(tests, elements_from_elsewhere_in_several_stretches);
    tcase_add_test(tests, an_inbox_read_before_anything_landed);
    tcase_add_test(tests, an_average_is_scaled_exactly_once);
    tcase_add_test(tests, integers_divided_too_early);
    tcase_add_test(tests, spans_that_leave_their_memory);
    tcase_add_test(tests, ops_that_wait_in_a_circle);
    tcase_add_test(tests, an_op_that_waits_for_itself_or_a_later_one_of_its_lane);
    tcase_add_test(tests, a_wait_for_a_later_line_is_fine);
    tcase_add_test(tests, serial_waits_are_listed_apart);
    tcase_add_test(tests, findings_beyond_the_limit_are_counted);
    tcase_add_test(tests, circles_without_a_common_op_are_all_told);
    tcase_add_test(tests, a_kernel_that_reads_a_peer);
    tcase_add_test(tests, needless_waits_are_remarks);
    tcase_add_test(tests, a_hazard_told_counts_as_cured);
    tcase_add_test(tests, missing_doubled_and_foreign_contributions);
    tcase_add_test(tests, each_goal_wants_its_own_and_no_less);
    tcase_add_test(tests, halves_of_the_ring);
    tcase_add_test(tests, more_than_may_be_proven_is_refused);
    tcase_add_test(tests, every_iteration_is_judged);
    tcase_add_test(tests, a_needless_copy_does_not_change_d);
    tcase_add_test(tests, a_ring_without_waits_wants_its_own);
    tcase_add_test(tests, two_findings_name_all_elements);
    suite_add_tcase(suite, tests);
    return suite;
}
