/* SPDX-License-Identifier: GPL-2.0-only */
/* Notice of steps of the clock: clock.c. */
#ifndef SIM_LINUX_PVCLOCK_GTOD_H
#define SIM_LINUX_PVCLOCK_GTOD_H

struct notifier_block {
	int	(*notifier_call)(struct notifier_block *nb, unsigned long was_set, void *tk);
};

enum { NOTIFY_DONE, NOTIFY_OK };

int pvclock_gtod_register_notifier(struct notifier_block *nb);
void pvclock_gtod_unregister_notifier(struct notifier_block *nb);

#endif /* SIM_LINUX_PVCLOCK_GTOD_H */
