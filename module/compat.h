/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels. The sources are written to the newest API;
 * Kbuild looks for each feature in the kernel's headers and defines HAVE_*.
 */
#ifndef TWHEEL_COMPAT_H
#define TWHEEL_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/percpu_counter.h>

/* 6.13 added hrtimer_setup(), 6.15 removed hrtimer_init(). */
#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/*
 * The exact sum of @counter. Until 6.3 percpu_counter_sum() left out a CPU that was just going
 * offline: its part was missing until the kernel had added it to the count of all.
 */
static inline s64 twheel_counter_sum(struct percpu_counter *counter)
{
#ifdef CONFIG_SMP
	unsigned long flags;
	s64 sum;
	int cpu;

	raw_spin_lock_irqsave(&counter->lock, flags);
	sum = counter->count;
	for_each_possible_cpu(cpu)
		sum += *per_cpu_ptr(counter->counters, cpu);
	raw_spin_unlock_irqrestore(&counter->lock, flags);
	return sum;
#else
	return percpu_counter_sum(counter);
#endif
}

#endif /* TWHEEL_COMPAT_H */
