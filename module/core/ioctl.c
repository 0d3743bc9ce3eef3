// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The requests of uapi/linux/twheel.h, in and out.
 */
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/time.h>
#include <linux/uaccess.h>

#include <linux/twheel.h>

#include "arm.h"
#include "cancel.h"
#include "ctx.h"
#include "host.h"
#include "ioctl.h"
#include "list.h"

/* Entries of a batch that are copied in and out at a time. */
#define TWHEEL_BATCH_PART	64

#define TWHEEL_FEATURES	(TWHEEL_FEATURE_BOOTTIME | TWHEEL_FEATURE_BATCH | \
			 TWHEEL_FEATURE_INTERVAL | TWHEEL_FEATURE_SLACK | \
			 TWHEEL_FEATURE_LIST | TWHEEL_FEATURE_REALTIME | \
			 TWHEEL_FEATURE_FIXED_DELAY | TWHEEL_FEATURE_KEYED | \
			 TWHEEL_FEATURE_LEASE | TWHEEL_FEATURE_CONDITIONAL | \
			 TWHEEL_FEATURE_PUSH)

#define TWHEEL_CONFIGS	(TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_CANCEL_ON_SET | \
			 TWHEEL_CONFIG_LEASE)

static_assert(sizeof(struct twheel_info) == 96);
static_assert(sizeof(struct twheel_config) == 32);
static_assert(sizeof(struct twheel_arm) == 64);
static_assert(sizeof(struct twheel_cancel) == 32);
static_assert(sizeof(struct twheel_batch) == 16);
static_assert(sizeof(struct twheel_timer_info) == 64);
static_assert(sizeof(struct twheel_list) == 24);
static_assert(sizeof(struct twheel_event) == 48);
static_assert(offsetof(struct twheel_info, now) == 40);
static_assert(offsetof(struct twheel_arm, flags) == 48);
static_assert(offsetof(struct twheel_arm, old_state) == 54);
static_assert(offsetof(struct twheel_cancel, result) == 16);
static_assert(offsetof(struct twheel_timer_info, flags) == 56);
static_assert(offsetof(struct twheel_timer_info, word) == 60);
static_assert(offsetof(struct twheel_event, flags) == 40);

/* What &twheel_config.clock calls each clock */
static const u32 config_clocks[TWHEEL_NR_CLOCKS] = {
	[TWHEEL_MONOTONIC]	= CLOCK_MONOTONIC,
	[TWHEEL_BOOTTIME]	= CLOCK_BOOTTIME,
	/* CLOCK_REALTIME is 0, and 0 asks for nothing: so wall time has a number of its own. */
	[TWHEEL_REALTIME]	= TWHEEL_CLOCK_REALTIME,
};

static long ioctl_get_info(struct twheel_ctx *ctx,
			   struct twheel_info __user *arg)
{
	enum twheel_clock clock = READ_ONCE(ctx->clock);
	struct twheel_info info;
	u32 flags;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (info.flags & ~TWHEEL_INFO_NEXT)
		return -EINVAL;

	flags = info.flags;
	info = (struct twheel_info) {
		.flags		= flags,
		.abi_version	= TWHEEL_ABI_VERSION,
		.features	= TWHEEL_FEATURES,
		.tick_ns	= 1ULL << twheel_geometry.tick_shift,
		.slots		= twheel_geometry.slots,
		.levels		= twheel_geometry.levels,
		.clock		= config_clocks[clock],
		.config		= READ_ONCE(ctx->config),
		.now		= twheel_clock_to_user(clock, twheel_clock_now(clock)),
		.limit		= twheel_pool_limit(&ctx->pool),
		.user_limit	= READ_ONCE(twheel_max_user_timers),
		.user_timers	= twheel_quota_timers(ctx->pool.account.quota),
	};
	if (flags & TWHEEL_INFO_NEXT)
		info.next_expiry = twheel_list_next_expiry(ctx);

	twheel_ctx_count(ctx, &info.pending, &info.ready);

	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

/* The clock that &twheel_config.clock asks for, or -EINVAL. */
static int find_clock(u32 clock)
{
	int i;

	if (!clock)
		return TWHEEL_MONOTONIC;
	for (i = 0; i < TWHEEL_NR_CLOCKS; i++)
		if (config_clocks[i] == clock)
			return i;
	return -EINVAL;
}

static long ioctl_config(struct twheel_ctx *ctx,
			 const struct twheel_config __user *arg)
{
	struct twheel_config config;
	int clock;

	if (copy_from_user(&config, arg, sizeof(config)))
		return -EFAULT;
	if (config.flags & ~TWHEEL_CONFIGS || config.reserved[0] ||
	    config.reserved[1])
		return -EINVAL;
	clock = find_clock(config.clock);
	if (clock < 0)
		return clock;
	if (config.flags & TWHEEL_CONFIG_CANCEL_ON_SET && clock != TWHEEL_REALTIME)
		return -EINVAL;
	return twheel_ctx_config(ctx, clock, config.flags, config.limit);
}

/**
 * struct twheel_op - what is done to each entry of a batch
 * @size:	bytes of an entry
 * @run:	carry out some entries
 * @undo:	take back one whose result cannot be stored; or NULL
 * @result:	the result of one
 */
struct twheel_op {
	size_t	size;
	void	(*run)(struct twheel_ctx *ctx, void *entries, u32 n);
	void	(*undo)(struct twheel_ctx *ctx, void *entry);
	s32	(*result)(const void *entry);
};

static void run_arm(struct twheel_ctx *ctx, void *entries, u32 n)
{
	twheel_arm_entries(ctx, entries, n);
}

static void undo_arm(struct twheel_ctx *ctx, void *entry)
{
	const struct twheel_arm *arm = entry;
	struct twheel_cancel cancel = { .handle = arm->handle };

	/* With a key, another call may have armed that timer since, and relies on it. */
	if (READ_ONCE(ctx->config) & TWHEEL_CONFIG_KEYED)
		return;
	if (!arm->result && arm->old_state == TWHEEL_STATE_NONE)
		twheel_cancel_entries(ctx, &cancel, 1);
}

static s32 arm_result(const void *entry)
{
	return ((const struct twheel_arm *)entry)->result;
}

static void run_cancel(struct twheel_ctx *ctx, void *entries, u32 n)
{
	twheel_cancel_entries(ctx, entries, n);
}

static s32 cancel_result(const void *entry)
{
	return ((const struct twheel_cancel *)entry)->result;
}

static const struct twheel_op twheel_op_arm = {
	.size	= sizeof(struct twheel_arm),
	.run	= run_arm,
	.undo	= undo_arm,
	.result	= arm_result,
};

static const struct twheel_op twheel_op_cancel = {
	.size	= sizeof(struct twheel_cancel),
	.run	= run_cancel,
	.result	= cancel_result,
};

/*
 * How many of the @n bytes at @user, which were just copied to @buf, can be written? Writes
 * back a byte of each page.
 */
static size_t writable(char __user *user, const char *buf, size_t n)
{
	size_t i = 0;

	while (i < n && !put_user(buf[i], user + i))
		i += PAGE_SIZE - offset_in_page(user + i);
	return min(i, n);
}

union twheel_entry {
	struct twheel_arm	arm;
	struct twheel_cancel	cancel;
	u64			words[sizeof(struct twheel_arm) / sizeof(u64)];
};

/*
 * Carry out up to @n entries at @user, with room for them at @buf. Returns how
 * many: fewer if the rest cannot be read or written.
 */
static u32 run_entries(struct twheel_ctx *ctx, const struct twheel_op *op,
		       void __user *user, void *buf, u32 n)
{
	u32 i, stored;

	i = n - DIV_ROUND_UP(copy_from_user(buf, user, n * op->size), op->size);
	/* On arm64 up to 64 bytes before those that cannot be read count as not copied, too. */
	while (i < n && !copy_from_user(buf + i * op->size, user + i * op->size, op->size))
		i++;
	n = writable(user, buf, i * op->size) / op->size;

	op->run(ctx, buf, n);

	stored = n - DIV_ROUND_UP(copy_to_user(user, buf, n * op->size),
				  op->size);
	for (i = stored; op->undo && i < n; i++)
		op->undo(ctx, buf + i * op->size);
	return stored;
}

/*
 * Copy the @n words of an entry at @user, and see whether they can be written: an entry is on two
 * pages at most, so the first and the last word are written back. Returns whether all that could be
 * done. For so few words copy_from_user() and put_user() take three times as many instructions.
 */
static __always_inline bool read_entry(u64 *words, u64 __user *user, size_t n)
{
	size_t i;

	if (!user_access_begin(user, n * sizeof(*user)))
		return false;
#pragma GCC unroll 8
	for (i = 0; i < n; i++)
		unsafe_get_user(words[i], &user[i], fault);
	unsafe_put_user(words[0], user, fault);
	unsafe_put_user(words[n - 1], &user[n - 1], fault);
	user_access_end();
	return true;

fault:
	user_access_end();
	return false;
}

/* As run_entries(), for one. Inlined, so that the calls are direct ones and the size is known. */
static __always_inline long ioctl_one(struct twheel_ctx *ctx, const struct twheel_op *op,
				      void __user *arg)
{
	union twheel_entry entry __uninitialized;

	/* Some machines cannot read such words. */
	if (unlikely((unsigned long)arg % sizeof(u64)))
		return run_entries(ctx, op, arg, &entry, 1) ? op->result(&entry) : -EFAULT;
	if (!read_entry(entry.words, arg, op->size / sizeof(u64)))
		return -EFAULT;

	op->run(ctx, &entry, 1);

	if (likely(!copy_to_user(arg, &entry, op->size)))
		return op->result(&entry);
	if (op->undo)
		op->undo(ctx, &entry);
	return -EFAULT;
}

static long ioctl_batch(struct twheel_ctx *ctx, const struct twheel_op *op,
			const struct twheel_batch __user *arg)
{
	u32 part, done = 0;
	struct twheel_batch batch;
	union twheel_entry single;
	void __user *user;
	void *buf;

	if (copy_from_user(&batch, arg, sizeof(batch)))
		return -EFAULT;
	if (batch.flags || batch.count > INT_MAX)
		return -EINVAL;
	if (!batch.count)
		return 0;

	/* Without memory one after another: a cancel gives memory back, and a re-arm needs none. */
	part = min_t(u32, batch.count, TWHEEL_BATCH_PART);
	buf = kmalloc_array(part, op->size, GFP_KERNEL | __GFP_NOWARN);
	if (!buf)
		part = 1;

	user = u64_to_user_ptr(batch.entries);
	while (done < batch.count) {
		u32 n = min(batch.count - done, part);
		u32 stored = run_entries(ctx, op, user + done * op->size, buf ?: &single, n);

		done += stored;
		/* Not for work of io_uring: nobody would know why the rest was left. */
		if (stored < n || task_sigpending(current))
			break;
		cond_resched();
	}
	kfree(buf);
	return done ? (long)done : -EFAULT;
}

static long ioctl_get(struct twheel_ctx *ctx,
		      struct twheel_timer_info __user *arg)
{
	struct twheel_timer_info info;
	int ret;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	ret = twheel_list_get(ctx, &info);
	if (ret)
		return ret;
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static long ioctl_list(struct twheel_ctx *ctx, struct twheel_list __user *arg, bool writable)
{
	struct twheel_list list;
	u32 index, end;
	long n;

	if (copy_from_user(&list, arg, sizeof(list)))
		return -EFAULT;
	if (list.flags & ~TWHEEL_LIST_DRAIN || !list.count ||
	    list.count > INT_MAX)
		return -EINVAL;
	if (list.flags & TWHEEL_LIST_DRAIN && !writable)
		return -EBADF;

	/* The cursor is the next index, and the end as it was at the start. */
	index = lower_32_bits(list.cursor);
	end = upper_32_bits(list.cursor);
	if (!list.cursor)
		end = twheel_pool_end(&ctx->pool);

	/* See now whether it can be written: timers that were drained are gone. */
	if (put_user(list.cursor, &arg->cursor))
		return -EFAULT;

	n = twheel_list_pending(ctx, &index, end, list.flags & TWHEEL_LIST_DRAIN,
				u64_to_user_ptr(list.entries), list.count);
	/* Also after a signal: the call that restarts, or the next one, goes on from here. */
	if (n != -EFAULT && put_user((u64)end << 32 | index, &arg->cursor) && n <= 0)
		return -EFAULT;
	return n;
}

long twheel_ioctl(struct twheel_ctx *ctx, unsigned int cmd, void __user *arg, bool readable,
		  bool writable)
{
	switch (cmd) {
	case TWHEEL_IOC_GET_INFO:
		return readable ? ioctl_get_info(ctx, arg) : -EBADF;
	case TWHEEL_IOC_CONFIG:
		return writable ? ioctl_config(ctx, arg) : -EBADF;
	case TWHEEL_IOC_ARM:
		return writable ? ioctl_one(ctx, &twheel_op_arm, arg) : -EBADF;
	case TWHEEL_IOC_ARM_BATCH:
		return writable ? ioctl_batch(ctx, &twheel_op_arm, arg) : -EBADF;
	case TWHEEL_IOC_CANCEL:
		return writable ? ioctl_one(ctx, &twheel_op_cancel, arg) : -EBADF;
	case TWHEEL_IOC_CANCEL_BATCH:
		return writable ? ioctl_batch(ctx, &twheel_op_cancel, arg) : -EBADF;
	case TWHEEL_IOC_GET:
		return readable ? ioctl_get(ctx, arg) : -EBADF;
	case TWHEEL_IOC_LIST:
		return readable ? ioctl_list(ctx, arg, writable) : -EBADF;
	default:
		return -ENOTTY;
	}
}
