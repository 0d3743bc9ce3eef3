// SPDX-License-Identifier: GPL-2.0-only
/* What the seed makes fail: allocations, copies to and from programs; signals; random numbers. */
#include <string.h>

#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/pagemap.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "kernel.h"

/* Does what has a chance of @of_65536 to fail, and is of @kind, do so? */
static bool fails(enum fault_kind kind, u32 of_65536)
{
	if (!self || !of_65536)
		return false;
	if (sim_config.fault == AT_RANDOM)
		return chance(of_65536);
	return sim_fault(kind, ++sim_stats.may_fail[kind]) == sim_config.fault;
}

bool alloc_fails(gfp_t gfp)
{
	if (gfp & GFP_KERNEL) {
		might_sleep("allocating");
		sim_point();
	}
	if (!fails(ALLOCATION, sim_config.fail_chance))
		return false;
	self->lacks_memory = true;
	sim_trace("an allocation fails");
	return true;
}

bool sim_signal_pending(void)
{
	return chance(sim_config.signal_chance);
}

/*
 * A page fault takes as long as a disk does, or as the other program to which userfaultfd gave it.
 */
static void answer_fault(u32 of_65536)
{
	if (!chance(of_65536))
		return;
	sim_trace("a page fault is not answered yet");
	sim_sleep_until(sim_now() + sim_below(sim_below(4) ? NSEC_PER_MSEC : 50 * NSEC_PER_MSEC));
}

/*
 * How many of @n bytes at @p, which is an address of a program, can be reached, or if @stores be
 * stored
 */
static size_t reachable(const void *p, size_t n, bool stores)
{
	bool no_faults = self && self->no_faults;
	const char *at = p;
	size_t reached;

	/* A fault that can be handled, by sleeping, is none to the caller. */
	if (!no_faults) {
		might_sleep("a page fault");
		sim_point();
		if (self)
			answer_fault(sim_config.late_chance);
	}
	if (n && no_faults && self->absent)
		return 0;
	if (self && self->hole >= at && self->hole < at + n && (stores || !self->read_only)) {
		sim_stats.efaults++;
		self->faults = true;
		return (size_t)(self->hole - at);
	}
	if (!n || !fails(COPY, no_faults ? sim_config.fault_chance : sim_config.efault_chance))
		return n;
	sim_stats.faults++;
	sim_stats.efaults += !no_faults;
	self->faults = true;
	/* At random it is back by the next copy. */
	self->absent = no_faults && sim_config.fault != AT_RANDOM;
	reached = sim_below((u32)n);
	/* What the program has not is mostly not there until the call ends. */
	if (!no_faults && sim_below(4)) {
		self->hole = at + reached;
		self->read_only = false;
	}
	sim_trace("of %zu bytes of a program %zu can be reached", n, reached);
	return reached;
}

void sim_call_begins(void)
{
	self->lacks_memory = false;
	self->faults = false;
	self->absent = false;
	self->hole = self->next_hole;
	self->next_hole = NULL;
	self->read_only = true;
}

bool sim_hole(const void *at)
{
	if (sim_config.fault != AT_RANDOM)
		return false;
	self->next_hole = at;
	return true;
}

void sim_call_ends(long ret)
{
	expect(ret != -ENOMEM || self->lacks_memory, CONTAINED,
	       "a call ends with ENOMEM, and no allocation has failed in it");
	expect(ret != -EFAULT || self->faults, CONTAINED,
	       "a call ends with EFAULT, and no copy has failed in it");
}

void pagefault_disable(void)
{
	if (self)
		self->no_faults++;
}

void pagefault_enable(void)
{
	if (self)
		self->no_faults--;
}

size_t copy_from_user(void *to, const void *from, size_t n)
{
	size_t copied = reachable(from, n, false);

	memcpy(to, from, copied);
	/* As the kernel does, so that nothing is left of what was there */
	memset((char *)to + copied, 0, n - copied);
	return n - copied;
}

size_t copy_to_user(void *to, const void *from, size_t n)
{
	size_t copied = reachable(to, n, true);

	memcpy(to, from, copied);
	return n - copied;
}

bool user_access_begin(const void *p, size_t n)
{
	if (p)
		return true;
	self->faults = true;
	return false;
}

size_t copy_to_user_nofault(void *to, const void *from, size_t n)
{
	size_t left;

	pagefault_disable();
	left = copy_to_user(to, from, n);
	pagefault_enable();
	return left;
}

/*
 * Memory is faulted in where a copy has failed. If that is the one thing that fails, it goes on
 * doing so for every second one.
 */
static bool goes_on_failing(void)
{
	if (sim_config.fault == AT_RANDOM || !sim_config.efault_chance || sim_config.fault / 2 % 2)
		return false;
	sim_stats.efaults++;
	return true;
}

size_t fault_in_safe_writeable(const char *p, size_t n)
{
	/* It was seen not to be there. */
	answer_fault(100 * sim_config.late_chance);
	if (!reachable(p, 1, true) || goes_on_failing())
		return n;
	self->absent = false;
	return 0;
}

size_t copy_to_iter(const void *from, size_t n, struct iov_iter *iter)
{
	size_t copied = reachable(iter->at, min(n, iter->count), true);

	memcpy(iter->at, from, copied);
	iter->at += copied;
	iter->count -= copied;
	return copied;
}

size_t copy_from_iter(void *to, size_t n, struct iov_iter *iter)
{
	size_t copied = reachable(iter->at, min(n, iter->count), false);

	memcpy(to, iter->at, copied);
	iter->at += copied;
	iter->count -= copied;
	return copied;
}

void iov_iter_revert(struct iov_iter *iter, size_t n)
{
	iter->at -= n;
	iter->count += n;
}

size_t fault_in_iov_iter_writeable(struct iov_iter *iter, size_t n)
{
	size_t left;

	if (!iter->faulting)
		return fault_in_safe_writeable(iter->at, n);
	++*iter->faulting;
	left = fault_in_safe_writeable(iter->at, n);
	--*iter->faulting;
	return left;
}

void get_random_bytes(void *p, size_t n)
{
	char *byte = p;

	while (n--)
		*byte++ = sim_config.zeros ? 0 : (char)sim_random();
}

u32 get_random_u32(void)
{
	return (u32)(sim_random() >> 32);
}
