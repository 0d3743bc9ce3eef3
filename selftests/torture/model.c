// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one timer may do, and whether it did that.
 */
#include "shared.h"
#include "model.h"

#define NEVER		(~0ULL >> 1)
/* More explanations than that are not told apart any more. */
#define MAX_CONFIGS	512

/* Had nobody set the clock between when there were @steps and the end of @call? */
static bool steady(const struct call *call, __u64 steps)
{
	return call->clock != CLOCK_REALTIME || (call->steps1 == steps && steps % 2 == 0);
}

static __u64 add(__u64 a, __u64 b)
{
	return a + b < a || a + b > NEVER ? NEVER : a + b;
}

static __u64 left(__u64 deadline, __u64 now)
{
	return deadline > now ? deadline - now : 0;
}

/* It cannot be, and why. */
static bool no(const char **why, const char *text)
{
	*why = text;
	return false;
}

/* May a timer in @s have expired by the end of @call? */
static bool may_be_ready(const struct call *call, const struct state *s)
{
	return s->ready || s->lo <= call->t1 || !steady(call, s->since);
}

/* What a call found and replaced: does it go with @s? */
static bool check_old(const struct call *call, const struct state *s, __u32 state,
		      __u64 remaining, const char **why)
{
	switch (state) {
	case TWHEEL_STATE_PENDING:
		if (!s->id)
			return no(why, "found a pending timer where there is none");
		if (s->ready)
			return no(why, "pending again after it had expired");
		if (steady(call, call->steps0) &&
		    (remaining > left(s->hi, call->t0) || remaining < left(s->lo, call->t1)))
			return no(why, "the time that was left is wrong");
		return true;
	case TWHEEL_STATE_READY:
		if (!s->id)
			return no(why, "found an expired timer where there is none");
		if (!may_be_ready(call, s))
			return no(why, "early: expired before its deadline");
		if (remaining)
			return no(why, "expired with time left");
		return true;
	default:
		return no(why, "no such state");
	}
}

/* How often the clock had been set after that was last done, and what it was then. */
static __u64 last_steps, last_step;
/* The same of the last step back, which may be under way. */
static __u64 last_back;

void model_stepping(const struct call *call)
{
	if (call->ret)
		last_back = call->steps1;
}

__u64 model_last_back(void)
{
	return last_back;
}

void model_stepped(const struct call *call)
{
	last_steps = call->steps1;
	last_step = call->t1;
}

static void see_pending(const struct call *call, const struct state *s, struct seen *seen)
{
	__u64 base = s->base;

	/* Times from before a step of the clock mean nothing after it. */
	if (!steady(call, call->steps0))
		return;
	if (!steady(call, s->since)) {
		if (last_steps != call->steps0 || last_steps < s->since)
			return;
		base = last_step;
	}
	seen->valid = true;
	seen->slack = s->slack;
	seen->due = add(s->hi > base ? s->hi : base, s->slack);
	seen->at = call->t0;
}

/* @call had taken effect by its end. If the clock was set meanwhile, that time is not known. */
static void take_effect(const struct call *call, struct state *s)
{
	if (steady(call, call->steps0)) {
		s->base = call->t1;
		s->since = call->steps0;
	} else {
		s->base = NEVER;
		/* Neither an earlier time counts, nor that of a step which @call overlapped. */
		s->since = call->steps1 | 1;
	}
}

static void arm_state(const struct call *call, const struct twheel_arm *arm, struct state *s)
{
	memset(s, 0, sizeof(*s));
	s->id = arm->user_data;
	if (arm->flags & TWHEEL_ARM_ABS) {
		s->lo = arm->expires > NEVER ? NEVER : arm->expires;
		s->hi = s->lo;
	} else {
		s->lo = add(call->t0, arm->expires);
		s->hi = add(call->t1, arm->expires);
	}
	s->interval = arm->interval;
	s->slack = arm->slack / shared->tick * shared->tick;
	take_effect(call, s);
	s->count = arm->interval ? arm->count : 1;
	s->flags = arm->flags & (TWHEEL_ARM_FIXED_DELAY | TWHEEL_ARM_LEASE);
	if (arm->result == CALL_POISON)
		return;
	s->word = arm->word;
	s->tag = arm->tag;
}

static bool apply_arm(const struct call *call, int index, struct state *s,
		      const char **why, struct seen *seen)
{
	const struct twheel_arm *arm = &call->arms[index];
	bool keyed = call->config & TWHEEL_CONFIG_KEYED;

	switch (arm->result) {
	case 0:
		if (arm->flags & TWHEEL_ARM_IF_PENDING && arm->old_state != TWHEEL_STATE_PENDING)
			return no(why, "armed what was not pending, against its flag");
		if (arm->flags & TWHEEL_ARM_IF_NONE && arm->old_state != TWHEEL_STATE_NONE)
			return no(why, "re-armed what there was, against its flag");
		if (arm->old_state == TWHEEL_STATE_NONE) {
			if (s->id)
				return no(why, "made a timer where there is one");
			if (call->rearms[index])
				return no(why, "took a handle that is not live");
			if (arm->old_remaining)
				return no(why, "made a timer, with time left of another");
		} else if (!check_old(call, s, arm->old_state, arm->old_remaining, why)) {
			return false;
		}
		if (arm->old_state == TWHEEL_STATE_PENDING)
			see_pending(call, s, seen);
		break;
	case CALL_POISON:
		/* Done for all that is known; or not, but that is the other case. */
		if (!s->id && (!keyed || arm->flags & TWHEEL_ARM_IF_PENDING))
			return no(why, "re-armed what there is not");
		if (s->id && arm->flags & TWHEEL_ARM_IF_NONE)
			return no(why, "re-armed what there is, against its flag");
		if (s->ready && arm->flags & TWHEEL_ARM_IF_PENDING)
			return no(why, "re-armed what has expired, against its flag");
		break;
	case -EEXIST:
		if (!(arm->flags & TWHEEL_ARM_IF_NONE))
			return no(why, "EEXIST, and it may be there");
		if (!s->id)
			return no(why, "EEXIST for a timer that there is not");
		return true;
	case -ENOENT:
		if (arm->flags & TWHEEL_ARM_IF_PENDING) {
			if (s->id && !may_be_ready(call, s))
				return no(why, "ENOENT for a timer that is pending");
			s->ready = !!s->id;
			return true;
		}
		if (keyed)
			return no(why, "ENOENT for a key");
		if (s->id)
			return no(why, "ENOENT for a timer that is live");
		return true;
	default:
		if (!keyed || s->id || arm->flags & TWHEEL_ARM_IF_PENDING)
			return no(why, "a re-arm needs no memory and no room");
		return true;
	}
	arm_state(call, arm, s);
	return true;
}

static bool apply_cancel(const struct call *call, const struct twheel_cancel *cancel,
			 struct state *s, const char **why, struct seen *seen)
{
	switch (cancel->result) {
	case 0:
		if (!check_old(call, s, cancel->old_state, cancel->old_remaining, why))
			return false;
		if (cancel->old_state == TWHEEL_STATE_PENDING)
			see_pending(call, s, seen);
		break;
	case CALL_POISON:
		break;
	case -ENOENT:
		if (s->id)
			return no(why, "ENOENT for a timer that is live");
		return true;
	default:
		return no(why, "an error that no cancel has");
	}
	memset(s, 0, sizeof(*s));
	return true;
}

static bool apply_info(const struct call *call, const struct twheel_timer_info *info,
		       struct state *s, const char **why, struct seen *seen)
{
	if (!s->id)
		return no(why, "shows a timer that is not live");
	if (info->user_data != s->id)
		return no(why, "shows an arming that is not the last");
	if (info->deadline < s->lo || info->deadline > s->hi)
		return no(why, "shows another deadline");
	if (info->interval != s->interval || info->slack != s->slack ||
	    info->count != s->count || info->flags != s->flags)
		return no(why, "shows other settings");
	if (s->word && (info->word != s->word || info->tag != s->tag))
		return no(why, "shows another word");
	s->lo = info->deadline;
	s->hi = info->deadline;
	if (info->state == TWHEEL_STATE_PENDING) {
		see_pending(call, s, seen);
		return check_old(call, s, info->state, info->remaining, why);
	}
	/* The clock may have been set back since it expired. */
	if (!check_old(call, s, info->state, 0, why))
		return false;
	if (steady(call, call->steps0) && (info->remaining > left(s->hi, call->t0) ||
					   info->remaining < left(s->lo, call->t1)))
		return no(why, "the time that is left is wrong");
	s->ready = 1;
	return true;
}

/* How many expirations a record read between t0 and t1 has to count. */
static bool check_expirations(const struct call *call, const struct twheel_event *event,
			      const struct state *s)
{
	__u64 min = 1, max = 1;

	if (!event->expirations || (s->count && event->expirations > s->count))
		return false;
	if (!s->interval || s->flags & TWHEEL_ARM_FIXED_DELAY)
		return event->expirations == 1;
	if (!steady(call, call->steps0))
		return true;
	min += left(call->t0, event->deadline) / s->interval;
	max += left(call->t1, event->deadline) / s->interval;
	if (s->count && min > s->count)
		min = s->count;
	return event->expirations >= min && event->expirations <= max;
}

/*
 * Is the timer that @event is of, which was in @s, free of the order of ticks? It is
 * if it was due when it was armed, and so was ready at once; if it has slack, and so
 * chooses its tick; if it is a lease that the kernel may put off, as its program has
 * extended it; and if the clock was set back since.
 */
static bool out_of_order(const struct call *call, const struct twheel_event *event,
			 const struct state *s)
{
	return event->deadline <= s->base || s->slack || s->extended ||
	       (call->clock == CLOCK_REALTIME && (s->since % 2 || s->since < last_back));
}

static bool apply_event(const struct call *call, const struct twheel_event *event,
			struct state *s, const char **why, struct seen *seen)
{
	bool last;

	if (!s->id)
		return no(why, "a record of a timer that has ended");
	if (event->user_data != s->id)
		return no(why, "a record of an arming that is not the last");
	if (event->expired < event->deadline)
		return no(why, "early: expired before its deadline");
	if (event->deadline < s->lo || event->deadline > s->hi)
		return no(why, "a record with another deadline");
	if (event->flags & ~TWHEEL_EVENT_LAST || event->reserved)
		return no(why, "a record with rubbish in it");
	if (!check_expirations(call, event, s))
		return no(why, "a record with a wrong number of expirations");
	last = !s->interval || s->count == event->expirations;
	if (last != (event->flags & TWHEEL_EVENT_LAST))
		return no(why, "TWHEEL_EVENT_LAST is wrong");
	if (steady(call, s->since)) {
		if (event->expired > call->t1)
			return no(why, "expired after it was read");
		seen->valid = true;
		seen->slack = s->slack;
		seen->due = add(event->deadline > s->base ? event->deadline : s->base, s->slack);
		seen->at = event->expired;
	}
	if (out_of_order(call, event, s))
		seen->any_time = true;
	else
		seen->in_turn = true;

	if (last) {
		memset(s, 0, sizeof(*s));
		return true;
	}
	if (s->flags & TWHEEL_ARM_FIXED_DELAY) {
		bool known = steady(call, call->steps0);

		s->lo = known ? add(call->t0, s->interval) : 0;
		s->hi = known ? add(call->t1, s->interval) : NEVER;
	} else {
		s->lo = add(event->deadline, event->expirations * s->interval);
		s->hi = s->lo;
	}
	if (s->count)
		s->count -= event->expirations;
	s->ready = 0;
	take_effect(call, s);
	return true;
}

static bool apply_extend(const struct call *call, struct state *s, const char **why)
{
	__u64 deadline = (call->old & TWHEEL_LEASE_UNITS_MASK) << TWHEEL_LEASE_UNIT_SHIFT;
	bool same = s->id && s->flags & TWHEEL_ARM_LEASE && s->word == call->word &&
		    s->tag == call->old >> TWHEEL_LEASE_TAG_SHIFT && s->lo <= deadline &&
		    s->hi >= deadline;

	if (call->ret == 0) {
		if (same && call->found != (call->old | TWHEEL_LEASE_EXPIRED))
			return no(why, "the word is not the deadline");
		/* The word may have been changed, or be of another timer, by now. */
		if (call->found != (call->old | TWHEEL_LEASE_EXPIRED) || !same)
			return true;
		if (!may_be_ready(call, s))
			return no(why, "early: refused before its deadline");
		s->ready = 1;
		return true;
	}
	if (!same)
		return no(why, "extended a lease that has ended");
	if (s->ready)
		return no(why, "extended a lease that has expired");
	s->lo = (call->new & TWHEEL_LEASE_UNITS_MASK) << TWHEEL_LEASE_UNIT_SHIFT;
	s->hi = s->lo;
	s->extended = 1;
	take_effect(call, s);
	return true;
}

/* Is a reader to be told of a step? */
static bool apply_flag(const struct call *call, struct state *s, const char **why)
{
	if (call->type == CALL_STEP) {
		s->id = 1;
	} else if (call->ret == -ECANCELED) {
		if (!s->id)
			return no(why, "ECANCELED, and the clock was not set");
		s->id = 0;
	} else if (call->ret == CALL_POISON && !call_has_event(call, 0)) {
		s->id = 0;
	} else if (s->id) {
		return no(why, "the clock was set, and this read did not say so");
	}
	return true;
}

static bool apply_one(struct op op, struct state *s, const char **why, struct seen *seen)
{
	const struct call *call = op.call;

	if (op.index == OP_FLAG)
		return apply_flag(call, s, why);
	switch (call->type) {
	case CALL_ARM:
		return apply_arm(call, op.index, s, why, seen);
	case CALL_CANCEL:
		return apply_cancel(call, &call->cancels[op.index], s, why, seen);
	case CALL_GET:
		if (call->ret == 0)
			return apply_info(call, call->entries, s, why, seen);
		if (s->id)
			return no(why, "ENOENT for a timer that is live");
		return true;
	case CALL_LIST:
	case CALL_DRAIN:
		if (call->entries[op.index].state != TWHEEL_STATE_PENDING)
			return no(why, "lists a timer that is not pending");
		if (!apply_info(call, &call->entries[op.index], s, why, seen))
			return false;
		if (call->type == CALL_DRAIN)
			memset(s, 0, sizeof(*s));
		return true;
	case CALL_READ:
		return apply_event(call, &call->events[op.index], s, why, seen);
	case CALL_EXTEND:
		return apply_extend(call, s, why);
	default:
		return true;
	}
}

/*
 * What one explanation tells is added to @seen, which is what all of them tell. A timer is
 * late only if it is by each, so the one with the latest deadline counts.
 */
static void add_seen(struct seen *seen, const struct seen *one)
{
	if (!one->valid)
		seen->unsure = true;
	if (one->valid && (!seen->valid || one->due > seen->due)) {
		seen->valid = true;
		seen->due = one->due;
		seen->at = one->at;
		seen->slack = one->slack;
	}
	seen->in_turn |= one->in_turn;
	seen->any_time |= one->any_time;
}

/* Does @op go with @s? If so @s is what comes of it, and @seen, unless NULL, is added to. */
static bool apply(struct op op, struct state *s, const char **why, struct seen *seen)
{
	struct seen one = { };

	if (!apply_one(op, s, why, &one))
		return false;
	if (seen)
		add_seen(seen, &one);
	return true;
}

bool op_is_doubtful(struct op op)
{
	if (op.index == OP_FLAG)
		return op.call->ret == CALL_POISON && !call_has_event(op.call, 0);
	switch (op.call->type) {
	case CALL_ARM:
		return op.call->arms[op.index].result == CALL_POISON;
	case CALL_CANCEL:
		return op.call->cancels[op.index].result == CALL_POISON;
	case CALL_EXTEND:
		return op.call->ret == CALL_POISON;
	default:
		return false;
	}
}

static void remember(struct timer *timer, struct op op)
{
	struct line *line = &timer->lines[timer->nr_lines++ % NR_HISTORY];
	const struct call *call = op.call;

	memset(line, 0, sizeof(*line));
	line->op = op;
	line->type = call->type;
	line->begin = call->begin;
	line->end = call->end;
	line->t0 = call->t0;
	line->t1 = call->t1;
	line->ret = call->ret;
	if (op.index == OP_FLAG)
		return;
	switch (call->type) {
	case CALL_ARM:
		line->arm = call->arms[op.index];
		break;
	case CALL_CANCEL:
		line->cancel = call->cancels[op.index];
		break;
	case CALL_READ:
		line->event = call->events[op.index];
		break;
	case CALL_EXTEND:
		line->word[0] = call->old;
		line->word[1] = call->new;
		line->word[2] = call->found;
		break;
	default:
		line->info = call->entries[op.index];
	}
}

static int slot_of(const struct timer *timer, struct op op)
{
	int i;

	for (i = 0; i < NR_INFLIGHT; i++)
		if (timer->used & (1U << i) && timer->inflight[i].call == op.call &&
		    timer->inflight[i].index == op.index)
			return i;
	return -1;
}

void model_begin(struct timer *timer, struct op op)
{
	int i = ~timer->used ? __builtin_ctz(~timer->used) : -1;

	/* There was none before the first call. */
	if (!timer->nr_configs)
		timer->configs = calloc(timer->nr_configs = 1, sizeof(*timer->configs));
	remember(timer, op);
	if (i < 0) {
		timer->blurred = true;
		return;
	}
	timer->inflight[i] = op;
	timer->used |= 1U << i;
}

static bool same(const struct config *a, const struct config *b)
{
	return a->done == b->done && !memcmp(&a->state, &b->state, sizeof(a->state));
}

static int insert(struct config *set, int n, const struct config *config)
{
	int i;

	for (i = 0; i < n; i++)
		if (same(&set[i], config))
			return n;
	if (n < MAX_CONFIGS)
		set[n] = *config;
	return n + 1;
}

/* Sets of configurations: the one that is explored, and what comes of it. */
static struct config todo[MAX_CONFIGS], found[MAX_CONFIGS];
static int nr_todo, nr_found;

static bool in_flight(const struct timer *timer, const struct config *config, int i)
{
	return timer->used & ~config->done & 1U << i;
}

/*
 * May @op be one that only looks? What stores is not, even where the same is there
 * already: that may be taken away, and @op come after it. Nor is a record, though the
 * next round's range of deadlines may be the same as this one's.
 */
static bool may_be_idle(struct op op)
{
	if (op_is_doubtful(op))
		return false;
	switch (op.call->type) {
	case CALL_STEP:
		return false;
	case CALL_ARM:
		return op.call->arms[op.index].result;
	case CALL_READ:
		return op.index == OP_FLAG;
	default:
		return true;
	}
}

/*
 * What is in flight and would change nothing in @config: it might as well take
 * effect there as anywhere later. Without this, sets grow with all who only look.
 */
static void pass_idle(const struct timer *timer, struct config *config, const char **why)
{
	struct state state;
	int i;

	for (i = 0; i < NR_INFLIGHT; i++) {
		if (!in_flight(timer, config, i) || !may_be_idle(timer->inflight[i]))
			continue;
		state = config->state;
		if (apply(timer->inflight[i], &state, why, NULL) &&
		    !memcmp(&state, &config->state, sizeof(state)))
			config->done |= 1U << i;
	}
}

/* From @config on: all that may be once @op, which is in @slot, has ended. */
static void explore(const struct timer *timer, struct config config, struct op op, int slot,
		    const char **why, struct seen *seen)
{
	struct state state = config.state;
	struct config next;
	int i;

	/* First, as it may tell something even if it changes nothing. */
	if (in_flight(timer, &config, slot) && may_be_idle(op) &&
	    apply(op, &state, why, seen) &&
	    !memcmp(&state, &config.state, sizeof(state)))
		config.done |= 1U << slot;
	pass_idle(timer, &config, why);
	if (!in_flight(timer, &config, slot)) {
		config.done &= ~(1U << slot);
		nr_found = insert(found, nr_found, &config);
		return;
	}
	if (op_is_doubtful(op))
		nr_found = insert(found, nr_found, &config);

	for (i = 0; i < NR_INFLIGHT; i++) {
		if (!in_flight(timer, &config, i))
			continue;
		next = config;
		if (!apply(timer->inflight[i], &next.state, why, i == slot ? seen : NULL))
			continue;
		next.done |= 1U << i;
		nr_todo = insert(todo, nr_todo, &next);
	}
}

static void set_configs(struct timer *timer, const struct config *configs, int n)
{
	timer->configs = realloc(timer->configs, n * sizeof(*configs));
	if (!timer->configs)
		abort();
	memcpy(timer->configs, configs, n * sizeof(*configs));
	timer->nr_configs = n;
}

/* After a violation: what @op says it has left is the best guess for what is. */
static void guess(struct timer *timer, struct op op)
{
	struct config config = { };

	if (op.call->type == CALL_ARM && op.index != OP_FLAG && !op.call->arms[op.index].result)
		arm_state(op.call, &op.call->arms[op.index], &config.state);
	set_configs(timer, &config, 1);
	timer->used = 0;
}

bool model_end(struct timer *timer, struct op op, const char **why, struct seen *seen)
{
	int slot = slot_of(timer, op), i;

	memset(seen, 0, sizeof(*seen));
	/* A call that only looks is no reason not to list the timer. */
	if (op.call->type != CALL_GET && op.call->type != CALL_LIST)
		timer->changed = op.call->end;
	if (slot < 0)
		return true;

	nr_todo = 0;
	nr_found = 0;
	for (i = 0; i < timer->nr_configs; i++)
		nr_todo = insert(todo, nr_todo, &timer->configs[i]);
	/* Whatever else is in flight may have taken effect before @op. */
	for (i = 0; i < nr_todo && nr_todo < MAX_CONFIGS && !timer->blurred; i++)
		explore(timer, todo[i], op, slot, why, seen);
	if (nr_todo >= MAX_CONFIGS || nr_found >= MAX_CONFIGS)
		timer->blurred = true;

	if (!nr_found && !timer->blurred) {
		guess(timer, op);
		return false;
	}
	timer->used &= ~(1U << slot);
	if (!timer->blurred)
		set_configs(timer, found, nr_found);
	return true;
}

bool model_may_be_gone(const struct timer *timer)
{
	int i;

	for (i = 0; i < timer->nr_configs; i++)
		if (!timer->configs[i].state.id)
			return true;
	return !timer->nr_configs || timer->blurred;
}

bool model_may_live(const struct timer *timer)
{
	int i;

	for (i = 0; i < timer->nr_configs; i++)
		if (timer->configs[i].state.id)
			return true;
	return false;
}

bool model_is_pending(const struct timer *timer, const struct call *call)
{
	const struct state *s;

	if (timer->nr_configs != 1)
		return false;
	s = &timer->configs->state;
	return s->id && s->lo > call->t1 && steady(call, s->since);
}
