/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls that the library makes, as a test sees them.
 *
 * A program that includes this file has its own ioctl() and read(), which the library uses
 * in place of those of the C library. Calls on an embedded wheel are counted likewise: the
 * program is linked so that it wraps them.
 */
#ifndef LIB_CALLS_H
#define LIB_CALLS_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/twheel.h>

/**
 * struct calls - the calls so far
 * @ioctls: calls of ioctl() on a twheel
 * @reads: calls of read() that have read something
 * @breaks: a batch of this request ends after its first entry, and the next one fails; 0 for none
 */
struct calls {
	unsigned int	ioctls;
	unsigned int	reads;
	unsigned long	breaks;
};

static struct calls calls;

/* Counts a request. Returns 0, or the error with which it fails. */
static int count_request(unsigned long request, void *arg)
{
	static bool broken;
	struct twheel_batch *batch = arg;

	calls.ioctls++;
	if (!calls.breaks || request != calls.breaks)
		return 0;
	batch->count = 1;
	broken = !broken;
	return broken ? 0 : -EFAULT;
}

#ifdef EMBEDDED_TESTS

struct twheel_emb;
int __real_twheel_emb_ioctl(struct twheel_emb *emb, unsigned long request, void *arg);
int __wrap_twheel_emb_ioctl(struct twheel_emb *emb, unsigned long request, void *arg);
ssize_t __real_twheel_emb_read(struct twheel_emb *emb, void *buf, size_t n, bool wait);
ssize_t __wrap_twheel_emb_read(struct twheel_emb *emb, void *buf, size_t n, bool wait);
ssize_t __real_twheel_emb_read_part(struct twheel_emb *emb, void *buf, size_t done, size_t n,
				    bool last);
ssize_t __wrap_twheel_emb_read_part(struct twheel_emb *emb, void *buf, size_t done, size_t n,
				    bool last);

int __wrap_twheel_emb_ioctl(struct twheel_emb *emb, unsigned long request, void *arg)
{
	int ret = count_request(request, arg);

	return ret ? ret : __real_twheel_emb_ioctl(emb, request, arg);
}

ssize_t __wrap_twheel_emb_read(struct twheel_emb *emb, void *buf, size_t n, bool wait)
{
	ssize_t ret = __real_twheel_emb_read(emb, buf, n, wait);

	if (ret > 0)
		calls.reads++;
	return ret;
}

/* What is read of one of several wheels: only this is in order. */
ssize_t __wrap_twheel_emb_read_part(struct twheel_emb *emb, void *buf, size_t done, size_t n,
				    bool last)
{
	ssize_t ret = __real_twheel_emb_read_part(emb, buf, done, n, last);

	if (ret > 0)
		calls.reads++;
	return ret;
}

#else

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(request) == TWHEEL_IOC_MAGIC && count_request(request, arg)) {
		errno = EFAULT;
		return -1;
	}
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t ret = syscall(SYS_read, fd, buf, n);

	if (ret > 0)
		calls.reads++;
	return ret;
}

#endif /* EMBEDDED_TESTS */

#endif /* LIB_CALLS_H */
