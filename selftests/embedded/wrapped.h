/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of the library in some tests: the linker makes each the second of a pair. */
#ifndef EMBEDDED_WRAPPED_H
#define EMBEDDED_WRAPPED_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <time.h>

/* What 32-bit programs with times of 64 bits call: see features-time64.h of glibc. */
#if _TIME_BITS == 64 && __TIMESIZE == 32
#define __real_clock_gettime	__real___clock_gettime64
#define __wrap_clock_gettime	__wrap___clock_gettime64
#define __real_ppoll		__real___ppoll64
#define __wrap_ppoll		__wrap___ppoll64
#define __real_timerfd_settime	__real___timerfd_settime64
#define __wrap_timerfd_settime	__wrap___timerfd_settime64
#endif

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

int __real_ftruncate64(int fd, off64_t size);
int __wrap_ftruncate64(int fd, off64_t size);

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *mask);

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

int __real_timerfd_settime(int fd, int flags, const struct itimerspec *to,
			   struct itimerspec *from);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to,
			   struct itimerspec *from);

#endif /* EMBEDDED_WRAPPED_H */
