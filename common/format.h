/* format.h - quantities as people write them. Each returns its buffer. */
#ifndef COMMON_FORMAT_H
#define COMMON_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FORMAT_SIZE 40

/* "0 B", "24 KiB", "1.5 MiB", "1336 B": powers of 1024 with up to two decimals; where that would
 * round, all bytes. */
const char *format_bytes(int64_t bytes, char buffer[FORMAT_SIZE]);

/* An element's value, short: "31", "-2147483648", "-0.5", "nan", "inf"; fractions have 7 digits. */
const char *format_value(double value, char buffer[FORMAT_SIZE]);

/* A number for JSON: all digits of a whole one, else the fewest that read back the same; never in
 * the words of a locale; non-finite ones as the strings "nan", "inf" and "-inf", with their quotes.
 */
const char *format_json_number(double value, char buffer[FORMAT_SIZE]);

/* "  label     words", broken between words where a line would pass FORMAT_WIDTH columns; the words
 * of further lines stand below the first ones. */
#define FORMAT_WIDTH 100
void format_words(FILE *file, const char *label, const char *words);

/* Whether `text` is a whole number from least to most, with an optional suffix K, M or G (powers of
 * 1024) where `suffix` is set; *out gets it. */
int parse_count(const char *text, int64_t least, int64_t most, int suffix, int64_t *out);

#endif
