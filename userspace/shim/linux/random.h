/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A stand-in: early at boot, when the system has no random numbers yet, an address and the time
 * have to do.
 */
#ifndef SHIM_LINUX_RANDOM_H
#define SHIM_LINUX_RANDOM_H

#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* By syscall(): getrandom() is a point of cancellation. */
static inline void get_random_bytes(void *buf, size_t size)
{
	uint64_t guess = (uintptr_t)buf ^ (uint64_t)time(NULL) * 0x9e3779b97f4a7c15ULL;
	char *byte = buf;

	if (syscall(SYS_getrandom, buf, size, GRND_NONBLOCK) == (long)size)
		return;
	for (; size; size--) {
		guess = (guess ^ guess >> 33) * 0xff51afd7ed558ccdULL;
		*byte++ = (char)(guess >> 56);
	}
}

#endif /* SHIM_LINUX_RANDOM_H */
