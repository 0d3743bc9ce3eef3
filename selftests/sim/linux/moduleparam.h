/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters of a module, which the simulation sets by these pointers. */
#ifndef SIM_LINUX_MODULEPARAM_H
#define SIM_LINUX_MODULEPARAM_H

#include <stdlib.h>

#include <linux/compiler.h>
#include <linux/errno.h>

struct kernel_param {
	void *arg;
};

struct kernel_param_ops {
	int (*set)(const char *text, const struct kernel_param *param);
	int (*get)(char *text, const struct kernel_param *param);
};

#define module_param(name, type, mode) module_param_named(name, name, type, mode)
#define module_param_named(name, var, type, mode) __typeof__(var) *sim_param_##name = &(var)
#define module_param_cb(name, ops, var, mode)				\
	const struct kernel_param_ops *sim_ops_##name = (ops);		\
	__typeof__(var) sim_param_##name = (var)
#define __MODULE_PARM_TYPE(name, type) struct module
#define MODULE_PARM_DESC(name, text) struct module

static inline int param_set_ulong(const char *text, const struct kernel_param *param)
{
	char *end;
	unsigned long value = strtoul(text, &end, 0);

	if (*end)
		return -EINVAL;
	WRITE_ONCE(*(unsigned long *)param->arg, value);
	return 0;
}

/* Nobody reads one. */
static inline int param_get_ulong(char *text, const struct kernel_param *param)
{
	return 0;
}

#endif /* SIM_LINUX_MODULEPARAM_H */
