/* SPDX-License-Identifier: GPL-2.0-only */
/* See uaccess.h. */
#ifndef SIM_LINUX_PAGEMAP_H
#define SIM_LINUX_PAGEMAP_H

#include <linux/types.h>

size_t fault_in_safe_writeable(const char *p, size_t n);

#endif /* SIM_LINUX_PAGEMAP_H */
