// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callers that stall half way, while a copy from or to user memory waits for a page fault that
 * nobody answers (userfaultfd). They hold up nobody else, not even users of the same context, and
 * can be killed there. That a reader who stalls leaves its wake-up to the next one is for
 * selftests/sim.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>

#include "hostile.h"

#define PAGE	4096UL

enum kind {
	CALL_INFO, CALL_CONFIG, CALL_ARM, CALL_REARM, CALL_ARM_BATCH, CALL_CANCEL,
	CALL_CANCEL_BATCH, CALL_GET, CALL_LIST, CALL_DRAIN, CALL_READ, NR_CALLS,
};

static const char * const names[NR_CALLS] = {
	"info", "config", "arm", "re-arm", "arm batch", "cancel", "cancel batch", "get",
	"list", "drain", "read",
};

/**
 * struct stalled - a thread that will stall
 * @fd: the context
 * @call: the call in which it stalls
 * @mem: memory for the call: a page that stalls
 * @handle: a timer of the context
 * @ret: what the call returned
 * @done: the call has returned
 */
struct stalled {
	int fd;
	enum kind call;
	void *mem;
	__u64 handle;
	int ret;
	int done;
};

static int carry_out(const struct stalled *s)
{
	struct twheel_list list = {
		.entries = (unsigned long)s->mem, .count = 4,
		.flags = s->call == CALL_DRAIN ? TWHEEL_LIST_DRAIN : 0,
	};

	switch (s->call) {
	case CALL_INFO:
		return tw_call(s->fd, TWHEEL_IOC_GET_INFO, s->mem);
	case CALL_CONFIG:
		return tw_call(s->fd, TWHEEL_IOC_CONFIG, s->mem);
	case CALL_ARM:
	case CALL_REARM:
		return tw_call(s->fd, TWHEEL_IOC_ARM, s->mem);
	case CALL_ARM_BATCH:
		return tw_batch(s->fd, TWHEEL_IOC_ARM_BATCH, s->mem, 1);
	case CALL_CANCEL:
		return tw_call(s->fd, TWHEEL_IOC_CANCEL, s->mem);
	case CALL_CANCEL_BATCH:
		return tw_batch(s->fd, TWHEEL_IOC_CANCEL_BATCH, s->mem, 1);
	case CALL_GET:
		return tw_call(s->fd, TWHEEL_IOC_GET, s->mem);
	case CALL_LIST:
	case CALL_DRAIN:
		return tw_call(s->fd, TWHEEL_IOC_LIST, &list);
	default:
		return tw_read(s->fd, s->mem, 4 * sizeof(struct twheel_event));
	}
}

/* Writes the call's argument to @page. Returns what the call has to return once it may go on. */
static int prepare(const struct stalled *s, void *page)
{
	struct twheel_cancel cancel = { .handle = s->handle };
	struct twheel_timer_info info = { .handle = s->handle };
	struct twheel_config config = { .clock = CLOCK_MONOTONIC };
	struct twheel_arm arm = tw_request(TW_FAR, 0, 99);

	memset(page, 0, PAGE);
	switch (s->call) {
	case CALL_INFO:
		return 0;
	case CALL_CONFIG:
		memcpy(page, &config, sizeof(config));
		return -EBUSY;
	case CALL_ARM:
	case CALL_REARM:
	case CALL_ARM_BATCH:
		if (s->call == CALL_REARM)
			arm.handle = s->handle;
		memcpy(page, &arm, sizeof(arm));
		return s->call == CALL_ARM_BATCH;
	case CALL_CANCEL:
	case CALL_CANCEL_BATCH:
		memcpy(page, &cancel, sizeof(cancel));
		return s->call == CALL_CANCEL_BATCH;
	case CALL_GET:
		memcpy(page, &info, sizeof(info));
		return 0;
	case CALL_LIST:
	case CALL_DRAIN:
		return 1;
	default:
		return sizeof(struct twheel_event);
	}
}

static void *stall(void *arg)
{
	struct stalled *s = arg;

	s->ret = carry_out(s);
	set(&s->done);
	return NULL;
}

FIXTURE(stall)
{
	int fault_fd;
	void *mem;
};

FIXTURE_VARIANT(stall)
{
	/* Whether to stall at the first write instead of at the first access. */
	bool on_write;
};

VARIANT(stall, reads_and_writes) {};
VARIANT(stall, writes) { .on_write = true };

/*
 * Maps a page of this process in which each page fault waits for an answer, after one in which
 * none does. Returns NULL, or why that is not possible.
 */
static const char *make_stalling(const FIXTURE_VARIANT(stall) * variant, int *fd, void **mem)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = variant->on_write ? UFFD_FEATURE_PAGEFAULT_FLAG_WP : 0,
	};
	struct uffdio_register range = {
		.mode = variant->on_write ? UFFDIO_REGISTER_MODE_WP : UFFDIO_REGISTER_MODE_MISSING,
	};

	*fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return "no userfaultfd for faults of the kernel's";
	if (ioctl(*fd, UFFDIO_API, &api))
		return "userfaultfd cannot do that";
	*mem = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*mem += PAGE;
	range.range.start = (unsigned long)*mem;
	range.range.len = PAGE;
	return ioctl(*fd, UFFDIO_REGISTER, &range) ? "userfaultfd cannot do that" : NULL;
}

/* Fills the page with @content and makes it stall. */
static bool lay(const FIXTURE_DATA(stall) * self, bool on_write, const void *content)
{
	struct uffdio_writeprotect protect = {
		.range = { (unsigned long)self->mem, PAGE },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	madvise(self->mem, PAGE, MADV_DONTNEED);
	if (!on_write)
		return true;
	memcpy(self->mem, content, PAGE);
	return ioctl(self->fault_fd, UFFDIO_WRITEPROTECT, &protect) == 0;
}

/* Waits until a thread stalls in that memory. Returns whether one does. */
static bool stalls(const FIXTURE_DATA(stall) * self)
{
	struct uffd_msg msg;

	return tw_poll(self->fault_fd, TW_LIMIT_MS) &&
	       read(self->fault_fd, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT;
}

static void release(const FIXTURE_DATA(stall) * self, bool on_write, const void *content)
{
	struct uffdio_range range = { (unsigned long)self->mem, PAGE };
	struct uffdio_writeprotect protect = { .range = range };
	struct uffdio_copy copy = {
		.dst = range.start, .src = (unsigned long)content, .len = PAGE,
	};

	if (on_write)
		ioctl(self->fault_fd, UFFDIO_WRITEPROTECT, &protect);
	else
		ioctl(self->fault_fd, UFFDIO_COPY, &copy);
}

FIXTURE_SETUP(stall)
{
	const char *reason = obstacle() ?: make_stalling(variant, &self->fault_fd, &self->mem);

	if (reason)
		SETUP_SKIP("%s", reason);
}

FIXTURE_TEARDOWN(stall)
{
	close(self->fault_fd);
}

/* Returns whether another user's timers on all CPUs are served. */
static bool others_are_served(void)
{
	bool ok = true;
	cpu_set_t all;
	int cpu;

	sched_getaffinity(0, sizeof(all), &all);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			ok = tw_pin(cpu) && is_served(VICTIM) && ok;
	return sched_setaffinity(0, sizeof(all), &all) == 0 && ok;
}

/* Returns whether all calls on a context work. */
static bool is_usable(int fd)
{
	struct twheel_timer_info info;
	struct twheel_list list = { .entries = (unsigned long)&info, .count = 1 };
	__u64 handle = tw_arm(fd, TW_FAR, 0, 5);
	struct twheel_arm arm = tw_request_for(handle, 2 * TW_FAR, 0, 6);

	return handle && !tw_call(fd, TWHEEL_IOC_ARM, &arm) && !tw_get(fd, handle, &info) &&
	       tw_call(fd, TWHEEL_IOC_LIST, &list) == 1 && tw_info(fd).pending &&
	       !tw_cancel(fd, handle);
}

/* Prepares a context with a timer, which is pending or, for a read, ready. */
static void begin(struct stalled *s, enum kind call, void *mem)
{
	memset(s, 0, sizeof(*s));
	s->fd = tw_open();
	s->call = call;
	s->mem = mem;
	s->handle = tw_arm(s->fd, call == CALL_READ ? 0 : TW_FAR, 0, 99);
}

TEST_F(stall, holds_up_nobody)
{
	struct twheel_event event;
	char content[PAGE];
	struct stalled s;
	pthread_t thread;
	int call, want;

	for (call = 0; call < NR_CALLS; call++) {
		/* This call stores nothing. */
		if (variant->on_write && call == CALL_CONFIG)
			continue;
		begin(&s, call, self->mem);
		ASSERT_NE(0, s.handle);
		want = prepare(&s, content);
		ASSERT_TRUE(lay(self, variant->on_write, content));
		ASSERT_EQ(0, pthread_create(&thread, NULL, stall, &s));
		ASSERT_TRUE(stalls(self)) {
			TH_LOG("%s does not stall", names[call]);
		}
		EXPECT_TRUE(others_are_served()) {
			TH_LOG("in %s", names[call]);
		}
		EXPECT_TRUE(is_usable(s.fd)) {
			TH_LOG("in %s", names[call]);
		}
		/* The record that the call has not got is there for other readers. */
		if (call == CALL_READ) {
			EXPECT_EQ(1, tw_info(s.fd).ready);
			EXPECT_EQ(1, tw_collect(s.fd, &event, 1));
			EXPECT_EQ(99, event.user_data);
			EXPECT_NE(0, tw_arm(s.fd, 0, 0, 100));
		}
		EXPECT_EQ(0, __atomic_load_n(&s.done, __ATOMIC_ACQUIRE));
		release(self, variant->on_write, content);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_EQ(want, s.ret) {
			TH_LOG("%s: %d", names[call], s.ret);
		}
		if (call == CALL_READ)
			EXPECT_EQ(100, ((struct twheel_event *)self->mem)->user_data);
		close(s.fd);
	}
}

/* Stalled callers that are killed leave nothing behind. */
TEST_F(stall, can_be_killed)
{
	struct uffdio_range range;
	char content[PAGE];
	struct stalled s;
	int call, error, ready[2];
	char byte = 0;
	pid_t pid;

	range = (struct uffdio_range) { (unsigned long)self->mem, PAGE };
	ASSERT_EQ(0, ioctl(self->fault_fd, UFFDIO_UNREGISTER, &range));
	for (call = 0; call < NR_CALLS; call++) {
		if (variant->on_write && call == CALL_CONFIG)
			continue;
		ASSERT_EQ(0, pipe(ready));
		ASSERT_FORKED(pid);
		if (pid == 0) {
			pthread_t thread;

			/*
			 * The process needs a userfaultfd of its own, as that covers only
			 * the memory of its maker.
			 */
			if (make_stalling(variant, &self->fault_fd, &self->mem) ||
			    !become(NOBODY))
				_exit(1);
			begin(&s, call, self->mem);
			prepare(&s, content);
			if (arm_far(s.fd, 1000, &error) != 1000 ||
			    !lay(self, variant->on_write, content) ||
			    pthread_create(&thread, NULL, stall, &s) || !stalls(self) ||
			    write(ready[1], &byte, 1) != 1)
				_exit(2);
			pause();
		}
		close(ready[1]);
		ASSERT_EQ(1, read(ready[0], &byte, 1)) {
			TH_LOG("%s: exit status %d", names[call], tw_status_of(pid));
		}
		close(ready[0]);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		EXPECT_TRUE(nothing_left(NOBODY)) {
			TH_LOG("in %s", names[call]);
		}
	}
}

TEST_HARNESS_MAIN
