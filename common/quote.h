/* quote.h - other people's bytes inside our one-line sentences.
 *
 * A path, an option or a file's content may hold newlines, control characters or megabytes. Both
 * functions give a short printable copy, to be used within the same call:
 *
 *     fail(err, STATUS_USAGE, "%s: begins with '%s'", quote_path(path).text,
 *          quote_bytes(data, n_bytes).text);
 */
#ifndef COMMON_QUOTE_H
#define COMMON_QUOTE_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define QUOTE_TEXT 200 /* bytes of a quotation, its end mark included */

struct quote {
    char text[QUOTE_TEXT];
};

/* Characters one byte takes: 4 for \x0a. Bytes above 0x7e are part of names in UTF-8 (kept in
 * paths), but foreign in data (escaped); 0x7f is a control character in both. */
static inline size_t quote_width(unsigned char c, int is_path)
{
    return c < 0x20 || c == 0x7f || (c > 0x7f && !is_path) ? 4 : 1;
}

static inline struct quote quote_range(const char *bytes, size_t first, size_t last, int is_path)
{
    struct quote quote = {""};
    size_t length = 0;
    for (size_t i = first; i < last; i++) {
        unsigned char c = (unsigned char)bytes[i];
        length += (size_t)snprintf(quote.text + length, QUOTE_TEXT - length,
                                   quote_width(c, is_path) == 4 ? "\\x%02x" : "%c", c);
    }
    return quote;
}

/* Data: its beginning, and "..." where it is longer. */
static inline struct quote quote_bytes(const char *bytes, size_t n_bytes)
{
    size_t last = 0, width = 0;
    while (last < n_bytes && width + quote_width((unsigned char)bytes[last], 0) < QUOTE_TEXT - 3)
        width += quote_width((unsigned char)bytes[last++], 0);
    struct quote quote = quote_range(bytes, 0, last, 0);
    if (last < n_bytes)
        strcat(quote.text, "...");
    return quote;
}

static inline struct quote quote_text(const char *text) { return quote_bytes(text, strlen(text)); }

/* A path: its end, where the file's own name is, and "..." before it where it is longer. */
static inline struct quote quote_path(const char *path)
{
    size_t last = strlen(path), first = last, width = 0;
    while (first > 0 && width + quote_width((unsigned char)path[first - 1], 1) < QUOTE_TEXT - 3)
        width += quote_width((unsigned char)path[--first], 1);
    struct quote quote = quote_range(path, first, last, 1);
    if (first > 0) {
        memmove(quote.text + 3, quote.text, strlen(quote.text) + 1);
        memcpy(quote.text, "...", 3);
    }
    return quote;
}

#endif
