/* SPDX-License-Identifier: GPL-2.0-only */
/* Pointers by number: slab.c. */
#ifndef SIM_LINUX_XARRAY_H
#define SIM_LINUX_XARRAY_H

#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/types.h>

struct xarray {
	void		**slots;
	unsigned long	n;
};

enum { XA_FLAGS_ACCOUNT = 1 };

#define xa_init_flags(xa, flags) (*(xa) = (struct xarray){ })
#define xa_erase(xa, index)	((xa)->slots[index] = NULL)
#define xa_for_each(xa, index, entry) \
	for ((index) = 0; (index) < (xa)->n; (index)++) \
		if (!((entry) = (xa)->slots[index])) ; else

static inline int xa_err(const void *p)
{
	return IS_ERR(p) ? (int)PTR_ERR(p) : 0;
}

void *xa_load(struct xarray *xa, unsigned long index);
void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp);
void xa_destroy(struct xarray *xa);

#endif /* SIM_LINUX_XARRAY_H */
