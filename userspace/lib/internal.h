/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libtwheel: what its files share.
 */
#ifndef TWHEEL_INTERNAL_H
#define TWHEEL_INTERNAL_H

#include <stdbool.h>

#include <twheel.h>

/* All else is hidden, so that the shared library exports its API and no more. */
#define TWHEEL_API	__attribute__((visibility("default")))

struct twheel_leases;
struct twheel_loop;

/**
 * struct twheel - an open context
 * @fd: descriptor of the device, owned
 * @clock: the context's clock, which cannot change any more
 * @config: its TWHEEL_CONFIG_* bits, which cannot either
 * @forks: what twheel_forks was when the process came by it
 * @leases: where their words are mapped; NULL in a context without leases
 * @loop: timer objects, or NULL before the first one
 */
struct twheel {
	int			fd;
	int			clock;
	unsigned int		config;
	unsigned int		forks;
	struct twheel_leases	*leases;
	struct twheel_loop	*loop;
};

/* Tells a caller who wants to know what was replaced. */
static inline void twheel_store_old(struct twheel_old *old, uint32_t state,
				    uint64_t remaining)
{
	if (old)
		*old = (struct twheel_old){ .state = state, .remaining = remaining };
}

/* How many forks lie between this process and the first that used the library. */
extern unsigned int twheel_forks;

/* Counts forks from now on, and makes the context this process's own. */
int twheel_watch_forks(struct twheel *tw);

/* Was the context made by another process, and not taken over by this one? */
static inline bool twheel_inherited(const struct twheel *tw)
{
	return tw->forks != twheel_forks;
}

/* Lets a context map words; they are unmapped with its end. */
int twheel_leases_new(struct twheel *tw);
void twheel_leases_free(struct twheel_leases *leases);

/* Those timer objects that armed the @n timers are not armed any more. */
void twheel_loop_drained(struct twheel_loop *loop,
			 const struct twheel_timer_info *infos, ssize_t n);

/* Frees all timer objects and the buffer they are dispatched from. */
void twheel_loop_free(struct twheel_loop *loop);

#endif /* TWHEEL_INTERNAL_H */
