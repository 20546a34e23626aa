/* interrupt.c - the one place where a signal handler, and so a mutable global, is. */
#include "common/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t seen; /* the signal, or 0 */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define N_SIGNALS (int)(sizeof signals / sizeof *signals)

static void note(int signal) { seen = signal; }

/* A signal that was held back comes when it is held back no longer. */
static void hold_back(int how, int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(how, &set, NULL);
}

static void handle(int signal, void (*handler)(int))
{
    /* a call that blocks is interrupted, and a second signal does what it always did */
    struct sigaction old, action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    /* a signal that our parent had us ignore (nohup) stays ignored */
    if (sigaction(signal, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(signal, &action, NULL);
}

void interrupt_catch(void)
{
    for (int i = 0; i < N_SIGNALS; i++)
        handle(signals[i], note);
    hold_back(SIG_BLOCK, SIGPIPE);
}

enum status interrupt_seen(struct error *err)
{
    return seen ? fail(err, STATUS_MACHINE, "interrupted") : STATUS_OK;
}

enum status interrupt_stop(struct error *err)
{
    for (int i = 0; i < N_SIGNALS; i++)
        handle(signals[i], SIG_DFL);
    hold_back(SIG_UNBLOCK, SIGPIPE);
    return interrupt_seen(err);
}

void interrupt_release(void)
{
    if (interrupt_stop(NULL) != STATUS_OK)
        raise(seen);
}
