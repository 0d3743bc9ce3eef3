// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel and programs at one word, in all interleavings.
 *
 * Around module/core/lease.h there is a small model of its callers, module/core/arm.c and expire.c:
 * a lock, a timer that is pending or not, a clock that goes on at any moment, an expiry
 * that runs once it is due, and a new lease in the word of one that has ended. Beside it, a
 * model of the promises notes each access and each result.
 *
 * All times are in units of the word.
 */
#include <stdio.h>
#include <string.h>

#include "../wheel/tap.h"
#include "explore.h"
#include "seam.h"

#define MAX_ARMINGS	8
/* Later than any time that a scenario reaches. */
#define FAR		1000
/* The tag of the first lease. The next one is 0. */
#define TAG		TWHEEL_LEASE_TAG_MASK

enum end { RUNNING, EXPIRED, CANCELLED, SUPERSEDED };

/**
 * struct arming - the promises for one arming of a lease, and its end
 * @lease:	which lease it is, from 0: all armings of one have the same
 * @stored:	the deadline in its word, if the program stores nothing but deadlines
 * @promised:	the latest deadline that the program was told to be in time for
 * @end:	how it has ended
 */
struct arming {
	unsigned int	lease;
	u64		stored;
	u64		promised;
	enum end	end;
};

static struct {
	/* These are the kernel's. */
	uint64_t	word;
	u64		clock;
	u64		deadline;
	bool		locked;
	bool		pending;
	unsigned int	runs;
	/* These belong to the model of the promises. */
	struct arming	armings[MAX_ARMINGS];
	struct arming	*arming;
	bool		hostile;
	/* The next arming is that of a new lease. */
	bool		reused;
	/* As the kernel told the program: by lease */
	u16		tags[MAX_ARMINGS];
} m;

/* The results of all executions of a test, added up. */
static unsigned long long expired, extended, refused, late;

unsigned int kernel_accesses;

/* An expectation that prints the trace when it fails. */
#define check(cond, ...) expect((cond) || trace_print(), __VA_ARGS__)

/* Accesses to the word. */

static u64 ns(u64 units)
{
	return units << TWHEEL_LEASE_UNIT_SHIFT;
}

static u64 units_of(u64 word)
{
	return word & TWHEEL_LEASE_UNITS_MASK;
}

static u64 word_of(u16 tag, u64 units)
{
	return (u64)tag << TWHEEL_LEASE_TAG_SHIFT | units;
}

static void note_write(u64 new)
{
	if (!(new & TWHEEL_LEASE_EXPIRED))
		m.arming->stored = units_of(new);
}

uint64_t word_read(const uint64_t *word)
{
	step();
	trace("read", *word);
	return *word;
}

bool word_cmpxchg(uint64_t *word, uint64_t *old, uint64_t new)
{
	step();
	if (*word != *old) {
		*old = *word;
		trace("no cmpxchg", *old);
		return false;
	}
	trace("cmpxchg", new);
	*word = new;
	note_write(new);
	return true;
}

/* The kernel sets the word to begin an arming. */
uint64_t word_set(uint64_t *word, uint64_t new)
{
	uint64_t old;

	step();
	trace("set", new);
	old = *word;
	*word = new;
	if (!(new & TWHEEL_LEASE_EXPIRED)) {
		check(m.arming < &m.armings[MAX_ARMINGS - 1], "too many armings");
		m.arming[1].lease = m.arming->lease + m.reused;
		m.reused = false;
		m.arming++;
	}
	note_write(new);
	return old;
}

/* It ends one by setting a bit. */
void word_or(uint64_t *word, uint64_t bits)
{
	step();
	trace("or", bits);
	if (!m.hostile) {
		check(m.arming->end == RUNNING, "ended after its end (%d)", m.arming->end);
		m.arming->end = CANCELLED;
	}
	*word |= bits;
}

void word_store(uint64_t *word, uint64_t new)
{
	step();
	trace("store", new);
	*word = new;
	note_write(new);
}

/* The kernel's side. */

static bool unlocked(void)
{
	return !m.locked;
}

static bool due(void)
{
	return !m.locked && m.pending && ns(m.clock) >= m.deadline;
}

/* Looks at the lease as module/core/expire.c does when its bucket comes due. */
static void expire_locked(void)
{
	u64 now = ns(m.clock), deadline = ~0ULL;
	struct arming *a = m.arming;
	bool claimed;

	kernel_accesses = 0;
	claimed = twheel_lease_claim(kernel_word(&m.word), now, &deadline);
	trace(claimed ? "expired" : "goes on", deadline);
	check(kernel_accesses <= 1 + TWHEEL_LEASE_TRIES, "%u accesses", kernel_accesses);
	if (!claimed) {
		check(deadline == now + 1 || !(m.word & TWHEEL_LEASE_EXPIRED),
		      "goes on, and the word says %lx", m.word);
		check(deadline > now && deadline < TWHEEL_LEASE_EXPIRED,
		      "looks again at %llx, at %llx", deadline, now);
		check(m.hostile || deadline <= ns(a->stored) || deadline == now + 1,
		      "looks again at %llx, %llx is stored", deadline, a->stored);
		m.deadline = deadline;
		return;
	}

	check(deadline <= now, "expired at %llx with deadline %llx", now, deadline);
	check(a->end == RUNNING, "expired after its end (%d)", a->end);
	a->end = EXPIRED;
	m.pending = false;
	expired++;
	if (m.hostile)
		return;
	check(m.word == (word_of(m.tags[a->lease], a->stored) | TWHEEL_LEASE_EXPIRED),
	      "the word says %lx", m.word);
	check(deadline >= ns(a->promised), "expired with deadline %llx, promised %llx",
	      deadline, a->promised);
	check(deadline == ns(a->stored), "expired with deadline %llx, stored %llx",
	      deadline, a->stored);
}

static void expire(void *arg)
{
	unsigned int runs;

	(void)arg;
	for (runs = m.runs; runs && step_when(due); runs--) {
		m.locked = true;
		expire_locked();
		m.locked = false;
	}
}

static void advance(void *arg)
{
	u64 until = *(const u64 *)arg;

	while (m.clock < until) {
		step();
		trace("clock", ++m.clock);
	}
}

/* The word was @old when the kernel ended @a. */
static void check_end(const struct arming *a, u64 old, bool ended)
{
	u64 said = word_of(m.tags[a->lease], a->stored);

	if (m.hostile)
		return;
	check(old == (ended ? said | TWHEEL_LEASE_EXPIRED : said), "%llx replaced, %llx was stored",
	      old, a->stored);
}

static void rearm(void *arg)
{
	u64 deadline = *(const u64 *)arg, old, new;
	struct arming *a;
	bool ended;

	step_when(unlocked);
	m.locked = true;
	a = m.arming;
	ended = a->end != RUNNING;
	new = twheel_lease_renew(kernel_word(&m.word), deadline, &old);
	check_end(a, old, ended);
	if (!ended)
		a->end = SUPERSEDED;
	check(m.hostile || new == word_of(m.tags[a->lease], deadline), "%llx stored", new);
	m.tags[a->lease] = twheel_lease_tag(new);
	m.pending = true;
	m.deadline = ns(deadline);
	m.locked = false;
}

static void cancel(void *arg)
{
	struct arming *a;
	bool ended;
	u64 old;

	(void)arg;
	step_when(unlocked);
	m.locked = true;
	a = m.arming;
	ended = a->end != RUNNING;
	old = twheel_lease_end(kernel_word(&m.word));
	if (!m.hostile)
		check(m.word == (word_of(m.tags[a->lease], a->stored) | TWHEEL_LEASE_EXPIRED),
		      "the word says %lx", m.word);
	else
		a->end = CANCELLED;
	check_end(a, old, ended);
	m.pending = false;
	m.locked = false;
}

static bool free_again(void)
{
	return !m.locked && !m.pending;
}

/* The timer has ended: its record was read, or it was cancelled. A new lease gets its word. */
static void reuse(void *arg)
{
	u64 deadline = *(const u64 *)arg, new;
	unsigned int lease;

	if (!step_when(free_again))
		return;
	m.locked = true;
	lease = m.arming->lease + 1;
	/* The program learns the tag later, from the call. Nobody extends it before. */
	m.tags[lease] = (m.tags[lease - 1] + 1) & TWHEEL_LEASE_TAG_MASK;
	m.reused = true;
	new = twheel_lease_begin(kernel_word(&m.word), deadline);
	check(new == word_of(m.tags[lease], deadline), "%llx stored", new);
	m.pending = true;
	m.deadline = ns(deadline);
	m.locked = false;
}

/* The programs' side. */

/* Does @lease run? */
static bool runs(unsigned int lease)
{
	return m.arming->lease == lease && m.arming->end == RUNNING;
}

static void extend_lease(unsigned int lease, u64 deadline)
{
	int ret = lease_word_extend(&m.word, m.tags[lease], ns(deadline));

	/* There was no step since the access that decided. */
	trace(ret ? "extended" : "refused", deadline);
	check(ret == 0 || ret == 1, "extend returned %d", ret);
	if (m.hostile)
		return;
	if (ret) {
		check(runs(lease), "extended after the end (%d), lease %u in place of %u",
		      m.arming->end, m.arming->lease, lease);
		if (deadline > m.arming->promised)
			m.arming->promised = deadline;
		extended++;
	} else {
		check(!runs(lease), "refused before the end");
		refused++;
		late += m.arming->lease != lease;
	}
}

static void extend(void *arg)
{
	extend_lease(0, *(const u64 *)arg);
}

/* Extends the lease that has got the word of the first one. */
static bool has_next(void)
{
	return m.arming->lease == 1;
}

static void extend_next(void *arg)
{
	if (step_when(has_next))
		extend_lease(1, *(const u64 *)arg);
}

/* A program that only reads the word checks the answer. */
static void look(void *arg)
{
	int over = lease_word_expired(&m.word, m.tags[0]);

	(void)arg;
	check(over == !runs(0), "expired: %d, the end: %d", over, m.arming->end);
}

static void look_at_deadline(void *arg)
{
	u64 deadline = lease_word_deadline(&m.word, m.tags[0]);

	(void)arg;
	check(deadline == (m.arming->lease ? 0 : ns(m.arming->stored)), "the deadline is %llx",
	      deadline);
}

static void extend_twice(void *arg)
{
	u64 first = *(const u64 *)arg, second = first + 1;

	extend(&first);
	extend(&second);
}

static const u64 rubbish[] = {
	0, 1, 2, FAR, TWHEEL_LEASE_EXPIRED - 1, TWHEEL_LEASE_EXPIRED,
	TWHEEL_LEASE_EXPIRED + 2, ~0ULL,
};

static void store_rubbish(void *arg)
{
	unsigned int n = *(const unsigned int *)arg;

	while (n--)
		lease_word_store(&m.word, rubbish[choose(ARRAY_SIZE(rubbish))]);
}

/* Changes the word at every chance, so that no compare-and-swap succeeds. */
static void spoil(void *arg)
{
	unsigned int n = *(const unsigned int *)arg;

	while (n--)
		lease_word_store(&m.word, n & 1);
}

/* Running executions. */

static void begin(u64 deadline, unsigned int runs)
{
	memset(&m, 0, sizeof(m));
	m.arming = m.armings;
	m.arming->stored = deadline;
	m.tags[0] = TAG;
	m.word = word_of(TAG, deadline);
	m.deadline = ns(deadline);
	m.pending = true;
	m.runs = runs;
}

/*
 * Lets all threads run, while the clock goes on until @until. If the lease is still pending
 * it then expires with no other thread running, so each arming has its end.
 */
static void run(u64 until)
{
	struct arming *a;

	thread_start("clock", advance, &until);
	thread_start("kernel", expire, NULL);
	threads_run();

	while (m.pending) {
		if (ns(m.clock) < m.deadline)
			m.clock = twheel_lease_units(m.deadline);
		expire_locked();
	}
	for (a = m.armings; a <= m.arming; a++)
		check(a->end != RUNNING, "arming %td has no end", a - m.armings);
}

/* Runs @execution in all interleavings, and prints how many there were. */
static void explored(void (*execution)(void))
{
	unsigned long long n;

	expired = 0;
	extended = 0;
	refused = 0;
	late = 0;
	n = explore(execution);
	printf("# %llu interleavings: %llu expired, %llu extended, %llu refused\n",
	       n, expired, extended, refused);
}

/* The same, and expects that both sides have won, as otherwise there was no contest. */
static void contested(void (*execution)(void))
{
	explored(execution);
	expect(expired && extended && refused, "one side always won");
}

/* And that somebody was late for a lease whose word is that of the next. */
static void contested_late(void (*execution)(void))
{
	contested(execution);
	expect(late, "nobody was late by a lease");
}

/* Begins the execution of the test @fn, which runs it as @how does. */
#define IN_ALL_WAYS(fn, how)		\
static void fn##_executed(void);	\
TEST(fn)				\
{					\
	how(fn##_executed);		\
}					\
static void fn##_executed(void)

/* Deadlines before, at and after the one that was armed, which is 2. */
static const u64 deadlines[] = { 1, 2, 3, 4, FAR };

static u64 any_deadline(void)
{
	return deadlines[choose(ARRAY_SIZE(deadlines))];
}

IN_ALL_WAYS(one_extension, contested)
{
	u64 deadline = any_deadline();

	begin(2, 3);
	thread_start("program", extend, &deadline);
	run(4);
}

IN_ALL_WAYS(extensions_in_a_row, contested)
{
	u64 deadline = any_deadline();

	begin(2, 3);
	thread_start("program", extend_twice, &deadline);
	run(4);
}

/* Pushes a lease back again and again, to times that have passed by then. */
static void extend_in_vain(void *arg)
{
	u64 deadline;

	(void)arg;
	for (deadline = 2; deadline < 3 + TWHEEL_LEASE_TRIES; deadline++)
		extend(&deadline);
}

IN_ALL_WAYS(extensions_too_short, contested)
{
	begin(1, 3);
	m.clock = 2 + TWHEEL_LEASE_TRIES;
	thread_start("program", extend_in_vain, NULL);
	run(m.clock + 1);
}

IN_ALL_WAYS(extend_and_rearm, contested)
{
	u64 a = any_deadline();
	u64 b = any_deadline();

	begin(2, 3);
	thread_start("program", extend_twice, &a);
	thread_start("rearm", rearm, &b);
	run(3);
}

IN_ALL_WAYS(extend_and_cancel, contested)
{
	u64 a = any_deadline();
	u64 b = any_deadline();

	begin(2, 2);
	thread_start("program", extend, &a);
	thread_start("another", extend, &b);
	thread_start("looks", look, NULL);
	thread_start("cancel", cancel, NULL);
	run(2);
}

IN_ALL_WAYS(rearm_twice_and_cancel, contested)
{
	static const u64 earlier = 1, later = 3;
	u64 deadline = any_deadline();

	begin(2, 2);
	thread_start("program", extend, &deadline);
	thread_start("rearm", rearm, (void *)&earlier);
	thread_start("rearm too", rearm, (void *)&later);
	thread_start("cancel", cancel, NULL);
	run(2);
}

/*
 * The word is used again while a program extends the lease that had it: after its end by
 * expiry, whose record another thread has read; or after a cancel.
 */
IN_ALL_WAYS(word_of_another_lease, contested_late)
{
	static const u64 next = 3;
	u64 a = 2 + choose(3);
	u64 b = 3 + choose(2);

	begin(2, 2);
	if (choose(2))
		thread_start("cancel", cancel, NULL);
	thread_start("program", extend, &a);
	thread_start("reuse", reuse, (void *)&next);
	thread_start("next", extend_next, &b);
	run(3);
}

/* The same with the deadline that the first lease had, so that only the tag differs. */
IN_ALL_WAYS(word_with_the_same_deadline, contested_late)
{
	static const u64 next = 2;
	u64 a = 2 + choose(2);

	begin(2, 1);
	thread_start("cancel", cancel, NULL);
	thread_start("program", extend, &a);
	thread_start("looks", look, NULL);
	thread_start("reads", look_at_deadline, NULL);
	thread_start("reuse", reuse, (void *)&next);
	run(2);
}

/* The next of many timers in one word, leases and others; the first lease had it before. */
static void next_timer_executed(void)
{
	static unsigned int n;
	static uint64_t word;
	u16 tag = n & TWHEEL_LEASE_TAG_MASK;
	bool lease = n % 3;
	u64 said;

	memset(&m, 0, sizeof(m));
	m.arming = m.armings;
	if (!n)
		word = word_of(TAG, 7);
	word |= TWHEEL_LEASE_EXPIRED;
	said = twheel_lease_begin(kernel_word(&word), lease ? n : TWHEEL_LEASE_EXPIRED);
	expect(said == word && twheel_lease_tag(word) == tag &&
	       word == (lease ? word_of(tag, n) : word_of(tag, 0) | TWHEEL_LEASE_EXPIRED),
	       "timer %u: %lx", n, word);
	if (tag != TAG)
		expect(!lease_word_extend(&word, TAG, ns(FAR)) &&
		       lease_word_expired(&word, TAG) && !lease_word_deadline(&word, TAG),
		       "timer %u is extended", n);
	n++;
}

/* A lease that has ended is refused while its word is used for 1,023 other timers. */
TEST(tags_follow_each_other)
{
	unsigned int n;

	for (n = 0; n < 3 * (TWHEEL_LEASE_TAG_MASK + 1); n++)
		explore(next_timer_executed);
}

/* A deadline is rounded up, on both sides alike; the latest one has no next unit. */
TEST(deadlines_are_rounded_up)
{
	static const struct {
		u64 ns;
		u64 units;
	} cases[] = {
		{ 0, 0 }, { 1, 1 }, { 1023, 1 }, { 1024, 1 }, { 1025, 2 }, { 2047, 2 },
		{ 1024 * FAR, FAR }, { 1024 * FAR + 1, FAR + 1 },
		{ TWHEEL_LEASE_EXPIRED - 1025, TWHEEL_LEASE_UNITS_MASK },
		{ TWHEEL_LEASE_EXPIRED - 1024, TWHEEL_LEASE_UNITS_MASK },
		{ TWHEEL_LEASE_EXPIRED - 1023, TWHEEL_LEASE_UNITS_MASK },
		{ TWHEEL_LEASE_EXPIRED - 1, TWHEEL_LEASE_UNITS_MASK },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 units = cases[i].units;

		expect(twheel_lease_units(cases[i].ns) == units, "case %u: %llu, in the kernel", i,
		       twheel_lease_units(cases[i].ns));
		expect(lease_word_units(cases[i].ns) == units, "case %u: %lu, in the program", i,
		       lease_word_units(cases[i].ns));
		expect(twheel_lease_deadline(word_of(TAG, units)) == ns(units) &&
		       lease_word_ns(word_of(TAG, units)) == ns(units), "case %u: back", i);
	}
}

IN_ALL_WAYS(hostile_words, explored)
{
	static const unsigned int stores = 3;

	begin(1, 3);
	m.hostile = true;
	thread_start("hostile", store_rubbish, (void *)&stores);
	run(2);
}

IN_ALL_WAYS(hostile_words_and_calls, explored)
{
	static const unsigned int stores = 2;
	static const u64 deadline = 2;

	begin(1, 2);
	m.hostile = true;
	thread_start("hostile", store_rubbish, (void *)&stores);
	thread_start("program", extend, (void *)&deadline);
	if (choose(2))
		thread_start("rearm", rearm, (void *)&deadline);
	else
		thread_start("cancel", cancel, NULL);
	run(1);
}

IN_ALL_WAYS(word_spoiled_at_every_try, explored)
{
	static const unsigned int stores = 2 * TWHEEL_LEASE_TRIES;

	begin(1, 2);
	m.hostile = true;
	thread_start("hostile", spoil, (void *)&stores);
	run(2);
}

TEST(a_deadline_with_the_bit_is_refused)
{
	static const u64 bad[] = { TWHEEL_LEASE_EXPIRED, TWHEEL_LEASE_EXPIRED + 1, ~0ULL };
	unsigned int i;
	uint64_t word = 5;

	memset(&m, 0, sizeof(m));
	m.arming = m.armings;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int ret = lease_word_extend(&word, 0, bad[i]);

		expect(ret == -EINVAL && word == 5, "%d, the word is %lx", ret, word);
	}
}

/* These take long. */

IN_ALL_WAYS(two_programs, contested)
{
	u64 a = any_deadline();
	u64 b = any_deadline();

	begin(2, 2);
	thread_start("program", extend, &a);
	thread_start("another", extend_twice, &b);
	run(3);
}

IN_ALL_WAYS(two_programs_and_rearm, contested)
{
	static const u64 shorter = 1;
	u64 a = any_deadline();
	u64 b = any_deadline();

	begin(2, 2);
	thread_start("program", extend, &a);
	thread_start("another", extend, &b);
	thread_start("rearm", rearm, (void *)&shorter);
	run(2);
}

IN_ALL_WAYS(three_programs, contested)
{
	/*
	 * Each set of three is tried once, as it does not matter which program has which
	 * deadline.
	 */
	unsigned int a = choose(ARRAY_SIZE(deadlines));
	unsigned int b = a + choose(ARRAY_SIZE(deadlines) - a);
	unsigned int c = b + choose(ARRAY_SIZE(deadlines) - b);

	begin(2, 2);
	thread_start("program", extend, (void *)&deadlines[a]);
	thread_start("another", extend, (void *)&deadlines[b]);
	thread_start("third", extend, (void *)&deadlines[c]);
	run(3);
}
