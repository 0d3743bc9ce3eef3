// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The way out: what is due becomes ready, and what is ready is read.
 *
 * Locking rules: see hold.c for what guards a timer, design.md for the order. A record is
 * stored in the reader's memory with the locks held and page faults off. If the memory has to
 * be faulted in, that is done after the locks are released. So nobody else comes between storing
 * a record and ending its timer, or starting the timer's next round: a cancel comes before both
 * or after both.
 */
#include <linux/build_bug.h>
#include <linux/math64.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "arm.h"
#include "base.h"
#include "ctx.h"
#include "debug.h"
#include "expire.h"
#include "host.h"
#include "lease.h"
#include "timer.h"

/* Records that are stored before the locks are released. They are on the stack. */
#define TWHEEL_DELIVER_MAX	16

/*
 * Look at the lease @timer, whose turn came. If its word does not hold a later deadline, claim the
 * lease and return true. Otherwise timer->node says when to look again.
 */
static bool look_at_lease(struct twheel_base *base, struct twheel_timer *timer)
{
	const struct twheel_ctx *ctx = twheel_ctx_of(timer);
	atomic64_t *word = twheel_word_of(timer);
	u64 clk = base->wheel.clk, deadline;

	if (timer->node.expires <= clk) {
		/* However late it is, compare with the time of the turn: that keeps the order. */
		u64 time = twheel_clock_shift(clk << twheel_geometry.tick_shift,
					      ctx->word_offset);
		bool claimed = twheel_lease_claim(word, time, &deadline);

		WRITE_ONCE(timer->deadline, twheel_clock_shift(deadline, -ctx->word_offset));
		if (claimed)
			return true;
	} else {
		/* It only moves down. If it was extended, it can move to its new deadline. */
		deadline = twheel_ctx_word_deadline(ctx, atomic64_read(word), timer->deadline);
		if (deadline <= timer->deadline)
			return false;
		WRITE_ONCE(timer->deadline, deadline);
	}

	timer->node.expires = max(timer->node.expires, twheel_timer_tick(timer));
	return false;
}

/* Does @timer, whose turn came, become ready? If not, timer->node says when to look again. */
static bool is_over(struct twheel_base *base, struct twheel_timer *timer)
{
	twheel_assert(twheel_where_without_flags(timer->where) == twheel_where_pending(base->cpu));

	if (twheel_is_lease(timer->where))
		return look_at_lease(base, timer);
	return timer->node.expires <= base->wheel.clk;
}

/* Note @ctx in @run, once: waking its waiters may take long. */
static void note_wake(struct twheel_run *run, struct twheel_ctx *ctx)
{
	u32 i = run->nr_wake;

	while (i)
		if (run->wake[--i] == ctx)
			return;
	run->wake[run->nr_wake++] = ctx;
}

u32 twheel_expire(struct twheel_base *base, struct twheel_run *run)
{
	struct twheel_node *due[TWHEEL_EXPIRE_BATCH] __uninitialized;
	u64 tick = twheel_now_to_tick(run->time);
	u32 seen = 0, nr_due = 0, end, i;

	lockdep_assert_held(&base->lock);

	while (seen < TWHEEL_EXPIRE_BATCH) {
		i = nr_due;
		end = i + twheel_wheel_take(&base->wheel, tick, &due[i],
					    TWHEEL_EXPIRE_BATCH - seen);
		if (end == i)
			break;
		seen += end - i;
		/* Timers that do not become ready go back before the wheel turns further. */
		for (; i < end; i++) {
			struct twheel_timer *timer =
				container_of(due[i], struct twheel_timer, node);

			if (is_over(base, timer))
				due[nr_due++] = due[i];
			else
				twheel_wheel_enqueue(&base->wheel, due[i]);
		}
	}

	/* So a batch is sorted by deadline. */
	BUILD_BUG_ON(TWHEEL_PASS_MAX < TWHEEL_EXPIRE_BATCH);
	for (i = 0; i < nr_due; i++) {
		struct twheel_timer *timer = container_of(due[i], struct twheel_timer, node);
		struct twheel_ctx *ctx = twheel_ctx_of(timer);

		twheel_ctx_make_ready(ctx, base, timer, run->time);
		note_wake(run, ctx);
	}
	run->expired += nr_due;
	run->moved += seen - nr_due;
	return seen;
}

void twheel_expire_wake(const struct twheel_run *run)
{
	u32 i;

	for (i = 0; i < run->nr_wake; i++)
		twheel_waiters_wake(&run->wake[i]->waiters);
}

static bool has_grid(const struct twheel_timer *timer)
{
	return timer->interval &&
	       !(twheel_flags_of(timer->where) & TWHEEL_ARM_FIXED_DELAY);
}

/*
 * Make @event the record of @timer, which is ready. @now: the time of the read. @offset: by how
 * many ns the reader's clock is ahead.
 */
static void make_event(const struct twheel_timer *timer, u64 now, s64 offset,
		       struct twheel_event *event)
{
	bool last = !timer->interval;
	u64 expirations = 1;

	twheel_assert(twheel_timer_state(timer) == TWHEEL_STATE_READY);

	if (has_grid(timer) && now > timer->deadline)
		expirations += div64_u64(now - timer->deadline, timer->interval);
	if (timer->count && expirations >= timer->count) {
		expirations = timer->count;
		last = true;
	}

	*event = (struct twheel_event) {
		.user_data	= timer->user_data,
		.handle		= twheel_pool_handle(timer),
		.deadline	= twheel_clock_shift(timer->deadline, offset),
		.expired	= twheel_clock_shift(timer->expired, offset),
		.expirations	= expirations,
		.flags		= last ? TWHEEL_EVENT_LAST : 0,
	};
}

/* Start the next round of @timer, whose record @event was stored and is not its last one. */
static void next_round(struct twheel_base *base, struct twheel_timer *timer, u64 now,
		       const struct twheel_event *event)
{
	u64 deadline = now;

	lockdep_assert_held(&base->lock);
	twheel_assert(timer->interval && event->expirations);

	/* Cannot overflow: the last expiration counted is the first, or not after @now. */
	if (has_grid(timer))
		deadline = timer->deadline +
			   (event->expirations - 1) * timer->interval;
	WRITE_ONCE(timer->deadline, twheel_clock_shift(deadline, timer->interval));
	if (timer->count)
		timer->count -= event->expirations;
	twheel_timer_set_where(timer, TWHEEL_STATE_PENDING, base->cpu);
	twheel_timer_enqueue(timer, base, now);
}

/* Store the @n records at @events, up to the first that faults. Returns how many. */
static u32 store(const struct twheel_event *events, u32 n, struct iov_iter *to)
{
	size_t copied = copy_to_iter(events, n * sizeof(*events), to);
	u32 i = copied / sizeof(*events);

	/* A record of which only a part was stored was not read. */
	iov_iter_revert(to, copied % sizeof(*events));

	/* On arm64 up to 64 bytes before the first that faults count as not stored, too. */
	for (; i < n; i++) {
		copied = copy_to_iter(&events[i], sizeof(*events), to);
		if (copied < sizeof(*events)) {
			iov_iter_revert(to, copied);
			break;
		}
	}
	return i;
}

/* As twheel_expire_deliver(), for up to @room records of @cpu. */
static ssize_t deliver(struct twheel_ctx *ctx, u32 cpu, struct iov_iter *to, u32 room)
{
	struct twheel_event events[TWHEEL_DELIVER_MAX] __uninitialized;
	struct twheel_ready *ready = per_cpu_ptr(ctx->ready, cpu);
	struct twheel_quota *quota = ctx->pool.account.quota;
	s64 offset = twheel_clock_offset(ctx->clock);
	struct twheel_base *base, *next_base;
	struct list_head *entry, *rest;
	struct twheel_timer *timer, *ended = NULL;
	u32 n = 0, stored = 0, i = 0;
	u64 now;

	local_bh_disable();
	base = twheel_base_of(quota, ctx->clock, cpu);
	next_base = twheel_base_local(quota, ctx->clock);
	twheel_bases_lock(base, next_base);

	now = twheel_clock_now(ctx->clock);
	list_for_each_entry(timer, &ready->timers, ready) {
		if (n == room)
			break;
		make_event(timer, now, offset, &events[n++]);
	}

	pagefault_disable();
	if (n)
		stored = store(events, n, to);
	pagefault_enable();

	for (entry = ready->timers.next; i < stored; entry = rest, i++) {
		timer = list_entry(entry, struct twheel_timer, ready);
		rest = entry->next;
		if (events[i].flags & TWHEEL_EVENT_LAST) {
			twheel_pool_end_timer(&ctx->pool, timer);
			twheel_pool_free(&ctx->pool, base, timer, &ended);
		} else {
			next_round(next_base, timer, now, &events[i]);
		}
	}
	if (i)
		twheel_ctx_withdraw_first(ctx, base, rest, i);
	twheel_count_n(TWHEEL_COUNT_READ, i);
	twheel_bases_unlock(base, next_base);
	if (unlikely(ended))
		twheel_pool_free_ended(&ctx->pool, ended);
	local_bh_enable();

	if (n && !i)
		return -EFAULT;
	return i * sizeof(*events);
}

ssize_t twheel_expire_deliver(struct twheel_ctx *ctx, struct iov_iter *to)
{
	u32 room = min_t(size_t, iov_iter_count(to) / sizeof(struct twheel_event),
			 TWHEEL_DELIVER_MAX);
	u32 cpu = READ_ONCE(ctx->reader), tries;
	ssize_t n = 0;

	if (!twheel_pool_settled(&ctx->pool) || !twheel_ctx_is_ready(ctx))
		return 0;

	twheel_ctx_prepare(ctx);
	/* Each CPU has its turn. Another reader may take what is found. */
	for (tries = nr_cpu_ids; tries && !n; tries--) {
		cpu = twheel_ctx_next_ready(ctx, cpu);
		if (cpu >= nr_cpu_ids)
			cpu = twheel_ctx_next_ready(ctx, 0);
		if (cpu >= nr_cpu_ids)
			break;
		n = deliver(ctx, cpu, to, room);
		cpu++;
	}
	WRITE_ONCE(ctx->reader, cpu);
	return n;
}
