// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fairness: how late a user's timers come, and how much of its CPU a thread keeps, while
 * another user attacks the wheels of that CPU.
 *
 * The victim of the tests "late" has pairs of timers: a timer of a wheel and a timerfd,
 * armed on the attacked CPU for the same moment of the same clock, and armed anew as soon
 * as both have come. One thread on that CPU learns of both from the same epoll_wait(), so
 * if the thread is delayed, both are. The worst lateness of the timers is therefore judged
 * by that of the timerfds in the same seconds.
 *
 * The victim of the tests "spinner" is a thread that spins on the attacked CPU. Its time
 * there is judged by its time without the attack.
 *
 * An emulated machine stands still now and then, perhaps at the wrong moment. For the victim of
 * "late" its timerfds stand still, too, so there is one try. A thread's share counts as too small
 * only if it is in each of several tries. If the machine does not have its CPUs to itself, only a
 * bound that is broken by far counts. A timer that does not come at all is always a failure.
 *
 * With TWHEEL_COUNTED in the environment the time of the guest is instructions: see -I of
 * vm/run.sh. It has one CPU, which all share, and what else the machine does changes nothing. So
 * the bound of "late" is narrow then, and always counts.
 */
#include <linux/io_uring.h>
#include <pthread.h>
#include <sys/timerfd.h>

#include "hostile.h"

/* Enough time for all tries. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	600

#define TRIES		3
/* The default tick. */
#define TICK_NS		1048576ULL

static bool is_counted(void)
{
	return getenv("TWHEEL_COUNTED");
}

/* For how long the victim arms timers. */
#define WATCH_NS	(8 * TW_SEC)
/* A timer that is later than this counts as lost. */
#define LOST_NS		(15 * TW_SEC)

#define ROUNDS		3
#define ROUND_NS	(400 * TW_MSEC)
/*
 * What the thread must keep, as a share of the time that it has alone, and by how much its
 * longest gap may exceed that which it has alone.
 */
#define SHARE		0.4
#define GAP_NS		(20 * TW_MSEC)
/* The share of a CPU that the thread has alone if nothing else uses that CPU. */
#define QUIET		0.8

/*
 * How much later than timerfds the timers may come, however many the attacker has: a run of each of
 * its wheels, and the pauses, on a machine that is emulated.
 */
#define BOUND_NS	((is_counted() ? 20 : 50) * TW_MSEC)
/* No machine, however busy, may exceed a bound this many times. */
#define BUSY		10

/*
 * With many attackers a run of each of their wheels comes first, and as long a pause after each.
 * Their timers are of one tick: what is a whole number of these after the epoch of the clock.
 */
#define RUN_NS		TW_MSEC
#define TOGETHER_NS	(2 * TW_SEC)
#define USERS_MAX	100

/* As many leases as the user may have. More than the limit by default would only take longer. */
#define ALL		2000000

static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
#define CLOCKS		((int)ARRAY_SIZE(clocks))

/*
 * How far ahead of now the attacker keeps the deadlines of the timers that it pushes back.
 */
enum ahead {
	/*
	 * A tick and the time of two rounds of stores, so that a lease comes up in nearly
	 * each tick.
	 */
	A_TICK,
	/* As A_TICK, with up to 30 more ticks, whose number varies between leases. */
	SCATTERED,
	/* All leases have the same later tick, so that they come up together. */
	TOGETHER,
};

/**
 * struct plan - an attack
 * @what:	a description
 * @run:	carries it out, given a struct scene
 * @n:		number of timers or watches, in all
 * @users:	who attack, each with so many; or 0 for one
 * @clocks:	number of clocks that the timers are on
 * @ahead:	how far ahead the deadlines of leases are pushed
 * @ticks:	how many ticks further ahead those of other timers are
 * @peer:	the peer that gaps are compared with, or NULL
 */
struct plan {
	const char	*what;
	void		(*run)(void *scene);
	int		n;
	int		users;
	int		clocks;
	enum ahead	ahead;
	int		ticks;
	void		(*peer)(void *scene);
};

/* The current attack, set before the attacker is forked. */
static const struct plan *plan;

/* The processes that attack, one of each user */
static pid_t attackers[USERS_MAX];
static int nr_attackers;

static int nr_users(void)
{
	return plan->users ? plan->users : 1;
}

/* Returns whether all of them still run. */
static bool all_attack(void)
{
	int i;

	for (i = 0; i < nr_attackers; i++)
		if (waitpid(attackers[i], NULL, WNOHANG))
			return false;
	return true;
}

static void end_attacks(void)
{
	while (nr_attackers)
		end_attack(attackers[--nr_attackers]);
}

/*
 * Runs the attack as other users, each with a scene of its own, of which @scene is the first.
 * Returns when all have begun: whether they have. They run until end_attacks().
 */
static bool begin_attack(struct scene *scene, void (*run)(void *scene))
{
	pid_t pid;
	int i;

	for (i = 0; i < nr_users(); i++) {
		scene[i] = *scene;
		scene[i].ready = 0;
		scene[i].held = 0;
		scene[i].n = plan->n;
		pid = attack_as(NOBODY - i, run, &scene[i], scene->cpu);
		if (pid < 0)
			return false;
		attackers[nr_attackers++] = pid;
	}
	for (i = 0; i < nr_users(); i++) {
		while (!__atomic_load_n(&scene[i].ready, __ATOMIC_ACQUIRE)) {
			if (!all_attack())
				return false;
			usleep(1000);
		}
	}
	return true;
}

/* Returns whether the first attack still has at least @part of its timers. */
static bool holds(const struct scene *scene, double part)
{
	return __atomic_load_n(&scene->held, __ATOMIC_RELAXED) >= part * scene->n;
}

/*
 * The attackers that push back have two threads. One arms on the victim's CPU, and then
 * re-arms those that have expired, since the other thread may have been kept from its CPU.
 * It runs only when nothing else wants to. The other thread pushes back, on another CPU.
 */

/*
 * Moves this thread to the other CPU. As it may run on both, timers stay on the victim's; and as
 * it never sleeps, nothing makes the scheduler move it back.
 */
static void move_over(const struct scene *scene)
{
	cpu_set_t both;

	CPU_ZERO(&both);
	CPU_SET(scene->cpu, &both);
	CPU_SET(scene->other, &both);
	if (!tw_pin(scene->other) || sched_setaffinity(0, sizeof(both), &both))
		_exit(1);
}

/**
 * struct load - what an attacker has on one clock
 * @clock:	the clock
 * @fd:		the context
 * @words:	the words of its leases
 * @used:	how many of these words exist
 * @common:	the deadline of all leases, with TOGETHER
 * @arms:	the requests that re-arm its timers, unless these are leases
 */
static struct load {
	clockid_t		clock;
	int			fd;
	__u64			*words;
	int			used;
	__u64			common;
	struct twheel_arm	*arms;
} loads[CLOCKS];

/* The times that SCATTERED adds to a deadline. */
static __u64 scatter[1024];

/* Pushes back all leases of @load. The last rounds of stores took @round ns at most. */
static void store(struct load *load, __u64 round)
{
	int used = __atomic_load_n(&load->used, __ATOMIC_ACQUIRE), i;
	__u64 now = tw_now(load->clock), soon = 0;

	if (load->common < now + 2 * round + TICK_NS)
		load->common = ((now + 2 * round) / TICK_NS + 8) * TICK_NS;
	for (i = 0; i < used; i++) {
		if (i % 1024 == 0)
			soon = tw_now(load->clock) + 2 * round + TICK_NS;
		switch (plan->ahead) {
		case A_TICK:
			load->words[i] = tw_lease_value(0, soon);
			break;
		case SCATTERED:
			load->words[i] = tw_lease_value(0, soon + scatter[(now + i) % 1024]);
			break;
		case TOGETHER:
			load->words[i] = tw_lease_value(0, load->common);
			break;
		}
	}
}

/* Pushes back all timers of @load by system calls. The timers stay in their buckets. */
static void rearm(struct load *load, __u64 round, int n)
{
	__u64 ahead = 2 * round + (1 + plan->ticks) * TICK_NS;
	int i, k, part;

	for (i = 0; i < n; i += part) {
		part = n - i < 256 ? n - i : 256;
		for (k = 0; k < part; k++) {
			load->arms[i + k].expires = tw_now(load->clock) + ahead;
			load->arms[i + k].flags = TWHEEL_ARM_ABS | TWHEEL_ARM_IF_PENDING;
		}
		tw_arm_batch(load->fd, &load->arms[i], part);
	}
}

static void *push_back(void *arg)
{
	__u64 begin, took, round = 0, counted = 0;
	struct scene *scene = arg;
	int i, held;

	move_over(scene);
	for (;;) {
		begin = tw_now(CLOCK_MONOTONIC);
		for (i = 0; i < plan->clocks; i++) {
			if (loads[i].words)
				store(&loads[i], round);
			else
				rearm(&loads[i], round, plan->n);
		}
		if (begin - counted > 50 * TW_MSEC) {
			for (counted = begin, held = i = 0; i < plan->clocks; i++)
				held += tw_info(loads[i].fd).pending;
			__atomic_store_n(&scene->held, held, __ATOMIC_RELAXED);
		}
		/* If one round took long, another one soon may. Forget that only slowly. */
		took = tw_now(CLOCK_MONOTONIC) - begin;
		round -= round / 256;
		if (round < took)
			round = took;
	}
	return NULL;
}

/* Re-arms timers that have expired in spite of the stores, for ever. */
static void revive(struct scene *scene)
{
	static struct twheel_event events[256];
	struct pollfd fds[CLOCKS];
	struct twheel_arm like;
	int i, k, n, error;

	sched_setscheduler(0, SCHED_IDLE, &(struct sched_param) { });
	for (i = 0; i < plan->clocks; i++)
		fds[i] = (struct pollfd) { .fd = loads[i].fd, .events = POLLIN };
	set(&scene->ready);
	for (;;) {
		poll(fds, plan->clocks, 1000);
		for (i = 0; i < plan->clocks; i++) {
			n = tw_read(loads[i].fd, events, sizeof(events));
			n = n > 0 ? n / (int)sizeof(*events) : 0;
			like = tw_request(tw_now(loads[i].clock) + 100 * TW_MSEC,
					  TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE, 0);
			if (loads[i].words) {
				arm_like(loads[i].fd, &like, n, &error);
				continue;
			}
			for (k = 0; k < n; k++) {
				struct twheel_arm *arm = &loads[i].arms[events[k].user_data];

				arm->handle = tw_arm(loads[i].fd, like.expires,
						     TWHEEL_ARM_ABS, events[k].user_data);
			}
		}
	}
}

static void begin_thread(void *(*run)(void *scene), struct scene *scene)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, scene))
		_exit(1);
}

/* An attack with leases whose words are stored from another CPU. */
static void extend_leases(void *arg)
{
	__u64 begin = tw_now(CLOCK_MONOTONIC), first, now, random = 1;
	int want = plan->n / plan->clocks, i, n, error;
	struct scene *scene = arg;
	struct twheel_arm like;

	for (i = 0; i < (int)ARRAY_SIZE(scatter); i++)
		scatter[i] = tw_random(&random) % (30 * TICK_NS);
	for (i = 0; i < plan->clocks; i++) {
		struct load *load = &loads[i];

		load->clock = clocks[i];
		load->fd = tw_open();
		if (tw_configure(load->fd, clocks[i], TWHEEL_CONFIG_LEASE))
			_exit(1);
		load->words = mmap(NULL, 8UL * (want + want / 63 + 64),
				   PROT_READ | PROT_WRITE, MAP_SHARED, load->fd, 0);
		if (load->words == MAP_FAILED)
			_exit(1);
	}
	begin_thread(push_back, scene);

	/* The leases come up when all have been armed, if the machine is fast enough. */
	first = 100 * TW_MSEC + 3000ULL * plan->n;
	for (i = 0; i < plan->clocks; i++) {
		struct load *load = &loads[i];

		for (n = 0, error = 0; n < want && !error;) {
			now = tw_now(CLOCK_MONOTONIC);
			like = tw_request(tw_now(load->clock) + 50 * TW_MSEC,
					  TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE, 0);
			if (now < begin + first)
				like.expires += begin + first - now;
			n += arm_like(load->fd, &like,
				      want - n < 8192 ? want - n : 8192, &error);
			/* The first of each 64 words belongs to no timer. */
			__atomic_store_n(&load->used, n / 63 * 64 + n % 63 + 1,
					 __ATOMIC_RELEASE);
		}
		/* The limit of a context is by default the same as that of the user. */
		if (error && (plan->n != ALL || (error != -EDQUOT && error != -ENOSPC)))
			_exit(1);
		scene->n = plan->clocks * n;
	}
	while (tw_now(CLOCK_MONOTONIC) < begin + first)
		usleep(1000);
	usleep(50000);
	revive(scene);
}

/* Opens a context for @load, and arms all timers of the plan in it, to expire after @delay. */
static void arm_load(struct load *load, __u64 delay)
{
	int i;

	load->clock = CLOCK_MONOTONIC;
	load->fd = tw_open();
	load->arms = calloc(plan->n, sizeof(*load->arms));
	if (!load->arms)
		_exit(1);
	for (i = 0; i < plan->n; i++)
		load->arms[i] = tw_request(delay, 0, i);
	if (tw_arm_batch(load->fd, load->arms, plan->n) != plan->n)
		_exit(1);
}

/* An attack with timers that are re-armed from another CPU: see rearm(). */
static void rearm_in_place(void *arg)
{
	struct scene *scene = arg;

	arm_load(loads, 100 * TW_MSEC);
	begin_thread(push_back, scene);
	usleep(200000);
	revive(scene);
}

/* An attack with timers that are all due in one tick. When they have expired it does so again. */
static void all_at_once(void *arg)
{
	struct scene *scene = arg;
	__u64 deadline, took = 0;
	struct twheel_arm *arms;
	int i, fd = tw_open();

	arms = calloc(plan->n, sizeof(*arms));
	if (!arms)
		_exit(1);
	sched_setscheduler(0, SCHED_IDLE, &(struct sched_param) { });
	for (;;) {
		__u64 begin = tw_now(CLOCK_MONOTONIC);

		deadline = begin + 100 * TW_MSEC + (took ? 2 * took : 4 * TW_SEC);
		if (plan->users)
			deadline += TOGETHER_NS - deadline % TOGETHER_NS;
		for (i = 0; i < plan->n; i++) {
			arms[i].expires = deadline;
			arms[i].flags = TWHEEL_ARM_ABS;
		}
		if (tw_arm_batch(fd, arms, plan->n) != plan->n)
			_exit(1);
		took = tw_now(CLOCK_MONOTONIC) - begin;
		scene->held = scene->n;
		set(&scene->ready);
		while (tw_info(fd).pending)
			usleep(1000);
	}
}

/* Calls on the attacker's context from another CPU, as fast as possible, that take its locks. */
static void *call_on(void *arg)
{
	int fd = loads[0].fd, n = plan->n, i;
	struct scene *scene = arg;

	move_over(scene);
	for (;;) {
		for (i = 0; i < n; i++)
			loads[0].arms[i].expires = TW_FAR + i;
		if (tw_arm_batch(fd, loads[0].arms, n) != n)
			_exit(1);
		__atomic_store_n(&scene->held, tw_info(fd).pending, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * An attack with one context, of which a timer expires in each tick, and which another CPU calls
 * all the time to re-arm those that are far ahead on the same wheel.
 */
static void hammer(void *arg)
{
	struct twheel_arm arm = tw_request(TICK_NS, 0, 0);
	struct scene *scene = arg;
	struct load *load = loads;
	struct twheel_event event;

	arm_load(load, TW_FAR);
	arm.interval = TICK_NS;
	if (tw_call(load->fd, TWHEEL_IOC_ARM, &arm))
		_exit(1);
	begin_thread(call_on, scene);
	sched_setscheduler(0, SCHED_IDLE, &(struct sched_param) { });
	set(&scene->ready);
	for (;;) {
		tw_poll(load->fd, 1000);
		tw_read(load->fd, &event, sizeof(event));
	}
}

/* Has epoll watch @fd @n times. */
static bool by_epoll(int fd, int n)
{
	return more_files() && watch(fd, n);
}

/* Has io_uring poll @fd @n times, again and again. Nobody takes the completions. */
static bool by_uring(int fd, int n)
{
	struct io_uring_params params = { };
	int ring = syscall(__NR_io_uring_setup, 1024, &params), i, k;
	struct io_uring_sqe *sqes;
	__u32 *tail, *slots;
	char *sq;

	if (ring < 0)
		return false;
	sq = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(*slots),
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	sqes = mmap(NULL, params.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || sqes == MAP_FAILED)
		return false;
	tail = (__u32 *)(sq + params.sq_off.tail);
	slots = (__u32 *)(sq + params.sq_off.array);
	for (i = 0; i < n; i += k) {
		for (k = 0; k < (int)params.sq_entries && i + k < n; k++) {
			sqes[k] = (struct io_uring_sqe) {
				.opcode		= IORING_OP_POLL_ADD,
				.fd		= fd,
				.poll32_events	= POLLIN,
				.len		= IORING_POLL_ADD_MULTI,
			};
			slots[(*tail + k) % params.sq_entries] = k;
		}
		__atomic_store_n(tail, *tail + k, __ATOMIC_RELEASE);
		if (syscall(__NR_io_uring_enter, ring, k, 0, 0, NULL, 0) != k)
			return false;
	}
	return true;
}

/*
 * An attack with two contexts that very many waiters watch, as @wait arranges. In each tick a
 * timer of one of them expires, and in some ticks many, of both in turn. Nobody reads, so all is
 * set up once.
 */
static void wake(struct scene *scene, bool (*wait)(int fd, int n))
{
	__u64 tick, end = WATCH_NS + LOST_NS + TW_SEC, begin, deadline;
	int fds[2], i;

	for (i = 0; i < 2; i++) {
		fds[i] = tw_open();
		if (fds[i] < 0 || !wait(fds[i], plan->n / 2))
			_exit(1);
	}
	/*
	 * A timer that is armed too late would make this process wake all waiters, so skip
	 * those.
	 */
	begin = tw_now(CLOCK_MONOTONIC) + TW_SEC;
	for (tick = 0; tick < end / TICK_NS; tick++) {
		deadline = begin + tick * TICK_NS;
		if (deadline < tw_now(CLOCK_MONOTONIC) + 50 * TW_MSEC)
			continue;
		for (i = 0; i < (tick % 64 ? 1 : 256); i++)
			if (!tw_arm(fds[(tick + i) & 1], deadline, TWHEEL_ARM_ABS, 0))
				_exit(1);
	}
	while (tw_now(CLOCK_MONOTONIC) < begin)
		usleep(1000);
	scene->held = scene->n;
	last(scene);
}

static void wake_each_tick(void *scene)
{
	wake(scene, by_epoll);
}

static void wake_uring(void *scene)
{
	wake(scene, by_uring);
}

/* The peer of that attack: a timerfd with as many waiters expires ten times a second. */
static void wake_by_timerfd(void *arg)
{
	struct itimerspec spec = { .it_value = { 0, 1 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct scene *scene = arg;

	if (!more_files() || !watch(fd, plan->n))
		_exit(1);
	scene->held = scene->n;
	for (;;) {
		timerfd_settime(fd, 0, &spec, NULL);
		set(&scene->ready);
		usleep(100000);
	}
}

/* No attack: only the other CPU has as much to do as with one. */
static void run_elsewhere(void *arg)
{
	struct scene *scene = arg;

	tw_pin(scene->other);
	scene->held = scene->n;
	set(&scene->ready);
	for (;;)
		;
}

/**
 * struct rounds - what a thread that spins had in some rounds
 * @best:	best values, as other load can only make a round worse
 * @worst:	the smallest share
 */
struct rounds {
	struct victim	best;
	double		worst;
};

/*
 * Adds rounds during an attack. Rounds do not count if the attack loses many of its timers
 * in them, because its other CPU was taken away.
 */
static void suffer(struct __test_metadata *_metadata, struct scene *scene,
		   void (*run)(void *scene), struct rounds *rounds)
{
	struct victim v;
	int i, wait;

	ASSERT_TRUE(begin_attack(scene, run));
	tw_pin(scene->cpu);
	for (i = 0; i < ROUNDS; i++) {
		for (wait = 0; wait < 2000 && !holds(scene, 0.9); wait++)
			usleep(1000);
		v = spin(ROUND_NS);
		if (!holds(scene, 0.5))
			continue;
		better(&rounds->best, v);
		if (share(v) < rounds->worst)
			rounds->worst = share(v);
	}
	ASSERT_TRUE(all_attack());
	end_attacks();
}

/*
 * Returns whether this machine has its CPUs to itself. Adds rounds of a thread without an
 * attack to @alone.
 */
static bool is_quiet(struct __test_metadata *_metadata, struct scene *scene,
		     struct rounds *alone)
{
	suffer(_metadata, scene, run_elsewhere, alone);
	return alone->worst >= QUIET;
}

/**
 * enum verdict - how a try went
 * @KEPT:	within the bounds
 * @BROKEN:	beyond them
 * @UNKNOWN:	beyond them, but the machine does not have its CPUs to itself
 * @LOST:	a timer did not come
 */
enum verdict { KEPT, BROKEN, UNKNOWN, LOST };

static void try_several(struct __test_metadata *_metadata, struct scene *scene,
			enum verdict (*try)(struct __test_metadata *_metadata,
					    struct scene *scene))
{
	int n[LOST + 1] = { };

	while (!n[KEPT] && !n[LOST] && n[BROKEN] < TRIES && n[UNKNOWN] < TRIES)
		n[try(_metadata, scene)]++;
	if (n[UNKNOWN] == TRIES)
		SKIP(return, "the machine is too busy to tell");
	EXPECT_EQ(0, n[LOST]);
	EXPECT_GT(TRIES, n[BROKEN]);
}

/* The victim has two pairs for each span on each clock. */
static const int spans_ms[] = { 5, 10, 20, 50, 90, 200, 500, 1000, 2000, 4000, 8000 };
#define SPANS		((int)ARRAY_SIZE(spans_ms))
#define PAIRS		(2 * CLOCKS * SPANS)

enum kind { TIMER, TIMERFD, KINDS };

/**
 * struct pair - two timers for the same moment
 * @clock:	index of their clock
 * @span:	how far ahead they are armed, in ns
 * @timerfd:	the timer that is a timerfd; the other one is in the context for @clock
 * @deadline:	the deadline of both
 * @waits:	which of them have not come yet
 */
struct pair {
	int	clock;
	__u64	span;
	int	timerfd;
	__u64	deadline;
	bool	waits[KINDS];
};

/**
 * struct watcher - a victim with pairs
 * @ep:		reports all timers
 * @contexts:	one context for each clock
 * @end:	end of the time in which pairs are armed, on each clock
 * @random:	state of the generator
 * @pairs:	the pairs
 * @armed:	pairs armed so far
 * @lost:	timers that did not come
 * @worst:	lateness by kind, ns from the deadline until the thread knew
 * @latest:	the pair of the wheel's timer that was @worst, as it was then
 * @expired:	the worst lateness according to the records of the timers
 */
struct watcher {
	int		ep;
	int		contexts[CLOCKS];
	__u64		end[CLOCKS];
	__u64		random;
	struct pair	pairs[PAIRS];
	int		armed;
	int		lost;
	__u64		worst[KINDS];
	struct pair	latest;
	__u64		expired;
};

static bool arm_pair(struct watcher *w, struct pair *pair)
{
	struct itimerspec spec = { };
	__u64 deadline;

	/* The deadlines have various distances from a tick, and from a round number. */
	deadline = tw_now(clocks[pair->clock]) + pair->span -
		   tw_random(&w->random) % (pair->span / 8);
	if (deadline > w->end[pair->clock])
		return true;
	spec.it_value.tv_sec = deadline / TW_SEC;
	spec.it_value.tv_nsec = deadline % TW_SEC;
	pair->deadline = deadline;
	pair->waits[TIMER] = true;
	pair->waits[TIMERFD] = true;
	w->armed++;
	return tw_arm(w->contexts[pair->clock], deadline, TWHEEL_ARM_ABS, pair - w->pairs) &&
	       timerfd_settime(pair->timerfd, TFD_TIMER_ABSTIME, &spec, NULL) == 0;
}

static bool add(struct watcher *w, int fd, int index)
{
	struct epoll_event watch = { .events = EPOLLIN, .data.u32 = index };

	return fd >= 0 && epoll_ctl(w->ep, EPOLL_CTL_ADD, fd, &watch) == 0;
}

static bool prepare(struct watcher *w)
{
	int i;

	w->ep = epoll_create1(EPOLL_CLOEXEC);
	w->random = 1;
	for (i = 0; i < CLOCKS; i++) {
		w->contexts[i] = open_as(VICTIM);
		w->end[i] = tw_now(clocks[i]) + WATCH_NS;
		if (!add(w, w->contexts[i], PAIRS + i) ||
		    tw_config(w->contexts[i], clocks[i], 0))
			return false;
	}
	for (i = 0; i < PAIRS; i++) {
		struct pair *pair = &w->pairs[i];

		pair->clock = i % CLOCKS;
		pair->span = spans_ms[i % SPANS] * TW_MSEC;
		pair->timerfd = timerfd_create(clocks[pair->clock], TFD_NONBLOCK | TFD_CLOEXEC);
		if (!add(w, pair->timerfd, i))
			return false;
	}
	for (i = 0; i < PAIRS; i++)
		if (!arm_pair(w, &w->pairs[i]))
			return false;
	return true;
}

static void clear(struct watcher *w)
{
	int i;

	for (i = 0; i < CLOCKS; i++)
		close(w->contexts[i]);
	for (i = 0; i < PAIRS; i++)
		close(w->pairs[i].timerfd);
	close(w->ep);
}

/* The thread knows since @now that the timer @kind of @pair has expired. */
static bool came(struct watcher *w, struct pair *pair, enum kind kind, __u64 now)
{
	__u64 late = now - pair->deadline;

	pair->waits[kind] = false;
	if (late > w->worst[kind]) {
		w->worst[kind] = late;
		if (kind == TIMER)
			w->latest = *pair;
	}
	return pair->waits[!kind] || arm_pair(w, pair);
}

static bool look_at(struct watcher *w, __u32 index, const __u64 *now)
{
	struct twheel_event events[PAIRS];
	int i, n, clock = index - PAIRS;
	__u64 rounds;

	if (index < PAIRS)
		return read(w->pairs[index].timerfd, &rounds, sizeof(rounds)) > 0 &&
		       came(w, &w->pairs[index], TIMERFD, now[w->pairs[index].clock]);

	n = tw_read(w->contexts[clock], events, sizeof(events)) / (int)sizeof(*events);
	for (i = 0; i < n; i++) {
		__u64 expired = events[i].expired;

		if (expired - events[i].deadline > w->expired)
			w->expired = expired - events[i].deadline;
		/*
		 * The timer may have expired after epoll_wait() returned, which may also
		 * have reported an earlier one.
		 */
		if (!came(w, &w->pairs[events[i].user_data], TIMER,
			  expired > now[clock] ? expired : now[clock]))
			return false;
	}
	return n > 0;
}

/* Waits until all timers have come or some are lost. Returns false if a call fails. */
static bool watch_pairs(struct watcher *w)
{
	struct epoll_event events[PAIRS + CLOCKS];
	__u64 now[CLOCKS];
	bool waits = true;
	int i, n;

	while (waits && !w->lost) {
		n = epoll_wait(w->ep, events, ARRAY_SIZE(events), 100);
		for (i = 0; i < CLOCKS; i++)
			now[i] = tw_now(clocks[i]);
		for (i = 0; i < n; i++)
			if (!look_at(w, events[i].data.u32, now))
				return false;
		waits = false;
		for (i = 0; i < PAIRS; i++) {
			struct pair *pair = &w->pairs[i];

			waits |= pair->waits[TIMER] || pair->waits[TIMERFD];
			if (!pair->waits[TIMER] || now[pair->clock] < pair->deadline + LOST_NS)
				continue;
			w->lost++;
			came(w, pair, TIMER, now[pair->clock]);
		}
	}
	return true;
}

/* Finds out whether timers come in time during the attack. */
static enum verdict try_timers(struct __test_metadata *_metadata, struct scene *scene)
{
	__u64 late;
	struct rounds alone = { .worst = 1 };
	__u64 bound = BOUND_NS + 2 * plan->users * RUN_NS;
	struct watcher w = { };
	bool ok;

	if (plan->run)
		ASSERT_TRUE(begin_attack(scene, plan->run));
	tw_pin(scene->cpu);
	ok = prepare(&w) && watch_pairs(&w);
	/* If the attack has ended, nothing was measured. */
	ok = ok && all_attack();
	end_attacks();
	clear(&w);
	ASSERT_TRUE(ok);
	TH_LOG("%-38s timers %7.1f ms late, at most %7.1f to expire; timerfds %5.1f ms",
	       plan->what, w.worst[TIMER] / 1e6, w.expired / 1e6, w.worst[TIMERFD] / 1e6);
	TH_LOG("%d pairs, worst of %llu ms on clock %d; the attack had %d of %d", w.armed,
	       (unsigned long long)(w.latest.span / TW_MSEC), clocks[w.latest.clock],
	       scene->held, scene->n);
	if (w.lost) {
		TH_LOG("%d timers have not come", w.lost);
		return LOST;
	}
	if (w.worst[TIMER] > w.worst[TIMERFD] + bound && is_counted())
		return BROKEN;
	/* One CPU may be too slow to push all of them back. */
	if (plan->run && is_counted() && !holds(scene, 0.5))
		return UNKNOWN;
	if (w.worst[TIMER] <= w.worst[TIMERFD] + bound)
		return KEPT;
	late = w.worst[TIMER] - w.worst[TIMERFD];
	return late > BUSY * bound || is_quiet(_metadata, scene, &alone) ? BROKEN : UNKNOWN;
}

/* Returns why the tests cannot run here, or NULL. */
static const char *hindrance(void)
{
	if (obstacle())
		return obstacle();
	if (tw_nth_cpu(1) < 0 && !is_counted())
		return "needs two CPUs";
	return tw_debug_kernel() ? "a debug kernel takes longer than these bounds allow" : NULL;
}

static void look_around(struct __test_metadata *_metadata)
{
	int i;

	end_attacks();
	for (i = 0; i < nr_users(); i++)
		EXPECT_TRUE(nothing_left(NOBODY - i));
	EXPECT_TRUE(is_served(VICTIM));
}

/* What the setup of both fixtures does. */
static struct scene *begin_plan(struct __test_metadata *_metadata, const struct plan *attack)
{
	struct scene *scene;

	if (hindrance())
		SETUP_SKIP("%s", hindrance());
	scene = new_scenes(USERS_MAX);
	ASSERT_NE(NULL, scene);
	plan = attack;
	return scene;
}

FIXTURE(late)
{
	struct scene *scene;
};

FIXTURE_VARIANT(late)
{
	struct plan plan;
};

FIXTURE_SETUP(late)
{
	self->scene = begin_plan(_metadata, &variant->plan);
}

FIXTURE_TEARDOWN(late)
{
	look_around(_metadata);
}

VARIANT(late, nobody) { .plan = { .what = "no attack" } };
VARIANT(late, leases_100000_a_tick) { .plan = { .what = "100000 leases, a tick ahead",
	.run = extend_leases, .n = 100000, .clocks = 1, .ahead = A_TICK } };
VARIANT(late, leases_100000_scattered) { .plan = { .what = "100000 leases, up to 30 ticks ahead",
	.run = extend_leases, .n = 100000, .clocks = 1, .ahead = SCATTERED } };
VARIANT(late, leases_100000_together) { .plan = { .what = "100000 leases, all to one tick",
	.run = extend_leases, .n = 100000, .clocks = 1, .ahead = TOGETHER } };
VARIANT(late, leases_all_a_tick) { .plan = { .what = "all leases, a tick ahead",
	.run = extend_leases, .n = ALL, .clocks = 1, .ahead = A_TICK } };
VARIANT(late, leases_all_scattered) { .plan = { .what = "all leases, up to 30 ticks ahead",
	.run = extend_leases, .n = ALL, .clocks = 1, .ahead = SCATTERED } };
VARIANT(late, leases_all_together) { .plan = { .what = "all leases, all to one tick",
	.run = extend_leases, .n = ALL, .clocks = 1, .ahead = TOGETHER } };
VARIANT(late, three_clocks) { .plan = { .what = "100000 leases on 3 clocks", .run = extend_leases,
	.n = 100000, .clocks = 3, .ahead = SCATTERED } };
VARIANT(late, rearmed_near) { .plan = { .what = "100000 timers re-armed in place",
	.run = rearm_in_place, .n = 100000, .clocks = 1 } };
VARIANT(late, rearmed_far) { .plan = { .what = "100000 re-armed, 150 ticks ahead",
	.run = rearm_in_place, .n = 100000, .clocks = 1, .ticks = 150 } };
VARIANT(late, rearmed_all) { .plan = { .what = "500000 re-armed, 150 ticks ahead",
	.run = rearm_in_place, .n = 500000, .clocks = 1, .ticks = 150 } };
VARIANT(late, one_tick) { .plan = { .what = "500000 timers of one tick, in a loop",
	.run = all_at_once, .n = 500000 } };
VARIANT(late, one_tick_of_ten_users) { .plan = { .what = "10 users, 20000 timers each of one tick",
	.run = all_at_once, .n = 20000, .users = 10 } };
VARIANT(late, one_tick_of_a_hundred_users) {
	.plan = { .what = "100 users, 2000 timers each of one tick", .run = all_at_once, .n = 2000,
	.users = 100 } };
VARIANT(late, rounds) { .plan = { .what = "10000 periodic timers, read at once", .run = read_rounds,
	.n = 10000 } };
VARIANT(late, watches) { .plan = { .what = "20000 watches, woken in each tick",
	.run = wake_each_tick, .n = 20000 } };
VARIANT(late, polls) { .plan = { .what = "20000 polls of io_uring, in each tick", .run = wake_uring,
	.n = 20000 } };
VARIANT(late, hammered) { .plan = { .what = "own descriptor hammered", .run = hammer, .n = 256 } };

TEST_F(late, timers)
{
	enum verdict verdict = try_timers(_metadata, self->scene);

	if (verdict == UNKNOWN)
		SKIP(return, "the machine is too busy, or too slow for this attack, to tell");
	EXPECT_EQ(KEPT, verdict);
}

/* Finds out whether a thread keeps its share of the CPU that is attacked. */
static enum verdict try_share(struct __test_metadata *_metadata, struct scene *scene)
{
	struct rounds alone = { .worst = 1 }, attacked = alone, peer = alone;
	bool quiet;
	__u64 gap;

	if (!is_quiet(_metadata, scene, &alone))
		return UNKNOWN;
	suffer(_metadata, scene, plan->run, &attacked);
	quiet = is_quiet(_metadata, scene, &alone) && attacked.best.total;
	if (plan->peer)
		suffer(_metadata, scene, plan->peer, &peer);
	TH_LOG("%-36s leave %3.0f%%, alone %3.0f%% to %3.0f%%; longest gap %5.1f ms, alone %.1f ms",
	       plan->what, 100 * share(attacked.best), 100 * alone.worst,
	       100 * share(alone.best), attacked.best.gap / 1e6, alone.best.gap / 1e6);
	if (plan->peer)
		TH_LOG("one wake-up by a timerfd: gap %.1f ms", peer.best.gap / 1e6);
	gap = alone.best.gap > peer.best.gap ? alone.best.gap : peer.best.gap;
	if (attacked.best.total && share(attacked.best) >= SHARE * share(alone.best) &&
	    attacked.best.gap <= gap + GAP_NS)
		return KEPT;
	return quiet ? BROKEN : UNKNOWN;
}

FIXTURE(spinner)
{
	struct scene *scene;
};

FIXTURE_VARIANT(spinner)
{
	struct plan plan;
};

FIXTURE_SETUP(spinner)
{
	self->scene = begin_plan(_metadata, &variant->plan);
}

FIXTURE_TEARDOWN(spinner)
{
	look_around(_metadata);
}

/*
 * The leases are as many as on all clocks together, as each wheel could take all that the
 * user may have.
 */
VARIANT(spinner, one_clock) { .plan = { .what = "100000 leases on 1 clock", .run = extend_leases,
	.n = 100000, .clocks = 1, .ahead = SCATTERED } };
VARIANT(spinner, two_clocks) { .plan = { .what = "200000 leases on 2 clocks", .run = extend_leases,
	.n = 200000, .clocks = 2, .ahead = SCATTERED } };
VARIANT(spinner, three_clocks) { .plan = { .what = "300000 leases on 3 clocks",
	.run = extend_leases, .n = 300000, .clocks = 3, .ahead = SCATTERED } };
VARIANT(spinner, watches_20000) { .plan = { .what = "20000 watches, woken in each tick",
	.run = wake_each_tick, .n = 20000 } };

/*
 * The kernel wakes all waiters of a context in one call, which takes long and cannot be
 * split. A timerfd does no better, and is the measure.
 */
VARIANT(spinner, watches_200000) { .plan = { .what = "200000 watches, woken in each tick",
	.run = wake_each_tick, .n = 200000, .peer = wake_by_timerfd } };

TEST_F(spinner, thread)
{
	try_several(_metadata, self->scene, try_share);
}

TEST_HARNESS_MAIN
