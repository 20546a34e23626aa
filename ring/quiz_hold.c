/* quiz_hold.c - a quiz as a dialogue, or as a sheet of questions with its key. */
#include <inttypes.h>
#include <string.h>

#include "ring/quiz.h"

/* A question in two lines has the second below the first. */
static void print_question(const struct question *q, int64_t number, FILE *out)
{
    int indent = fprintf(out, "%4" PRId64 ". ", number + 1);
    for (const char *line = q->text, *end;; line = end + 1) {
        end = strchr(line, '\n');
        fprintf(out, "%.*s\n", end ? (int)(end - line) : (int)strlen(line), line);
        if (!end)
            return;
        fprintf(out, "%*s", indent, "");
    }
}

static void print_proof(const struct question *q, FILE *out)
{
    if (q->because)
        fprintf(out, "      %s\n", q->because);
    fputs(q->lines, out);
}

/* ---- on paper ---- */

static void print_sheet(const struct quiz *quiz, FILE *out)
{
    for (int64_t i = 0; i < quiz->n_questions; i++) {
        const struct question *q = &quiz->questions[i];
        if (i == 0 || q->moment != quiz->questions[i - 1].moment)
            fprintf(out, "\n%s\n", quiz->moments[q->moment].title);
        print_question(q, i, out);
    }
    fprintf(out, "\nkey\n");
    for (int64_t i = 0; i < quiz->n_questions; i++) {
        fprintf(out, "%4" PRId64 ". %s\n", i + 1, quiz->questions[i].answer);
        print_proof(&quiz->questions[i], out);
    }
}

/* ---- in a dialogue ---- */

/* One line, its end cut off; what is too long for an answer is read and marked by its length.
 * 0: there is none. */
static int read_line(FILE *in, char *line, size_t size)
{
    if (!fgets(line, (int)size, in))
        return 0;
    size_t length = strcspn(line, "\n");
    if (line[length] == '\n')
        line[length] = '\0';
    else
        for (int c = getc(in); c != '\n' && c != EOF;)
            c = getc(in);
    return 1;
}

static int is_blank(const char *line) { return line[strspn(line, " \t\r")] == '\0'; }

static int is_quit(const char *line)
{
    line += strspn(line, " \t");
    return (line[0] == 'q' || line[0] == 'Q') && is_blank(line + 1);
}

/* Asks until there is an answer; 0: the quiz is to end. */
static int put_question(const struct quiz *quiz, int64_t number, FILE *in, FILE *out, int *right)
{
    const struct question *q = &quiz->questions[number];
    char line[QUIZ_ANSWER_SIZE + 1];
    print_question(q, number, out);
    for (;;) {
        fprintf(out, "      > ");
        fflush(out);
        if (!read_line(in, line, sizeof line) || is_quit(line))
            return 0;
        enum quiz_verdict verdict = is_blank(line) ? QUIZ_WRONG
                                                   : quiz_judge(q, quiz->plan, line);
        if (verdict == QUIZ_UNCLEAR) {
            fprintf(out, "      this is not %s; Enter alone passes, q ends\n",
                    quiz_wanted(q->form));
            continue;
        }
        *right = verdict == QUIZ_RIGHT;
        fprintf(out, "      %s: %s\n", *right ? "right" : is_blank(line) ? "passed" : "no",
                q->answer);
        print_proof(q, out);
        return 1;
    }
}

static void hold_dialogue(const struct quiz *quiz, FILE *in, FILE *out)
{
    int64_t asked = 0, n_right = 0;
    fprintf(out, "\nAn answer and Enter; Enter alone passes; q ends.\n");
    for (; asked < quiz->n_questions; asked++) {
        const struct question *q = &quiz->questions[asked];
        int right;
        if (asked == 0 || q->moment != q[-1].moment)
            fprintf(out, "\n%s\n", quiz->moments[q->moment].title);
        if (!put_question(quiz, asked, in, out, &right)) {
            fputc('\n', out);
            break;
        }
        n_right += right;
        if (asked + 1 == quiz->n_questions || q[1].moment != q->moment)
            fputs(quiz->moments[q->moment].table, out);
    }
    fprintf(out, "\nscore: %" PRId64 " of %" PRId64 " right", n_right, asked);
    if (asked < quiz->n_questions)
        fprintf(out, ", %" PRId64 " not answered", quiz->n_questions - asked);
    fputc('\n', out);
}

enum status quiz_hold(const struct quiz *quiz, FILE *in, FILE *out, int dialogue,
                      struct error *err)
{
    if (!quiz->n_questions) {
        fprintf(out, "\nquiz: no questions, since nothing is copied or added in this run\n");
        return STATUS_OK;
    }
    fprintf(out, "\nquiz: %" PRId64 " question%s; --seed %" PRIu64 " asks the same again\n",
            quiz->n_questions, quiz->n_questions == 1 ? "" : "s", quiz->seed);
    if (quiz->table && quiz->table[0])
        fprintf(out, "\nbefore the first step\n%s", quiz->table);
    if (dialogue)
        hold_dialogue(quiz, in, out);
    else
        print_sheet(quiz, out);
    if (ferror(in))
        return fail(err, STATUS_USAGE, "standard input: cannot be read");
    return STATUS_OK;
}
