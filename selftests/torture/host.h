/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A real kernel as the host of the simulator's actors: what its files see of each other.
 *
 * The actors are those of selftests/sim, and see sim.h and world.h. Their tasks are threads here,
 * one of which has its turn at a time. So nobody else runs while an actor tells the oracle
 * something, as in the simulation. A thread gives up its turn for the time of a call and while it
 * sleeps, and there all CPUs go on at once.
 */
#ifndef TORTURE_HOST_H
#define TORTURE_HOST_H

#include <stdbool.h>

/* threads.c */
void turn_ends(void);
void turn_begins(void);

/* device.c: /dev/twheel, as the file operations that actors call */
extern const struct file_operations device;
/* In @faults of 65536 calls something fails, if the kernel can do that. */
void device_fail(unsigned int faults);
/* How many of these failures there were */
extern unsigned long long device_faults;

/* machine.c: clocks, and CPUs that come and go */
void machine_begin(void);
extern unsigned long long machine_hotplugs;

#endif /* TORTURE_HOST_H */
