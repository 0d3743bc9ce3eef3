// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * idle-server: connections come, take a slot, and give it up.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "duration.h"
#include "idle-server.h"
#include "options.h"

/* How many new connections one round takes on. */
#define ROUND_ACCEPTS	256

uint64_t server_name(const struct server *server, uint32_t slot)
{
	return (uint64_t)server->slots[slot].generation << 32 | slot;
}

uint32_t server_find(const struct server *server, uint64_t name)
{
	uint32_t slot = (uint32_t)name;

	if (slot >= server->slots_room || server->slots[slot].fd < 0 ||
	    server_name(server, slot) != name)
		return NO_SLOT;
	return slot;
}

static uint32_t take_slot(struct server *server)
{
	uint32_t slot;

	if (server->free_slot == NO_SLOT) {
		size_t room = server->slots_room;
		uint32_t i;

		server->slots = grow_array(server->slots, &room, sizeof(*server->slots));
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

void server_touch(struct server *server, uint32_t slot)
{
	if (server->slots[slot].active)
		return;
	server->slots[slot].active = true;
	if (server->active_len == server->active_room) {
		size_t room = server->active_room;

		server->active = grow_array(server->active, &room, sizeof(*server->active));
		room = server->active_room;
		server->arming = grow_array(server->arming, &room, sizeof(*server->arming));
		server->arms = grow_array(server->arms, &server->active_room,
					  sizeof(*server->arms));
	}
	server->active[server->active_len++] = slot;
}

void server_listen(struct server *server, bool listening)
{
	struct epoll_event event = {
		.events = listening ? EPOLLIN : 0,
		.data.u64 = NAME_LISTENER,
	};

	if (epoll_ctl(server->epoll, EPOLL_CTL_MOD, server->listener, &event))
		die(EXIT_FAILED, "epoll: %s", strerror(errno));
	server->listening = listening;
	server->open_at_pause = server->open;
	server->pause_end = twheel_now(server->tw) + PAUSE_MS * NSEC_PER_MSEC;
}

void server_accept(struct server *server)
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
				server_listen(server, false);
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
		event.data.u64 = server_name(server, slot);
		if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event)) {
			server->refused++;
			server_close(server, slot, false);
			continue;
		}
		server->accepted++;
		server_touch(server, slot);
	}
}

void server_close(struct server *server, uint32_t slot, bool timer_ended)
{
	struct connection *conn = &server->slots[slot];

	if (conn->handle && !timer_ended) {
		if (server->cancels_len == server->cancels_room)
			server->cancels = grow_array(server->cancels, &server->cancels_room,
						     sizeof(*server->cancels));
		server->cancels[server->cancels_len++] = (struct twheel_cancel){
			.handle = conn->handle,
		};
	}
	close(conn->fd);
	free(conn->in.data);
	free(conn->out.data);
	*conn = (struct connection){
		.fd = -1,
		.generation = conn->generation + 1,
		.next_free = server->free_slot,
	};
	server->free_slot = slot;
	server->open--;
}
