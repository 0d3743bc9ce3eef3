/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A stand-in: one piece of memory, and that is there. */
#ifndef SHIM_LINUX_UIO_H
#define SHIM_LINUX_UIO_H

#include <string.h>

#include <linux/types.h>

/**
 * struct iov_iter - memory that is filled or read
 * @at: where to go on
 * @count: how many bytes are left
 */
struct iov_iter {
	char	*at;
	size_t	count;
};

static inline size_t iov_iter_count(const struct iov_iter *iter)
{
	return iter->count;
}

/* The caller has looked whether it fits. */
static inline size_t copy_to_iter(const void *from, size_t size, struct iov_iter *iter)
{
	memcpy(iter->at, from, size);
	iter->at += size;
	iter->count -= size;
	return size;
}

static inline size_t copy_from_iter(void *to, size_t size, struct iov_iter *iter)
{
	memcpy(to, iter->at, size);
	iter->at += size;
	iter->count -= size;
	return size;
}

static inline void iov_iter_revert(struct iov_iter *iter, size_t size)
{
	iter->at -= size;
	iter->count += size;
}

#endif /* SHIM_LINUX_UIO_H */
