/* page.h - the bytes of page.html, as the build has put them into the program. */
#ifndef RING_PAGE_H
#define RING_PAGE_H

#include <stddef.h>

extern const unsigned char page_html[];
extern const size_t page_html_size;

#endif
