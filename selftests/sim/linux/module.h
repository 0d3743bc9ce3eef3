/* SPDX-License-Identifier: GPL-2.0-only */
/* How a module begins and ends: module.c calls these. */
#ifndef SIM_LINUX_MODULE_H
#define SIM_LINUX_MODULE_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/types.h>

struct module;

#define KBUILD_MODNAME		"twheel"
#define THIS_MODULE		NULL
#define pr_info(...)		((void)0)
#define pr_err(...)		((void)0)
#define MODULE_DESCRIPTION(text) struct module
#define MODULE_AUTHOR(text)	struct module
#define MODULE_LICENSE(text)	struct module
#define MODULE_VERSION(text)	struct module
#define module_init(f)		int (*sim_module_init)(void) = (f)
#define module_exit(f)		void (*sim_module_exit)(void) = (f)

#endif /* SIM_LINUX_MODULE_H */
