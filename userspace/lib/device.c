// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: contexts of the device. Each call is a system call.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "internal.h"

/* Words lie up to 32 GiB into the file, in 32-bit programs too. */
_Static_assert(sizeof(off_t) == sizeof(uint64_t), "compile with _FILE_OFFSET_BITS=64");

/* RWF_NOWAIT, which not all C libraries have */
#define NOWAIT	8

static int device_ioctl(const struct twheel *tw, unsigned long request, void *arg)
{
	int ret = ioctl(tw->fd, request, arg);

	return ret < 0 ? -errno : ret;
}

static ssize_t device_read(const struct twheel *tw, void *buf, size_t size, bool wait)
{
	struct iovec iov = { buf, size };
	ssize_t ret;

	/* The C library's preadv2() is a point of cancellation. */
	ret = wait ? read(tw->fd, buf, size) :
	      syscall(SYS_preadv2, tw->fd, &iov, 1, -1L, -1L, NOWAIT);
	return ret < 0 ? -errno : ret;
}

static ssize_t device_write(const struct twheel *tw, const void *buf, size_t size)
{
	/* write() would be a point of cancellation, and nobody would learn how much was done. */
	ssize_t ret = syscall(SYS_write, tw->fd, buf, size);

	return ret < 0 ? -errno : ret;
}

/* A whole segment takes address space but no memory: the kernel makes pages one by one. */
static int device_map(const struct twheel *tw, uint32_t segment, uint64_t **words)
{
	void *mapped = mmap(NULL, TWHEEL_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    tw->fd, (off_t)segment * TWHEEL_SEGMENT_BYTES);

	if (mapped == MAP_FAILED)
		return -errno;
	*words = mapped;
	return 0;
}

static void device_unmap(uint64_t *words)
{
	munmap(words, TWHEEL_SEGMENT_BYTES);
}

static int device_set_now(struct twheel *tw, uint64_t ns)
{
	(void)tw;
	(void)ns;
	return -EOPNOTSUPP;
}

/* The module reads the clock whenever it needs it. */
static int device_update_now(struct twheel *tw)
{
	(void)tw;
	return 0;
}

/* The device's counters are those of all contexts. */
static int device_stats(const struct twheel *tw, struct twheel_counters *counters)
{
	(void)tw;
	(void)counters;
	return -EOPNOTSUPP;
}

static bool device_take_over(struct twheel *tw)
{
	/* A child may be in another time namespace, with other times in the words. */
	twheel_loop_forget_words(tw->loop);
	return true;
}

static void device_close(struct twheel *tw)
{
	close(tw->fd);
}

const struct twheel_backend twheel_device = {
	.ioctl		= device_ioctl,
	.read		= device_read,
	.write		= device_write,
	.map		= device_map,
	.unmap		= device_unmap,
	.set_now	= device_set_now,
	.update_now	= device_update_now,
	.stats		= device_stats,
	.take_over	= device_take_over,
	.close		= device_close,
};
