// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: what the kernel has of it is malloc()'s here, so that the address sanitizer knows it. How
 * much the module has is counted: at its end nothing may be left.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "kernel.h"

long sim_allocated;

static void *counted(void *p)
{
	if (p)
		sim_allocated++;
	return p;
}

void *sim_alloc(size_t size, gfp_t gfp)
{
	return alloc_fails(gfp) ? NULL : counted(calloc(1, size ? size : 1));
}

/* The sanitizers see by themselves what is done with memory that was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(SIM_TSAN)
#define SANITIZED	1
#else
#define SANITIZED	0
#endif
#define POISON		0x6b
/* So many pieces wait to be given back, so that a store to one of them is seen. */
#define NR_FREED	64

static void *freed[NR_FREED];
static u32 nr_freed;

static void give_back(void **p)
{
	const char *bytes = *p;
	size_t n = *p ? malloc_usable_size(*p) : 0;

	expect(!n || (*bytes == POISON && !memcmp(bytes, bytes + 1, n - 1)), CONTAINED,
	       "%zu bytes of memory were changed after they were freed", n);
	free(*p);
	*p = NULL;
}

void sim_give_back(void)
{
	u32 i;

	for (i = 0; i < NR_FREED; i++)
		give_back(&freed[i]);
}

/* Whoever still reads @p is to notice, and whoever stores to it. */
static void give_back_later(void *p)
{
	void **place = &freed[nr_freed++ % NR_FREED];

	if (SANITIZED) {
		free(p);
		return;
	}
	give_back(place);
	memset(p, POISON, malloc_usable_size(p));
	*place = p;
}

void kfree(const void *p)
{
	if (!p)
		return;
	sim_allocated--;
	report_freed(p);
	/* No store to it may still be on its way when it is somebody else's. */
	if (sim_weak)
		drain_all();
	give_back_later((void *)p);
}

static void *aligned_zeroes(size_t align, size_t size)
{
	void *p = aligned_alloc(align, size);

	return p ? counted(memset(p, 0, size)) : NULL;
}

void *sim_aligned_alloc(size_t align, size_t size)
{
	return alloc_fails(GFP_KERNEL) ? NULL : aligned_zeroes(align, size);
}

void *sim_percpu_alloc(size_t size, gfp_t gfp)
{
	expect(size <= SIM_PERCPU_UNIT, SIM_ITSELF, "a variable of each CPU is too large");
	return alloc_fails(gfp) ? NULL : aligned_zeroes(64, (size_t)nr_cpu_ids * SIM_PERCPU_UNIT);
}

void free_percpu(void *p)
{
	kfree(p);
}

struct kmem_cache {
	unsigned int size, align;
	long objects;
};

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
				     unsigned int flags, void (*ctor)(void *p))
{
	struct kmem_cache *cache = sim_alloc(sizeof(*cache), GFP_KERNEL);

	if (cache)
		*cache = (struct kmem_cache){ .size = size, .align = align };
	return cache;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	expect(!cache->objects, CONTAINED, "%ld objects are left in a cache that is destroyed",
	       cache->objects);
	kfree(cache);
}

void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t gfp)
{
	void *p = alloc_fails(gfp) ? NULL : aligned_zeroes(cache->align, cache->size);

	cache->objects += !!p;
	return p;
}

void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	cache->objects--;
	kfree(p);
}

struct page *alloc_page(gfp_t gfp)
{
	struct page *page;

	if (alloc_fails(gfp))
		return NULL;
	page = counted(calloc(1, sizeof(*page)));
	page->refs = 1;
	page->address = aligned_zeroes(PAGE_SIZE, PAGE_SIZE);
	return page;
}

void get_page(struct page *page)
{
	page->refs++;
}

void put_page(struct page *page)
{
	if (--page->refs)
		return;
	kfree(page->address);
	kfree(page);
}

void ida_init(struct ida *ida)
{
	*ida = (struct ida){ };
}

static bool ida_grow(struct ida *ida, gfp_t gfp)
{
	u32 words = max(4U, 2 * ida->words);
	unsigned long *free;

	if (alloc_fails(gfp & ~GFP_KERNEL))
		return false;
	free = realloc(ida->free, words * sizeof(*free));
	memset(free + ida->words, ~0, (words - ida->words) * sizeof(*free));
	ida->free = free;
	ida->words = words;
	return true;
}

int ida_alloc_max(struct ida *ida, unsigned int max, gfp_t gfp)
{
	u32 i, id;

	might_sleep("ida_alloc_max()");
	acquire(ida, &ida->order);
	for (i = 0; i < ida->words && !ida->free[i]; i++)
		;
	if (i == ida->words && !ida_grow(ida, gfp))
		return -ENOMEM;
	id = i * BITS_PER_LONG + __ffs64(ida->free[i]);
	if (id > max)
		return -ENOSPC;
	__clear_bit(id, ida->free);
	release(ida, &ida->order);
	return (int)id;
}

void ida_free(struct ida *ida, unsigned int id)
{
	expect(!test_bit(id, ida->free), CONTAINED, "number %u is freed twice", id);
	acquire(ida, &ida->order);
	__set_bit(id, ida->free);
	release(ida, &ida->order);
}

void ida_destroy(struct ida *ida)
{
	free(ida->free);
}

/* Under RCU in the kernel: what was stored before an entry is seen by whoever loads it. */
void *xa_load(struct xarray *xa, unsigned long index)
{
	tsan_acquire(xa);
	return index < xa->n ? xa->slots[index] : NULL;
}

void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	if (alloc_fails(gfp))
		return ERR_PTR(-ENOMEM);
	if (index >= xa->n) {
		unsigned long n = max(2 * index, 4UL);

		xa->slots = realloc(xa->slots, n * sizeof(*xa->slots));
		memset(xa->slots + xa->n, 0, (n - xa->n) * sizeof(*xa->slots));
		xa->n = n;
	}
	tsan_release(xa);
	xa->slots[index] = entry;
	return NULL;
}

void xa_destroy(struct xarray *xa)
{
	free(xa->slots);
}
