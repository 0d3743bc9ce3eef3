/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * twheel: a timer wheel as a device.
 *
 * One open of /dev/twheel is a *context*: an independent set of timers.
 * ioctl() arms and cancels them, poll() says when some have expired, and
 * read() returns the expirations as an array of &struct twheel_event.
 *
 * Rules that hold for every structure here:
 *
 * - The layout is the same for 32-bit and 64-bit programs.
 * - All times are nanoseconds on the context's clock.
 * - Fields marked (in) are read, (out) are written whatever they held before.
 *   Flags that are not defined, and reserved fields that are not zero, are
 *   refused with EINVAL.
 * - An ioctl that this version does not know is refused with ENOTTY.
 * - A call that fails has changed nothing, unless its description says so.
 */
#ifndef _UAPI_LINUX_TWHEEL_H
#define _UAPI_LINUX_TWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/** define TWHEEL_ABI_VERSION - the version of the interface in this file */
#define TWHEEL_ABI_VERSION	1

/**
 * enum twheel_feature - bits of &twheel_info.features
 * @TWHEEL_FEATURE_BOOTTIME: CLOCK_BOOTTIME contexts
 * @TWHEEL_FEATURE_BATCH: %TWHEEL_IOC_ARM_BATCH and %TWHEEL_IOC_CANCEL_BATCH
 * @TWHEEL_FEATURE_INTERVAL: periodic timers and finite counts
 * @TWHEEL_FEATURE_SLACK: &twheel_arm.slack
 * @TWHEEL_FEATURE_LIST: %TWHEEL_IOC_LIST, with or without %TWHEEL_LIST_DRAIN
 */
enum twheel_feature {
	TWHEEL_FEATURE_BOOTTIME	= 1 << 0,
	TWHEEL_FEATURE_BATCH	= 1 << 1,
	TWHEEL_FEATURE_INTERVAL	= 1 << 2,
	TWHEEL_FEATURE_SLACK	= 1 << 3,
	TWHEEL_FEATURE_LIST	= 1 << 4,
};

/** define TWHEEL_INFO_NEXT - in &twheel_info.flags, find @next_expiry as well */
#define TWHEEL_INFO_NEXT	0x00000001

/** define TWHEEL_NO_EXPIRY - &twheel_info.next_expiry when nothing is pending */
#define TWHEEL_NO_EXPIRY	(~0ULL)

/**
 * struct twheel_info - what the module is, and how this context stands
 * @flags: (in) 0 or %TWHEEL_INFO_NEXT
 * @abi_version: (out) %TWHEEL_ABI_VERSION of the running module
 * @features: (out) &enum twheel_feature bits of the running module
 * @tick_ns: (out) length of a tick, a power of two
 * @slots: (out) buckets in each level of a wheel, a power of two
 * @levels: (out) levels of a wheel, as the module parameter says
 * @clock: (out) this context's clock: CLOCK_MONOTONIC or CLOCK_BOOTTIME
 * @reserved: (in) zero; (out) zero
 * @now: (out) the time on that clock
 * @limit: (out) how many timers this context may hold
 * @user_limit: (out) how many timers all contexts opened by one user (by real
 *	user ID) may hold
 * @user_timers: (out) how many timers the contexts of the user who opened this
 *	one hold now
 * @pending: (out) timers armed in this context that have not expired
 * @ready: (out) timers with an expiration that has not been read
 * @next_expiry: (out) with %TWHEEL_INFO_NEXT the earliest deadline of a
 *	pending timer, or %TWHEEL_NO_EXPIRY; 0 without the flag. Finding it
 *	walks all timers of the context: it is for people who look, not for
 *	event loops. Timers that are changed during the walk may be missed.
 *
 * Argument of %TWHEEL_IOC_GET_INFO. Every timer that exists is either pending
 * or ready.
 */
struct twheel_info {
	__u32 flags;
	__u32 abi_version;
	__u64 features;
	__u64 tick_ns;
	__u32 slots;
	__u32 levels;
	__u32 clock;
	__u32 reserved;
	__u64 now;
	__u64 limit;
	__u64 user_limit;
	__u64 user_timers;
	__u64 pending;
	__u64 ready;
	__u64 next_expiry;
};

/**
 * struct twheel_config - settings of a context, before its first timer
 * @clock: (in) CLOCK_MONOTONIC (the default of a new context) or
 *	CLOCK_BOOTTIME, which goes on during suspend
 * @flags: (in) zero
 * @limit: (in) how many timers this context may hold; 0 for the module's
 *	max_fd_timers, which is also the most that can be asked for
 * @reserved: (in) zero
 *
 * Argument of %TWHEEL_IOC_CONFIG.
 *
 * Errors: EBUSY once the context has held a timer; EINVAL for another clock, a
 * limit over max_fd_timers, or a non-zero @flags or @reserved; EFAULT.
 */
struct twheel_config {
	__u32 clock;
	__u32 flags;
	__u64 limit;
	__u64 reserved[2];
};

/**
 * define TWHEEL_ARM_ABS - in &twheel_arm.flags, @expires is a point in time
 *
 * Without it @expires counts from now.
 */
#define TWHEEL_ARM_ABS		0x00000001

/**
 * enum twheel_state - where a timer is, or was when a call took hold of it
 * @TWHEEL_STATE_NONE: there was no timer: the call made a new one
 * @TWHEEL_STATE_PENDING: armed, and not expired
 * @TWHEEL_STATE_READY: expired, and the expiration not read. A call that
 *	re-arms or cancels such a timer withdraws the unread record.
 */
enum twheel_state {
	TWHEEL_STATE_NONE	= 0,
	TWHEEL_STATE_PENDING	= 1,
	TWHEEL_STATE_READY	= 2,
};

/**
 * struct twheel_arm - arm a new timer, or re-arm one in place
 * @handle: (in) 0 to make a new timer, or the handle of a live one, which keeps
 *	its handle and takes all its settings from this structure;
 *	(out) the timer's handle
 * @user_data: (in) given back in events
 * @expires: (in) the first expiration: a point in time with %TWHEEL_ARM_ABS,
 *	otherwise the time from now. One that has passed expires at once. One
 *	that is too large for the clock is cut to the largest (292 years).
 * @interval: (in) time between expirations; 0 for one shot
 * @slack: (in) the timer may expire this much after its deadline, so that
 *	timers can share wake-ups. Kept in whole ticks, rounded down, 2^32 - 1
 *	at most.
 * @count: (in) number of expirations after which the timer ends by itself;
 *	0 for no end. Without an interval only 0 and 1 are meaningful, and both
 *	mean one shot.
 * @flags: (in) 0 or %TWHEEL_ARM_ABS
 * @result: (out) 0, or a negative errno for this entry
 * @old_state: (out) what was replaced, &enum twheel_state
 * @old_remaining: (out) for %TWHEEL_STATE_PENDING the time that was left until
 *	the deadline, 0 if it had passed; otherwise 0
 *
 * Argument of %TWHEEL_IOC_ARM, and the element of %TWHEEL_IOC_ARM_BATCH.
 *
 * A timer never expires before its deadline and, apart from scheduling latency
 * and @slack, at most one tick after it. A periodic timer keeps to its grid
 * expires + n * interval. Its next round is armed when the record of the last
 * is read, and the record counts the rounds that were missed: one that nobody
 * reads costs nothing.
 *
 * A timer exists until its last expiration is read or it is cancelled; from
 * then on its handle is refused with ENOENT. It is not given out again before
 * the context has made 2^32 more timers.
 *
 * Errors, in @result and from the single call alike: EINVAL for unknown flags
 * or a count over 1 without an interval; ENOENT for a handle that is not live;
 * ENOSPC when the context's limit is reached; EDQUOT when the user's is, or the
 * memory for that many is taken up by contexts that cancelled most of theirs;
 * ENOMEM, when the memory cgroup is at its limit for example.
 * @handle, @old_state and @old_remaining are then 0 except that a non-zero
 * @handle is left as it was.
 */
struct twheel_arm {
	__u64 handle;
	__u64 user_data;
	__u64 expires;
	__u64 interval;
	__u64 slack;
	__u32 count;
	__u32 flags;
	__s32 result;
	__u32 old_state;
	__u64 old_remaining;
};

/**
 * struct twheel_cancel - cancel a timer
 * @handle: (in) the timer
 * @flags: (in) zero
 * @reserved: (in) zero
 * @result: (out) 0, or a negative errno for this entry
 * @old_state: (out) %TWHEEL_STATE_PENDING: it had not expired;
 *	%TWHEEL_STATE_READY: it had, and the unread record was withdrawn
 * @old_remaining: (out) as in &struct twheel_arm
 *
 * Argument of %TWHEEL_IOC_CANCEL, and the element of %TWHEEL_IOC_CANCEL_BATCH.
 * When it has succeeded no record of the timer will be read any more.
 *
 * Errors, in @result and from the single call alike: ENOENT when there is no
 * such timer (any more: its last expiration was read, or it was cancelled);
 * EINVAL for a non-zero @flags or @reserved.
 */
struct twheel_cancel {
	__u64 handle;
	__u32 flags;
	__u32 reserved;
	__s32 result;
	__u32 old_state;
	__u64 old_remaining;
};

/**
 * struct twheel_batch - an array of requests
 * @entries: (in) address of an array of &struct twheel_arm or
 *	&struct twheel_cancel
 * @count: (in) its length, up to 2^31 - 1
 * @flags: (in) zero
 *
 * Argument of %TWHEEL_IOC_ARM_BATCH and %TWHEEL_IOC_CANCEL_BATCH, which handle
 * the entries in order and return how many they have handled. Each has its
 * outcome in its result field; one that failed does not stop those behind it.
 *
 * Fewer than @count are handled when a signal comes in, or when memory that is
 * not there, or not writable, is reached. The entries from there on are untouched
 * and nothing was done for them. A call whose first entry cannot be reached fails
 * with EFAULT; a signal never stops it before that entry.
 *
 * Memory that another thread unmaps during the call is the exception: entries
 * whose outcome could not be stored are not counted, and new timers among them
 * are cancelled again, but a re-arm or a cancel may have taken place. The same
 * goes for the single calls.
 *
 * Errors: EFAULT; EINVAL for a @count over 2^31 - 1 or a non-zero @flags; ENOMEM.
 */
struct twheel_batch {
	__u64 entries;
	__u32 count;
	__u32 flags;
};

/**
 * struct twheel_timer_info - one timer's settings and state
 * @handle: (in for GET, out for LIST) the timer
 * @user_data: (out) as armed
 * @deadline: (out) the next expiration or, for %TWHEEL_STATE_READY, the first
 *	that has not been read
 * @remaining: (out) time from now to @deadline; 0 if it has passed
 * @interval: (out) as armed
 * @slack: (out) as armed, in whole ticks
 * @count: (out) expirations left before the timer ends by itself, those not
 *	yet read included; 0 for no end
 * @state: (out) %TWHEEL_STATE_PENDING or %TWHEEL_STATE_READY
 *
 * Argument of %TWHEEL_IOC_GET, and the element of %TWHEEL_IOC_LIST.
 *
 * Errors of %TWHEEL_IOC_GET: ENOENT when there is no such timer; EFAULT.
 */
struct twheel_timer_info {
	__u64 handle;
	__u64 user_data;
	__u64 deadline;
	__u64 remaining;
	__u64 interval;
	__u64 slack;
	__u32 count;
	__u32 state;
};

/**
 * define TWHEEL_LIST_DRAIN - in &twheel_list.flags, cancel what is returned
 *
 * A timer is cancelled only after its entry was stored.
 */
#define TWHEEL_LIST_DRAIN	0x00000001

/**
 * struct twheel_list - walk the pending timers of a context
 * @cursor: (in) 0 to begin, then what the last call left here; (out) where to
 *	go on
 * @entries: (in) address of an array of &struct twheel_timer_info
 * @count: (in) its length, 1 to 2^31 - 1
 * @flags: (in) 0 or %TWHEEL_LIST_DRAIN
 *
 * Argument of %TWHEEL_IOC_LIST, which returns how many entries it has stored:
 * as many as fit, and 0 only at the end of the walk. A timer that is pending
 * during the whole walk is returned exactly once; one that is armed, expires or
 * is cancelled meanwhile is returned once or not at all. The walk ends however
 * many are armed meanwhile. Expired timers are not returned: they are there to
 * be read.
 *
 * A signal, or EFAULT behind the first entry, ends a call early, with what it
 * has stored; nothing is lost.
 *
 * Errors: EFAULT; EINVAL for a @count of 0 or over 2^31 - 1, or unknown flags;
 * EINTR when a signal came before the first entry, with @cursor moved on.
 */
struct twheel_list {
	__u64 cursor;
	__u64 entries;
	__u32 count;
	__u32 flags;
};

/**
 * define TWHEEL_EVENT_LAST - in &twheel_event.flags, the timer has ended
 *
 * No further record of it will come, and its handle is not live any more.
 */
#define TWHEEL_EVENT_LAST	0x00000001

/**
 * struct twheel_event - a record of one timer's expirations
 * @user_data: as armed
 * @handle: the timer
 * @deadline: when the first expiration in this record was due; the others were
 *	due every interval from there on
 * @expired: when the kernel took note of that expiration; never before
 *	@deadline
 * @expirations: how many expirations there were since the last record (1 or
 *	more; more than 1 only for periodic timers read late)
 * @flags: 0 or %TWHEEL_EVENT_LAST
 * @reserved: zero
 *
 * read() fills an array of these, as many as fit and are ready. Every
 * expiration is counted in exactly one record, whichever of several readers
 * gets it. Timers expired by one CPU in the same tick come in no particular
 * order.
 *
 * Errors of read(): EINVAL when there is no room for one record; EAGAIN when
 * nothing is ready and the descriptor is non-blocking; EINTR; EFAULT when the
 * first record could not be stored (it stays ready).
 */
struct twheel_event {
	__u64 user_data;
	__u64 handle;
	__u64 deadline;
	__u64 expired;
	__u64 expirations;
	__u32 flags;
	__u32 reserved;
};

/* No entry of the kernel's ioctl-number list has this magic. */
#define TWHEEL_IOC_MAGIC	0xF7

#define TWHEEL_IOC_GET_INFO	_IOWR(TWHEEL_IOC_MAGIC, 0x00, struct twheel_info)
#define TWHEEL_IOC_CONFIG	_IOW(TWHEEL_IOC_MAGIC, 0x01, struct twheel_config)
#define TWHEEL_IOC_ARM		_IOWR(TWHEEL_IOC_MAGIC, 0x02, struct twheel_arm)
#define TWHEEL_IOC_ARM_BATCH	_IOW(TWHEEL_IOC_MAGIC, 0x03, struct twheel_batch)
#define TWHEEL_IOC_CANCEL	_IOWR(TWHEEL_IOC_MAGIC, 0x04, struct twheel_cancel)
#define TWHEEL_IOC_CANCEL_BATCH	_IOW(TWHEEL_IOC_MAGIC, 0x05, struct twheel_batch)
#define TWHEEL_IOC_GET		_IOWR(TWHEEL_IOC_MAGIC, 0x06, struct twheel_timer_info)
#define TWHEEL_IOC_LIST		_IOWR(TWHEEL_IOC_MAGIC, 0x07, struct twheel_list)

#endif /* _UAPI_LINUX_TWHEEL_H */
