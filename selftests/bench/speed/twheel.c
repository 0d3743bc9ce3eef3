// SPDX-License-Identifier: GPL-2.0-only
/* Timers of /dev/twheel by bare calls: with handles, by write(), with keys, and as leases. */
#include <string.h>

#include "twheel_util.h"
#include "lease_word.h"
#include "speed.h"

/*
 * struct state - a context
 * @handles: of the timers; with keys, unused
 * @words: index of each lease's word
 * @targets: the words in the order in which leases are pushed back. So a push finds its
 *	word as fast as a program does that keeps the address where it is at the moment
 * @map: all words
 */
struct state {
	int			fd;
	__u32			arm_flags;
	uint64_t		*handles;
	uint32_t		*words;
	uint32_t		*targets;
	uint64_t		*map;
	uint64_t		map_words;
	struct twheel_arm	*arms;
	struct twheel_push	*pushes;
	struct twheel_cancel	*cancels;
	struct twheel_event	*events;
};

static const char *absent(void)
{
	return access(TW_DEVICE, R_OK | W_OK) ? "no " TW_DEVICE " here" : NULL;
}

/* Looks random, as keys of programs do, and needs no table. */
static __u64 key(const struct job *job, uint32_t which)
{
	return (((__u64)job->index << 32 | which) + 1) * 0x9e3779b97f4a7c15ULL;
}

static int open_state(struct job *job)
{
	bool keyed = job->plan->facility == &twheel_keyed;
	bool leases = job->plan->facility == &twheel_lease;
	struct state *s = job_table(job, 1, sizeof(*s));
	uint32_t batch = job->plan->batch;

	job->state = s;
	if (job->first) {
		s->fd = ((struct state *)job->first->state)->fd;
	} else {
		limit_file(TW_PARAMETERS "max_user_timers", 2ULL * job->plan->pending + 1000);
		limit_file(TW_PARAMETERS "max_fd_timers", 2ULL * job->plan->pending + 1000);
		s->fd = tw_open();
		if (s->fd < 0)
			return s->fd;
		if (tw_configure(s->fd, CLOCK_MONOTONIC, (keyed ? TWHEEL_CONFIG_KEYED : 0) |
				 (leases ? TWHEEL_CONFIG_LEASE : 0)))
			return -errno;
	}
	s->arm_flags = TWHEEL_ARM_ABS;
	s->arms = job_table(job, batch, sizeof(*s->arms));
	s->pushes = job_table(job, batch, sizeof(*s->pushes));
	s->cancels = job_table(job, batch, sizeof(*s->cancels));
	s->events = job_table(job, batch, sizeof(*s->events));
	if (!keyed)
		s->handles = job_table(job, job->nr, sizeof(*s->handles));
	if (leases) {
		s->arm_flags |= TWHEEL_ARM_LEASE;
		s->words = job_table(job, job->nr, sizeof(*s->words));
		s->targets = job_table(job, job->nr, sizeof(*s->targets));
		/* The module hands out low ones first, by chunks. */
		s->map_words = 2ULL * job->plan->pending + (1 << 20);
		s->map = mmap(NULL, s->map_words * sizeof(*s->map), PROT_READ | PROT_WRITE,
			      MAP_SHARED, s->fd, 0);
		if (s->map == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static void close_state(struct job *job)
{
	struct state *s = job->state;

	if (s->map)
		munmap(s->map, s->map_words * sizeof(*s->map));
	if (!job->first)
		close(s->fd);
}

/* A single call for one entry, as a program would do it. */
static int call(const struct state *s, void *entries, uint32_t n, bool arm)
{
	int ret;

	if (n == 1)
		return tw_call(s->fd, arm ? TWHEEL_IOC_ARM : TWHEEL_IOC_CANCEL, entries);
	ret = tw_batch(s->fd, arm ? TWHEEL_IOC_ARM_BATCH : TWHEEL_IOC_CANCEL_BATCH, entries, n);
	if (ret < 0)
		return ret;
	return ret == n ? 0 : -EIO;
}

/* Every result is looked at, as a program has to. */
static int arm_all(struct job *job, const uint32_t *which, uint32_t n,
		   const struct aim *aim, bool pending)
{
	struct state *s = job->state;
	uint32_t i, part;
	int ret;

	for (; n; n -= part, which += part) {
		part = n < job->plan->batch ? n : job->plan->batch;
		for (i = 0; i < part; i++) {
			struct twheel_arm *arm = &s->arms[i];
			__u64 handle = 0;

			if (!s->handles)
				handle = key(job, which[i]);
			else if (pending)
				handle = s->handles[which[i]];
			arm->handle = handle;
			arm->user_data = which[i];
			arm->expires = aim_at(aim, which[i]);
			arm->interval = 0;
			arm->slack = 0;
			arm->count = 0;
			arm->flags = s->arm_flags;
		}
		ret = call(s, s->arms, part, true);
		if (ret)
			return ret;
		for (i = 0; i < part; i++) {
			struct twheel_arm *arm = &s->arms[i];

			if (arm->result)
				return arm->result;
			if (arm->old_state != (pending ? TWHEEL_STATE_PENDING : TWHEEL_STATE_NONE))
				return -EBADE;
			if (s->handles && !pending)
				s->handles[which[i]] = arm->handle;
			if (s->words)
				s->words[which[i]] = arm->word;
		}
	}
	return 0;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return arm_all(job, which, n, aim, false);
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return arm_all(job, which, n, aim, true);
}

/* By write(), of which there is no result but how many were carried out. */
static int push_timers(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i, part;
	ssize_t ret;

	for (; n; n -= part, which += part) {
		part = n < job->plan->batch ? n : job->plan->batch;
		for (i = 0; i < part; i++) {
			s->pushes[i].handle = s->handles[which[i]];
			s->pushes[i].expires = aim_at(aim, which[i]);
		}
		ret = write(s->fd, s->pushes, part * sizeof(*s->pushes));
		if (ret < 0)
			return -errno;
		if (ret != (ssize_t)(part * sizeof(*s->pushes)))
			return -EIO;
	}
	return 0;
}

/*
 * Also touches all words: the first touch of a page is a fault, and in user-mode Linux that
 * takes thousands of times what a push does.
 */
static void settle_leases(struct job *job)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < job->nr; i++) {
		s->targets[i] = s->words[job->order[i]];
		if (s->targets[i] >= s->map_words)
			fail("the word %u of a lease is far out", s->targets[i]);
		__atomic_fetch_or(&s->map[s->targets[i]], 0, __ATOMIC_RELAXED);
	}
}

/*
 * The kernel moves keys to a larger table in the background, which takes it up to a second
 * for a million. Later operations are measured when it has done so.
 */
static void settle_keys(struct job *job)
{
	wait_until(clock_ns() + 20 * TW_MSEC + 2000ULL * job->nr);
}

/*
 * The compare-and-swap of both facilities: by SPEED_STEP, wherever the deadline was. A
 * lease that is over is a failure.
 */
static int push(uint64_t *words, const uint32_t *targets, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint64_t *word = &words[targets[i]], said = lease_word_load(word);

		if (lease_word_extend(word, said >> TWHEEL_LEASE_TAG_SHIFT,
				      lease_word_ns(said) + SPEED_STEP) != 1)
			return -EBADE;
	}
	return 0;
}

static int push_leases(struct job *job, const uint32_t *which, uint32_t n,
		       const struct aim *aim)
{
	struct state *s = job->state;

	(void)aim;
	return push(s->map, s->targets + (which - job->order), n);
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i, part;
	int ret;

	for (; n; n -= part, which += part) {
		part = n < job->plan->batch ? n : job->plan->batch;
		for (i = 0; i < part; i++) {
			struct twheel_cancel *cancel = &s->cancels[i];

			cancel->handle = s->handles ? s->handles[which[i]] : key(job, which[i]);
			cancel->flags = 0;
			cancel->reserved = 0;
		}
		ret = call(s, s->cancels, part, false);
		if (ret)
			return ret;
		for (i = 0; i < part; i++) {
			if (s->cancels[i].result)
				return s->cancels[i].result;
			if (s->cancels[i].old_state != TWHEEL_STATE_PENDING)
				return -EBADE;
		}
	}
	return 0;
}

/* A read has room for a batch of records. */
static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;
	uint32_t i, got, room = max < job->plan->batch ? max : job->plan->batch;
	ssize_t ret = tw_read(s->fd, s->events, room * sizeof(*s->events));

	if (ret < 0)
		return ret == -EAGAIN ? 0 : ret;
	got = ret / sizeof(*s->events);
	for (i = 0; i < got; i++)
		which[i] = s->events[i].user_data;
	return got;
}

static void wait_for(struct job *job)
{
	wait_fd(((struct state *)job->state)->fd);
}

static int64_t ready(struct job *job)
{
	return tw_info(((struct state *)job->state)->fd).ready;
}

#define BARE \
	.batches = true, .shares = true, .absent = absent, .open = open_state, \
	.close = close_state, .arm = arm, .cancel = cancel, .reap = reap, .wait = wait_for, \
	.ready = ready

const struct facility twheel = {
	.name = "twheel", BARE, .ops = OPS_KERNEL, .move = move,
};

/* All else is as it is without pushes. */
const struct facility twheel_writes = {
	.name = "twheel-push", BARE, .ops = OPS_MOVE | OPS(OP_HEARTBEAT), .move = push_timers,
};

const struct facility twheel_keyed = {
	.name = "twheel-keyed", BARE, .ops = OPS_KERNEL, .settle = settle_keys, .move = move,
};

const struct facility twheel_lease = {
	.name = "twheel-lease", BARE, .ops = OPS_KERNEL, .settle = settle_leases, .move = move,
	.later = push_leases,
};

/*
 * word: the same compare-and-swap on ordinary memory, in the same order. It measures what
 * the page of a lease costs beside the memory itself. There are no timers.
 */
static int open_word(struct job *job)
{
	struct state *s = job_table(job, 1, sizeof(*s));

	job->state = s;
	s->map = job_table(job, job->nr, sizeof(*s->map));
	return 0;
}

static int arm_word(struct job *job, const uint32_t *which, uint32_t n,
		    const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++)
		s->map[which[i]] = lease_word_units(aim_at(aim, which[i]));
	return 0;
}

static int push_word(struct job *job, const uint32_t *which, uint32_t n,
		     const struct aim *aim)
{
	(void)aim;
	return push(((struct state *)job->state)->map, which, n);
}

static int free_word(struct job *job, const uint32_t *which, uint32_t n)
{
	(void)job;
	(void)which;
	(void)n;
	return 0;
}

const struct facility word = {
	.name = "word", .ops = OPS(OP_LATER), .open = open_word, .arm = arm_word,
	.move = push_word, .later = push_word, .cancel = free_word,
};
