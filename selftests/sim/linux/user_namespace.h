/* SPDX-License-Identifier: GPL-2.0-only */
/* User namespaces. */
#ifndef SIM_LINUX_USER_NAMESPACE_H
#define SIM_LINUX_USER_NAMESPACE_H

#include <linux/uidgid.h>

struct user_namespace {
	struct user_namespace	*parent;
	kuid_t			owner;
};

extern struct user_namespace init_user_ns;

#endif /* SIM_LINUX_USER_NAMESPACE_H */
