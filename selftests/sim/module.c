// SPDX-License-Identifier: GPL-2.0-only
/* Loading a module, its device, and its files in debugfs. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/user_namespace.h>

#include "kernel.h"

#define MAX_FILES	8
/* Room for the text of a file in debugfs */
#define DEBUGFS_TEXT	(1 << 16)

const struct file_operations *sim_device;
struct user_namespace init_user_ns;
static const struct file_operations *files[MAX_FILES];
static int nr_files;
/* The kernel has one, too. */
static struct mutex param_lock = SIM_LOCK_INIT(param);

void module_begin(void)
{
	param_lock.order.time = 0;
	sim_device = NULL;
	nr_files = 0;
}

int misc_register(struct miscdevice *device)
{
	if (alloc_fails(GFP_KERNEL))
		return -ENOMEM;
	sim_device = device->fops;
	return 0;
}

void misc_deregister(struct miscdevice *device)
{
	sim_device = NULL;
}

void sim_no_device_is_left(void)
{
	expect(!sim_device, CONTAINED, "the device is left");
	expect(!nr_files, CONTAINED, "%d files in debugfs are left", nr_files);
}

struct dentry *debugfs_create_dir(const char *name, struct dentry *parent)
{
	return NULL;
}

void debugfs_create_file(const char *name, umode_t mode, struct dentry *parent, void *data,
			 const struct file_operations *fops)
{
	expect(nr_files < MAX_FILES, SIM_ITSELF, "there are too many files in debugfs");
	files[nr_files++] = fops;
}

void debugfs_remove(struct dentry *dentry)
{
	nr_files = 0;
}

void seq_printf(struct seq_file *m, const char *format, ...)
{
	size_t left = m->size - m->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(m->text + m->used, left, format, args);
	va_end(args);
	m->used += (size_t)n < left ? (size_t)n : left;
}

void sim_read_debugfs(void)
{
	char *text = malloc(DEBUGFS_TEXT);
	int i;

	for (i = 0; i < nr_files; i++) {
		struct seq_file m = { .text = text, .size = DEBUGFS_TEXT };

		if (files[i]->show)
			files[i]->show(&m, NULL);
		else
			files[i]->write(NULL, "1", 1, NULL);
		expect(!files[i]->show || m.used > 40, CONTAINED, "a file in debugfs is empty");
	}
	free(text);
}

void sim_set_user_limit(unsigned long limit)
{
	struct kernel_param param = { .arg = sim_param_max_user_timers };
	char text[24];

	snprintf(text, sizeof(text), "%lu", limit);
	mutex_lock(&param_lock);
	expect(sim_ops_max_user_timers->set("12 timers", &param) == -EINVAL, STABLE_INTERFACE,
	       "a limit that is no number is set");
	expect(!sim_ops_max_user_timers->set(text, &param), CONTAINED, "a limit cannot be set");
	mutex_unlock(&param_lock);
	drain_all();
}

/* What the compiler counts of the module is in its variables, too: add that to what is on disk. */
#ifdef SIM_COVERAGE
#include <gcov.h>

static void keep_counts(void)
{
	__gcov_dump();
	__gcov_reset();
}
#else
static void keep_counts(void)
{
}
#endif

/* The Makefile puts the module's variables into these sections. */
extern char __start_moddata[], __stop_moddata[], __start_modbss[], __stop_modbss[];

/* Byte by byte, and not by memcpy(), as the address sanitizer has poisoned what is in between. */
__attribute__((__no_sanitize__("address")))
void sim_fresh_module(void)
{
	static volatile char *kept;
	size_t n = (size_t)(__stop_moddata - __start_moddata), i;
	volatile char *data = __start_moddata, *bss = __start_modbss;

	if (!kept) {
		kept = malloc(n);
		for (i = 0; i < n; i++)
			kept[i] = data[i];
		return;
	}
	keep_counts();
	for (i = 0; i < n; i++)
		data[i] = kept[i];
	for (i = 0; i < (size_t)(__stop_modbss - __start_modbss); i++)
		bss[i] = 0;
}
