/* SPDX-License-Identifier: GPL-2.0-only */
/* Who turns the wheels, and for how long: rounds, and the share of a CPU. */
#ifndef TWHEEL_TURN_H
#define TWHEEL_TURN_H

/**
 * twheel_bases_init() - make the wheels of all possible CPUs on all clocks
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, or what cpuhp_setup_state_nocalls() returns.
 */
int twheel_bases_init(void);

/**
 * twheel_bases_exit() - free all wheels, which are empty
 *
 * Context: may sleep.
 */
void twheel_bases_exit(void);

/**
 * twheel_bases_look() - turn all wheels on CLOCK_REALTIME, after a step of that clock
 *
 * The run of each wheel then sets its hrtimer by the new time.
 *
 * Context: may sleep. For twheel_clock_init().
 */
void twheel_bases_look(void);

#endif /* TWHEEL_TURN_H */
