// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wheels of one user: one for each clock and each CPU on which the user has armed.
 *
 * Lifetime rules: a wheel is made by a call that may sleep, before it arms, and lives as long as
 * the user has a context. So whoever has found a timer pending on it, or is in a call on a context
 * of the user, may use it without a reference. Those who walk over the wheels of all users hold
 * RCU: a wheel leaves their lists first, and is freed a grace period later.
 *
 * Documentation/design.md says who is charged.
 */
#include <linux/bottom_half.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/timekeeping.h>

#include "../core/host.h"
#include "clock.h"
#include "compat.h"
#include "wheels.h"

/* How long there is no other try after one for which there was no memory */
#define RETRY_NS	(NSEC_PER_SEC / 10)

int twheel_wheels_init(struct twheel_wheels *wheels)
{
	spin_lock_init(&wheels->lock);
	INIT_LIST_HEAD(&wheels->all);
	wheels->on = alloc_percpu_gfp(struct twheel_cpu_wheels, TWHEEL_OPEN_GFP);
	return wheels->on ? 0 : -ENOMEM;
}

static struct twheel_cpu_base *new_base(enum twheel_clock clock, unsigned int cpu)
{
	const struct twheel_geometry *g = &twheel_geometry;
	struct twheel_cpu_base *cbase;

	cbase = kvzalloc_node(sizeof(*cbase) + twheel_wheel_size(g->slots, g->levels),
			      TWHEEL_OPEN_GFP, cpu_to_node(cpu));
	if (!cbase)
		return NULL;
	twheel_base_init(&cbase->base, clock, cpu, cbase + 1);
	hrtimer_setup(&cbase->hrtimer, twheel_turn, twheel_clock_steady(clock),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	return cbase;
}

/* From now on @cbase is one of @wheels, unless another task has made that. Is it? */
static bool publish(struct twheel_wheels *wheels, struct twheel_cpu_base *cbase)
{
	enum twheel_clock clock = cbase->base.clock;
	struct twheel_cpu_base **slot = &per_cpu_ptr(wheels->on, cbase->base.cpu)->of[clock];
	bool missing;

	spin_lock_bh(&wheels->lock);
	missing = !*slot;
	if (missing) {
		twheel_program_begin(cbase);
		list_add_tail_rcu(&cbase->of_user, &wheels->all);
		/* Pairs with the address dependency in twheel_wheels_of(). */
		smp_store_release(slot, cbase);
		if (!wheels->first[clock]) {
			/*
			 * Whoever arms there by @first finds the timer again by @slot. Pairs with
			 * smp_load_acquire() in twheel_wheels_make().
			 */
			smp_store_release(&wheels->first[clock], cbase);
		}
	}
	spin_unlock_bh(&wheels->lock);
	return missing;
}

int twheel_wheels_make(struct twheel_wheels *wheels, enum twheel_clock clock)
{
	struct twheel_cpu_wheels *here;
	struct twheel_cpu_base *cbase;
	unsigned int cpu;

	local_bh_disable();
	here = this_cpu_ptr(wheels->on);
	cpu = twheel_wheels_cpu();
	local_bh_enable();

	/* Pairs with smp_store_release() in publish(). That of this CPU may be there earlier. */
	if (!smp_load_acquire(&wheels->first[clock]) ||
	    !READ_ONCE(per_cpu_ptr(wheels->on, cpu)->of[clock])) {
		cbase = new_base(clock, cpu);
		if (!cbase) {
			if (!READ_ONCE(wheels->first[clock]))
				return -ENOMEM;
			WRITE_ONCE(here->retry, ktime_get_ns() + RETRY_NS);
		} else if (!publish(wheels, cbase)) {
			kvfree(cbase);
		}
	}
	/* Pairs with smp_load_acquire() in twheel_base_prepare(). */
	smp_store_release(&here->ready[clock], true);
	return 0;
}

void twheel_wheels_destroy(struct twheel_wheels *wheels)
{
	struct twheel_cpu_base *cbase;

	list_for_each_entry(cbase, &wheels->all, of_user)
		twheel_program_end(cbase);
	if (!list_empty(&wheels->all))
		synchronize_rcu();
	while (!list_empty(&wheels->all)) {
		cbase = list_first_entry(&wheels->all, struct twheel_cpu_base, of_user);
		list_del(&cbase->of_user);
		twheel_program_wait(cbase);
		WARN_ON_ONCE(cbase->base.wheel.nr_nodes);
		kvfree(cbase);
	}
	free_percpu(wheels->on);
}
