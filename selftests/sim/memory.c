// SPDX-License-Identifier: GPL-2.0-only
/*
 * Store buffers: memory holds what was stored last, and the buffer of a CPU what was there before
 * each of its stores that others do not see yet. Stores leave in their order, as on x86; but as on
 * arm64 a lock, or an atomic operation that returns nothing, does not empty the buffer.
 */
#include "kernel.h"

#define BUFFER_SIZE	64U

/**
 * struct buffer - the store buffer of a CPU
 * @entries:	the place of each store, and what was there before
 * @stored:	how many stores there were
 * @seen:	how many of them others see
 */
struct buffer {
	struct {
		const volatile void	*p;
		u64			old;
	} entries[BUFFER_SIZE];
	u64 stored, seen;
};

static struct buffer buffers[CONFIG_NR_CPUS];
bool sim_weak;

void memory_begin(void)
{
	drain_all();
	sim_weak = sim_config.weak;
}

void drain_cpu(int cpu, u64 seq)
{
	struct buffer *buffer = &buffers[cpu];

	if (buffer->seen < seq)
		buffer->seen = min(seq, buffer->stored);
}

void drain_all(void)
{
	u32 i;

	for (i = 0; i < sim_config.cpus; i++)
		buffers[i].seen = buffers[i].stored;
}

void drain_some(void)
{
	struct buffer *buffer = &buffers[sim_below(sim_config.cpus)];

	if (buffer->seen < buffer->stored)
		buffer->seen += 1 + sim_below((u32)(buffer->stored - buffer->seen));
}

void sim_drain(void)
{
	if (self)
		drain_cpu(self->cpu, U64_MAX);
}

unsigned long long sim_seen(const volatile void *p, unsigned long long now)
{
	u32 i;
	u64 k;

	for (i = 0; self && i < sim_config.cpus; i++) {
		const struct buffer *buffer = &buffers[i];

		for (k = buffer->seen; (int)i != self->cpu && k < buffer->stored; k++)
			if (buffer->entries[k % BUFFER_SIZE].p == p) {
				sim_stats.stale++;
				return buffer->entries[k % BUFFER_SIZE].old;
			}
	}
	return now;
}

void sim_stores(const volatile void *p, unsigned long long old)
{
	struct buffer *buffer;
	u32 i;
	u64 k;

	if (!self)
		return;
	/* Stores to one place have one order, which all CPUs agree on. */
	for (i = 0; i < sim_config.cpus; i++) {
		buffer = &buffers[i];
		for (k = buffer->seen; (int)i != self->cpu && k < buffer->stored; k++)
			if (buffer->entries[k % BUFFER_SIZE].p == p)
				buffer->seen = k + 1;
	}
	buffer = &buffers[self->cpu];
	if (buffer->stored - buffer->seen == BUFFER_SIZE)
		buffer->seen++;
	buffer->entries[buffer->stored % BUFFER_SIZE].p = p;
	buffer->entries[buffer->stored++ % BUFFER_SIZE].old = old;
}

void release(void *what, struct sim_order *order)
{
	tsan_release(what);
	if (self)
		*order = (struct sim_order) {
			.seq	= buffers[self->cpu].stored,
			.time	= sim_now(),
			.cpu	= self->cpu,
		};
}

void acquire(void *what, const struct sim_order *order)
{
	tsan_acquire(what);
	drain_cpu(order->cpu, order->seq);
	sim_not_before(order->time);
}

void sim_release(void *what)
{
	tsan_release(what);
}

void sim_acquire(void *what)
{
	tsan_acquire(what);
	drain_all();
}
