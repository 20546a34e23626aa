/* options.c - getopt_long's tables are made from ours, and its complaints are put in our words. */
#include "common/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"

#define FIRST_ID 1000 /* getopt_long reports row i as FIRST_ID + i, its letter as the letter */

static int takes_argument(const struct option_row *row)
{
    return !row->argument ? no_argument : row->argument[0] == '[' ? optional_argument
                                                                   : required_argument;
}

static int is_offered(const struct option_row *row, int command)
{
    return (row->commands & 1u << command) != 0;
}

static const struct option_row *find_row(const struct option_row *rows, int n_rows, int command,
                                         int id)
{
    for (int i = 0; i < n_rows; i++)
        if (is_offered(&rows[i], command) &&
            (id == FIRST_ID + i || (rows[i].letter && id == rows[i].letter)))
            return &rows[i];
    return NULL;
}

/* The row of another command that `word` (or the letter) names in full. */
static const struct option_row *find_other(const struct option_row *rows, int n_rows, int letter,
                                           const char *word)
{
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
    for (int i = 0; i < n_rows; i++)
        if (length > 0 ? strlen(rows[i].name) == length &&
                             strncmp(rows[i].name, word + 2, length) == 0
                       : rows[i].letter && rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

static enum status refuse(const struct option_row *rows, int n_rows, int command, int id,
                          const char *word, struct error *err)
{
    const struct option_row *row = find_row(rows, n_rows, command, optopt);
    const struct option_row *other = row ? NULL : find_other(rows, n_rows, optopt, word);
    if (other)
        return fail(err, STATUS_USAGE, "--%s is not an option of this command; see --help",
                    other->name);
    if (id == ':' && row)
        return fail(err, STATUS_USAGE, "--%s needs an argument: --%s %s", row->name, row->name,
                    row->argument);
    if (row && optopt >= FIRST_ID)
        return fail(err, STATUS_USAGE, "--%s takes no argument", row->name);
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
    int alike = 0;
    for (int i = 0; length > 0 && i < n_rows; i++)
        alike += is_offered(&rows[i], command) && strncmp(rows[i].name, word + 2, length) == 0;
    return fail(err, STATUS_USAGE, "%s option '%s'; see ring_demo --help",
                alike > 1 ? "ambiguous" : "unknown", quote_text(word).text);
}

enum status options_read(const struct option_row *rows, int n_rows, int command, int argc,
                         char **argv, void *settings, uint64_t *given, int *first_operand,
                         struct error *err)
{
    enum status status = STATUS_OK;
    struct option *table = NULL;
    char *letters = NULL, *l;
    int n = 0;
    TRY(allocate((void **)&table, n_rows + 1, sizeof *table, "options", err));
    TRY(allocate((void **)&letters, 3 * n_rows + 2, 1, "options", err));
    l = letters;
    *l++ = ':'; /* a missing argument is reported as ':' and not printed */
    for (int i = 0; i < n_rows; i++) {
        int takes = takes_argument(&rows[i]);
        if (!is_offered(&rows[i], command))
            continue;
        table[n++] = (struct option){rows[i].name, takes, NULL, FIRST_ID + i};
        if (rows[i].letter) {
            *l++ = rows[i].letter;
            if (takes == required_argument)
                *l++ = ':';
        }
    }
    *given = 0;
    opterr = 0;
    optind = 0; /* forget an earlier command line: glibc, musl and the BSDs all understand this */
    for (;;) {
        int at = optind, id = getopt_long(argc, argv, letters, table, NULL);
        if (id == -1)
            break;
        const struct option_row *row = find_row(rows, n_rows, command, id);
        if (!row) {
            /* optind stays on a cluster of letters until its end */
            status = refuse(rows, n_rows, command, id, argv[optind > at ? optind - 1 : at], err);
            goto out;
        }
        *given |= UINT64_C(1) << (row - rows);
        TRY(row->set(settings, optarg, err));
    }
    *first_operand = optind;
out:
    free(table);
    free(letters);
    return status;
}

enum status options_allow(const struct option_row *rows, int n_rows, uint64_t given, unsigned bits,
                          const char *with, struct error *err)
{
    for (int i = 0; i < n_rows; i++)
        if (given >> i & 1 && !(rows[i].commands & bits))
            return fail(err, STATUS_USAGE, "--%s with %s: it would change nothing; leave one out",
                        rows[i].name, with);
    return STATUS_OK;
}

/* The words of `text`, broken where a line would pass OPTIONS_WIDTH columns; further lines begin
 * below the first. */
static void print_words(const char *text, int indent, FILE *file)
{
    int column = indent;
    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " \n");
        if (column > indent && column + 1 + length > OPTIONS_WIDTH)
            column = fprintf(file, "\n%*s", indent, "") - 1;
        else if (column > indent)
            column += fprintf(file, " ");
        column += fprintf(file, "%.*s", length, word);
        word += length + (word[length] != '\0');
    }
    fputc('\n', file);
}

void options_print(const struct option_row *rows, int n_rows, int command, FILE *file)
{
    for (int i = 0; i < n_rows; i++) {
        if (!is_offered(&rows[i], command))
            continue;
        char letter[8] = "    ";
        if (rows[i].letter)
            snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
        int width = fprintf(file, "  %s--%s%s%s", letter, rows[i].name,
                            rows[i].argument && rows[i].argument[0] != '[' ? " " : "",
                            rows[i].argument ? rows[i].argument : "");
        fprintf(file, "%*s", width < OPTIONS_INDENT - 1 ? OPTIONS_INDENT - width : 1, "");
        print_words(rows[i].help, OPTIONS_INDENT, file);
    }
}
