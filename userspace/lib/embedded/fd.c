// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The timerfd of an embedded context: when it is readable, and waiting for that.
 *
 * The descriptor has to be readable while there is something to read. So while nothing is
 * ready the timerfd is set to the first tick in which a timer is due, and while something is
 * ready it has fired and is not set any more. To make it readable at once it is set to a
 * time in the past. That takes the kernel some microseconds, for which the call waits, so
 * that a poll after it finds what the call has left.
 *
 * A thread that waits in a read of records waits in a read of the timerfd. So it is the
 * kernel that knows whether to wait (O_NONBLOCK), and whether a signal ends it (SA_RESTART).
 * What the timerfd had to tell is spent then, and the timerfd is set anew.
 *
 * If the clock is set, that makes a timerfd readable which was set with
 * TFD_TIMER_CANCEL_ON_SET. The next call that sets it or reads it is told, by ECANCELED.
 */
#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "emb.h"

/* So many nodes are looked at to find the first one. Beyond that a guess has to do. */
#define FIRST_LOOKS	64

/* The longest to wait for the timerfd to fire that was set to the past. */
#define SHOW_MS		100

/* The latest second that a timerfd can be set to, as time_t may have 32 bits. */
#define SEC_MAX		((uint64_t)(sizeof(time_t) < sizeof(int64_t) ? INT32_MAX : INT64_MAX))

/* A time in the past: 0 would disarm it. */
#define TIME_PAST	1

int twheel_emb_fd_open(clockid_t clock, int flags)
{
	int fd = timerfd_create(clock, flags);

	return fd < 0 ? -errno : fd;
}

static void set_timerfd(struct twheel_emb *emb, uint64_t ns)
{
	int flags = TFD_TIMER_ABSTIME;
	struct itimerspec at = { };
	uint64_t sec;

	emb->set_to = ns;
	emb->spent = false;
	emb->shown = false;
	emb->news = false;
	emb->late = false;
	if (emb->config & TWHEEL_CONFIG_CANCEL_ON_SET) {
		flags |= TFD_TIMER_CANCEL_ON_SET;
		/* One that is disarmed would not tell. */
		if (ns == EMB_TIME_NEVER)
			ns = EMB_TIME_MAX;
	}
	if (ns != EMB_TIME_NEVER) {
		sec = ns / EMB_SEC_NS;
		at.it_value.tv_sec = (time_t)(sec < SEC_MAX ? sec : SEC_MAX);
		at.it_value.tv_nsec = (long)(ns % EMB_SEC_NS);
	}
	if (timerfd_settime(emb->fd, flags, &at, NULL) && errno == ECANCELED)
		emb->stepped = true;
}

void twheel_emb_ask_for_steps(struct twheel_emb *emb)
{
	set_timerfd(emb, emb->set_to);
}

/* Make the timerfd readable; and if it is, and there are news, tell those who wait for edges. */
static void show(struct twheel_emb *emb)
{
	struct pollfd pollfd = { .fd = emb->fd, .events = POLLIN };

	if (emb->shown && !emb->news)
		return;
	if (emb->shown || emb->spent || emb->late || emb->set_to > emb->now)
		set_timerfd(emb, TIME_PAST);
	/* A thread that waits takes what there is: then there may be nothing to see. */
	if (!emb->waiting)
		poll(&pollfd, 1, SHOW_MS);
	emb->shown = true;
	emb->news = false;
	emb->late = false;
}

/* Is there anything to read, or may there be? If not, emb->first is right. */
static bool is_readable(struct twheel_emb *emb)
{
	if (emb->nr_ready || emb->stepped)
		return true;
	if (emb->recheck) {
		emb->first = twheel_emb_first(&emb->wheel, FIRST_LOOKS);
		emb->recheck = false;
	}
	return emb->first <= emb->now >> EMB_TICK_SHIFT;
}

void twheel_emb_begin(struct twheel_emb *emb)
{
	pthread_mutex_lock(&emb->lock);
	emb->now = emb_time(emb->clock);
	twheel_emb_look(emb, EMB_LOOKS);
}

/* Let the timerfd be readable now, or from the first deadline on. */
static void settle(struct twheel_emb *emb)
{
	uint64_t ns;

	if (!is_readable(emb)) {
		ns = emb->first == TWHEEL_NEVER ? EMB_TIME_NEVER :
		     emb->first > EMB_TIME_MAX >> EMB_TICK_SHIFT ? EMB_TIME_MAX :
		     emb->first << EMB_TICK_SHIFT;
		if (emb->spent || emb->shown || emb->set_to != ns)
			set_timerfd(emb, ns);
		/* It has just told of a step. */
		if (!emb->stepped)
			return;
	}
	show(emb);
}

void twheel_emb_end_call(struct twheel_emb *emb)
{
	settle(emb);
	pthread_mutex_unlock(&emb->lock);
}

/* What the timerfd had to tell was read. Others may have set it since: then once more. */
static void spend(struct twheel_emb *emb)
{
	emb->spent = true;
	emb->shown = false;
}

/* A thread was cancelled while it waited, perhaps just after it had read. */
static void wait_cancelled(void *arg)
{
	struct twheel_emb *emb = arg;

	twheel_emb_begin(emb);
	emb->waiting--;
	spend(emb);
	twheel_emb_end_call(emb);
}

int twheel_emb_wait(struct twheel_emb *emb)
{
	uint64_t fired;
	int ret;

	settle(emb);
	emb->waiting++;
	pthread_mutex_unlock(&emb->lock);

	pthread_cleanup_push(wait_cancelled, emb);
	ret = read(emb->fd, &fired, sizeof(fired)) < 0 ? -errno : 0;
	pthread_cleanup_pop(0);

	pthread_mutex_lock(&emb->lock);
	emb->now = emb_time(emb->clock);
	emb->waiting--;
	if (ret == -ECANCELED) {
		emb->stepped = true;
		ret = 0;
	}
	if (!ret)
		spend(emb);
	return ret;
}
