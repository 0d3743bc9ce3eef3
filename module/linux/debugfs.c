// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters and histograms in debugfs.
 *
 *	counters	a header, then a line of numbers for each possible CPU
 *	histograms	for each histogram and CPU its name, the CPU, the buckets
 *	reset		writing anything here makes all of them count from 0 again
 *
 * A reset does not write the counters, as only their own CPUs can do that without losing
 * counts. It keeps a copy of them, which is then subtracted.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "counters.h"
#include "main.h"

DEFINE_PER_CPU(struct twheel_stats, twheel_stats);

/* What each CPU had counted at the last reset; under reset_lock. */
static struct twheel_stats *at_reset;
static DEFINE_MUTEX(reset_lock);

static struct dentry *folder;

static const char * const counter_names[TWHEEL_NR_COUNTERS] = {
	[TWHEEL_COUNT_ARMED]		= "armed",
	[TWHEEL_COUNT_REARMED]		= "rearmed",
	[TWHEEL_COUNT_CANCELLED]	= "cancelled",
	[TWHEEL_COUNT_EXPIRED]		= "expired",
	[TWHEEL_COUNT_READ]		= "read",
	[TWHEEL_COUNT_CASCADED]		= "cascaded",
	[TWHEEL_COUNT_MIGRATED]		= "migrated",
	[TWHEEL_COUNT_INTERRUPTS]	= "interrupts",
};

static const char * const histogram_names[TWHEEL_NR_HISTOGRAMS] = {
	[TWHEEL_HIST_LATENESS]	= "lateness",
	[TWHEEL_HIST_EXPIRED]	= "expired",
	[TWHEEL_HIST_READ]	= "read",
};

/* Show the @n counts of @cpu from @first on. */
static void show_since(struct seq_file *m, int cpu, u32 first, u32 n)
{
	const struct twheel_stats *now = per_cpu_ptr(&twheel_stats, cpu);
	u32 i;

	for (i = first; i < first + n; i++)
		seq_printf(m, " %lu", READ_ONCE(now->counts[i]) - at_reset[cpu].counts[i]);
	seq_putc(m, '\n');
}

static int counters_show(struct seq_file *m, void *unused)
{
	int cpu, i;

	seq_puts(m, "cpu");
	for (i = 0; i < TWHEEL_NR_COUNTERS; i++)
		seq_printf(m, " %s", counter_names[i]);
	seq_putc(m, '\n');

	mutex_lock(&reset_lock);
	for_each_possible_cpu(cpu) {
		seq_printf(m, "%d", cpu);
		show_since(m, cpu, 0, TWHEEL_NR_COUNTERS);
	}
	mutex_unlock(&reset_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int histograms_show(struct seq_file *m, void *unused)
{
	int cpu, i;

	mutex_lock(&reset_lock);
	for (i = 0; i < TWHEEL_NR_HISTOGRAMS; i++) {
		for_each_possible_cpu(cpu) {
			seq_printf(m, "%s %d", histogram_names[i], cpu);
			show_since(m, cpu, TWHEEL_NR_COUNTERS + i * TWHEEL_HIST_BUCKETS,
				   TWHEEL_HIST_BUCKETS);
		}
	}
	mutex_unlock(&reset_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(histograms);

static ssize_t reset_write(struct file *file, const char __user *buf,
			   size_t size, loff_t *pos)
{
	int cpu, i;

	mutex_lock(&reset_lock);
	for_each_possible_cpu(cpu) {
		const struct twheel_stats *now = per_cpu_ptr(&twheel_stats, cpu);

		for (i = 0; i < ARRAY_SIZE(now->counts); i++)
			at_reset[cpu].counts[i] = READ_ONCE(now->counts[i]);
	}
	mutex_unlock(&reset_lock);
	return size;
}

static const struct file_operations reset_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= reset_write,
};

void twheel_debugfs_init(void)
{
	at_reset = kvcalloc(nr_cpu_ids, sizeof(*at_reset), GFP_KERNEL);
	if (!at_reset)
		return;

	folder = debugfs_create_dir("twheel", NULL);
	debugfs_create_file("counters", 0400, folder, NULL, &counters_fops);
	debugfs_create_file("histograms", 0400, folder, NULL, &histograms_fops);
	debugfs_create_file("reset", 0200, folder, NULL, &reset_fops);
}

void twheel_debugfs_exit(void)
{
	debugfs_remove(folder);
	kvfree(at_reset);
}
