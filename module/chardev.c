// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file operations of /dev/twheel: the interface of uapi/linux/twheel.h, in
 * and out.
 */
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <linux/twheel.h>

#include "base.h"
#include "chardev.h"
#include "ctx.h"
#include "quota.h"
#include "stats.h"
#include "timer.h"
#include "trace.h"

/* Entries of a batch that are copied in and out at a time. */
#define TWHEEL_BATCH_CHUNK	64

/*
 * How often memory is faulted in for the same record. Once is enough, unless it
 * is taken away again at once.
 */
#define TWHEEL_FAULT_TRIES	16

#define TWHEEL_FEATURES	(TWHEEL_FEATURE_BOOTTIME | TWHEEL_FEATURE_BATCH | \
			 TWHEEL_FEATURE_INTERVAL | TWHEEL_FEATURE_SLACK | \
			 TWHEEL_FEATURE_LIST | TWHEEL_FEATURE_REALTIME | \
			 TWHEEL_FEATURE_FIXED_DELAY | TWHEEL_FEATURE_KEYED | \
			 TWHEEL_FEATURE_LEASE | TWHEEL_FEATURE_CONDITIONAL)

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
static_assert(offsetof(struct twheel_arm, result) == 48);
static_assert(offsetof(struct twheel_cancel, result) == 16);
static_assert(offsetof(struct twheel_timer_info, count) == 48);
static_assert(offsetof(struct twheel_event, flags) == 40);

static int twheel_open(struct inode *inode, struct file *file)
{
	struct twheel_ctx *ctx = twheel_ctx_create(file->f_cred);

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);

	file->private_data = ctx;
	/* read() knows how not to wait. */
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static int twheel_release(struct inode *inode, struct file *file)
{
	struct twheel_ctx *ctx = file->private_data;

	twheel_timer_discard_all(ctx);
	twheel_ctx_destroy(ctx);
	return 0;
}

/* Would a read return at once? */
static bool is_readable(const struct twheel_ctx *ctx)
{
	return READ_ONCE(ctx->nr_ready) || twheel_ctx_stepped(ctx);
}

static __poll_t twheel_poll(struct file *file, poll_table *wait)
{
	struct twheel_ctx *ctx = file->private_data;

	poll_wait(file, &ctx->poll_wq, wait);
	return is_readable(ctx) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * Store all that is ready and fits: the bytes, 0 if nothing was ready, or a
 * negative errno if nothing was stored.
 */
static ssize_t read_ready(struct twheel_ctx *ctx, struct iov_iter *to)
{
	u32 tries = TWHEEL_FAULT_TRIES;
	ssize_t total = 0, n;

	while (iov_iter_count(to) >= sizeof(struct twheel_event)) {
		n = twheel_timer_deliver(ctx, to);
		if (n > 0) {
			total += n;
			tries = TWHEEL_FAULT_TRIES;
			if (signal_pending(current))
				break;
			cond_resched();
			continue;
		}
		if (n != -EFAULT)
			break;
		if (!tries-- ||
		    fault_in_iov_iter_writeable(to, sizeof(struct twheel_event)))
			return total ?: -EFAULT;
	}
	return total;
}

static ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *file = iocb->ki_filp;
	struct twheel_ctx *ctx = file->private_data;
	ssize_t n;
	int ret;

	if (iov_iter_count(to) < sizeof(struct twheel_event))
		return -EINVAL;

	for (;;) {
		n = -ECANCELED;
		if (twheel_ctx_take_step(ctx))
			break;
		n = read_ready(ctx, to);
		if (n)
			break;
		if (file->f_flags & O_NONBLOCK || iocb->ki_flags & IOCB_NOWAIT)
			return -EAGAIN;
		ret = wait_event_interruptible_exclusive(ctx->read_wq,
							 is_readable(ctx));
		if (ret)
			return ret;
	}

	if (n > 0) {
		twheel_observe(TWHEEL_HIST_READ, n / sizeof(struct twheel_event));
		trace_twheel_read(ctx, n / sizeof(struct twheel_event));
	}

	/* This one was woken alone: what it has left is for the next. */
	if (is_readable(ctx))
		wake_up_interruptible(&ctx->read_wq);
	return n;
}

static long twheel_get_info(struct twheel_ctx *ctx,
			    struct twheel_info __user *arg)
{
	enum twheel_clock clock = READ_ONCE(ctx->clock);
	struct twheel_info info;
	u32 flags;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (info.flags & ~TWHEEL_INFO_NEXT || info.config)
		return -EINVAL;

	flags = info.flags;
	info = (struct twheel_info) {
		.flags		= flags,
		.abi_version	= TWHEEL_ABI_VERSION,
		.features	= TWHEEL_FEATURES,
		.tick_ns	= 1ULL << twheel_geometry.tick_shift,
		.slots		= twheel_geometry.slots,
		.levels		= twheel_geometry.levels,
		.clock		= twheel_clockids[clock],
		.config		= READ_ONCE(ctx->config),
		.now		= twheel_clock_to_user(clock, twheel_clock_now(clock)),
		.limit		= twheel_ctx_limit(ctx),
		.user_limit	= READ_ONCE(twheel_max_user_timers),
		.user_timers	= atomic_long_read(&ctx->quota->timers),
	};
	if (flags & TWHEEL_INFO_NEXT)
		info.next_expiry = twheel_timer_next_expiry(ctx);

	spin_lock_bh(&ctx->lock);
	info.pending = ctx->nr_timers - ctx->nr_ready;
	info.ready = ctx->nr_ready;
	spin_unlock_bh(&ctx->lock);

	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

/* The clock that &twheel_config.clock asks for, or -EINVAL. */
static int config_clock(u32 clock)
{
	switch (clock) {
	/* As CLOCK_REALTIME is 0, a program that asks for that asks for nothing. */
	case 0:
	case CLOCK_MONOTONIC:
		return TWHEEL_MONOTONIC;
	case CLOCK_BOOTTIME:
		return TWHEEL_BOOTTIME;
	case TWHEEL_CLOCK_REALTIME:
		return TWHEEL_REALTIME;
	default:
		return -EINVAL;
	}
}

static long twheel_config(struct twheel_ctx *ctx,
			  const struct twheel_config __user *arg)
{
	struct twheel_config config;
	int clock;

	if (copy_from_user(&config, arg, sizeof(config)))
		return -EFAULT;
	if (config.flags & ~TWHEEL_CONFIGS || config.reserved[0] ||
	    config.reserved[1])
		return -EINVAL;
	clock = config_clock(config.clock);
	if (clock < 0)
		return clock;
	if (config.flags & TWHEEL_CONFIG_CANCEL_ON_SET && clock != TWHEEL_REALTIME)
		return -EINVAL;
	return twheel_ctx_config(ctx, clock, config.flags, config.limit);
}

/**
 * struct twheel_op - what is done to each entry of a batch
 * @size:	bytes of an entry
 * @run:	carry out one
 * @undo:	take back one of which the outcome cannot be told; or NULL
 * @result:	its outcome
 */
struct twheel_op {
	size_t	size;
	void	(*run)(struct twheel_ctx *ctx, void *entry);
	void	(*undo)(struct twheel_ctx *ctx, void *entry);
	s32	(*result)(const void *entry);
};

static void run_arm(struct twheel_ctx *ctx, void *entry)
{
	twheel_timer_arm(ctx, entry);
}

static void undo_arm(struct twheel_ctx *ctx, void *entry)
{
	const struct twheel_arm *arm = entry;
	struct twheel_cancel cancel = { .handle = arm->handle };

	/* Others know the key, and may have armed that timer since: it is theirs. */
	if (READ_ONCE(ctx->config) & TWHEEL_CONFIG_KEYED)
		return;
	if (!arm->result && arm->old_state == TWHEEL_STATE_NONE)
		twheel_timer_cancel(ctx, &cancel);
}

static s32 arm_result(const void *entry)
{
	return ((const struct twheel_arm *)entry)->result;
}

static void run_cancel(struct twheel_ctx *ctx, void *entry)
{
	twheel_timer_cancel(ctx, entry);
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
 * Carry out up to @n entries at @user, with room for them at @buf. Returns how
 * many: fewer if the rest cannot be read or written.
 */
static u32 run_entries(struct twheel_ctx *ctx, const struct twheel_op *op,
		       void __user *user, void *buf, u32 n)
{
	u32 i, stored;

	n -= DIV_ROUND_UP(copy_from_user(buf, user, n * op->size), op->size);
	/* Write back what was read, to see whether it can be written. */
	n -= DIV_ROUND_UP(copy_to_user(user, buf, n * op->size), op->size);

	for (i = 0; i < n; i++)
		op->run(ctx, buf + i * op->size);

	stored = n - DIV_ROUND_UP(copy_to_user(user, buf, n * op->size),
				  op->size);
	for (i = stored; op->undo && i < n; i++)
		op->undo(ctx, buf + i * op->size);
	return stored;
}

static long twheel_one(struct twheel_ctx *ctx, const struct twheel_op *op,
		       void __user *arg)
{
	union {
		struct twheel_arm	arm;
		struct twheel_cancel	cancel;
	} entry;

	if (!run_entries(ctx, op, arg, &entry, 1))
		return -EFAULT;
	return op->result(&entry);
}

static long twheel_many(struct twheel_ctx *ctx, const struct twheel_op *op,
			const struct twheel_batch __user *arg)
{
	struct twheel_batch batch;
	void __user *user;
	u32 done = 0;
	void *buf;

	if (copy_from_user(&batch, arg, sizeof(batch)))
		return -EFAULT;
	if (batch.flags || batch.count > INT_MAX)
		return -EINVAL;
	if (!batch.count)
		return 0;

	buf = kmalloc_array(min_t(u32, batch.count, TWHEEL_BATCH_CHUNK),
			    op->size, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;

	user = u64_to_user_ptr(batch.entries);
	while (done < batch.count) {
		u32 n = min_t(u32, batch.count - done, TWHEEL_BATCH_CHUNK);
		u32 stored = run_entries(ctx, op, user + done * op->size, buf, n);

		done += stored;
		if (stored < n || signal_pending(current))
			break;
		cond_resched();
	}
	kfree(buf);
	return done ? (long)done : -EFAULT;
}

static long twheel_get(struct twheel_ctx *ctx,
		       struct twheel_timer_info __user *arg)
{
	struct twheel_timer_info info;
	int ret;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	ret = twheel_timer_get(ctx, &info);
	if (ret)
		return ret;
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

/*
 * Store the pending timers from @index on and before @end, up to @count, at
 * @user. Returns how many, and in *@index where to go on.
 */
static long list_timers(struct twheel_ctx *ctx, u32 *index, u32 end, bool drain,
			struct twheel_timer_info __user *user, u32 count)
{
	u32 tries = TWHEEL_FAULT_TRIES;
	long n = 0;

	for (;;) {
		int ret;

		rcu_read_lock();
		*index = twheel_ctx_next_index(ctx, *index, end);
		rcu_read_unlock();
		if (*index >= end || n == count)
			return n;
		if (signal_pending(current))
			return n ?: -EINTR;

		ret = twheel_timer_list(ctx, *index, drain, user + n);
		if (ret == -EFAULT) {
			if (!tries-- || fault_in_safe_writeable((char __user *)(user + n),
								sizeof(*user)))
				return n ?: -EFAULT;
			continue;
		}
		n += ret;
		(*index)++;
		tries = TWHEEL_FAULT_TRIES;
		cond_resched();
	}
}

static long twheel_list(struct twheel_ctx *ctx, struct twheel_list __user *arg)
{
	struct twheel_list list;
	u32 index, end;
	long n;

	if (copy_from_user(&list, arg, sizeof(list)))
		return -EFAULT;
	if (list.flags & ~TWHEEL_LIST_DRAIN || !list.count ||
	    list.count > INT_MAX)
		return -EINVAL;

	/* The cursor is the next index, and the end as it was at the start. */
	index = lower_32_bits(list.cursor);
	end = upper_32_bits(list.cursor);
	if (!list.cursor)
		end = twheel_ctx_end(ctx);

	/* Find out now whether it can be written: there may be no way back. */
	if (put_user(list.cursor, &arg->cursor))
		return -EFAULT;

	n = list_timers(ctx, &index, end, list.flags & TWHEEL_LIST_DRAIN,
			u64_to_user_ptr(list.entries), list.count);
	/* After -EINTR, too: it may have passed over many that are not pending. */
	if (n != -EFAULT && put_user((u64)end << 32 | index, &arg->cursor) && n <= 0)
		return -EFAULT;
	return n;
}

static long twheel_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct twheel_ctx *ctx = file->private_data;
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case TWHEEL_IOC_GET_INFO:
		return twheel_get_info(ctx, argp);
	case TWHEEL_IOC_CONFIG:
		return twheel_config(ctx, argp);
	case TWHEEL_IOC_ARM:
		return twheel_one(ctx, &twheel_op_arm, argp);
	case TWHEEL_IOC_ARM_BATCH:
		return twheel_many(ctx, &twheel_op_arm, argp);
	case TWHEEL_IOC_CANCEL:
		return twheel_one(ctx, &twheel_op_cancel, argp);
	case TWHEEL_IOC_CANCEL_BATCH:
		return twheel_many(ctx, &twheel_op_cancel, argp);
	case TWHEEL_IOC_GET:
		return twheel_get(ctx, argp);
	case TWHEEL_IOC_LIST:
		return twheel_list(ctx, argp);
	default:
		return -ENOTTY;
	}
}

static vm_fault_t twheel_words_fault(struct vm_fault *vmf)
{
	struct twheel_ctx *ctx = vmf->vma->vm_file->private_data;
	struct page *page = twheel_ctx_words(ctx, vmf->pgoff);

	if (!page)
		return VM_FAULT_SIGBUS;

	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct twheel_words_ops = {
	.fault	= twheel_words_fault,
};

static int twheel_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct twheel_ctx *ctx = file->private_data;

	if (!(READ_ONCE(ctx->config) & TWHEEL_CONFIG_LEASE))
		return -ENODEV;
	/*
	 * In a copy of a page nobody would see what the program stores. Not
	 * VM_SHARED, which a descriptor that is read-only lacks.
	 */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;

	vma->vm_ops = &twheel_words_ops;
	return 0;
}

static void twheel_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct twheel_ctx *ctx = file->private_data;
	u64 next = twheel_timer_next_expiry(ctx);
	u32 pending, ready;

	spin_lock_bh(&ctx->lock);
	ready = ctx->nr_ready;
	pending = ctx->nr_timers - ready;
	spin_unlock_bh(&ctx->lock);

	seq_printf(m, "clock:\t%d\n", twheel_clockids[READ_ONCE(ctx->clock)]);
	seq_printf(m, "config:\t%#x\n", READ_ONCE(ctx->config));
	seq_printf(m, "pending:\t%u\n", pending);
	seq_printf(m, "ready:\t%u\n", ready);
	seq_printf(m, "limit:\t%lu\n", twheel_ctx_limit(ctx));
	if (next == TWHEEL_NO_EXPIRY)
		seq_puts(m, "next-expiry:\tnone\n");
	else
		seq_printf(m, "next-expiry:\t%llu\n", next);
}

static const struct file_operations twheel_fops = {
	.owner		= THIS_MODULE,
	.open		= twheel_open,
	.release	= twheel_release,
	.read_iter	= twheel_read_iter,
	.poll		= twheel_poll,
	.mmap		= twheel_mmap,
	.unlocked_ioctl	= twheel_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= twheel_show_fdinfo,
};

/*
 * Anyone may use it, as anyone may use timerfd: what it takes is limited for
 * each user and charged to the memory cgroup.
 */
static struct miscdevice twheel_miscdev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &twheel_fops,
	.mode	= 0666,
};

int twheel_chardev_init(void)
{
	return misc_register(&twheel_miscdev);
}

void twheel_chardev_exit(void)
{
	misc_deregister(&twheel_miscdev);
}
