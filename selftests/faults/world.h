/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context of which all that it holds is known, and can be checked.
 */
#ifndef TWHEEL_WORLD_H
#define TWHEEL_WORLD_H

#include <stdbool.h>

#include "twheel_util.h"

#define WORLD_MAX	1024

/**
 * struct world - a context and what is in it
 * @fd: the context
 * @clock: of the context
 * @config: TWHEEL_CONFIG_* bits
 * @next: user_data of the next timer; its key is derived from it
 * @nr: how many timers there are
 * @timers: what GET says of each
 * @read: user_data of the records that were read, in the order they came
 * @nr_read: how many
 * @fired: the call that was made last was one with a fault in it
 */
struct world {
	int fd;
	__u32 clock;
	__u32 config;
	__u64 next;
	int nr;
	struct twheel_timer_info timers[WORLD_MAX];
	__u64 read[WORLD_MAX];
	int nr_read;
	bool fired;
};

/* A new context with @clock and @config. */
void world_open(struct world *w, __u32 clock, __u32 config);

/* A request for a timer that does not exist yet, with its key if it needs one. */
struct twheel_arm world_request(struct world *w, __u64 delay);

/* Arm a timer @delay from now, TW_FAR or 0 as a rule, and every @interval. */
void world_add(struct world *w, __u64 delay, __u64 interval, __u32 flags);

/* @handle was armed: take it in as the kernel describes it. */
void world_armed(struct world *w, __u64 handle, __u64 user_data);

/* Timer @i was removed. */
void world_removed(struct world *w, int i);

/*
 * A call on timer @i may have taken place: see whether it did. It made the timer
 * have @user_data or, if that is 0, removed it.
 */
void world_unsure(struct world *w, int i, __u64 user_data);

/* Is everything as it should be? Violations are reported, with @what. */
void world_check(struct world *w, const char *what);

/* A read brought @bytes of @events: they must be of timers that were ready. */
void world_events(struct world *w, const struct twheel_event *events, ssize_t bytes);

/* Have every timer expire, read all records, and close: each comes exactly once. */
void world_finish(struct world *w, const char *what);

#endif /* TWHEEL_WORLD_H */
