// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys that many threads use at the same time: upserts against each other, against cancels,
 * expiry and reads, and while the table grows and shrinks. There is never more than one
 * timer for a key.
 */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>

#include "twheel_test.h"
#include "load.h"

/* There is no limit to how long a user may want to run these tests. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	(24 * 3600)

#define MAX_KEYS	64
#define MAX_THREADS	8
/* The number of armings whose records are accounted for. */
#define MAX_ARMINGS	(16ULL << 20)

/**
 * struct contest - what several threads do to the same keys
 * @fd: the context
 * @nr_keys: how many keys are in use
 * @spread_ns: how far ahead deadlines are, at most
 * @cancel: how many of 16 calls are cancels
 * @push: how many of 16 calls only push back a pending timer
 * @insert: how many of 16 calls only make a new timer; the other calls are upserts
 * @stop: set when the time is over or %MAX_ARMINGS have been made
 * @quiet: set when all threads that arm have stopped and all has been read
 * @next: number of the next arming
 * @read: for each arming how often a record of it was read
 * @made: for each key, upserts that found no timer
 * @superseded: upserts that found a timer
 * @refused: conditional calls that were refused
 * @cancelled: for each key, cancels that succeeded
 * @delivered: for each key, records that were read
 * @all_cancelled: cancels that succeeded, for all keys
 * @all_delivered: records that were read, for all keys
 * @wrong: the first thing that went wrong, or empty
 */
struct contest {
	int fd;
	unsigned int nr_keys;
	__u64 spread_ns;
	unsigned int cancel, push, insert;
	bool stop, quiet;
	__u64 next;
	unsigned char *read;
	__u64 made[MAX_KEYS], superseded, refused, cancelled[MAX_KEYS], delivered[MAX_KEYS];
	__u64 all_cancelled, all_delivered;
	char wrong[120];
};

static void __attribute__((format(printf, 2, 3)))
wrong(struct contest *c, const char *format, ...)
{
	va_list args;

	if (c->wrong[0])
		return;
	va_start(args, format);
	vsnprintf(c->wrong, sizeof(c->wrong), format, args);
	va_end(args);
}

static void add(__u64 *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

/* The keys lie at both ends of the range: 0 and ~0 are among them. */
static __u64 key_of(unsigned int i)
{
	return i % 2 ? ~(__u64)(i / 2) : i / 2;
}

static unsigned int index_of(__u64 key)
{
	return key >> 63 ? ~key * 2 + 1 : key * 2;
}

static void upsert(struct contest *c, unsigned int i, __u64 expires, __u32 flags)
{
	__u64 number = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);
	struct twheel_arm arm = tw_request(expires, flags, number);
	int ret;

	/* A fast machine may run out of numbers before the time is over. */
	if (number >= MAX_ARMINGS) {
		__atomic_sub_fetch(&c->next, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&c->stop, true, __ATOMIC_SEQ_CST);
		return;
	}
	arm.handle = key_of(i);
	ret = tw_call(c->fd, TWHEEL_IOC_ARM, &arm);
	if (ret && ret == (flags == TWHEEL_ARM_IF_PENDING ? -ENOENT :
			   flags == TWHEEL_ARM_IF_NONE ? -EEXIST : 0)) {
		add(&c->refused);
		/* Count it as read, so that any record of it is noticed. */
		if (__atomic_fetch_add(&c->read[number], 1, __ATOMIC_RELAXED))
			wrong(c, "a record of arming %llu, which was refused", number);
		return;
	}
	if (ret || arm.handle != key_of(i))
		wrong(c, "upsert of %llx: %d, %llx", key_of(i), ret, arm.handle);
	else if (flags == TWHEEL_ARM_IF_PENDING && arm.old_state != TWHEEL_STATE_PENDING)
		wrong(c, "pushed back in state %u", arm.old_state);
	else if (flags == TWHEEL_ARM_IF_NONE && arm.old_state != TWHEEL_STATE_NONE)
		wrong(c, "made in state %u", arm.old_state);
	else
		add(arm.old_state == TWHEEL_STATE_NONE ? &c->made[i] : &c->superseded);
}

static void *use(void *arg)
{
	struct contest *c = arg;
	__u64 state = 0x9e3779b97f4a7c15ULL ^ (unsigned long)&state;
	struct twheel_timer_info info;
	unsigned int i, kind;
	__u32 flags;
	int ret;

	while (!is_set(&c->stop)) {
		i = tw_random(&state) % c->nr_keys;
		kind = tw_random(&state) % 16;
		if (kind >= c->cancel) {
			flags = kind - c->cancel < c->push ? TWHEEL_ARM_IF_PENDING :
				kind - c->cancel - c->push < c->insert ? TWHEEL_ARM_IF_NONE : 0;
			upsert(c, i, tw_random(&state) % c->spread_ns, flags);
			continue;
		}
		ret = tw_cancel(c->fd, key_of(i));
		if (!ret)
			add(&c->cancelled[i]);
		else if (ret != -ENOENT)
			wrong(c, "cancel: %d", ret);
		ret = tw_get(c->fd, key_of(i), &info);
		if (ret ? ret != -ENOENT : info.handle != key_of(i))
			wrong(c, "get of %llx: %d, %llx", key_of(i), ret, info.handle);
	}
	return NULL;
}

static void *read_records(void *arg)
{
	struct contest *c = arg;
	struct twheel_event events[16], *e;
	ssize_t ret;

	while (!is_set(&c->quiet)) {
		ret = tw_read(c->fd, events, sizeof(events));
		if (ret == -EAGAIN)
			tw_poll(c->fd, 20);
		else if (ret <= 0)
			wrong(c, "read: %zd", ret);
		for (e = events; ret > 0 && e < events + ret / sizeof(*e); e++) {
			if (e->user_data >= c->next || index_of(e->handle) >= c->nr_keys) {
				wrong(c, "record of %llx for %llu", e->handle, e->user_data);
				continue;
			}
			if (__atomic_fetch_add(&c->read[e->user_data], 1, __ATOMIC_RELAXED))
				wrong(c, "a second record of arming %llu", e->user_data);
			if (e->expired < e->deadline || e->expirations != 1 ||
			    e->flags != TWHEEL_EVENT_LAST)
				wrong(c, "deadline %llu, expired %llu, flags %x",
				      e->deadline, e->expired, e->flags);
			add(&c->delivered[index_of(e->handle)]);
		}
	}
	return NULL;
}

/* Lists the timers again and again: there must never be more of them than keys. */
static void *walk(void *arg)
{
	struct twheel_timer_info entries[2 * MAX_KEYS];
	struct contest *c = arg;
	struct twheel_list list;
	struct twheel_info info;
	int ret, i;

	while (!is_set(&c->stop)) {
		list = (struct twheel_list){
			.entries = (unsigned long)entries, .count = 2 * MAX_KEYS,
		};
		ret = tw_call(c->fd, TWHEEL_IOC_LIST, &list);
		for (i = 0; i < ret; i++)
			if (index_of(entries[i].handle) >= c->nr_keys)
				wrong(c, "listed: %llx", entries[i].handle);
		info = tw_info(c->fd);
		if (ret < 0 || info.pending + info.ready > c->nr_keys)
			wrong(c, "listed %d; %llu pending, %llu ready, %u keys", ret,
			      info.pending, info.ready, c->nr_keys);
		tw_pass(TW_MSEC);
	}
	return NULL;
}

static bool begin(struct contest *c)
{
	c->fd = tw_open();
	c->read = mmap(NULL, MAX_ARMINGS, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return c->fd >= 0 && c->read != MAP_FAILED &&
	       !tw_configure(c->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED);
}

/* Runs threads on @c, which is set up, and checks the counts afterwards. */
static void run(struct __test_metadata *_metadata, struct contest *c, int readers)
{
	int users = sysconf(_SC_NPROCESSORS_ONLN) + 1, n = 0, i;
	__u64 made = 0, ended;
	pthread_t threads[MAX_THREADS + 3];
	struct twheel_timer_info info;

	if (users > MAX_THREADS)
		users = MAX_THREADS;
	for (i = 0; i < readers; i++)
		ASSERT_EQ(0, pthread_create(&threads[n++], NULL, read_records, c));
	ASSERT_EQ(0, pthread_create(&threads[n++], NULL, walk, c));
	for (i = 0; i < users; i++)
		ASSERT_EQ(0, pthread_create(&threads[n++], NULL, use, c));
	ASSERT_TRUE(tw_pass(load_seconds() * TW_SEC));
	__atomic_store_n(&c->stop, true, __ATOMIC_SEQ_CST);
	for (i = readers; i < n; i++)
		pthread_join(threads[i], NULL);

	/* A cancel shows whether a key still has a timer. */
	for (i = 0; i < (int)c->nr_keys; i++)
		if (!tw_cancel(c->fd, key_of(i)))
			c->cancelled[i]++;
	EXPECT_EQ(0, tw_info(c->fd).pending);
	EXPECT_EQ(0, tw_info(c->fd).ready);
	__atomic_store_n(&c->quiet, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < readers; i++)
		pthread_join(threads[i], NULL);

	EXPECT_STREQ("", c->wrong);
	for (i = 0; i < (int)c->nr_keys; i++) {
		EXPECT_EQ(-ENOENT, tw_get(c->fd, key_of(i), &info));
		/* Every timer that was made has ended once. */
		ended = c->cancelled[i] + c->delivered[i];
		EXPECT_EQ(c->made[i], ended) {
			TH_LOG("key %llx: cancelled %llu, delivered %llu", key_of(i),
			       c->cancelled[i], c->delivered[i]);
		}
		made += c->made[i];
		c->all_cancelled += c->cancelled[i];
		c->all_delivered += c->delivered[i];
	}
	EXPECT_EQ(c->next, made + c->superseded + c->refused);
	EXPECT_LT(0, made);
	EXPECT_LT(0, c->superseded);
	TH_LOG("%llu armings: %llu made, %llu superseded, %llu refused", c->next, made,
	       c->superseded, c->refused);
	TH_LOG("%llu cancelled, %llu delivered", c->all_cancelled, c->all_delivered);
	munmap(c->read, MAX_ARMINGS);
	close(c->fd);
}

TEST(upserts_of_the_same_keys)
{
	static struct contest c = { .nr_keys = 4, .spread_ns = TW_FAR };

	ASSERT_TRUE(begin(&c));
	run(_metadata, &c, 0);
	/* Nothing expires within a day, so each key had its timer made once. */
	EXPECT_EQ(4, c.made[0] + c.made[1] + c.made[2] + c.made[3]);
}

TEST(upsert_against_cancel)
{
	static struct contest c = { .nr_keys = 4, .spread_ns = TW_FAR, .cancel = 8 };

	ASSERT_TRUE(begin(&c));
	run(_metadata, &c, 0);
}

TEST(upsert_against_cancel_and_expiry)
{
	static struct contest c = { .nr_keys = MAX_KEYS, .spread_ns = 3 * TW_MSEC, .cancel = 4 };

	ASSERT_TRUE(begin(&c));
	run(_metadata, &c, 2);
	EXPECT_LT(0, c.all_delivered);
	EXPECT_LT(0, c.all_cancelled);
}

/* Nearly all timers are due at once, so an upsert often finds a record or nothing. */
TEST(upsert_against_read)
{
	static struct contest c = { .nr_keys = MAX_KEYS, .spread_ns = TW_MSEC / 4, .cancel = 1 };

	ASSERT_TRUE(begin(&c));
	run(_metadata, &c, 2);
	EXPECT_LT(0, c.all_delivered);
}

/* All threads push back timers that exist and make timers that do not exist. */
TEST(push_back_and_insert_against_cancel)
{
	static struct contest c = {
		.nr_keys = 4, .spread_ns = TW_FAR, .cancel = 5, .push = 6, .insert = 5,
	};

	ASSERT_TRUE(begin(&c));
	run(_metadata, &c, 0);
	EXPECT_LT(0, c.refused);
}

TEST(push_back_and_insert_against_expiry)
{
	static struct contest c = {
		.nr_keys = MAX_KEYS, .spread_ns = TW_MSEC, .cancel = 1, .push = 7, .insert = 6,
	};

	ASSERT_TRUE(begin(&c));
	run(_metadata, &c, 2);
	EXPECT_LT(0, c.refused);
	EXPECT_LT(0, c.all_delivered);
}

/* Pushes back all keys that are pending, in batches, and makes no timers. */
static void *push_back(void *arg)
{
	struct twheel_arm arms[MAX_KEYS];
	struct twheel_batch batch = { .entries = (unsigned long)arms, .count = MAX_KEYS };
	struct contest *c = arg;
	__u32 i;

	while (!is_set(&c->stop)) {
		for (i = 0; i < MAX_KEYS; i++) {
			arms[i] = tw_request(TW_FAR + i, TWHEEL_ARM_IF_PENDING, ~0ULL);
			arms[i].handle = key_of(i);
		}
		if (tw_call(c->fd, TWHEEL_IOC_ARM_BATCH, &batch) != MAX_KEYS)
			wrong(c, "a batch was cut short");
		for (i = 0; i < MAX_KEYS; i++)
			if (arms[i].result ? arms[i].result != -ENOENT || arms[i].old_state :
			    arms[i].old_state != TWHEEL_STATE_PENDING)
				wrong(c, "pushed back: %d, from state %u", arms[i].result,
				      arms[i].old_state);
	}
	return NULL;
}

/* A push-back that comes too late must not bring back a timer that has ended. */
TEST_F(tw, what_has_ended_stays_so)
{
	/* Static, as a failed assertion leaves this function while threads still use it. */
	static struct contest c;
	__u64 end, rounds = 0, expired = 0, key;
	struct twheel_timer_info info;
	struct twheel_event event;
	struct twheel_arm arm;
	pthread_t threads[2];
	int i;

	c.fd = self->fd;
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, push_back, &c));
	end = tw_now(CLOCK_MONOTONIC) + load_seconds() * TW_SEC;
	for (; tw_now(CLOCK_MONOTONIC) < end && !c.wrong[0]; rounds++) {
		key = key_of(rounds % MAX_KEYS);
		/* Some expire at once: they are read unless they are cancelled first. */
		arm = tw_request(rounds % 3 ? TW_FAR : 0, TWHEEL_ARM_IF_NONE, rounds);
		arm.handle = key;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		if (rounds % 6) {
			ASSERT_EQ(0, tw_cancel(self->fd, key));
		} else {
			ASSERT_EQ(sizeof(event), tw_read(self->fd, &event, sizeof(event)));
			ASSERT_EQ(rounds, event.user_data);
			expired++;
		}
		ASSERT_EQ(-ENOENT, tw_get(self->fd, key, &info));
		ASSERT_EQ(-ENOENT, tw_cancel(self->fd, key));
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	EXPECT_STREQ("", c.wrong);
	EXPECT_LT(0, expired);
	EXPECT_EQ(0, tw_info(self->fd).pending + tw_info(self->fd).ready);
	TH_LOG("%llu timers ended, %llu of them by a read", rounds, expired);
}

#define RACES	50000

/**
 * struct racer - a thread that makes all of many keys, if they are not there
 * @thread: the thread
 * @fd: the context
 * @won: for each key, how many racers have made its timer; shared by all racers
 * @wrong: calls that neither made a timer nor said that there is one
 */
struct racer {
	pthread_t thread;
	int fd;
	unsigned char *won;
	int wrong;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	struct twheel_arm arm;
	int i, ret;

	for (i = 0; i < RACES; i++) {
		arm = tw_request(TW_FAR, TWHEEL_ARM_IF_NONE, gettid());
		arm.handle = i;
		ret = tw_call(r->fd, TWHEEL_IOC_ARM, &arm);
		if (!ret && arm.old_state == TWHEEL_STATE_NONE)
			__atomic_add_fetch(&r->won[i], 1, __ATOMIC_RELAXED);
		else if (ret != -EEXIST || arm.old_state || arm.old_remaining)
			r->wrong++;
	}
	return NULL;
}

TEST_F(tw, one_of_many_makes_a_timer)
{
	static unsigned char won[RACES];
	struct racer racers[4];
	int i, winners = 0;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	for (i = 0; i < 4; i++) {
		racers[i] = (struct racer){ .fd = self->fd, .won = won };
		ASSERT_EQ(0, pthread_create(&racers[i].thread, NULL, race, &racers[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(racers[i].thread, NULL);
		EXPECT_EQ(0, racers[i].wrong);
	}
	for (i = 0; i < RACES; i++)
		winners += won[i] == 1;
	EXPECT_EQ(RACES, winners);
	EXPECT_EQ(RACES, tw_info(self->fd).pending);
}

/**
 * struct twins - two threads that arm the same key at the same time
 * @fd: the context, in which there is room for one timer
 * @met: how often each has come to a meeting, added up
 * @flags: the flags of the next armings
 * @stop: the second thread has to end
 * @other: result of the second thread's call: see arm_same()
 */
struct twins {
	int fd;
	unsigned long met;
	__u32 flags;
	bool stop;
	int other;
};

/* Waits until the other thread has come to this meeting, too. */
static void meet(struct twins *t, unsigned long meeting)
{
	__atomic_add_fetch(&t->met, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&t->met, __ATOMIC_SEQ_CST) < 2 * meeting)
		sched_yield();
}

/* Returns the state that was replaced, or an error. */
static int arm_same(struct twins *t)
{
	struct twheel_arm arm = tw_request(TW_FAR, t->flags, 0);

	return tw_call(t->fd, TWHEEL_IOC_ARM, &arm) ?: (int)arm.old_state;
}

static void *be_the_other(void *arg)
{
	struct twins *t = arg;
	unsigned long meeting = 0;

	for (;;) {
		meet(t, ++meeting);
		if (is_set(&t->stop))
			return NULL;
		t->other = arm_same(t);
		meet(t, ++meeting);
	}
}

/* The second of two upserts needs no room, as the first has made the timer for both. */
TEST_F(tw, room_for_one)
{
	struct twheel_config config = {
		.clock = CLOCK_MONOTONIC, .flags = TWHEEL_CONFIG_KEYED, .limit = 1,
	};
	static struct twins twins;
	unsigned long meeting = 0, rounds;
	int wrong[2] = { }, lost = 0, second, result;
	pthread_t thread;
	__u64 end;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
	twins.fd = self->fd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, be_the_other, &twins));
	end = tw_now(CLOCK_MONOTONIC) + load_seconds() * TW_SEC;
	for (rounds = 0; tw_now(CLOCK_MONOTONIC) < end; rounds++) {
		twins.flags = rounds % 2 ? TWHEEL_ARM_IF_NONE : 0;
		meet(&twins, ++meeting);
		result = arm_same(&twins);
		meet(&twins, ++meeting);
		second = rounds % 2 ? -EEXIST : TWHEEL_STATE_PENDING;
		if ((result || twins.other != second) && (twins.other || result != second))
			wrong[rounds % 2]++;
		lost += !!tw_cancel(self->fd, 0);
	}
	__atomic_store_n(&twins.stop, true, __ATOMIC_SEQ_CST);
	meet(&twins, ++meeting);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, wrong[0]);
	EXPECT_EQ(0, wrong[1]);
	EXPECT_EQ(0, lost);
	TH_LOG("%lu rounds", rounds);
}

/* A thread that makes the table grow and shrink again and again, with keys of its own. */
struct crowd {
	pthread_t thread;
	int fd;
	__u64 first;
	bool *stop;
	__u64 rounds;
	int wrong;
};

#define CROWD	20000

static void *come_and_go(void *arg)
{
	static __thread struct twheel_cancel cancels[1000];
	static __thread struct twheel_arm arms[1000];
	struct twheel_batch batch = { .count = 1000 };
	struct crowd *c = arg;
	int i, j;

	while (!is_set(c->stop)) {
		batch.entries = (unsigned long)arms;
		for (i = 0; i < CROWD; i += 1000) {
			for (j = 0; j < 1000; j++) {
				arms[j] = tw_request(TW_FAR, 0, 0);
				arms[j].handle = c->first + i + j;
			}
			if (tw_call(c->fd, TWHEEL_IOC_ARM_BATCH, &batch) != 1000)
				c->wrong++;
			for (j = 0; j < 1000; j++)
				c->wrong += arms[j].result || arms[j].old_state;
		}
		batch.entries = (unsigned long)cancels;
		for (i = 0; i < CROWD; i += 1000) {
			for (j = 0; j < 1000; j++)
				cancels[j] = (struct twheel_cancel){ .handle = c->first + i + j };
			if (tw_call(c->fd, TWHEEL_IOC_CANCEL_BATCH, &batch) != 1000)
				c->wrong++;
			for (j = 0; j < 1000; j++)
				c->wrong += cancels[j].result != 0;
		}
		c->rounds++;
	}
	return NULL;
}

/* A timer that exists the whole time must be found the whole time. */
TEST_F(tw, found_while_the_table_changes)
{
	struct crowd crowds[2];
	bool stop = false;
	struct twheel_timer_info info;
	__u64 end, looks = 0, i;
	struct twheel_arm arm;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	for (i = 0; i < MAX_KEYS; i++) {
		arm = tw_request(TW_FAR, 0, i);
		arm.handle = i;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	}
	for (i = 0; i < 2; i++) {
		crowds[i] = (struct crowd){
			.fd = self->fd, .first = (i + 1) << 32, .stop = &stop,
		};
		ASSERT_EQ(0, pthread_create(&crowds[i].thread, NULL, come_and_go, &crowds[i]));
	}
	end = tw_now(CLOCK_MONOTONIC) + load_seconds() * TW_SEC;
	for (; tw_now(CLOCK_MONOTONIC) < end; looks++) {
		i = looks % MAX_KEYS;
		arm = tw_request(TW_FAR, 0, i);
		arm.handle = i;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		ASSERT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
		ASSERT_EQ(0, tw_get(self->fd, i, &info));
		ASSERT_EQ(i, info.user_data);
	}
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < 2; i++) {
		pthread_join(crowds[i].thread, NULL);
		EXPECT_EQ(0, crowds[i].wrong);
		EXPECT_LT(0, crowds[i].rounds);
	}
	EXPECT_EQ(MAX_KEYS, tw_info(self->fd).pending);
	TH_LOG("%llu looks, while %llu times %d keys came and went", looks,
	       crowds[0].rounds + crowds[1].rounds, CROWD);
}

TEST_HARNESS_MAIN
