// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel top: what wheels do, live in a terminal.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "counters.h"
#include "duration.h"
#include "histogram.h"
#include "inherited.h"
#include "screen.h"
#include "terminal.h"
#include "tool.h"

static const char help[] =
"Usage: twheel top [OPTION]...\n"
"Show live what each CPU's wheels do: how many timers a second they arm, cancel\n"
"and expire, and how late: of the last time, and below that a histogram of all\n"
"that expired since the start. Takes root, and debugfs. Where there is no device:\n"
"what the wheel of each process does that runs with TWHEEL_STATS=1 in its\n"
"environment. q quits.\n"
"\n"
"  -p, --pid PID         what this process does, for each of its descriptors\n"
"  -e, --every DURATION  show it anew after this time (default 1s)\n"
"  -c, --count N         print N times, line by line, also into a file or pipe;\n"
"                        the histogram follows at the end\n"
"  -s, --svg FILE        at the end write the histogram into FILE, as a drawing\n"
"  -h, --help            show this help\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

/* The size of terminals that do not tell theirs. Lines in files have COLS columns, too. */
#define ROWS	24
#define COLS	80

/* The lines of the histogram's bars in a file. */
#define BARS	8

static struct termios saved;
static volatile sig_atomic_t stopped;
static volatile sig_atomic_t quitting;

static void on_signal(int sig)
{
	if (sig == SIGTSTP)
		stopped = 1;
	else if (sig != SIGWINCH)
		quitting = 1;
}

static void enter_screen(void)
{
	struct termios raw = saved;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	/* Switch to the alternate screen, hide the cursor, and do not wrap lines. */
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
}

static void leave_screen(void)
{
	fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved);
}

/* How many bytes of @line fill @cols columns. Escape sequences, which end with m, take none. */
static int fitting(const char *line, int cols)
{
	const char *c = line;

	while (*c) {
		if (*c == '\033') {
			c += strcspn(c, "m");
			c += *c == 'm';
			continue;
		}
		if (!cols--)
			break;
		/* A character of UTF-8 goes on with bytes that begin with the bits 10. */
		do {
			c++;
		} while ((*c & 0xc0) == 0x80);
	}
	return (int)(c - line);
}

static enum tool_exit draw(const struct sample *sample)
{
	struct winsize size = { };
	char *text, *line, *rest;
	size_t len;
	FILE *out;
	int row;

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	if (!size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = ROWS, .ws_col = COLS };

	out = open_memstream(&text, &len);
	if (!out)
		return TOOL_FAILED;
	screen_put(out, size.ws_row, size.ws_col, sample);
	if (fclose(out))
		return TOOL_FAILED;

	/* Write over the old text: to clear the screen first would flicker. */
	fputs("\033[H", stdout);
	rest = text;
	for (row = 0; row < size.ws_row && (line = strsep(&rest, "\n")) && rest; row++)
		printf("%s\033[2K%.*s%s", row ? "\r\n" : "", fitting(line, size.ws_col), line,
		       terminal_colour(COLOUR_NONE));
	fputs("\033[J", stdout);
	free(text);
	return tool_flush();
}

/* Replace @sample, which has only its source at first, by the next one. Returns 0 or -errno. */
static int take_sample(struct sample *sample, uint64_t *since)
{
	struct counters now, delta;
	uint64_t time = clock_now(CLOCK_MONOTONIC);
	struct counters_row sum;
	size_t i;
	int ret;

	ret = counters_read(&sample->source, &now);
	if (ret)
		return ret;
	ret = counters_since(&now, sample->total.n ? &sample->total : &now, &delta);
	if (ret) {
		counters_free(&now);
		return ret;
	}
	counters_free(&sample->total);
	counters_free(&sample->delta);
	sample->delta = delta;
	sample->total = now;
	sample->ns = *since ? time - *since : 0;
	sample->watched += sample->ns;
	counters_sum(&delta, &sum);
	for (i = 0; i < BUCKETS; i++)
		sample->late[i] += sum.buckets[HISTOGRAM_LATENESS][i];
	*since = time;
	return 0;
}

static void free_sample(struct sample *sample)
{
	counters_free(&sample->total);
	counters_free(&sample->delta);
}

/* Waits until @until, a key, or a signal. */
static void wait_until(uint64_t until, const sigset_t *waiting)
{
	struct pollfd pollfd = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t now = clock_now(CLOCK_MONOTONIC), left = until > now ? until - now : 0;
	struct timespec timeout = {
		.tv_sec = (time_t)(left / NSEC_PER_SEC),
		.tv_nsec = (long)(left % NSEC_PER_SEC),
	};
	char key;

	if (ppoll(&pollfd, 1, &timeout, waiting) <= 0)
		return;
	/* Quit also at the end of the input, or when the terminal has hung up. */
	if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q')
		quitting = 1;
}

/* Write the histogram of all that was watched into @svg, which may be NULL, and close it. */
static enum tool_exit write_svg(FILE *svg, const char *name, const struct sample *sample)
{
	bool failed;

	if (!svg)
		return TOOL_OK;
	histogram_svg(svg, sample->late, sample->watched);
	failed = ferror(svg);
	if (fclose(svg) || failed)
		return tool_complain(TOOL_FAILED, "top: %s: %s", name, strerror(errno));
	return TOOL_OK;
}

static enum tool_exit watch(uint64_t interval, struct sample *sample, uint64_t since)
{
	enum tool_exit code = TOOL_OK;
	sigset_t waiting;
	uint64_t next;
	int ret = 0;

	if (tcgetattr(STDIN_FILENO, &saved))
		return tool_complain(TOOL_FAILED, "top: terminal: %s", strerror(errno));
	inherited_catch_all(on_signal, &waiting, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP,
			    SIGWINCH, 0);

	enter_screen();
	next = since + interval;
	while (code == TOOL_OK && !ret) {
		code = draw(sample);
		if (code != TOOL_OK)
			break;
		wait_until(next, &waiting);
		if (quitting)
			break;
		if (stopped) {
			stopped = 0;
			leave_screen();
			raise(SIGSTOP);
			enter_screen();
		}
		if (clock_now(CLOCK_MONOTONIC) >= next) {
			ret = take_sample(sample, &since);
			next = since + interval;
		}
	}
	leave_screen();
	return ret ? counters_complain(&sample->source, ret) : code;
}

static enum tool_exit print(uint64_t interval, uint64_t count, struct sample *sample,
			    uint64_t since)
{
	struct timespec time = {
		.tv_sec = (time_t)(interval / NSEC_PER_SEC),
		.tv_nsec = (long)(interval % NSEC_PER_SEC),
	};
	enum tool_exit code = TOOL_OK;
	struct progress progress;
	sigset_t waiting;
	uint64_t i;
	int ret = 0;

	inherited_catch_all(on_signal, &waiting, SIGINT, SIGTERM, SIGHUP, 0);
	progress_begin(&progress, "periods", count);
	for (i = 0; i < count && code == TOOL_OK && !quitting; i++) {
		ppoll(NULL, 0, &time, &waiting);
		ret = take_sample(sample, &since);
		if (ret)
			break;
		screen_put(stdout, INT32_MAX, COLS, sample);
		putchar('\n');
		code = tool_flush();
		progress_update(&progress, i + 1);
	}
	progress_end(&progress);
	if (ret)
		return counters_complain(&sample->source, ret);
	histogram_draw(stdout, sample->late, BARS);
	return code == TOOL_OK ? tool_flush() : code;
}

/* Watch, or print @count times if that is not 0, and write @svg unless that is NULL. */
static enum tool_exit run(pid_t pid, uint64_t interval, uint64_t count, const char *svg)
{
	struct sample sample = { .source = counters_of("top", pid) };
	enum tool_exit code, kept;
	uint64_t since = 0;
	FILE *file = NULL;
	int ret;

	/* Find out what is wrong before the screen is switched, so that it can be read. */
	ret = take_sample(&sample, &since);
	if (ret)
		return counters_complain(&sample.source, ret);
	if (svg) {
		file = fopen(svg, "we");
		if (!file) {
			free_sample(&sample);
			return tool_complain(TOOL_FAILED, "top: %s: %s", svg, strerror(errno));
		}
	}
	code = count ? print(interval, count, &sample, since) :
		       watch(interval, &sample, since);
	kept = write_svg(file, svg, &sample);
	free_sample(&sample);
	return code == TOOL_OK ? kept : code;
}

enum tool_exit tool_top(int argc, char **argv)
{
	static const struct option options[] = {
		{ "every",	required_argument,	NULL, 'e' },
		{ "count",	required_argument,	NULL, 'c' },
		{ "pid",	required_argument,	NULL, 'p' },
		{ "svg",	required_argument,	NULL, 's' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	uint64_t interval = NSEC_PER_SEC, count = 0, pid = 0;
	const char *terminal = getenv("TERM");
	const char *svg = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "e:c:p:s:h", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			if (!tool_every("top", optarg, &interval))
				return TOOL_USAGE;
			break;
		case 'c':
			if (!tool_number("top", optarg, 1, UINT64_MAX, &count))
				return TOOL_USAGE;
			break;
		case 'p':
			if (!tool_number("top", optarg, 1, INT_MAX, &pid))
				return TOOL_USAGE;
			break;
		case 's':
			svg = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return tool_flush();
		default:
			return tool_usage("top");
		}
	}
	if (optind < argc)
		return tool_complain(TOOL_USAGE, "top: '%s' is too much: no argument is taken",
				     argv[optind]);
	if (!tool_backend())
		return TOOL_FAILED;
	if (count)
		return run((pid_t)pid, interval, count, svg);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return tool_complain(TOOL_FAILED,
				     "top: not a terminal: use --count N to print line by line");
	if (!terminal || !*terminal || !strcmp(terminal, "dumb"))
		return tool_complain(TOOL_FAILED,
				     "top: TERM names no terminal that can be drawn on: use --count N");
	return run((pid_t)pid, interval, 0, svg);
}
