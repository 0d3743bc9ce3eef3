// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reminder: which database?
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "store.h"

#ifndef WITH_SQLITE
const struct store_kind *const store_sqlite;
#endif
#ifndef WITH_POSTGRES
const struct store_kind *const store_postgres;
#endif

int ms_until(uint64_t then, uint64_t now)
{
	uint64_t ms = then > now ? (then - now) / 1000000 + 1 : 0;

	return ms < INT_MAX ? (int)ms : INT_MAX;
}

struct reminder *reminder_new(int64_t id, const char *payload)
{
	size_t len = strlen(payload) + 1;
	struct reminder *r = malloc(sizeof(*r) + len);

	if (r) {
		*r = (struct reminder){ .id = id };
		memcpy(r->payload, payload, len);
	}
	return r;
}

size_t escape(char c, char *to)
{
	size_t n = 0;

	if (c == '\n' || c == '\\')
		to[n++] = '\\';
	to[n++] = c == '\n' ? 'n' : c;
	return n;
}

void list_row(const char * const *columns)
{
	char bytes[2];
	const char *c;
	int i;

	for (i = 0; i < LIST_COLUMNS; i++) {
		for (c = columns[i]; *c; c++)
			fwrite(bytes, 1, escape(*c, bytes), stdout);
		putchar(i < LIST_COLUMNS - 1 ? ' ' : '\n');
	}
}

struct store *store_open(const char *where)
{
	bool postgres = !strncmp(where, "postgres", strlen("postgres")) && strstr(where, "://");
	const struct store_kind *kind = postgres ? store_postgres : store_sqlite;
	struct store *store;

	if (!kind) {
		complain("%s: this program was built without %s", where,
			 postgres ? "PostgreSQL" : "SQLite");
		return NULL;
	}
	store = kind->open(where);
	if (store)
		store->kind = kind;
	return store;
}
