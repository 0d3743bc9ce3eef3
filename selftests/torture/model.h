/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one timer may do: the interface's description as a state machine, and a
 * check that what calls have returned can be explained by it.
 *
 * Calls by several threads overlap. Each took effect at one moment between its
 * begin and its end. So a history is right if there is an order of these moments,
 * one in each call's interval, in which every result is what the state machine
 * gives (linearizability). The order is not searched for at the end but kept as
 * a set of possible states ("configurations"), which each call's end narrows: it
 * is empty when there is no explanation, and that is a violation.
 */
#ifndef TORTURE_MODEL_H
#define TORTURE_MODEL_H

#include "call.h"

/* Calls on one timer at once. */
#define NR_INFLIGHT	32
/* Calls that are remembered of it. */
#define NR_HISTORY	16

/* The index of what a read, or a step, does to the context itself. */
#define OP_FLAG		255

/* A part of a call that is about one timer. */
struct op {
	const struct call *call;
	__u8 log;
	__u8 index;
};

/**
 * struct state - a state that a timer may be in
 * @id: user_data, which no two armings share; 0: there is no timer
 * @lo: its next deadline is not before,
 * @hi: and not after that
 * @interval: as armed
 * @slack: as armed, in whole ticks
 * @since: steps of the clock when its round began; odd: one came in between
 * @base: the time when its round had begun at the latest
 * @count: expirations left; 0 for no end
 * @flags: %TWHEEL_ARM_FIXED_DELAY and %TWHEEL_ARM_LEASE
 * @tag: of a lease, its tag; 0 unless the call that has armed it told that
 * @word: of a lease, the index of its word; likewise
 * @zero: 0
 * @ready: somebody saw that it has expired
 * @extended: it is a lease whose word was changed
 */
struct state {
	__u64 id;
	__u64 lo;
	__u64 hi;
	__u64 interval;
	__u64 slack;
	__u64 since;
	__u64 base;
	__u32 count;
	__u32 word;
	__u16 flags;
	__u16 tag;
	__u16 zero;
	__u8 ready;
	__u8 extended;
};

struct config {
	struct state state;
	/* Of those in flight, a bit for each that has taken effect. */
	__u32 done;
};

/* A line of a timer's history: who did what, and what came of it. */
struct line {
	struct op op;
	enum call_type type;
	__u64 begin, end, t0, t1;
	long ret;
	union {
		struct twheel_arm arm;
		struct twheel_cancel cancel;
		struct twheel_event event;
		struct twheel_timer_info info;
		__u64 word[3];
	};
};

/**
 * struct timer - a handle or key of a context
 * @next: in its hash chain
 * @ctx: serial of its context
 * @place: and its place
 * @handle: handle or key
 * @clock: the context's
 * @configs: what it may be
 * @nr_configs: how many
 * @inflight: calls that have begun and not ended
 * @used: which of @inflight are
 * @changed: stamp of the last call that may have changed it
 * @blurred: too many calls at once to know
 * @lines: the last calls, as a ring
 * @nr_lines: how many there ever were
 */
struct timer {
	struct timer *next;
	__u64 handle;
	__u32 ctx;
	__u8 place;
	clockid_t clock;
	struct config *configs;
	int nr_configs;
	struct op inflight[NR_INFLIGHT];
	__u32 used;
	__u64 changed;
	bool blurred;
	struct line lines[NR_HISTORY];
	__u32 nr_lines;
};

/**
 * struct seen - what an operation tells about lateness, and a record about order
 * @valid: by one explanation it tells about lateness,
 * @unsure: by one it does not
 * @due: deadline and slack, or when the round began if that was later; the latest of all
 *	explanations
 * @at: when it was expired, or was seen not to be
 * @slack: as armed
 * @in_turn: by one explanation the timer has expired in its turn,
 * @any_time: by one it may have been made ready at any time
 */
struct seen {
	bool valid;
	bool unsure;
	__u64 due;
	__u64 at;
	__u64 slack;
	bool in_turn;
	bool any_time;
};

/* @op begins, or ends. The end is false, with the reason in *@why, if it is wrong. */
void model_begin(struct timer *timer, struct op op);
bool model_end(struct timer *timer, struct op op, const char **why, struct seen *seen);

/* @call is about to set the clock; it has done so. */
void model_stepping(const struct call *call);
void model_stepped(const struct call *call);

/* How often the clock had been set when it had been set back for the last time. */
__u64 model_last_back(void);

/* Can there be no such timer; can there be one? */
bool model_may_be_gone(const struct timer *timer);
bool model_may_live(const struct timer *timer);

/* Is it certain that @timer was not due by the end of @call? */
bool model_is_pending(const struct timer *timer, const struct call *call);

/* May @op not have happened at all? */
bool op_is_doubtful(struct op op);

#endif /* TORTURE_MODEL_H */
