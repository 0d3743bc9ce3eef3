// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fdstore: a service whose timers outlive its process.
 *
 * It has three descriptors: two of timers, and the socket that requests come in on. The
 * process that started it, its keeper, is given copies of them, by systemd's protocol
 * for that (see "File Descriptor Store" in systemd.service(5) and sd_notify(3)), and
 * hands them back when it starts the service again. Meanwhile the timers go on in the
 * kernel, and requests wait in the socket. As a unit:
 *
 *	[Service]
 *	Type=notify
 *	ExecStart=/usr/local/bin/fdstore -s /run/fdstore -j /var/lib/fdstore
 *	FileDescriptorStoreMax=3
 *	Restart=always
 *
 * A reminder after some time and one at some time are two things as soon as the clock is set:
 * the former must not move, and the latter must move with the clock. So there are two contexts, on
 * CLOCK_BOOTTIME and on CLOCK_REALTIME. A key is in one of them at most.
 *
 * A reminder is in one of three places, none of which is this process: in the
 * socket, in the wheel, or in the journal, a file. It leaves each for the next
 * in a way that may be cut off at any instant:
 *
 * - A request is looked at in the socket (MSG_PEEK), carried out, and only then
 *   taken out. Done twice it does the same: it is for a key of the client's own
 *   (TWHEEL_CONFIG_KEYED). No expiration is read between, so the second time cannot
 *   come after the reminder was given, nor does a key come up that was still in both
 *   contexts.
 * - Expirations are read straight into the journal, which is mapped: the kernel
 *   stores a record, and only then forgets the timer. A record that is there
 *   while its timer is, too, was cut off, and counts as not read.
 *
 * So whenever the process is killed each reminder gets into the journal once, no
 * more and no less. But no program can promise to act on it exactly once, which here
 * means to print a line: a process that is killed between the act and the note that
 * it was done does not know of the act later. It acts again then, at most once a
 * kill, and the line says so. A program that would rather miss a reminder than repeat
 * it has to note it first.
 *
 * A duration in a request counts from the moment when the request is carried out. If
 * it waited in the socket while the service was down, it is later by that time.
 *
 * Nothing outlives the machine, or the keeper: after a reboot the timers are
 * gone, and the journal tells what was given before. Nor can a keeper keep an embedded
 * wheel: where the device is missing, the service runs without a keeper, or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <twheel.h>

#include "duration.h"
#include "inherited.h"
#include "number.h"
#include "options.h"

static const char help[] =
"Usage: fdstore --socket PATH --journal FILE [--list]\n"
"       fdstore --socket PATH KEY WHEN\n"
"Take requests for reminders, and give them when they are due; or send a request.\n"
"\n"
"  -s, --socket PATH   where requests come in: a Unix datagram socket, made if the\n"
"                      keeper has none\n"
"  -j, --journal FILE  where reminders are recorded before they are given\n"
"  -l, --list          at the start print what is pending\n"
"  -h, --help          show this help\n"
"\n"
"A request is a line; a datagram holds one or more:\n"
"\n"
"  KEY DURATION        give reminder KEY, a number, after this time (90s, 1h30m)\n"
"  KEY @NANOSECONDS    at this time, as date +%s%N prints it\n"
"  KEY cancel\n"
"\n"
"If the clock is set, a DURATION stays as it is, asleep or not, and @NANOSECONDS is\n"
"when the clock shows it. A key that is pending already is moved. In a service with\n"
"Type=notify and FileDescriptorStoreMax=3 all reminders survive a restart.\n"
"\n"
"Exit codes: 0 stopped by SIGINT or SIGTERM, or request sent; 1 a failure at run\n"
"time; 2 wrong usage.\n";

enum { AFTER, AT, CONTEXTS };

/* The clocks of the contexts, and their names in the keeper's store. */
static const struct {
	const char	*name;
	uint32_t	clock;
} contexts[CONTEXTS] = {
	[AFTER]	= { "delays",	CLOCK_BOOTTIME },
	[AT]	= { "timers",	TWHEEL_CLOCK_REALTIME },
};

/* The name of the socket there. */
#define NAME_REQUESTS	"requests"

/* Where the protocol has the first descriptor. */
#define LISTEN_FDS_START	3

/* The longest datagram, and what one turn of the loop takes on of each kind. */
#define DATAGRAM_MAX	65536
#define TURN_DATAGRAMS	16
#define TURN_EVENTS	256
#define BATCH_MAX	256

#define JOURNAL_MAGIC	0x6c616e72756f6a31ULL

/* How many records the journal grows by. */
#define JOURNAL_STEP	4096

/**
 * struct journal - the file, as it is mapped
 * @magic: tells it from other files
 * @done: how many reminders were given
 * @reserved: makes @events begin on a page
 * @events: the records; a record with 0 expirations follows the last one
 */
struct journal {
	uint64_t		magic;
	uint64_t		done;
	uint8_t			reserved[4080];
	struct twheel_event	events[];
};

/**
 * struct reminder - the state of the program
 * @socket_path: where requests come in
 * @journal_path: where the journal is
 * @list: print what is pending
 * @tw: the contexts
 * @socket: the requests
 * @journal: the journal
 * @journal_fd: its file
 * @room: how many records it has room for
 * @len: how many records it has
 * @arms: requests that are not carried out yet
 * @arms_len: how many requests there are
 * @arms_of: the context that all of them are for
 */
struct reminder {
	const char		*socket_path;
	const char		*journal_path;
	bool			list;

	struct twheel		*tw[CONTEXTS];
	int			socket;

	struct journal		*journal;
	int			journal_fd;
	uint64_t		room;
	uint64_t		len;

	struct twheel_arm	arms[BATCH_MAX];
	size_t			arms_len;
	unsigned int		arms_of;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/*
 * The keeper
 */

/* Tells the keeper @message, with @fd unless that is -1. */
static void notify(const char *message, int fd)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	struct iovec iov = { (char *)message, strlen(message) };
	union {
		struct cmsghdr	header;
		char		room[CMSG_SPACE(sizeof(int))];
	} control = { };
	struct msghdr msg = { .msg_name = &to, .msg_iov = &iov, .msg_iovlen = 1 };
	size_t len;
	int sock;

	if (!path)
		return;
	len = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || len >= sizeof(to.sun_path))
		die(EXIT_FAILED, "NOTIFY_SOCKET: '%s' is not a Unix socket's address", path);
	memcpy(to.sun_path, path, len);
	/* An address with @ is abstract: it is in no file system. */
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	msg.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}

	/* Once it is sent the message is safe, in the keeper's queue. */
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || sendmsg(sock, &msg, MSG_NOSIGNAL) < 0)
		die(EXIT_FAILED, "NOTIFY_SOCKET: %s: %s", path, strerror(errno));
	close(sock);
}

/* The descriptor that the keeper has handed over by that name, or -1. */
static int kept(const char *name)
{
	const char *names = getenv("LISTEN_FDNAMES");
	const char *pid = getenv("LISTEN_PID");
	const char *fds = getenv("LISTEN_FDS");
	uint64_t n;
	uint64_t i;

	if (!pid || !fds)
		return -1;
	if (number_parse(pid, INT32_MAX, &n))
		die(EXIT_FAILED, "LISTEN_PID: '%s' is not a process", pid);
	/* Variables that were only inherited are meant for another process. */
	if ((pid_t)n != getpid())
		return -1;
	if (number_parse(fds, INT32_MAX - LISTEN_FDS_START, &n))
		die(EXIT_FAILED, "LISTEN_FDS: '%s' is not a number of descriptors", fds);
	if (!names)
		die(EXIT_FAILED, "LISTEN_FDNAMES: missing, so nobody knows what they are");

	for (i = 0; i < n; i++) {
		size_t len = strcspn(names, ":");

		if (len == strlen(name) && !memcmp(names, name, len)) {
			int fd = LISTEN_FDS_START + (int)i;

			if (fcntl(fd, F_SETFD, FD_CLOEXEC))
				die(EXIT_FAILED, "descriptor '%s': %s", name,
				    strerror(errno));
			return fd;
		}
		names += len + !!names[len];
	}
	return -1;
}

/* Make a context of what the keeper has handed over. */
static void take_over(struct twheel **twp, const char *name, uint32_t clock, int fd)
{
	struct twheel_info info;
	int ret;

	ret = twheel_adopt(twp, fd);
	if (!ret)
		ret = twheel_get_info(*twp, 0, &info);
	if (ret)
		die(EXIT_FAILED, "descriptor '%s': %s", name, strerror(-ret));
	if (info.clock != clock || info.config != TWHEEL_CONFIG_KEYED)
		die(EXIT_FAILED, "descriptor '%s': not from this program", name);
	printf("taken over: %s, %" PRIu64 " pending, %" PRIu64 " expired\n", name,
	       (uint64_t)info.pending, (uint64_t)info.ready);
}

static void get_timers(struct twheel **twp, const char *name, uint32_t clock)
{
	const struct twheel_config config = { .clock = clock, .flags = TWHEEL_CONFIG_KEYED };
	int fd = kept(name);
	struct twheel_info info;
	char message[64];
	int ret;

	if (fd >= 0) {
		take_over(twp, name, clock, fd);
		return;
	}

	ret = twheel_open(twp, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, &config);
	if (!ret)
		ret = twheel_get_info(*twp, 0, &info);
	if (ret)
		die_without_device(ret);
	if ((info.features & TWHEEL_FEATURE_EMBEDDED) && getenv("NOTIFY_SOCKET"))
		die(EXIT_FAILED, "NOTIFY_SOCKET: a keeper can keep the timers of "
		    TWHEEL_DEVICE ", but not a wheel in this process");
	snprintf(message, sizeof(message), "FDSTORE=1\nFDNAME=%s", name);
	notify(message, twheel_fd(*twp));
}

/* The keeper is given the socket before it has an address, and so before any request. */
static void get_socket(struct reminder *r)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(address);
	struct stat st;

	r->socket = kept(NAME_REQUESTS);
	if (r->socket < 0) {
		r->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (r->socket < 0)
			die(EXIT_FAILED, "socket: %s", strerror(errno));
		notify("FDSTORE=1\nFDNAME=" NAME_REQUESTS, r->socket);
	}

	if (getsockname(r->socket, (struct sockaddr *)&address, &len))
		die(EXIT_FAILED, "descriptor '" NAME_REQUESTS "': %s", strerror(errno));
	if (len > offsetof(struct sockaddr_un, sun_path))
		return;

	memcpy(address.sun_path, r->socket_path, strlen(r->socket_path));
	/* Remove an address that was left behind: nobody listens there. */
	if (!lstat(r->socket_path, &st) && S_ISSOCK(st.st_mode) &&
	    connect(r->socket, (struct sockaddr *)&address, sizeof(address)) &&
	    errno == ECONNREFUSED)
		unlink(r->socket_path);
	if (bind(r->socket, (struct sockaddr *)&address, sizeof(address)))
		die(EXIT_FAILED, "%s: %s", r->socket_path, strerror(errno));
}

static void list_pending(struct twheel *tw)
{
	struct twheel_timer_info info;
	char text[DURATION_SIZE];
	struct twheel_walk *walk;
	int ret;

	ret = twheel_walk_new(&walk, tw);
	while (!ret) {
		ret = twheel_walk_next(walk, &info);
		if (ret == 0 || (ret < 0 && ret != -EINTR))
			break;
		if (ret == 1)
			printf("pending %" PRIu64 " in %s\n", (uint64_t)info.handle,
			       duration_format(text, info.remaining));
		ret = 0;
	}
	if (ret)
		die(EXIT_FAILED, "cannot list the timers: %s", strerror(-ret));
	twheel_walk_free(walk);
	flush_output();
}

/*
 * The journal
 */

static size_t journal_size(uint64_t room)
{
	return offsetof(struct journal, events) + room * sizeof(struct twheel_event);
}

/* Map the journal with room for @room records, and reserve that room on the disk. */
static void map_journal(struct reminder *r, uint64_t room)
{
	size_t old = r->journal ? journal_size(r->room) : 0;
	int ret = posix_fallocate(r->journal_fd, 0, (off_t)journal_size(room));

	if (ret)
		die(EXIT_FAILED, "%s: %s", r->journal_path, strerror(ret));
	if (old)
		r->journal = mremap(r->journal, old, journal_size(room), MREMAP_MAYMOVE);
	else
		r->journal = mmap(NULL, journal_size(room), PROT_READ | PROT_WRITE,
				  MAP_SHARED, r->journal_fd, 0);
	if (r->journal == MAP_FAILED)
		die(EXIT_FAILED, "%s: %s", r->journal_path, strerror(errno));
	r->room = room;
}

static void open_journal(struct reminder *r)
{
	struct twheel_timer_info info;
	struct twheel_event *event;
	uint64_t room = JOURNAL_STEP;
	bool cut = false;
	uint64_t head[2];
	struct stat st;
	unsigned int c;
	ssize_t n;

	r->journal_fd = open(r->journal_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (r->journal_fd < 0 || fstat(r->journal_fd, &st))
		die(EXIT_FAILED, "%s: %s", r->journal_path, strerror(errno));
	if (flock(r->journal_fd, LOCK_EX | LOCK_NB))
		die(EXIT_FAILED, "%s: in use by another program", r->journal_path);

	/* A new journal is empty, or all 0 if an earlier process was killed just here. */
	n = pread(r->journal_fd, head, sizeof(head), 0);
	if (n < 0)
		die(EXIT_FAILED, "%s: %s", r->journal_path, strerror(errno));
	if (n && (n < (ssize_t)sizeof(head) ||
		  (head[0] != JOURNAL_MAGIC && (head[0] || head[1]))))
		die(EXIT_FAILED, "%s: not a journal of this program", r->journal_path);

	if ((size_t)st.st_size > journal_size(room))
		room = ((size_t)st.st_size - journal_size(0)) / sizeof(*event);
	map_journal(r, room);
	r->journal->magic = JOURNAL_MAGIC;
	if (r->journal->done > room)
		die(EXIT_FAILED, "%s: cut short", r->journal_path);

	r->len = r->journal->done;
	while (r->len < r->room && r->journal->events[r->len].expirations)
		r->len++;
	if (r->len == r->journal->done)
		return;

	/* Only the last record can have been cut off, by a kill during a page fault. */
	event = &r->journal->events[r->len - 1];
	for (c = 0; c < CONTEXTS; c++)
		cut |= !twheel_get(r->tw[c], event->handle, &info);
	if (cut) {
		*event = (struct twheel_event){ };
		r->len--;
	}
}

/*
 * The work
 */

/* Gives the reminders that are in the journal and were not given yet. */
static void give(struct reminder *r, bool after_restart)
{
	struct journal *journal = r->journal;

	for (; journal->done < r->len; journal->done++) {
		const struct twheel_event *event = &journal->events[journal->done];
		char late[DURATION_SIZE];

		printf("reminder %" PRIu64 ", %s late%s\n", (uint64_t)event->handle,
		       duration_format(late, event->expired - event->deadline),
		       after_restart ? ", perhaps given before" : "");
		flush_output();
		after_restart = false;
	}
}

static void read_expirations(struct reminder *r, struct twheel *tw)
{
	ssize_t n;

	if (r->room - r->len < TURN_EVENTS)
		map_journal(r, r->room + JOURNAL_STEP);
	n = twheel_read(tw, &r->journal->events[r->len], TURN_EVENTS);
	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n < 0)
		die(EXIT_FAILED, "cannot read expirations: %s", strerror((int)-n));
	r->len += (uint64_t)n;
	give(r, false);
}

/* Cancel these keys in a context that has them perhaps. */
static void cancel_all(struct twheel *tw, struct twheel_cancel *cancels, size_t len)
{
	ssize_t n = twheel_cancel_batch(tw, cancels, len);
	size_t i;

	if (n != (ssize_t)len)
		die(EXIT_FAILED, "cannot cancel: %s", strerror(n < 0 ? (int)-n : EFAULT));
	for (i = 0; i < len; i++)
		if (cancels[i].result && cancels[i].result != -ENOENT)
			die(EXIT_FAILED, "cannot cancel: %s", strerror(-cancels[i].result));
}

static void arm_all(struct reminder *r)
{
	ssize_t n = twheel_arm_batch(r->tw[r->arms_of], r->arms, r->arms_len);
	struct twheel_cancel moved[BATCH_MAX] = { };
	size_t len = 0;
	size_t i;

	if (n != (ssize_t)r->arms_len)
		die(EXIT_FAILED, "cannot arm: %s", strerror(n < 0 ? (int)-n : EFAULT));
	for (i = 0; i < r->arms_len; i++) {
		if (r->arms[i].result)
			complain("reminder %" PRIu64 " is lost: %s",
				 (uint64_t)r->arms[i].handle, strerror(-r->arms[i].result));
		else
			moved[len++].handle = r->arms[i].handle;
	}
	/* The other context may have had some of these keys. */
	cancel_all(r->tw[!r->arms_of], moved, len);
	r->arms_len = 0;
}

/* Complain of @when, which a request for @key has as its time: any bytes, of anybody. */
static void refuse(uint64_t key, char *when, const char *why)
{
	char *c;

	for (c = when; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	complain("reminder %" PRIu64 ": '%.64s' %s", key, when, why);
}

static void carry_out(struct reminder *r, char *line)
{
	struct twheel_cancel cancel = { };
	char *when = strchr(line, ' ');
	unsigned int c;
	uint64_t ns;
	uint64_t key;
	int ret;

	if (when)
		*when++ = '\0';
	if (!when || number_parse(line, UINT64_MAX, &key)) {
		complain("a request is 'KEY DURATION', 'KEY @NANOSECONDS' or 'KEY cancel'");
		return;
	}

	if (!strcmp(when, "cancel")) {
		/* Keep the order: the timer may be one of those that are not armed yet. */
		arm_all(r);
		cancel.handle = key;
		for (c = 0; c < CONTEXTS; c++)
			cancel_all(r->tw[c], &cancel, 1);
		return;
	}

	c = when[0] == '@' ? AT : AFTER;
	ret = c == AT ? number_parse(when + 1, INT64_MAX, &ns) : duration_parse(when, &ns);
	if (ret) {
		refuse(key, when, c == AFTER && ret == -ERANGE ? duration_error(ret) :
		       "is no duration, @NANOSECONDS or 'cancel'");
		return;
	}
	if (r->arms_of != c)
		arm_all(r);
	r->arms_of = c;
	r->arms[r->arms_len++] = (struct twheel_arm){
		.handle = key,
		.expires = ns,
		.flags = c == AT ? TWHEEL_ARM_ABS : 0,
	};
	if (r->arms_len == BATCH_MAX)
		arm_all(r);
}

static void take_requests(struct reminder *r)
{
	static char datagram[DATAGRAM_MAX + 1];
	unsigned int i;

	for (i = 0; i < TURN_DATAGRAMS; i++) {
		ssize_t n = recv(r->socket, datagram, DATAGRAM_MAX,
				 MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
		char *rest = NULL;
		char *line;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			die(EXIT_FAILED, "%s: %s", r->socket_path, strerror(errno));
		if (n > DATAGRAM_MAX) {
			complain("a datagram of %zd bytes: at most %d are taken", n,
				 DATAGRAM_MAX);
		} else if (memchr(datagram, '\0', (size_t)n)) {
			complain("a datagram with a zero byte: none of its requests is taken");
		} else {
			datagram[n] = '\0';
			for (line = strtok_r(datagram, "\n", &rest); line;
			     line = strtok_r(NULL, "\n", &rest))
				carry_out(r, line);
			arm_all(r);
		}
		if (recv(r->socket, datagram, 1, MSG_DONTWAIT) < 0)
			die(EXIT_FAILED, "%s: %s", r->socket_path, strerror(errno));
	}
}

/* The other side: sends one request. */
static void send_request(const char *path, const char *key, const char *when)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char line[256];
	int len = snprintf(line, sizeof(line), "%s %s\n", key, when);

	if (len >= (int)sizeof(line))
		die(EXIT_USAGE, "a request of %d bytes: at most %zu are sent", len,
		    sizeof(line) - 1);
	memcpy(address.sun_path, path, strlen(path));
	if (sock < 0 || sendto(sock, line, (size_t)len, 0, (struct sockaddr *)&address,
			       sizeof(address)) != len)
		die(EXIT_FAILED, "%s: %s", path, strerror(errno));
	close(sock);
}

static void run(struct reminder *r, const sigset_t *waiting)
{
	struct pollfd fds[] = {
		{ .fd = r->socket, .events = POLLIN },
		{ .fd = twheel_fd(r->tw[AFTER]), .events = POLLIN },
		{ .fd = twheel_fd(r->tw[AT]), .events = POLLIN },
	};
	unsigned int c;

	while (!interrupted) {
		if (ppoll(fds, 1 + CONTEXTS, NULL, waiting) < 0) {
			if (errno == EINTR)
				continue;
			die(EXIT_FAILED, "poll: %s", strerror(errno));
		}
		inherited_let_in(waiting);
		/* In this order: see the head of this file. */
		take_requests(r);
		for (c = 0; c < CONTEXTS; c++)
			read_expirations(r, r->tw[c]);
	}
}

static void parse_options(struct reminder *r, int argc, char **argv)
{
	const struct option_rule rules[] = {
		{ "socket",	's', OPTION_TEXT,	&r->socket_path,	0, 0 },
		{ "journal",	'j', OPTION_TEXT,	&r->journal_path,	0, 0 },
		{ "list",	'l', OPTION_SET,	&r->list,		0, 0 },
		{ }
	};

	argv = options_parse(argc, argv, rules, help);
	if (!r->socket_path)
		die(EXIT_USAGE, "--socket is needed");
	if (!*r->socket_path ||
	    strlen(r->socket_path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		die(EXIT_USAGE, "--socket: '%s' is not 1 to 107 bytes long", r->socket_path);

	if (argv[0] && argv[1] && !argv[2] && !r->journal_path && !r->list) {
		send_request(r->socket_path, argv[0], argv[1]);
		exit(EXIT_DONE);
	}
	if (*argv)
		die(EXIT_USAGE, "'%s': a request is KEY WHEN, with no option but --socket",
		    *argv);
	if (!r->journal_path)
		die(EXIT_USAGE, "--journal is needed");
}

int main(int argc, char **argv)
{
	static struct reminder r;
	sigset_t waiting;
	unsigned int c;

	parse_options(&r, argc, argv);
	/* Write whole lines, so that a kill does not leave a part of one. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);

	inherited_catch_all(on_signal, &waiting, SIGINT, SIGTERM, 0);

	for (c = 0; c < CONTEXTS; c++)
		get_timers(&r.tw[c], contexts[c].name, contexts[c].clock);
	open_journal(&r);
	for (c = 0; r.list && c < CONTEXTS; c++)
		list_pending(r.tw[c]);
	get_socket(&r);
	give(&r, true);
	notify("READY=1", -1);

	run(&r, &waiting);
	return EXIT_DONE;
}
