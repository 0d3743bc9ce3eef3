// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scenes: what happens in these episodes is written down, and nothing else does.
 *
 *	isolated	Threads stay on their CPU while that goes offline and comes back, is
 *			isolated, and then is not any more. Which CPU turns its wheel? Where do the
 *			timers go that they arm?
 *	poor		There is no memory for a wheel. How often do calls that can do without ask?
 *	lent		A CPU has chunks with free timers. Does another one make its own, and take
 *			those once memory is short?
 *	leap		A leap second that was announced does not come.
 *	watched		The clock is set again and again, and those who are told of it come and go.
 *	many		A user has many contexts, and as many timers as there may be. Does a call on
 *			one of them look at all? Does another user pay?
 *	again		Many timers are armed and cancelled, again and again. Is their memory
 *			counted, given back, and used again? How many runs take those due in one
 *			tick?
 *	busy		Timers are due in each tick, which take most of a CPU. Are others left half
 *			of it?
 *	lowered		A CPU has timers reserved when the limit is lowered, and whoever could take
 *			them back is killed. Does that CPU use them all the same?
 *	full		Contexts keep all the memory that their user may have, and need none. Can
 *			one more be opened?
 *	first		The settings of a context change while its first timer is armed. Has the
 *			timer the old ones, or the new ones?
 *	aware		A reader waits already when its context begins to be told of steps, and the
 *			clock is set just then.
 *	pushed		A timer is pushed by one CPU, and is re-armed by another one, or expires.
 *	drained		Leases are extended as they are drained, to memory that has to be faulted
 *			in; and at last it always has to be again.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/topology.h>

#include "../core/chunk.h"
#include "../core/ctx.h"
#include "../core/expire.h"
#include "kernel.h"
#include "oracle.h"
#include "quota.h"

#define HOUR	(3600 * NSEC_PER_SEC)
#define SOME	2
/* How often first timers are armed while settings change */
#define ROUNDS	20U
/* How often who is told of steps comes and goes, and how often the clock is set */
#define WATCHES	80U
#define MOST	(3 * SOME + 1)
/* Timers of which each comes before those that were armed before it */
#define EARLIER	100U
/* Contexts of a user who has many */
#define MANY	40U
/* Timers that take a dozen chunks, each time that they are armed */
#define CHUNKS	12U
#define IN_CHUNKS ((u32)(CHUNKS * TWHEEL_CHUNK_TIMERS))
#define TIMES	6U
/* So many of these chunks have a free timer: no more than a CPU keeps for itself */
#define LENT	8U
#define IN_LENT	((u32)(LENT * TWHEEL_CHUNK_TIMERS))
/* Ticks in each of which so many timers are due, and what each of them takes of a CPU, in ns */
#define BUSY_TICKS	30U
#define DUE		45U
#define DUE_NS		20000U
/* How often a timer is re-armed while it is pushed, and a lease drained while it is extended */
#define REARMED	100U
#define DRAINED	60U
/* So many contexts with a timer each take nearly all that TENANTS_LIMIT allows. */
#define KEEPERS	12U

/* The wheel of @cpu that the user of @c has, or NULL */
static const struct twheel_cpu_base *wheel_on(const struct context *c, unsigned int cpu)
{
	const struct twheel_ctx *ctx = c->file.private_data;

	return twheel_wheels_of(&ctx->pool.account.quota->wheels, ctx->clock, cpu);
}

/* How many timers are in it? */
static u64 timers_on(const struct context *c, unsigned int cpu)
{
	const struct twheel_cpu_base *cbase = wheel_on(c, cpu);

	return cbase ? cbase->base.wheel.nr_nodes : 0;
}

/* How many are in the wheels of the other CPUs of its node? */
static u64 timers_near(const struct context *c, unsigned int cpu)
{
	unsigned int other;
	u64 n = 0;

	for (other = 0; other < sim_config.cpus; other++)
		if (other != cpu && cpu_to_node(other) == cpu_to_node(cpu))
			n += timers_on(c, other);
	return n;
}

/* Is @cpu set to turn its own wheel? */
static bool turns_its_own(const struct context *c, unsigned int cpu)
{
	const struct twheel_cpu_base *cbase = wheel_on(c, cpu);

	return cbase && cbase->hrtimer.queued && cbase->hrtimer.cpu == (int)cpu;
}

/* A context of this episode's user, on CLOCK_MONOTONIC, that is not open yet */
static struct context new_context(void)
{
	return (struct context){ .nr = 1, .cred = world.cred, .clock = CLOCK_MONOTONIC };
}

/* A context and its user may have so many timers. */
static void allow(u32 n)
{
	*sim_param_max_fd_timers = n;
	sim_set_user_limit(n);
}

/* Arm a new timer, and return its handle. */
static u64 arm_one(struct context *c, u64 expires, u16 flags)
{
	struct twheel_arm arm = { .expires = expires, .flags = flags };
	long ret = call_arm(c, &arm);

	expect(!ret, CONTAINED, "a timer cannot be armed: %ld", ret);
	return arm.handle;
}

static void cancel_one(struct context *c, u64 handle)
{
	struct twheel_cancel cancel = { .handle = handle };

	expect(!call_cancel(c, &cancel), CONTAINED, "a timer cannot be cancelled");
}

static u64 handles[MOST];
static u32 armed;

static void arm_some(struct context *c, u32 n)
{
	while (n--)
		handles[armed++] = arm_one(c, HOUR, 0);
}

static void cancel_all(struct context *c)
{
	while (armed)
		cancel_one(c, handles[--armed]);
}

/* Each of many timers comes before all others. Is another CPU interrupted for each of them? */
static void arm_ever_earlier(struct context *c)
{
	u64 began = sim_now(), before = sim_stats.kicks, ticks;
	u32 n;

	for (n = EARLIER; n; n--)
		cancel_one(c, arm_one(c, n * NSEC_PER_SEC, 0));
	ticks = (sim_now() - began) / TICK + 2;
	expect(sim_stats.kicks - before <= 2 * ticks, FAIR, "%llu kicks in %llu ticks",
	       (unsigned long long)(sim_stats.kicks - before), (unsigned long long)ticks);
	/* The last one has the wheel turned in the next tick, by whichever CPU that is. */
	sim_sleep_until(sim_now() + 2 * TICK);
}

static void isolated_main(void *arg)
{
	struct context *c = &world.contexts[0];
	unsigned int cpu = (unsigned int)(uintptr_t)arg;
	u64 before, near;

	armed = 0;
	arm_some(c, SOME);
	expect(timers_on(c, cpu) == SOME, SILENCE, "timers are not where they are armed");
	expect(turns_its_own(c, cpu), SILENCE, "another CPU turns the wheel of one that is there");

	sim_hotplug(cpu, false);
	expect(!turns_its_own(c, cpu), CONTAINED, "a CPU that is offline is to turn its wheel");
	sim_hotplug(cpu, true);
	expect(turns_its_own(c, cpu), SILENCE, "another CPU turns the wheel of one that is back");

	/* The first one may go anywhere, as the wheel has to be made by a call that may sleep. */
	sim_isolate(cpu, true);
	arm_some(c, 1);
	before = timers_on(c, cpu);
	near = timers_near(c, cpu);
	arm_some(c, SOME);
	expect(timers_on(c, cpu) == before, SILENCE, "a CPU that is isolated gets timers");
	expect(timers_near(c, cpu) == near + SOME, SILENCE,
	       "timers of a CPU that is isolated go to another node");
	arm_ever_earlier(c);

	sim_isolate(cpu, false);
	arm_some(c, SOME);
	expect(timers_on(c, cpu) == before + SOME, SILENCE,
	       "a CPU that is not isolated any more gets no timers");
	cancel_all(c);
}

static void arm_main(void *arg)
{
	armed = 0;
	arm_some(&world.contexts[0], 1);
}

/* Push the timer of another CPU @n times. In how many of these calls does an allocation fail? */
static u32 pushes_that_ask(struct context *c, u32 n)
{
	u32 asked = 0;

	while (n--) {
		struct twheel_push push = {
			.handle		= handles[0],
			.expires	= time_of(c) + HOUR,
		};

		expect(call_write(c, &push, sizeof(push)) == sizeof(push), CONTAINED,
		       "a timer cannot be pushed without memory");
		asked += self->lacks_memory;
	}
	return asked;
}

static void poor_main(void *arg)
{
	struct context *c = &world.contexts[0];
	u64 begun = sim_now();
	u32 asked;

	sim_config.fail_chance = 65536;
	asked = pushes_that_ask(c, 200);
	expect(asked, SIM_ITSELF, "no push asks for the memory of a wheel");
	expect(asked <= 1 + (sim_now() - begun) / (100 * NSEC_PER_MSEC), CONSTANT_COST,
	       "%u pushes that can do without ask for memory", asked);
	sim_config.fail_chance = 0;

	sim_sleep_until(sim_now() + 200 * NSEC_PER_MSEC);
	/* The first one looks for its wheel, the next one makes it: then timers may move there. */
	pushes_that_ask(c, 2);
	arm_some(c, 1);
	expect(timers_on(c, 1), SILENCE, "there is memory again, and no wheel");
	cancel_all(c);
}

/* What is due in a tenth of a second comes then, on the clock that programs read. */
static void comes_in_time(struct context *c, u64 due)
{
	struct twheel_info info = { };
	struct twheel_event event;
	u64 before, after;
	long ret;

	before = sim_now() + (u64)sim_real_offset;
	expect(!call_info(c, &info), CONTAINED, "a context tells nothing of itself");
	after = sim_now() + (u64)sim_real_offset;
	expect(info.now + TICK >= before && info.now <= after + TICK, CONTAINED,
	       "it is %lld ns later than a context says", (long long)(before - info.now));
	ret = call_read(c, &event, 1, true);
	expect(ret == sizeof(event), CONTAINED, "no timer is read: %ld", ret);
	expect(sim_now() < due + NSEC_PER_SEC / 2, LATE_BY_A_TICK,
	       "a leap second that did not come makes a timer %llu ns late", sim_now() - due);
}

static u64 arm_for(struct context *c, u64 due)
{
	arm_one(c, due + (u64)sim_real_offset, TWHEEL_ARM_ABS);
	return due;
}

static void leap_main(void *arg)
{
	struct context c = {
		.nr		= 1,
		.cred		= world.cred,
		.clock		= CLOCK_REALTIME,
		.config.clock	= TWHEEL_CLOCK_REALTIME,
	};
	u64 at, due;

	open_context(&c);
	/* It is taken back as it has come, and before the clock was set. */
	at = sim_plan_leap(5 * TICK);
	sim_sleep_until(at + TICK);
	due = arm_for(&c, sim_now() + 100 * NSEC_PER_MSEC);
	sim_drop_leap(false);
	comes_in_time(&c, due);

	/* The machine sleeps then, and it stays announced. */
	at = sim_plan_leap(5 * TICK);
	sim_sleep_until(at + TICK);
	due = arm_for(&c, sim_now() + 1100 * NSEC_PER_MSEC);
	sim_sleep_until(at + NSEC_PER_SEC);
	sim_drop_leap(true);
	comes_in_time(&c, due);
	call_close(&c);
}

static void watch_main(void *arg)
{
	u32 i;

	/* Contexts that were closed count until a grace period is over. */
	sim_set_user_limit(1000 * WATCHES);
	for (i = 0; i < WATCHES; i++) {
		struct context c = {
			.nr		= 1 + (u32)(uintptr_t)arg,
			.cred		= world.cred,
			.clock		= CLOCK_REALTIME,
			.config.clock	= TWHEEL_CLOCK_REALTIME,
			.config.flags	= TWHEEL_CONFIG_CANCEL_ON_SET,
		};

		open_context(&c);
		sim_sleep_until(sim_now() + sim_below(20000));
		call_close(&c);
	}
}

static void watched_main(void *arg)
{
	u32 i;

	for (i = 0; i < WATCHES; i++) {
		step_clock((s64)TICK);
		sim_sleep_until(sim_now() + sim_below(20000));
	}
}

/* How many points are in a call that tells of a context, and in one more arm that is refused? */
static u64 points_at_limit(struct context *c)
{
	struct twheel_arm refused = { .expires = NSEC_PER_SEC };
	struct twheel_info info = { };
	u64 points;
	u32 i;

	/* The first arm finds out that nothing can be taken back. */
	for (i = 0; i < 2; i++) {
		points = sim_own_points();
		expect(!call_info(c, &info), CONTAINED, "a context tells nothing of itself");
		expect(call_arm(c, &refused) == -EDQUOT, CONTAINED,
		       "an arm is not refused, and there are %llu timers of %llu",
		       info.user_timers, info.user_limit);
	}
	return sim_own_points() - points;
}

/* Another user, whom the table of users has in the same place */
static void neighbour_arms(void)
{
	struct context c = new_context();
	struct twheel_arm arm = { .expires = HOUR };

	c.cred.uid.val += 64;
	open_context(&c);
	expect(!call_arm(&c, &arm), CONTAINED, "a user is at the limit, and another one pays");
	call_close(&c);
}

static void many_main(void *arg)
{
	static struct context contexts[MANY];
	u64 few = 0, points = 0;
	u32 n;

	for (n = 0; n < MANY; n++) {
		struct context *c = &contexts[n];

		/* Contexts take memory, too. */
		sim_set_user_limit(1000 * MANY);
		*c = new_context();
		open_context(c);
		arm_one(c, HOUR, 0);
		if (n && n != MANY - 1)
			continue;
		sim_set_user_limit(n + 1);
		points = points_at_limit(c);
		few = few ?: points;
	}
	expect(points < 2 * few, CONSTANT_COST,
	       "%llu points in calls on one context of %u, and %llu on the only one", points, MANY,
	       few);
	neighbour_arms();
	while (n)
		call_close(&contexts[--n]);
}

/* How many bytes are counted for the user of @c? */
static long memory_of(const struct context *c)
{
	const struct twheel_ctx *ctx = c->file.private_data;

	return atomic_long_read(&ctx->pool.account.quota->memory);
}

/* The timers that take chunks */
static u64 in_chunks[IN_CHUNKS];

static void arm_chunks(struct context *c, u64 when)
{
	u32 i;

	for (i = 0; i < IN_CHUNKS; i++)
		in_chunks[i] = arm_one(c, when, TWHEEL_ARM_ABS);
}

/* Arm them, and cancel them. Returns how many bytes more were counted meanwhile. */
static long arm_and_cancel(struct context *c)
{
	long before = memory_of(c), most;
	u32 i;

	arm_chunks(c, time_of(c) + HOUR);
	most = memory_of(c);
	for (i = 0; i < IN_CHUNKS; i++)
		cancel_one(c, in_chunks[i]);
	/* Until a grace period is over chunks count. */
	sim_sleep_until(sim_now() + 10 * TICK);
	return most - before;
}

static void again_main(void *arg)
{
	struct context c = new_context();
	long before, first, bytes;
	const struct twheel_ctx *ctx;
	u64 due, runs;
	u32 i;

	allow(2 * IN_CHUNKS);
	/* Contexts that were closed count until a grace period is over. */
	sim_sleep_until(sim_now() + 10 * TICK);
	before = memory_of(&world.contexts[0]);
	open_context(&c);
	ctx = c.file.private_data;
	expect(memory_of(&c) >= before + (long)sizeof(*ctx), CONTAINED,
	       "a context is not counted");
	/* Then there are one chunk and the tables that it needed, and nothing more stays. */
	bytes = arm_and_cancel(&c);
	first = memory_of(&c);
	for (i = 0; i < TIMES; i++) {
		expect(bytes >= (long)(CHUNKS - 1) * TWHEEL_CHUNK_SIZE, CONTAINED,
		       "%u chunks are counted as %ld bytes", CHUNKS, bytes);
		expect(memory_of(&c) <= first, CONTAINED,
		       "all timers were cancelled, and %ld bytes more are kept for them",
		       memory_of(&c) - first);
		bytes = arm_and_cancel(&c);
	}
	expect(ctx->pool.end <= CHUNKS + 1, CONTAINED,
	       "%u chunks, again and again, have %u numbers", CHUNKS, ctx->pool.end);

	due = time_of(&c) + 100 * TICK;
	arm_chunks(&c, due);
	sim_sleep_until(sim_time_of(&c, due) - 2 * TICK);
	runs = sim_stats.softirqs;
	sim_sleep_until(sim_time_of(&c, due) + 20 * TICK);
	runs = sim_stats.softirqs - runs;
	expect(runs && runs <= 8, CONSTANT_COST, "%u timers due in one tick take %llu runs",
	       IN_CHUNKS, runs);
	call_close(&c);
}

static struct context shared;

static void lend_main(void *arg)
{
	u32 i;

	allow(2 * IN_CHUNKS);
	shared = new_context();
	open_context(&shared);
	arm_chunks(&shared, time_of(&shared) + HOUR);
	/* Each of these chunks keeps a timer, so that it is not freed. */
	for (i = 0; i < IN_LENT; i++)
		if (i % TWHEEL_CHUNK_TIMERS)
			cancel_one(&shared, in_chunks[i]);
}

/* Arm @n timers that nobody cancels. Returns how many bytes more are counted then. */
static long arm_and_keep(struct context *c, u32 n)
{
	long before = memory_of(c);

	while (n--)
		arm_one(c, HOUR, 0);
	return memory_of(c) - before;
}

static void borrow_main(void *arg)
{
	long bytes = arm_and_keep(&shared, TWHEEL_CHUNK_TIMERS);

	expect(bytes >= (long)TWHEEL_CHUNK_SIZE, CONSTANT_COST,
	       "there is memory, and a CPU takes what another one needs: %ld bytes more", bytes);
	/* As many as there are, and few more */
	sim_set_user_limit(IN_CHUNKS - IN_LENT + LENT + 2 * TWHEEL_CHUNK_TIMERS);
	bytes = arm_and_keep(&shared, 1);
	expect(!bytes, CONTAINED,
	       "memory is short, and a CPU takes %ld bytes, and not what another one has", bytes);
	call_close(&shared);
}

/* What a batch has takes long here, so the next one expires at another time. */
static void expires_in_batches(struct context *c)
{
	struct twheel_event event = { };
	u64 expired = 0;
	u32 n = 0;

	while (call_read(c, &event, 1, false) == sizeof(event)) {
		n = event.expired == expired ? n + 1 : 1;
		expired = event.expired;
		expect(n <= TWHEEL_EXPIRE_BATCH, LATE_BY_A_TICK,
		       "%u timers have expired at one time, and a batch has %u", n,
		       TWHEEL_EXPIRE_BATCH);
	}
	expect(n, EXACTLY_ONCE, "no timer has expired");
}

static void busy_main(void *arg)
{
	struct context c = new_context();
	u64 due;
	u32 i;

	allow(2 * BUSY_TICKS * DUE);
	open_context(&c);
	/* They are armed by then, and so soon that none has to move in the wheel. */
	due = time_of(&c) + 24 * TICK;
	for (i = 0; i < BUSY_TICKS * DUE; i++)
		arm_one(&c, due + i / DUE * TICK, TWHEEL_ARM_ABS);
	sim_config.costs.node = DUE_NS;
	/* As for one user in fair.c */
	sim_config.max_debt = 4 * sim_max_run();
	sim_sleep_until(sim_time_of(&c, due) + 3 * BUSY_TICKS * TICK);
	sim_config.max_debt = 0;
	expires_in_batches(&c);
	call_close(&c);
}

static void reserving_main(void *arg)
{
	const struct twheel_ctx *ctx = world.contexts[0].file.private_data;

	sim_set_user_limit(1000);
	armed = 0;
	arm_some(&world.contexts[0], 1);
	expect(atomic_long_read(&ctx->pool.reserved) > 1, SIM_ITSELF,
	       "a CPU has no timers reserved for later");
}

/* It is to be killed after it has seen the limit, which another kill may come before. */
static void killed_main(void *arg)
{
	const struct twheel_ctx *ctx = world.contexts[0].file.private_data;
	struct twheel_arm arm = { .expires = HOUR };
	u32 changes = ctx->pool.changes;
	long ret;

	sim_set_user_limit(1);
	sim_config.kill_chance = 60000;
	do
		ret = call_arm(&world.contexts[0], &arm);
	while (ret == -EINTR && ctx->pool.changes == changes);
	sim_config.kill_chance = 0;
	expect(ret == -EINTR || ret == -EDQUOT, CONTAINED, "an arm at the limit returns %ld", ret);
}

static void lowered_main(void *arg)
{
	struct twheel_arm arm = { .expires = HOUR };
	long ret = call_arm(&world.contexts[0], &arm);

	expect(ret == -EDQUOT, CONTAINED, "a user has one timer, as many as may be, and gets %s",
	       ret ? "another error" : "one more");
	cancel_all(&world.contexts[0]);
}

static void full_main(void *arg)
{
	static struct context contexts[100];
	u32 n = 0;
	long ret;

	sim_set_user_limit(TENANTS_LIMIT);
	do {
		struct context *c = &contexts[n];

		*c = new_context();
		ret = call_open(c, FMODE_READ | FMODE_WRITE);
		/* An arm that finds no memory takes back what others keep: none comes to that. */
		if (!ret && n < KEEPERS)
			cancel_one(c, arm_one(c, HOUR, 0));
	} while (!ret && ++n < ARRAY_SIZE(contexts));
	expect(ret == -EDQUOT, CONTAINED, "%u contexts do not fill their user's memory: %ld", n,
	       ret);
	sim_sleep_until(sim_now() + NSEC_PER_SEC);
	ret = call_open(&contexts[n], FMODE_READ | FMODE_WRITE);
	expect(!ret, CONTAINED, "there is no memory for a context, and no timer: %ld", ret);
	for (n++; n; n--)
		call_close(&contexts[n - 1]);
}

/* A new context, how it is configured first and then anew, and what two CPUs arm there: @number */
static struct context fresh;
static u32 configs[2];
static u64 number;
static struct twheel_arm arms[2];
static long changed;

static void open_main(void *arg)
{
	fresh = new_context();
	fresh.config.flags = configs[0];
	open_context(&fresh);
}

static void first_main(void *arg)
{
	struct twheel_config config = { .flags = configs[1] };

	if (arg)
		changed = call_config(&fresh, &config);
	call_arm(&fresh, &arms[arg ? 1 : 0]);
}

static void close_main(void *arg)
{
	bool keyed = configs[0] & TWHEEL_CONFIG_KEYED;
	long wanted = 0;
	struct twheel_info info = { };

	if (configs[0] & TWHEEL_CONFIG_LEASE)
		wanted = changed ? 0 : -EINVAL;
	else if (number && (keyed ? !changed : arms[0].result))
		wanted = -ENOENT;
	/* A number that names no timer makes none, so that settings may still change. */
	expect(!changed || (changed == -EBUSY && (configs[0] || !number)), STABLE_INTERFACE,
	       "settings are refused: %ld", changed);
	expect(arms[0].result == wanted && !arms[1].result &&
	       (!number || arms[0].handle == number), STABLE_INTERFACE,
	       "first timers are armed: %d and %d, not %ld and 0; settings changed: %ld",
	       arms[0].result, arms[1].result, wanted, changed);
	expect(!call_info(&fresh, &info) && info.config == configs[!changed] &&
	       info.pending == !wanted + !(arms[0].old_state || arms[1].old_state),
	       STABLE_INTERFACE, "%llu timers, and settings %#x", info.pending, info.config);
	call_close(&fresh);
}

static void unaware_main(void *arg)
{
	struct twheel_event event;

	fresh.waiting++;
	call_read(&fresh, &event, 1, true);
	fresh.waiting--;
}

static void step_main(void *arg)
{
	sim_sleep_until(sim_now() + sim_below(4000));
	step_clock((s64)TICK);
}

/* A step that comes as the watch begins is told to who waits already. */
static void aware_main(void *arg)
{
	u32 i;

	for (i = 0; i < WATCHES; i++) {
		fresh = new_context();
		fresh.clock = CLOCK_REALTIME;
		fresh.config.clock = TWHEEL_CLOCK_REALTIME;
		open_context(&fresh);
		sim_spawn("unaware", (int)i, unaware_main, NULL, 1, true);
		sim_sleep_until(sim_now() + TICK);
		fresh.config.flags = TWHEEL_CONFIG_CANCEL_ON_SET;
		sim_spawn("step", (int)i, step_main, NULL, 1, true);
		sim_sleep_until(sim_now() + sim_below(4000));
		expect(!call_config(&fresh, &fresh.config), CONTAINED, "a step is refused");
		sim_sleep_until(sim_now() + 4 * TICK);
		expect(!fresh.waiting || !call_poll(&fresh, false), EXACTLY_ONCE,
		       "the clock was set as a watch began, and who waits is not told");
		arm_one(&fresh, 1, TWHEEL_ARM_ABS);
		while (fresh.waiting)
			sim_sleep_until(sim_now() + TICK);
		call_close(&fresh);
	}
}

/* The timer that two CPUs use, how often it was re-armed, and whether they go on */
static u64 used;
static u32 rearmed;
static bool going_on;

/* Bring it forward, once after each re-arm. It may expire, or be re-armed, meanwhile. */
static void pusher_main(void *arg)
{
	while (going_on) {
		u32 seen = rearmed;
		struct twheel_push push = { .handle = used, .expires = time_of(&fresh) + TICK };
		long ret;

		/* For so long that timers expire */
		sim_config.freeze_chance = 2000;
		sim_config.freeze_ns = 4 * TICK;
		ret = call_push(&fresh, &push, 1);
		sim_config.freeze_chance = 0;
		expect(ret == sizeof(push) || ret == -ENOENT, CONTAINED, "a push fails: %ld", ret);
		while (going_on && seen == rearmed)
			sim_sleep_until(sim_now() + sim_below(TICK / 2));
	}
	call_close(&fresh);
}

/* Nobody reads: so what has expired has done so for good, unless it is re-armed. */
static void pushed_main(void *arg)
{
	struct twheel_timer_info info = { }, before;
	u32 looks;

	fresh = new_context();
	open_context(&fresh);
	used = arm_one(&fresh, TICK, 0);
	going_on = true;
	sim_spawn("pusher", 1, pusher_main, NULL, 1, true);
	for (rearmed = 0; rearmed < REARMED; rearmed++) {
		struct twheel_arm arm = {
			.handle = used, .user_data = rearmed, .expires = 3 * TICK,
		};

		expect(!call_arm(&fresh, &arm), CONTAINED, "a timer cannot be re-armed");
		info = (struct twheel_timer_info){ .handle = used };
		for (looks = 1 + sim_below(16); looks; looks--) {
			before = info;
			expect(!call_get(&fresh, &info), CONTAINED, "a timer has gone");
			expect(info.user_data == rearmed, CANCEL_IS_FINAL,
			       "a timer was re-armed, and a push takes that back");
			expect(before.state != TWHEEL_STATE_READY ||
			       (info.state == before.state && info.deadline == before.deadline),
			       CANCEL_IS_FINAL, "a timer that has expired is pushed");
			sim_sleep_until(sim_now() + sim_below(TICK));
		}
	}
	going_on = false;
}

/* The word of the lease that is drained */
static u64 *lease_word;

static void extender_main(void *arg)
{
	u64 old;

	while (going_on) {
		sim_point();
		old = __atomic_load_n(lease_word, __ATOMIC_ACQUIRE);
		if (!(old & TWHEEL_LEASE_EXPIRED))
			__atomic_compare_exchange_n(lease_word, &old, old + 1, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
	call_close(&fresh);
}

static void drained_main(void *arg)
{
	struct twheel_timer_info info;
	struct twheel_list list = { .count = 1, .flags = TWHEEL_LIST_DRAIN };
	struct twheel_event event;
	struct page *page = NULL;
	u32 n;
	long ret;

	list.entries = (uintptr_t)&info;
	fresh = new_context();
	fresh.config.flags = TWHEEL_CONFIG_LEASE;
	open_context(&fresh);
	for (n = 0; n < DRAINED; n++) {
		struct twheel_arm arm = { .expires = HOUR, .flags = TWHEEL_ARM_LEASE };

		expect(!call_arm(&fresh, &arm), CONTAINED, "a lease cannot be armed");
		page = page ?: call_map(&fresh, 0);
		lease_word = (u64 *)page_address(page) + arm.word;
		going_on = true;
		if (!n)
			sim_spawn("extender", 1, extender_main, NULL, 1, true);
		sim_config.fault_chance = 16000;
		do {
			list.cursor = 0;
			ret = call_list(&fresh, &list);
		} while (ret == -EFAULT);
		expect(ret == 1, EXACTLY_ONCE, "a lease is drained %ld times", ret);
		expect(info.deadline == (*lease_word & TWHEEL_LEASE_UNITS_MASK) * UNIT,
		       CANCEL_IS_FINAL, "a lease was extended, and is drained as it was before");
	}
	sim_config.fault_chance = 65536;
	list.cursor = 0;
	arm_one(&fresh, 1, TWHEEL_ARM_ABS);
	arm_one(&fresh, HOUR, 0);
	expect(call_list(&fresh, &list) == -EFAULT &&
	       call_read(&fresh, &event, 1, false) == -EFAULT, CONTAINED,
	       "there is no memory, and entries are stored");
	sim_config.fault_chance = 0;
	expect(call_read(&fresh, &event, 1, false) == sizeof(event), EXACTLY_ONCE,
	       "a record that could not be stored is lost");
	call_unmap(&fresh, page);
	going_on = false;
}

/* Have a task on @cpu call @function, with that number, and wait for its end. */
static void play(const char *name, u32 cpu, void (*function)(void *arg))
{
	sim_spawn(name, (int)cpu, function, (void *)(uintptr_t)cpu, (int)cpu, true);
	sim_run();
}

static void arm_first(u32 before, u32 after, u64 handle, u16 flags)
{
	u32 cpu;

	configs[0] = before;
	configs[1] = after;
	number = handle;
	arms[0] = (struct twheel_arm){
		.handle = handle, .expires = HOUR, .flags = flags,
	};
	arms[1] = (struct twheel_arm){ .expires = HOUR };
	play("opener", 0, open_main);
	for (cpu = 0; cpu < 2; cpu++)
		sim_spawn("first", (int)cpu, first_main, (void *)(uintptr_t)cpu, (int)cpu, true);
	sim_run();
	play("closer", 0, close_main);
}

void scene_run(void)
{
	u32 cpu, i;

	sim_config.fail_chance = 0;
	sim_config.kill_chance = 0;
	sim_config.signal_chance = 0;
	sim_config.freeze_chance = 0;
	sim_config.late_chance = 0;
	call_sure();
	switch (by_seed(sim_config.seed, 64, 7)) {
	case 0:
		/* One after another. CPU 0 is for the timers of the others. */
		sim_config.stays = 0;
		for (cpu = 1; cpu < sim_config.cpus; cpu++)
			play("isolated", cpu, isolated_main);
		break;
	case 1:
		play("first", 0, arm_main);
		play("poor", 1, poor_main);
		play("lender", 0, lend_main);
		play("borrower", 1, borrow_main);
		break;
	case 2:
		play("many", 0, many_main);
		play("again", 0, again_main);
		break;
	case 3:
		for (i = 0; i < ROUNDS; i++) {
			arm_first(0, TWHEEL_CONFIG_KEYED, 5 * (i % 2), 0);
			arm_first(TWHEEL_CONFIG_KEYED, 0, 5 * (i % 2), 0);
			arm_first(TWHEEL_CONFIG_LEASE, 0, 0, TWHEEL_ARM_LEASE);
		}
		play("full", 0, full_main);
		break;
	case 4:
		/* For as long as it takes to close a context and to free it */
		sim_config.freeze_chance = 200;
		sim_config.freeze_ns = 60000;
		for (cpu = 0; cpu < sim_config.cpus; cpu++)
			sim_spawn("watch", (int)cpu, watch_main, (void *)(uintptr_t)cpu, (int)cpu,
				  false);
		sim_spawn("watched", 0, watched_main, NULL, 0, false);
		sim_run();
		play("aware", 0, aware_main);
		break;
	case 5:
		play("reserving", 1, reserving_main);
		play("killed", 0, killed_main);
		play("lowered", 1, lowered_main);
		play("busy", 0, busy_main);
		break;
	default:
		play("leap", 0, leap_main);
		play("pushed", 0, pushed_main);
		play("drained", 0, drained_main);
	}
}
