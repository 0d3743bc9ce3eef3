/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that are printed: module.c. */
#ifndef SIM_LINUX_SEQ_FILE_H
#define SIM_LINUX_SEQ_FILE_H

#include <linux/fs.h>

struct seq_file {
	char	*text;
	size_t	used;
	size_t	size;
};

void seq_printf(struct seq_file *m, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

#define seq_puts(m, s)	seq_printf(m, "%s", s)
#define seq_putc(m, c)	seq_printf(m, "%c", c)
#define DEFINE_SHOW_ATTRIBUTE(name) \
	static const struct file_operations name##_fops = { .show = name##_show }

#endif /* SIM_LINUX_SEQ_FILE_H */
