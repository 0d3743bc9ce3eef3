// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The hash table of the keys that a program gives to the timers of an embedded context.
 *
 * Keys may come from strangers. The hash is a multiplication by a random odd number, of
 * which the upper bits are taken: two keys fall into one of m chains with a probability of
 * at most 2/m, whichever keys they are (M. Dietzfelbinger, T. Hagerup, J. Katajainen and
 * M. Penttonen, "A Reliable Randomized Algorithm for the Closest-Pair Problem", 1997).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "emb.h"

#define FIRST_BITS	6

static uint32_t *head_of(const struct emb_table *table, uint64_t value)
{
	return &table->heads[(table->factor * value) >> (64 - table->bits)];
}

int twheel_emb_table_init(struct emb_table *table)
{
	uint32_t *heads = calloc(1U << FIRST_BITS, sizeof(*heads));

	if (!heads)
		return -ENOMEM;
	/* Early at boot there may be no random numbers yet: an address is some, too. */
	if (getrandom(&table->factor, sizeof(table->factor), GRND_NONBLOCK) !=
	    sizeof(table->factor))
		table->factor = (uintptr_t)heads * 0x9e3779b97f4a7c15ULL;
	table->factor |= 1;
	table->heads = heads;
	table->bits = FIRST_BITS;
	return 0;
}

void twheel_emb_table_destroy(struct emb_table *table)
{
	free(table->heads);
	*table = (struct emb_table){ };
}

struct emb_timer *twheel_emb_table_find(const struct emb_pool *pool, uint64_t value)
{
	uint32_t index = *head_of(&pool->table, value);

	while (index) {
		struct emb_timer *timer = twheel_emb_at(pool, index);
		const struct emb_key *key = emb_key_of(timer);

		if (key->value == value)
			return timer;
		index = key->next;
	}
	return NULL;
}

/* Twice as many chains. If there is no memory for them they get longer instead. */
static void grow(struct emb_pool *pool)
{
	struct emb_table *table = &pool->table, old = *table;
	uint32_t *heads = calloc(2UL << old.bits, sizeof(*heads));
	uint64_t i;

	if (!heads)
		return;
	table->heads = heads;
	table->bits++;
	for (i = 0; i < 1UL << old.bits; i++) {
		uint32_t index = old.heads[i];

		while (index) {
			struct emb_key *key = emb_key_of(twheel_emb_at(pool, index));
			uint32_t next = key->next, *head = head_of(table, key->value);

			key->next = *head;
			*head = index;
			index = next;
		}
	}
	free(old.heads);
}

void twheel_emb_table_add(struct emb_pool *pool, struct emb_timer *timer, uint64_t value)
{
	struct emb_key *key = emb_key_of(timer);
	uint32_t *head;

	if (pool->nr_timers > 1UL << pool->table.bits && pool->table.bits < 32)
		grow(pool);
	head = head_of(&pool->table, value);
	key->value = value;
	key->next = *head;
	*head = twheel_emb_index(timer);
}

void twheel_emb_table_remove(struct emb_pool *pool, struct emb_timer *timer)
{
	uint32_t index = twheel_emb_index(timer);
	struct emb_key *key = emb_key_of(timer);
	uint32_t *at = head_of(&pool->table, key->value);

	while (*at != index)
		at = &emb_key_of(twheel_emb_at(pool, *at))->next;
	*at = key->next;
}
