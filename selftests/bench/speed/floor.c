// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a call costs that does nothing: an ioctl that is refused with ENOTTY, by the device
 * where there is one, and otherwise by a timerfd. And what a new page costs (do_page()).
 */
#include <string.h>
#include <sys/timerfd.h>

#include "twheel_util.h"
#include "speed.h"

#define UNKNOWN	_IO(TWHEEL_IOC_MAGIC, 0x7f)

static int open_any(struct job *job)
{
	int fd = tw_open();

	if (fd < 0)
		fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	job->state = (void *)(intptr_t)fd;
	return 0;
}

static int call(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	int fd = (intptr_t)job->state, ret = -ENOTTY;
	uint32_t i;

	(void)which;
	(void)aim;
	for (i = 0; i < n && ret == -ENOTTY; i++)
		ret = tw_call(fd, UNKNOWN, NULL);
	return ret == -ENOTTY ? 0 : -EBADE;
}

const struct facility empty_call = {
	.name = "floor", .ops = OPS(OP_CALL) | OPS(OP_PAGE), .open = open_any, .move = call,
};
