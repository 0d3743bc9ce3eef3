// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reminder: give lines to a program that listens.
 *
 * When the connection ends, whatever was given and not taken is given again on the next one.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "number.h"
#include "options.h"
#include "outlet.h"

/* How long to wait before the next attempt to connect, in milliseconds. */
#define RETRY_MS	200

/* For so long a name is not looked up again, in milliseconds. */
#define KEEP_MS		2000

/* How long to wait before the next look whether a name was looked up */
#define LOOK_MS		10

/* What is written at once, and what an answer may have. */
#define OUT_SIZE	65536
#define IN_SIZE		65536

/**
 * struct look_up - a name is looked up
 * @host: that of HOST:PORT, or empty
 * @port: the same
 * @found: what it has, if @error is 0
 * @error: of getaddrinfo()
 * @next: when to do so again, on CLOCK_BOOTTIME
 * @thread: does that, as the resolver may take long
 * @runs: there is that thread
 * @ended: it is about to end
 */
struct look_up {
	char			host[256];
	const char		*port;
	struct addrinfo		*found;
	int			error;
	uint64_t		next;
	pthread_t		thread;
	bool			runs;
	atomic_bool		ended;
};

/**
 * struct sock - the outlet
 * @outlet: what all kinds have
 * @name: the address as it was given
 * @path: that of unix:PATH
 * @look_up: of its host
 * @addresses: all that the name has
 * @address: that of the connection, or of the next attempt; NULL: begin with the first one then
 * @fd: the connection, or -1
 * @connected: the receiver is there
 * @used: something was written to it
 * @retry: when to connect, on CLOCK_BOOTTIME
 * @told: it was said that the connection is not there
 * @partly: a reminder whose line did not fit into @out, and is next
 * @unsent: the first of those that were given whose line was not sent yet to its end, or NULL
 * @out: what is to be written, up to @out_len; what was is up to @out_done
 * @in: what was read and is no whole line yet, up to @in_len
 */
struct sock {
	struct outlet		outlet;
	const char		*name;
	struct sockaddr_un	path;
	struct look_up		look_up;
	struct addrinfo		*addresses;
	struct addrinfo		*address;
	int			fd;
	bool			connected;
	bool			used;
	uint64_t		retry;
	bool			told;
	struct reminder		*partly;
	struct reminder		*unsent;
	char			out[OUT_SIZE];
	size_t			out_len;
	size_t			out_done;
	char			in[IN_SIZE];
	size_t			in_len;
};

static struct sock *sock_of(struct outlet *outlet)
{
	return (struct sock *)outlet;
}

/*
 * The connection is no more: have what was given wait again. One that did not come about may do so
 * at another address of that name, which is tried at once.
 */
static void hang_up(struct sock *s, const char *why)
{
	struct addrinfo *other = s->used ? NULL : s->address->ai_next;

	if (!other && !s->told) {
		complain("%s: %s", s->name, why);
		s->told = true;
	}
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->connected = false;
	s->used = false;
	s->address = other;
	s->out_len = 0;
	s->out_done = 0;
	s->in_len = 0;
	if (s->outlet.given.n)
		s->outlet.doubtful = true;
	if (s->partly)
		queue_push(&s->outlet.given, s->partly);
	s->partly = NULL;
	s->unsent = NULL;
	queue_prepend(&s->outlet.waiting, &s->outlet.given);
	s->retry = other ? 0 : clock_now(CLOCK_BOOTTIME) + RETRY_MS * 1000000ULL;
}

static void *look_up_main(void *arg)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct look_up *l = arg;

	l->error = getaddrinfo(l->host, l->port, &hints, &l->found);
	l->ended = true;
	return NULL;
}

/* Begin to look the name up. Returns false if there is none, or no thread. */
static bool begin_look_up(struct look_up *l)
{
	l->ended = false;
	l->runs = *l->host && !pthread_create(&l->thread, NULL, look_up_main, l);
	return l->runs;
}

/* Have the addresses that were found. If there are none they may be what they were. */
static void take_addresses(struct sock *s)
{
	if (s->look_up.error)
		return;
	if (s->addresses)
		freeaddrinfo(s->addresses);
	s->addresses = s->look_up.found;
}

/* See to the address of the next attempt. Returns false if that is not known yet. */
static bool has_address(struct sock *s)
{
	if (s->address)
		return true;
	if (!s->look_up.runs && clock_now(CLOCK_BOOTTIME) >= s->look_up.next &&
	    begin_look_up(&s->look_up))
		return false;
	if (s->look_up.runs) {
		if (!s->look_up.ended)
			return false;
		pthread_join(s->look_up.thread, NULL);
		s->look_up.runs = false;
		s->look_up.next = clock_now(CLOCK_BOOTTIME) + KEEP_MS * 1000000ULL;
		take_addresses(s);
	}
	s->address = s->addresses;
	return true;
}

static void connect_to(struct sock *s)
{
	if (!has_address(s)) {
		s->retry = clock_now(CLOCK_BOOTTIME) + LOOK_MS * 1000000ULL;
		return;
	}
	s->fd = socket(s->address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	s->connected = s->fd >= 0 &&
		!connect(s->fd, s->address->ai_addr, s->address->ai_addrlen);
	if (!s->connected && (s->fd < 0 || errno != EINPROGRESS))
		hang_up(s, strerror(errno));
}

/* Print @r as a line into @line. Returns its length, or 0 if there is no room. */
static size_t print_line(const struct reminder *r, char *line, size_t size)
{
	size_t len = (size_t)snprintf(line, size, "%" PRId64 " %" PRIu64 " %" PRIu32 " ", r->id,
				      r->due, r->attempts);
	const char *c;

	/* Each byte of the payload may become two, and a newline ends it. */
	if (len >= size || size - len <= 2 * strlen(r->payload) + 1)
		return 0;
	for (c = r->payload; *c; c++)
		len += escape(*c, line + len);
	line[len++] = '\n';
	return len;
}

/* Does one that is in doubt owe an answer? */
static bool owes(const struct sock *s)
{
	return s->outlet.doubtful && s->outlet.given.n;
}

static struct reminder *next(struct sock *s)
{
	if (owes(s))
		return NULL;
	return s->partly && !s->outlet.stopped ? s->partly : outlet_next(&s->outlet);
}

/* So many more bytes were sent: count the lines that end there. */
static void count_lines(struct sock *s, size_t n)
{
	const char *end = s->out + s->out_done + n;
	const char *c = s->out + s->out_done;

	while ((c = memchr(c, '\n', (size_t)(end - c)))) {
		outlet_count(&s->outlet, s->unsent);
		s->unsent = s->unsent->next;
		c++;
	}
}

/* Fill the buffer with what waits, and write it. Returns whether something was written. */
static bool write_some(struct sock *s)
{
	struct reminder *r;
	size_t len;
	ssize_t n;

	if (s->out_done == s->out_len) {
		s->out_done = 0;
		s->out_len = 0;
		while ((r = next(s))) {
			s->partly = NULL;
			len = print_line(r, s->out + s->out_len, OUT_SIZE - s->out_len);
			if (len) {
				s->out_len += len;
				queue_push(&s->outlet.given, r);
				if (!s->unsent)
					s->unsent = r;
				continue;
			}
			if (s->out_len) {
				s->partly = r;
				break;
			}
			complain("reminder %" PRId64 ": a payload of %zu bytes is too long",
				 r->id, strlen(r->payload));
			outlet_drop(&s->outlet, r);
		}
		if (!s->out_len)
			return false;
	}
	n = send(s->fd, s->out + s->out_done, s->out_len - s->out_done, MSG_NOSIGNAL);
	if (n > 0) {
		count_lines(s, (size_t)n);
		s->out_done += (size_t)n;
		s->used = true;
		s->told = false;
		return true;
	}
	if (errno != EAGAIN && errno != EINTR)
		hang_up(s, strerror(errno));
	return false;
}

/* The receiver has answered with a line. Returns whether that is the one that is expected. */
static bool take(struct sock *s, const char *line)
{
	struct reminder *r = s->outlet.given.first;
	char id[32];

	if (!r || r == s->unsent)
		return false;
	snprintf(id, sizeof(id), "%" PRId64, r->id);
	if (strcmp(line, id))
		return false;
	queue_push(&s->outlet.taken, queue_pop(&s->outlet.given));
	s->outlet.doubtful = false;
	return true;
}

static void read_answers(struct sock *s)
{
	char *line, *end;
	ssize_t n;

	n = recv(s->fd, s->in + s->in_len, IN_SIZE - s->in_len, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(s, n ? strerror(errno) : "the receiver has closed the connection");
		return;
	}
	s->in_len += (size_t)n;
	for (line = s->in; (end = memchr(line, '\n', s->in_len - (size_t)(line - s->in)));
	     line = end + 1) {
		*end = '\0';
		if (!take(s, line)) {
			hang_up(s, "an answer that is not the id of the next reminder");
			return;
		}
	}
	s->in_len -= (size_t)(line - s->in);
	memmove(s->in, line, s->in_len);
	if (s->in_len == IN_SIZE)
		hang_up(s, "an answer without an end");
}

static int prepare(struct outlet *outlet, struct pollfd *fd)
{
	struct sock *s = sock_of(outlet);
	uint64_t now = clock_now(CLOCK_BOOTTIME);

	fd->fd = s->fd;
	if (s->fd < 0)
		return ms_until(s->retry, now);
	fd->events = POLLIN;
	if (!s->connected || s->out_done < s->out_len ||
	    (!outlet->stopped && !owes(s) && (s->partly || outlet->waiting.n)))
		fd->events |= POLLOUT;
	/* A receiver that does not answer is left when the first claim has ended. */
	if (!outlet->given.n)
		return -1;
	return ms_until(outlet->given.first->held, now);
}

/* Has the claim ended on what was given first? */
static bool unanswered(const struct outlet *outlet, uint64_t now)
{
	return outlet->given.n && outlet->given.first->held <= now;
}

static void turn(struct outlet *outlet, short events)
{
	struct sock *s = sock_of(outlet);
	uint64_t now = clock_now(CLOCK_BOOTTIME);

	if (s->fd < 0 && now >= s->retry)
		connect_to(s);
	else if (s->fd >= 0 && (events & (POLLIN | POLLHUP | POLLERR) || unanswered(outlet, now)))
		read_answers(s);
	if (s->fd >= 0 && events & POLLOUT)
		s->connected = true;
	if (s->fd >= 0 && unanswered(outlet, now))
		hang_up(s, "no answer before the claim has ended");
	while (s->connected && write_some(s))
		;
}

static bool ready(const struct outlet *outlet)
{
	const struct sock *s = (const struct sock *)outlet;

	return s->connected && !(outlet->doubtful && (outlet->given.n || outlet->waiting.n));
}

/* Take the path of unix:PATH. */
static void parse_path(struct sock *s, const char *path)
{
	static struct addrinfo local = { .ai_family = AF_UNIX, .ai_addrlen = sizeof(s->path) };

	if (!*path || strlen(path) >= sizeof(s->path.sun_path))
		die(EXIT_USAGE, "--address: '%s' is not 1 to 107 bytes long", path);
	s->path.sun_family = AF_UNIX;
	memcpy(s->path.sun_path, path, strlen(path));
	local.ai_addr = (struct sockaddr *)&s->path;
	s->addresses = &local;
	s->address = &local;
}

static void parse_address(struct sock *s, const char *address)
{
	static const char prefix[] = "unix:";
	const char *colon = strrchr(address, ':');
	struct look_up *l = &s->look_up;
	const char *host_end = colon;
	const char *name = address;
	uint64_t port;

	if (!strncmp(address, prefix, strlen(prefix))) {
		parse_path(s, address + strlen(prefix));
		return;
	}
	if (!colon || colon == address || (size_t)(colon - address) >= sizeof(l->host))
		die(EXIT_USAGE, "--address: '%s' is not unix:PATH or HOST:PORT", address);
	/* The C library takes what is too large for a port, less 65536. */
	if (number_parse(colon + 1, 65535, &port) || !port)
		die(EXIT_USAGE, "--address: '%s' is not a port from 1 to 65535", colon + 1);
	/* A numeric address of IPv6 has colons of its own. */
	if (*name == '[' && host_end[-1] == ']') {
		name++;
		host_end--;
	}
	snprintf(l->host, sizeof(l->host), "%.*s", (int)(host_end - name), name);
	l->port = colon + 1;
	look_up_main(l);
	if (l->error)
		die(EXIT_USAGE, "--address: %s: %s", address, gai_strerror(l->error));
	take_addresses(s);
	s->address = s->addresses;
}

static size_t under_way(const struct outlet *outlet, struct queue *list)
{
	const struct reminder *r;

	for (r = outlet->given.first; list && r; r = r->next)
		queue_push_copy(list, r);
	return outlet->given.n;
}

struct outlet *outlet_socket(const char *address)
{
	static const struct outlet_kind kind = { .prepare = prepare, .turn = turn,
						 .ready = ready, .under_way = under_way };
	struct sock *s = calloc(1, sizeof(*s));

	if (!s)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	outlet_init(&s->outlet, &kind);
	s->name = address;
	s->fd = -1;
	parse_address(s, address);
	return &s->outlet;
}
