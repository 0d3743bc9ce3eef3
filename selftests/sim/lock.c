// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spinlocks, mutexes and bottom halves; and what lockdep would say of them.
 *
 * Locks that were initialised at one place are of one class. An order of two classes that was seen
 * once in an episode must not be reversed; and a lock that a soft interrupt takes is taken only
 * with bottom halves off. How long spinlocks are held is what their CPU has worked meanwhile:
 * waiting for other locks does not count, nor that the CPU stood still.
 *
 * With PREEMPT_RT whoever holds a spinlock, or has bottom halves off, stays on its CPU, but others
 * go on there meanwhile. So none may be taken where nothing may sleep.
 */
#include <linux/mutex.h>

#include "kernel.h"

#define MAX_CLASSES	64

/* A class: its name, its subclass, and where its locks were taken */
static struct {
	const char	*name;
	unsigned int	sub;
	bool		in_softirq, bh_on, in_hardirq, irqs_on;
} classes[MAX_CLASSES];
/* [a][b]: b was taken with a held, or with something held that was taken with a held. */
static bool after[MAX_CLASSES][MAX_CLASSES];
static int nr_classes;
/* How many wait for a lock */
static int nr_waiting;
/* Who holds what outside of all fibers */
static char nobody;

void locks_begin(void)
{
	int a, b;

	for (a = 0; a < nr_classes; a++)
		for (b = 0; b < nr_classes; b++)
			after[a][b] = false;
	nr_classes = 0;
}

static void *me(void)
{
	return self ? (void *)self : (void *)&nobody;
}

bool sim_holds(const struct sim_lock *lock)
{
	return lock->owner == me();
}

/* Wait for @lock, and take it. */
static void take(struct sim_lock *lock)
{
	if (self && (lock->owner || lock->served != lock->tickets)) {
		self->lock = lock;
		self->ticket = ++lock->tickets;
		nr_waiting++;
		wait_here();
		lock->served++;
		nr_waiting--;
		self->lock = NULL;
	}
	expect(!lock->owner, SIM_ITSELF, "%s has two owners", lock->class);
	lock->owner = me();
	acquire(lock, &lock->order);
}

static void give(struct sim_lock *lock)
{
	expect(lock->owner == me(), CONTAINED, "%s is released by one that does not hold it",
	       lock->class);
	release(lock, &lock->order);
	lock->owner = NULL;
	if (nr_waiting)
		sim_news();
}

void bh_off(void)
{
	preempt_off();
	if (!self->bh++ && sim_config.bh_lock)
		take(&cpus[self->cpu].bh);
}

void bh_on(void)
{
	expect(self->bh > 0, CONTAINED, "bottom halves are turned on once too often");
	if (!--self->bh && sim_config.bh_lock)
		give(&cpus[self->cpu].bh);
	preempt_on();
}

void local_bh_disable(void)
{
	if (self)
		bh_off();
}

void local_bh_enable(void)
{
	struct fiber *softirq;

	if (!self)
		return;
	softirq = cpus[self->cpu].softirq;
	bh_on();
	sim_news();
	/* A soft interrupt that is due comes now; or in bad times perhaps a little later. */
	if (!sim_config.rt && !self->bh && self->kind == TASK && can_run(softirq) &&
	    !(sim_config.stall_chance && sim_below(2))) {
		softirq->active = true;
		fiber_switch(softirq);
	}
	sim_point();
}

void irqs_off(void)
{
	local_bh_disable();
	if (!self)
		return;
	self->irqs_off++;
	keep_cpu();
}

void irqs_on(void)
{
	if (self && !--self->irqs_off && sim_config.rt)
		leave_cpu();
	local_bh_enable();
}

static int class_of(const struct sim_lock *lock, unsigned int sub)
{
	int i;

	for (i = 0; i < nr_classes; i++)
		if (classes[i].name == lock->class && classes[i].sub == sub)
			return i;
	expect(nr_classes < MAX_CLASSES, SIM_ITSELF, "there are too many classes of locks");
	classes[nr_classes] = (__typeof__(classes[0])){ .name = lock->class, .sub = sub };
	return nr_classes++;
}

/* @new is taken with @old held. */
static void note_order(int old, int new)
{
	int a, b;

	expect(old != new && !after[new][old], CONTAINED,
	       "lock order: %s is taken with %s held, and elsewhere it is the other way round",
	       classes[new].name, classes[old].name);
	if (after[old][new])
		return;
	for (a = 0; a < nr_classes; a++)
		for (b = 0; b < nr_classes; b++)
			if ((a == old || after[a][old]) && (b == new || after[new][b]))
				after[a][b] = true;
}

/* Note that @lock is now held. Who only tries to take it waits for nobody, in no order. */
static void hold(spinlock_t *lock, unsigned int sub, bool tried)
{
	int new = class_of(lock, sub), i;

	expect(!sim_config.rt || lock->raw || (self->kind != HARDIRQ && !self->irqs_off), CONTAINED,
	       "%s may sleep with PREEMPT_RT, where nothing may", lock->class);
	for (i = 0; i < self->nr_held; i++)
		if (!tried)
			note_order(self->held[i].class, new);
	classes[new].in_softirq |= self->kind == SOFTIRQ;
	classes[new].in_hardirq |= self->kind == HARDIRQ;
	classes[new].bh_on |= self->kind == TASK && !self->bh && !self->irqs_off;
	classes[new].irqs_on |= self->kind != HARDIRQ && !self->irqs_off;
	expect(!(classes[new].in_softirq && classes[new].bh_on) &&
	       !(classes[new].in_hardirq && classes[new].irqs_on), CONTAINED,
	       "%s is taken in an interrupt, and elsewhere where that interrupt may come",
	       classes[new].name);
	expect(self->nr_held < MAX_HELD, CONTAINED, "too many locks are held for lockdep");
	if (!self->nr_held)
		self->held_since = self->worked;
	self->held[self->nr_held].lock = lock;
	self->held[self->nr_held++].class = new;
}

void sim_spin_lock(spinlock_t *lock, unsigned int subclass)
{
	if (self) {
		preempt_off();
		expect(lock->owner != self, CONTAINED, "%s is taken by whoever holds it",
		       lock->class);
		hold(lock, subclass, false);
		sim_point();
	}
	take(lock);
}

bool spin_trylock(spinlock_t *lock)
{
	if (self) {
		sim_point();
		if (lock->owner || lock->served != lock->tickets)
			return false;
		preempt_off();
		hold(lock, 0, true);
	}
	lock->owner = me();
	acquire(lock, &lock->order);
	return true;
}

/*
 * A batch has 32 timers, each of which may come and go; and as much again for all else. Keys that
 * collide are in one bucket, which has up to 64 while splits lag behind. Each of the batch may come
 * past all of them twice: 5 points for each to find a key, and 3 to remove it.
 */
u64 sim_max_held(void)
{
	u64 collisions = sim_config.zeros ? 32 * 64 * (5 + 3) * sim_config.costs.point / 2 : 0;

	return 110000 + collisions + 64 * (sim_config.costs.node + sim_config.costs.enqueue);
}

bool spin_is_contended(spinlock_t *lock)
{
	int i;

	/* Nobody spins. */
	if (sim_config.rt)
		return false;
	for (i = 0; i < nr_fibers; i = next_fiber(i))
		if (fibers[i].used && fibers[i].lock == lock)
			return true;
	return false;
}

static void note_unlock(spinlock_t *lock)
{
	u64 ns = self->worked - self->held_since;
	int i;

	for (i = self->nr_held - 1; i > 0 && self->held[i].lock != lock; i--)
		;
	self->held[i] = self->held[--self->nr_held];
	if (self->nr_held)
		return;
	sim_stats.held_ns = max(sim_stats.held_ns, ns);
	expect(ns < sim_max_held(), BOUNDED_WORK,
	       "spinlocks were held for %llu ns, the last one %s", ns, lock->class);
}

void spin_unlock(spinlock_t *lock)
{
	if (self && sim_holds(lock))
		note_unlock(lock);
	give(lock);
	if (self) {
		preempt_on();
		sim_point();
	}
}

/* Classes of mutexes and of spinlocks have one order: but a mutex is not among what is held. */
void mutex_lock(struct mutex *lock)
{
	might_sleep("mutex_lock()");
	if (self) {
		sim_point();
		expect(lock->owner != self, CONTAINED, "%s is taken by whoever holds it",
		       lock->class);
	}
	take(lock);
}

int mutex_lock_killable(struct mutex *lock)
{
	if (self && chance(sim_config.kill_chance))
		return -EINTR;
	mutex_lock(lock);
	return 0;
}

void mutex_unlock(struct mutex *lock)
{
	give(lock);
	sim_point();
}
