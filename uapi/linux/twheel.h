/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * twheel: a timer wheel as a device.
 *
 * One open of /dev/twheel is a *context*: an independent set of timers.
 * ioctl() arms and cancels them, poll() says when some have expired, and
 * read() returns the expirations as an array of &struct twheel_event. write() of an array
 * of &struct twheel_push pushes timers back.
 *
 * Rules that hold for every structure here:
 *
 * - The layout is the same for 32-bit and 64-bit programs.
 * - All times are nanoseconds on the context's clock, as the calling program
 *   sees it: in a time namespace points in time are on the namespace's clock.
 * - Fields marked (in) are read. Fields marked (out) are written, whatever they
 *   held before.
 * - A field that is written is valid input as it was written, and no two fields
 *   share a place. So a structure can be used again for the next call as it is, and
 *   what one structure reports can be copied to the field of the same name in
 *   another one.
 * - Flags that are not defined, and reserved fields that are not zero, are
 *   refused with EINVAL.
 * - An ioctl that this version does not know is refused with ENOTTY.
 * - What changes timers or settings (%TWHEEL_IOC_CONFIG, arming, cancelling, write())
 *   needs a descriptor that is open for writing, and what tells of them
 *   (%TWHEEL_IOC_GET_INFO, %TWHEEL_IOC_GET, %TWHEEL_IOC_LIST, read()) one that is
 *   open for reading; %TWHEEL_LIST_DRAIN needs both, and so does mmap(). Otherwise
 *   the call fails with EBADF, or mmap() with EACCES or ENODEV. If it is not open
 *   for reading poll() never reports it as readable. As each open makes a context,
 *   one that is open for reading only has no timers.
 * - A call that fails has changed nothing, unless its description says otherwise.
 *   After EFAULT a structure that is only written to may hold part of the answer.
 */
#ifndef _UAPI_LINUX_TWHEEL_H
#define _UAPI_LINUX_TWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/** define TWHEEL_ABI_VERSION - the version of the interface in this file */
#define TWHEEL_ABI_VERSION	2

/**
 * enum twheel_feature - bits of &twheel_info.features
 * @TWHEEL_FEATURE_BOOTTIME: CLOCK_BOOTTIME contexts
 * @TWHEEL_FEATURE_BATCH: %TWHEEL_IOC_ARM_BATCH and %TWHEEL_IOC_CANCEL_BATCH
 * @TWHEEL_FEATURE_INTERVAL: periodic timers and finite counts
 * @TWHEEL_FEATURE_SLACK: &twheel_arm.slack
 * @TWHEEL_FEATURE_LIST: %TWHEEL_IOC_LIST, with or without %TWHEEL_LIST_DRAIN
 * @TWHEEL_FEATURE_REALTIME: CLOCK_REALTIME contexts and
 *	%TWHEEL_CONFIG_CANCEL_ON_SET
 * @TWHEEL_FEATURE_FIXED_DELAY: %TWHEEL_ARM_FIXED_DELAY
 * @TWHEEL_FEATURE_KEYED: %TWHEEL_CONFIG_KEYED
 * @TWHEEL_FEATURE_LEASE: %TWHEEL_CONFIG_LEASE
 * @TWHEEL_FEATURE_CONDITIONAL: %TWHEEL_ARM_IF_PENDING and %TWHEEL_ARM_IF_NONE
 * @TWHEEL_FEATURE_PUSH: write() of &struct twheel_push
 */
enum twheel_feature {
	TWHEEL_FEATURE_BOOTTIME	= 1 << 0,
	TWHEEL_FEATURE_BATCH	= 1 << 1,
	TWHEEL_FEATURE_INTERVAL	= 1 << 2,
	TWHEEL_FEATURE_SLACK	= 1 << 3,
	TWHEEL_FEATURE_LIST	= 1 << 4,
	TWHEEL_FEATURE_REALTIME	= 1 << 5,
	TWHEEL_FEATURE_FIXED_DELAY = 1 << 6,
	TWHEEL_FEATURE_KEYED	= 1 << 7,
	TWHEEL_FEATURE_LEASE	= 1 << 8,
	TWHEEL_FEATURE_CONDITIONAL = 1 << 9,
	TWHEEL_FEATURE_PUSH	= 1 << 10,
};

/** define TWHEEL_INFO_NEXT - in &twheel_info.flags, find @next_expiry as well */
#define TWHEEL_INFO_NEXT	0x00000001

/** define TWHEEL_NO_EXPIRY - &twheel_info.next_expiry when nothing is pending */
#define TWHEEL_NO_EXPIRY	(~0ULL)

/**
 * struct twheel_info - the module, and the present state of this context
 * @flags: (in) 0 or %TWHEEL_INFO_NEXT
 * @abi_version: (out) %TWHEEL_ABI_VERSION of the running module
 * @features: (out) &enum twheel_feature bits of the running module
 * @tick_ns: (out) length of a tick, a power of two
 * @slots: (out) buckets in each level of a wheel, a power of two
 * @levels: (out) levels of a wheel: as many as it takes to reach 73 years ahead
 * @clock: (out) this context's clock, as &twheel_config.clock takes it:
 *	CLOCK_MONOTONIC, CLOCK_BOOTTIME or %TWHEEL_CLOCK_REALTIME
 * @config: (out) this context's TWHEEL_CONFIG_* bits
 * @now: (out) the time on that clock
 * @limit: (out) how many timers this context may hold
 * @user_limit: (out) how many timers all contexts that one user has opened may
 *	hold, and 96 bytes of memory for each. Users are told apart by their real
 *	user ID. In a user namespace all count as the user who made it, unless that
 *	was root
 * @user_timers: (out) how many timers the contexts of the user who opened this
 *	one hold now
 * @pending: (out) timers armed in this context that have not expired
 * @ready: (out) timers with an expiration that has not been read
 * @next_expiry: (out) with %TWHEEL_INFO_NEXT the earliest deadline of a
 *	pending timer, or %TWHEEL_NO_EXPIRY; 0 without the flag. To find it
 *	the call walks all timers of the context, which is meant for people and
 *	not for event loops. It may miss timers that change during the walk.
 *
 * Argument of %TWHEEL_IOC_GET_INFO. Every timer is either pending or ready.
 *
 * Errors: EFAULT; EINVAL for unknown @flags.
 */
struct twheel_info {
	__u32 flags;
	__u32 abi_version;
	__u64 features;
	__u64 tick_ns;
	__u32 slots;
	__u32 levels;
	__u32 clock;
	__u32 config;
	__u64 now;
	__u64 limit;
	__u64 user_limit;
	__u64 user_timers;
	__u64 pending;
	__u64 ready;
	__u64 next_expiry;
};

/**
 * define TWHEEL_CONFIG_KEYED - in &twheel_config.flags, keys are the handles
 *
 * Every handle, whether a program passes it or gets it, is then a key that the
 * program has chosen: any 64-bit number, including 0. Arming is an upsert: it
 * re-arms the timer with that key or, if there is none, makes it. Keys take
 * memory: 16 bytes a timer, charged like the timer itself. Half of it is kept for
 * the most timers that the context has had at once, until it is closed.
 */
#define TWHEEL_CONFIG_KEYED		0x00000001

/**
 * define TWHEEL_CONFIG_LEASE - in &twheel_config.flags, there can be leases
 *
 * Needed for %TWHEEL_ARM_LEASE and for mmap(). See %TWHEEL_LEASE_EXPIRED.
 */
#define TWHEEL_CONFIG_LEASE		0x00000002

/**
 * define TWHEEL_CONFIG_CANCEL_ON_SET - in &twheel_config.flags, tell of steps
 *
 * For CLOCK_REALTIME only. After each discontinuous change of the clock, that is
 * when it is set, is stepped, or has jumped at a resume, one read() fails with
 * ECANCELED: a read that is waiting, or else the next one. Until then poll()
 * reports the descriptor as readable. Several changes before that read count as
 * one. The timers themselves go on, and no record is lost.
 */
#define TWHEEL_CONFIG_CANCEL_ON_SET	0x00000004

/**
 * define TWHEEL_CLOCK_REALTIME - in &twheel_config.clock, wall time
 *
 * It stands for CLOCK_REALTIME, whose own number is 0 and so cannot be told from
 * a field that was left unset. clock_gettime() knows no clock with this number.
 */
#define TWHEEL_CLOCK_REALTIME	0x00010000

/**
 * struct twheel_config - settings of a context, before its first timer
 * @clock: (in) 0 or CLOCK_MONOTONIC for CLOCK_MONOTONIC, the clock of a new
 *	context; CLOCK_BOOTTIME, which goes on during suspend; or
 *	%TWHEEL_CLOCK_REALTIME for CLOCK_REALTIME, wall time
 * @flags: (in) TWHEEL_CONFIG_* bits
 * @limit: (in) how many timers this context may hold; 0 for the module's
 *	max_fd_timers, which is also the most that can be asked for
 * @reserved: (in) zero
 *
 * Argument of %TWHEEL_IOC_CONFIG, which replaces all settings. A structure of
 * zeroes brings back the settings of a new context.
 *
 * On CLOCK_REALTIME deadlines are points in wall time, however the clock is set:
 * timers whose deadline a step forward has passed expire at once, and those whose
 * deadline a step back has put ahead again wait for it. A timer that expired
 * before a step back stays expired. As a time from now would be ambiguous there,
 * arming needs %TWHEEL_ARM_ABS.
 *
 * Errors: EBUSY once the context has held a timer, or made room for one; EINVAL
 * for any other clock, a limit over max_fd_timers, unknown @flags, @flags that do
 * not go with the clock, or a non-zero @reserved; ENOMEM; EFAULT.
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
 * Without this flag @expires counts from now.
 */
#define TWHEEL_ARM_ABS		0x00000001

/**
 * define TWHEEL_ARM_FIXED_DELAY - in &twheel_arm.flags, rounds count from reads
 *
 * The next round of a periodic timer begins when the record of the last round is
 * read, and takes @interval from then: no round is ever missed, and there is no
 * grid. Each record counts one expiration.
 */
#define TWHEEL_ARM_FIXED_DELAY	0x00000002

/**
 * define TWHEEL_ARM_LEASE - in &twheel_arm.flags, this timer has a word
 *
 * In a context with %TWHEEL_CONFIG_LEASE only. The timer is one shot (@interval
 * is 0). See %TWHEEL_LEASE_EXPIRED.
 */
#define TWHEEL_ARM_LEASE	0x00000004

/**
 * define TWHEEL_ARM_IF_PENDING - in &twheel_arm.flags, only what is pending
 *
 * If the timer is not pending the call fails with ENOENT and changes nothing: a
 * timer that has expired keeps its record, and one that was cancelled is not made
 * again, with or without keys. So a push-back that comes too late has no effect.
 */
#define TWHEEL_ARM_IF_PENDING	0x00000008

/**
 * define TWHEEL_ARM_IF_NONE - in &twheel_arm.flags, only a new timer
 *
 * If there is a timer with that key or handle, pending or with an unread record,
 * the call fails with EEXIST and that timer stays as it is. Without keys handle 0
 * makes a timer as usual. Of several calls with the same key only one makes the
 * timer, as long as it exists.
 */
#define TWHEEL_ARM_IF_NONE	0x00000010

/**
 * define TWHEEL_LEASE_EXPIRED - in the word of a lease, the lease is over
 *
 * A lease is a timer that a program pushes back without a system call. Its word
 * is the __u64 at offset 8 * &twheel_arm.word of the descriptor, which mmap() with
 * MAP_SHARED makes accessible. It holds:
 *
 *	bit 63		%TWHEEL_LEASE_EXPIRED: the lease is over
 *	bits 62 to 53	the tag of the lease: see %TWHEEL_LEASE_TAG_SHIFT
 *	bits 52 to 0	its deadline: see %TWHEEL_LEASE_UNIT_SHIFT
 *
 * To extend the lease, the program replaces the deadline by a later one with a
 * compare-and-swap, and leaves the tag as it is. It may do so only while the word
 * has the tag of its lease, &twheel_arm.tag, and not this bit: a program that finds
 * the bit, or another tag, is too late.
 *
 * When the deadline comes the kernel looks at the word. If the word holds a later
 * deadline by then, the kernel waits for that one. Otherwise it sets this bit, also
 * by compare-and-swap, and the lease has expired. So one of the two wins and both
 * know which: a program whose compare-and-swap succeeded was in time, and one that
 * is too late was not. That holds for a lease that threads and processes share, too,
 * also while the word changes over to another lease.
 *
 * The bit is also set when the lease is cancelled, drained, or re-armed as an
 * ordinary timer. Tag and deadline then stay. Re-arming the timer as a lease, whether
 * pending or expired, stores the new deadline whatever the word held, and keeps the
 * tag. To shorten a lease it has to be re-armed: the kernel notices an earlier
 * deadline in the word only when the later one comes, or never.
 *
 * A program that stores anything else harms only the leases of its own context: they
 * expire early or late, and others extend them by mistake.
 *
 * The kernel has to look again at a lease that was extended, which costs as much
 * as a timer. If very many leases are extended by very little, that makes timers of
 * the same user late, and nobody else's.
 *
 * A page of words can be touched once a timer whose word lies in it has been
 * armed; before that it raises SIGBUS. The page lives until the last copy of the
 * descriptor is closed and unmapped. mmap() fails with ENODEV in a context without
 * leases, with EINVAL for a MAP_PRIVATE mapping, and with EACCES for a descriptor
 * that is not open for reading and writing.
 */
#define TWHEEL_LEASE_EXPIRED	0x8000000000000000ULL

/**
 * define TWHEEL_LEASE_TAG_SHIFT - from which bit on a word holds its tag
 *
 * A word outlives its lease: it may belong to a new timer as soon as the last record
 * of the old one was read, or the old one was cancelled. The tag tells them apart.
 * Each new timer that gets the word, lease or not, also gets the tag after that of
 * the timer before it, and keeps it until it ends; after %TWHEEL_LEASE_TAG_MASK comes
 * 0. (&twheel_arm.tag tells it, and so does &twheel_timer_info.tag, for instance to
 * another process.)
 *
 * So a program that goes on using a lease after its end is told that it is too late,
 * while the word is used for 1,023 more timers. The tag of the one after these is the
 * same again. A program that still keeps the lease then would extend that one. To be
 * safe, it forgets a lease when it is told that it is too late, or knows otherwise
 * that the lease has ended. A compare-and-swap errs only if all of these 1,024
 * timers were made since the program loaded the word, and the last of them has the
 * same deadline.
 */
#define TWHEEL_LEASE_TAG_SHIFT	53

/** define TWHEEL_LEASE_TAG_MASK - the bits of a tag, and the largest one */
#define TWHEEL_LEASE_TAG_MASK	0x3ff

/**
 * define TWHEEL_LEASE_UNIT_SHIFT - log2 of the unit of the deadline in a word, in ns
 *
 * The deadline of a lease is a number of units of 1,024 ns, on the context's clock as
 * it is in the time namespace of the program that configured the context. A time is
 * rounded up to whole units, so that the lease does not end early; but one that has
 * passed when the lease is armed is rounded down, as the lease ends at once. The
 * largest deadline is %TWHEEL_LEASE_UNITS_MASK units, which is 2^63 - 1,024 ns: later
 * times become that. Whatever tells the deadline of a lease in nanoseconds, tells the
 * rounded one.
 */
#define TWHEEL_LEASE_UNIT_SHIFT	10

/** define TWHEEL_LEASE_UNITS_MASK - the bits of the deadline in a word */
#define TWHEEL_LEASE_UNITS_MASK	0x001fffffffffffffULL

/**
 * enum twheel_state - the state of a timer, or its state just before a call
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
 *	(out) the timer's handle. With %TWHEEL_CONFIG_KEYED the key, which stays
 *	as it is.
 * @user_data: (in) given back in events
 * @expires: (in) the first expiration: with %TWHEEL_ARM_ABS a point in time,
 *	otherwise the time from now. A timer whose deadline has passed expires
 *	at once. A sum that is too large for the clock becomes the largest time,
 *	2^63 - 1.
 * @interval: (in) time between expirations; 0 for one shot
 * @slack: (in) the timer may expire this much after its deadline, so that
 *	timers can share wake-ups. Kept in whole ticks, rounded down, at most
 *	2^32 - 1 of them.
 * @count: (in) number of expirations after which the timer ends by itself;
 *	0 for no end. Without an interval, and so for a lease, only 0 and 1 are
 *	allowed, and both mean one shot.
 * @word: (out) with %TWHEEL_ARM_LEASE the index of the lease's word, which is
 *	never 0; otherwise 0
 * @flags: (in) TWHEEL_ARM_* bits
 * @tag: (out) with %TWHEEL_ARM_LEASE the tag of the lease, as in its word;
 *	otherwise 0
 * @result: (out) 0, or a negative errno for this entry
 * @old_state: (out) what was replaced, &enum twheel_state
 * @old_remaining: (out) for %TWHEEL_STATE_PENDING the time that was left until
 *	the deadline, 0 if it had passed; otherwise 0
 *
 * Argument of %TWHEEL_IOC_ARM, and the element of %TWHEEL_IOC_ARM_BATCH.
 *
 * @expires, @interval and @slack are at most 2^63 - 1, which is 292 years. Larger
 * values are refused: most likely they are differences that went below zero.
 *
 * A timer never expires before its deadline and, apart from scheduling latency
 * and @slack, at most one tick after it. A periodic timer keeps to its grid
 * expires + n * interval. Its next round is armed when the record of the last
 * round is read, and that record counts the rounds that were missed: so a timer
 * whose records nobody reads costs nothing. With %TWHEEL_ARM_FIXED_DELAY there is
 * no grid.
 *
 * A re-arm replaces everything, including the round under way: the next
 * expiration is at the new @expires, the rounds from there on take the new
 * @interval, and @count counts from there. An interval cannot be changed without
 * saying when the next expiration is to be. When the record of a periodic timer
 * has been read the next round is already pending, and a re-arm by the program
 * that handles the record replaces it. Reading the record of a last expiration
 * ends the timer. Then there is nothing left to re-arm (%ENOENT): a new timer
 * takes its place or, with %TWHEEL_CONFIG_KEYED, one with the same key.
 *
 * @count counts expirations, not records. It includes those that a late read
 * finds missed, and the last record counts no more than were left. After a stall
 * or a step of CLOCK_REALTIME, however long, there is one record, with all rounds
 * of the grid that have passed by then.
 *
 * Timers of one clock that are armed on one CPU expire in the order of the ticks
 * in which they are due, however late the CPU is, and also after a stall or a step
 * of CLOCK_REALTIME. The tick of a timer is its deadline rounded up, or a later
 * one that @slack allows. Timers with the same deadline expire in the order in
 * which they were armed, as far as they came the same way, which is through the
 * same buckets of the wheel. What is armed together does, unless a level of the
 * wheel ends at that distance (by default at 64 ticks, 2048 and so on) or the CPU is
 * late by half a bucket. But a timer that was armed much earlier than another, or
 * was pushed back in place, may come after it. Those that were pushed back together
 * keep their order. A timer whose deadline has passed when it is armed does not wait
 * for its turn, and a lease that is looked at less often comes late. A re-arm to a
 * later tick leaves the timer on its CPU, but if the caller may not run there, if
 * others wait for that wheel, or if that CPU is isolated: then it moves to the
 * caller's. The next round of a periodic timer is armed on the CPU that reads its
 * record. See also &struct twheel_event.
 *
 * Timers of the same user make one's own late by no more than the time that it
 * takes to work off what comes up on that CPU before it: timers that are due
 * earlier, and timers that are due up to a bucket later and have to move to a
 * lower level. That work has half of the CPU's time. Each other user who has
 * something due there adds two milliseconds of it for each clock at most, and
 * pauses as long.
 *
 * A timer exists until its last expiration is read or it is cancelled. From then
 * on its handle is refused with ENOENT, and the handle is not given out again
 * before the context has made 2^32 more timers.
 *
 * Errors, both in @result and from the single call: EINVAL for unknown flags; for
 * an @expires, @interval or @slack with the top bit set; for a @count over 1, or
 * %TWHEEL_ARM_FIXED_DELAY, without an interval; for %TWHEEL_ARM_LEASE with an
 * interval or in a context without leases; for both %TWHEEL_ARM_IF_PENDING and
 * %TWHEEL_ARM_IF_NONE; and without %TWHEEL_ARM_ABS on CLOCK_REALTIME. ENOENT for a
 * handle that is not live; ENOENT and EEXIST as those two flags say. ENOSPC when
 * the context's limit is reached. EDQUOT when the user's limit is reached, or when
 * the user's contexts take as much memory as that many timers may: 96 bytes for
 * each of them, and 16 pages. ENOMEM, for example when the memory cgroup is at its
 * limit. After an error @handle is as it was, and @word, @tag, @old_state and
 * @old_remaining are 0. From the single call also EFAULT, with the whole structure
 * as it was: nothing was done, unless another thread has taken the structure's
 * memory away during the call. Then a timer may have been re-armed, or made if
 * timers have keys: see &struct twheel_batch.
 */
struct twheel_arm {
	__u64 handle;
	__u64 user_data;
	__u64 expires;
	__u64 interval;
	__u64 slack;
	__u32 count;
	__u32 word;
	__u16 flags;
	__u16 tag;
	__s16 result;
	__u16 old_state;
	__u64 old_remaining;
};

/**
 * struct twheel_push - push a timer back
 * @handle: (in) the timer
 * @expires: (in) when it is to expire now: a point in time
 *
 * The element of the array that write(), writev() or %IORING_OP_WRITE takes. Only the
 * deadline changes: all other settings of the timer stay, an interval, a count, slack and
 * a lease among them. A time that has passed expires the timer at once.
 *
 * Without keys the timer has to be pending: one that has expired is refused with ENOENT, so
 * its record is not withdrawn. With keys any timer is armed anew, and if there is none
 * with @handle it is made: a one-shot timer whose @user_data is 0.
 *
 * The entries are carried out one after another, up to the first that fails. The result is how
 * many bytes of entries were carried out; nothing is written back. If it is the first entry that
 * fails the result is its error: ENOENT; EINVAL for an @expires with the top bit set; EFAULT;
 * or if a timer has to be made as for &struct twheel_arm. EINVAL for a size that is no multiple of
 * that of an entry: nothing was done. A signal may end a call early, but never before its first
 * entry. A call waits for nothing but memory, so poll() says nothing of writing.
 */
struct twheel_push {
	__u64 handle;
	__u64 expires;
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
 * After a successful call no record of the timer is read any more.
 *
 * A periodic timer whose record waits to be read is %TWHEEL_STATE_READY, with
 * @old_remaining 0, although by the grid the next round has begun. What is left of
 * that round can be computed from a %TWHEEL_IOC_GET before the call: see &struct
 * twheel_timer_info.
 *
 * Errors, both in @result and from the single call: ENOENT if there is no such
 * timer, or if its last expiration was read or it was cancelled; EINVAL for a
 * non-zero @flags or @reserved. From the single call also EFAULT: nothing was done,
 * unless another thread has taken the structure's memory away during the call. Then
 * the timer may have been cancelled.
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
 * the entries in order and return how many they have handled. The result field of
 * each entry tells how it went. An entry that fails does not stop the next ones.
 *
 * Fewer than @count entries are handled if a signal arrives, or if the memory of
 * an entry is not there or not writable. The entries from there on are untouched,
 * and nothing was done for them. A call whose first entry cannot be reached fails
 * with EFAULT. A signal never stops a call before its first entry.
 *
 * There is one exception: memory that another thread unmaps, or protects, during
 * the call. Entries whose result could not be stored are not counted, and if they
 * are the first ones the call fails with EFAULT. All the same they were carried out.
 * New timers among them are cancelled again, unless they have keys, as others may
 * have armed them by then. But a re-arm or a cancel has taken place, and the record
 * that it withdrew is lost. The single calls are the same.
 *
 * Errors: EFAULT; EINVAL for a @count over 2^31 - 1 or a non-zero @flags. Where memory
 * is short, ENOMEM is the result of those entries that need some, new timers, and of no other.
 */
struct twheel_batch {
	__u64 entries;
	__u32 count;
	__u32 flags;
};

/**
 * struct twheel_timer_info - the settings and the state of a timer
 * @handle: (in for GET, out for LIST) the timer
 * @user_data: (out) as armed
 * @deadline: (out) the next expiration or, for %TWHEEL_STATE_READY, the first
 *	that has not been read
 * @remaining: (out) time from now to @deadline; 0 if it has passed
 * @interval: (out) as armed
 * @slack: (out) as armed, in whole ticks
 * @count: (out) expirations left before the timer ends by itself, including
 *	those that are not read yet; 0 for no end
 * @state: (out) %TWHEEL_STATE_PENDING or %TWHEEL_STATE_READY
 * @flags: (out) %TWHEEL_ARM_FIXED_DELAY and %TWHEEL_ARM_LEASE, as armed
 * @tag: (out) the tag of a lease, as in its word; 0 for others
 * @word: (out) the index of a lease's word, which is never 0; 0 for others
 *
 * The deadline of a pending lease is the one in its word. With @word and @tag another
 * thread or process that finds the lease here can extend it.
 *
 * To arm the timer again as it is here, for instance in another context, copy
 * @user_data, @interval, @slack, @count and @flags to &struct twheel_arm, @deadline to
 * its expires, and add %TWHEEL_ARM_ABS to its flags.
 *
 * A periodic timer whose record waits to be read is %TWHEEL_STATE_READY. Its
 * @deadline is that of the first expiration in the record: by the grid the next
 * round has begun, but it is armed only by the read. @remaining is 0 as for any
 * such timer, unless CLOCK_REALTIME was set back to before @deadline. A program
 * can compute what is left of the round under way: the round ends at
 * @deadline + n * @interval, where n = (now - @deadline) / @interval + 1, or 1
 * while now is before @deadline. If @count is not 0 and n is not less than @count
 * no round is under way any more. With %TWHEEL_ARM_FIXED_DELAY no round is under
 * way until the record is read.
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
	__u16 flags;
	__u16 tag;
	__u32 word;
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
 * Argument of %TWHEEL_IOC_LIST, which returns how many entries it has stored: as
 * many as fit, and 0 only at the end of the walk. A timer that is pending during
 * the whole walk is returned exactly once. A timer that is armed, expires or is
 * cancelled meanwhile is returned once or not at all. The walk ends, however many
 * timers are armed meanwhile. Expired timers are not returned, as they are there
 * to be read.
 *
 * A signal, or memory that is not there after the first entry, ends a call early:
 * it returns what it has stored, and nothing is lost. If another thread takes away
 * the memory of @cursor during the call, @cursor stays as it was.
 *
 * Errors: EFAULT, and nothing was drained; EINVAL for a @count of 0 or over
 * 2^31 - 1, or unknown flags; EINTR if a signal arrives before the first entry is
 * stored and its handler was installed without SA_RESTART, with @cursor moved on.
 * (With SA_RESTART, or after SIGSTOP and SIGCONT, the call goes on by itself, from
 * what it has left in @cursor.)
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
 * struct twheel_event - a record of the expirations of a timer
 * @user_data: as armed
 * @handle: the timer
 * @deadline: when the first expiration in this record was due; the others were
 *	due every interval from there on. For a lease, the last deadline in its
 *	word: a multiple of 1,024 ns on the clock of the word
 * @expired: when the kernel noticed that expiration; never before @deadline
 * @expirations: how many expirations there were since the last record: 1, or more,
 *	which only a periodic timer on a grid can have that is read late
 * @flags: 0 or %TWHEEL_EVENT_LAST
 * @reserved: zero
 *
 * read() fills an array of these, as many as fit and are ready; fewer if a signal
 * arrives. Every expiration is counted in exactly one record, whichever of several
 * readers gets that.
 *
 * The records wait in a queue for each CPU on which timers expire, and reads take
 * from one queue after another. A timer that expires (see &struct twheel_arm for the
 * order of each CPU) goes to the end of its queue, but passes up to 32 records there
 * that have later deadlines. So a few records of one CPU are read by deadline, and
 * equal deadlines in the order in which their timers expired. Of more than that they
 * are still in the order of ticks, but not exactly by deadline within a tick. Records
 * of different CPUs come in any order. A program that wants another one sorts what
 * it has read, as twheel_dispatch() of libtwheel does.
 *
 * Errors of read(): EINVAL when there is no room for one record; EAGAIN when
 * nothing is ready and the descriptor is non-blocking; EINTR; EFAULT when the
 * first record could not be stored (it stays ready); ECANCELED, once after each
 * change, as %TWHEEL_CONFIG_CANCEL_ON_SET says.
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
#define TWHEEL_IOC_CANCEL	_IOWR(TWHEEL_IOC_MAGIC, 0x04, struct twheel_cancel)
#define TWHEEL_IOC_CANCEL_BATCH	_IOW(TWHEEL_IOC_MAGIC, 0x05, struct twheel_batch)
#define TWHEEL_IOC_GET		_IOWR(TWHEEL_IOC_MAGIC, 0x06, struct twheel_timer_info)
#define TWHEEL_IOC_LIST		_IOWR(TWHEEL_IOC_MAGIC, 0x07, struct twheel_list)
/* 0x02 and 0x03 were these in version 1, with members of the same size in other places. */
#define TWHEEL_IOC_ARM		_IOWR(TWHEEL_IOC_MAGIC, 0x08, struct twheel_arm)
#define TWHEEL_IOC_ARM_BATCH	_IOW(TWHEEL_IOC_MAGIC, 0x09, struct twheel_batch)

#endif /* _UAPI_LINUX_TWHEEL_H */
