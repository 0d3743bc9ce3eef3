/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * idle-server: the connections, and what the parts of the program do with them.
 *
 * idle-server.c has the main loop, idle-server-slots.c the connections and their slots,
 * idle-server-http.c what is said on them, and idle-server-timers.c their deadlines.
 */
#ifndef IDLE_SERVER_H
#define IDLE_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <twheel.h>

#include "lateness.h"

/* How many events one round takes on. */
#define ROUND_EVENTS	512

/* How long accepting pauses, unless a connection ends meanwhile. */
#define PAUSE_MS	100

/* Names in epoll's data that are not connections: no slot has such a number. */
#define NAME_LISTENER	UINT64_MAX
#define NAME_TIMERS	(UINT64_MAX - 1)

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
 * @lease: its lease; the word is NULL without leases or before the first arm
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
	struct twheel_lease lease;
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
 * @pause_end: when epoll is to look at @listener again
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
	uint64_t		pause_end;

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

/**
 * server_name() - what epoll and timers call a connection
 * @server: the state
 * @slot: its slot
 *
 * Return: the slot with its generation.
 */
uint64_t server_name(const struct server *server, uint32_t slot);

/**
 * server_find() - the slot with a name
 * @server: the state
 * @name: the name
 *
 * Return: the slot, or %NO_SLOT when the connection is gone.
 */
uint32_t server_find(const struct server *server, uint64_t name);

/**
 * server_touch() - note that a connection was active
 * @server: the state
 * @slot: its slot
 *
 * So its deadline is moved in this round.
 */
void server_touch(struct server *server, uint32_t slot);

/**
 * server_listen() - have epoll look for new connections, or no longer
 * @server: the state
 * @listening: whether it is to look
 */
void server_listen(struct server *server, bool listening);

/**
 * server_accept() - accept new connections, as many as one round takes on
 * @server: the state
 */
void server_accept(struct server *server);

/**
 * server_close() - close a connection and give up its slot
 * @server: the state
 * @slot: its slot
 * @timer_ended: whether its timer has ended; otherwise that is cancelled in this round
 */
void server_close(struct server *server, uint32_t slot, bool timer_ended);

/**
 * server_serve() - receive, answer and send on a connection
 * @server: the state
 * @slot: its slot
 * @events: what epoll has seen
 *
 * Return: whether the connection is to go on.
 */
bool server_serve(struct server *server, uint32_t slot, uint32_t events);

/**
 * server_settle_timers() - move the deadlines of this round's connections
 * @server: the state
 */
void server_settle_timers(struct server *server);

/**
 * server_cut_idle() - read expirations, and cut the connections they belong to
 * @server: the state
 */
void server_cut_idle(struct server *server);

#endif /* IDLE_SERVER_H */
