// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A call on an embedded context begins, turns the wheel, and ends.
 *
 * No thread of its own turns the wheel: each call looks first at what has come up. A read
 * looks until it has found as many records as fit, and other calls for a bounded time: what
 * is left keeps the descriptor readable, and comes later in the same order.
 */
#include <stddef.h>
#include <string.h>
#if defined(__GLIBC__) && __GLIBC__ * 100 + __GLIBC_MINOR__ >= 232
#include <sys/single_threaded.h>
#define IS_ALONE	__libc_single_threaded
#else
#define IS_ALONE	false
#endif

#include "emb.h"
#include "expire.h"

/* So many timers that come up are looked at by a call that has other things to do. */
#define LOOKS	256

/*
 * So often a thread looks again whether it gets the lock, after so many pauses first and twice as
 * many each time: for some tens of microseconds in all, and so less than a turn.
 */
#define TRIES	6
#define PAUSES	32

/* For so long a call may keep others waiting before it lets them have their turn. */
#define TURN_NS	100000

/*
 * The clock by which a thread can wait for a mutex: one that is not set, if there is a choice. (The
 * thread sanitizer of GCC does not know that such a wait takes the mutex.)
 */
#if defined(__GLIBC__) && __GLIBC__ * 100 + __GLIBC_MINOR__ >= 230 && !defined(__SANITIZE_THREAD__)
#define LOCK_CLOCK			CLOCK_MONOTONIC
#define lock_until(mutex, time)		pthread_mutex_clocklock(mutex, LOCK_CLOCK, time)
#else
#define LOCK_CLOCK			CLOCK_REALTIME
#define lock_until(mutex, time)		pthread_mutex_timedlock(mutex, time)
#endif

/* Let some tens of nanoseconds pass, and another thread on this core have them. */
static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	/* Few of these processors wait at a yield. */
	__asm__ volatile("isb");
#else
	/* A round of a loop, which the compiler would leave out. */
	__asm__ volatile("");
#endif
}

/*
 * Take the lock, if it is free soon. Returns whether it was.
 *
 * A call takes less time than what it reads and writes takes to come from another CPU. So the
 * thread that has all of that makes some calls in a row, while this one does not look.
 */
static noinline bool lock_soon(struct twheel_emb *emb)
{
	unsigned int i, pauses;

	for (i = 0; i < TRIES; i++) {
		for (pauses = PAUSES << i; pauses; pauses--)
			relax();
		if (__atomic_load_n(&emb->overdue, __ATOMIC_RELAXED))
			return false;
		if (!pthread_mutex_trylock(&emb->lock))
			return true;
	}
	return false;
}

/*
 * Take the lock, behind the threads that wait for it already.
 *
 * Whoever has to be woken is later than a thread that lets go of the lock only to take it again,
 * for its next call or for the rest of a large one. That is best as long as it does not last: so
 * nobody goes first any more once the first one in the queue has waited for a turn's time.
 */
static noinline void lock_in_turn(struct twheel_emb *emb)
{
	struct timespec until;

	pthread_mutex_lock(&emb->queue);
	if (twheel_emb_kernel_time(LOCK_CLOCK, &until))
		clock_gettime(LOCK_CLOCK, &until);
	until.tv_nsec += TURN_NS;
	if (until.tv_nsec >= (long)EMB_SEC_NS) {
		until.tv_nsec -= (long)EMB_SEC_NS;
		until.tv_sec++;
	}
	if (lock_until(&emb->lock, &until)) {
		__atomic_store_n(&emb->overdue, 1, __ATOMIC_RELAXED);
		pthread_mutex_lock(&emb->lock);
		__atomic_store_n(&emb->overdue, 0, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&emb->queue);
}

/* Take the lock of a context that other threads may use. */
static noinline void lock_shared(struct twheel_emb *emb)
{
	if (__atomic_load_n(&emb->overdue, __ATOMIC_RELAXED) ||
	    (pthread_mutex_trylock(&emb->lock) && !lock_soon(emb)))
		lock_in_turn(emb);
}

void twheel_emb_lock(struct twheel_emb *emb)
{
	/* No other thread begins before this one has left the call. */
	bool alone = IS_ALONE;

	if (!alone)
		lock_shared(emb);
	emb->locked = !alone;
	emb->since = 0;
	twheel_emb_enter(emb);
}

void twheel_emb_go_by(struct twheel_emb *emb, uint64_t ns)
{
	/* twheel_now() reads it without the lock. */
	__atomic_store_n(&emb->now, ns, __ATOMIC_RELAXED);
}

void twheel_emb_read_clock(struct twheel_emb *emb)
{
	if (!emb->stopped)
		twheel_emb_go_by(emb, twheel_time(twheel_emb_clock(emb)));
}

/* As twheel_emb_turn(), when there is something to do. */
static noinline bool turn(struct twheel_emb *emb, uint64_t tick, uint32_t looks)
{
	struct twheel_base *base = &emb->user.base;
	struct twheel_run run;
	uint32_t n;
	bool more;

	/* All but the contexts that are to be woken. */
	memset(&run, 0, offsetof(struct twheel_run, wake));
	run.time = emb->now;

	local_bh_disable();
	rcu_read_lock();
	spin_lock(&base->lock);

	/* The clock was set back. What is armed now must not look as if it were late. */
	if (tick < base->wheel.clk)
		twheel_wheel_rewind(&base->wheel, tick);
	/* What was due so early leaves the wheel. */
	emb->user.recheck = true;

	while ((more = base->wheel.next_expiry <= tick) && looks) {
		n = twheel_expire(base, &run);
		looks -= n < looks ? n : looks;
	}

#ifdef TWHEEL_DEBUG
	/* It takes a look at each node. */
	if (base->wheel.nr_nodes < 1000)
		shim_assert(!twheel_wheel_check(&base->wheel));
#endif
	if (run.expired || run.moved) {
		twheel_count(TWHEEL_COUNT_INTERRUPTS);
		twheel_count_n(TWHEEL_COUNT_CASCADED, run.moved);
		twheel_observe(TWHEEL_HIST_EXPIRED, run.expired);
	}
	spin_unlock(&base->lock);
	twheel_expire_wake(&run);
	rcu_read_unlock();
	local_bh_enable();
	return more;
}

bool twheel_emb_turn(struct twheel_emb *emb, uint32_t looks)
{
	const struct twheel_wheel *wheel = &emb->user.base.wheel;
	uint64_t tick = twheel_now_to_tick(emb->now);

	if (tick < wheel->next_expiry && tick < emb->user.first && tick >= wheel->clk)
		return false;
	return turn(emb, tick, looks);
}

void twheel_emb_catch_up(struct twheel_emb *emb)
{
	if (!emb->caches)
		twheel_emb_read_clock(emb);
	twheel_emb_turn(emb, LOOKS);
}

void twheel_emb_begin(struct twheel_emb *emb)
{
	twheel_emb_lock(emb);
	twheel_emb_catch_up(emb);
}

void twheel_emb_look(struct twheel_emb *emb)
{
	twheel_emb_read_clock(emb);
	twheel_emb_turn(emb, LOOKS);
}

void twheel_emb_rest(struct twheel_emb *emb)
{
	uint64_t now;

	if (emb->closing)
		return;
	now = twheel_time(twheel_emb_clock(emb));
	if (!emb->since)
		emb->since = emb->caches || emb->stopped ? now : emb->now;
	if (now - emb->since < TURN_NS)
		return;
	twheel_emb_end_call(emb);
	twheel_emb_begin(emb);
}

void twheel_emb_end_call(struct twheel_emb *emb)
{
	if (emb->freed)
		twheel_emb_free_later(emb);
	twheel_emb_settle(emb);
	twheel_emb_show(emb);
	if (emb->locked)
		pthread_mutex_unlock(&emb->lock);
}
