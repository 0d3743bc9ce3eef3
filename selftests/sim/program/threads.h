/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before all else in the library's files, whose threads are fibers of one thread here.
 */
#ifndef SIM_PROGRAM_THREADS_H
#define SIM_PROGRAM_THREADS_H

#include <pthread.h>

/* fiber.c keeps what is in this section for each fiber. */
#define __thread	__attribute__((__section__("simtls")))
#define __tls_model__(model) __unused__

/* program.c calls @function with @arg if this fiber is cancelled in between. */
void sim_cleanup_push(void (*function)(void *arg), void *arg);
void sim_cleanup_pop(void);

#undef pthread_cleanup_push
#undef pthread_cleanup_pop
#define pthread_cleanup_push(function, arg)	sim_cleanup_push(function, arg)
#define pthread_cleanup_pop(execute)		((void)(execute), sim_cleanup_pop())

#endif /* SIM_PROGRAM_THREADS_H */
