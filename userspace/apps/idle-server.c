// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * idle-server: a small HTTP server that cuts connections on which nothing is said.
 *
 * One thread, one epoll, and the deadlines of all connections on one twheel
 * descriptor. A round of the loop is:
 *
 *	1. serve every connection that epoll has named, and note which were active
 *	2. extend the leases of the active connections; with one system call, cancel
 *	   the timers of connections that were closed; with another, arm the timers of
 *	   connections that are new or whose lease was over
 *	3. only then read expirations, cut the connections they belong to, and arm the
 *	   timers of those that turn out to have been active after all
 *
 * So a connection that goes on talking costs no system call for its deadline.
 * Without leases (--handles, or a module that has none) step 2 arms the timer of
 * every active connection.
 *
 * In this order a connection that was active is never cut: its re-arm withdraws
 * an expiration that has not been read. Before a connection is cut its socket is
 * looked at once more: it may have spoken after epoll was asked, or epoll may have had
 * no room to name it. A client that leaves its answers unread is not active, whatever it
 * says: nothing more is read from it. The deadline counts from the end of step 1, so that it is a
 * whole timeout after whatever was received.
 *
 * Connections live in slots that are used again. Both epoll and the timers are
 * given the slot and its generation, which every close advances. So an event of a
 * former connection is never taken for one of the present connection.
 *
 * The main loop is here; idle-server.h says where the rest is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "duration.h"
#include "idle-server.h"
#include "inherited.h"
#include "lateness.h"
#include "options.h"

static const char help[] =
"Usage: idle-server [OPTION]...\n"
"Answer HTTP requests, and cut connections that have been idle for too long.\n"
"\n"
"  -p, --port N             TCP port; 0 (default) for any, which is printed\n"
"  -b, --bind ADDRESS       IPv4 address (default 127.0.0.1)\n"
"  -t, --timeout DURATION   idle time after which a connection is cut (default 30s)\n"
"  -H, --handles            move deadlines by system calls, not by leases\n"
"  -m, --max N              connections at once (default 100000)\n"
"  -d, --duration DURATION  stop after this time (default: SIGINT or SIGTERM)\n"
"  -h, --help               show this help\n"
"\n"
"Figures are printed at the end.\n"
"\n"
"Exit codes: 0 no connection was cut early; 1 some were, or a failure at run time;\n"
"2 wrong usage.\n";

/* As many connections as --max allows. */
#define SLOTS_MAX	(1U << 24)

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Go round after round until a signal comes or the time is over. */
static void run(struct server *server, const sigset_t *waiting)
{
	struct epoll_event events[ROUND_EVENTS];
	uint64_t stop = UINT64_MAX;

	if (server->duration)
		stop = twheel_now(server->tw) + server->duration;

	while (!interrupted) {
		uint64_t now = twheel_now(server->tw);
		bool expired = false;
		int wait_ms = -1;
		int n;
		int i;

		if (now >= stop)
			break;
		if (stop != UINT64_MAX) {
			uint64_t ms = (stop - now) / NSEC_PER_MSEC + 1;

			wait_ms = ms < 60000 ? (int)ms : 60000;
		}
		/* Descriptors or memory, for which the listener waits, may be freed elsewhere. */
		if (!server->listening && (wait_ms < 0 || wait_ms > PAUSE_MS))
			wait_ms = PAUSE_MS;

		n = epoll_pwait(server->epoll, events, ROUND_EVENTS, wait_ms, waiting);
		if (n < 0 && errno != EINTR)
			die(EXIT_FAILED, "epoll_pwait: %s", strerror(errno));
		inherited_let_in(waiting);

		for (i = 0; i < n; i++) {
			uint32_t slot;

			if (events[i].data.u64 == NAME_LISTENER) {
				server_accept(server);
				continue;
			}
			if (events[i].data.u64 == NAME_TIMERS) {
				expired = true;
				continue;
			}
			slot = server_find(server, events[i].data.u64);
			if (slot != NO_SLOT && !server_serve(server, slot, events[i].events)) {
				server->closed++;
				server_close(server, slot, false);
			}
		}
		server_settle_timers(server);
		if (expired)
			server_cut_idle(server);
		if (!server->listening && (twheel_now(server->tw) >= server->pause_end ||
					   server->open < server->open_at_pause))
			server_listen(server, true);
	}
}

static void print_figures(const struct server *server)
{
	printf("accepted           %" PRIu64 "\n", server->accepted);
	printf("requests           %" PRIu64 "\n", server->requests);
	printf("closed otherwise   %" PRIu64 "\n", server->closed);
	printf("open at the end    %" PRIu32 "\n", server->open);
	printf("timers armed       %" PRIu64 " (by system call)\n", server->armed);
	printf("leases extended    %" PRIu64 " (without)\n", server->extended);
	printf("refused            %" PRIu64 " (no timer to be had)\n", server->refused);
	printf("accepting paused   %" PRIu64 " times\n", server->pauses);
	printf("idle, cut          %" PRIu64 "\n", server->cut);
	printf("cut early          %" PRIu64 "\n", server->early);
	printf("stale expirations  %" PRIu64 "\n", server->stale);
	printf("saved              %" PRIu64 " (active before their expiration was read)\n",
	       server->saved);
	printf("lateness of cuts   ");
	lateness_print(&server->lateness);
}

static void watch_fd(struct server *server, int fd, uint64_t name)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = name };

	if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event))
		die(EXIT_FAILED, "epoll: %s", strerror(errno));
}

/* Open a context, with leases if they are wanted and the module has them. */
static void open_timers(struct server *server)
{
	const unsigned int flags = TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC;
	const struct twheel_config config = {
		.flags = TWHEEL_CONFIG_LEASE,
	};
	int ret;

	ret = twheel_open(&server->tw, NULL, flags, server->leases ? &config : NULL);
	if (ret == -EINVAL && server->leases) {
		server->leases = false;
		ret = twheel_open(&server->tw, NULL, flags, NULL);
	}
	if (ret)
		die_without_device(ret);
}

static void set_up(struct server *server, sigset_t *waiting)
{
	socklen_t len = sizeof(server->address);
	struct rlimit files;
	int one = 1;

	/* Allow as many descriptors as this user may have anyway. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}

	open_timers(server);

	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll < 0)
		die(EXIT_FAILED, "epoll: %s", strerror(errno));

	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->listener < 0)
		die(EXIT_FAILED, "socket: %s", strerror(errno));
	setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(server->listener, (struct sockaddr *)&server->address, len) ||
	    listen(server->listener, SOMAXCONN) ||
	    getsockname(server->listener, (struct sockaddr *)&server->address, &len))
		die(EXIT_FAILED, "%s:%u: %s", inet_ntoa(server->address.sin_addr),
		    ntohs(server->address.sin_port), strerror(errno));

	watch_fd(server, server->listener, NAME_LISTENER);
	watch_fd(server, twheel_fd(server->tw), NAME_TIMERS);
	server->listening = true;

	inherited_catch_all(on_signal, waiting, SIGINT, SIGTERM, 0);

	printf("listening on %s:%u\n", inet_ntoa(server->address.sin_addr),
	       ntohs(server->address.sin_port));
	fflush(stdout);
}

static void parse_options(struct server *server, int argc, char **argv)
{
	const char *address = "127.0.0.1";
	bool handles = false;
	uint32_t port = 0;
	const struct option_rule rules[] = {
		{ "port",	'p', OPTION_NUMBER32,	&port,			0, 65535 },
		{ "bind",	'b', OPTION_TEXT,	&address,		0, 0 },
		{ "timeout",	't', OPTION_DURATION,	&server->timeout,	0, 0 },
		{ "handles",	'H', OPTION_SET,	&handles,		0, 0 },
		{ "max",	'm', OPTION_NUMBER32,	&server->max,		1, SLOTS_MAX },
		{ "duration",	'd', OPTION_DURATION,	&server->duration,	0, 0 },
		{ }
	};

	argv = options_parse(argc, argv, rules, help);
	if (*argv)
		die(EXIT_USAGE, "'%s' is too much: no argument is taken", *argv);
	if (!inet_aton(address, &server->address.sin_addr))
		die(EXIT_USAGE, "--bind: '%s' is not an IPv4 address", address);
	server->address.sin_port = htons((uint16_t)port);
	server->leases = !handles;
}

int main(int argc, char **argv)
{
	static struct server server = {
		.address.sin_family = AF_INET,
		.timeout = 30 * NSEC_PER_SEC,
		.max = 100000,
		.free_slot = NO_SLOT,
	};
	sigset_t waiting;
	bool good;
	uint32_t i;

	parse_options(&server, argc, argv);
	set_up(&server, &waiting);
	run(&server, &waiting);
	print_figures(&server);

	good = !server.early && !server.stale;
	for (i = 0; i < server.slots_room; i++)
		if (server.slots[i].fd >= 0)
			server_close(&server, i, true);
	close(server.listener);
	close(server.epoll);
	twheel_close(server.tw);
	free(server.slots);
	free(server.active);
	free(server.arming);
	free(server.arms);
	free(server.cancels);
	flush_output();
	return good ? EXIT_DONE : EXIT_FAILED;
}
