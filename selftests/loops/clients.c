// SPDX-License-Identifier: GPL-2.0-only
/*
 * clients - many clients of an echo server that hangs up on those that are silent
 *
 * usage: clients PATH N MILLISECONDS
 *	  clients soon PATH MILLISECONDS
 *	  clients wait PATH N
 *
 * N clients connect at PATH to a server that hangs up after so many milliseconds of silence.
 * One in eight talks: a byte, its echo, and after a fifth of that time the next byte. One in
 * sixteen leaves after its second echo. The others are idle. Those that talk go on until the
 * server has hung up on all idle ones, and for three times the milliseconds at least; then
 * they are silent, too, and all that is left is to be hung up on.
 *
 * What is asked of the server is exact, however slow this machine is. It may hang up only on a
 * client that was silent for the whole time: from the moment before it sent the last byte of
 * which the echo has come (or connected) until the moment after it has sent the next byte, if
 * it has, and otherwise until now. If this program was stopped for that long, the server is
 * right, and such a client counts as `too slow`. A UNIX socket has the byte by the time that
 * send() returns: with TCP it would not be as exact. The exit status is 3 if most were too slow.
 *
 * With `soon` one client says that it is nearly done, to a server that is otherwise idle, and
 * has to be hung up on after a twentieth of the milliseconds, not after half of them.
 *
 * With `wait` N clients are silent, which are more than the server has descriptors for: each has to
 * be hung up on within a minute.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum kind { IDLE, TALKS, LEAVES };

/*
 * All times are ns. @since: before its last echoed byte was sent; @begun and @sent: before and
 * after the last byte was sent, of which the echo is awaited if @waits.
 */
struct client {
	int		fd;
	enum kind	kind;
	bool		waits;
	unsigned char	byte;
	unsigned int	echoes;
	uint64_t	since;
	uint64_t	begun;
	uint64_t	sent;
};

static struct client *clients;
static unsigned int count, open_now, idle_now;
static unsigned int cut, cut_idle, cut_early, left, slow, talking, idle;
static uint64_t echoes, wrong, latest, idle_ns;
static bool silence;
static int epoll;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int connect_to(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)))
		err(1, "%s", path);
	return fd;
}

static void end(struct client *client)
{
	close(client->fd);
	client->fd = -1;
	open_now--;
	if (client->kind == IDLE)
		idle_now--;
}

/* The server has hung up: was it right? */
static void was_cut(struct client *client)
{
	uint64_t until = client->waits ? client->sent : now();
	uint64_t silent = until - client->since;

	cut++;
	if (silent < idle_ns) {
		printf("cut early: client %td, after %" PRIu64 " us of silence\n",
		       client - clients, silent / 1000);
		cut_early++;
	} else if (client->kind == IDLE) {
		cut_idle += !silence;
	} else if (!silence) {
		slow++;
	}
	if (!client->waits && silent > idle_ns && silent - idle_ns > latest)
		latest = silent - idle_ns;
	end(client);
}

static void say(struct client *client)
{
	bool gone;

	client->byte = (unsigned char)('A' + client->echoes % 26);
	client->begun = now();
	gone = send(client->fd, &client->byte, 1, MSG_NOSIGNAL) != 1;
	client->sent = now();
	client->waits = true;
	if (gone)
		was_cut(client);
}

static void hear(struct client *client)
{
	unsigned char bytes[2];
	ssize_t n = recv(client->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		was_cut(client);
		return;
	}
	if (n != 1 || !client->waits || *bytes != client->byte)
		wrong++;
	client->waits = false;
	client->since = client->begun;
	client->echoes++;
	echoes++;
	if (client->kind == LEAVES && client->echoes == 2) {
		left++;
		end(client);
	}
}

/* Have those say something whose turn it is, and hear what comes. */
static void turn(int wait_ms)
{
	static uint64_t looked;
	struct epoll_event events[256];
	int i, n = epoll_wait(epoll, events, 256, wait_ms);

	for (i = 0; i < n; i++)
		hear(events[i].data.ptr);
	if (silence || now() - looked < 10000000)
		return;
	looked = now();
	for (i = 0; i < (int)count; i++) {
		struct client *client = &clients[i];

		if (client->fd >= 0 && client->kind != IDLE && !client->waits &&
		    (!client->echoes || now() - client->begun >= idle_ns / 5))
			say(client);
	}
}

static void join(const char *path, unsigned int i)
{
	struct client *client = &clients[i];
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };

	client->kind = i % 16 == 5 ? LEAVES : i % 8 == 0 ? TALKS : IDLE;
	client->since = now();
	client->fd = connect_to(path);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event))
		err(1, "epoll");
	open_now++;
	idle_now += client->kind == IDLE;
	idle += client->kind == IDLE;
	talking += client->kind == TALKS;
	count++;
}

static int soon(const char *path)
{
	uint64_t begun = now(), took;
	int fd = connect_to(path);
	char bytes[2];

	if (send(fd, "q", 1, MSG_NOSIGNAL) != 1 || recv(fd, bytes, 2, 0) != 1 ||
	    recv(fd, bytes, 2, 0))
		errx(1, "no echo, or no end");
	took = now() - begun;
	printf("hung up after %" PRIu64 " ms\n", took / 1000000);
	return took < idle_ns / 20 || took > idle_ns / 2;
}

static int wait_for_end(const char *path, unsigned int all)
{
	struct timeval limit = { .tv_sec = 60 };
	int fds[256], byte;
	unsigned int i;

	for (i = 0; i < all && i < 256; i++)
		fds[i] = connect_to(path);
	for (all = i, i = 0; i < all; i++) {
		setsockopt(fds[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (recv(fds[i], &byte, 1, 0))
			err(1, "client %u of %u was not hung up on", i, all);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit files;
	uint64_t begun, limit;
	unsigned int all, i;

	if (argc != 4)
		errx(2, "usage: clients PATH N MS | clients soon PATH MS | clients wait PATH N");
	if (!strcmp(argv[1], "wait"))
		return wait_for_end(argv[2], (unsigned int)strtoul(argv[3], NULL, 10));
	idle_ns = strtoull(argv[3], NULL, 10) * 1000000;
	if (!strcmp(argv[1], "soon"))
		return soon(argv[2]);
	all = (unsigned int)strtoul(argv[2], NULL, 10);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);

	clients = calloc(all, sizeof(*clients));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!clients || epoll < 0)
		err(1, "no room");
	begun = now();
	for (i = 0; i < all; i++) {
		join(argv[1], i);
		if (i % 16 == 15)
			turn(0);
	}
	printf("%-24s %" PRIu64 "\n", "ms to connect", (now() - begun) / 1000000);
	begun = now();
	limit = begun + 100000000000ULL + 3 * idle_ns;
	while ((idle_now || now() - begun < 3 * idle_ns) && now() < limit)
		turn(5);
	silence = true;
	while (open_now && now() < limit)
		turn(100);

	printf("%-24s %u\n", "clients", count);
	printf("%-24s %u\n", "left", left);
	printf("%-24s %u\n", "cut", cut);
	printf("%-24s %u\n", "cut early", cut_early);
	printf("%-24s %u\n", "idle", idle);
	printf("%-24s %u\n", "cut, idle", cut_idle);
	printf("%-24s %u\n", "never cut", open_now);
	printf("%-24s %u\n", "talking", talking);
	printf("%-24s %u\n", "too slow to talk", slow);
	printf("%-24s %" PRIu64 "\n", "echoes", echoes);
	printf("%-24s %" PRIu64 "\n", "wrong echoes", wrong);
	printf("%-24s %" PRIu64 "\n", "ms late, at most", latest / 1000000);
	if (cut_early || open_now || wrong || left + cut != count)
		return 1;
	return slow > talking / 2 || echoes < 3 * talking ? 3 : 0;
}
