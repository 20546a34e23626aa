/* trace_html.c - a page that replays the run: page.html, with the run's JSON lines in the place of
 * its one marker.
 *
 * The page draws what these lines say and knows nothing else, so it and --trace=json hold the same
 * numbers.
 */
#include <string.h>

#include "ring/page.h"
#include "ring/trace.h"

#define MARKER "@RUN@\n"

/* Where the marker begins. */
static size_t find_marker(void)
{
    size_t length = strlen(MARKER), at = 0;
    while (at + length < page_html_size && memcmp(page_html + at, MARKER, length) != 0)
        at++;
    return at;
}

enum status trace_html(const struct scene *scene, FILE *file, struct error *err)
{
    size_t begin = find_marker(), end = begin + strlen(MARKER);
    fwrite(page_html, 1, begin, file);
    enum status status = trace_json(scene, file, err);
    fwrite(page_html + end, 1, page_html_size - end, file);
    return status;
}
