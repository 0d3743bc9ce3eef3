/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Pushing timers back: what write() does. */
#ifndef TWHEEL_PUSH_H
#define TWHEEL_PUSH_H

#include <linux/compiler.h>
#include <linux/types.h>

struct iov_iter;
struct twheel_ctx;
struct twheel_push;

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

/**
 * twheel_push_at() - carry out one entry, in fewer instructions
 * @ctx:	the context
 * @user:	where the entry is
 *
 * Context: as twheel_push_entries().
 * Return: as twheel_push_entries(); or 0 if the entry could not be read at once, and
 * twheel_push_entries() has to be called.
 */
ssize_t twheel_push_at(struct twheel_ctx *ctx, const struct twheel_push __user *user);

#endif /* TWHEEL_PUSH_H */
