// SPDX-License-Identifier: GPL-2.0-only
/*
 * The oracle: reads what all threads have logged, in the order of its stamps, and
 * checks it. It alone judges, some moments later, so it needs no lock. What one timer
 * may do is in model.c; here is what concerns more than one.
 *
 * An event, that is the begin or the end of a call, can be looked at once all
 * calls that have begun before it have returned: only then is it known what they
 * did. While a thread is in a call its log says since when, at least.
 */
#include <stdio.h>

#include "history.h"
#include "late.h"
#include "model.h"
#include "shared.h"

#define NR_CHAINS	(1 << 16)
/* The history of so many timers that have ended is kept. */
#define NR_DEAD		8192
#define NR_WALKED	4096
/* Armings of a log, the last of which may be in doubt. */
#define NR_DOUBTS	(1 << 20)
#define NR_SUSPECTS	1024
/* On a machine with more of them the order is not checked. */
#define MAX_CPUS		256
/* What delays a timer delays the probes, too: wait until they can have said so. */
#define SUSPECT_NS	(5 * TW_SEC)
/* Violations that are shown. */
#define NR_SHOWN	5

/* In the number of a context: its timer stands for what the context is told of steps. */
#define FLAG_CTX	0x80000000U

/**
 * struct walk - a walk of TWHEEL_IOC_LIST that is under way
 * @begin: stamp before it; 0: there is none
 * @n: timers that it has returned, if it is not more than NR_WALKED
 * @handles: these
 */
struct walk {
	__u64 begin;
	int n;
	__u64 handles[NR_WALKED];
};

/* Where the oracle is in a log: at the begin of a call, or at its end. */
struct cursor {
	bool open;
	__u64 empty;
	struct walk walk;
};

/* What names a timer. */
struct key {
	__u32 ctx;
	__u64 handle;
};

/**
 * struct order - records of a context, in the order in which they waited to be read
 *
 * The timers on one CPU's wheel expire in the order of their ticks. A record does not
 * say which CPU it was. But the records of all of them are one sequence for each CPU,
 * none of which goes back, woven into each other. So each record is counted to the
 * sequence with the latest tick of those that it can go on. If that takes more
 * sequences than there are CPUs there is no other way either: then there are that
 * many records, each of which was due before the one ahead of it. One context is all
 * on one wheel, see %ONE_CPU_CTX: there each record out of order is found.
 *
 * A context has several readers. What one read brings is in order, and so are reads
 * that did not overlap. Of other reads those records count that were expired later
 * than all that were counted so far: the time at which a CPU expires timers does not
 * go back, unless the clock is set back, and then all begins anew. To leave out any
 * records is no harm. A record may have passed others of later deadlines when it was made
 * ready, which brings no sequence further out of order.
 *
 * @ctx: serial of the context
 * @back: how often the clock had been set when it was last set back
 * @end: stamp of the end of the last read
 * @expired: the latest time at which one of the records was expired
 * @from: of the read at hand those count that were expired then, or later
 * @nr: sequences
 * @ticks: of the last record of each
 */
struct order {
	__u32 ctx;
	__u64 back;
	__u64 end;
	__u64 expired;
	__u64 from;
	int nr;
	__u64 ticks[MAX_CPUS];
};

/* A timer that was late, perhaps because everything was. */
struct suspect {
	__u64 due;
	__u64 at;
	const char *what;
	struct timer timer;
};

static struct timer *chains[NR_CHAINS];
static struct key dead[NR_DEAD];
static unsigned int nr_dead;
static struct cursor cursors[NR_LOGS];
/* Of each log, a bit for each arming, by its number: was a new timer made by it? */
static __u8 doubts[NR_LOGS][NR_DOUBTS / 8];
static struct suspect suspects[NR_SUSPECTS];
static int nr_suspects;
/* By place: the latest time when a context was seen to be empty. */
static __u64 emptied[NR_CTX];
static struct order orders[NR_CTX];

void violation(const char *what)
{
	count(&shared->violations, 1);
	if (shared->violations <= NR_SHOWN)
		printf("# VIOLATION: %s\n", what);
	fflush(stdout);
}

static void wrong(const struct timer *timer, const char *what)
{
	violation(what);
	if (shared->violations <= NR_SHOWN)
		print_history(timer);
	fflush(stdout);
}

static void wrong_call(const struct call *call, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), "%s of %d returned %ld: %s", call_name(call->type),
		 call->n, call->ret, what);
	violation(text);
}

static unsigned int chain_of(__u32 ctx, __u64 handle)
{
	return (handle * 0x9e3779b97f4a7c15ULL ^ ctx * 0x85ebca6bULL << 20) >> 48;
}

static struct timer **find(__u32 ctx, __u64 handle)
{
	struct timer **link = &chains[chain_of(ctx, handle)];

	while (*link && ((*link)->ctx != ctx || (*link)->handle != handle))
		link = &(*link)->next;
	return link;
}

static struct timer *find_or_make(const struct call *call, __u32 ctx, __u64 handle)
{
	struct timer **link = find(ctx, handle);

	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (!*link)
			abort();
		(*link)->ctx = ctx;
		(*link)->place = call->place;
		(*link)->clock = call->clock;
		(*link)->handle = handle;
	}
	return *link;
}

static void drop(struct timer **link)
{
	struct timer *timer = *link;

	*link = timer->next;
	free(timer->configs);
	free(timer);
}

/* A timer that has ended is dropped when NR_DEAD others have ended, too. */
static void bury(const struct timer *timer)
{
	struct key *key = &dead[nr_dead++ % NR_DEAD];
	struct timer **link = find(key->ctx, key->handle);

	if (*link && !(*link)->used && !model_may_live(*link) && *link != timer)
		drop(link);
	key->ctx = timer->ctx;
	key->handle = timer->handle;
}

static void suspect(const struct timer *timer, const char *what, __u64 due, __u64 at)
{
	struct suspect *s = &suspects[nr_suspects];

	if (at < due + LATE_ALWAYS || nr_suspects == NR_SUSPECTS)
		return;
	s->due = due;
	s->at = at;
	s->what = what;
	s->timer = *timer;
	nr_suspects++;
}

/* Report the timers that were late while nothing else was. */
static void judge_suspects(void)
{
	__u64 now = tw_now(CLOCK_MONOTONIC);
	char text[160];
	int i, n = 0;

	for (i = 0; i < nr_suspects; i++) {
		struct suspect *s = &suspects[i];
		__u64 bound = late_bound(s->due, s->at);

		if (now < s->at + SUSPECT_NS) {
			suspects[n++] = *s;
			continue;
		}
		if (s->at - s->due <= bound)
			continue;
		snprintf(text, sizeof(text), "%s: %llu ms late, by the probes at most %llu",
			 s->what, (s->at - s->due) / TW_MSEC, bound / TW_MSEC);
		wrong(&s->timer, text);
	}
	nr_suspects = n;
}

/* On CLOCK_MONOTONIC: @t on the clock of @call, while that was not set. */
static __u64 mono(const struct call *call, __u64 t)
{
	return t - (call->t1 - call->mono);
}

static void check_late(const struct timer *timer, const struct call *call,
		       const struct seen *seen)
{
	__u64 late = seen->at > seen->due ? seen->at - seen->due : 0;

	if (call->type == CALL_READ) {
		if (!seen->slack)
			late_count(shared->hist, late);
		if (late > shared->worst + shared->tick)
			shared->worst = late - shared->tick;
	}
	if (late > shared->tick)
		suspect(timer, call->type == CALL_READ ? "expired late" : "still pending",
			mono(call, seen->due + shared->tick), mono(call, seen->at));
}

static int result_of(const struct call *call, int i)
{
	return call->type == CALL_ARM ? call->arms[i].result : call->cancels[i].result;
}

static void count_failure(long error)
{
	/* call_arm() counts those. */
	if (!is_refusal(error))
		count(&shared->faults, 1);
}

/*
 * Does what an arming or a cancel returned agree with the results in its entries? A
 * batch ends early where the kernel cannot store results: then there are none.
 */
static bool agrees(const struct call *call)
{
	bool handled;
	int i;

	if (call->n == 1)
		return call->ret == result_of(call, 0);
	for (i = 0; i < call->n; i++) {
		handled = i < call->ret;
		if (handled != (result_of(call, i) != CALL_POISON))
			return false;
	}
	return call->ret == call->n || (call->ret > 0 && error_allowed(-EFAULT));
}

/* Check what a call has returned, apart from what it says of a timer. */
static void check_return(const struct call *call)
{
	int i;

	if (call->ret == CALL_POISON)
		return;
	if (error_allowed(call->ret)) {
		count_failure(call->ret);
		return;
	}
	switch (call->type) {
	case CALL_ARM:
		if (!agrees(call))
			wrong_call(call, "not its result");
		for (i = 0; i < (call->n == 1 ? 1 : call->ret); i++)
			if (error_allowed(call->arms[i].result))
				count_failure(call->arms[i].result);
			else if (call->arms[i].result && call->arms[i].result != -ENOENT &&
				 call->arms[i].result != -EEXIST)
				wrong_call(call, "no errno that it should have");
		break;
	case CALL_CANCEL:
		if (!agrees(call))
			wrong_call(call, "not its result");
		break;
	case CALL_GET:
		if (call->ret && call->ret != -ENOENT)
			wrong_call(call, "no errno that it should have");
		break;
	case CALL_READ:
		if (call->ret > 0 ? call->ret % sizeof(call->events[0]) ||
		    call->ret > (long)(call->n * sizeof(call->events[0])) :
		    call->ret != -EAGAIN && call->ret != -EINTR &&
		    (call->ret != -ECANCELED || !(call->config & TWHEEL_CONFIG_CANCEL_ON_SET)))
			wrong_call(call, "no such thing");
		break;
	case CALL_LIST:
	case CALL_DRAIN:
		if (call->ret > call->n || (call->ret < 0 && call->ret != -EINTR))
			wrong_call(call, "no such thing");
		break;
	}
}

/* How many timers @call is about. */
static int entries(const struct call *call)
{
	int n = 0;

	switch (call->type) {
	case CALL_ARM:
	case CALL_CANCEL:
	case CALL_EXTEND:
		return call->n;
	case CALL_GET:
		return call->ret == 0 || call->ret == -ENOENT;
	case CALL_READ:
		while (n < (int)CALL_EVENTS && call_has_event(call, n))
			n++;
		return n;
	case CALL_LIST:
	case CALL_DRAIN:
		/* user_data is never 0, and what has not been stored is. */
		while (n < (int)CALL_ENTRIES && call->entries[n].user_data)
			n++;
		return n;
	default:
		return 0;
	}
}

/* How many timers @call says that it is about, by what it returned. */
static int returned(const struct call *call)
{
	switch (call->type) {
	case CALL_READ:
		return call->ret < 0 ? 0 : call->ret / sizeof(call->events[0]);
	case CALL_LIST:
	case CALL_DRAIN:
		return call->ret < 0 ? 0 : call->ret;
	default:
		return entries(call);
	}
}

/* The place in @doubts of the arming that gave @id. */
static __u8 *doubt_of(__u64 id)
{
	return &doubts[(id >> 48) - 1][id % NR_DOUBTS / 8];
}

/* It is not known whether the arming that gave @id has made a timer, nor its handle. */
static void set_doubt(__u64 id)
{
	*doubt_of(id) |= 1 << id % 8;
}

/* Was this record, or entry, of a timer whose making has no known outcome? */
static bool is_doubt(__u64 id)
{
	/* The kernel may have made it up. */
	if (!(id >> 48) || id >> 48 > NR_LOGS)
		return false;
	return *doubt_of(id) & 1 << id % 8;
}

/* The timer that entry @i is about, made if need be, or NULL. */
static struct timer *timer_of(const struct call *call, int i)
{
	__u64 handle, id = 0;

	switch (call->type) {
	case CALL_ARM:
		handle = call->arms[i].handle;
		/* One that was not made has no handle. */
		if (!handle && !(call->config & TWHEEL_CONFIG_KEYED)) {
			if (call->arms[i].result == CALL_POISON)
				set_doubt(call->arms[i].user_data);
			return NULL;
		}
		break;
	case CALL_CANCEL:
		handle = call->cancels[i].handle;
		break;
	case CALL_READ:
		handle = call->events[i].handle;
		id = call->events[i].user_data;
		break;
	case CALL_EXTEND:
		handle = call->handle;
		break;
	case CALL_GET:
		handle = call->entries[i].handle;
		break;
	default:
		handle = call->entries[i].handle;
		id = call->entries[i].user_data;
	}
	if (id && !(call->config & TWHEEL_CONFIG_KEYED) && is_doubt(id))
		return NULL;
	return find_or_make(call, call->ctx, handle);
}

/* @call is a read that has brought records. */
static void begin_order(const struct call *call)
{
	struct order *o = &orders[call->place];
	__u64 back = call->clock == CLOCK_REALTIME ? model_last_back() : 0;

	if (o->ctx != call->ctx || o->back != back) {
		o->ctx = call->ctx;
		o->back = back;
		o->expired = 0;
		o->nr = 0;
	}
	o->from = call->begin > o->end ? 0 : o->expired + 1;
	o->end = call->end;
}

/* Can @event, of @call, come after those that came before? */
static void check_order(const struct timer *timer, const struct call *call,
			const struct twheel_event *event)
{
	int cpus = call->place == ONE_CPU_CTX ? 1 : sysconf(_SC_NPROCESSORS_CONF);
	__u64 tick = (event->deadline + shared->tick - 1) / shared->tick;
	struct order *o = &orders[call->place];
	int i, best = -1, first = 0;
	char text[160];

	if (cpus > MAX_CPUS || event->expired < o->from)
		return;
	for (i = 0; i < o->nr; i++) {
		if (o->ticks[i] <= tick && (best < 0 || o->ticks[i] > o->ticks[best]))
			best = i;
		if (o->ticks[i] < o->ticks[first])
			first = i;
	}
	if (best < 0 && o->nr == cpus) {
		snprintf(text, sizeof(text), "out of order on %d CPUs: tick %llu after %llu",
			 cpus, tick, o->ticks[first]);
		wrong(timer, text);
		o->nr = 0;
		return;
	}
	o->ticks[best < 0 ? o->nr++ : best] = tick;
	if (event->expired > o->expired)
		o->expired = event->expired;
}

static void end_one(struct timer *timer, struct op op)
{
	const char *why = "nothing explains it";
	struct seen seen;
	bool blurred = timer->blurred;

	if (!model_end(timer, op, &why, &seen)) {
		wrong(timer, why);
	} else {
		if (seen.valid && !seen.unsure)
			check_late(timer, op.call, &seen);
		if (seen.in_turn && !seen.any_time)
			check_order(timer, op.call, &op.call->events[op.index]);
	}
	if (timer->blurred && !blurred)
		count(&shared->blurred, 1);
	if (!timer->used && !model_may_live(timer) && !(timer->ctx & FLAG_CTX))
		bury(timer);
}

static bool has_flag(const struct call *call)
{
	return call->type == CALL_READ && call->config & TWHEEL_CONFIG_CANCEL_ON_SET &&
	       call->place < NR_SHARED_CTX && call->ret != -EFAULT;
}

/* A timer that was pending during the whole walk was returned once. */
static void check_walk(const struct walk *walk, const struct call *call)
{
	int i, k, n;

	for (i = 0; i < NR_CHAINS; i++) {
		const struct timer *timer = chains[i];

		for (; timer; timer = timer->next) {
			if (timer->ctx != call->ctx || timer->used || timer->blurred ||
			    timer->changed >= walk->begin || !model_is_pending(timer, call))
				continue;
			n = 0;
			for (k = 0; k < walk->n; k++)
				n += walk->handles[k] == timer->handle;
			if (n != 1)
				wrong(timer, n ? "listed twice" : "not listed");
		}
	}
}

static void walk_on(struct walk *walk, const struct call *call)
{
	int i;

	if (!call->cursor) {
		walk->begin = call->begin;
		walk->n = 0;
	}
	if (call->ret < 0 || !walk->begin) {
		walk->begin = 0;
		return;
	}
	for (i = 0; i < call->ret; i++, walk->n++)
		if (walk->n < NR_WALKED)
			walk->handles[walk->n] = call->entries[i].handle;
	if (call->ret)
		return;
	if (walk->n <= NR_WALKED)
		check_walk(walk, call);
	walk->begin = 0;
}

/* A record that was there long before a thread was told that there is none. */
static void check_told(const struct call *call, __u64 empty)
{
	struct timer none = { .ctx = call->ctx, .place = call->place, .clock = call->clock };
	__u64 first = ~0ULL, since;
	int i, n = entries(call);

	if (call->clock == CLOCK_REALTIME)
		return;
	for (i = 0; i < n; i++)
		if (call->events[i].expired < first)
			first = call->events[i].expired;
	if (!n)
		return;
	if (first < empty)
		suspect(&none, "told that nothing is ready", mono(call, first),
			mono(call, empty));
	since = first > call->waited ? first : call->waited;
	if (call->woken > since)
		suspect(&none, "woken late", mono(call, since), mono(call, call->woken));
}

/* A context has no timers any more: they may be gone, or they are dropped with it. */
static void end_context(const struct call *call)
{
	int i;

	for (i = 0; i < NR_CHAINS; i++) {
		struct timer **link = &chains[i];

		while (*link) {
			if ((*link)->ctx != call->ctx) {
				link = &(*link)->next;
				continue;
			}
			if (call->type == CALL_SETTLED) {
				if (!model_may_be_gone(*link))
					wrong(*link, "lost: it is neither pending nor was it read");
				link = &(*link)->next;
			} else {
				drop(link);
			}
		}
	}
}

/* A step of the clock is an event of each context that tells of steps. */
static void step(const struct call *call, int log, bool end)
{
	const struct op op = { call, log, OP_FLAG };
	const struct ctx *ctx;
	struct timer *timer;

	for (ctx = shared->ctx; ctx < shared->ctx + NR_SHARED_CTX; ctx++) {
		if (!(ctx->config & TWHEEL_CONFIG_CANCEL_ON_SET))
			continue;
		timer = find_or_make(call, ctx->serial | FLAG_CTX, 0);
		timer->place = ctx - shared->ctx;
		if (end)
			end_one(timer, op);
		else
			model_begin(timer, op);
	}
}

static void begin(const struct call *call, int log)
{
	int i, n = entries(call);
	struct timer *timer;

	if (call->type == CALL_STEP) {
		model_stepping(call);
		step(call, log, false);
	}
	if (has_flag(call))
		model_begin(find_or_make(call, call->ctx | FLAG_CTX, 0),
			    (struct op) { call, log, OP_FLAG });
	for (i = 0; i < n; i++) {
		timer = timer_of(call, i);
		if (timer)
			model_begin(timer, (struct op) { call, log, i });
	}
	cursors[log].empty = emptied[call->place];
}

static void end(const struct call *call, int log)
{
	int i, n = entries(call);
	struct timer *timer;

	check_return(call);
	if (call->ret != CALL_POISON && n != returned(call))
		wrong_call(call, "and has stored something else");
	if (has_flag(call))
		end_one(find_or_make(call, call->ctx | FLAG_CTX, 0),
			(struct op) { call, log, OP_FLAG });
	if (call->type == CALL_READ && n)
		begin_order(call);
	for (i = 0; i < n; i++) {
		timer = timer_of(call, i);
		if (timer)
			end_one(timer, (struct op) { call, log, i });
	}

	if (call->type == CALL_EMPTY || (call->type == CALL_READ && call->ret == -EAGAIN))
		if (call->t0 > emptied[call->place])
			emptied[call->place] = call->t0;

	switch (call->type) {
	case CALL_READ:
		check_told(call, cursors[log].empty);
		for (i = 0; i < n; i++)
			count(&shared->expirations, call->events[i].expirations);
		count(&shared->records, n);
		break;
	case CALL_LIST:
	case CALL_DRAIN:
		walk_on(&cursors[log].walk, call);
		break;
	case CALL_STEP:
		model_stepped(call);
		step(call, log, true);
		break;
	case CALL_SETTLED:
	case CALL_CLOSED:
		end_context(call);
		emptied[call->place] = 0;
		break;
	}
}

/* The stamp of the event that is next in log @i, and its call; all ones if there is none. */
static __u64 next_event(int i, struct call **call)
{
	struct log *log = &shared->logs[i];

	if (log->tail == __atomic_load_n(&log->head, __ATOMIC_ACQUIRE))
		return ~0ULL;
	*call = &log->calls[log->tail % LOG_CALLS];
	return cursors[i].open ? (*call)->end : (*call)->begin;
}

/* All events before this stamp can be looked at. */
static __u64 horizon(void)
{
	__u64 first = __atomic_load_n(&shared->stamp, __ATOMIC_SEQ_CST) + 1, busy;
	int i;

	for (i = 0; i < NR_LOGS; i++) {
		busy = __atomic_load_n(&shared->logs[i].busy, __ATOMIC_SEQ_CST);
		if (busy && busy < first)
			first = busy;
	}
	return first;
}

/* Look at the event that is next in all logs, if it is before @limit. */
static bool look(__u64 limit)
{
	struct call *call = NULL, *next = NULL;
	__u64 stamp = limit, its;
	int i, log = -1;

	for (i = 0; i < NR_LOGS; i++) {
		its = next_event(i, &next);
		if (its < stamp) {
			stamp = its;
			call = next;
			log = i;
		}
	}
	if (log < 0)
		return false;
	if (!cursors[log].open) {
		begin(call, log);
		cursors[log].open = true;
		return true;
	}
	end(call, log);
	cursors[log].open = false;
	call->state = CALL_FREE;
	__atomic_store_n(&shared->logs[log].tail, shared->logs[log].tail + 1,
			 __ATOMIC_RELEASE);
	return true;
}

void oracle_main(__u32 unused)
{
	const struct timespec pause = { .tv_nsec = TW_MSEC };
	bool quiet, any;
	__u64 limit;

	(void)unused;
	do {
		quiet = __atomic_load_n(&shared->quiet, __ATOMIC_SEQ_CST);
		limit = horizon();
		for (any = false; look(limit); any = true)
			;
		judge_suspects();
		if (!any)
			nanosleep(&pause, NULL);
	} while (!quiet || any);
	/* The probes may have yet to say that they were late, too. */
	while (nr_suspects) {
		nanosleep(&pause, NULL);
		judge_suspects();
	}
}
