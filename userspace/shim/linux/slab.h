/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A stand-in: memory is that of malloc(). The objects of a cache, of which there is one for each
 * context, are pages of its host.
 */
#ifndef SHIM_LINUX_SLAB_H
#define SHIM_LINUX_SLAB_H

#include <stdlib.h>

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/types.h>

#define SLAB_ACCOUNT		0

#define kzalloc(size, gfp)	calloc(1, size)
#define kvzalloc(size, gfp)	calloc(1, size)
#define kmalloc_array(n, size, gfp) malloc((n) * (size))
#define kfree(p)		free(p)
#define kvfree(p)		free(p)

/* The host has these. A page is zeroed; NULL if there is no memory. */
void *twheel_page_alloc(void);
void twheel_page_free(void *page);

struct kmem_cache;

/* The address only says that it has worked. */
#define kmem_cache_create(name, size, align, flags, ctor) \
	((struct kmem_cache *)(size_t)((size) == PAGE_SIZE && (align) == PAGE_SIZE))
#define kmem_cache_zalloc(cache, gfp)	((void)(cache), twheel_page_alloc())
#define kmem_cache_free(cache, p)	((void)(cache), twheel_page_free(p))
#define kmem_cache_destroy(cache)	((void)(cache))

#endif /* SHIM_LINUX_SLAB_H */
