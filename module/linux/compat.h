/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels. The sources are written to the newest API;
 * Kbuild looks for each feature in the kernel's headers and defines HAVE_*.
 */
#ifndef TWHEEL_COMPAT_H
#define TWHEEL_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/rcupdate.h>

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
 * Since 6.2 call_rcu() may be lazy and wait for 10 s, which this is not. Memory counts for its user
 * until then.
 */
#ifndef HAVE_CALL_RCU_HURRY
#define call_rcu_hurry(head, func)	call_rcu(head, func)
#endif

#endif /* TWHEEL_COMPAT_H */
