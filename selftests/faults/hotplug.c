// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU that has timers goes and comes while things fail on the way: in the task
 * that asks for it, and in the CPU's own thread, which calls the module. The kernel
 * may give up half way and turn back; the timers expire nevertheless.
 */
#include <dirent.h>
#include <stdio.h>

#include "faults.h"
#include "kselftest.h"
#include "world.h"

#define CPU	1
#define ONLINE	"/sys/devices/system/cpu/cpu1/online"
/* Most of what can fail is not ours: about so many are picked. */
#define PICKED	40
#define MANY	1000000

/* Is @tid the CPU's own thread, which runs its callbacks? */
static bool is_hotplug_thread(pid_t tid)
{
	char path[64], name[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	close(fd);
	return !strcmp(name, "cpuhp/1\n");
}

static pid_t hotplug_thread(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t tid = 0;

	while (!tid && proc && (entry = readdir(proc)))
		if (is_hotplug_thread(atoi(entry->d_name)))
			tid = atoi(entry->d_name);
	if (proc)
		closedir(proc);
	return tid;
}

/* Have the CPU go or come. What fails now may succeed in a moment. */
static void must_be(const char *online)
{
	int tries, ret;

	for (tries = 0; tries < 100; tries++) {
		ret = tw_write_file(ONLINE, online);
		if (!ret)
			return;
		usleep(10000);
	}
	ksft_exit_fail_msg("cpu %d cannot be set to %s: %s\n", CPU, online, strerror(-ret));
}

/* Timers on the CPU, and on the other. */
static void begin(struct world *w)
{
	cpu_set_t all;
	int i;

	must_be("1");
	world_open(w, CLOCK_MONOTONIC, 0);
	sched_getaffinity(0, sizeof(all), &all);
	for (i = 0; i < 40; i++) {
		tw_pin(i % 2);
		world_add(w, TW_FAR, 0, 0);
	}
	CPU_SET(CPU, &all);
	sched_setaffinity(0, sizeof(all), &all);
}

/* The @n-th thing fails, in thread @tid or here; tells how many were to go. */
static unsigned int one_fault(pid_t tid, const char *online, unsigned int n)
{
	static struct world w;
	char what[80];
	unsigned int left;
	int ret;

	snprintf(what, sizeof(what), "cpu to %s, fault %u of %d", online, n, tid);
	faults_at = what;
	begin(&w);
	if (*online == '1')
		must_be("0");
	faults_arm(tid, n);
	ret = tw_write_file(ONLINE, online);
	left = faults_disarm(tid);
	faults_note(ret);
	if (ret && left)
		violation("%s, and none fired", strerror(-ret));
	world_check(&w);
	world_finish(&w);
	faults_at = NULL;
	return left;
}

static void all_faults(const char *name, pid_t tid, const char *online)
{
	unsigned long before = fault_figures.violations;
	unsigned int all = MANY - one_fault(tid, online, MANY), n, tried = 0;

	for (n = 1; n <= all; n += 1 + all / PICKED, tried++)
		one_fault(tid, online, n);
	ksft_test_result(before == fault_figures.violations, "%s: %u of %u faults\n", name, tried,
			 all);
}

int main(void)
{
	pid_t tid;

	setlinebuf(stdout);
	ksft_print_header();
	if (access(ONLINE, W_OK))
		ksft_exit_skip("cpu %d cannot be taken away\n", CPU);
	faults_init();
	tid = hotplug_thread();
	if (!tid)
		ksft_exit_fail_msg("no thread for cpu %d\n", CPU);
	ksft_set_plan(4);
	all_faults("a CPU goes", 0, "0");
	all_faults("a CPU goes, its own thread", tid, "0");
	all_faults("a CPU comes", 0, "1");
	all_faults("a CPU comes, its own thread", tid, "1");
	must_be("1");
	faults_report();
	ksft_finished();
}
