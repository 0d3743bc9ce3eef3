// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running programs: by one thread or by several, and by children that they fork.
 *
 * A descriptor that is not open is opened at first use. Handles, keys, cursors,
 * words and maps go from call to call through struct context. Each thread has a
 * timer that interrupts calls that wait or take long.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thread.h"

#define TICK_MS		30

struct run run = { .slots_lock = PTHREAD_MUTEX_INITIALIZER };

static struct thread threads[PROG_THREADS];
static pthread_barrier_t begin, end;
static const struct prog *current;
static int first_call;
static __u64 real_at_start, monotonic_at_start;
static long nr_cpus;

void violation(const char *fmt, ...)
{
	struct world *world = run.world;
	va_list ap;

	if (__atomic_fetch_add(&world->violations, 1, __ATOMIC_RELAXED))
		return;
	va_start(ap, fmt);
	vsnprintf(world->first, sizeof(world->first), fmt, ap);
	va_end(ap);
}

/* The descriptor of @call: NULL without one. */
static struct slot *slot_of(const struct call *call, int flags)
{
	struct slot *slot = &run.slots[call->fd % SLOTS];

	pthread_mutex_lock(&run.slots_lock);
	if (slot->fd < 0) {
		slot->ctx = world_add(run.world);
		if (slot->ctx) {
			slot->fd = open(TW_DEVICE, flags | O_CLOEXEC);
			if (slot->fd < 0)
				expect("open", -errno, 0, "mq");
		}
	}
	pthread_mutex_unlock(&run.slots_lock);
	return slot->fd < 0 ? NULL : slot;
}

static long op_sleep(struct thread *self, const struct call *call, struct slot *slot)
{
	struct timespec ts = { .tv_nsec = call->mag * 40 * USEC };

	return nanosleep(&ts, NULL);
}

/* Set the clock near to what it would be had it never been set. */
static long op_settime(struct thread *self, const struct call *call, struct slot *slot)
{
	__u64 now = real_at_start + tw_now(CLOCK_MONOTONIC) - monotonic_at_start;
	struct timespec ts;

	switch (call->mode % 4) {
	case 0:
		now += call->mag * TW_MSEC;
		break;
	case 1:
		now -= call->mag * TW_MSEC;
		break;
	case 2:
		now += call->mag * HOUR;
		break;
	}
	ts.tv_sec = now / TW_SEC;
	ts.tv_nsec = now % TW_SEC;
	return clock_settime(CLOCK_REALTIME, &ts) ? -errno : 0;
}

static long op_cpu(struct thread *self, const struct call *call, struct slot *slot)
{
	return tw_pin(call->mag % nr_cpus) ? 0 : -errno;
}

static void ignore(int signal)
{
}

static bool is_mine(const struct thread *self, int i)
{
	return !run.parallel || current->calls[i].thread % PROG_THREADS == self->nr;
}

static int do_calls(struct thread *self, int from, int n);

/*
 * Fork a child that makes the next calls. It has no coverage. Only this process kills
 * it, and then it is not known what it has done.
 */
static long op_fork(struct thread *self, const struct call *call, struct slot *slot)
{
	static unsigned long none[1];
	static const struct itimerval tick = {
		{ 0, TICK_MS * 1000 }, { 0, TICK_MS * 1000 },
	};
	__u32 i, n = 1 + call->count % 3;
	pid_t pid;

	if (run.is_child || self->nr_children == CHILDREN)
		return 0;
	if (call->mode % 8 == 7)
		for (i = 0; i < WORLD_CONTEXTS; i++)
			lose_track(&run.world->contexts[i]);
	/* fork() copies the table of files and the memory at different times. */
	pthread_mutex_lock(&run.slots_lock);
	pid = fork();
	pthread_mutex_unlock(&run.slots_lock);
	if (!pid) {
		run.is_child = true;
		self->kcov.area = none;
		self->nr_children = 0;
		setitimer(ITIMER_REAL, &tick, NULL);
		do_calls(self, self->at, n);
		_exit(0);
	}
	if (pid < 0)
		return 0;
	if (call->mode % 8 == 7)
		kill(pid, SIGKILL);
	self->children[self->nr_children++] = pid;
	/* At times only the child makes those calls. */
	for (i = 0; call->mode & 8 && i < n; i++) {
		do {
			self->at++;
		} while (self->at < current->nr && !is_mine(self, self->at));
	}
	return 0;
}

static void reap(struct thread *self)
{
	int status;

	while (self->nr_children) {
		pid_t pid = self->children[--self->nr_children];

		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			violation("a child ended by signal %d", WTERMSIG(status));
	}
}

/* Any call on a slot opens its descriptor: see do_call(). */
static long op_open(struct thread *self, const struct call *call, struct slot *slot)
{
	return 0;
}

static long op_flip(struct thread *self, const struct call *call, struct slot *slot)
{
	memory_flip(call->mode);
	return 0;
}

static const struct operation operations[NR_OPS] = {
	[OP_OPEN] = { "open", op_open },
	[OP_CONFIG] = { "config", op_config },
	[OP_ARM] = { "arm", op_arm },
	[OP_ARM_BATCH] = { "arm_batch", op_arm_batch },
	[OP_CANCEL] = { "cancel", op_cancel },
	[OP_CANCEL_BATCH] = { "cancel_batch", op_cancel_batch },
	[OP_GET] = { "get", op_get },
	[OP_LIST] = { "list", op_list },
	[OP_INFO] = { "info", op_info },
	[OP_READ] = { "read", op_read },
	[OP_READV] = { "readv", op_readv },
	[OP_POLL] = { "poll", op_poll },
	[OP_EPOLL] = { "epoll", op_epoll },
	[OP_MMAP] = { "mmap", op_mmap },
	[OP_STORE] = { "store", op_store },
	[OP_MUNMAP] = { "munmap", op_munmap },
	[OP_DUP] = { "dup", op_dup },
	[OP_FORK] = { "fork", op_fork },
	[OP_CLOSE] = { "close", op_close },
	[OP_SLEEP] = { "sleep", op_sleep },
	[OP_SETTIME] = { "settime", op_settime },
	[OP_BAD_IOCTL] = { "bad_ioctl", op_bad_ioctl },
	[OP_FDINFO] = { "fdinfo", op_fdinfo },
	[OP_CPU] = { "cpu", op_cpu },
	[OP_FLIP] = { "flip", op_flip },
	[OP_OTHER] = { "other", op_other },
	[OP_PASS] = { "pass", op_pass },
	[OP_PUSH] = { "push", op_push },
};

static void told(const struct call *call, long ret)
{
	if (run.exec->verbose)
		fprintf(stderr, "  %-12s fd %u thread %u: %ld\n", operations[prog_op(call)].name,
			call->fd % SLOTS, run.parallel ? call->thread % PROG_THREADS : 0, ret);
}

static int flags_of(const struct call *call)
{
	if (prog_op(call) != OP_OPEN || call->mode & 1)
		return O_RDWR | O_NONBLOCK;
	return call->mode & 2 ? O_RDONLY : O_RDWR;
}

/* Make call @i. Returns the last one that was made: those of a child are left out. */
static int do_call(struct thread *self, int i)
{
	const struct call *call = &current->calls[i];
	enum op op = prog_op(call);
	struct slot *slot;
	long ret;

	self->at = i;
	kcov_reset(&self->kcov);
	slot = slot_of(call, flags_of(call));
	if (!slot)
		return i;
	ret = operations[op].run(self, call, slot);
	kcov_collect(&self->kcov, run.exec->cover, &run.exec->runs[self->nr], op);
	__atomic_add_fetch(run.exec->calls, 1, __ATOMIC_RELAXED);
	told(call, ret);
	return self->at;
}

/* Make up to @n calls of @self's, from @from on. */
static int do_calls(struct thread *self, int from, int n)
{
	int i;

	for (i = from; i < current->nr && n > 0; i++) {
		if (!is_mine(self, i))
			continue;
		i = do_call(self, i);
		n--;
	}
	return i;
}

static int start_tick(struct thread *self)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGUSR1,
	};

	event._sigev_un._tid = gettid();
	return timer_create(CLOCK_MONOTONIC, &event, &self->timer) ? -errno : 0;
}

/* Have this thread interrupted, or no longer: a program runs or has ended. */
static void tick(struct thread *self, bool on)
{
	struct itimerspec its = { 0 };

	if (on)
		its.it_interval.tv_nsec = (TICK_MS + self->nr) * TW_MSEC;
	its.it_value = its.it_interval;
	timer_settime(self->timer, 0, &its, NULL);
}

static void run_calls(struct thread *self, int from)
{
	tick(self, true);
	do_calls(self, from, PROG_CALLS);
	reap(self);
	tick(self, false);
}

static void *run_thread(void *arg)
{
	struct thread *self = arg;

	if (kcov_enable(&self->kcov) || start_tick(self))
		abort();
	for (;;) {
		pthread_barrier_wait(&begin);
		run_calls(self, first_call);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

/* Make the first calls, which set up what the threads then share. */
static int set_up(struct thread *self)
{
	int i;

	for (i = 0; i < current->nr; i++) {
		enum op op = prog_op(&current->calls[i]);

		if (op != OP_CONFIG && op != OP_OPEN && op != OP_MMAP)
			break;
		do_call(self, i);
	}
	return i;
}

/* No call is under way any more: check all contexts, and close them. */
static void finish(void)
{
	struct twheel_info info;
	int i;

	for (i = 0; i < SLOTS; i++) {
		if (run.slots[i].fd < 0)
			continue;
		info = tw_info(run.slots[i].fd);
		oracle_info(run.slots[i].ctx, &info, true);
	}
	for (i = 0; i < MAPS; i++) {
		if (run.maps[i].at)
			munmap(run.maps[i].at, run.maps[i].size);
		run.maps[i].at = NULL;
	}
	for (i = 0; i < SLOTS; i++) {
		if (run.slots[i].fd >= 0)
			close(run.slots[i].fd);
		run.slots[i].fd = -1;
	}
	memory_flip(7);
}

static bool has_op(const struct prog *prog, enum op op)
{
	int i;

	for (i = 0; i < prog->nr; i++)
		if (prog_op(&prog->calls[i]) == op)
			return true;
	return false;
}

void exec_run(const struct prog *prog)
{
	int i;

	current = prog;
	world_reset(run.world, !prog->threaded && !has_op(prog, OP_FORK));
	for (i = 0; i < PROG_THREADS; i++)
		cover_run_reset(&run.exec->runs[i]);

	if (prog->threaded) {
		first_call = set_up(&threads[0]);
		run.parallel = true;
		pthread_barrier_wait(&begin);
		run_calls(&threads[0], first_call);
		pthread_barrier_wait(&end);
		run.parallel = false;
	} else {
		run_calls(&threads[0], 0);
	}
	finish();
}

int exec_init(struct exec *e)
{
	int i, ret;

	run.exec = e;
	run.world = e->world;
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	real_at_start = tw_now(CLOCK_REALTIME);
	monotonic_at_start = tw_now(CLOCK_MONOTONIC);
	for (i = 0; i < SLOTS; i++)
		run.slots[i].fd = -1;
	if (!memory_init())
		return -ENOMEM;
	for (i = 0; i < PROG_THREADS; i++) {
		threads[i].nr = i;
		if (!memory_thread(&threads[i].memory))
			return -ENOMEM;
		ret = kcov_open(&threads[i].kcov);
		if (ret)
			return ret;
	}
	return 0;
}

int exec_start(void)
{
	struct sigaction action = { .sa_handler = ignore };
	int i, ret;

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	run.world->tick_ns = 1;
	i = tw_open();
	if (i < 0)
		return i;
	run.world->tick_ns = tw_info(i).tick_ns;
	close(i);

	pthread_barrier_init(&begin, NULL, PROG_THREADS);
	pthread_barrier_init(&end, NULL, PROG_THREADS);
	ret = kcov_enable(&threads[0].kcov);
	if (!ret)
		ret = start_tick(&threads[0]);
	for (i = 1; !ret && i < PROG_THREADS; i++)
		ret = -pthread_create(&threads[i].id, NULL, run_thread, &threads[i]);
	return ret;
}
