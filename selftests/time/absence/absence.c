// SPDX-License-Identifier: GPL-2.0-only
/*
 * absence - time goes on while timers are not served, for as long as requested. A guest
 * that was stopped, or a CPU that was kept busy, finds its clocks like this.
 *
 * For user-mode Linux with virtual time. Write the number of nanoseconds to the parameter.
 */
#include <linux/bottom_half.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/time-internal.h>

static int pass(const char *text, const struct kernel_param *kp)
{
	unsigned long ns;
	int ret;

	ret = kstrtoul(text, 0, &ns);
	if (ret)
		return ret;

	/* Interrupts come, but have no time for work: soft interrupts have to wait. */
	local_bh_disable();
	time_travel_ndelay(ns);
	local_bh_enable();
	return 0;
}

static const struct kernel_param_ops pass_ops = {
	.set	= pass,
};
module_param_cb(ns, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(ns, "let so many nanoseconds pass");

MODULE_DESCRIPTION("Time passes and timers are not served");
MODULE_LICENSE("GPL");
