/* SPDX-License-Identifier: GPL-2.0-only */
/* Wait queues: wait.c. */
#ifndef SIM_LINUX_WAIT_H
#define SIM_LINUX_WAIT_H

#include <linux/compiler.h>
#include <linux/errno.h>

/**
 * struct sim_wait_queue - those who wait for something
 * @order:	when its lock was released last, and by which CPU
 */
struct sim_wait_queue {
	struct sim_order order;
};

typedef struct sim_wait_queue wait_queue_head_t;

#define init_waitqueue_head(queue) (*(queue) = (wait_queue_head_t){ })

void sim_wake(wait_queue_head_t *queue);
bool wq_has_sleeper(wait_queue_head_t *queue);
/* Queue the current task; with @signals -ERESTARTSYS if it has one. */
int sim_wait_begin(wait_queue_head_t *queue, bool exclusive, bool signals);
/* Sleep until it is woken: by sim_wake(), or by the clock of the simulation at @until. */
void sim_wait(u64 until);
void sim_wait_end(void);
u64 sim_now(void);

#define SIM_FOREVER	(~0ULL)

#define wake_up(queue)				sim_wake(queue)
#define wake_up_interruptible(queue)		sim_wake(queue)
#define wake_up_interruptible_poll(queue, mask)	sim_wake(queue)

/*
 * As in the kernel the signal is looked at while queueing, before the condition: so a task that
 * has taken an exclusive wake-up and has a signal, too, still sees the condition.
 */
#define sim_wait_event(queue, exclusive, condition) ({		\
	int wait_ret;						\
	for (;;) {						\
		wait_ret = sim_wait_begin(&(queue), exclusive, true);	\
		if (condition) {				\
			wait_ret = 0;				\
			break;					\
		}						\
		if (wait_ret)					\
			break;					\
		sim_wait(SIM_FOREVER);				\
	}							\
	sim_wait_end();						\
	wait_ret;						\
})
#define wait_event_interruptible(queue, condition) sim_wait_event(queue, false, condition)
#define wait_event_interruptible_exclusive(queue, condition) sim_wait_event(queue, true, condition)

/* 0 at the timeout, in jiffies; else what is left, at least 1; or an error of sim_wait_begin() */
#define wait_event_killable_timeout(queue, condition, jiffies) ({ \
	u64 wait_until = sim_now() + (jiffies) * TICK_NSEC;	\
	long wait_left;						\
	for (;;) {						\
		wait_left = sim_wait_begin(&(queue), false, false);	\
		if (condition) {				\
			wait_left = 1;				\
			break;					\
		}						\
		if (wait_left || sim_now() >= wait_until)	\
			break;					\
		sim_wait(wait_until);				\
	}							\
	sim_wait_end();						\
	wait_left;						\
})

#endif /* SIM_LINUX_WAIT_H */
