// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * idle-client: does idle-server cut the right connections, and at the right time?
 *
 * Opens connections that fall silent, having said nothing, half a request or a
 * whole one, and connections that go on talking, a request or one byte of it
 * every third of the timeout.
 *
 * The time of silence is measured so that it is never too short: it begins before
 * connect() or send() is called, and ends when the cut is seen. If it is shorter than
 * the timeout even so, the connection was cut too soon. What was said after a silence of a
 * timeout may cross with the cut, so the silence before the last word counts too where a
 * connection talks.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "duration.h"
#include "lateness.h"
#include "options.h"

static const char help[] =
"Usage: idle-client --port N [OPTION]...\n"
"Find out whether idle-server cuts silent connections, and no others.\n"
"\n"
"  -p, --port N             TCP port\n"
"  -b, --bind ADDRESS       IPv4 address (default 127.0.0.1)\n"
"  -t, --timeout DURATION   the server's idle timeout (default 30s)\n"
"  -s, --silent N           connections that fall silent (default 100)\n"
"  -k, --talking N          connections that go on talking (default 20)\n"
"  -d, --duration DURATION  time to go on for (default three times the timeout)\n"
"  -l, --late DURATION      how late a cut may be seen (default 5s)\n"
"  -h, --help               show this help\n"
"\n"
"Exit codes: 0 every silent connection was cut in time and no other was; 1 not\n"
"so, or a failure at run time; 2 wrong usage.\n";

static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

#define REQUEST_LEN	(sizeof(request) - 1)
#define ANSWER		"HTTP/1.1 200 "

/**
 * struct conversation - one connection
 * @fd: socket, or -1 once the server has closed it
 * @talks: it goes on talking
 * @step: how many bytes it says at once
 * @said: how many bytes of the request it has said
 * @asked: requests sent in whole
 * @answers: answers received
 * @matched: how much of the next answer's beginning was seen
 * @since: taken before connect(), then before each send()
 * @before: how long it had been silent when it said the last
 * @next: when it says something again
 */
struct conversation {
	int		fd;
	bool		talks;
	size_t		step;
	size_t		said;
	uint64_t	asked;
	uint64_t	answers;
	size_t		matched;
	uint64_t	since;
	uint64_t	before;
	uint64_t	next;
};

/**
 * struct client - the state of the program
 * @address: the address of the server
 * @timeout: the idle timeout of the server
 * @silent: how many conversations fall silent
 * @talking: how many conversations go on
 * @duration: time to go on for
 * @bound: how late a cut may be seen
 * @epoll: waits for all conversations
 * @all: the conversations, first those that fall silent
 * @cut: silent conversations that were cut
 * @soon: those among @cut that were cut too soon
 * @too_late: those among @cut that were cut too late
 * @lost: talking conversations that were cut
 * @own_fault: talking conversations that this program made wait for a timeout
 * @lateness: how late the conversations in @cut were cut, from a timeout after @since
 */
struct client {
	struct sockaddr_in	address;
	uint64_t		timeout;
	uint32_t		silent;
	uint32_t		talking;
	uint64_t		duration;
	uint64_t		bound;
	int			epoll;
	struct conversation	*all;
	uint32_t		cut;
	uint32_t		soon;
	uint32_t		too_late;
	uint32_t		lost;
	uint32_t		own_fault;
	struct lateness		lateness;
};

static void say(struct conversation *conv, size_t len)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	if (len > REQUEST_LEN - conv->said)
		len = REQUEST_LEN - conv->said;
	conv->before = now - conv->since;
	conv->since = now;
	/* A failure shows later on, as a close, and is judged then. */
	if (send(conv->fd, request + conv->said, len, MSG_NOSIGNAL) != (ssize_t)len)
		return;
	conv->said += len;
	if (conv->said == REQUEST_LEN) {
		conv->said = 0;
		conv->asked++;
	}
}

static void begin(struct client *client, uint32_t index)
{
	struct conversation *conv = &client->all[index];
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = index };

	conv->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (conv->fd < 0)
		die(EXIT_FAILED, "socket: %s", strerror(errno));
	conv->since = clock_now(CLOCK_MONOTONIC);
	if (connect(conv->fd, (struct sockaddr *)&client->address, sizeof(client->address)))
		die(EXIT_FAILED, "connect: %s", strerror(errno));
	if (fcntl(conv->fd, F_SETFL, O_NONBLOCK) ||
	    epoll_ctl(client->epoll, EPOLL_CTL_ADD, conv->fd, &event))
		die(EXIT_FAILED, "epoll: %s", strerror(errno));

	conv->talks = index >= client->silent;
	if (conv->talks) {
		conv->step = index % 2 ? REQUEST_LEN : 1;
		conv->next = conv->since;
	} else if (index % 3 == 1) {
		say(conv, REQUEST_LEN / 2);
	} else if (index % 3 == 2) {
		say(conv, REQUEST_LEN);
	}
}

/* Counts the answers in what was received, which may come in any pieces. */
static void listen_to(struct conversation *conv, const char *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		/* An H begins a new match: ANSWER has no other H than its first. */
		if (data[i] != ANSWER[conv->matched]) {
			conv->matched = data[i] == ANSWER[0] ? 1 : 0;
		} else if (++conv->matched == sizeof(ANSWER) - 1) {
			conv->answers++;
			conv->matched = 0;
		}
	}
}

static void ended(struct client *client, struct conversation *conv)
{
	uint64_t silence = clock_now(CLOCK_MONOTONIC) - conv->since;

	close(conv->fd);
	conv->fd = -1;
	if (conv->talks) {
		if (silence >= client->timeout || conv->before >= client->timeout)
			client->own_fault++;
		else
			client->lost++;
		return;
	}
	client->cut++;
	if (silence < client->timeout) {
		client->soon++;
		complain("cut after %" PRIu64 " ns of silence", silence);
		return;
	}
	if (silence - client->timeout > client->bound)
		client->too_late++;
	lateness_add(&client->lateness, silence - client->timeout);
}

static void hear(struct client *client, struct conversation *conv)
{
	char data[4096];
	ssize_t n = recv(conv->fd, data, sizeof(data), 0);

	if (n > 0)
		listen_to(conv, data, (size_t)n);
	else if (!n || (errno != EAGAIN && errno != EINTR))
		ended(client, conv);
}

static void run(struct client *client)
{
	uint32_t all = client->silent + client->talking;
	uint64_t end = clock_now(CLOCK_MONOTONIC) + client->duration;

	for (;;) {
		struct epoll_event events[64];
		uint64_t now = clock_now(CLOCK_MONOTONIC);
		uint64_t next = end;
		uint32_t i;
		int n;

		if (now >= end && (client->cut == client->silent ||
				   now >= end + client->bound))
			break;
		for (i = client->silent; i < all; i++) {
			struct conversation *conv = &client->all[i];

			if (conv->fd < 0)
				continue;
			if (conv->next <= now) {
				conv->next = now + client->timeout / 3;
				say(conv, conv->step);
			}
			if (conv->next < next)
				next = conv->next;
		}

		/* A wait of days would not fit. */
		if (next > now + NSEC_PER_SEC)
			next = now + NSEC_PER_SEC;
		n = epoll_wait(client->epoll, events, 64, next <= now ? 1 :
			       (int)((next - now) / NSEC_PER_MSEC + 1));
		if (n < 0 && errno != EINTR)
			die(EXIT_FAILED, "epoll_wait: %s", strerror(errno));
		for (i = 0; n > 0 && i < (uint32_t)n; i++)
			hear(client, &client->all[events[i].data.u32]);
	}
}

static void parse_options(struct client *client, int argc, char **argv)
{
	const char *address = "127.0.0.1";
	uint32_t port = 0;
	const struct option_rule rules[] = {
		{ "port",	'p', OPTION_NUMBER32,	&port,			1, 65535 },
		{ "bind",	'b', OPTION_TEXT,	&address,		0, 0 },
		{ "timeout",	't', OPTION_DURATION,	&client->timeout,	0, 0 },
		{ "silent",	's', OPTION_NUMBER32,	&client->silent,	0, 1000000 },
		{ "talking",	'k', OPTION_NUMBER32,	&client->talking,	0, 1000000 },
		{ "duration",	'd', OPTION_DURATION,	&client->duration,	0, 0 },
		{ "late",	'l', OPTION_DURATION,	&client->bound,		0, 0 },
		{ }
	};

	argv = options_parse(argc, argv, rules, help);
	if (*argv)
		die(EXIT_USAGE, "'%s' is too much: no argument is taken", *argv);
	if (!port)
		die(EXIT_USAGE, "--port is needed");
	if (!inet_aton(address, &client->address.sin_addr))
		die(EXIT_USAGE, "--bind: '%s' is not an IPv4 address", address);
	client->address.sin_port = htons((uint16_t)port);
	if (!client->duration)
		client->duration = 3 * client->timeout;
}

int main(int argc, char **argv)
{
	static struct client client = {
		.address.sin_family = AF_INET,
		.timeout = 30 * NSEC_PER_SEC,
		.silent = 100,
		.talking = 20,
		.bound = 5 * NSEC_PER_SEC,
	};
	uint32_t unanswered = 0;
	struct rlimit files;
	uint64_t answers = 0;
	uint32_t all;
	uint32_t i;
	bool good;

	parse_options(&client, argc, argv);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}

	all = client.silent + client.talking;
	client.all = calloc(all ? all : 1, sizeof(*client.all));
	client.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!client.all || client.epoll < 0)
		die(EXIT_FAILED, "%s", strerror(errno));
	for (i = 0; i < all; i++)
		begin(&client, i);
	run(&client);

	for (i = 0; i < all; i++) {
		const struct conversation *conv = &client.all[i];

		answers += conv->answers;
		/* The last answer may still have been on its way as time ran out. */
		if (conv->answers > conv->asked || conv->answers + conv->talks < conv->asked)
			unanswered++;
		if (conv->fd >= 0)
			close(conv->fd);
	}
	printf("silent             %" PRIu32 "\n", client.silent);
	printf("cut                %" PRIu32 "\n", client.cut);
	printf("cut too soon       %" PRIu32 "\n", client.soon);
	printf("cut too late       %" PRIu32 "\n", client.too_late);
	printf("lateness of cuts   ");
	lateness_print(&client.lateness);
	printf("talking            %" PRIu32 "\n", client.talking);
	printf("cut while talking  %" PRIu32 "\n", client.lost);
	printf("made to wait       %" PRIu32 " (rightly cut: this program was too slow)\n",
	       client.own_fault);
	printf("answers            %" PRIu64 "\n", answers);
	printf("wrongly answered   %" PRIu32 "\n", unanswered);

	good = client.cut == client.silent && !client.soon && !client.too_late &&
	       !client.lost && !unanswered;
	close(client.epoll);
	free(client.all);
	flush_output();
	return good ? EXIT_DONE : EXIT_FAILED;
}
