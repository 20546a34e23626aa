/* trace_json.c - the run as JSON lines: {"type":"header"}, one {"type":"op"} per op in the order
 * of the plan, one {"type":"state"} per stop of the second pass, {"type":"summary"}.
 *
 * Units stand in the key names. What is not there is left out, not null: ops of a plan that did not
 * run have no times. The string "copy", quotes included, occurs only as the kind of an op.
 */
#include <inttypes.h>

#include "common/json.h"
#include "ring/goal.h"
#include "ring/holds.h"
#include "ring/trace.h"

/* Which rank is on which device, and what lies between them. */
static void print_machine(const struct scene *s, FILE *file)
{
    fprintf(file, ",\"devices\":[");
    for (int rank = 0; rank < s->plan->n_ranks; rank++) {
        fprintf(file, "%s{\"rank\":%d,\"device\":%d", rank ? "," : "", rank, s->device_of[rank]);
        json_named(file, "name", s->device_names[rank]);
        fputc('}', file);
    }
    fprintf(file, "],\"links\":[");
    for (int i = 0; i < s->n_links; i++) {
        fprintf(file, "%s{\"from\":%d,\"to\":%d", i ? "," : "", s->links[i].from, s->links[i].to);
        json_named(file, "path", s->links[i].path);
        fputc('}', file);
    }
    fprintf(file, "]");
    json_us(file, "clock_error_us", s->clock_error_ns);
}

static void print_training(const struct scene_training *t, FILE *file)
{
    json_named(file, "model", t->model);
    if (t->slow[0])
        json_named(file, "slow", t->slow);
    if (t->never_ready)
        json_named(file, "never_ready", t->never_ready);
    fprintf(file, ",\"overlapped\":%s,\"buckets\":[", t->overlapped ? "true" : "false");
    for (int i = 0; i < t->n_buckets; i++)
        fprintf(file, "%s{\"bucket\":%d,\"bytes\":%" PRId64 ",\"first\":%" PRId64
                ",\"count\":%" PRId64 "}", i ? "," : "", i, t->buckets[i].bytes,
                t->buckets[i].first, t->buckets[i].count);
    fprintf(file, "],\"layers\":[");
    for (int i = 0; i < t->n_layers; i++) {
        fprintf(file, "%s{\"layer\":%d", i ? "," : "", i);
        json_named(file, "name", t->layers[i]);
        fputc('}', file);
    }
    fprintf(file, "]");
}

static void print_header(const struct scene *s, FILE *file)
{
    const struct plan *plan = s->plan;
    fprintf(file, "{\"type\":\"header\",\"tool\":\"ring_demo\",\"schema\":%d", TRACE_JSON_SCHEMA);
    json_named(file, "backend", s->backend);
    json_named(file, "engine", s->engine);
    json_named(file, "notice", s->notice);
    json_named(file, "times", s->times);
    if (s->link_model[0])
        json_named(file, "link_model", s->link_model);
    fprintf(file, ",\"simulated\":%s,\"ranks\":%d,\"count\":%" PRId64,
            s->simulated ? "true" : "false", plan->n_ranks, plan->count);
    json_named(file, "dtype", dtype_name(plan->dtype));
    json_named(file, "redop", redop_name(plan->redop));
    json_named(file, "goal", goal_name(plan->goal));
    if (goal_has_root(plan->goal))
        fprintf(file, ",\"root\":%d", plan->root);
    if (s->origin[0])
        json_named(file, "plan", s->origin);
    if (s->fault[0])
        json_named(file, "fault", s->fault);
    if (s->held_back[0])
        json_named(file, "held_back", s->held_back);
    if (s->search[0])
        json_named(file, "search", s->search);
    fprintf(file,
            ",\"element_bytes\":%d,\"iterations\":%d,\"pieces\":%d,\"slots\":%d,"
            "\"inbox_count\":%" PRId64 ",\"steps\":%d,\"n_ops\":%" PRId64 ",\"n_waits\":%" PRId64,
            (int)dtype_size(plan->dtype), plan->iterations, plan->pieces, plan->slots,
            plan->inbox_count, ring_steps(plan->n_ranks), plan->n_ops, plan->n_waits);
    json_named(file, "data", s->data);
    print_machine(s, file);
    if (s->training)
        print_training(s->training, file);
    fprintf(file, "}\n");
}

static void print_span(FILE *file, const char *name, const struct span *span)
{
    fprintf(file,
            ",\"%s\":{\"rank\":%d,\"memory\":\"%s\",\"first\":%" PRId64 ",\"count\":%" PRId64 "}",
            name, span->rank, memory_name(span->memory), span->first, span->count);
}

static void print_label(FILE *file, const char *name, int label)
{
    if (label != NONE)
        fprintf(file, ",\"%s\":%d", name, label);
}

/* `holds`: NULL where that is not told. */
static void print_op(const struct scene *s, const struct holds *holds, int64_t id, FILE *file)
{
    const struct plan *plan = s->plan;
    const struct op *op = &plan->ops[id];
    char name[OP_NAME_SIZE];
    fprintf(file, "{\"type\":\"op\",\"id\":%" PRId64 ",\"kind\":\"%s\",\"rank\":%d,\"lane\":\"%s\"",
            id, op_kind_name(op->kind), op->rank, lane_name(op->lane));
    json_named(file, "name", op_name(plan, id, name));
    print_label(file, "iteration", op->iteration);
    print_label(file, "bucket", op->bucket);
    print_label(file, "step", op->step);
    print_label(file, "segment", op->segment);
    print_label(file, "piece", op->piece);
    print_label(file, "layer", op->layer);
    if (op->scaled)
        fprintf(file, ",\"scaled\":true");
    if (op->cost_ns > 0)
        json_us(file, "cost_us", op->cost_ns);
    if (op->src.count > 0)
        print_span(file, "src", &op->src);
    print_span(file, "dst", &op->dst);
    fprintf(file, ",\"bytes\":%" PRId64, op->dst.count * (int64_t)dtype_size(plan->dtype));
    if (s->timing && s->timing->per_op) {
        json_us(file, "begin_us", s->timing->begin_ns[id]);
        json_us(file, "end_us", s->timing->end_ns[id]);
    }
    if (holds)
        json_named(file, "holds", holds->after[id]);
    fprintf(file, ",\"waits\":[");
    for (int i = 0; i < op->n_waits; i++) {
        const struct wait *wait = &plan->waits[op->first_wait + i];
        fprintf(file, "%s{\"op\":%" PRId64 ",\"reason\":\"%s\"}", i ? "," : "", wait->op,
                wait_reason_name(wait->reason));
    }
    fprintf(file, "]}\n");
}

static enum status print_ops(const struct scene *s, FILE *file, struct error *err)
{
    enum status status = STATUS_OK;
    struct holds holds = {.plan = NULL};
    int told = s->plan->n_ops <= TRACE_MAX_HOLDS;
    if (told) {
        TRY(holds_open(&holds, s->plan, err));
        TRY(holds_run(&holds, holds.order.n_sequence, err));
    }
    for (int64_t id = 0; id < s->plan->n_ops; id++)
        print_op(s, told ? &holds : NULL, id, file);
out:
    holds_close(&holds);
    return status;
}

/* One segment of one rank: {} where it is empty. */
static void print_cell(const struct scene *s, const struct holds *holds, int stop, int rank,
                       int segment, FILE *file)
{
    int n = s->plan->n_ranks, mixed;
    char text[HOLDS_SIZE];
    int64_t first, count;
    plan_part(0, s->plan->count, n, segment, &first, &count);
    fprintf(file, "%s{", segment ? "," : "");
    if (count > 0) {
        fprintf(file, "\"holds\":");
        json_string(file, holds_segment(holds, rank, segment, &mixed, text, sizeof text));
        fprintf(file, mixed ? ",\"mixed\":true" : "");
        json_number(file, "value", s->values->read[((int64_t)stop * n + rank) * n + segment]);
    }
    fputc('}', file);
}

/* `holds` is as after the ops of this stop, which began at position `begin`. */
static void print_state(const struct scene *s, const struct holds *holds, int stop, int64_t begin,
                        FILE *file)
{
    const struct stop *at = &s->values->stops[stop];
    fprintf(file, "{\"type\":\"state\",\"stop\":%d", stop);
    print_label(file, "iteration", at->iteration);
    print_label(file, "step", at->step);
    fprintf(file, ",\"ops\":[");
    for (int64_t i = begin; i < at->end; i++)
        fprintf(file, "%s%" PRId64, i > begin ? "," : "", order_at(&holds->order, i));
    fprintf(file, "],\"cells\":[");
    for (int rank = 0; rank < s->plan->n_ranks; rank++) {
        fprintf(file, rank ? ",[" : "[");
        for (int segment = 0; segment < s->plan->n_ranks; segment++)
            print_cell(s, holds, stop, rank, segment, file);
        fputc(']', file);
    }
    fprintf(file, "]}\n");
}

static enum status print_states(const struct scene *s, FILE *file, struct error *err)
{
    enum status status = STATUS_OK;
    struct holds holds = {.plan = NULL};
    if (!s->values || !s->values->read)
        return STATUS_OK;
    TRY(holds_open(&holds, s->plan, err));
    for (int stop = 0; stop < s->values->n_stops; stop++) {
        int64_t begin = holds.done;
        TRY(holds_run(&holds, s->values->stops[stop].end, err));
        print_state(s, &holds, stop, begin, file);
    }
out:
    holds_close(&holds);
    return status;
}

static void print_misfit(FILE *file, const char *name, const struct misfit *m)
{
    fprintf(file, ",\"%s\":{\"rank\":%d,\"segment\":%d,\"element\":%" PRId64, name, m->rank,
            m->segment, m->element);
    json_number(file, "got", m->got);
    json_number(file, "want", m->want);
    fputc('}', file);
}

static void print_verdict(const struct scene *s, FILE *file)
{
    const struct verdict *v = s->verdict;
    if (goal_same_everywhere(s->plan))
        fprintf(file, ",\"ranks_identical\":%s,\"n_different\":%" PRId64,
                v->n_different ? "false" : "true", v->n_different);
    fprintf(file,
            ",\"value_right\":%s,\"n_checked\":%" PRId64 ",\"n_wrong\":%" PRId64
            ",\"hash\":\"0x%016" PRIx64 "\"",
            v->n_wrong ? "false" : "true", v->n_checked, v->n_wrong, v->hash);
    if (s->values)
        fprintf(file, ",\"value_pass_hash\":\"0x%016" PRIx64 "\"", s->second_hash);
    if (v->n_different)
        print_misfit(file, "first_different", &v->different);
    if (v->n_wrong)
        print_misfit(file, "first_wrong", &v->wrong);
    json_number(file, "float64_distance", v->distance);
    fprintf(file, ",\"n_infinite\":%" PRId64 ",\"n_nan\":%" PRId64, v->n_infinite, v->n_nan);
}

static void print_finding(const struct plan *plan, const struct finding *f, FILE *file)
{
    char sentence[FINDING_TEXT_SIZE];
    int hazard = finding_is_hazard(f);
    fprintf(file, "{\"kind\":\"%s\"", finding_kind_name(f->kind));
    if (hazard)
        json_named(file, "hazard", finding_hazard_name(f->kind));
    json_named(file, "text", finding_text(plan, f, sentence, sizeof sentence));
    fprintf(file, ",\"ops\":[");
    if (hazard)
        fprintf(file, "%" PRId64 ",", f->other);
    if (f->op != NONE)
        fprintf(file, "%" PRId64, f->op);
    fprintf(file, "]");
    if (f->where.count > 0)
        print_span(file, "where", &f->where);
    if (f->kind == FINDING_SUM)
        fprintf(file, ",\"n_ranks\":%d", f->n_ranks);
    if (hazard)
        fprintf(file, ",\"missing\":{\"op\":%" PRId64 ",\"waits_for\":%" PRId64
                ",\"reason\":\"%s\"}", f->op, f->other,
                wait_reason_name(finding_missing(plan, f)));
    fputc('}', file);
}

static void print_proof(const struct scene *s, FILE *file)
{
    const struct proof *proof = s->proof;
    fprintf(file, ",\"proven\":%s,\"n_findings\":%" PRId64 ",\"findings\":[",
            proof_total(proof) ? "false" : "true", proof_total(proof));
    for (int i = 0; i < proof->n_findings; i++) {
        fprintf(file, i ? "," : "");
        print_finding(s->plan, &proof->findings[i], file);
    }
    fprintf(file, "],\"n_redundant_waits\":%" PRId64, proof->counts[REMARK_REDUNDANT]);
}

static void print_figures(const struct scene *s, FILE *file)
{
    fprintf(file, ",\"figures\":[");
    for (int rank = 0; rank < s->plan->n_ranks; rank++) {
        const struct scene_figures *f = &s->training->figures[rank];
        fprintf(file, "%s{\"rank\":%d", rank ? "," : "", rank);
        json_us(file, "compute_us", f->compute_ns);
        json_us(file, "communication_us", f->communication_ns);
        json_us(file, "hidden_us", f->hidden_ns);
        json_us(file, "exposed_us", f->exposed_ns);
        fputc('}', file);
    }
    fprintf(file, "]");
}

static enum status print_summary(const struct scene *s, FILE *file, struct error *err)
{
    struct traffic traffic;
    enum status status = trace_traffic(s, &traffic, err);
    if (status != STATUS_OK)
        return status;
    fprintf(file, "{\"type\":\"summary\"");
    print_proof(s, file);
    if (s->verdict)
        print_verdict(s, file);
    json_us(file, "total_us", s->timing->total_ns);
    if (!s->random && !s->training) { /* neither choices nor computes make a rate */
        json_number(file, "algbw_GBps", trace_algbw(s));
        json_number(file, "busbw_GBps", trace_busbw(s));
    }
    fprintf(file, ",\"sent_bytes_least\":%" PRId64 ",\"sent_bytes_most\":%" PRId64,
            traffic.least_sent, traffic.most_sent);
    if (traffic.busiest_from != NONE) {
        fprintf(file, ",\"busiest_link\":{\"from\":%d,\"to\":%d,\"bytes\":%" PRId64,
                traffic.busiest_from, traffic.busiest_to, traffic.busiest_bytes);
        json_us(file, "in_use_us", traffic.busiest_ns);
        fputc('}', file);
    }
    if (s->training)
        print_figures(s, file);
    fprintf(file, "}\n");
    return STATUS_OK;
}

enum status trace_json(const struct scene *scene, FILE *file, struct error *err)
{
    enum status status = STATUS_OK;
    print_header(scene, file);
    TRY(print_ops(scene, file, err));
    TRY(print_states(scene, file, err));
    TRY(print_summary(scene, file, err));
out:
    return status;
}
