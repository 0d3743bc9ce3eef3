/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a program that is filled or read piece by piece: fault.c. */
#ifndef SIM_LINUX_UIO_H
#define SIM_LINUX_UIO_H

#include <sys/uio.h>

#include <linux/types.h>
#include <linux/uaccess.h>

/* @faulting: if it is not NULL, counts those who wait until memory is faulted in */
struct iov_iter {
	char	*at;
	size_t	count;
	u32	*faulting;
};

#define WRITE	1

/* There is one piece. */
static inline void iov_iter_init(struct iov_iter *iter, unsigned int direction,
				 const struct iovec *iov, unsigned long nr, size_t count)
{
	(void)direction;
	(void)nr;
	*iter = (struct iov_iter) { .at = iov->iov_base, .count = count };
}

#define iov_iter_count(iter)	((iter)->count)

size_t copy_to_iter(const void *from, size_t n, struct iov_iter *iter);
size_t copy_from_iter(void *to, size_t n, struct iov_iter *iter);
void iov_iter_revert(struct iov_iter *iter, size_t n);
size_t fault_in_iov_iter_writeable(struct iov_iter *iter, size_t n);

#endif /* SIM_LINUX_UIO_H */
