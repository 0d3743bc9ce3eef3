// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every ioctl of the device, with each thing that can fail in it failing in turn.
 *
 * A call that fails has changed nothing, as the header says; where a call may
 * have taken place although its outcome could not be stored, it has either done
 * so or not. The handles, states and counts of everything else stay as they were,
 * the call succeeds when it is made again, and in the end each timer that is there
 * expires and is read once.
 */
#include <stdint.h>

#include "each.h"
#include "faults.h"
#include "kselftest.h"

#define BATCH	200
/* The timers of one chunk of the module's: the next one takes memory. */
#define CHUNK	63
/* A handle that no timer has */
#define UNKNOWN	0xdeadbeef0000ff01ULL

#define KEYED	TWHEEL_CONFIG_KEYED
#define LEASE	TWHEEL_CONFIG_LEASE
#define ON_SET	TWHEEL_CONFIG_CANCEL_ON_SET

static struct twheel_arm arm, arm_sent;
static struct twheel_cancel cancel, cancel_sent;
static struct twheel_arm arms[2 * BATCH], arms_sent[2 * BATCH];
static struct twheel_cancel cancels[2 * BATCH], cancels_sent[2 * BATCH];
static int expected[2 * BATCH];
static int nr;

/* The timer that a call is about, which the world may forget. */
static struct twheel_timer_info target;

static void unsure(struct world *w, __u64 handle, __u64 user_data)
{
	int i = world_find(w, handle);

	if (i >= 0)
		world_unsure(w, i, user_data);
}

/* The call may have armed the key: the module takes back new timers without keys only. */
static void unsure_key(struct world *w, const struct twheel_arm *sent)
{
	struct twheel_timer_info info;

	if (w->ctx.config & TWHEEL_CONFIG_KEYED && !tw_get(w->fd, sent->handle, &info))
		world_armed(w, sent->handle, sent->user_data);
}

/* An arming that was refused, or carried out: what does its entry say? */
static void check_arm(struct world *w, const struct twheel_arm *sent,
		      const struct twheel_arm *got, int ret)
{
	if (got->result != ret)
		violation("an arming gave %d, but says %d", ret, got->result);
	oracle_armed(&w->ctx, sent, got);
}

/*
 * Arming
 */
static long call_arm(struct world *w)
{
	arm_sent = arm;
	return tw_call(w->fd, TWHEEL_IOC_ARM, &arm);
}

static void after_arm(struct world *w, long ret)
{
	if (ret != -EFAULT)
		check_arm(w, &arm_sent, &arm, ret);
	if (!ret) {
		if (arm.old_state != TWHEEL_STATE_NONE)
			violation("a new timer has old state %u", arm.old_state);
		world_armed(w, arm.handle, arm_sent.user_data);
	} else if (ret == -EFAULT) {
		if (memcmp(&arm, &arm_sent, sizeof(arm)))
			violation("EFAULT, and yet something was stored");
		unsure_key(w, &arm_sent);
	} else if (ret == -ENOMEM && !w->nr &&
		   tw_configure(w->fd, w->ctx.clock, w->ctx.config)) {
		violation("no timer was made, but there is no way back");
	}
}

static long arm_new(struct world *w, __u64 delay, __u32 flags)
{
	arm = world_request(w, delay);
	arm.flags |= flags;
	return call_arm(w);
}

CALL(arm_far, arm_new(w, TW_FAR, 0))
CALL(arm_due, arm_new(w, 0, 0))
CALL(arm_lease, arm_new(w, TW_FAR, TWHEEL_ARM_LEASE))
CALL(arm_invalid, arm_new(w, TW_FAR, 0xffff))

static long call_arm_periodic(struct world *w)
{
	arm = world_request(w, TW_FAR);
	arm.interval = TW_SEC;
	arm.count = 3;
	arm.slack = TW_SEC;
	return call_arm(w);
}

static long call_arm_fixed_delay(struct world *w)
{
	arm = world_request(w, TW_FAR);
	arm.interval = TW_SEC;
	arm.flags |= TWHEEL_ARM_FIXED_DELAY;
	return call_arm(w);
}

/* Cancel most timers, so that their memory, and that of their keys, is used again. */
static void begin_reused(struct world *w)
{
	while (w->nr > 2) {
		if (tw_cancel(w->fd, w->timers[0].handle))
			violation("cannot cancel");
		world_removed(w, 0);
	}
}

/*
 * Re-arming
 */
static __u64 choose(const struct world *w, enum twheel_state state)
{
	int i;

	memset(&target, 0, sizeof(target));
	for (i = 0; i < w->nr; i++)
		if (w->timers[i].state == state)
			target = w->timers[i];
	return target.handle;
}

static long rearm(struct world *w, __u64 handle, __u64 delay, __u32 flags)
{
	arm = world_request(w, delay);
	arm.handle = handle;
	arm.flags |= flags;
	return call_arm(w);
}

CALL(rearm_later, rearm(w, choose(w, TWHEEL_STATE_PENDING), 2 * TW_FAR, 0))
CALL(rearm_earlier, rearm(w, choose(w, TWHEEL_STATE_PENDING), TW_FAR / 2, 0))
CALL(rearm_due, rearm(w, choose(w, TWHEEL_STATE_PENDING), 0, 0))
CALL(rearm_ready, rearm(w, choose(w, TWHEEL_STATE_READY), TW_FAR, 0))
CALL(rearm_lease, rearm(w, choose(w, TWHEEL_STATE_PENDING), 2 * TW_FAR, TWHEEL_ARM_LEASE))
CALL(rearm_unknown, rearm(w, UNKNOWN, TW_FAR, 0))

static void after_rearm(struct world *w, long ret)
{
	if (ret != -EFAULT)
		check_arm(w, &arm_sent, &arm, ret);
	if (!ret) {
		if (arm.old_state != target.state)
			violation("a re-arm has old state %u not %u", arm.old_state,
				  target.state);
		world_armed(w, arm.handle, arm_sent.user_data);
	} else if (ret == -EFAULT) {
		if (memcmp(&arm, &arm_sent, sizeof(arm)))
			violation("EFAULT, and yet something was stored");
		unsure(w, arm_sent.handle, arm_sent.user_data);
	}
}

/*
 * Cancelling
 */
static long cancel_timer(struct world *w, __u64 handle)
{
	memset(&cancel, 0xcc, sizeof(cancel));
	cancel.handle = handle;
	cancel.flags = 0;
	cancel.reserved = 0;
	cancel_sent = cancel;
	return tw_call(w->fd, TWHEEL_IOC_CANCEL, &cancel);
}

static void after_cancel(struct world *w, long ret)
{
	if (ret != -EFAULT) {
		if (cancel.result != ret)
			violation("a cancel gave %ld, but says %d", ret, cancel.result);
		oracle_cancelled(&w->ctx, &cancel_sent, &cancel);
	}
	if (!ret) {
		if (cancel.old_state != target.state)
			violation("a cancel has old state %u not %u", cancel.old_state,
				  target.state);
		world_removed(w, world_find(w, target.handle));
	} else if (ret == -EFAULT) {
		if (memcmp(&cancel, &cancel_sent, sizeof(cancel)))
			violation("EFAULT, and yet something was stored");
		unsure(w, target.handle, 0);
	}
}

static __u64 choose_unknown(void)
{
	memset(&target, 0, sizeof(target));
	target.handle = UNKNOWN;
	return target.handle;
}

/* If the first call has cancelled its timer without saying so, the second picks another. */
CALL(cancel_pending, cancel_timer(w, choose(w, TWHEEL_STATE_PENDING)))
CALL(cancel_ready, cancel_timer(w, choose(w, TWHEEL_STATE_READY)))
CALL(cancel_unknown, cancel_timer(w, choose_unknown()))

static long call_arm_batch(struct world *w)
{
	memcpy(arms_sent, arms, sizeof(arms));
	return tw_arm_batch(w->fd, arms, nr);
}

static long batch_new(struct world *w, int n, __u32 flags)
{
	for (nr = 0; nr < n; nr++) {
		arms[nr] = world_request(w, nr % 10 ? TW_FAR : 0);
		arms[nr].flags |= flags;
		expected[nr] = 0;
	}
	return call_arm_batch(w);
}

CALL(batch_new, batch_new(w, BATCH, 0))
/* The table of keys grows, by its worker or at once, whichever comes first. */
CALL(batch_keys, batch_new(w, 2 * BATCH, 0))
CALL(batch_lease, batch_new(w, BATCH, TWHEEL_ARM_LEASE))

static long call_batch_mixed(struct world *w)
{
	for (nr = 0; nr < BATCH; nr++) {
		struct twheel_arm *a = &arms[nr];

		*a = world_request(w, TW_FAR);
		expected[nr] = 0;
		switch (nr % 4) {
		case 0:
			a->handle = w->timers[nr / 4].handle;
			break;
		case 1:
			a->handle = UNKNOWN;
			expected[nr] = -ENOENT;
			break;
		case 2:
			a->flags = 0xffff;
			expected[nr] = -EINVAL;
			break;
		}
	}
	return call_arm_batch(w);
}

static void after_arm_entry(struct world *w, int i)
{
	const struct twheel_arm *got = &arms[i], *sent = &arms_sent[i];

	oracle_armed(&w->ctx, sent, got);
	if (!got->result && !expected[i])
		world_armed(w, got->handle, sent->user_data);
	else if (got->result != expected[i] && (expected[i] || got->result != -ENOMEM))
		violation("entry %d has result %d, not %d", i, got->result, expected[i]);
}

static void after_arm_batch(struct world *w, long ret)
{
	int handled = ret < 0 ? 0 : ret, i;

	if (!w->fired && handled != nr)
		violation("%d entries handled of %d", handled, nr);
	for (i = 0; i < handled; i++)
		after_arm_entry(w, i);
	for (i = handled; i < nr; i++) {
		if (memcmp(&arms[i], &arms_sent[i], sizeof(arms[i])))
			violation("%d entries handled, but %d is not as it was", handled, i);
		if (expected[i])
			continue;
		unsure_key(w, &arms_sent[i]);
		unsure(w, arms_sent[i].handle, arms_sent[i].user_data);
	}
}

static long call_cancel_batch(struct world *w)
{
	for (nr = 0; nr <= w->nr; nr++) {
		memset(&cancels[nr], 0xcc, sizeof(cancels[nr]));
		cancels[nr].handle = nr < w->nr ? w->timers[nr].handle : UNKNOWN;
		cancels[nr].flags = 0;
		cancels[nr].reserved = 0;
		expected[nr] = nr < w->nr ? 0 : -ENOENT;
	}
	memcpy(cancels_sent, cancels, sizeof(cancels));
	return tw_batch(w->fd, TWHEEL_IOC_CANCEL_BATCH, cancels, nr);
}

static void after_cancel_batch(struct world *w, long ret)
{
	int handled = ret < 0 ? 0 : ret, i, k;

	if (!w->fired && handled != nr)
		violation("%d entries handled of %d", handled, nr);
	for (i = 0; i < handled; i++) {
		oracle_cancelled(&w->ctx, &cancels_sent[i], &cancels[i]);
		k = world_find(w, cancels_sent[i].handle);
		if (cancels[i].result != expected[i] ||
		    (k >= 0 && cancels[i].old_state != w->timers[k].state))
			violation("entry %d has result %d, state %u", i, cancels[i].result,
				  cancels[i].old_state);
		if (k >= 0)
			world_removed(w, k);
	}
	for (i = handled; i < nr; i++) {
		if (memcmp(&cancels[i], &cancels_sent[i], sizeof(cancels[i])))
			violation("%d entries handled, but %d is not as it was", handled, i);
		unsure(w, cancels_sent[i].handle, 0);
	}
}

/*
 * Asking
 */
static struct twheel_timer_info got;

CALL(get_pending, tw_get(w->fd, choose(w, TWHEEL_STATE_PENDING), &got))
CALL(get_ready, tw_get(w->fd, choose(w, TWHEEL_STATE_READY), &got))
CALL(get_unknown, tw_get(w->fd, UNKNOWN, &got))

static void after_get(struct world *w, long ret)
{
	if (!ret)
		oracle_told(&w->ctx, &got, false, false);
	if (!ret && (got.user_data != target.user_data || got.state != target.state))
		violation("GET says user data %llu, state %u", got.user_data, got.state);
	if (ret && got.user_data != 0xccccccccccccccccULL)
		violation("GET failed, and yet something was stored");
}

static struct twheel_info info;

static long get_info(struct world *w, __u32 flags)
{
	memset(&info, 0xcc, sizeof(info));
	info.flags = flags;
	return tw_call(w->fd, TWHEEL_IOC_GET_INFO, &info);
}

CALL(info, get_info(w, 0))
CALL(info_next, get_info(w, TWHEEL_INFO_NEXT))

static void after_info(struct world *w, long ret)
{
	if (!ret)
		oracle_info(&w->ctx, &info, true);
	if (!ret && info.flags && info.next_expiry == TWHEEL_NO_EXPIRY)
		violation("%llu pending, and none is next", info.pending);
	if (ret && (info.pending != 0xccccccccccccccccULL || info.config != 0xcccccccc))
		violation("GET_INFO failed, and yet something was stored");
}

/*
 * Lists
 */
static struct twheel_timer_info entries[WORLD_MAX];
static struct twheel_list list;
static int listed;

/* A walk, which a later call may go on with. */
static long walk(struct world *w, __u32 step)
{
	long ret;

	do {
		list.entries = (__u64)(uintptr_t)&entries[listed];
		list.count = step;
		ret = tw_call(w->fd, TWHEEL_IOC_LIST, &list);
		if (ret > 0)
			listed += ret;
	} while (ret > 0);
	return ret;
}

static long begin_walk(struct world *w, __u32 step, __u32 flags)
{
	memset(&list, 0, sizeof(list));
	memset(entries, 0xcc, sizeof(entries));
	list.flags = flags;
	listed = 0;
	return walk(w, step);
}

CALL(list, begin_walk(w, WORLD_MAX / 2, 0))
CALL(list_steps, begin_walk(w, 7, 0))
CALL(drain, begin_walk(w, WORLD_MAX / 2, TWHEEL_LIST_DRAIN))
CALL(drain_steps, begin_walk(w, 7, TWHEEL_LIST_DRAIN))

/* The rest of the walk comes without faults: each pending timer is in it once. */
static void after_list(struct world *w, long ret)
{
	int seen[WORLD_MAX] = { }, pending = 0, i, k;

	/* An error behind the first steps: what those have brought counts. */
	if (ret < 0)
		ret = walk(w, 16);
	for (i = 0; i < w->nr; i++)
		pending += w->timers[i].state == TWHEEL_STATE_PENDING;
	for (i = 0; i < listed; i++) {
		oracle_told(&w->ctx, &entries[i], true, list.flags & TWHEEL_LIST_DRAIN);
		k = world_find(w, entries[i].handle);
		if (k < 0 || seen[k]++)
			violation("timer %llx is listed twice", entries[i].handle);
	}
	if (ret || listed != pending)
		violation("%d timers listed of %d, %ld in the end", listed, pending, ret);
	if (list.flags & TWHEEL_LIST_DRAIN)
		for (i = 0; i < listed; i++)
			world_removed(w, world_find(w, entries[i].handle));
}

/*
 * Configuring
 */
static struct twheel_config config;

static long configure(struct world *w, __u32 clock, __u32 flags)
{
	config = (struct twheel_config) {
		.clock = tw_config_clock(clock), .flags = flags, .limit = 1000,
	};
	return tw_call(w->fd, TWHEEL_IOC_CONFIG, &config);
}

CALL(config_boottime, configure(w, CLOCK_BOOTTIME, 0))
CALL(config_keyed, configure(w, CLOCK_MONOTONIC, KEYED))
CALL(config_all, configure(w, CLOCK_REALTIME, KEYED | LEASE | ON_SET))
CALL(config_none, configure(w, CLOCK_MONOTONIC, 0))

static void after_config(struct world *w, long ret)
{
	info = tw_info(w->fd);
	if (!ret) {
		w->ctx.clock = config.clock;
		if (config.clock == TWHEEL_CLOCK_REALTIME)
			w->ctx.clock = CLOCK_REALTIME;
		w->ctx.config = config.flags;
	}
	oracle_info(&w->ctx, &info, true);
	if (!ret && info.limit != 1000)
		violation("limit %llu was not set", info.limit);
}

/* What was configured works. */
static void end_config(struct world *w)
{
	world_add(w, TW_FAR, 0, w->ctx.config & TWHEEL_CONFIG_LEASE ? TWHEEL_ARM_LEASE : 0);
	world_add(w, 0, 0, 0);
}

/* What the cases of a kind have in common. */
#define ARM(name, ...)		{ name, .after = after_arm, .errors = { ENOMEM, EFAULT }, \
				  __VA_ARGS__ }
#define REARM(name, ...)	{ name, .after = after_rearm, .errors = { EFAULT }, \
				  .pending = 70, .ready = 6, __VA_ARGS__ }
#define CANCEL(name, ...)	{ name, .after = after_cancel, .errors = { EFAULT }, \
				  .pending = 70, .ready = 6, __VA_ARGS__ }
#define ARM_BATCH(name, ...)	{ name, .after = after_arm_batch, .errors = { EFAULT }, \
				  __VA_ARGS__ }
#define CANCEL_BATCH(name, ...)	{ name, .after = after_cancel_batch, .errors = { EFAULT }, \
				  .pending = 70, .ready = 6, __VA_ARGS__ }
#define ASK(name, ...)		{ name, .errors = { EFAULT }, .pending = 70, .ready = 6, \
				  __VA_ARGS__ }
#define CONFIG(name, ...)	{ name, .after = after_config, .end = end_config, \
				  .errors = { ENOMEM, EFAULT }, __VA_ARGS__ }

static const struct fault_case cases[] = {
	ARM("ARM, the first", .call = call_arm_far),
	ARM("ARM, the first, due", .call = call_arm_due),
	ARM("ARM, a chunk full", .call = call_arm_far, .pending = CHUNK),
	ARM("ARM, two chunks full", .call = call_arm_due, .pending = 2 * CHUNK),
	ARM("ARM", .call = call_arm_far, .pending = 10, .ready = 2),
	ARM("ARM, due", .call = call_arm_due, .pending = 10, .ready = 2),
	ARM("ARM, memory used again", .call = call_arm_far, .pending = 4 * CHUNK,
	    .begin = begin_reused),
	ARM("ARM, periodic", .call = call_arm_periodic, .pending = CHUNK),
	ARM("ARM, fixed delay", .call = call_arm_fixed_delay, .pending = CHUNK),
	ARM("ARM, CLOCK_BOOTTIME", .call = call_arm_far, .pending = CHUNK,
	    .clock = CLOCK_BOOTTIME),
	ARM("ARM, CLOCK_REALTIME", .call = call_arm_far, .pending = CHUNK, .real = true,
	    .config = ON_SET),
	ARM("ARM, keyed, the first", .call = call_arm_far, .config = KEYED),
	ARM("ARM, keyed, a chunk full", .call = call_arm_far, .config = KEYED,
	    .pending = CHUNK),
	ARM("ARM, keyed, due", .call = call_arm_due, .config = KEYED, .pending = CHUNK),
	ARM("ARM, keyed, memory used again", .call = call_arm_far, .config = KEYED,
	    .pending = 4 * CHUNK, .begin = begin_reused),
	ARM("ARM, lease, the first", .call = call_arm_lease, .config = LEASE),
	ARM("ARM, lease, a chunk full", .call = call_arm_lease, .config = LEASE,
	    .pending = CHUNK),
	ARM("ARM, lease, a page full", .call = call_arm_lease, .config = LEASE,
	    .pending = 8 * CHUNK),
	ARM("ARM, lease, a page full, and no memory left", .call = call_arm_lease,
	    .config = LEASE, .pending = 8 * CHUNK, .rest = true),
	ARM("ARM, keyed lease, a page full", .call = call_arm_lease, .config = LEASE | KEYED,
	    .pending = 8 * CHUNK),
	ARM("ARM, invalid", .call = call_arm_invalid, .want = -EINVAL),
	REARM("re-arm, later", .call = call_rearm_later),
	REARM("re-arm, earlier", .call = call_rearm_earlier),
	REARM("re-arm, due", .call = call_rearm_due),
	REARM("re-arm, ready", .call = call_rearm_ready),
	REARM("re-arm, keyed", .call = call_rearm_earlier, .config = KEYED),
	REARM("re-arm, keyed, ready", .call = call_rearm_ready, .config = KEYED),
	REARM("re-arm as a lease", .call = call_rearm_lease, .config = LEASE),
	REARM("re-arm, unknown", .call = call_rearm_unknown, .want = -ENOENT),
	CANCEL("CANCEL, pending", .call = call_cancel_pending),
	CANCEL("CANCEL, ready", .call = call_cancel_ready),
	CANCEL("CANCEL, keyed", .call = call_cancel_pending, .config = KEYED),
	CANCEL("CANCEL, lease", .call = call_cancel_pending, .config = LEASE),
	CANCEL("CANCEL, unknown", .call = call_cancel_unknown, .want = -ENOENT),
	ARM_BATCH("ARM_BATCH, new", .call = call_batch_new),
	ARM_BATCH("ARM_BATCH, more", .call = call_batch_new, .pending = CHUNK, .ready = 3),
	ARM_BATCH("ARM_BATCH, keyed", .call = call_batch_keys, .config = KEYED),
	ARM_BATCH("ARM_BATCH, leases", .call = call_batch_lease, .config = LEASE,
		  .pending = 7 * CHUNK),
	ARM_BATCH("ARM_BATCH, mixed", .call = call_batch_mixed, .pending = 70, .ready = 6),
	CANCEL_BATCH("CANCEL_BATCH", .call = call_cancel_batch),
	CANCEL_BATCH("CANCEL_BATCH, keyed", .call = call_cancel_batch, .config = KEYED),
	ASK("GET, pending", .call = call_get_pending, .after = after_get),
	ASK("GET, ready", .call = call_get_ready, .after = after_get),
	ASK("GET, unknown", .call = call_get_unknown, .after = after_get, .want = -ENOENT),
	ASK("GET_INFO", .call = call_info, .after = after_info),
	ASK("GET_INFO, next", .call = call_info_next, .after = after_info),
	ASK("LIST", .call = call_list, .after = after_list),
	ASK("LIST, in steps", .call = call_list_steps, .after = after_list),
	ASK("LIST, drain", .call = call_drain, .after = after_list),
	ASK("LIST, drain in steps", .call = call_drain_steps, .after = after_list),
	ASK("LIST, drain, keyed leases", .call = call_drain, .after = after_list,
	    .config = KEYED | LEASE),
	CONFIG("CONFIG, CLOCK_BOOTTIME", .call = call_config_boottime),
	CONFIG("CONFIG, keyed", .call = call_config_keyed),
	CONFIG("CONFIG, everything", .call = call_config_all),
	CONFIG("CONFIG, nothing again", .call = call_config_none, .real = true,
	       .config = KEYED | LEASE | ON_SET),
	{ "CONFIG, too late", .call = call_config_keyed, .pending = 3, .want = -EBUSY,
	  .errors = { EFAULT } },
};

int main(int argc, char **argv)
{
	each_fault(cases, ARRAY_SIZE(cases), argv[1]);
}
