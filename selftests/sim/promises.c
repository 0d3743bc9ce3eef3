// SPDX-License-Identifier: GPL-2.0-only
/* The promises, as one that is broken is told. */
#include "sim.h"

const char * const sim_promises[] = {
	[SIM_ITSELF]		= "the simulation itself is wrong",
	[NEVER_EARLY]		= "promise 1 is broken (never early)",
	[LATE_BY_A_TICK]	= "promise 2 is broken (late by at most one tick)",
	[EXACTLY_ONCE]		= "promise 3 is broken (exactly once)",
	[CANCEL_IS_FINAL]	= "promise 4 is broken (a cancel is final)",
	[CONSTANT_COST]		= "promise 5 is broken (constant cost)",
	[SILENCE]		= "promise 6 is broken (silence)",
	[BOUNDED_WORK]		= "promise 7 is broken (bounded work)",
	[CONTAINED]		= "promise 8 is broken (contained)",
	[STABLE_INTERFACE]	= "promise 9 is broken (a stable interface)",
	[IN_ORDER]		= "promise 10 is broken (in order)",
	[FAIR]			= "promise 11 is broken (fair)",
};
