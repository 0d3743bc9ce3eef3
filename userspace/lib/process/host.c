// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the core asks its host for: see module/core/host.h and userspace/shim.
 *
 * The core does not say for which context it asks. So each call notes its context for the
 * thread that makes it, and all of a call happens at one time.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "chunk.h"
#include "emb.h"
#include "lease.h"

/* Pages of the first arenas */
#define FIRST_PAGES	4

/* The context that this thread has called something on. */
static __thread struct twheel_emb *called EMB_TLS;

void twheel_emb_enter(struct twheel_emb *emb)
{
	called = emb;
	twheel_counted = emb->slot;
}

/*
 * Clocks
 */

clockid_t twheel_emb_clock(const struct twheel_emb *emb)
{
	static const clockid_t clocks[TWHEEL_NR_CLOCKS] = {
		[TWHEEL_MONOTONIC]	= CLOCK_MONOTONIC,
		[TWHEEL_BOOTTIME]	= CLOCK_BOOTTIME,
		[TWHEEL_REALTIME]	= CLOCK_REALTIME,
	};

	return clocks[emb->user.base.clock];
}

u64 twheel_clock_now(enum twheel_clock clock)
{
	return called->now;
}

/* The clocks of a process are those of its time namespace. */
s64 twheel_clock_offset(enum twheel_clock clock)
{
	return 0;
}

u32 twheel_clock_steps(void)
{
	return called->steps;
}

/* The timerfd tells of steps. */
void twheel_clock_watch(struct twheel_waiters *waiters)
{
}

void twheel_clock_unwatch(struct twheel_waiters *waiters)
{
}

/*
 * Wheels. Each call turns its wheel, and sets the timerfd when it ends.
 */

void twheel_base_program(struct twheel_base *base)
{
}

void twheel_waiters_wake(struct twheel_waiters *waiters)
{
	called->news = true;
}

/*
 * Limits. A process has what memory it gets, but for contexts that have a limit together.
 */

unsigned long twheel_max_user_timers = ~0UL;
unsigned long twheel_max_fd_timers;
u32 twheel_limit_changes;

uint64_t twheel_emb_most_timers(void)
{
	return twheel_max_fd_timers;
}

/* Their sum is what the contexts of this process have. */
static struct emb_tally tallies[EMB_TALLIES];

struct emb_tally *twheel_emb_tally(void)
{
	static unsigned int opened;

	return &tallies[__atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED) % EMB_TALLIES];
}

void twheel_quota_put(struct twheel_quota *quota)
{
}

unsigned long twheel_quota_timers(struct twheel_quota *quota)
{
	unsigned long timers = 0;
	size_t i;

	for (i = 0; i < EMB_TALLIES; i++)
		timers += __atomic_load_n(&tallies[i].timers, __ATOMIC_RELAXED);
	return timers;
}

int twheel_quota_try_add_memory(struct twheel_quota *quota, unsigned long bytes)
{
	return 0;
}

int twheel_quota_add_memory(struct twheel_quota *quota, unsigned long bytes)
{
	return twheel_quota_try_add_memory(quota, bytes);
}

void twheel_quota_sub_memory(struct twheel_quota *quota, unsigned long bytes)
{
}

void twheel_quota_memory_leaves(struct twheel_quota *quota, unsigned long bytes)
{
}

void twheel_quota_memory_left(struct twheel_quota *quota, unsigned long bytes)
{
}

bool twheel_quota_is_short(struct twheel_quota *quota)
{
	return false;
}

void twheel_account_close(struct twheel_account *account)
{
}

void twheel_emb_set_limit(struct twheel_emb *emb, struct twheel_emb_limit *limit)
{
	emb->limit = limit;
}

/* Reserve @n timers of the limit that the context shares, if that leaves as many. @n or 0. */
static u32 reserve_timers(u32 n)
{
	struct twheel_emb_limit *limit = called->limit;
	uint64_t timers;

	if (!limit)
		return n;
	timers = __atomic_load_n(&limit->timers, __ATOMIC_RELAXED);
	do {
		if (timers + n > limit->max)
			return 0;
	} while (!__atomic_compare_exchange_n(&limit->timers, &timers, timers + n, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return n;
}

int twheel_account_reserve(struct twheel_account *account)
{
	return reserve_timers(1) ? 0 : -ENOSPC;
}

bool twheel_account_is_sought(const struct twheel_account *account)
{
	return called->limit && called->limit->exact;
}

u32 twheel_account_reserve_more(struct twheel_account *account, u32 n)
{
	return reserve_timers(n);
}

void twheel_account_release(struct twheel_account *account, u32 n)
{
	if (called->limit)
		__atomic_fetch_sub(&called->limit->timers, n, __ATOMIC_RELAXED);
}

/*
 * Words, in segments, which are address space until a page is touched. A child that fork() makes
 * shares them, as it does those of the device.
 */

void twheel_words_init(struct twheel_words *words, struct twheel_quota *quota)
{
}

void twheel_words_destroy(struct twheel_words *words)
{
	uint64_t **segments = called->segments;
	uint32_t i;

	for (i = 0; segments && i < TWHEEL_SEGMENTS; i++) {
		if (segments[i])
			munmap(segments[i], TWHEEL_SEGMENT_BYTES);
	}
	free(segments);
}

int twheel_emb_words(struct twheel_emb *emb, uint32_t segment, uint64_t **words)
{
	void *mapped;

	if (!(emb->ctx->config & TWHEEL_CONFIG_LEASE))
		return -ENODEV;
	if (!emb->segments)
		emb->segments = calloc(TWHEEL_SEGMENTS, sizeof(*emb->segments));
	if (!emb->segments)
		return -ENOMEM;
	if (!emb->segments[segment]) {
		mapped = mmap(NULL, TWHEEL_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (mapped == MAP_FAILED)
			return -ENOMEM;
		emb->segments[segment] = mapped;
	}
	*words = emb->segments[segment];
	return 0;
}

atomic64_t *twheel_words_get(struct twheel_words *words, unsigned long nr)
{
	atomic64_t *first;
	uint64_t *segment;
	uint32_t i;

	if (twheel_emb_words(called, nr >> TWHEEL_SEGMENT_SHIFT, &segment))
		return ERR_PTR(-ENOMEM);
	first = (atomic64_t *)segment + nr % TWHEEL_SEGMENT_WORDS;
	for (i = 0; i < TWHEEL_PLACES; i++) {
		if (!atomic64_read(&first[i]))
			atomic64_set_release(&first[i], TWHEEL_LEASE_EXPIRED);
	}
	return first;
}

/*
 * Memory of timers. aligned_alloc() of single pages would take two for each.
 */

/* Make an arena, of which all pages are unused. */
static bool add_arena(struct emb_pages *pages)
{
	struct emb_arena *arena = malloc(sizeof(*arena));
	size_t n = pages->total;

	if (!arena)
		return false;
	do {
		n = max_t(size_t, n / 2, FIRST_PAGES);
		arena->pages = aligned_alloc(PAGE_SIZE, n * PAGE_SIZE);
	} while (!arena->pages && n > FIRST_PAGES);
	if (!arena->pages) {
		free(arena);
		return false;
	}
	arena->before = pages->last;
	pages->last = arena;
	pages->total += n;
	pages->next = arena->pages;
	pages->left = n;
	return true;
}

void *twheel_page_alloc(void)
{
	struct emb_pages *pages = &called->pages;
	void *page = pages->free;

	if (page) {
		pages->free = *(void **)page;
		return memset(page, 0, PAGE_SIZE);
	}
	if (!pages->left && !add_arena(pages))
		return NULL;
	page = pages->next;
	pages->next += PAGE_SIZE;
	pages->left--;
	return memset(page, 0, PAGE_SIZE);
}

void twheel_page_free(void *page)
{
	struct emb_pages *pages = &called->pages;

	/* All arenas are about to be freed. */
	if (called->closing)
		return;
	*(void **)page = pages->free;
	pages->free = page;
}

void twheel_emb_free_pages(struct twheel_emb *emb)
{
	struct emb_arena *arena, *before;

	for (arena = emb->pages.last; arena; arena = before) {
		before = arena->before;
		free(arena->pages);
		free(arena);
	}
}

/*
 * The end of a call, or a rest in the middle of one: see turn.c
 */

void twheel_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	head->func = func;
	head->next = called->freed;
	called->freed = head;
}

void twheel_rcu_barrier(void)
{
	twheel_emb_free_later(called);
}

void twheel_emb_free_later(struct twheel_emb *emb)
{
	struct rcu_head *head, *next;

	for (head = emb->freed, emb->freed = NULL; head; head = next) {
		next = head->next;
		if (head->func)
			head->func(head);
		else
			free(head);
	}
}

void twheel_resched(void)
{
	twheel_emb_rest(called);
}
