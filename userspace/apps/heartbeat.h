/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * heartbeat: the books on the drivers, and what the parts of the program do with them.
 *
 * heartbeat.c has the main loop, heartbeat-report.c the drivers' side, heartbeat-judge.c
 * the side that watches, heartbeat-books.c what these share, and heartbeat-table.c what is
 * shown.
 */
#ifndef HEARTBEAT_H
#define HEARTBEAT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <twheel.h>

#include "lateness.h"
#include "usage.h"

/* How many batches are sent before expirations are looked at again. */
#define BURST		16

/**
 * enum driver_state - what is known of a driver
 * @DRIVER_NEW: no timer was armed for it yet
 * @DRIVER_ONLINE: its timer is armed
 * @DRIVER_LATE: it reported when its lease was over, or its timer had expired, and the record
 *	of that was not read yet
 * @DRIVER_OFFLINE: its timer has expired
 * @DRIVER_DRAINED: its timer was pending at the end
 * @DRIVER_WRONG: something about its timer was wrong, and has been counted
 */
enum driver_state {
	DRIVER_NEW,
	DRIVER_ONLINE,
	DRIVER_LATE,
	DRIVER_OFFLINE,
	DRIVER_DRAINED,
	DRIVER_WRONG,
};

/* &driver.stop of a driver whose reports do not stop. */
#define NEVER	UINT32_MAX

/**
 * struct driver - the books on one driver
 * @deadline: what its timer is armed for: its last report plus the timeout
 * @stop: milliseconds after the start when its reports stop, or %NEVER
 * @state: &enum driver_state
 */
struct driver {
	uint64_t	deadline;
	uint32_t	stop;
	uint32_t	state;
};

/**
 * struct heartbeat - the state of the program, for one form
 * @n: number of drivers
 * @timeout: silence after which a driver is offline
 * @duration: time that reports come for
 * @period: time in which each driver reports once
 * @dead: how many drivers fall silent
 * @batch: length of @arms, @pushes, @who and @events
 * @grace: how late an expiration may be before it is missed
 * @seed: state of the random numbers
 * @progress: whether to show progress
 * @terminal: whether to show it in one line, on a terminal
 * @config: TWHEEL_CONFIG_KEYED and TWHEEL_CONFIG_LEASE, the form
 * @by_write: reports push timers back by write()
 * @tw: the context
 * @epoll: waits for @tw
 * @drivers: the books
 * @handles: the drivers' timers, NULL with keys or leases
 * @leases: the drivers' leases, NULL without leases
 * @arms: a batch of requests
 * @pushes: a batch to be written
 * @who: the drivers in @arms or @pushes
 * @events: what was read
 * @stride: from one driver to the next that reports; coprime to @n, so that a
 *	round of @n steps meets every driver once, in an order that is not that of
 *	their memory
 * @cursor: the next driver to report
 * @start: when the reports begin
 * @turns: how many turns of drivers to report have come since @start
 * @silent_left: silent drivers that are still online
 * @armed: timers made
 * @arm_time: how long it took to make them
 * @pushed: reports that pushed a timer back
 * @withdrawn: those reports among @pushed that came after the expiration and before
 *	its record was read
 * @lost: reports that came when the lease was over, or could not push an expired timer back
 * @expired: drivers that were rightly declared offline
 * @late_reports: those drivers among @expired whose reports had not stopped
 * @wrong: drivers wrongly declared offline
 * @twice: drivers declared offline again
 * @missed: drivers that should have been declared offline, and were not
 * @complaints: how many were made
 * @embedded: there is no device, and the wheel is in this process
 * @kernel_bytes: kernel memory a timer, or negative when it could not be measured
 * @table_bytes: memory a timer in @handles or @leases
 * @elapsed: time from the first arm to the last drain
 * @usage: how much was used in that time
 * @ioctls: calls of ioctl()
 * @rearms: those of them that pushed timers back
 * @writes: calls of write()
 * @reads: calls of read()
 * @waits: calls of epoll_wait()
 * @shown: when progress was shown last
 * @shown_pushed: what @pushed was then
 * @by_expiry: from the deadline until the kernel had noted the expiration
 * @by_read: from the deadline until its record was read
 */
struct heartbeat {
	uint32_t		n;
	uint64_t		timeout;
	uint64_t		duration;
	uint64_t		period;
	uint32_t		dead;
	uint32_t		batch;
	uint64_t		grace;
	uint64_t		seed;
	bool			progress;
	bool			terminal;
	uint32_t		config;
	bool			by_write;

	struct twheel		*tw;
	int			epoll;
	struct driver		*drivers;
	uint64_t		*handles;
	struct twheel_lease	*leases;
	struct twheel_arm	*arms;
	struct twheel_push	*pushes;
	uint32_t		*who;
	struct twheel_event	*events;

	uint32_t		stride;
	uint32_t		cursor;
	uint64_t		start;
	uint64_t		turns;
	uint32_t		silent_left;

	uint64_t		armed;
	uint64_t		arm_time;
	uint64_t		pushed;
	uint64_t		withdrawn;
	uint64_t		lost;
	uint64_t		expired;
	uint64_t		late_reports;
	uint64_t		wrong;
	uint64_t		twice;
	uint64_t		missed;
	unsigned int		complaints;
	bool			embedded;
	double			kernel_bytes;
	double			table_bytes;
	uint64_t		elapsed;
	struct usage		usage;
	uint64_t		ioctls;
	uint64_t		rearms;
	uint64_t		writes;
	uint64_t		reads;
	uint64_t		waits;
	uint64_t		shown;
	uint64_t		shown_pushed;
	struct lateness		by_expiry;
	struct lateness		by_read;
};

/* Set by a signal that ends the program. */
extern volatile sig_atomic_t heartbeat_interrupted;

/**
 * heartbeat_register() - arm a timer for each driver, in the order in which they will report
 * @hb: the state
 */
void heartbeat_register(struct heartbeat *hb);

/**
 * heartbeat_report() - send the reports of the drivers whose turn is next
 * @hb: the state
 * @turns: how many drivers; no more than a batch of them report
 * @now: the time, ns
 */
void heartbeat_report(struct heartbeat *hb, uint64_t turns, uint64_t now);

/**
 * heartbeat_handle() - the handle in requests for a driver
 * @hb: the state
 * @driver: its number
 *
 * Return: its key or its handle, or 0 if none is known.
 */
uint64_t heartbeat_handle(const struct heartbeat *hb, uint32_t driver);

/**
 * heartbeat_watch() - read the records that are ready, a burst at most, and judge them
 * @hb: the state
 *
 * Return: whether there may be more.
 */
bool heartbeat_watch(struct heartbeat *hb);

/**
 * heartbeat_settle() - drain the timers that are pending, and account for each driver
 * @hb: the state
 */
void heartbeat_settle(struct heartbeat *hb);

/**
 * heartbeat_complain() - say what is wrong with a driver, unless there were enough complaints
 * @hb: the state
 * @driver: its number
 * @what: what is wrong
 * @seen: the number that was seen
 * @expected: the number that should have been
 */
void heartbeat_complain(struct heartbeat *hb, uint64_t driver, const char *what,
			uint64_t seen, uint64_t expected);

/**
 * heartbeat_form() - what a form is called
 * @hb: the state
 *
 * Return: the name.
 */
const char *heartbeat_form(const struct heartbeat *hb);

/**
 * heartbeat_show() - show the progress if it is time to
 * @hb: the state
 * @now: the time, ns
 */
void heartbeat_show(struct heartbeat *hb, uint64_t now);

/**
 * heartbeat_end_line() - end the line of progress on a terminal
 * @hb: the state
 */
void heartbeat_end_line(const struct heartbeat *hb);

/**
 * heartbeat_print() - print the figures of several forms side by side
 * @forms: the forms
 * @n: how many there are
 */
void heartbeat_print(const struct heartbeat *forms, unsigned int n);

#endif /* HEARTBEAT_H */
