// SPDX-License-Identifier: GPL-2.0-only
/*
 * All that can be done to the device but ioctls, with each thing that can fail in
 * it failing in turn: open, read, poll, map, share, close, and look from outside.
 *
 * The faults are not only the module's: a call may fail before it ever comes to
 * that. Either way nothing is lost by it.
 */
#include <liburing.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "each.h"
#include "faults.h"
#include "kselftest.h"

#define RECORD	sizeof(struct twheel_event)
/* What memory holds that nothing was stored in. */
#define POISON	0xccccccccccccccccULL

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

static long call_read_some(struct world *w)
{
	memset(events, 0xcc, sizeof(events));
	return tw_read(w->fd, events, 2 * RECORD + 7);
}

static long call_read(struct world *w)
{
	memset(events, 0xcc, sizeof(events));
	return tw_read(w->fd, events, sizeof(events));
}

/* Records lie across the pieces. */
static long call_readv(struct world *w)
{
	char *to = (char *)events;
	struct iovec iov[12];
	int i;

	for (i = 0; i < 12; i++)
		iov[i] = (struct iovec) { .iov_base = to + i * 100, .iov_len = 100 };
	memset(events, 0xcc, sizeof(events));
	return neg(readv(w->fd, iov, 12));
}

static long call_preadv2(struct world *w)
{
	struct iovec iov[] = {
		{ .iov_base = events, .iov_len = RECORD },
		{ .iov_base = events + 1, .iov_len = sizeof(events) - RECORD },
	};

	memset(events, 0xcc, sizeof(events));
	return neg(preadv2(w->fd, iov, 2, -1, RWF_NOWAIT));
}

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

/* Set the clock, by a second. */
static void begin_step(struct world *w)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec++;
	if (clock_settime(CLOCK_REALTIME, &ts))
		ksft_exit_fail_msg("cannot set the clock: %s\n", strerror(errno));
}

/* A step of the clock is told once. */
static void end_step(struct world *w)
{
	long ret = call_read(w);

	if (ret != -EAGAIN)
		violation("after ECANCELED read gives %ld", ret);
}

/*
 * Waiting for it
 */
static long call_poll(struct world *w)
{
	struct pollfd fds[64];
	int i;

	/* So many take memory. */
	for (i = 0; i < 64; i++)
		fds[i] = (struct pollfd) { .fd = w->fd, .events = POLLIN };
	i = neg(poll(fds, 64, 1));
	return i == 64 && !(fds[63].revents & POLLIN) ? -EPROTO : i;
}

static void after_poll(struct world *w, long ret)
{
	int want = tw_info(w->fd).ready ? 64 : 0;

	if (ret >= 0 && ret != want)
		violation("poll says %ld, not %d", ret, want);
}

static long call_epoll(struct world *w)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int ep = neg(epoll_create1(EPOLL_CLOEXEC)), ret;

	if (ep < 0)
		return ep;
	ret = neg(epoll_ctl(ep, EPOLL_CTL_ADD, w->fd, &event));
	if (!ret)
		ret = neg(epoll_wait(ep, &event, 1, 1));
	close(ep);
	return ret;
}

static void after_epoll(struct world *w, long ret)
{
	int want = tw_info(w->fd).ready ? 1 : 0;

	if (ret >= 0 && ret != want)
		violation("epoll says %ld, not %d", ret, want);
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
	{ "read, some", .call = call_read_some, .after = after_read, MANY, SHORT },
	{ "read, all", .call = call_read, .after = after_read, MANY, SHORT },
	{ "read, keyed", .call = call_read, .after = after_read, MANY, .config = KEYED, SHORT },
	{ "read, nothing", .call = call_read, .after = NULL, .pending = 3, .want = -EAGAIN },
	{ "readv", .call = call_readv, .after = after_read, MANY, SHORT },
	{ "preadv2, RWF_NOWAIT", .call = call_preadv2, .after = after_read, MANY, SHORT },
	{ "read, waiting", .begin = begin_wait, .call = call_read, .after = after_wait,
	  .end = end_wait, .pending = 3, SHORT },
	{ "readv, ECANCELED", .begin = begin_step, .call = call_readv, .end = end_step,
	  .real = true, .config = ON_SET, .pending = 3, .want = -ECANCELED, SHORT },
	{ "poll", .call = call_poll, .after = after_poll, SOME, SHORT },
	{ "poll, nothing", .call = call_poll, .after = after_poll, .pending = 3, SHORT },
	{ "epoll", .call = call_epoll, .after = after_epoll, SOME, SHORT },
	{ "epoll, nothing", .call = call_epoll, .after = after_epoll, .pending = 3, SHORT },
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

int main(int argc, char **argv)
{
	each_fault(cases, ARRAY_SIZE(cases), argv[1]);
}
