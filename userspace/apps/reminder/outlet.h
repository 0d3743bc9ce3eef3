/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * reminder: where reminders go when they are due, a socket or a command.
 *
 * A reminder is given at least once. Who gets it tells repeats by its id. It counts as taken only
 * when the receiver has said so; if the receiver does not, the claim ends, and some node gives it
 * again. Nothing is given whose claim has ended here, as another node may be at it.
 *
 * Only the thread that waits for timers uses an outlet.
 */
#ifndef REMINDER_OUTLET_H
#define REMINDER_OUTLET_H

#include <poll.h>
#include <stdint.h>

#include "lateness.h"
#include "store.h"

/**
 * struct queue - reminders in order
 * @first: the next one
 * @last: where the next of the last one is
 * @n: how many there are
 */
struct queue {
	struct reminder		*first;
	struct reminder		**last;
	size_t			n;
};

void queue_init(struct queue *queue);
void queue_push(struct queue *queue, struct reminder *r);
/* Returns the first one, or NULL if there is none. */
struct reminder *queue_pop(struct queue *queue);
/* Put a copy of @r, without its payload, at the end. If memory is short, do not. */
void queue_push_copy(struct queue *queue, const struct reminder *r);
/* Put such a copy of each in @from that was given at the end. */
void queue_push_given(struct queue *queue, const struct queue *from);
/* Put all of @front before those in @queue. */
void queue_prepend(struct queue *queue, struct queue *front);

/**
 * struct outlet - where reminders go
 * @kind: a socket or commands
 * @waiting: those that are due
 * @given: those that were given, and are not taken yet
 * @taken: those that were taken: they are the caller's
 * @left: those that were not given while their claims went on: they are the caller's, too
 * @failed: copies of those that were given in vain, until their claims end
 * @stopped: nothing more is to be given
 * @doubtful: the receiver has answered nothing since a connection ended for want of answers: it is
 *	given one at a time
 * @lost: how many of the others were dropped since the caller last looked: they come again
 * @count: how many were given
 * @late: how late
 */
struct outlet {
	const struct outlet_kind	*kind;
	struct queue			waiting;
	struct queue			given;
	struct queue			taken;
	struct queue			left;
	struct queue			failed;
	bool				stopped;
	bool				doubtful;
	uint64_t			lost;
	uint64_t			count;
	struct lateness			late;
};

/**
 * struct outlet_kind - what a kind of outlet does
 * @prepare: say what to wait for in @fd; its fd may be -1. Returns for how many milliseconds at
 *	most, or -1.
 * @turn: after such a wait: give what waits, and learn what was taken
 * @ready: could it give something now?
 * @under_way: put a copy of each that was given and not taken into @list, without its payload,
 *	unless that is NULL. Returns how many there are.
 * @ends: when the first of the claims ends on what is under way, or UINT64_MAX. NULL if they are
 *	not renewed: then a receiver has to be done when the claim ends.
 * @renew: all claims on what is under way end at @held from now on
 */
struct outlet_kind {
	int	(*prepare)(struct outlet *outlet, struct pollfd *fd);
	void	(*turn)(struct outlet *outlet, short events);
	bool	(*ready)(const struct outlet *outlet);
	size_t	(*under_way)(const struct outlet *outlet, struct queue *list);
	uint64_t (*ends)(const struct outlet *outlet);
	void	(*renew)(struct outlet *outlet, uint64_t held);
};

/**
 * outlet_socket() - give reminders to a program that listens
 * @address: unix:PATH, or HOST:PORT; HOST may have several addresses, which are tried in turn, or
 *	be one in brackets
 *
 * A reminder is a line: id, due time, attempt and payload, with blanks between. A newline and a
 * backslash in the payload are \n and \\. The receiver answers with a line that holds the id, in
 * the order of the lines that it got. It may take many lines before it answers. Ends the program
 * if the address is none.
 *
 * Return: the outlet.
 */
struct outlet *outlet_socket(const char *address);

/**
 * outlet_command() - run a command for each reminder
 * @command: for /bin/sh -c. REMINDER_ID, REMINDER_DUE, REMINDER_ATTEMPT and REMINDER_PAYLOAD are in
 *	its environment, /dev/null is its input, and it has a session of its own. Status 0 says that
 *	it has taken the reminder. While it runs its claim is renewed.
 * @jobs: how many may run at once
 *
 * Return: the outlet.
 */
struct outlet *outlet_command(const char *command, unsigned int jobs);

/*
 * Give up what waits and whose claim ends within @margin. Returns in how many milliseconds to do so
 * again, or -1.
 */
int outlet_leave(struct outlet *outlet, uint64_t margin);
/*
 * For kinds: the next one that is due and whose claim goes on, or NULL, also if nothing more is to
 * be given.
 */
struct reminder *outlet_next(struct outlet *outlet);
/* For kinds: this one is given now. */
void outlet_count(struct outlet *outlet, struct reminder *r);
/* For kinds: this one is the next one again. */
void outlet_put_back(struct outlet *outlet, struct reminder *r);
/* For kinds: this one comes again when its claim has ended. */
void outlet_drop(struct outlet *outlet, struct reminder *r);
/* For kinds: begin with nothing. */
void outlet_init(struct outlet *outlet, const struct outlet_kind *kind);

#endif /* REMINDER_OUTLET_H */
