// SPDX-License-Identifier: GPL-2.0-only
/*
 * How late does the load of another user make the timers of a user? This is a simulation of
 * one CPU, on which each of them has a wheel. The wheels and what claims a lease are those of the
 * module, in wheel.c and lease.h. What turn.c and expire.c do with them is repeated here. Time is
 * a number, and all work has a price.
 *
 * The other user is as good an attacker as possible. They have CPUs of their own, know the
 * clock of the wheel and which of their timers is looked at next, and store to its word or
 * re-arm it just before. Only that has a price, too.
 *
 * All this is the same on every machine. It shows how the design behaves if things cost
 * what is assumed here, but not what they really cost.
 */
#include <stdio.h>

#include "common.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "lease.h"
#pragma GCC diagnostic pop

#define USEC		1000ULL
#define MSEC		1000000ULL
#define SEC		1000000000ULL

/* The default geometry, and constants of module/linux/turn.c and module/core/expire.h. */
#define TICK_SHIFT	20
#define TICK_NS		(1ULL << TICK_SHIFT)
#define SLOTS		64
#define LEVELS		9
#define CHUNK		32
#define CHUNKS_PER_RUN	32
#define RUN_NS		MSEC

/* The tick at which a simulation begins. */
#define START		1000000ULL
#define NR_VICTIMS	512

/*
 * How late the timers of a user may be, whatever the other one does: a round of one run of each of
 * them, of which the last batch goes on beyond RUN_NS, and as long a pause.
 */
#define LATE_MAX	(5 * RUN_NS)

/**
 * struct costs - prices, in ns
 * @name:	the machine
 * @run:	an interrupt, with all work that is done once in it
 * @chunk:	taking a lock, and all work that is done once while it is held
 * @look:	taking a node and seeing whether it is due
 * @put_back:	enqueuing it again, if it is not due
 * @expire:	making its timer ready, if it is due
 * @store:	storing to a word, on another CPU
 * @arm:	arming a timer, or reading its record and arming it again, on another CPU
 */
struct costs {
	const char	*name;
	u64		run;
	u64		chunk;
	u64		look;
	u64		put_back;
	u64		expire;
	u64		store;
	u64		arm;
};

static const struct costs native = {
	.name		= "native",
	.run		= 2 * USEC,
	.chunk		= 100,
	.look		= 100,
	.put_back	= 50,
	.expire		= 200,
	.store		= 20,
	.arm		= 300,
};

static const struct costs emulated = {
	.name		= "emulated",
	.run		= 20 * USEC,
	.chunk		= 1 * USEC,
	.look		= 1 * USEC,
	.put_back	= 500,
	.expire		= 3 * USEC,
	.store		= 100,
	.arm		= 1500,
};

/*
 * A timer of the victim, which comes once; a lease; a timer that is re-armed in place to a
 * later time; a periodic timer of one tick, which is read and so armed again.
 */
enum kind {
	VICTIM,
	LEASE,
	REARMED,
	PERIODIC,
};

/**
 * struct timer - a timer of either user
 * @node:	in the wheel, or not
 * @kind:	its kind
 * @word:	for a lease: the time at which it is over, in ns
 * @seen:	for a lease: the word at the last look, in ns; otherwise the time of that look
 */
struct timer {
	struct twheel_node	node;
	enum kind		kind;
	u64			word;
	u64			seen;
};

struct sim;

/**
 * struct load - what the other user has on the CPU
 * @name:	a description
 * @kind:	the kind of its timers
 * @word:	for leases: returns the value of the word when it is looked at, in ns
 * @once:	timers that have expired are not armed again
 */
struct load {
	const char	*name;
	enum kind	kind;
	u64		(*word)(struct sim *s, const struct timer *t);
	bool		once;
};

/**
 * struct user_wheel - a wheel
 * @w:		the wheel, or NULL if there is none
 * @round:	the round in which it was turned last
 * @last:	tick of the timer that expired last
 */
struct user_wheel {
	struct twheel_wheel	*w;
	u32			round;
	u64			last;
};

/**
 * struct sim - a simulation
 * @costs:	the prices
 * @load:	the other user's load
 * @n:		number of timers of that load
 * @wheels:	the other user's wheel, and that of the victim, which may be the same
 * @timers:	@n timers of the other user, then those of the victim
 * @now:	the time, in ns
 * @round:	number of the round
 * @until:	the next round does not begin before this time
 * @spent:	total cost of the stores and arms of the other user
 * @unread:	a ring of its timers that have expired
 * @head:	the first of them
 * @tail:	behind the last of them
 * @read_at:	when the reader had finished the record before
 * @busy:	total time of all runs
 * @vain:	number of looks at leases and timers that were not over
 * @worst:	largest lateness of the victim's timers, in ns
 * @fired:	number of the victim's timers that came
 * @own_worst:	largest lateness of the other user's leases
 * @own_fired:	number of the other user's leases that came
 */
struct sim {
	const struct costs	*costs;
	const struct load	*load;
	u32			n;
	struct user_wheel	wheels[2];
	struct timer		*timers;
	u64			now;
	u32			round;
	u64			until;
	u64			spent;
	struct timer		**unread;
	u32			head;
	u32			tail;
	u64			read_at;
	u64			busy;
	u64			vain;
	u64			worst;
	u32			fired;
	u64			own_worst;
	u32			own_fired;
};

static u64 ns_of(u64 tick)
{
	return tick << TICK_SHIFT;
}

static u64 now_to_tick(u64 ns)
{
	return ns >> TICK_SHIFT;
}

/* Returns the tick at which a timer comes that is due at @ns. */
static u64 expires_tick(u64 ns)
{
	return now_to_tick(ns + TICK_NS - 1);
}

static u64 since_start(const struct sim *s)
{
	return s->now - ns_of(START);
}

/*
 * Returns whether the attacker has had the time for work of @cost, after all its work
 * before. If so, the work is done.
 */
static bool can_afford(struct sim *s, u64 cost)
{
	if (s->spent + cost > since_start(s))
		return false;
	s->spent += cost;
	return true;
}

/*
 * See look_at_lease() in module/core/expire.c: if the lease is not over, its node says when to
 * look again.
 */
static bool look_at_lease(struct sim *s, struct timer *t)
{
	u64 clk = s->wheels[0].w->clk, word = s->load->word(s, t), deadline;

	if (word > t->word && can_afford(s, s->costs->store))
		t->word = word;

	if (t->node.expires <= clk) {
		atomic64_t as_it_is = { (s64)twheel_lease_units(t->word) };
		bool claimed = twheel_lease_claim(&as_it_is, ns_of(clk), &deadline);

		t->seen = deadline;
		if (claimed)
			return true;
	} else {
		if (t->word <= t->seen)
			return false;
		t->seen = t->word;
	}
	s->vain++;

	t->node.expires = max_t(u64, t->node.expires, expires_tick(t->seen));
	return false;
}

/*
 * The timer was re-armed right after the last look at it, to the tick after the one at
 * which it was to come. That must also be after the tick of that look, or the call would
 * have made it ready.
 */
static void rearm_in_place(struct sim *s, struct timer *t)
{
	if (t->node.expires > s->wheels[0].w->clk || !can_afford(s, s->costs->arm))
		return;
	t->node.expires = max_t(u64, t->node.expires, now_to_tick(t->seen)) + 1;
	t->seen = s->now;
	s->vain++;
}

static bool is_over(struct sim *s, const struct twheel_wheel *w, struct timer *t)
{
	if (t->kind == LEASE)
		return look_at_lease(s, t);
	if (t->kind == REARMED)
		rearm_in_place(s, t);
	return t->node.expires <= w->clk;
}

static void note_late(const struct sim *s, u64 tick, u64 *worst, u32 *fired)
{
	u64 late = s->now - ns_of(tick);

	if (late > *worst)
		*worst = late;
	(*fired)++;
}

static void expire(struct sim *s, struct user_wheel *u, struct timer *t)
{
	u64 tick = t->node.expires;

	/* Timers come in order, as none is overdue when it is armed. */
	expect(tick == u->w->clk && tick >= u->last, "%llu came at %llu after %llu", tick,
	       u->w->clk, u->last);
	u->last = tick;

	if (t->kind == VICTIM) {
		note_late(s, tick, &s->worst, &s->fired);
		return;
	}
	if (t->kind == LEASE)
		note_late(s, expires_tick(t->seen), &s->own_worst, &s->own_fired);
	if (s->load->once)
		return;
	if (s->head == s->tail)
		s->read_at = s->now;
	s->unread[s->tail++ % s->n] = t;
}

/* Returns when the reader will have read the next record and armed its timer again. */
static u64 next_read(const struct sim *s)
{
	return s->head == s->tail ? U64_MAX : s->read_at + s->costs->arm;
}

static void read_records(struct sim *s)
{
	while (next_read(s) <= s->now) {
		struct timer *t = s->unread[s->head++ % s->n];

		s->read_at += s->costs->arm;
		t->node.expires = now_to_tick(s->now) + 1;
		t->word = ns_of(t->node.expires);
		t->seen = t->kind == LEASE ? t->word : s->now;
		twheel_wheel_forward(s->wheels[0].w, now_to_tick(s->now));
		twheel_wheel_enqueue(s->wheels[0].w, &t->node);
	}
}

/* See twheel_expire(). */
static u32 expire_batch(struct sim *s, struct user_wheel *u)
{
	u64 tick = now_to_tick(s->now);
	struct twheel_node *nodes[CHUNK];
	u32 seen = 0, n, i;

	s->now += s->costs->chunk;
	while (seen < CHUNK) {
		n = twheel_wheel_take(u->w, tick, nodes, CHUNK - seen);
		if (!n)
			break;
		seen += n;
		for (i = 0; i < n; i++) {
			struct timer *t = container_of(nodes[i], struct timer, node);

			s->now += s->costs->look;
			if (is_over(s, u->w, t)) {
				s->now += s->costs->expire;
				expire(s, u, t);
			} else {
				s->now += s->costs->put_back;
				twheel_wheel_enqueue(u->w, &t->node);
			}
		}
	}
	return seen;
}

/* See twheel_turn(). */
static void run(struct sim *s, struct user_wheel *u)
{
	u64 start = s->now;
	u32 chunks = CHUNKS_PER_RUN, seen;

	if (start >= s->until) {
		s->round++;
		s->until = start;
	}
	u->round = s->round;
	s->now += s->costs->run;
	do {
		seen = expire_batch(s, u);
		read_records(s);
	} while (seen == CHUNK && --chunks && s->now - start < RUN_NS);

	s->busy += s->now - start;
	s->until += 2 * (s->now - start);
}

/* When @u runs next. */
static u64 next_run(const struct sim *s, const struct user_wheel *u)
{
	u64 next = u->w ? u->w->next_expiry : TWHEEL_NEVER;

	if (next == TWHEEL_NEVER)
		return next;
	return u->round == s->round ? max_t(u64, ns_of(next), s->until) : ns_of(next);
}

/* Runs until all timers of the victim have come, and for @length ns at least. */
static void simulate(struct sim *s, u64 length)
{
	while (s->fired < NR_VICTIMS || since_start(s) < length) {
		struct user_wheel *u = &s->wheels[0];
		u64 at;

		/* Of two that are due the other user's comes first. */
		if (next_run(s, &s->wheels[1]) < next_run(s, u))
			u = &s->wheels[1];
		at = min_t(u64, next_run(s, u), next_read(s));

		/* A timer that does not come in ten times that is lost. */
		if (since_start(s) > 10 * length || at == U64_MAX)
			return;
		if (at > s->now)
			s->now = at;
		if (next_read(s) <= s->now)
			read_records(s);
		else
			run(s, u);
	}
}

/* The victim's first timers come tick by tick from @from on, the others up to 8 s later. */
static u64 victim_tick(u64 from, u32 i)
{
	return from + (i < 256 ? i : 256 + (i - 256) * 29);
}

/* @shared: both have one wheel. */
static struct sim *sim_new(const struct costs *costs, const struct load *load, u32 n,
			   u64 victims_from, bool shared)
{
	struct sim *s = calloc(1, sizeof(*s));
	u32 i;

	if (!s)
		abort();
	*s = (struct sim) {
		.costs		= costs,
		.load		= load,
		.n		= n,
		.timers		= calloc(n + NR_VICTIMS, sizeof(*s->timers)),
		.unread		= calloc(n, sizeof(*s->unread)),
		.now		= ns_of(START),
	};
	if (!s->timers || !s->unread)
		abort();
	for (i = 0; i < (shared ? 1 : 2); i++)
		s->wheels[i].w = wheel_new(SLOTS, LEVELS, START);
	for (i = 0; i < NR_VICTIMS; i++) {
		struct twheel_node *node = &s->timers[n + i].node;

		node->expires = victim_tick(START + victims_from, i);
		twheel_wheel_enqueue(s->wheels[!shared].w, node);
	}
	return s;
}

static void sim_free(struct sim *s)
{
	wheel_free(s->wheels[0].w);
	if (s->wheels[1].w)
		wheel_free(s->wheels[1].w);
	free(s->timers);
	free(s->unread);
	free(s);
}

/* Arms the other user's timer @i for @ns. */
static void arm(struct sim *s, u32 i, u64 ns)
{
	struct timer *t = &s->timers[i];

	t->kind = s->load->kind;
	t->word = ns;
	t->seen = t->kind == LEASE ? ns : s->now;
	t->node.expires = expires_tick(ns);
	twheel_wheel_enqueue(s->wheels[0].w, &t->node);
}

static void report(const struct sim *s)
{
	printf("# %s, %u %s: %.1f ms late, %.0f%% of the CPU\n", s->costs->name, s->n,
	       s->load->name, (double)s->worst / MSEC,
	       100 * (double)s->busy / (double)since_start(s));
	if (s->fired < NR_VICTIMS)
		printf("# and %u of %u did not come\n", NR_VICTIMS - s->fired, NR_VICTIMS);
}

/* All of the other user's timers come up at the tick of the victim's first timer. */
static struct sim *attack(const struct costs *costs, const struct load *load, u32 n,
			  bool shared)
{
	struct sim *s = sim_new(costs, load, n, 5, shared);
	u32 i;

	for (i = 0; i < n; i++)
		arm(s, i, ns_of(START + 5));
	simulate(s, 9 * SEC);
	report(s);
	return s;
}

static void expect_fair(const struct sim *s)
{
	u64 length = since_start(s);

	expect(s->fired == NR_VICTIMS, "%u of %u came", s->fired, NR_VICTIMS);
	expect(s->worst <= LATE_MAX, "%llu ns late", s->worst);
	expect(s->busy <= length / 2 + 4 * RUN_NS, "%llu of %llu ns", s->busy, length);
}

static u64 one_tick_ahead(struct sim *s, const struct timer *t)
{
	(void)t;
	return s->now + TICK_NS;
}

static u64 up_to_30_ticks_ahead(struct sim *s, const struct timer *t)
{
	return s->now + (u64)(t - s->timers) % 31 * TICK_NS;
}

/* A tick that is not on the grid of level 1. */
static u64 to_a_common_tick(struct sim *s, const struct timer *t)
{
	(void)t;
	return ns_of((now_to_tick(s->now) / 40 + 1) * 40 + 1);
}

static u64 to_a_common_second(struct sim *s, const struct timer *t)
{
	(void)t;
	return ns_of((now_to_tick(s->now) / 1000 + 1) * 1000 + 1);
}

/* As short as possible: when the wheel is late the deadline has already passed. */
static u64 past_the_wheels_clock(struct sim *s, const struct timer *t)
{
	(void)t;
	return ns_of(s->wheels[0].w->clk + 1);
}

/* The node goes to level 1, and comes up there ahead of time. */
static u64 onto_the_next_level(struct sim *s, const struct timer *t)
{
	(void)t;
	return ns_of(s->wheels[0].w->clk + SLOTS + 17);
}

static const struct load lease_attacks[] = {
	{ "leases kept a tick ahead", LEASE, one_tick_ahead, false },
	{ "leases kept up to 30 ticks ahead", LEASE, up_to_30_ticks_ahead, false },
	{ "leases kept at a common tick", LEASE, to_a_common_tick, false },
	{ "leases kept past the wheel's clock", LEASE, past_the_wheels_clock, false },
	{ "leases kept at a common second", LEASE, to_a_common_second, false },
	{ "leases kept on the next level", LEASE, onto_the_next_level, false },
};

/* With 10000 timers, and ten times as many, up to @most. */
static void attack_with(const struct costs *costs, const struct load *load, u32 most)
{
	u32 n;

	for (n = 10000; n <= most; n *= 10) {
		struct sim *s = attack(costs, load, n, false);

		expect_fair(s);
		sim_free(s);
	}
}

TEST(leases_of_another_user_cost_a_run)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lease_attacks); i++) {
		attack_with(&native, &lease_attacks[i], 1000000);
		attack_with(&emulated, &lease_attacks[i], 100000);
	}
}

TEST(timers_rearmed_in_place_cost_a_run)
{
	static const struct load load = { "timers re-armed in place", REARMED, NULL, false };

	attack_with(&native, &load, 1000000);
	attack_with(&emulated, &load, 100000);
}

/* The speed at which another CPU reads them does not matter. */
TEST(timers_of_a_tick_cost_a_run)
{
	static const struct load load = { "timers of a tick", PERIODIC, NULL, false };

	attack_with(&native, &load, 1000000);
	attack_with(&emulated, &load, 100000);
}

/* Checks that the simulation can tell: in one wheel the victim has no turn. */
TEST(in_one_wheel_another_user_stops_all)
{
	static const struct load *load = &lease_attacks[3];
	struct sim *s = attack(&native, load, 10000, true);

	expect(s->worst > SEC, "%llu ns late", s->worst);
	sim_free(s);
}

#define TIMEOUT		(30 * SEC)
#define HEARTBEAT	(10 * SEC)
/* All leases are armed within three seconds. */
#define ARMED_WITHIN	(3 * SEC)

static u64 armed_at(const struct sim *s, u32 i)
{
	return ns_of(START) + ARMED_WITHIN / s->n * i;
}

static bool is_dead(u32 i)
{
	return i % 100 == 7;
}

static u64 heartbeats(struct sim *s, const struct timer *t)
{
	u32 i = (u32)(t - s->timers);
	u64 from = armed_at(s, i);

	if (is_dead(i) || s->now < from)
		return t->word;
	return from + (s->now - from) / HEARTBEAT * HEARTBEAT + TIMEOUT;
}

static void expect_no_delay(const struct costs *costs, u32 n)
{
	static const struct load load = {
		.name	= "leases with heartbeats",
		.kind	= LEASE,
		.word	= heartbeats,
		.once	= true,
	};
	struct sim *s = sim_new(costs, &load, n, now_to_tick(TIMEOUT - 2 * SEC),
				 false);
	u32 i;

	for (i = 0; i < n; i++)
		arm(s, i, armed_at(s, i) + TIMEOUT);
	simulate(s, TIMEOUT + 10 * SEC);
	report(s);
	printf("# %u of them that were over: %.1f ms late\n", s->own_fired,
	       (double)s->own_worst / MSEC);
	expect_fair(s);
	expect(s->own_fired == n / 100, "%u came", s->own_fired);
	expect(s->own_worst <= 10 * MSEC, "%llu ns late", s->own_worst);
	sim_free(s);
}

/*
 * Leases that were armed together come up together, although nearly all are pushed back in
 * time. The owners of those that were not are told in time, and so are other users.
 */
TEST(a_burst_of_honest_leases_makes_nobody_late)
{
	expect_no_delay(&native, 1000000);
	expect_no_delay(&emulated, 100000);
}
