/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libtwheel: timers of /dev/twheel from C.
 *
 * Three layers, each usable without the next:
 *
 * - calls: open a context, arm, cancel, look, read (twheel_open() and on), and
 *   leases, which are extended without a call (twheel_lease_new());
 * - records: a buffer of events with an iterator (twheel_event_buffer_new());
 * - timers: objects with a function and an argument, called from the program's
 *   own event loop (twheel_timer_new(), twheel_dispatch()).
 *
 * Rules that hold for every function here:
 *
 * - A failure is returned as a negative errno; nothing is printed, and the
 *   errno variable means nothing.
 * - What arms, re-arms or cancels a timer returns 0 or -errno. What it has
 *   replaced is stored in a &struct twheel_old, if the program wants to know.
 * - All times are nanoseconds on the context's clock.
 * - The names of clocks are those of <time.h>, which is included. In strict ISO C
 *   (-std=c99 and its like) it declares them with _POSIX_C_SOURCE of 199309L or
 *   more only, and CLOCK_BOOTTIME with _GNU_SOURCE or _DEFAULT_SOURCE only.
 * - Times over 2^63 - 1 are refused with -EINVAL: a delay that was computed and
 *   went below zero is one.
 * - On CLOCK_REALTIME deadlines are points in time: a call that takes a delay
 *   is refused with -EINVAL there, its sibling that ends in _at() is not.
 * - In a context with keys (%TWHEEL_CONFIG_KEYED) a handle is a key, 0
 *   included: see twheel_put_after(). The timer objects are for contexts
 *   without keys.
 * - The structures of the interface (&struct twheel_arm, &struct twheel_event
 *   and so on) are those of <linux/twheel.h>, which documents their fields.
 *
 * Threads: calls on one context may run in any number of threads at once,
 * except twheel_close() and twheel_release(), which nothing else may overlap.
 * An event buffer and a walk belong to one thread at a time. So do all timers
 * of one context together: twheel_dispatch() and every twheel_timer_*() call on
 * that context run in one thread, or under one lock of the program's. So does
 * twheel_drain() where there are timer objects, which it disarms. The word of a
 * lease may be used by any number of threads and processes.
 *
 * Processes: a fork shares the descriptor. Parent and child have the same timers,
 * and each record goes to the one that reads it first; calls and records work in
 * both. Timer objects are of one process only, or each would lose expirations to
 * the other: in a child, twheel_timer_*() and twheel_dispatch() on a context from
 * before the fork fail with -ECHILD, and so does twheel_drain() where there are
 * timer objects. The child lets go of the context by twheel_close(),
 * which leaves the parent's timers as they are; or it takes it over, when the
 * parent will not use it any more, by twheel_take_over(). (A fork that runs no
 * handlers of pthread_atfork(), such as a bare clone(), is not noticed.)
 *
 * Signals: a call that waits, or walks, is left to the program to restart:
 * those that can return -EINTR say so. Batches go on by themselves.
 */
#ifndef TWHEEL_H
#define TWHEEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/** define TWHEEL_DEVICE - the device that twheel_open() opens by default */
#define TWHEEL_DEVICE		"/dev/twheel"

struct twheel;
struct twheel_walk;
struct twheel_event_buffer;
struct twheel_timer;

/**
 * struct twheel_old - what a call has replaced or cancelled
 * @state: &enum twheel_state: %TWHEEL_STATE_NONE when there was no timer,
 *	%TWHEEL_STATE_PENDING when it had not expired, %TWHEEL_STATE_READY when
 *	it had and its unread record was withdrawn
 * @remaining: of a pending timer the time that was left until its deadline, 0
 *	if that had passed; otherwise 0
 *
 * Written when the call succeeds.
 */
struct twheel_old {
	uint32_t	state;
	uint64_t	remaining;
};

/**
 * enum twheel_open_flag - flags of twheel_open()
 * @TWHEEL_OPEN_NONBLOCK: reading returns -EAGAIN instead of waiting
 * @TWHEEL_OPEN_CLOEXEC: the descriptor does not survive an exec
 */
enum twheel_open_flag {
	TWHEEL_OPEN_NONBLOCK	= 1 << 0,
	TWHEEL_OPEN_CLOEXEC	= 1 << 1,
};

/**
 * twheel_open() - open a new context
 * @twp: where the context is stored
 * @path: the device, or NULL for %TWHEEL_DEVICE
 * @flags: &enum twheel_open_flag bits
 * @config: clock (%TWHEEL_CLOCK_REALTIME for wall time), TWHEEL_CONFIG_* bits and
 *	limit; what is 0, or all where it is NULL, means CLOCK_MONOTONIC, none, and
 *	the module's limit
 *
 * Return: 0, or -errno: what open() says, -ENOENT above all when the module is
 * not loaded; -EINVAL for unknown @flags or a @config that the module refuses;
 * -ENOTTY when @path is something else; -EPROTONOSUPPORT when the module's
 * interface is older than this library's; -ENOMEM.
 */
int twheel_open(struct twheel **twp, const char *path, unsigned int flags,
		const struct twheel_config *config);

/**
 * twheel_adopt() - make a context of a descriptor that is open already
 * @twp: where the context is stored
 * @fd: a descriptor of /dev/twheel: inherited, received, or kept elsewhere
 *	while the program restarted
 *
 * The context owns @fd from then on; after a failure the caller still does.
 *
 * Return: 0, or -errno as twheel_open(), and -EBADF.
 */
int twheel_adopt(struct twheel **twp, int fd);

/**
 * twheel_release() - the opposite of twheel_adopt()
 * @tw: a context, which is freed, but not its descriptor
 *
 * Timer objects of the context are freed as in twheel_close(); what they have
 * armed stays armed. If a function has left twheel_dispatch() by longjmp() or an
 * exception, the records behind its own are lost. To handle them, call
 * twheel_dispatch() first until it returns 0; on a blocking descriptor, where it
 * would wait instead, one call that returns has handled them all.
 *
 * Return: the descriptor, which the caller owns.
 */
int twheel_release(struct twheel *tw);

/**
 * twheel_close() - close a context
 * @tw: a context, or NULL
 *
 * Cancels all its timers unless other copies of the descriptor are open, and
 * frees all its timer objects. In a child that has inherited the context the
 * parent's copy is open, and its timers go on. Not to be called from a timer's
 * function.
 */
void twheel_close(struct twheel *tw);

/**
 * twheel_take_over() - go on with a context that was made before a fork
 * @tw: a context
 *
 * For a child whose parent will not use the context any more, and has not used it
 * since the fork; a daemon's first process, for example, that exits. From then on
 * the context's timer objects are the child's, armed as they were when it was
 * forked, with the records that twheel_dispatch() had read and not come to by
 * then. In the process that has the context already it does nothing.
 */
void twheel_take_over(struct twheel *tw);

/**
 * twheel_fd() - the descriptor, for poll(), epoll and io_uring
 * @tw: a context
 *
 * It is readable (EPOLLIN) while there is something to read.
 *
 * Return: the descriptor, which the context goes on owning.
 */
int twheel_fd(const struct twheel *tw);

/**
 * twheel_clock() - the clock that the times of a context are on
 * @tw: a context
 *
 * Return: CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_REALTIME.
 */
int twheel_clock(const struct twheel *tw);

/**
 * twheel_config_flags() - what a context was configured to do
 * @tw: a context
 *
 * Return: TWHEEL_CONFIG_* bits.
 */
unsigned int twheel_config_flags(const struct twheel *tw);

/**
 * twheel_now() - the time on a context's clock
 * @tw: a context
 *
 * Return: nanoseconds, to compute deadlines for %TWHEEL_ARM_ABS from.
 */
uint64_t twheel_now(const struct twheel *tw);

/**
 * twheel_get_info() - what the module is, and how the context stands
 * @tw: a context
 * @flags: 0 or %TWHEEL_INFO_NEXT
 * @info: filled in
 *
 * Return: 0 or -errno.
 */
int twheel_get_info(const struct twheel *tw, unsigned int flags,
		    struct twheel_info *info);

/**
 * twheel_arm() - arm a new timer, or re-arm one with all its settings
 * @tw: a context
 * @arm: the request; its handle, result and old_* fields are written
 *
 * What was replaced is in @arm's old_* fields.
 *
 * Return: 0, or -errno as listed at &struct twheel_arm. After a failure @arm's
 * handle is as it was and the timer, if there was one, too.
 */
int twheel_arm(struct twheel *tw, struct twheel_arm *arm);

/**
 * twheel_arm_after() - arm a new one-shot timer
 * @tw: a context
 * @delay: nanoseconds from now
 * @user_data: given back in the event
 * @handle: where the timer's handle is stored; may be NULL
 *
 * Return: 0, or -errno as twheel_arm(), and -EINVAL in a context with keys.
 */
int twheel_arm_after(struct twheel *tw, uint64_t delay, uint64_t user_data,
		     uint64_t *handle);

/**
 * twheel_arm_at() - arm a new one-shot timer for a point in time
 * @tw: a context
 * @expires: the time on the context's clock; see twheel_now()
 * @user_data: given back in the event
 * @handle: where the timer's handle is stored; may be NULL
 *
 * Return: as twheel_arm_after().
 */
int twheel_arm_at(struct twheel *tw, uint64_t expires, uint64_t user_data,
		  uint64_t *handle);

/**
 * twheel_rearm_after() - make a live timer a one-shot timer from now
 * @tw: a context
 * @handle: the timer
 * @delay: nanoseconds from now
 * @user_data: given back in the event
 * @old: where what was replaced is stored; may be NULL
 *
 * Return: 0, or -errno as twheel_arm(): -ENOENT when it is not live, and
 * -EINVAL for a @handle of 0. In a context with keys it is the same as
 * twheel_put_after().
 */
int twheel_rearm_after(struct twheel *tw, uint64_t handle, uint64_t delay,
		       uint64_t user_data, struct twheel_old *old);

/**
 * twheel_rearm_at() - make a live timer a one-shot timer for a point in time
 * @tw: a context
 * @handle: the timer
 * @expires: the time on the context's clock
 * @user_data: given back in the event
 * @old: where what was replaced is stored; may be NULL
 *
 * Return: as twheel_rearm_after().
 */
int twheel_rearm_at(struct twheel *tw, uint64_t handle, uint64_t expires,
		    uint64_t user_data, struct twheel_old *old);

/**
 * twheel_set_after() - set a one-shot timer, whether it is live or not
 * @tw: a context without keys
 * @handle: the timer; 0, or a handle that is not live any more, for none
 * @delay: nanoseconds from now
 * @user_data: given back in the event
 * @old: where what was replaced is stored; may be NULL
 *
 * For a timeout that is pushed back at each sign of life. If @handle is live its
 * timer is re-armed and keeps the handle. Otherwise a new timer is made, and its
 * handle is stored.
 *
 * An event that was read before this call, and is handled after it, is of a
 * timeout that this call has overtaken: it has another handle than @handle now.
 *
 * Return: 0, or -errno as twheel_arm(), and -EINVAL in a context with keys. After
 * a failure @handle is as it was.
 */
int twheel_set_after(struct twheel *tw, uint64_t *handle, uint64_t delay,
		     uint64_t user_data, struct twheel_old *old);

/**
 * twheel_set_at() - set a one-shot timer for a point in time
 * @tw: a context without keys
 * @handle: the timer; 0, or a handle that is not live any more, for none
 * @expires: the time on the context's clock
 * @user_data: given back in the event
 * @old: where what was replaced is stored; may be NULL
 *
 * Return: as twheel_set_after().
 */
int twheel_set_at(struct twheel *tw, uint64_t *handle, uint64_t expires,
		  uint64_t user_data, struct twheel_old *old);

/**
 * twheel_put_after() - arm or re-arm the one-shot timer with a key
 * @tw: a context with keys
 * @key: any number
 * @delay: nanoseconds from now
 * @user_data: given back in the event
 * @old: where what was replaced is stored; may be NULL
 *
 * A program that has a number for each thing it times needs no table of
 * handles: the timer is made if there is none, and re-armed if there is.
 *
 * Return: 0, or -errno as twheel_arm(), and -EINVAL in a context without keys.
 */
int twheel_put_after(struct twheel *tw, uint64_t key, uint64_t delay,
		     uint64_t user_data, struct twheel_old *old);

/**
 * twheel_put_at() - arm or re-arm the one-shot timer with a key, absolute
 * @tw: a context with keys
 * @key: any number
 * @expires: the time on the context's clock
 * @user_data: given back in the event
 * @old: where what was replaced is stored; may be NULL
 *
 * Return: as twheel_put_after().
 */
int twheel_put_at(struct twheel *tw, uint64_t key, uint64_t expires,
		  uint64_t user_data, struct twheel_old *old);

/**
 * twheel_cancel() - cancel a timer
 * @tw: a context
 * @handle: the timer
 * @old: where what was cancelled is stored; may be NULL
 *
 * When it has succeeded no record of the timer will be read any more. Records
 * that were read before are in the program's own memory and its own affair;
 * for timers made by twheel_timer_new() the library sees to them.
 *
 * Return: 0, or -errno: -ENOENT when it is not live.
 */
int twheel_cancel(struct twheel *tw, uint64_t handle, struct twheel_old *old);

/**
 * twheel_arm_batch() - arm many timers with one system call
 * @tw: a context
 * @arms: the requests; each has its outcome in its result field
 * @n: their number
 *
 * Goes on where it was when a signal interrupts it.
 *
 * Return: how many entries were handled, whatever their results; fewer than @n
 * only when memory behind them cannot be reached. -EFAULT when that is so for
 * the first.
 */
ssize_t twheel_arm_batch(struct twheel *tw, struct twheel_arm *arms, size_t n);

/**
 * twheel_cancel_batch() - cancel many timers with one system call
 * @tw: a context
 * @cancels: the requests; each has its outcome in its result field
 * @n: their number
 *
 * Return: as twheel_arm_batch().
 */
ssize_t twheel_cancel_batch(struct twheel *tw, struct twheel_cancel *cancels,
			    size_t n);

/**
 * twheel_get() - look at one timer
 * @tw: a context
 * @handle: the timer
 * @info: filled in
 *
 * Return: 0, or -errno: -ENOENT when it is not live.
 */
int twheel_get(const struct twheel *tw, uint64_t handle,
	       struct twheel_timer_info *info);

/**
 * twheel_drain() - cancel pending timers and hand back their settings
 * @tw: a context
 * @cursor: 0 to begin, then as the last call left it
 * @infos: filled in
 * @n: the room there
 *
 * To be called until it returns 0. Timers that have expired are not touched:
 * they are there to be read. The timer objects of what it cancels are not armed
 * any more; user_data and handle in their @infos are the library's.
 *
 * Return: how many timers were cancelled and stored, 0 at the end, or -errno:
 * -EINVAL for an @n of 0, -EFAULT, -EINTR, -ECHILD in a child that has inherited
 * the context with timer objects.
 */
ssize_t twheel_drain(struct twheel *tw, uint64_t *cursor,
		     struct twheel_timer_info *infos, size_t n);

/**
 * twheel_walk_new() - begin to walk the pending timers
 * @walkp: where the walk is stored
 * @tw: a context, which has to outlive the walk
 *
 * A timer that is pending during the whole walk is met exactly once. The walk
 * ends however many are armed meanwhile.
 *
 * Return: 0 or -ENOMEM.
 */
int twheel_walk_new(struct twheel_walk **walkp, struct twheel *tw);

/**
 * twheel_walk_next() - the next timer of a walk
 * @walk: a walk
 * @info: filled in
 *
 * Return: 1, 0 at the end, or -errno: after -EINTR it can be called again.
 */
int twheel_walk_next(struct twheel_walk *walk, struct twheel_timer_info *info);

/**
 * twheel_walk_free() - end a walk
 * @walk: a walk, or NULL
 */
void twheel_walk_free(struct twheel_walk *walk);

/**
 * twheel_read() - read events
 * @tw: a context
 * @events: filled in
 * @n: the room there
 *
 * Waits for the first event unless the descriptor is non-blocking. A signal
 * that comes while it waits, to a handler installed without SA_RESTART, ends it
 * with -EINTR, so that the program can look at what its handler has noted;
 * nothing is lost by calling again.
 *
 * With %TWHEEL_CONFIG_CANCEL_ON_SET it fails with -ECANCELED once after each
 * step of the clock: what the program has computed from wall time may be wrong
 * from then on. Again nothing is lost by calling again.
 *
 * Return: how many events were stored, or -errno: -EAGAIN, -EINTR, -ECANCELED,
 * -EFAULT, -EINVAL for an @n of 0.
 */
ssize_t twheel_read(struct twheel *tw, struct twheel_event *events, size_t n);

/**
 * twheel_event_buffer_new() - make a buffer for events
 * @bufp: where the buffer is stored
 * @capacity: how many events it holds, 1 or more
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int twheel_event_buffer_new(struct twheel_event_buffer **bufp, size_t capacity);

/**
 * twheel_event_buffer_free() - free a buffer
 * @buf: a buffer, or NULL
 */
void twheel_event_buffer_free(struct twheel_event_buffer *buf);

/**
 * twheel_event_buffer_fill() - read events into a buffer
 * @buf: a buffer; events that were not taken out of it yet are kept
 * @tw: a context
 *
 * Return: how many events can be taken out now, or -errno as twheel_read().
 * When there are some already nothing is read.
 */
ssize_t twheel_event_buffer_fill(struct twheel_event_buffer *buf,
				 struct twheel *tw);

/**
 * twheel_event_buffer_next() - take the next event out of a buffer
 * @buf: a buffer
 *
 * Return: the event, valid until the buffer is filled again or freed; NULL when
 * all were taken.
 */
const struct twheel_event *
twheel_event_buffer_next(struct twheel_event_buffer *buf);

/*
 * Leases
 *
 * A lease is a timer with a word in memory that the program shares with the
 * kernel. It is extended by a compare-and-swap of a later deadline into the
 * word, which costs no system call and tells whether it was in time: either the
 * program extends the lease or the kernel ends it, never both. The event of a
 * lease that is over is read like any other.
 *
 * These need a context with %TWHEEL_CONFIG_LEASE.
 */

/**
 * twheel_lease_new() - arm a lease, and find its word
 * @tw: a context
 * @expires: the first deadline: a point in time with %TWHEEL_ARM_ABS, otherwise
 *	nanoseconds from now
 * @flags: 0 or %TWHEEL_ARM_ABS
 * @user_data: given back in the event
 * @handle: where the lease's handle is stored, may be NULL; in a context with
 *	keys it holds the lease's key, and may not
 * @wordp: where the address of its word is stored
 * @old: where what was replaced is stored; may be NULL
 *
 * The lease is cancelled with twheel_cancel(). To shorten it, or to revive one
 * that has expired and was not read yet, it is re-armed: twheel_arm() with its
 * handle and %TWHEEL_ARM_LEASE.
 *
 * When its word cannot be mapped the lease is cancelled again, and with a key
 * that was in use so is the timer that it has replaced.
 *
 * Return: 0, or -errno as twheel_arm() and twheel_lease_word(), and -EINVAL for
 * other @flags or a key that is missing.
 */
int twheel_lease_new(struct twheel *tw, uint64_t expires, unsigned int flags,
		     uint64_t user_data, uint64_t *handle, uint64_t **wordp,
		     struct twheel_old *old);

/**
 * twheel_lease_word() - find the word of a lease
 * @tw: a context
 * @word: its index, from &twheel_arm.word or &twheel_timer_info.word
 * @wordp: where the address of the word is stored
 *
 * For leases that twheel_arm(), twheel_arm_batch() or another process has
 * armed. Words are mapped by the million when the first of them is asked for;
 * the address is valid until twheel_close() or twheel_release().
 *
 * A word that was never a lease's raises SIGBUS when it is used. One whose lease
 * is over may belong to another lease already: only who knows that the lease
 * still is his may extend it.
 *
 * Return: 0, or -errno: -ENODEV in a context without leases, -ENOMEM.
 */
int twheel_lease_word(struct twheel *tw, uint32_t word, uint64_t **wordp);

/**
 * twheel_lease_extend() - push a lease back
 * @word: its word
 * @deadline: its new deadline, a point in time on the context's clock
 *
 * One compare-and-swap, tried again only if another thread extended the lease
 * at the same moment. Nothing is stored if the lease lasts that long already.
 *
 * Return: 1 when the lease lasts until @deadline at least, 0 when it is over:
 * it has expired, was cancelled, or is no lease any more; -EINVAL for a
 * @deadline over 2^63 - 1.
 */
int twheel_lease_extend(uint64_t *word, uint64_t deadline);

/**
 * twheel_lease_deadline() - how long a lease lasts
 * @word: its word
 *
 * Return: the deadline in the word; of a lease that is over the last one.
 */
uint64_t twheel_lease_deadline(const uint64_t *word);

/**
 * twheel_lease_expired() - is a lease over?
 * @word: its word
 *
 * A lease whose deadline has passed is not over, and can be extended, until the
 * kernel has taken note of it.
 *
 * Return: 1 when it is over, as for twheel_lease_extend(), otherwise 0.
 */
int twheel_lease_expired(const uint64_t *word);

/**
 * typedef twheel_timer_fn - what a timer calls
 * @timer: the timer
 * @event: the record of its expirations; user_data and handle in it are the
 *	library's
 * @arg: as given to twheel_timer_new()
 *
 * It may do anything to any timer of the context: arm it, cancel it, free it,
 * this one included. It may call twheel_dispatch(), which handles the records
 * behind this one, and may leave by longjmp() or an exception of C++. It may not
 * call twheel_close() or twheel_release() on the context. @event is valid until
 * it returns.
 */
typedef void twheel_timer_fn(struct twheel_timer *timer,
			     const struct twheel_event *event, void *arg);

/**
 * twheel_timer_new() - make a timer object, not armed
 * @timerp: where the timer is stored
 * @tw: a context
 * @fn: called by twheel_dispatch() when the timer has expired
 * @arg: given to @fn
 *
 * The memory of timer objects is reused, and given back by twheel_close() only:
 * a record that is still on its way finds that its timer is another one now.
 *
 * Return: 0, -EINVAL without @fn or in a context with keys, -ECHILD in a child
 * that has inherited the context, or -ENOMEM.
 */
int twheel_timer_new(struct twheel_timer **timerp, struct twheel *tw,
		     twheel_timer_fn *fn, void *arg);

/**
 * twheel_timer_free() - cancel and free a timer
 * @timer: a timer, or NULL
 *
 * Its function will not be called any more, not even for a record that
 * twheel_dispatch() has read already. In a child that has inherited the context
 * it frees the child's copy, and the parent's timer goes on.
 */
void twheel_timer_free(struct twheel_timer *timer);

/**
 * twheel_timer_arm() - arm a timer, or re-arm it with all its settings
 * @timer: a timer
 * @setting: expires, interval, slack, count and flags are taken from it; the
 *	other fields are ignored. %TWHEEL_ARM_LEASE is refused with -EINVAL.
 * @old: where what was replaced is stored; may be NULL
 *
 * When it has succeeded the timer's function will be called for this arming
 * only, not for an earlier one, not even when its record is being dispatched.
 * A last record that twheel_dispatch() has read, but has not come to yet, is
 * withdrawn like one that was not read: %TWHEEL_STATE_READY. It counts as one for
 * the conditions, too: with %TWHEEL_ARM_IF_PENDING the call fails with -ENOENT,
 * with %TWHEEL_ARM_IF_NONE it fails with -EEXIST, and the record stays.
 *
 * Return: 0, or -errno as twheel_arm(), and -ECHILD in a child that has inherited
 * the context; then the timer is as it was.
 */
int twheel_timer_arm(struct twheel_timer *timer,
		     const struct twheel_arm *setting, struct twheel_old *old);

/**
 * twheel_timer_start() - arm a timer from now
 * @timer: a timer
 * @delay: nanoseconds until it expires
 * @interval: nanoseconds between further expirations, 0 for none
 *
 * Return: as twheel_timer_arm().
 */
int twheel_timer_start(struct twheel_timer *timer, uint64_t delay,
		       uint64_t interval);

/**
 * twheel_timer_cancel() - cancel a timer
 * @timer: a timer
 * @old: where what was cancelled is stored; may be NULL
 *
 * When it has succeeded the timer's function will not be called, not even for
 * a record that twheel_dispatch() has read already; if that was its last it
 * counts as %TWHEEL_STATE_READY.
 *
 * Return: 0, or -errno: -ENOENT when it is not armed, -ECHILD in a child that has
 * inherited the context.
 */
int twheel_timer_cancel(struct twheel_timer *timer, struct twheel_old *old);

/**
 * twheel_timer_cancel_all() - cancel all timer objects of a context
 * @tw: a context
 *
 * As twheel_timer_cancel() on each that is armed, many with one system call. None
 * of their functions will be called, not even for records that twheel_dispatch()
 * has read already. Timers that are no objects are left alone.
 *
 * Return: 0, also when none was armed, or -errno: -ECHILD in a child that has
 * inherited the context. Then some may have been cancelled.
 */
int twheel_timer_cancel_all(struct twheel *tw);

/**
 * twheel_timer_get() - when is a timer due, and how is it set?
 * @timer: a timer
 * @info: filled in: deadline, remaining and the rest as by twheel_get(); handle
 *	and user_data are the library's
 *
 * A timer whose last record twheel_dispatch() has read, but has not come to yet,
 * is %TWHEEL_STATE_READY: @info has its deadline, and no interval or slack. A timer
 * that goes on is pending again as soon as its record has been read: its deadline
 * is that of the next round.
 *
 * Return: 0, or -errno: -ENOENT when it is not armed, -ECHILD in a child that has
 * inherited the context.
 */
int twheel_timer_get(const struct twheel_timer *timer,
		     struct twheel_timer_info *info);

/**
 * twheel_timer_armed() - is a timer armed?
 * @timer: a timer
 *
 * Return: 1 until the call for its last expiration, its cancel or its end; 0
 * otherwise. In that last call it is 0 already, and always in a child that has
 * inherited the context: nothing will be called there.
 */
int twheel_timer_armed(const struct twheel_timer *timer);

/**
 * twheel_dispatch() - read events and call the functions of their timers
 * @tw: a context
 *
 * For an event loop to call when twheel_fd() is readable. It reads up to 256
 * records, once, and waits only if the descriptor is blocking. With edge-
 * triggered epoll it has to be called until it returns 0.
 *
 * Of all records that one such read has brought, those with an earlier deadline are
 * handled first, whichever CPUs they are from; those with the same deadline in the
 * order in which they were read.
 *
 * When a function leaves by longjmp() or by an exception, the records behind
 * its own are kept. The next call goes on with them, and neither reads nor waits.
 * The descriptor is not readable on their account: after such an exit the
 * program calls twheel_dispatch() again before it waits for the descriptor.
 *
 * A call from a timer's function handles the records behind that function's own
 * likewise. If there are none it reads, and may wait. The outer call goes on with
 * what the inner one has left.
 *
 * Records of timers that were not armed by twheel_timer_arm() or
 * twheel_timer_start() are dropped: a context is used with timer objects or
 * without.
 *
 * Return: how many records this call has taken, including those that were
 * dropped because their timer was cancelled, re-armed or freed meanwhile, but not
 * those that an inner call has taken; 0 when there was nothing; or -errno: -EINTR
 * and -ECANCELED as in twheel_read(), with no function called; -EINVAL in a
 * context with keys; -ECHILD in a child that has inherited the context, also when
 * a function has forked and returns in the child: no other is called there;
 * -ENOMEM.
 */
int twheel_dispatch(struct twheel *tw);

#ifdef __cplusplus
}
#endif

#endif /* TWHEEL_H */
