// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running programs: what the bytes of a call stand for.
 *
 * A descriptor that is not open is opened at first use. Handles, keys, cursors,
 * words and maps go from call to call through struct context. A timer of each
 * thread interrupts what waits, or just takes long.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "../uapi/twheel_util.h"
#include "exec.h"
#include "memory.h"

#define SLOTS		4
#define MAPS		4
#define CHILDREN	8
/* Entries of a batch that are made up; longer ones end where memory does. */
#define ENTRIES		256
#define USEC		1000ULL
#define HOUR		(3600 * TW_SEC)
#define TICK_MS		30
#define KTIME_MAX	0x7fffffffffffffffULL

struct slot {
	int fd;
	struct context *ctx;
};

struct map {
	char *at;
	size_t size;
	struct context *ctx;
};

/* A thread that makes calls, and the entries that it makes up. */
struct thread {
	int nr;
	pthread_t id;
	timer_t timer;
	struct kcov kcov;
	struct memory memory;
	union {
		struct twheel_arm arms[ENTRIES];
		struct twheel_cancel cancels[ENTRIES];
	};
	pid_t children[CHILDREN];
	int nr_children;
};

static struct exec *exec;
static struct thread threads[PROG_THREADS];
static struct slot slots[SLOTS];
static struct map maps[MAPS];
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin, end;
static const struct prog *current;
static int first_call;
static bool parallel, is_child;
static __u64 real_at_start, monotonic_at_start;
static long nr_cpus;

/* What errors a call may give, and the most it may return. */
static void expect(const char *name, long ret, long max, const char *errors)
{
	static const struct {
		char letter;
		int error;
	} letters[] = {
		{ 'i', EINVAL }, { 'f', EFAULT }, { 'e', ENOENT }, { 's', ENOSPC },
		{ 'q', EDQUOT }, { 'm', ENOMEM }, { 'b', EBUSY }, { 'r', EINTR },
		{ 'a', EAGAIN }, { 'c', ECANCELED }, { 't', ENOTTY }, { 'd', ENODEV },
		{ 'o', EOVERFLOW }, { 'x', EACCES }, { 'p', ESPIPE }, { 'B', EBADF },
		{ 'E', EEXIST },
	};
	size_t i;

	if (ret >= 0 && ret <= max)
		return;
	for (i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (-ret == letters[i].error && strchr(errors, letters[i].letter))
			return;
	violation(exec->world, "%s: returned %ld", name, ret);
}

/* The same of a call that was given @buffer and no other address. */
static void expect_of(const struct buffer *buffer, const char *name, long ret, long max,
		      const char *errors)
{
	if (ret == -EFAULT && memory_good(buffer))
		violation(exec->world, "%s: EFAULT, and there is nothing wrong with %p", name,
			  (void *)buffer->at);
	else
		expect(name, ret, max, errors);
}

static void lose_track(struct context *ctx)
{
	__atomic_store_n(&ctx->unsure, true, __ATOMIC_RELAXED);
}

static void told(const struct call *call, long ret)
{
	if (exec->verbose)
		fprintf(stderr, "  %-12s fd %u thread %u: %ld\n", op_names[prog_op(call)],
			call->fd % SLOTS, parallel ? call->thread % PROG_THREADS : 0, ret);
}

/* A time from now, or a point in time if @now is not 0. */
static __u64 decode_time(__u8 kind, __u8 mag, __u64 now)
{
	switch (kind % 16) {
	case 0: case 1: case 2: case 3: case 4:
		return now + mag * 40 * USEC;
	case 5: case 6:
		return now + mag * TW_MSEC;
	case 7:
		return now + mag * exec->world->tick_ns;
	case 8:
		return now + mag * HOUR;
	case 9:
		return now - mag * TW_MSEC;
	case 10:
		return 1ULL << mag % 64;
	case 11:
		return ~0ULL - mag;
	case 12:
		return KTIME_MAX - 128 + mag;
	case 13:
		return KTIME_MAX - now + mag;
	case 14:
		return mag * 0x9e3779b97f4a7c15ULL;
	default:
		return mag & 1;
	}
}

static __u64 decode_interval(__u8 byte)
{
	static const __u64 odd[] = {
		1, 2, TW_SEC, HOUR, 1ULL << 40, KTIME_MAX, KTIME_MAX + 1, ~0ULL,
	};

	if (byte < 128)
		return 0;
	return byte < 224 ? (1 + byte % 32) * 200 * USEC : odd[byte % 8];
}

static __u32 decode_count(__u8 byte)
{
	static const __u32 odd[] = {
		0, 16, 32, 63, 64, 65, 127, 128, 129, 200, 255, 256, 1000,
		0x7fffffff, 0x80000000, 0xffffffff,
	};

	return byte < 160 ? 1U + byte % 9 : odd[byte % 16];
}

static __u32 decode_flags(__u8 byte, __u32 known)
{
	return byte < 236 ? byte & known : 1U << byte % 32;
}

static bool is_keyed(const struct context *ctx)
{
	return __atomic_load_n(&ctx->config, __ATOMIC_RELAXED) & TWHEEL_CONFIG_KEYED;
}

/* A handle, or a key: one that was given out, or made up. */
static __u64 decode_handle(struct context *ctx, __u8 ref, __u8 mode)
{
	static const __u64 odd[] = {
		~0ULL, 1, 0x40, 1ULL << 32, 1ULL << 32 | 0x40, 0xffffffffULL,
		0xfffff001ULL, 1ULL << 63 | 1,
	};
	const struct known *known = world_pick(ctx, ref);

	if (mode % 8 < 5 && is_keyed(ctx))
		return ref % 24;
	if (!known || mode % 8 == 7)
		return odd[ref % 8];
	switch (mode % 8) {
	case 5:
		return known->handle ^ 1ULL << (mode / 8 + ref) % 64;
	case 6:
		return known->handle + (ref & 1 ? 1ULL << 32 : 1);
	default:
		return known->handle;
	}
}

/* The descriptor of @call: 0 without one. */
static struct slot *slot_of(const struct call *call, int flags)
{
	struct slot *slot = &slots[call->fd % SLOTS];

	pthread_mutex_lock(&slots_lock);
	if (slot->fd < 0) {
		slot->ctx = world_add(exec->world);
		if (slot->ctx) {
			slot->fd = open(TW_DEVICE, flags | O_CLOEXEC);
			if (slot->fd < 0)
				expect("open", -errno, 0, "m");
		}
	}
	pthread_mutex_unlock(&slots_lock);
	return slot->fd < 0 ? NULL : slot;
}

static struct map *map_of(const struct context *ctx, __u8 ref)
{
	int i;

	for (i = 0; i < MAPS; i++) {
		struct map *map = &maps[(ref + i) % MAPS];

		if (map->at && (!ctx || map->ctx == ctx))
			return map;
	}
	return NULL;
}

static struct buffer buffer_of(struct thread *self, const struct call *call, size_t size)
{
	enum memory_kind kind = memory_kind(call->ptr);
	const struct map *map = map_of(NULL, call->mode);

	if (kind == MEMORY_WORDS && !map)
		kind = MEMORY_FRESH;
	/* Room for more than there is ends where memory does. */
	if (size > MEMORY_MAX) {
		if (kind == MEMORY_GOOD || kind == MEMORY_ODD)
			kind = MEMORY_END;
		size = MEMORY_MAX;
	}
	return memory_buffer(&self->memory, kind, size, call->mode, map ? map->at : NULL);
}

static void check_clean(const char *name, const struct buffer *buffer, size_t used)
{
	if (!memory_clean(buffer, used))
		violation(exec->world, "%s: stored behind %zu bytes, or before them", name, used);
}

static long config(struct thread *self, const struct call *call, struct slot *slot)
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
	struct buffer buffer = buffer_of(self, call, sizeof(config));
	struct context *ctx = slot->ctx;
	bool used = ctx->nr;
	long ret;

	if (config.clock != TWHEEL_CLOCK_REALTIME && call->mode < 192)
		config.flags &= ~TWHEEL_CONFIG_CANCEL_ON_SET;
	memory_copy(buffer.at, &config, sizeof(config));
	/* A child may do so at the same time, or see what it does before we note it. */
	if (parallel || is_child || self->nr_children || !memory_sure(&buffer))
		lose_track(ctx);

	ret = tw_call(slot->fd, TWHEEL_IOC_CONFIG, buffer.at);
	expect_of(&buffer, "config", ret, 0, "ibmf");
	if (!ret && used && exec->world->exact && !ctx->unsure)
		violation(exec->world, "config: after the first timer");
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

	/* The outputs, too, hold something. */
	memset(&arm, 0xcc, sizeof(arm));
	arm.user_data = world_user_data(exec->world, ctx);
	arm.interval = decode_interval(call->interval + i % 3 * 5);
	arm.slack = call->slack < 128 ? 0 : 1ULL << (call->slack + i) % 64;
	arm.count = call->mode & 16 ? 1 + (call->count + i) % 5 : 0;

	/* Most are as they should be. */
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

static void check_entry(struct context *ctx, bool arm, const void *in, const void *out)
{
	if (arm)
		world_armed(exec->world, ctx, in, out);
	else
		world_cancelled(exec->world, ctx, in, out);
}

/* Arm or cancel, one or many: the same but for the entries. */
static long entries(struct thread *self, const struct call *call, struct slot *slot,
		    bool arm, bool batch)
{
	size_t size = arm ? sizeof(struct twheel_arm) : sizeof(struct twheel_cancel), staged;
	const char *name = arm ? batch ? "arm_batch" : "arm" : batch ? "cancel_batch" : "cancel";
	struct twheel_batch header = { .count = batch ? decode_count(call->count) : 1 };
	void *in = arm ? (void *)self->arms : (void *)self->cancels, *argument;
	struct context *ctx = slot->ctx;
	union {
		struct twheel_arm arm;
		struct twheel_cancel cancel;
	} out;
	struct buffer buffer;
	__u32 i, made, done;
	unsigned long cmd;
	long ret;

	buffer = buffer_of(self, call, header.count * size);
	staged = header.count < ENTRIES ? header.count : ENTRIES;
	if (staged > buffer.size / size)
		staged = buffer.size / size;
	for (i = 0; i < staged; i++) {
		if (arm)
			self->arms[i] = make_arm(call, ctx, i);
		else
			self->cancels[i] = make_cancel(call, ctx, i);
	}
	made = memory_copy(buffer.at, in, staged * size) / size;
	/* What is not known to have been asked for, or answered, is not counted. */
	if (!memory_sure(&buffer) || header.count > staged)
		lose_track(ctx);

	if (batch) {
		header.entries = (unsigned long)buffer.at;
		header.flags = call->flags == 255;
		argument = call->slack >= 252 ? (void *)(call->slack - 252UL) : &header;
		cmd = arm ? TWHEEL_IOC_ARM_BATCH : TWHEEL_IOC_CANCEL_BATCH;
	} else {
		argument = buffer.at;
		cmd = arm ? TWHEEL_IOC_ARM : TWHEEL_IOC_CANCEL;
	}
	ret = tw_call(slot->fd, cmd, argument);

	if (batch && argument != &header)
		expect(name, ret, header.count, "ifm");
	else if (batch)
		expect_of(&buffer, name, ret, header.count, "ifm");
	else
		expect_of(&buffer, name, ret, 0, arm ? "iefsqmE" : "ief");
	if (!memory_sure(&buffer))
		return ret;

	done = batch ? ret < 0 ? 0 : ret : ret != -EFAULT;
	for (i = 0; i < made; i++) {
		char *before = (char *)in + i * size;

		if (memory_copy(&out, buffer.at + i * size, size) != size)
			break;
		if (i < done)
			check_entry(ctx, arm, before, &out);
		else if (memcmp(&out, before, size))
			violation(exec->world, "%s: %u handled, %u changed", name, done, i);
		if (!batch && i < done && (arm ? out.arm.result : out.cancel.result) != ret)
			violation(exec->world, "%s: result %d, returned %ld", name,
				  arm ? out.arm.result : out.cancel.result, ret);
	}
	if (header.count != staged)
		return ret;
	if (done > made)
		violation(exec->world, "%s: %u handled, of %u", name, done, made);
	if (made == staged)
		check_clean(name, &buffer, made * size);
	return ret;
}

static long get(struct thread *self, const struct call *call, struct slot *slot)
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
			violation(exec->world, "get: %#llx for %#llx", info.handle, handle);
		world_told(exec->world, slot->ctx, &info, false, false);
	} else if (ret == -ENOENT) {
		world_found(exec->world, slot->ctx, handle, false, "get");
	}
	if (buffer.kind != MEMORY_CROSS)
		check_clean("get", &buffer, sizeof(info));
	return ret;
}

static long list(struct thread *self, const struct call *call, struct slot *slot)
{
	struct twheel_list list = {
		.count = decode_count(call->count),
		.flags = decode_flags(call->flags, TWHEEL_LIST_DRAIN),
	};
	bool drain = list.flags & TWHEEL_LIST_DRAIN;
	struct context *ctx = slot->ctx;
	struct twheel_timer_info info;
	struct buffer buffer;
	long ret, i;

	if (call->mode & 2)
		list.cursor = call->mode & 1 ? ctx->cursor :
			      decode_time(call->time, call->mag, 0);
	buffer = buffer_of(self, call, (size_t)list.count * sizeof(info));
	list.entries = (unsigned long)buffer.at;
	if (drain && !memory_sure(&buffer))
		lose_track(ctx);

	if (call->slack >= 252) {
		ret = tw_call(slot->fd, TWHEEL_IOC_LIST, (void *)(call->slack - 252UL));
		expect("list", ret, list.count, "ifr");
	} else {
		ret = tw_call(slot->fd, TWHEEL_IOC_LIST, &list);
		expect_of(&buffer, "list", ret, list.count, "ifr");
	}
	ctx->cursor = list.cursor;
	if (ret <= 0 || !memory_sure(&buffer))
		return ret;

	for (i = 0; i < ret; i++) {
		const char *from = buffer.at + i * sizeof(info);

		if (memory_copy(&info, from, sizeof(info)) != sizeof(info)) {
			violation(exec->world, "list: %ld entries, and no memory for %ld", ret, i);
			return ret;
		}
		world_told(exec->world, ctx, &info, true, drain);
	}
	/* An entry may have been stored in part, and then not be counted. */
	if (buffer.kind == MEMORY_GOOD || buffer.kind == MEMORY_ODD)
		check_clean("list", &buffer, ret * sizeof(info));
	return ret;
}

static long info(struct thread *self, const struct call *call, struct slot *slot)
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
		world_info(exec->world, slot->ctx, &info, exec->world->exact);
	if (buffer.kind != MEMORY_CROSS)
		check_clean("info", &buffer, sizeof(info));
	return ret;
}

static size_t read_size(const struct call *call)
{
	static const size_t odd[] = { 0, 1, 47, 49, 95, 97, 33 * 48, 4096, 20000 };

	return call->mode < 160 ? 48 * (1UL + call->count % 40) : odd[call->count % 9];
}

static void check_read(const char *name, struct context *ctx, const struct buffer *buffer,
		       ssize_t ret)
{
	struct twheel_event event;
	ssize_t at;

	expect_of(buffer, name, ret, buffer->size, "iafrc");
	if (ret == -ECANCELED && !ctx->unsure && !(ctx->config & TWHEEL_CONFIG_CANCEL_ON_SET))
		violation(exec->world, "%s: ECANCELED", name);
	if (!memory_sure(buffer))
		return;
	if (buffer->size < sizeof(event) ? ret != -EINVAL : ret == -EINVAL || !ret)
		violation(exec->world, "%s: %zd from %zu bytes", name, ret, buffer->size);
	if (ret > 0 && ret % sizeof(event))
		violation(exec->world, "%s: %zd bytes", name, ret);

	for (at = 0; at + (ssize_t)sizeof(event) <= ret; at += sizeof(event)) {
		if (memory_copy(&event, buffer->at + at, sizeof(event)) != sizeof(event)) {
			violation(exec->world, "%s: %zd bytes, no memory at %zd", name, ret, at);
			return;
		}
		world_read(exec->world, ctx, &event);
	}
	if (buffer->kind == MEMORY_GOOD || buffer->kind == MEMORY_ODD)
		check_clean(name, buffer, ret > 0 ? ret : 0);
}

static long do_read(struct thread *self, const struct call *call, struct slot *slot)
{
	struct buffer buffer = buffer_of(self, call, read_size(call));
	long ret;

	if (!memory_sure(&buffer))
		lose_track(slot->ctx);
	ret = tw_read(slot->fd, buffer.at, buffer.size);
	check_read("read", slot->ctx, &buffer, ret);
	return ret;
}

/* One buffer in pieces; at times it ends too early. */
static long do_readv(struct thread *self, const struct call *call, struct slot *slot)
{
	struct buffer buffer = buffer_of(self, call, read_size(call));
	size_t piece = 1 + (call->mag ? call->mag : 48), at = 0;
	bool bad = call->flags & 4;
	struct iovec iov[6];
	int n = 0;
	long ret;

	for (; n < 4 && at < buffer.size; n++) {
		iov[n].iov_base = buffer.at + at;
		iov[n].iov_len = n == 3 || buffer.size - at < piece ? buffer.size - at : piece;
		at += iov[n].iov_len;
		piece = piece * 2 + call->time % 8;
	}
	if (call->flags & 2)
		iov[n++] = (struct iovec) { buffer.at, 0 };
	if (bad)
		iov[n++] = (struct iovec) { NULL, 48 };
	/* What became of a record that was not stored whole is for others to test. */
	if (bad || !memory_sure(&buffer))
		lose_track(slot->ctx);

	ret = preadv2(slot->fd, iov, n, -1, call->flags & 1 ? RWF_NOWAIT : 0);
	if (ret < 0)
		ret = -errno;
	if (bad)
		expect("readv", ret, buffer.size + 48, "iafrc");
	else if (buffer.size)
		check_read("readv", slot->ctx, &buffer, ret);
	return ret;
}

static long do_poll(const struct call *call, const struct slot *slot)
{
	struct pollfd pfd = {
		.fd = slot->fd,
		.events = call->flags & 1 ? POLLIN : POLLRDNORM | POLLOUT,
	};
	int ret = poll(&pfd, 1, call->mag % 4);

	if (ret > 0 && pfd.revents & ~(POLLIN | POLLRDNORM))
		violation(exec->world, "poll: events %#x", pfd.revents);
	return ret < 0 ? -errno : ret;
}

static long do_epoll(const struct call *call, const struct slot *slot)
{
	struct epoll_event event = { .events = EPOLLIN }, got[2];
	int ep = epoll_create1(EPOLL_CLOEXEC), ret;

	if (ep < 0)
		return -errno;
	if (call->flags & 1)
		event.events |= EPOLLET;
	if (call->flags & 2)
		event.events |= EPOLLEXCLUSIVE;
	else if (call->flags & 4)
		event.events |= EPOLLONESHOT;
	ret = epoll_ctl(ep, EPOLL_CTL_ADD, slot->fd, &event);
	if (!ret)
		ret = epoll_wait(ep, got, 2, call->mag % 4);
	if (call->mode & 1)
		epoll_ctl(ep, EPOLL_CTL_DEL, slot->fd, NULL);
	close(ep);
	return ret;
}

static long do_mmap(const struct call *call, const struct slot *slot)
{
	static const off_t offsets[] = { 0, 0, 0, 4096, 0, 1L << 30, 1L << 44, 0 };
	struct map map = { .size = (1 + call->count % 3) * MEMORY_PAGE, .ctx = slot->ctx };
	struct map *to = &maps[call->ref % MAPS];
	__u64 word;

	if (to->at)
		return 0;
	map.at = mmap(NULL, map.size, call->mode >= 240 ? PROT_READ : PROT_READ | PROT_WRITE,
		      call->mode % 16 ? MAP_SHARED : MAP_PRIVATE, slot->fd,
		      offsets[call->mag % 8]);
	if (map.at == MAP_FAILED) {
		expect("mmap", -errno, 0, "dimox");
		return -errno;
	}
	if (call->mode % 16 == 0)
		violation(exec->world, "mmap: private");
	*to = map;
	memory_copy(&word, map.at + 8, sizeof(word));
	return map.size;
}

/* Extend a lease, as a program does; or store what no program should. */
static long do_store(const struct call *call)
{
	struct map *map = map_of(NULL, call->ref);
	const struct known *known;
	__u64 old, new, *word;
	size_t index;

	if (!map)
		return -1;
	known = world_pick(map->ctx, call->ref);
	index = known && call->mode % 8 ? known->word : call->mode * 8U + call->count;
	if (index >= map->size / sizeof(*word))
		index = 1;
	word = (__u64 *)map->at + index;
	/* Where there is no page none is made by the compare-and-swap either. */
	if (memory_copy(&old, word, sizeof(old)) != sizeof(old))
		return -2;

	new = decode_time(call->time, call->mag, old);
	if (call->mode & 64)
		new |= TWHEEL_LEASE_EXPIRED;
	else if (old & TWHEEL_LEASE_EXPIRED && call->flags < 200)
		return -3;
	return memory_copy(word, &new, sizeof(new));
}

static long do_munmap(const struct call *call)
{
	struct map *map = &maps[call->ref % MAPS];
	int ret = 0;

	if (map->at)
		ret = munmap(map->at, map->size);
	map->at = NULL;
	return ret;
}

/* To another slot: the same context by another name. */
static long do_dup(const struct call *call, const struct slot *slot)
{
	struct slot *to = &slots[call->ref % SLOTS];
	int fd = -1;

	pthread_mutex_lock(&slots_lock);
	if (to->fd < 0) {
		fd = dup(slot->fd);
		to->fd = fd;
		to->ctx = slot->ctx;
	}
	pthread_mutex_unlock(&slots_lock);
	return fd;
}

/*
 * While threads run no number of theirs may become that of something else: then
 * it is a copy that is closed.
 */
static long do_close(struct slot *slot)
{
	int fd = slot->fd;

	if (parallel)
		return close(dup(fd));
	slot->fd = -1;
	return close(fd);
}

/* Through a socket, to another slot or to nobody. */
static long do_pass(const struct call *call, const struct slot *slot)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct slot *to = &slots[call->ref % SLOTS];
	int pair[2], fd = -1;
	long ret;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	ret = tw_send_fd(pair[0], slot->fd, 0);
	if (!ret && call->mode & 1 &&
	    recvmsg(pair[1], &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1 &&
	    CMSG_FIRSTHDR(&msg)) {
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
		pthread_mutex_lock(&slots_lock);
		if (to->fd < 0) {
			to->fd = fd;
			to->ctx = slot->ctx;
			fd = -1;
		}
		pthread_mutex_unlock(&slots_lock);
		if (fd >= 0)
			close(fd);
	}
	close(pair[0]);
	close(pair[1]);
	return ret;
}

static long do_sleep(const struct call *call)
{
	struct timespec ts = { .tv_nsec = call->mag * 40 * USEC };

	return nanosleep(&ts, NULL);
}

/* Never far from where the clock would be: what one does the next takes back. */
static long do_settime(const struct call *call)
{
	__u64 now = real_at_start + tw_now(CLOCK_MONOTONIC) - monotonic_at_start;
	struct timespec ts;

	switch (call->mode % 4) {
	case 0:
		now += call->mag * TW_MSEC;
		break;
	case 1:
		now -= call->mag * TW_MSEC;
		break;
	case 2:
		now += call->mag * HOUR;
		break;
	}
	ts.tv_sec = now / TW_SEC;
	ts.tv_nsec = now % TW_SEC;
	return clock_settime(CLOCK_REALTIME, &ts) ? -errno : 0;
}

static long bad_ioctl(struct thread *self, const struct call *call, const struct slot *slot)
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
		violation(exec->world, "ioctl %#lx: returned %ld", cmd, ret);
	check_clean("ioctl", &buffer, 0);
	return ret;
}

static long fdinfo(const struct slot *slot)
{
	char path[48], text[512] = "";
	long ret;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", slot->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (ret > 0 && !strstr(text, "pending:"))
		violation(exec->world, "fdinfo: %s", text);
	return ret;
}

static long set_cpu(const struct call *call)
{
	return tw_pin(call->mag % nr_cpus) ? 0 : -errno;
}

/* What the device has no use for. */
static long other(const struct call *call, const struct slot *slot)
{
	char bytes[64] = "";
	long ret = 0;
	int flags;

	switch (call->mode % 8) {
	case 0:
		ret = write(slot->fd, bytes, sizeof(bytes));
		break;
	case 1:
		ret = pread(slot->fd, bytes, sizeof(bytes), call->mag);
		break;
	case 2:
		ret = lseek(slot->fd, call->mag, SEEK_SET);
		break;
	case 3:
		ret = fsync(slot->fd);
		break;
	case 4:
		ret = ftruncate(slot->fd, 0);
		break;
	default:
		/* Among them those that would wait for ever, but for the signals. */
		flags = fcntl(slot->fd, F_GETFL);
		fcntl(slot->fd, F_SETFL, flags ^ O_NONBLOCK);
		return 0;
	}
	if (ret >= 0)
		violation(exec->world, "other: %d returned %ld", call->mode % 8, ret);
	return -errno;
}

static void ignore(int signal)
{
	(void)signal;
}

static int do_calls(struct thread *self, int from, int n);

/*
 * A child that makes the next calls. It has no coverage; nobody kills it but us,
 * and in that case there is no telling what it had done.
 */
static int do_fork(struct thread *self, const struct call *call, int from)
{
	static unsigned long none[1];
	static const struct itimerval tick = {
		{ 0, TICK_MS * 1000 }, { 0, TICK_MS * 1000 },
	};
	__u32 i;
	pid_t pid;

	if (is_child || self->nr_children == CHILDREN)
		return from;
	if (call->mode % 8 == 7)
		for (i = 0; i < WORLD_CONTEXTS; i++)
			lose_track(&exec->world->contexts[i]);
	/* The child gets the table of files and the memory at different times. */
	pthread_mutex_lock(&slots_lock);
	pid = fork();
	pthread_mutex_unlock(&slots_lock);
	if (!pid) {
		is_child = true;
		self->kcov.area = none;
		self->nr_children = 0;
		setitimer(ITIMER_REAL, &tick, NULL);
		do_calls(self, from, 1 + call->count % 3);
		_exit(0);
	}
	if (pid < 0)
		return from;
	if (call->mode % 8 == 7)
		kill(pid, SIGKILL);
	self->children[self->nr_children++] = pid;
	/* At times those calls are the child's alone. */
	for (i = 0; call->mode & 8 && i < 1U + call->count % 3; i++)
		while (++from < current->nr && parallel &&
		       current->calls[from].thread % PROG_THREADS != self->nr)
			;
	return from;
}

static void reap(struct thread *self)
{
	int status;

	while (self->nr_children) {
		pid_t pid = self->children[--self->nr_children];

		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			violation(exec->world, "a child ended by signal %d", WTERMSIG(status));
	}
}

/* Call @i. Returns the last one that was made: those of a child are left out. */
static int do_call(struct thread *self, int i)
{
	const struct call *call = &current->calls[i];
	enum op op = prog_op(call);
	struct slot *slot;
	long ret = 0;

	kcov_reset(&self->kcov);
	slot = slot_of(call, op != OP_OPEN || call->mode & 1 ? O_RDWR | O_NONBLOCK :
			     call->mode & 2 ? O_RDONLY : O_RDWR);
	if (!slot)
		return i;

	switch (op) {
	case OP_CONFIG:
		ret = config(self, call, slot);
		break;
	case OP_ARM:
		ret = entries(self, call, slot, true, false);
		break;
	case OP_ARM_BATCH:
		ret = entries(self, call, slot, true, true);
		break;
	case OP_CANCEL:
		ret = entries(self, call, slot, false, false);
		break;
	case OP_CANCEL_BATCH:
		ret = entries(self, call, slot, false, true);
		break;
	case OP_GET:
		ret = get(self, call, slot);
		break;
	case OP_LIST:
		ret = list(self, call, slot);
		break;
	case OP_INFO:
		ret = info(self, call, slot);
		break;
	case OP_READ:
		ret = do_read(self, call, slot);
		break;
	case OP_READV:
		ret = do_readv(self, call, slot);
		break;
	case OP_POLL:
		ret = do_poll(call, slot);
		break;
	case OP_EPOLL:
		ret = do_epoll(call, slot);
		break;
	case OP_MMAP:
		ret = do_mmap(call, slot);
		break;
	case OP_STORE:
		ret = do_store(call);
		break;
	case OP_MUNMAP:
		ret = do_munmap(call);
		break;
	case OP_DUP:
		ret = do_dup(call, slot);
		break;
	case OP_FORK:
		i = do_fork(self, call, i);
		break;
	case OP_CLOSE:
		ret = do_close(slot);
		break;
	case OP_SLEEP:
		ret = do_sleep(call);
		break;
	case OP_SETTIME:
		ret = do_settime(call);
		break;
	case OP_BAD_IOCTL:
		ret = bad_ioctl(self, call, slot);
		break;
	case OP_FDINFO:
		ret = fdinfo(slot);
		break;
	case OP_CPU:
		ret = set_cpu(call);
		break;
	case OP_FLIP:
		memory_flip(call->mode);
		break;
	case OP_OTHER:
		ret = other(call, slot);
		break;
	case OP_PASS:
		ret = do_pass(call, slot);
		break;
	case OP_OPEN:
	case NR_OPS:
		break;
	}
	kcov_collect(&self->kcov, exec->cover, &exec->runs[self->nr], op);
	__atomic_add_fetch(exec->calls, 1, __ATOMIC_RELAXED);
	told(call, ret);
	return i;
}

/* Up to @n calls of @self's from @from on. */
static int do_calls(struct thread *self, int from, int n)
{
	int i;

	for (i = from; i < current->nr && n > 0; i++) {
		if (parallel && current->calls[i].thread % PROG_THREADS != self->nr)
			continue;
		i = do_call(self, i);
		n--;
	}
	return i;
}

static int start_tick(struct thread *self)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGUSR1,
	};

	event._sigev_un._tid = gettid();
	return timer_create(CLOCK_MONOTONIC, &event, &self->timer) ? -errno : 0;
}

/* Only while a program runs. */
static void tick(struct thread *self, bool on)
{
	struct itimerspec its = { 0 };

	if (on)
		its.it_interval.tv_nsec = (TICK_MS + self->nr) * TW_MSEC;
	its.it_value = its.it_interval;
	timer_settime(self->timer, 0, &its, NULL);
}

static void run_calls(struct thread *self, int from)
{
	tick(self, true);
	do_calls(self, from, PROG_CALLS);
	reap(self);
	tick(self, false);
}

static void *run_thread(void *arg)
{
	struct thread *self = arg;

	if (kcov_enable(&self->kcov) || start_tick(self))
		abort();
	for (;;) {
		pthread_barrier_wait(&begin);
		run_calls(self, first_call);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

/* Threads begin when there is something to share. */
static int set_up(struct thread *self)
{
	int i;

	for (i = 0; i < current->nr; i++) {
		enum op op = prog_op(&current->calls[i]);

		if (op != OP_CONFIG && op != OP_OPEN && op != OP_MMAP)
			break;
		do_call(self, i);
	}
	return i;
}

/* Nothing is under way any more: is all as it should be? Then close it. */
static void finish(void)
{
	struct twheel_info info;
	int i;

	for (i = 0; i < SLOTS; i++) {
		if (slots[i].fd < 0)
			continue;
		info = tw_info(slots[i].fd);
		world_info(exec->world, slots[i].ctx, &info, true);
	}
	for (i = 0; i < MAPS; i++) {
		if (maps[i].at)
			munmap(maps[i].at, maps[i].size);
		maps[i].at = NULL;
	}
	for (i = 0; i < SLOTS; i++) {
		if (slots[i].fd >= 0)
			close(slots[i].fd);
		slots[i].fd = -1;
	}
	memory_flip(7);
}

static bool has_op(const struct prog *prog, enum op op)
{
	int i;

	for (i = 0; i < prog->nr; i++)
		if (prog_op(&prog->calls[i]) == op)
			return true;
	return false;
}

void exec_run(const struct prog *prog)
{
	int i;

	current = prog;
	world_reset(exec->world, !prog->threaded && !has_op(prog, OP_FORK));
	for (i = 0; i < PROG_THREADS; i++)
		cover_run_reset(&exec->runs[i]);

	if (prog->threaded) {
		first_call = set_up(&threads[0]);
		parallel = true;
		pthread_barrier_wait(&begin);
		run_calls(&threads[0], first_call);
		pthread_barrier_wait(&end);
		parallel = false;
	} else {
		run_calls(&threads[0], 0);
	}
	finish();
}

int exec_init(struct exec *e)
{
	int i, ret;

	exec = e;
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	real_at_start = tw_now(CLOCK_REALTIME);
	monotonic_at_start = tw_now(CLOCK_MONOTONIC);
	for (i = 0; i < SLOTS; i++)
		slots[i].fd = -1;
	if (!memory_init())
		return -ENOMEM;
	for (i = 0; i < PROG_THREADS; i++) {
		threads[i].nr = i;
		if (!memory_thread(&threads[i].memory))
			return -ENOMEM;
		ret = kcov_open(&threads[i].kcov);
		if (ret)
			return ret;
	}
	return 0;
}

int exec_start(void)
{
	struct sigaction action = { .sa_handler = ignore };
	int i, ret;

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	exec->world->tick_ns = 1;
	i = tw_open();
	if (i < 0)
		return i;
	exec->world->tick_ns = tw_info(i).tick_ns;
	close(i);

	pthread_barrier_init(&begin, NULL, PROG_THREADS);
	pthread_barrier_init(&end, NULL, PROG_THREADS);
	ret = kcov_enable(&threads[0].kcov);
	if (!ret)
		ret = start_tick(&threads[0]);
	for (i = 1; !ret && i < PROG_THREADS; i++)
		ret = -pthread_create(&threads[i].id, NULL, run_thread, &threads[i]);
	return ret;
}
