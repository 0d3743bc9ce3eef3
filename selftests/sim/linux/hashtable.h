/* SPDX-License-Identifier: GPL-2.0-only */
/* Hash tables. */
#ifndef SIM_LINUX_HASHTABLE_H
#define SIM_LINUX_HASHTABLE_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/list.h>

#define DEFINE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)]
#define SIM_BUCKET(table, key) (&(table)[(u32)(key) * 0x61C88647U % ARRAY_SIZE(table)])
#define hash_add(table, node, key) sim_hlist_add(node, SIM_BUCKET(table, key))
#define hash_del(node)	sim_hlist_del(node)
#define hash_for_each_possible(table, entry, member, key)			\
	for (struct hlist_node *hash_node = SIM_BUCKET(table, key)->first;	\
	     hash_node &&							\
	     ((entry) = container_of(hash_node, __typeof__(*(entry)), member));	\
	     hash_node = hash_node->next)

static inline void sim_hlist_add(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	if (node->next)
		node->next->pprev = &node->next;
	head->first = node;
	node->pprev = &head->first;
}

static inline void sim_hlist_del(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

#endif /* SIM_LINUX_HASHTABLE_H */
