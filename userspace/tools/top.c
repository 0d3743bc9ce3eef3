// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel top: what each CPU's wheels do, live in a terminal.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
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
#include "tool.h"

static const char help[] =
"Usage: twheel top [OPTION]...\n"
"Show live what each CPU's wheels do: how many timers a second they arm, cancel\n"
"and expire, and how late. Takes root, and debugfs. q quits.\n"
"\n"
"  -e, --every DURATION  show it anew after this time (default 1s)\n"
"  -c, --count N         print N times, line by line, also into a file or pipe\n"
"  -h, --help            show this help\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

/* The size of terminals that do not tell theirs. Lines in files have COLS columns, too. */
#define ROWS	24
#define COLS	80

/* The bars show times from 1 us to 17 s, on a logarithmic scale. */
#define BAR_FIRST	10
#define BAR_BUCKETS	24

/* The columns to the left of the bars. */
#define TABLE_COLS	68

/**
 * struct sample - what was counted in a period
 * @delta: the counts of the period
 * @total: the counts up to its end
 * @ns: how long the period was; 0 for the first sample
 */
struct sample {
	struct counters	delta;
	struct counters	total;
	uint64_t	ns;
};

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

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Print a rate in @width columns. */
static void put_rate(FILE *out, int width, uint64_t count, uint64_t ns)
{
	static const char units[] = " kMGT";
	double rate = ns ? (double)count * 1e9 / (double)ns : 0;
	const char *unit = units;
	char buf[32];

	while (rate >= 9999.5 && unit[1]) {
		rate /= 1000;
		unit++;
	}
	if (unit == units)
		snprintf(buf, sizeof(buf), "%.0f", rate);
	else
		snprintf(buf, sizeof(buf), "%.*f%c", rate < 999.95, rate, *unit);
	fprintf(out, " %*s", width, buf);
}

/* Print the longest time of a bucket in six columns, or '-' if @bucket is negative. */
static void put_time(FILE *out, int bucket)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double time = (double)bucket_limit(bucket < 0 ? 0 : bucket);
	size_t unit = 0;
	char buf[32];

	while (time >= 999.5 && unit < 3) {
		time /= 1000;
		unit++;
	}
	snprintf(buf, sizeof(buf), "%.3g%s", time, units[unit]);
	fprintf(out, " %6s", bucket < 0 ? "-" : buf);
}

/* How many columns a bar is long. Each column stands for one bucket or two. */
static int bar_cols(int cols)
{
	return cols - TABLE_COLS >= BAR_BUCKETS ? BAR_BUCKETS : BAR_BUCKETS / 2;
}

static void put_bar(FILE *out, int cols, int p50, int p99, int max)
{
	int each = BAR_BUCKETS / bar_cols(cols);
	int i;

	putc(' ', out);
	for (i = 0; max >= 0 && i < bar_cols(cols); i++) {
		/* The first column also stands for all shorter times. */
		int bucket = i ? BAR_FIRST + i * each : 0;

		putc(bucket <= p50 ? '#' : bucket <= p99 ? '=' : bucket <= max ? '-' : ' ',
		     out);
	}
}

static void put_row(FILE *out, int cols, const char *name,
		    const struct cpu_counters *cpu, uint64_t ns)
{
	const uint64_t *late = cpu->buckets[HISTOGRAM_LATENESS];
	int p50 = bucket_of(late, 50), p99 = bucket_of(late, 99);
	int max = bucket_of(late, 100);

	fprintf(out, "%3s", name);
	put_rate(out, 6, cpu->counts[COUNTER_ARMED], ns);
	put_rate(out, 6, cpu->counts[COUNTER_REARMED], ns);
	put_rate(out, 6, cpu->counts[COUNTER_CANCELLED], ns);
	put_rate(out, 6, cpu->counts[COUNTER_EXPIRED], ns);
	put_rate(out, 7, cpu->counts[COUNTER_CASCADED], ns);
	put_rate(out, 6, cpu->counts[COUNTER_INTERRUPTS], ns);
	put_time(out, p50);
	put_time(out, p99);
	put_time(out, max);
	put_bar(out, cols, p50, p99, max);
	putc('\n', out);
}

static void put_batches(FILE *out, const char *what, const uint64_t *buckets)
{
	int max = bucket_of(buckets, 100);

	fprintf(out, "%s ", what);
	if (max < 0)
		fprintf(out, "-\n");
	else
		fprintf(out, "p50 %" PRIu64 "  p99 %" PRIu64 "  max %" PRIu64 "\n",
			bucket_limit(bucket_of(buckets, 50)),
			bucket_limit(bucket_of(buckets, 99)), bucket_limit(max));
}

/* Print a screen to @out, in no more than @rows lines. */
static void put_screen(FILE *out, int rows, int cols, const struct sample *sample)
{
	int scale = 10 * bar_cols(cols) / BAR_BUCKETS;
	struct cpu_counters sum;
	char buf[DURATION_SIZE];
	size_t i, left = 0;

	counters_sum(&sample->delta, &sum);
	if (sample->ns)
		fprintf(out, "twheel top: the last %s\n\n",
			duration_format(buf, sample->ns));
	else
		fprintf(out, "twheel top: counting\n\n");
	put_batches(out, "timers expired by one interrupt, at most:",
		    sum.buckets[HISTOGRAM_EXPIRED]);
	put_batches(out, "records returned by one read(), at most: ",
		    sum.buckets[HISTOGRAM_READ]);
	fprintf(out, "\n    ---------------- a second ----------------- --- late by at most ---\n"
		"cpu    arm  rearm cancel expire cascade   intr    p50    p99    max %-*s%-*s%s\n",
		scale, "1us", scale, "1ms", "1s");
	rows -= 7;

	put_row(out, cols, "all", &sum, sample->ns);
	rows--;
	for (i = 0; i < sample->total.n; i++)
		left += counters_any(&sample->total.cpus[i]);
	for (i = 0; i < sample->total.n; i++) {
		char name[16];

		/* Many of the possible CPUs may not exist. */
		if (!counters_any(&sample->total.cpus[i]))
			continue;
		if (rows == 1 && left > 1) {
			fprintf(out, "and %zu more\n", left);
			return;
		}
		snprintf(name, sizeof(name), "%" PRIu32, sample->total.cpus[i].cpu);
		put_row(out, cols, name, &sample->delta.cpus[i], sample->ns);
		rows--;
		left--;
	}
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
	put_screen(out, size.ws_row, size.ws_col, sample);
	if (fclose(out))
		return TOOL_FAILED;

	/* Write over the old text: to clear the screen first would flicker. */
	fputs("\033[H", stdout);
	rest = text;
	for (row = 0; row < size.ws_row && (line = strsep(&rest, "\n")) && rest; row++)
		printf("%s\033[2K%.*s", row ? "\r\n" : "", (int)size.ws_col, line);
	fputs("\033[J", stdout);
	free(text);
	return tool_flush();
}

/* Replace @sample, which is all zero at first, by the next one. Returns 0 or -errno. */
static int take_sample(struct sample *sample, uint64_t *since)
{
	struct counters now, delta;
	uint64_t time = now_ns();
	int ret;

	ret = counters_read(&now);
	if (ret)
		return ret;
	ret = counters_since(&now, sample->total.n ? &sample->total : &now, &delta);
	if (ret) {
		counters_free(&now);
		return ret;
	}
	counters_free(&sample->total);
	counters_free(&sample->delta);
	*sample = (struct sample){
		.delta = delta,
		.total = now,
		.ns = *since ? time - *since : 0,
	};
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
	uint64_t now = now_ns(), left = until > now ? until - now : 0;
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

/* Catch signals, and block them except while wait_until() waits. */
static void catch_signals(sigset_t *waiting)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP,
				       SIGWINCH };
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked;
	size_t i;

	sigemptyset(&blocked);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&blocked, signals[i]);
	sigprocmask(SIG_BLOCK, &blocked, waiting);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], &action, NULL);
		sigdelset(waiting, signals[i]);
	}
}

static enum tool_exit watch(uint64_t interval)
{
	enum tool_exit code = TOOL_OK;
	struct sample sample = { };
	uint64_t since = 0, next;
	sigset_t waiting;
	int ret;

	/* Find out what is wrong before the screen is switched, so that it can be read. */
	ret = take_sample(&sample, &since);
	if (ret)
		return counters_complain("top", ret);
	if (tcgetattr(STDIN_FILENO, &saved)) {
		free_sample(&sample);
		return tool_complain(TOOL_FAILED, "top: terminal: %s", strerror(errno));
	}
	catch_signals(&waiting);

	enter_screen();
	next = since + interval;
	while (code == TOOL_OK && !ret) {
		code = draw(&sample);
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
		if (now_ns() >= next) {
			ret = take_sample(&sample, &since);
			next = since + interval;
		}
	}
	leave_screen();
	free_sample(&sample);
	return ret ? counters_complain("top", ret) : code;
}

static enum tool_exit print(uint64_t interval, uint64_t count)
{
	enum tool_exit code = TOOL_OK;
	struct sample sample = { };
	uint64_t since = 0;
	int ret;

	ret = take_sample(&sample, &since);
	while (!ret && code == TOOL_OK && count--) {
		struct timespec time = {
			.tv_sec = (time_t)(interval / NSEC_PER_SEC),
			.tv_nsec = (long)(interval % NSEC_PER_SEC),
		};

		nanosleep(&time, NULL);
		ret = take_sample(&sample, &since);
		if (ret)
			break;
		/* There is no limit to the lines of a file. */
		put_screen(stdout, INT32_MAX, COLS, &sample);
		if (count)
			putchar('\n');
		code = tool_flush();
	}
	free_sample(&sample);
	return ret ? counters_complain("top", ret) : code;
}

enum tool_exit tool_top(int argc, char **argv)
{
	static const struct option options[] = {
		{ "every",	required_argument,	NULL, 'e' },
		{ "count",	required_argument,	NULL, 'c' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	uint64_t interval = NSEC_PER_SEC, count = 0;
	const char *terminal = getenv("TERM");
	int c;

	while ((c = getopt_long(argc, argv, "e:c:h", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			if (!tool_every("top", optarg, &interval))
				return TOOL_USAGE;
			break;
		case 'c':
			if (!tool_number("top", optarg, 1, UINT64_MAX, &count))
				return TOOL_USAGE;
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
	if (count)
		return print(interval, count);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return tool_complain(TOOL_FAILED,
				     "top: not a terminal: use --count N to print line by line");
	if (!terminal || !*terminal || !strcmp(terminal, "dumb"))
		return tool_complain(TOOL_FAILED,
				     "top: TERM names no terminal that can be drawn on: use --count N");
	return watch(interval);
}
