// SPDX-License-Identifier: GPL-2.0-only
/*
 * How to read expirations: all forms of read, poll and epoll, signals, shared descriptors. For
 * io_uring see uring.c, for fdinfo hostile/leak.c, and for several readers at once
 * selftests/sim.
 *
 * Most tests ask the same: is every record handed out exactly once, whatever goes wrong
 * with a buffer or a reader?
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "alarms.h"
#include "twheel_test.h"

#define RECORD	sizeof(struct twheel_event)

/* Arms @n timers that are due, with user_data from @base on, and waits until they are ready. */
static bool make_ready(int fd, __u64 base, int n)
{
	__u64 before = tw_info(fd).ready;
	int i;

	for (i = 0; i < n; i++)
		if (!tw_arm(fd, 0, 0, base + i))
			return false;
	return tw_wait_ready(fd, before + n);
}

static void blocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

/* Returns an address that cannot be written to. */
static void *nowhere(void)
{
	static void *page;

	if (!page)
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page;
}

TEST_F(tw, short_buffers)
{
	char buf[RECORD];
	size_t len;

	for (len = 0; len < RECORD; len++)
		EXPECT_EQ(-EINVAL, tw_read(self->fd, buf, len));
	ASSERT_TRUE(make_ready(self->fd, 0, 1));
	for (len = 0; len < RECORD; len++)
		EXPECT_EQ(-EINVAL, tw_read(self->fd, buf, len));
	EXPECT_EQ(1, tw_info(self->fd).ready);
	EXPECT_EQ(RECORD, tw_read(self->fd, buf, RECORD));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, buf, RECORD));
}

TEST_F(tw, whole_records_only)
{
	unsigned int seen[5] = { };
	char buf[10 * RECORD];

	ASSERT_TRUE(make_ready(self->fd, 0, 5));
	memset(buf, 0xcc, sizeof(buf));
	ASSERT_EQ(2 * RECORD, tw_read(self->fd, buf, 3 * RECORD - 1));
	EXPECT_EQ((char)0xcc, buf[2 * RECORD]);
	EXPECT_EQ((char)0xcc, buf[3 * RECORD - 2]);
	EXPECT_TRUE(tw_count_records(buf, 2, seen, 5));
	EXPECT_EQ(3, tw_info(self->fd).ready);
	ASSERT_EQ(3 * RECORD, tw_read(self->fd, buf, sizeof(buf)));
	EXPECT_TRUE(tw_count_records(buf, 3, seen, 5));
	EXPECT_TRUE(tw_all_once(seen, 5));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, buf, sizeof(buf)));
}

TEST_F(tw, scattered_buffers)
{
	enum { N = 20, MOST_PIECES = 1024 };
	static const size_t steps[] = { 1, 3, 7, 16, 47, 48, 49, 95, 100, 1000 };
	char buf[N * RECORD];
	struct iovec iov[2 * N * RECORD];
	unsigned int seen[N];
	size_t i, at, n, len;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		ASSERT_TRUE(make_ready(self->fd, 0, N));
		for (at = 0, n = 0; at < sizeof(buf); at += len, n++) {
			len = steps[i];
			if (len > sizeof(buf) - at)
				len = sizeof(buf) - at;
			/* Some pieces are empty. */
			if (n % 5 == 4)
				iov[n++] = (struct iovec){ buf, 0 };
			iov[n] = (struct iovec){ buf + at, len };
		}
		if (n > MOST_PIECES)
			n = MOST_PIECES;
		memset(seen, 0, sizeof(seen));
		for (len = 0, at = 0; at < n; at++)
			len += iov[at].iov_len;
		len -= len % RECORD;
		ASSERT_EQ(len, readv(self->fd, iov, n));
		ASSERT_TRUE(tw_count_records(buf, len / RECORD, seen, N));
		n = tw_info(self->fd).ready;
		EXPECT_EQ(N - len / RECORD, n);
		if (n)
			ASSERT_EQ(n * RECORD, tw_read(self->fd, buf, sizeof(buf)));
		ASSERT_TRUE(tw_count_records(buf, n, seen, N));
		EXPECT_TRUE(tw_all_once(seen, N));
	}
}

TEST_F(tw, no_seeking)
{
	struct iovec iov;
	char buf[RECORD];

	iov = (struct iovec){ buf, sizeof(buf) };
	ASSERT_TRUE(make_ready(self->fd, 0, 1));
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_SET));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_CUR));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, pread(self->fd, buf, sizeof(buf), 0));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, preadv(self->fd, &iov, 1, 4096));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(1, tw_info(self->fd).ready);
}

TEST_F(tw, blocking_read_waits)
{
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + 50 * TW_MSEC;
	struct twheel_event events[4];

	blocking(self->fd, true);
	ASSERT_NE(0, tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 1));
	ASSERT_EQ(RECORD, tw_read(self->fd, events, RECORD));
	EXPECT_LE(deadline, tw_now(CLOCK_MONOTONIC));
	EXPECT_EQ(deadline, events[0].deadline);

	/* A read does not wait for more records than there are. */
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 2));
	ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 3));
	ASSERT_EQ(RECORD, tw_read(self->fd, events, sizeof(events)));
	EXPECT_EQ(2, events[0].user_data);
}

TEST_F(tw, nonblock_can_be_toggled)
{
	struct twheel_event event;

	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	ASSERT_NE(0, tw_arm(self->fd, 20 * TW_MSEC, 0, 1));
	blocking(self->fd, true);
	EXPECT_EQ(RECORD, tw_read(self->fd, &event, RECORD));
	blocking(self->fd, false);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	ASSERT_TRUE(make_ready(self->fd, 2, 1));
	EXPECT_EQ(RECORD, tw_read(self->fd, &event, RECORD));
}

TEST_F(tw, nowait_for_one_call)
{
	struct twheel_event event;
	struct iovec iov = { &event, RECORD };

	blocking(self->fd, true);
	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_TRUE(make_ready(self->fd, 7, 1));
	EXPECT_EQ(RECORD, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(7, event.user_data);
	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
}

/* The first record cannot be stored: the read fails with EFAULT and the record stays. */
TEST_F(tw, fault_at_the_first_record)
{
	enum { N = 10 };
	size_t page = sysconf(_SC_PAGESIZE), cut;
	static const unsigned long places[] = {
		0, 8, (unsigned long)-RECORD, (unsigned long)-4096,
		~(~0UL >> 1), ~0xffffUL,
	};
	struct twheel_event events[N];
	unsigned int seen[N] = { };
	char *mem, *guarded = tw_guarded(1);
	int prot;
	size_t i;

	ASSERT_NE(NULL, guarded);
	ASSERT_TRUE(make_ready(self->fd, 0, N));
	for (i = 0; i < ARRAY_SIZE(places); i++)
		EXPECT_EQ(-EFAULT, tw_read(self->fd, (void *)places[i], RECORD));
	for (cut = 1; cut <= RECORD; cut++)
		EXPECT_EQ(-EFAULT, tw_read(self->fd, guarded + page - RECORD + cut, RECORD));
	for (prot = 0; prot < 2; prot++) {
		mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, mem);
		ASSERT_EQ(0, mprotect(mem + page, page, prot ? PROT_READ : PROT_NONE));
		for (cut = 1; cut <= RECORD; cut++)
			EXPECT_EQ(-EFAULT, tw_read(self->fd, mem + page - RECORD + cut,
						   N * RECORD));
		munmap(mem, 2 * page);
	}
	EXPECT_EQ(N, tw_info(self->fd).ready);
	EXPECT_EQ(0, tw_info(self->fd).pending);
	ASSERT_EQ(sizeof(events), tw_read(self->fd, events, sizeof(events)));
	EXPECT_TRUE(tw_count_records(events, N, seen, N));
	EXPECT_TRUE(tw_all_once(seen, N));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, events, sizeof(events)));
	EXPECT_EQ(0, tw_info(self->fd).ready);
}

/*
 * A later record cannot be stored: the read returns those before it, and that record stays.
 */
TEST_F(tw, fault_in_the_middle)
{
	enum { N = 200 };
	size_t page = sysconf(_SC_PAGESIZE), part;
	struct twheel_event events[N];
	unsigned int seen[N];
	ssize_t got;
	char *mem;
	int whole, prot;

	for (whole = 1; whole <= 70; whole += 23) {
		for (part = 0; part < RECORD; part += 5) {
			prot = part % 3;
			mem = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			ASSERT_NE(MAP_FAILED, mem);
			if (prot == 2)
				munmap(mem + page, 3 * page);
			else
				mprotect(mem + page, 3 * page, prot ? PROT_READ : PROT_NONE);
			ASSERT_TRUE(make_ready(self->fd, 0, N));
			memset(seen, 0, sizeof(seen));
			got = tw_read(self->fd, mem + page - whole * RECORD - part, N * RECORD);
			ASSERT_EQ(whole * RECORD, got);
			ASSERT_EQ(N - whole, tw_info(self->fd).ready);
			ASSERT_TRUE(tw_count_records(mem + page - whole * RECORD - part,
						     whole, seen, N));
			ASSERT_EQ((N - whole) * RECORD,
				  tw_read(self->fd, events, sizeof(events)));
			ASSERT_TRUE(tw_count_records(events, N - whole, seen, N));
			ASSERT_TRUE(tw_all_once(seen, N));
			munmap(mem, 4 * page);
		}
	}
}

TEST_F(tw, fault_in_a_later_piece)
{
	struct twheel_event events[10];
	struct iovec iov[3] = {
		{ events, RECORD + 10 }, { nowhere(), RECORD }, { &events[3], RECORD },
	};
	unsigned int seen[10] = { };

	ASSERT_TRUE(make_ready(self->fd, 0, 10));
	ASSERT_EQ(RECORD, readv(self->fd, iov, 3));
	ASSERT_TRUE(tw_count_records(events, 1, seen, 10));
	ASSERT_EQ(9 * RECORD, tw_read(self->fd, events, sizeof(events)));
	ASSERT_TRUE(tw_count_records(events, 9, seen, 10));
	EXPECT_TRUE(tw_all_once(seen, 10));
}

/* Pages that are mapped but not yet present have to be faulted in, not refused. */
TEST_F(tw, buffers_not_yet_in_memory)
{
	enum { N = 10000 };
	static unsigned int seen[N];
	char *mem;
	int round;

	mem = mmap(NULL, N * RECORD, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	for (round = 0; round < 2; round++) {
		memset(seen, 0, sizeof(seen));
		ASSERT_TRUE(make_ready(self->fd, 0, N));
		ASSERT_EQ(N * RECORD, tw_read(self->fd, mem, N * RECORD));
		ASSERT_TRUE(tw_count_records(mem, N, seen, N));
		EXPECT_TRUE(tw_all_once(seen, N));
		ASSERT_EQ(0, madvise(mem, N * RECORD, MADV_DONTNEED));
	}
}

TEST_F(tw, a_signal_interrupts)
{
	struct twheel_event event;

	ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 0));
	blocking(self->fd, true);
	alarm_every(20000, 0);
	EXPECT_EQ(-EINTR, tw_read(self->fd, &event, RECORD));
	alarm_every(0, 0);
	EXPECT_EQ(1, tw_info(self->fd).pending);
}

TEST_F(tw, a_restarting_signal_does_not)
{
	struct twheel_event event;
	ssize_t ret;

	blocking(self->fd, true);
	alarm_every(20000, SA_RESTART);
	ASSERT_NE(0, tw_arm(self->fd, 500 * TW_MSEC, 0, 5));
	ret = tw_read(self->fd, &event, RECORD);
	alarm_every(0, 0);
	EXPECT_EQ(RECORD, ret);
	EXPECT_EQ(5, event.user_data);
	EXPECT_LT(0, alarms);
}

TEST_F(tw, poll_is_level_triggered)
{
	struct twheel_event event;
	struct pollfd pfd = { .fd = self->fd, .events = ~0 };
	__u64 handle;
	int i;

	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_TRUE(make_ready(self->fd, 0, 2));
	EXPECT_EQ(TW_READABLE, tw_poll(self->fd, 0));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(TW_READABLE, pfd.revents);
	ASSERT_EQ(RECORD, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(TW_READABLE, tw_poll(self->fd, 0));
	ASSERT_EQ(RECORD, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(0, tw_poll(self->fd, 0));

	/* What a call leaves to be read a poll finds at once. */
	for (i = 0; i < 2000; i++) {
		handle = tw_arm(self->fd, 0, 0, 0);
		ASSERT_EQ(TW_READABLE, tw_poll(self->fd, 0));
		ASSERT_EQ(i % 2 ? RECORD : 0, i % 2 ? tw_read(self->fd, &event, RECORD) :
						      tw_cancel(self->fd, handle));
		ASSERT_EQ(0, tw_poll(self->fd, 0));
	}
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(tw, epoll_level_triggered)
{
	struct epoll_event watch = { .events = EPOLLIN }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC), i;
	struct twheel_event event;

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &watch));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	ASSERT_NE(0, tw_arm(self->fd, 20 * TW_MSEC, 0, 0));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
		EXPECT_EQ(EPOLLIN, got.events);
	}
	ASSERT_EQ(RECORD, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	/*
	 * Records that are ready before epoll watches the descriptor are reported as well.
	 */
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_DEL, self->fd, NULL));
	ASSERT_TRUE(make_ready(self->fd, 0, 1));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &watch));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, 0));
	close(ep);
}

TEST_F(tw, epoll_edge_triggered)
{
	struct epoll_event watch = { .events = EPOLLIN | EPOLLET }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC), i;

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &watch));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	/* Unread records do not keep epoll from reporting a later one. */
	for (i = 0; i < 5; i++) {
		ASSERT_NE(0, tw_arm(self->fd, 10 * TW_MSEC, 0, i));
		EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
		EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	}
	close(ep);
}

/* What programs may rely on that have an embedded wheel, too. */
TEST_F(tw, epoll_edges_of_calls)
{
	struct epoll_event watch = { .events = EPOLLIN | EPOLLET }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC), i;
	struct twheel_arm arm = tw_request(0, 0, 7);
	struct twheel_event events[8];

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &watch));
	ASSERT_NE(0, tw_arm(self->fd, 10 * TW_MSEC, 0, 0));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	/* A timer that is armed for the past is reported although there is something to read. */
	for (i = 1; i < 5; i++) {
		ASSERT_NE(0, tw_arm(self->fd, 0, 0, i));
		EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
		EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	}
	/* So it is after a read that takes only some of the records, which itself is not. */
	ASSERT_EQ(2 * RECORD, tw_read(self->fd, events, 2 * RECORD));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 5));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
	ASSERT_EQ(4 * RECORD, tw_read(self->fd, events, sizeof(events)));
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 6));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
	ASSERT_EQ(RECORD, tw_read(self->fd, events, sizeof(events)));
	/* One comes after each read that has found no more, and none by that read. */
	for (i = 0; i < 50; i++) {
		ASSERT_NE(0, tw_arm(self->fd, i % 3 * 4 * TW_MSEC, 0, i));
		ASSERT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
		EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
		ASSERT_EQ(RECORD, tw_read(self->fd, events, sizeof(events)));
		ASSERT_EQ(-EAGAIN, tw_read(self->fd, events, sizeof(events)));
		EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	}
	/* Each read of a periodic timer makes room for the next edge. */
	arm.interval = 5 * TW_MSEC;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
		ASSERT_EQ(RECORD, tw_read(self->fd, events, RECORD));
	}
	close(ep);
}

TEST_F(tw, epoll_oneshot)
{
	struct epoll_event watch = { .events = EPOLLIN | EPOLLONESHOT }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &watch));
	ASSERT_TRUE(make_ready(self->fd, 0, 1));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
	ASSERT_TRUE(make_ready(self->fd, 1, 1));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_MOD, self->fd, &watch));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, 0));
	close(ep);
}

struct waiter {
	pthread_t thread;
	int fd;
	int ep;
	int stop;
	int *records;
	long switches;
	bool failed;
};

static void *wait_exclusively(void *arg)
{
	struct twheel_event event;
	struct epoll_event got;
	struct waiter *w = arg;
	struct rusage usage;

	for (;;) {
		if (epoll_wait(w->ep, &got, 1, -1) != 1) {
			w->failed = true;
			return NULL;
		}
		if (got.data.fd == w->stop)
			break;
		if (tw_read(w->fd, &event, RECORD) == (ssize_t)RECORD)
			__atomic_add_fetch(w->records, 1, __ATOMIC_SEQ_CST);
	}
	/*
	 * epoll_wait() does not return from needless wake-ups, but the number of context
	 * switches shows them.
	 */
	getrusage(RUSAGE_THREAD, &usage);
	w->switches = usage.ru_nvcsw;
	return NULL;
}

TEST_F(tw, epoll_exclusive_wakes_one)
{
	enum { WAITERS = 8, ROUNDS = 100 };
	int stop = eventfd(0, EFD_CLOEXEC), records = 0, i, round;
	long switches = 0;
	struct epoll_event watch;
	struct waiter w[WAITERS];
	__u64 one = 1;

	ASSERT_LE(0, stop);
	for (i = 0; i < WAITERS; i++) {
		w[i] = (struct waiter){
			.fd = self->fd, .stop = stop, .records = &records,
		};
		w[i].ep = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, w[i].ep);
		watch.data.fd = stop;
		watch.events = EPOLLIN;
		ASSERT_EQ(0, epoll_ctl(w[i].ep, EPOLL_CTL_ADD, stop, &watch));
		watch.data.fd = self->fd;
		watch.events = EPOLLIN | EPOLLEXCLUSIVE | EPOLLET;
		ASSERT_EQ(0, epoll_ctl(w[i].ep, EPOLL_CTL_ADD, self->fd, &watch));
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, wait_exclusively, &w[i]));
	}
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_NE(0, tw_arm(self->fd, 5 * TW_MSEC, 0, round));
		ASSERT_TRUE(tw_await(__atomic_load_n(&records, __ATOMIC_SEQ_CST) > round));
		ASSERT_EQ(round + 1, __atomic_load_n(&records, __ATOMIC_SEQ_CST));
	}
	ASSERT_EQ(sizeof(one), write(stop, &one, sizeof(one)));
	for (i = 0; i < WAITERS; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_FALSE(w[i].failed);
		switches += w[i].switches;
		close(w[i].ep);
	}
	close(stop);
	EXPECT_EQ(ROUNDS, records);
	/*
	 * A waiter that is not asleep yet passes the wake-up on to the next one, so there
	 * cannot be exactly one switch for each record. If each woke all of them, there
	 * would be WAITERS.
	 */
	EXPECT_GE(ROUNDS * WAITERS / 2, switches);
	TH_LOG("%ld times woken for %d records", switches, ROUNDS);
}

TEST_F(tw, fork_shares_the_context)
{
	struct twheel_event event;
	int status = 0, i;
	pid_t pid;

	for (i = 0; i < 2; i++) {
		ASSERT_FORKED(pid);
		if (pid == 0)
			_exit(tw_arm(self->fd, 30 * TW_MSEC, 0, i) ? 0 : 1);
		/*
		 * In the first round the record is read while the child may be alive, in
		 * the second after the child has ended.
		 */
		if (i)
			status = tw_status_of(pid);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(i, event.user_data);
		EXPECT_EQ(0, i ? status : tw_status_of(pid));
	}
	/* This time the parent closes its copy first. */
	ASSERT_FORKED(pid);
	if (pid == 0) {
		if (!tw_arm(self->fd, 50 * TW_MSEC, 0, 9))
			_exit(1);
		_exit(tw_collect(self->fd, &event, 1) == 1 && event.user_data == 9 ? 0 : 2);
	}
	close(self->fd);
	EXPECT_EQ(0, tw_status_of(pid));
	self->fd = tw_open();
}

/* For a while no process has the context open: it is in the queue of a socket. */
TEST_F(tw, passed_over_a_socket)
{
	struct twheel_event event;
	int sv[2];
	__u64 handle;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	ASSERT_NE(0, tw_arm(self->fd, 20 * TW_MSEC, 0, 5));
	ASSERT_ARMED(handle, self->fd, TW_FAR, 0, 6);
	ASSERT_EQ(0, tw_send_fd(sv[0], self->fd, 0, 0));
	close(self->fd);
	ASSERT_TRUE(tw_pass(60 * TW_MSEC));
	ASSERT_FORKED(pid);
	if (pid == 0) {
		char byte;
		int fd = tw_receive_fd(sv[1], &byte, 0);

		if (fd < 0 || tw_collect(fd, &event, 1) != 1 || event.user_data != 5)
			_exit(1);
		_exit(tw_cancel(fd, handle) ? 2 : 0);
	}
	EXPECT_EQ(0, tw_status_of(pid));
	close(sv[0]);
	close(sv[1]);
	self->fd = tw_open();
}

TEST_HARNESS_MAIN
