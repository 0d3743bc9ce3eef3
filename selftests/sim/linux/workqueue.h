/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that a task does later: work.c. */
#ifndef SIM_LINUX_WORKQUEUE_H
#define SIM_LINUX_WORKQUEUE_H

#include <linux/types.h>

struct work_struct {
	void			(*func)(struct work_struct *work);
	struct work_struct	*next;
	u64			at;
	bool			pending;
};

struct workqueue_struct;

enum { WQ_UNBOUND = 1, WQ_HIGHPRI = 2 };

#define INIT_WORK(work, f)	(*(work) = (struct work_struct){ .func = (f) })
#define DECLARE_WORK(name, f)	struct work_struct name = { .func = (f) }

struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags, int max);
void destroy_workqueue(struct workqueue_struct *queue);
bool queue_work(struct workqueue_struct *queue, struct work_struct *work);

#endif /* SIM_LINUX_WORKQUEUE_H */
