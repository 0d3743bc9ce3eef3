/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory: slab.c. Each allocation may fail, and all of it is counted. */
#ifndef SIM_LINUX_SLAB_H
#define SIM_LINUX_SLAB_H

#include <linux/gfp.h>
#include <linux/types.h>

#define SLAB_ACCOUNT		0

struct kmem_cache;

void *sim_alloc(size_t size, gfp_t gfp);
void kfree(const void *p);
struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
				     unsigned int flags, void (*ctor)(void *p));
void kmem_cache_destroy(struct kmem_cache *cache);
void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t gfp);
void kmem_cache_free(struct kmem_cache *cache, void *p);

#define kzalloc(size, gfp)		sim_alloc(size, gfp)
#define kmalloc_array(n, size, gfp)	sim_alloc((size_t)(n) * (size), gfp)
#define kvcalloc(n, size, gfp)		sim_alloc((size_t)(n) * (size), gfp)
#define kvzalloc(size, gfp)		sim_alloc(size, gfp)
#define kvzalloc_node(size, gfp, node)	sim_alloc(size, gfp)
#define kvfree(p)			kfree(p)

#endif /* SIM_LINUX_SLAB_H */
