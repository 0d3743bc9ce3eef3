/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * speed: what one operation on a timer costs, in each facility that has timers.
 *
 * A facility is a struct of functions: one file for each kind. measure.c calls them in
 * the same way for all, and times them. So a facility has no loop over timers but the one
 * that its own batches need.
 *
 * A timer is known by a number from 0 to nr - 1 of its job. Deadlines are nanoseconds on
 * CLOCK_MONOTONIC, and each is computed from the number (aim_at()), so that no table of
 * deadlines takes part in what is measured. What a program needs to find its timer (a
 * handle, a descriptor, an object) is in the facility's own table, and is measured.
 */
#ifndef SPEED_H
#define SPEED_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** define SPEED_STEP - how much `later` moves a deadline, in ns */
#define SPEED_STEP	2000000000ULL

/** define MAX_TABLES - so many has the state of a facility */
#define MAX_TABLES	10

/** define SPEED_REAP - how many expirations measure.c asks for at a time */
#define SPEED_REAP	1024

/** enum speed_op - the operations, in the order in which they are measured */
enum speed_op {
	OP_FILL, OP_ARM, OP_ORDER, OP_LATER, OP_RANDOM, OP_HEARTBEAT, OP_SOON, OP_CANCEL,
	OP_EXPIRE, OP_DELIVER, OP_CALL, OP_PAGE, NR_OPS
};

#define OPS(op)		(1U << (op))
#define OPS_MOVE	(OPS(OP_LATER) | OPS(OP_RANDOM))
/* What is asked only of facilities in the process */
#define OPS_PROCESS	(OPS(OP_ORDER) | OPS(OP_SOON))
#define OPS_KERNEL	((OPS(OP_CALL) - 1) & ~OPS_PROCESS)
#define OPS_ALL		((OPS_KERNEL & ~OPS(OP_EXPIRE)) | OPS_PROCESS)

/**
 * struct aim - deadlines of a run of timers
 * @base: the earliest
 * @span: each is moved back by some part of this, which looks random
 * @salt: chooses that part
 */
struct aim {
	uint64_t	base;
	uint64_t	span;
	uint64_t	salt;
};

/** aim_at() - the deadline of timer @which */
static inline uint64_t aim_at(const struct aim *aim, uint32_t which)
{
	uint64_t mixed = (which + aim->salt) * 0x9e3779b97f4a7c15ULL;

	return aim->base + ((__uint128_t)mixed * aim->span >> 64);
}

/** clock_ns() - the time on CLOCK_MONOTONIC */
static inline uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/**
 * struct plan - what one process measures
 * @facility: with what
 * @pending: timers of all threads together
 * @batch: timers in one call; 1 where the facility has no batches
 * @threads: how many threads do the same at once, each with its share of the timers
 * @shared: they have one descriptor, and not one each
 * @cpu_time: measure the CPU time of each thread, and not the time that passes
 * @ops: OPS() of what to measure
 * @limit: ns that one measure may take
 */
struct plan {
	const struct facility	*facility;
	uint32_t		pending;
	uint32_t		batch;
	unsigned int		threads;
	bool			shared;
	bool			cpu_time;
	unsigned int		ops;
	uint64_t		limit;
};

/**
 * struct job - the part of one thread
 * @plan: of which it is a part
 * @index: number of the thread
 * @nr: how many timers it has; fewer than its share if others hold the rest
 * @order: all their numbers, in random order
 * @first: with @plan->shared the job of thread 0, which was opened before this one; in that
 *	job itself, and otherwise, NULL
 * @state: of the facility
 * @tables: its memory, by address and size: see job_table()
 * @nr_tables: how many there are
 */
struct job {
	const struct plan	*plan;
	unsigned int		index;
	uint32_t		nr;
	uint32_t		*order;
	struct job		*first;
	void			*state;
	struct {
		void	*at;
		size_t	size;
	} tables[MAX_TABLES];
	unsigned int		nr_tables;
};

/**
 * struct facility - one that has timers
 * @name: as -f takes it
 * @ops: OPS() of what it can do
 * @batches: one call takes many timers
 * @shares: threads can have one descriptor together
 * @keeps: a timer that has expired is still there, and has to be cancelled
 * @absent: NULL, or the reason why this machine does not have it
 * @hold: optional: keep timers pending that @job cannot have itself, and lower @job->nr
 * @open: set up @job->state, in memory of job_table()
 * @close: optional: free all timers, and what else it has taken
 * @arm: make new timers, with all that is needed for their expirations to be noticed
 * @settle: optional: called when all timers were armed, and not measured
 * @again: arm timers that have expired; NULL if that is what @arm does
 * @move: re-arm pending timers
 * @later: the same to later deadlines; NULL if @move is used for it. @which then points
 *	into @job->order, but not in OP_ORDER
 * @cancel: cancel timers, and free what they have taken
 * @reap: store which timers have expired, up to @max, without waiting
 * @wait: wait for the next expiration, or for less
 * @ready: optional: how many have expired and can be reaped
 *
 * They return 0 (@reap and @ready: a number), or -errno.
 */
struct facility {
	const char	*name;
	unsigned int	ops;
	bool		batches;
	bool		shares;
	bool		keeps;
	const char *(*absent)(void);
	int (*hold)(struct job *job);
	int (*open)(struct job *job);
	void (*close)(struct job *job);
	int (*arm)(struct job *job, const uint32_t *which, uint32_t n,
		   const struct aim *aim);
	void (*settle)(struct job *job);
	int (*again)(struct job *job, const uint32_t *which, uint32_t n,
		     const struct aim *aim);
	int (*move)(struct job *job, const uint32_t *which, uint32_t n,
		    const struct aim *aim);
	int (*later)(struct job *job, const uint32_t *which, uint32_t n,
		     const struct aim *aim);
	int (*cancel)(struct job *job, const uint32_t *which, uint32_t n);
	int (*reap)(struct job *job, uint32_t *which, uint32_t max);
	void (*wait)(struct job *job);
	int64_t (*ready)(struct job *job);
};

extern const struct facility twheel, twheel_writes, twheel_keyed, twheel_lease, word, libtwheel;
extern const struct facility embedded, embedded_cached, embedded_threads, embedded_push;
extern const struct facility embedded_keyed;
extern const struct facility embedded_objects, embedded_timers, embedded_cached_timers;
extern const struct facility embedded_deferred;
extern const struct facility timerfd, timerfd_et, posix_timer, io_uring_timeout;
extern const struct facility libuv, libevent, libevent_common;
extern const struct facility heap, heap4, hashed, core6, empty_call;

/**
 * struct fired - expirations that callbacks have noted, for @reap
 * @which: room for all timers of the job
 * @from: the first that was not taken out
 * @to: after the last
 */
struct fired {
	uint32_t	*which;
	uint32_t	from;
	uint32_t	to;
};

/** fired_note() - add one */
static inline void fired_note(struct fired *fired, uint32_t which)
{
	fired->which[fired->to++] = which;
}

uint32_t fired_take(struct fired *fired, uint32_t *which, uint32_t max);

void *table(uint64_t nr, uint64_t size);
void table_free(void *table, uint64_t nr, uint64_t size);
void *job_table(struct job *job, uint64_t nr, uint64_t size);
void job_close(struct job *job);
void wait_fd(int fd);
void wait_until(uint64_t ns);
void wait_soon(uint64_t ns);
void pin(unsigned int index);
void fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

void limit_file(const char *path, uint64_t want);
uint32_t limit_files(uint64_t want);
void limit_signals(uint64_t want);
void hold_timerfds(const struct job *job, uint32_t nr, uint32_t each);

extern const char *const op_names[NR_OPS];
int measure(const struct plan *plan);

#endif /* SPEED_H */
