/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The echo server of these examples, and what it asks of an event loop.
 *
 * server.c is the same for all. Each *-server.c has the functions below for one loop, and
 * gives that loop the server's timers by its twheel-*.h.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct watch - a descriptor that a loop waits for
 * @fd: the descriptor
 * @ready: called by the loop while there is something to read
 * @gone: called by the loop, once, when it has no use for the watch any more
 * @source: the loop's own
 * @state: the loop's own
 */
struct watch {
	int	fd;
	void	(*ready)(struct watch *watch);
	void	(*gone)(struct watch *watch);
	void	*source;
	int	state;
};

/** loop_flushes - does the loop call twheel_timer_flush() before it waits? */
extern const bool loop_flushes;

/** loop_open() - make the loop; 0 or -errno */
int loop_open(void);

/** loop_attach() - have it call the functions of timers; 0 or -errno */
int loop_attach(struct twheel *tw);

/** loop_detach() - end that; also called from within the loop */
void loop_detach(void);

/** loop_watch() - have the loop wait for a descriptor; 0 or -errno */
int loop_watch(struct watch *watch);

/** loop_unwatch() - end that; the loop calls @watch->gone() now or later */
void loop_unwatch(struct watch *watch);

/** loop_run() - run until loop_stop(); 0 or -errno */
int loop_run(void);

/** loop_stop() - have loop_run() return; called from within the loop */
void loop_stop(void);

/** loop_close() - end the loop, after loop_detach() */
void loop_close(void);

/** server_failed() - end, as the timers' functions cannot be called */
void server_failed(struct twheel *tw, int err);

#ifdef __cplusplus
}
#endif

#endif /* SERVER_H */
