/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libtwheel: what stands behind a context, the device or a wheel in the process.
 *
 * Both sides of this seam speak the interface of <linux/twheel.h>. All that the library
 * adds to it is written once, above the seam.
 */
#ifndef TWHEEL_BACKEND_H
#define TWHEEL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct twheel;
struct twheel_counters;

/* What time it is, in ns */
static inline uint64_t twheel_time(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* A library that is loaded late finds room for this where the C library is glibc. */
#ifdef __GLIBC__
#define EMB_TLS __attribute__((__tls_model__("initial-exec")))
#else
#define EMB_TLS
#endif

/* The words of leases are mapped a segment at a time: 8 MiB for a million leases. */
#define TWHEEL_SEGMENT_SHIFT	20
#define TWHEEL_SEGMENT_WORDS	(1U << TWHEEL_SEGMENT_SHIFT)
#define TWHEEL_SEGMENT_BYTES	(TWHEEL_SEGMENT_WORDS * sizeof(uint64_t))
#define TWHEEL_SEGMENTS		(1U << (32 - TWHEEL_SEGMENT_SHIFT))

/**
 * struct twheel_backend - the calls that a context makes
 * @ioctl: as ioctl(), but returns -errno
 * @read: as read(), but returns -errno; without @wait it does not wait, and is no point of
 *	cancellation
 * @write: as write(), but returns -errno
 * @map: maps the words of a segment, and stores the address of the first. 0 or -errno
 * @unmap: undoes that
 * @set_now: sets the clock, which stands still from then on. 0 or -errno
 * @update_now: reads the clock, if other calls do not. 0 or -errno
 * @stats: stores what was counted. 0 or -errno
 * @take_over: goes on in a child, which alone uses the context from now on. False if it cannot
 * @close: closes the descriptor, and frees all that @map and @unmap do not; to be called with
 *	cancellation disabled
 */
struct twheel_backend {
	int	(*ioctl)(const struct twheel *tw, unsigned long request, void *arg);
	ssize_t	(*read)(const struct twheel *tw, void *buf, size_t size, bool wait);
	ssize_t	(*write)(const struct twheel *tw, const void *buf, size_t size);
	int	(*map)(const struct twheel *tw, uint32_t segment, uint64_t **words);
	void	(*unmap)(uint64_t *words);
	int	(*set_now)(struct twheel *tw, uint64_t ns);
	int	(*update_now)(struct twheel *tw);
	int	(*stats)(const struct twheel *tw, struct twheel_counters *counters);
	bool	(*take_over)(struct twheel *tw);
	void	(*close)(struct twheel *tw);
};

extern const struct twheel_backend twheel_device;

/* Number this process, if need be, and store its number: see fork.c. 0 or -errno. */
int twheel_which_process(unsigned int *number);

/*
 * Make @tw an embedded context, with @flags of twheel_open(). 0 or -errno. It is there if the
 * library is built with TWHEEL_EMBEDDED, and the files in process.
 */
int twheel_embedded_open(struct twheel *tw, unsigned int flags);

/* The same with several wheels; O_NONBLOCK and O_CLOEXEC may be in @oflags: process/shards.c */
int twheel_shards_open(struct twheel *tw, int oflags);

#endif /* TWHEEL_BACKEND_H */
