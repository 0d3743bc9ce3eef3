// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reminder: the table in SQLite, which several processes of one machine may use.
 *
 * Only one of them at a time writes. Each transaction that will is begun as one that writes (BEGIN
 * IMMEDIATE): it then waits its turn rather than fail in its midst. A claim first looks whether
 * there is anything to have, which waits for nobody.
 *
 * A process that is stopped in the midst of a transaction has the others wait until it goes on or
 * is killed.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sqlite3.h>

#include "options.h"
#include "store.h"

/* How long to wait for others that write, in milliseconds. */
#define PATIENCE	30000

/* What is prepared. */
enum statement {
	BEGIN,
	COMMIT,
	ROLLBACK,
	ADD,
	ANY_NEW,
	ANY_ENDED,
	CLAIM_NEW,
	CLAIM_ENDED,
	DONE,
	RENEW,
	GIVE_BACK,
	KEEP,
	RELEASE,
	LIST,
	STATEMENTS
};

#define ENDED "state = 1 AND until <= ?2 AND (owner IS NOT ?1 OR until <= ?2 - ?6)"

#define CLAIM(which) \
	"UPDATE reminders SET state = 1, owner = ?1, fence = fence + 1,\n" \
	"  attempts = attempts + 1, until = max(due, ?2) + ?3\n" \
	"WHERE id IN (SELECT id FROM reminders WHERE " which " LIMIT ?5)\n" \
	"RETURNING id, due, fence, until, attempts, payload"

#define CHANGE(what) \
	"UPDATE reminders SET " what " WHERE id = ?1 AND fence = ?2 AND state = 1"

static const char * const texts[STATEMENTS] = {
	[BEGIN]		= "BEGIN IMMEDIATE",
	[COMMIT]	= "COMMIT",
	[ROLLBACK]	= "ROLLBACK",
	[ADD]		= "INSERT INTO reminders (due, payload) VALUES (?1, ?2)",
	[ANY_NEW]	= "SELECT 1 FROM reminders WHERE state = 0 AND due <= ?4 LIMIT 1",
	[ANY_ENDED]	= "SELECT 1 FROM reminders WHERE " ENDED " LIMIT 1",
	[CLAIM_NEW]	= CLAIM("state = 0 AND due <= ?4 ORDER BY due"),
	[CLAIM_ENDED]	= CLAIM(ENDED " AND due <= ?4 ORDER BY until"),
	[DONE]		= CHANGE("state = 2"),
	[RENEW]		= CHANGE("until = ?3"),
	[GIVE_BACK]	= CHANGE("state = 0, attempts = attempts - 1"),
	/* What was released just before, in the same transaction */
	[KEEP]		= ("UPDATE reminders SET state = 1, attempts = attempts + 1\n"
			   "WHERE id = ?1 AND fence = ?2 AND state = 0"),
	[RELEASE]	= ("UPDATE reminders SET state = 0, attempts = attempts - 1\n"
			   "WHERE state = 1 AND owner = ?1 AND until > ?2"),
	[LIST]		= "SELECT id, due, state, fence, payload FROM reminders ORDER BY id",
};

static const char schema[] =
	"PRAGMA journal_mode = WAL;\n"
	"CREATE TABLE IF NOT EXISTS reminders (\n"
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,\n"
	"  due INTEGER NOT NULL CHECK (typeof(due) = 'integer' AND due >= 0),\n"
	"  payload TEXT NOT NULL CHECK (length(CAST(payload AS BLOB)) <= " PAYLOAD_MAX_TEXT "\n"
	"                               AND NOT instr(CAST(payload AS BLOB), x'00')),\n"
	"  state INTEGER NOT NULL DEFAULT 0, owner TEXT, fence INTEGER NOT NULL DEFAULT 0,\n"
	"  until INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0);\n"
	"CREATE INDEX IF NOT EXISTS reminders_waiting ON reminders (due) WHERE state = 0;\n"
	"CREATE INDEX IF NOT EXISTS reminders_claimed ON reminders (until) WHERE state = 1;\n";

/**
 * struct sqlite - a connection
 * @store: what all kinds have
 * @db: SQLite's
 * @prepared: the statements
 * @begun: a transaction has begun
 */
struct sqlite {
	struct store		store;
	struct sqlite3		*db;
	struct sqlite3_stmt	*prepared[STATEMENTS];
	bool			begun;
};

static struct sqlite *sqlite_of(struct store *store)
{
	return (struct sqlite *)store;
}

static int sqlite_complain(struct sqlite *s)
{
	complain("SQLite: %s", s->db ? sqlite3_errmsg(s->db) : "out of memory");
	return -1;
}

static void sqlite_close_store(struct store *store)
{
	struct sqlite *s = sqlite_of(store);
	int i;

	for (i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->prepared[i]);
	sqlite3_close(s->db);
	free(s);
}

static struct store *sqlite_open_store(const char *where)
{
	struct sqlite *s = calloc(1, sizeof(*s));
	const char *file;
	int i;

	if (!s) {
		complain("SQLite: out of memory");
		return NULL;
	}
	if (sqlite3_open(where, &s->db))
		goto failed;
	/* Such a database would be gone with this connection, and no other would see it. */
	file = sqlite3_db_filename(s->db, "main");
	if (!file || !*file)
		die(EXIT_USAGE, "'%s' is not a file: what is added there would be lost", where);
	if (sqlite3_busy_timeout(s->db, PATIENCE) || sqlite3_exec(s->db, schema, NULL, NULL, NULL))
		goto failed;
	for (i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(s->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &s->prepared[i], NULL))
			goto failed;
	return &s->store;
failed:
	sqlite_complain(s);
	sqlite_close_store(&s->store);
	return NULL;
}

/* Go on with a statement. Returns SQLITE_ROW or SQLITE_DONE, or another value after an error. */
static int sqlite_step(struct sqlite *s, enum statement which)
{
	int ret = sqlite3_step(s->prepared[which]);

	if (ret != SQLITE_ROW) {
		s->store.statements++;
		sqlite3_reset(s->prepared[which]);
	}
	return ret;
}

static bool sqlite_does(struct sqlite *s, enum statement which)
{
	return sqlite_step(s, which) == SQLITE_DONE;
}

/*
 * End if the file is elsewhere. What is held of it must not be marked in one that has its name
 * next, where other reminders have the same ids and fences.
 */
static void check_place(const struct sqlite *s)
{
	int moved = 0;

	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	if (moved)
		die(EXIT_FAILED, "SQLite: %s was moved or removed: it is not this node's any more",
		    sqlite3_db_filename(s->db, "main"));
}

static bool sqlite_begin(struct sqlite *s)
{
	if (!s->begun) {
		check_place(s);
		s->begun = sqlite_does(s, BEGIN);
	}
	return s->begun;
}

static bool sqlite_commit(struct sqlite *s)
{
	if (s->begun && !sqlite_does(s, COMMIT))
		return false;
	s->begun = false;
	return true;
}

/* After an error: complain, and have nothing done. */
static int sqlite_rollback(struct sqlite *s)
{
	sqlite_complain(s);
	/* Or it would be opened anew, by its name. */
	check_place(s);
	if (s->begun)
		sqlite_does(s, ROLLBACK);
	s->begun = false;
	return -1;
}

static int sqlite_add(struct store *store, uint64_t due, const char *payload)
{
	struct sqlite *s = sqlite_of(store);

	sqlite3_bind_int64(s->prepared[ADD], 1, (sqlite3_int64)due);
	sqlite3_bind_text(s->prepared[ADD], 2, payload, -1, SQLITE_TRANSIENT);
	return sqlite_begin(s) && sqlite_does(s, ADD) ? 0 : sqlite_rollback(s);
}

static int sqlite_commit_store(struct store *store)
{
	struct sqlite *s = sqlite_of(store);

	return sqlite_commit(s) ? 0 : sqlite_rollback(s);
}

static void bind_claim(sqlite3_stmt *stmt, const struct claim *claim, uint64_t now)
{
	sqlite3_bind_text(stmt, 1, claim->owner, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)now);
	sqlite3_bind_int64(stmt, 3, (sqlite3_int64)claim->lease);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)claim->near);
	sqlite3_bind_int64(stmt, 5, (sqlite3_int64)claim->most);
	sqlite3_bind_int64(stmt, 6, (sqlite3_int64)claim->grace);
}

static struct reminder *sqlite_reminder(sqlite3_stmt *row, uint64_t now, uint64_t boottime)
{
	const char *payload = (const char *)sqlite3_column_text(row, 5);
	struct reminder *r = reminder_new(sqlite3_column_int64(row, 0),
					  payload ? payload : "");

	if (!r)
		return NULL;
	r->due = (uint64_t)sqlite3_column_int64(row, 1);
	r->fence = sqlite3_column_int64(row, 2);
	r->held = boottime + ((uint64_t)sqlite3_column_int64(row, 3) - now);
	r->attempts = (uint32_t)sqlite3_column_int(row, 4);
	return r;
}

static ssize_t sqlite_claim(struct store *store, const struct claim *claim, struct reminder **list)
{
	struct sqlite *s = sqlite_of(store);
	enum statement any = claim->ended ? ANY_ENDED : ANY_NEW;
	enum statement what = claim->ended ? CLAIM_ENDED : CLAIM_NEW;
	uint64_t boottime = clock_now(CLOCK_BOOTTIME);
	uint64_t now = clock_now(CLOCK_REALTIME);
	ssize_t n = 0;
	int ret;

	*list = NULL;
	bind_claim(s->prepared[any], claim, now);
	ret = sqlite_step(s, any);
	sqlite3_reset(s->prepared[any]);
	if (ret == SQLITE_DONE)
		return 0;
	if (ret != SQLITE_ROW || !sqlite_begin(s))
		return sqlite_rollback(s);

	/* The transaction may have waited long. */
	boottime = clock_now(CLOCK_BOOTTIME);
	now = clock_now(CLOCK_REALTIME);
	bind_claim(s->prepared[what], claim, now);
	while ((ret = sqlite_step(s, what)) == SQLITE_ROW) {
		struct reminder *r = sqlite_reminder(s->prepared[what], now, boottime);

		/* What cannot be kept comes back when the claim has ended. */
		if (!r)
			continue;
		r->next = *list;
		*list = r;
		n++;
	}
	if (ret == SQLITE_DONE && sqlite_commit(s))
		return n;
	while (*list) {
		struct reminder *r = *list;

		*list = r->next;
		free(r);
	}
	return sqlite_rollback(s);
}

/* Carry out a statement for each in @list. Returns how many rows were changed. */
static ssize_t sqlite_change(struct sqlite *s, enum statement which, const struct reminder *list)
{
	ssize_t n = 0;

	if (!sqlite_begin(s))
		return sqlite_rollback(s);
	for (; list; list = list->next) {
		sqlite3_bind_int64(s->prepared[which], 1, list->id);
		sqlite3_bind_int64(s->prepared[which], 2, list->fence);
		if (!sqlite_does(s, which))
			return sqlite_rollback(s);
		n += sqlite3_changes(s->db);
	}
	return sqlite_commit(s) ? n : sqlite_rollback(s);
}

static ssize_t sqlite_done(struct store *store, const struct reminder *list)
{
	return sqlite_change(sqlite_of(store), DONE, list);
}

static ssize_t sqlite_renew(struct store *store, const struct reminder *list, uint64_t lease)
{
	struct sqlite *s = sqlite_of(store);

	/* The transaction may have to wait. */
	if (!sqlite_begin(s))
		return sqlite_rollback(s);
	sqlite3_bind_int64(s->prepared[RENEW], 3,
			   (sqlite3_int64)(clock_now(CLOCK_REALTIME) + lease));
	return sqlite_change(s, RENEW, list);
}

static ssize_t sqlite_give_back(struct store *store, const struct reminder *list)
{
	return sqlite_change(sqlite_of(store), GIVE_BACK, list);
}

static int sqlite_release(struct store *store, const char *owner, const struct reminder *kept)
{
	struct sqlite *s = sqlite_of(store);

	if (!sqlite_begin(s))
		return sqlite_rollback(s);
	sqlite3_bind_text(s->prepared[RELEASE], 1, owner, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s->prepared[RELEASE], 2, (sqlite3_int64)clock_now(CLOCK_REALTIME));
	if (!sqlite_does(s, RELEASE))
		return sqlite_rollback(s);
	return sqlite_change(s, KEEP, kept) < 0 ? -1 : 0;
}

static int sqlite_list(struct store *store)
{
	struct sqlite *s = sqlite_of(store);
	sqlite3_stmt *row = s->prepared[LIST];
	const char *columns[LIST_COLUMNS];
	int ret, i;

	while ((ret = sqlite_step(s, LIST)) == SQLITE_ROW) {
		for (i = 0; i < LIST_COLUMNS; i++)
			columns[i] = (const char *)sqlite3_column_text(row, i) ?: "";
		list_row(columns);
	}
	return ret == SQLITE_DONE ? 0 : sqlite_complain(s);
}

/* Nobody tells. */
static int sqlite_fd(struct store *store)
{
	(void)store;
	return -1;
}

/* Nor that the file is elsewhere. */
static int sqlite_news(struct store *store)
{
	check_place(sqlite_of(store));
	return 0;
}

static const struct store_kind kind = {
	.name		= "SQLite",
	.open		= sqlite_open_store,
	.close		= sqlite_close_store,
	.add		= sqlite_add,
	.commit		= sqlite_commit_store,
	.claim		= sqlite_claim,
	.done		= sqlite_done,
	.renew		= sqlite_renew,
	.give_back	= sqlite_give_back,
	.release	= sqlite_release,
	.list		= sqlite_list,
	.fd		= sqlite_fd,
	.news		= sqlite_news,
};

const struct store_kind *const store_sqlite = &kind;
