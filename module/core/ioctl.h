/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The requests of uapi/linux/twheel.h. */
#ifndef TWHEEL_IOCTL_H
#define TWHEEL_IOCTL_H

#include <linux/compiler.h>
#include <linux/types.h>

struct twheel_ctx;

/**
 * twheel_ioctl() - carry out a request
 * @ctx:	the context
 * @cmd:	%TWHEEL_IOC_GET_INFO and so on
 * @arg:	the structure that belongs to @cmd
 * @readable:	the caller may look at timers
 * @writable:	the caller may change them
 *
 * Context: may sleep.
 * Return: what uapi/linux/twheel.h says of @cmd; -EBADF for what the caller may not do; or -ENOTTY
 * if there is no such @cmd.
 */
long twheel_ioctl(struct twheel_ctx *ctx, unsigned int cmd, void __user *arg, bool readable,
		  bool writable);

#endif /* TWHEEL_IOCTL_H */
