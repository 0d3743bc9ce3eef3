/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists: of userspace/shim, and more. An entry that was taken out is poisoned, as in the kernel. */
#ifndef SIM_LINUX_LIST_H
#define SIM_LINUX_LIST_H

#include_next <linux/list.h>

#define LIST_HEAD(name)	struct list_head name = { &(name), &(name) }

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

static inline void sim_list_del(struct list_head *entry)
{
	list_del(entry);
	entry->next = (void *)0x100;
	entry->prev = (void *)0x122;
}

#define list_del(entry)	sim_list_del(entry)

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	list_del(entry);
	list_add(entry, head);
}

static inline bool list_is_last(const struct list_head *entry, const struct list_head *head)
{
	return entry->next == head;
}

#endif /* SIM_LINUX_LIST_H */
