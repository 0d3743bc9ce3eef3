/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What an embedded context counts, and where other processes can read it: in a memfd, if
 * TWHEEL_STATS in the environment asks for that.
 *
 * Other processes of the same user, and root, find it in /proc/PID/fd by its name. They can only
 * read it, and the library looks at nothing in it but its own counters. The layout is part of
 * the name.
 */
#ifndef TWHEEL_SHARE_H
#define TWHEEL_SHARE_H

#include <stdint.h>

#define TWHEEL_SHARE_NAME	"twheel-stats-1"

/* Eight counters, and three distributions of 64 buckets each: see &struct twheel_counters. */
#define TWHEEL_SHARE_COUNTERS	8
#define TWHEEL_SHARE_HISTOGRAMS	3
#define TWHEEL_SHARE_BUCKETS	64
#define TWHEEL_SHARE_COUNTS \
	(TWHEEL_SHARE_COUNTERS + TWHEEL_SHARE_HISTOGRAMS * TWHEEL_SHARE_BUCKETS)

/* So many wheels of a process can be seen. */
#define TWHEEL_SHARE_SLOTS	1024

/* A context, which has one descriptor, has up to so many wheels. */
#define TWHEEL_SHARE_WHEELS	16

/**
 * struct twheel_share_slot - a context, or one of its wheels
 * @limit: how many timers the context may have
 * @timers: how many it had at the end of the last call, pending or ready
 * @ready: how many of these were ready
 * @used: there is one
 * @fd: its descriptor
 * @clock: CLOCK_*
 * @config: TWHEEL_CONFIG_* bits
 * @counts: the counters, then the buckets of one distribution after another
 *
 * Its words are written and read whole, which x86 of 32 bits can only if they are aligned.
 */
struct twheel_share_slot {
	uint64_t		limit;
	uint64_t		timers;
	uint64_t		ready;
	uint32_t		used;
	uint32_t		fd;
	uint32_t		clock;
	uint32_t		config;
	uint64_t		counts[TWHEEL_SHARE_COUNTS];
} __attribute__((__aligned__(8)));

/**
 * struct twheel_share - the contexts of a process, or those of one copy of the library there
 * @unseen: contexts that were opened when all slots were used
 * @gone: what was counted in contexts that are closed
 * @slots: the contexts
 *
 * The process has a lock on the file (F_SETLK). A child inherits the descriptor, but no lock.
 */
struct twheel_share {
	uint64_t		unseen;
	uint64_t		gone[TWHEEL_SHARE_COUNTS];
	struct twheel_share_slot slots[TWHEEL_SHARE_SLOTS];
};

#endif /* TWHEEL_SHARE_H */
