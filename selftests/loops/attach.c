// SPDX-License-Identifier: GPL-2.0-only
/*
 * attach - detach timers from a loop where something could be left over
 *
 * usage: LOOP-attach TEST
 *
 *	outside		the context is detached, closed and opened anew before a round of the loop
 *	callback	in a callback of the loop
 *	function	in a timer's function
 *	forks		a timer's function detaches the context and forks
 *
 * It uses the loops of userspace/examples/loops by server.h, in the place of server.c. The exit
 * status is 0 if all was as it should be.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

#define MS	1000000ULL

static struct twheel *tw;
static unsigned int told;

void server_failed(struct twheel *failed, int error)
{
	(void)failed;
	told++;
	(void)error;
}

static void gone(struct watch *watch)
{
	close(watch->fd);
	free(watch);
}

/* Have the loop call @ready after so many milliseconds. */
static void after(unsigned int ms, void (*ready)(struct watch *watch))
{
	struct itimerspec at = { .it_value = { ms / 1000, (long)(ms % 1000 * MS) + 1 } };
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		err(1, "no room");
	*watch = (struct watch){ timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), ready, gone,
				 NULL, 0 };
	if (timerfd_settime(watch->fd, 0, &at, NULL))
		err(1, "timerfd");
	errno = -loop_watch(watch);
	if (errno)
		err(1, "watch");
}

static void stop(struct watch *watch)
{
	loop_unwatch(watch);
	loop_stop();
}

static void too_late(struct watch *watch)
{
	(void)watch;
	errx(1, "the timer has not come");
}

static void nothing(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	(void)timer;
	(void)event;
	(void)arg;
}

static void come(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	(void)timer;
	(void)event;
	(void)arg;
	loop_stop();
}

static void open_context(void)
{
	errno = -twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, NULL);
	if (errno)
		err(1, "open");
}

static void open_loop(void)
{
	errno = -loop_open();
	if (errno)
		err(1, "loop");
}

static void attach(void)
{
	errno = -loop_attach(tw);
	if (errno)
		err(1, "attach");
}

static void arm(uint64_t delay, twheel_timer_fn *fn, void *arg)
{
	struct twheel_timer *timer;

	errno = -twheel_timer_new(&timer, tw, fn, arg);
	if (!errno)
		errno = -twheel_timer_start(timer, delay, 0);
	if (errno)
		err(1, "arm");
}

/* Run until a timer has come, or with an error; and end all. The error, or 0. */
static int run(void)
{
	int ret;

	after(20000, too_late);
	ret = loop_run();
	loop_detach();
	loop_close();
	twheel_close(tw);
	return ret;
}

/* The new context has the descriptor of the old one. */
static void open_anew(void)
{
	int fd = twheel_fd(tw);

	loop_detach();
	twheel_close(tw);
	open_context();
	if (twheel_fd(tw) != fd)
		errx(1, "another descriptor");
	attach();
	arm(20 * MS, come, NULL);
}

static void callback(struct watch *watch)
{
	loop_unwatch(watch);
	open_anew();
}

static void function(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	nothing(timer, event, arg);
	open_anew();
}

/* The new timer comes rounds later: not before all is done that the loop had put off. */
static int test_outside(void)
{
	open_loop();
	open_context();
	attach();
	open_anew();
	return run() || told;
}

/* Both the watch and the old timer are due in the first round. */
static int test_callback(void)
{
	open_loop();
	open_context();
	attach();
	after(0, callback);
	arm(0, nothing, NULL);
	usleep(20000);
	return run() || told;
}

static int test_function(void)
{
	open_loop();
	open_context();
	attach();
	arm(0, nothing, NULL);
	arm(0, function, NULL);
	arm(0, nothing, NULL);
	return run() || told;
}

/* In the child twheel_dispatch() fails then. */
static void forks(struct twheel_timer *timer, const struct twheel_event *event, void *status)
{
	pid_t child;

	nothing(timer, event, status);
	loop_detach();
	child = fork();
	if (child) {
		waitpid(child, status, 0);
		loop_stop();
	}
}

static int test_forks(void)
{
	pid_t parent = getpid();
	int ret, status = 1;

	open_loop();
	open_context();
	attach();
	arm(0, forks, &status);
	after(100, stop);
	ret = loop_run();
	if (getpid() != parent)
		_exit(told != 0);
	loop_close();
	twheel_close(tw);
	return ret || status;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*test)(void);
	} tests[] = {
		{ "outside", test_outside },
		{ "callback", test_callback },
		{ "function", test_function },
		{ "forks", test_forks },
	};
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (argc == 2 && !strcmp(argv[1], tests[i].name))
			return tests[i].test() != 0;
	}
	errx(2, "usage: LOOP-attach TEST");
}
