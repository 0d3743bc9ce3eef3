// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases extended at their deadlines: for each exactly one side wins, and both know which; also
 * when their words get new leases at the same time.
 *
 * Runs until TWHEEL_STRESS_CONTESTS leases were contested (10 million, or a tenth of it on
 * a debug kernel). A lease is contested if a program tried to extend it when the kernel was
 * already due to look at it, and either was still in time, or was refused within a tick
 * from when the kernel had claimed the lease.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "twheel_test.h"
#include "load.h"

/* There is no limit to how long a user may want to run these tests. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	(24 * 3600)

/* As many as a CPU expires in one run, so that all come due in one tick. */
#define NR_LEASES	1024
/* The number of deadlines of one lease that are contested, unless it expires earlier. */
#define NR_STEPS	8
#define MAX_TEAMS	4
/* A context with that many timers has fewer words than this. */
#define MAP_SIZE	(4 * NR_LEASES * sizeof(uint64_t))

/**
 * struct attempt - what became of one thread's attempts at one lease
 * @refused: when it was refused first; 0 if never
 * @late: has a bit for each deadline that this thread extended after it was due
 */
struct attempt {
	__u64 refused;
	__u32 late;
};

/**
 * struct extender - a thread that extends the leases of its team
 * @team: its team
 * @thread: its thread
 * @cpu: the CPU on which it runs
 * @index: its index in the team
 * @pace: how long it waits for the kernel after a success, in ns
 * @attempts: by lease
 */
struct extender {
	struct team *team;
	pthread_t thread;
	int cpu;
	int index;
	__u64 pace;
	struct attempt attempts[NR_LEASES];
};

/**
 * struct team - a keeper, which arms and reads, and the threads that extend
 * @extenders: the first runs on another CPU than the leases, the second on theirs
 * @keeper: the keeper's thread
 * @start: where all threads begin a round, once the leases are armed
 * @end: where all threads end a round
 * @fd: the context
 * @cpu: the CPU on which the leases are armed
 * @words: all words of the context
 * @tags: of the leases
 * @arms: the request for each lease
 * @promised: the latest deadline that a thread has stored in each word
 * @tick: length of a tick
 * @due: when the kernel first looks at the leases in this round
 * @between: time from then to when it looks at the leases that were extended
 * @arming: how long the last arming of all took, in ns
 * @over: there are no more rounds
 * @kernel: contests that the kernel has won
 * @program: contests that the program has won
 * @armed: leases that were armed
 * @rearmed: leases that were re-armed before they expired
 * @expired: leases that expired, contested or not
 * @error: the first thing that went wrong, or empty
 */
struct team {
	struct extender extenders[2];
	pthread_t keeper;
	pthread_barrier_t start, end;
	int fd, cpu;
	uint64_t *words;
	__u16 tags[NR_LEASES];
	struct twheel_arm arms[NR_LEASES];
	__u64 promised[NR_LEASES];
	__u64 tick, due, between, arming;
	bool over;
	__u64 kernel, program, armed, rearmed, expired;
	char error[120];
};

static struct team teams[MAX_TEAMS];
static __u64 contests_wanted, contests;

static void __attribute__((format(printf, 2, 3)))
wrong(struct team *team, const char *format, ...)
{
	va_list args;

	if (team->error[0])
		return;
	va_start(args, format);
	vsnprintf(team->error, sizeof(team->error), format, args);
	va_end(args);
}

static __u64 nr_contests(void)
{
	const char *text = getenv("TWHEEL_STRESS_CONTESTS");
	long long n = text ? atoll(text) : 0;

	return n > 0 ? n : tw_debug_kernel() ? 1000000 : 10000000;
}

static void promise(struct team *team, int i, __u64 deadline)
{
	__u64 old = __atomic_load_n(&team->promised[i], __ATOMIC_RELAXED);

	while (old < deadline &&
	       !__atomic_compare_exchange_n(&team->promised[i], &old, deadline, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Sleeps for most of the time, then spins. */
static void wait_until(__u64 time)
{
	__u64 early = time - TW_MSEC / 4;
	struct timespec ts = { early / TW_SEC, early % TW_SEC };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	while (tw_now(CLOCK_MONOTONIC) < time)
		;
}

static bool extend_one(struct extender *e, int i, __u64 deadline)
{
	struct team *team = e->team;

	if (!tw_lease_extend_own(&team->words[team->arms[i].word], team->tags[i], deadline))
		return false;
	promise(team, i, tw_lease_round(deadline));
	return true;
}

/*
 * Extends all leases, which are due at @due, to @deadline. The kernel goes through them one
 * by one, and starts from the other end each time. So does the extender on another CPU,
 * just behind the kernel: where it is ahead of the kernel it waits a little, where it is
 * behind it does not.
 */
static void extend_all(struct extender *e, int step, __u64 due, __u64 deadline)
{
	int i, j, won = 0, lost = 0;
	__u64 now;

	for (i = 0; i < NR_LEASES; i++) {
		struct attempt *attempt;

		j = (step ^ e->index) & 1 ? i : NR_LEASES - 1 - i;
		attempt = &e->attempts[j];
		now = tw_now(CLOCK_MONOTONIC);
		if (!extend_one(e, j, deadline)) {
			lost += !attempt->refused;
			if (!attempt->refused)
				attempt->refused = now;
			continue;
		}
		if (attempt->refused)
			wrong(e->team, "refused at %llu, extended at %llu",
			      attempt->refused, now);
		if (now >= due)
			attempt->late |= 1U << step;
		won++;
		while (!e->index && tw_now(CLOCK_MONOTONIC) < now + e->pace)
			;
	}
	if (won > lost)
		e->pace += e->pace / 8 + 1;
	else
		e->pace -= e->pace / 8;
}

static void run_round(struct extender *e)
{
	struct team *team = e->team;
	__u64 due = team->due, next;
	int step, i;

	memset(e->attempts, 0, sizeof(e->attempts));
	/* Some leases are extended by a little, which does not change when they are due. */
	for (i = e->index; i < NR_LEASES; i += 3)
		extend_one(e, i, due - team->tick / 2 + 1 + e->index);

	for (step = 0; step < NR_STEPS; step++, due = next) {
		next = due + (step == NR_STEPS - 1 ? TW_FAR : team->between);
		/*
		 * On the CPU that the kernel is going to interrupt, begin before it does.
		 */
		wait_until(e->index ? due - 20000 : due);
		extend_all(e, step, due, next - team->tick / 2 + e->index);
	}
}

static void *extend(void *arg)
{
	struct extender *e = arg;

	tw_pin(e->cpu);
	for (;;) {
		pthread_barrier_wait(&e->team->start);
		if (e->team->over)
			return NULL;
		run_round(e);
		pthread_barrier_wait(&e->team->end);
	}
}

/* Arms the leases that have ended, and re-arms those that were extended. */
static void arm_all(struct team *team, __u32 round)
{
	struct twheel_batch batch = {
		.entries = (unsigned long)team->arms, .count = NR_LEASES,
	};
	__u64 begin = tw_now(CLOCK_MONOTONIC), end, deadline;
	int i, ret;

	/* The deadline is in the middle of a tick, so the leases are due at its end. */
	team->due = (begin + team->arming + team->arming / 4 + 2 * team->tick) & -team->tick;
	team->between = (team->arming + 2 * team->tick) & -team->tick;
	deadline = team->due - team->tick / 2;
	for (i = 0; i < NR_LEASES; i++) {
		__u64 handle = team->arms[i].handle;

		team->arms[i] = tw_request(deadline, TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE,
					   (__u64)round << 32 | i);
		team->arms[i].handle = handle;
	}
	ret = tw_call(team->fd, TWHEEL_IOC_ARM_BATCH, &batch);
	end = tw_now(CLOCK_MONOTONIC);
	if (ret != NR_LEASES)
		wrong(team, "armed %d", ret);
	for (i = 0; i < NR_LEASES; i++) {
		struct twheel_arm *arm = &team->arms[i];
		__u64 left = arm->old_remaining, promised = team->promised[i];

		if (arm->result || arm->word >= MAP_SIZE / sizeof(uint64_t))
			wrong(team, "arming: %d, word %u", arm->result, arm->word);
		/*
		 * A lease that was extended must still be pending, for as long as was
		 * promised.
		 */
		if (arm->old_state != (promised ? TWHEEL_STATE_PENDING : TWHEEL_STATE_NONE))
			wrong(team, "re-armed in state %u", arm->old_state);
		else if (promised && (left > promised - begin || left < promised - end))
			wrong(team, "re-armed with %llu left, promised %llu, at %llu",
			      left, promised, begin);
		/* A re-arm keeps the tag. */
		if (promised && arm->tag != team->tags[i])
			wrong(team, "tag %u became %u", team->tags[i], arm->tag);
		team->tags[i] = arm->tag;
		team->armed += !promised;
		team->rearmed += promised != 0;
		team->promised[i] = tw_lease_round(deadline);
	}
	team->arming = end - begin;
}

/* Finds out who has won. The extenders must have been told what the records say. */
static void judge(struct team *team, const __u64 *expired)
{
	__u64 kernel = 0, program = 0;
	int i;

	for (i = 0; i < NR_LEASES; i++) {
		const struct attempt *a = &team->extenders[0].attempts[i];
		const struct attempt *b = &team->extenders[1].attempts[i];

		if (!a->refused != !expired[i] || !b->refused != !expired[i])
			wrong(team, "refused at %llu and %llu, expired at %llu",
			      a->refused, b->refused, expired[i]);
		program += __builtin_popcount(a->late | b->late);
		if (!expired[i])
			continue;
		kernel += a->refused < expired[i] + team->tick ||
			  b->refused < expired[i] + team->tick;
		team->expired++;
		team->promised[i] = 0;
		team->arms[i].handle = 0;
	}
	team->kernel += kernel;
	team->program += program;
	__atomic_add_fetch(&contests, kernel + program, __ATOMIC_RELAXED);
}

static void read_all(struct team *team, __u32 round)
{
	struct twheel_event events[NR_LEASES], *event;
	__u64 expired[NR_LEASES] = { };
	size_t n = 0, i;
	ssize_t ret;

	/* If the kernel has refused an extension there must be a record of the lease. */
	for (i = 0; i < NR_LEASES; i++)
		n += team->extenders[0].attempts[i].refused != 0;
	if (tw_collect(team->fd, events, n) != n)
		wrong(team, "less than %zu records", n);
	for (event = events; event < events + n; event++) {
		i = (__u32)event->user_data;
		if (event->user_data >> 32 != round || i >= NR_LEASES || expired[i]) {
			wrong(team, "record of %llx in round %u", event->user_data, round);
			continue;
		}
		expired[i] = event->expired;
		if (event->deadline != team->promised[i] ||
		    event->expired < event->deadline || event->expirations != 1 ||
		    event->flags != TWHEEL_EVENT_LAST)
			wrong(team, "deadline %llu, expired %llu, promised %llu, flags %x",
			      event->deadline, event->expired, team->promised[i],
			      event->flags);
	}
	ret = tw_read(team->fd, events, sizeof(events));
	if (ret != -EAGAIN)
		wrong(team, "more than %zu records: %zd", n, ret);
	judge(team, expired);
}

static void *keep(void *arg)
{
	struct team *team = arg;
	__u32 round;

	tw_pin(team->cpu);
	for (round = 0; !team->error[0]; round++) {
		if (__atomic_load_n(&contests, __ATOMIC_RELAXED) >= contests_wanted)
			break;
		arm_all(team, round);
		pthread_barrier_wait(&team->start);
		pthread_barrier_wait(&team->end);
		read_all(team, round);
	}
	team->over = true;
	pthread_barrier_wait(&team->start);
	return NULL;
}

static bool begin_team(struct team *team, int index)
{
	int i;

	memset(team, 0, sizeof(*team));
	team->fd = tw_open();
	if (team->fd < 0 || tw_configure(team->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE))
		return false;
	team->words = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			   team->fd, 0);
	if (team->words == MAP_FAILED)
		return false;
	team->tick = tw_info(team->fd).tick_ns;
	team->arming = 5 * TW_MSEC;
	team->cpu = tw_nth_cpu(2 * index);
	pthread_barrier_init(&team->start, NULL, 3);
	pthread_barrier_init(&team->end, NULL, 3);
	for (i = 0; i < 2; i++) {
		struct extender *e = &team->extenders[i];

		e->team = team;
		e->index = i;
		e->pace = 1000;
		e->cpu = tw_nth_cpu(2 * index + !i);
		/* The machine may have only one CPU. */
		if (e->cpu < 0)
			e->cpu = team->cpu;
		if (pthread_create(&e->thread, NULL, extend, e))
			return false;
	}
	return !pthread_create(&team->keeper, NULL, keep, team);
}

TEST_F(tw, one_side_wins)
{
	__u64 kernel = 0, program = 0, armed = 0, rearmed = 0, expired = 0, begin;
	int nr_teams = sysconf(_SC_NPROCESSORS_ONLN) / 2, i;

	if (!(tw_info(self->fd).features & TWHEEL_FEATURE_LEASE))
		SKIP(return, "this kernel has no leases");
	if (nr_teams < 1)
		nr_teams = 1;
	if (nr_teams > MAX_TEAMS)
		nr_teams = MAX_TEAMS;
	contests_wanted = nr_contests();
	begin = tw_now(CLOCK_MONOTONIC);
	for (i = 0; i < nr_teams; i++)
		ASSERT_TRUE(begin_team(&teams[i], i));
	for (i = 0; i < nr_teams; i++) {
		struct team *team = &teams[i];

		pthread_join(team->keeper, NULL);
		pthread_join(team->extenders[0].thread, NULL);
		pthread_join(team->extenders[1].thread, NULL);
		EXPECT_STREQ("", team->error);
		kernel += team->kernel;
		program += team->program;
		armed += team->armed;
		rearmed += team->rearmed;
		expired += team->expired;
		/* All other leases are pending. */
		EXPECT_EQ(team->armed - team->expired, tw_info(team->fd).pending);
		EXPECT_EQ(0, tw_info(team->fd).ready);
		munmap(team->words, MAP_SIZE);
		close(team->fd);
	}
	TH_LOG("%llu leases armed, %llu re-armed, %llu expired", armed, rearmed, expired);
	TH_LOG("contested: the kernel won %llu, the program %llu, in %llu s", kernel, program,
	       (tw_now(CLOCK_MONOTONIC) - begin) / TW_SEC);
	EXPECT_LT(0, rearmed);
	EXPECT_LE(contests_wanted, kernel + program);
	/* If one side nearly always wins there is no contest. */
	EXPECT_LE(contests_wanted / 20, kernel);
	EXPECT_LE(contests_wanted / 20, program);
}

/**
 * struct hostile - a context whose words hold anything at any time
 * @fd: the context
 * @words: its words
 * @used: how many of them the program can access
 * @stop: the threads have to end
 * @armed: armings
 * @superseded: armings that were re-armed
 * @cancelled: armings that were cancelled
 * @read: armings of which a record was read
 * @stored: values that were stored in words
 * @wrong: an error that must not happen, or 0
 */
struct hostile {
	int fd;
	uint64_t *words;
	__u32 used;
	bool stop;
	__u64 armed, superseded, cancelled, read, stored;
	int wrong;
};

static __u64 rubbish(__u64 *state)
{
	__u64 random = tw_random(state), now = tw_now(CLOCK_MONOTONIC);
	__u16 tag = tw_random(state) & TWHEEL_LEASE_TAG_MASK;

	switch (tw_random(state) % 8) {
	case 0:
		return random;
	case 1:
		return 0;
	case 2:
		return random | TWHEEL_LEASE_EXPIRED;
	case 3:
		return tw_lease_value(tag, now + random % (4 * TW_MSEC)) | TWHEEL_LEASE_EXPIRED;
	case 4:
		return TWHEEL_LEASE_EXPIRED - 1 - random % 3;
	case 5:
		return tw_lease_value(tag, now - random % (4 * TW_MSEC));
	default:
		return tw_lease_value(tag, now + random % (4 * TW_MSEC));
	}
}

static void *store_rubbish(void *arg)
{
	struct hostile *h = arg;
	__u64 state = 0x9e3779b97f4a7c15ULL ^ (unsigned long)&state, stored = 0;
	__u32 used;

	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED)) {
		used = __atomic_load_n(&h->used, __ATOMIC_RELAXED);
		__atomic_store_n(&h->words[tw_random(&state) % used], rubbish(&state),
				 __ATOMIC_RELAXED);
		stored++;
	}
	__atomic_add_fetch(&h->stored, stored, __ATOMIC_RELAXED);
	return NULL;
}

/* Reads all records, and clears the handles of the timers that have ended. */
static void read_hostile(struct hostile *h, __u64 *handles)
{
	struct twheel_event events[64];
	ssize_t ret, i;

	while ((ret = tw_read(h->fd, events, sizeof(events))) > 0) {
		for (i = 0; i < ret / (ssize_t)sizeof(events[0]); i++) {
			if (events[i].user_data >= NR_LEASES ||
			    events[i].handle != handles[events[i].user_data] ||
			    events[i].deadline > events[i].expired)
				h->wrong = 1;
			else
				handles[events[i].user_data] = 0;
			h->read++;
		}
	}
	if (ret != -EAGAIN)
		h->wrong = 2;
}

static void *be_hostile(void *arg)
{
	static __u64 handles[NR_LEASES];
	struct hostile *h = arg;
	struct twheel_timer_info info;
	struct twheel_arm arm;
	__u64 state = 99, i;
	int ret;

	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED)) {
		i = tw_random(&state) % NR_LEASES;
		switch (tw_random(&state) % 16) {
		case 0:
			if (handles[i] && !tw_cancel(h->fd, handles[i])) {
				h->cancelled++;
				handles[i] = 0;
			}
			break;
		case 1:
			ret = tw_get(h->fd, handles[i], &info);
			if (ret ? ret != -ENOENT : info.deadline >= TWHEEL_LEASE_EXPIRED)
				h->wrong = 3;
			break;
		case 2:
			read_hostile(h, handles);
			break;
		default:
			arm = tw_request(tw_random(&state) % (3 * TW_MSEC),
					 TWHEEL_ARM_LEASE, i);
			arm.handle = handles[i];
			ret = tw_call(h->fd, TWHEEL_IOC_ARM, &arm);
			if (ret || arm.old_remaining >= TWHEEL_LEASE_EXPIRED)
				h->wrong = 4;
			h->superseded += arm.old_state != TWHEEL_STATE_NONE;
			h->armed++;
			handles[i] = arm.handle;
			if (arm.word >= h->used)
				__atomic_store_n(&h->used, arm.word + 1, __ATOMIC_RELAXED);
			break;
		}
	}
	/* However spoilt the words are, a cancel is final, and all timers are accounted for. */
	read_hostile(h, handles);
	for (i = 0; i < NR_LEASES; i++)
		if (handles[i] && !tw_cancel(h->fd, handles[i])) {
			h->cancelled++;
			handles[i] = 0;
		}
	read_hostile(h, handles);
	return NULL;
}

/* So many leases are made at most, and so many of them run at once. */
#define ROTA_MAX	(1 << 20)
#define ROTA_LIVE	16
/* Extenders choose among so many that were made last. Most of those have ended. */
#define ROTA_RECENT	64

/**
 * struct place - one lease of a rota
 * @handle: its handle
 * @armed: the deadline for which it was armed
 * @promised: the latest deadline that an extender was told to be in time for
 * @last: the deadline in its record; 0 if it was cancelled
 * @word: the index of its word
 * @tag: its tag
 * @ended: its record was read, or it was cancelled
 */
struct place {
	__u64 handle, armed, promised, last;
	__u32 word;
	__u16 tag;
	bool ended;
};

/**
 * struct rota - leases that follow each other in few words
 * @fd: the context
 * @words: its words
 * @places: all leases, in the order in which they were armed
 * @made: how many there are
 * @live: how many run
 * @own: extenders look at the tag of their lease, and not only at its word
 * @stop: no more leases are made
 * @quit: the reader and the extenders have to end
 * @extended: extensions that succeeded
 * @refused: extensions that were refused
 * @strangers: extensions that succeeded, of leases that had ended before the attempt
 * @broken: calls that failed
 */
struct rota {
	int fd;
	uint64_t *words;
	struct place *places;
	__u32 made;
	int live;
	bool own, stop, quit;
	__u64 extended, refused, strangers, broken;
};

static void *arm_rota(void *arg)
{
	struct rota *r = arg;
	__u64 state = 4711;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED) && r->made < ROTA_MAX) {
		struct place *p = &r->places[r->made], *other;
		struct twheel_arm arm;

		if (__atomic_load_n(&r->live, __ATOMIC_RELAXED) >= ROTA_LIVE) {
			other = p - 1 - tw_random(&state) % ROTA_LIVE;
			/* Make room by a cancel, or wait for the reader to do so. */
			if (other < r->places || tw_random(&state) % 4 ||
			    tw_cancel(r->fd, other->handle)) {
				sched_yield();
				continue;
			}
			__atomic_store_n(&other->ended, true, __ATOMIC_RELEASE);
			__atomic_sub_fetch(&r->live, 1, __ATOMIC_RELAXED);
		}
		arm = tw_request(tw_now(CLOCK_MONOTONIC) + tw_random(&state) % (2 * TW_MSEC),
				 TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE, r->made);
		if (tw_call(r->fd, TWHEEL_IOC_ARM, &arm) || arm.word >= MAP_SIZE / 8) {
			r->broken++;
			break;
		}
		p->handle = arm.handle;
		p->armed = tw_lease_round(arm.expires);
		p->word = arm.word;
		p->tag = arm.tag;
		__atomic_add_fetch(&r->live, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&r->made, r->made + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *read_rota(void *arg)
{
	struct twheel_event events[4];
	struct rota *r = arg;
	ssize_t ret, i;

	while (!__atomic_load_n(&r->quit, __ATOMIC_RELAXED)) {
		ret = tw_read(r->fd, events, sizeof(events));
		if (ret == -EAGAIN)
			tw_poll(r->fd, 10);
		for (i = 0; i < ret / (ssize_t)sizeof(events[0]); i++) {
			struct place *p = &r->places[events[i].user_data];

			p->last = events[i].deadline;
			__atomic_store_n(&p->ended, true, __ATOMIC_RELEASE);
			__atomic_sub_fetch(&r->live, 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void extend_place(struct rota *r, struct place *p, __u64 deadline)
{
	bool ended = __atomic_load_n(&p->ended, __ATOMIC_ACQUIRE);
	uint64_t *word = &r->words[p->word];
	__u64 old;

	if (!(r->own ? tw_lease_extend_own(word, p->tag, deadline) :
		       tw_lease_extend(word, deadline))) {
		__atomic_add_fetch(&r->refused, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_add_fetch(&r->extended, 1, __ATOMIC_RELAXED);
	if (ended)
		__atomic_add_fetch(&r->strangers, 1, __ATOMIC_RELAXED);
	deadline = tw_lease_round(deadline);
	old = __atomic_load_n(&p->promised, __ATOMIC_RELAXED);
	while (old < deadline &&
	       !__atomic_compare_exchange_n(&p->promised, &old, deadline, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void *extend_rota(void *arg)
{
	struct rota *r = arg;
	__u64 state = 1 + (unsigned long)&state;

	while (!__atomic_load_n(&r->quit, __ATOMIC_RELAXED)) {
		__u32 made = __atomic_load_n(&r->made, __ATOMIC_ACQUIRE);
		__u32 back = 1 + tw_random(&state) % ROTA_RECENT;

		if (back <= made)
			extend_place(r, &r->places[made - back],
				     tw_now(CLOCK_MONOTONIC) + tw_random(&state) % (2 * TW_MSEC));
		else
			sched_yield();
	}
	return NULL;
}

/*
 * Lets leases follow each other in their words for a while, with extenders that are late. A
 * record has the latest deadline that somebody was promised for its lease; so how often that is
 * not so is returned in *@wrong: a promise was broken, or a lease was extended in the place of
 * another one.
 */
static bool run_rota(struct rota *r, int fd, __u64 ns, __u64 *wrong)
{
	void *(*const bodies[])(void *) = { arm_rota, read_rota, extend_rota, extend_rota };
	pthread_t threads[ARRAY_SIZE(bodies)];
	__u64 limit;
	__u32 i;

	r->fd = fd;
	r->words = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	r->places = calloc(ROTA_MAX, sizeof(*r->places));
	/* The first page of words exists only after a lease was armed. */
	if (r->words == MAP_FAILED || !r->places ||
	    tw_cancel(fd, tw_arm(fd, TW_FAR, TWHEEL_ARM_LEASE, 0)))
		return false;
	for (i = 0; i < ARRAY_SIZE(bodies); i++)
		if (pthread_create(&threads[i], NULL, bodies[i], r))
			return false;
	if (!tw_pass(ns))
		return false;
	__atomic_store_n(&r->stop, true, __ATOMIC_RELAXED);
	pthread_join(threads[0], NULL);
	/* Those that are left end for good once nobody extends them any more. */
	__atomic_store_n(&r->quit, true, __ATOMIC_RELAXED);
	for (i = 1; i < ARRAY_SIZE(bodies); i++)
		pthread_join(threads[i], NULL);
	r->quit = false;
	if (pthread_create(&threads[1], NULL, read_rota, r))
		return false;
	limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	while (__atomic_load_n(&r->live, __ATOMIC_RELAXED) && tw_now(CLOCK_MONOTONIC) < limit)
		sched_yield();
	__atomic_store_n(&r->quit, true, __ATOMIC_RELAXED);
	pthread_join(threads[1], NULL);

	*wrong = 0;
	for (i = 0; i < r->made; i++) {
		const struct place *p = &r->places[i];
		__u64 most = p->promised > p->armed ? p->promised : p->armed;

		/* One that had passed when it was armed is rounded down. */
		if (p->last && p->last != most &&
		    !(most == p->armed && p->last == p->armed - 1024))
			++*wrong;
	}
	munmap(r->words, MAP_SIZE);
	free(r->places);
	return !r->live && !r->broken;
}

/*
 * A word outlives its lease: one thread extends a lease, another one reads its last record, and a
 * third one arms the next lease, which gets the word. By the tag the first one is told that it
 * is too late.
 */
TEST_F(tw, words_of_others)
{
	struct rota rota = { .own = true }, blind = { };
	__u64 wrong, seen;
	int fd;

	if (!(tw_info(self->fd).features & TWHEEL_FEATURE_LEASE))
		SKIP(return, "this kernel has no leases");
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	ASSERT_TRUE(run_rota(&rota, self->fd, load_seconds() * TW_SEC, &wrong));
	TH_LOG("%u leases: %llu extensions, %llu refused", rota.made, rota.extended,
	       rota.refused);
	EXPECT_EQ(0, rota.strangers);
	EXPECT_EQ(0, wrong);
	EXPECT_LT(0, rota.extended);
	EXPECT_LT(0, rota.refused);
	EXPECT_LT(100, rota.made);

	/* Extenders that do not look at the tag are found out. */
	fd = tw_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, tw_configure(fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	ASSERT_TRUE(run_rota(&blind, fd, load_seconds() * TW_SEC / 4, &seen));
	TH_LOG("without tags: %llu of %llu extensions were of others, and %llu records told so",
	       blind.strangers, blind.extended, seen);
	EXPECT_LT(0, blind.strangers);
	EXPECT_LT(0, seen);
	close(fd);
}

/* Values that a program stores in its words do not affect the timers of others. */
TEST_F(tw, hostile_words)
{
	struct load_mix mix = {
		.workers = 2, .readers = 1, .periodic = 6,
		.spread_ns = 10 * TW_MSEC, .far = 5, .cancel = 3, .rearm = 4, .leave = 2,
	};
	struct hostile h = { .fd = self->fd, .used = 1 };
	static struct load load;
	pthread_t threads[3];
	int i;

	if (!(tw_info(self->fd).features & TWHEEL_FEATURE_LEASE))
		SKIP(return, "this kernel has no leases");
	ASSERT_EQ(0, tw_configure(h.fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	h.words = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, h.fd, 0);
	ASSERT_NE(MAP_FAILED, h.words);
	/* The first page of words exists only after a lease was armed. */
	ASSERT_EQ(0, tw_cancel(h.fd, tw_arm(h.fd, TW_FAR, TWHEEL_ARM_LEASE, 0)));

	ASSERT_EQ(0, load_begin(&load, &mix));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL,
					    i ? store_rubbish : be_hostile, &h));
	ASSERT_TRUE(tw_pass(load_seconds() * TW_SEC));
	__atomic_store_n(&h.stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, load_end(&load)) {
		TH_LOG("%d errors; the first: %s", load.errors, load.first_error);
	}
	EXPECT_LT(0, load.delivered);

	TH_LOG("%llu values stored; %llu armed: %llu superseded, %llu cancelled, %llu read",
	       h.stored, h.armed, h.superseded, h.cancelled, h.read);
	EXPECT_EQ(0, h.wrong);
	EXPECT_LT(0, h.stored);
	EXPECT_LT(0, h.read);
	EXPECT_EQ(h.armed, h.superseded + h.cancelled + h.read);
	EXPECT_EQ(0, tw_info(h.fd).pending);
	EXPECT_EQ(0, tw_info(h.fd).ready);
	munmap(h.words, MAP_SIZE);
}

TEST_HARNESS_MAIN
