// SPDX-License-Identifier: GPL-2.0-only
/*
 * Forged handles, keys, cursors, offsets and words: the names of one context's timers do
 * nothing in another context, and numbers near a live handle, or that used to be one, name
 * no timer.
 *
 * The victim's timers have the same handles, keys and words as the attacker's. The victim's
 * context is not shared, unless a test says so.
 */
#include <setjmp.h>
#include <sys/uio.h>

#include "hostile.h"

#define TIMERS	200
#define PAGE	4096UL
/* Of the deadline in a word */
#define UNIT	(1 << TWHEEL_LEASE_UNIT_SHIFT)

/* All data of the victim's timers that must not change, that is, all but the remaining time. */
struct snapshot {
	struct twheel_timer_info infos[TIMERS];
	__u64 words[TIMERS];
};

FIXTURE(forge)
{
	int victim, own;
	__u64 deadline;
	__u64 handles[TIMERS], own_handles[TIMERS];
	__u32 word[TIMERS];
	__u64 *words;
	size_t size;
	struct snapshot before;
};

FIXTURE_VARIANT(forge)
{
	__u32 config;
	__u32 flags;
};

VARIANT(forge, handles) {};
VARIANT(forge, keys) { .config = TWHEEL_CONFIG_KEYED };
VARIANT(forge, leases) { .config = TWHEEL_CONFIG_LEASE, .flags = TWHEEL_ARM_LEASE };

static bool take(const FIXTURE_DATA(forge) * self, struct snapshot *to)
{
	int i;

	for (i = 0; i < TIMERS; i++) {
		if (tw_get(self->victim, self->handles[i], &to->infos[i]))
			return false;
		to->infos[i].remaining = 0;
		to->words[i] = self->words ? self->words[self->word[i]] : 0;
	}
	return true;
}

static __u64 *map_words(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

FIXTURE_SETUP(forge)
{
	struct twheel_arm arm;
	int i;

	self->size = 16 * PAGE;
	self->deadline = tw_lease_round(tw_now(CLOCK_MONOTONIC) + TW_FAR);
	if (geteuid() == 0) {
		self->victim = open_as(VICTIM);
		ASSERT_TRUE(become(NOBODY));
	} else {
		self->victim = tw_open();
	}
	self->own = tw_open();
	ASSERT_LE(0, self->victim);
	ASSERT_LE(0, self->own);
	ASSERT_EQ(0, tw_configure(self->victim, CLOCK_MONOTONIC, variant->config));
	ASSERT_EQ(0, tw_configure(self->own, CLOCK_MONOTONIC, variant->config));
	/* The attacker's timers are made first, so that the context made last is not special. */
	for (i = 0; i < 2 * TIMERS; i++) {
		bool own = i < TIMERS;

		arm = tw_request(self->deadline + i % TIMERS * UNIT,
				 TWHEEL_ARM_ABS | variant->flags, i);
		if (variant->config & TWHEEL_CONFIG_KEYED)
			arm.handle = own ? 1000000 + i : i - TIMERS;
		ASSERT_EQ(0, tw_call(own ? self->own : self->victim, TWHEEL_IOC_ARM, &arm));
		if (own)
			self->own_handles[i] = arm.handle;
		else
			self->handles[i - TIMERS] = arm.handle;
		if (!own)
			self->word[i - TIMERS] = arm.word;
	}
	if (variant->flags & TWHEEL_ARM_LEASE) {
		self->words = map_words(self->victim, self->size);
		ASSERT_NE(NULL, self->words);
	}
	ASSERT_TRUE(take(self, &self->before));
}

FIXTURE_TEARDOWN(forge)
{
	struct snapshot after;

	/* No test may have changed a timer of the victim. */
	EXPECT_TRUE(take(self, &after));
	EXPECT_EQ(0, memcmp(&self->before, &after, sizeof(after)));
	EXPECT_EQ(TIMERS, tw_info(self->victim).pending);
	EXPECT_EQ(0, tw_info(self->victim).ready);
	close(self->victim);
	close(self->own);
}

/* Returns whether all calls refuse @handle, as it names no timer of @fd. */
static bool is_refused(int fd, __u64 handle, bool keyed)
{
	struct twheel_cancel cancel = { .handle = handle };
	struct twheel_arm arm = tw_request(TW_FAR, 0, 666);
	struct twheel_timer_info info;

	arm.handle = handle;
	/* Arming makes a new timer if there are keys, or for handle 0. */
	if (handle && !keyed && (tw_call(fd, TWHEEL_IOC_ARM, &arm) != -ENOENT ||
				 arm.handle != handle || arm.old_state))
		return false;
	return tw_get(fd, handle, &info) == -ENOENT && info.handle == handle &&
	       tw_call(fd, TWHEEL_IOC_CANCEL, &cancel) == -ENOENT &&
	       tw_batch(fd, TWHEEL_IOC_CANCEL_BATCH, &cancel, 1) == 1 &&
	       cancel.result == -ENOENT && !cancel.old_state && !cancel.old_remaining;
}

static bool is_one_of(__u64 handle, const __u64 *handles)
{
	int i;

	for (i = 0; i < TIMERS; i++)
		if (handles[i] == handle)
			return true;
	return false;
}

/* Tries each live handle with one bit turned, and its neighbours in either half. */
TEST_F(forge, around_live_handles)
{
	bool keyed = variant->config & TWHEEL_CONFIG_KEYED;
	__u64 handle, forged;
	int i, bit, d;

	for (i = 0; i < TIMERS; i++) {
		handle = self->own_handles[i];
		for (bit = 0; bit < 64; bit++) {
			forged = handle ^ 1ULL << bit;
			if (!is_one_of(forged, self->own_handles))
				ASSERT_TRUE(is_refused(self->own, forged, keyed)) {
					TH_LOG("%#llx of %#llx", forged, handle);
				}
		}
		for (d = -70; d <= 70; d++) {
			forged = handle + d;
			if (!is_one_of(forged, self->own_handles))
				ASSERT_TRUE(is_refused(self->own, forged, keyed));
			forged = handle + ((__u64)d << 32);
			if (!is_one_of(forged, self->own_handles))
				ASSERT_TRUE(is_refused(self->own, forged, keyed));
		}
	}
	EXPECT_EQ(TIMERS, tw_info(self->own).pending);
}

/*
 * Tries handles that are made up, and live handles with another generation or with the
 * lowest and highest indices.
 */
TEST_F(forge, made_up_handles)
{
	bool keyed = variant->config & TWHEEL_CONFIG_KEYED;
	__u64 state = 0x9e3779b97f4a7c15ULL, forged, generation;
	__u32 index;
	int i;

	if (!keyed)
		ASSERT_TRUE(is_refused(self->own, 0, keyed));
	for (i = 0; i < 20000; i++) {
		forged = tw_random(&state);
		if (!is_one_of(forged, self->own_handles))
			ASSERT_TRUE(is_refused(self->own, forged, keyed));
	}
	for (i = 0; i < TIMERS && !keyed; i++) {
		index = self->own_handles[i];
		generation = self->own_handles[i] >> 32 << 32;
		ASSERT_TRUE(is_refused(self->own, index, keyed));
		ASSERT_TRUE(is_refused(self->own, generation | 0xffffffff, keyed));
		ASSERT_TRUE(is_refused(self->own, generation | 0x80000000, keyed));
	}
	/* The first index of every chunk of timers is not used. */
	for (generation = 0; generation < 8 && !keyed; generation++)
		for (index = 0; index < 64 * 64; index += 64)
			ASSERT_TRUE(is_refused(self->own, generation << 32 | index, keyed));
	EXPECT_EQ(TIMERS, tw_info(self->own).pending);
	EXPECT_EQ(0, tw_info(self->own).ready);
}

/* The handle of a timer that has ended never names a later one. */
TEST_F(forge, stale_handles)
{
	enum { N = 1000 };
	static __u64 old[N];
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 handle;
	bool ended;
	int i, j;

	if (variant->config & TWHEEL_CONFIG_KEYED)
		SKIP(return, "a key may name one timer after another");
	for (i = 0; i < N; i++) {
		/* One half of the timers ends by a cancel, the other half by being read. */
		ASSERT_ARMED(old[i], self->own, i & 1 ? TW_FAR : 0, variant->flags, i);
		ended = i & 1 ? tw_cancel(self->own, old[i]) == 0 :
				tw_collect(self->own, &event, 1) == 1;
		ASSERT_TRUE(ended);
		for (j = 0; j < i; j++)
			ASSERT_NE(old[j], old[i]);
	}
	ASSERT_ARMED(handle, self->own, TW_FAR, variant->flags, 77);
	for (i = 0; i < N; i++) {
		ASSERT_NE(old[i], handle);
		ASSERT_TRUE(is_refused(self->own, old[i], false));
	}
	ASSERT_EQ(0, tw_get(self->own, handle, &info));
	EXPECT_EQ(77, info.user_data);
	EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
}

/* Tries all 2^16 lowest indices with all generations that are in use. */
TEST_F(forge, all_indices)
{
	bool keyed = variant->config & TWHEEL_CONFIG_KEYED;
	__u64 generation, index, live = 0, made = 0;
	struct twheel_timer_info info;
	int i;

	if (keyed)
		SKIP(return, "keys have no index");
	for (i = 0; i < TIMERS; i++)
		made += self->own_handles[i] >> 32 < 8;
	for (generation = 0; generation < 8; generation++)
		for (index = 0; index < 0x10000; index++)
			live += !tw_get(self->own, generation << 32 | index, &info);
	EXPECT_LT(0, made);
	EXPECT_EQ(made, live);
}

/*
 * The victim's handle or key names the attacker's own timer and, once that is gone, none.
 */
TEST_F(forge, the_victims_handles)
{
	bool keyed = variant->config & TWHEEL_CONFIG_KEYED;
	struct twheel_timer_info info;
	int i;

	for (i = 0; i < TIMERS; i++) {
		if (is_one_of(self->handles[i], self->own_handles)) {
			ASSERT_EQ(0, tw_get(self->own, self->handles[i], &info));
			ASSERT_GT(TIMERS, info.user_data);
			ASSERT_EQ(0, tw_cancel(self->own, self->handles[i]));
		}
		ASSERT_TRUE(is_refused(self->own, self->handles[i], keyed));
	}
}

/* An upsert of each of the victim's keys makes a timer in the attacker's own context. */
TEST_F(forge, the_victims_keys)
{
	struct twheel_arm arm;
	int i;

	if (!(variant->config & TWHEEL_CONFIG_KEYED))
		SKIP(return, "no keys");
	for (i = 0; i < TIMERS; i++) {
		arm = tw_request_for(self->handles[i], 0, 0, 666);
		ASSERT_EQ(0, tw_call(self->own, TWHEEL_IOC_ARM, &arm));
		ASSERT_EQ(TWHEEL_STATE_NONE, arm.old_state);
	}
	EXPECT_TRUE(tw_wait_ready(self->own, TIMERS));
	EXPECT_EQ(TIMERS, tw_info(self->own).pending);
}

/*
 * A walk from any cursor comes to an end, and brings only the attacker's own timers; and so does a
 * call that drains from there.
 */
TEST_F(forge, cursors)
{
	static const __u64 made_up[] = {
		1, 63, 64, 65, 0xffffffff, 0xffffffc0, 1ULL << 32, 64ULL << 32,
		~0ULL, ~0ULL << 32, 0xffffffff00000001, 0x8000000000000000,
		0xffffffffffffffc0, 0x7fffffff7fffffff, 0x0000100000000fff,
	};
	struct twheel_timer_info infos[64];
	struct twheel_list list = { .entries = (unsigned long)infos };
	__u64 state = 0x9e3779b97f4a7c15ULL;
	int i, j, ret, calls, drained = 0;

	for (i = 0; i < 5000; i++) {
		list.cursor = tw_random(&state) >> (i % 64);
		if (i < (int)ARRAY_SIZE(made_up))
			list.cursor = made_up[i];
		else if (i % 7 == 0)
			list.cursor = ~list.cursor;
		/* Half of the cursors are near indices that are in use. */
		if (i & 1)
			list.cursor &= 0x1ff000001ff;
		list.count = 1 + i % 64;
		/* The first calls drain nothing, so that there is something to find. */
		list.flags = i > 4000 && i % 16 == 1 ? TWHEEL_LIST_DRAIN : 0;
		for (calls = 0; calls < 2 * TIMERS; calls++) {
			ret = tw_call(self->own, TWHEEL_IOC_LIST, &list);
			ASSERT_LE(0, ret);
			ASSERT_GE(list.count, ret);
			for (j = 0; j < ret; j++) {
				ASSERT_GT(TIMERS, infos[j].user_data);
				ASSERT_EQ(self->own_handles[infos[j].user_data], infos[j].handle);
				/* What is drained is gone. */
				if (list.flags)
					ASSERT_EQ(-ENOENT, tw_cancel(self->own, infos[j].handle));
			}
			drained += list.flags ? ret : 0;
			if (!ret || list.flags)
				break;
		}
		ASSERT_GT(2 * TIMERS, calls);
	}
	EXPECT_LT(0, drained);
	EXPECT_EQ(TIMERS - drained, tw_info(self->own).pending);
}

static sigjmp_buf on_fault;

static void jump(int sig)
{
	(void)sig;
	siglongjmp(on_fault, 1);
}

/* Returns whether @p can be read. */
static bool is_there(const volatile __u64 *p)
{
	struct sigaction action = { .sa_handler = jump };

	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	if (sigsetjmp(on_fault, 1))
		return false;
	(void)*p;
	return true;
}

/* Returns whether @word is the deadline of one of the attacker's timers, or of none. */
static bool is_own(const FIXTURE_DATA(forge) * self, __u64 word)
{
	__u64 deadline = (word & TWHEEL_LEASE_UNITS_MASK) * UNIT;

	return word == TWHEEL_LEASE_EXPIRED ||
	       (word == tw_lease_value(1, deadline) && deadline >= self->deadline &&
		deadline < self->deadline + TIMERS * UNIT);
}

/* Whichever offset is mapped, the page has the attacker's own words, or there is none. */
TEST_F(forge, offsets)
{
	static const __u64 offsets[] = {
		0, PAGE, 2 * PAGE, 3 * PAGE, 8 * PAGE, 1ULL << 20, 1ULL << 31, 1ULL << 32,
		1ULL << 35, 1ULL << 40, 1ULL << 44, 1ULL << 52, 0x7ffffffffffff000 & ~(PAGE - 1),
		-PAGE, -2 * PAGE, 0xffff888000000000, 0xffffffff81000000,
	};
	size_t i, j, there = 0;
	__u64 *p;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		p = mmap64(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->own,
			   offsets[i]);
		if (p == MAP_FAILED) {
			ASSERT_TRUE(!(variant->config & TWHEEL_CONFIG_LEASE) ||
				    offsets[i] > 1ULL << 44);
			continue;
		}
		for (j = 0; j < 4 * PAGE / sizeof(*p); j += PAGE / sizeof(*p)) {
			size_t k;

			if (!is_there(p + j))
				continue;
			there++;
			for (k = j; k < j + PAGE / sizeof(*p); k++)
				ASSERT_TRUE(is_own(self, p[k]));
			/* Attackers may spoil their own words. */
			memset(p + j, 0x5a, PAGE);
			for (k = j; k < j + PAGE / sizeof(*p); k++)
				p[k] = TWHEEL_LEASE_EXPIRED;
		}
		munmap(p, 4 * PAGE);
	}
	EXPECT_EQ(!!(variant->config & TWHEEL_CONFIG_LEASE), there > 0);
}

/* Mappings that are grown, moved, doubled, cut or inherited reach no further. */
TEST_F(forge, mapping_games)
{
	size_t most = 64 * PAGE, i;
	__u64 *p, *q, *r;
	pid_t pid;

	if (!(variant->config & TWHEEL_CONFIG_LEASE))
		SKIP(return, "no words");
	p = map_words(self->own, PAGE);
	ASSERT_NE(NULL, p);
	q = mremap(p, PAGE, most, MREMAP_MAYMOVE);
	ASSERT_NE(MAP_FAILED, q);
	for (i = 0; i < most / sizeof(*q); i += PAGE / sizeof(*q))
		if (is_there(q + i))
			ASSERT_TRUE(is_own(self, q[i + 1]));
	ASSERT_FALSE(is_there(q + (most - PAGE) / sizeof(*q)));
	/* An old size of 0 asks for a second mapping of the same pages. */
	r = mremap(q, 0, most, MREMAP_MAYMOVE);
	ASSERT_NE(MAP_FAILED, r);
	r[1] = self->deadline;
	ASSERT_EQ(self->deadline, q[1]);
	ASSERT_EQ(0, munmap((char *)q + PAGE, PAGE));
	ASSERT_EQ(0, madvise(q, PAGE, MADV_DONTNEED));
	ASSERT_EQ(self->deadline, q[1]);
	/* None of these calls may change the contents of the pages. */
	madvise(q, PAGE, MADV_REMOVE);
	madvise(q, PAGE, MADV_PAGEOUT);
	madvise(q, PAGE, MADV_MERGEABLE);
	madvise(q, PAGE, MADV_FREE);
	mlock(q, PAGE);
	ASSERT_EQ(self->deadline, q[1]);

	ASSERT_FORKED(pid);
	if (pid == 0) {
		/* The child stores to the words, which only it and its parent share. */
		for (i = 0; i < PAGE / sizeof(*q); i++)
			q[i] = TWHEEL_LEASE_EXPIRED | i;
		close(self->own);
		_exit(is_there(r) ? 0 : 1);
	}
	ASSERT_EQ(0, tw_status_of(pid));
	EXPECT_EQ(TWHEEL_LEASE_EXPIRED | 1, r[1]);
	munmap(q, most);

	/*
	 * Pages outlive the descriptor while they are mapped, and show no data of others.
	 */
	close(self->own);
	for (i = 0; i < PAGE / sizeof(*r); i++)
		ASSERT_EQ(TWHEEL_LEASE_EXPIRED | i, r[i]);
	munmap(r, most);
	self->own = tw_open();
}

/* A page that a pipe still holds is not used again after its context is gone. */
TEST_F(forge, pages_in_a_pipe)
{
	struct iovec iov;
	__u64 copy[PAGE / sizeof(__u64)];
	int pipes[2], fd, i, k;
	__u64 *p;

	if (!(variant->config & TWHEEL_CONFIG_LEASE))
		SKIP(return, "no words");
	p = map_words(self->own, PAGE);
	ASSERT_NE(NULL, p);
	for (i = 0; i < (int)ARRAY_SIZE(copy); i++)
		p[i] = TWHEEL_LEASE_EXPIRED | 4242;
	ASSERT_EQ(0, pipe(pipes));
	iov = (struct iovec) { p, PAGE };
	ASSERT_EQ(PAGE, vmsplice(pipes[1], &iov, 1, 0));
	munmap(p, PAGE);
	close(self->own);
	/* If the page had been freed it would be used again now. */
	for (k = 0; k < 16; k++) {
		int error;

		fd = tw_open();
		ASSERT_EQ(0, tw_configure(fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
		ASSERT_EQ(1000, arm_far(fd, 1000, &error));
		close(fd);
	}
	ASSERT_EQ(sizeof(copy), read(pipes[0], copy, sizeof(copy)));
	for (i = 0; i < (int)ARRAY_SIZE(copy); i++)
		ASSERT_EQ(TWHEEL_LEASE_EXPIRED | 4242, copy[i]);
	self->own = tw_open();
}

/* /proc gives no access to the descriptor of another process. */
TEST_F(forge, through_proc)
{
	char path[64];
	int pair[2], fd;
	pid_t pid;

	if (geteuid() != NOBODY)
		SKIP(return, "needs root, to be other users");
	/*
	 * Opening a path in /proc makes a new context, even for a process's own descriptor.
	 */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->victim);
	fd = open(path, O_RDWR | O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, tw_info(fd).pending);
	close(fd);

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_FORKED(pid);
	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0);
		_exit(!tell(pair[1]) || !hear(pair[1]));
	}
	close(pair[1]);
	ASSERT_TRUE(hear(pair[0]));
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, self->victim);
	EXPECT_EQ(-1, open(path, O_RDONLY));
	EXPECT_EQ(EACCES, errno);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, self->victim);
	EXPECT_EQ(-1, open(path, O_RDWR));
	EXPECT_EQ(EACCES, errno);
	ASSERT_TRUE(tell(pair[0]));
	EXPECT_EQ(0, tw_status_of(pid));
	close(pair[0]);
}

TEST_HARNESS_MAIN
