// SPDX-License-Identifier: GPL-2.0-only
/* An episode where the kernel is real: see selftests/sim/world.h, and host.h. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/user_namespace.h>

#include "../sim/oracle.h"
#include "host.h"
#include "program.h"

/* A signal comes so often. */
#define SIGNAL_US	20000
/* By so many times 0.1 s a busy machine may be late. */
#define PATIENCE	600

const struct file_operations *sim_device = &device;
struct user_namespace init_user_ns;
unsigned long *sim_param_max_fd_timers;

/* The kernel sees to these, and to errors that a call has no reason for. */
void sim_release(void *what)
{
	(void)what;
}

void sim_acquire(void *what)
{
	(void)what;
}

void sim_call_begins(void)
{
}

bool sim_hole(const void *at)
{
	(void)at;
	return false;
}

void sim_call_ends(long ret)
{
	(void)ret;
}

/* Namespaces are for the simulation, and for selftests/uapi. */
void sim_set_timens(u32 nr, s64 monotonic, s64 boottime)
{
	(void)nr;
	(void)monotonic;
	(void)boottime;
}

void sim_enter_timens(u32 nr)
{
	(void)nr;
}

static void read_parameter(void)
{
	static unsigned long max_fd_timers;
	FILE *file = fopen("/sys/module/twheel/parameters/max_fd_timers", "r");

	expect(file && fscanf(file, "%lu", &max_fd_timers) == 1, SIM_ITSELF,
	       "the module does not say how many timers a context may have");
	fclose(file);
	sim_param_max_fd_timers = &max_fd_timers;
}

static void on_signal(int sig)
{
	(void)sig;
}

/* The one that has started this has waited for long enough. */
static void on_impatience(int sig)
{
	(void)sig;
	sim_broken(EXACTLY_ONCE, "it does not end: %u owners, %u readers and %u others are left",
		   world.owners_left, world.readers_left, world.others_left);
}

/* Now and then a signal interrupts one of the threads that do not block it. */
static void begin_signals(void)
{
	const struct itimerval often = {
		.it_interval.tv_usec = SIGNAL_US, .it_value.tv_usec = SIGNAL_US,
	};
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void choose(const struct program *program)
{
	world.settings.owners = MAX_OWNERS - 1;
	world.settings.each = program->each;
	world.settings.patience = PATIENCE;
	world.settings.without = 1ULL << NAMESPACES | 1ULL << USERNS | 1ULL << ISOLATION |
				 1ULL << LEAPS;
	/* Who does not set the clock himself would not know of it. */
	if (!program->chaos && !program->quiet)
		world.settings.without |= 1ULL << WALL;
	sim_config = (struct sim_config) {
		.seed		= program->seed,
		.cpus		= (u32)sysconf(_SC_NPROCESSORS_CONF),
		.signal_chance	= !program->faults,
		.fail_chance	= program->faults,
		.efault_chance	= program->faults,
	};
	world.efault_chance = program->faults;
	world.in_order = program->quiet && !program->faults && !program->limited;
	sim_verbose = program->verbose;
}

static void add(struct figures *sum)
{
	__atomic_fetch_add(&sum->programs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->operations, counts.operations, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->armings, counts.armings, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->records, counts.records, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->hotplugs, machine_hotplugs, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->steps, world.nr_steps, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->faults, device_faults, __ATOMIC_RELAXED);
}

void program_run(const struct program *program, struct figures *sum)
{
	signal(SIGTERM, on_impatience);
	choose(program);
	sim_seed(program->seed);
	machine_begin();
	read_parameter();
	turn_begins();
	sim_spawn("opener", -1, open_contexts, NULL, 0, false);
	sim_run();
	device_fail(program->faults);
	/* A signal's frame may be what cannot be copied, and then it kills. */
	if (!program->faults)
		begin_signals();
	world.in_order &= !any_context(leases);
	if (program->chaos) {
		spawn_chaos();
		world.steps = true;
	}
	spawn_users();
	spawn_owners();
	block_signals();
	end_timers();
	device_fail(0);
	close_contexts();
	sim_run();
	turn_ends();
	add(sum);
}
