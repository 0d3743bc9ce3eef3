// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts that come and go: processes are killed, and descriptors are lost in the queues
 * of sockets. However a context ends, the count of its user returns to 0.
 */
#include <signal.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "twheel_test.h"

/* A user ID that nobody else on the machine has. */
#define SOMEONE		61237

#define PROCESSES	16

/* How long each test goes on */
#define DURATION_NS	TW_SEC

FIXTURE(life)
{
	/* This context has no timers and stays open: it shows the count of the user. */
	int fd;
};

FIXTURE_SETUP(life)
{
	struct rlimit limit = { 64, 64 };

	if (geteuid() == 0) {
		ASSERT_EQ(0, setresgid(SOMEONE, SOMEONE, SOMEONE));
		ASSERT_EQ(0, setresuid(SOMEONE, SOMEONE, SOMEONE));
		/* If something goes wrong here, processes must not multiply. */
		ASSERT_EQ(0, setrlimit(RLIMIT_NPROC, &limit));
	}
	self->fd = tw_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, tw_info(self->fd).user_timers) {
		TH_LOG("another program of this user has timers");
	}
}

FIXTURE_TEARDOWN(life)
{
	close(self->fd);
}

static void arm_some(int fd, int n, __u64 spread, __u64 *state)
{
	struct twheel_arm arms[64];
	struct twheel_batch batch = { .entries = (unsigned long)arms };
	int i;

	for (; n > 0; n -= batch.count) {
		batch.count = n < 64 ? n : 64;
		for (i = 0; i < (int)batch.count; i++) {
			arms[i] = tw_request(tw_random(state) % spread, 0, i);
			if (i % 8 == 0)
				arms[i].interval = TW_MSEC;
		}
		tw_call(fd, TWHEEL_IOC_ARM_BATCH, &batch);
	}
}

/* Uses contexts in all ways until the process is killed. */
static noreturn void live(__u64 state)
{
	struct twheel_event events[32];
	int fd, i;

	for (;;) {
		fd = tw_open();
		if (fd < 0)
			_exit(1);
		for (i = tw_random(&state) % 20; i >= 0; i--) {
			arm_some(fd, 200, tw_random(&state) % 2 ? 2 * TW_MSEC : TW_FAR, &state);
			if (tw_random(&state) % 2)
				tw_poll(fd, 1);
			tw_read(fd, events, sizeof(events));
		}
		close(fd);
	}
}

static bool alive(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

TEST_F(life, processes_that_are_killed)
{
	__u64 end = tw_now(CLOCK_MONOTONIC) + DURATION_NS;
	pid_t pids[PROCESSES] = { };
	__u64 state = 1618, kills = 0;
	int i, died = 0;

	while (tw_now(CLOCK_MONOTONIC) < end) {
		i = tw_random(&state) % PROCESSES;
		if (pids[i]) {
			died += !alive(pids[i]);
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
			kills++;
		}
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (pids[i] == 0)
			live(state);
		/* tw_pass() lasts for a tick, of which the test may have only one. */
		usleep(tw_random(&state) % 5000);
	}
	for (i = 0; i < PROCESSES; i++) {
		if (pids[i]) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
	}
	EXPECT_EQ(0, died);
	EXPECT_TRUE(tw_all_given_back(self->fd)) {
		TH_LOG("%llu timers are left", tw_info(self->fd).user_timers);
	}
	TH_LOG("%llu processes killed", kills);
	EXPECT_LT(0, kills);
}

/* Many processes share one context, and some end while others go on with it. */
TEST_F(life, a_context_in_many_processes)
{
	__u64 end = tw_now(CLOCK_MONOTONIC) + DURATION_NS;
	struct twheel_event events[32];
	pid_t pids[PROCESSES] = { };
	__u64 state = 1414;
	int fd = -1, i;

	while (tw_now(CLOCK_MONOTONIC) < end) {
		i = tw_random(&state) % PROCESSES;
		if (fd < 0 || tw_random(&state) % 10 == 0) {
			close(fd);
			fd = tw_open();
			ASSERT_LE(0, fd);
		}
		if (pids[i]) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (pids[i] == 0) {
			for (;;) {
				arm_some(fd, 50, 3 * TW_MSEC, &state);
				if (tw_read(fd, events, sizeof(events)) < 0)
					tw_poll(fd, 1);
			}
		}
		usleep(1000);
	}
	for (i = 0; i < PROCESSES; i++) {
		if (pids[i]) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
	}
	close(fd);
	EXPECT_TRUE(tw_all_given_back(self->fd));
}

/* Descriptors are only in a queue while their timers expire. */
TEST_F(life, descriptors_lost_in_flight)
{
	__u64 end = tw_now(CLOCK_MONOTONIC) + DURATION_NS;
	__u64 state = 2718, sent = 0;
	int sv[2], fd, i, n;

	while (tw_now(CLOCK_MONOTONIC) < end) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
		n = 1 + tw_random(&state) % 10;
		for (i = 0; i < n; i++) {
			fd = tw_open();
			ASSERT_LE(0, fd);
			arm_some(fd, 100, 2 * TW_MSEC, &state);
			sent += tw_send_fd(sv[0], fd, 0, MSG_DONTWAIT) == 0;
			close(fd);
		}
		/*
		 * The sockets are in a cycle, which only the kernel's garbage collector can
		 * find.
		 */
		if (tw_random(&state) % 4 == 0) {
			tw_send_fd(sv[0], sv[0], 0, MSG_DONTWAIT);
			tw_send_fd(sv[0], sv[1], 0, MSG_DONTWAIT);
		}
		if (tw_random(&state) % 2)
			tw_pass(TW_MSEC);
		close(sv[0]);
		close(sv[1]);
	}
	/* Closing a socket starts the garbage collector. */
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
		tw_send_fd(sv[0], sv[1], 0, MSG_DONTWAIT);
		close(sv[0]);
		close(sv[1]);
		usleep(5000);
	}
	EXPECT_TRUE(tw_all_given_back(self->fd)) {
		TH_LOG("%llu timers are left", tw_info(self->fd).user_timers);
	}
	TH_LOG("%llu descriptors sent", sent);
	EXPECT_LT(0, sent);
}

/* Contexts are opened and closed, and nothing else. */
TEST_F(life, many_contexts)
{
	enum { N = 1000 };
	struct rlimit limit = { N + 64, N + 64 };
	__u64 state = 42;
	int fds[N], i, n;

	setrlimit(RLIMIT_NOFILE, &limit);
	for (n = 0; n < N; n++) {
		fds[n] = tw_open();
		if (fds[n] == -EMFILE)
			break;
		ASSERT_LE(0, fds[n]);
		arm_some(fds[n], 10, n % 2 ? TW_MSEC : TW_FAR, &state);
	}
	for (i = 0; i < n; i++)
		close(fds[i]);
	EXPECT_TRUE(tw_all_given_back(self->fd));
	EXPECT_LT(10, n);
}

TEST_HARNESS_MAIN
