// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * lease: push a deadline back without a system call, and learn whether it was in time.
 *
 * The lease's word is in memory that the kernel reads when the deadline passes. Either
 * the program has extended the lease by then, or the kernel has ended it: never both.
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
	const struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };
	struct twheel_event event;
	struct twheel *tw;
	int extended = 0;
	struct twheel_lease lease;

	check(twheel_open(&tw, NULL, TWHEEL_OPEN_CLOEXEC, &config),
	      TWHEEL_DEVICE " or TWHEEL_BACKEND (auto, device, embedded)");
	check(twheel_lease_new(tw, 1000 * MSEC, 0, 7, NULL, &lease, NULL), "lease 7");

	/* Each extension is a compare-and-swap. */
	while (extended < 1000 && twheel_lease_extend(lease, twheel_now(tw) + 1000 * MSEC) > 0)
		extended++;
	printf("extended %d times\n", extended);

	/* The lease is not extended any more, so this waits for a second. */
	check(twheel_read(tw, &event, 1), "read");
	printf("lease %" PRIu64 " is over, %s its last deadline\n", (uint64_t)event.user_data,
	       event.deadline == twheel_lease_deadline(lease) ? "by" : "not by");
	if (!twheel_lease_extend(lease, twheel_now(tw) + 1000 * MSEC))
		puts("too late to extend it");
	twheel_close(tw);
	return 0;
}
