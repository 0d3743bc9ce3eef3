// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library with a wheel in its process, as the calls of a device: so actors and oracle are those
 * of the module. All tasks are threads of one program.
 */
#include <stdlib.h>

#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/uio.h>

#include "internal.h"
#include "oracle.h"
#include "kernel.h"

#define WORDS		(PAGE_SIZE / sizeof(u64))
#define MAX_PAGES	32

/* Each of several wheels has words from a multiple of this on. */
#define WHEEL_WORDS	(1U << 28)
#define MAX_WHEELS	4

/**
 * struct program - a context that the program has opened
 * @tw:		the library's, once it is configured
 * @pages:	pages of its words that somebody uses, for each wheel
 */
struct program {
	struct twheel	*tw;
	struct page	pages[MAX_WHEELS][MAX_PAGES];
};

u32 program_calls;

static struct twheel *tw_of(const struct file *file)
{
	const struct program *program = file->private_data;

	return program->tw;
}

static int library_open(struct inode *inode, struct file *file)
{
	file->private_data = calloc(1, sizeof(struct program));
	return 0;
}

static int library_release(struct inode *inode, struct file *file)
{
	twheel_close(tw_of(file));
	free(file->private_data);
	return 0;
}

/* What is configured is opened by that. */
static long configure(struct file *file, const struct twheel_config *config)
{
	struct program *program = file->private_data;
	bool caches = !sim_below(4), threads = !caches && sim_below(2);

	if (program->tw)
		return -EBUSY;
	world.caches |= caches;
	world.threads |= threads;
	return twheel_open(&program->tw, NULL, TWHEEL_OPEN_EMBEDDED |
			   (threads ? TWHEEL_OPEN_THREADS : 0) |
			   (caches ? TWHEEL_OPEN_CACHE_NOW : 0), config);
}

static long cancel(struct twheel *tw, struct twheel_cancel *cancel)
{
	struct twheel_old old = { };

	cancel->result = twheel_cancel(tw, cancel->handle, &old);
	cancel->old_state = old.state;
	cancel->old_remaining = old.remaining;
	return cancel->result;
}

/* A walk of the library has a buffer of its own, and would not see what comes meanwhile. */
static long list(struct twheel *tw, struct twheel_list *list)
{
	struct twheel_timer_info *infos = (struct twheel_timer_info *)list->entries;

	if (list->flags & TWHEEL_LIST_DRAIN)
		return twheel_drain(tw, (uint64_t *)&list->cursor, infos, list->count);
	return twheel_ioctl(tw, TWHEEL_IOC_LIST, list);
}

static long request(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct twheel_batch *batch = (struct twheel_batch *)arg;
	struct twheel_timer_info *timer = (struct twheel_timer_info *)arg;
	struct twheel_info *info = (struct twheel_info *)arg;
	struct twheel *tw = tw_of(file);

	/* If it caches the time: the oracle counts delays from the call. In a child both fail. */
	if (tw && (cmd == TWHEEL_IOC_ARM || cmd == TWHEEL_IOC_ARM_BATCH || !sim_below(4)))
		twheel_update_now(tw);
	switch (cmd) {
	case TWHEEL_IOC_CONFIG:
		return configure(file, (const struct twheel_config *)arg);
	case TWHEEL_IOC_GET_INFO:
		return twheel_get_info(tw, info->flags, info);
	case TWHEEL_IOC_ARM:
		return twheel_arm(tw, (struct twheel_arm *)arg);
	case TWHEEL_IOC_ARM_BATCH:
		return twheel_arm_batch(tw, (struct twheel_arm *)batch->entries, batch->count);
	case TWHEEL_IOC_CANCEL:
		return cancel(tw, (struct twheel_cancel *)arg);
	case TWHEEL_IOC_CANCEL_BATCH:
		return twheel_cancel_batch(tw, (struct twheel_cancel *)batch->entries,
					   batch->count);
	case TWHEEL_IOC_GET:
		return twheel_get(tw, timer->handle, timer);
	case TWHEEL_IOC_LIST:
		return list(tw, (struct twheel_list *)arg);
	}
	sim_broken(SIM_ITSELF, "the library has no call %#x", cmd);
}

static long library_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	long ret;

	program_calls++;
	ret = request(file, cmd, arg);
	program_calls--;
	return ret;
}

/* How many records, 0 at a timeout, or -errno; -EINTR if the thread was cancelled. */
static ssize_t read_records(struct twheel *tw, struct twheel_event *events, size_t n, bool wait)
{
	jmp_buf cancelled;
	ssize_t ret;

	if (!wait)
		return twheel_read_timeout(tw, events, n, 0);
	if (!sim_below(4))
		return twheel_read_timeout(tw, events, n, sim_below(40 * TICK));
	if (setjmp(cancelled)) {
		self->cancelled = NULL;
		return -EINTR;
	}
	self->cancelled = &cancelled;
	ret = twheel_read(tw, events, n);
	self->cancelled = NULL;
	return ret;
}

static ssize_t library_read(struct kiocb *iocb, struct iov_iter *to)
{
	ssize_t n;

	program_calls++;
	n = read_records(tw_of(iocb->ki_filp), (struct twheel_event *)to->at,
			 to->count / sizeof(struct twheel_event),
			 !(iocb->ki_flags & IOCB_NOWAIT));
	program_calls--;
	if (n == -EINTR)
		return -ERESTARTSYS;
	return n ? n * (ssize_t)(n < 0 ? 1 : sizeof(struct twheel_event)) : -EAGAIN;
}

static ssize_t library_write(struct file *file, const char *buf, size_t size, loff_t *pos)
{
	ssize_t n;

	program_calls++;
	n = twheel_push_batch(tw_of(file), (const struct twheel_push *)buf,
			      size / sizeof(struct twheel_push));
	program_calls--;
	return n < 0 ? n : n * (ssize_t)sizeof(struct twheel_push);
}

static ssize_t library_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return library_write(iocb->ki_filp, from->at, from->count, NULL);
}

static __poll_t library_poll(struct file *file, poll_table *table)
{
	return program_poll(twheel_fd(tw_of(file)), table);
}

static vm_fault_t library_fault(struct vm_fault *vmf)
{
	struct program *program = vmf->vma->vm_file->private_data;
	u64 wheel = vmf->pgoff / (WHEEL_WORDS / WORDS), nr = vmf->pgoff % (WHEEL_WORDS / WORDS);
	struct twheel_lease lease;
	struct page *page;

	if (wheel >= MAX_WHEELS || nr >= MAX_PAGES)
		return VM_FAULT_SIGBUS;
	page = &program->pages[wheel][nr];
	/* Word 0 is that of no lease. */
	if (twheel_lease_at(program->tw, (u32)(vmf->pgoff * WORDS) + 1, 0, &lease))
		return VM_FAULT_SIGBUS;
	page->address = lease.word - 1;
	/* It goes with the context, and not with its last user. */
	page->refs += 2;
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct library_vm_operations = {
	.fault	= library_fault,
};

static int library_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &library_vm_operations;
	return 0;
}

static void library_show(struct seq_file *m, struct file *file)
{
	struct twheel_counters counters;

	expect(!twheel_stats(tw_of(file), &counters, sizeof(counters)), CONTAINED,
	       "the library does not say what it has counted");
	seq_printf(m, "armed %llu rearmed %llu cancelled %llu expired %llu read %llu",
		   (u64)counters.armed, (u64)counters.rearmed, (u64)counters.cancelled,
		   (u64)counters.expired, (u64)counters.read);
	expect(counters.read <= counters.expired, CONTAINED, "more records were read than came");
}

void library_take_over(struct file *file)
{
	twheel_take_over(tw_of(file));
}

const struct file_operations sim_library = {
	.open		= library_open,
	.release	= library_release,
	.read_iter	= library_read,
	.write		= library_write,
	.write_iter	= library_write_iter,
	.poll		= library_poll,
	.mmap		= library_mmap,
	.unlocked_ioctl	= library_ioctl,
	.show_fdinfo	= library_show,
};
