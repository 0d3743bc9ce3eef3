/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers, the lowest that is free first: slab.c. */
#ifndef SIM_LINUX_IDR_H
#define SIM_LINUX_IDR_H

#include <linux/compiler.h>
#include <linux/types.h>

/**
 * struct ida - which numbers are taken
 * @free:	a bit for each number, set if it is free
 * @words:	how many words @free has
 * @order:	of whoever took or gave back a number last: the kernel has a lock for them
 */
struct ida {
	unsigned long	*free;
	u32		words;
	struct sim_order order;
};

void ida_init(struct ida *ida);
int ida_alloc_max(struct ida *ida, unsigned int max, gfp_t gfp);
void ida_free(struct ida *ida, unsigned int id);
void ida_destroy(struct ida *ida);

#endif /* SIM_LINUX_IDR_H */
