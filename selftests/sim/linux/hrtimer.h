/* SPDX-License-Identifier: GPL-2.0-only */
/* High-resolution timers, in the soft interrupt of their CPU: hrtimer.c. */
#ifndef SIM_LINUX_HRTIMER_H
#define SIM_LINUX_HRTIMER_H

#include <linux/compiler.h>
#include <linux/ktime.h>
#include <linux/time.h>
#include <linux/types.h>

enum hrtimer_restart { HRTIMER_NORESTART };
enum hrtimer_mode { HRTIMER_MODE_ABS_PINNED_SOFT };

/**
 * struct hrtimer - a timer
 * @function:	what it calls
 * @next:	in the list of its CPU
 * @expires:	when, on @clock
 * @clock:	the clock
 * @order:	when the lock of the CPU that it was set on was released last, and by which CPU
 * @set_at:	when it was set, on the clock of its CPU
 * @cpu:	the CPU that it was set on
 * @isolations:	how often its CPU had been isolated when it last came there
 * @disturbed:	how often it disturbed it since
 * @tries:	how often it came when it did so last
 * @disturbed_at: when it came last
 * @queued:	it is set
 * @running:	@function runs
 */
struct hrtimer {
	enum hrtimer_restart	(*function)(struct hrtimer *timer);
	struct hrtimer		*next;
	u64			expires;
	clockid_t		clock;
	struct sim_order	order;
	u64			set_at;
	int			cpu;
	u32			isolations, disturbed, tries;
	u64			disturbed_at;
	bool			queued;
	bool			running;
};

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode);
void hrtimer_start(struct hrtimer *timer, ktime_t at, enum hrtimer_mode mode);
bool hrtimer_is_queued(const struct hrtimer *timer);
int hrtimer_cancel(struct hrtimer *timer);

#endif /* SIM_LINUX_HRTIMER_H */
