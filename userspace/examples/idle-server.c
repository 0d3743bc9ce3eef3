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
 *	3. only then read expirations, and cut the connections they belong to
 *
 * So a connection that goes on talking costs no system call for its deadline.
 * Without leases (--handles, or a module that has none) step 2 arms the timer of
 * every active connection.
 *
 * In this order a connection that was active is never cut: its re-arm withdraws
 * an expiration that has not been read. Before a connection is cut its socket is
 * looked at once more: it may have spoken after epoll was asked, or epoll may have had
 * no room to name it. The deadline counts from the end of step 1, so that it is a
 * whole timeout after whatever was received.
 *
 * Connections live in slots that are used again. Both epoll and the timers are
 * given the slot and its generation, which every close advances. So an event of a
 * former connection is never taken for one of the present connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <twheel.h>

#include "duration.h"
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

/* How many events, and how many new connections, one round takes on. */
#define ROUND_EVENTS	512
#define ROUND_ACCEPTS	256

/* The longest request head; a client that sends a longer one is told so. */
#define HEAD_MAX	8192

/* How many bytes one connection may send in one round. */
#define RECEIVE_MAX	65536

/* Names in epoll's data that are not connections: no slot has such a number. */
#define NAME_LISTENER	UINT64_MAX
#define NAME_TIMERS	(UINT64_MAX - 1)
#define SLOTS_MAX	(1U << 24)

static const char answer_ok[] =
	"HTTP/1.1 200 OK\r\n"
	"Content-Type: text/plain\r\n"
	"Content-Length: 6\r\n"
	"\r\n"
	"alive\n";

static const char answer_ok_close[] =
	"HTTP/1.1 200 OK\r\n"
	"Content-Type: text/plain\r\n"
	"Content-Length: 6\r\n"
	"Connection: close\r\n"
	"\r\n"
	"alive\n";

static const char answer_method[] =
	"HTTP/1.1 501 Not Implemented\r\n"
	"Content-Length: 0\r\n"
	"Connection: close\r\n"
	"\r\n";

static const char answer_long[] =
	"HTTP/1.1 431 Request Header Fields Too Large\r\n"
	"Content-Length: 0\r\n"
	"Connection: close\r\n"
	"\r\n";

/**
 * struct bytes - a string of bytes that grows
 * @data: the bytes
 * @len: how many there are
 * @room: how many @data has room for
 */
struct bytes {
	char	*data;
	size_t	len;
	size_t	room;
};

/**
 * struct connection - one slot
 * @fd: socket, or -1 while the slot is free
 * @generation: how often the slot was given up
 * @active: it received or sent something in this round
 * @closing: no more requests are answered. The connection is closed when all is sent
 *	and the client has closed, too, or when its idle time is over.
 * @events: the events that epoll looks for
 * @next_free: the next free slot
 * @handle: its timer, 0 before the first arm
 * @word: the word of its lease, NULL without leases or before the first arm
 * @deadline: the deadline that the timer is armed for
 * @last_active: the end of step 1 of the last round in which it was active
 * @in: the beginning of a request
 * @out: output that the socket had no room for
 */
struct connection {
	int		fd;
	uint32_t	generation;
	bool		active;
	bool		closing;
	uint32_t	events;
	uint32_t	next_free;
	uint64_t	handle;
	uint64_t	*word;
	uint64_t	deadline;
	uint64_t	last_active;
	struct bytes	in;
	struct bytes	out;
};

/* &server.free_slot when there is no free slot. */
#define NO_SLOT		UINT32_MAX

/**
 * struct server - the state of the program
 * @address: where to listen
 * @timeout: idle time after which a connection is cut
 * @max: connections at once
 * @duration: how long to run, 0 for no end
 * @leases: whether deadlines are leases
 * @tw: the context
 * @epoll: waits for the connections, the listener and the timers
 * @listener: accepts connections
 * @listening: whether epoll looks at @listener
 * @open_at_pause: how many connections were open when @listening changed last
 * @slots: the connections
 * @slots_room: how many slots there are
 * @free_slot: the first free slot
 * @open: how many slots are in use
 * @active: slots that were active in this round; one may be there twice
 * @active_len: how many slots @active has
 * @active_room: how many @active, @arms and @arming have room for
 * @arms: requests to arm
 * @arming: the slots that @arms are for
 * @cancels: timers of connections that were closed in this round
 * @cancels_len: how many timers @cancels has
 * @cancels_room: how many @cancels has room for
 * @accepted: connections accepted
 * @requests: requests answered
 * @refused: connections that could not be given a timer
 * @pauses: how often accepting was stopped for want of room
 * @armed: deadlines set by system calls
 * @extended: deadlines moved without system calls
 * @closed: connections that ended in another way than by being cut
 * @cut: connections cut because they were idle
 * @early: those connections among @cut that had not been idle for long enough
 * @stale: expirations that belonged to no present connection or deadline
 * @saved: connections that were active between their expiration and its reading
 * @lateness: from the deadline of a connection to its cut
 */
struct server {
	struct sockaddr_in	address;
	uint64_t		timeout;
	uint32_t		max;
	uint64_t		duration;
	bool			leases;

	struct twheel		*tw;
	int			epoll;
	int			listener;
	bool			listening;
	uint32_t		open_at_pause;

	struct connection	*slots;
	uint32_t		slots_room;
	uint32_t		free_slot;
	uint32_t		open;

	uint32_t		*active;
	size_t			active_len;
	size_t			active_room;
	struct twheel_arm	*arms;
	uint32_t		*arming;
	struct twheel_cancel	*cancels;
	size_t			cancels_len;
	size_t			cancels_room;

	uint64_t		accepted;
	uint64_t		requests;
	uint64_t		refused;
	uint64_t		pauses;
	uint64_t		armed;
	uint64_t		extended;
	uint64_t		closed;
	uint64_t		cut;
	uint64_t		early;
	uint64_t		stale;
	uint64_t		saved;
	struct lateness		lateness;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Make room for more elements. Ends the program if there is no memory. */
static void *grow(void *array, size_t *room, size_t size)
{
	*room = *room ? *room * 2 : 256;
	array = realloc(array, *room * size);
	if (!array)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	return array;
}

/* Append @len bytes. Returns whether there was memory for them. */
static bool append(struct bytes *bytes, const char *data, size_t len)
{
	if (bytes->room - bytes->len < len) {
		size_t room = (bytes->len + len) * 2;
		char *bigger = realloc(bytes->data, room);

		if (!bigger)
			return false;
		bytes->data = bigger;
		bytes->room = room;
	}
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
	return true;
}

/* Free the bytes. No buffer is kept for later, so that idle connections cost little. */
static void discard(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ };
}

/*
 * Slots
 */

static uint64_t name_of(const struct server *server, uint32_t slot)
{
	return (uint64_t)server->slots[slot].generation << 32 | slot;
}

/* The slot with this name, NO_SLOT when the connection is gone. */
static uint32_t find(const struct server *server, uint64_t name)
{
	uint32_t slot = (uint32_t)name;

	if (slot >= server->slots_room || server->slots[slot].fd < 0 ||
	    name_of(server, slot) != name)
		return NO_SLOT;
	return slot;
}

static uint32_t take_slot(struct server *server)
{
	uint32_t slot;

	if (server->free_slot == NO_SLOT) {
		size_t room = server->slots_room;
		uint32_t i;

		server->slots = grow(server->slots, &room, sizeof(*server->slots));
		for (i = (uint32_t)room; i-- > server->slots_room;) {
			server->slots[i] = (struct connection){
				.fd = -1,
				.next_free = server->free_slot,
			};
			server->free_slot = i;
		}
		server->slots_room = (uint32_t)room;
	}
	slot = server->free_slot;
	server->free_slot = server->slots[slot].next_free;
	server->open++;
	return slot;
}

/* Note that the connection was active, so that its deadline is moved in this round. */
static void touch(struct server *server, uint32_t slot)
{
	if (server->slots[slot].active)
		return;
	server->slots[slot].active = true;
	if (server->active_len == server->active_room) {
		size_t room = server->active_room;

		server->active = grow(server->active, &room, sizeof(*server->active));
		room = server->active_room;
		server->arming = grow(server->arming, &room, sizeof(*server->arming));
		server->arms = grow(server->arms, &server->active_room,
				    sizeof(*server->arms));
	}
	server->active[server->active_len++] = slot;
}

/* Has epoll look for @events on a connection. */
static void look_for(struct server *server, uint32_t slot, uint32_t events)
{
	struct epoll_event event = {
		.events = events,
		.data.u64 = name_of(server, slot),
	};

	if (server->slots[slot].events == events)
		return;
	if (epoll_ctl(server->epoll, EPOLL_CTL_MOD, server->slots[slot].fd, &event))
		die(EXIT_FAILED, "epoll: %s", strerror(errno));
	server->slots[slot].events = events;
}

static void set_listening(struct server *server, bool listening)
{
	struct epoll_event event = {
		.events = listening ? EPOLLIN : 0,
		.data.u64 = NAME_LISTENER,
	};

	if (epoll_ctl(server->epoll, EPOLL_CTL_MOD, server->listener, &event))
		die(EXIT_FAILED, "epoll: %s", strerror(errno));
	server->listening = listening;
	server->open_at_pause = server->open;
}

/* Close a connection and give up its slot. Its timer is cancelled, unless that has ended. */
static void close_slot(struct server *server, uint32_t slot, bool timer_ended)
{
	struct connection *conn = &server->slots[slot];

	if (conn->handle && !timer_ended) {
		if (server->cancels_len == server->cancels_room)
			server->cancels = grow(server->cancels, &server->cancels_room,
					       sizeof(*server->cancels));
		server->cancels[server->cancels_len++] = (struct twheel_cancel){
			.handle = conn->handle,
		};
	}
	close(conn->fd);
	discard(&conn->in);
	discard(&conn->out);
	*conn = (struct connection){
		.fd = -1,
		.generation = conn->generation + 1,
		.next_free = server->free_slot,
	};
	server->free_slot = slot;
	server->open--;
}

/*
 * Step 1: serve
 */

static void accept_some(struct server *server)
{
	unsigned int i;

	for (i = 0; i < ROUND_ACCEPTS; i++) {
		struct epoll_event event = { .events = EPOLLIN };
		struct connection *conn;
		uint32_t slot;
		int one = 1;
		int fd;

		if (server->open >= server->max) {
			errno = EMFILE;
			fd = -1;
		} else {
			fd = accept4(server->listener, NULL, NULL,
				     SOCK_NONBLOCK | SOCK_CLOEXEC);
		}
		if (fd < 0) {
			/* Stop: level-triggered epoll would name the listener in every round. */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM) {
				set_listening(server, false);
				server->pauses++;
			}
			/* Other errors have passed, or concern that client only. */
			if (errno == ECONNABORTED || errno == EINTR)
				continue;
			return;
		}

		/* Answers are written whole, so there is nothing to wait for. */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		slot = take_slot(server);
		conn = &server->slots[slot];
		conn->fd = fd;
		conn->events = event.events;
		event.data.u64 = name_of(server, slot);
		if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event)) {
			server->refused++;
			close_slot(server, slot, false);
			continue;
		}
		server->accepted++;
		touch(server, slot);
	}
}

/* Whether a comma-separated header value has this word in it. */
static bool has_word(const char *value, size_t len, const char *word)
{
	size_t word_len = strlen(word);
	size_t i;

	for (i = 0; i + word_len <= len; i++)
		if (!strncasecmp(value + i, word, word_len))
			return true;
	return false;
}

/* Answers the request whose head is the @len bytes at @head. */
static bool answer(struct server *server, struct connection *conn,
		   const char *head, size_t len)
{
	const char *end = head + len;
	const char *line = memchr(head, '\n', len);

	server->requests++;
	if ((len < 4 || memcmp(head, "GET ", 4)) && (len < 5 || memcmp(head, "HEAD ", 5))) {
		conn->closing = true;
		return append(&conn->out, answer_method, sizeof(answer_method) - 1);
	}

	/* HTTP/1.0: the client would have to be told that the connection stays open. */
	conn->closing = line && line - head >= 9 && !memcmp(line - 9, "HTTP/1.0", 8);
	while (line && ++line < end) {
		static const char name[] = "Connection:";
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((next ? next : end) - line);

		if (line_len >= sizeof(name) - 1 &&
		    !strncasecmp(line, name, sizeof(name) - 1) &&
		    has_word(line, line_len, "close"))
			conn->closing = true;
		line = next;
	}

	if (conn->closing)
		return append(&conn->out, answer_ok_close, sizeof(answer_ok_close) - 1 -
			      (head[0] == 'H' ? 6 : 0));
	return append(&conn->out, answer_ok, sizeof(answer_ok) - 1 -
		      (head[0] == 'H' ? 6 : 0));
}

/* Answers all requests in @data, and keeps what is left of it. */
static bool handle_input(struct server *server, struct connection *conn,
			 const char *data, size_t len)
{
	struct bytes whole = { };
	bool good = true;

	/* It is rare that a request comes in pieces. */
	if (conn->in.len) {
		whole = conn->in;
		conn->in = (struct bytes){ };
		good = append(&whole, data, len);
		data = whole.data;
		len = whole.len;
	}

	while (good && !conn->closing) {
		const char *end = memmem(data, len, "\r\n\r\n", 4);
		size_t head;

		if (!end)
			break;
		head = (size_t)(end - data) + 4;
		good = answer(server, conn, data, head);
		data += head;
		len -= head;
	}
	if (good && !conn->closing && len > HEAD_MAX) {
		conn->closing = true;
		good = append(&conn->out, answer_long, sizeof(answer_long) - 1);
	}
	if (good && !conn->closing && len)
		good = append(&conn->in, data, len);
	discard(&whole);
	return good;
}

/* Sends what it can. Returns whether the connection is to go on. */
static bool send_output(struct server *server, uint32_t slot)
{
	struct connection *conn = &server->slots[slot];
	size_t sent = 0;

	while (sent < conn->out.len) {
		ssize_t n = send(conn->fd, conn->out.data + sent, conn->out.len - sent,
				 MSG_NOSIGNAL);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				return false;
			break;
		}
		sent += (size_t)n;
		touch(server, slot);
	}

	if (sent < conn->out.len) {
		/* Nothing more is read from a client that does not read. */
		memmove(conn->out.data, conn->out.data + sent, conn->out.len - sent);
		conn->out.len -= sent;
		look_for(server, slot, EPOLLOUT);
		return true;
	}
	discard(&conn->out);
	/*
	 * A close now, with input unread, could take the answer back. So the client is
	 * only told that this is all, and what it sends from now on is thrown away.
	 */
	if (conn->closing && shutdown(conn->fd, SHUT_WR))
		return false;
	look_for(server, slot, EPOLLIN);
	return true;
}

static bool serve(struct server *server, uint32_t slot, uint32_t events)
{
	static char data[RECEIVE_MAX];
	ssize_t n;

	if (events & EPOLLOUT)
		return send_output(server, slot);
	/* recv() tells of errors and hang-ups. */
	n = recv(server->slots[slot].fd, data, sizeof(data), 0);
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	if (!n)
		return false;
	/* Input does not count any more: the time that is left is for the answer. */
	if (server->slots[slot].closing)
		return true;
	touch(server, slot);
	return handle_input(server, &server->slots[slot], data, (size_t)n) &&
	       send_output(server, slot);
}

/*
 * Step 2: move the deadlines
 */

/*
 * Extend the leases of the connections that were active. Put requests for those whose
 * timers have to be armed into @arms, and their slots into @arming. Returns how many
 * timers have to be armed.
 */
static size_t extend_leases(struct server *server)
{
	uint64_t now = twheel_now(server->tw);
	size_t count = 0;
	size_t i;

	for (i = 0; i < server->active_len; i++) {
		uint32_t slot = server->active[i];
		struct connection *conn = &server->slots[slot];

		/* The slot was closed since, or closed and used again, and is here twice. */
		if (!conn->active)
			continue;
		conn->active = false;
		conn->last_active = now;
		/* If the lease is over the timer is armed, which withdraws its record. */
		if (conn->word &&
		    twheel_lease_extend(conn->word, now + server->timeout) > 0) {
			conn->deadline = now + server->timeout;
			server->extended++;
			continue;
		}
		server->arming[count] = slot;
		server->arms[count++] = (struct twheel_arm){
			.handle = conn->handle,
			.user_data = name_of(server, slot),
			.expires = now + server->timeout,
			.flags = TWHEEL_ARM_ABS | (server->leases ? TWHEEL_ARM_LEASE : 0),
		};
	}
	server->active_len = 0;
	return count;
}

static void cancel_timers(struct server *server)
{
	ssize_t ret;
	size_t i;

	if (!server->cancels_len)
		return;
	ret = twheel_cancel_batch(server->tw, server->cancels, server->cancels_len);
	if (ret != (ssize_t)server->cancels_len)
		die(EXIT_FAILED, "cannot cancel: %s", strerror((int)-ret));
	for (i = 0; i < server->cancels_len; i++)
		if (server->cancels[i].result)
			die(EXIT_FAILED, "cannot cancel a timer: %s",
			    strerror(-server->cancels[i].result));
	server->cancels_len = 0;
}

/* Arm the @count timers that extend_leases() has found. */
static void arm_timers(struct server *server, size_t count)
{
	ssize_t ret;
	size_t i;

	if (!count)
		return;
	ret = twheel_arm_batch(server->tw, server->arms, count);
	if (ret != (ssize_t)count)
		die(EXIT_FAILED, "cannot arm: %s", strerror((int)-ret));
	for (i = 0; i < count; i++) {
		struct connection *conn = &server->slots[server->arming[i]];
		const struct twheel_arm *arm = &server->arms[i];

		if (arm->result) {
			/* Once its expiration was read a connection has no handle any more. */
			if (arm->handle)
				die(EXIT_FAILED, "a timer is gone: %s",
				    strerror(-arm->result));
			/* Without a deadline the connection could stay for ever. */
			server->refused++;
			close_slot(server, server->arming[i], false);
			continue;
		}
		if (server->leases) {
			ret = twheel_lease_word(server->tw, arm->word, &conn->word);
			if (ret)
				die(EXIT_FAILED, "cannot map the word of a lease: %s",
				    strerror((int)-ret));
		}
		conn->handle = arm->handle;
		conn->deadline = arm->expires;
		server->armed++;
		server->saved += arm->old_state == TWHEEL_STATE_READY;
	}
}

static void settle_timers(struct server *server)
{
	size_t count = extend_leases(server);

	/* Cancel first: the limits then have room for as many new timers. */
	cancel_timers(server);
	arm_timers(server, count);
}

/*
 * Step 3: cut
 */

/* Has the client said something that was not read yet? */
static bool has_spoken(const struct connection *conn)
{
	char c;

	return !conn->closing &&
	       recv(conn->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void cut_idle(struct server *server)
{
	struct twheel_event events[ROUND_EVENTS];
	ssize_t n = twheel_read(server->tw, events, ROUND_EVENTS);
	ssize_t i;

	/* All timers that had expired may have been re-armed since. */
	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n < 0)
		die(EXIT_FAILED, "cannot read: %s", strerror((int)-n));

	for (i = 0; i < n; i++) {
		uint32_t slot = find(server, events[i].user_data);
		struct connection *conn;
		uint64_t now;

		if (slot == NO_SLOT) {
			server->stale++;
			continue;
		}
		conn = &server->slots[slot];
		if (conn->handle != events[i].handle ||
		    conn->deadline != events[i].deadline) {
			server->stale++;
			continue;
		}
		if (has_spoken(conn)) {
			/* Its timer has ended; the next round arms another. */
			conn->handle = 0;
			conn->word = NULL;
			touch(server, slot);
			server->saved++;
			continue;
		}
		now = twheel_now(server->tw);
		if (now < conn->last_active + server->timeout)
			server->early++;
		lateness_add(&server->lateness, now > conn->deadline ?
			     now - conn->deadline : 0);
		server->cut++;
		close_slot(server, slot, true);
	}
}

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
		/* The listener waits for descriptors or memory, which may be freed elsewhere. */
		if (!server->listening && (wait_ms < 0 || wait_ms > 100))
			wait_ms = 100;

		n = epoll_pwait(server->epoll, events, ROUND_EVENTS, wait_ms, waiting);
		if (n < 0 && errno != EINTR)
			die(EXIT_FAILED, "epoll_pwait: %s", strerror(errno));

		for (i = 0; i < n; i++) {
			uint32_t slot;

			if (events[i].data.u64 == NAME_LISTENER) {
				accept_some(server);
				continue;
			}
			if (events[i].data.u64 == NAME_TIMERS) {
				expired = true;
				continue;
			}
			slot = find(server, events[i].data.u64);
			if (slot != NO_SLOT && !serve(server, slot, events[i].events)) {
				server->closed++;
				close_slot(server, slot, false);
			}
		}
		settle_timers(server);
		if (expired)
			cut_idle(server);
		if (!server->listening && (n == 0 || server->open < server->open_at_pause))
			set_listening(server, true);
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
	struct sigaction action = { .sa_handler = on_signal };
	socklen_t len = sizeof(server->address);
	struct rlimit files;
	sigset_t blocked;
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

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, waiting);
	sigdelset(waiting, SIGINT);
	sigdelset(waiting, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);

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
			close_slot(&server, i, true);
	close(server.listener);
	close(server.epoll);
	twheel_close(server.tw);
	free(server.slots);
	free(server.active);
	free(server.arming);
	free(server.arms);
	free(server.cancels);
	if (fflush(stdout) || ferror(stdout))
		die(EXIT_FAILED, "standard output: %s", strerror(errno));
	return good ? EXIT_DONE : EXIT_FAILED;
}
