/* SPDX-License-Identifier: GPL-2.0-only */
/* The ioctls of the device. */
#ifndef TWHEEL_IOCTL_H
#define TWHEEL_IOCTL_H

struct file;

/**
 * twheel_ioctl() - one call of ioctl() on the device
 * @file:	the open device
 * @cmd:	%TWHEEL_IOC_GET_INFO and so on
 * @arg:	address of the structure that belongs to @cmd, in user space
 *
 * Context: may sleep.
 * Return: what uapi/linux/twheel.h says of @cmd; or -ENOTTY if there is no such @cmd.
 */
long twheel_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* TWHEEL_IOCTL_H */
