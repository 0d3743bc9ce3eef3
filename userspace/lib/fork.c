// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: which process the timer objects of a context belong to.
 *
 * A fork copies the objects, while parent and child go on sharing the timers in
 * the device. If both used their objects, each would take expirations that the other
 * is waiting for. So the library counts the forks that have led to a process, and a
 * context notes the count when it is made. In a child the count is higher, and calls
 * that use the child's copies of the objects are refused.
 *
 * Locking rules: there is no lock. The count changes only in a new process, which has
 * one thread.
 */
#include <pthread.h>

#include "internal.h"

unsigned int twheel_forks;

static void count_fork(void)
{
	twheel_forks++;
}

int twheel_watch_forks(struct twheel *tw)
{
	static bool watching;

	/* If two threads come here at once a fork counts twice, which does no harm. */
	if (!__atomic_load_n(&watching, __ATOMIC_ACQUIRE)) {
		int ret = -pthread_atfork(NULL, NULL, count_fork);

		if (ret)
			return ret;
		__atomic_store_n(&watching, true, __ATOMIC_RELEASE);
	}
	tw->forks = twheel_forks;
	return 0;
}

TWHEEL_API void twheel_take_over(struct twheel *tw)
{
	if (twheel_inherited(tw))
		tw->backend->take_over(tw);
	tw->forks = twheel_forks;
}
