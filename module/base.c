// SPDX-License-Identifier: GPL-2.0-only
/*
 * One CPU's wheel on one clock, its lock, and the hrtimer that turns it.
 *
 * Locking rules
 *
 * Bottom halves are off wherever one of these is taken, since the hrtimer's
 * function runs in the soft interrupt:
 *
 *   1. twheel_base.lock, of one base or, to move a timer, of two: the one of
 *	the lower CPU number first
 *   2. twheel_ctx.lock
 *
 * Inside them come only locks of the kernel: the hrtimer's inside 1, the
 * slab's and the xarray's inside 2. Nothing is woken up inside either.
 *
 * Silence: the hrtimer is set only to the next bucket's turn. It is moved when
 * an earlier one comes up, and set anew by its own function; when a timer is
 * removed it stays, and may find nothing to do.
 *
 * Bounded work: the lock is held for TWHEEL_CHUNK timers at a time, and the
 * function runs for TWHEEL_CHUNKS_PER_RUN of those. Then it stays away for as
 * long as it has run, or TWHEEL_PAUSE_MAX_NS, so that others get their share of
 * the CPU however many timers are due.
 *
 * Hotplug: a base belongs to a CPU, but any CPU may turn it. When a CPU goes
 * offline the hrtimer core moves its hrtimers to another, which from then on
 * turns this wheel; so its timers stay where they are, and none is lost or
 * late. A CPU that comes online takes its hrtimers home, unless one is just
 * running elsewhere; the next timer to come first there does then.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/timekeeping.h>

#include "base.h"
#include "compat.h"
#include "timer.h"

#define TWHEEL_CHUNK		32
#define TWHEEL_CHUNKS_PER_RUN	32
/* Most of a run that took longer it was likely interrupted or preempted. */
#define TWHEEL_PAUSE_MAX_NS	NSEC_PER_MSEC

struct twheel_geometry twheel_geometry __read_mostly;
struct twheel_base __percpu *twheel_bases[TWHEEL_NR_CLOCKS];
static enum cpuhp_state twheel_cpuhp_state;

const clockid_t twheel_clockids[TWHEEL_NR_CLOCKS] = {
	[TWHEEL_CLOCK_MONOTONIC]	= CLOCK_MONOTONIC,
	[TWHEEL_CLOCK_BOOTTIME]		= CLOCK_BOOTTIME,
};

u64 twheel_clock_now(enum twheel_clock clock)
{
	return ktime_to_ns(clock == TWHEEL_CLOCK_BOOTTIME ?
			   ktime_get_boottime() : ktime_get());
}

static u64 now_to_tick(u64 now)
{
	return now >> twheel_geometry.tick_shift;
}

static void program(struct twheel_base *base, u64 tick, u64 ns)
{
	lockdep_assert_held(&base->lock);

	base->programmed = tick;
	/* From within its own function, too: so that needs not return RESTART. */
	hrtimer_start(&base->hrtimer, ns_to_ktime(min_t(u64, ns, KTIME_MAX)),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}

static void program_next(struct twheel_base *base)
{
	u64 tick = base->wheel.next_expiry;

	program(base, tick, tick << twheel_geometry.tick_shift);
}

void twheel_base_enqueue(struct twheel_base *base, struct twheel_node *node,
			 u64 now)
{
	lockdep_assert_held(&base->lock);

	twheel_wheel_forward(&base->wheel, now_to_tick(now));
	twheel_wheel_enqueue(&base->wheel, node);
	if (base->wheel.next_expiry < base->programmed)
		program_next(base);
}

void twheel_base_dequeue(struct twheel_base *base, struct twheel_node *node)
{
	lockdep_assert_held(&base->lock);

	twheel_wheel_dequeue(&base->wheel, node);
}

/*
 * Expire up to TWHEEL_CHUNK timers and wake whoever waits for them. Returns
 * whether there are more. Noinline so that it can be traced: it is as long as
 * @base->lock is held.
 */
static noinline bool expire_chunk(struct twheel_base *base)
{
	struct twheel_ctx *wake[TWHEEL_CHUNK];
	struct twheel_node *due[TWHEEL_CHUNK];
	u32 nr_due, nr_wake, i;
	bool more;
	u64 now;

	/* Keeps the contexts, but not their timers, beyond the lock. */
	rcu_read_lock();

	spin_lock(&base->lock);
	now = twheel_clock_now(base->clock);
	nr_due = twheel_wheel_collect(&base->wheel, now_to_tick(now), due,
				      TWHEEL_CHUNK, &more);
	nr_wake = twheel_timer_expire(base, due, nr_due, now, wake);
	if (!more) {
		base->programmed = TWHEEL_NEVER;
		if (base->wheel.next_expiry != TWHEEL_NEVER)
			program_next(base);
	}
	spin_unlock(&base->lock);

	for (i = 0; i < nr_wake; i++)
		twheel_ctx_wake(wake[i]);

	rcu_read_unlock();
	return more;
}

static enum hrtimer_restart twheel_base_fire(struct hrtimer *hrtimer)
{
	struct twheel_base *base = container_of(hrtimer, struct twheel_base,
						hrtimer);
	u64 start = twheel_clock_now(base->clock), now;
	u32 chunks = TWHEEL_CHUNKS_PER_RUN;

	while (expire_chunk(base))
		if (!--chunks)
			goto pause;
	return HRTIMER_NORESTART;

pause:
	spin_lock(&base->lock);
	now = twheel_clock_now(base->clock);
	program(base, base->wheel.next_expiry,
		now + min_t(u64, now - start, TWHEEL_PAUSE_MAX_NS));
	spin_unlock(&base->lock);
	return HRTIMER_NORESTART;
}

static int twheel_cpu_online(unsigned int cpu)
{
	enum twheel_clock clock;

	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		struct twheel_base *base = twheel_base_of(clock, cpu);

		spin_lock_bh(&base->lock);
		if (base->programmed != TWHEEL_NEVER)
			program_next(base);
		spin_unlock_bh(&base->lock);
	}
	return 0;
}

static int base_init(struct twheel_base *base, enum twheel_clock clock, int cpu)
{
	const struct twheel_geometry *g = &twheel_geometry;
	void *memory;

	memory = kvzalloc_node(twheel_wheel_size(g->slots, g->levels),
			       GFP_KERNEL, cpu_to_node(cpu));
	if (!memory)
		return -ENOMEM;

	spin_lock_init(&base->lock);
	base->clock = clock;
	base->cpu = cpu;
	base->programmed = TWHEEL_NEVER;
	twheel_wheel_init(&base->wheel, g->slots, g->levels,
			  now_to_tick(twheel_clock_now(clock)), memory);
	hrtimer_setup(&base->hrtimer, twheel_base_fire, twheel_clockids[clock],
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	return 0;
}

static void base_exit(struct twheel_base *base)
{
	/* Zeroed percpu memory that base_init() did not get to, or failed on. */
	if (!base->wheel.buckets)
		return;

	hrtimer_cancel(&base->hrtimer);
	WARN_ON_ONCE(base->wheel.nr_nodes);
	kvfree(base->wheel.buckets);
}

static void free_bases(void)
{
	enum twheel_clock clock;
	int cpu;

	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		if (!twheel_bases[clock])
			continue;
		for_each_possible_cpu(cpu)
			base_exit(twheel_base_of(clock, cpu));
		free_percpu(twheel_bases[clock]);
	}
}

void twheel_bases_exit(void)
{
	cpuhp_remove_state_nocalls(twheel_cpuhp_state);
	free_bases();
}

int twheel_bases_init(void)
{
	enum twheel_clock clock;
	int cpu, ret;

	BUILD_BUG_ON(CONFIG_NR_CPUS > 0x10000);

	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		ret = -ENOMEM;
		twheel_bases[clock] = alloc_percpu(struct twheel_base);
		if (!twheel_bases[clock])
			goto fail;
		for_each_possible_cpu(cpu) {
			ret = base_init(twheel_base_of(clock, cpu), clock, cpu);
			if (ret)
				goto fail;
		}
	}

	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "twheel:online",
					twheel_cpu_online, NULL);
	if (ret < 0)
		goto fail;
	twheel_cpuhp_state = ret;
	return 0;

fail:
	free_bases();
	return ret;
}
