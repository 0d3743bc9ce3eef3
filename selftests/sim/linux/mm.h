/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages: slab.c. */
#ifndef SIM_LINUX_MM_H
#define SIM_LINUX_MM_H

#include_next <linux/mm.h>

#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/topology.h>

#define VM_SHARED		0x08UL
#define VM_FAULT_SIGBUS		2

struct page *alloc_page(gfp_t gfp);
void get_page(struct page *page);
void put_page(struct page *page);

#define __free_page(page)	put_page(page)
#define page_address(page)	((page)->address)
#define totalram_pages()	(1UL << 20)

#endif /* SIM_LINUX_MM_H */
