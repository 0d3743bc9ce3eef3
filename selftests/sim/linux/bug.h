/* SPDX-License-Identifier: GPL-2.0-only */
/* A warning of the module ends the run. */
#ifndef SIM_LINUX_BUG_H
#define SIM_LINUX_BUG_H

#include <linux/build_bug.h>
#include <linux/types.h>

/* report.c */
void sim_warned(const char *file, int line, const char *what)
	__attribute__((__noreturn__, __cold__));

#define WARN_ON_ONCE(condition) ({					\
	bool warn_condition = !!(condition);				\
	if (warn_condition)						\
		sim_warned(__FILE__, __LINE__, #condition);		\
	warn_condition;							\
})
#define WARN_ONCE(condition, ...) WARN_ON_ONCE(condition)

#endif /* SIM_LINUX_BUG_H */
