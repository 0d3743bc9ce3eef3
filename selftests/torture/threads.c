// SPDX-License-Identifier: GPL-2.0-only
/* Tasks are threads, one of which has its turn at a time: see host.h. */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../sim/sim.h"
#include "host.h"

/* The trace is told when something is wrong: so many lines of it. */
#define NR_LINES	60

/**
 * struct thread - a task
 * @next:	one that began before it
 * @id:		of the C library
 * @name:	for the trace
 * @nr:		likewise
 * @function:	what it does
 * @arg:	with what
 * @cpu:	where it stays; or -1
 */
struct thread {
	struct thread	*next;
	pthread_t	id;
	const char	*name;
	int		nr;
	void		(*function)(void *arg);
	void		*arg;
	int		cpu;
};

struct sim_config sim_config;
struct sim_stats sim_stats;
bool sim_verbose;

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct thread *threads;
static __thread const struct thread *self;
u64 sim_rng[2];
static char lines[NR_LINES][200];
static u32 nr_lines;

void turn_begins(void)
{
	pthread_mutex_lock(&turn);
}

void turn_ends(void)
{
	pthread_mutex_unlock(&turn);
}

void sim_point(void)
{
	turn_ends();
	sched_yield();
	turn_begins();
}

/* Only the simulation counts points. */
u64 sim_own_points(void)
{
	return 0;
}

/* In memory of a program nothing has to be done for others to see it. */
void drain_all(void)
{
}

void sim_move(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* Where it cannot be it need not be. */
	sched_setaffinity(0, sizeof(set), &set);
}

static void *main_of(void *arg)
{
	self = arg;
	if (self->cpu >= 0)
		sim_move(self->cpu);
	turn_begins();
	self->function(self->arg);
	turn_ends();
	return NULL;
}

void sim_spawn(const char *name, int nr, void (*function)(void *arg), void *arg, int cpu,
	       bool pinned)
{
	struct thread *thread = malloc(sizeof(*thread));

	*thread = (struct thread) {
		.next		= threads,
		.name		= name,
		.nr		= nr,
		.function	= function,
		.arg		= arg,
		.cpu		= pinned ? cpu : -1,
	};
	threads = thread;
	expect(!pthread_create(&thread->id, NULL, main_of, thread), SIM_ITSELF,
	       "no thread can be made");
}

void sim_run(void)
{
	struct thread *thread;

	while ((thread = threads)) {
		turn_ends();
		pthread_join(thread->id, NULL);
		turn_begins();
		/* It may have made others. */
		if (thread != threads)
			continue;
		threads = thread->next;
		free(thread);
	}
}

static int place(char *text, size_t size)
{
	return snprintf(text, size, "%14.6f ms  %-10s %-2d ", (double)sim_now() / 1e6,
			self ? self->name : "at rest", self ? self->nr : 0);
}

void sim_trace(const char *format, ...)
{
	char *line = lines[nr_lines++ % NR_LINES];
	int used = place(line, sizeof(lines[0]));
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, sizeof(lines[0]) - (size_t)used, format, args);
	va_end(args);
	if (sim_verbose)
		printf("# %s\n", line);
}

void sim_broken(enum promise promise, const char *format, ...)
{
	va_list args;
	u32 i;

	sim_trace("this is wrong");
	printf("# VIOLATION: %s: ", sim_promises[promise]);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n# seed of this program: %llu; told last:\n", sim_config.seed);
	for (i = nr_lines < NR_LINES ? 0 : nr_lines - NR_LINES; i < nr_lines; i++)
		printf("# %s\n", lines[i % NR_LINES]);
	fflush(stdout);
	_exit(EXIT_BROKEN);
}
