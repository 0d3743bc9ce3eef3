// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel: a timer wheel as a device. Module parameters, init and exit.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "../core/host.h"
#include "../core/pool.h"
#include "../core/timer.h"
#include "../core/wheel.h"
#include "clock.h"
#include "main.h"
#include "program.h"
#include "quota.h"

/* The words of leases, and times that are read without a lock, are 64 bits. */
#ifndef CONFIG_64BIT
#error "twheel is for 64-bit kernels"
#endif

/*
 * Programs and the kernel swap the words of leases at two addresses. Where a data cache may hold
 * both, neither would see the other's. Which machines have such caches is known only at run
 * time, so leave out all that may. From 6.9 on the kernel's configuration says so; before, name
 * those of them that have 64 bits. (That an architecture has flush_dcache_page() says less: arm64
 * has it for its instruction cache.)
 */
#if defined(CONFIG_ARCH_HAS_CPU_CACHE_ALIASING) || defined(CONFIG_MIPS) || \
	defined(CONFIG_PARISC) || defined(CONFIG_SPARC)
#error "twheel is for kernels whose data caches do not alias"
#endif

#define TWHEEL_TICK_NS_MIN	1024U
#define TWHEEL_TICK_NS_MAX	(1024U * 1024 * 1024)

static unsigned int tick_ns = 1U << 20;
module_param(tick_ns, uint, 0444);
MODULE_PARM_DESC(tick_ns, "Tick in ns, 1024 to 1073741824, rounded up to a power of two (default 1048576)");

static unsigned int slots = 64;
module_param(slots, uint, 0444);
MODULE_PARM_DESC(slots, "Buckets a level, a power of two, 4 to 4096 (default 64)");

/* Change a limit, while the kernel lets nobody else change a parameter. */
static int set_limit(const char *text, const struct kernel_param *limit)
{
	int ret = param_set_ulong(text, limit);

	if (ret)
		return ret;
	/* Pairs with smp_load_acquire() in reserve(): who sees the number sees the limit. */
	smp_store_release(&twheel_limit_changes, twheel_limit_changes + 1);
	return 0;
}

static const struct kernel_param_ops limit_ops = {
	.set	= set_limit,
	.get	= param_get_ulong,
};

module_param_cb(max_user_timers, &limit_ops, &twheel_max_user_timers, 0644);
__MODULE_PARM_TYPE(max_user_timers, "ulong");
MODULE_PARM_DESC(max_user_timers, "Most timers of a user (default: what fits 4% of memory)");

module_param_cb(max_fd_timers, &limit_ops, &twheel_max_fd_timers, 0644);
__MODULE_PARM_TYPE(max_fd_timers, "ulong");
MODULE_PARM_DESC(max_fd_timers, "Most timers of one open of the device (default: max_user_timers)");

static int __init check_geometry(void)
{
	if (tick_ns < TWHEEL_TICK_NS_MIN || tick_ns > TWHEEL_TICK_NS_MAX) {
		pr_err("tick_ns=%u: must be %u to %u\n", tick_ns,
		       TWHEEL_TICK_NS_MIN, TWHEEL_TICK_NS_MAX);
		return -EINVAL;
	}
	if (slots < TWHEEL_SLOTS_MIN || slots > TWHEEL_SLOTS_MAX ||
	    !is_power_of_2(slots)) {
		pr_err("slots=%u: must be a power of two, %u to %u\n", slots,
		       TWHEEL_SLOTS_MIN, TWHEEL_SLOTS_MAX);
		return -EINVAL;
	}

	tick_ns = roundup_pow_of_two(tick_ns);
	twheel_geometry = (struct twheel_geometry) {
		.tick_shift	= ilog2(tick_ns),
		.slots		= slots,
		.levels		= twheel_wheel_levels(slots, TWHEEL_REACH_NS / tick_ns),
	};
	return 0;
}

/* A user may fill 4% of memory with timers: the same limit as for watches of epoll. */
static void __init default_limits(void)
{
	if (!twheel_max_user_timers)
		twheel_max_user_timers = (totalram_pages() / 25) *
					 (PAGE_SIZE / sizeof(struct twheel_timer));
	if (!twheel_max_fd_timers)
		twheel_max_fd_timers = twheel_max_user_timers;
}

static int __init twheel_init(void)
{
	int ret;

	ret = check_geometry();
	if (ret)
		return ret;
	default_limits();

	ret = twheel_pool_cache_init();
	if (ret)
		return ret;

	ret = twheel_program_init();
	if (ret)
		goto cache_exit;

	ret = twheel_quota_init();
	if (ret)
		goto program_exit;

	ret = twheel_clock_init(twheel_program_now);
	if (ret)
		goto quota_exit;

	twheel_debugfs_init();
	ret = misc_register(&twheel_miscdev);
	if (ret)
		goto debugfs_exit;

	pr_info("version %s, ticks of %u ns, %u levels of %u slots\n", TWHEEL_VERSION,
		tick_ns, twheel_geometry.levels, twheel_geometry.slots);
	return 0;

debugfs_exit:
	twheel_debugfs_exit();
	twheel_clock_exit();
quota_exit:
	twheel_quota_exit();
program_exit:
	twheel_program_exit();
cache_exit:
	twheel_pool_cache_exit();
	return ret;
}

static void __exit twheel_exit(void)
{
	misc_deregister(&twheel_miscdev);
	twheel_debugfs_exit();
	twheel_clock_exit();
	twheel_quota_exit();
	twheel_program_exit();
	twheel_pool_cache_exit();
	/* The last instructions of a kick must have run before this code is unloaded. */
	synchronize_rcu();
}

module_init(twheel_init);
module_exit(twheel_exit);

MODULE_DESCRIPTION("A timer wheel as a device");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(TWHEEL_VERSION);
