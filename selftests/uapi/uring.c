// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading expirations with io_uring: reads and polls, linked to each other, cancelled, and
 * lost with their ring.
 *
 * As in read.c: is every expiration handed out exactly once?
 */
#include <liburing.h>
#include <stdio.h>
#include <sys/uio.h>

#include "twheel_test.h"

#define RECORD	sizeof(struct twheel_event)

/* The user_data of requests whose completion says nothing about a read. */
#define MARK	(1ULL << 32)

FIXTURE(uring)
{
	struct io_uring ring;
	int fd;
};

FIXTURE_SETUP(uring)
{
	int ret = io_uring_queue_init(8, &self->ring, 0);

	if (ret < 0)
		SETUP_SKIP("no io_uring here: %s", strerror(-ret));
	/* The descriptor is blocking, as nearly all tests here need. */
	self->fd = open(TW_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(uring)
{
	io_uring_queue_exit(&self->ring);
	close(self->fd);
}

static bool arm_many(int fd, __u64 delay, __u64 base, int n)
{
	while (n--)
		if (!tw_arm(fd, delay, 0, base + n))
			return false;
	return true;
}

/* Submits a read that completes with @name. Returns whether the ring accepted it. */
static bool submit_read(struct io_uring *ring, int fd, void *buf, unsigned int len,
			__u64 name)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		return false;
	io_uring_prep_read(sqe, fd, buf, len, -1);
	io_uring_sqe_set_data64(sqe, name);
	return io_uring_submit(ring) == 1;
}

/* Takes the next completion, and waits for it up to a limit. Returns 0 or -errno. */
static int next_cqe(struct io_uring *ring, struct io_uring_cqe *copy)
{
	struct __kernel_timespec limit = { .tv_sec = TW_LIMIT_MS / 1000 };
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(ring, &cqe, &limit);

	if (ret)
		return ret;
	*copy = *cqe;
	io_uring_cqe_seen(ring, cqe);
	return 0;
}

static bool nothing_completed(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	return io_uring_peek_cqe(ring, &cqe) == -EAGAIN;
}

TEST_F(uring, read_waits)
{
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + 50 * TW_MSEC;
	struct twheel_event events[4];
	struct io_uring_cqe cqe;

	memset(events, 0xcc, sizeof(events));
	ASSERT_TRUE(submit_read(&self->ring, self->fd, events, sizeof(events), 1));
	EXPECT_TRUE(nothing_completed(&self->ring));
	ASSERT_NE(0, tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 5));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	EXPECT_LE(deadline, tw_now(CLOCK_MONOTONIC));
	EXPECT_EQ(RECORD, cqe.res);
	EXPECT_EQ(5, events[0].user_data);
	EXPECT_EQ(deadline, events[0].deadline);
	EXPECT_LE(deadline, events[0].expired);
}

/* As with read(), records that are there come at once, as many as fit. */
TEST_F(uring, read_what_is_there)
{
	unsigned int seen[5] = { };
	struct twheel_event events[4];
	struct io_uring_cqe cqe;

	ASSERT_TRUE(arm_many(self->fd, 0, 0, 5));
	ASSERT_TRUE(tw_wait_ready(self->fd, 5));
	ASSERT_TRUE(submit_read(&self->ring, self->fd, events, sizeof(events), 1));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	ASSERT_EQ(4 * RECORD, cqe.res);
	EXPECT_TRUE(tw_count_records(events, 4, seen, 5));
	ASSERT_TRUE(submit_read(&self->ring, self->fd, events, 2 * RECORD - 1, 1));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	ASSERT_EQ(RECORD, cqe.res);
	EXPECT_TRUE(tw_count_records(events, 1, seen, 5));
	EXPECT_TRUE(tw_all_once(seen, 5));
}

/* io_uring ignores O_NONBLOCK on files that it can poll, but honours RWF_NOWAIT. */
TEST_F(uring, nonblocking)
{
	struct io_uring_sqe *sqe;
	struct twheel_event event;
	struct io_uring_cqe cqe;

	fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) | O_NONBLOCK);
	sqe = io_uring_get_sqe(&self->ring);
	ASSERT_NE(NULL, sqe);
	io_uring_prep_read(sqe, self->fd, &event, RECORD, -1);
	sqe->rw_flags = RWF_NOWAIT;
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	EXPECT_EQ(-EAGAIN, cqe.res);

	ASSERT_TRUE(submit_read(&self->ring, self->fd, &event, RECORD, 1));
	EXPECT_TRUE(nothing_completed(&self->ring));
	ASSERT_NE(0, tw_arm(self->fd, 20 * TW_MSEC, 0, 5));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	EXPECT_EQ(RECORD, cqe.res);
	EXPECT_EQ(5, event.user_data);
}

/* Pushes timers back, one of which has to be made. */
TEST_F(uring, writes)
{
	__u64 far = tw_now(CLOCK_MONOTONIC) + 3600 * TW_SEC;
	struct twheel_push pushes[] = { { 1, far }, { 2, far } };
	struct twheel_arm arm = tw_request(TW_SEC, 0, 7);
	struct twheel_timer_info info;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	arm.handle = 2;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	sqe = io_uring_get_sqe(&self->ring);
	ASSERT_NE(NULL, sqe);
	io_uring_prep_write(sqe, self->fd, pushes, sizeof(pushes), -1);
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	EXPECT_EQ(sizeof(pushes), cqe.res);
	ASSERT_EQ(0, tw_get(self->fd, 1, &info));
	EXPECT_EQ(far, info.deadline);
	ASSERT_EQ(0, tw_get(self->fd, 2, &info));
	EXPECT_EQ(far, info.deadline);
	EXPECT_EQ(7, info.user_data);
}

TEST_F(uring, bad_buffers_lose_nothing)
{
	char *end = tw_guarded(1) + sysconf(_SC_PAGESIZE);
	struct twheel_event event;
	struct io_uring_cqe cqe;

	ASSERT_TRUE(arm_many(self->fd, 0, 0, 2));
	ASSERT_TRUE(tw_wait_ready(self->fd, 2));
	ASSERT_TRUE(submit_read(&self->ring, self->fd, &event, RECORD - 1, 1));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	EXPECT_EQ(-EINVAL, cqe.res);
	ASSERT_TRUE(submit_read(&self->ring, self->fd, end, RECORD, 1));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	EXPECT_EQ(-EFAULT, cqe.res);
	EXPECT_EQ(2, tw_info(self->fd).ready);
	/* The buffer ends within the second record, which therefore stays. */
	ASSERT_TRUE(submit_read(&self->ring, self->fd, end - RECORD - 1, 2 * RECORD, 1));
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	EXPECT_EQ(RECORD, cqe.res);
	EXPECT_EQ(1, tw_info(self->fd).ready);
}

/* There are far more reads in flight than the rings have room for. */
TEST_F(uring, full_ring)
{
	enum { N = 500 };
	struct twheel_event *events = calloc(N, RECORD);
	static unsigned int seen[N], completed[N];
	struct io_uring_cqe cqe;
	int i;

	ASSERT_NE(NULL, events);
	for (i = 0; i < N; i++)
		ASSERT_TRUE(submit_read(&self->ring, self->fd, &events[i], RECORD, i));
	EXPECT_TRUE(nothing_completed(&self->ring));
	/* All timers expire at one instant, so the completions overflow the ring. */
	ASSERT_TRUE(arm_many(self->fd, 20 * TW_MSEC, 0, N));
	for (i = 0; i < N; i++) {
		ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
		ASSERT_EQ(RECORD, cqe.res);
		ASSERT_GT(N, cqe.user_data);
		completed[cqe.user_data]++;
	}
	EXPECT_TRUE(nothing_completed(&self->ring));
	EXPECT_TRUE(tw_all_once(completed, N));
	EXPECT_TRUE(tw_count_records(events, N, seen, N));
	EXPECT_TRUE(tw_all_once(seen, N));
	EXPECT_EQ(0, tw_info(self->fd).ready);
	free(events);
}

/* A cancel meets an expiry: afterwards the record is either in the buffer or still to be read. */
TEST_F(uring, cancelled_reads)
{
	enum { ROUNDS = 300 };
	static unsigned int seen[ROUNDS];
	struct twheel_event event, rest;
	int i, left = 0, cancelled = 0, res = 0;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	__u64 state = 3;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_TRUE(submit_read(&self->ring, self->fd, &event, RECORD, 1));
		/* In every third round the record comes long after the cancel. */
		ASSERT_NE(0, tw_arm(self->fd, i % 3 ? tw_random(&state) % (2 * TW_MSEC) :
				    20 * TW_MSEC, 0, i));
		if (i % 3)
			tw_pass(tw_random(&state) % (2 * TW_MSEC));
		sqe = io_uring_get_sqe(&self->ring);
		ASSERT_NE(NULL, sqe);
		io_uring_prep_cancel64(sqe, 1, 0);
		io_uring_sqe_set_data64(sqe, MARK);
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		/* The completions of the cancel and of the read come in either order. */
		for (left = 2; left; left--) {
			ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
			if (cqe.user_data == 1)
				res = cqe.res;
		}
		if (res == (int)RECORD) {
			EXPECT_TRUE(tw_count_records(&event, 1, seen, ROUNDS));
			continue;
		}
		ASSERT_EQ(-ECANCELED, res);
		cancelled++;
		ASSERT_EQ(1, tw_collect(self->fd, &rest, 1));
		EXPECT_TRUE(tw_count_records(&rest, 1, seen, ROUNDS));
	}
	EXPECT_LE(ROUNDS / 3, cancelled);
	EXPECT_TRUE(tw_all_once(seen, ROUNDS));
	TH_LOG("%d of %d reads were cancelled in time", cancelled, ROUNDS);
}

/* A single request reports each batch of expirations. */
TEST_F(uring, multishot_poll)
{
	enum { ROUNDS = 50, BATCH = 7 };
	static unsigned int seen[ROUNDS * BATCH];
	struct twheel_event events[BATCH];
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int i, got, told = 0;
	ssize_t ret;

	fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) | O_NONBLOCK);
	sqe = io_uring_get_sqe(&self->ring);
	ASSERT_NE(NULL, sqe);
	io_uring_prep_poll_multishot(sqe, self->fd, POLLIN);
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	EXPECT_TRUE(nothing_completed(&self->ring));

	for (i = 0; i < ROUNDS; i++) {
		/* Some of the timers expire at once, the others a little later. */
		ASSERT_TRUE(arm_many(self->fd, 0, i * BATCH, BATCH / 2));
		ASSERT_TRUE(arm_many(self->fd, 3 * TW_MSEC, i * BATCH + BATCH / 2,
				     BATCH - BATCH / 2));
		for (got = 0; got < BATCH; told++) {
			ASSERT_EQ(0, next_cqe(&self->ring, &cqe)) {
				TH_LOG("round %d: not told, %d of %d were read", i, got, BATCH);
			}
			ASSERT_LT(0, cqe.res);
			EXPECT_TRUE(cqe.res & POLLIN);
			ASSERT_TRUE(cqe.flags & IORING_CQE_F_MORE);
			/* As with edge-triggered epoll, read until there is no more. */
			while ((ret = tw_read(self->fd, events, sizeof(events))) > 0) {
				got += ret / RECORD;
				EXPECT_TRUE(tw_count_records(events, ret / RECORD, seen,
							     ROUNDS * BATCH));
			}
			ASSERT_EQ(-EAGAIN, ret);
		}
		EXPECT_EQ(BATCH, got);
	}
	EXPECT_TRUE(tw_all_once(seen, ROUNDS * BATCH));
	TH_LOG("told %d times of %d batches", told, ROUNDS);

	/* Without records nothing is reported, and a cancel ends the poll. */
	while (!nothing_completed(&self->ring))
		ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	sqe = io_uring_get_sqe(&self->ring);
	ASSERT_NE(NULL, sqe);
	io_uring_prep_cancel(sqe, NULL, 0);
	io_uring_sqe_set_data64(sqe, MARK);
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
		EXPECT_EQ(cqe.user_data == MARK ? 0 : -ECANCELED, cqe.res);
		EXPECT_FALSE(cqe.flags & IORING_CQE_F_MORE);
	}
}

/* A poll and a read that is linked to it are submitted at once. */
TEST_F(uring, linked_poll_and_read)
{
	enum { ROUNDS = 50 };
	static unsigned int seen[ROUNDS];
	struct io_uring_sqe *sqe;
	struct twheel_event event;
	struct io_uring_cqe cqe;
	int i, j;

	fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) | O_NONBLOCK);
	for (i = 0; i < ROUNDS; i++) {
		sqe = io_uring_get_sqe(&self->ring);
		ASSERT_NE(NULL, sqe);
		io_uring_prep_poll_add(sqe, self->fd, POLLIN);
		io_uring_sqe_set_data64(sqe, MARK);
		sqe->flags |= IOSQE_IO_LINK;
		sqe = io_uring_get_sqe(&self->ring);
		ASSERT_NE(NULL, sqe);
		io_uring_prep_read(sqe, self->fd, &event, RECORD, -1);
		io_uring_sqe_set_data64(sqe, i);
		ASSERT_EQ(2, io_uring_submit(&self->ring));
		EXPECT_TRUE(nothing_completed(&self->ring));
		ASSERT_NE(0, tw_arm(self->fd, i % 2 ? TW_MSEC : 0, 0, i));
		for (j = 0; j < 2; j++) {
			ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
			ASSERT_EQ(j ? i : MARK, cqe.user_data);
			EXPECT_TRUE(j ? cqe.res == (int)RECORD : cqe.res & POLLIN);
		}
		EXPECT_TRUE(tw_count_records(&event, 1, seen, ROUNDS));
	}
	EXPECT_TRUE(tw_all_once(seen, ROUNDS));
}

/*
 * A thread of the kernel submits the requests. Reads, polls and plain read() take turns,
 * and all reads are in flight before their expirations.
 */
TEST(sqpoll)
{
	enum { ROUNDS = 100, READS = 4 };
	static unsigned int seen[ROUNDS * READS];
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 20,
	};
	struct twheel_event events[READS];
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	struct io_uring ring;
	int fd, ret, i, j;

	ret = io_uring_queue_init_params(8, &ring, &params);
	if (ret < 0)
		SKIP(return, "no io_uring with SQPOLL here: %s", strerror(-ret));
	fd = open(TW_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	for (i = 0; i < ROUNDS; i++) {
		for (j = 0; j < READS; j++) {
			sqe = io_uring_get_sqe(&ring);
			ASSERT_NE(NULL, sqe);
			io_uring_prep_read(sqe, fd, &events[j], RECORD, -1);
		}
		ASSERT_LT(0, io_uring_submit(&ring));
		/* In some rounds that thread goes to sleep meanwhile. */
		if (i % 20 == 0)
			ASSERT_TRUE(tw_pass(60 * TW_MSEC));
		ASSERT_TRUE(arm_many(fd, tw_now(CLOCK_MONOTONIC) % TW_MSEC, i * READS, READS));
		for (j = 0; j < READS; j++) {
			ASSERT_EQ(0, next_cqe(&ring, &cqe));
			ASSERT_EQ(RECORD, cqe.res);
		}
		EXPECT_TRUE(tw_count_records(events, READS, seen, ROUNDS * READS));
	}
	EXPECT_TRUE(tw_all_once(seen, ROUNDS * READS));
	io_uring_queue_exit(&ring);
	close(fd);
}

/*
 * The last descriptor is closed while a read is in flight, which goes on until the ring is
 * gone.
 */
TEST_F(uring, closed_under_a_read)
{
	struct twheel_event event;
	struct io_uring_cqe cqe;

	ASSERT_NE(0, tw_arm(self->fd, 30 * TW_MSEC, 0, 5));
	ASSERT_TRUE(submit_read(&self->ring, self->fd, &event, RECORD, 1));
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
	EXPECT_EQ(RECORD, cqe.res);
	EXPECT_EQ(5, event.user_data);
}

/*
 * The context goes with the ring, although a read has not completed and timers are pending.
 */
TEST_F(uring, ring_and_context_go_together)
{
	int other = tw_open();
	struct twheel_event event;

	ASSERT_LE(0, other);
	ASSERT_TRUE(arm_many(self->fd, TW_FAR, 0, 10));
	ASSERT_TRUE(submit_read(&self->ring, self->fd, &event, RECORD, 1));
	EXPECT_EQ(10, tw_info(other).user_timers);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(10, tw_info(other).user_timers);
	io_uring_queue_exit(&self->ring);
	self->ring.ring_fd = -1;
	EXPECT_TRUE(tw_all_given_back(other));
	close(other);
}

/* A completion that comes during a batch or a read has work for the task, and is no signal. */
TEST_F(uring, completions_end_no_call)
{
	enum { ROUNDS = 50, N = 4096 };
	static struct twheel_event events[N];
	static struct twheel_arm arms[N];
	struct __kernel_timespec after = { };
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int i, round;

	for (i = 0; i < N; i++)
		arms[i] = tw_request(TW_FAR, 0, i);
	ASSERT_EQ(N, tw_arm_batch(self->fd, arms, N));
	for (round = 0; round < ROUNDS; round++) {
		bool reads = round % 2;

		for (i = 0; i < N; i++)
			arms[i].expires = reads ? 0 : TW_FAR + round;
		if (reads)
			ASSERT_EQ(N, tw_arm_batch(self->fd, arms, N));
		sqe = io_uring_get_sqe(&self->ring);
		ASSERT_NE(NULL, sqe);
		after.tv_nsec = 20000 * (round + 1);
		io_uring_prep_timeout(sqe, &after, 0, 0);
		io_uring_sqe_set_data64(sqe, MARK);
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		EXPECT_EQ(reads ? sizeof(events) : N, reads ?
			  tw_read(self->fd, events, sizeof(events)) :
			  tw_arm_batch(self->fd, arms, N));
		ASSERT_EQ(0, next_cqe(&self->ring, &cqe));
		EXPECT_EQ(MARK, cqe.user_data);
		if (!reads)
			continue;
		for (i = 0; i < N; i++)
			arms[i] = tw_request(TW_FAR, 0, i);
		ASSERT_EQ(N, tw_arm_batch(self->fd, arms, N));
	}
}

/* The ring goes away while its reads wait and their expirations come. */
TEST_F(uring, ring_gone_under_reads)
{
	enum { ROUNDS = 30, N = 8 };
	/* A read that comes late writes where no other one does. */
	static struct twheel_event events[ROUNDS * N];
	struct twheel_event rest[N];
	int other = tw_open(), i, j, left;
	unsigned int seen[N];
	ssize_t ret;

	ASSERT_LE(0, other);
	fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) & ~O_NONBLOCK);
	for (i = 0; i < ROUNDS; i++) {
		struct io_uring ring;

		memset(seen, 0, sizeof(seen));
		ASSERT_EQ(0, io_uring_queue_init(N, &ring, 0));
		for (j = 0; j < N; j++)
			ASSERT_TRUE(submit_read(&ring, self->fd, &events[i * N + j], RECORD, j));
		ASSERT_TRUE(arm_many(self->fd, i * TW_MSEC / 4, 0, N / 2));
		ASSERT_TRUE(arm_many(self->fd, 40 * TW_MSEC, N / 2, N / 2));
		if (i % 2)
			tw_pass(i * TW_MSEC / 4);
		io_uring_queue_exit(&ring);
		/*
		 * The kernel takes the ring down asynchronously, and a read in flight may
		 * still take records. All others can be read here.
		 */
		while (tw_info(self->fd).pending)
			sched_yield();
		fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) | O_NONBLOCK);
		while ((ret = tw_read(self->fd, rest, sizeof(rest))) > 0)
			ASSERT_TRUE(tw_count_records(rest, ret / RECORD, seen, N));
		fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) & ~O_NONBLOCK);
		EXPECT_EQ(-EAGAIN, ret);
		for (j = 0, left = 0; j < (i + 1) * N; j++) {
			if (!events[j].expirations)
				continue;
			left++;
			ASSERT_TRUE(tw_count_records(&events[j], 1, seen, N));
			events[j].expirations = 0;
		}
		ASSERT_TRUE(tw_all_once(seen, N)) {
			TH_LOG("round %d, %d taken by the ring", i, left);
		}
	}

	/*
	 * Wait until the rings are gone, so that the module can be removed right after the
	 * test.
	 */
	ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 0));
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(tw_all_given_back(other));
	close(other);
}

TEST_HARNESS_MAIN
