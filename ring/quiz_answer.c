/* quiz_answer.c - reads what people type. What is meant is what counts: "2", "segment 2" and
 * " Segment 2. " are one answer. */
#include "ring/quiz.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const wanted[N_FORMS] = {
    [FORM_SEGMENT] = "a segment's number, as in 2",
    [FORM_RANK] = "a rank's number, as in 2",
    [FORM_RANKS] = "ranks, as in 0+2, 0..3 or all",
    [FORM_VALUE] = "a number, as in 31",
    [FORM_TIME] = "a number of us, as in 133.0",
    [FORM_REASON] = "ready, arrived, drained or serial",
    [FORM_OP] = "the name of an op, as in s0.copy.r0",
};

const char *quiz_wanted(enum quiz_form form) { return wanted[form]; }

/* Lower case, no blanks at the ends, no full stop or the like behind. */
static void tidy(const char *typed, char text[QUIZ_ANSWER_SIZE])
{
    typed += strspn(typed, " \t\r\n");
    size_t length = strlen(typed);
    while (length > 0 && strchr(" \t\r\n.!?", typed[length - 1]))
        length--;
    length = length < QUIZ_ANSWER_SIZE ? length : QUIZ_ANSWER_SIZE - 1;
    for (size_t i = 0; i < length; i++)
        text[i] = (char)tolower((unsigned char)typed[i]);
    text[length] = '\0';
}

/* Moves past a word that may stand before an answer. */
static const char *skip_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(text, word, length) != 0 || isalpha((unsigned char)text[length]))
        return text;
    return text + length + strspn(text + length, " =:");
}

static const char *skip_words(const char *text)
{
    static const char *const words[] = {"it", "is", "segment", "segments", "seg", "rank", "ranks"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        text = skip_word(text, words[i]);
    return text;
}

/* ---- contributions ---- */

static int take_number(const char **at, int most, int *number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return 0;
    long value = strtol(*at, &end, 10);
    *at = end;
    *number = (int)value;
    return value <= most;
}

/* "3", "0..3" or "0-3": from *first to *last. */
static int take_range(const char **at, int n_ranks, int *first, int *last)
{
    if (!take_number(at, n_ranks - 1, first))
        return 0;
    *last = *first;
    size_t sign = strncmp(*at, "..", 2) == 0 ? 2 : **at == '-';
    *at += sign;
    return sign == 0 || (take_number(at, n_ranks - 1, last) && *last >= *first);
}

/* "2*" or nothing. */
static int take_times(const char **at)
{
    const char *next = *at;
    int times;
    if (!take_number(&next, PLAN_MAX_RANKS, &times) || *next != '*')
        return 1;
    *at = next + 1;
    return times;
}

static int take_term(const char **at, int n_ranks, int *counts)
{
    int first, last, times = take_times(at), bracket = **at == '(';
    *at += bracket;
    if (!take_range(at, n_ranks, &first, &last) || (bracket && **at != ')'))
        return 0;
    *at += bracket;
    for (int rank = first; rank <= last; rank++)
        counts[rank] += times;
    return 1;
}

int quiz_ranks(const char *text, int n_ranks, int *counts)
{
    int all = strcmp(text, "all") == 0 || strcmp(text, "all ranks") == 0;
    for (int rank = 0; rank < n_ranks; rank++)
        counts[rank] = all;
    if (all)
        return 1;
    for (const char *at = text;;) {
        if (!take_term(&at, n_ranks, counts))
            return 0;
        if (*at == '\0')
            return 1;
        const char *sign = at;
        at += strspn(at, " ,+&");
        at = skip_word(skip_word(at, "and"), "rank");
        if (at == sign)
            return 0;
    }
}

static enum quiz_verdict judge_ranks(const struct question *q, const struct plan *plan,
                                     const char *text)
{
    int given[PLAN_MAX_RANKS], right[PLAN_MAX_RANKS];
    if (!quiz_ranks(text, plan->n_ranks, given))
        return QUIZ_UNCLEAR;
    quiz_ranks(q->answer, plan->n_ranks, right);
    return memcmp(given, right, (size_t)plan->n_ranks * sizeof *given) == 0 ? QUIZ_RIGHT
                                                                            : QUIZ_WRONG;
}

/* ---- the other forms ---- */

static enum quiz_verdict judge_number(const struct question *q, const char *text)
{
    char *end;
    double right = q->form == FORM_TIME || q->form == FORM_VALUE ? q->number
                                                                 : strtod(q->answer, NULL);
    double given = strtod(text, &end);
    if (q->form == FORM_TIME && (strcmp(text, "none") == 0 || strcmp(text, "nothing") == 0))
        return right < q->slack ? QUIZ_RIGHT : QUIZ_WRONG;
    const char *rest = end + strspn(end, " ");
    if (end == text || !isfinite(given) || !(*rest == '\0' || (q->form == FORM_TIME &&
                                                               strcmp(rest, "us") == 0)))
        return QUIZ_UNCLEAR;
    return fabs(given - right) <= q->slack ? QUIZ_RIGHT : QUIZ_WRONG;
}

static enum quiz_verdict judge_reason(const struct question *q, const char *text)
{
    for (int reason = 0; reason < N_WAIT_REASONS; reason++)
        if (strcmp(text, wait_reason_name((enum wait_reason)reason)) == 0)
            return strcmp(text, q->answer) == 0 ? QUIZ_RIGHT : QUIZ_WRONG;
    return QUIZ_UNCLEAR;
}

static enum quiz_verdict judge_op(const struct question *q, const struct plan *plan,
                                  const char *text)
{
    char name[OP_NAME_SIZE];
    if (strcasecmp(text, q->answer) == 0)
        return QUIZ_RIGHT;
    for (int64_t id = 0; id < plan->n_ops; id++)
        if (strcasecmp(text, op_name(plan, id, name)) == 0)
            return QUIZ_WRONG;
    return QUIZ_UNCLEAR;
}

enum quiz_verdict quiz_judge(const struct question *q, const struct plan *plan, const char *typed)
{
    char text[QUIZ_ANSWER_SIZE];
    tidy(typed, text);
    if (strlen(typed) >= QUIZ_ANSWER_SIZE)
        return QUIZ_UNCLEAR;
    switch (q->form) {
    case FORM_RANKS: return judge_ranks(q, plan, skip_words(text));
    case FORM_REASON: return judge_reason(q, skip_words(text));
    case FORM_OP: return judge_op(q, plan, text);
    default: return judge_number(q, skip_words(text));
    }
}
