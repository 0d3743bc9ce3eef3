// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reminder: reminders that outlive the machine, as they are in a database.
 *
 * A wheel keeps what is due soon, and the database keeps what was promised. Any number of nodes
 * share the table: see store.h, and Documentation/durable.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "node.h"
#include "number.h"
#include "options.h"
#include "outlet.h"
#include "store.h"

static const char help[] =
"Usage: reminder [OPTION]... DATABASE run\n"
"       reminder DATABASE add WHEN PAYLOAD\n"
"       reminder DATABASE add <LINES\n"
"       reminder DATABASE list\n"
"Give the reminders in a database when they are due; add one, or one for each line\n"
"WHEN PAYLOAD, all or none; or list all: id, due time, state (0 waiting, 1 claimed,\n"
"2 done), how often it was claimed, and payload, where \\n is a newline and \\\\ a backslash.\n"
"\n"
"DATABASE is postgresql://..., or a file of SQLite, which is made if it is not there. WHEN\n"
"is a duration from now, or @NANOSECONDS as date +%s%N prints it. PAYLOAD has 32000 bytes\n"
"at most.\n"
"\n"
"  -a, --address ADDRESS  give reminders to who listens at unix:PATH or HOST:PORT, as in\n"
"                         [::1]:8080: a line ID DUE ATTEMPT PAYLOAD, with the payload as\n"
"                         list prints it, to be answered with a line ID\n"
"  -c, --command COMMAND  or run this by sh for each, with REMINDER_ID, REMINDER_DUE,\n"
"                         REMINDER_ATTEMPT and REMINDER_PAYLOAD, /dev/null as input, and\n"
"                         a session of its own: status 0 takes it\n"
"  -j, --jobs N           how many commands may run at once (8)\n"
"  -z, --horizon TIME     claim what is due within this time (2m)\n"
"  -l, --lease TIME       a claim ends this long after the reminder was due: then others\n"
"                         give it if this node has not (30s); a command may take longer,\n"
"                         as its claim is renewed while it runs, but an answer may not\n"
"  -p, --poll TIME        how often to look for what is near, if nobody tells (1s)\n"
"  -m, --most N           hold at most so many reminders (100000), an eighth of which only\n"
"                         if they are due before it looks again\n"
"  -b, --batch N          claim and mark so many with a statement (1000)\n"
"  -h, --help             show this help\n"
"\n"
"Each reminder is given at least once, and is done once. A receiver tells repeats by ID.\n"
"\n"
"After SIGINT or SIGTERM nothing more is given, others may have the rest, and what was\n"
"given is waited for; a second signal ends that, within 5 seconds if the database does\n"
"not answer.\n"
"\n"
"Exit codes: 0 done, or stopped by SIGINT or SIGTERM; 1 a failure at run time; 2 wrong\n"
"usage.\n";

static uint64_t parse_when(const char *when)
{
	uint64_t ns;

	if (when[0] == '@' && !number_parse(when + 1, INT64_MAX, &ns))
		return ns;
	if (when[0] == '@' || duration_parse(when, &ns))
		die(EXIT_USAGE, "'%s' is no duration, and no @NANOSECONDS", when);
	ns += clock_now(CLOCK_REALTIME);
	return ns > INT64_MAX ? INT64_MAX : ns;
}

static void check_payload(const char *payload)
{
	if (strlen(payload) > PAYLOAD_MAX)
		die(EXIT_USAGE, "a payload of %zu bytes: %d at most", strlen(payload), PAYLOAD_MAX);
}

static void add(struct store *store, const char *when, const char *payload)
{
	check_payload(payload);
	if (store->kind->add(store, parse_when(when), payload))
		exit(EXIT_FAILED);
}

static void commit(struct store *store)
{
	if (store->kind->commit(store))
		exit(EXIT_FAILED);
}

/*
 * Read all lines, and then add all or none. No transaction is open while lines are waited for, as
 * in SQLite nobody else could write.
 */
static void add_lines(struct store *store)
{
	struct queue list;
	struct reminder *r;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	queue_init(&list);
	while ((len = getline(&line, &size, stdin)) >= 0) {
		char *payload = strchr(line, ' ');

		if (memchr(line, '\0', (size_t)len))
			die(EXIT_USAGE, "line %zu has a zero byte", list.n + 1);
		line[strcspn(line, "\n")] = '\0';
		if (!payload)
			die(EXIT_USAGE, "line %zu is not WHEN PAYLOAD", list.n + 1);
		*payload++ = '\0';
		check_payload(payload);
		r = reminder_new(0, payload);
		if (!r)
			die(EXIT_FAILED, "%s", strerror(ENOMEM));
		r->due = parse_when(line);
		queue_push(&list, r);
	}
	if (!feof(stdin))
		die(EXIT_FAILED, "standard input: %s: nothing was added", strerror(errno));
	free(line);
	while ((r = queue_pop(&list))) {
		if (store->kind->add(store, r->due, r->payload))
			exit(EXIT_FAILED);
		free(r);
	}
	commit(store);
}

static void run(struct settings *settings, const char *address, const char *command, uint32_t jobs)
{
	struct store *store;

	if (!address == !command)
		die(EXIT_USAGE, "run needs one of --address and --command");
	if (settings->batch > settings->most)
		die(EXIT_USAGE, "--batch: %" PRIu64 " are more than --most %" PRIu64,
		    settings->batch, settings->most);
	store = store_open(settings->where);
	if (!store)
		exit(EXIT_FAILED);
	store->kind->close(store);
	node_run(settings, address ? outlet_socket(address) : outlet_command(command, jobs));
}

static void others(const char *where, char **argv)
{
	struct store *store = store_open(where);
	int ret = 0;

	if (!store)
		exit(EXIT_FAILED);
	if (!strcmp(argv[0], "list")) {
		ret = store->kind->list(store);
		flush_output();
	} else if (argv[1]) {
		add(store, argv[1], argv[2]);
		commit(store);
	} else {
		add_lines(store);
	}
	store->kind->close(store);
	if (ret)
		exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
	struct settings settings = { .horizon = 120 * NSEC_PER_SEC, .lease = 30 * NSEC_PER_SEC,
				     .poll = NSEC_PER_SEC, .most = 100000, .batch = 1000 };
	const char *address = NULL, *command = NULL;
	uint32_t jobs = 8;
	const struct option_rule rules[] = {
		{ "address",	'a', OPTION_TEXT,	&address,		0, 0 },
		{ "command",	'c', OPTION_TEXT,	&command,		0, 0 },
		{ "jobs",	'j', OPTION_NUMBER32,	&jobs,			1, 1000 },
		{ "horizon",	'z', OPTION_DURATION,	&settings.horizon,	0, 0 },
		{ "lease",	'l', OPTION_DURATION,	&settings.lease,	0, 0 },
		{ "poll",	'p', OPTION_DURATION,	&settings.poll,		0, 0 },
		{ "most",	'm', OPTION_NUMBER,	&settings.most,		1, 100000000 },
		{ "batch",	'b', OPTION_NUMBER,	&settings.batch,	1, 10000 },
		{ }
	};
	int n = 0;

	argv = options_parse(argc, argv, rules, help);
	while (argv[n])
		n++;
	if (n < 2)
		die(EXIT_USAGE, "which database, and run, add or list?");
	settings.where = argv[0];
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (!strcmp(argv[1], "run") && n == 2)
		run(&settings, address, command, jobs);
	else if ((!strcmp(argv[1], "add") && (n == 2 || n == 4)) ||
		 (!strcmp(argv[1], "list") && n == 2))
		others(argv[0], argv + 1);
	else
		die(EXIT_USAGE, "'%s' with %d arguments: it is run, add WHEN PAYLOAD, add or list",
		    argv[1], n - 2);
	return EXIT_DONE;
}
