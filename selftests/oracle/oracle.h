/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a program may expect of the device.
 *
 * A program tells the oracle what it has asked for and what came back. The oracle
 * remembers which timers a context has, and checks each answer against that and
 * against the description of the interface.
 *
 * Timers are counted by what calls returned: each that was made and has not ended
 * is pending or ready. While one thread alone uses a context, and can read all that
 * it is told, the oracle knows of each handle as well whether it is live. Where the
 * outcome of a call is lost the program says so, by &context.unsure, or finds out
 * and calls oracle_turned_out().
 */
#ifndef TWHEEL_ORACLE_H
#define TWHEEL_ORACLE_H

#include <stdbool.h>

#include <linux/types.h>
#include <linux/twheel.h>

/* In the user_data of a timer, above these bits is &context.user_data. */
#define ORACLE_SERIAL_BITS	24

/**
 * struct known - a handle that was given out, or a key that was used
 * @handle: the handle or key
 * @user_data: as last armed
 * @word: index of its word, if it was a lease
 * @live: it has not ended; meaningful if &context.exact
 */
struct known {
	__u64 handle;
	__u64 user_data;
	__u32 word;
	bool live;
};

/**
 * struct context - what is known of one open of the device
 * @clock: what it was configured to
 * @config: its TWHEEL_CONFIG_* bits
 * @tick_ns: length of a tick
 * @user_data: that of all timers, without the lowest %ORACLE_SERIAL_BITS
 * @live: timers made and not ended
 * @exact: one thread makes all calls, one after another
 * @unsure: a call's outcome was lost, so @live may be wrong
 * @evicted: there were more than @size handles
 * @nr: handles known so far; beyond @size each takes the place of an older one
 * @size: room in @known
 * @known: the handles
 */
struct context {
	__u32 clock;
	__u32 config;
	__u64 tick_ns;
	__u64 user_data;
	__s64 live;
	bool exact;
	bool unsure;
	bool evicted;
	__u32 nr;
	__u32 size;
	struct known *known;
};

/* Something is not as it should be. Each program has its own. */
__attribute__((format(printf, 1, 2)))
void violation(const char *fmt, ...);

/* A new context, with room for @size handles in @known. All else is for the caller to set. */
void oracle_begin(struct context *ctx, struct known *known, __u32 size);

/* A handle that @ctx knows, by any number; NULL if it knows none. */
struct known *oracle_pick(struct context *ctx, __u32 ref);

/* Check what came of a call, or of an entry in it: @in was passed, @out came back. */
void oracle_armed(struct context *ctx, const struct twheel_arm *in, const struct twheel_arm *out);
void oracle_cancelled(struct context *ctx, const struct twheel_cancel *in,
		      const struct twheel_cancel *out);

/* Check that a push was right to be carried out; or with @error not to be. */
void oracle_pushed(struct context *ctx, const struct twheel_push *push);
void oracle_not_pushed(struct context *ctx, const struct twheel_push *push, long error);

/* Check a timer's description, from GET or with @list from LIST, which has a @drain. */
void oracle_told(struct context *ctx, const struct twheel_timer_info *info, bool list, bool drain);

/* Check a record that was read. */
void oracle_read(struct context *ctx, const struct twheel_event *event);

/* Check the context's own description. @quiet: no call that could change it is under way. */
void oracle_info(struct context *ctx, const struct twheel_info *info, bool quiet);

/* Check that it is right that @call has @found timer @handle, or has not. */
void oracle_found(struct context *ctx, __u64 handle, bool found, const char *call);

/* After a call whose outcome was lost: the timer is live, with @user_data, or it is not. */
void oracle_turned_out(struct context *ctx, __u64 handle, __u64 user_data, bool live);

#endif /* TWHEEL_ORACLE_H */
