// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system calls of the tests in selftests/uapi, made on embedded contexts.
 *
 * These programs open /dev/twheel and make system calls. Here they are linked so that their
 * own calls come here: the Makefile renames the calls in their object files. What is not
 * meant for a twheel goes on to the C library.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <twheel.h>

#include "calls.h"
#include "internal.h"

#define NR_FDS	4096

/* The context behind each descriptor, or NULL. */
static struct twheel *contexts[NR_FDS];

static struct twheel *context_of(int fd)
{
	return fd >= 0 && fd < NR_FDS ? __atomic_load_n(&contexts[fd], __ATOMIC_ACQUIRE) : NULL;
}

/* Returns @ret as a system call does. */
static long result(long ret)
{
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

#ifdef WITH_SHARDS
int __real_twheel_open(struct twheel **twp, const char *path, unsigned int flags,
		       const struct twheel_config *config);

/* The first thread makes its timers in the second wheel. */
static void *take_number(void *arg)
{
	struct twheel *tw;

	if (!twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, NULL)) {
		twheel_arm_after(tw, 0, 0, NULL);
		twheel_close(tw);
	}
	return arg;
}

/* Some tests take all words to be in the first segment: those of the first wheel are. */
__attribute__((__constructor__))
static void begin_in_first_wheel(void)
{
	pthread_t thread;

	if (strstr(program_invocation_short_name, "lease") &&
	    !pthread_create(&thread, NULL, take_number, NULL))
		pthread_join(thread, NULL);
}

/* All contexts of the tests are for threads, but for those that cannot be. */
int __wrap_twheel_open(struct twheel **twp, const char *path, unsigned int flags,
		       const struct twheel_config *config)
{
	if (!(flags & TWHEEL_OPEN_CACHE_NOW))
		flags |= TWHEEL_OPEN_THREADS;
	return __real_twheel_open(twp, path, flags, config);
}
#endif

int emb_test_open(const char *path, int flags, ...)
{
	unsigned int ours = TWHEEL_OPEN_EMBEDDED;
	struct twheel *tw;
	va_list args;
	int mode, ret;

	if (strcmp(path, TWHEEL_DEVICE)) {
		va_start(args, flags);
		mode = flags & O_CREAT ? va_arg(args, int) : 0;
		va_end(args);
		return open(path, flags, mode);
	}
	if (flags & O_NONBLOCK)
		ours |= TWHEEL_OPEN_NONBLOCK;
	if (flags & O_CLOEXEC)
		ours |= TWHEEL_OPEN_CLOEXEC;
	ret = twheel_open(&tw, NULL, ours, NULL);
	if (ret)
		return (int)result(ret);
	if (twheel_fd(tw) >= NR_FDS) {
		twheel_close(tw);
		return (int)result(-EMFILE);
	}
	__atomic_store_n(&contexts[twheel_fd(tw)], tw, __ATOMIC_RELEASE);
	return twheel_fd(tw);
}

int emb_test_close(int fd)
{
	struct twheel *tw = context_of(fd);

	if (!tw)
		return close(fd);
	__atomic_store_n(&contexts[fd], NULL, __ATOMIC_RELEASE);
	twheel_close(tw);
	return 0;
}

int emb_test_access(const char *path, int mode)
{
	return strcmp(path, TWHEEL_DEVICE) ? access(path, mode) : 0;
}

int emb_test_ioctl(int fd, unsigned long request, ...)
{
	struct twheel *tw = context_of(fd);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	/* The kernel takes 32 bits of the request. */
	request = (unsigned int)request;
	if (!tw)
		return ioctl(fd, request, arg);
	return (int)result(twheel_ioctl(tw, request, arg));
}

ssize_t emb_test_read(int fd, void *buf, size_t size)
{
	struct twheel *tw = context_of(fd);

	return tw ? result(tw->backend->read(tw, buf, size, true)) : read(fd, buf, size);
}

ssize_t emb_test_write(int fd, const void *buf, size_t size)
{
	struct twheel *tw = context_of(fd);

	return tw ? result(tw->backend->write(tw, buf, size)) : write(fd, buf, size);
}

/* The addresses of words that tests have asked for: there is nothing to unmap. */
static uintptr_t first_mapped = UINTPTR_MAX, last_mapped;

void *emb_test_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	struct twheel *tw = context_of(fd);
	uint64_t *words;
	int ret;

	if (!tw)
		return mmap(addr, size, prot, flags, fd, offset);
	ret = tw->backend->map(tw, (uint32_t)(offset / TWHEEL_SEGMENT_BYTES), &words);
	if (!ret && (flags & MAP_TYPE) == MAP_PRIVATE)
		ret = -EINVAL;
	if (ret)
		return (void *)result(ret);
	if ((uintptr_t)words < first_mapped)
		first_mapped = (uintptr_t)words;
	if ((uintptr_t)words + TWHEEL_SEGMENT_BYTES > last_mapped)
		last_mapped = (uintptr_t)words + TWHEEL_SEGMENT_BYTES;
	return (char *)words + (size_t)offset % TWHEEL_SEGMENT_BYTES;
}

/* What programs call that are built with _FILE_OFFSET_BITS=64. */
void *emb_test_mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return emb_test_mmap(addr, size, prot, flags, fd, offset);
}

int emb_test_munmap(void *addr, size_t size)
{
	if ((uintptr_t)addr >= first_mapped && (uintptr_t)addr < last_mapped)
		return 0;
	return munmap(addr, size);
}
