/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A stand-in: the memory of the program is that of whoever runs the core. An address that leads
 * nowhere ends the program. Only a null pointer is an error. A test in which other addresses are
 * errors, too, defines SHIM_UACCESS, and brings its own functions.
 */
#ifndef SHIM_LINUX_UACCESS_H
#define SHIM_LINUX_UACCESS_H

#include <errno.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/types.h>

#ifndef SHIM_UACCESS

#define pagefault_disable()	((void)0)
#define pagefault_enable()	((void)0)

/* How many of the @size bytes were not copied */
static inline size_t copy_from_user(void *to, const void *from, size_t size)
{
	if (!from)
		return size;
	memcpy(to, from, size);
	return 0;
}

static inline size_t copy_to_user(void *to, const void *from, size_t size)
{
	if (!to)
		return size;
	memcpy(to, from, size);
	return 0;
}

#define copy_to_user_nofault(to, from, size) copy_to_user(to, from, size)
/* In between nothing but unsafe_get_user() and unsafe_put_user() is called. */
#define user_access_begin(p, size)	((p) != NULL)

#endif /* SHIM_UACCESS */

/* An address need not be aligned. */
#define put_user(value, p) ({						\
	__typeof__(*(p)) put_value = (value);				\
	copy_to_user(p, &put_value, sizeof(put_value)) ? -EFAULT : 0;	\
})

#define user_access_end()		((void)0)
#define unsafe_get_user(x, p, label) do {				\
	if (copy_from_user(&(x), p, sizeof(x)))				\
		goto label;						\
} while (0)
#define unsafe_put_user(x, p, label) do {				\
	if (put_user(x, p))						\
		goto label;						\
} while (0)

#endif /* SHIM_LINUX_UACCESS_H */
