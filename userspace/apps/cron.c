// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * cron: run the lines of a file at the times they say.
 *
 * Every line has a timer, and all timers are on one twheel descriptor: its clock is
 * CLOCK_REALTIME, its keys are the numbers of the lines. A timer is armed for the
 * next time of its line. When it expires the command is started, and the timer is
 * armed for the time after that: all timers of one read with one system call.
 *
 * After the clock was set, a read fails with ECANCELED before it returns anything that
 * the step has made due. Every line is then planned again:
 *
 * - A line remembers the time up to which it is done, and is not run for a time
 *   before that. So after a step back it waits until that time comes again. If that
 *   would take longer than the grace time, the line goes by the new time at once.
 * - Times that were passed over, by a step forward or because the machine slept,
 *   are made up for by one run, unless they are further back than the grace time:
 *   those are let go, and counted.
 *
 * Expirations that were not read by then are withdrawn by the re-arm. None is lost: a
 * line that is due is due in the new plan, too, and its timer expires at once.
 *
 * A change for daylight saving time does not set the clock. schedule.c deals with it.
 *
 * cron.h says which file has what.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cron.h"
#include "duration.h"
#include "inherited.h"
#include "number.h"
#include "options.h"

static const char help[] =
"Usage: cron [OPTION]... FILE\n"
"   or: cron --next N [--after TIME] FILE\n"
"Run the commands in FILE at the times it says, or print these times.\n"
"\n"
"  -n, --dry-run            start nothing (see --verbose)\n"
"  -v, --verbose            print a line for each run: its time, its line in FILE,\n"
"                           the command, how long after that time it came\n"
"  -g, --grace DURATION     how far the clock may be set, and a run may be late,\n"
"                           to be put right (default 1h); see below\n"
"  -s, --slack DURATION     runs may come this much later, which --grace does not\n"
"                           count, so that the machine is woken less often\n"
"                           (default: none)\n"
"  -N, --next N             print the next N times of each line, and run nothing;\n"
"                           needs no device\n"
"  -a, --after TIME         with --next: the times after TIME, which is\n"
"                           'YYYY-MM-DD HH:MM[:SS]' in local time, the same with an\n"
"                           offset such as +0100 or Z behind it, or @SECONDS since\n"
"                           1970 (default: now)\n"
"  -h, --help               show this help\n"
"\n"
"A line of FILE is\n"
"\n"
"  [~DELAY] minute hour day-of-month month day-of-week COMMAND\n"
"  [~DELAY] @NAME COMMAND\n"
"\n"
"Empty lines, and lines that begin with #, are skipped. The rest of a line from\n"
"COMMAND on is given to /bin/sh -c as it is, '%' included, with /dev/null as its\n"
"input, cron's own output and environment, and a session of its own. A command\n"
"may still be running when it is started again.\n"
"\n"
"  field         values\n"
"  minute        0 to 59\n"
"  hour          0 to 23\n"
"  day-of-month  1 to 31, or L for the last day of the month\n"
"  month         1 to 12, or jan to dec\n"
"  day-of-week   0 to 7, or sun to sat; 0 and 7 are Sunday; 5L is the last Friday of\n"
"                the month, 5#2 the second one\n"
"\n"
"A field is a list, with commas, of values, of ranges (9-17), of '*', which is all\n"
"of them, and of ranges or '*' with a step (*/15, 9-17/2). If neither\n"
"day-of-month nor day-of-week begins with '*', a day has to be in one of the two,\n"
"otherwise in both. A line that would never run, such as 31 February, is refused.\n"
"\n"
"  name          the same as\n"
"  @hourly       0 * * * *\n"
"  @daily        0 0 * * *    (and @midnight)\n"
"  @weekly       0 0 * * 0\n"
"  @monthly      0 0 1 * *\n"
"  @yearly       0 0 1 1 *    (and @annually)\n"
"  @reboot       once, when cron is started\n"
"  @every 90s    so long after one another, and the first after cron is started;\n"
"                the time that passes counts, asleep or not, not the clock\n"
"\n"
"With ~DELAY, such as ~30s, each run is put off by a random time of less than\n"
"that, so that a thousand lines at 09:00 need not start at once; but never until\n"
"the line is due again.\n"
"\n"
"Times are local: TZ says where, or /etc/localtime does. Both are read once. A zone\n"
"that is not there is refused; without either, local time is UTC.\n"
"\n"
"When the clocks are moved for daylight saving time, lines whose minute or hour\n"
"begins with '*' go with them: they have no times in an hour that is skipped, and\n"
"twice as many in one that is repeated. Other lines are run once for each of\n"
"their times: in the first of two hours; and at the end of a skipped hour, once,\n"
"if one or more of their times were in it.\n"
"\n"
"When the clock is set forward, or the machine slept, a line that missed some of\n"
"its times is run once, at once; times of more than the grace time ago are let\n"
"go. --verbose tells of these, and the figures count them, up to 1000 of a line\n"
"each time. When the clock is set back, no line is run again for a time it was\n"
"run for: it waits for the next one after that; but if it would be for longer\n"
"than the grace time, it goes by the new time, and runs again.\n"
"\n"
"SIGHUP has FILE read again. Lines that are in it as before go on as they are, and\n"
"others begin, but for @reboot. If a line is wrong, all goes on as it is.\n"
"\n"
"SIGINT or SIGTERM ends cron, and not what it has started; so does Ctrl-C.\n"
"Figures are printed at the end.\n"
"\n"
"Exit codes: 0 done; 1 a run came too early, or a failure at run time; 2 wrong\n"
"usage, or lines that cannot be read, each of which is named. What the commands\n"
"return is told, and counted, but is no failure of cron's.\n";

/* How many records are read at once. */
#define ROUND_EVENTS	256

/* How many times of a line are counted at once that are let go: there may be millions. */
#define LET_GO_MOST	1000

/* The default of --grace. */
#define GRACE		(3600 * NSEC_PER_SEC)

/* What --after takes at most: the end of 9999, and offsets of a day. */
#define AFTER_MOST	253402300799
#define OFFSET_MOST	86400

/* &line.round of a line that will not be run any more. */
#define NEVER		UINT64_MAX

/*
 * Times
 */

static void print_next(const struct cron *cron)
{
	size_t i;

	for (i = 0; i < cron->count; i++) {
		const struct line *line = &cron->lines[i];
		time_t t = cron->after;
		uint64_t n;

		for (n = 0; n < cron->next && schedule_next(&line->schedule, t, &t); n++) {
			printf("%s:%u: ", cron->file, line->number);
			cron_print_time(t);
			putchar('\n');
		}
		if (!n)
			printf("%s:%u: when cron is started\n", cron->file, line->number);
	}
}

/*
 * Draw the random delay of the run that is due at line->due. It ends before the line is due again:
 * longer ones would run into each other, and several runs come at once.
 */
static void draw(struct line *line)
{
	time_t due = (time_t)(line->due / NSEC_PER_SEC);
	uint64_t random = 0;
	time_t next;

	line->spread = line->delay;
	if (line->delay && schedule_next(&line->schedule, due, &next) &&
	    line->spread > (uint64_t)(next - due) * NSEC_PER_SEC)
		line->spread = (uint64_t)(next - due) * NSEC_PER_SEC;
	if (line->spread && getrandom(&random, sizeof(random), 0) == sizeof(random))
		line->wait = random % line->spread;
}

/* @ns in seconds, rounded up */
static time_t seconds(uint64_t ns)
{
	return (time_t)((ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
}

/* The time up to which a run is too old to be made up for. */
static time_t too_old(const struct cron *cron, const struct line *line, uint64_t now)
{
	return (time_t)(now / NSEC_PER_SEC) - seconds(cron->grace + line->spread + cron->slack);
}

/* Give up what a line has missed up to @until. */
static void let_go(struct cron *cron, struct line *line, time_t until)
{
	time_t t = line->done;
	unsigned int n = 0;
	time_t first = 0;

	while (n < LET_GO_MOST && schedule_next(&line->schedule, t, &t) && t <= until)
		if (!n++)
			first = t;
	line->done = until;
	cron->let_go += n;
	if (!n || !cron->verbose)
		return;
	printf("let go: %u run%s of line %u (%s), which missed %s ", n,
	       n == LET_GO_MOST ? "s or more" : n == 1 ? "" : "s", line->number, line->command,
	       n == 1 ? "the time" : "its times from");
	cron_print_time(first);
	puts(n == 1 ? "" : " on");
	fflush(stdout);
}

/* Finds out when a line is to be run. Returns whether it ever is. */
static bool plan(struct cron *cron, struct line *line, uint64_t now)
{
	uint64_t due;
	time_t next;

	if (line->schedule.kind != SCHEDULE_CALENDAR) {
		uint64_t boot = clock_now(CLOCK_BOOTTIME);

		if (line->round == NEVER)
			return false;
		line->deadline = now;
		if (line->round + line->wait > boot)
			line->deadline += line->round + line->wait - boot;
		line->due = line->deadline - line->wait;
		return true;
	}

	/* If the clock was set too far back go by the new time. Skip times that are too old. */
	if (line->done > (time_t)(now / NSEC_PER_SEC) + seconds(cron->grace))
		line->done = (time_t)(now / NSEC_PER_SEC);
	if (line->done < too_old(cron, line, now))
		let_go(cron, line, too_old(cron, line, now));
	if (!schedule_next(&line->schedule, line->done, &next))
		return false;
	due = (uint64_t)next * NSEC_PER_SEC;
	if (due != line->due) {
		line->due = due;
		draw(line);
	}
	line->deadline = due + line->wait;
	return true;
}

/* Note that a line was run, for all its times up to now. */
static void settle(struct line *line, uint64_t now)
{
	uint64_t boot = clock_now(CLOCK_BOOTTIME);
	uint64_t every;
	time_t past, next;

	switch (line->schedule.kind) {
	case SCHEDULE_CALENDAR:
		/* Times less than the delay ago are done only if they are due by now, too. */
		past = (time_t)(now / NSEC_PER_SEC) - seconds(line->spread);
		line->done = (time_t)(line->due / NSEC_PER_SEC);
		if (line->done < past)
			line->done = past;
		while (line->delay && schedule_next(&line->schedule, line->done, &next)) {
			line->due = (uint64_t)next * NSEC_PER_SEC;
			draw(line);
			if (line->due + line->wait > now)
				break;
			line->done = next;
		}
		break;
	case SCHEDULE_EVERY:
		every = (uint64_t)line->schedule.every * NSEC_PER_SEC;
		if (line->round + line->spread < boot)
			line->round += (boot - line->spread - line->round) / every * every;
		do {
			line->round += every;
			draw(line);
		} while (line->round + line->wait <= boot);
		break;
	case SCHEDULE_REBOOT:
		line->round = NEVER;
		break;
	}
}

/*
 * Timers
 */

/* Lines that were just read begin. @start: so does the program. */
static void begin_lines(struct cron *cron, bool start)
{
	time_t now = (time_t)(twheel_now(cron->tw) / NSEC_PER_SEC);
	uint64_t boot = clock_now(CLOCK_BOOTTIME);
	size_t i;

	for (i = 0; i < cron->count; i++) {
		struct line *line = &cron->lines[i];

		if (line->begun)
			continue;
		line->begun = true;
		line->done = now;
		line->round = boot + (uint64_t)line->schedule.every * NSEC_PER_SEC;
		if (line->schedule.kind == SCHEDULE_REBOOT && !start)
			line->round = NEVER;
		draw(line);
	}
	cron->arms = realloc(cron->arms, cron->count * sizeof(*cron->arms));
	if (!cron->arms)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
}

/* Plans a line, and adds its timer to those that arm_lines() will arm. */
static void add_line(struct cron *cron, struct line *line, uint64_t now)
{
	/* A line that is not run again gets no timer. */
	if (!plan(cron, line, now))
		return;
	cron->arms[cron->arms_len++] = (struct twheel_arm){
		.handle = (uint64_t)(line - cron->lines),
		.expires = line->deadline,
		.slack = cron->slack,
		.flags = TWHEEL_ARM_ABS,
	};
}

static void arm_lines(struct cron *cron)
{
	ssize_t ret;
	size_t i;

	if (!cron->arms_len)
		return;
	ret = twheel_arm_batch(cron->tw, cron->arms, cron->arms_len);
	if (ret != (ssize_t)cron->arms_len)
		die(EXIT_FAILED, "cannot arm: %s", strerror((int)-ret));
	for (i = 0; i < cron->arms_len; i++)
		if (cron->arms[i].result)
			die(EXIT_FAILED, "%s:%u: cannot arm a timer: %s%s", cron->file,
			    cron->lines[cron->arms[i].handle].number,
			    strerror(-cron->arms[i].result),
			    cron->arms[i].result == -ENOSPC ?
				" (see max_fd_timers in twheel(4))" : "");
	cron->arms_len = 0;
}

static void plan_all(struct cron *cron)
{
	uint64_t now = twheel_now(cron->tw);
	size_t i;

	for (i = 0; i < cron->count; i++)
		add_line(cron, &cron->lines[i], now);
	arm_lines(cron);
}

static void run_due(struct cron *cron)
{
	struct twheel_event events[ROUND_EVENTS];
	ssize_t n = twheel_read(cron->tw, events, ROUND_EVENTS);
	uint64_t now = twheel_now(cron->tw);
	ssize_t i;

	if (n == -ECANCELED) {
		cron->steps++;
		plan_all(cron);
		return;
	}
	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n < 0)
		die(EXIT_FAILED, "cannot read: %s", strerror((int)-n));

	for (i = 0; i < n; i++) {
		struct line *line = &cron->lines[events[i].handle];

		if (events[i].deadline != line->deadline) {
			cron->stale++;
			continue;
		}
		if (events[i].expired < events[i].deadline)
			cron->early++;
		/* If this program was stopped for long, the run may be too old: plan() says so. */
		if ((time_t)(line->due / NSEC_PER_SEC) > too_old(cron, line, now)) {
			cron_run_line(cron, line);
			settle(line, now);
		}
		add_line(cron, line, now);
	}
	arm_lines(cron);
}

static void reload(struct cron *cron)
{
	size_t count = cron->count;
	size_t i;

	if (!cron_read_again(cron)) {
		complain("%s: the lines that were read before go on", cron->file);
		return;
	}
	/* Whatever has expired and was not read is due in the new plan, too. */
	for (i = 0; i < count; i++) {
		int ret = twheel_cancel(cron->tw, i, NULL);

		if (ret && ret != -ENOENT)
			die(EXIT_FAILED, "cannot cancel: %s", strerror(-ret));
	}
	begin_lines(cron, false);
	plan_all(cron);
	printf("read again: %zu lines\n", cron->count);
	fflush(stdout);
}

static void take_signals(struct cron *cron)
{
	struct signalfd_siginfo info;

	while (read(cron->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload(cron);
		else if (info.ssi_signo != SIGCHLD)
			cron->stop = true;
	}
	/* Signals of several children may have become one. */
	cron_reap(cron);
}

static void watch_fd(struct cron *cron, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(cron->epoll, EPOLL_CTL_ADD, fd, &event))
		die(EXIT_FAILED, "epoll: %s", strerror(errno));
}

static void set_up(struct cron *cron)
{
	static const struct twheel_config config = {
		.clock = TWHEEL_CLOCK_REALTIME,
		.flags = TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_CANCEL_ON_SET,
	};
	sigset_t blocked;
	int ret;

	ret = twheel_open(&cron->tw, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC,
			  &config);
	if (ret)
		die_without_device(ret);

	sigemptyset(&blocked);
	/* A signal that is blocked comes, although it is ignored. */
	if (!inherited_ignored(SIGINT))
		sigaddset(&blocked, SIGINT);
	if (!inherited_ignored(SIGTERM))
		sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigaddset(&blocked, SIGCHLD);
	/* Where it is ignored, as it may have been before this program, nobody learns of ends. */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	cron->signals = signalfd(-1, &blocked, SFD_NONBLOCK | SFD_CLOEXEC);
	if (cron->signals < 0)
		die(EXIT_FAILED, "signalfd: %s", strerror(errno));
	cron->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (cron->epoll < 0)
		die(EXIT_FAILED, "epoll: %s", strerror(errno));
	watch_fd(cron, cron->signals);
	watch_fd(cron, twheel_fd(cron->tw));

	begin_lines(cron, true);
	plan_all(cron);
	printf("%zu lines\n", cron->count);
	fflush(stdout);
}

static void run(struct cron *cron)
{
	while (!cron->stop) {
		struct epoll_event events[2];
		int n = epoll_wait(cron->epoll, events, 2, -1);
		int i;

		if (n < 0 && errno != EINTR)
			die(EXIT_FAILED, "epoll_wait: %s", strerror(errno));
		for (i = 0; i < n; i++) {
			if (events[i].data.fd == cron->signals)
				take_signals(cron);
			else
				run_due(cron);
		}
	}
}

static void print_figures(const struct cron *cron)
{
	printf("runs               %" PRIu64 "\n", cron->runs);
	printf("failed             %" PRIu64 "\n", cron->failed);
	printf("let go             %" PRIu64 "\n", cron->let_go);
	printf("still running      %zu\n", cron->children_len);
	printf("early              %" PRIu64 "\n", cron->early);
	printf("stale expirations  %" PRIu64 "\n", cron->stale);
	printf("clock was set      %" PRIu64 " times\n", cron->steps);
	printf("lateness           ");
	lateness_print(&cron->lateness);
}

/*
 * If a local time comes twice mktime() takes one of the two; an offset tells which is meant. If it
 * is skipped mktime() takes one nearby, and this takes none, as for 30 February.
 */
static time_t parse_time(const char *text)
{
	static const char * const formats[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M" };
	uint64_t number;
	size_t i;

	if (*text == '@' && !number_parse(text + 1, AFTER_MOST, &number))
		return (time_t)number;
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);
		struct tm zone = { }, utc = tm;
		time_t t = timegm(&utc);

		/* It takes 30 February for 2 March, and 10:00:60 for 10:01:00. */
		if (!end || utc.tm_mday != tm.tm_mday || utc.tm_sec != tm.tm_sec)
			continue;
		if (*end) {
			end = strptime(end, " %z", &zone);
			if (!end || *end || labs(zone.tm_gmtoff) > OFFSET_MOST)
				continue;
			t -= zone.tm_gmtoff;
		} else {
			time_t wall = t;

			t = mktime(&tm);
			if (timegm(&tm) != wall)
				continue;
		}
		if (t >= 0)
			return t;
	}
	die(EXIT_USAGE,
	    "--after: '%s' is not a time since 1970: use e.g. '2026-03-29 01:59' or @1774745940",
	    text);
}

static void parse_options(struct cron *cron, int argc, char **argv)
{
	const char *after = NULL;
	const struct option_rule rules[] = {
		{ "dry-run",	'n', OPTION_SET,	&cron->dry,	0, 0 },
		{ "verbose",	'v', OPTION_SET,	&cron->verbose,	0, 0 },
		{ "grace",	'g', OPTION_DURATION,	&cron->grace,	0, 0 },
		{ "slack",	's', OPTION_DURATION,	&cron->slack,	0, 0 },
		{ "next",	'N', OPTION_NUMBER,	&cron->next,	1, 1000000 },
		{ "after",	'a', OPTION_TEXT,	&after,		0, 0 },
		{ }
	};

	argv = options_parse(argc, argv, rules, help);
	cron->after = after ? parse_time(after) : time(NULL);
	if (after && !cron->next)
		die(EXIT_USAGE, "--after needs --next");
	if (cron->next && (cron->dry || cron->verbose || cron->grace || cron->slack))
		die(EXIT_USAGE, "--next runs nothing: of the other options it takes --after alone");
	if (!cron->grace)
		cron->grace = GRACE;
	if (!*argv)
		die(EXIT_USAGE, "no FILE: see --help");
	if (argv[1])
		die(EXIT_USAGE, "'%s' is too much: one FILE is taken", argv[1]);
	cron->file = *argv;
}

int main(int argc, char **argv)
{
	static struct cron cron;

	tzset();
	parse_options(&cron, argc, argv);
	cron_check_zone();
	if (!cron_read_file(&cron))
		return EXIT_USAGE;
	if (cron.next) {
		print_next(&cron);
	} else {
		set_up(&cron);
		run(&cron);
		print_figures(&cron);
		close(cron.signals);
		close(cron.epoll);
		twheel_close(cron.tw);
	}

	cron_free_lines(&cron);
	free(cron.arms);
	while (cron.children_len)
		free(cron.children[--cron.children_len].command);
	free(cron.children);
	flush_output();
	return cron.early || cron.stale ? EXIT_FAILED : EXIT_DONE;
}
