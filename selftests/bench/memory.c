// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory: what a pending timer costs the kernel, of several facilities.
 *
 *	memory FACILITY N
 *
 * FACILITY is twheel, twheel-keyed, twheel-lease (its words mapped and touched), timerfd
 * (each in an epoll set), posix (timers that send a signal) or io_uring (timeouts).
 *
 * Takes the difference of the machine's free memory before and after N timers were armed,
 * once the caches were dropped and the figure has come to rest: so everything counts,
 * descriptors and page tables among it, but also what others take meanwhile. The first
 * timer is armed before, as it allocates what all share. What this program itself needs for
 * any number of timers is in use by then. That none has expired or is missing is checked.
 *
 * Free is MemFree of /proc/meminfo and the pages that CPUs keep at hand, which are in
 * /proc/zoneinfo only and come to megabytes. MemAvailable would not do: it counts part of
 * the slabs as free.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#ifdef HAVE_LIBURING
#include <liburing.h>
#endif

#include "situations.h"

/* How far the free memory may move in a tenth of a second, in bytes, and be at rest. */
#define REST		(128 * 1024)
#define REST_LIMIT	50
#define FEWER		100000UL

/**
 * struct facility - one kind of timer
 * @name: as on the command line
 * @flags: of the context, for twheel
 * @guess: upper estimate of the bytes for a timer, to see whether so many fit
 * @arm: arm this many more, a day ahead; returns 0 or -errno
 * @check: fail unless this many are pending
 */
struct facility {
	const char *name;
	__u32 flags;
	unsigned int guess;
	int (*arm)(unsigned long n);
	void (*check)(unsigned long n);
};

static const struct facility *facility;
static struct timespec far;
static int fd = -1;

/* What is free in all zones, and what each CPU has taken from there and not used yet. */
static unsigned long long free_bytes(void)
{
	unsigned long long pages = 0, n;
	char line[256];
	FILE *f;

	/* The counters of each CPU are added up now and then, or when that is asked for. */
	tw_write_file("/proc/sys/vm/stat_refresh", "1");
	f = fopen("/proc/zoneinfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " pages free %llu", &n) == 1 ||
		    sscanf(line, " count: %llu", &n) == 1)
			pages += n;
	if (!pages)
		fail("/proc/zoneinfo", errno);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* What is freed late, by RCU or by workers, moves it for a while. */
static unsigned long long free_at_rest(void)
{
	unsigned long long last, now = free_bytes();
	int i;

	for (i = 0; i < REST_LIMIT; i++) {
		last = now;
		usleep(100000);
		now = free_bytes();
		if (now - last + REST < 2 * REST)
			return now;
	}
	printf("# memory: %s: the free memory did not come to rest\n", facility->name);
	return now;
}

static int arm_twheel(unsigned long n)
{
	static struct twheel_arm arms[BATCH];
	static __u64 key;
	__u32 flags = facility->flags & TWHEEL_CONFIG_LEASE ? TWHEEL_ARM_LEASE : 0;
	unsigned long done, nr, i;
	int error = 0;

	if (fd < 0) {
		fd = open_timers(facility->flags);
		memset(arms, 0, sizeof(arms));
	}
	for (done = 0; done < n && !error; done += nr) {
		nr = n - done < BATCH ? n - done : BATCH;
		for (i = 0; i < nr; i++) {
			arms[i] = tw_request(TW_FAR, flags, key);
			if (facility->flags & TWHEEL_CONFIG_KEYED)
				arms[i].handle = key;
			key++;
		}
		error = arm_batch(fd, arms, nr);
	}
	return error;
}

static void check_twheel(unsigned long n)
{
	struct twheel_info info = tw_info(fd);

	if (info.pending != n || info.ready)
		fail("number of pending timers", 0);
}

/* Of 64 words the first is not used: so many words have one for each lease. */
static size_t nr_words(unsigned long n)
{
	return (n + 62) / 63 * 64;
}

static int arm_lease(unsigned long n)
{
	static unsigned long armed;
	volatile uint64_t *words;
	size_t i, size;
	int error = arm_twheel(n);

	armed += n;
	if (error || armed == 1)
		return error;
	size = nr_words(armed) * sizeof(*words);
	words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		return -errno;
	for (i = 0; i < nr_words(armed); i += 512)
		(void)words[i];
	return 0;
}

static void check_lease(unsigned long n)
{
	__u64 now = tw_now(CLOCK_MONOTONIC);
	uint64_t *words;
	size_t i, size = nr_words(n) * sizeof(*words);
	unsigned long live = 0;

	check_twheel(n);
	words = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		fail("mmap", errno);
	for (i = 0; i < nr_words(n); i++)
		live += !tw_lease_expired(&words[i]) && tw_lease_deadline(&words[i]) > now;
	if (live != n)
		fail("number of leases", 0);
}

static int last_timer;
static unsigned long nr_timerfd;

static int arm_timerfd(unsigned long n)
{
	const struct itimerspec setting = { .it_value = far };
	struct epoll_event event = { .events = EPOLLIN };

	if (fd < 0)
		fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (; n--; nr_timerfd++) {
		last_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		if (last_timer < 0)
			return -errno;
		event.data.fd = last_timer;
		if (epoll_ctl(fd, EPOLL_CTL_ADD, last_timer, &event) ||
		    timerfd_settime(last_timer, 0, &setting, NULL))
			return -errno;
	}
	return 0;
}

static void check_timerfd(unsigned long n)
{
	struct itimerspec left;
	struct epoll_event event;

	if (nr_timerfd != n || timerfd_gettime(last_timer, &left) ||
	    !left.it_value.tv_sec || epoll_wait(fd, &event, 1, 0))
		fail("the pending timers", 0);
}

static timer_t last_posix;
static unsigned long nr_posix;

static int arm_posix(unsigned long n)
{
	const struct itimerspec setting = { .it_value = far };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };

	for (; n--; nr_posix++)
		if (timer_create(CLOCK_MONOTONIC, &event, &last_posix) ||
		    timer_settime(last_posix, 0, &setting, NULL))
			return -errno;
	return 0;
}

static void check_posix(unsigned long n)
{
	struct itimerspec left;

	if (nr_posix != n || timer_gettime(last_posix, &left) || !left.it_value.tv_sec)
		fail("the pending timers", 0);
}

#ifdef HAVE_LIBURING

#define ENTRIES	1024

static struct io_uring ring;
static unsigned long nr_uring;

static int arm_uring(unsigned long n)
{
	static struct __kernel_timespec ts;
	struct io_uring_sqe *sqe;
	int ret;

	if (!nr_uring) {
		ret = io_uring_queue_init(ENTRIES, &ring, 0);
		if (ret)
			return ret;
		ts.tv_sec = far.tv_sec;
		/* The queue is the program's own, for any number of timers. */
		memset(ring.sq.sqes, 0, ENTRIES * sizeof(*sqe));
	}
	while (n) {
		for (ret = 0; n && ret < ENTRIES; ret++, n--) {
			sqe = io_uring_get_sqe(&ring);
			io_uring_prep_timeout(sqe, &ts, 0, 0);
			io_uring_sqe_set_data64(sqe, nr_uring++);
		}
		if (io_uring_submit(&ring) != ret)
			return -EIO;
	}
	return 0;
}

static void check_uring(unsigned long n)
{
	/* One that could not be armed would have a completion. */
	if (nr_uring != n || io_uring_cq_ready(&ring) || io_uring_cq_has_overflow(&ring))
		fail("the pending timeouts", 0);
}

#else

static int arm_uring(unsigned long n)
{
	(void)n;
	return -EOPNOTSUPP;
}

static void check_uring(unsigned long n)
{
	fail("number of timeouts", n ? EOPNOTSUPP : 0);
}

#endif

static const struct facility facilities[] = {
	{ "twheel", 0, 128, arm_twheel, check_twheel },
	{ "twheel-keyed", TWHEEL_CONFIG_KEYED, 192, arm_twheel, check_twheel },
	{ "twheel-lease", TWHEEL_CONFIG_LEASE, 128, arm_lease, check_lease },
	{ "timerfd", 0, 1300, arm_timerfd, check_timerfd },
	{ "posix", 0, 600, arm_posix, check_posix },
	{ "io_uring", 0, 600, arm_uring, check_uring },
};

static void cannot(unsigned long n, const char *reason)
{
	printf("memory\t%s\t%lu\t-\t%s\n", facility->name, n, reason);
	exit(0);
}

static void raise_limit(int resource, unsigned long n)
{
	struct rlimit limit = { n + 1024, n + 1024 };

	if (setrlimit(resource, &limit))
		printf("# memory: a limit on resources could not be raised: %s\n",
		       strerror(errno));
}

static void measure(unsigned long n)
{
	unsigned long long before, after;
	int error;

	raise_limit(RLIMIT_NOFILE, n);
	raise_limit(RLIMIT_SIGPENDING, n);
	sync();
	if (tw_write_file("/proc/sys/vm/drop_caches", "3"))
		printf("# memory: the caches were not dropped: only root may\n");

	error = facility->arm(1);
	if (error)
		cannot(n, strerror(-error));
	before = free_at_rest();
	if (before / 10 * 8 < (unsigned long long)n * facility->guess && n > FEWER) {
		printf("# memory: %s: %lu might not fit: %lu instead\n", facility->name, n,
		       FEWER);
		n = FEWER;
	}
	error = facility->arm(n);
	if (error)
		cannot(n, strerror(-error));
	after = free_at_rest();
	facility->check(n + 1);
	printf("memory\t%s\t%lu\t%.1f\n", facility->name, n,
	       ((double)before - after) / n);
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	sigset_t signals;
	size_t i;

	for (i = 0; n && i < sizeof(facilities) / sizeof(facilities[0]); i++)
		if (!strcmp(argv[1], facilities[i].name))
			facility = &facilities[i];
	if (!facility) {
		fprintf(stderr, "usage: memory FACILITY N\n");
		return 2;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	far.tv_sec = TW_FAR / TW_SEC;
	/* What it prints goes through a buffer that is in use before anything is measured. */
	printf("# memory: %s: %lu timers\n", facility->name, n);
	measure(n);
	return 0;
}
