// SPDX-License-Identifier: GPL-2.0-only
/* A load on one context, which checks its results: see load.h. */
#include <stdio.h>

#include "load.h"
#include "twheel_util.h"

/* The most numbers of armings. Memory is used only for numbers that were given out. */
#define MAX_ARMINGS	(4ULL << 20)

/* The most records in a read, and the most entries in a call of a drain. */
#define NR_EVENTS	64
#define NR_ENTRIES	32

/**
 * struct load_arming - notes on one arming
 * @lower: no record of it may have an earlier deadline
 * @interval: interval as armed
 * @next: deadline that its next record must have; 0 before the first one
 * @ended_at: how many reads had begun when it was cancelled or superseded
 * @last_read: the latest read that brought a record of it
 * @count: count as armed
 * @rounds: expirations that were read
 * @ends: how often it was cancelled, superseded, drained or read for the last
 *		time; must be 1 in the end
 * @failed: the call that was to arm it has failed
 */
struct load_arming {
	__u64 lower;
	__u64 interval;
	__u64 next;
	__u64 ended_at;
	__u64 last_read;
	__u32 count;
	__u32 rounds;
	__u8 ends;
	bool failed;
};

/**
 * struct load_thread - one of the load's threads
 * @load: the load
 * @thread: its thread
 * @index: its index among the threads that do the same
 * @numbers: number of the arming in each slot
 * @state: state of its random numbers
 */
struct load_thread {
	struct load *load;
	pthread_t thread;
	int index;
	__u64 numbers[LOAD_SLOTS];
	__u64 state;
};

int load_seconds(void)
{
	const char *text = getenv("TWHEEL_STRESS_SECONDS");
	int seconds = text ? atoi(text) : 0;

	return seconds > 0 ? seconds : 5;
}

/* Notes an error. Only the first text is shown. */
static void note(struct load *load, const char *text)
{
	if (!__atomic_fetch_add(&load->errors, 1, __ATOMIC_SEQ_CST))
		strcpy(load->first_error, text);
}

#define wrong(load, ...) do { \
	char __text[sizeof((load)->first_error)]; \
	snprintf(__text, sizeof(__text), __VA_ARGS__); \
	note(load, __text); \
} while (0)

static void add(__u64 *counter, __u64 n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_SEQ_CST);
}

static bool stopped(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void end_arming(struct load *load, __u64 number, __u64 *counter)
{
	add(counter, 1);
	/* With shared timers nobody can tell which arming ended. */
	if (load->mix.shared)
		return;
	__atomic_add_fetch(&load->armings[number].ends, 1, __ATOMIC_SEQ_CST);
	load->armings[number].ended_at = __atomic_load_n(&load->reads, __ATOMIC_SEQ_CST);
}

static struct twheel_arm make_request(struct load_thread *t, __u64 number)
{
	struct load_arming *a = &t->load->armings[number];
	const struct load_mix *mix = &t->load->mix;
	struct twheel_arm arm = tw_request(0, 0, number);
	__u64 now = tw_now(CLOCK_MONOTONIC);

	if (mix->far && tw_random(&t->state) % mix->far == 0)
		arm.expires = 3600 * TW_SEC;
	else
		arm.expires = tw_random(&t->state) % mix->spread_ns;
	a->lower = now + arm.expires;
	if (tw_random(&t->state) % 2) {
		arm.expires += now;
		arm.flags = TWHEEL_ARM_ABS;
	}
	if (mix->periodic && tw_random(&t->state) % mix->periodic == 0) {
		arm.interval = 1 + tw_random(&t->state) % mix->spread_ns;
		arm.count = tw_random(&t->state) % 5;
		/*
		 * A timer that goes on for ever is ended by its owner, but shared ones have
		 * none.
		 */
		if (mix->shared && !arm.count)
			arm.count = 1;
	}
	if (tw_random(&t->state) % 4 == 0)
		arm.slack = tw_random(&t->state) % mix->spread_ns;
	a->interval = arm.interval;
	a->count = arm.count;
	return arm;
}

/* Arms a new timer, or re-arms @handle. Stores the number of the new arming in *@number. */
static int do_arm(struct load_thread *t, __u64 *handle, __u64 *number)
{
	struct load *load = t->load;
	struct twheel_arm arm;
	int ret;

	*number = __atomic_fetch_add(&load->nr_armings, 1, __ATOMIC_SEQ_CST);
	if (*number >= load->max_armings)
		return -ENOSPC;
	arm = make_request(t, *number);
	arm.handle = *handle;
	ret = tw_call(load->fd, TWHEEL_IOC_ARM, &arm);
	if (ret) {
		load->armings[*number].failed = true;
		if (ret != arm.result)
			wrong(load, "ARM returned %d, its result is %d", ret, arm.result);
		return ret;
	}
	if (*handle ? arm.old_state == TWHEEL_STATE_NONE : arm.old_state != TWHEEL_STATE_NONE)
		wrong(load, "ARM of handle %llx found state %u", *handle, arm.old_state);
	if (*handle && arm.handle != *handle)
		wrong(load, "ARM of handle %llx returned %llx", *handle, arm.handle);
	*handle = arm.handle;
	return 0;
}

static int do_cancel(struct load_thread *t, __u64 handle)
{
	struct twheel_cancel cancel = { .handle = handle };
	int ret = tw_call(t->load->fd, TWHEEL_IOC_CANCEL, &cancel);

	if (!ret && cancel.old_state != TWHEEL_STATE_PENDING &&
	    cancel.old_state != TWHEEL_STATE_READY)
		wrong(t->load, "CANCEL found state %u", cancel.old_state);
	if (ret && ret != -ENOENT)
		wrong(t->load, "CANCEL returned %d", ret);
	return ret;
}

/* Pushes the timer of arming @number back, which stays that arming. */
static void do_push(struct load_thread *t, __u64 handle, __u64 number)
{
	struct load *load = t->load;
	struct twheel_push push = {
		.handle = handle,
		.expires = load->armings[number].lower + tw_random(&t->state) % load->mix.spread_ns,
	};
	ssize_t ret = write(load->fd, &push, sizeof(push));

	if (ret != sizeof(push) && (ret >= 0 || errno != ENOENT))
		wrong(load, "a push returned %zd, error %d", ret, errno);
}

/* A worker does something to a slot of its own. */
static void step_own(struct load_thread *t, __u64 *slot, __u64 *number)
{
	struct load *load = t->load;
	const struct load_mix *mix = &load->mix;
	struct twheel_timer_info info;
	__u64 dice, next, old = *number;
	int ret;

	if (!*slot) {
		if (do_arm(t, slot, number))
			sched_yield();
		return;
	}
	if (tw_random(&t->state) % 16 == 0) {
		ret = tw_get(load->fd, *slot, &info);
		if (ret ? ret != -ENOENT : info.user_data != old)
			wrong(load, "GET returned %d, user_data %llu for %llu", ret,
			      info.user_data, old);
	}
	if (mix->push && tw_random(&t->state) % mix->push == 0)
		do_push(t, *slot, old);
	dice = tw_random(&t->state) % (mix->cancel + mix->rearm + mix->leave);
	if (dice < (__u64)mix->cancel) {
		if (!do_cancel(t, *slot))
			end_arming(load, old, &load->cancelled);
		*slot = 0;
	} else if (dice < (__u64)(mix->cancel + mix->rearm)) {
		ret = do_arm(t, slot, &next);
		if (!ret) {
			end_arming(load, old, &load->superseded);
			*number = next;
		} else if (ret == -ENOENT) {
			*slot = 0;
		} else if (ret != -ENOSPC) {
			wrong(load, "re-ARM returned %d", ret);
		}
	} else if (!load->armings[old].interval || load->armings[old].count) {
		*slot = 0;
	}
}

/* A worker does something to a slot that other workers use at the same time. */
static void step_shared(struct load_thread *t, __u64 *slot)
{
	struct load *load = t->load;
	__u64 handle = __atomic_load_n(slot, __ATOMIC_SEQ_CST), seen = handle, number;
	const struct load_mix *mix = &load->mix;
	int ret;

	if (!handle) {
		/*
		 * If another worker has filled the slot, the timer is left to expire, or to
		 * a drain.
		 */
		if (do_arm(t, &handle, &number))
			sched_yield();
		else
			__atomic_compare_exchange_n(slot, &seen, handle, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return;
	}
	if (tw_random(&t->state) % (mix->cancel + mix->rearm) < (__u64)mix->cancel) {
		ret = do_cancel(t, handle);
		if (!ret)
			end_arming(load, 0, &load->cancelled);
	} else {
		ret = do_arm(t, &handle, &number);
		if (!ret) {
			end_arming(load, 0, &load->superseded);
			return;
		}
	}
	if (!ret || ret == -ENOENT)
		__atomic_compare_exchange_n(slot, &seen, 0, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void *work(void *arg)
{
	struct load_thread *t = arg;
	struct load *load = t->load;
	__u64 *slots = load->slots[load->mix.shared ? 0 : t->index];
	int i;

	if (load->mix.pinned)
		tw_pin(tw_nth_cpu(t->index % sysconf(_SC_NPROCESSORS_ONLN)));
	while (!stopped(&load->stop)) {
		/* There are few shared slots, so that workers do meet. */
		if (load->mix.shared) {
			step_shared(t, &slots[tw_random(&t->state) % 16]);
			continue;
		}
		i = tw_random(&t->state) % LOAD_SLOTS;
		step_own(t, &slots[i], &t->numbers[i]);
	}
	/* Cancel the timers that would never end. */
	for (i = 0; i < LOAD_SLOTS && !load->mix.shared; i++) {
		struct load_arming *a = &load->armings[t->numbers[i]];

		if (slots[i] && a->interval && !a->count && !do_cancel(t, slots[i]))
			end_arming(load, t->numbers[i], &load->cancelled);
	}
	return NULL;
}

static void check_event(struct load *load, const struct twheel_event *event, __u64 seq,
			__u64 now)
{
	struct load_arming *a;
	__u64 first, last;

	if (event->user_data >= load->nr_armings || event->user_data >= load->max_armings) {
		wrong(load, "record of %llu, which was never armed", event->user_data);
		return;
	}
	a = &load->armings[event->user_data];
	last = event->deadline + (event->expirations - 1) * a->interval;
	if (event->expired < event->deadline || now < event->expired || now < last)
		wrong(load, "early: deadline %llu, last %llu, expired %llu, read %llu",
		      event->deadline, last, event->expired, now);
	if (event->deadline < a->lower)
		wrong(load, "deadline %llu, armed for %llu", event->deadline, a->lower);
	if (!event->expirations || (!a->interval && event->expirations != 1))
		wrong(load, "%llu expirations", event->expirations);
	if (!a->interval && !(event->flags & TWHEEL_EVENT_LAST))
		wrong(load, "a one-shot timer goes on");
	if (event->flags & ~TWHEEL_EVENT_LAST || event->reserved)
		wrong(load, "flags %x, reserved %x", event->flags, event->reserved);

	/* The rounds come in order only if there is a single reader. */
	first = a->next;
	if (load->mix.readers == 1 && first && event->deadline != first)
		wrong(load, "off the grid: deadline %llu, expected %llu",
		      event->deadline, first);
	a->next = last + a->interval;
	__atomic_add_fetch(&a->rounds, event->expirations, __ATOMIC_SEQ_CST);
	if (seq > a->last_read)
		a->last_read = seq;
	add(&load->expirations, event->expirations);
	if (event->flags & TWHEEL_EVENT_LAST) {
		__atomic_add_fetch(&a->ends, 1, __ATOMIC_SEQ_CST);
		add(&load->delivered, 1);
	}
}

static void *read_records(void *arg)
{
	struct load_thread *t = arg;
	struct load *load = t->load;
	struct twheel_event events[NR_EVENTS];
	__u64 seq, now;
	ssize_t ret, i;

	if (load->mix.pinned)
		tw_pin(tw_nth_cpu((load->mix.workers + t->index) %
				  sysconf(_SC_NPROCESSORS_ONLN)));
	while (!stopped(&load->quiet)) {
		seq = __atomic_add_fetch(&load->reads, 1, __ATOMIC_SEQ_CST);
		ret = tw_read(load->fd, events,
			      (1 + tw_random(&t->state) % NR_EVENTS) *
			      sizeof(events[0]));
		now = tw_now(CLOCK_MONOTONIC);
		if (ret == -EAGAIN)
			tw_poll(load->fd, 20);
		else if (ret <= 0 || ret % sizeof(events[0]))
			wrong(load, "read returned %zd", ret);
		for (i = 0; i < ret / (ssize_t)sizeof(events[0]); i++)
			check_event(load, &events[i], seq, now);
	}
	return NULL;
}

/* Walks the list once, and cancels all timers that it finds. */
static void drain(struct load *load, struct twheel_timer_info *entries, __u32 room)
{
	struct twheel_list list = {
		.entries = (unsigned long)entries,
		.count = room, .flags = TWHEEL_LIST_DRAIN,
	};
	int ret, i;

	while ((ret = tw_call(load->fd, TWHEEL_IOC_LIST, &list)) > 0) {
		for (i = 0; i < ret; i++) {
			__u64 number = entries[i].user_data;

			if (number >= load->nr_armings)
				wrong(load, "drained %llu, which was never armed", number);
			else
				end_arming(load, number, &load->drained);
		}
	}
	if (ret)
		wrong(load, "LIST returned %d", ret);
}

static void *drain_now_and_then(void *arg)
{
	struct twheel_timer_info entries[NR_ENTRIES];
	struct load_thread *t = arg;

	while (!stopped(&t->load->stop)) {
		drain(t->load, entries, 1 + tw_random(&t->state) % NR_ENTRIES);
		tw_pass(t->load->mix.spread_ns / 2);
	}
	return NULL;
}

static int start(struct load *load, void *(*function)(void *), int n)
{
	struct load_thread *t;
	int i, ret;

	for (i = 0; i < n; i++) {
		t = &load->threads[load->nr_threads];
		t->load = load;
		t->index = i;
		t->state = 0x9e3779b97f4a7c15ULL * (1 + load->nr_threads);
		ret = pthread_create(&t->thread, NULL, function, t);
		if (ret)
			return -ret;
		load->nr_threads++;
	}
	return 0;
}

int load_begin(struct load *load, const struct load_mix *mix)
{
	int ret;

	memset(load, 0, sizeof(*load));
	load->mix = *mix;
	load->max_armings = MAX_ARMINGS;
	load->fd = tw_open();
	if (load->fd < 0)
		return load->fd;
	load->armings = mmap(NULL, MAX_ARMINGS * sizeof(*load->armings),
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	load->threads = calloc(3 * LOAD_THREADS, sizeof(*load->threads));
	if (load->armings == MAP_FAILED || !load->threads)
		return -ENOMEM;

	/* Number 0 stays unused, as fields that were never set are 0. */
	load->nr_armings = 1;
	ret = start(load, read_records, mix->readers);
	ret = ret ?: start(load, work, mix->workers);
	return ret ?: start(load, drain_now_and_then, mix->drainers);
}

/* Waits until there are no records, and no timers that are due within an hour. */
static void settle(struct load *load)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	struct twheel_info info;

	do {
		memset(&info, 0, sizeof(info));
		info.flags = TWHEEL_INFO_NEXT;
		if (tw_call(load->fd, TWHEEL_IOC_GET_INFO, &info)) {
			wrong(load, "GET_INFO failed");
			return;
		}
		if (!info.ready && info.next_expiry > info.now + 1800 * TW_SEC)
			return;
		sched_yield();
	} while (tw_now(CLOCK_MONOTONIC) < limit);
	wrong(load, "%llu timers pending, %llu ready, the next %lld ns ahead",
	      info.pending, info.ready, (long long)(info.next_expiry - info.now));
}

static void check_armings(struct load *load)
{
	__u64 made = 0, i, n = load->nr_armings;

	if (n > load->max_armings)
		n = load->max_armings;
	for (i = 1; i < n; i++) {
		const struct load_arming *a = &load->armings[i];

		made += !a->failed;
		if (a->failed ? a->ends : load->mix.shared ? a->ends > 1 : a->ends != 1)
			wrong(load, "arming %llu of %llu%s ended %u times, %u rounds read",
			      i, n, a->failed ? " (failed)" : "", a->ends, a->rounds);
		if (a->count && a->rounds > a->count)
			wrong(load, "%u rounds of %u", a->rounds, a->count);
		if (a->ended_at && a->last_read > a->ended_at)
			wrong(load, "record of %llu by read %llu, cancelled by read %llu",
			      i, a->last_read, a->ended_at);
	}
	if (made != load->cancelled + load->superseded + load->delivered + load->drained)
		wrong(load, "%llu armed: %llu cancelled, %llu superseded, %llu read, %llu drained",
		      made, load->cancelled, load->superseded, load->delivered,
		      load->drained);
}

int load_end(struct load *load)
{
	struct twheel_timer_info entries[NR_ENTRIES];
	struct twheel_info info;
	__u64 limit;
	int i;

	__atomic_store_n(&load->stop, true, __ATOMIC_SEQ_CST);
	/* The readers were started first, and end last. */
	for (i = load->mix.readers; i < load->nr_threads; i++)
		pthread_join(load->threads[i].thread, NULL);
	limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	/*
	 * A periodic timer that is being read at this moment may escape both, so try again.
	 */
	do {
		settle(load);
		drain(load, entries, NR_ENTRIES);
		info = tw_info(load->fd);
	} while ((info.pending || info.ready) && tw_now(CLOCK_MONOTONIC) < limit);
	__atomic_store_n(&load->quiet, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < load->mix.readers && i < load->nr_threads; i++)
		pthread_join(load->threads[i].thread, NULL);
	if (info.pending || info.ready)
		wrong(load, "something is left");
	check_armings(load);
	close(load->fd);
	munmap(load->armings, MAX_ARMINGS * sizeof(*load->armings));
	free(load->threads);
	return load->errors;
}
