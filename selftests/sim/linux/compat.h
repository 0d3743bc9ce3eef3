/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of 32-bit programs: they are the same. */
#ifndef SIM_LINUX_COMPAT_H
#define SIM_LINUX_COMPAT_H

#define compat_ptr_ioctl	NULL

#endif /* SIM_LINUX_COMPAT_H */
