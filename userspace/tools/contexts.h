/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The contexts of all processes, as /proc shows them.
 */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../lib/process/share.h"

/**
 * struct holder - a descriptor of a context
 * @pid: the process that has it
 * @fd: its number there
 * @uid: the real user of the process
 * @command: the name of the process; what is not printable is a question mark
 * @context: the index of its context in &contexts.all
 */
struct holder {
	pid_t		pid;
	int		fd;
	uid_t		uid;
	char		command[32];
	size_t		context;
};

/**
 * struct context - what one open of the device has, or a wheel in a process
 * @holders: its first descriptor; the others are behind it
 * @n: how many descriptors it has
 * @clock: CLOCK_*
 * @config: TWHEEL_CONFIG_* bits
 * @pending: timers that have not expired
 * @ready: timers that have expired and were not read
 * @limit: how many timers it may have
 * @slot: what a wheel in a process shows; NULL if it is of the device
 */
struct context {
	const struct holder	*holders;
	size_t			n;
	uint32_t		clock;
	uint32_t		config;
	uint64_t		pending;
	uint64_t		ready;
	uint64_t		limit;
	const struct twheel_share_slot *slot;
};

/**
 * struct contexts - the contexts of all processes
 * @all: an array, those with the most timers first
 * @n: its length
 * @hidden: how many processes may not be looked at
 * @unseen: how many wheels in processes had no room to show what they do
 * @holders: the descriptors of the device, those of a context beside each other
 * @programs: the descriptors of wheels in processes
 * @slots: what wheels in processes show
 */
struct contexts {
	struct context	*all;
	size_t		n;
	size_t		hidden;
	uint64_t	unseen;
	struct holder	*holders;
	struct holder	*programs;
	struct twheel_share_slot *slots;
};

/**
 * contexts_read() - look for the contexts of all processes
 * @contexts: filled in; to be freed by contexts_free() after a success
 *
 * Descriptors that share a context are found by kcmp(2). Where the kernel refuses that
 * each seems to have a context of its own. Of wheels in processes those are found that show what
 * they do: see TWHEEL_STATS in twheel_stats(3).
 *
 * Return: 0 or -errno.
 */
int contexts_read(struct contexts *contexts);

/*
 * As above, but only of wheels in processes, or in the process @pid if that is not 0. Those of a
 * process are beside each other; the first of each copy of the library there, whose descriptor is
 * -1, stands for all that were closed.
 */
int contexts_read_programs(struct contexts *contexts, pid_t pid);
void contexts_free(struct contexts *contexts);

/**
 * device_number() - the number of the device
 * @number: filled in
 *
 * Return: 0, or -ENODEV if the kernel has no such device.
 */
int device_number(dev_t *number);

#endif /* CONTEXTS_H */
