/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a program inherits of whoever starts it.
 */
#ifndef INHERITED_H
#define INHERITED_H

#include <signal.h>
#include <stdbool.h>

/**
 * inherited_descriptors() - open descriptors 0, 1 and 2 if they are closed, and have standard error
 *	written by lines
 *
 * To be called before anything is opened, which would get their numbers: what is printed would go
 * there. To read or write those that this opens fails as if they were closed. To be called before
 * anything is printed, too: each line of standard error is one write from then on, so that a
 * process that shares it, as a command of cron does, writes before or behind a message.
 */
void inherited_descriptors(void);

/**
 * inherited_ignored() - was this program started with a signal ignored, as nohup does?
 * @sig: the signal
 *
 * Return: whether it is ignored.
 */
bool inherited_ignored(int sig);

/**
 * inherited_catch() - have a function called for a signal, unless it is ignored
 * @sig: the signal
 * @handler: the function; system calls that it interrupts fail with EINTR
 */
void inherited_catch(int sig, void (*handler)(int sig));

/**
 * inherited_catch_all() - have a function called for signals, while the program waits
 * @handler: the function; what is ignored stays so
 * @waiting: set to what is blocked while the program waits, for ppoll() or epoll_pwait(): at other
 *	times these signals are, too
 *
 * The signals follow, and then 0.
 */
void inherited_catch_all(void (*handler)(int sig), sigset_t *waiting, ...);

/**
 * inherited_let_in() - let signals come that are blocked
 * @waiting: the signals that are blocked meanwhile
 *
 * To be called once in each round of a loop that waits in ppoll() or epoll_pwait(). These let no
 * signal in if a descriptor is ready, and in a busy loop there always is one.
 */
void inherited_let_in(const sigset_t *waiting);

#endif /* INHERITED_H */
