// SPDX-License-Identifier: GPL-2.0-only
/* Which system calls libtwheel needs, and that containers allow them. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib_util.h"

/**
 * struct call - a system call that programs with libtwheel make
 * @name: its name in Documentation/deployment.md
 * @number: its number
 * @needed: without it the library fails
 */
struct call {
	const char	*name;
	int		number;
	bool		needed;
};

static const struct call calls[] = {
	{ "openat",		__NR_openat,		true },
	{ "ioctl",		__NR_ioctl,		true },
	{ "mmap",		__NR_mmap,		true },
#ifdef __NR_poll
	{ "poll",		__NR_poll,		true },
#endif
	{ "read",		__NR_read,		true },
	{ "write",		__NR_write,		true },
	{ "preadv2",		__NR_preadv2,		true },
	{ "ppoll",		__NR_ppoll,		true },
	{ "munmap",		__NR_munmap,		false },
	{ "close",		__NR_close,		false },
	{ "brk",		__NR_brk,		false },
	{ "clock_gettime",	__NR_clock_gettime,	false },
	{ "exit_group",		__NR_exit_group,	false },
};

/*
 * What container engines allow by default, whatever capabilities a container has: the Makefile
 * makes this of the file container-calls.
 */
static const int container[] = {
#if __has_include("container-calls.h")
#include "container-calls.h"
#endif
};

/* Refuses with EPERM all system calls but these, and of these the one at @without. */
static int allow_only(const int *numbers, size_t n, size_t without)
{
	struct sock_filter *code = calloc(2 * n + 2, sizeof(*code));
	struct sock_fprog program = { .filter = code };
	size_t i;

	if (!code)
		return -ENOMEM;
	*code++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	for (i = 0; i < n; i++) {
		if (i == without)
			continue;
		*code++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i],
						       0, 1);
		*code++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	*code++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	program.len = code - program.filter;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return 0;
}

/*
 * Opens, arms a timer, pushes it back, and reads nothing for @timeout; arms a lease, extends it,
 * waits until it is over, reads that and closes.
 */
static int use_library(unsigned int flags, uint64_t timeout)
{
	const struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };
	struct pollfd ready = { .events = POLLIN };
	struct twheel_event event;
	struct twheel *tw;
	struct twheel_lease lease;
	uint64_t handle;
	ssize_t ret;

	ret = twheel_open(&tw, NULL, flags | TWHEEL_OPEN_CLOEXEC, &config);
	if (ret)
		return ret;
	ret = twheel_arm_after(tw, 3600 * SEC, 8, &handle);
	if (!ret)
		ret = twheel_push(tw, handle, twheel_now(tw) + 7200 * SEC);
	if (!ret)
		ret = twheel_read_timeout(tw, &event, 1, timeout);
	if (!ret)
		ret = twheel_lease_new(tw, 50 * MSEC, 0, 7, NULL, &lease, NULL);
	if (!ret) {
		/* On a slow machine this may be too late, and that is no error. */
		twheel_lease_extend(lease, twheel_now(tw) + 50 * MSEC);
		ready.fd = twheel_fd(tw);
		/* A wheel in the process wakes its program in vain now and then. */
		do {
			ret = poll(&ready, 1, LIMIT / 2 / MSEC);
			ret = ret == 1 ? twheel_read(tw, &event, 1) : ret ? -errno : -ETIME;
		} while (ret == -EAGAIN);
		if (ret >= 0)
			ret = ret == 1 && event.user_data == 7 ? 0 : -EIO;
	}
	twheel_close(tw);
	return ret;
}

/* The error of use_library() in a process that may only do this; -1 if it ended otherwise. */
static int error_with(const int *numbers, size_t n, size_t without, unsigned int flags)
{
	/* However slow the machine is, it is not over before the library waits. */
	uint64_t timeout = without < n && numbers[without] == __NR_ppoll ? LIMIT : MSEC;
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (allow_only(numbers, n, without))
			_exit(255);
		_exit(-use_library(flags, timeout));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#define ALL	SIZE_MAX

/* Kernels that are made for tests may lack filters. */
static bool has_filters(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) && errno == EFAULT;
}

#define NO_FILTERS	"the kernel has no filters of system calls"

TEST(containers_allow_what_it_needs)
{
	if (!has_filters())
		SKIP(return, NO_FILTERS);
	EXPECT_EQ(0, error_with(container, ARRAY_SIZE(container), ALL, 0));
	EXPECT_EQ(0, error_with(container, ARRAY_SIZE(container), ALL, TWHEEL_OPEN_EMBEDDED));
}

/* That the filter refuses something is what the next test is worth. */
TEST(containers_refuse_others)
{
	if (!has_filters())
		SKIP(return, NO_FILTERS);
	ASSERT_EQ(0, allow_only(container, ARRAY_SIZE(container), ALL));
	EXPECT_EQ(-1, mount("none", "/nowhere", "tmpfs", 0, NULL));
	EXPECT_EQ(EPERM, errno);
}

TEST(these_are_enough_and_each_is_needed)
{
	int numbers[ARRAY_SIZE(calls)];
	size_t i;

	if (!has_filters())
		SKIP(return, NO_FILTERS);
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		numbers[i] = calls[i].number;
	ASSERT_EQ(0, error_with(numbers, ARRAY_SIZE(calls), ALL, 0));

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		int error;

		/* A process without it could not end and tell. */
		if (calls[i].number == __NR_exit_group)
			continue;
		error = error_with(numbers, ARRAY_SIZE(calls), i, 0);
		EXPECT_EQ(calls[i].needed ? EPERM : 0, error) {
			TH_LOG("without %s", calls[i].name);
		}
	}
}

/* Those of a wheel in the process, as Documentation/deployment.md has them */
TEST(in_the_process_these_are_enough)
{
	static const int more[] = {
		__NR_timerfd_create, __NR_timerfd_settime, __NR_eventfd2, __NR_epoll_create1,
		__NR_epoll_ctl, __NR_futex, __NR_sysinfo, __NR_fcntl,
	};
	const unsigned int embedded = TWHEEL_OPEN_EMBEDDED;
	int numbers[ARRAY_SIZE(calls) + ARRAY_SIZE(more)];
	size_t i, n = 0;

	if (!has_filters())
		SKIP(return, NO_FILTERS);
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		numbers[n++] = calls[i].number;
	for (i = 0; i < ARRAY_SIZE(more); i++)
		numbers[n++] = more[i];
	EXPECT_EQ(0, error_with(numbers, n, ALL, embedded));
	EXPECT_EQ(0, error_with(numbers, n, ALL, embedded | TWHEEL_OPEN_NONBLOCK));
	/* fcntl */
	EXPECT_EQ(EPERM, error_with(numbers, n, n - 1, embedded | TWHEEL_OPEN_NONBLOCK));
}

TEST_HARNESS_MAIN
