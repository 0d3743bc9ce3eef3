/* SPDX-License-Identifier: GPL-2.0-only */
/* Namespaces of a task: one, of time. */
#ifndef SIM_LINUX_NSPROXY_H
#define SIM_LINUX_NSPROXY_H

#include <linux/time_namespace.h>

struct nsproxy {
	struct time_namespace *time_ns;
};

#endif /* SIM_LINUX_NSPROXY_H */
