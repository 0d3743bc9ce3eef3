// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * idle-server: what is said on a connection. Step 1 of a round.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "idle-server.h"
#include "options.h"

/* The longest request head; a client that sends a longer one is told so. */
#define HEAD_MAX	8192

/* How many bytes one connection may send in one round. */
#define RECEIVE_MAX	65536

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

/* Has epoll look for @events on a connection. */
static void look_for(struct server *server, uint32_t slot, uint32_t events)
{
	struct epoll_event event = {
		.events = events,
		.data.u64 = server_name(server, slot),
	};

	if (server->slots[slot].events == events)
		return;
	if (epoll_ctl(server->epoll, EPOLL_CTL_MOD, server->slots[slot].fd, &event))
		die(EXIT_FAILED, "epoll: %s", strerror(errno));
	server->slots[slot].events = events;
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
		server_touch(server, slot);
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

bool server_serve(struct server *server, uint32_t slot, uint32_t events)
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
	server_touch(server, slot);
	return handle_input(server, &server->slots[slot], data, (size_t)n) &&
	       send_output(server, slot);
}
