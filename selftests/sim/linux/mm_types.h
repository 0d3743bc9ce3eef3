/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages, and a program's mappings of them. */
#ifndef SIM_LINUX_MM_TYPES_H
#define SIM_LINUX_MM_TYPES_H

#include <linux/types.h>

struct file;
struct vm_operations_struct;

struct page {
	void	*address;
	int	refs;
};

struct vm_area_struct {
	struct file				*vm_file;
	unsigned long				vm_flags;
	const struct vm_operations_struct	*vm_ops;
};

struct vm_fault {
	struct vm_area_struct	*vma;
	unsigned long		pgoff;
	struct page		*page;
};

struct vm_operations_struct {
	vm_fault_t (*fault)(struct vm_fault *vmf);
};

#endif /* SIM_LINUX_MM_TYPES_H */
