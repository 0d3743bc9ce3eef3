// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the device said, checked against what the program knows.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "oracle.h"

#define FEATURES	0x7ffULL
#define CONFIGS		7U
/* A chunk of the module's memory has so many slots; the first is not a timer. */
#define CHUNK_SLOTS	64

void oracle_begin(struct context *ctx, struct known *known, __u32 size)
{
	memset(ctx, 0, sizeof(*ctx));
	memset(known, 0, size * sizeof(*known));
	ctx->clock = CLOCK_MONOTONIC;
	ctx->known = known;
	ctx->size = size;
}

static struct known *find(struct context *ctx, __u64 handle)
{
	__u32 i, n = ctx->nr < ctx->size ? ctx->nr : ctx->size;

	for (i = 0; i < n; i++)
		if (ctx->known[i].handle == handle)
			return &ctx->known[i];
	return NULL;
}

struct known *oracle_pick(struct context *ctx, __u32 ref)
{
	__u32 n = __atomic_load_n(&ctx->nr, __ATOMIC_RELAXED);

	if (n > ctx->size)
		n = ctx->size;
	return n ? &ctx->known[ref % n] : NULL;
}

static struct known *note(struct context *ctx, __u64 handle)
{
	struct known *known = find(ctx, handle);
	__u32 i;

	if (known)
		return known;
	i = __atomic_fetch_add(&ctx->nr, 1, __ATOMIC_RELAXED);
	if (i >= ctx->size)
		ctx->evicted = true;
	known = &ctx->known[i % ctx->size];
	known->handle = handle;
	known->live = false;
	return known;
}

static void add_live(struct context *ctx, int n)
{
	__atomic_add_fetch(&ctx->live, n, __ATOMIC_RELAXED);
}

/* The timer @handle has ended. */
static void ended(struct context *ctx, __u64 handle)
{
	struct known *known = find(ctx, handle);

	if (known)
		known->live = false;
	add_live(ctx, -1);
}

void oracle_found(struct context *ctx, __u64 handle, bool found, const char *call)
{
	const struct known *known;

	if (!ctx->exact || ctx->unsure)
		return;
	known = find(ctx, handle);
	if (known && known->live != found)
		violation("%s: %#llx is %s and was %s", call, handle,
			  known->live ? "live" : "over", found ? "found" : "not found");
	if (!known && found && !ctx->evicted)
		violation("%s: %#llx was never given out", call, handle);
}

static bool keyed(const struct context *ctx)
{
	return __atomic_load_n(&ctx->config, __ATOMIC_RELAXED) & TWHEEL_CONFIG_KEYED;
}

/* Is @data, which came back as the user_data of @handle, what it was armed with? */
static void check_data(struct context *ctx, __u64 handle, __u64 data, const char *call)
{
	const struct known *known = find(ctx, handle);
	bool ours = data >> ORACLE_SERIAL_BITS == ctx->user_data >> ORACLE_SERIAL_BITS;

	if (ctx->unsure)
		return;
	/* A timer that a push has made has none. */
	if (!(ours || (!data && keyed(ctx))) ||
	    (ctx->exact && known && data != known->user_data))
		violation("%s: user_data %#llx", call, data);
}

static void check_handle(const struct context *ctx, __u64 handle, const char *call)
{
	if (!ctx->unsure && !keyed(ctx) && !((__u32)handle % CHUNK_SLOTS))
		violation("%s: impossible handle %#llx", call, handle);
}

static void check_old(__u32 state, __u64 left, bool failed, const char *call)
{
	if (state > TWHEEL_STATE_READY || (failed && state) ||
	    (state != TWHEEL_STATE_PENDING && left))
		violation("%s: old state %u with %#llx left", call, state, left);
}

/* What an arming may not do, whatever came of it. */
static void check_arm(const struct twheel_arm *in, const struct twheel_arm *out)
{
	bool lease = in->flags & TWHEEL_ARM_LEASE && !out->result;

	if (lease ? !(out->word % CHUNK_SLOTS) || out->tag > TWHEEL_LEASE_TAG_MASK :
		    out->word || out->tag)
		violation("arm: word %#x, tag %#x", out->word, out->tag);
	if (in->user_data != out->user_data || in->expires != out->expires ||
	    in->interval != out->interval || in->slack != out->slack ||
	    in->flags != out->flags || in->count != out->count)
		violation("arm: what is only read has changed");
	check_old(out->old_state, out->old_remaining, out->result, "arm");
	if ((in->expires | in->interval | in->slack) >> 63 && out->result != -EINVAL)
		violation("arm: result %d of a negative time", out->result);
}

static void arm_failed(struct context *ctx, const struct twheel_arm *in,
		       const struct twheel_arm *out)
{
	switch (out->result) {
	case -EEXIST:
		if (!(in->flags & TWHEEL_ARM_IF_NONE))
			violation("arm: EEXIST, and it may exist");
		oracle_found(ctx, in->handle, true, "arm");
		break;
	case -ENOENT:
		/* A timer that has expired is not found either if it is to be pending. */
		if (in->flags & TWHEEL_ARM_IF_PENDING)
			break;
		if (!ctx->unsure && (!in->handle || keyed(ctx)))
			violation("arm: a new timer is not found");
		oracle_found(ctx, in->handle, false, "arm");
		break;
	case -EINVAL: case -ENOSPC: case -EDQUOT: case -ENOMEM:
		break;
	default:
		violation("arm: result %d", out->result);
		return;
	}
	if (out->handle != in->handle)
		violation("arm: failed and gave a handle");
}

static void check_armed(struct context *ctx, const struct twheel_arm *in,
			const struct twheel_arm *out)
{
	bool lease = in->flags & TWHEEL_ARM_LEASE, named = keyed(ctx) || in->handle;

	if (in->flags & TWHEEL_ARM_IF_PENDING && out->old_state != TWHEEL_STATE_PENDING)
		violation("arm: if pending, in state %u", out->old_state);
	if (in->flags & TWHEEL_ARM_IF_NONE && out->old_state)
		violation("arm: if none, in state %u", out->old_state);
	check_handle(ctx, out->handle, "arm");
	if (ctx->unsure)
		return;
	if (named && out->handle != in->handle)
		violation("arm: %#llx became %#llx", in->handle, out->handle);
	if (!keyed(ctx) && !in->handle == !!out->old_state)
		violation("arm: %#llx was in state %u", in->handle, out->old_state);
	if (lease && !keyed(ctx) && out->word != (__u32)out->handle)
		violation("arm: word %#x of %#llx", out->word, out->handle);
}

void oracle_armed(struct context *ctx, const struct twheel_arm *in, const struct twheel_arm *out)
{
	struct known *known;

	check_arm(in, out);
	if (out->result) {
		arm_failed(ctx, in, out);
		return;
	}
	check_armed(ctx, in, out);
	if (out->old_state == TWHEEL_STATE_NONE) {
		oracle_found(ctx, out->handle, false, "arm anew");
		add_live(ctx, 1);
	} else {
		oracle_found(ctx, out->handle, true, "arm again");
	}
	known = note(ctx, out->handle);
	known->live = true;
	known->user_data = in->user_data;
	if (in->flags & TWHEEL_ARM_LEASE)
		known->word = out->word;
}

void oracle_turned_out(struct context *ctx, __u64 handle, __u64 user_data, bool live)
{
	struct known *known = note(ctx, handle);

	add_live(ctx, live - known->live);
	known->live = live;
	known->user_data = user_data;
}

void oracle_cancelled(struct context *ctx, const struct twheel_cancel *in,
		      const struct twheel_cancel *out)
{
	if (in->handle != out->handle || in->flags != out->flags ||
	    in->reserved != out->reserved)
		violation("cancel: what is only read has changed");
	check_old(out->old_state, out->old_remaining, out->result, "cancel");

	switch (out->result) {
	case 0:
		if (!out->old_state)
			violation("cancel: of nothing");
		oracle_found(ctx, in->handle, true, "cancel");
		ended(ctx, in->handle);
		break;
	case -ENOENT:
		oracle_found(ctx, in->handle, false, "cancel");
		break;
	case -EINVAL:
		if (!in->flags && !in->reserved)
			violation("cancel: EINVAL for nothing");
		break;
	default:
		violation("cancel: result %d", out->result);
	}
}

/* With keys it makes the timer if there is none, which is not told: only the only user knows. */
static void pushed_key(struct context *ctx, __u64 key)
{
	struct known *known = note(ctx, key);

	if (!ctx->exact || ctx->evicted)
		__atomic_store_n(&ctx->unsure, true, __ATOMIC_RELAXED);
	if (known->live)
		return;
	known->live = true;
	known->user_data = 0;
	add_live(ctx, 1);
}

void oracle_pushed(struct context *ctx, const struct twheel_push *push)
{
	if (push->expires >> 63)
		violation("push: to a negative time");
	check_handle(ctx, push->handle, "push");
	if (keyed(ctx))
		pushed_key(ctx, push->handle);
	else
		oracle_found(ctx, push->handle, true, "push");
}

void oracle_not_pushed(struct context *ctx, const struct twheel_push *push, long error)
{
	/* Another thread may have configured the context since. */
	if (!ctx->unsure && error == -ENOENT && keyed(ctx))
		violation("push: a new timer is not found");
	if (!ctx->unsure && error != -ENOENT && error != -EINVAL && error != -EFAULT &&
	    !keyed(ctx))
		violation("push: makes no timer, and returned %ld", error);
	if (error == -EINVAL && !(push->expires >> 63))
		violation("push: EINVAL for nothing");
	if (push->expires >> 63 && error != -EINVAL && error != -EFAULT)
		violation("push: returned %ld for a negative time", error);
}

void oracle_told(struct context *ctx, const struct twheel_timer_info *info, bool list, bool drain)
{
	const char *call = list ? "list" : "get";
	bool lease = info->flags & TWHEEL_ARM_LEASE;

	check_handle(ctx, info->handle, call);
	oracle_found(ctx, info->handle, true, call);
	check_data(ctx, info->handle, info->user_data, call);
	if (info->state != TWHEEL_STATE_PENDING && (list || info->state != TWHEEL_STATE_READY))
		violation("%s: state %#x", call, info->state);
	if (info->flags & ~(TWHEEL_ARM_FIXED_DELAY | TWHEEL_ARM_LEASE))
		violation("%s: flags %#x", call, info->flags);
	if (info->slack % ctx->tick_ns)
		violation("%s: slack %#llx", call, info->slack);
	if (lease ? !(info->word % CHUNK_SLOTS) || info->interval : info->word || info->tag)
		violation("%s: word %#x, interval %#llx", call, info->word, info->interval);
	if (info->tag > TWHEEL_LEASE_TAG_MASK)
		violation("%s: tag %#x", call, info->tag);
	if (drain)
		ended(ctx, info->handle);
}

void oracle_read(struct context *ctx, const struct twheel_event *event)
{
	check_handle(ctx, event->handle, "read");
	oracle_found(ctx, event->handle, true, "read");
	check_data(ctx, event->handle, event->user_data, "read");
	if (event->expired < event->deadline)
		violation("read: expired at %#llx, due at %#llx", event->expired,
			  event->deadline);
	if (!event->expirations || event->flags & ~TWHEEL_EVENT_LAST || event->reserved)
		violation("read: %llu expirations, flags %#x, reserved %#x",
			  event->expirations, event->flags, event->reserved);
	if (event->flags & TWHEEL_EVENT_LAST)
		ended(ctx, event->handle);
}

void oracle_info(struct context *ctx, const struct twheel_info *info, bool quiet)
{
	__u32 clock = ctx->clock == CLOCK_REALTIME ? TWHEEL_CLOCK_REALTIME : ctx->clock;

	if (info->abi_version != TWHEEL_ABI_VERSION || info->features != FEATURES ||
	    info->tick_ns != ctx->tick_ns || info->config & ~CONFIGS)
		violation("info: version %u features %#llx tick %llu config %#x",
			  info->abi_version, info->features, info->tick_ns, info->config);
	if (!(info->flags & TWHEEL_INFO_NEXT) && info->next_expiry)
		violation("info: next_expiry %#llx", info->next_expiry);
	if (!quiet || ctx->unsure)
		return;

	if (info->pending + info->ready > info->user_timers)
		violation("info: %llu + %llu timers of %llu", info->pending,
			  info->ready, info->user_timers);
	if (info->clock != clock || info->config != ctx->config)
		violation("info: clock %u and config %#x, not %u and %#x",
			  info->clock, info->config, clock, ctx->config);
	if (info->pending + info->ready != (__u64)ctx->live)
		violation("info: %llu pending and %llu ready, not %lld", info->pending,
			  info->ready, ctx->live);
	if (info->flags & TWHEEL_INFO_NEXT && !info->pending && !info->ready &&
	    info->next_expiry != TWHEEL_NO_EXPIRY)
		violation("info: next_expiry %#llx of nothing", info->next_expiry);
}
