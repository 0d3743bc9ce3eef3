// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a program has of its kernel and of its C library: descriptors, mutexes, clocks, memory.
 *
 * The library asks for these by the names of the C library; the Makefile puts sim_ before them. An
 * eventfd and a timerfd wake those who wait for them, and those who wait for the epoll that they
 * are in. A timerfd is an hrtimer, as in the kernel.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <linux/container_of.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "kernel.h"

/* The first descriptor, so that none is taken for one of the simulation's own. */
#define FIRST_FD	1000
#define MAX_FDS		64
#define MAX_MUTEXES	64
#define MAX_MAPPINGS	32

enum fd_kind { NO_FD, EPOLL, EVENTFD, TIMERFD };

/**
 * struct fd - a descriptor
 * @kind:	what it is
 * @flags:	O_NONBLOCK, or 0
 * @queue:	who waits for it
 * @epoll:	the epoll that it is in, or NULL
 * @count:	of an eventfd, the sum of what was written; of a timerfd, how often it has fired
 * @timer:	of a timerfd
 * @clock:	of a timerfd
 * @at:		of a timerfd, when it is to fire, or 0
 * @told:	a timerfd is told when its clock is set
 * @was_set:	it was told, and nobody has read that
 * @offset:	sim_real_offset when it was told last
 */
struct fd {
	enum fd_kind		kind;
	int			flags;
	wait_queue_head_t	queue;
	struct fd		*epoll;
	u64			count;
	struct hrtimer		timer;
	clockid_t		clock;
	u64			at;
	bool			told, was_set;
	s64			offset;
};

/**
 * struct program_mutex - what is behind a pthread_mutex_t, which holds its number
 * @owner:	the fiber that has locked it, or NULL
 * @queue:	who waits for it; whoever comes first gets it, which may be somebody else
 */
struct program_mutex {
	struct fiber		*owner;
	wait_queue_head_t	queue;
};

static struct fd fds[MAX_FDS];
static struct program_mutex mutexes[MAX_MUTEXES];
static u32 nr_mutexes;

/* Memory that is mapped, by address and size */
static struct {
	void	*at;
	size_t	size;
} mappings[MAX_MAPPINGS];

/* What fork() calls in the child */
static void (*at_fork)(void);

static u64 ns_of(const struct timespec *ts)
{
	return (u64)ts->tv_sec * NSEC_PER_SEC + (u64)ts->tv_nsec;
}

/*
 * Descriptors
 */

static struct fd *fd_of(int nr)
{
	struct fd *fd = &fds[nr - FIRST_FD];

	expect(nr >= FIRST_FD && nr < FIRST_FD + MAX_FDS && fd->kind, CONTAINED,
	       "descriptor %d is used, and is not open", nr);
	return fd;
}

/* A new descriptor; or -1 with errno */
static int open_fd(enum fd_kind kind)
{
	struct fd *fd = fds;

	if (alloc_fails(GFP_KERNEL)) {
		errno = ENOMEM;
		return -1;
	}
	while (fd < fds + MAX_FDS && fd->kind)
		fd++;
	expect(fd < fds + MAX_FDS, CONTAINED, "descriptors are left open");
	*fd = (struct fd){ .kind = kind };
	return FIRST_FD + (int)(fd - fds);
}

static void close_fd(struct fd *fd)
{
	u32 i;

	if (fd->kind == TIMERFD)
		hrtimer_cancel(&fd->timer);
	fd->kind = NO_FD;
	for (i = 0; i < MAX_FDS; i++)
		if (fds[i].epoll == fd)
			fds[i].epoll = NULL;
}

static bool is_readable(const struct fd *fd)
{
	u32 i;

	if (fd->kind != EPOLL)
		return fd->count;
	for (i = 0; i < MAX_FDS; i++)
		if (fds[i].kind && fds[i].epoll == fd && fds[i].count)
			return true;
	return false;
}

static void wake(struct fd *fd)
{
	sim_wake(&fd->queue);
	if (fd->epoll)
		sim_wake(&fd->epoll->queue);
	/* They may look before the one who has woken them goes on. */
	sim_point();
}

__poll_t program_poll(int fd, poll_table *table)
{
	poll_wait(NULL, &fd_of(fd)->queue, table);
	return is_readable(fd_of(fd)) ? EPOLLIN : 0;
}

int sim_epoll_create1(int flags)
{
	return open_fd(EPOLL);
}

int sim_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	fd_of(fd)->epoll = operation == EPOLL_CTL_ADD ? fd_of(epoll) : NULL;
	return 0;
}

int sim_eventfd(unsigned int count, int flags)
{
	return open_fd(EVENTFD);
}

int sim_fcntl(int nr, int command, ...)
{
	struct fd *fd = fd_of(nr);
	va_list args;

	if (command == F_GETFL)
		return fd->flags;
	va_start(args, command);
	fd->flags = va_arg(args, int);
	va_end(args);
	return 0;
}

/* A read or a write of an eventfd that does not wait */
static long change_count(struct fd *fd, u64 *value, bool writes)
{
	sim_point();
	expect(fd->kind == EVENTFD, SIM_ITSELF, "only an eventfd is read so");
	acquire(fd, &fd->queue.order);
	if (writes) {
		fd->count += *value;
		release(fd, &fd->queue.order);
		wake(fd);
	} else if (fd->count) {
		*value = fd->count;
		fd->count = 0;
		release(fd, &fd->queue.order);
	} else {
		errno = EAGAIN;
		return -1;
	}
	return sizeof(*value);
}

/* The thread ends, as far as the library can see: it goes on in read_records(). */
static void cancel(void)
{
	sim_trace("the thread is cancelled");
	sim_stats.cancels++;
	if (self->cleanup)
		self->cleanup(self->cleanup_arg);
	self->cleanup = NULL;
	longjmp(*self->cancelled, 1);
}

/* A point of cancellation: of a call that has not begun, or has just ended. */
int sim_ppoll(struct pollfd *pollfd, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	bool cancelled = self->cancelled && chance(sim_config.cancel_chance);
	u64 until = sim_now() + ns_of(timeout);
	struct fd *fd = fd_of(pollfd->fd);
	int ret;

	if (cancelled && sim_below(2))
		cancel();
	for (;;) {
		ret = sim_wait_begin(&fd->queue, false, true);
		if (is_readable(fd) || ret || sim_now() >= until)
			break;
		sim_wait(until);
	}
	sim_wait_end();
	if (cancelled)
		cancel();
	errno = EINTR;
	return is_readable(fd) ? 1 : ret ? -1 : 0;
}

/*
 * A timerfd
 */

static enum hrtimer_restart fire(struct hrtimer *timer)
{
	struct fd *fd = container_of(timer, struct fd, timer);

	sim_trace("timerfd %d fires", FIRST_FD + (int)(fd - fds));
	fd->at = 0;
	fd->count++;
	wake(fd);
	return HRTIMER_NORESTART;
}

/* The clock and the time may be set by others meanwhile, and what was set last counts. */
static void start(struct fd *fd)
{
	u64 ahead;

	preempt_off();
	sim_point();
	ahead = fd->clock == CLOCK_REALTIME ? (u64)sim_real_offset : 0;
	if (fd->at)
		hrtimer_set(&fd->timer, max(fd->at, ahead) - ahead);
	preempt_on();
}

int sim_timerfd_create(clockid_t clock, int flags)
{
	int nr = open_fd(TIMERFD);
	struct fd *fd;

	if (nr < 0)
		return nr;
	fd = fd_of(nr);
	fd->clock = clock;
	fd->offset = sim_real_offset;
	hrtimer_setup(&fd->timer, fire, clock == CLOCK_BOOTTIME ? clock : CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	return nr;
}

/* Is the one who sets or reads it to learn that the clock was set? */
static bool take_step(struct fd *fd)
{
	bool was_set = fd->was_set;

	fd->was_set = false;
	if (was_set)
		fd->offset = sim_real_offset;
	return was_set;
}

int sim_timerfd_settime(int nr, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	struct fd *fd;

	/* There is none if its clock could not be changed: then the context is about to go. */
	if (nr < 0) {
		errno = EBADF;
		return -1;
	}
	fd = fd_of(nr);
	expect(flags & TFD_TIMER_ABSTIME || !ns_of(&new->it_value), SIM_ITSELF,
	       "a timerfd is set to a time from now");
	hrtimer_cancel(&fd->timer);
	fd->told = flags & TFD_TIMER_CANCEL_ON_SET && fd->clock == CLOCK_REALTIME;
	fd->count = 0;
	fd->at = ns_of(&new->it_value);
	sim_trace("timerfd %d is set to %llu", nr, fd->at);
	if (!fd->at)
		return 0;
	start(fd);
	if (!fd->told || !take_step(fd))
		return 0;
	errno = ECANCELED;
	return -1;
}

void program_clock_was_set(void)
{
	struct fd *fd;

	for (fd = fds; fd < fds + MAX_FDS; fd++) {
		if (fd->kind != TIMERFD || fd->clock != CLOCK_REALTIME)
			continue;
		if (fd->at)
			start(fd);
		if (fd->told && fd->offset != sim_real_offset) {
			fd->offset = sim_real_offset;
			fd->was_set = true;
			fd->count++;
			wake(fd);
		}
		clock_note_step();
	}
}

void sim_cleanup_push(void (*function)(void *arg), void *arg)
{
	self->cleanup = function;
	self->cleanup_arg = arg;
}

void sim_cleanup_pop(void)
{
	self->cleanup = NULL;
}

/* Wait until it has fired. 0, or -EINTR; a signal whose handler says so has it go on waiting. */
static int wait_for(struct fd *fd)
{
	int ret;

	do {
		ret = wait_event_interruptible(fd->queue, fd->count);
	} while (ret && sim_below(2));
	return ret ? -EINTR : 0;
}

/* A point of cancellation: that of a read() which has not begun, or which has just ended. */
ssize_t sim_read(int nr, void *buf, size_t size)
{
	bool cancelled = self->cancelled && chance(sim_config.cancel_chance);
	struct fd *fd = fd_of(nr);
	int ret;

	sim_point();
	if (cancelled && sim_below(2))
		cancel();
	ret = wait_for(fd);
	if (!ret) {
		ret = take_step(fd) ? -ECANCELED : 0;
		fd->count = 0;
	}
	if (cancelled)
		cancel();
	errno = -ret;
	return ret ? -1 : (ssize_t)size;
}

/*
 * Mutexes
 */

/* As where threads are begun before all calls: glibc's __libc_single_threaded. */
char sim___libc_single_threaded;

static struct program_mutex *mutex_of(pthread_mutex_t *mutex)
{
	u64 *nr = (u64 *)mutex;

	if (!*nr) {
		expect(nr_mutexes < MAX_MUTEXES, SIM_ITSELF, "there are too many mutexes");
		mutexes[nr_mutexes++] = (struct program_mutex){ };
		*nr = nr_mutexes;
	}
	return &mutexes[*nr - 1];
}

int sim_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	memset(mutex, 0, sizeof(*mutex));
	mutex_of(mutex);
	return 0;
}

static bool lock_until(struct program_mutex *m, u64 until)
{
	sim_point();
	expect(m->owner != self, CONTAINED, "a mutex is locked by the thread that holds it");
	while (m->owner) {
		if (sim_now() >= until)
			return false;
		sim_wait_begin(&m->queue, true, false);
		if (m->owner)
			sim_wait(until);
		sim_wait_end();
	}
	m->owner = self;
	acquire(m, &m->queue.order);
	return true;
}

int sim_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return lock_until(mutex_of(mutex), SIM_FOREVER) ? 0 : ETIMEDOUT;
}

int sim_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return lock_until(mutex_of(mutex), 0) ? 0 : EBUSY;
}

int sim_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *ts)
{
	return lock_until(mutex_of(mutex), ns_of(ts)) ? 0 : ETIMEDOUT;
}

int sim_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *ts)
{
	u64 until = ns_of(ts) - (u64)sim_real_offset;

	return lock_until(mutex_of(mutex), until) ? 0 : ETIMEDOUT;
}

int sim_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct program_mutex *m = mutex_of(mutex);

	expect(m->owner == self, CONTAINED, "a thread unlocks a mutex that it does not hold");
	release(m, &m->queue.order);
	m->owner = NULL;
	sim_wake(&m->queue);
	return 0;
}

int sim_pthread_mutexattr_init(pthread_mutexattr_t *attr)
{
	return 0;
}

int sim_pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type)
{
	return 0;
}

int sim_pthread_mutexattr_destroy(pthread_mutexattr_t *attr)
{
	return 0;
}

int sim_pthread_once(pthread_once_t *once, void (*function)(void))
{
	if (!*once)
		function();
	*once = 1;
	return 0;
}

int sim_pthread_setcancelstate(int state, int *old)
{
	return 0;
}

int sim_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	at_fork = child;
	return 0;
}

/*
 * Clocks, memory and the rest
 */

int sim_clock_gettime(clockid_t clock, struct timespec *ts)
{
	u64 ns = clock == CLOCK_REALTIME ? ktime_get_real_ns() :
		 clock == CLOCK_BOOTTIME ? ktime_get_boottime_ns() : ktime_get_ns();

	*ts = (struct timespec){ (time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC) };
	return 0;
}

void *sim_malloc(size_t size)
{
	return sim_alloc(size, GFP_KERNEL);
}

void *sim_calloc(size_t n, size_t size)
{
	return sim_malloc(n * size);
}

void *sim_realloc(void *p, size_t size)
{
	void *new = sim_malloc(size);

	if (new && p)
		memcpy(new, p, min(size, malloc_usable_size(p)));
	if (new)
		kfree(p);
	return new;
}

void sim_free(void *p)
{
	kfree(p);
}

void *sim_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	u32 i;

	if (alloc_fails(GFP_KERNEL)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	for (i = 0; i < MAX_MAPPINGS && mappings[i].at; i++)
		;
	expect(i < MAX_MAPPINGS, CONTAINED, "memory stays mapped");
	/* What a child stores is not for its parent here: see fork.c. */
	flags = (flags & ~MAP_SHARED) | MAP_PRIVATE;
	mappings[i].at = mmap(NULL, size, protection, flags, -1, 0);
	mappings[i].size = size;
	return mappings[i].at;
}

int sim_munmap(void *at, size_t size)
{
	u32 i;

	for (i = 0; i < MAX_MAPPINGS && mappings[i].at != at; i++)
		;
	expect(i < MAX_MAPPINGS && mappings[i].size == size, CONTAINED,
	       "memory is unmapped that was not mapped");
	mappings[i].at = NULL;
	return munmap(at, size);
}

char *sim_secure_getenv(const char *name)
{
	return NULL;
}

/* For the library there are as many CPUs as the simulation has, up to four. */
int sim_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	u32 i;

	CPU_ZERO_S(size, cpus);
	for (i = 0; i < min(sim_config.cpus, 4U); i++)
		CPU_SET_S(i, size, cpus);
	return 0;
}

int sim_sigaction(int sig, const struct sigaction *new, struct sigaction *old)
{
	memset(old, 0, sizeof(*old));
	return 0;
}

int sim_close(int fd)
{
	close_fd(fd_of(fd));
	return 0;
}

long sim_syscall(long nr, ...)
{
	long args[3];
	va_list list;
	u32 i;

	va_start(list, nr);
	for (i = 0; i < 3; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	switch (nr) {
	case SYS_read:
	case SYS_write:
		return change_count(fd_of((int)args[0]), (u64 *)args[1], nr == SYS_write);
	case SYS_epoll_pwait:
		sim_point();
		return is_readable(fd_of((int)args[0]));
	case SYS_clock_gettime:
		return sim_clock_gettime((clockid_t)args[0], (struct timespec *)args[1]);
	case SYS_getrandom:
		get_random_bytes((void *)args[0], (size_t)args[1]);
		return args[1];
	}
	sim_broken(SIM_ITSELF, "a program has no system call %ld here", nr);
}

void program_begin(void)
{
	u32 i;

	for (i = 0; i < MAX_FDS; i++)
		fds[i].kind = NO_FD;
	nr_mutexes = 0;
	at_fork = NULL;
}

void program_forked(void)
{
	if (at_fork)
		at_fork();
}

void program_end(void)
{
	u32 i, left = 0;

	for (i = 0; i < MAX_FDS; i++)
		expect(!fds[i].kind, CONTAINED, "a descriptor is left open");
	for (i = 0; i < MAX_MAPPINGS; i++)
		if (mappings[i].at) {
			left++;
			munmap(mappings[i].at, mappings[i].size);
			mappings[i].at = NULL;
		}
	/* The page of fork.c stays. */
	expect(left <= 1, CONTAINED, "memory is left mapped");
}
