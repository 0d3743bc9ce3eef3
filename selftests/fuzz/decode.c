// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the bytes of a call stand for, and checks of what it returned.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "thread.h"

#define KTIME_MAX	0x7fffffffffffffffULL

__u64 decode_time(__u8 kind, __u8 mag, __u64 now)
{
	switch (kind % 16) {
	case 0: case 1: case 2: case 3: case 4:
		return now + mag * 40 * USEC;
	case 5: case 6:
		return now + mag * TW_MSEC;
	case 7:
		return now + mag * run.world->tick_ns;
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

__u64 decode_interval(__u8 byte)
{
	static const __u64 odd[] = {
		1, 2, TW_SEC, HOUR, 1ULL << 40, KTIME_MAX, KTIME_MAX + 1, ~0ULL,
	};

	if (byte < 128)
		return 0;
	return byte < 224 ? (1 + byte % 32) * 200 * USEC : odd[byte % 8];
}

__u32 decode_count(__u8 byte)
{
	static const __u32 odd[] = {
		0, 16, 32, 63, 64, 65, 127, 128, 129, 200, 255, 256, 1000,
		0x7fffffff, 0x80000000, 0xffffffff,
	};

	return byte < 160 ? 1U + byte % 9 : odd[byte % 16];
}

__u32 decode_flags(__u8 byte, __u32 known)
{
	return byte < 236 ? byte & known : 1U << byte % 32;
}

bool is_keyed(const struct context *ctx)
{
	return __atomic_load_n(&ctx->config, __ATOMIC_RELAXED) & TWHEEL_CONFIG_KEYED;
}

__u64 decode_handle(struct context *ctx, __u8 ref, __u8 mode)
{
	static const __u64 odd[] = {
		~0ULL, 1, 0x40, 1ULL << 32, 1ULL << 32 | 0x40, 0xffffffffULL,
		0xfffff001ULL, 1ULL << 63 | 1,
	};
	const struct known *known = oracle_pick(ctx, ref);

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

struct map *map_of(const struct context *ctx, __u8 ref)
{
	int i;

	for (i = 0; i < MAPS; i++) {
		struct map *map = &run.maps[(ref + i) % MAPS];

		if (map->at && (!ctx || map->ctx == ctx))
			return map;
	}
	return NULL;
}

struct buffer buffer_of(struct thread *self, const struct call *call, size_t size)
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

void expect(const char *name, long ret, long max, const char *errors)
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
	violation("%s: returned %ld", name, ret);
}

void expect_of(const struct buffer *buffer, const char *name, long ret, long max,
	       const char *errors)
{
	if (ret == -EFAULT && memory_good(buffer))
		violation("%s: EFAULT, and there is nothing wrong with %p", name,
			  (void *)buffer->at);
	else
		expect(name, ret, max, errors);
}

bool is_read_only(const struct slot *slot)
{
	return (fcntl(slot->fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

long expect_refusal(const char *name, long ret)
{
	if (ret != -EBADF)
		violation("%s: returned %ld for a descriptor to be read only", name, ret);
	return ret;
}

void check_clean(const char *name, const struct buffer *buffer, size_t used)
{
	if (!memory_clean(buffer, used))
		violation("%s: stored behind %zu bytes, or before them", name, used);
}

void lose_track(struct context *ctx)
{
	__atomic_store_n(&ctx->unsure, true, __ATOMIC_RELAXED);
}
