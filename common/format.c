/* format.c - numbers in, short strings out, and one way back. */
#include "common/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *format_bytes(int64_t bytes, char buffer[FORMAT_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;
    while (unit < 6 && value >= 1024) {
        value /= 1024;
        unit++;
    }
    if (value * 100 != floor(value * 100))
        snprintf(buffer, FORMAT_SIZE, "%" PRId64 " B", bytes);
    else
        snprintf(buffer, FORMAT_SIZE, "%.10g %s", value, units[unit]);
    return buffer;
}

const char *format_value(double value, char buffer[FORMAT_SIZE])
{
    if (isnan(value))
        snprintf(buffer, FORMAT_SIZE, "nan");
    else if (isinf(value))
        snprintf(buffer, FORMAT_SIZE, value < 0 ? "-inf" : "inf");
    else if (value == floor(value) && fabs(value) < 1e10)
        snprintf(buffer, FORMAT_SIZE, "%.0f", value);
    else
        snprintf(buffer, FORMAT_SIZE, "%.7g", value);
    return buffer;
}

const char *format_json_number(double value, char buffer[FORMAT_SIZE])
{
    if (isnan(value) || isinf(value)) {
        snprintf(buffer, FORMAT_SIZE,
                 isnan(value) ? "\"nan\""
                 : value < 0  ? "\"-inf\""
                              : "\"inf\"");
        return buffer;
    }
    int whole = value == floor(value) && fabs(value) < 1e15;
    for (int digits = whole ? 15 : 1; digits <= 17; digits++) {
        snprintf(buffer, FORMAT_SIZE, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    for (char *c = buffer; *c; c++)
        if (*c == ',') /* a locale's decimal point, should a program around us have set one */
            *c = '.';
    return buffer;
}

int parse_count(const char *text, int64_t least, int64_t most, int suffix, int64_t *out)
{
    static const char letters[] = "KMG";
    int64_t value = 0;
    const char *c = text;
    for (; isdigit((unsigned char)*c); c++) {
        int digit = *c - '0';
        if (value > (INT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    const char *letter = suffix && *c ? strchr(letters, toupper((unsigned char)*c)) : NULL;
    if (c == text || (*c && !letter) || (letter && c[1]))
        return 0;
    int shift = letter ? 10 * (int)(letter - letters + 1) : 0;
    if (value > INT64_MAX >> shift)
        return 0;
    value <<= shift;
    if (value < least || value > most)
        return 0;
    *out = value;
    return 1;
}

void format_words(FILE *file, const char *label, const char *words)
{
    int column = fprintf(file, "  %-9s", label);
    while (*words) {
        int length = (int)strcspn(words, " ");
        if (column + 1 + length > FORMAT_WIDTH)
            column = fprintf(file, "\n%11s", "") - 1;
        column += fprintf(file, " %.*s", length, words);
        words += length + (words[length] == ' ');
    }
    fputc('\n', file);
}
