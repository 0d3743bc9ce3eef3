/* SPDX-License-Identifier: GPL-2.0-only */
/* The device: module.c keeps what was registered. */
#ifndef SIM_LINUX_MISCDEVICE_H
#define SIM_LINUX_MISCDEVICE_H

#include <linux/types.h>

struct file_operations;

struct miscdevice {
	int				minor;
	const char			*name;
	const struct file_operations	*fops;
	umode_t				mode;
};

#define MISC_DYNAMIC_MINOR	255

int misc_register(struct miscdevice *device);
void misc_deregister(struct miscdevice *device);

#endif /* SIM_LINUX_MISCDEVICE_H */
