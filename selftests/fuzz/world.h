/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a program knows of the contexts that it has made, and what has to be so.
 *
 * A context's timers are counted by what the calls said: each that was made and
 * has not ended is pending or ready. While one thread alone uses a context, and
 * all it is told can be read, it is known of each handle as well whether it is
 * live. Whoever finds that something is not so says violation().
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stdbool.h>

#include <linux/types.h>
#include <linux/twheel.h>

#define WORLD_CONTEXTS	16
#define WORLD_HANDLES	256
#define WORLD_MAGIC	0x7ee10000ULL

/**
 * struct known - a handle that was given out, or a key that was used
 * @handle: it
 * @user_data: as last armed
 * @word: index of its word, if it was a lease
 * @live: it has not ended; meaningful in an exact world
 */
struct known {
	__u64 handle;
	__u64 user_data;
	__u32 word;
	bool live;
};

/**
 * struct context - one open of the device
 * @clock: what it was configured to
 * @config: its TWHEEL_CONFIG_* bits
 * @live: timers made and not ended
 * @unsure: a call's outcome was lost, so @live may be wrong
 * @evicted: there were more handles than are known
 * @nr: handles known, some in the place of older ones
 * @cursor: what the last list left
 */
struct context {
	__u32 clock;
	__u32 config;
	__s64 live;
	bool unsure;
	bool evicted;
	__u32 nr;
	__u64 cursor;
	struct known known[WORLD_HANDLES];
};

/**
 * struct world - all contexts of a run
 * @exact: one thread does it all, one call after another
 * @nr: contexts so far
 * @serial: of the last arming
 * @violations: what was wrong; the first is @first
 *
 * Shared with children of the run.
 */
struct world {
	bool exact;
	__u32 nr;
	__u32 serial;
	__u32 violations;
	char first[256];
	__u64 tick_ns;
	struct context contexts[WORLD_CONTEXTS];
};

void world_reset(struct world *world, bool exact);

/* A new context, or NULL if there is no place for another. */
struct context *world_add(struct world *world);

__attribute__((format(printf, 2, 3)))
void violation(struct world *world, const char *fmt, ...);

/* The user_data of a timer in @ctx: no other arming has it. */
__u64 world_user_data(struct world *world, const struct context *ctx);

/* A handle that @ctx knows, by any number; NULL if it knows none. */
struct known *world_pick(struct context *ctx, __u32 ref);

/* What has been carried out, and what the kernel said of it. */
void world_armed(struct world *world, struct context *ctx,
		 const struct twheel_arm *in, const struct twheel_arm *out);
void world_cancelled(struct world *world, struct context *ctx,
		     const struct twheel_cancel *in, const struct twheel_cancel *out);
void world_told(struct world *world, struct context *ctx,
		const struct twheel_timer_info *info, bool list, bool drain);
void world_read(struct world *world, struct context *ctx,
		const struct twheel_event *event);
/* @quiet: nothing is under way that could change the numbers. */
void world_info(struct world *world, struct context *ctx,
		const struct twheel_info *info, bool quiet);

/* Is @handle, which a call found or did not, as it should be? */
void world_found(struct world *world, struct context *ctx, __u64 handle, bool found,
		 const char *call);

#endif /* FUZZ_WORLD_H */
