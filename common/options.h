/* options.h - a command line read by a table, and the help printed from the same table.
 *
 * A letter or a name may mean one thing to one command and another to the next.
 * Reading rests on getopt_long(), so --gpus=4, --gpus 4, -g4 and unambiguous short forms all work.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "common/status.h"

struct option_row {
    char letter;            /* 0: none */
    const char *name;
    const char *argument;   /* "N"; "[=KIND]" for one that may be left out; NULL for none */
    unsigned commands;      /* bit c: offered by command c; further bits are the caller's */
    const char *help;       /* words; a line of it that ends with '\n' ends with a blank */
    /* Takes the argument's text (NULL where there is none) into the settings. A refusal names the
     * option by itself: "--gpus x: ..." */
    enum status (*set)(void *settings, const char *text, struct error *err);
};

/* Reads argv[1 ..] for one command (a bit of option_row.commands). What is neither option nor its
 * argument is moved to the end of argv; *first_operand is its index. *given gets bit i for each row
 * i (at most 64 rows) that was there. STATUS_USAGE: an unknown option, one of another command, a
 * missing argument. */
enum status options_read(const struct option_row *rows, int n_rows, int command, int argc,
                         char **argv, void *settings, uint64_t *given, int *first_operand,
                         struct error *err);

/* STATUS_USAGE where an option was given whose row has none of these bits: "--count with --model:
 * ..", for with = "--model". */
enum status options_allow(const struct option_row *rows, int n_rows, uint64_t given, unsigned bits,
                          const char *with, struct error *err);

/* The options of one command, as a table for people. */
#define OPTIONS_WIDTH 79 /* columns: fits a terminal of 80 */
#define OPTIONS_INDENT 24
void options_print(const struct option_row *rows, int n_rows, int command, FILE *file);

#endif
