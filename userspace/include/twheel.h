/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libtwheel: timers of /dev/twheel from C; where there is no such device, of a wheel in the
 * process.
 *
 * It has three layers, each usable without the next:
 *
 * - calls: to open a context, to arm, cancel and look at timers and to read their
 *   events (from twheel_open() on); with leases, which are extended without a
 *   system call (twheel_lease_new());
 * - records: a buffer of events with an iterator (twheel_event_buffer_new());
 * - timers: objects with a function and an argument. The functions are called from
 *   the program's own event loop (twheel_timer_new(), twheel_dispatch()). They are
 *   pushed back without a system call in a context with leases.
 *
 * Rules that hold for every function here:
 *
 * - A failure is returned as a negative errno. The library prints nothing, but for
 *   a line before it ends a program that frees a timer twice; and the errno variable
 *   has no meaning after its calls.
 * - A call that arms, re-arms or cancels a timer returns 0 or -errno. If the
 *   program passes a &struct twheel_old, the call stores there what it has replaced
 *   or cancelled.
 * - All times are nanoseconds on the context's clock.
 * - The names of the clocks come from <time.h>, which this header includes. In
 *   strict ISO C (-std=c99 and its like) they are declared only with
 *   _POSIX_C_SOURCE of 199309L or more, and CLOCK_BOOTTIME only with _GNU_SOURCE
 *   or _DEFAULT_SOURCE.
 * - Times over 2^63 - 1 are refused with -EINVAL: most likely they are computed
 *   delays that went below zero.
 * - On CLOCK_REALTIME deadlines are points in time. A call with a delay is refused
 *   with -EINVAL there. Use the call whose name ends in _at() or, where a call takes
 *   flags, %TWHEEL_ARM_ABS.
 * - In a context with keys (%TWHEEL_CONFIG_KEYED) every handle is a key that the
 *   program has chosen, and 0 is a key, too: see twheel_put_after(). Timer objects
 *   are for contexts without keys.
 * - <linux/twheel.h> has the structures of the interface (&struct twheel_arm,
 *   &struct twheel_event and so on), and documents their fields.
 *
 * Threads: calls on one context may run in any number of threads at once. No other
 * call may overlap twheel_close() or twheel_release(). An event buffer and a walk
 * belong to one thread at a time, and so do all timer objects of one context
 * together: twheel_dispatch() and every twheel_timer_*() and twheel_group_*() call on
 * that context run in one thread, or under one lock of the program's own. The same
 * goes for twheel_drain() and twheel_cancel_all() if the context has timer objects, as
 * they disarm them, and for twheel_set_now() if these have a queue. Any number of threads and
 * processes may use a lease.
 *
 * Cancellation of threads: twheel_read(), twheel_event_buffer_fill() and twheel_dispatch() are
 * points of cancellation; in an embedded context they are so only while they wait, and with
 * those whose names end in _timeout() it is so in every context. No other
 * function here is one. A thread that is cancelled there has taken no record, with one exception:
 * some C libraries (glibc before 2.41) may cancel a thread after the device has given it records.
 * These are in @events of twheel_read(), can be taken out of the buffer, or are handled by the next
 * twheel_dispatch(). A timer's function may end its thread, which is the same as leaving by an
 * exception. The call of a thread that was cancelled ends when the thread does: join it before
 * twheel_close(). Cancellation has to be deferred, as it is by default.
 *
 * Processes: after a fork parent and child share the descriptor. They have the same
 * timers, and each record goes to the process that reads it first. Calls and
 * records work in both. Timer objects belong to one process, as otherwise each
 * process would lose expirations to the other. So in a child, twheel_dispatch() and
 * each twheel_timer_*() and twheel_group_*() call that returns an error fail with
 * -ECHILD on a context from before the fork. So do twheel_drain() and
 * twheel_cancel_all() if the context has timer objects.
 * The child can do one of two things. It gives up the context by twheel_close(),
 * which leaves the parent's timers as they are. Or, if the parent will not use the
 * context any more, it takes the context over by twheel_take_over(). Children by
 * _Fork() or a bare clone() are the same, unless they share their parent's memory
 * (vfork(), CLONE_VM). Before Linux 4.14, or if madvise() is refused, the library
 * learns only of fork().
 *
 * Embedded contexts: where the device is not there, or if the program asks for it, the wheel
 * of a context is in the process, driven by a timerfd. Its calls are the same. What only the
 * device can do is refused: twheel_release() returns -EOPNOTSUPP, and in a child every call
 * but twheel_close() and twheel_take_over() returns -ECHILD. Nothing but the library may read
 * from the descriptor. No call may be made in a signal handler. Leases end only when a call
 * looks at them. Documentation/embedded.md has the whole list, and libtwheel(3) names the
 * differences, too.
 *
 * Signals: a call that waits or walks may return -EINTR, as its description says, if a
 * handler runs that was installed without SA_RESTART. The program can then call it again.
 * Batches go on by themselves.
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

/** define TWHEEL_VERSION - the version of this header, as text */
#define TWHEEL_VERSION		"0.4.0"

/** define TWHEEL_VERSION_NUMBER - the same as a number, major * 10000 + minor * 100 + patch */
#define TWHEEL_VERSION_NUMBER	400

/**
 * twheel_version() - the version of the library that the program runs with
 *
 * Return: what %TWHEEL_VERSION_NUMBER was when the library was built.
 */
unsigned int twheel_version(void);

struct twheel;
struct twheel_walk;
struct twheel_event_buffer;
struct twheel_timer;
struct twheel_group;

/**
 * struct twheel_old - what a call has replaced or cancelled
 * @state: &enum twheel_state: %TWHEEL_STATE_NONE when there was no timer,
 *	%TWHEEL_STATE_PENDING when the timer had not expired, %TWHEEL_STATE_READY
 *	when it had expired and its unread record was withdrawn
 * @remaining: for %TWHEEL_STATE_PENDING the time that was left until the
 *	deadline, or 0 if the deadline had passed; otherwise 0
 *
 * It is written only when the call succeeds.
 */
struct twheel_old {
	uint32_t	state;
	uint64_t	remaining;
};

/**
 * enum twheel_open_flag - flags of twheel_open()
 * @TWHEEL_OPEN_NONBLOCK: reading returns -EAGAIN instead of waiting
 * @TWHEEL_OPEN_CLOEXEC: the descriptor does not survive an exec
 * @TWHEEL_OPEN_EMBEDDED: an embedded context, also where the device is there
 * @TWHEEL_OPEN_CLOCK: &twheel_config.clock is a clock as clock_gettime() takes it, and has to be
 *	given. So 0 is CLOCK_REALTIME
 * @TWHEEL_OPEN_CACHE_NOW: calls on an embedded context do not read the clock: the present is the
 *	time of the last twheel_read(), twheel_dispatch() or twheel_update_now(), so delays count
 *	from there. Where few timers are pending a re-arm, push or cancel of one takes a third less,
 *	and a new timer a fifth. For the device, and on CLOCK_REALTIME, which may be set back, it
 *	changes nothing
 * @TWHEEL_OPEN_THREADS: threads use an embedded context at once: it gets a wheel for each CPU, as
 *	the device has, and records are in order for each of these. %TWHEEL_OPEN_CACHE_NOW has no
 *	effect then. For the device it changes nothing
 *
 * None of them is a TWHEEL_CONFIG_* bit: where one belongs the other is refused.
 */
enum twheel_open_flag {
	TWHEEL_OPEN_THREADS	= 1 << 25,
	TWHEEL_OPEN_CACHE_NOW	= 1 << 26,
	TWHEEL_OPEN_CLOCK	= 1 << 27,
	TWHEEL_OPEN_NONBLOCK	= 1 << 28,
	TWHEEL_OPEN_CLOEXEC	= 1 << 29,
	TWHEEL_OPEN_EMBEDDED	= 1 << 30,
};

/**
 * define TWHEEL_FEATURE_EMBEDDED - in &twheel_info.features, the context is embedded
 *
 * twheel_get_info() sets this bit for an embedded context. No module has it.
 */
#define TWHEEL_FEATURE_EMBEDDED	(1ULL << 63)

/**
 * twheel_open() - open a new context
 * @twp: where the context is stored
 * @path: the device; or NULL for %TWHEEL_DEVICE or, if that is not there, an embedded context
 * @flags: &enum twheel_open_flag bits
 * @config: the clock, TWHEEL_CONFIG_* bits and the limit. A limit of 0 means the
 *	module's. A clock of 0 means CLOCK_MONOTONIC, although it is the number of
 *	CLOCK_REALTIME: wall time is %TWHEEL_CLOCK_REALTIME or, with
 *	%TWHEEL_OPEN_CLOCK, CLOCK_REALTIME. NULL is the same as a structure of zeroes.
 *
 * With a @path of NULL and without %TWHEEL_OPEN_EMBEDDED the environment decides:
 * TWHEEL_BACKEND is "device" for the device alone, "embedded" for an embedded context, or
 * "auto", which is the same as leaving it unset. With "auto" only -ENOENT and -ENODEV from
 * opening the device lead to an embedded context.
 *
 * Return: 0, or -errno: any error of open(), such as -ENOENT when the device was asked for
 * and the module is not loaded; -EINVAL for unknown @flags, a @config that the module refuses,
 * %TWHEEL_OPEN_EMBEDDED with a @path, %TWHEEL_OPEN_CLOCK without a @config, or another
 * TWHEEL_BACKEND; -ENOTTY
 * when @path is not a twheel device; -EPROTONOSUPPORT when the module's interface
 * is older than this library's; -ENOMEM.
 */
int twheel_open(struct twheel **twp, const char *path, unsigned int flags,
		const struct twheel_config *config);

/**
 * twheel_adopt() - make a context from a descriptor that is open already
 * @twp: where the context is stored
 * @fd: a descriptor of /dev/twheel: inherited, received, or kept elsewhere
 *	while the program restarted
 *
 * After a success the context owns @fd. After a failure the caller still owns it.
 *
 * Return: 0, or -errno as for twheel_open() with a path; also -EBADF if @fd is not open for
 * reading (if it is not open for writing, calls that change the context return that later). The
 * descriptor of an embedded context is no twheel device: -ENOTTY.
 */
int twheel_adopt(struct twheel **twp, int fd);

/**
 * twheel_release() - free a context and keep its descriptor open
 * @tw: a context
 *
 * The opposite of twheel_adopt(). All timer objects of the context are freed, as by
 * twheel_close(), but the timers that they have armed stay armed.
 *
 * If a timer's function has left twheel_dispatch() by longjmp() or an exception, the
 * records after its own have been read and not handled. They are lost. To handle
 * them, call twheel_dispatch() first until it returns 0. On a blocking descriptor it
 * would wait then, and one call that returns has handled them all.
 *
 * Return: the descriptor, which the caller owns; or -EOPNOTSUPP for an embedded context, of
 * which nothing has changed.
 */
int twheel_release(struct twheel *tw);

/**
 * twheel_close() - close a context
 * @tw: a context, or NULL
 *
 * Frees all timer objects of the context. Cancels all its timers, too, unless
 * another copy of the descriptor is open. In a child that has inherited the context
 * the timers go on, as the parent's copy is open. After a call by a timer's function
 * twheel_dispatch() calls no other one, and returns.
 */
void twheel_close(struct twheel *tw);

/**
 * twheel_take_over() - go on with a context that was made before a fork
 * @tw: a context
 *
 * A child calls this. The parent must not have used the context since the fork, and
 * must not use it any more: an example is a daemon whose first process exits. The
 * timer objects then belong to the child, and are armed as they were at the fork.
 * Records that twheel_dispatch() had read but not handled by then are handled in the
 * child. In the process that the context belongs to already the call does nothing. If the
 * context is embedded, no other thread may have been in a call on it at the fork; and a child in
 * another time namespace, whose clocks tell other times, cannot take it over unless it is on
 * CLOCK_REALTIME: calls go on to return -ECHILD. (The library learns of the namespace from /proc.)
 */
void twheel_take_over(struct twheel *tw);

/**
 * twheel_fd() - the descriptor, for poll(), epoll and io_uring
 * @tw: a context
 *
 * It is readable (EPOLLIN) while there is something to read. That of an embedded context may
 * also be readable when there is nothing, after a lease was extended. With edge-triggered
 * epoll a program has to read until -EAGAIN.
 *
 * Return: the descriptor, which the context still owns.
 */
int twheel_fd(const struct twheel *tw);

/**
 * twheel_clock() - the clock that the times of a context are on
 * @tw: a context
 *
 * Return: CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_REALTIME, as clock_gettime() takes it.
 * To open a context with the same clock pass it with %TWHEEL_OPEN_CLOCK.
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
 * Deadlines for %TWHEEL_ARM_ABS are computed from this.
 *
 * Return: nanoseconds. With %TWHEEL_OPEN_CACHE_NOW what the calls on an embedded context take for
 * the present.
 */
uint64_t twheel_now(const struct twheel *tw);

/**
 * twheel_update_now() - read the clock of a context that was opened with %TWHEEL_OPEN_CACHE_NOW
 * @tw: a context
 *
 * What comes up until now becomes ready. An event loop calls this whenever it has waited and does
 * not call twheel_read() or twheel_dispatch() next: delays would count from before it has waited,
 * and timers expire too early by that. For contexts without the flag, and for those of the device,
 * it does nothing.
 *
 * Return: 0; or -ECHILD in a child that has inherited an embedded context.
 */
int twheel_update_now(struct twheel *tw);

/**
 * twheel_set_now() - set the clock of a context, and let it stand still
 * @tw: an embedded context
 * @ns: the time, in ns; neither 0 nor above 2^63 - 1
 *
 * For tests of programs, which then need not wait. From the first call on the time on the
 * context's clock is @ns until the next call. What is due by then is ready when the call
 * returns, in the order of &struct twheel_event, and who waits for the context is woken. As
 * ever a timer is due at the first tick that is not before its deadline. The time may go back;
 * with a context on CLOCK_REALTIME that is a step of the clock.
 *
 * Return: 0; -EINVAL for another @ns; -EOPNOTSUPP if the context is of the device; or -ECHILD
 * in a child that has inherited the context.
 */
int twheel_set_now(struct twheel *tw, uint64_t ns);

/**
 * twheel_get_info() - describe the module and the present state of a context
 * @tw: a context
 * @flags: 0 or %TWHEEL_INFO_NEXT
 * @info: filled in
 *
 * Return: 0 or -errno.
 */
int twheel_get_info(const struct twheel *tw, unsigned int flags,
		    struct twheel_info *info);

/** define TWHEEL_BUCKETS - how many values a distribution of &struct twheel_counters has */
#define TWHEEL_BUCKETS	64

/**
 * struct twheel_counters - what was counted in an embedded context since it was opened
 * @armed: new timers
 * @rearmed: live timers that were armed again
 * @cancelled: timers that were cancelled or drained
 * @expired: timers that became ready to be read
 * @read: records that were read
 * @cascaded: timers that a turn of the wheel moved to another bucket
 * @migrated: 0: there is one wheel
 * @turns: calls that found timers due, or to be moved. The device's name for it is interrupts
 * @lateness: how many timers became ready so many nanoseconds after their deadline, their
 *	slack included
 * @expired_a_turn: how many turns had so many timers expire
 * @read_a_call: how many calls returned so many records
 *
 * The last three are distributions: element 0 counts the value 0, element k the values from
 * 2^(k-1) to 2^k - 1, and the last one also those above. These are the counters and buckets that
 * the device has for each CPU in debugfs. Later versions of the library add fields at the end.
 */
struct twheel_counters {
	uint64_t	armed;
	uint64_t	rearmed;
	uint64_t	cancelled;
	uint64_t	expired;
	uint64_t	read;
	uint64_t	cascaded;
	uint64_t	migrated;
	uint64_t	turns;
	uint64_t	lateness[TWHEEL_BUCKETS];
	uint64_t	expired_a_turn[TWHEEL_BUCKETS];
	uint64_t	read_a_call[TWHEEL_BUCKETS];
};

/**
 * twheel_stats() - get what was counted in an embedded context
 * @tw: a context
 * @counters: filled in
 * @size: sizeof(*@counters). Fields that the library does not know yet become 0.
 *
 * Counting is always on. The call takes no lock and turns no wheel, so it may be made at any
 * time. The counters are read one after another: what other threads do meanwhile may be in one
 * of them already and not yet in another. They are never set back. After twheel_take_over()
 * they go on in the child.
 *
 * With TWHEEL_STATS=1 in the environment 'twheel stat --pid' shows them, too. The device counts
 * for all contexts together, which 'twheel stat' shows.
 *
 * Return: 0; -EINVAL for a @size of 0; -EOPNOTSUPP if the context is of the device; or -ECHILD in
 * a child that has inherited the context. After a failure @counters is as it was.
 */
int twheel_stats(const struct twheel *tw, struct twheel_counters *counters, size_t size);

/**
 * twheel_arm() - arm a new timer, or re-arm one with all its settings
 * @tw: a context
 * @arm: the request; its (out) fields are written
 *
 * The old_* fields of @arm say what was replaced.
 *
 * Return: 0, or -errno as listed at &struct twheel_arm. After a failure the handle
 * in @arm is as it was and so is the timer, if there was one.
 */
int twheel_arm(struct twheel *tw, struct twheel_arm *arm);

/**
 * twheel_arm_after() - arm a new one-shot timer
 * @tw: a context
 * @delay: nanoseconds from now
 * @user_data: given back in the event
 * @handle: where the timer's handle is stored; may be NULL
 *
 * Return: 0, or -errno as for twheel_arm(); also -EINVAL in a context with keys.
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
 * Return: as for twheel_arm_after().
 */
int twheel_arm_at(struct twheel *tw, uint64_t expires, uint64_t user_data,
		  uint64_t *handle);

/**
 * twheel_rearm_after() - re-arm a live timer as a one-shot timer
 * @tw: a context
 * @handle: the timer
 * @delay: nanoseconds from now
 * @user_data: given back in the event
 * @old: filled in with what was replaced; may be NULL
 *
 * In a context with keys this is the same as twheel_put_after().
 *
 * Return: 0, or -errno as for twheel_arm(): -ENOENT when the timer is not live;
 * also -EINVAL for a @handle of 0 in a context without keys.
 */
int twheel_rearm_after(struct twheel *tw, uint64_t handle, uint64_t delay,
		       uint64_t user_data, struct twheel_old *old);

/**
 * twheel_rearm_at() - re-arm a live timer as a one-shot timer for a point in time
 * @tw: a context
 * @handle: the timer
 * @expires: the time on the context's clock
 * @user_data: given back in the event
 * @old: filled in with what was replaced; may be NULL
 *
 * Return: as for twheel_rearm_after().
 */
int twheel_rearm_at(struct twheel *tw, uint64_t handle, uint64_t expires,
		    uint64_t user_data, struct twheel_old *old);

/**
 * twheel_set_after() - set a one-shot timer, whether it is live or not
 * @tw: a context without keys
 * @handle: where the timer's handle is; 0, or a handle that is not live any more,
 *	stands for no timer
 * @delay: nanoseconds from now
 * @user_data: given back in the event
 * @old: filled in with what was replaced; may be NULL
 *
 * This suits a timeout that is pushed back at each sign of life. If @handle is live,
 * its timer is re-armed and keeps the handle. Otherwise a new timer is made, and its
 * handle is stored in @handle.
 *
 * An event may have been read before this call and be handled only after it. That
 * event belongs to a timeout that this call has replaced. The program can tell by
 * its handle, which is not the one in @handle.
 *
 * Return: 0, or -errno as for twheel_arm(); also -EINVAL in a context with keys.
 * After a failure @handle is as it was.
 */
int twheel_set_after(struct twheel *tw, uint64_t *handle, uint64_t delay,
		     uint64_t user_data, struct twheel_old *old);

/**
 * twheel_set_at() - set a one-shot timer for a point in time
 * @tw: a context without keys
 * @handle: where the timer's handle is; 0, or a handle that is not live any more,
 *	stands for no timer
 * @expires: the time on the context's clock
 * @user_data: given back in the event
 * @old: filled in with what was replaced; may be NULL
 *
 * Return: as for twheel_set_after().
 */
int twheel_set_at(struct twheel *tw, uint64_t *handle, uint64_t expires,
		  uint64_t user_data, struct twheel_old *old);

/**
 * twheel_put_after() - arm or re-arm the one-shot timer with a key
 * @tw: a context with keys
 * @key: any number
 * @delay: nanoseconds from now
 * @user_data: given back in the event
 * @old: filled in with what was replaced; may be NULL
 *
 * The timer with @key is re-armed or, if there is none, made. So a program that has
 * a number for each thing that it times needs no table of handles.
 *
 * An event may have been read before this call, or before twheel_push(), and be handled only
 * after it. The handle does not tell here. But while twheel_get() finds a timer with the key, an
 * event with TWHEEL_EVENT_LAST is of an earlier arming, and another event will come.
 *
 * Return: 0, or -errno as for twheel_arm(); also -EINVAL in a context without keys.
 */
int twheel_put_after(struct twheel *tw, uint64_t key, uint64_t delay,
		     uint64_t user_data, struct twheel_old *old);

/**
 * twheel_put_at() - arm or re-arm the one-shot timer with a key for a point in time
 * @tw: a context with keys
 * @key: any number
 * @expires: the time on the context's clock
 * @user_data: given back in the event
 * @old: filled in with what was replaced; may be NULL
 *
 * Return: as for twheel_put_after().
 */
int twheel_put_at(struct twheel *tw, uint64_t key, uint64_t expires,
		  uint64_t user_data, struct twheel_old *old);

/**
 * twheel_push() - push a timer back, and leave its settings as they are
 * @tw: a context
 * @handle: the timer, which is pending; in a context with keys any key
 * @expires: when it is to expire now, a point in time on the context's clock. If that has
 *	passed it expires at once
 *
 * No other call pushes a timer back for less: nothing but the deadline changes, and nothing is
 * told of what it was. In a context with keys a timer that has expired is armed anew, and if
 * there is none with that key it is made, with 0 as its user data.
 *
 * Return: 0, or -errno: -ENOENT if there is no such timer or, without keys, if it has
 * expired; -EINVAL for an @expires over %INT64_MAX; with keys also as for
 * twheel_put_at().
 */
int twheel_push(struct twheel *tw, uint64_t handle, uint64_t expires);

/**
 * twheel_push_batch() - push many timers back with one system call
 * @tw: a context
 * @pushes: which timers, and until when: see twheel_push()
 * @n: their number
 *
 * A signal does not end the call.
 *
 * Return: how many were pushed back, up to the first for which that failed; or if that is the
 * very first one -errno, as twheel_push() returns it, or -EFAULT. So a call with the
 * rest tells why.
 */
ssize_t twheel_push_batch(struct twheel *tw, const struct twheel_push *pushes, size_t n);

/**
 * twheel_cancel() - cancel a timer
 * @tw: a context
 * @handle: the timer
 * @old: filled in with what was cancelled; may be NULL
 *
 * After a success no record of the timer will be read any more. A record that was
 * read before is in the program's own memory, and the program has to ignore it
 * itself. For timer objects the library does that: see twheel_timer_cancel().
 *
 * Return: 0, or -errno: -ENOENT when the timer is not live.
 */
int twheel_cancel(struct twheel *tw, uint64_t handle, struct twheel_old *old);

/**
 * twheel_arm_batch() - arm many timers with one system call
 * @tw: a context
 * @arms: the requests; the result field of each tells how it went
 * @n: their number
 *
 * A signal does not end the call: it goes on with the next entry.
 *
 * Return: how many entries were handled, whatever their results. There are fewer
 * than @n only if the memory of an entry cannot be reached: -EFAULT, if it is the first.
 */
ssize_t twheel_arm_batch(struct twheel *tw, struct twheel_arm *arms, size_t n);

/**
 * twheel_cancel_batch() - cancel many timers with one system call
 * @tw: a context
 * @cancels: the requests; the result field of each tells how it went
 * @n: their number
 *
 * Return: as for twheel_arm_batch().
 */
ssize_t twheel_cancel_batch(struct twheel *tw, struct twheel_cancel *cancels,
			    size_t n);

/**
 * twheel_get() - look at one timer
 * @tw: a context
 * @handle: the timer
 * @info: filled in
 *
 * Return: 0, or -errno: -ENOENT when the timer is not live.
 */
int twheel_get(const struct twheel *tw, uint64_t handle,
	       struct twheel_timer_info *info);

/**
 * twheel_drain() - cancel pending timers and hand back their settings
 * @tw: a context
 * @cursor: 0 to begin, then as the last call left it
 * @infos: filled in
 * @n: how many entries @infos has room for
 *
 * The program calls this until it returns 0. Timers that have expired are left
 * alone, as they are there to be read. If a timer object has armed a timer that is
 * cancelled, the object is not armed any more. The user_data and handle of such a
 * timer in @infos are the library's, and so are word, tag and %TWHEEL_ARM_LEASE.
 *
 * Return: how many timers were cancelled and stored; 0 at the end; or -errno:
 * -EINVAL for an @n of 0, -EFAULT, -EINTR, or -ECHILD in a child that has inherited
 * the context with timer objects. After -EINTR it can be called again.
 */
ssize_t twheel_drain(struct twheel *tw, uint64_t *cursor,
		     struct twheel_timer_info *infos, size_t n);

/**
 * twheel_cancel_all() - cancel all timers of a context
 * @tw: a context
 *
 * Cancels the pending timers, as twheel_drain() does, and drops the records that were not read.
 * Timer objects are cancelled as by twheel_timer_cancel_all(). A timer that another thread arms
 * meanwhile may stay.
 *
 * Return: 0, also when there was none; or -errno: -ECANCELED as for twheel_read(), -ECHILD in a
 * child that has inherited a context with timer objects. Some may have been cancelled then, and
 * the program can call again.
 */
int twheel_cancel_all(struct twheel *tw);

/**
 * twheel_walk_new() - begin to walk the pending timers
 * @walkp: where the walk is stored
 * @tw: a context, which has to outlive the walk
 *
 * A timer that is pending during the whole walk is returned exactly once. The walk
 * ends, however many timers are armed meanwhile.
 *
 * Return: 0 or -ENOMEM; or -ECHILD in a child that has inherited an embedded context.
 */
int twheel_walk_new(struct twheel_walk **walkp, struct twheel *tw);

/**
 * twheel_walk_next() - get the next timer of a walk
 * @walk: a walk
 * @info: filled in
 *
 * Return: 1 if @info was filled in, 0 at the end, or -errno. After -EINTR it can be
 * called again.
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
 * @n: how many events @events has room for
 *
 * Waits for the first event unless the descriptor is non-blocking. If a signal
 * handler that was installed without SA_RESTART runs while the call waits, the call
 * returns -EINTR, so that the program can look at what the handler has noted. No
 * event is lost, and the program can call again.
 *
 * With %TWHEEL_CONFIG_CANCEL_ON_SET the call fails with -ECANCELED once after each
 * step of the clock, as the step may have made wrong what the program has computed
 * from wall time. No event is lost then either. In an embedded context the call may also fail so
 * after a thread was cancelled that waited in it.
 *
 * Return: how many events were stored, or -errno: -EAGAIN, -EINTR, -ECANCELED,
 * -EFAULT, -EINVAL for an @n of 0.
 */
ssize_t twheel_read(struct twheel *tw, struct twheel_event *events, size_t n);

/**
 * twheel_read_timeout() - read events, and wait for so long at most
 * @tw: a context
 * @events: filled in
 * @n: how many events @events has room for
 * @timeout: nanoseconds, on CLOCK_MONOTONIC whatever the clock of the context is; with 0 the
 *	call does not wait
 *
 * Whether the descriptor is non-blocking makes no difference. The call never gives up early.
 *
 * It returns -EINTR where twheel_read() does. It may do so after a handler with SA_RESTART, too,
 * if the program has any handler without (but for SIGSEGV, SIGBUS, SIGFPE and SIGILL).
 *
 * Return: how many events were stored; 0 if there was none in time; or -errno as for
 * twheel_read() but -EAGAIN, and also -EINVAL for a @timeout over 2^63 - 1.
 */
ssize_t twheel_read_timeout(struct twheel *tw, struct twheel_event *events, size_t n,
			    uint64_t timeout);

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
 * @buf: a buffer
 * @tw: a context
 *
 * Reads only if all events in the buffer were taken out. Otherwise they are kept.
 *
 * Return: how many events can be taken out now, or -errno as for twheel_read().
 */
ssize_t twheel_event_buffer_fill(struct twheel_event_buffer *buf,
				 struct twheel *tw);

/**
 * twheel_event_buffer_next() - take the next event out of a buffer
 * @buf: a buffer
 *
 * Return: the event, which is valid until twheel_event_buffer_fill() is called again or the
 * buffer is freed; NULL when all were taken out.
 */
const struct twheel_event *
twheel_event_buffer_next(struct twheel_event_buffer *buf);

/*
 * Leases
 *
 * A lease is a timer with a word in memory that the program shares with the
 * kernel. To extend the lease, the program puts a later deadline into the word by a
 * compare-and-swap. That costs no system call, and it tells whether the program was
 * in time: either the program extends the lease or the kernel ends it, never both.
 * The event of a lease that is over is read like any other.
 *
 * The deadline of a lease is rounded up to a multiple of 1,024 ns: see
 * %TWHEEL_LEASE_UNIT_SHIFT.
 *
 * Leases need a context with %TWHEEL_CONFIG_LEASE.
 */

/**
 * struct twheel_lease - a lease, by which threads and processes extend it
 * @word: where its word is; valid until twheel_close() or twheel_release()
 * @tag: the tag that its word has as long as the word is that of this lease
 *
 * A value, to be copied and kept like a number. twheel_lease_new() and twheel_lease_at()
 * fill it in; programs leave the fields alone.
 *
 * The word may belong to another timer as soon as the lease has ended and its record was
 * read, or it was cancelled. By the tag the calls notice that, and say that the lease is
 * over, while the word is used for 1,023 more timers. So a program has to forget a lease
 * some time after its end, and not keep it for ever: see %TWHEEL_LEASE_TAG_SHIFT.
 */
struct twheel_lease {
	uint64_t	*word;
	uint16_t	tag;
};

/**
 * twheel_lease_new() - arm a lease
 * @tw: a context
 * @expires: the first deadline: a point in time with %TWHEEL_ARM_ABS, otherwise
 *	nanoseconds from now
 * @flags: 0 or %TWHEEL_ARM_ABS
 * @user_data: given back in the event
 * @handle: where the lease's handle is stored; may be NULL. In a context with keys
 *	it holds the lease's key, and must not be NULL.
 * @lease: where the lease is stored
 * @old: filled in with what was replaced; may be NULL
 *
 * To cancel the lease, call twheel_cancel(). To shorten it, or to revive it when it
 * has expired and its record was not read yet, re-arm it: call twheel_arm() with its
 * handle and %TWHEEL_ARM_LEASE. It then stays the same lease.
 *
 * If the word cannot be mapped, the lease is cancelled again. If there was a timer
 * with the same key, which the lease has replaced, that timer is gone, too.
 *
 * Return: 0, or -errno as for twheel_arm() and twheel_lease_at(); also -EINVAL for
 * other @flags, or if the key is missing.
 */
int twheel_lease_new(struct twheel *tw, uint64_t expires, unsigned int flags,
		     uint64_t user_data, uint64_t *handle, struct twheel_lease *lease,
		     struct twheel_old *old);

/**
 * twheel_lease_at() - get a lease that was armed otherwise
 * @tw: a context
 * @word: the index of its word: &twheel_arm.word or &twheel_timer_info.word
 * @tag: its tag, from the same structure: &twheel_arm.tag or &twheel_timer_info.tag
 * @lease: where the lease is stored
 *
 * For a lease that twheel_arm(), twheel_arm_batch() or another process has armed.
 * Words are mapped a million at a time, when one of them is first asked for.
 *
 * The use of a word that has never belonged to a timer may raise SIGBUS.
 *
 * Return: 0, or -errno: -EINVAL for a @word of 0, as of a timer that is no lease, or a @tag
 * over %TWHEEL_LEASE_TAG_MASK; -ENODEV in a context without leases, -ENOMEM, or another error of
 * mmap(), such as -EACCES if the descriptor is not open for writing; or -ECHILD in a child that
 * has inherited an embedded context. There it may use the leases that it has.
 */
int twheel_lease_at(struct twheel *tw, uint32_t word, uint16_t tag,
		    struct twheel_lease *lease);

/**
 * twheel_lease_extend() - push a lease back
 * @lease: the lease
 * @deadline: its new deadline, a point in time on the context's clock
 *
 * This takes one compare-and-swap. It is tried again only if the lease was extended
 * or re-armed at the same moment. Nothing is stored if the lease lasts until
 * @deadline already.
 *
 * Return: 1 when the lease lasts until @deadline or longer; 0 when it is over, that
 * is, it has expired, was cancelled, or is no lease any more, whatever its word is
 * used for by now; -EINVAL for a @deadline over 2^63 - 1.
 */
int twheel_lease_extend(struct twheel_lease lease, uint64_t deadline);

/**
 * twheel_lease_deadline() - get the deadline of a lease
 * @lease: the lease
 *
 * Return: the deadline. For a lease that is over, its last deadline; or 0 if its word is
 * that of another timer by now.
 */
uint64_t twheel_lease_deadline(struct twheel_lease lease);

/**
 * twheel_lease_expired() - is a lease over?
 * @lease: the lease
 *
 * When its deadline has passed, a lease is not over before the kernel has noticed
 * that. Until then it can be extended.
 *
 * Return: 1 when twheel_lease_extend() would return 0, as the lease is over;
 * otherwise 0.
 */
int twheel_lease_expired(struct twheel_lease lease);

/*
 * Timer objects
 *
 * In a context with %TWHEEL_CONFIG_LEASE a one-shot timer object is a lease in the device.
 * To arm it again for a later time, with the same slack, takes a compare-and-swap and no
 * system call. All else is as in other contexts, and costs a system call: to arm a timer
 * that is not armed or has expired, to make one expire earlier or repeat, to cancel it.
 * twheel_timer_defer() has such calls made in batches.
 *
 * A timer that was pushed back comes as late as any lease may: see %TWHEEL_LEASE_EXPIRED
 * about very many leases that are pushed back by very little. Each timer takes 8 bytes
 * more, and deadlines are rounded as those of any lease are, so timers that are due
 * within 1,024 ns of each other may have the same. If the words cannot be mapped the
 * library makes system calls instead, and the same holds for a process in another time
 * namespace than that in which the context was configured. A process must not move to
 * another one by setns() while such timers are armed.
 */

/**
 * typedef twheel_timer_fn - the function of a timer
 * @timer: the timer
 * @event: the record of its expirations; user_data and handle in it are the
 *	library's
 * @arg: as given to twheel_timer_new()
 *
 * The function may arm, cancel and free any timer of the context, @timer included.
 * It may call twheel_dispatch(), which handles the records after this one. It may
 * leave by longjmp() or by an exception of C++. It may close the context, and then must not
 * use @timer any more. @event is valid until it returns.
 */
typedef void twheel_timer_fn(struct twheel_timer *timer,
			     const struct twheel_event *event, void *arg);

/**
 * twheel_timer_new() - make a timer object, which is not armed yet
 * @timerp: where the timer is stored
 * @tw: a context
 * @fn: called by twheel_dispatch() when the timer has expired
 * @arg: given to @fn
 *
 * The library keeps the memory of freed timer objects, for new ones, until
 * twheel_close() or twheel_release(). So it can tell that a record is from before its
 * timer was freed, and drop it.
 *
 * Return: 0; -EINVAL if @fn is NULL or the context has keys; -ECHILD in a child that
 * has inherited the context; or -ENOMEM.
 */
int twheel_timer_new(struct twheel_timer **timerp, struct twheel *tw,
		     twheel_timer_fn *fn, void *arg);

/**
 * twheel_timer_free() - cancel and free a timer
 * @timer: a timer, or NULL
 *
 * The timer's function will not be called any more, not even for a record that
 * twheel_dispatch() has read already. In a child that has inherited the context the
 * call frees the child's copy, and the parent's timer goes on.
 *
 * The program ends by abort() if the timer is free already and no other was made since. Until
 * then the other calls refuse such a timer with -EINVAL. If the library was compiled with
 * AddressSanitizer, or in valgrind, such a call is told of.
 */
void twheel_timer_free(struct twheel_timer *timer);

/**
 * twheel_timer_arm() - arm a timer, or re-arm it with all its settings
 * @timer: a timer
 * @setting: expires, interval, slack, count and flags are taken from it; the
 *	other fields are ignored. %TWHEEL_ARM_LEASE is refused with -EINVAL.
 * @old: filled in with what was replaced; may be NULL
 *
 * In a context with %TWHEEL_CONFIG_LEASE a one-shot timer that is pending is armed for a
 * later time without a system call.
 *
 * After a success the timer's function will be called for this arming only. It will
 * not be called for an earlier one, not even if twheel_dispatch() has read the record
 * of that already.
 *
 * If twheel_dispatch() has read the last record of the timer, but has not handled it
 * yet, the timer is %TWHEEL_STATE_READY, like one whose record was not read. The call
 * withdraws that record. But with %TWHEEL_ARM_IF_PENDING it fails with -ENOENT, and
 * with %TWHEEL_ARM_IF_NONE it fails with -EEXIST, and the record stays.
 *
 * Return: 0, or -errno as for twheel_arm(); also -ECHILD in a child that has
 * inherited the context. After a failure the timer is as it was.
 */
int twheel_timer_arm(struct twheel_timer *timer,
		     const struct twheel_arm *setting, struct twheel_old *old);

/**
 * twheel_timer_start() - arm a timer after a delay
 * @timer: a timer
 * @delay: nanoseconds from now until it expires
 * @interval: nanoseconds between further expirations, or 0 for one shot
 *
 * Return: as for twheel_timer_arm().
 */
int twheel_timer_start(struct twheel_timer *timer, uint64_t delay,
		       uint64_t interval);

/**
 * twheel_timer_again() - arm a timer again with the settings of before
 * @timer: a timer, armed or not
 *
 * The same as the last call of twheel_timer_arm() or twheel_timer_start() that has succeeded,
 * without its conditions. The delay counts from now, and so does the count.
 *
 * Return: as for twheel_timer_arm(); also -ENOENT if the timer was never armed, and -EINVAL if
 * that was for a point in time, which does not come again.
 */
int twheel_timer_again(struct twheel_timer *timer);

/**
 * twheel_timer_push() - change when a pending timer is due, and nothing else
 * @timer: a timer
 * @expires: when it is to expire next: a point in time with %TWHEEL_ARM_ABS, otherwise
 *	nanoseconds from now
 * @flags: 0 or %TWHEEL_ARM_ABS
 *
 * It may become later or earlier. A timer that repeats keeps its interval, and the rounds that
 * are left of its count; its grid is moved. What twheel_timer_again() does stays the same.
 *
 * Return: 0, or -errno as for twheel_timer_arm(): -ENOENT when the timer is not pending, as it has
 * expired already or is not armed; nothing has changed then.
 */
int twheel_timer_push(struct twheel_timer *timer, uint64_t expires, unsigned int flags);

/**
 * twheel_timer_cancel() - cancel a timer
 * @timer: a timer
 * @old: filled in with what was cancelled; may be NULL
 *
 * After a success the timer's function will not be called, not even for a record that
 * twheel_dispatch() has read already. If that was the timer's last record, the state
 * in @old is %TWHEEL_STATE_READY.
 *
 * Return: 0, or -errno: -ENOENT when the timer is not armed, -ECHILD in a child that
 * has inherited the context.
 */
int twheel_timer_cancel(struct twheel_timer *timer, struct twheel_old *old);

/**
 * twheel_timer_cancel_all() - cancel all timer objects of a context
 * @tw: a context
 *
 * The same as twheel_timer_cancel() on each timer object that is armed, but one system
 * call cancels many. None of their functions will be called, not even for records that
 * twheel_dispatch() has read already. Timers without an object are left alone.
 *
 * Return: 0, also when none was armed; or -errno: -ECHILD in a child that has
 * inherited the context. After another failure some may have been cancelled.
 */
int twheel_timer_cancel_all(struct twheel *tw);

/**
 * twheel_timer_get() - get the deadline and the settings of a timer
 * @timer: a timer
 * @info: filled in as by twheel_get(), but handle and user_data are the library's
 *
 * If twheel_dispatch() has read the last record of the timer, but has not handled it
 * yet, the timer is %TWHEEL_STATE_READY, and @info has its deadline but no interval or
 * slack. A timer that repeats is pending again as soon as its record has been read,
 * and @info has the deadline of the next round.
 *
 * Return: 0, or -errno: -ENOENT when the timer is not armed, -ECHILD in a child that
 * has inherited the context.
 */
int twheel_timer_get(const struct twheel_timer *timer,
		     struct twheel_timer_info *info);

/**
 * twheel_timer_remaining() - how long until a timer is due
 * @timer: a timer
 *
 * For a timer without an object, and to learn of errors, see remaining in &struct
 * twheel_timer_info.
 *
 * Return: nanoseconds; 0 if it is due or not armed, and in a child that has inherited the context.
 */
uint64_t twheel_timer_remaining(const struct twheel_timer *timer);

/**
 * twheel_timer_arg() - the argument of a timer
 * @timer: a timer
 *
 * Return: what was given to twheel_timer_new() or twheel_timer_set_arg().
 */
void *twheel_timer_arg(const struct twheel_timer *timer);

/**
 * twheel_timer_set_arg() - give a timer another argument
 * @timer: a timer
 * @arg: given to its function from now on, also for what has expired already
 */
void twheel_timer_set_arg(struct twheel_timer *timer, void *arg);

/**
 * twheel_timer_armed() - is a timer armed?
 * @timer: a timer
 *
 * Return: 1 from the time when the timer is armed until it is cancelled or freed, or
 * its function is called for the last expiration; otherwise 0. During that last call
 * it is 0 already. In a child that has inherited the context it is always 0, as no
 * function will be called there.
 */
int twheel_timer_armed(const struct twheel_timer *timer);

/**
 * twheel_group_new() - make a group of timer objects, which are cancelled together
 * @groupp: where the group is stored
 * @tw: a context
 *
 * For what ends as a whole, such as a connection with its timers. twheel_close() and
 * twheel_release() free the groups of the context, too.
 *
 * Return: 0; -EINVAL if the context has keys; -ECHILD in a child that has inherited the context;
 * or -ENOMEM.
 */
int twheel_group_new(struct twheel_group **groupp, struct twheel *tw);

/**
 * twheel_timer_set_group() - put a timer into a group
 * @timer: a timer, armed or not. It leaves the group in which it is, if any
 * @group: the group; or NULL to have it in none
 *
 * A timer that is freed leaves its group.
 *
 * Return: 0; -EINVAL if the group is of another context; or -ECHILD in a child that has inherited
 * the context.
 */
int twheel_timer_set_group(struct twheel_timer *timer, struct twheel_group *group);

/**
 * twheel_group_cancel() - cancel the timers of a group
 * @group: a group
 *
 * The same as twheel_timer_cancel() on each of its timers that is armed, but one system call
 * cancels many. They stay in the group, and may be armed again. Any timer's function may call
 * this. Takes time for each timer in the group.
 *
 * Return: 0, also when none was armed; or -errno: -ECHILD in a child that has inherited the
 * context. After another failure some may have been cancelled.
 */
int twheel_group_cancel(struct twheel_group *group);

/**
 * twheel_group_free() - cancel the timers of a group, and free the group
 * @group: a group, or NULL
 *
 * The timers are still there and in no group then. Who has made them frees them. In a child that
 * has inherited the context the call frees the child's copy, and the parent's timers go on.
 */
void twheel_group_free(struct twheel_group *group);

/**
 * twheel_timer_defer() - queue what timer objects have to tell the device, or stop that
 * @tw: a context without keys
 * @defer: 1 to queue from now on; 0 to flush the queue and make each call at once again
 *
 * By default a call on a timer object that needs a system call makes it at once. With a
 * queue the library collects such calls and makes them in batches, of up to 256 re-arms
 * and 256 cancels. To the program they take effect at once all the same: a function is not
 * called for an arming that was replaced or cancelled in the queue, and a relative time
 * counts from the call.
 *
 * What is queued is the re-arm of an armed timer as a one-shot timer without conditions,
 * and the cancel or the free of an armed timer, if the program does not ask what was
 * replaced (an @old of NULL). Neither can fail for lack of memory or because of a limit.
 * All other calls are made at once. A new arming is one of them, so is one for a time that has
 * passed on CLOCK_REALTIME, which may be set back, and so is a call of which
 * the result depends on what is queued for its timer: that flushes the queue first.
 *
 * The queue is flushed by twheel_timer_flush(); at the beginning and at the end of
 * twheel_dispatch(); when it is full; by twheel_timer_cancel_all(), twheel_group_cancel(),
 * twheel_drain(), twheel_cancel_all(), twheel_set_now(), twheel_release() and twheel_close(). So a
 * program that waits only in twheel_dispatch() need not flush. A program that waits elsewhere, say
 * in epoll_wait() for twheel_fd(), has to call twheel_timer_flush() before it waits:
 * otherwise a timer that was made to expire earlier comes late, and a timer that was
 * cancelled or made to expire later wakes the program for nothing. What is queued does not
 * show in twheel_get_info() and in walks before the flush.
 *
 * Return: 0, or -errno: -EINVAL in a context with keys, -ECHILD in a child that has
 * inherited the context, -ENOMEM; for a @defer of 0 also as for twheel_timer_flush().
 */
int twheel_timer_defer(struct twheel *tw, int defer);

/**
 * twheel_timer_flush() - tell the device what timer objects have queued
 * @tw: a context
 *
 * Does nothing if nothing is queued, or if twheel_timer_defer() was not called.
 *
 * A queued re-arm can fail only if another process has read the timer's last record
 * meanwhile. The library then makes a new timer, which fails with -ENOSPC, -EDQUOT or
 * -ENOMEM where twheel_arm() does. A timer whose re-arm has failed is not armed any more.
 * The next call of twheel_timer_flush() or twheel_dispatch() returns the first such error,
 * once, whichever call has flushed the queue.
 *
 * Return: 0; the error of a queued re-arm; or -ECHILD in a child that has inherited the
 * context.
 */
int twheel_timer_flush(struct twheel *tw);

/**
 * twheel_dispatch() - read events and call the functions of their timers
 * @tw: a context
 *
 * An event loop calls this when twheel_fd() is readable. It reads once, up to 256
 * records, and waits only if the descriptor is blocking. With edge-triggered epoll it
 * has to be called until it returns 0.
 *
 * The records of one read are handled in the order of their deadlines, whichever CPUs
 * they come from. Records with the same deadline are handled in the order in which
 * their timers were armed last. To push a timer back without a call, by the word of a
 * lease, does not count as arming it.
 *
 * If a function leaves by longjmp() or by an exception, the records after its own are
 * kept. The next call goes on with them, and neither reads nor waits. These records
 * have been read already, so they do not make the descriptor readable: after such an
 * exit the program has to call twheel_dispatch() again before it waits for the
 * descriptor.
 *
 * A timer's function may call twheel_dispatch(), too. That call handles the records
 * after the function's own. If there are none it reads, and may wait. The outer call
 * goes on with the records that the inner one has left.
 *
 * Records of timers without an object are dropped: use a context either with timer objects
 * or without.
 *
 * If a timer's function forks and returns in the child, no other function is called
 * there, and the call returns -ECHILD.
 *
 * Return: how many records this call has taken; 0 when there was none; or -errno. The
 * number includes records that were dropped because their timer was cancelled,
 * re-armed or freed meanwhile. It does not include those that an inner call has taken.
 * The errors are -EINTR and -ECANCELED as for twheel_read(), with no function called;
 * those of twheel_timer_flush(), likewise; -EINVAL in a context with keys; -ECHILD in a
 * child that has inherited the context; -ENOMEM.
 */
int twheel_dispatch(struct twheel *tw);

/**
 * twheel_dispatch_timeout() - dispatch, and wait for so long at most
 * @tw: a context
 * @timeout: as for twheel_read_timeout()
 *
 * As twheel_dispatch(), but it waits as twheel_read_timeout() does, if it has to. The functions
 * that it calls take the time that they take.
 *
 * Return: as for twheel_dispatch(): 0 when there was no record in time; also -EINVAL for a
 * @timeout over 2^63 - 1.
 */
int twheel_dispatch_timeout(struct twheel *tw, uint64_t timeout);

#ifdef __cplusplus
}
#endif

#endif /* TWHEEL_H */
