// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPU turns which wheel: hrtimers, kicks, hotplug, isolation.
 *
 * Locking rules: see design.md for the order. twheel_cpus_lock guards the lists of wheels, one
 * for each CPU, that hotplug and steps of the clock walk over under RCU. No lock is taken inside
 * it, and it is taken inside twheel_wheels.lock.
 *
 * Hotplug: a base belongs to a CPU, but any CPU may turn its wheel. A CPU that goes offline
 * hands its hrtimers, and those that it had from other CPUs, to a housekeeping CPU, which
 * turns these wheels from then on. Timers stay in their wheels, and none is lost or late.
 * (The hrtimer core would do so later. At first it took any CPU, even an isolated one. Now,
 * and in 6.1.192 and 6.12.117, it takes one that nohz_full= leaves, which isolcpus= or a cpuset
 * may still isolate; and always the same.) A CPU that comes online takes its hrtimers back, or
 * later, if one is just running elsewhere.
 *
 * Isolation: an isolated CPU has no timers. Timers that are armed there go to the wheel of
 * another CPU, of the same node if possible; isolated CPUs are spread over these. If such a
 * timer comes first, that CPU is sent an interrupt, a kick, to set its hrtimer: an hrtimer that
 * is set from afar would expire on the CPU that set it. The kick takes no lock. It sets the
 * hrtimer to what the base says, and then checks that the base still says so, and that the same
 * tick still comes at the same time. Code that changes the base meanwhile either sends another
 * kick, as this one has read the base already, or finds it pending and relies on it.
 */
#include <linux/container_of.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/topology.h>

#include "../core/host.h"
#include "clock.h"
#include "program.h"

/**
 * struct twheel_cpu - a CPU, and whose wheels are for timers that are armed there
 * @bases:	these wheels, of all users and clocks; changed under twheel_cpus_lock, walked under
 *		RCU
 * @away:	the CPU is offline, or about to be; under twheel_cpus_lock
 * @before:	how many possible CPUs of its node come before this one; constant after init
 */
struct twheel_cpu {
	struct list_head	bases;
	bool			away;
	unsigned int		before;
};

/* Longer than nearly all kicks take */
#define TWHEEL_KICK_NS		(50 * NSEC_PER_USEC)

static DEFINE_PER_CPU(struct twheel_cpu, twheel_cpus);
static DEFINE_SPINLOCK(twheel_cpus_lock);
static enum cpuhp_state twheel_cpuhp_state;

static struct list_head *bases_of(unsigned int cpu)
{
	return &per_cpu(twheel_cpus, cpu).bases;
}

/* For each wheel @cbase of @cpu. The caller holds RCU. */
#define for_each_base(cbase, cpu) list_for_each_entry_rcu(cbase, bases_of(cpu), entry)

/* May @cpu turn wheels? One that is going offline is not active any more. */
static bool is_housekeeper(unsigned int cpu)
{
	return cpu_active(cpu) && !twheel_cpu_isolated(cpu);
}

/*
 * One of the CPUs in @mask that may turn wheels, for @cpu, which has @before others before it, of
 * its node or of all. nr_cpu_ids if there is none. The CPUs that may not turn wheels are counted,
 * and take those that may in turn. By their own numbers all even ones could have the same.
 */
static unsigned int pick_housekeeper(const struct cpumask *mask, unsigned int cpu,
				     unsigned int before)
{
	unsigned int other, nr = 0, picked = nr_cpu_ids;

	for_each_cpu_and(other, mask, housekeeping_cpumask(HK_TYPE_TIMER)) {
		if (!is_housekeeper(other))
			continue;
		nr++;
		before -= other < cpu;
	}
	if (!nr)
		return picked;
	before %= nr;
	/* The last one has to do if some have become isolated meanwhile. */
	for_each_cpu_and(other, mask, housekeeping_cpumask(HK_TYPE_TIMER)) {
		if (!is_housekeeper(other))
			continue;
		picked = other;
		if (!before--)
			break;
	}
	return picked;
}

unsigned int twheel_housekeeping_cpu(unsigned int cpu)
{
	int node = cpu_to_node(cpu);
	unsigned int picked = nr_cpu_ids;

	/* The kernel's own search for the closest CPU is not exported. */
	if (node != NUMA_NO_NODE)
		picked = pick_housekeeper(cpumask_of_node(node), cpu,
					  per_cpu(twheel_cpus, cpu).before);
	if (picked >= nr_cpu_ids)
		picked = pick_housekeeper(cpu_active_mask, cpu, cpu);
	return picked < nr_cpu_ids ? picked : smp_processor_id();
}

static void init_cpus(void)
{
	unsigned int cpu, other;

	for_each_possible_cpu(cpu) {
		struct twheel_cpu *c = &per_cpu(twheel_cpus, cpu);

		INIT_LIST_HEAD(&c->bases);
		for_each_possible_cpu(other)
			c->before += other < cpu && cpu_to_node(other) == cpu_to_node(cpu);
	}
}

/* Also called from the hrtimer's callback, which therefore always returns NORESTART. */
static void start(struct twheel_cpu_base *cbase, u64 ns)
{
	hrtimer_start(&cbase->hrtimer,
		      ns_to_ktime(twheel_clock_to_steady(cbase->base.clock, ns)),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* Runs on the CPU that is to turn the wheel, with interrupts off. */
static void kick(void *arg)
{
	struct twheel_cpu_base *cbase = arg;
	u32 steps;
	u64 tick;

	do {
		/* Pairs with smp_mb() in start_remote(). */
		smp_mb();
		/* Another CPU may set the hrtimer after the clock was set, while this one waits. */
		steps = twheel_clock_steps();
		tick = READ_ONCE(cbase->base.programmed);
		if (tick == TWHEEL_NEVER)
			break;
		start(cbase, tick << twheel_geometry.tick_shift);
	} while (READ_ONCE(cbase->base.programmed) != tick || twheel_clock_steps() != steps);

	/* Pairs with the acquire in wait_for_kicks(). */
	atomic_fetch_dec_release(&cbase->kicked);
}

/* Make @cpu set the hrtimer. False if that CPU has gone. */
static bool start_remote(struct twheel_cpu_base *cbase, unsigned int cpu)
{
	int ret;

	atomic_inc(&cbase->kicked);
	/* Pairs with smp_mb() in kick(): a kick that is pending sees base->programmed. */
	smp_mb();
	ret = smp_call_function_single_async(cpu, &cbase->kick);
	if (ret)
		atomic_dec(&cbase->kicked);
	return !ret || ret == -EBUSY;
}

/* Does another CPU turn the wheel? A CPU may become isolated while it is online. */
static bool is_away(const struct twheel_cpu_base *cbase)
{
	return cbase->away || twheel_cpu_isolated(cbase->base.cpu);
}

void twheel_program(struct twheel_cpu_base *cbase, u64 tick, u64 ns)
{
	struct twheel_base *base = &cbase->base;
	unsigned int cpu = is_away(cbase) ? twheel_housekeeping_cpu(base->cpu) : base->cpu;

	lockdep_assert_held(&base->lock);

	/* No hrtimer is set and no kick is sent once the last context has gone. */
	if (!base->wheel.nr_nodes) {
		WRITE_ONCE(base->programmed, TWHEEL_NEVER);
		return;
	}
	/*
	 * Nobody is charged for kicks. So for timers each of which comes before the last one there
	 * are two in a tick: the second one has the wheel turned in the next tick, and no timer
	 * comes before that.
	 */
	if (cpu != smp_processor_id()) {
		if (cbase->kicked_at == base->wheel.clk && tick > base->wheel.clk + 1) {
			tick = base->wheel.clk + 1;
			ns = tick << twheel_geometry.tick_shift;
		}
		cbase->kicked_at = base->wheel.clk;
	}
	WRITE_ONCE(base->programmed, tick);
	if (cpu == smp_processor_id() || !start_remote(cbase, cpu))
		start(cbase, ns);
}

void twheel_base_program(struct twheel_base *base)
{
	u64 tick = base->wheel.next_expiry;

	twheel_program(container_of(base, struct twheel_cpu_base, base), tick,
		       tick << twheel_geometry.tick_shift);
}

void twheel_reprogram(struct twheel_cpu_base *cbase)
{
	spin_lock_bh(&cbase->base.lock);
	twheel_base_program(&cbase->base);
	spin_unlock_bh(&cbase->base.lock);
}

/*
 * While its callback runs the hrtimer stays here: a kick that comes then sets it here, and it may
 * expire again at once. If each run sent a kick the one might come during the next, and so on, for
 * as long as both CPUs keep in step. So no run sends one while the hrtimer is set or another kick
 * is on its way. That one may have set the hrtimer for this run already: see to it a little later.
 */
void twheel_program_elsewhere(struct twheel_cpu_base *cbase)
{
	/* If no kick is left it is seen what they have set. */
	bool kicked = atomic_read_acquire(&cbase->kicked);

	if (hrtimer_is_queued(&cbase->hrtimer))
		return;
	if (kicked)
		start(cbase, twheel_clock_now(cbase->base.clock) + TWHEEL_KICK_NS);
	else
		twheel_reprogram(cbase);
}

void twheel_program_now(struct work_struct *work)
{
	struct twheel_cpu_base *cbase;
	int cpu;

	for_each_possible_cpu(cpu) {
		rcu_read_lock();
		for_each_base(cbase, cpu) {
			if (cbase->base.clock != TWHEEL_REALTIME)
				continue;
			spin_lock_bh(&cbase->base.lock);
			twheel_program(cbase, 0, 0);
			spin_unlock_bh(&cbase->base.lock);
		}
		rcu_read_unlock();
		cond_resched();
	}
}

/* Say whether @cpu is away: for the wheels that there are, and for those that will be made. */
static void set_away(unsigned int cpu, bool away)
{
	struct twheel_cpu_base *cbase;

	spin_lock_bh(&twheel_cpus_lock);
	per_cpu(twheel_cpus, cpu).away = away;
	spin_unlock_bh(&twheel_cpus_lock);

	rcu_read_lock();
	for_each_base(cbase, cpu) {
		spin_lock_bh(&cbase->base.lock);
		cbase->away = away;
		spin_unlock_bh(&cbase->base.lock);
	}
	rcu_read_unlock();
}

/* Wait for every kick in flight, including those sent before cbase->away changed. */
static void wait_for_kicks(const struct twheel_cpu_base *cbase)
{
	while (atomic_read_acquire(&cbase->kicked))
		cpu_relax();
}

static int twheel_cpu_online(unsigned int cpu)
{
	struct twheel_cpu_base *cbase;

	set_away(cpu, false);
	rcu_read_lock();
	for_each_base(cbase, cpu) {
		/* A late kick would take the hrtimer back to the other CPU. */
		wait_for_kicks(cbase);
		twheel_reprogram(cbase);
	}
	rcu_read_unlock();
	return 0;
}

/* Runs on @cpu, which is not active any more: no wheel is programmed here from now on. */
static int twheel_cpu_offline(unsigned int cpu)
{
	struct twheel_cpu_base *cbase;
	int other;

	set_away(cpu, true);
	for_each_possible_cpu(other) {
		rcu_read_lock();
		for_each_base(cbase, other) {
			/* Its hrtimer may be set here: set it elsewhere, after any kick. */
			if (!is_away(cbase))
				continue;
			wait_for_kicks(cbase);
			hrtimer_cancel(&cbase->hrtimer);
			twheel_reprogram(cbase);
		}
		rcu_read_unlock();
		cond_resched();
	}
	return 0;
}

void twheel_program_begin(struct twheel_cpu_base *cbase)
{
	struct twheel_cpu *cpu = &per_cpu(twheel_cpus, cbase->base.cpu);

	INIT_CSD(&cbase->kick, kick, cbase);
	spin_lock_bh(&twheel_cpus_lock);
	cbase->away = cpu->away;
	list_add_tail_rcu(&cbase->entry, &cpu->bases);
	spin_unlock_bh(&twheel_cpus_lock);
}

void twheel_program_end(struct twheel_cpu_base *cbase)
{
	spin_lock_bh(&twheel_cpus_lock);
	list_del_rcu(&cbase->entry);
	spin_unlock_bh(&twheel_cpus_lock);
}

void twheel_program_wait(struct twheel_cpu_base *cbase)
{
	wait_for_kicks(cbase);
	hrtimer_cancel(&cbase->hrtimer);
}

int twheel_program_init(void)
{
	int ret;

	init_cpus();
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "twheel:online",
					twheel_cpu_online, twheel_cpu_offline);
	if (ret < 0)
		return ret;
	twheel_cpuhp_state = ret;
	return 0;
}

void twheel_program_exit(void)
{
	cpuhp_remove_state_nocalls(twheel_cpuhp_state);
}
