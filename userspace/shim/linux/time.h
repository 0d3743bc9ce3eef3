/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same: the numbers of clocks. */
#ifndef SHIM_LINUX_TIME_H
#define SHIM_LINUX_TIME_H

#include <time.h>

#endif /* SHIM_LINUX_TIME_H */
