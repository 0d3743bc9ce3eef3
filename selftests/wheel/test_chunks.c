// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often a program that makes and ends timers all the time has chunks made and freed, which
 * takes locks that all CPUs share: counted, in a context of this process.
 */
#include <linux/slab.h>

static unsigned long made, freed;

static void *counted_zalloc(void)
{
	made++;
	return twheel_page_alloc();
}

static void counted_free(void *page)
{
	freed++;
	twheel_page_free(page);
}

#undef kmem_cache_zalloc
#undef kmem_cache_free
#define kmem_cache_zalloc(cache, gfp)	((void)(cache), counted_zalloc())
#define kmem_cache_free(cache, p)	((void)(cache), counted_free(p))

#include "process.c"

#undef ARRAY_SIZE
#include "tap.h"

#define BATCH	256
#define STEPS	20000

/* A context, the handles of its timers, the oldest of which is first, and how many there are */
struct program {
	struct twheel_emb	*emb;
	u64			*handles;
	u32			first;
	u32			n;
};

static struct program begin(void)
{
	struct program p = { .handles = calloc((STEPS + 1000) * BATCH, sizeof(*p.handles)) };
	int fd = twheel_emb_new(&p.emb, O_CLOEXEC, false, NULL);

	expect(p.handles && fd >= 0, "no context: %d", fd);
	return p;
}

static void end(struct program *p)
{
	twheel_emb_destroy(p->emb, false);
	free(p->handles);
}

static void batch(struct program *p, unsigned long request, void *entries)
{
	struct twheel_batch b = { .entries = (uintptr_t)entries, .count = BATCH };
	int ret = twheel_emb_ioctl(p->emb, request, &b);

	expect(ret == BATCH, "%d of them are carried out", ret);
}

/* Makes as many timers as a batch has. */
static void arm(struct program *p)
{
	struct twheel_arm entries[BATCH] = { };
	u32 i;

	for (i = 0; i < BATCH; i++)
		entries[i].expires = 3600ULL * 1000000000 + i;
	batch(p, TWHEEL_IOC_ARM_BATCH, entries);
	for (i = 0; i < BATCH; i++)
		p->handles[p->first + p->n++] = entries[i].handle;
}

enum order { OLDEST, YOUNGEST, ANY };

static void cancel(struct program *p, enum order order)
{
	struct twheel_cancel entries[BATCH] = { };
	u32 i;

	for (i = 0; i < BATCH; i++) {
		u64 *first = &p->handles[p->first];
		u32 which = order == OLDEST ? 0 : p->n - 1;

		if (order == ANY)
			which = (u32)random() % p->n;
		entries[i].handle = first[which];
		p->n--;
		if (order == OLDEST)
			p->first++;
		else
			first[which] = first[p->n];
	}
	batch(p, TWHEEL_IOC_CANCEL_BATCH, entries);
}

/* A program with @timers timers makes a batch and ends one, again and again. */
static void rounds(u32 timers, enum order order)
{
	struct program p = begin();
	unsigned long before;
	u32 i;

	while (p.n < timers)
		arm(&p);
	/* Its chunks find their places. */
	for (i = 0; i < 100; i++) {
		arm(&p);
		cancel(&p, order);
	}
	before = made + freed;
	for (i = 0; i < STEPS / 4; i++) {
		arm(&p);
		cancel(&p, order);
	}
	expect(made + freed - before <= STEPS / 100, "%u timers, order %u: %lu chunks in %u steps",
	       timers, order, made + freed - before, STEPS / 2);
	end(&p);
}

TEST(chunks_are_kept_where_timers_are_many)
{
	u32 timers;

	for (timers = 2560; timers <= 40000; timers *= 4) {
		rounds(timers, OLDEST);
		rounds(timers, YOUNGEST);
		rounds(timers, ANY);
	}
}

/* Sometimes there are more of them, and sometimes fewer. */
TEST(and_where_their_number_changes)
{
	struct program p = begin();
	unsigned long before;
	u32 i;

	while (p.n < 10000)
		arm(&p);
	before = made + freed;
	for (i = 0; i < STEPS; i++) {
		if (p.n < BATCH || random() % 2)
			arm(&p);
		else
			cancel(&p, ANY);
	}
	expect(made + freed - before <= STEPS * BATCH / 500, "%lu chunks in %u operations",
	       made + freed - before, STEPS * BATCH);
	end(&p);
}

/* What is kept is an eighth of what is in use at most; and of what was in use, one chunk. */
TEST(few_are_kept)
{
	struct program p = begin();
	unsigned long before = made - freed, kept;
	u32 most, i;

	for (most = BATCH; most <= 64 * BATCH; most *= 2) {
		while (p.n < most)
			arm(&p);
		while (p.n) {
			cancel(&p, YOUNGEST);
			kept = made - freed - before - DIV_ROUND_UP(p.n, TWHEEL_CHUNK_TIMERS);
			expect(kept <= max(1u, min(5u, p.n / 512)), "%lu for %u timers", kept, p.n);
		}
	}
	for (i = 0; i < 10; i++) {
		arm(&p);
		cancel(&p, OLDEST);
	}
	expect(made - freed - before == 1, "%lu are kept", made - freed - before);
	end(&p);
}
