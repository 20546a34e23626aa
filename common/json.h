/* json.h - the parts of a JSON text: strings, numbers and times, written to a file.
 *
 * Numbers never follow the locale. Names are written as they are given: plain ASCII words.
 */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <stdint.h>
#include <stdio.h>

/* A string with its quotes. Control characters are escaped, and so is '<', so that the text may
 * stand inside an HTML page; a byte that is no UTF-8 becomes U+FFFD. */
void json_string(FILE *file, const char *text);

/* Each begins with a comma: ,"name":"text"   ,"name":0.5   ,"name":12.345 */
void json_named(FILE *file, const char *name, const char *text);
void json_number(FILE *file, const char *name, double value); /* non-finite: "nan", "inf", "-inf" */
void json_us(FILE *file, const char *name, int64_t ns); /* microseconds, exactly; ns >= 0 */

#endif
