/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * reminder: the database, be it SQLite or PostgreSQL.
 *
 * All is in one table, reminders:
 *
 *	id		tells repeats apart: it goes along to the receiver
 *	due		when, in nanoseconds of wall time
 *	payload		what the receiver is given, up to PAYLOAD_MAX bytes
 *	state		0 waiting, 1 claimed, 2 done
 *	owner		who has claimed it
 *	fence		how often it was claimed
 *	until		when the claim ends, in nanoseconds of wall time
 *	attempts	under how many claims it was given, or may have been: if one goes on, or its
 *			owner was killed; a program may set it
 *
 * A claim is a lease: it ends some time after the reminder is due, whether or not its owner
 * lives, unless the owner renews it. The next claim has a larger fence, and what is done under a
 * claim counts only if the fence is still that claim's. So a node that slept through the end of its
 * claim changes nothing.
 *
 * Whose clock? Claims end by the database's clock, which all nodes share: for SQLite that is the
 * machine's. What is due is so by the node's.
 */
#ifndef REMINDER_STORE_H
#define REMINDER_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "duration.h"

/*
 * The bytes of a payload: a line for a socket has to fit into its buffer, where each may become
 * two, and Linux takes four times that in the environment of a command. The second is a string.
 */
#define PAYLOAD_MAX	32000
#define PAYLOAD_MAX_TEXT	"32000"

/**
 * struct reminder - a reminder that this node has claimed
 * @next: the next one of a list
 * @id: as in the table, where a program may have set any
 * @due: as in the table
 * @fence: that of the claim
 * @held: when the claim has ended for sure, on this machine's CLOCK_BOOTTIME
 * @given: it was given under this claim
 * @attempts: as in the table: 1 the first time
 * @payload: as in the table
 */
struct reminder {
	struct reminder	*next;
	int64_t		id;
	uint64_t	due;
	int64_t		fence;
	uint64_t	held;
	bool		given;
	uint32_t	attempts;
	char		payload[];
};

/* Make a reminder. Returns NULL if memory is short. */
struct reminder *reminder_new(int64_t id, const char *payload);

/**
 * struct claim - what a node wants to have
 * @owner: its name, different for each start of each node
 * @near: what is due until then, in wall time
 * @lease: how long the claim goes on after the reminder is due, or after now if that was before
 * @most: how many
 * @ended: those of whose claims the end has come, rather than those that nobody has claimed
 * @grace: how long others may claim what was this owner's, before it does again
 */
struct claim {
	const char	*owner;
	uint64_t	near;
	uint64_t	lease;
	size_t		most;
	bool		ended;
	uint64_t	grace;
};

/**
 * struct store - a connection to a database
 * @kind: which one
 * @statements: how many it was sent
 */
struct store {
	const struct store_kind	*kind;
	uint64_t		statements;
};

/**
 * struct store_kind - what a database can do
 * @name: its name
 * @open: connect, and make the table if there is none. Returns NULL after an error: see
 *	store_open().
 * @close: disconnect
 * @add: add a reminder. It is safe only when @commit has returned 0.
 * @commit: commit what was added
 * @claim: claim reminders, and make a list of them. Returns how many there are.
 * @done: reminders are done, each if its fence is still that in the table. Returns for how many
 *	that was so.
 * @renew: have claims end so long after now, in nanoseconds, each if its fence is still that in the
 *	table. Returns for how many that was so.
 * @give_back: give up claims under which nothing was given, each if its fence is still that in the
 *	table. Returns for how many that was so.
 * @release: the same for all claims of an owner that go on, but for those in a list, which may be
 *	empty
 * @list: print all reminders, by id
 * @fd: a descriptor that becomes readable when something was added, or -1: then poll
 * @news: was something added since the last call? Returns 1 if so, else 0. Of no use without @fd.
 *
 * Each returns 0 or more, or -1 after a complaint. Then what was to be done was done or not, and
 * the connection, which may be gone, is to be closed. One thread at a time uses a connection.
 */
struct store_kind {
	const char	*name;
	struct store	*(*open)(const char *where);
	void		(*close)(struct store *store);
	int		(*add)(struct store *store, uint64_t due, const char *payload);
	int		(*commit)(struct store *store);
	ssize_t		(*claim)(struct store *store, const struct claim *claim,
				 struct reminder **list);
	ssize_t		(*done)(struct store *store, const struct reminder *list);
	ssize_t		(*renew)(struct store *store, const struct reminder *list, uint64_t lease);
	ssize_t		(*give_back)(struct store *store, const struct reminder *list);
	int		(*release)(struct store *store, const char *owner,
				   const struct reminder *kept);
	int		(*list)(struct store *store);
	int		(*fd)(struct store *store);
	int		(*news)(struct store *store);
};

/**
 * store_open() - connect to a database
 * @where: a URI of PostgreSQL (postgresql://...), or the path of an SQLite file
 *
 * Ends the program if @where is what SQLite keeps in memory, or in a file for one connection.
 *
 * Return: a connection, or NULL after a complaint.
 */
struct store *store_open(const char *where);

/* Write a byte as it is in a line: a newline as \n, a backslash as \\. Returns their number. */
size_t escape(char c, char *to);

/* For kinds: print a row of the list, whose LIST_COLUMNS columns are texts, as a line. */
#define LIST_COLUMNS	5
void list_row(const char * const *columns);

/* NULL where this program was built without the library. */
extern const struct store_kind *const store_sqlite;
extern const struct store_kind *const store_postgres;

/* How many milliseconds it is until then, rounded up, as poll() takes them. */
int ms_until(uint64_t then, uint64_t now);

#endif /* REMINDER_STORE_H */
