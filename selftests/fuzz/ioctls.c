// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that are ioctls of the device.
 */
#include <stdlib.h>
#include <string.h>

#include "thread.h"

/* The settings that @call asks for: most of them are valid together. */
static struct twheel_config make_config(const struct call *call)
{
	static const __u32 clocks[] = {
		CLOCK_MONOTONIC, CLOCK_BOOTTIME, TWHEEL_CLOCK_REALTIME, 0,
		TWHEEL_CLOCK_REALTIME, CLOCK_MONOTONIC, 2, ~0U,
	};
	static const __u64 limits[] = { 0, 0, 0, 1, 5, 63, 64, 200, ~0ULL };
	struct twheel_config config = {
		.clock = clocks[call->mode % 8],
		.flags = decode_flags(call->flags, 7),
		.limit = call->count < 128 ? 0 : limits[call->count % 9],
		.reserved = { call->slack == 254, call->slack == 255 },
	};

	if (config.clock != TWHEEL_CLOCK_REALTIME && call->mode < 192)
		config.flags &= ~TWHEEL_CONFIG_CANCEL_ON_SET;
	return config;
}

long op_config(struct thread *self, const struct call *call, struct slot *slot)
{
	struct twheel_config config = make_config(call);
	struct buffer buffer = buffer_of(self, call, sizeof(config));
	struct context *ctx = slot->ctx;
	bool used = ctx->nr;
	long ret;

	memory_copy(buffer.at, &config, sizeof(config));
	/* A child may configure it at the same time, or use it before we note the outcome. */
	if (run.parallel || run.is_child || self->nr_children || !memory_sure(&buffer))
		lose_track(ctx);

	ret = tw_call(slot->fd, TWHEEL_IOC_CONFIG, buffer.at);
	if (is_read_only(slot))
		return expect_refusal("config", ret);
	expect_of(&buffer, "config", ret, 0, "ibmf");
	if (!ret && used && ctx->exact && !ctx->unsure)
		violation("config: after the first timer");
	if (!ret && memory_sure(&buffer)) {
		ctx->clock = config.clock == TWHEEL_CLOCK_REALTIME ? CLOCK_REALTIME :
			     config.clock ?: CLOCK_MONOTONIC;
		__atomic_store_n(&ctx->config, config.flags, __ATOMIC_RELAXED);
	}
	return ret;
}

/* Entry @i of a batch, or the only one. */
static struct twheel_arm make_arm(const struct call *call, struct context *ctx, __u32 i)
{
	__u32 flags = decode_flags(call->flags, 31), config = ctx->config;
	struct twheel_arm arm;

	/* The outputs hold rubbish, which the kernel has to overwrite. */
	memset(&arm, 0xcc, sizeof(arm));
	arm.user_data = world_user_data(run.world, ctx);
	arm.interval = decode_interval(call->interval + i % 3 * 5);
	arm.slack = call->slack < 128 ? 0 : 1ULL << (call->slack + i) % 64;
	arm.count = call->mode & 16 ? 1 + (call->count + i) % 5 : 0;

	/* Most requests are valid. */
	if (!(call->mode & 32) || i % 7) {
		if (call->flags & 32)
			flags &= ~TWHEEL_ARM_IF_PENDING;
		if (call->flags & 64 || flags & TWHEEL_ARM_IF_PENDING)
			flags &= ~TWHEEL_ARM_IF_NONE;
		if (ctx->clock == CLOCK_REALTIME)
			flags |= TWHEEL_ARM_ABS;
		if (!(config & TWHEEL_CONFIG_LEASE))
			flags &= ~TWHEEL_ARM_LEASE;
		if (flags & TWHEEL_ARM_LEASE)
			arm.interval = 0;
		if (!arm.interval) {
			flags &= ~TWHEEL_ARM_FIXED_DELAY;
			arm.count = 0;
		}
	}
	arm.flags = flags;
	arm.expires = decode_time(call->time, call->mag + i * 3,
				  flags & TWHEEL_ARM_ABS ? tw_now(ctx->clock) : 0);
	if (is_keyed(ctx) || (call->mode + i) & 1)
		arm.handle = decode_handle(ctx, call->ref + i, call->mode / 2);
	else
		arm.handle = 0;
	return arm;
}

static struct twheel_cancel make_cancel(const struct call *call, struct context *ctx, __u32 i)
{
	return (struct twheel_cancel) {
		.handle = decode_handle(ctx, call->ref + i, call->mode),
		.flags = call->flags >= 250 ? 1U << call->flags % 32 : 0,
		.reserved = call->slack >= 250,
		.result = 0x5c5c5c5c,
		.old_state = 0x5c5c5c5c,
		.old_remaining = 0x5c5c5c5c5c5c5c5cULL,
	};
}

static void make_arms(struct thread *self, const struct call *call, struct context *ctx, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		self->arms[i] = make_arm(call, ctx, i);
}

static void make_cancels(struct thread *self, const struct call *call, struct context *ctx,
			 __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		self->cancels[i] = make_cancel(call, ctx, i);
}

static long check_arm(struct context *ctx, const void *in, const void *out)
{
	const struct twheel_arm *arm = out;

	oracle_armed(ctx, in, arm);
	return arm->result;
}

static long check_cancel(struct context *ctx, const void *in, const void *out)
{
	const struct twheel_cancel *cancel = out;

	oracle_cancelled(ctx, in, cancel);
	return cancel->result;
}

/**
 * struct entry_call - an ioctl with entries, one or an array
 * @name: for people
 * @cmd: the ioctl
 * @batch: it takes an array
 * @errors: that the call itself may give, a letter each
 * @size: of an entry
 * @make: makes up the first entries
 * @check: checks what came of an entry; gives the result that it has in it
 */
struct entry_call {
	const char *name;
	unsigned long cmd;
	bool batch;
	const char *errors;
	size_t size;
	void (*make)(struct thread *self, const struct call *call, struct context *ctx, __u32 n);
	long (*check)(struct context *ctx, const void *in, const void *out);
};

/* The first @made entries, of which @done were handled by a call that returned @ret. */
static void check_entries(const struct entry_call *type, struct context *ctx, const char *in,
			  const struct buffer *buffer, __u32 made, __u32 done, long ret)
{
	union {
		struct twheel_arm arm;
		struct twheel_cancel cancel;
	} out;
	long result;
	__u32 i;

	for (i = 0; i < made; i++, in += type->size) {
		if (memory_copy(&out, buffer->at + i * type->size, type->size) != type->size)
			break;
		if (i >= done) {
			if (memcmp(&out, in, type->size))
				violation("%s: %u handled, %u changed", type->name,
					  done, i);
			continue;
		}
		result = type->check(ctx, in, &out);
		if (!type->batch && result != ret)
			violation("%s: result %ld, returned %ld", type->name,
				  result, ret);
	}
}

static long call_entries(struct thread *self, const struct call *call, struct slot *slot,
			 const struct entry_call *type)
{
	struct twheel_batch header = { .count = type->batch ? decode_count(call->count) : 1 };
	struct buffer buffer = buffer_of(self, call, header.count * type->size);
	bool bad_header = type->batch && call->slack >= 252;
	__u32 staged = header.count, made, done;
	char *in = (char *)self->arms;
	void *argument = buffer.at;
	long ret;

	if (staged > ENTRIES)
		staged = ENTRIES;
	if (staged > buffer.size / type->size)
		staged = buffer.size / type->size;
	type->make(self, call, slot->ctx, staged);
	made = memory_copy(buffer.at, in, staged * type->size) / type->size;
	/* Timers of entries that cannot be seen before and after the call are not counted. */
	if (!memory_sure(&buffer) || header.count > staged)
		lose_track(slot->ctx);

	if (type->batch) {
		header.entries = (unsigned long)buffer.at;
		header.flags = call->flags == 255;
		argument = bad_header ? (void *)(call->slack - 252UL) : &header;
	}
	ret = tw_call(slot->fd, type->cmd, argument);
	if (is_read_only(slot)) {
		if (memory_sure(&buffer))
			check_entries(type, slot->ctx, in, &buffer, made, 0, ret);
		return expect_refusal(type->name, ret);
	}
	if (bad_header)
		expect(type->name, ret, header.count, type->errors);
	else
		expect_of(&buffer, type->name, ret, type->batch ? header.count : 0, type->errors);
	if (!memory_sure(&buffer))
		return ret;

	if (type->batch)
		done = ret < 0 ? 0 : ret;
	else
		done = ret != -EFAULT;
	check_entries(type, slot->ctx, in, &buffer, made, done, ret);
	if (header.count != staged)
		return ret;
	if (done > made)
		violation("%s: %u handled, of %u", type->name, done, made);
	if (made == staged)
		check_clean(type->name, &buffer, made * type->size);
	return ret;
}

long op_arm(struct thread *self, const struct call *call, struct slot *slot)
{
	static const struct entry_call type = {
		.name = "arm", .cmd = TWHEEL_IOC_ARM, .batch = false, .errors = "iefsqmE",
		.size = sizeof(struct twheel_arm), .make = make_arms, .check = check_arm,
	};

	return call_entries(self, call, slot, &type);
}

long op_arm_batch(struct thread *self, const struct call *call, struct slot *slot)
{
	static const struct entry_call type = {
		.name = "arm_batch", .cmd = TWHEEL_IOC_ARM_BATCH, .batch = true, .errors = "ifm",
		.size = sizeof(struct twheel_arm), .make = make_arms, .check = check_arm,
	};

	return call_entries(self, call, slot, &type);
}

long op_cancel(struct thread *self, const struct call *call, struct slot *slot)
{
	static const struct entry_call type = {
		.name = "cancel", .cmd = TWHEEL_IOC_CANCEL, .batch = false, .errors = "ief",
		.size = sizeof(struct twheel_cancel), .make = make_cancels, .check = check_cancel,
	};

	return call_entries(self, call, slot, &type);
}

long op_cancel_batch(struct thread *self, const struct call *call, struct slot *slot)
{
	static const struct entry_call type = {
		.name = "cancel_batch", .cmd = TWHEEL_IOC_CANCEL_BATCH, .batch = true,
		.errors = "ifm", .size = sizeof(struct twheel_cancel),
		.make = make_cancels, .check = check_cancel,
	};

	return call_entries(self, call, slot, &type);
}

long op_get(struct thread *self, const struct call *call, struct slot *slot)
{
	struct twheel_timer_info info;
	struct buffer buffer = buffer_of(self, call, sizeof(info));
	__u64 handle = decode_handle(slot->ctx, call->ref, call->mode);
	long ret;

	memset(&info, 0xcc, sizeof(info));
	info.handle = handle;
	memory_copy(buffer.at, &info, sizeof(info));
	ret = tw_call(slot->fd, TWHEEL_IOC_GET, buffer.at);
	expect_of(&buffer, "get", ret, 0, "ef");
	if (!memory_sure(&buffer))
		return ret;

	if (!ret && memory_copy(&info, buffer.at, sizeof(info)) == sizeof(info)) {
		if (info.handle != handle)
			violation("get: %#llx for %#llx", info.handle, handle);
		oracle_told(slot->ctx, &info, false, false);
	} else if (ret == -ENOENT) {
		oracle_found(slot->ctx, handle, false, "get");
	}
	if (buffer.kind != MEMORY_CROSS)
		check_clean("get", &buffer, sizeof(info));
	return ret;
}

long op_list(struct thread *self, const struct call *call, struct slot *slot)
{
	struct twheel_list list = {
		.count = decode_count(call->count),
		.flags = decode_flags(call->flags, TWHEEL_LIST_DRAIN),
	};
	__u64 *cursor = &run.world->cursors[slot->ctx - run.world->contexts];
	bool drain = list.flags & TWHEEL_LIST_DRAIN;
	struct context *ctx = slot->ctx;
	struct twheel_timer_info info;
	struct buffer buffer;
	long ret, i;

	if (call->mode & 2)
		list.cursor = call->mode & 1 ? *cursor : decode_time(call->time, call->mag, 0);
	buffer = buffer_of(self, call, (size_t)list.count * sizeof(info));
	list.entries = (unsigned long)buffer.at;
	if (drain && !memory_sure(&buffer))
		lose_track(ctx);

	if (call->slack >= 252) {
		ret = tw_call(slot->fd, TWHEEL_IOC_LIST, (void *)(call->slack - 252UL));
		expect("list", ret, list.count, "ifr");
	} else {
		ret = tw_call(slot->fd, TWHEEL_IOC_LIST, &list);
		if (drain && is_read_only(slot) && ret != -EINVAL)
			return expect_refusal("list", ret);
		expect_of(&buffer, "list", ret, list.count, "ifr");
	}
	*cursor = list.cursor;
	if (ret <= 0 || !memory_sure(&buffer))
		return ret;

	for (i = 0; i < ret; i++) {
		const char *from = buffer.at + i * sizeof(info);

		if (memory_copy(&info, from, sizeof(info)) != sizeof(info)) {
			violation("list: %ld entries, and no memory for %ld", ret, i);
			return ret;
		}
		oracle_told(ctx, &info, true, drain);
	}
	/* An entry that was stored in part only, where memory ends, is not counted. */
	if (buffer.kind == MEMORY_GOOD || buffer.kind == MEMORY_ODD)
		check_clean("list", &buffer, ret * sizeof(info));
	return ret;
}

long op_info(struct thread *self, const struct call *call, struct slot *slot)
{
	struct twheel_info info;
	struct buffer buffer = buffer_of(self, call, sizeof(info));
	long ret;

	memset(&info, 0xcc, sizeof(info));
	info.flags = decode_flags(call->flags, TWHEEL_INFO_NEXT);
	info.config = call->mode == 255;
	memory_copy(buffer.at, &info, sizeof(info));
	ret = tw_call(slot->fd, TWHEEL_IOC_GET_INFO, buffer.at);
	expect_of(&buffer, "info", ret, 0, "if");
	if (!ret && memory_sure(&buffer) &&
	    memory_copy(&info, buffer.at, sizeof(info)) == sizeof(info))
		oracle_info(slot->ctx, &info, slot->ctx->exact);
	if (buffer.kind != MEMORY_CROSS)
		check_clean("info", &buffer, sizeof(info));
	return ret;
}

long op_bad_ioctl(struct thread *self, const struct call *call, struct slot *slot)
{
	static const unsigned long cmds[] = {
		TWHEEL_IOC_GET_INFO, TWHEEL_IOC_CONFIG, TWHEEL_IOC_ARM,
		TWHEEL_IOC_ARM_BATCH, TWHEEL_IOC_CANCEL, TWHEEL_IOC_CANCEL_BATCH,
		TWHEEL_IOC_GET, TWHEEL_IOC_LIST,
	};
	unsigned long cmd = cmds[call->ref % 8];
	struct buffer buffer = buffer_of(self, call, 256);
	long ret;

	switch (call->mode % 4) {
	case 0:
		cmd += 8 * (1 + call->mag % 16);
		break;
	case 1:
		cmd ^= (unsigned long)(1 + call->mag % 255) << 16;
		break;
	case 2:
		cmd ^= (unsigned long)(1 + call->mag % 3) << 30;
		break;
	default:
		cmd += (1 + call->mag % 8) << 8;
	}
	ret = tw_call(slot->fd, cmd, buffer.at);
	if (ret != -ENOTTY)
		violation("ioctl %#lx: returned %ld", cmd, ret);
	check_clean("ioctl", &buffer, 0);
	return ret;
}
