// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load of all calls while 1, 10, 50 per cent of all that can fail does, in its
 * threads and in the kernel's workers: is anything lost, or delivered twice?
 *
 * Every arming has a number, its user_data, and for each it is known how many
 * times it has to end by being read or drained: once if its call succeeded; never
 * if it failed, or if it was cancelled or superseded later. Only when a call may
 * have taken place although its outcome could not be stored, and the timer cannot
 * be asked any more, either is right.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>

#include "faults.h"
#include "kselftest.h"
#include "twheel_util.h"

#define WORKERS		3
#define READERS		2
#define SLOTS		64
#define BATCH		100
#define RECORDS		40
#define MAX_ARMINGS	(1U << 20)

/**
 * struct arming - how one arming has to end, and has ended
 * @least: times that it has to be read or drained
 * @most: times that it may be
 * @ends: times that it was
 */
struct arming {
	__u8 least;
	__u8 most;
	__u8 ends;
};

/**
 * struct slot - a timer that a worker knows
 * @handle: its handle or key
 * @number: its arming; 0 if there is none
 * @far: it never expires in this test
 */
struct slot {
	__u64 handle;
	__u64 number;
	bool far;
};

/**
 * struct worker - a thread
 * @thread: itself
 * @state: of its random numbers
 * @mark: its make-it-fail
 * @slots: its timers
 */
struct worker {
	pthread_t thread;
	__u64 state;
	int mark;
	struct slot slots[SLOTS];
};

static struct worker workers[WORKERS + READERS];
static struct arming *armings;
static __u64 nr_armings;
static __u64 next_key;
static __u32 config;
static int fd;
static bool stop;

static int neg(int ret)
{
	return ret < 0 ? -errno : ret;
}

static void set_mark(const struct worker *t, bool on)
{
	/* It is made to fail like any other call. */
	while (pwrite(t->mark, on ? "1" : "0", 1, 0) != 1)
		;
}

/* Counts a call, and has an opinion on its errno: one of two, 0 is none. */
static long told(const char *what, long ret, int error, int other)
{
	faults_note(ret);
	if (ret < 0 && ret != -ENOMEM && ret != -EFAULT && ret != -error && ret != -other)
		violation("%s: %s", what, strerror(-ret));
	return ret;
}

/* It has to end between so many times. */
static void must_end(__u64 number, __u8 least, __u8 most)
{
	armings[number].least = least;
	armings[number].most = most;
}

static void ends(__u64 number)
{
	if (!number || number >= MAX_ARMINGS)
		violation("a timer of no arming, user data %llu", number);
	else
		__atomic_add_fetch(&armings[number].ends, 1, __ATOMIC_RELAXED);
}

/* What timer @handle is by now, asked without faults: its number, or 0. */
static __u64 asked(const struct worker *t, __u64 handle)
{
	struct twheel_timer_info info;
	int ret;

	set_mark(t, false);
	ret = tw_get(fd, handle, &info);
	set_mark(t, true);
	if (ret && ret != -ENOENT)
		violation("GET without faults: %s", strerror(-ret));
	return ret ? 0 : info.user_data;
}

static bool keyed(void)
{
	return config & TWHEEL_CONFIG_KEYED;
}

/* Are timers drained? What has become of them is not known as exactly then. */
static bool drains(void)
{
	return config & TWHEEL_CONFIG_LEASE;
}

/* A request for a new arming; the number is 0 when all are used up. */
static struct twheel_arm request(struct worker *t, bool *far)
{
	__u64 number = __atomic_fetch_add(&nr_armings, 1, __ATOMIC_RELAXED);
	struct twheel_arm arm;

	*far = tw_random(&t->state) % 4 == 0;
	arm = tw_request(*far ? TW_FAR : tw_random(&t->state) % (20 * TW_MSEC), 0,
			 number < MAX_ARMINGS ? number : 0);
	if (keyed())
		arm.handle = __atomic_add_fetch(&next_key, 1, __ATOMIC_RELAXED);
	if (config & TWHEEL_CONFIG_LEASE && tw_random(&t->state) % 2)
		arm.flags = TWHEEL_ARM_LEASE;
	return arm;
}

/* A new arming failed with @ret, or its outcome was not told. */
static void not_told(struct worker *t, const struct twheel_arm *sent, bool far, long ret)
{
	/* There could be a moment for which it was there, and due, or was drained. */
	must_end(sent->user_data, 0, ret == -EFAULT && (!far || drains()));
	if (ret == -EFAULT && keyed() && asked(t, sent->handle))
		must_end(sent->user_data, 1, 1);
}

static void do_arm(struct worker *t, struct slot *slot)
{
	struct twheel_arm arm = request(t, &slot->far), sent = arm;
	long ret;

	if (!sent.user_data)
		return;
	ret = told("ARM", tw_call(fd, TWHEEL_IOC_ARM, &arm), 0, 0);
	if (ret) {
		not_told(t, &sent, slot->far, ret);
		return;
	}
	must_end(sent.user_data, 1, 1);
	slot->handle = arm.handle;
	slot->number = sent.user_data;
}

static void do_rearm(struct worker *t, struct slot *slot)
{
	__u64 old = slot->number, number;
	struct twheel_arm arm;
	bool far;
	long ret;

	arm = request(t, &far);
	number = arm.user_data;
	if (!number)
		return;
	arm.handle = slot->handle;
	ret = told("re-arm", tw_call(fd, TWHEEL_IOC_ARM, &arm), ENOENT, 0);
	if (!ret) {
		/* With keys it may be that the old one had ended: then it was read. */
		if (arm.old_state != TWHEEL_STATE_NONE)
			must_end(old, 0, 0);
		must_end(number, 1, 1);
	} else if (ret == -EFAULT) {
		__u64 now = asked(t, slot->handle);

		if (now == old) {
			must_end(number, 0, 0);
			return;
		}
		/* Without keys a timer that is there was not read before. */
		must_end(old, 0, now != number || keyed());
		must_end(number, now == number, 1);
		if (now != number)
			number = 0;
	} else {
		must_end(number, 0, 0);
		if (ret == -ENOENT)
			slot->number = 0;
		return;
	}
	slot->number = number;
	slot->far = far;
}

static void cancelled(struct worker *t, struct slot *slot, long ret)
{
	__u64 number = slot->number;

	if (ret == -ENOMEM)
		return;
	if (ret == -EFAULT) {
		if (asked(t, slot->handle) == number)
			return;
		/* It was cancelled or, unless it is far ahead, read. Or drained. */
		must_end(number, 0, 1);
	} else if (!ret) {
		must_end(number, 0, 0);
	}
	slot->number = 0;
}

static void do_cancel(struct worker *t, struct slot *slot)
{
	cancelled(t, slot, told("CANCEL", tw_cancel(fd, slot->handle), ENOENT, 0));
}

static void do_cancel_batch(struct worker *t)
{
	struct twheel_cancel cancels[SLOTS] = { };
	struct twheel_batch batch = {
		.entries = (__u64)(uintptr_t)cancels, .count = SLOTS,
	};
	long ret;
	int i;

	for (i = 0; i < SLOTS; i++)
		cancels[i].handle = t->slots[i].number ? t->slots[i].handle : ~0ULL;
	ret = told("CANCEL_BATCH", tw_call(fd, TWHEEL_IOC_CANCEL_BATCH, &batch), 0, 0);
	for (i = 0; i < SLOTS; i++) {
		if (!t->slots[i].number)
			continue;
		if (i < ret)
			cancelled(t, &t->slots[i], cancels[i].result);
		else
			cancelled(t, &t->slots[i], ret < 0 ? ret : -EFAULT);
	}
}

/* These are nobody's afterwards. */
static void do_arm_batch(struct worker *t)
{
	struct twheel_arm arms[BATCH], sent[BATCH];
	struct twheel_batch batch = { .entries = (__u64)(uintptr_t)arms };
	bool far[BATCH];
	int n, i;
	long ret;

	for (n = 0; n < BATCH; n++) {
		arms[n] = request(t, &far[n]);
		sent[n] = arms[n];
		if (!sent[n].user_data)
			break;
	}
	batch.count = n;
	ret = told("ARM_BATCH", tw_call(fd, TWHEEL_IOC_ARM_BATCH, &batch), 0, 0);
	for (i = 0; i < n; i++) {
		if (i >= ret)
			not_told(t, &sent[i], far[i], ret < 0 ? ret : -EFAULT);
		else if (arms[i].result)
			must_end(sent[i].user_data, 0, 0);
		else
			must_end(sent[i].user_data, 1, 1);
		if (i < ret && arms[i].result && arms[i].result != -ENOMEM)
			violation("an entry: %s", strerror(-arms[i].result));
	}
}

/* Whose they are learns it by ENOENT. */
static long do_drain(__u32 count)
{
	struct twheel_timer_info entries[64];
	struct twheel_list list = {
		.entries = (__u64)(uintptr_t)entries, .count = count,
		.flags = TWHEEL_LIST_DRAIN,
	};
	long ret = told("drain", tw_call(fd, TWHEEL_IOC_LIST, &list), 0, 0), i;

	for (i = 0; i < ret; i++)
		ends(entries[i].user_data);
	return ret;
}

/* What else there is to call, on the context and on another one. */
static void do_others(struct worker *t)
{
	struct twheel_info info = { .flags = TWHEEL_INFO_NEXT };
	struct twheel_config other = {
		.clock = TWHEEL_CLOCK_REALTIME,
		.flags = TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE | TWHEEL_CONFIG_CANCEL_ON_SET,
	};
	volatile __u64 *words;
	struct twheel_arm arm;
	char path[64], text[512];
	int file;
	__u64 i;

	told("GET_INFO", tw_call(fd, TWHEEL_IOC_GET_INFO, &info), 0, 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = neg(open(path, O_RDONLY | O_CLOEXEC));
	if (told("open fdinfo", file, 0, 0) >= 0) {
		told("fdinfo", neg(read(file, text, sizeof(text))), 0, 0);
		close(file);
	}

	file = told("open", tw_open(), 0, 0);
	if (file < 0)
		return;
	if (!told("CONFIG", tw_call(file, TWHEEL_IOC_CONFIG, &other), 0, 0)) {
		for (i = 0; i < 20; i++) {
			arm = tw_request(tw_now(CLOCK_REALTIME) + TW_FAR * (i % 2),
					 TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE, i);
			arm.handle = tw_random(&t->state);
			told("ARM", tw_call(file, TWHEEL_IOC_ARM, &arm), 0, 0);
		}
		words = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
		told("mmap", words == MAP_FAILED ? -errno : 0, 0, 0);
		/* No page is there unless a lease was made, and keyed ones stay. */
		if (words != MAP_FAILED) {
			if (!tw_call(file, TWHEEL_IOC_GET_INFO, &info) && info.pending)
				(void)words[1];
			/* As long as it is mapped it is not closed. */
			while (munmap((void *)words, 4096))
				;
		}
	}
	close(file);
}

static void *work(void *arg)
{
	struct worker *t = arg;

	t->mark = open("/proc/thread-self/make-it-fail", O_WRONLY | O_CLOEXEC);
	set_mark(t, true);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct slot *slot = &t->slots[tw_random(&t->state) % SLOTS];
		unsigned int what = tw_random(&t->state) % 64;

		if (what < 2)
			do_others(t);
		else if (what < 5)
			do_arm_batch(t);
		else if (what < 6)
			do_cancel_batch(t);
		else if (what < 7 && drains())
			do_drain(16);
		else if (!slot->number)
			do_arm(t, slot);
		else if (what < 40)
			do_rearm(t, slot);
		else
			do_cancel(t, slot);
	}
	set_mark(t, false);
	close(t->mark);
	return NULL;
}

static void take_records(const struct twheel_event *events, long bytes)
{
	__u64 now = tw_now(CLOCK_MONOTONIC);
	long i;

	if (bytes > 0 && bytes % sizeof(*events))
		violation("read gave %ld bytes", bytes);
	for (i = 0; i < bytes / (long)sizeof(*events); i++) {
		if (events[i].expired < events[i].deadline || now < events[i].expired ||
		    events[i].expirations != 1 || events[i].flags != TWHEEL_EVENT_LAST)
			violation("arming %llu expired early", events[i].user_data);
		ends(events[i].user_data);
	}
}

static void *receive(void *arg)
{
	struct twheel_event events[RECORDS];
	struct iovec iov[] = {
		{ .iov_base = events, .iov_len = 100 },
		{ .iov_base = (char *)events + 100, .iov_len = sizeof(events) - 100 },
	};
	struct worker *t = arg;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	t->mark = open("/proc/thread-self/make-it-fail", O_WRONLY | O_CLOEXEC);
	set_mark(t, true);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		long ret;

		told("poll", neg(poll(&pfd, 1, 10)), 0, 0);
		if (tw_random(&t->state) % 2)
			ret = tw_read(fd, events, sizeof(events));
		else
			ret = neg(readv(fd, iov, 2));
		take_records(events, told("read", ret, EAGAIN, 0));
	}
	set_mark(t, false);
	close(t->mark);
	return NULL;
}

/* Ends all that is left, without faults, in one of the two ways there are. */
static void end_all(void)
{
	struct twheel_event events[RECORDS];
	struct twheel_info info;
	long ret;

	do {
		while (do_drain(64) > 0)
			;
		while ((ret = tw_read(fd, events, sizeof(events))) > 0)
			take_records(events, ret);
		info = tw_info(fd);
	} while (info.pending || info.ready);
}

static void check_ends(void)
{
	__u64 n = nr_armings < MAX_ARMINGS ? nr_armings : MAX_ARMINGS, i;

	for (i = 1; i < n; i++)
		if (armings[i].ends < armings[i].least || armings[i].ends > armings[i].most)
			violation("arming %llu has ended %u times, not %u to %u", i,
				  armings[i].ends, armings[i].least, armings[i].most);
}

static void run(const char *name, __u32 flags, unsigned int rate, unsigned int seconds)
{
	unsigned long violations = fault_figures.violations;
	unsigned long calls = fault_figures.calls;
	int i;

	config = flags;
	nr_armings = 1;
	stop = false;
	memset(armings, 0, MAX_ARMINGS * sizeof(*armings));
	memset(workers, 0, sizeof(workers));
	fd = tw_open();
	if (fd < 0 || tw_configure(fd, CLOCK_MONOTONIC, flags))
		ksft_exit_fail_msg("cannot open and configure\n");

	for (i = 0; i < WORKERS + READERS; i++) {
		workers[i].state = 0x9e3779b97f4a7c15ULL * (i + 1) + rate;
		if (pthread_create(&workers[i].thread, NULL, i < WORKERS ? work : receive,
				   &workers[i]))
			ksft_exit_fail_msg("cannot start a thread\n");
	}
	inject_mark_workers(true);
	faults_rate(rate);
	sleep(seconds);
	faults_rate(0);
	inject_mark_workers(false);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < WORKERS + READERS; i++)
		pthread_join(workers[i].thread, NULL);
	faults_count();

	end_all();
	check_ends();
	close(fd);
	fd = tw_open();
	if (tw_info(fd).user_timers)
		violation("%llu timers are left", tw_info(fd).user_timers);
	close(fd);
	ksft_test_result(fault_figures.violations == violations,
			 "%s, %u %%: %lu calls, %llu armings\n", name, rate,
			 fault_figures.calls - calls, nr_armings - 1);
}

int main(void)
{
	static const unsigned int rates[] = { 1, 10, 50 };
	const char *text = getenv("TWHEEL_FAULTS_SECONDS");
	unsigned int seconds = text ? atoi(text) : 4, i;

	setlinebuf(stdout);
	ksft_print_header();
	faults_init();
	armings = calloc(MAX_ARMINGS, sizeof(*armings));
	if (!armings)
		ksft_exit_fail_msg("no memory\n");
	ksft_set_plan(4 * ARRAY_SIZE(rates));
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		run("plain", 0, rates[i], seconds);
		run("keyed", TWHEEL_CONFIG_KEYED, rates[i], seconds);
		run("leases", TWHEEL_CONFIG_LEASE, rates[i], seconds);
		run("keyed leases", TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE, rates[i], seconds);
	}
	faults_report();
	ksft_finished();
}
