// SPDX-License-Identifier: GPL-2.0-only
/* CPUs that come and go, are to be left alone, and interrupt each other. */
#include <linux/cpuhotplug.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched/isolation.h>
#include <linux/topology.h>

#include "kernel.h"

struct cpumask sim_possible, sim_active, sim_housekeepers[NR_HK_TYPES];
unsigned int nr_cpu_ids = 1;

static struct cpumask nodes[2];
static struct mutex hotplug_mutex = SIM_LOCK_INIT(hotplug);
static int (*hp_online)(unsigned int cpu), (*hp_offline)(unsigned int cpu);

unsigned int smp_processor_id(void)
{
	expect(!self || self->off || self->pinned, CONTAINED,
	       "smp_processor_id() is called where the task may move to another CPU");
	return raw_smp_processor_id();
}

unsigned int raw_smp_processor_id(void)
{
	return self ? (unsigned int)self->cpu : 0;
}

int cpu_to_node(unsigned int cpu)
{
	return sim_config.cpus > 2 && cpu >= sim_config.cpus / 2;
}

const struct cpumask *cpumask_of_node(int node)
{
	return &nodes[node];
}

void cpus_begin(void)
{
	u64 clock = (1ULL << 40) + (sim_random() & 0xfffffff);
	u32 i;

	hotplug_mutex.order.time = 0;
	nodes[0].bits = 0;
	nodes[1].bits = 0;
	for (i = 0; i < sim_config.cpus; i++) {
		struct cpu *cpu = &cpus[i];

		*cpu = (struct cpu) {
			.softirq	= cpu->softirq,
			.hardirq	= cpu->hardirq,
			.clock		= clock,
			.next_timer	= SIM_NEVER,
			.online		= true,
			.bh		= SIM_LOCK_INIT(bh),
		};
		nodes[cpu_to_node(i)].bits |= BIT(i);
	}
	sim_possible.bits = BIT(sim_config.cpus) - 1;
	sim_active = sim_possible;
	sim_housekeepers[HK_TYPE_TIMER] = sim_possible;
	sim_housekeepers[HK_TYPE_DOMAIN] = sim_possible;
}

int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	call_single_data_t **p;

	sim_point();
	if (sim_weak ? sim_seen(&csd->busy, csd->busy) : csd->busy)
		return -EBUSY;
	if (!cpus[cpu].online)
		return -ENXIO;
	sim_stats.kicks++;
	tsan_release(csd);
	if (sim_weak)
		sim_stores(&csd->busy, csd->busy);
	csd->busy = true;
	/* As llist_add() does */
	sim_drain();
	csd->at = sim_now() + sim_config.costs.kick + sim_below(sim_config.costs.kick);
	for (p = &cpus[cpu].kicks; *p && (*p)->at <= csd->at; p = &(*p)->next)
		;
	csd->next = *p;
	*p = csd;
	sim_news();
	sim_point();
	return 0;
}

void hardirq_main(void *arg)
{
	struct cpu *cpu = arg;
	call_single_data_t *csd;

	begin_interrupt(self);
	self->off = 1;
	sim_spend(sim_config.costs.interrupt);
	while ((csd = cpu->kicks)) {
		cpu->kicks = csd->next;
		sim_not_before(csd->at);
		tsan_acquire(csd);
		/* The kernel unlocks it before the call, by smp_store_release(). */
		if (sim_weak)
			sim_stores(&csd->busy, csd->busy);
		csd->busy = false;
		sim_point();
		csd->func(csd->arg);
	}
	self->off = 0;
	note_reader_end(self);
}

int cpuhp_setup_state_nocalls(enum cpuhp_state state, const char *name,
			      int (*online)(unsigned int cpu), int (*offline)(unsigned int cpu))
{
	if (alloc_fails(GFP_KERNEL))
		return -ENOMEM;
	mutex_lock(&hotplug_mutex);
	hp_online = online;
	hp_offline = offline;
	mutex_unlock(&hotplug_mutex);
	return state + 1;
}

void cpuhp_remove_state_nocalls(enum cpuhp_state state)
{
	expect(state == CPUHP_AP_ONLINE_DYN + 1, CONTAINED,
	       "a state of hotplug is removed that was not set up");
	mutex_lock(&hotplug_mutex);
	hp_online = NULL;
	hp_offline = NULL;
	mutex_unlock(&hotplug_mutex);
}

void sim_no_hotplug_is_left(void)
{
	expect(!hp_online && !hp_offline, CONTAINED, "callbacks of hotplug are left");
}

/*
 * A CPU that the kernel moves hrtimers to: one that nohz_full= leaves, or as kernels once did any.
 * One stays always.
 */
static int any_housekeeper(void)
{
	unsigned long may = sim_active.bits;
	int cpu;

	if (sim_config.seed % 2)
		may &= sim_housekeepers[HK_TYPE_TIMER].bits;
	do
		cpu = (int)sim_below(sim_config.cpus);
	while (!(may & BIT(cpu)));
	return cpu;
}

/*
 * The kernel moves what is left to another CPU. The module leaves little: the hrtimer of an empty
 * wheel, or of one whose CPU came online, or ceased to be isolated, while it was set or ran here.
 */
static void move_timers(struct cpu *from)
{
	hrtimer_move_all(from, any_housekeeper());
}

static void move_tasks(int from)
{
	int i;

	for (i = 0; i < nr_fibers; i = next_fiber(i)) {
		struct fiber *f = &fibers[i];

		if (!f->used || f->kind != TASK || f == self || f->cpu != from)
			continue;
		drain_cpu(from, U64_MAX);
		f->ready_at = max(f->ready_at, cpus[from].clock);
		f->cpu = (int)sim_config.stays;
	}
}

/* With PREEMPT_RT tasks that may not leave @cpu may not run just now. */
static bool is_bound_to(int cpu)
{
	int i;

	for (i = 0; i < nr_fibers; i = next_fiber(i))
		if (fibers[i].used && fibers[i].kind == TASK && fibers[i].cpu == cpu &&
		    fibers[i].off)
			return true;
	return false;
}

static void go_offline(unsigned int cpu)
{
	sim_active.bits &= ~BIT(cpu);
	synchronize_rcu();
	expect(!hp_offline || !hp_offline(cpu), CONTAINED, "a CPU may not go offline");
	move_timers(&cpus[cpu]);
	while (cpus[cpu].kicks || cpus[cpu].softirq->active || is_bound_to((int)cpu))
		sim_relax();
	cpus[cpu].online = false;
	move_tasks((int)cpu);
}

void sim_hotplug(unsigned int cpu, bool online)
{
	expect((unsigned int)self->cpu == cpu && self->pinned, SIM_ITSELF,
	       "a CPU is taken away by a task that runs elsewhere");
	mutex_lock(&hotplug_mutex);
	sim_trace("CPU %u goes %s", cpu, online ? "online" : "offline");
	if (online) {
		cpus[cpu].online = true;
		expect(!hp_online || !hp_online(cpu), CONTAINED, "a CPU may not come online");
		sim_active.bits |= BIT(cpu);
	} else {
		go_offline(cpu);
	}
	mutex_unlock(&hotplug_mutex);
}

bool cpu_is_isolated(unsigned int cpu)
{
	return !(sim_housekeepers[HK_TYPE_TIMER].bits & sim_housekeepers[HK_TYPE_DOMAIN].bits &
		 BIT(cpu));
}

/* In a third of the episodes each: by isolcpus= or a cpuset, by nohz_full=, and by both */
void sim_isolate(unsigned int cpu, bool isolated)
{
	u32 type;

	sim_trace("CPU %u is %s", cpu, isolated ? "isolated" : "not isolated any more");
	cpus[cpu].isolations++;
	for (type = 0; type < NR_HK_TYPES; type++) {
		if (!isolated)
			sim_housekeepers[type].bits |= BIT(cpu);
		else if (sim_config.seed % 3 != type)
			sim_housekeepers[type].bits &= ~BIT(cpu);
	}
	sim_point();
}
