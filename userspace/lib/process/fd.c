// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The descriptor of an embedded context: when it is readable, and waiting for that.
 *
 * The program sees an epoll of two others. A timerfd is set to the first tick in which a timer is
 * due. An eventfd is readable while something is ready, and is written to again whenever
 * something has become ready, for those who wait for edges. (One timerfd could do it all, set to
 * the past while something is ready. But that takes the kernel long, since a timer then has to
 * interrupt the CPU.)
 *
 * A thread that waits in a read of records waits in a read of the timerfd. So it is the kernel that
 * knows whether a signal ends it (SA_RESTART). While such threads wait and something is ready
 * the timerfd is set to the past; what it had to tell is spent when one of them has read it.
 *
 * If the clock is set, that makes a timerfd readable which was set with
 * TFD_TIMER_CANCEL_ON_SET. The next call that sets it or reads it is told, by ECANCELED.
 *
 * No function here is a point of cancellation but that read: other read() and write() are by
 * syscall(), and whoever closes a descriptor has cancellation disabled. (A close() by syscall() is
 * not known to the thread sanitizer, which takes the next descriptor of that number for the same
 * one.)
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "emb.h"

/* So many nodes are looked at to find the first one. Beyond that a guess has to do. */
#define FIRST_LOOKS	64

/* The latest second that a timerfd can be set to, as time_t may have 32 bits. */
#define SEC_MAX		((uint64_t)(sizeof(time_t) < sizeof(int64_t) ? INT32_MAX : INT64_MAX))

/* A time in the past: 0 would disarm it. */
#define TIME_PAST	1

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Have emb->fd tell whether @fd is readable. 0, or -errno, as when @fd could not be made. */
static int watch(const struct twheel_emb *emb, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd < 0 || epoll_ctl(emb->fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int twheel_emb_kernel_time(clockid_t clock, struct timespec *ts)
{
#ifdef SYS_clock_gettime64
	int64_t time[2];

	if (syscall(SYS_clock_gettime64, clock, time))
		return -1;
	ts->tv_sec = (time_t)time[0];
	ts->tv_nsec = (long)time[1];
	return 0;
#else
	return (int)syscall(SYS_clock_gettime, clock, ts);
#endif
}

/* Does the C library tell another time than the kernel? This thread may stand still meanwhile. */
static bool clock_differs(clockid_t clock)
{
	int64_t before = (int64_t)(twheel_time(clock) / EMB_SEC_NS);
	struct timespec kernel;
	int ret = twheel_emb_kernel_time(clock, &kernel);
	int64_t after = (int64_t)(twheel_time(clock) / EMB_SEC_NS);

	return !ret && (kernel.tv_sec < before - 1 || kernel.tv_sec > after + 1);
}

/* The clock may be set meanwhile, and not each time. */
static bool is_faked(clockid_t clock)
{
	return clock_differs(clock) && clock_differs(clock);
}

static int open_timer(struct twheel_emb *emb, clockid_t clock)
{
	int fd = timerfd_create(clock, TFD_CLOEXEC), ret = watch(emb, fd);

	if (ret) {
		close_fd(fd);
		return ret;
	}
	emb->timer = fd;
	emb->faked = is_faked(clock);
	emb->set_to = EMB_TIME_NEVER;
	/* So that it is set, and tells of steps from now on. */
	emb->spent = true;
	return 0;
}

static int open_event(struct twheel_emb *emb)
{
	emb->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return watch(emb, emb->event);
}

static int open_epoll(struct twheel_emb *emb, int flags)
{
	emb->fd = epoll_create1(flags & O_CLOEXEC ? EPOLL_CLOEXEC : 0);
	if (emb->fd < 0 || (flags & O_NONBLOCK && fcntl(emb->fd, F_SETFL, O_NONBLOCK)))
		return -errno;
	return 0;
}

int twheel_emb_fd_open(struct twheel_emb *emb, int flags, const struct twheel_emb *first)
{
	int ret = 0;

	emb->timer = -1;
	emb->event = -1;
	emb->shares_fd = first;
	if (first)
		emb->fd = first->fd;
	else
		ret = open_epoll(emb, flags);
	if (!ret)
		ret = open_event(emb);
	if (!ret)
		ret = open_timer(emb, CLOCK_MONOTONIC);
	if (ret)
		twheel_emb_fd_close(emb);
	return ret;
}

void twheel_emb_fd_close(struct twheel_emb *emb)
{
	close_fd(emb->timer);
	close_fd(emb->event);
	if (!emb->shares_fd)
		close_fd(emb->fd);
}

int twheel_emb_fd_clock(struct twheel_emb *emb, clockid_t clock)
{
	/* A child may have it, too: so it would not leave the epoll by itself. */
	epoll_ctl(emb->fd, EPOLL_CTL_DEL, emb->timer, NULL);
	close_fd(emb->timer);
	/* Not before, as there may be no other descriptor. */
	emb->timer = -1;
	return open_timer(emb, clock);
}

static noinline void set_timerfd(struct twheel_emb *emb, uint64_t ns)
{
	int flags = TFD_TIMER_ABSTIME;
	struct itimerspec at = { };
	uint64_t sec;

	emb->set_to = ns;
	emb->spent = false;
	if (emb->ctx->config & TWHEEL_CONFIG_CANCEL_ON_SET) {
		flags |= TFD_TIMER_CANCEL_ON_SET;
		/* One that is disarmed would not tell. */
		if (ns == EMB_TIME_NEVER)
			ns = KTIME_MAX;
	}
	if (emb->faked && ns != TIME_PAST && ns != EMB_TIME_NEVER) {
		/* What the kernel has to wait for is the same, and emb->now may be long ago. */
		flags = 0;
		ns = twheel_ns_until(ns, twheel_time(twheel_emb_clock(emb))) ?: TIME_PAST;
	}
	if (ns != EMB_TIME_NEVER) {
		sec = ns / EMB_SEC_NS;
		at.it_value.tv_sec = (time_t)(sec < SEC_MAX ? sec : SEC_MAX);
		at.it_value.tv_nsec = (long)(ns % EMB_SEC_NS);
	}
	if (timerfd_settime(emb->timer, flags, &at, NULL) && errno == ECANCELED)
		emb->steps++;
}

void twheel_emb_ask_for_steps(struct twheel_emb *emb)
{
	set_timerfd(emb, emb->set_to);
}

/* Is there anything to read, or may there be? If not, emb->user.first is right. */
static bool is_readable(struct twheel_emb *emb)
{
	if (emb->user.recheck) {
		emb->user.first = twheel_emb_first(&emb->user.base.wheel, FIRST_LOOKS);
		emb->user.recheck = false;
	}
	return twheel_ctx_is_ready(emb->ctx) || twheel_ctx_stepped(emb->ctx) ||
	       emb->user.first <= twheel_now_to_tick(emb->now);
}

/* When the timerfd is to fire next */
static uint64_t first_time(const struct twheel_emb *emb)
{
	uint64_t first = emb->user.first;

	if (first == TWHEEL_NEVER || emb->stopped)
		return EMB_TIME_NEVER;
	return first > KTIME_MAX >> EMB_TICK_SHIFT ? KTIME_MAX : first << EMB_TICK_SHIFT;
}

/* Let the eventfd be readable, or not; and if it is, and there are news, tell them. */
static noinline void show(struct twheel_emb *emb, bool readable)
{
	uint64_t count = 1;

	if (readable && (!emb->shown || emb->news))
		syscall(SYS_write, emb->event, &count, sizeof(count));
	if (!readable && emb->shown)
		syscall(SYS_read, emb->event, &count, sizeof(count));
	emb->shown = readable;
	emb->news = false;
}

/* Has the timerfd fired, or does it at any moment, and nobody has read it since? */
static bool is_firing(const struct twheel_emb *emb)
{
	if (emb->spent)
		return false;
	/*
	 * If the program's time is not the kernel's, it does not tell. Nor does that of a clock
	 * which may have been set back since.
	 */
	return emb->set_to == TIME_PAST ||
	       (emb->set_to <= emb->now && emb->user.base.clock != TWHEEL_REALTIME &&
		!emb->faked && !emb->stopped);
}

/* Does the timerfd have to be set? If so, *@time is to when. */
static bool is_unset(const struct twheel_emb *emb, bool readable, uint64_t *time)
{
	if (readable && emb->waiting) {
		*time = TIME_PAST;
		/* If it fires one of those who wait is being told. */
		return !is_firing(emb);
	}
	*time = first_time(emb);
	return (emb->spent || emb->set_to != *time) &&
	       emb->user.first > twheel_now_to_tick(emb->now);
}

/* Note from which tick on there may be something to read. */
static void note_settled(struct twheel_emb *emb, bool readable)
{
	__atomic_store_n(&emb->settled, readable ? 0 : emb->user.first, __ATOMIC_RELAXED);
}

/*
 * As twheel_emb_settle(), when there may be something to do.
 *
 * A thread that is woken looks at emb->settled without the lock. So what is there is noted before
 * the descriptors tell it, or a thread that waits for edges would find nothing; and what is gone
 * after that, or one that waits in a read would try again and again, and never wait for the lock.
 */
static noinline void settle(struct twheel_emb *emb)
{
	bool readable = is_readable(emb);
	uint64_t time;

	if (readable || emb->user.first < emb->settled)
		note_settled(emb, readable);
	while (is_unset(emb, readable, &time)) {
		set_timerfd(emb, time);
		/* It may have told that the clock was set: then those who wait are to be told. */
		readable = is_readable(emb);
	}
	if (readable != emb->shown || emb->news)
		show(emb, readable);
	note_settled(emb, readable);
}

uint64_t twheel_emb_time(const struct twheel_emb *emb)
{
	if (__atomic_load_n(&emb->stopped, __ATOMIC_RELAXED))
		return __atomic_load_n(&emb->now, __ATOMIC_RELAXED);
	return twheel_time(twheel_emb_clock(emb));
}

bool twheel_emb_may_read(const struct twheel_emb *emb, uint64_t ns)
{
	return __atomic_load_n(&emb->settled, __ATOMIC_RELAXED) <= twheel_now_to_tick(ns);
}

bool twheel_emb_may_repeat(const struct twheel_emb *emb)
{
	struct epoll_event event;

	/* A timerfd that has not fired may be late, too, if the program's time went forward. */
	if (emb->faked || emb->user.base.clock != TWHEEL_REALTIME)
		return emb->faked;
	/* It takes a fifth of what it takes to set a timerfd, and fails where it is filtered. */
	return syscall(SYS_epoll_pwait, emb->fd, &event, 1, 0, NULL, 0);
}

void twheel_emb_settle(struct twheel_emb *emb)
{
	uint64_t first = emb->user.first;

	if (first != emb->settled || first <= twheel_now_to_tick(emb->now) || emb->user.recheck ||
	    emb->spent || twheel_ctx_is_ready(emb->ctx) || twheel_ctx_stepped(emb->ctx))
		settle(emb);
}

/* A thread was cancelled while it waited, perhaps just after it had read. */
static void wait_cancelled(void *arg)
{
	struct twheel_emb *emb = arg;

	twheel_emb_begin(emb);
	emb->waiting--;
	emb->spent = true;
	/* If it has read of a step, that must not be lost: better to tell of one too many. */
	if (emb->ctx->config & TWHEEL_CONFIG_CANCEL_ON_SET)
		emb->steps++;
	twheel_emb_end_call(emb);
}

int twheel_emb_wait(struct twheel_emb *emb, bool wait)
{
	uint64_t fired;
	int ret;

	if (!wait || fcntl(emb->fd, F_GETFL) & O_NONBLOCK) {
		if (twheel_emb_may_repeat(emb))
			emb->spent = true;
		return -EAGAIN;
	}
	emb->waiting++;
	twheel_emb_end_call(emb);

	pthread_cleanup_push(wait_cancelled, emb);
	ret = read(emb->timer, &fired, sizeof(fired)) < 0 ? -errno : 0;
	pthread_cleanup_pop(0);

	twheel_emb_lock(emb);
	twheel_emb_read_clock(emb);
	emb->waiting--;
	if (ret == -ECANCELED) {
		emb->steps++;
		ret = 0;
	}
	if (!ret)
		emb->spent = true;
	return ret;
}
