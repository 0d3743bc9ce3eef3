/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How much time and memory a program, and the machine that it runs on, have used.
 */
#ifndef USAGE_H
#define USAGE_H

#include <stdint.h>

/**
 * struct usage - a reading, to be compared with another one
 * @user: CPU time of this process in its own code, ns
 * @system: CPU time of this process in the kernel, ns. Interrupts that hit it
 *	are in one of the two.
 * @busy: CPU time of the whole machine that was not idle, ns. If nothing else runs,
 *	this is the time of the process and of all interrupts.
 * @own: memory that only this process has, bytes
 * @taken: memory that is neither free nor a cache, bytes, of the whole machine
 */
struct usage {
	int64_t	user;
	int64_t	system;
	int64_t	busy;
	int64_t	own;
	int64_t	taken;
};

/**
 * usage_read() - take a reading
 * @usage: filled in; fields that cannot be read, as there is no /proc, are 0
 */
void usage_read(struct usage *usage);

/**
 * usage_since() - how much has been used since a reading
 * @usage: the reading, which the difference replaces
 */
void usage_since(struct usage *usage);

#endif /* USAGE_H */
