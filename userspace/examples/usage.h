/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a program, and the machine for it, has used so far.
 */
#ifndef USAGE_H
#define USAGE_H

#include <stdint.h>

/**
 * struct usage - readings that only differences between mean something
 * @user: CPU time of this process in its own code, ns
 * @system: CPU time of this process in the kernel, ns. Interrupts that hit it
 *	are in one of the two.
 * @busy: CPU time that was not idle, of the whole machine, ns. With nothing
 *	else running this is the process and all interrupts.
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
 * @usage: filled in; what cannot be told, for want of /proc, is 0
 */
void usage_read(struct usage *usage);

/**
 * usage_since() - what has been used since a reading
 * @usage: the reading; the difference is left there
 */
void usage_since(struct usage *usage);

#endif /* USAGE_H */
