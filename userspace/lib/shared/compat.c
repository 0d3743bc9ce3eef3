// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What programs get that were linked with an earlier libtwheel.so: this file is in the shared
 * library only.
 *
 * Before 0.4 the flags of twheel_open() had the values of TWHEEL_CONFIG_* bits.
 *
 * Before 0.3 there was the device alone. Programs of that time may rely on what only the device
 * can do, and read the descriptor themselves. So to them twheel_open() goes on to fail where
 * there is no device, unless TWHEEL_BACKEND is set.
 */
#include <errno.h>

#include "../internal.h"

/* The lowest flag was 1 then, and the others followed it as they do now. */
#define OLD_FLAGS	7U

static int open_old(struct twheel **twp, const char *path, unsigned int flags,
		    const struct twheel_config *config, enum twheel_choice unasked)
{
	if (flags & ~OLD_FLAGS)
		return -EINVAL;
	return twheel_open_as(twp, path, flags * TWHEEL_OPEN_NONBLOCK, config, unasked);
}

TWHEEL_API int twheel_open_0_3(struct twheel **twp, const char *path, unsigned int flags,
			       const struct twheel_config *config);

__asm__(".symver twheel_open_0_3, twheel_open@LIBTWHEEL_0.3");

TWHEEL_API int twheel_open_0_3(struct twheel **twp, const char *path, unsigned int flags,
			       const struct twheel_config *config)
{
	return open_old(twp, path, flags, config, TWHEEL_CHOICE_AUTO);
}

TWHEEL_API int twheel_open_0_1(struct twheel **twp, const char *path, unsigned int flags,
			       const struct twheel_config *config);

__asm__(".symver twheel_open_0_1, twheel_open@LIBTWHEEL_0.1");

TWHEEL_API int twheel_open_0_1(struct twheel **twp, const char *path, unsigned int flags,
			       const struct twheel_config *config)
{
	return open_old(twp, path, flags, config, TWHEEL_CHOICE_DEVICE);
}
