/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of a program: fault.c. Its pointers are pointers; the seed says what faults. */
#ifndef SIM_LINUX_UACCESS_H
#define SIM_LINUX_UACCESS_H

/* The functions are here, and what is made of them is the shim's. */
#define SHIM_UACCESS
#include_next <linux/uaccess.h>

size_t copy_from_user(void *to, const void *from, size_t n);
size_t copy_to_user(void *to, const void *from, size_t n);
size_t copy_to_user_nofault(void *to, const void *from, size_t n);
void pagefault_disable(void);
void pagefault_enable(void);
/* May a program have memory there? */
bool user_access_begin(const void *p, size_t n);

#endif /* SIM_LINUX_UACCESS_H */
