// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words of leases: pages that the kernel and programs share.
 *
 * Lifetime rules: programs map these pages, and the module cannot tell who has mapped
 * which. So a page lives as long as its context.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <linux/twheel.h>

#include "../core/host.h"

void twheel_words_init(struct twheel_words *words, struct twheel_quota *quota)
{
	xa_init_flags(&words->pages, XA_FLAGS_ACCOUNT);
	words->quota = quota;
}

void twheel_words_destroy(struct twheel_words *words)
{
	unsigned long index;
	struct page *page;

	xa_for_each(&words->pages, index, page) {
		/* One by one: xa_destroy() frees all nodes with interrupts off. */
		xa_erase(&words->pages, index);
		twheel_quota_sub_memory(words->quota, PAGE_SIZE);
		put_page(page);
		cond_resched();
	}
	xa_destroy(&words->pages);
}

static struct page *new_page(struct twheel_words *words, unsigned long index)
{
	struct page *page;
	int ret;

	ret = twheel_quota_add_memory(words->quota, PAGE_SIZE);
	if (ret)
		return ERR_PTR(ret);

	ret = -ENOMEM;
	page = alloc_page(TWHEEL_POOL_GFP | __GFP_ACCOUNT);
	if (!page)
		goto uncharge;

	memset64(page_address(page), TWHEEL_LEASE_EXPIRED, TWHEEL_PAGE_WORDS);
	ret = xa_err(xa_store(&words->pages, index, page, TWHEEL_POOL_GFP));
	if (ret)
		goto free;
	return page;

free:
	__free_page(page);
uncharge:
	twheel_quota_sub_memory(words->quota, PAGE_SIZE);
	return ERR_PTR(ret);
}

atomic64_t *twheel_words_get(struct twheel_words *words, unsigned long nr)
{
	unsigned long index = nr / TWHEEL_PAGE_WORDS;
	struct page *page = xa_load(&words->pages, index);

	if (!page)
		page = new_page(words, index);
	if (IS_ERR(page))
		return ERR_CAST(page);
	return (atomic64_t *)page_address(page) + nr % TWHEEL_PAGE_WORDS;
}
