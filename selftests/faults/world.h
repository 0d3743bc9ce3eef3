/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context of which all that it holds is known, and can be checked.
 *
 * What one call returns is for the oracle; a world knows besides how each timer is
 * set, and asks the device whether that is still so.
 */
#ifndef TWHEEL_WORLD_H
#define TWHEEL_WORLD_H

#include "../oracle/oracle.h"
#include "twheel_util.h"

#define WORLD_MAX	1024
/* Timers that have ended are remembered, too. */
#define WORLD_HANDLES	4096

/**
 * struct world - a context and what is in it
 * @fd: the context's descriptor
 * @ctx: what the oracle knows of it
 * @known: the handles of @ctx
 * @next: user_data of the next timer; its key is derived from it
 * @nr: how many timers there are
 * @timers: what GET says of each
 */
struct world {
	int fd;
	struct context ctx;
	struct known known[WORLD_HANDLES];
	__u64 next;
	int nr;
	struct twheel_timer_info timers[WORLD_MAX];
};

/* Nothing is open, and nothing known. */
void world_begin(struct world *w);

/* @fd is a context that was just opened. */
void world_opened(struct world *w, int fd);

/* A new context with @clock and @config. */
void world_open(struct world *w, __u32 clock, __u32 config);

/* A request for a timer that does not exist yet, with its key if it needs one. */
struct twheel_arm world_request(struct world *w, __u64 delay);

/* Arm a timer @delay from now, TW_FAR or 0 as a rule, and every @interval. */
void world_add(struct world *w, __u64 delay, __u64 interval, __u32 flags);

/* The index of timer @handle, or -1. */
int world_find(const struct world *w, __u64 handle);

/* @handle was armed: ask the device how it is set, and remember that. */
void world_armed(struct world *w, __u64 handle, __u64 user_data);

/* Timer @i was removed. */
void world_removed(struct world *w, int i);

/* Check that everything is as it should be. */
void world_check(struct world *w);

/* A read brought @bytes of @events: they must be of timers that were ready. */
void world_events(struct world *w, const struct twheel_event *events, ssize_t bytes);

/* Have every timer expire, read all records, and close: each comes exactly once. */
void world_finish(struct world *w);

#endif /* TWHEEL_WORLD_H */
