/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libtwheel: declarations that its files share.
 */
#ifndef TWHEEL_INTERNAL_H
#define TWHEEL_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include <twheel.h>

#include "backend.h"

/* All other symbols are hidden, so that the shared library exports only its API. */
#define TWHEEL_API	__attribute__((visibility("default")))

/* The most entries that the device takes in one array. */
#define TWHEEL_ENTRIES_MAX	((size_t)INT_MAX)

struct twheel_emb;
struct twheel_leases;
struct twheel_loop;
struct twheel_shards;

/**
 * struct twheel - an open context
 * @now: where the time is kept that calls take for the present; NULL if they read the clock. Stored
 *	once, and read without a lock
 * @fd: the descriptor, owned
 * @backend: what stands behind it
 * @emb: the wheel of an embedded context, or the first of several; otherwise NULL
 * @shards: all of several; otherwise NULL
 * @clock: the context's clock, which cannot change any more
 * @config: its TWHEEL_CONFIG_* bits, which cannot change any more either
 * @process: the number of the process that made or took over the context: see fork.c
 * @leases: where the words of leases are mapped; NULL in a context without leases
 * @loop: timer objects, or NULL before the first one or the first twheel_dispatch()
 */
struct twheel {
	const uint64_t		*now;
	int			fd;
	const struct twheel_backend *backend;
	struct twheel_emb	*emb;
	struct twheel_shards	*shards;
	int			clock;
	unsigned int		config;
	unsigned int		process;
	struct twheel_leases	*leases;
	struct twheel_loop	*loop;
};

/* A call of <linux/twheel.h>. What ioctl() returns, or -errno. */
static inline int twheel_ioctl(const struct twheel *tw, unsigned long request, void *arg)
{
	return tw->backend->ioctl(tw, request, arg);
}

/*
 * How many of the @room records at @events a read has stored, if the thread was cancelled in it.
 * Some C libraries, such as glibc before 2.41, may do so after the device has handed out records.
 * Before the read `expirations` was 0 in all of them, which it is in no record.
 */
static inline size_t twheel_count_stored(const struct twheel_event *events, size_t room)
{
	size_t n = 0;

	while (n < room && events[n].expirations)
		n++;
	return n;
}

/*
 * A thread may be cancelled in such a function, and leave it for functions that it runs at its end.
 * The address sanitizer of GCC would take its variables for theirs.
 */
#define TWHEEL_LEAVES	__attribute__((__no_sanitize__("address")))

/*
 * Wait until the descriptor is readable, or for @ns; a point of cancellation. 0; or 1 if that time
 * is over, as a program that is told a time which stands still would not learn of it; or -EINTR.
 */
int twheel_wait_readable(const struct twheel *tw, uint64_t ns);

/* Store what was replaced, unless the caller has passed NULL. */
static inline void twheel_store_old(struct twheel_old *old, uint32_t state,
				    uint64_t remaining)
{
	if (old)
		*old = (struct twheel_old){ .state = state, .remaining = remaining };
}

/* Where the number of this process is; 0 if it has none, as a child of one that has. */
extern unsigned int *twheel_process;

/* Was the context made by another process, and not taken over by this one? */
static inline bool twheel_inherited(const struct twheel *tw)
{
	return tw->process != __atomic_load_n(twheel_process, __ATOMIC_RELAXED);
}

/* Let a context map words. twheel_leases_free() unmaps them. */
int twheel_leases_new(struct twheel *tw);
void twheel_leases_free(struct twheel *tw);

/* The @n timers were cancelled: mark the timer objects that have armed them. */
void twheel_loop_drained(struct twheel_loop *loop,
			 const struct twheel_timer_info *infos, ssize_t n);

/* Push no timer object back by its word before it was armed by a call again. */
void twheel_loop_forget_words(struct twheel_loop *loop);

/* Tell the device what timer objects have queued for it, if anything: see queue.c. */
void twheel_queue_flush(struct twheel *tw);

/*
 * Free a context, all its timer objects, and the buffer of the records to dispatch; also while the
 * timer's function runs that has closed the context.
 */
void twheel_loop_free(struct twheel *tw);

#endif /* TWHEEL_INTERNAL_H */
