// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An embedded context's timers: their memory, handles and words.
 *
 * Timers live in chunks that are aligned to their size: so the address of a timer gives its
 * chunk, and an index is made of the number of the chunk and the place in it. Memory that
 * was once used stays with the context, for new timers. Memory that was not is not touched.
 *
 * Words lie in segments, which are address space until a page is touched.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emb.h"

_Static_assert(sizeof(struct emb_timer) == 64, "a timer is a cache line");
_Static_assert(sizeof(struct emb_chunk) == 64 * EMB_PLACES, "a chunk's header is a timer");

/* So that each index, and the end of all of them, fits 32 bits. */
#define MAX_CHUNKS	(UINT32_MAX >> EMB_PLACE_BITS)

/* Timers of all contexts in this process. */
static uint64_t all_timers;

uint64_t twheel_emb_all_timers(void)
{
	return __atomic_load_n(&all_timers, __ATOMIC_RELAXED);
}

/* What fits 4% of memory, as the module has it. */
uint64_t twheel_emb_max_timers(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	return pages / 25 * (size / sizeof(struct emb_timer));
}

static void free_segments(struct emb_pool *pool)
{
	uint32_t i;

	for (i = 0; pool->segments && i < TWHEEL_SEGMENTS; i++) {
		if (pool->segments[i])
			munmap(pool->segments[i], TWHEEL_SEGMENT_BYTES);
	}
	free(pool->segments);
}

int twheel_emb_pool_configure(struct emb_pool *pool, uint32_t config)
{
	bool leases = config & TWHEEL_CONFIG_LEASE, keyed = config & TWHEEL_CONFIG_KEYED;
	uint64_t **segments = pool->segments;

	/* Words that were mapped stay where they are. */
	if (leases && !segments) {
		segments = calloc(TWHEEL_SEGMENTS, sizeof(*segments));
		if (!segments)
			return -ENOMEM;
	}
	if (keyed && !pool->table.heads && twheel_emb_table_init(&pool->table)) {
		if (!pool->segments)
			free(segments);
		return -ENOMEM;
	}
	if (!keyed)
		twheel_emb_table_destroy(&pool->table);
	if (!leases)
		free_segments(pool);
	pool->segments = leases ? segments : NULL;
	return 0;
}

void twheel_emb_pool_destroy(struct emb_pool *pool)
{
	uint32_t i;

	for (i = 0; i < pool->nr_chunks; i++) {
		free(pool->chunks[i]->keys);
		free(pool->chunks[i]);
	}
	free(pool->chunks);
	free_segments(pool);
	twheel_emb_table_destroy(&pool->table);
	__atomic_fetch_sub(&all_timers, pool->nr_timers, __ATOMIC_RELAXED);
}

int twheel_emb_words(struct emb_pool *pool, uint32_t segment, uint64_t **words)
{
	void *mapped;

	if (!pool->segments)
		return -ENODEV;
	if (!pool->segments[segment]) {
		mapped = mmap(NULL, TWHEEL_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (mapped == MAP_FAILED)
			return -ENOMEM;
		pool->segments[segment] = mapped;
	}
	*words = pool->segments[segment];
	return 0;
}

/* Give @chunk its keys and words, as the context has them. 0 or -ENOMEM. */
static int equip_chunk(struct emb_pool *pool, struct emb_chunk *chunk)
{
	uint32_t first = chunk->nr << EMB_PLACE_BITS, place;
	uint64_t *words;

	if (pool->segments) {
		if (twheel_emb_words(pool, first >> TWHEEL_SEGMENT_SHIFT, &words))
			return -ENOMEM;
		chunk->words = words + first % TWHEEL_SEGMENT_WORDS;
		for (place = 0; place < EMB_PLACES; place++)
			__atomic_store_n(&chunk->words[place], TWHEEL_LEASE_EXPIRED,
					 __ATOMIC_RELAXED);
	}
	if (pool->table.heads) {
		chunk->keys = malloc(EMB_PLACES * sizeof(*chunk->keys));
		if (!chunk->keys)
			return -ENOMEM;
	}
	return 0;
}

static int add_chunk(struct emb_pool *pool)
{
	struct emb_chunk *chunk;

	if (pool->nr_chunks == MAX_CHUNKS)
		return -ENOMEM;
	if (pool->nr_chunks == pool->room) {
		uint32_t room = pool->room ? pool->room * 2 : 16;
		struct emb_chunk **chunks = realloc(pool->chunks, room * sizeof(*chunks));

		if (!chunks)
			return -ENOMEM;
		pool->chunks = chunks;
		pool->room = room;
	}

	chunk = aligned_alloc(sizeof(*chunk), sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	memset(&chunk->timers[0], 0, sizeof(chunk->timers[0]));
	chunk->nr = pool->nr_chunks;
	chunk->used = 1;
	if (equip_chunk(pool, chunk)) {
		free(chunk);
		return -ENOMEM;
	}
	pool->chunks[pool->nr_chunks++] = chunk;
	pool->settled = true;
	return 0;
}

/* A free timer; NULL if all that there are were used before and are not free. */
static struct emb_timer *free_timer(struct emb_pool *pool)
{
	struct emb_chunk *chunk;
	struct emb_timer *timer;

	if (pool->free) {
		timer = twheel_emb_at(pool, pool->free);
		pool->free = timer->next_free;
		return timer;
	}
	chunk = pool->nr_chunks ? pool->chunks[pool->nr_chunks - 1] : NULL;
	if (!chunk || chunk->used == EMB_PLACES)
		return NULL;
	timer = &chunk->timers[chunk->used++];
	timer->state = TWHEEL_STATE_NONE;
	timer->flags = 0;
	return timer;
}

int twheel_emb_alloc(struct emb_pool *pool, uint64_t key, struct emb_timer **timerp)
{
	struct emb_timer *timer;

	if (pool->nr_timers >= pool->limit)
		return -ENOSPC;
	timer = free_timer(pool);
	if (!timer) {
		if (add_chunk(pool))
			return -ENOMEM;
		timer = free_timer(pool);
	}
	timer->generation = ++pool->generation;
	pool->nr_timers++;
	__atomic_fetch_add(&all_timers, 1, __ATOMIC_RELAXED);
	if (pool->table.heads)
		twheel_emb_table_add(pool, timer, key);
	*timerp = timer;
	return 0;
}

void twheel_emb_free(struct emb_pool *pool, struct emb_timer *timer)
{
	if (pool->table.heads)
		twheel_emb_table_remove(pool, timer);
	timer->state = TWHEEL_STATE_NONE;
	timer->next_free = pool->free;
	pool->free = twheel_emb_index(timer);
	pool->nr_timers--;
	__atomic_fetch_sub(&all_timers, 1, __ATOMIC_RELAXED);
}

struct emb_timer *twheel_emb_at(const struct emb_pool *pool, uint32_t index)
{
	uint32_t nr = index >> EMB_PLACE_BITS, place = index & (EMB_PLACES - 1);

	if (nr >= pool->nr_chunks || !place || place >= pool->chunks[nr]->used)
		return NULL;
	return &pool->chunks[nr]->timers[place];
}

struct emb_timer *twheel_emb_find(const struct emb_pool *pool, uint64_t handle)
{
	struct emb_timer *timer;

	if (pool->table.heads)
		return twheel_emb_table_find(pool, handle);
	timer = twheel_emb_at(pool, (uint32_t)handle);
	if (!timer || timer->state == TWHEEL_STATE_NONE || timer->generation != handle >> 32)
		return NULL;
	return timer;
}

uint32_t twheel_emb_end(const struct emb_pool *pool)
{
	return pool->nr_chunks << EMB_PLACE_BITS;
}

uint32_t twheel_emb_index(const struct emb_timer *timer)
{
	const struct emb_chunk *chunk = emb_chunk_of(timer);

	return chunk->nr << EMB_PLACE_BITS | (uint32_t)(timer - chunk->timers);
}

uint64_t twheel_emb_handle(const struct emb_timer *timer)
{
	if (emb_chunk_of(timer)->keys)
		return emb_key_of(timer)->value;
	return (uint64_t)timer->generation << 32 | twheel_emb_index(timer);
}

uint64_t *twheel_emb_word(const struct emb_timer *timer)
{
	const struct emb_chunk *chunk = emb_chunk_of(timer);

	return chunk->words ? &chunk->words[timer - chunk->timers] : NULL;
}
