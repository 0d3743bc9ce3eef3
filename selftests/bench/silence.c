// SPDX-License-Identifier: GPL-2.0-only
/*
 * silence: how often the hrtimers of wheels interrupt in some situations.
 *
 *	silence nothing SECONDS			nothing is armed
 *	silence one SECONDS			one timer, SECONDS ahead
 *	silence far-ioctl SECONDS		a million timers that are an hour or two
 *						ahead, and are all the time pushed back
 *						as fast as can be, by batches of ioctl
 *	silence far-lease SECONDS		the same, as leases, by their words
 *	silence heartbeat-ioctl SECONDS MS	10,000 timers with a slack of MS that are due
 *						in one to two seconds, each pushed back
 *						twice a second: so none expires
 *	silence heartbeat-lease SECONDS MS	the same, as leases
 *
 * The module counts them, as many as the kernel does (stress/isolation.c). Those while the
 * situation is set up are taken off. All timers are on one CPU. A heartbeat goes on for two
 * seconds before they are counted, so that leases are looked at again as often as they will be
 * later.
 */
#include <stdio.h>

#include "situations.h"
#include "twheel_counters.h"

#define HOUR		(3600 * TW_SEC)
#define FAR		1000000
#define BEATS		10000
#define BEAT		(TW_SEC / 2)
#define WARM		(2 * TW_SEC)

/**
 * struct situation - timers that are pushed back
 * @name: for the output
 * @fd: their context
 * @n: how many
 * @lease: by their words, not by ioctl
 * @least: they are pushed back to at least this far ahead, ns
 * @spread: and each by a time of its own of up to this more, ns
 * @slack: as armed, ns
 * @pace: time between two batches, ns; 0 for none
 * @handles: of each
 * @words: where the word of each lease is
 * @from: the timer whose turn it is
 * @turn: when that is, ns
 * @pushed: how many were pushed back
 * @expired: how many had expired before they were
 * @behind: how much later than its turn a batch came, at most, ns
 */
struct situation {
	char name[32];
	int fd;
	unsigned long n;
	bool lease;
	__u64 least;
	__u64 spread;
	__u64 slack;
	__u64 pace;
	__u64 *handles;
	uint64_t **words;
	unsigned long from;
	__u64 turn;
	unsigned long pushed;
	unsigned long expired;
	__u64 behind;
};

static char reason[160];

static void cannot(const char *name)
{
	printf("silence\t%s\tinterrupts\t-\t%s\n", name, reason);
	exit(0);
}

static unsigned long interrupts(void)
{
	return tw_counter(TW_ALL_CPUS, "interrupts");
}

/* Returns how many there were before. */
static unsigned long count_begin(const char *name)
{
	unsigned long before = interrupts();

	if (before == ~0UL) {
		snprintf(reason, sizeof(reason), "cannot read " TW_COUNTERS);
		cannot(name);
	}
	return before;
}

/* Timers stay on the CPU that has armed them: on the last, which most likely is idle. */
static void pin_to_last(void)
{
	int i = 0;

	while (tw_nth_cpu(i + 1) >= 0)
		i++;
	if (!tw_pin(tw_nth_cpu(i)))
		fail("sched_setaffinity", errno);
}

static void report(const char *name, unsigned long calls)
{
	printf("silence\t%s\tinterrupts\t%lu\n", name, calls);
}

static void nothing(unsigned long seconds)
{
	unsigned long before = count_begin("nothing");

	printf("# silence: nothing armed for %lu s\n", seconds);
	sleep(seconds);
	report("nothing", interrupts() - before);
}

static void one(unsigned long seconds)
{
	struct twheel_event event[BATCH];
	struct twheel_arm arm;
	int fd = open_timers(0);
	unsigned long calls, before;
	char name[32];
	__u64 now;

	snprintf(name, sizeof(name), "one-%lus", seconds);
	pin_to_last();
	before = count_begin(name);
	arm = tw_request(seconds * TW_SEC, 0, 0);
	if (tw_call(fd, TWHEEL_IOC_ARM, &arm))
		fail("arm", errno);
	if (read_batch(fd, event, &now) != 1)
		fail("number of records", 0);
	calls = interrupts() - before;
	check_empty(fd);
	/* Something has made it expire: is that counted? */
	if (!calls)
		fail("number of interrupts that were seen", 0);
	report(name, calls);
}

/* The next deadline of timer @i, which is always later than its last one. */
static __u64 ahead(const struct situation *s, unsigned long i, __u64 now)
{
	/* Timers that are pushed back together are not due together. */
	return now + s->least + i * 0x9e3779b97f4a7c15ULL % s->spread;
}

/* Arm or re-arm @nr timers from number @from on. */
static void arm_some(struct situation *s, unsigned long from, unsigned long nr)
{
	static struct twheel_arm arms[BATCH];
	__u32 flags = TWHEEL_ARM_ABS | (s->lease ? TWHEEL_ARM_LEASE : 0);
	__u64 now = tw_now(CLOCK_MONOTONIC);
	unsigned long i;
	int error;

	for (i = 0; i < nr; i++) {
		arms[i] = tw_request(ahead(s, from + i, now), flags, from + i);
		arms[i].handle = s->handles[from + i];
		arms[i].slack = s->slack;
	}
	error = arm_batch(s->fd, arms, nr);
	if (error)
		fail("arm", -error);
	for (i = 0; i < nr; i++) {
		/* The others are new. */
		s->expired += arms[i].old_state == TWHEEL_STATE_READY;
		s->handles[from + i] = arms[i].handle;
		/* Here is the number of the word, until the words are mapped. */
		if (s->lease)
			s->words[from + i] = (uint64_t *)(uintptr_t)arms[i].word;
	}
}

static void extend_some(struct situation *s, unsigned long from, unsigned long nr)
{
	__u64 now = tw_now(CLOCK_MONOTONIC);
	unsigned long i;

	for (i = from; i < from + nr; i++)
		if (!tw_lease_extend(s->words[i], ahead(s, i, now)))
			s->expired++;
}

static void map_words(struct situation *s)
{
	uint64_t *words;
	size_t last = 0;
	unsigned long i;

	for (i = 0; i < s->n; i++)
		if ((size_t)s->words[i] > last)
			last = (size_t)s->words[i];
	words = mmap(NULL, (last + 1) * sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED,
		     s->fd, 0);
	if (words == MAP_FAILED)
		fail("mmap", errno);
	for (i = 0; i < s->n; i++)
		s->words[i] = words + (size_t)s->words[i];
}

static unsigned long batch_at(const struct situation *s, unsigned long from)
{
	return s->n - from < BATCH ? s->n - from : BATCH;
}

static void arm_each(struct situation *s)
{
	unsigned long from;

	s->fd = open_timers(s->lease ? TWHEEL_CONFIG_LEASE : 0);
	s->handles = calloc(s->n, sizeof(*s->handles));
	s->words = calloc(s->n, sizeof(*s->words));
	if (!s->handles || !s->words)
		fail("calloc", errno);
	for (from = 0; from < s->n; from += BATCH)
		arm_some(s, from, batch_at(s, from));
	if (s->lease)
		map_words(s);
}

static void note_behind(struct situation *s)
{
	__u64 now = tw_now(CLOCK_MONOTONIC);

	if (s->pace && now > s->turn && now - s->turn > s->behind)
		s->behind = now - s->turn;
}

/* Push timers back, one batch after another, until @ns have gone by. */
static void push(struct situation *s, __u64 ns)
{
	__u64 begun = tw_now(CLOCK_MONOTONIC), now = begun;
	unsigned long nr;

	while (now - begun < ns) {
		nr = batch_at(s, s->from);
		if (s->lease)
			extend_some(s, s->from, nr);
		else
			arm_some(s, s->from, nr);
		s->pushed += nr;
		s->from += nr;
		if (s->from == s->n)
			s->from = 0;
		now = tw_now(CLOCK_MONOTONIC);
		if (!s->pace)
			continue;
		s->turn += s->pace;
		if (now < s->turn)
			usleep((s->turn - now) / 1000);
		note_behind(s);
		now = tw_now(CLOCK_MONOTONIC);
	}
}

/* None may have expired, unless this program could not push it back in time. */
static void check(struct situation *s, struct twheel_info info)
{
	s->expired += info.ready;
	if (info.pending + info.ready != s->n)
		fail("number of timers", 0);
	if (!s->expired)
		return;
	if (s->behind + BEAT + BEAT / 2 < s->least)
		fail("the deadline of a timer that was pushed back in time", 0);
	snprintf(reason, sizeof(reason), "%lu expired, as this program stood still for %llu ms",
		 s->expired, s->behind / TW_MSEC);
	cannot(s->name);
}

static void pushed_back(struct situation *s, unsigned long seconds)
{
	unsigned long calls, pushed;
	struct twheel_info info;

	pin_to_last();
	s->turn = tw_now(CLOCK_MONOTONIC);
	arm_each(s);
	if (s->pace)
		push(s, WARM);
	pushed = s->pushed;
	calls = count_begin(s->name);
	push(s, seconds * TW_SEC);
	calls = interrupts() - calls;
	info = tw_info(s->fd);
	note_behind(s);
	check(s, info);
	printf("# silence: %s: %lu timers, pushed back %lu times in %lu s\n", s->name, s->n,
	       s->pushed - pushed, seconds);
	report(s->name, calls);
}

static void far(bool lease, const char *name, unsigned long seconds)
{
	struct situation s = { .n = FAR, .lease = lease, .least = HOUR, .spread = HOUR };

	snprintf(s.name, sizeof(s.name), "%s", name);
	pushed_back(&s, seconds);
}

static void heartbeat(bool lease, const char *name, unsigned long seconds, unsigned long ms)
{
	struct situation s = {
		.n = BEATS, .lease = lease, .least = TW_SEC, .spread = TW_SEC,
		.slack = ms * TW_MSEC, .pace = BEAT * BATCH / BEATS,
	};

	snprintf(s.name, sizeof(s.name), "%s-slack%lu", name, ms);
	pushed_back(&s, seconds);
}

static bool run(int argc, char **argv)
{
	const char *name = argc > 2 ? argv[1] : "";
	unsigned long seconds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	bool lease = strstr(name, "-lease");

	if (!seconds)
		return false;
	if (argc == 3 && !strcmp(name, "nothing"))
		nothing(seconds);
	else if (argc == 3 && !strcmp(name, "one"))
		one(seconds);
	else if (argc == 3 && (!strcmp(name, "far-ioctl") || !strcmp(name, "far-lease")))
		far(lease, name, seconds);
	else if (argc == 4 &&
		 (!strcmp(name, "heartbeat-ioctl") || !strcmp(name, "heartbeat-lease")))
		heartbeat(lease, name, seconds, strtoul(argv[3], NULL, 10));
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	if (run(argc, argv))
		return 0;
	fprintf(stderr, "usage: silence nothing|one|far-ioctl|far-lease SECONDS\n"
		"       silence heartbeat-ioctl|heartbeat-lease SECONDS SLACK_MS\n");
	return 2;
}
