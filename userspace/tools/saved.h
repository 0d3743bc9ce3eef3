/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The file that twheel save writes and twheel load reads.
 *
 * It is text. The first line says what it is, and of which context; a line follows for each
 * timer, with its handle or key, user data, deadline, interval, slack (in nanoseconds), the
 * expirations that are left, and flags; the last line has what cksum(1) prints of those before it:
 *
 *	twheel-timers 1 clock=boottime config=keyed boot=BOOT timers=2
 *	1002 7 81000000000 0 0 1 -
 *	1003 8 90000000000 5000000000 0 0 fixed-delay
 *	end 13442034
 *
 * BOOT is the kernel's boot_id: other clocks than the realtime one begin anew with each boot.
 */
#ifndef SAVED_H
#define SAVED_H

#include <stddef.h>
#include <stdint.h>

#include "tool.h"

/* Room for a boot_id. */
#define BOOT_SIZE	40

/**
 * struct saved - the timers of a context
 * @clock: as in &twheel_info.clock
 * @config: TWHEEL_CONFIG_* bits
 * @boot: the boot in which they were saved
 * @timers: an array
 * @n: its length
 * @room: how many it has room for
 */
struct saved {
	uint32_t			clock;
	uint32_t			config;
	char				boot[BOOT_SIZE];
	struct twheel_timer_info	*timers;
	size_t				n;
	size_t				room;
};

/* Make room for a timer more, or for @more. Returns 0 or -ENOMEM, with what there is as it was. */
int saved_grow(struct saved *saved, size_t more);

/* Free the timers, and have none. */
void saved_free(struct saved *saved);

/* The kernel's boot_id, or "" if there is none. */
void saved_boot(char boot[BOOT_SIZE]);

/**
 * saved_check() - complain if a file may not be written
 * @path: the file: what is there and no regular file, as a device or a link, is not replaced
 *
 * Return: %TOOL_OK or %TOOL_FAILED.
 */
enum tool_exit saved_check(const char *path);

/**
 * saved_write() - write a file
 * @saved: the timers
 * @path: the file, which is replaced as a whole, once all is on the disk, or not at all
 *
 * Return: 0, and then the new name is on the disk, too; -EOPNOTSUPP for settings that this program
 * does not know; or another -errno.
 */
int saved_write(const struct saved *saved, const char *path);

/**
 * saved_read() - read a file, or complain
 * @saved: filled in; to be freed by saved_free() after a success
 * @path: the file
 *
 * Return: %TOOL_OK or %TOOL_FAILED.
 */
enum tool_exit saved_read(struct saved *saved, const char *path);

#endif /* SAVED_H */
