// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * idle-server: the deadlines of connections. Steps 2 and 3 of a round.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "idle-server.h"
#include "options.h"

/*
 * Extend the leases of the connections that were active. Put requests for those whose
 * timers have to be armed into @arms, and their slots into @arming. Returns how many
 * timers have to be armed.
 */
static size_t extend_leases(struct server *server)
{
	uint64_t now = twheel_now(server->tw), unit = 1 << TWHEEL_LEASE_UNIT_SHIFT;
	/* Of whole units, so that the record of a lease has exactly this deadline. */
	uint64_t deadline = (now + server->timeout + unit - 1) & -unit;
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
		if (conn->lease.word && twheel_lease_extend(conn->lease, deadline) > 0) {
			conn->deadline = deadline;
			server->extended++;
			continue;
		}
		server->arming[count] = slot;
		server->arms[count++] = (struct twheel_arm){
			.handle = conn->handle,
			.user_data = server_name(server, slot),
			.expires = deadline,
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
			server_close(server, server->arming[i], false);
			continue;
		}
		if (server->leases) {
			ret = twheel_lease_at(server->tw, arm->word, arm->tag, &conn->lease);
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

void server_settle_timers(struct server *server)
{
	size_t count = extend_leases(server);

	/* Cancel first: the limits then have room for as many new timers. */
	cancel_timers(server);
	arm_timers(server, count);
}

/*
 * Was the client active, and epoll has not told of it yet? It has said something; or, if output is
 * waiting for it, it has read something: what it says meanwhile is not read, and does not count.
 */
static bool was_active(const struct connection *conn)
{
	struct pollfd output = { .fd = conn->fd, .events = POLLOUT };
	char c;

	if (conn->events & EPOLLOUT)
		return poll(&output, 1, 0) > 0 && output.revents == POLLOUT;
	return !conn->closing && recv(conn->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void server_cut_idle(struct server *server)
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
		uint32_t slot = server_find(server, events[i].user_data);
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
		if (was_active(conn)) {
			/* Its timer has ended: another is armed below. */
			conn->handle = 0;
			conn->lease.word = NULL;
			server_touch(server, slot);
			server->saved++;
			continue;
		}
		now = twheel_now(server->tw);
		if (now < conn->last_active + server->timeout)
			server->early++;
		lateness_add(&server->lateness, now > conn->deadline ?
			     now - conn->deadline : 0);
		server->cut++;
		server_close(server, slot, true);
	}
	server_settle_timers(server);
}
