/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel as a host: what core/host.h says that a host has. */
#ifndef TWHEEL_LINUX_HOST_H
#define TWHEEL_LINUX_HOST_H

#include "counters.h"
#include "program.h"
#include "quota.h"
#include "trace.h"
#include "waiters.h"
#include "words.h"

#endif /* TWHEEL_LINUX_HOST_H */
