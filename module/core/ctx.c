// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What one open of the device is: settings, ready list, waiters, lifetime.
 *
 * Locking rules: see design.md for the order. The settings may change until the pool is
 * settled, under the mutex that making the first chunk takes, too.
 *
 * Lifetime rules: a context lives from open to release. Its memory lives for an RCU grace
 * period more: expiry wakes the waiters after it has dropped its locks, and by then the
 * context may have been released.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "base.h"
#include "ctx.h"
#include "debug.h"
#include "host.h"
#include "timer.h"

/* Is @ready->nr right? A long list is not looked at, and others now and then. */
static bool __maybe_unused is_counted(const struct twheel_ready *ready)
{
	const struct list_head *entry;
	u32 n = 0;

	if (ready->nr > 100 && ready->nr % 128)
		return true;
	list_for_each(entry, &ready->timers)
		n++;
	return n == ready->nr;
}

/* Put @timer into @ready: see twheel_ctx_make_ready(). Nearly always that is its end. */
static void add_ready(struct twheel_ready *ready, struct twheel_timer *timer)
{
	u32 left = min_t(u32, ready->nr, TWHEEL_PASS_MAX);
	struct list_head *prev = ready->timers.prev;

	for (; left && list_entry(prev, struct twheel_timer, ready)->deadline > timer->deadline;
	     left--)
		prev = prev->prev;
	list_add(&timer->ready, prev);
	ready->nr++;
	twheel_assert(is_counted(ready));
}

void twheel_ctx_make_ready(struct twheel_ctx *ctx, struct twheel_base *base,
			   struct twheel_timer *timer, u64 now)
{
	struct twheel_ready *ready = per_cpu_ptr(ctx->ready, base->cpu);

	lockdep_assert_held(&base->lock);
	twheel_ctx_assert_held(ctx, timer);
	twheel_assert(timer->deadline <= now);

	twheel_timer_set_where(timer, TWHEEL_STATE_READY, base->cpu);
	timer->expired = now;
	twheel_count(TWHEEL_COUNT_EXPIRED);
	twheel_observe(TWHEEL_HIST_LATENESS, now - timer->deadline);
	if (trace_twheel_expire_enabled())
		trace_twheel_expire(ctx, twheel_pool_handle(timer), ctx->clock, timer->deadline,
				    now);
	add_ready(ready, timer);
	base->nr_ready++;
	if (ready->nr == 1) {
		/* Whoever finds the bit finds the base as well, which may be a new one. */
		smp_mb__before_atomic();
		set_bit(base->cpu, ctx->ready_on);
	}
}

/* @n timers have left the list of the CPU of @base. */
static void sub_ready(struct twheel_ctx *ctx, struct twheel_base *base, u32 n)
{
	struct twheel_ready *ready = per_cpu_ptr(ctx->ready, base->cpu);

	twheel_assert(ready->nr >= n && base->nr_ready >= n);
	ready->nr -= n;
	base->nr_ready -= n;
	if (!ready->nr)
		clear_bit(base->cpu, ctx->ready_on);
}

void twheel_ctx_withdraw(struct twheel_ctx *ctx, struct twheel_timer *timer)
{
	twheel_ctx_assert_held(ctx, timer);
	twheel_assert(twheel_timer_state(timer) == TWHEEL_STATE_READY);

	list_del(&timer->ready);
	sub_ready(ctx, twheel_base_of(ctx->pool.account.quota, ctx->clock,
				      twheel_cpu_of(timer->where)), 1);
}

void twheel_ctx_withdraw_first(struct twheel_ctx *ctx, struct twheel_base *base,
			       struct list_head *rest, u32 n)
{
	struct list_head *head = &per_cpu_ptr(ctx->ready, base->cpu)->timers;

	head->next = rest;
	rest->prev = head;
	sub_ready(ctx, base, n);
	twheel_assert(is_counted(per_cpu_ptr(ctx->ready, base->cpu)));
}

void twheel_ctx_count(struct twheel_ctx *ctx, u64 *pending, u64 *ready)
{
	u64 timers, sum = 0;
	u32 cpu;

	*pending = 0;
	*ready = 0;
	/* Until the pool is settled the clock may change, which says where the bases are. */
	if (!twheel_pool_settled(&ctx->pool))
		return;

	timers = twheel_pool_timers(&ctx->pool);
	/*
	 * A read frees timers before it takes their records off the list, with the lock held. So
	 * what is counted after that is in @timers, and a pending timer does not seem to be ready.
	 */
	smp_rmb();
	for (cpu = twheel_ctx_next_ready(ctx, 0); cpu < nr_cpu_ids;
	     cpu = twheel_ctx_next_ready(ctx, cpu + 1)) {
		struct twheel_base *base = twheel_base_of(ctx->pool.account.quota, ctx->clock, cpu);

		spin_lock_bh(&base->lock);
		sum += per_cpu_ptr(ctx->ready, cpu)->nr;
		spin_unlock_bh(&base->lock);
	}
	*ready = min(sum, timers);
	*pending = timers - *ready;
}

bool twheel_ctx_take_step(struct twheel_ctx *ctx)
{
	u32 old, steps;

	if (!twheel_ctx_stepped(ctx))
		return false;

	old = READ_ONCE(ctx->steps);
	do {
		/* Read the count once: a step may come between comparing and storing it. */
		steps = twheel_clock_steps();
		/* If not more, the count was read late: another reader was told. */
		if ((s32)(steps - old) <= 0)
			return false;
	} while (!try_cmpxchg(&ctx->steps, &old, steps));
	return true;
}

/* Begin or end to watch the clock, as @config asks for. */
static void ctx_set_config(struct twheel_ctx *ctx, u32 config)
{
	u32 old = ctx->config;

	lockdep_assert_held(&ctx->grow);

	if (config & ~old & TWHEEL_CONFIG_CANCEL_ON_SET) {
		WRITE_ONCE(ctx->steps, twheel_clock_steps());
		twheel_clock_watch(&ctx->waiters);
	}
	if (old & ~config & TWHEEL_CONFIG_CANCEL_ON_SET)
		twheel_clock_unwatch(&ctx->waiters);

	/*
	 * Pairs with smp_load_acquire() in twheel_ctx_stepped(): with the flag set @steps is that
	 * of the watch.
	 */
	smp_store_release(&ctx->config, config);
	/* A step since the watch began has woken nobody: wake the waiters now. */
	if (twheel_ctx_stepped(ctx))
		twheel_waiters_wake(&ctx->waiters);
}

int twheel_ctx_config(struct twheel_ctx *ctx, enum twheel_clock clock,
		      u32 config, u64 limit)
{
	int ret;

	if (mutex_lock_killable(&ctx->grow))
		return -EINTR;
	ret = twheel_pool_configure(&ctx->pool, config & TWHEEL_CONFIG_KEYED,
				    config & TWHEEL_CONFIG_LEASE, limit);
	if (!ret) {
		ctx_set_config(ctx, config);
		WRITE_ONCE(ctx->clock, clock);
		ctx->word_offset = twheel_clock_offset(clock);
	}
	mutex_unlock(&ctx->grow);
	return ret;
}

/* The base for timers that are armed now, once there is one. The task may leave its CPU. */
static struct twheel_base *local_base(const struct twheel_ctx *ctx)
{
	struct twheel_base *base;

	local_bh_disable();
	base = twheel_base_local(ctx->pool.account.quota, ctx->clock);
	local_bh_enable();
	return base;
}

int twheel_ctx_grow(struct twheel_ctx *ctx, struct twheel_timer **timer)
{
	int ret;

	if (mutex_lock_killable(&ctx->grow))
		return -EINTR;
	ret = twheel_base_prepare(ctx->pool.account.quota, ctx->clock);
	if (!ret)
		ret = twheel_pool_grow(&ctx->pool, local_base(ctx), timer);
	mutex_unlock(&ctx->grow);
	return ret;
}

static size_t ctx_size(void)
{
	return sizeof(struct twheel_ctx) + BITS_TO_LONGS(nr_cpu_ids) * sizeof(long);
}

/* What a context takes, with its lists of all CPUs */
static size_t ctx_memory(void)
{
	return ctx_size() +
	       nr_cpu_ids * (sizeof(struct twheel_ready) + sizeof(struct twheel_stock));
}

struct twheel_ctx *twheel_ctx_create(struct twheel_quota *quota)
{
	struct twheel_ctx *ctx;
	u32 cpu;
	int ret;

	ret = twheel_quota_try_add_memory(quota, ctx_memory());
	if (ret)
		return ERR_PTR(ret);

	ctx = kzalloc(ctx_size(), TWHEEL_OPEN_GFP);
	if (!ctx)
		goto uncharge;
	ctx->ready = alloc_percpu_gfp(struct twheel_ready, TWHEEL_OPEN_GFP);
	if (!ctx->ready || twheel_pool_init(&ctx->pool, quota))
		goto free;

	for_each_possible_cpu(cpu)
		INIT_LIST_HEAD(&per_cpu_ptr(ctx->ready, cpu)->timers);
	mutex_init(&ctx->grow);
	twheel_waiters_init(&ctx->waiters);
	return ctx;

free:
	free_percpu(ctx->ready);
	kfree(ctx);
uncharge:
	twheel_quota_sub_memory(quota, ctx_memory());
	return ERR_PTR(-ENOMEM);
}

static void free_ctx(struct rcu_head *rcu)
{
	struct twheel_ctx *ctx = container_of(rcu, struct twheel_ctx, rcu);
	struct twheel_quota *quota = ctx->pool.account.quota;

	free_percpu(ctx->ready);
	kfree(ctx);
	twheel_quota_memory_left(quota, ctx_memory());
}

void twheel_ctx_destroy(struct twheel_ctx *ctx)
{
	struct twheel_quota *quota = ctx->pool.account.quota;

	if (ctx->config & TWHEEL_CONFIG_CANCEL_ON_SET)
		twheel_clock_unwatch(&ctx->waiters);
	twheel_pool_destroy(&ctx->pool);
	mutex_destroy(&ctx->grow);
	twheel_quota_memory_leaves(quota, ctx_memory());
	twheel_quota_put(quota);
	call_rcu_hurry(&ctx->rcu, free_ctx);
}
