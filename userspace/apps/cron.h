/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * cron: the lines of the file, and what the parts of the program do with them.
 *
 * cron.c has the main loop and the timers, cron-file.c reads the file, cron-zone.c looks for
 * the time zone, cron-commands.c starts the commands, and schedule.c says when that is due.
 */
#ifndef CRON_H
#define CRON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <twheel.h>

#include "lateness.h"
#include "schedule.h"

/**
 * struct line - a line of the file
 * @number: its number in the file
 * @text: the line
 * @command: the command that it runs, which is the end of @text
 * @begun: the fields from @done on were filled in
 * @schedule: when it runs the command
 * @delay: random delays are less than this
 * @spread: and that of the next run than this: the line is due again then, or later
 * @wait: the random delay of the next run
 * @done: for %SCHEDULE_CALENDAR, times up to this one are done with
 * @round: for other schedules, when the next run is due on CLOCK_BOOTTIME without @wait
 * @due: when the next run is due without @wait
 * @deadline: what its timer is armed for: @due plus @wait
 */
struct line {
	unsigned int		number;
	char			*text;
	char			*command;
	bool			begun;
	struct schedule		schedule;
	uint64_t		delay;
	uint64_t		spread;
	uint64_t		wait;
	time_t			done;
	uint64_t		round;
	uint64_t		due;
	uint64_t		deadline;
};

/**
 * struct child - a command that runs
 * @pid: its process
 * @number: of the line that has started it, which may be gone by now
 * @command: of that line, a copy
 */
struct child {
	pid_t			pid;
	unsigned int		number;
	char			*command;
};

/**
 * struct cron - the state of the program
 * @file: the name of the file
 * @dry: start nothing
 * @verbose: print a line for each run
 * @grace: how far the clock may be set, and a run may be late
 * @slack: how much later timers may expire
 * @next: print that many times of each line, or 0 to run the lines
 * @after: print the times after this one
 * @lines: the lines of the file
 * @count: how many lines there are
 * @room: how many @lines has room for
 * @tw: the context
 * @epoll: waits for @tw and @signals
 * @signals: the descriptor that signals are read from
 * @stop: whether a signal has ended the program
 * @arms: requests to arm, with room for one a line
 * @arms_len: how many requests there are
 * @children: the commands that are running
 * @children_len: how many commands are running
 * @children_room: how many @children has room for
 * @runs: commands started or, with @dry, only due
 * @failed: commands that could not be started, or returned a failure
 * @let_go: runs that were given up, as they would have been later than @grace
 * @early: runs before their time
 * @stale: expirations with another deadline than the one that was armed
 * @steps: how often the clock was set
 * @lateness: from the deadline of a line to its start
 */
struct cron {
	const char		*file;
	bool			dry;
	bool			verbose;
	uint64_t		grace;
	uint64_t		slack;
	uint64_t		next;
	time_t			after;

	struct line		*lines;
	size_t			count;
	size_t			room;

	struct twheel		*tw;
	int			epoll;
	int			signals;
	bool			stop;
	struct twheel_arm	*arms;
	size_t			arms_len;
	struct child		*children;
	size_t			children_len;
	size_t			children_room;

	uint64_t		runs;
	uint64_t		failed;
	uint64_t		let_go;
	uint64_t		early;
	uint64_t		stale;
	uint64_t		steps;
	struct lateness		lateness;
};

/**
 * cron_check_zone() - look for the time zone that TZ or /etc/localtime names
 *
 * Ends the program if there is none.
 */
void cron_check_zone(void);

/**
 * cron_read_file() - read the lines of the file
 * @cron: the state, without lines
 *
 * Return: whether nothing is wrong with them; else what is wrong was told.
 */
bool cron_read_file(struct cron *cron);

/**
 * cron_read_again() - read the file again, in place of the lines that were read before
 * @cron: the state
 *
 * A line with the text of one that was there before takes its place, and goes on.
 *
 * Return: as for cron_read_file(). If something is wrong all is as it was.
 */
bool cron_read_again(struct cron *cron);

/* Free the lines. */
void cron_free_lines(struct cron *cron);

/**
 * cron_print_time() - print a time with its offset
 * @t: seconds since 1970
 *
 * The offset tells the two hours apart when one is repeated.
 */
void cron_print_time(time_t t);

/**
 * cron_run_line() - start the command of a line
 * @cron: the state
 * @line: the line
 */
void cron_run_line(struct cron *cron, const struct line *line);

/**
 * cron_reap() - take note of the commands that have ended
 * @cron: the state
 */
void cron_reap(struct cron *cron);

#endif /* CRON_H */
