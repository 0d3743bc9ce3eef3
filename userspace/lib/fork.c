// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: which process the timer objects of a context belong to.
 *
 * A fork copies the objects, while parent and child go on sharing the timers in
 * the device. If both used theirs, each would take expirations that the other one
 * is waiting for. So each context notes how many forks lie behind its process when
 * it is made. In a child there is one more, and its copies are refused.
 *
 * Locking rules: none. The count changes in a new process only, which has one
 * thread.
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

	/* Two threads may both come here: then a fork counts twice, and that will do. */
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
	tw->forks = twheel_forks;
}
