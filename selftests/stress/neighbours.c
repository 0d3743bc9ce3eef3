// SPDX-License-Identifier: GPL-2.0-only
/*
 * A neighbour of the module: several threads use the other timers of the kernel, for some
 * seconds (3) or until SIGTERM, and check that nobody disturbs them: no timer is early, and
 * none is lost.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "kselftest.h"
#include "twheel_util.h"

#define FDS	64

static bool stop;

/* Uses timers on descriptors, which epoll watches. Each is set anew when it expires. */
static void *descriptors(void *arg)
{
	__u64 deadlines[FDS], state = 1 + (unsigned long)arg, rounds, fired = 0;
	struct epoll_event events[FDS], watch = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), fds[FDS], i, n;
	struct itimerspec spec = { };

	for (i = 0; i < FDS; i++) {
		fds[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		watch.data.u32 = i;
		if (fds[i] < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &watch))
			return NULL;
	}
	for (n = FDS; !__atomic_load_n(&stop, __ATOMIC_RELAXED);) {
		for (i = 0; i < n; i++) {
			int j = fired ? (int)events[i].data.u32 : i;

			deadlines[j] = tw_now(CLOCK_MONOTONIC) + tw_random(&state) % (5 * TW_MSEC);
			spec.it_value.tv_sec = deadlines[j] / TW_SEC;
			spec.it_value.tv_nsec = deadlines[j] % TW_SEC;
			timerfd_settime(fds[j], TFD_TIMER_ABSTIME, &spec, NULL);
		}
		n = epoll_wait(ep, events, FDS, TW_LIMIT_MS);
		if (n <= 0)
			return NULL;
		for (i = 0; i < n; i++) {
			if (read(fds[events[i].data.u32], &rounds, sizeof(rounds)) < 0 ||
			    tw_now(CLOCK_MONOTONIC) < deadlines[events[i].data.u32])
				return NULL;
			fired++;
		}
	}
	return (void *)(unsigned long)fired;
}

/* Sleeps for times of all lengths, which uses hrtimers on the stack. */
static void *sleeps(void *arg)
{
	__u64 state = 77 + (unsigned long)arg, deadline, slept = 0;
	struct timespec ts;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		deadline = tw_now(CLOCK_MONOTONIC) + tw_random(&state) % (2 * TW_MSEC);
		ts.tv_sec = deadline / TW_SEC;
		ts.tv_nsec = deadline % TW_SEC;
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ||
		    tw_now(CLOCK_MONOTONIC) < deadline)
			return NULL;
		slept++;
	}
	return (void *)(unsigned long)slept;
}

static void on_term(int sig)
{
	(void)sig;
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	static void *(* const functions[])(void *) = { descriptors, sleeps };
	struct sigaction action = { .sa_handler = on_term };
	pthread_t threads[4];
	unsigned long i;
	sigset_t set;
	void *ret;

	/* Only this thread takes signals, so that those that wait are not woken. */
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	alarm(argc > 1 ? atoi(argv[1]) : 3);

	ksft_print_header();
	ksft_set_plan(ARRAY_SIZE(threads));
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		if (pthread_create(&threads[i], NULL, functions[i % 2], (void *)i))
			ksft_exit_fail_msg("no thread\n");
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], &ret);
		ksft_test_result(ret, "%s: %lu timers\n", i % 2 ? "sleeps" : "descriptors",
				 (unsigned long)ret);
	}
	ksft_finished();
}
