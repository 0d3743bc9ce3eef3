/* SPDX-License-Identifier: GPL-2.0-only */
/* Files: what the module's operations are called with. */
#ifndef SIM_LINUX_FS_H
#define SIM_LINUX_FS_H

#include <fcntl.h>

#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm_types.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

struct cred;
struct inode;
struct iov_iter;
struct module;
struct seq_file;

#define FMODE_READ	1U
#define FMODE_WRITE	2U
#define FMODE_NOWAIT	4U
#define IOCB_NOWAIT	8

struct file {
	void			*private_data;
	const struct cred	*f_cred;
	unsigned int		f_mode;
	unsigned int		f_flags;
};

struct kiocb {
	struct file	*ki_filp;
	int		ki_flags;
};

struct file_operations {
	struct module	*owner;
	int		(*open)(struct inode *inode, struct file *file);
	int		(*release)(struct inode *inode, struct file *file);
	ssize_t		(*read_iter)(struct kiocb *iocb, struct iov_iter *to);
	ssize_t		(*write_iter)(struct kiocb *iocb, struct iov_iter *from);
	ssize_t		(*write)(struct file *file, const char *buf, size_t size, loff_t *pos);
	__poll_t	(*poll)(struct file *file, poll_table *table);
	int		(*mmap)(struct file *file, struct vm_area_struct *vma);
	long		(*unlocked_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	long		(*compat_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	void		(*show_fdinfo)(struct seq_file *m, struct file *file);
	int		(*show)(struct seq_file *m, void *unused);
};

#define stream_open(inode, file) ((void)(inode), (void)(file), 0)
#define simple_open		NULL

#endif /* SIM_LINUX_FS_H */
