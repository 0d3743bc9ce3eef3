// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is measured, for any facility. The figure is the time that passes, divided by the
 * number of operations:
 *
 *	fill		arm all timers in a facility that never had any: they are due in 6 to 7
 *			hours. So memory that the process has not touched before is in it, once
 *	arm		the same in a facility that had as many timers before, and where all of
 *			them were cancelled. If they cannot be cancelled in time, it is closed and
 *			opened again
 *	order		push back the timer that is due first, so that it is due last, and so on,
 *			as happens to idle timeouts of equal length. For what runs in the process
 *	later		push timers back by SPEED_STEP, each of them once a pass, in random order
 *	random		move them to anywhere in that hour, likewise
 *	heartbeat	push back 99 timers, find 1 that has expired, and arm that again
 *	soon		arm a timer that is due at once, and find that it has expired, while all
 *			others are due in hours. In batches as many of them as fit at a time. For
 *			what runs in the process
 *	cancel		cancel and free timers in random order, until none is left
 *	expire		all are due at the same time: what their CPU does not do meanwhile for a
 *			program that keeps it busy. For facilities of the kernel
 *	deliver		all are due at the same time, and have expired: find out which. For a
 *			facility that runs in the process, expiry is in it
 *	call		one system call that does nothing
 *	page		the first touch of a page of memory
 *
 * With plan.cpu_time it is CPU time, for what does not wait.
 *
 * With several threads it is the sum of their times divided by that of their operations: so
 * a facility that scales has the same figure for any number of threads on as many CPUs.
 *
 * An operation is measured until there were ENOUGH_OPS in at least LEAST_NS, or ENOUGH_NS
 * have passed and there were LEAST_OPS. A facility that does not get as far within the plan's
 * limit gets no figure but a reason.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "twheel_util.h"
#include "worker.h"

#define ENOUGH_OPS	100000
#define ENOUGH_NS	200000000ULL
#define LEAST_OPS	100
/* Where there is nothing to wait for in between */
#define LEAST_NS	20000000ULL
/* The clock is read after this many operations at most, as reading it may be slow. */
#define CHUNK_MAX	16384
#define CHUNK_NS	5000000ULL
/* Timers that expire in a heartbeat's pass. */
#define BEATS_MAX	1000
#define PAGES		1024
#define HOUR		(3600 * TW_SEC)

typedef int (*move_fn)(struct job *job, const uint32_t *which, uint32_t n,
		       const struct aim *aim);

uint64_t speed_now(const struct plan *plan)
{
	return plan->cpu_time ? tw_now(CLOCK_THREAD_CPUTIME_ID) : clock_ns();
}

/* The time since @begun, without that for reading the clock */
static uint64_t since(const struct worker *w, uint64_t begun)
{
	uint64_t ns = speed_now(w->job.plan) - begun;

	return ns > common.clock_cost ? ns - common.clock_cost : 0;
}

static bool enough(const struct worker *w, uint64_t least_ns)
{
	if (w->ns >= w->job.plan->limit)
		return true;
	return (w->ops >= ENOUGH_OPS && w->ns >= least_ns) ||
	       (w->ops >= LEAST_OPS && w->ns >= ENOUGH_NS);
}

/* The same, for a thread among others that do as much. All of them have some figure. */
static bool enough_for_all(const struct worker *w, uint64_t least_ns)
{
	if (enough(w, least_ns))
		common.enough = true;
	return common.enough && w->ops >= LEAST_OPS;
}

static void give_up(struct worker *w, uint64_t spent, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void give_up(struct worker *w, uint64_t spent, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(w->reason, sizeof(w->reason), fmt, args);
	va_end(args);
	w->why = w->reason;
	w->spent = spent;
}

/* These errors say that there is no room for so many. All others are failures. */
static bool no_room(int error)
{
	switch (-error) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOSPC:
	case EAGAIN:
	case EDQUOT:
		return true;
	default:
		return false;
	}
}

/** check() - end the program if @ret is an error */
void check(const struct worker *w, enum speed_op op, int ret)
{
	if (ret < 0)
		fail("%s: %s: %s", w->job.plan->facility->name, op_names[op],
		     strerror(-ret));
}

static struct aim far_aim(const struct worker *w)
{
	return (struct aim) { .base = w->base, .span = HOUR };
}

static void reopen(struct worker *w)
{
	job_close(&w->job);
	check(w, OP_ARM, w->job.plan->facility->open(&w->job));
	w->fill = EMPTY;
}

/* A size to begin with, as one operation may take 50 ns, or 50 ms. */
static uint32_t chunk_after(uint32_t chunk, uint64_t ns)
{
	return ns < CHUNK_NS && chunk < CHUNK_MAX ? chunk * 4 : chunk;
}

/*
 * Arms all timers, in the order of their numbers; with @timed it adds that to the figures.
 * Returns whether there was room and time for all.
 */
static bool fill(struct worker *w, const struct aim *aim, bool timed)
{
	const struct facility *f = w->job.plan->facility;
	struct job *job = &w->job;
	uint64_t begun = clock_ns(), ns = 0, at;
	uint32_t which[CHUNK_MAX], chunk = 256, i, k, n;
	int ret;

	for (i = 0; i < job->nr; i += n) {
		n = job->nr - i < chunk ? job->nr - i : chunk;
		for (k = 0; k < n; k++)
			which[k] = i + k;
		at = speed_now(w->job.plan);
		ret = f->arm(job, which, n, aim);
		at = since(w, at);
		ns += at;
		if (no_room(ret)) {
			give_up(w, clock_ns() - begun, "%s after about %u of %u", strerror(-ret),
				i, job->nr);
			w->cannot = true;
			w->fill = MIXED;
			return false;
		}
		check(w, OP_ARM, ret);
		if (ns > job->plan->limit && i + n < job->nr) {
			give_up(w, ns, "armed %u of %u", i + n, job->nr);
			w->cannot = true;
			w->fill = MIXED;
			return false;
		}
		chunk = chunk_after(chunk, at);
	}
	w->arm_ns = ns / job->nr + 1;
	w->fill = FULL;
	w->ahead = 0;
	if (f->settle)
		f->settle(job);
	if (timed) {
		w->ns += ns;
		w->ops += job->nr;
	}
	return true;
}

/* Makes it empty, not measured. */
static void empty(struct worker *w)
{
	const struct facility *f = w->job.plan->facility;
	uint32_t which[SPEED_REAP], i, n, k;
	struct job *job = &w->job;
	uint64_t begun = clock_ns();

	if (w->fill == EMPTY)
		return;
	if (w->fill == MIXED) {
		reopen(w);
		return;
	}
	for (i = 0; i < job->nr; i += n) {
		n = job->nr - i < SPEED_REAP ? job->nr - i : SPEED_REAP;
		for (k = 0; k < n; k++)
			which[k] = i + k;
		check(w, OP_CANCEL, f->cancel(job, which, n));
		if (clock_ns() - begun > job->plan->limit) {
			reopen(w);
			return;
		}
	}
	w->fill = EMPTY;
}

static bool full(struct worker *w)
{
	struct aim aim = far_aim(w);

	if (w->fill == FULL)
		return true;
	empty(w);
	return fill(w, &aim, false);
}

static void do_fill(struct worker *w)
{
	struct aim aim = far_aim(w);

	fill(w, &aim, true);
}

static void do_arm(struct worker *w)
{
	struct aim aim = far_aim(w);
	uint64_t begun = clock_ns();

	if (!full(w))
		return;
	do {
		empty(w);
		if (!fill(w, &aim, true))
			return;
	} while (!enough(w, LEAST_NS) && clock_ns() - begun < w->job.plan->limit);
}

/* Where the timers are moved in the next pass */
static struct aim next_aim(struct worker *w, enum speed_op op)
{
	struct aim aim = far_aim(w);

	w->passes++;
	switch (op) {
	case OP_RANDOM:
		aim.salt = w->passes * 0x12345;
		/* Wherever it puts them, the next `later` is after that. */
		w->ahead = HOUR;
		break;
	case OP_ORDER:
		w->ahead += HOUR;
		aim.base += w->ahead;
		break;
	default:
		w->ahead += SPEED_STEP;
		aim.base += w->ahead;
		break;
	}
	return aim;
}

/* struct due - a deadline, to sort timers by */
struct due {
	uint64_t	at;
	uint32_t	which;
};

static int compare_due(const void *left, const void *right)
{
	const struct due *a = left, *b = right;

	return a->at < b->at ? -1 : a->at > b->at;
}

/*
 * The numbers of the timers in the order of their deadlines, none of which was moved yet. Each
 * pass of `order` keeps it.
 */
static uint32_t *order_of_deadlines(const struct worker *w)
{
	struct aim aim = far_aim(w);
	uint32_t nr = w->job.nr, i;
	uint32_t *order = table(nr, sizeof(*order));
	struct due *dues = table(nr, sizeof(*dues));

	for (i = 0; i < nr; i++)
		dues[i] = (struct due) { aim_at(&aim, i), i };
	qsort(dues, nr, sizeof(*dues), compare_due);
	for (i = 0; i < nr; i++)
		order[i] = dues[i].which;
	table_free(dues, nr, sizeof(*dues));
	return order;
}

static void do_move(struct worker *w, enum speed_op op)
{
	const struct facility *f = w->job.plan->facility;
	move_fn move = (op == OP_LATER || op == OP_ORDER) && f->later ? f->later : f->move;
	struct job *job = &w->job;
	uint64_t begun, ns;
	uint32_t chunk = 16, left, n;
	uint32_t *order = job->order;
	struct aim aim;

	if (!full(w))
		return;
	aim = next_aim(w, op);
	if (op == OP_ORDER) {
		order = order_of_deadlines(w);
		/* Sorting has emptied the caches. */
		w->pos = job->nr < CHUNK_MAX ? job->nr : CHUNK_MAX;
		check(w, op, move(job, order, w->pos, &aim));
	}
	while (!enough_for_all(w, LEAST_NS)) {
		begun = speed_now(w->job.plan);
		for (left = chunk; left; left -= n) {
			if (w->pos == job->nr) {
				w->pos = 0;
				aim = next_aim(w, op);
			}
			n = job->nr - w->pos < left ? job->nr - w->pos : left;
			check(w, op, move(job, order + w->pos, n, &aim));
			w->pos += n;
		}
		ns = since(w, begun);
		w->ns += ns;
		w->ops += chunk;
		chunk = chunk_after(chunk, ns);
	}
	if (op != OP_ORDER)
		return;
	/* Others begin where their own order does. */
	w->pos = 0;
	table_free(order, job->nr, sizeof(*order));
}

static void do_cancel(struct worker *w)
{
	const struct facility *f = w->job.plan->facility;
	struct job *job = &w->job;
	uint64_t begun, ns, whole = clock_ns();
	uint32_t chunk = 16, i, n;

	do {
		if (!full(w))
			return;
		for (i = 0; i < job->nr && w->ns < job->plan->limit; i += n) {
			n = job->nr - i < chunk ? job->nr - i : chunk;
			begun = speed_now(w->job.plan);
			check(w, OP_CANCEL, f->cancel(job, job->order + i, n));
			ns = since(w, begun);
			w->ns += ns;
			w->ops += n;
			chunk = chunk_after(chunk, ns);
		}
		w->fill = i < job->nr ? MIXED : EMPTY;
	} while (!enough(w, LEAST_NS) && clock_ns() - whole < job->plan->limit);
}

/* Waits until @n have expired that were due at @due. */
static void expired(struct worker *w, uint32_t n, uint64_t due)
{
	const struct facility *f = w->job.plan->facility;
	uint64_t limit = due + TW_LIMIT_MS * TW_MSEC;

	/* A tick of the wheel, and a bit. What is due before on this CPU has then expired. */
	wait_until(due + 3 * TW_MSEC);
	while (f->ready && f->ready(&w->job) < n) {
		if (clock_ns() > limit)
			fail("%s: %u timers were due and %lld have expired", f->name, n,
			     (long long)f->ready(&w->job));
		wait_until(clock_ns() + TW_MSEC);
	}
}

/*
 * Keeps the CPU busy until all timers have expired that are due at @due, and returns what
 * it did not get of it, in ns: what the interrupts took. There are gaps between two readings
 * of the clock, longer than it takes to read it.
 */
static uint64_t expired_meanwhile(struct worker *w, uint64_t due)
{
	const struct facility *f = w->job.plan->facility;
	uint64_t last, now, asked, gaps = 0, least = 4 * common.clock_cost + 500;

	wait_until(due - TW_MSEC);
	last = clock_ns();
	asked = last;
	for (;;) {
		now = clock_ns();
		if (now - last > least)
			gaps += now - last - common.clock_cost;
		last = now;
		if (now < due + 3 * TW_MSEC || now < asked + TW_MSEC)
			continue;
		if (!f->ready || f->ready(&w->job) >= w->job.nr)
			return gaps;
		if (now > due + TW_LIMIT_MS * TW_MSEC)
			fail("%s: expire: of %u timers some have not expired", f->name,
			     w->job.nr);
		last = clock_ns();
		asked = last;
	}
}

/*
 * Reaps @n of this job and adds up their numbers; or, with a shared descriptor, takes part
 * until all those of all jobs are reaped. Returns how many this thread got.
 */
static uint32_t reap(struct worker *w, enum speed_op op, uint32_t n, uint64_t *sum)
{
	const struct facility *f = w->job.plan->facility;
	bool shared = w->job.plan->shared;
	uint64_t limit = 0, got = 0, all = (uint64_t)n * w->job.plan->threads;
	uint32_t which[SPEED_REAP], i;
	int ret;

	while (shared ? common.reaped < all : got < n) {
		ret = f->reap(&w->job, which, SPEED_REAP);
		check(w, op, ret);
		if (!ret) {
			if (!limit)
				limit = clock_ns() + TW_LIMIT_MS * TW_MSEC;
			else if (clock_ns() > limit)
				fail("%s: %s: %llu of %u expirations came", f->name,
				     op_names[op], (unsigned long long)got, n);
			if (!shared)
				f->wait(&w->job);
			continue;
		}
		limit = 0;
		for (i = 0; i < ret; i++)
			*sum += which[i];
		got += ret;
		if (shared)
			common.reaped += ret;
	}
	return got;
}

static uint64_t sum_below(uint64_t nr)
{
	return nr * (nr - 1) / 2;
}

/* Every timer has expired once: that many, and their numbers add up. */
static void check_reaped(struct worker *w, enum speed_op op, uint64_t got, uint64_t sum)
{
	const struct plan *plan = w->job.plan;
	uint64_t nr = w->job.nr, wanted = sum_below(nr);

	if (plan->shared) {
		common.reaped_sum += sum;
		pthread_barrier_wait(&common.barrier);
		wanted *= plan->threads;
		nr *= plan->threads;
		got = common.reaped;
		sum = common.reaped_sum;
	}
	if (got != nr || sum != wanted)
		fail("%s: %s: %llu expirations came and not %llu, or the wrong ones",
		     plan->facility->name, op_names[op], (unsigned long long)got,
		     (unsigned long long)nr);
	w->fill = plan->facility->keeps ? FULL : EMPTY;
}

/* How long it takes to arm them all: known from before, or found out. */
static bool fill_time(struct worker *w, uint64_t *ns)
{
	if (!w->arm_ns && !full(w))
		return false;
	*ns = w->arm_ns * w->job.nr;
	return true;
}

static void do_expire(struct worker *w)
{
	uint64_t fill_ns, sum, gaps, whole = clock_ns();
	struct job *job = &w->job;
	struct aim aim = { 0 };
	uint32_t got;

	if (!fill_time(w, &fill_ns))
		return;
	do {
		empty(w);
		aim.base = clock_ns() + fill_ns + fill_ns / 4 + 5 * TW_MSEC;
		if (!fill(w, &aim, false))
			return;
		/* Some have expired already. */
		if (clock_ns() + TW_MSEC > aim.base) {
			w->fill = MIXED;
			fill_ns *= 2;
			continue;
		}
		gaps = expired_meanwhile(w, aim.base);
		sum = 0;
		got = reap(w, OP_EXPIRE, job->nr, &sum);
		check_reaped(w, OP_EXPIRE, got, sum);
		w->ns += gaps;
		w->ops += got;
	} while (!enough(w, 0) && clock_ns() - whole < job->plan->limit);
}

static void do_deliver(struct worker *w)
{
	uint64_t begun, fill_ns, sum, whole = clock_ns();
	struct job *job = &w->job;
	struct aim aim = { 0 };
	uint32_t got;
	bool filled;

	if (!fill_time(w, &fill_ns))
		return;
	/* A shared one is emptied by all, so all make the same number of passes. */
	do {
		empty(w);
		if (job->plan->shared) {
			pthread_barrier_wait(&common.barrier);
			common.reaped = 0;
			common.reaped_sum = 0;
			pthread_barrier_wait(&common.barrier);
		}
		aim.base = clock_ns() + fill_ns + fill_ns / 4 + 2 * TW_MSEC;
		filled = fill(w, &aim, false);
		if (!filled && job->plan->shared)
			fail("%s: %s", job->plan->facility->name, w->why);
		if (!filled)
			return;
		if (job->plan->shared)
			pthread_barrier_wait(&common.barrier);
		expired(w, job->nr * (job->plan->shared ? job->plan->threads : 1), aim.base);
		if (job->plan->shared)
			pthread_barrier_wait(&common.barrier);
		sum = 0;
		begun = speed_now(w->job.plan);
		got = reap(w, OP_DELIVER, job->nr, &sum);
		w->ns += since(w, begun);
		w->ops += got;
		check_reaped(w, OP_DELIVER, got, sum);
		if (job->plan->shared) {
			pthread_barrier_wait(&common.barrier);
			if (clock_ns() - whole > 2 * ENOUGH_NS)
				common.enough = true;
			pthread_barrier_wait(&common.barrier);
			if (common.enough)
				return;
		}
	} while (job->plan->shared ||
		 (!enough(w, 0) && clock_ns() - whole < job->plan->limit));
}

/* Lets the last @n timers of the order expire. Returns whether there was time for that. */
static bool beats_expire(struct worker *w, uint32_t n)
{
	const struct facility *f = w->job.plan->facility;
	const uint32_t *which = w->job.order + w->job.nr - n;
	uint64_t begun = clock_ns();
	struct aim aim;
	uint32_t i, part;

	for (i = 0; i < n; i += part) {
		part = n - i < 16 ? n - i : 16;
		aim = (struct aim) { .base = clock_ns() + TW_MSEC };
		check(w, OP_HEARTBEAT, f->move(&w->job, which + i, part, &aim));
		if (clock_ns() - begun > w->job.plan->limit) {
			give_up(w, clock_ns() - begun, "moved %u of %u timers to expire",
				i + part, n);
			w->fill = MIXED;
			return false;
		}
	}
	expired(w, n, aim.base);
	return true;
}

/* Finds @n that have expired, and arms them again. */
static void beat(struct worker *w, enum speed_op op, uint32_t n, const struct aim *aim)
{
	const struct facility *f = w->job.plan->facility;
	uint64_t limit = 0;
	uint32_t which[SPEED_REAP];
	int ret;

	while (n) {
		ret = f->reap(&w->job, which, n < SPEED_REAP ? n : SPEED_REAP);
		check(w, op, ret);
		if (!ret) {
			if (!limit)
				limit = clock_ns() + TW_LIMIT_MS * TW_MSEC;
			else if (clock_ns() > limit)
				fail("%s: %s: %u expirations did not come", f->name,
				     op_names[op], n);
			f->wait(&w->job);
			continue;
		}
		check(w, op, (f->again ?: f->arm)(&w->job, which, ret, aim));
		n -= ret;
	}
}

static void do_heartbeat(struct worker *w)
{
	const struct facility *f = w->job.plan->facility;
	move_fn later = f->later ?: f->move;
	struct job *job = &w->job;
	uint32_t beats = job->nr / 100 < BEATS_MAX ? job->nr / 100 : BEATS_MAX;
	/* In batches of 1024 a call has 10 expirations. */
	uint32_t run = job->plan->batch > 100 ? job->plan->batch / 100 : 1;
	uint64_t begun, ns, whole = clock_ns();
	uint32_t pos = 0, left, n, k, chunk = run;
	struct aim aim;
	int ret;

	if (!full(w))
		return;
	do {
		aim = next_aim(w, OP_HEARTBEAT);
		if (!beats_expire(w, beats))
			return;
		for (left = beats; left && !enough_for_all(w, 0); left -= n) {
			n = left < chunk ? left : chunk;
			begun = speed_now(w->job.plan);
			for (k = 0; k < n; k += run) {
				uint32_t some = n - k < run ? n - k : run;

				if (pos + 99 * some > job->nr - beats)
					pos = 0;
				ret = later(job, job->order + pos, 99 * some, &aim);
				check(w, OP_HEARTBEAT, ret);
				pos += 99 * some;
				beat(w, OP_HEARTBEAT, some, &aim);
			}
			ns = since(w, begun);
			w->ns += ns;
			w->ops += 100 * n;
			chunk = chunk_after(chunk, ns);
		}
		if (left)
			w->fill = MIXED;
	} while (w->fill == FULL && !enough_for_all(w, 0) &&
		 clock_ns() - whole < job->plan->limit);
	common.enough = true;
}

static void do_soon(struct worker *w)
{
	struct job *job = &w->job;
	uint32_t n = job->plan->batch < job->nr / 2 ? job->plan->batch : job->nr / 2;
	struct aim soon = { .base = clock_ns() }, far = next_aim(w, OP_SOON);
	uint32_t chunk = 1, i;
	uint64_t begun, ns;

	if (!full(w))
		return;
	check(w, OP_SOON, job->plan->facility->move(job, job->order, n, &soon));
	while (!enough_for_all(w, LEAST_NS)) {
		begun = speed_now(job->plan);
		for (i = 0; i < chunk; i++)
			beat(w, OP_SOON, n, &soon);
		ns = since(w, begun);
		w->ns += ns;
		w->ops += n * chunk;
		chunk = chunk_after(chunk, ns);
	}
	beat(w, OP_SOON, n, &far);
}

static void do_call(struct worker *w)
{
	const struct facility *f = w->job.plan->facility;
	uint64_t begun = speed_now(w->job.plan);

	check(w, OP_CALL, f->move(&w->job, NULL, ENOUGH_OPS / 4, NULL));
	w->ns = since(w, begun);
	w->ops = ENOUGH_OPS / 4;
}

static void do_page(struct worker *w)
{
	size_t page = sysconf(_SC_PAGESIZE), i;
	uint64_t begun;
	char *map;

	map = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		fail("page: %s", strerror(errno));
	/* A page each, and not a huge one for many of them; some kernels know only the former. */
	madvise(map, PAGES * page, MADV_NOHUGEPAGE);
	begun = speed_now(w->job.plan);
	for (i = 0; i < PAGES; i++)
		map[i * page] = 1;
	w->ns = since(w, begun);
	w->ops = PAGES;
	munmap(map, PAGES * page);
}

/**
 * operate() - measure one operation in one thread
 * @w: gets the figures, or the reason why there are none
 * @op: which
 */
void operate(struct worker *w, enum speed_op op)
{
	if (w->cannot)
		return;
	w->ns = 0;
	w->ops = 0;
	w->spent = 0;
	w->why = NULL;
	switch (op) {
	case OP_FILL:
		do_fill(w);
		break;
	case OP_ARM:
		do_arm(w);
		break;
	case OP_LATER:
	case OP_RANDOM:
	case OP_ORDER:
		do_move(w, op);
		break;
	case OP_HEARTBEAT:
		do_heartbeat(w);
		break;
	case OP_SOON:
		do_soon(w);
		break;
	case OP_CANCEL:
		do_cancel(w);
		break;
	case OP_EXPIRE:
		do_expire(w);
		break;
	case OP_DELIVER:
		do_deliver(w);
		break;
	case OP_CALL:
		do_call(w);
		break;
	default:
		do_page(w);
		break;
	}
	if (!w->why && w->ops < LEAST_OPS)
		give_up(w, w->ns, "did %llu of them", (unsigned long long)w->ops);
}
