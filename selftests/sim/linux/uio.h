/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a program that is filled or read piece by piece: fault.c. */
#ifndef SIM_LINUX_UIO_H
#define SIM_LINUX_UIO_H

#include <linux/types.h>
#include <linux/uaccess.h>

/* @faulting: if it is not NULL, counts those who wait until memory is faulted in */
struct iov_iter {
	char	*at;
	size_t	count;
	u32	*faulting;
};

#define iov_iter_count(iter)	((iter)->count)

size_t copy_to_iter(const void *from, size_t n, struct iov_iter *iter);
size_t copy_from_iter(void *to, size_t n, struct iov_iter *iter);
void iov_iter_revert(struct iov_iter *iter, size_t n);
size_t fault_in_iov_iter_writeable(struct iov_iter *iter, size_t n);

#endif /* SIM_LINUX_UIO_H */
