/* SPDX-License-Identifier: GPL-2.0-only */
/* The library's words of leases: at each access to one another thread may come in. */
#ifndef SIM_PROGRAM_LINUX_ATOMIC_H
#define SIM_PROGRAM_LINUX_ATOMIC_H

#include_next <linux/atomic.h>

void sim_point(void);

#define atomic64_read(v)		(sim_point(), atomic64_read(v))
#define atomic64_set_release(v, new)	(sim_point(), atomic64_set_release(v, new))
#define atomic64_or(bits, v)		(sim_point(), atomic64_or(bits, v))
#define atomic64_xchg(v, new)		(sim_point(), atomic64_xchg(v, new))
#define atomic64_try_cmpxchg(v, old, new) (sim_point(), atomic64_try_cmpxchg(v, old, new))

#endif /* SIM_PROGRAM_LINUX_ATOMIC_H */
