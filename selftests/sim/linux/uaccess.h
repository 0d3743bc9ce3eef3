/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of a program: fault.c. Its pointers are pointers; the seed says what faults. */
#ifndef SIM_LINUX_UACCESS_H
#define SIM_LINUX_UACCESS_H

#include <linux/kernel.h>
#include <linux/types.h>

size_t copy_from_user(void *to, const void *from, size_t n);
size_t copy_to_user(void *to, const void *from, size_t n);
size_t copy_to_user_nofault(void *to, const void *from, size_t n);
void pagefault_disable(void);
void pagefault_enable(void);

#define put_user(value, p) ({						\
	__typeof__(*(p)) put_value = (value);				\
	copy_to_user(p, &put_value, sizeof(put_value)) ? -EFAULT : 0;	\
})

/* May a program have memory there? In between nothing but the next two is called. */
bool user_access_begin(const void *p, size_t n);
#define user_access_end()		((void)0)
#define unsafe_get_user(x, p, label) do {				\
	if (copy_from_user(&(x), p, sizeof(x)))				\
		goto label;						\
} while (0)
#define unsafe_put_user(x, p, label) do {				\
	if (put_user(x, p))						\
		goto label;						\
} while (0)

#endif /* SIM_LINUX_UACCESS_H */
