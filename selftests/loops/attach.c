// SPDX-License-Identifier: GPL-2.0-only
/*
 * attach - timers that a loop cannot have, and detaching where something could be left over
 *
 * usage: LOOP-attach TEST
 *
 *	keyed		timers of a context with keys are refused
 *	inherits	so are those that a child has inherited
 *	child		a child that goes on with the loop is told once, and does not spin
 *	outside		the context is detached, closed and opened anew before a round of the loop
 *	callback	in a callback of the loop
 *	function	in a timer's function
 *	forks		a timer's function detaches the context and forks
 *	step		an error that passes is told, and the timers go on
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
#include <time.h>
#include <unistd.h>

#include "server.h"

#define MS	1000000ULL
#define SECOND	1000000000ULL

static struct twheel *tw;
static uint64_t begun;
static unsigned int told;
static int last_error;

void server_failed(struct twheel *failed, int error)
{
	(void)failed;
	told++;
	last_error = error;
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

static void open_context(unsigned int flags, struct twheel_config *config)
{
	errno = -twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC | flags, config);
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

/* A loop with a context */
static void begin(void)
{
	open_loop();
	open_context(0, NULL);
	attach();
}

static void arm(uint64_t expires, uint16_t flags, twheel_timer_fn *fn, void *arg)
{
	struct twheel_arm setting = { .expires = expires, .flags = flags };
	struct twheel_timer *timer;

	errno = -twheel_timer_new(&timer, tw, fn, arg);
	if (!errno)
		errno = -twheel_timer_arm(timer, &setting, NULL);
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
	open_context(0, NULL);
	if (twheel_fd(tw) != fd)
		errx(1, "another descriptor");
	attach();
	arm(20 * MS, 0, come, NULL);
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

static int test_keyed(void)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	int ret;

	open_loop();
	open_context(0, &config);
	ret = loop_attach(tw);
	loop_close();
	twheel_close(tw);
	return ret != -EINVAL;
}

static int inherits(void)
{
	open_loop();
	return loop_attach(tw) != -ECHILD;
}

static int go_on(void)
{
	struct timespec used;
	int ret = loop_run();

	if (ret)
		server_failed(tw, ret);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("told %u times, the last was %s, in %ld ms of CPU time\n", told,
	       strerror(-last_error), (long)(used.tv_sec * 1000 + used.tv_nsec / (long)MS));
	fflush(stdout);
	return told != 1 || last_error != -ECHILD || used.tv_sec || used.tv_nsec > 500 * (long)MS;
}

static int in_child(int (*what)(void))
{
	pid_t child = fork();
	int status = 1;

	if (!child)
		_exit(what());
	waitpid(child, &status, 0);
	return status;
}

static int test_inherits(void)
{
	open_context(0, NULL);
	return in_child(inherits);
}

static int test_child(void)
{
	begin();
	arm(MS, 0, nothing, NULL);
	after(1000, stop);
	return in_child(go_on);
}

/* The new timer comes rounds later: not before all is done that the loop had put off. */
static int test_outside(void)
{
	begin();
	open_anew();
	return run() || told;
}

/* Both the watch and the old timer are due in the first round. */
static int test_callback(void)
{
	begin();
	after(0, callback);
	arm(0, 0, nothing, NULL);
	usleep(20000);
	return run() || told;
}

static int test_function(void)
{
	begin();
	arm(0, 0, nothing, NULL);
	arm(0, 0, function, NULL);
	arm(0, 0, nothing, NULL);
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

	begin();
	arm(0, 0, forks, &status);
	after(100, stop);
	ret = loop_run();
	if (getpid() != parent)
		_exit(told != 0);
	loop_close();
	twheel_close(tw);
	return ret || status;
}

/* The clock goes back, and then on until the timer is due. */
static void step(struct watch *watch)
{
	loop_unwatch(watch);
	twheel_set_now(tw, begun - 10 * SECOND);
}

static void go(struct watch *watch)
{
	loop_unwatch(watch);
	twheel_set_now(tw, begun + 20 * SECOND);
}

/* The loops without server_failed() end. Only an embedded context has a clock for this. */
static int test_step(void)
{
	struct twheel_config config = {
		.clock = TWHEEL_CLOCK_REALTIME,
		.flags = TWHEEL_CONFIG_CANCEL_ON_SET,
	};
	int ret;

	open_loop();
	open_context(TWHEEL_OPEN_EMBEDDED, &config);
	begun = twheel_now(tw);
	attach();
	arm(begun + 10 * SECOND, TWHEEL_ARM_ABS, come, NULL);
	after(0, step);
	after(50, go);
	ret = run();
	return ret ? ret != -ECANCELED : told != 1 || last_error != -ECANCELED;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*test)(void);
	} tests[] = {
		{ "keyed", test_keyed },
		{ "inherits", test_inherits },
		{ "child", test_child },
		{ "outside", test_outside },
		{ "callback", test_callback },
		{ "function", test_function },
		{ "forks", test_forks },
		{ "step", test_step },
	};
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (argc == 2 && !strcmp(argv[1], tests[i].name))
			return tests[i].test() != 0;
	}
	errx(2, "usage: LOOP-attach TEST");
}
