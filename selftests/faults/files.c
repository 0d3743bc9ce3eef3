// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is done to the device by way of the kernel, with each thing that can fail in it
 * failing in turn, the first, then the second, until none is left: open, share, close, read by
 * io_uring, map, and look from outside.
 *
 * The faults are not only the module's: a call may fail before it ever comes to
 * that. Either way nothing is lost by it. The device's own calls fail in selftests/sim, one
 * fault after another, and in selftests/torture.
 */
#include <liburing.h>
#include <stdio.h>
#include <sys/wait.h>

#include "faults.h"
#include "kselftest.h"
#include "world.h"

#define RECORD	sizeof(struct twheel_event)
/* What memory holds that nothing was stored in. */
#define POISON	0xccccccccccccccccULL
/* Far more things that can fail than any of the calls has */
#define MAX_FAULTS	2000

/**
 * struct fault_case - a call that is made to fail
 * @name: for people
 * @config: TWHEEL_CONFIG_* bits of the context
 * @real: the context's clock is CLOCK_REALTIME, and not CLOCK_MONOTONIC
 * @bare: there is no context to begin with
 * @pending: timers in it that never expire
 * @ready: timers in it that have expired; one of them is periodic
 * @begin: what else is to be done before, or NULL
 * @call: the call: 0 or more, or -errno
 * @after: takes into the world what a call with that outcome did, and checks what
 *	it gave back
 * @end: what is to be done in the end, or NULL
 * @want: what the call gives without faults if that is an error
 * @errors: what else it may fail with, when a fault fires
 */
struct fault_case {
	const char *name;
	__u32 config;
	bool real;
	bool bare;
	int pending;
	int ready;
	void (*begin)(struct world *w);
	long (*call)(struct world *w);
	void (*after)(struct world *w, long ret);
	void (*end)(struct world *w);
	long want;
	int errors[6];
};

/* A call of a case that is one expression of @w */
#define CALL(name, result) static long call_##name(struct world *w) { return result; }

static int neg(int ret)
{
	return ret < 0 ? -errno : ret;
}

/* How many timers this user has left, in contexts that may be gone. */
static __u64 user_timers(void)
{
	int fd = tw_open();
	__u64 n = tw_info(fd).user_timers;

	close(fd);
	return n;
}

/*
 * Open and close, and what shares the file
 */
CALL(open, tw_open())

static void after_open(struct world *w, long ret)
{
	if (ret >= 0)
		world_opened(w, ret);
}

/* What was opened works. */
static void end_open(struct world *w)
{
	if (w->fd < 0)
		return;
	world_add(w, TW_FAR, 0, 0);
	world_add(w, 0, 0, 0);
}

static void after_second(struct world *w, long ret)
{
	if (ret >= 0)
		close(ret);
}

CALL(close, neg(close(w->fd)))

static void after_close(struct world *w, long ret)
{
	__u64 n = user_timers();

	if (ret || n)
		violation("close: %ld, and %llu timers are left", ret, n);
	w->fd = -1;
}

CALL(dup, neg(fcntl(w->fd, F_DUPFD_CLOEXEC, 5000)))

static void after_dup(struct world *w, long ret)
{
	if (ret < 0)
		return;
	if (tw_info(ret).pending != tw_info(w->fd).pending)
		violation("a copy shows another context");
	close(ret);
}

static int sockets[2];

static void begin_pass(struct world *w)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		ksft_exit_fail_msg("socketpair: %s\n", strerror(errno));
}

CALL(pass, tw_send_fd(sockets[0], w->fd, 0, MSG_DONTWAIT))

/* While it is in flight the descriptor keeps the context. */
static void end_pass(struct world *w)
{
	close(sockets[0]);
	close(sockets[1]);
}

/* The child cancels the first timer. */
static long call_fork(struct world *w)
{
	pid_t pid = neg(fork());
	int status;

	if (pid < 0)
		return pid;
	if (!pid)
		_exit(-tw_cancel(w->fd, w->timers[0].handle));
	while (waitpid(pid, &status, 0) < 0)
		;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

static void after_fork(struct world *w, long ret)
{
	if (!ret)
		world_removed(w, 0);
}

/*
 * Reading
 */
static struct twheel_event events[256];

static void after_read(struct world *w, long ret)
{
	long n = ret < 0 ? 0 : ret / RECORD;

	if (ret == 0 || (ret > 0 && ret % RECORD) || events[n].user_data != POISON)
		violation("read gave %ld, and stored more", ret);
	if (ret > 0)
		world_events(w, events, ret);
}

static void set_nonblock(const struct world *w, bool on)
{
	fcntl(w->fd, F_SETFL, on ? O_RDWR | O_NONBLOCK : O_RDWR);
}

/* A timer that is due soon, to wait for. */
static void begin_wait(struct world *w)
{
	struct twheel_arm sent = world_request(w, 2 * TW_MSEC), arm = sent;

	set_nonblock(w, false);
	if (tw_call(w->fd, TWHEEL_IOC_ARM, &arm))
		ksft_exit_fail_msg("cannot arm\n");
	oracle_armed(&w->ctx, &sent, &arm);
	w->timers[w->nr++] = (struct twheel_timer_info) {
		.handle = arm.handle, .user_data = arm.user_data, .count = 1,
	};
}

/* A read that failed has left the timer, which is ready by now. */
static void after_wait(struct world *w, long ret)
{
	after_read(w, ret);
	if (ret < 0 && tw_poll(w->fd, TW_LIMIT_MS))
		world_armed(w, w->timers[w->nr - 1].handle, w->timers[w->nr - 1].user_data);
}

static void end_wait(struct world *w)
{
	set_nonblock(w, true);
}

/*
 * io_uring
 */
static long completion(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	long ret;

	/* What was submitted completes, however often waiting fails. */
	while (io_uring_wait_cqe(ring, &cqe))
		;
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static long call_uring(struct world *w)
{
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	long ret;

	memset(events, 0xcc, sizeof(events));
	ret = io_uring_queue_init(4, &ring, 0);
	if (ret)
		return ret;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_read(sqe, w->fd, events, sizeof(events), -1);
	ret = io_uring_submit(&ring);
	if (ret == 1)
		ret = completion(&ring);
	io_uring_queue_exit(&ring);
	return ret ?: -EPROTO;
}

/*
 * Words of leases
 */
static volatile __u64 *words;

static void begin_leases(struct world *w)
{
	int i;

	for (i = 0; i < 5; i++)
		world_add(w, TW_FAR, 0, TWHEEL_ARM_LEASE);
}

/* Far from all others, so that it needs page tables of its own. */
#define MAP_AT		((char *)(1UL << 44))
#define MOVED_TO	((char *)(1UL << 45))

static long map_words(const struct world *w)
{
	words = mmap(MAP_AT, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED_NOREPLACE, w->fd, 0);
	return words == MAP_FAILED ? -errno : 0;
}

static void begin_mapped(struct world *w)
{
	begin_leases(w);
	if (map_words(w))
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
}

static void end_mapped(struct world *w)
{
	munmap((void *)words, 4096);
}

static long look_at_words(const struct world *w)
{
	int i;

	for (i = 0; i < w->nr; i++)
		if (w->timers[i].flags & TWHEEL_ARM_LEASE &&
		    words[w->timers[i].word] != tw_lease_value(w->timers[i].tag,
							       w->timers[i].deadline))
			return -EPROTO;
	return 0;
}

static long call_mmap(struct world *w)
{
	long ret = map_words(w);

	if (ret)
		return ret;
	ret = look_at_words(w);
	return munmap((void *)words, 4096) ? -errno : ret;
}

/* It may be munmap() that failed. */
static void after_mmap(struct world *w, long ret)
{
	if (ret && words != MAP_FAILED)
		munmap((void *)words, 4096);
}

/* A page fault that memory is short for is taken again. */
CALL(touch, look_at_words(w))

static long call_remap(struct world *w)
{
	void *at = mremap(MAP_AT, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, MOVED_TO);

	if (at == MAP_FAILED)
		return -errno;
	words = at;
	return look_at_words(w);
}

/* Without memory to unmap where it was, it can be in both places. */
static void end_moved(struct world *w)
{
	munmap(MAP_AT, 4096);
	munmap(MOVED_TO, 4096);
}

CALL(map_nothing, map_words(w))

/*
 * Looking from outside
 */
static char text[1 << 16];

static long look(const char *path)
{
	size_t got = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	memset(text, 0, sizeof(text));
	if (fd < 0)
		return -errno;
	while ((n = neg(read(fd, text + got, sizeof(text) - 1 - got))) > 0)
		got += n;
	close(fd);
	return n;
}

static long call_fdinfo(struct world *w)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", w->fd);
	return look(path);
}

static void after_fdinfo(struct world *w, long ret)
{
	struct twheel_info info = tw_info(w->fd);
	const char *pending = strstr(text, "pending:\t"), *ready = strstr(text, "ready:\t");

	if (!ret && (!pending || strtoull(pending + 9, NULL, 10) != info.pending ||
		     !ready || strtoull(ready + 7, NULL, 10) != info.ready))
		violation("fdinfo says %s", text);
}

CALL(counters, look("/sys/kernel/debug/twheel/counters"))

static void after_counters(struct world *w, long ret)
{
	if (!ret && (strncmp(text, "cpu armed rearmed", 17) || !strstr(text, "\n0 ")))
		violation("counters are %s", text);
}

CALL(histograms, look("/sys/kernel/debug/twheel/histograms"))

static void after_histograms(struct world *w, long ret)
{
	if (!ret && (!strstr(text, "lateness 0 ") || !strstr(text, "\nread 0 ")))
		violation("histograms are %s", text);
}

CALL(reset, tw_write_file("/sys/kernel/debug/twheel/reset", "1"))

static char limit[32];

static void begin_parameter(struct world *w)
{
	look(TW_PARAMETERS "max_fd_timers");
	snprintf(limit, sizeof(limit), "%.20s", text);
}

CALL(parameter, tw_write_file(TW_PARAMETERS "max_fd_timers", "12345"))

static void after_parameter(struct world *w, long ret)
{
	if ((tw_info(w->fd).limit == 12345) != !ret)
		violation("a parameter was set or not: %ld", ret);
}

static void end_parameter(struct world *w)
{
	tw_write_file(TW_PARAMETERS "max_fd_timers", limit);
}

#define KEYED	TWHEEL_CONFIG_KEYED
#define LEASE	TWHEEL_CONFIG_LEASE
#define ON_SET	TWHEEL_CONFIG_CANCEL_ON_SET

#define SHORT	.errors = { ENOMEM, EFAULT }
#define SOME	.pending = 40, .ready = 5
#define MANY	.pending = 3, .ready = 80

static const struct fault_case cases[] = {
	{ "open, a user's first", .call = call_open, .after = after_open, .end = end_open,
	  .bare = true, SHORT },
	{ "open, another", .call = call_open, .after = after_second, SOME, SHORT },
	{ "close", .call = call_close, .after = after_close, SOME },
	{ "close, keyed leases", .call = call_close, .after = after_close, .real = true,
	  .config = KEYED | LEASE | ON_SET, .pending = 600, .ready = 5 },
	{ "dup", .call = call_dup, .after = after_dup, SOME, SHORT },
	{ "pass over a socket", .begin = begin_pass, .call = call_pass, .end = end_pass, SOME,
	  .errors = { ENOMEM, EFAULT, ENOBUFS } },
	{ "fork", .call = call_fork, .after = after_fork, SOME, SHORT },
	{ "io_uring, read", .call = call_uring, .after = after_read, MANY,
	  .errors = { ENOMEM, EFAULT, EAGAIN } },
	{ "io_uring, read, waiting", .begin = begin_wait, .call = call_uring,
	  .after = after_wait, .end = end_wait, .pending = 3,
	  .errors = { ENOMEM, EFAULT, EAGAIN, ECANCELED } },
	{ "mmap", .begin = begin_leases, .call = call_mmap, .after = after_mmap,
	  .config = LEASE, SOME, SHORT },
	{ "mmap, page fault", .begin = begin_mapped, .call = call_touch, .end = end_mapped,
	  .config = LEASE, SOME },
	{ "mmap, moved", .begin = begin_mapped, .call = call_remap, .end = end_moved,
	  .config = LEASE, SOME, SHORT },
	{ "mmap, no leases", .call = call_map_nothing, SOME, .want = -ENODEV, SHORT },
	{ "fdinfo", .call = call_fdinfo, .after = after_fdinfo, SOME, SHORT },
	{ "counters", .call = call_counters, .after = after_counters, SOME, SHORT },
	{ "histograms", .call = call_histograms, .after = after_histograms, SOME, SHORT },
	{ "reset", .call = call_reset, SOME, SHORT },
	{ "a parameter", .begin = begin_parameter, .call = call_parameter,
	  .after = after_parameter, .end = end_parameter, SOME, SHORT },
};

static void begin(const struct fault_case *c, struct world *w)
{
	int i;

	world_begin(w);
	if (!c->bare)
		world_open(w, c->real ? CLOCK_REALTIME : CLOCK_MONOTONIC, c->config);
	for (i = 0; i < c->pending; i++)
		world_add(w, TW_FAR, i % 8 ? 0 : TW_SEC, 0);
	for (i = 0; i < c->ready; i++)
		world_add(w, 0, i ? 0 : TW_FAR, 0);
	if (c->begin)
		c->begin(w);
}

static void after(const struct fault_case *c, struct world *w, long ret)
{
	if (c->after)
		c->after(w, ret);
	if (w->fd >= 0)
		world_check(w);
}

static bool expected(const struct fault_case *c, long ret, bool fired)
{
	unsigned int i;

	if (c->want ? ret == c->want : ret >= 0)
		return true;
	for (i = 0; i < ARRAY_SIZE(c->errors) && c->errors[i]; i++)
		if (fired && ret == -c->errors[i])
			return true;
	return false;
}

/* Make the call while the @n-th thing in it that can fail does. Was there one? */
static bool one_fault(const struct fault_case *c, unsigned int n)
{
	static struct world w;
	char what[80];
	bool fired;
	long ret;

	snprintf(what, sizeof(what), "%s, fault %u", c->name, n);
	faults_at = what;
	begin(c, &w);
	faults_arm(0, n);
	ret = c->call(&w);
	fired = !faults_disarm(0);
	faults_note(ret);

	if (!expected(c, ret, fired))
		violation("%ld (%s)%s", ret, strerror(-ret), fired ? "" : ", and none fired");
	after(c, &w, ret);

	if (ret < 0 && ret != c->want) {
		ret = c->call(&w);
		if (c->want ? ret != c->want : ret < 0)
			violation("fails again without a fault: %ld", ret);
		after(c, &w, ret);
	}

	if (c->end)
		c->end(&w);
	if (w.fd >= 0)
		world_finish(&w);
	faults_at = NULL;
	return fired;
}

static void all_faults(const struct fault_case *c)
{
	unsigned long before = fault_figures.violations;
	unsigned int n = 1;

	while (n < MAX_FAULTS && one_fault(c, n))
		n++;
	if (n == MAX_FAULTS)
		violation("%s: no end of it", c->name);
	ksft_test_result(fault_figures.violations == before, "%s: %u faults\n", c->name, n - 1);
}

static bool picked(const struct fault_case *c, const char *only)
{
	return !only || !strncmp(c->name, only, strlen(only));
}

int main(int argc, char **argv)
{
	const char *only = argv[1];
	int plan = 0;
	size_t i;

	setlinebuf(stdout);
	ksft_print_header();
	faults_init();
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		plan += picked(&cases[i], only);
	ksft_set_plan(plan);
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (picked(&cases[i], only))
			all_faults(&cases[i]);
	faults_report();
	ksft_finished();
}
