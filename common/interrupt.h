/* interrupt.h - Ctrl-C while files are being written: they are taken away, then the process goes.
 *
 * From interrupt_catch() on, the first SIGINT, SIGTERM or SIGHUP is only noted; whoever writes, or
 * has much to do, asks interrupt_seen() now and then and gives up, removing its temporary files.
 * main ends with interrupt_release(), which lets the signal do what it would have done. A SIGPIPE
 * is held back, too: writing to a pipe that nobody reads fails (output_flush() tells), what has to
 * be done is done, and interrupt_stop() then ends the process without a word.
 */
#ifndef COMMON_INTERRUPT_H
#define COMMON_INTERRUPT_H

#include "common/status.h"

void interrupt_catch(void);
/* STATUS_MACHINE, "interrupted", once a signal has come. */
enum status interrupt_seen(struct error *err);
/* No longer: signals do again what they always did. STATUS_MACHINE as above. */
enum status interrupt_stop(struct error *err);
/* Ends the process by the signal that came, if one did. */
void interrupt_release(void);

#endif
