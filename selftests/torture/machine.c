// SPDX-License-Identifier: GPL-2.0-only
/* The machine: its clocks, which are set, and its CPUs, which come and go. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include "../sim/oracle.h"
#include "host.h"

s64 sim_real_offset, sim_furthest_offset;
/* None is planned: nobody would wait until it is over. */
u64 sim_next_leap = KTIME_MAX;
/* In the simulation alone it is known how late a timer may be. */
u64 sim_latest_step, sim_last_step;
bool sim_steps_pending;
static u64 furthest_wall;
unsigned long long machine_hotplugs;

static u64 now_on(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec;
}

u64 sim_now(void)
{
	return now_on(CLOCK_MONOTONIC);
}

u64 sim_latest(void)
{
	return sim_now();
}

u64 time_of(const struct context *c)
{
	return now_on(c->clock);
}

u64 latest_time_of(const struct context *c)
{
	return time_of(c);
}

u64 sim_time_of(const struct context *c, u64 time)
{
	return time - time_of(c) + sim_now();
}

u64 most_late(void)
{
	return FAR_AHEAD;
}

void machine_begin(void)
{
	sim_real_offset = (s64)(now_on(CLOCK_REALTIME) - sim_now());
	sim_furthest_offset = sim_real_offset;
}

void sim_sleep_until(u64 ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC),
	};

	turn_ends();
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
	turn_begins();
}

u64 sim_furthest_wall(void)
{
	return furthest_wall;
}

u64 sim_plan_leap(u64 ahead)
{
	(void)ahead;
	return 0;
}

void sim_set_clock(s64 step)
{
	struct timex timex = {
		.modes = ADJ_SETOFFSET | ADJ_NANO,
		.time = {
			.tv_sec = step / (s64)NSEC_PER_SEC, .tv_usec = step % (s64)NSEC_PER_SEC,
		},
	};

	sim_trace("CLOCK_REALTIME is set by %+lld ns", step);
	if (timex.time.tv_usec < 0) {
		timex.time.tv_sec--;
		timex.time.tv_usec += NSEC_PER_SEC;
	}
	expect(adjtimex(&timex) >= 0, SIM_ITSELF, "the clock cannot be set");
	/* Until just now it went on as before, at the latest. */
	furthest_wall = max(furthest_wall, sim_now() + (u64)sim_real_offset);
	sim_real_offset += step;
	sim_furthest_offset = max(sim_furthest_offset, sim_real_offset);
}

void sim_hotplug(unsigned int cpu, bool online)
{
	ssize_t ret;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	turn_ends();
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* The last CPU stays, and a signal may come first. */
	do
		ret = write(fd, online ? "1" : "0", 1);
	while (ret < 0 && (errno == EINTR || (online && errno == EBUSY)));
	close(fd);
	turn_begins();
	sim_trace("CPU %u is %sline", cpu, online ? "on" : "off");
	machine_hotplugs += !online && ret == 1;
}

/* CPUs are isolated in selftests/stress. */
void sim_isolate(unsigned int cpu, bool isolated)
{
	(void)cpu;
	(void)isolated;
}

/* Who is not root sees none of them. */
void sim_read_debugfs(void)
{
	glob_t files = { };
	char text[4096];
	size_t i;

	turn_ends();
	glob("/sys/kernel/debug/twheel/*", 0, NULL, &files);
	for (i = 0; i < files.gl_pathc; i++) {
		int fd = open(files.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
			;
		if (fd >= 0)
			close(fd);
	}
	globfree(&files);
	turn_begins();
}
