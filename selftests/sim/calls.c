// SPDX-License-Identifier: GPL-2.0-only
/* The calls of a program, as the kernel makes them into calls of the module's file operations. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/uio.h>

#include "oracle.h"

/*
 * So many points at most has a call for one timer, however many there are. The most has one that
 * looks for timers that others do not use.
 */
#define MAX_CALL_POINTS	2500U

void call_sure(void)
{
	world.sure++;
	sim_config.efault_chance = 0;
}

void call_sure_end(void)
{
	if (!--world.sure)
		sim_config.efault_chance = world.efault_chance;
}

static void begin(const struct context *c)
{
	counts.operations++;
	sim_enter_timens(c->timens);
	sim_call_begins();
}

static void end(struct context *c, long ret)
{
	sim_release(&c->file);
	sim_call_ends(ret);
}

long call_ioctl(struct context *c, unsigned int cmd, void *arg)
{
	long ret;

	begin(c);
	ret = sim_device->unlocked_ioctl(&c->file, cmd, (unsigned long)arg);
	end(c, ret);
	return ret;
}

/* As call_ioctl(), for a call whose cost is constant */
static long call_one(struct context *c, unsigned int cmd, void *arg)
{
	u64 points = sim_own_points();
	long ret = call_ioctl(c, cmd, arg);

	points = sim_own_points() - points;
	if (points > counts.call_points)
		counts.call_points = points;
	expect(points < MAX_CALL_POINTS, CONSTANT_COST,
	       "a call for one timer took %llu points: request %#x, result %ld", points, cmd, ret);
	return ret;
}

long call_info(struct context *c, struct twheel_info *info)
{
	long ret = call_ioctl(c, TWHEEL_IOC_GET_INFO, info);

	sim_trace("context %u: info: %ld, %llu pending, %llu ready", c->nr, ret, info->pending,
		  info->ready);
	return ret;
}

long call_config(struct context *c, struct twheel_config *config)
{
	long ret = call_ioctl(c, TWHEEL_IOC_CONFIG, config);

	sim_trace("context %u: config clock %#x flags %#x limit %llu: %ld", c->nr, config->clock,
		  config->flags, config->limit, ret);
	return ret;
}

long call_arm(struct context *c, struct twheel_arm *arm)
{
	struct twheel_arm asked = *arm;
	long ret = call_one(c, TWHEEL_IOC_ARM, arm);

	sim_trace("context %u: arm %#llx for %s%lld flags %#x as %llu: %ld, handle %#llx, was %u",
		  c->nr, asked.handle, asked.flags & TWHEEL_ARM_ABS ? "" : "+", asked.expires,
		  asked.flags, asked.user_data, ret, arm->handle, arm->old_state);
	return ret;
}

/* @entries: @n structures, which @cmd takes all at once */
static long call_batch(struct context *c, unsigned int cmd, void *entries, u32 n)
{
	struct twheel_batch batch = { .entries = (uintptr_t)entries, .count = n };

	long ret = call_ioctl(c, cmd, &batch);

	counts.operations += n;
	expect(ret != -ENOMEM, CONTAINED, "a batch fails as there is no memory");
	return ret;
}

long call_arm_batch(struct context *c, struct twheel_arm *arms, u32 n)
{
	long ret = call_batch(c, TWHEEL_IOC_ARM_BATCH, arms, n), i;

	for (i = 0; i < ret; i++)
		sim_call_ends(arms[i].result);
	sim_trace("context %u: arm %u timers at once, from %llu on: %ld", c->nr, n,
		  n ? arms->user_data : 0, ret);
	return ret;
}

long call_cancel(struct context *c, struct twheel_cancel *cancel)
{
	long ret = call_one(c, TWHEEL_IOC_CANCEL, cancel);

	sim_trace("context %u: cancel %#llx: %ld, was %u", c->nr, cancel->handle, ret,
		  cancel->old_state);
	return ret;
}

long call_cancel_batch(struct context *c, struct twheel_cancel *cancels, u32 n)
{
	long ret = call_batch(c, TWHEEL_IOC_CANCEL_BATCH, cancels, n);

	sim_trace("context %u: cancel %u timers at once: %ld", c->nr, n, ret);
	return ret;
}

long call_get(struct context *c, struct twheel_timer_info *info)
{
	long ret = call_one(c, TWHEEL_IOC_GET, info);

	sim_trace("context %u: get %#llx: %ld, it is %llu", c->nr, info->handle, ret,
		  ret ? 0 : info->user_data);
	return ret;
}

long call_list(struct context *c, struct twheel_list *list)
{
	long ret = call_ioctl(c, TWHEEL_IOC_LIST, list);

	sim_trace("context %u: %s up to %u: %ld", c->nr,
		  list->flags & TWHEEL_LIST_DRAIN ? "drain" : "list", list->count, ret);
	return ret;
}

long call_write(struct context *c, void *bytes, size_t n)
{
	struct iov_iter iter = { .at = bytes, .count = n };
	struct kiocb iocb = { .ki_filp = &c->file };
	long ret;

	begin(c);
	/* As write() does, or as writev() and io_uring do */
	if (sim_below(2))
		ret = sim_device->write(&c->file, bytes, n, NULL);
	else
		ret = sim_device->write_iter(&iocb, &iter);
	end(c, ret);
	return ret;
}

long call_push(struct context *c, struct twheel_push *pushes, u32 n)
{
	long ret;

	counts.operations += n;
	ret = call_write(c, pushes, n * sizeof(*pushes));
	sim_trace("context %u: push %u timers, the first one %#llx, to %lld: %ld", c->nr, n,
		  pushes->handle, pushes->expires, ret);
	return ret;
}

/* Is the next who reads @c told of a step, if it does not wait, too? The module takes a while. */
static bool tells_step(const struct context *c)
{
	return world.process && world.nr_steps == world.steps_done && owes_step(c);
}

long call_read(struct context *c, struct twheel_event *events, u32 room, bool wait)
{
	struct iov_iter iter = {
		.at		= (char *)events,
		.count		= room * sizeof(*events),
		.faulting	= wait ? &c->faulting : NULL,
	};
	struct kiocb iocb = { .ki_filp = &c->file, .ki_flags = wait ? 0 : IOCB_NOWAIT };
	u64 began = oracle_stamp(), reads = ++c->reads;
	bool step = !c->reading++ && tells_step(c);
	long ret, i;

	begin(c);
	ret = sim_device->read_iter(&iocb, &iter);
	end(c, ret);
	c->reading--;
	sim_trace("context %u: read up to %u records: %ld", c->nr, room, ret);
	if (ret == -ECANCELED) {
		/* A thread that is cancelled may have learned of a step just before. */
		expect(c->config.flags & TWHEEL_CONFIG_CANCEL_ON_SET &&
		       ++c->told_steps <= world.nr_steps + sim_stats.cancels, EXACTLY_ONCE,
		       "a read is told of a step of the clock once too often");
		c->told_last = true;
	}
	/* Nobody else has read meanwhile. */
	expect(!step || c->reads != reads || (ret <= 0 && ret != -EAGAIN), EXACTLY_ONCE,
	       "the clock was set, and who reads context %u next is not told", c->nr);
	for (i = 0; i < ret / (long)sizeof(*events); i++)
		oracle_record(c, &events[i], began);
	return ret;
}

bool call_poll(struct context *c, bool registers)
{
	poll_table table = { .registers = registers };
	__poll_t mask = sim_device->poll(&c->file, &table);

	sim_release(&c->file);
	return mask & EPOLLIN;
}

void call_fdinfo(struct context *c)
{
	char text[512];
	struct seq_file m = { .text = text, .size = sizeof(text) };

	sim_device->show_fdinfo(&m, &c->file);
	sim_release(&c->file);
	expect(m.used > 40, STABLE_INTERFACE, "fdinfo says next to nothing");
}

struct page *call_map(struct context *c, u32 index)
{
	struct vm_area_struct vma = { .vm_file = &c->file, .vm_flags = VM_SHARED };
	struct vm_fault vmf = { .vma = &vma, .pgoff = index };

	expect(!sim_device->mmap(&c->file, &vma), STABLE_INTERFACE,
	       "the words of a context with leases cannot be mapped");
	if (vma.vm_ops->fault(&vmf)) {
		sim_release(&c->file);
		return NULL;
	}
	return vmf.page;
}

void call_unmap(struct context *c, struct page *page)
{
	put_page(page);
	sim_release(&c->file);
}

int call_open(struct context *c, unsigned int mode)
{
	int ret;

	c->file = (struct file){ .f_cred = &c->cred, .f_mode = mode };
	sim_call_begins();
	ret = sim_device->open(NULL, &c->file);
	sim_call_ends(ret);
	return ret;
}

void call_close(struct context *c)
{
	sim_acquire(&c->file);
	sim_trace("context %u: close", c->nr);
	sim_device->release(NULL, &c->file);
	/* As module_put() does for rmmod */
	sim_release(&sim_device);
}
