/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The calls on an embedded context, for the library above. They take its lock. */
#ifndef TWHEEL_EMB_CALLS_H
#define TWHEEL_EMB_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "share.h"

struct twheel_emb;

/**
 * struct twheel_emb_limit - how many timers some contexts may have together
 * @timers: how many they have; atomic
 * @max: how many that may be; constant, as is @exact
 * @exact: none keeps some of them for its next timers, which another could not have then
 */
struct twheel_emb_limit {
	uint64_t timers __attribute__((__aligned__(8)));
	uint64_t max;
	bool exact;
};

/* A request of <linux/twheel.h>. What ioctl() returns, or -errno. */
int twheel_emb_ioctl(struct twheel_emb *emb, unsigned long request, void *arg);

/* As read(), but returns -errno; without @wait as if the descriptor were non-blocking. */
ssize_t twheel_emb_read(struct twheel_emb *emb, void *buf, size_t size, bool wait);

/*
 * A part of a read of @size bytes at @buf, which does not wait, and has @done from other contexts:
 * if it has some it is told of no step, and may get 0 bytes more. @last: no other part follows.
 */
ssize_t twheel_emb_read_part(struct twheel_emb *emb, void *buf, size_t done, size_t size,
			     bool last);

/* Is this reader to be told that the clock was set? Then no other is. */
bool twheel_emb_take_step(struct twheel_emb *emb);

/* As write(), but returns -errno. */
ssize_t twheel_emb_write(struct twheel_emb *emb, const void *buf, size_t size);

/*
 * Carry out @n entries of TWHEEL_IOC_ARM or _CANCEL in their own memory, which is aligned. Each has
 * its result.
 */
void twheel_emb_entries(struct twheel_emb *emb, unsigned long request, void *entries, uint32_t n);

/* What time it is, in ns. It takes no lock. */
uint64_t twheel_emb_time(const struct twheel_emb *emb);

/* May there be something to read at @ns? It takes no lock. */
bool twheel_emb_may_read(const struct twheel_emb *emb, uint64_t ns);

/*
 * May the descriptor be readable for a time that is to come once more, as the clock was set back? A
 * read that finds nothing then sets the timerfd again. It takes no lock.
 */
bool twheel_emb_may_repeat(const struct twheel_emb *emb);

/* The words of a segment, which are made if need be. 0, -ENOMEM, or -ENODEV without leases. */
int twheel_emb_map(struct twheel_emb *emb, uint32_t segment, uint64_t **words);

/* Where the time is that calls take for the present: it lives as long as the context. */
const uint64_t *twheel_emb_now(const struct twheel_emb *emb);

/* Read the clock, unless it stands still. */
void twheel_emb_update_now(struct twheel_emb *emb);

/* Let the clock stand still at @ns. */
void twheel_emb_set_now(struct twheel_emb *emb, uint64_t ns);

/* What was counted so far, as in share.h. It takes no lock. */
void twheel_emb_stats(const struct twheel_emb *emb, uint64_t counts[TWHEEL_SHARE_COUNTS]);

/*
 * Make a context. O_NONBLOCK and O_CLOEXEC may be in @flags. With @caches only reads and
 * twheel_emb_update_now() read the clock. It shares the descriptor of @first, unless that is NULL.
 * Returns its descriptor, or -errno.
 */
int twheel_emb_new(struct twheel_emb **embp, int flags, bool caches,
		   const struct twheel_emb *first);

/* How many timers a context may have if it does not ask for a limit */
uint64_t twheel_emb_most_timers(void);

/* Before its first timer: let a context have no more than @limit, with others of that limit. */
void twheel_emb_set_limit(struct twheel_emb *emb, struct twheel_emb_limit *limit);

/*
 * Free a context, or a copy of one that was @inherited, and close its descriptors; the one that
 * others share goes last.
 */
void twheel_emb_destroy(struct twheel_emb *emb, bool inherited);

/* In a child, which has a copy of it. False if that is in a time namespace with other clocks. */
bool twheel_emb_take_over(struct twheel_emb *emb);

#endif /* TWHEEL_EMB_CALLS_H */
