/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for the tests of the bare interface: thin wrappers of calls, and waits with a
 * limit.
 *
 * The wrappers return -errno instead of setting errno, so that one comparison checks them.
 * Nothing here sleeps for a fixed time.
 */
#ifndef TWHEEL_UTIL_H
#define TWHEEL_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/twheel.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

#define TW_DEVICE	"/dev/twheel"
#define TW_PARAMETERS	"/sys/module/twheel/parameters/"

#define TW_MSEC		1000000ULL
#define TW_SEC		1000000000ULL
/* So far ahead that no test ever sees it expire. */
#define TW_FAR		(24 * 3600 * TW_SEC)
/* The limit for anything that should happen at once. */
#define TW_LIMIT_MS	60000

static inline __u64 tw_now(clockid_t clock)
{
	struct timespec ts;

	/* If the kernel injects faults the system call may fail. */
	while (clock_gettime(clock, &ts))
		;
	return ts.tv_sec * TW_SEC + ts.tv_nsec;
}

/* For qsort(): compares two __u64. */
static inline int tw_compare(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return (x > y) - (x < y);
}

static inline int tw_call(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

static inline ssize_t tw_read(int fd, void *buf, size_t len)
{
	ssize_t ret = read(fd, buf, len);

	return ret < 0 ? -errno : ret;
}

static inline int tw_open(void)
{
	int fd = open(TW_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * The program's side of a lease's word, as <linux/twheel.h> describes it. These tests cover
 * the interface alone, and so do not use the functions of the library.
 */
static inline uint64_t tw_lease_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline bool tw_lease_expired(const uint64_t *word)
{
	return tw_lease_load(word) & TWHEEL_LEASE_EXPIRED;
}

static inline uint64_t tw_lease_deadline(const uint64_t *word)
{
	return (tw_lease_load(word) & TWHEEL_LEASE_UNITS_MASK) << TWHEEL_LEASE_UNIT_SHIFT;
}

static inline uint16_t tw_lease_tag(const uint64_t *word)
{
	return tw_lease_load(word) >> TWHEEL_LEASE_TAG_SHIFT & TWHEEL_LEASE_TAG_MASK;
}

/* The deadline of a lease that is armed for @deadline. */
static inline uint64_t tw_lease_round(uint64_t deadline)
{
	uint64_t units = (deadline >> TWHEEL_LEASE_UNIT_SHIFT) +
			 !!(deadline & ((1 << TWHEEL_LEASE_UNIT_SHIFT) - 1));

	return (units < TWHEEL_LEASE_UNITS_MASK ? units : TWHEEL_LEASE_UNITS_MASK) <<
	       TWHEEL_LEASE_UNIT_SHIFT;
}

/* What a word says of a lease with @tag that runs until @deadline. */
static inline uint64_t tw_lease_value(uint16_t tag, uint64_t deadline)
{
	return (uint64_t)tag << TWHEEL_LEASE_TAG_SHIFT |
	       tw_lease_round(deadline) >> TWHEEL_LEASE_UNIT_SHIFT;
}

/* Returns whether the lease with @tag goes on, until @deadline or later. */
static inline bool tw_lease_extend_own(uint64_t *word, uint16_t tag, uint64_t deadline)
{
	uint64_t old = tw_lease_load(word), new = tw_lease_value(tag, deadline);

	while (old >> TWHEEL_LEASE_TAG_SHIFT == tag && old < new)
		if (__atomic_compare_exchange_n(word, &old, new, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return true;
	return old >> TWHEEL_LEASE_TAG_SHIFT == tag;
}

/* The same, where the word is known to be that of the lease. */
static inline bool tw_lease_extend(uint64_t *word, uint64_t deadline)
{
	return tw_lease_extend_own(word, tw_lease_tag(word), deadline);
}

/* Makes a request whose output fields hold rubbish, which the kernel has to overwrite. */
static inline struct twheel_arm tw_request(__u64 expires, __u16 flags, __u64 user_data)
{
	struct twheel_arm arm;

	memset(&arm, 0xcc, sizeof(arm));
	arm.handle = 0;
	arm.user_data = user_data;
	arm.expires = expires;
	arm.interval = 0;
	arm.slack = 0;
	arm.count = 0;
	arm.flags = flags;
	return arm;
}

/* The same for the timer with this @handle, or key. */
static inline struct twheel_arm tw_request_for(__u64 handle, __u64 expires, __u16 flags,
					       __u64 user_data)
{
	struct twheel_arm arm = tw_request(expires, flags, user_data);

	arm.handle = handle;
	return arm;
}

/* The same for a cancel. */
static inline struct twheel_cancel tw_cancel_request(__u64 handle)
{
	struct twheel_cancel cancel;

	memset(&cancel, 0xcc, sizeof(cancel));
	cancel.handle = handle;
	cancel.flags = 0;
	cancel.reserved = 0;
	return cancel;
}

/* Arms a one-shot timer; returns its handle, or 0 after a failure. */
static inline __u64 tw_arm(int fd, __u64 expires, __u16 flags, __u64 user_data)
{
	struct twheel_arm arm = tw_request(expires, flags, user_data);

	return tw_call(fd, TWHEEL_IOC_ARM, &arm) ? 0 : arm.handle;
}

/* Arms or cancels @count @entries by @cmd. Returns how many were handled, or -errno. */
static inline int tw_batch(int fd, unsigned long cmd, void *entries, __u32 count)
{
	struct twheel_batch batch = { .entries = (unsigned long)entries, .count = count };

	return tw_call(fd, cmd, &batch);
}

static inline int tw_arm_batch(int fd, struct twheel_arm *arms, __u32 count)
{
	return tw_batch(fd, TWHEEL_IOC_ARM_BATCH, arms, count);
}

static inline int tw_cancel(int fd, __u64 handle)
{
	struct twheel_cancel cancel = { .handle = handle };

	return tw_call(fd, TWHEEL_IOC_CANCEL, &cancel);
}

static inline int tw_get(int fd, __u64 handle, struct twheel_timer_info *info)
{
	memset(info, 0xcc, sizeof(*info));
	info->handle = handle;
	return tw_call(fd, TWHEEL_IOC_GET, info);
}

/*
 * Converts @clock, as clock_gettime() takes it, to the number that TWHEEL_IOC_CONFIG takes.
 */
static inline __u32 tw_config_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME ? TWHEEL_CLOCK_REALTIME : clock;
}

static inline int tw_config(int fd, clockid_t clock, __u64 limit)
{
	struct twheel_config config = { .clock = tw_config_clock(clock), .limit = limit };

	return tw_call(fd, TWHEEL_IOC_CONFIG, &config);
}

static inline int tw_configure(int fd, clockid_t clock, __u32 flags)
{
	struct twheel_config config = { .clock = tw_config_clock(clock), .flags = flags };

	return tw_call(fd, TWHEEL_IOC_CONFIG, &config);
}

/* After a failure every field is all ones, which no test expects. */
static inline struct twheel_info tw_info(int fd)
{
	struct twheel_info info;

	memset(&info, 0xcc, sizeof(info));
	info.flags = 0;
	if (tw_call(fd, TWHEEL_IOC_GET_INFO, &info))
		memset(&info, 0xff, sizeof(info));
	return info;
}

/* Is this built for an embedded wheel: see selftests/embedded. */
#ifdef EMBEDDED_TESTS
#define TW_EMBEDDED	true
#else
#define TW_EMBEDDED	false
#endif

/* What poll() reports while there is something to read. */
#define TW_READABLE	(POLLIN | POLLRDNORM)

/* Returns the events that poll() reported, or 0 after @limit_ms. */
static inline int tw_poll(int fd, int limit_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLRDNORM };
	int ret;

	do {
		ret = poll(&pfd, 1, limit_ms);
	} while (ret < 0 && errno == EINTR);
	return ret > 0 ? pfd.revents : 0;
}

/* Waits until @condition holds, or the limit has passed. Evaluates to whether it holds. */
#define tw_await(condition) \
({ \
	__u64 limit_ = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC; \
	bool holds_; \
\
	while (!(holds_ = (condition)) && tw_now(CLOCK_MONOTONIC) <= limit_) \
		sched_yield(); \
	holds_; \
})

/* Waits until @want timers are ready at the same time. Returns whether that happened. */
static inline bool tw_wait_ready(int fd, __u64 want)
{
	return tw_await(tw_info(fd).ready >= want);
}

/* Waits until this user has no timers any more. Returns whether that happened. */
static inline bool tw_all_given_back(int fd)
{
	return tw_await(!tw_info(fd).user_timers);
}

/* Waits for @pid. Returns its exit status, or -1 if it did not exit. */
static inline int tw_status_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Does thread @tid of this process sleep? */
static inline bool tw_sleeps(pid_t tid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%*d %*s %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

/*
 * Passes @fd over @sock together with @byte, with @flags as for sendmsg(). Returns 0 or
 * -errno.
 */
static inline int tw_send_fd(int sock, int fd, char byte, int flags)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, flags) == 1 ? 0 : -errno;
}

/*
 * Receives what tw_send_fd() has sent, with @flags as for recvmsg(). Returns the descriptor, or
 * -errno: -ENOMSG if it did not come along, as there was no memory for it.
 */
static inline int tw_receive_fd(int sock, char *byte, int flags)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -ENOMSG;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/*
 * Reads until there are @want records or the limit has passed, and never asks for more.
 * Returns how many there are.
 */
static inline size_t tw_collect(int fd, struct twheel_event *events, size_t want)
{
	size_t got = 0;
	ssize_t ret;

	while (got < want) {
		ret = tw_read(fd, events + got, (want - got) * sizeof(*events));
		if (ret == -EAGAIN && tw_poll(fd, TW_LIMIT_MS))
			continue;
		if (ret <= 0)
			break;
		got += ret / sizeof(*events);
	}
	return got;
}

/*
 * Counts @n records of one-shot timers on CLOCK_MONOTONIC by user_data. Returns false if one
 * of them is not plausible.
 */
static inline bool tw_count_records(const void *records, int n, unsigned int *seen, __u64 max)
{
	__u64 now = tw_now(CLOCK_MONOTONIC);
	struct twheel_event event;
	int i;

	for (i = 0; i < n; i++) {
		memcpy(&event, (const char *)records + i * sizeof(event), sizeof(event));
		if (event.user_data >= max || event.expirations != 1 ||
		    event.flags != TWHEEL_EVENT_LAST || event.reserved || !event.handle ||
		    event.expired < event.deadline || now < event.expired)
			return false;
		seen[event.user_data]++;
	}
	return true;
}

/* Returns whether each of @n was counted once. */
static inline bool tw_all_once(const unsigned int *seen, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (seen[i] != 1)
			return false;
	return true;
}

/*
 * Lets @ns pass by waiting for a timer in a context of its own. All timers on this CPU that
 * were due by then have expired.
 */
static inline bool tw_pass(__u64 ns)
{
	struct twheel_event event;
	int fd = tw_open();
	bool ok;

	if (fd < 0)
		return false;
	ok = tw_arm(fd, ns, 0, 0) && tw_collect(fd, &event, 1) == 1;
	close(fd);
	return ok;
}

/* Returns the n-th (from 0) of the CPUs that this thread may use now, or -1. */
static inline int tw_nth_cpu(int n)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && n-- == 0)
			return cpu;
	return -1;
}

/* Adds the CPUs of a list in the format of the kernel, like "2-3,5", to @set. */
static inline void tw_add_cpus(const char *path, cpu_set_t *set)
{
	FILE *file = fopen(path, "re");
	int from, to;
	char next;

	if (!file)
		return;
	while (fscanf(file, "%d", &from) == 1) {
		to = from;
		if (fscanf(file, "-%d", &to) < 0)
			to = from;
		for (; from <= to && from < CPU_SETSIZE; from++)
			CPU_SET(from, set);
		if (fscanf(file, "%c", &next) != 1 || next != ',')
			break;
	}
	fclose(file);
}

/* Fills @set with the CPUs that isolcpus=, nohz_full= or a cpuset isolates. */
static inline void tw_isolated_cpus(cpu_set_t *set)
{
	CPU_ZERO(set);
	tw_add_cpus("/sys/devices/system/cpu/isolated", set);
	tw_add_cpus("/sys/devices/system/cpu/nohz_full", set);
}

static inline bool tw_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/* Stays on this CPU: what ends here is the next that is made here. */
static inline bool tw_stay(void)
{
	return tw_pin(sched_getcpu());
}

/*
 * Arms @n timers at @deadlines with their index as user_data, on each CPU that this thread
 * may use in turn. Returns whether all were armed.
 */
static inline bool tw_arm_everywhere(int fd, const __u64 *deadlines, int n)
{
	int nr = 0, cpu, i;
	cpu_set_t all;
	bool ok;

	ok = sched_getaffinity(0, sizeof(all), &all) == 0;
	for (cpu = 0; ok && cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		ok = tw_pin(cpu);
		for (i = nr++; ok && i < n; i += CPU_COUNT(&all))
			ok = tw_arm(fd, deadlines[i], TWHEEL_ARM_ABS, i);
	}
	return sched_setaffinity(0, sizeof(all), &all) == 0 && ok;
}

/*
 * Returns @pages writable pages with an unmapped page behind them, for buffers that end
 * where the memory does.
 */
static inline char *tw_guarded(size_t pages)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	munmap(map + pages * page, page);
	return map;
}

/* Writes @text to a file of the kernel. Returns 0 or -errno. */
static inline int tw_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* Has a CPU go or come. Returns 0 or -errno. */
static inline int tw_set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return tw_write_file(path, online ? "1" : "0");
}

/*
 * Returns whether this is a debug kernel, on which everything may take ten times as long.
 */
static inline bool tw_debug_kernel(void)
{
	return !access("/proc/lockdep_stats", F_OK) || !access("/sys/module/kcsan", F_OK);
}

/*
 * Opens the log of the kernel for tw_kernel_says(), from its end on. The caller closes it.
 */
static inline int tw_kernel_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Returns whether the log has had any of these @words since the last call. */
static inline bool tw_kernel_says(int kmsg, const char *const *words, size_t nr)
{
	char line[1024];
	bool said = false;
	ssize_t n;
	size_t i;

	/* EPIPE means that some lines were overwritten before they were read. */
	while ((n = read(kmsg, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		line[n > 0 ? n : 0] = '\0';
		for (i = 0; i < nr; i++)
			said |= !!strstr(line, words[i]);
	}
	return said;
}

/* A small generator. The tests need many random numbers, not good ones. */
static inline __u64 tw_random(__u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif /* TWHEEL_UTIL_H */
