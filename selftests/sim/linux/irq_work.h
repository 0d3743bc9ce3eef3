/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that an interrupt does later: work.c. */
#ifndef SIM_LINUX_IRQ_WORK_H
#define SIM_LINUX_IRQ_WORK_H

#include <linux/types.h>

struct irq_work {
	void	(*func)(struct irq_work *work);
	u64	at;
	bool	pending;
};

#define DEFINE_IRQ_WORK(name, f) struct irq_work name = { .func = (f) }

bool irq_work_queue(struct irq_work *work);
void irq_work_sync(struct irq_work *work);

#endif /* SIM_LINUX_IRQ_WORK_H */
