// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel's timer objects against a model: random calls on many timers, from outside and
 * from the functions of timers, with words and queues and without.
 *
 * The model knows for each timer whether it is armed, and when it is due. With that a
 * function is called if and only if its timer is armed, for the right deadline, not before
 * it, and in the order of the read; what calls return follows from the model, too; and in
 * the end nothing is lost.
 */
#include <stdbool.h>

#include "lib_calls.h"
#include "lib_util.h"

#define OBJECTS	200
#define ROUNDS	30
#define ACTIONS	1500

/**
 * struct object - what the model knows of a timer
 * @timer: the timer
 * @setting: what it was armed with last
 * @known: whether it was armed at all
 * @armed: whether it is armed
 * @from: the earliest time that its deadline may be
 * @until: the latest; the same if the deadline was a point in time
 * @interval: its interval; 0 for one shot
 * @slack: its slack
 */
struct object {
	struct twheel_timer	*timer;
	struct twheel_arm	setting;
	bool			known;
	bool			armed;
	uint64_t		from;
	uint64_t		until;
	uint64_t		interval;
	uint64_t		slack;
};

/**
 * struct model - the model
 * @tw: the context
 * @objects: the timers
 * @seed: the state of the random numbers
 * @quiet: functions do nothing, and end timers that repeat
 * @last: the deadline in the last call of a function
 * @reads: how many reads there were before that
 * @calls: how often functions were called
 * @arms: how many arms have succeeded
 * @silent: how many of them made no system call
 * @withdrawn: how many calls met timers that had expired
 * @wrong: how much was not as expected
 */
struct model {
	struct twheel	*tw;
	struct object	objects[OBJECTS];
	unsigned int	seed;
	bool		quiet;
	uint64_t	last;
	unsigned int	reads;
	unsigned int	calls;
	unsigned int	arms;
	unsigned int	silent;
	unsigned int	withdrawn;
	unsigned int	wrong;
};

static struct model model;
static jmp_buf out;

#define CHECK(condition) \
do { \
	if (!(condition) && model.wrong++ < 10) \
		printf("# line %d, call %u, arm %u: %s\n", __LINE__, model.calls, \
		       model.arms, #condition); \
} while (0)

/* A random number below @n. */
static unsigned int chance(unsigned int n)
{
	return (unsigned int)rand_r(&model.seed) % n;
}

/* Up to 3 ms. */
static uint64_t soon(void)
{
	return chance(3000) * 1000ULL;
}

static uint64_t over_zero(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* A call between @before and @after has replaced or cancelled @object, as @old says. */
static void check_old(const struct object *object, const struct twheel_old *old,
		      uint64_t before, uint64_t after)
{
	if (!object->armed) {
		CHECK(old->state == TWHEEL_STATE_NONE);
		return;
	}
	CHECK(old->state == TWHEEL_STATE_PENDING || old->state == TWHEEL_STATE_READY);
	if (old->state == TWHEEL_STATE_READY) {
		CHECK(object->from <= after);
		CHECK(!old->remaining);
		model.withdrawn++;
	} else if (!object->interval) {
		CHECK(old->remaining >= over_zero(object->from, after));
		CHECK(old->remaining <= over_zero(object->until, before));
	}
}

static struct twheel_arm random_setting(const struct object *object)
{
	uint64_t now = twheel_now(model.tw);
	struct twheel_arm setting = { .expires = soon() };

	if (chance(4)) {
		static const uint64_t ahead[] = { 0, 0, 0, FAR };

		setting.flags = TWHEEL_ARM_ABS;
		/* Later than now, or than it was; far ahead; or in the past. */
		if (object->armed && chance(2))
			setting.expires += object->until;
		else if (chance(8))
			setting.expires += now + ahead[chance(4)];
		else
			setting.expires = now - setting.expires;
	}
	if (!chance(6))
		setting.interval = 300000 + soon() / 3;
	if (!chance(8))
		setting.slack = 2 * MSEC;
	if (!chance(12))
		setting.flags |= chance(2) ? TWHEEL_ARM_IF_PENDING : TWHEEL_ARM_IF_NONE;
	return setting;
}

/* A call between @before and @after has made @object due at @expires, if @flags say so. */
static void becomes_due(struct object *object, uint64_t expires, uint32_t flags,
			uint64_t before, uint64_t after)
{
	object->from = expires;
	object->until = expires;
	if (!(flags & TWHEEL_ARM_ABS)) {
		object->from += before;
		object->until += after;
	}
	/* A lease's is rounded up, or down if it has passed. */
	if (twheel_config_flags(model.tw) & TWHEEL_CONFIG_LEASE && !object->interval) {
		object->from &= -UNIT;
		object->until = rounded(object->until);
	}
}

/* A call between @before and @after has armed @object as @object->setting says. */
static void becomes_armed(struct object *object, uint64_t before, uint64_t after)
{
	const struct twheel_arm *setting = &object->setting;

	model.arms++;
	object->armed = true;
	object->interval = setting->interval;
	object->slack = setting->slack;
	becomes_due(object, setting->expires, setting->flags, before, after);
}

static void arm(struct object *object)
{
	struct twheel_arm setting = random_setting(object);
	struct twheel_old old = { .state = 0xcc };
	bool ask = !chance(4);
	unsigned int ioctls = calls.ioctls;
	uint64_t before = twheel_now(model.tw);
	int ret = twheel_timer_arm(object->timer, &setting, ask ? &old : NULL);
	uint64_t after = twheel_now(model.tw);

	if (ret == -EEXIST) {
		CHECK(setting.flags & TWHEEL_ARM_IF_NONE && object->armed);
		return;
	}
	if (ret == -ENOENT) {
		CHECK(setting.flags & TWHEEL_ARM_IF_PENDING);
		CHECK(!object->armed || object->from <= after);
		return;
	}
	CHECK(!ret);
	if (setting.flags & TWHEEL_ARM_IF_NONE)
		CHECK(!object->armed);
	if (setting.flags & TWHEEL_ARM_IF_PENDING)
		CHECK(object->armed);
	if (ask)
		check_old(object, &old, before, after);

	model.silent += calls.ioctls == ioctls;
	object->setting = setting;
	object->known = true;
	becomes_armed(object, before, after);
}

static void again(struct object *object)
{
	unsigned int ioctls = calls.ioctls;
	uint64_t before = twheel_now(model.tw);
	int ret = twheel_timer_again(object->timer);

	if (!object->known)
		CHECK(ret == -ENOENT);
	else
		CHECK(ret == (object->setting.flags & TWHEEL_ARM_ABS ? -EINVAL : 0));
	if (ret)
		return;
	model.silent += calls.ioctls == ioctls;
	becomes_armed(object, before, twheel_now(model.tw));
}

/* Only one shot: of others a record that was read comes with the deadline of before. */
static void push(struct object *object)
{
	uint64_t before = twheel_now(model.tw), expires = soon();
	uint32_t flags = chance(2) ? TWHEEL_ARM_ABS : 0;
	int ret;

	if (object->armed && object->interval)
		return;
	if (flags)
		expires += before;
	ret = twheel_timer_push(object->timer, expires, flags);
	if (ret) {
		CHECK(ret == -ENOENT);
		CHECK(!object->armed || object->from <= twheel_now(model.tw));
		return;
	}
	CHECK(object->armed);
	becomes_due(object, expires, flags, before, twheel_now(model.tw));
}

static void cancel(struct object *object)
{
	struct twheel_old old = { .state = 0xcc };
	bool ask = !chance(4);
	uint64_t before = twheel_now(model.tw);
	int ret = twheel_timer_cancel(object->timer, ask ? &old : NULL);

	CHECK(ret == (object->armed ? 0 : -ENOENT));
	if (ask && !ret)
		check_old(object, &old, before, twheel_now(model.tw));
	object->armed = false;
}

static void get(const struct object *object)
{
	struct twheel_timer_info info;
	int ret = twheel_timer_get(object->timer, &info);

	CHECK(ret == (object->armed ? 0 : -ENOENT));
	if (ret)
		return;
	CHECK(info.deadline >= object->from);
	CHECK(!(info.flags & TWHEEL_ARM_LEASE) && !info.word && !info.tag);
	if (!object->interval)
		CHECK(info.deadline <= object->until);
	if (info.state == TWHEEL_STATE_PENDING) {
		CHECK(info.interval == object->interval);
		CHECK(info.slack <= object->slack);
		CHECK(!info.slack == !object->slack);
	}
}

static void on_object(struct twheel_timer *timer, const struct twheel_event *event,
		      void *arg);

static void replace(struct object *object)
{
	twheel_timer_free(object->timer);
	object->armed = false;
	object->known = false;
	CHECK(!twheel_timer_new(&object->timer, model.tw, on_object, object));
}

static void cancel_all(void)
{
	size_t i;

	CHECK(!twheel_timer_cancel_all(model.tw));
	for (i = 0; i < OBJECTS; i++)
		model.objects[i].armed = false;
}

/* Which timers are drained the objects must tell. */
static void drain(void)
{
	struct twheel_timer_info infos[16];
	uint64_t cursor = 0;
	ssize_t left;
	size_t i;

	left = twheel_drain(model.tw, &cursor, infos, 16);
	CHECK(left >= 0);
	for (i = 0; i < OBJECTS; i++) {
		struct object *object = &model.objects[i];

		if (!object->armed || twheel_timer_armed(object->timer))
			continue;
		object->armed = false;
		left--;
	}
	CHECK(!left);
}

static void act(void)
{
	struct object *object = &model.objects[chance(OBJECTS)];

	switch (chance(45)) {
	case 0 ... 4:
		cancel(object);
		break;
	case 5 ... 6:
		replace(object);
		break;
	case 7 ... 8:
		get(object);
		break;
	case 9:
		if (!chance(50))
			cancel_all();
		else if (!chance(20))
			drain();
		break;
	case 10:
		CHECK(!twheel_timer_flush(model.tw));
		break;
	case 11 ... 12:
		again(object);
		break;
	case 13 ... 15:
		push(object);
		break;
	default:
		arm(object);
		break;
	}
	CHECK(twheel_timer_armed(object->timer) == object->armed);
}

static void on_object(struct twheel_timer *timer, const struct twheel_event *event,
		      void *arg)
{
	struct object *object = arg;

	model.calls++;
	CHECK(timer == object->timer);
	CHECK(object->armed);
	CHECK(event->deadline >= object->from && event->deadline <= object->until);
	CHECK(event->expired >= event->deadline);
	CHECK(twheel_now(model.tw) >= event->deadline);
	CHECK(!(event->flags & TWHEEL_EVENT_LAST) == !!object->interval);
	CHECK(object->interval || event->expirations == 1);
	if (model.reads == calls.reads)
		CHECK(event->deadline >= model.last);
	model.reads = calls.reads;
	model.last = event->deadline;

	object->armed = object->interval;
	object->from = event->deadline + event->expirations * object->interval;
	object->until = object->from;
	CHECK(twheel_timer_armed(timer) == object->armed);

	if (model.quiet) {
		if (object->armed)
			cancel(object);
		return;
	}
	act();
	act();
	if (!chance(50))
		CHECK(twheel_dispatch(model.tw) >= 0);
	if (!chance(50))
		longjmp(out, 1);
}

static unsigned int count_armed(uint64_t before)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < OBJECTS; i++)
		n += model.objects[i].armed && model.objects[i].from < before;
	return n;
}

/* Waits until nothing is armed but what is far ahead, and sees that the device agrees. */
static void settle(bool deferred)
{
	uint64_t limit = twheel_now(model.tw) + FAR / 2;
	struct twheel_info info;
	size_t i;

	model.quiet = true;
	/* A function that left has left records in the buffer. */
	CHECK(twheel_dispatch(model.tw) >= 0);
	/* Without a queue the device knows all, so that the program may just wait. */
	if (deferred)
		CHECK(!twheel_timer_flush(model.tw));
	while (count_armed(limit) && !model.wrong) {
		CHECK(wait_readable(model.tw));
		CHECK(twheel_dispatch(model.tw) >= 0);
	}
	CHECK(twheel_dispatch(model.tw) == 0);
	CHECK(!twheel_get_info(model.tw, 0, &info));
	CHECK(info.pending == count_armed(UINT64_MAX));
	CHECK(!info.ready);
	for (i = 0; i < OBJECTS; i++)
		get(&model.objects[i]);
	model.quiet = false;
}

FIXTURE(model) {
};

/* @flags: TWHEEL_CONFIG_* bits; @deferred: whether calls are queued */
FIXTURE_VARIANT(model) {
	uint32_t flags;
	bool deferred;
};

VARIANT(model, plain) {};
VARIANT(model, leases) { .flags = TWHEEL_CONFIG_LEASE };
VARIANT(model, deferred) { .deferred = true };
VARIANT(model, leases_deferred) { .flags = TWHEEL_CONFIG_LEASE, .deferred = true };

FIXTURE_SETUP(model)
{
	struct twheel_config config = { .flags = variant->flags };
	const char *seed = getenv("TWHEEL_SEED");
	size_t i;

	model.seed = seed ? (unsigned int)atoi(seed) : 1;
	TH_LOG("TWHEEL_SEED=%u", model.seed);
	ASSERT_EQ(0, twheel_open(&model.tw, NULL, NONBLOCK, &config));
	if (variant->deferred)
		ASSERT_EQ(0, twheel_timer_defer(model.tw, 1));
	for (i = 0; i < OBJECTS; i++)
		ASSERT_EQ(0, twheel_timer_new(&model.objects[i].timer, model.tw, on_object,
					      &model.objects[i]));
}

FIXTURE_TEARDOWN(model)
{
	twheel_close(model.tw);
}

TEST_F(model, random_actions)
{
	static volatile unsigned int round;
	static volatile unsigned int i;
	bool silent = variant->flags || variant->deferred;

	for (round = 0; round < ROUNDS && !model.wrong; round++) {
		for (i = 0; i < ACTIONS; i++) {
			/* However fast the machine is, some meet timers that have expired. */
			if (i == ACTIONS / 2)
				usleep(2 * MSEC / 1000);
			act();
			if (chance(8))
				continue;
			if (!setjmp(out))
				CHECK(twheel_dispatch(model.tw) >= 0);
		}
		if (variant->deferred && chance(2)) {
			CHECK(!twheel_timer_defer(model.tw, 0));
			CHECK(!twheel_timer_defer(model.tw, round % 2));
		}
		settle(variant->deferred);
	}
	TH_LOG("%u calls, %u arms, %u of them silent, %u withdrawn", model.calls, model.arms,
	       model.silent, model.withdrawn);
	EXPECT_EQ(0, model.wrong);
	EXPECT_LT(2000, model.calls);
	EXPECT_LT(5, model.withdrawn);
	EXPECT_LE(silent ? 2000 : 0, model.silent);
	EXPECT_TRUE(silent || !model.silent);
}

TEST_HARNESS_MAIN
