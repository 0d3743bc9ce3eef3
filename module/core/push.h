/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Pushing timers back: what write() does. */
#ifndef TWHEEL_PUSH_H
#define TWHEEL_PUSH_H

#include <linux/types.h>

struct iov_iter;
struct twheel_ctx;

/**
 * twheel_push_entries() - carry out an array of struct twheel_push
 * @ctx:	the context
 * @from:	where the array is; advanced, perhaps further than the entries that were carried out
 *
 * Waits for nothing but memory.
 *
 * Context: may sleep; in the task whose time namespace counts.
 * Return: how many bytes of entries were carried out, from the first one on; or, if there were
 * none, why: -EINVAL, -ENOENT or -EFAULT, or an error of twheel_arm_entries().
 */
ssize_t twheel_push_entries(struct twheel_ctx *ctx, struct iov_iter *from);

#endif /* TWHEEL_PUSH_H */
