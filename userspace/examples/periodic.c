// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * periodic: a timer on a grid, whose rounds are counted while nobody reads.
 *
 * Ten rounds, a tenth of a second apart. After the first the program is busy for longer
 * than a round. The rounds that it has missed come as one record, with their number.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

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
	struct twheel_arm arm = {
		.expires = 100 * MSEC,
		.interval = 100 * MSEC,
		.count = 10,
	};
	struct twheel_event event;
	uint64_t rounds = 0;
	struct twheel *tw;

	check(twheel_open(&tw, NULL, TWHEEL_OPEN_CLOEXEC, NULL),
	      TWHEEL_DEVICE " or TWHEEL_BACKEND (auto, device, embedded)");
	check(twheel_arm(tw, &arm), "arm");
	do {
		check(twheel_read(tw, &event, 1), "read");
		printf("rounds: %" PRIu64 "\n", (uint64_t)event.expirations);
		/* Be busy for three and a half rounds. */
		if (!rounds)
			usleep(350000);
		rounds += event.expirations;
	} while (!(event.flags & TWHEEL_EVENT_LAST));
	printf("in all: %" PRIu64 "\n", rounds);
	twheel_close(tw);
	return 0;
}
