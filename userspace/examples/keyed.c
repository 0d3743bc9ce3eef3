// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * keyed: time sessions out by their own numbers.
 *
 * In a context with keys a timer is named by a number of the program's choice, here
 * that of a session. There is no table from sessions to timers.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <twheel.h>

#define MSEC	1000000ULL

static void check(ssize_t ret, const char *what)
{
	errno = (int)-ret;
	if (ret < 0)
		err(1, "%s", what);
}

int main(void)
{
	const struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	struct twheel_event events[2];
	struct twheel_old old;
	struct twheel *tw;
	ssize_t n, i;
	int left = 2;

	check(twheel_open(&tw, NULL, TWHEEL_OPEN_CLOEXEC, &config),
	      TWHEEL_DEVICE " or TWHEEL_BACKEND (auto, device, embedded)");
	check(twheel_put_after(tw, 1001, 200 * MSEC, 0, NULL), "session 1001");
	check(twheel_put_after(tw, 1002, 100 * MSEC, 0, NULL), "session 1002");
	check(twheel_put_after(tw, 1003, 300 * MSEC, 0, NULL), "session 1003");

	/* A timer that has expired already is made anew, and @old says so. */
	check(twheel_put_after(tw, 1002, 400 * MSEC, 0, &old), "session 1002");
	printf("session 1002 was %s\n",
	       old.state == TWHEEL_STATE_PENDING ? "active in time" : "active too late");
	check(twheel_cancel(tw, 1003, NULL), "session 1003");
	puts("session 1003 has logged out");

	for (; left; left -= n) {
		n = twheel_read(tw, events, 2);
		check(n, "read");
		for (i = 0; i < n; i++)
			printf("session %" PRIu64 " has timed out\n",
			       (uint64_t)events[i].handle);
	}
	twheel_close(tw);
	return 0;
}
