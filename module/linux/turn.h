/* SPDX-License-Identifier: GPL-2.0-only */
/* Who turns the wheels, and for how long: rounds, and the share of a CPU. */
#ifndef TWHEEL_TURN_H
#define TWHEEL_TURN_H

#include <linux/hrtimer.h>

/**
 * twheel_turn() - turn a wheel, for a while
 * @hrtimer:	of a struct twheel_cpu_base, after twheel_program_begin()
 *
 * The hrtimer is set for what is left.
 *
 * Context: soft interrupt; the callback of @hrtimer.
 * Return: HRTIMER_NORESTART.
 */
enum hrtimer_restart twheel_turn(struct hrtimer *hrtimer);

#endif /* TWHEEL_TURN_H */
