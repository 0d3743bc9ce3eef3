/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls to the device that leave a trace: intent before, outcome after.
 *
 * Arguments and buffers lie in the log itself, which outlives the caller. The
 * kernel stores a result, or a record, in one step with what it did. So when a
 * process was killed in a call, or between two calls, the log still has the
 * records that it had taken, and whether its timers were armed or cancelled.
 */
#ifndef TORTURE_CALL_H
#define TORTURE_CALL_H

#include "twheel_util.h"

#include <stdint.h>

/* Bytes of arguments or records in one call: more entries than the kernel copies at once. */
#define CALL_ROOM	5120
#define CALL_ARMS	(CALL_ROOM / sizeof(struct twheel_arm))
#define CALL_CANCELS	(CALL_ROOM / sizeof(struct twheel_cancel))
#define CALL_EVENTS	(CALL_ROOM / sizeof(struct twheel_event))
#define CALL_ENTRIES	(CALL_ROOM / sizeof(struct twheel_timer_info))

/* No call returns this: it stands in results before the call, and for calls cut off. */
#define CALL_POISON	(-9999)

enum call_type {
	CALL_ARM,	/* one, or a batch */
	CALL_CANCEL,	/* one, or a batch */
	CALL_GET,
	CALL_READ,
	CALL_LIST,
	CALL_DRAIN,
	CALL_EXTEND,	/* a compare-and-swap in a word */
	CALL_EMPTY,	/* poll() or read() said so, and had since t0 */
	CALL_STEP,	/* the clock was set: back, if it returned 1 */
	CALL_SETTLED,	/* a context has no timers any more */
	CALL_CLOSED,	/* a context is gone, with all its timers */
};

enum call_state { CALL_FREE, CALL_OPEN, CALL_DONE };

/**
 * struct call - a call and its outcome
 * @begin: stamp before it
 * @end: stamp after it
 * @t0: before it, on the context's clock
 * @t1: after it
 * @mono: the same on CLOCK_MONOTONIC
 * @steps0: how often the clock was set, before @t0; odd while it is
 * @steps1: the same after @t1
 * @ret: what it returned, or %CALL_POISON
 * @ctx: serial number of the context
 * @state: &enum call_state
 * @type: &enum call_type
 * @n: entries or room for records
 * @clock: the context's
 * @config: the context's
 * @place: of the context, in shared->ctx
 * @arms: of %CALL_ARM
 * @cancels: of %CALL_CANCEL
 * @events: of %CALL_READ, all zeros before
 * @entries: of %CALL_LIST and %CALL_DRAIN, all zeros before, and %CALL_GET
 * @cursor: of %CALL_LIST and %CALL_DRAIN, before
 * @rearms: of %CALL_ARM, whether an entry has a handle before
 * @waited: of %CALL_READ, since when it, or the poll() before it, has waited
 * @woken: and until when; 0 if it has not
 * @list: the argument
 * @batch: the argument
 * @old: of %CALL_EXTEND, what the word is to hold
 * @new: what it then does
 * @found: what it did hold
 * @handle: whose it is
 * @word: its index
 */
struct call {
	__u64 begin;
	__u64 end;
	__u64 t0;
	__u64 t1;
	__u64 mono;
	__u64 steps0;
	__u64 steps1;
	long ret;
	__u32 ctx;
	__u8 state;
	__u8 type;
	__u8 n;
	__u8 place;
	clockid_t clock;
	__u32 config;
	union {
		__u64 cursor;
		bool rearms[CALL_ARMS];
	};
	union {
		struct twheel_list list;
		struct twheel_batch batch;
		struct {
			__u64 waited;
			__u64 woken;
		};
	};
	union {
		struct twheel_arm arms[CALL_ARMS];
		struct twheel_cancel cancels[CALL_CANCELS];
		struct twheel_event events[CALL_EVENTS];
		struct twheel_timer_info entries[CALL_ENTRIES];
		struct {
			__u64 old;
			__u64 new;
			__u64 found;
			__u64 handle;
			__u32 word;
		};
	};
};

/*
 * Is there a record in place @i? The upper half of its user_data is not 0. It is
 * stored last where call_read() reads in pieces, so a part of a record is none.
 */
static inline bool call_has_event(const struct call *call, int i)
{
	return call->events[i].user_data >> 32;
}

struct ctx;
struct log;

/* A call to be filled in. Waits until the oracle has made room. */
struct call *call_new(struct log *log, enum call_type type, const struct ctx *ctx);

/* The call begins, and counts from here on. Takes stamp and time. */
void call_begin(struct log *log, struct call *call);

/* It has returned @ret. */
void call_end(struct log *log, struct call *call, long ret);

/* The thread that wrote @log has ended, or was killed: complete its last call. */
void call_abandoned(struct log *log);

/* With @call filled in: make it, by @fd. Each returns what the call did. */
int call_arm(struct log *log, struct call *call, int fd);
int call_cancel(struct log *log, struct call *call, int fd);
int call_get(struct log *log, struct call *call, int fd);
int call_list(struct log *log, struct call *call, int fd, __u64 *cursor);
int call_extend(struct log *log, struct call *call, __u64 *word);

/*
 * Reads up to @n records, with RWF_NOWAIT if @nowait, into two pieces of memory if
 * @pieces: the border is inside the user_data of a record.
 */
ssize_t call_read(struct log *log, struct call *call, int fd, int n, bool nowait, bool pieces);

#endif /* TORTURE_CALL_H */
