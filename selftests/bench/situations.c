// SPDX-License-Identifier: GPL-2.0-only
/* What the programs that situations.sh runs share: see situations.h. */
#include <stdio.h>

#include "situations.h"

void fail(const char *what, long error)
{
	fflush(stdout);
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		error ? strerror(error) : "wrong");
	exit(1);
}

int open_timers(__u32 flags)
{
	int fd = open(TW_DEVICE, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		fail(TW_DEVICE, errno);
	ret = tw_configure(fd, CLOCK_MONOTONIC, flags);
	if (ret)
		fail("configure", -ret);
	return fd;
}

int arm_batch(int fd, struct twheel_arm *arms, unsigned int n)
{
	int ret = tw_arm_batch(fd, arms, n);
	unsigned int i;

	if (ret < 0)
		return ret;
	if (ret != (int)n)
		fail("number of timers that a call armed", 0);
	for (i = 0; i < n; i++)
		if (arms[i].result)
			return arms[i].result;
	return 0;
}

void arm_all(int fd, unsigned long n, const __u64 *deadlines, unsigned int step)
{
	static struct twheel_arm arms[BATCH];
	unsigned long done, nr, i;
	int error;

	for (done = 0; done < n; done += nr) {
		nr = n - done < BATCH ? n - done : BATCH;
		for (i = 0; i < nr; i++)
			arms[i] = tw_request(deadlines[(done + i) * step], TWHEEL_ARM_ABS,
					     done + i);
		error = arm_batch(fd, arms, nr);
		if (error)
			fail("arm", -error);
	}
}

unsigned int read_batch(int fd, struct twheel_event *events, __u64 *now)
{
	ssize_t got = tw_read(fd, events, BATCH * sizeof(*events));
	unsigned int i;

	*now = tw_now(CLOCK_MONOTONIC);
	if (got <= 0 || got % sizeof(*events))
		fail("read", -got);
	got /= sizeof(*events);
	for (i = 0; i < got; i++) {
		if (events[i].expired < events[i].deadline || *now < events[i].expired)
			fail("an early record: its times", 0);
		if (events[i].expirations != 1 || events[i].flags != TWHEEL_EVENT_LAST)
			fail("a record of one expiration", 0);
	}
	return got;
}

void check_empty(int fd)
{
	struct twheel_info info = tw_info(fd);

	if (info.pending || info.ready)
		fail("number of timers left", 0);
}
