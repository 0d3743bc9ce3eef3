// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What programs get that were linked with an earlier libtwheel.so: this file is in the shared
 * library only.
 *
 * They may rely on what only the device can do, and read the descriptor themselves. So to
 * them twheel_open() goes on to fail where there is no device, unless TWHEEL_BACKEND is set.
 */
#include "../internal.h"

TWHEEL_API int twheel_open_0_1(struct twheel **twp, const char *path, unsigned int flags,
			       const struct twheel_config *config);

__asm__(".symver twheel_open_0_1, twheel_open@LIBTWHEEL_0.1");

TWHEEL_API int twheel_open_0_1(struct twheel **twp, const char *path, unsigned int flags,
			       const struct twheel_config *config)
{
	return twheel_open_as(twp, path, flags, config, TWHEEL_CHOICE_DEVICE);
}
