/* SPDX-License-Identifier: GPL-2.0-only */
/* Debugfs: module.c keeps which files there are. */
#ifndef SIM_LINUX_DEBUGFS_H
#define SIM_LINUX_DEBUGFS_H

#include <linux/fs.h>

struct dentry;

struct dentry *debugfs_create_dir(const char *name, struct dentry *parent);
void debugfs_create_file(const char *name, umode_t mode, struct dentry *parent, void *data,
			 const struct file_operations *fops);
void debugfs_remove(struct dentry *dentry);

#endif /* SIM_LINUX_DEBUGFS_H */
