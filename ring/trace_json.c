/* trace_json.c - the run as JSON lines: {"type":"header"}, one {"type":"op"} per op in the order
 * of the plan, {"type":"summary"}.
 *
 * Units stand in the key names. What is not there is left out, not null: ops of a plan that did not
 * run have no times. The string "copy", quotes included, occurs only as the kind of an op.
 */
#include <inttypes.h>

#include "common/format.h"
#include "ring/goal.h"
#include "ring/trace.h"

/* Bytes of the well-formed UTF-8 character at text; 0 where there is none (RFC 3629). */
static int utf8_length(const unsigned char *text)
{
    int length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2
                 : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    int long_form = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    int surrogate = text[0] == 0xed && text[1] > 0x9f;
    return long_form || surrogate || (text[0] == 0xf4 && text[1] > 0x8f) ? 0 : length;
}

/* A JSON string. Control characters are escaped; a byte that is no UTF-8 becomes U+FFFD. */
static void print_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (int length; *text; text += length) {
        unsigned char c = (unsigned char)*text;
        length = utf8_length((const unsigned char *)text);
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20)
            fprintf(file, "\\u%04x", (unsigned)c);
        else if (length == 0)
            fprintf(file, "\\ufffd");
        else
            fwrite(text, 1, (size_t)length, file);
        length += length == 0;
    }
    fputc('"', file);
}

static void print_named(FILE *file, const char *name, const char *text)
{
    fprintf(file, ",\"%s\":", name);
    print_string(file, text);
}

/* Microseconds, exactly: ns / 1000 with three decimals, made from integers. */
static void print_us(FILE *file, const char *name, int64_t ns)
{
    fprintf(file, ",\"%s\":%" PRId64 ".%03d", name, ns / 1000, (int)(ns % 1000));
}

static void print_number(FILE *file, const char *name, double value)
{
    char buffer[FORMAT_SIZE];
    fprintf(file, ",\"%s\":%s", name, format_json_number(value, buffer));
}

static void print_header(const struct scene *s, FILE *file)
{
    const struct plan *plan = s->plan;
    fprintf(file, "{\"type\":\"header\",\"tool\":\"ring_demo\",\"schema\":1");
    print_named(file, "backend", s->backend);
    print_named(file, "engine", s->engine);
    print_named(file, "notice", s->notice);
    print_named(file, "times", s->times);
    fprintf(file, ",\"simulated\":%s,\"ranks\":%d,\"count\":%" PRId64,
            s->simulated ? "true" : "false", plan->n_ranks, plan->count);
    print_named(file, "dtype", dtype_name(plan->dtype));
    print_named(file, "redop", redop_name(plan->redop));
    print_named(file, "goal", goal_name(plan->goal));
    if (goal_has_root(plan->goal))
        fprintf(file, ",\"root\":%d", plan->root);
    if (s->origin[0])
        print_named(file, "plan", s->origin);
    if (s->fault[0])
        print_named(file, "fault", s->fault);
    if (s->held_back[0])
        print_named(file, "held_back", s->held_back);
    if (s->search[0])
        print_named(file, "search", s->search);
    fprintf(file,
            ",\"element_bytes\":%d,\"iterations\":%d,\"pieces\":%d,\"slots\":%d,"
            "\"inbox_count\":%" PRId64 ",\"steps\":%d,\"n_ops\":%" PRId64 ",\"n_waits\":%" PRId64,
            (int)dtype_size(plan->dtype), plan->iterations, plan->pieces, plan->slots,
            plan->inbox_count, ring_steps(plan->n_ranks), plan->n_ops, plan->n_waits);
    print_named(file, "data", s->data);
    fprintf(file, ",\"devices\":[");
    for (int rank = 0; rank < plan->n_ranks; rank++) {
        fprintf(file, "%s{\"rank\":%d,\"device\":%d", rank ? "," : "", rank, s->device_of[rank]);
        print_named(file, "name", s->device_names[rank]);
        fputc('}', file);
    }
    fprintf(file, "],\"links\":[");
    for (int i = 0; i < s->n_links; i++) {
        fprintf(file, "%s{\"from\":%d,\"to\":%d", i ? "," : "", s->links[i].from, s->links[i].to);
        print_named(file, "path", s->links[i].path);
        fputc('}', file);
    }
    fprintf(file, "]");
    print_us(file, "clock_error_us", s->clock_error_ns);
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

static void print_op(const struct scene *s, int64_t id, FILE *file)
{
    const struct plan *plan = s->plan;
    const struct op *op = &plan->ops[id];
    char name[OP_NAME_SIZE];
    fprintf(file, "{\"type\":\"op\",\"id\":%" PRId64 ",\"kind\":\"%s\",\"rank\":%d,\"lane\":\"%s\"",
            id, op_kind_name(op->kind), op->rank, lane_name(op->lane));
    print_named(file, "name", op_name(plan, id, name));
    print_label(file, "iteration", op->iteration);
    print_label(file, "bucket", op->bucket);
    print_label(file, "step", op->step);
    print_label(file, "segment", op->segment);
    print_label(file, "piece", op->piece);
    print_label(file, "layer", op->layer);
    if (op->scaled)
        fprintf(file, ",\"scaled\":true");
    if (op->cost_ns > 0)
        print_us(file, "cost_us", op->cost_ns);
    if (op->src.count > 0)
        print_span(file, "src", &op->src);
    print_span(file, "dst", &op->dst);
    fprintf(file, ",\"bytes\":%" PRId64, op->dst.count * (int64_t)dtype_size(plan->dtype));
    if (s->timing && s->timing->per_op) {
        print_us(file, "begin_us", s->timing->begin_ns[id]);
        print_us(file, "end_us", s->timing->end_ns[id]);
    }
    fprintf(file, ",\"waits\":[");
    for (int i = 0; i < op->n_waits; i++) {
        const struct wait *wait = &plan->waits[op->first_wait + i];
        fprintf(file, "%s{\"op\":%" PRId64 ",\"reason\":\"%s\"}", i ? "," : "", wait->op,
                wait_reason_name(wait->reason));
    }
    fprintf(file, "]}\n");
}

static void print_misfit(FILE *file, const char *name, const struct misfit *m)
{
    fprintf(file, ",\"%s\":{\"rank\":%d,\"segment\":%d,\"element\":%" PRId64, name, m->rank,
            m->segment, m->element);
    print_number(file, "got", m->got);
    print_number(file, "want", m->want);
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
    print_number(file, "float64_distance", v->distance);
}

static void print_proof(const struct scene *s, FILE *file)
{
    const struct proof *proof = s->proof;
    char sentence[FINDING_TEXT_SIZE];
    fprintf(file, ",\"proven\":%s,\"n_findings\":%" PRId64 ",\"findings\":[",
            proof_total(proof) ? "false" : "true", proof_total(proof));
    for (int i = 0; i < proof->n_findings; i++) {
        fprintf(file, i ? "," : "");
        print_string(file, finding_text(s->plan, &proof->findings[i], sentence, sizeof sentence));
    }
    fprintf(file, "],\"n_redundant_waits\":%" PRId64, proof->counts[REMARK_REDUNDANT]);
}

static enum status print_summary(const struct scene *s, FILE *file, struct error *err)
{
    struct traffic traffic;
    enum status status = trace_traffic(s, &traffic, err);
    if (status != STATUS_OK)
        return status;
    fprintf(file, "{\"type\":\"summary\"");
    print_proof(s, file);
    print_verdict(s, file);
    print_us(file, "total_us", s->timing->total_ns);
    if (!s->random) { /* choices of a random schedule make no rate */
        print_number(file, "algbw_GBps", trace_algbw(s));
        print_number(file, "busbw_GBps", trace_busbw(s));
    }
    fprintf(file, ",\"sent_bytes_least\":%" PRId64 ",\"sent_bytes_most\":%" PRId64,
            traffic.least_sent, traffic.most_sent);
    if (traffic.busiest_from != NONE) {
        fprintf(file, ",\"busiest_link\":{\"from\":%d,\"to\":%d,\"bytes\":%" PRId64,
                traffic.busiest_from, traffic.busiest_to, traffic.busiest_bytes);
        print_us(file, "in_use_us", traffic.busiest_ns);
        fputc('}', file);
    }
    fprintf(file, "}\n");
    return STATUS_OK;
}

enum status trace_json(const struct scene *scene, FILE *file, struct error *err)
{
    print_header(scene, file);
    for (int64_t id = 0; id < scene->plan->n_ops; id++)
        print_op(scene, id, file);
    return print_summary(scene, file, err);
}
