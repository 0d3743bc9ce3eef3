// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel's timer objects: what their functions may do to other timer objects. Calls at random,
 * from functions and from outside, are in model.c.
 *
 * In most tests many timers are ready before one dispatch. This makes sure that their
 * records are in its buffer while the first function runs.
 */
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_util.h"
#include "twheel_util.h"

#define TIMERS	64

FIXTURE(timers) {
	struct twheel *tw;
};

/* @flags: TWHEEL_CONFIG_* bits */
FIXTURE_VARIANT(timers) {
	uint32_t flags;
};

VARIANT(timers, plain) {};

/* One-shot timers have words then, which must not show. */
VARIANT(timers, leases) { .flags = TWHEEL_CONFIG_LEASE };

FIXTURE_SETUP(timers)
{
	struct twheel_config config = { .flags = variant->flags };

	ASSERT_EQ(0, twheel_open(&self->tw, NULL, NONBLOCK, &config));
}

FIXTURE_TEARDOWN(timers)
{
	twheel_close(self->tw);
}

/* A deadline that has passed, and that a lease can have exactly */
#define PAST	(1ULL << TWHEEL_LEASE_UNIT_SHIFT)

/**
 * struct probe - a timer and what was seen of it
 * @timer: the timer
 * @set: all probes of the test
 * @calls: how often its function was called
 * @expirations: how many expirations those counted
 * @last: whether the last record had the flag TWHEEL_EVENT_LAST
 * @armed: whether the timer was armed during the last call
 * @deadline: the deadline in the last record
 */
struct probe {
	struct twheel_timer	*timer;
	struct set		*set;
	unsigned int		calls;
	uint64_t		expirations;
	int			last;
	int			armed;
	uint64_t		deadline;
};

/**
 * struct set - the probes of a test
 * @tw: the context
 * @probes: all of them
 * @calls: how often functions of the probes were called
 * @action: called by the first function that is called; may be NULL
 * @result: what a call in @action returned
 * @wrong: how many results were not as expected
 */
struct set {
	struct twheel	*tw;
	struct probe	probes[TIMERS];
	unsigned int	calls;
	void		(*action)(struct set *set, struct probe *first);
	int		result;
	unsigned int	wrong;
};

static void on_expiry(struct twheel_timer *timer, const struct twheel_event *event,
		      void *arg)
{
	struct probe *probe = arg;

	probe->calls++;
	probe->expirations += event->expirations;
	probe->last = !!(event->flags & TWHEEL_EVENT_LAST);
	probe->armed = twheel_timer_armed(timer);
	probe->deadline = event->deadline;
	if (timer != probe->timer)
		probe->set->wrong++;
	if (!probe->set->calls++ && probe->set->action)
		probe->set->action(probe->set, probe);
}

/* Waits until @n timers are ready, and dispatches their records. */
static void dispatch_ready(struct __test_metadata *_metadata, struct twheel *tw, int n)
{
	ASSERT_TRUE(wait_ready(tw, n));
	EXPECT_EQ(n, twheel_dispatch(tw));
}

/* Waits until there is a record, and dispatches all there are. */
static void dispatch_next(struct __test_metadata *_metadata, struct twheel *tw)
{
	ASSERT_TRUE(wait_readable(tw));
	ASSERT_LE(0, twheel_dispatch(tw));
}

/* Makes the timer of @probe. */
static void make_probe(struct __test_metadata *_metadata, struct probe *probe, struct set *set,
		       struct twheel *tw, twheel_timer_fn *fn)
{
	probe->set = set;
	ASSERT_EQ(0, twheel_timer_new(&probe->timer, tw, fn, probe));
}

/* Arms a timer relative to now. Returns the state that was replaced, or an error. */
static int start(struct twheel_timer *timer, uint64_t delay, uint64_t interval)
{
	struct twheel_arm setting = { .expires = delay, .interval = interval };

	return REPLACED(twheel_timer_arm, timer, &setting);
}

/*
 * Makes all timers, arms them with deadlines in the past, once or for ever, and waits until
 * all are ready.
 */
static int make_ready(struct set *set, struct twheel *tw, uint64_t interval)
{
	struct twheel_arm past = {
		.expires = PAST,
		.interval = interval,
		.flags = TWHEEL_ARM_ABS,
	};
	size_t i;

	set->tw = tw;
	for (i = 0; i < TIMERS; i++) {
		struct probe *probe = &set->probes[i];

		probe->set = set;
		if (twheel_timer_new(&probe->timer, tw, on_expiry, probe) ||
		    REPLACED(twheel_timer_arm, probe->timer, &past) != TWHEEL_STATE_NONE)
			return 0;
	}
	return wait_ready(tw, TIMERS);
}

/*
 * Makes all timers ready and dispatches their records. Expects so many calls, and that the
 * action of the first was right.
 */
static void dispatch_all(struct __test_metadata *_metadata, struct set *set, struct twheel *tw,
			 uint64_t interval, unsigned int calls)
{
	ASSERT_TRUE(make_ready(set, tw, interval));
	EXPECT_EQ(TIMERS, twheel_dispatch(tw));
	EXPECT_EQ(calls, set->calls);
	EXPECT_EQ(0, set->wrong);
}

TEST_F(timers, one_shot)
{
	static struct set set;
	struct probe *probe = &set.probes[0];
	uint64_t begin = twheel_now(self->tw);

	make_probe(_metadata, probe, &set, self->tw, on_expiry);
	EXPECT_EQ(0, twheel_timer_armed(probe->timer));
	EXPECT_EQ(-ENOENT, twheel_timer_cancel(probe->timer, NULL));
	EXPECT_EQ(0, twheel_dispatch(self->tw));

	ASSERT_EQ(0, twheel_timer_start(probe->timer, 20 * MSEC, 0));
	EXPECT_EQ(1, twheel_timer_armed(probe->timer));
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, probe->calls);
	EXPECT_EQ(1, probe->expirations);
	EXPECT_EQ(1, probe->last);
	EXPECT_EQ(0, probe->armed);
	EXPECT_GE(probe->deadline, begin + 20 * MSEC);
	EXPECT_GE(twheel_now(self->tw), probe->deadline);
	EXPECT_EQ(0, set.wrong);

	EXPECT_EQ(0, twheel_timer_armed(probe->timer));
	EXPECT_EQ(-ENOENT, twheel_timer_cancel(probe->timer, NULL));
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	twheel_timer_free(probe->timer);
	twheel_timer_free(NULL);
}

TEST_F(timers, periodic)
{
	struct twheel_arm setting = {
		.expires = 5 * MSEC,
		.interval = 5 * MSEC,
		.count = 6,
	};
	static struct set set;
	struct probe *probe = &set.probes[0];

	make_probe(_metadata, probe, &set, self->tw, on_expiry);
	ASSERT_EQ(TWHEEL_STATE_NONE, REPLACED(twheel_timer_arm, probe->timer, &setting));
	while (probe->expirations < 6) {
		dispatch_next(_metadata, self->tw);
		EXPECT_EQ(probe->expirations == 6, probe->last);
		/*
		 * During its last call a timer is no longer armed. During the others it is.
		 */
		EXPECT_EQ(!probe->last, probe->armed);
	}
	EXPECT_EQ(6, probe->expirations);
	EXPECT_EQ(-ENOENT, twheel_timer_cancel(probe->timer, NULL));

	ASSERT_EQ(0, twheel_timer_start(probe->timer, 0, 5 * MSEC));
	while (probe->expirations < 9)
		dispatch_next(_metadata, self->tw);
	EXPECT_EQ(1, twheel_timer_armed(probe->timer));
	EXPECT_EQ(0, twheel_timer_cancel(probe->timer, NULL));
	EXPECT_EQ(0, twheel_dispatch(self->tw));
}

/* Arms @timer on a condition. Returns the state that was replaced, or an error. */
static int start_if(struct twheel_timer *timer, unsigned int condition)
{
	struct twheel_arm setting = { .expires = FAR, .flags = condition };

	return REPLACED(twheel_timer_arm, timer, &setting);
}

TEST_F(timers, conditions)
{
	static struct set set;
	struct probe *probe = &set.probes[0];

	make_probe(_metadata, probe, &set, self->tw, on_expiry);
	EXPECT_EQ(-ENOENT, start_if(probe->timer, TWHEEL_ARM_IF_PENDING));
	EXPECT_EQ(0, twheel_timer_armed(probe->timer));
	EXPECT_EQ(TWHEEL_STATE_NONE, start_if(probe->timer, TWHEEL_ARM_IF_NONE));
	EXPECT_EQ(-EEXIST, start_if(probe->timer, TWHEEL_ARM_IF_NONE));
	EXPECT_EQ(TWHEEL_STATE_PENDING, start_if(probe->timer, TWHEEL_ARM_IF_PENDING));

	/* The record is not read yet. */
	ASSERT_EQ(TWHEEL_STATE_PENDING, start(probe->timer, 0, 0));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(-ENOENT, start_if(probe->timer, TWHEEL_ARM_IF_PENDING));
	EXPECT_EQ(-EEXIST, start_if(probe->timer, TWHEEL_ARM_IF_NONE));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, probe->calls);

	EXPECT_EQ(-ENOENT, start_if(probe->timer, TWHEEL_ARM_IF_PENDING));
	EXPECT_EQ(TWHEEL_STATE_NONE, start_if(probe->timer, TWHEEL_ARM_IF_NONE));
	EXPECT_EQ(0, set.wrong);
}

/* The last records of the other timers are in the buffer, and stay there. */
static void arm_others_if(struct set *set, struct probe *first)
{
	size_t i;

	for (i = 0; i < TIMERS; i++) {
		struct probe *probe = &set->probes[i];

		if (probe == first)
			continue;
		if (start_if(probe->timer, TWHEEL_ARM_IF_PENDING) != -ENOENT ||
		    start_if(probe->timer, TWHEEL_ARM_IF_NONE) != -EEXIST ||
		    !twheel_timer_armed(probe->timer))
			set->wrong++;
	}
}

TEST_F(timers, conditions_in_the_same_batch)
{
	static struct set set = { .action = arm_others_if };

	dispatch_all(_metadata, &set, self->tw, 0, TIMERS);
	EXPECT_EQ(0, live(self->tw));
}

/* Every new timer takes the place of one whose record is still in the buffer. */
static void replace_all(struct set *set, struct probe *first)
{
	size_t i;

	for (i = 0; i < TIMERS; i++)
		twheel_timer_free(set->probes[i].timer);
	for (i = 0; i < TIMERS; i++) {
		if (twheel_timer_new(&set->probes[i].timer, set->tw, on_expiry,
				     &set->probes[i]))
			set->wrong++;
		/* Half of the new timers are armed. */
		if (i % 2 && twheel_timer_start(set->probes[i].timer, FAR, 0))
			set->wrong++;
	}
}

TEST_F(timers, replace_in_the_same_batch)
{
	static struct set set = { .action = replace_all };
	size_t i;

	dispatch_all(_metadata, &set, self->tw, 0, 1);
	for (i = 0; i < TIMERS; i++)
		EXPECT_EQ(i % 2, twheel_timer_armed(set.probes[i].timer));
}

static void rearm_all(struct set *set, struct probe *first)
{
	size_t i;

	for (i = 0; i < TIMERS; i++) {
		struct probe *probe = &set->probes[i];
		int ret = start(probe->timer, 30 * MSEC, 0);

		if (ret != (probe == first ? TWHEEL_STATE_NONE : TWHEEL_STATE_READY))
			set->wrong++;
	}
}

TEST_F(timers, rearm_in_the_same_batch)
{
	static struct set set = { .action = rearm_all };
	size_t i;

	dispatch_all(_metadata, &set, self->tw, 0, 1);

	while (set.calls < TIMERS + 1)
		dispatch_next(_metadata, self->tw);
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	EXPECT_EQ(TIMERS + 1, set.calls);
	/* Each timer was called for its second arming, and for that only. */
	for (i = 0; i < TIMERS; i++) {
		EXPECT_LT(PAST, set.probes[i].deadline);
		EXPECT_LE(1, set.probes[i].calls);
	}
	EXPECT_EQ(0, set.wrong);
}

TEST_F(timers, rearm_before_the_read)
{
	static struct set set;
	size_t i;

	ASSERT_TRUE(make_ready(&set, self->tw, 0));
	for (i = 0; i < TIMERS; i++)
		EXPECT_EQ(TWHEEL_STATE_READY, start(set.probes[i].timer, FAR, 0));
	/* The simple form returns 0, however often it re-arms. */
	for (i = 0; i < TIMERS; i++)
		EXPECT_EQ(0, twheel_timer_start(set.probes[i].timer, FAR, 0));
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	EXPECT_EQ(0, set.calls);
	for (i = 0; i < TIMERS; i++)
		EXPECT_EQ(TWHEEL_STATE_PENDING,
			  REPLACED(twheel_timer_cancel, set.probes[i].timer));
}

/* The inner call has to read, into the buffer that holds the record of the outer one. */
static void read_again(struct twheel_timer *timer, const struct twheel_event *event,
		       void *arg)
{
	uint64_t deadline = event->deadline;
	struct probe *probe = arg;

	if (!probe->calls++) {
		if (twheel_timer_start(timer, 0, 0) || !wait_ready(probe->set->tw, 1))
			probe->set->wrong++;
		probe->set->result = twheel_dispatch(probe->set->tw);
	}
	if (event->deadline != deadline)
		probe->set->wrong++;
}

TEST_F(timers, read_within_dispatch)
{
	static struct set set;
	struct probe *probe = &set.probes[0];

	set.tw = self->tw;
	make_probe(_metadata, probe, &set, self->tw, read_again);
	ASSERT_EQ(0, twheel_timer_start(probe->timer, 0, 0));
	dispatch_ready(_metadata, self->tw, 1);
	EXPECT_EQ(1, set.result);
	EXPECT_EQ(2, probe->calls);
	EXPECT_EQ(0, set.wrong);
}

static jmp_buf out;

static void leave(struct set *set, struct probe *first)
{
	/* The next function that is called leaves too, except the last. */
	set->calls = 0;
	longjmp(out, 1);
}

/* Each call goes on behind the record whose function has left the call before. */
TEST_F(timers, leave_by_longjmp)
{
	static struct set set = { .action = leave };
	static volatile unsigned int left;
	size_t i;

	ASSERT_TRUE(make_ready(&set, self->tw, 0));
	if (setjmp(out))
		left++;
	if (left < TIMERS / 2) {
		twheel_dispatch(self->tw);
		/* Not reached, as the function leaves by longjmp(). */
		EXPECT_TRUE(0);
	}
	EXPECT_EQ(TIMERS / 2, left);

	/* Records that were read do not count as ready, but are not lost. */
	EXPECT_TRUE(wait_ready(self->tw, 0));
	set.action = NULL;
	EXPECT_EQ(TIMERS / 2, twheel_dispatch(self->tw));
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	for (i = 0; i < TIMERS; i++) {
		EXPECT_EQ(1, set.probes[i].calls);
		EXPECT_EQ(0, twheel_timer_armed(set.probes[i].timer));
	}
	EXPECT_EQ(0, set.wrong);
}

/* While there are records left a call does not wait, even on a blocking descriptor. */
TEST_F(timers, leave_and_do_not_wait)
{
	static struct set set = { .action = leave };
	struct twheel *blocking;

	ASSERT_EQ(0, twheel_open(&blocking, NULL, TWHEEL_OPEN_CLOEXEC, NULL));
	ASSERT_TRUE(make_ready(&set, blocking, 0));
	if (!setjmp(out)) {
		twheel_dispatch(blocking);
		EXPECT_TRUE(0);
	}
	set.action = NULL;
	EXPECT_EQ(TIMERS - 1, twheel_dispatch(blocking));
	twheel_close(blocking);
}

/* Records that wait for the next call are withdrawn like any others. */
TEST_F(timers, leave_and_cancel)
{
	static struct set set = { .action = leave };
	static unsigned int withdrawn;
	size_t i;

	ASSERT_TRUE(make_ready(&set, self->tw, 0));
	if (!setjmp(out)) {
		twheel_dispatch(self->tw);
		EXPECT_TRUE(0);
	}
	set.action = NULL;
	for (i = 0; i < TIMERS; i++) {
		int ret = REPLACED(twheel_timer_cancel, set.probes[i].timer);

		EXPECT_EQ(set.probes[i].calls ? -ENOENT : TWHEEL_STATE_READY, ret);
		withdrawn += ret == TWHEEL_STATE_READY;
	}
	EXPECT_EQ(TIMERS - 1, withdrawn);
	EXPECT_EQ(TIMERS - 1, twheel_dispatch(self->tw));
	EXPECT_EQ(0, set.calls);
}

/*
 * In order
 */

/**
 * struct sequence - the calls of functions, one after another
 * @deadline: the deadline in the last call
 * @nr: which timer was called last, in the order in which they were armed
 * @calls: the number of calls
 * @wrong: how many calls should have come earlier
 */
struct sequence {
	uint64_t	deadline;
	ptrdiff_t	nr;
	unsigned int	calls;
	unsigned int	wrong;
};

static struct sequence sequence;

static void on_turn(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	struct probe *probe = arg;
	ptrdiff_t nr = probe - probe->set->probes;

	if (event->deadline < sequence.deadline ||
	    (event->deadline == sequence.deadline && nr < sequence.nr))
		sequence.wrong++;
	sequence.deadline = event->deadline;
	sequence.nr = nr;
	sequence.calls++;
	if (probe->set->action)
		probe->set->action(probe->set, probe);
}

/* Makes timer @nr of @set, and arms it for the time @expires. */
static bool arm_in_turn(struct set *set, size_t nr, uint64_t expires)
{
	struct twheel_arm setting = { .expires = expires, .flags = TWHEEL_ARM_ABS };
	struct probe *probe = &set->probes[nr];

	probe->set = set;
	return !twheel_timer_new(&probe->timer, set->tw, on_turn, probe) &&
	       !twheel_timer_arm(probe->timer, &setting, NULL);
}

/*
 * Makes all timers ready one by one, as a timer with a deadline in the past is ready at
 * once. The deadlines go up and down, and every four timers share one.
 */
static bool make_ready_in_disorder(struct set *set, struct twheel *tw)
{
	bool armed = true;
	size_t i;

	set->tw = tw;
	for (i = 0; i < TIMERS && armed; i++)
		armed = arm_in_turn(set, i, (1 + i * 37 % TIMERS / 4) <<
					    TWHEEL_LEASE_UNIT_SHIFT);
	return armed && wait_ready(tw, TIMERS);
}

/* One function calls twheel_dispatch() itself, and another one leaves by longjmp(). */
static void disturb(struct set *set, struct probe *first)
{
	if (sequence.calls == TIMERS / 4)
		longjmp(out, 1);
	if (sequence.calls == TIMERS / 2)
		set->result = twheel_dispatch(set->tw);
}

TEST_F(timers, in_order_whoever_calls)
{
	static struct set set = { .action = disturb };

	ASSERT_TRUE(make_ready_in_disorder(&set, self->tw));
	if (!setjmp(out)) {
		twheel_dispatch(self->tw);
		/* Not reached, as a function leaves by longjmp(). */
		EXPECT_TRUE(0);
	}
	EXPECT_EQ(TIMERS / 4, sequence.calls);
	EXPECT_EQ(TIMERS / 4, twheel_dispatch(self->tw));
	EXPECT_EQ(TIMERS / 2, set.result);
	EXPECT_EQ(TIMERS, sequence.calls);
	EXPECT_EQ(0, sequence.wrong);
}

/*
 * Equal deadlines go by the last arming, even if that has left a timer in its place. With
 * another slack it is no push back by a word, which keeps the number of the arming.
 */
TEST_F(timers, in_order_as_armed_last)
{
	struct twheel_arm setting = { .flags = TWHEEL_ARM_ABS, .slack = 1 };
	uint64_t soon = twheel_now(self->tw) + 2400 * MSEC;
	static struct set set;
	size_t i;

	set.tw = self->tw;
	for (i = TIMERS; i--;)
		ASSERT_TRUE(arm_in_turn(&set, i, soon));
	setting.expires = soon + 100 * MSEC;
	for (i = 0; i < TIMERS; i++)
		ASSERT_EQ(0, twheel_timer_arm(set.probes[i].timer, &setting, NULL));
	dispatch_ready(_metadata, self->tw, TIMERS);
	EXPECT_EQ(TIMERS, sequence.calls);
	EXPECT_EQ(0, sequence.wrong);
}

/* Each CPU expires its own timers, so the records of the two CPUs have to be merged. */
TEST_F(timers, in_order_from_two_cpus)
{
	static struct set set;
	uint64_t soon;
	int cpus[2];
	size_t i;

	for (i = 0; i < 2; i++)
		cpus[i] = tw_nth_cpu((int)i);
	if (cpus[1] < 0)
		SKIP(return, "needs two CPUs");
	set.tw = self->tw;
	soon = twheel_now(self->tw) + 50 * MSEC;
	for (i = 0; i < TIMERS; i++) {
		ASSERT_TRUE(tw_pin(cpus[i % 2]));
		ASSERT_TRUE(arm_in_turn(&set, i, soon + i * MSEC / 50));
	}
	dispatch_ready(_metadata, self->tw, TIMERS);
	EXPECT_EQ(TIMERS, sequence.calls);
	EXPECT_EQ(0, sequence.wrong);
}

/* Makes more timers than fit in one chunk, so that the table moves during the dispatch. */
static void make_many(struct set *set, struct probe *first)
{
	size_t i;

	for (i = 0; i < 10000; i++) {
		struct twheel_timer *timer;

		if (twheel_timer_new(&timer, set->tw, on_expiry, &set->probes[0]) ||
		    twheel_timer_start(timer, FAR, 0))
			set->wrong++;
	}
}

TEST_F(timers, grow_in_a_function)
{
	static struct set set = { .action = make_many };
	struct twheel_info info;

	dispatch_all(_metadata, &set, self->tw, 0, TIMERS);
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(10000, info.pending);
}

TEST_F(timers, failed_arm_changes_nothing)
{
	/* A count needs an interval. */
	struct twheel_arm bad = { .expires = FAR, .count = 5 };
	static struct set set;
	struct probe *probe = &set.probes[0];
	struct twheel_timer *none;

	EXPECT_EQ(-EINVAL, twheel_timer_new(&none, self->tw, NULL, NULL));
	make_probe(_metadata, probe, &set, self->tw, on_expiry);
	EXPECT_EQ(-EINVAL, twheel_timer_arm(probe->timer, &bad, NULL));
	EXPECT_EQ(0, twheel_timer_armed(probe->timer));

	ASSERT_EQ(0, twheel_timer_start(probe->timer, 0, 0));
	EXPECT_EQ(-EINVAL, twheel_timer_arm(probe->timer, &bad, NULL));
	EXPECT_EQ(1, twheel_timer_armed(probe->timer));
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, probe->calls);
}

TEST_F(timers, records_of_other_timers_are_dropped)
{
	uint64_t data;
	static struct set set;
	struct probe *probe = &set.probes[0];

	probe->set = &set;
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	ASSERT_EQ(0, twheel_timer_new(&probe->timer, self->tw, on_expiry, probe));
	ASSERT_EQ(0, twheel_timer_start(probe->timer, FAR, 0));
	/*
	 * One of these has the token of the timer as its data, whatever tokens look like.
	 */
	for (data = 0; data < 4; data++) {
		ASSERT_EQ(0, twheel_arm_after(self->tw, 0, data << 32, NULL));
		ASSERT_EQ(0, twheel_arm_after(self->tw, 0, data << 32 | 100000, NULL));
	}
	dispatch_ready(_metadata, self->tw, 8);
	EXPECT_EQ(0, probe->calls);
	EXPECT_EQ(1, twheel_timer_armed(probe->timer));
}

TEST_F(timers, drain)
{
	struct twheel_timer_info infos[8];
	static struct set set;
	unsigned int drained = 0;
	uint64_t cursor = 0;
	uint64_t handle;
	ssize_t n;
	size_t i;

	ASSERT_TRUE(make_ready(&set, self->tw, 0));
	/*
	 * Half of the timers are pending and half are ready. One more has no timer object.
	 */
	for (i = 0; i < TIMERS; i += 2)
		ASSERT_EQ(0, twheel_timer_start(set.probes[i].timer, FAR, 0));
	ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, 12345, &handle));
	while ((n = twheel_drain(self->tw, &cursor, infos, 8)) > 0)
		drained += (unsigned int)n;
	EXPECT_EQ(0, n);
	EXPECT_EQ(TIMERS / 2 + 1, drained);
	for (i = 0; i < TIMERS; i++)
		EXPECT_EQ(i % 2, twheel_timer_armed(set.probes[i].timer));

	/* Arming a drained timer again replaces nothing. */
	EXPECT_EQ(-ENOENT, twheel_timer_cancel(set.probes[0].timer, NULL));
	EXPECT_EQ(TWHEEL_STATE_NONE, start(set.probes[0].timer, FAR, 0));
	EXPECT_EQ(TIMERS / 2, twheel_dispatch(self->tw));
	EXPECT_EQ(TIMERS / 2, set.calls);
}

TEST_F(timers, cancel_all)
{
	enum { MANY = 1000 };
	static struct twheel_timer *timers[MANY];
	static struct set set;
	struct twheel_info info;
	uint64_t handle;
	size_t i;

	EXPECT_EQ(0, twheel_timer_cancel_all(self->tw));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, twheel_timer_new(&timers[i], self->tw, on_expiry, &set.probes[0]));
		if (i % 3)
			ASSERT_EQ(0, twheel_timer_start(timers[i], i % 3 == 1 ? FAR : 0, 0));
	}
	ASSERT_TRUE(wait_ready(self->tw, MANY / 3));
	/* A timer without a timer object is left alone. */
	ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, 0, &handle));
	EXPECT_EQ(0, twheel_timer_cancel_all(self->tw));
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(0, twheel_timer_armed(timers[i]));
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(1, info.pending);
	EXPECT_EQ(0, info.ready);
	EXPECT_EQ(0, twheel_timer_cancel_all(self->tw));
	EXPECT_EQ(0, twheel_cancel(self->tw, handle, NULL));
}

/* The other timers were due in the past, and their last records are in the buffer. */
static void get_others(struct set *set, struct probe *first)
{
	struct twheel_timer_info info;
	size_t i;

	for (i = 0; i < TIMERS; i++) {
		int ret = twheel_timer_get(set->probes[i].timer, &info);

		if (&set->probes[i] == first)
			set->wrong += ret != -ENOENT;
		else
			set->wrong += ret || info.state != TWHEEL_STATE_READY ||
				      info.deadline != PAST || info.remaining;
	}
}

TEST_F(timers, get_in_the_same_batch)
{
	static struct set set = { .action = get_others };

	dispatch_all(_metadata, &set, self->tw, 0, TIMERS);
}

TEST_F(timers, get)
{
	struct twheel_timer_info info;
	static struct set set;
	struct probe *probe = &set.probes[0];
	uint64_t now = twheel_now(self->tw);

	make_probe(_metadata, probe, &set, self->tw, on_expiry);
	EXPECT_EQ(-ENOENT, twheel_timer_get(probe->timer, &info));
	ASSERT_EQ(0, twheel_timer_start(probe->timer, FAR, SEC));
	ASSERT_EQ(0, twheel_timer_get(probe->timer, &info));
	EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
	EXPECT_LE(now + FAR, info.deadline);
	EXPECT_GE(twheel_now(self->tw) + FAR, info.deadline);
	EXPECT_GE(FAR, info.remaining);
	EXPECT_LT(FAR - LIMIT, info.remaining);
	EXPECT_EQ(SEC, info.interval);

	ASSERT_EQ(0, twheel_timer_start(probe->timer, 0, 0));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	ASSERT_EQ(0, twheel_timer_get(probe->timer, &info));
	EXPECT_EQ(TWHEEL_STATE_READY, info.state);
	EXPECT_EQ(0, info.remaining);
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(-ENOENT, twheel_timer_get(probe->timer, &info));
}

static void ignore(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
}

static int start_freed(struct twheel_timer *timer)
{
	return twheel_timer_start(timer, SEC, 0);
}

static int arm_freed(struct twheel_timer *timer)
{
	struct twheel_arm setting = { .expires = SEC };

	return twheel_timer_arm(timer, &setting, NULL);
}

static int push_freed(struct twheel_timer *timer)
{
	return twheel_timer_push(timer, SEC, 0);
}

static int cancel_freed(struct twheel_timer *timer)
{
	return twheel_timer_cancel(timer, NULL);
}

static int get_freed(struct twheel_timer *timer)
{
	struct twheel_timer_info info;

	return twheel_timer_get(timer, &info);
}

static int free_freed(struct twheel_timer *timer)
{
	twheel_timer_free(timer);
	return 0;
}

/* How a child ends that makes @call for @timer: the status, as of waitpid(); 0 is -EINVAL. */
static int end_of(int (*call)(struct twheel_timer *timer), struct twheel_timer *timer)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		signal(SIGABRT, SIG_DFL);
		/* What it says is not for the log of the tests. */
		close(STDERR_FILENO);
		_exit(call(timer) != -EINVAL);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/*
 * A timer that was freed is refused, until another one is made, and never freed twice. With
 * AddressSanitizer each such call ends the program.
 */
TEST_F(timers, use_after_free)
{
	int (*const calls[])(struct twheel_timer *timer) = {
		start_freed, arm_freed, push_freed, cancel_freed, get_freed,
	};
	struct twheel_timer *timer;
	size_t i;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, ignore, NULL));
	ASSERT_EQ(0, twheel_timer_start(timer, SEC, 0));
	twheel_timer_free(timer);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
#ifdef __SANITIZE_ADDRESS__
		EXPECT_NE(0, end_of(calls[i], timer));
#else
		EXPECT_EQ(-EINVAL, calls[i](timer));
#endif
	}
	EXPECT_EQ(0, twheel_timer_armed(timer));
}

TEST_F(timers, free_twice)
{
	struct twheel_timer *timer;
	int status;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, ignore, NULL));
	twheel_timer_free(timer);
	status = end_of(free_freed, timer);
#ifdef __SANITIZE_ADDRESS__
	EXPECT_NE(0, status);
#else
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

/* What a function of a timer sees that closes the context */
struct closing {
	struct twheel *tw;
	int calls;
	int nested;
	int inner;
};

static void close_context(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	struct closing *closing = arg;

	closing->calls++;
	if (closing->nested) {
		closing->nested = 0;
		closing->inner = twheel_dispatch(closing->tw);
		return;
	}
	twheel_close(closing->tw);
}

/* Three timers are due at once, and the functions close their context. */
static void dispatch_and_close(struct __test_metadata *_metadata, struct closing *closing)
{
	struct twheel_timer *timer;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, twheel_timer_new(&timer, closing->tw, close_context, closing));
		ASSERT_EQ(0, twheel_timer_start(timer, 0, 0));
	}
	EXPECT_EQ(1, twheel_dispatch(closing->tw));
}

TEST_F(timers, close_in_a_function)
{
	struct closing closing = { .tw = self->tw };

	dispatch_and_close(_metadata, &closing);
	EXPECT_EQ(1, closing.calls);
	self->tw = NULL;
}

/* The context is closed in a call of twheel_dispatch() by another function. */
TEST_F(timers, close_in_an_inner_dispatch)
{
	struct closing closing = { .tw = self->tw, .nested = 1 };

	dispatch_and_close(_metadata, &closing);
	EXPECT_EQ(2, closing.calls);
	EXPECT_EQ(1, closing.inner);
	self->tw = NULL;
}

/* How many bytes are allocated; 0 where that is not told, as under sanitizers. */
static size_t allocated(void)
{
#if defined(__GLIBC__) && __GLIBC__ * 100 + __GLIBC_MINOR__ >= 233
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

static void leave_at_once(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	longjmp(out, 1);
}

/* Opens a context, leaves its dispatch, and closes it. Returns 0 unless that has failed. */
static int open_leave_and_close(void)
{
	static struct twheel *tw;
	static int ret;
	struct twheel_timer *timer;

	ret = twheel_open(&tw, NULL, TWHEEL_OPEN_CLOEXEC, NULL);
	if (ret)
		return ret;
	ret |= twheel_timer_defer(tw, 1);
	ret |= twheel_timer_new(&timer, tw, leave_at_once, NULL);
	ret |= twheel_timer_start(timer, 0, 0);
	if (!ret && !setjmp(out)) {
		twheel_dispatch(tw);
		ret = -1;
	}
	twheel_close(tw);
	return ret;
}

/* A function that has left does not come back: its context is freed all the same. */
TEST(leave_and_close)
{
	enum { N = 100, FEW = 1024 };
	size_t before = 0;
	int i;

	for (i = 0; i < N; i++) {
		ASSERT_EQ(0, open_leave_and_close());
		if (!i)
			before = allocated();
	}
	EXPECT_GT(before + N * FEW, allocated());
}

/*
 * What a timer object remembers
 */

static void count_calls(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	unsigned int *calls = arg;

	++*calls;
}

TEST_F(timers, argument)
{
	unsigned int first = 0, second = 0;
	struct twheel_timer *timer;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, count_calls, &first));
	EXPECT_EQ(&first, twheel_timer_arg(timer));
	ASSERT_EQ(0, twheel_timer_start(timer, 0, 0));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	/* The new one is given also for what has expired already. */
	twheel_timer_set_arg(timer, &second);
	EXPECT_EQ(&second, twheel_timer_arg(timer));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(0, first);
	EXPECT_EQ(1, second);
}

TEST_F(timers, remaining)
{
	struct twheel_timer *timer;
	unsigned int calls = 0;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, count_calls, &calls));
	EXPECT_EQ(0, twheel_timer_remaining(timer));
	ASSERT_EQ(0, twheel_timer_start(timer, FAR, 0));
	/* A lease is rounded up by less than a unit. */
	EXPECT_GE(FAR + PAST, twheel_timer_remaining(timer));
	EXPECT_LE(FAR - LIMIT, twheel_timer_remaining(timer));
	ASSERT_EQ(0, twheel_timer_start(timer, 0, 0));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(0, twheel_timer_remaining(timer));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(0, twheel_timer_remaining(timer));
}

static void expect_same_settings(struct __test_metadata *_metadata,
				 const struct twheel_timer_info *before,
				 const struct twheel_timer_info *after)
{
	EXPECT_EQ(before->interval, after->interval);
	EXPECT_EQ(before->slack, after->slack);
	EXPECT_EQ(before->count, after->count);
	EXPECT_EQ(before->flags, after->flags);
}

TEST_F(timers, again)
{
	struct twheel_arm setting = {
		.expires = FAR, .interval = FAR / 2, .slack = 100 * MSEC, .count = 7,
		.flags = TWHEEL_ARM_FIXED_DELAY | TWHEEL_ARM_IF_NONE,
	};
	struct twheel_timer_info before, after;
	struct twheel_timer *timer;
	unsigned int calls = 0;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, count_calls, &calls));
	EXPECT_EQ(-ENOENT, twheel_timer_again(timer));
	ASSERT_EQ(0, twheel_timer_arm(timer, &setting, NULL));
	ASSERT_EQ(0, twheel_timer_get(timer, &before));
	EXPECT_EQ(TWHEEL_ARM_FIXED_DELAY, before.flags);
	ASSERT_EQ(0, twheel_timer_cancel(timer, NULL));
	EXPECT_EQ(0, twheel_timer_armed(timer));
	/* Whether it is armed or not, and without the condition. */
	EXPECT_EQ(0, twheel_timer_again(timer));
	EXPECT_EQ(0, twheel_timer_again(timer));
	ASSERT_EQ(0, twheel_timer_get(timer, &after));
	EXPECT_LE(before.deadline, after.deadline);
	expect_same_settings(_metadata, &before, &after);

	/* What was refused is not remembered. */
	setting.flags = TWHEEL_ARM_ABS | TWHEEL_ARM_IF_NONE;
	EXPECT_EQ(-EEXIST, twheel_timer_arm(timer, &setting, NULL));
	EXPECT_EQ(0, twheel_timer_again(timer));

	/* A one-shot timer that was called, even in its own function */
	ASSERT_EQ(0, twheel_timer_start(timer, 0, 0));
	dispatch_ready(_metadata, self->tw, 1);
	EXPECT_EQ(0, twheel_timer_again(timer));
	dispatch_ready(_metadata, self->tw, 1);
	EXPECT_EQ(2, calls);

	/* A point in time does not come again. */
	setting.flags = TWHEEL_ARM_ABS;
	ASSERT_EQ(0, twheel_timer_arm(timer, &setting, NULL));
	EXPECT_EQ(-EINVAL, twheel_timer_again(timer));
	EXPECT_EQ(1, twheel_timer_armed(timer));

	/* A new timer in the same place remembers nothing. */
	twheel_timer_free(timer);
	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, count_calls, &calls));
	EXPECT_EQ(-ENOENT, twheel_timer_again(timer));
}

/* Later and earlier; what is not the deadline stays, for timers of each kind. */
TEST_F(timers, push_keeps_the_settings)
{
	static const struct twheel_arm settings[] = {
		{ .expires = FAR },
		{ .expires = FAR, .slack = 100 * MSEC },
		{ .expires = FAR, .interval = SEC },
		{ .expires = FAR, .interval = SEC, .count = 5, .slack = 100 * MSEC },
		{ .expires = FAR, .interval = SEC, .flags = TWHEEL_ARM_FIXED_DELAY },
	};
	struct twheel_timer_info before, after;
	struct twheel_timer *timer;
	unsigned int calls = 0;
	uint64_t at;
	size_t i;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, count_calls, &calls));
	EXPECT_EQ(-ENOENT, twheel_timer_push(timer, FAR, 0));
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		ASSERT_EQ(0, twheel_timer_arm(timer, &settings[i], NULL));
		ASSERT_EQ(0, twheel_timer_get(timer, &before));
		EXPECT_EQ(-EINVAL, twheel_timer_push(timer, FAR, TWHEEL_ARM_IF_NONE));
		EXPECT_EQ(-EINVAL, twheel_timer_push(timer, UINT64_MAX, 0));
		for (at = before.deadline + SEC; at > before.deadline - 3 * SEC; at -= 2 * SEC) {
			EXPECT_EQ(0, twheel_timer_push(timer, at, TWHEEL_ARM_ABS));
			ASSERT_EQ(0, twheel_timer_get(timer, &after));
			EXPECT_LE(at, after.deadline);
			EXPECT_GT(at + PAST, after.deadline);
			expect_same_settings(_metadata, &before, &after);
		}
		EXPECT_EQ(0, twheel_timer_push(timer, 2 * FAR, 0));
		EXPECT_LT(2 * FAR - 60 * SEC, twheel_timer_remaining(timer));
		/* For ever */
		EXPECT_EQ(0, twheel_timer_push(timer, INT64_MAX, 0));
		EXPECT_EQ(0, twheel_timer_push(timer, INT64_MAX, TWHEEL_ARM_ABS));
		/* As it was armed, and not as it was pushed */
		EXPECT_EQ(0, twheel_timer_again(timer));
		EXPECT_GE(FAR + PAST, twheel_timer_remaining(timer));
	}
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	EXPECT_EQ(0, calls);
}

TEST(push_on_wall_time)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_REALTIME };
	struct twheel_arm setting = { .interval = SEC, .flags = TWHEEL_ARM_ABS };
	struct twheel_timer *timer;
	struct twheel *tw;

	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK, &config));
	ASSERT_EQ(0, twheel_timer_new(&timer, tw, ignore, NULL));
	setting.expires = twheel_now(tw) + FAR;
	ASSERT_EQ(0, twheel_timer_arm(timer, &setting, NULL));
	EXPECT_EQ(-EINVAL, twheel_timer_push(timer, FAR, 0));
	EXPECT_EQ(0, twheel_timer_push(timer, setting.expires + FAR, TWHEEL_ARM_ABS));
	EXPECT_LT(FAR, twheel_timer_remaining(timer));
	twheel_close(tw);
}

/* The rounds that are left are not begun anew. */
TEST_F(timers, push_keeps_the_rounds)
{
	struct twheel_arm setting = { .expires = 0, .interval = FAR, .count = 3 };
	struct twheel_timer_info info;
	struct twheel_timer *timer;
	unsigned int calls = 0;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, count_calls, &calls));
	ASSERT_EQ(0, twheel_timer_arm(timer, &setting, NULL));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	/* It is not pending: the record comes. */
	EXPECT_EQ(-ENOENT, twheel_timer_push(timer, FAR, 0));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, calls);
	EXPECT_EQ(0, twheel_timer_push(timer, 2 * FAR, 0));
	ASSERT_EQ(0, twheel_timer_get(timer, &info));
	EXPECT_EQ(2, info.count);
	EXPECT_EQ(0, twheel_timer_push(timer, 0, 0));
	dispatch_ready(_metadata, self->tw, 1);
	EXPECT_EQ(0, twheel_timer_push(timer, 0, 0));
	dispatch_ready(_metadata, self->tw, 1);
	EXPECT_EQ(3, calls);
	EXPECT_EQ(0, twheel_timer_armed(timer));
}

static void push_other(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	twheel_timer_push(arg, 2 * FAR, 0);
}

/* The record of a round was read already: that round is told, and the next one comes later. */
TEST_F(timers, push_after_the_read)
{
	uint64_t now = twheel_now(self->tw);
	struct twheel_arm first = { .expires = now - SEC, .flags = TWHEEL_ARM_ABS };
	struct twheel_arm second = { .expires = now, .interval = FAR, .count = 3,
				     .flags = TWHEEL_ARM_ABS };
	struct twheel_timer *timer, *other;
	struct twheel_timer_info info;
	unsigned int calls = 0;

	ASSERT_EQ(0, twheel_timer_new(&other, self->tw, count_calls, &calls));
	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, push_other, other));
	ASSERT_EQ(0, twheel_timer_arm(timer, &first, NULL));
	ASSERT_EQ(0, twheel_timer_arm(other, &second, NULL));
	dispatch_ready(_metadata, self->tw, 2);
	EXPECT_EQ(1, calls);
	EXPECT_LT(FAR, twheel_timer_remaining(other));
	ASSERT_EQ(0, twheel_timer_get(other, &info));
	EXPECT_LT(0, info.count);
}

/*
 * Groups
 */

/* More than are cancelled at once */
#define MANY	600

/* Makes timers in @group, all but every third of them armed for @delay. */
static int fill_group(struct twheel *tw, struct twheel_group *group, struct twheel_timer **timers,
		      uint64_t delay, unsigned int *calls)
{
	int i, ret = 0;

	for (i = 0; !ret && i < MANY; i++) {
		ret = twheel_timer_new(&timers[i], tw, count_calls, calls);
		if (!ret)
			ret = twheel_timer_set_group(timers[i], group);
		if (!ret && i % 3)
			ret = twheel_timer_start(timers[i], delay, 0);
	}
	return ret;
}

static uint64_t pending(struct twheel *tw)
{
	struct twheel_info info;

	return twheel_get_info(tw, 0, &info) ? UINT64_MAX : info.pending;
}

TEST_F(timers, group_cancel)
{
	static struct twheel_timer *timers[MANY];
	struct twheel_timer *other;
	struct twheel_group *group, *empty;
	unsigned int calls = 0;
	int i;

	ASSERT_EQ(0, twheel_group_new(&group, self->tw));
	ASSERT_EQ(0, twheel_group_new(&empty, self->tw));
	ASSERT_EQ(0, fill_group(self->tw, group, timers, FAR, &calls));
	ASSERT_EQ(0, twheel_timer_new(&other, self->tw, count_calls, &calls));
	ASSERT_EQ(0, twheel_timer_start(other, FAR, 0));
	EXPECT_EQ(0, twheel_group_cancel(empty));
	EXPECT_EQ(MANY - MANY / 3 + 1, pending(self->tw));

	/* One leaves it, one leaves for another group, one is freed. */
	EXPECT_EQ(0, twheel_timer_set_group(timers[MANY - 1], NULL));
	EXPECT_EQ(0, twheel_timer_set_group(timers[MANY / 2 + 1], empty));
	twheel_timer_free(timers[1]);
	EXPECT_EQ(MANY - MANY / 3, pending(self->tw));
	/* A new timer may be where the freed one was, and is in no group. */
	ASSERT_EQ(0, twheel_timer_new(&timers[1], self->tw, count_calls, &calls));
	ASSERT_EQ(0, twheel_timer_start(timers[1], FAR, 0));
	EXPECT_EQ(0, twheel_group_cancel(group));
	EXPECT_EQ(4, pending(self->tw));
	EXPECT_EQ(1, twheel_timer_armed(timers[1]));
	EXPECT_EQ(0, twheel_timer_cancel(timers[1], NULL));
	for (i = 2; i < MANY; i++)
		EXPECT_EQ(i == MANY - 1 || i == MANY / 2 + 1, twheel_timer_armed(timers[i]));
	EXPECT_EQ(0, twheel_group_cancel(empty));
	EXPECT_EQ(2, pending(self->tw));

	/* They stay in it. */
	EXPECT_EQ(0, twheel_timer_again(timers[2]));
	EXPECT_EQ(3, pending(self->tw));
	twheel_group_free(group);
	EXPECT_EQ(2, pending(self->tw));
	EXPECT_EQ(0, twheel_timer_again(timers[2]));
	EXPECT_EQ(3, pending(self->tw));
	twheel_group_free(NULL);
	EXPECT_EQ(0, calls);
}

/* Records that were read already are withdrawn, too. */
static struct twheel_group *ending;

static void end_group(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	count_calls(timer, event, arg);
	if (ending)
		twheel_group_free(ending);
	ending = NULL;
}

TEST_F(timers, group_ends_in_a_function)
{
	struct twheel_timer *timer;
	unsigned int calls = 0;
	int i;

	ASSERT_EQ(0, twheel_group_new(&ending, self->tw));
	for (i = 0; i < TIMERS; i++) {
		ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, end_group, &calls));
		ASSERT_EQ(0, twheel_timer_set_group(timer, ending));
		ASSERT_EQ(0, twheel_timer_start(timer, 0, 0));
	}
	dispatch_ready(_metadata, self->tw, TIMERS);
	EXPECT_EQ(1, calls);
	EXPECT_EQ(0, twheel_dispatch(self->tw));
}

/* Groups go with their context, and none has timers of another one. */
TEST_F(timers, group_and_context)
{
	struct twheel_timer *timer;
	struct twheel_group *group;
	unsigned int calls = 0;
	struct twheel *tw;

	ASSERT_EQ(0, twheel_open(&tw, NULL, NONBLOCK, NULL));
	ASSERT_EQ(0, twheel_group_new(&group, tw));
	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, count_calls, &calls));
	EXPECT_EQ(-EINVAL, twheel_timer_set_group(timer, group));
	ASSERT_EQ(0, twheel_timer_new(&timer, tw, count_calls, &calls));
	EXPECT_EQ(0, twheel_timer_set_group(timer, group));
	twheel_close(tw);
}

/*
 * Waiting for so long
 */

TEST_F(timers, dispatch_timeout)
{
	const uint64_t wait = 20 * MSEC;
	struct twheel_timer *timer;
	unsigned int calls = 0, i;
	struct twheel *contexts[] = { self->tw, NULL };
	uint64_t begin;

	ASSERT_EQ(0, twheel_open(&contexts[1], NULL, TWHEEL_OPEN_CLOEXEC, NULL));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EINVAL, twheel_dispatch_timeout(contexts[i], UINT64_MAX));
		EXPECT_EQ(0, twheel_dispatch_timeout(contexts[i], 0));
		ASSERT_EQ(0, twheel_timer_new(&timer, contexts[i], count_calls, &calls));
		ASSERT_EQ(0, twheel_timer_start(timer, FAR, 0));
		begin = twheel_now(contexts[i]);
		EXPECT_EQ(0, twheel_dispatch_timeout(contexts[i], wait));
		EXPECT_LE(begin + wait, twheel_now(contexts[i]));
		ASSERT_EQ(0, twheel_timer_start(timer, wait, 0));
		EXPECT_EQ(1, twheel_dispatch_timeout(contexts[i], FAR));
		EXPECT_EQ(i + 1, calls);
	}
	twheel_close(contexts[1]);
}

TEST_HARNESS_MAIN
