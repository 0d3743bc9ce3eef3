// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel said, held against what is known: the fuzzer's oracle.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "world.h"

#define FEATURES	0x3ffULL
#define CONFIGS		7U
/* Of a user_data, below which context it is of: bits of the arming's number. */
#define SERIAL_BITS	24
/* In the place of the first timer of so many is what describes them. */
#define CHUNK_SLOTS	64

void world_reset(struct world *world, bool exact)
{
	world->exact = exact;
	world->nr = 0;
}

struct context *world_add(struct world *world)
{
	__u32 i = __atomic_fetch_add(&world->nr, 1, __ATOMIC_RELAXED);
	struct context *ctx;

	if (i >= WORLD_CONTEXTS)
		return NULL;
	ctx = &world->contexts[i];
	memset(ctx, 0, sizeof(*ctx));
	ctx->clock = CLOCK_MONOTONIC;
	return ctx;
}

void violation(struct world *world, const char *fmt, ...)
{
	va_list ap;

	if (__atomic_fetch_add(&world->violations, 1, __ATOMIC_RELAXED))
		return;
	va_start(ap, fmt);
	vsnprintf(world->first, sizeof(world->first), fmt, ap);
	va_end(ap);
}

static __u64 first_user_data(const struct world *world, const struct context *ctx)
{
	return WORLD_MAGIC << 32 | (__u64)(ctx - world->contexts) << SERIAL_BITS;
}

__u64 world_user_data(struct world *world, const struct context *ctx)
{
	__u32 serial = __atomic_add_fetch(&world->serial, 1, __ATOMIC_RELAXED);

	return first_user_data(world, ctx) | serial % (1U << SERIAL_BITS);
}

static struct known *find(struct context *ctx, __u64 handle)
{
	__u32 i, n = ctx->nr < WORLD_HANDLES ? ctx->nr : WORLD_HANDLES;

	for (i = 0; i < n; i++)
		if (ctx->known[i].handle == handle)
			return &ctx->known[i];
	return NULL;
}

struct known *world_pick(struct context *ctx, __u32 ref)
{
	__u32 n = __atomic_load_n(&ctx->nr, __ATOMIC_RELAXED);

	if (n > WORLD_HANDLES)
		n = WORLD_HANDLES;
	return n ? &ctx->known[ref % n] : NULL;
}

static struct known *note(struct context *ctx, __u64 handle)
{
	struct known *known = find(ctx, handle);
	__u32 i;

	if (known)
		return known;
	i = __atomic_fetch_add(&ctx->nr, 1, __ATOMIC_RELAXED);
	if (i >= WORLD_HANDLES)
		ctx->evicted = true;
	known = &ctx->known[i % WORLD_HANDLES];
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

void world_found(struct world *world, struct context *ctx, __u64 handle, bool found,
		 const char *call)
{
	const struct known *known;

	if (!world->exact || ctx->unsure)
		return;
	known = find(ctx, handle);
	if (known && known->live != found)
		violation(world, "%s: %#llx is %s and was %s", call, handle,
			  known->live ? "live" : "over", found ? "found" : "not found");
	if (!known && found && !ctx->evicted)
		violation(world, "%s: %#llx was never given out", call, handle);
}

/* What came back as the user_data of @handle: was it armed with that? */
static void check_data(struct world *world, struct context *ctx, __u64 handle, __u64 data,
		       const char *call)
{
	const struct known *known = find(ctx, handle);

	if (ctx->unsure)
		return;
	if (data >> SERIAL_BITS != first_user_data(world, ctx) >> SERIAL_BITS ||
	    (world->exact && known && data != known->user_data))
		violation(world, "%s: user_data %#llx", call, data);
}

static bool keyed(const struct context *ctx)
{
	return __atomic_load_n(&ctx->config, __ATOMIC_RELAXED) & TWHEEL_CONFIG_KEYED;
}

static void check_handle(struct world *world, const struct context *ctx, __u64 handle,
			 const char *call)
{
	if (!ctx->unsure && !keyed(ctx) && !((__u32)handle % CHUNK_SLOTS))
		violation(world, "%s: impossible handle %#llx", call, handle);
}

static void check_old(struct world *world, __u32 state, __u64 left, bool failed,
		      const char *call)
{
	if (state > TWHEEL_STATE_READY || (failed && state) ||
	    (state != TWHEEL_STATE_PENDING && left))
		violation(world, "%s: old state %u with %#llx left", call, state, left);
}

void world_armed(struct world *world, struct context *ctx,
		 const struct twheel_arm *in, const struct twheel_arm *out)
{
	bool lease = in->flags & TWHEEL_ARM_LEASE && !out->result;
	bool sure = !ctx->unsure, named = keyed(ctx) || in->handle;
	struct known *known;

	if (in->user_data != out->user_data || in->expires != out->expires ||
	    in->interval != out->interval || in->slack != out->slack ||
	    in->flags != out->flags || (!lease && in->count != out->count))
		violation(world, "arm: what is only read has changed");
	check_old(world, out->old_state, out->old_remaining, out->result, "arm");
	if ((in->expires | in->interval | in->slack) >> 63 && out->result != -EINVAL)
		violation(world, "arm: result %d of a negative time", out->result);

	if (in->flags & TWHEEL_ARM_IF_PENDING && !out->result &&
	    out->old_state != TWHEEL_STATE_PENDING)
		violation(world, "arm: if pending, in state %u", out->old_state);
	if (in->flags & TWHEEL_ARM_IF_NONE && !out->result && out->old_state)
		violation(world, "arm: if none, in state %u", out->old_state);
	if (out->result == -EEXIST) {
		if (!(in->flags & TWHEEL_ARM_IF_NONE))
			violation(world, "arm: there is one, as there may be");
		world_found(world, ctx, in->handle, true, "arm");
	}
	/* One that is not found if it is to be pending may have expired. */
	if (out->result == -ENOENT && !(in->flags & TWHEEL_ARM_IF_PENDING)) {
		if (sure && (!named || keyed(ctx)))
			violation(world, "arm: a new timer is not found");
		world_found(world, ctx, in->handle, false, "arm");
	}

	switch (out->result) {
	case 0:
		break;
	case -ENOENT: case -EEXIST: case -EINVAL: case -ENOSPC: case -EDQUOT: case -ENOMEM:
		if (out->handle != in->handle)
			violation(world, "arm: failed and gave a handle");
		return;
	default:
		violation(world, "arm: result %d", out->result);
		return;
	}

	check_handle(world, ctx, out->handle, "arm");
	if (sure && named && out->handle != in->handle)
		violation(world, "arm: %#llx became %#llx", in->handle, out->handle);
	if (sure && !keyed(ctx) && !in->handle == !!out->old_state)
		violation(world, "arm: %#llx was in state %u", in->handle, out->old_state);
	if (sure && lease && !keyed(ctx) && out->word != (__u32)out->handle)
		violation(world, "arm: word %#x of %#llx", out->word, out->handle);

	if (out->old_state == TWHEEL_STATE_NONE) {
		world_found(world, ctx, out->handle, false, "arm anew");
		add_live(ctx, 1);
	} else {
		world_found(world, ctx, out->handle, true, "arm again");
	}
	known = note(ctx, out->handle);
	known->live = true;
	known->user_data = in->user_data;
	if (lease)
		known->word = out->word;
}

void world_cancelled(struct world *world, struct context *ctx,
		     const struct twheel_cancel *in, const struct twheel_cancel *out)
{
	if (in->handle != out->handle || in->flags != out->flags ||
	    in->reserved != out->reserved)
		violation(world, "cancel: what is only read has changed");
	check_old(world, out->old_state, out->old_remaining, out->result, "cancel");

	switch (out->result) {
	case 0:
		if (!out->old_state)
			violation(world, "cancel: of nothing");
		world_found(world, ctx, in->handle, true, "cancel");
		ended(ctx, in->handle);
		break;
	case -ENOENT:
		world_found(world, ctx, in->handle, false, "cancel");
		break;
	case -EINVAL:
		if (!in->flags && !in->reserved)
			violation(world, "cancel: EINVAL for nothing");
		break;
	default:
		violation(world, "cancel: result %d", out->result);
	}
}

void world_told(struct world *world, struct context *ctx,
		const struct twheel_timer_info *info, bool list, bool drain)
{
	const char *call = list ? "list" : "get";
	bool lease = info->flags & TWHEEL_ARM_LEASE;

	check_handle(world, ctx, info->handle, call);
	world_found(world, ctx, info->handle, true, call);
	check_data(world, ctx, info->handle, info->user_data, call);
	if (info->state != TWHEEL_STATE_PENDING && (list || info->state != TWHEEL_STATE_READY))
		violation(world, "%s: state %#x", call, info->state);
	if (info->flags & ~(TWHEEL_ARM_FIXED_DELAY | TWHEEL_ARM_LEASE))
		violation(world, "%s: flags %#x", call, info->flags);
	if (info->slack % world->tick_ns)
		violation(world, "%s: slack %#llx", call, info->slack);
	if (lease ? !(info->word % CHUNK_SLOTS) || info->interval : info->word)
		violation(world, "%s: word %#x, interval %#llx", call, info->word, info->interval);
	if (drain)
		ended(ctx, info->handle);
}

void world_read(struct world *world, struct context *ctx,
		const struct twheel_event *event)
{
	check_handle(world, ctx, event->handle, "read");
	world_found(world, ctx, event->handle, true, "read");
	check_data(world, ctx, event->handle, event->user_data, "read");
	if (event->expired < event->deadline)
		violation(world, "read: expired at %#llx, due at %#llx", event->expired,
			  event->deadline);
	if (!event->expirations || event->flags & ~TWHEEL_EVENT_LAST || event->reserved)
		violation(world, "read: %llu expirations, flags %#x, reserved %#x",
			  event->expirations, event->flags, event->reserved);
	if (event->flags & TWHEEL_EVENT_LAST)
		ended(ctx, event->handle);
}

void world_info(struct world *world, struct context *ctx,
		const struct twheel_info *info, bool quiet)
{
	if (info->abi_version != TWHEEL_ABI_VERSION || info->features != FEATURES ||
	    info->tick_ns != world->tick_ns || info->config & ~CONFIGS)
		violation(world, "info: version %u features %#llx tick %llu config %#x",
			  info->abi_version, info->features, info->tick_ns, info->config);
	if (!(info->flags & TWHEEL_INFO_NEXT) && info->next_expiry)
		violation(world, "info: next_expiry %#llx", info->next_expiry);
	if (!quiet || ctx->unsure)
		return;

	if (info->pending + info->ready > info->user_timers)
		violation(world, "info: %llu + %llu timers of %llu", info->pending,
			  info->ready, info->user_timers);
	if (info->clock != ctx->clock || info->config != ctx->config)
		violation(world, "info: clock %u and config %#x, not %u and %#x",
			  info->clock, info->config, ctx->clock, ctx->config);
	if (info->pending + info->ready != (__u64)ctx->live)
		violation(world, "info: %llu pending and %llu ready, not %lld", info->pending,
			  info->ready, ctx->live);
	if (info->flags & TWHEEL_INFO_NEXT && !info->pending && !info->ready &&
	    info->next_expiry != TWHEEL_NO_EXPIRY)
		violation(world, "info: next_expiry %#llx of nothing", info->next_expiry);
}
