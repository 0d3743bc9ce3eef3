// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file operations of /dev/twheel.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/uio.h>
#include <linux/xarray.h>

#include <linux/twheel.h>

#include "../core/cancel.h"
#include "../core/ctx.h"
#include "../core/expire.h"
#include "../core/hold.h"
#include "../core/host.h"
#include "../core/ioctl.h"
#include "../core/push.h"
#include "clock.h"
#include "main.h"

static int twheel_open(struct inode *inode, struct file *file)
{
	struct twheel_quota *quota = twheel_quota_get(file->f_cred);
	struct twheel_ctx *ctx;

	if (!quota)
		return -ENOMEM;
	ctx = twheel_ctx_create(quota);
	if (IS_ERR(ctx)) {
		twheel_quota_put(quota);
		return PTR_ERR(ctx);
	}

	file->private_data = ctx;
	/* read_iter() and write_iter() honour IOCB_NOWAIT. */
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
	return twheel_ctx_is_ready(ctx) || twheel_ctx_stepped(ctx);
}

static __poll_t twheel_poll(struct file *file, poll_table *wait)
{
	struct twheel_ctx *ctx = file->private_data;

	/* A read would not wait either, but fail with EBADF: there is nothing to wake up for. */
	if (!(file->f_mode & FMODE_READ))
		return 0;
	poll_wait(file, &ctx->waiters.pollers, wait);
	return is_readable(ctx) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * Wake-ups are exclusive, and the caller may have had the only one: if something is left to
 * read, wake the next reader. To be called before the caller sleeps or leaves. If the next
 * reader is woken in vain it waits again.
 */
static void wake_next_reader(struct twheel_ctx *ctx)
{
	if (is_readable(ctx))
		wake_up_interruptible(&ctx->waiters.readers);
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
		n = twheel_expire_deliver(ctx, to);
		if (n > 0) {
			total += n;
			tries = TWHEEL_FAULT_TRIES;
			/* Not for work of io_uring: what fits and is ready is read. */
			if (task_sigpending(current))
				break;
			if (need_resched())
				wake_next_reader(ctx);
			cond_resched();
			continue;
		}
		if (n != -EFAULT)
			break;
		/* The fault may wait for a disk or for another program, and that for ever. */
		wake_next_reader(ctx);
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

	if (iov_iter_count(to) < sizeof(struct twheel_event))
		return -EINVAL;

	for (;;) {
		n = -ECANCELED;
		if (twheel_ctx_take_step(ctx))
			break;
		n = read_ready(ctx, to);
		if (n)
			break;
		n = -EAGAIN;
		if (file->f_flags & O_NONBLOCK || iocb->ki_flags & IOCB_NOWAIT)
			break;
		n = wait_event_interruptible_exclusive(ctx->waiters.readers, is_readable(ctx));
		if (n)
			break;
	}

	if (n > 0) {
		twheel_observe(TWHEEL_HIST_READ, n / sizeof(struct twheel_event));
		trace_twheel_read(ctx, n / sizeof(struct twheel_event));
	}

	wake_next_reader(ctx);
	return n;
}

static ssize_t twheel_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	/* As to write to a pipe, it may wait for memory even if it must not wait for others. */
	return twheel_push_entries(iocb->ki_filp->private_data, from);
}

static noinline ssize_t write_entries(struct twheel_ctx *ctx, const char __user *buf, size_t n)
{
	struct iovec iov = { .iov_base = (void __user *)buf, .iov_len = n };
	struct iov_iter from;

	iov_iter_init(&from, WRITE, &iov, 1, n);
	return twheel_push_entries(ctx, &from);
}

/* What write() calls, and not twheel_write_iter(): so nothing is made for an iterator there. */
static ssize_t twheel_write(struct file *file, const char __user *buf, size_t n, loff_t *pos)
{
	struct twheel_ctx *ctx = file->private_data;
	ssize_t ret = 0;

	if (n == sizeof(struct twheel_push))
		ret = twheel_push_at(ctx, (const void __user *)buf);
	return ret ?: write_entries(ctx, buf, n);
}

static long twheel_unlocked_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	/* As with a pipe: to look at timers is to read, and to change them is to write. */
	return twheel_ioctl(file->private_data, cmd, (void __user *)arg,
			    file->f_mode & FMODE_READ, file->f_mode & FMODE_WRITE);
}

static vm_fault_t twheel_words_fault(struct vm_fault *vmf)
{
	struct twheel_ctx *ctx = vmf->vma->vm_file->private_data;
	struct page *page = xa_load(&ctx->pool.words.pages, vmf->pgoff);

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
	 * A private mapping would be a copy, in which the module cannot see what the program
	 * stores. (A context with leases was configured, so its descriptor is open for writing.)
	 */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;

	vma->vm_ops = &twheel_words_ops;
	return 0;
}

static void twheel_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct twheel_ctx *ctx = file->private_data;
	u64 pending, ready;

	twheel_ctx_count(ctx, &pending, &ready);

	seq_printf(m, "clock:\t%d\n", twheel_clockids[READ_ONCE(ctx->clock)]);
	seq_printf(m, "config:\t%#x\n", READ_ONCE(ctx->config));
	seq_printf(m, "pending:\t%llu\n", pending);
	seq_printf(m, "ready:\t%llu\n", ready);
	seq_printf(m, "limit:\t%lu\n", twheel_pool_limit(&ctx->pool));
}

static const struct file_operations twheel_fops = {
	.owner		= THIS_MODULE,
	.open		= twheel_open,
	.release	= twheel_release,
	.read_iter	= twheel_read_iter,
	.write		= twheel_write,
	.write_iter	= twheel_write_iter,
	.poll		= twheel_poll,
	.mmap		= twheel_mmap,
	.unlocked_ioctl	= twheel_unlocked_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= twheel_show_fdinfo,
};

/*
 * Anyone may use it, as anyone may use timerfd: memory is limited for each user, and
 * charged to the memory cgroup.
 */
struct miscdevice twheel_miscdev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &twheel_fops,
	.mode	= 0666,
};
