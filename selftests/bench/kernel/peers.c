// SPDX-License-Identifier: GPL-2.0-only
/*
 * peers - what the kernel's own timers cost, in the kernel: hrtimers, and timer lists
 *
 * For user-mode Linux, beside twheel. Reading /sys/kernel/debug/peers measures one round of
 * all sizes up to a million, and yields the lines that selftests/bench/speed prints,
 * separated by tabs:
 *
 *	facility batch operation pending threads ns
 *
 * with the facilities hrtimer and timer_list, and the operations arm, random (arm a pending
 * one again, for any time) and cancel. As in speed, timers are re-armed and cancelled in random
 * order, and the clock is not read for each. No timer expires: all are due in an hour to two.
 */
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

/* A size is measured with at least so many operations, and as many as there are timers. */
#define LEAST_OPERATIONS	200000U
#define MOST			1000000U
/* Between two looks whether somebody else wants the CPU, and at the clock. */
#define STRETCH			10000U

enum operation { ARM, RANDOM, CANCEL };

static const char *const names[] = { "arm", "random", "cancel" };

/**
 * struct kind - a kind of timer; functions take an array of them and an index
 * @name: what it is called in the output
 * @size: bytes that a timer takes
 * @init: make it a timer that is not pending
 * @arm: have it expire an hour after @now, and up to another one, as @random says
 * @cancel: have it not expire
 */
struct kind {
	const char *name;
	size_t size;
	void (*init)(void *timers, unsigned long i);
	void (*arm)(void *timers, unsigned long i, ktime_t now, u32 random);
	void (*cancel)(void *timers, unsigned long i);
};

static enum hrtimer_restart hrtimer_expired(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

static void hrtimer_kind_init(void *timers, unsigned long i)
{
	struct hrtimer *timer = (struct hrtimer *)timers + i;

	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = hrtimer_expired;
}

static void hrtimer_kind_arm(void *timers, unsigned long i, ktime_t now, u32 random)
{
	hrtimer_start((struct hrtimer *)timers + i,
		      ktime_add_ns(now, 3600 * NSEC_PER_SEC + random * 838ULL),
		      HRTIMER_MODE_ABS);
}

static void hrtimer_kind_cancel(void *timers, unsigned long i)
{
	hrtimer_cancel((struct hrtimer *)timers + i);
}

static void list_expired(struct timer_list *timer)
{
}

static void list_kind_init(void *timers, unsigned long i)
{
	timer_setup((struct timer_list *)timers + i, list_expired, 0);
}

static void list_kind_arm(void *timers, unsigned long i, ktime_t now, u32 random)
{
	mod_timer((struct timer_list *)timers + i, jiffies + 3600 * HZ + random % (3600 * HZ));
}

static void list_kind_cancel(void *timers, unsigned long i)
{
	timer_delete((struct timer_list *)timers + i);
}

static const struct kind kinds[] = {
	{ "hrtimer", sizeof(struct hrtimer),
	  hrtimer_kind_init, hrtimer_kind_arm, hrtimer_kind_cancel },
	{ "timer_list", sizeof(struct timer_list),
	  list_kind_init, list_kind_arm, list_kind_cancel },
};

/* Marsaglia's xorshift: a few cycles, and the same in each run. */
static u32 next_random(void)
{
	static u32 state = 2463534242;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* Numbers from 0 to @n - 1 in random order, or NULL */
static u32 *shuffled(u32 n)
{
	u32 *order = vmalloc(array_size(n, sizeof(*order)));
	u32 i, j;

	if (!order)
		return NULL;
	for (i = 0; i < n; i++) {
		j = ((u64)next_random() * (i + 1)) >> 32;
		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

/* Do @operation on timers @from to @to, in their order. Returns how many ns it took. */
static u64 stretch(const struct kind *kind, void *timers, const u32 *order, u32 from, u32 to,
		   enum operation operation)
{
	ktime_t begun = ktime_get();
	u32 i;

	switch (operation) {
	case ARM:
		for (i = from; i < to; i++)
			kind->arm(timers, i, begun, next_random());
		break;
	case RANDOM:
		for (i = from; i < to; i++)
			kind->arm(timers, order[i], begun, next_random());
		break;
	case CANCEL:
		for (i = from; i < to; i++)
			kind->cancel(timers, order[i]);
		break;
	}
	return ktime_to_ns(ktime_sub(ktime_get(), begun));
}

static u64 measure(const struct kind *kind, void *timers, const u32 *order, u32 n,
		   enum operation operation)
{
	u64 took = 0;
	u32 from;

	for (from = 0; from < n; from += STRETCH) {
		took += stretch(kind, timers, order, from, min(n, from + STRETCH), operation);
		cond_resched();
	}
	return took;
}

/* Arm all, arm random ones again and cancel all, as often as there is something to measure. */
static int measure_size(struct seq_file *seq, const struct kind *kind, u32 n)
{
	u32 times = DIV_ROUND_UP(LEAST_OPERATIONS, n), i;
	u64 took[ARRAY_SIZE(names)] = {};
	enum operation operation;
	void *timers;
	u32 *order;

	timers = vzalloc(array_size(n, kind->size));
	order = shuffled(n);
	if (!timers || !order) {
		vfree(timers);
		vfree(order);
		return -ENOMEM;
	}

	for (i = 0; i < n; i++)
		kind->init(timers, i);
	for (i = 0; i < times; i++)
		for (operation = ARM; operation <= CANCEL; operation++)
			took[operation] += measure(kind, timers, order, n, operation);
	vfree(timers);
	vfree(order);

	for (operation = ARM; operation <= CANCEL; operation++) {
		u64 tenths = div64_u64(took[operation] * 10, (u64)times * n);

		seq_printf(seq, "%s\t0\t%s\t%u\t1\t%llu.%llu\n", kind->name,
			   names[operation], n, tenths / 10, tenths % 10);
	}
	return 0;
}

static int peers_show(struct seq_file *seq, void *unused)
{
	u32 n;
	size_t i;
	int err;

	for (n = 1000; n <= MOST; n *= 10) {
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			err = measure_size(seq, &kinds[i], n);
			if (err)
				return err;
		}
	}
	return 0;
}

/* All lines fit: a buffer that has to grow would have all measured again. */
static int peers_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, peers_show, NULL, SZ_16K);
}

static const struct file_operations peers_fops = {
	.owner		= THIS_MODULE,
	.open		= peers_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static struct dentry *peers_file;

static int __init peers_init(void)
{
	peers_file = debugfs_create_file("peers", 0400, NULL, NULL, &peers_fops);
	return PTR_ERR_OR_ZERO(peers_file);
}
module_init(peers_init);

static void __exit peers_exit(void)
{
	debugfs_remove(peers_file);
}
module_exit(peers_exit);

MODULE_DESCRIPTION("Measures the kernel's own timers");
MODULE_LICENSE("GPL");
