// SPDX-License-Identifier: GPL-2.0-only
/*
 * splat - a module that does wrong on purpose, so that a test can see whether
 * the harness catches it. Loading it always fails: there is nothing to keep.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *fault = "warn";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "what to do: warn, bug, null, sleep");

static int __init splat_init(void)
{
	static DEFINE_SPINLOCK(lock);

	if (!strcmp(fault, "warn")) {
		WARN_ON(1);
	} else if (!strcmp(fault, "bug")) {
		BUG();
	} else if (!strcmp(fault, "null")) {
		WRITE_ONCE(*(int *)NULL, 1);
	} else if (!strcmp(fault, "sleep")) {
		spin_lock(&lock);
		schedule();
		spin_unlock(&lock);
	}
	return -ENODEV;
}
module_init(splat_init);

MODULE_DESCRIPTION("Does wrong on purpose");
MODULE_LICENSE("GPL");
