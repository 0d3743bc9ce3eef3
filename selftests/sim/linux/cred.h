/* SPDX-License-Identifier: GPL-2.0-only */
/* Who a program is. */
#ifndef SIM_LINUX_CRED_H
#define SIM_LINUX_CRED_H

#include <linux/uidgid.h>

struct cred {
	kuid_t			uid;
	struct user_namespace	*user_ns;
};

#endif /* SIM_LINUX_CRED_H */
