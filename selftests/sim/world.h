/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An episode: contexts, the timers in them, the actors that use them, and what the oracle knows of
 * each arming.
 *
 * Files: contexts.c chooses the contexts and who uses them, and ends them; calls.c are the calls of
 * a program; oracle.c and record.c say what may come of them; owner.c, many.c, reader.c, hostile.c,
 * fork.c and chaos.c are the actors. These are also in selftests/torture, where the kernel is real.
 * episode.c and times.c are the simulation's own.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/time.h>

#include <linux/twheel.h>

#include "sim.h"

#define TICK		(1ULL << 20)
#define UNIT		(1ULL << TWHEEL_LEASE_UNIT_SHIFT)
#define MAX_CONTEXTS	76
/* So many of them may have one user: more than a run of a wheel can note */
#define MANY_OF_ONE	70
#define MAX_OWNERS	6
#define MAX_OWN		12	/* in a context */
#define MAX_SHARED	6
#define MAX_ARMINGS	50000
/* After each of them, what is due on wall time comes a second later. */
#define MAX_LEAPS	4
/* In the user_data of timers that are far ahead, and so are never told */
#define NEVER_TOLD	(1ULL << 63)

/* What may be left out of episodes, so that a failure is easier to follow */
enum knob {
	STALLS, FREEZES, MIGRATION, WEAK, NOMEM, FAULTS, EFAULTS, SIGNALS, KILLS,
	HOTPLUG, ISOLATION, STEPS, NAMESPACES, LIMITS, HOSTILE, MALFORMED,
	KEYS, LEASES, PERIODIC, SLACK, CONDITIONS, PUSHES, BATCHES, BULK, LISTS, SHARED_TIMERS,
	CONTEXTS, READERS, UNLOAD, FAIRNESS, TENANCY, MANY, RT, LEAPS, USERNS, LATE, PROCESS,
	CANCELS, FORKS, WALL, COLLISIONS,
	NR_KNOBS
};

/**
 * struct settings - how large an episode is
 * @owners:	how many owners there are at most
 * @each:	how many operations each of them does
 * @fault:	see &struct sim_config
 * @without:	bits of &enum knob that are left out
 * @always:	bits of those that are in use in each episode
 * @patience:	so many times more it is looked, in 100 ticks each, whether all timers have ended:
 *		where the machine is real it may be late
 */
struct settings {
	u32	owners;
	u32	each;
	u64	fault;
	u64	without;
	u64	always;
	u32	patience;
};

/*
 * In how many rounds of all wheels on its CPU a user's timer has its turn, each of them a run for
 * each other user and a pause as long: one that begins when the wheel has just had its run, and the
 * next. It is what promise 11 says.
 */
#define FAIR_ROUNDS	2

/* How an arming has ended, as far as is known */
enum end {
	IN_FLIGHT,	/* the call has not returned */
	LIVE,
	OVER,		/* a call did not find it: its last record is being read */
	DELIVERED,
	CANCELLED,
	REPLACED,
	FAILED,
	UNSURE,		/* a call ended with EFAULT, and may have been carried out */
};

/**
 * struct arming - what the oracle knows of an arming; its number plus 1 is its user_data
 * @end:	how it has ended
 * @ctx:	number of its context
 * @owner:	number of its owner
 * @shared:	others use the timer, too
 * @lease:	it is a lease
 * @loose:	its order among others is not known
 * @grid_lost:	it is periodic and was pushed
 * @taken:	a record of it was read, or it was drained
 * @owes:	of it or of @replaced_by something is to be told
 * @replaced_by: with @owes, the number of the arming that a call may have replaced it by
 * @flags:	TWHEEL_ARM_* bits
 * @low:	its deadline is not before, on the context's clock
 * @high:	nor after
 * @from:	when the call had returned that armed it
 * @armed:	the stamp of that, or of a push that may have made it pending again
 * @ended:	the stamp of its end
 * @slack:	as armed
 * @interval:	as armed
 * @count:	as armed
 * @seen:	expirations that were told
 * @next:	of a periodic timer, the deadline of the next record
 * @told:	the deadline of the last record
 * @steps:	how often the clock had been set when the call began; or U64_MAX, if it was just
 *		being set, or a leap second may come
 */
struct arming {
	enum end	end;
	u8		ctx, owner;
	bool		shared, lease, loose, grid_lost, taken, owes;
	u32		replaced_by;
	u32		flags;
	u64		low, high;
	u64		from, armed, ended;
	u64		slack, interval, count, seen;
	u64		next, told, steps;
};

/**
 * struct own - a timer that only its owner uses
 * @handle:	its handle or key
 * @arming:	number of its last arming
 * @live:	it was armed, and its owner was not told of its end
 * @word:	of a lease
 * @tag:	of a lease
 */
struct own {
	u64	handle;
	u32	arming;
	bool	live;
	u32	word;
	u16	tag;
};

/*
 * A task that arms timers and cancels them; timer i is in context i % world.nr_contexts. @busy: it
 * may be in a call.
 */
struct owner {
	u32		nr;
	bool		busy;
	struct own	own[MAX_CONTEXTS];
};

/**
 * struct context - one open of the device
 * @file:	the file
 * @nr:		its number
 * @cred:	who has opened it
 * @clock:	as clock_gettime() names it
 * @config:	how it is configured
 * @timens:	the time namespace of those who call
 * @ahead:	by how much the clock is ahead there
 * @shared:	handles of the timers that all owners use, or 0
 * @shared_live: how many of them there are, by what was told
 * @hostile:	somebody stores anything into its words
 * @told_steps:	how many steps its readers were told of
 * @told_last:	they were told since the last one
 * @reads:	reads of it that were begun
 * @reading:	how many have not ended
 * @waiting:	readers that may sleep
 * @faulting:	those of them that wait for their memory
 * @attending:	readers that wait, or have waited and now read
 * @attended:	since when there has been one
 * @drains:	calls that drain it, begun so far
 * @extending:	owners that extend a lease
 * @last_tick:	for each owner, the tick of the last record
 */
struct context {
	struct file		file;
	u32			nr;
	struct cred		cred;
	clockid_t		clock;
	struct twheel_config	config;
	u32			timens;
	s64			ahead;
	u64			shared[MAX_SHARED];
	s64			shared_live;
	bool			hostile;
	u64			told_steps;
	bool			told_last;
	u64			reads;
	u32			reading;
	u32			waiting, faulting, attending;
	u64			attended;
	u32			drains, draining, extending;
	u64			last_tick[MAX_OWNERS];
};

/**
 * struct world - an episode
 * @settings:	see there
 * @fair:	it is about fairness: see fair.c
 * @many:	there are many contexts
 * @process:	there is no module: the library has a wheel in its process
 * @contexts:	all opens of the device
 * @owners:	all owners
 * @nr_own:	how many timers each of them has that others do not use
 * @nr_shared:	how many timers in each context all owners use
 * @cred:	who opens contexts
 * @lazy:	readers often read late
 * @kinds:	which kinds of operations owners do: bits
 * @in_order:	records are read in order: each owner stays on a CPU, and one task reads
 * @exact:	no CPU stands still, so no record is late
 * @restless:	CPUs come and go, or are isolated
 * @caches:	calls on some context take an older time for the present
 * @threads:	some context has several wheels in the process
 * @isolated:	nearly all CPUs are isolated, and all that is armed is due soon
 * @steps:	the clock is set
 * @leaps:	so many leap seconds come yet
 * @nr_steps:	how often it was
 * @steps_done:	how often that has ended
 * @stop:	readers are to end
 * @owners_left, @readers_left, @others_left: tasks that have not ended
 * @latest:	by then, on CLOCK_MONOTONIC, all is due
 * @sure:	calls that must not end with EFAULT, just now
 * @armings:	all armings
 * @nr_armings:	how many
 */
struct world {
	struct settings	settings;
	struct context	contexts[MAX_CONTEXTS];
	u32		nr_contexts;
	struct owner	owners[MAX_OWNERS];
	u32		nr_owners;
	u32		nr_own, nr_shared;
	u32		kinds;
	bool		lazy;
	struct cred	cred;
	bool		fair, tenants, many, process;
	bool		in_order, exact, restless, caches, threads, isolated, steps, stop;
	u32		leaps;
	u64		nr_steps, steps_done;
	u32		owners_left, readers_left, others_left;
	u64		latest;
	u32		efault_chance, sure;
	struct arming	armings[MAX_ARMINGS];
	u32		nr_armings;
};

extern struct world world;

/* What was done since the program began */
struct counts {
	u64 episodes, operations, armings, records;
	u64 call_points;	/* the most in a call for one timer */
	u64 late;		/* the most ns that a victim's timer came after its tick */
};

extern struct counts counts;

/* episode.c */
/* One episode, which @seed chooses, on @cpus CPUs or if that is 0 on as many as @seed chooses */
void episode(u64 seed, u32 cpus, const struct settings *settings);
extern const char * const knob_names[NR_KNOBS];
/* All owners are about to end: see the end of all timers, and close the contexts. */
void close_all(void *unused);

/* contexts.c */
/* A number below @n that depends on the seed and on @what alone */
u32 by_seed(u64 seed, u32 what, u32 n);
int some_cpu(void);
/* Open the device and configure it as @c says. */
void open_context(struct context *c);
/* Choose the contexts, and open them; then those who use them begin. */
void open_contexts(void *unused);
void spawn_chaos(void);
void spawn_users(void);
void spawn_owners(void);
void spawn_reader(struct context *c);
/* All owners are about to end: see the end of all timers. No call fails from here on, */
void end_timers(void);
/* until here. Close the contexts while timers are pending. */
void close_contexts(void);
bool any_context(bool (*is)(const struct context *c));
/* One of the programs for which @user is charged, until that is called for another user */
struct cred one_of(struct cred user, u32 nr);
static inline bool has(enum knob knob)
{
	return !(world.settings.without >> knob & 1);
}

static inline bool keyed(const struct context *c)
{
	return c->config.flags & TWHEEL_CONFIG_KEYED;
}

/* Was the clock set, and was no reader of @c told of it since? */
static inline bool owes_step(const struct context *c)
{
	return c->config.flags & TWHEEL_CONFIG_CANCEL_ON_SET && world.nr_steps && !c->told_last;
}

static inline bool leases(const struct context *c)
{
	return c->config.flags & TWHEEL_CONFIG_LEASE;
}

/* times.c: the time that it is for a program on the clock of @c */
u64 time_of(const struct context *c);
/* The latest that it is there for any CPU */
u64 latest_time_of(const struct context *c);
/* When it is @time there, on the clock of the simulation */
u64 sim_time_of(const struct context *c, u64 time);
/*
 * How late an expiry may be, beside a tick: for what the CPU has to do first, and as it may stand
 * still several times meanwhile.
 */
u64 most_late(void);

/* calls.c: the calls of a program */
long call_info(struct context *c, struct twheel_info *info);
long call_config(struct context *c, struct twheel_config *config);
long call_arm(struct context *c, struct twheel_arm *arm);
long call_arm_batch(struct context *c, struct twheel_arm *arms, u32 n);
long call_cancel(struct context *c, struct twheel_cancel *cancel);
long call_cancel_batch(struct context *c, struct twheel_cancel *cancels, u32 n);
long call_get(struct context *c, struct twheel_timer_info *info);
long call_list(struct context *c, struct twheel_list *list);
long call_push(struct context *c, struct twheel_push *pushes, u32 n);
/* Any ioctl, or any bytes */
long call_ioctl(struct context *c, unsigned int cmd, void *arg);
long call_write(struct context *c, void *bytes, size_t n);
long call_read(struct context *c, struct twheel_event *events, u32 room, bool wait);
bool call_poll(struct context *c, bool registers);
void call_fdinfo(struct context *c);
/* The page of words with number @index, to be given back by call_unmap(), or NULL */
struct page *call_map(struct context *c, u32 index);
void call_unmap(struct context *c, struct page *page);
int call_open(struct context *c, unsigned int mode);
void call_close(struct context *c);
/* Calls do not end with EFAULT until call_sure_end(). */
void call_sure(void);
void call_sure_end(void);

/* The actors; @arg is a struct owner, a struct context or a number of a CPU. */
void owner_main(void *arg);
void reader_main(void *arg);
void hostile_main(void *arg);
void malformed_main(void *arg);
void chaos_main(void *arg);
void last_chaos_main(void *arg);
void forker_main(void *arg);

/* chaos.c: set the clock, and note it. */
void step_clock(s64 step);
/* owner.c: a delay of any kind, in ns */
u64 some_delay(void);
/* many.c: look for timers that there are not */
void do_peep(struct context *c);
/* list up to 8 timers of @c; with @drain cancel them */
void do_list(struct context *c, bool drain);
/* List all timers of @c by several calls; of these @o has just made @made that are far ahead. */
void do_walk(struct owner *o, struct context *c, u32 made);
/* Make many timers that are far ahead and cancel them, so that chunks come and go. */
void do_bulk(struct owner *o, struct context *c);

/*
 * Memory of a program, zeroed. It begins at a page, since what the module does depends on where
 * pages end.
 */
void *user_memory(size_t size);

/* fair.c: how such an episode begins, instead of what others do */
void fair_config(struct sim_config *config, u64 seed);
void fair_open(void *arg);
void fair_spawn(void);
/* By how many ns others may make the victim's timers late. */
u64 fair_bound(void);

/* tenants.c: the user's limit in an episode about limits. Set it up, and begin it. */
#define TENANTS_LIMIT	16U
void tenants_config(struct sim_config *config, u64 seed);
void tenants_spawn(void);

/* crowd.c: half of these are about memory. */
static inline bool is_crowd(u64 seed)
{
	return by_seed(seed, 59, 2);
}

void crowd_spawn(void);

/* scenes.c: is this one of these episodes? Carry it out. */
static inline bool is_scene(u64 seed)
{
	return world.isolated && !world.process && sim_config.fault == AT_RANDOM &&
	       !by_seed(seed, 63, 4);
}

void scene_run(void);

#endif /* SIM_WORLD_H */
