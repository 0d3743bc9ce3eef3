/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters of a module, which the simulation sets by these pointers. */
#ifndef SIM_LINUX_MODULEPARAM_H
#define SIM_LINUX_MODULEPARAM_H

#include <linux/compiler.h>

#define module_param(name, type, mode) module_param_named(name, name, type, mode)
#define module_param_named(name, var, type, mode) __typeof__(var) *sim_param_##name = &(var)
#define MODULE_PARM_DESC(name, text) struct module

#endif /* SIM_LINUX_MODULEPARAM_H */
