/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists that are walked over under RCU. An entry that was taken out still leads on. */
#ifndef SIM_LINUX_RCULIST_H
#define SIM_LINUX_RCULIST_H

#include <linux/list.h>
#include <linux/rcupdate.h>

static inline void list_add_tail_rcu(struct list_head *new, struct list_head *head)
{
	new->next = head;
	new->prev = head->prev;
	rcu_assign_pointer(new->prev->next, new);
	head->prev = new;
}

static inline void list_del_rcu(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	WRITE_ONCE(entry->prev->next, entry->next);
	entry->prev = (void *)0x122;
}

#define list_for_each_entry_rcu(pos, head, member)						\
	for ((pos) = list_entry(READ_ONCE((head)->next), __typeof__(*(pos)), member);		\
	     &(pos)->member != (head);								\
	     (pos) = list_entry(READ_ONCE((pos)->member.next), __typeof__(*(pos)), member))

#endif /* SIM_LINUX_RCULIST_H */
