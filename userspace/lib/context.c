// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: the calls on a context.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "internal.h"

TWHEEL_API int twheel_fd(const struct twheel *tw)
{
	return tw->fd;
}

TWHEEL_API int twheel_clock(const struct twheel *tw)
{
	return tw->clock;
}

TWHEEL_API unsigned int twheel_config_flags(const struct twheel *tw)
{
	return tw->config;
}

TWHEEL_API uint64_t twheel_now(const struct twheel *tw)
{
	const uint64_t *now = __atomic_load_n(&tw->now, __ATOMIC_ACQUIRE);

	return now ? __atomic_load_n(now, __ATOMIC_RELAXED) : twheel_time(tw->clock);
}

TWHEEL_API int twheel_update_now(struct twheel *tw)
{
	return tw->backend->update_now(tw);
}

TWHEEL_API unsigned int twheel_version(void)
{
	return TWHEEL_VERSION_NUMBER;
}

TWHEEL_API int twheel_set_now(struct twheel *tw, uint64_t ns)
{
	if (!ns || ns > INT64_MAX)
		return -EINVAL;
	return tw->backend->set_now(tw, ns);
}

TWHEEL_API int twheel_stats(const struct twheel *tw, struct twheel_counters *counters, size_t size)
{
	struct twheel_counters now;
	int ret;

	if (!size)
		return -EINVAL;
	ret = tw->backend->stats(tw, &now);
	if (ret)
		return ret;
	memcpy(counters, &now, size < sizeof(now) ? size : sizeof(now));
	/* The program may be newer than the library. */
	if (size > sizeof(now))
		memset((char *)counters + sizeof(now), 0, size - sizeof(now));
	return 0;
}

TWHEEL_API int twheel_get_info(const struct twheel *tw, unsigned int flags,
			       struct twheel_info *info)
{
	int ret;

	*info = (struct twheel_info){ .flags = flags };
	ret = twheel_ioctl(tw, TWHEEL_IOC_GET_INFO, info);
	if (!ret && tw->emb)
		info->features |= TWHEEL_FEATURE_EMBEDDED;
	return ret;
}

TWHEEL_API int twheel_arm(struct twheel *tw, struct twheel_arm *arm)
{
	return twheel_ioctl(tw, TWHEEL_IOC_ARM, arm);
}

static bool twheel_keyed(const struct twheel *tw)
{
	return tw->config & TWHEEL_CONFIG_KEYED;
}

static int twheel_arm_new(struct twheel *tw, uint64_t expires,
			  unsigned int flags, uint64_t user_data,
			  uint64_t *handle)
{
	struct twheel_arm arm = {
		.expires = expires,
		.user_data = user_data,
		.flags = flags,
	};
	int ret;

	/* With keys all of these would be one timer, with key 0. */
	if (twheel_keyed(tw))
		return -EINVAL;
	ret = twheel_arm(tw, &arm);
	if (ret)
		return ret;
	if (handle)
		*handle = arm.handle;
	return 0;
}

TWHEEL_API int twheel_arm_after(struct twheel *tw, uint64_t delay,
				uint64_t user_data, uint64_t *handle)
{
	return twheel_arm_new(tw, delay, 0, user_data, handle);
}

TWHEEL_API int twheel_arm_at(struct twheel *tw, uint64_t expires,
			     uint64_t user_data, uint64_t *handle)
{
	return twheel_arm_new(tw, expires, TWHEEL_ARM_ABS, user_data, handle);
}

static int twheel_rearm(struct twheel *tw, uint64_t handle, uint64_t expires,
			unsigned int flags, uint64_t user_data,
			struct twheel_old *old)
{
	struct twheel_arm arm = {
		.handle = handle,
		.expires = expires,
		.user_data = user_data,
		.flags = flags,
	};
	int ret;

	/* The device would make a new timer, and the caller would not get its handle. */
	if (!handle && !twheel_keyed(tw))
		return -EINVAL;
	ret = twheel_arm(tw, &arm);
	if (ret)
		return ret;
	twheel_store_old(old, arm.old_state, arm.old_remaining);
	return 0;
}

TWHEEL_API int twheel_rearm_after(struct twheel *tw, uint64_t handle,
				  uint64_t delay, uint64_t user_data,
				  struct twheel_old *old)
{
	return twheel_rearm(tw, handle, delay, 0, user_data, old);
}

TWHEEL_API int twheel_rearm_at(struct twheel *tw, uint64_t handle,
			       uint64_t expires, uint64_t user_data,
			       struct twheel_old *old)
{
	return twheel_rearm(tw, handle, expires, TWHEEL_ARM_ABS, user_data, old);
}

static int twheel_set(struct twheel *tw, uint64_t *handle, uint64_t expires,
		      unsigned int flags, uint64_t user_data,
		      struct twheel_old *old)
{
	struct twheel_arm arm = {
		.handle = *handle,
		.expires = expires,
		.user_data = user_data,
		.flags = flags,
	};
	int ret;

	/* With keys twheel_put_after() does this, and 0 does not stand for no timer. */
	if (twheel_keyed(tw))
		return -EINVAL;
	ret = twheel_arm(tw, &arm);
	if (ret == -ENOENT) {
		arm.handle = 0;
		ret = twheel_arm(tw, &arm);
	}
	if (ret)
		return ret;
	*handle = arm.handle;
	twheel_store_old(old, arm.old_state, arm.old_remaining);
	return 0;
}

TWHEEL_API int twheel_set_after(struct twheel *tw, uint64_t *handle,
				uint64_t delay, uint64_t user_data,
				struct twheel_old *old)
{
	return twheel_set(tw, handle, delay, 0, user_data, old);
}

TWHEEL_API int twheel_set_at(struct twheel *tw, uint64_t *handle,
			     uint64_t expires, uint64_t user_data,
			     struct twheel_old *old)
{
	return twheel_set(tw, handle, expires, TWHEEL_ARM_ABS, user_data, old);
}

TWHEEL_API int twheel_put_after(struct twheel *tw, uint64_t key,
				uint64_t delay, uint64_t user_data,
				struct twheel_old *old)
{
	if (!twheel_keyed(tw))
		return -EINVAL;
	return twheel_rearm(tw, key, delay, 0, user_data, old);
}

TWHEEL_API int twheel_put_at(struct twheel *tw, uint64_t key,
			     uint64_t expires, uint64_t user_data,
			     struct twheel_old *old)
{
	if (!twheel_keyed(tw))
		return -EINVAL;
	return twheel_rearm(tw, key, expires, TWHEEL_ARM_ABS, user_data, old);
}

TWHEEL_API int twheel_cancel(struct twheel *tw, uint64_t handle,
			     struct twheel_old *old)
{
	struct twheel_cancel cancel = { .handle = handle };
	int ret = twheel_ioctl(tw, TWHEEL_IOC_CANCEL, &cancel);

	if (ret)
		return ret;
	twheel_store_old(old, cancel.old_state, cancel.old_remaining);
	return 0;
}

/*
 * The device handles fewer entries than it was asked to when a signal comes, or when
 * the memory of an entry cannot be reached. To tell the two apart, call it again for the
 * rest: only in the second case does that fail.
 */
static ssize_t twheel_batch(struct twheel *tw, unsigned long request,
			    void *entries, size_t n, size_t size)
{
	size_t done = 0;

	while (done < n) {
		size_t rest = n - done;
		struct twheel_batch batch = {
			.entries = (uintptr_t)entries + done * size,
			.count = rest < TWHEEL_ENTRIES_MAX ? rest : TWHEEL_ENTRIES_MAX,
		};
		int ret = twheel_ioctl(tw, request, &batch);

		if (ret < 0)
			return done ? (ssize_t)done : ret;
		if (!ret)
			break;
		done += (size_t)ret;
	}
	return (ssize_t)done;
}

TWHEEL_API ssize_t twheel_arm_batch(struct twheel *tw, struct twheel_arm *arms,
				    size_t n)
{
	return twheel_batch(tw, TWHEEL_IOC_ARM_BATCH, arms, n, sizeof(*arms));
}

TWHEEL_API ssize_t twheel_cancel_batch(struct twheel *tw,
				       struct twheel_cancel *cancels, size_t n)
{
	return twheel_batch(tw, TWHEEL_IOC_CANCEL_BATCH, cancels, n,
			    sizeof(*cancels));
}

TWHEEL_API ssize_t twheel_push_batch(struct twheel *tw, const struct twheel_push *pushes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t rest = n - done;
		size_t part = rest < TWHEEL_ENTRIES_MAX / sizeof(*pushes) ?
			      rest : TWHEEL_ENTRIES_MAX / sizeof(*pushes);
		ssize_t ret = tw->backend->write(tw, pushes + done, part * sizeof(*pushes));

		/* What a signal has ended goes on; what failed fails again, as the first entry. */
		if (ret <= 0)
			return done ? (ssize_t)done : ret;
		done += (size_t)ret / sizeof(*pushes);
	}
	return (ssize_t)done;
}

TWHEEL_API int twheel_push(struct twheel *tw, uint64_t handle, uint64_t expires)
{
	struct twheel_push push = { .handle = handle, .expires = expires };
	ssize_t ret = twheel_push_batch(tw, &push, 1);

	return ret < 0 ? (int)ret : 0;
}

TWHEEL_API int twheel_get(const struct twheel *tw, uint64_t handle,
			  struct twheel_timer_info *info)
{
	*info = (struct twheel_timer_info){ .handle = handle };
	return twheel_ioctl(tw, TWHEEL_IOC_GET, info);
}
