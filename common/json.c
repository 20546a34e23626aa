/* json.c - what every writer of JSON needs. */
#include "common/json.h"

#include <inttypes.h>

#include "common/format.h"

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

void json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (int length; *text; text += length) {
        unsigned char c = (unsigned char)*text;
        length = utf8_length((const unsigned char *)text);
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20 || c == '<')
            fprintf(file, "\\u%04x", (unsigned)c);
        else if (length == 0)
            fprintf(file, "\\ufffd");
        else
            fwrite(text, 1, (size_t)length, file);
        length += length == 0;
    }
    fputc('"', file);
}

void json_named(FILE *file, const char *name, const char *text)
{
    fprintf(file, ",\"%s\":", name);
    json_string(file, text);
}

void json_number(FILE *file, const char *name, double value)
{
    char buffer[FORMAT_SIZE];
    fprintf(file, ",\"%s\":%s", name, format_json_number(value, buffer));
}

void json_us(FILE *file, const char *name, int64_t ns)
{
    fprintf(file, ",\"%s\":%" PRId64 ".%03d", name, ns / 1000, (int)(ns % 1000));
}
