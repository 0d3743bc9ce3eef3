// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: which process the timer objects of a context belong to.
 *
 * A fork copies the objects, while parent and child go on sharing the timers in
 * the device. If both used their objects, each would take expirations that the other
 * is waiting for. So the library numbers the processes that use it, and a context notes
 * the number of the process that made it. In a child there is another number, or none yet,
 * and calls that use the child's copies of the objects are refused.
 *
 * The number is in a page that the kernel fills with zeros in a child, however the child is
 * made: by fork(), _Fork() or clone() without CLONE_VM. Where it cannot (before Linux 4.14, or
 * under a filter of system calls) pthread_atfork() has it set to 0, which only fork() calls.
 * The next number is that of the parent plus one, so no context from before has it.
 *
 * Locking rules: there is no lock. A process gets its number, and the page, once, from
 * whichever of its threads comes first.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

static unsigned int fallback;
static unsigned int last_process;
unsigned int *twheel_process;

static void forget_process(void)
{
	fallback = 0;
}

/* Make a page that is empty in a child. NULL if the kernel cannot. */
static unsigned int *make_page(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (!madvise(page, size, MADV_WIPEONFORK))
		return page;
	munmap(page, size);
	return NULL;
}

/* Have a place for the number of this process. 0 or -errno. */
static int make_place(void)
{
	unsigned int *place = make_page(), *none = NULL;

	if (!place) {
		/* If two threads come here at once it is called twice, which does no harm. */
		int ret = -pthread_atfork(NULL, NULL, forget_process);

		if (ret)
			return ret;
		place = &fallback;
	}
	if (!__atomic_compare_exchange_n(&twheel_process, &none, place, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) && place != &fallback)
		munmap(place, (size_t)sysconf(_SC_PAGESIZE));
	return 0;
}

/* The number of this process, for which there is a place. */
static unsigned int number_process(void)
{
	unsigned int none = 0;

	if (!__atomic_load_n(twheel_process, __ATOMIC_ACQUIRE))
		__atomic_compare_exchange_n(twheel_process, &none,
					    __atomic_add_fetch(&last_process, 1, __ATOMIC_RELAXED),
					    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return __atomic_load_n(twheel_process, __ATOMIC_ACQUIRE);
}

int twheel_which_process(unsigned int *number)
{
	if (!__atomic_load_n(&twheel_process, __ATOMIC_ACQUIRE)) {
		int ret = make_place();

		if (ret)
			return ret;
	}
	*number = number_process();
	return 0;
}

TWHEEL_API void twheel_take_over(struct twheel *tw)
{
	if (twheel_inherited(tw) && !tw->backend->take_over(tw))
		return;
	tw->process = number_process();
}
