// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: how contexts begin and end.
 */
/* For secure_getenv() */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Is a context with these settings to be on wall time? */
static bool is_on_wall_time(unsigned int flags, const struct twheel_config *config)
{
	return config && (config->clock == TWHEEL_CLOCK_REALTIME ||
			  (flags & TWHEEL_OPEN_CLOCK && config->clock == CLOCK_REALTIME));
}

/* @tw has a descriptor: configure it, and learn what it is. 0 or -errno. */
static int twheel_begin(struct twheel *tw, unsigned int flags, const struct twheel_config *config)
{
	struct twheel_config settings;
	struct twheel_info info;
	int ret;

	ret = twheel_which_process(&tw->process);
	if (ret)
		return ret;
	if (config) {
		settings = *config;
		if (is_on_wall_time(flags, config))
			settings.clock = TWHEEL_CLOCK_REALTIME;
		ret = twheel_ioctl(tw, TWHEEL_IOC_CONFIG, &settings);
		if (ret)
			return ret;
	}

	ret = twheel_get_info(tw, 0, &info);
	/* What some kinds of files, such as an epoll, say of a request that they do not know */
	if (ret == -EINVAL)
		ret = -ENOTTY;
	if (ret)
		return ret;
	if (info.abi_version < TWHEEL_ABI_VERSION)
		return -EPROTONOSUPPORT;

	tw->clock = info.clock == TWHEEL_CLOCK_REALTIME ? CLOCK_REALTIME : (int)info.clock;
	tw->config = info.config;
	return tw->config & TWHEEL_CONFIG_LEASE ? twheel_leases_new(tw) : 0;
}

/* Open the device at @path. 0 or -errno. */
static int twheel_open_device(struct twheel *tw, const char *path, unsigned int flags)
{
	int oflags = O_RDWR;

	if (flags & TWHEEL_OPEN_NONBLOCK)
		oflags |= O_NONBLOCK;
	if (flags & TWHEEL_OPEN_CLOEXEC)
		oflags |= O_CLOEXEC;
	tw->backend = &twheel_device;
	tw->fd = open(path, oflags);
	return tw->fd < 0 ? -errno : 0;
}

static int twheel_open_embedded(struct twheel *tw, unsigned int flags)
{
#ifdef TWHEEL_EMBEDDED
	return twheel_embedded_open(tw, flags);
#else
	(void)tw;
	(void)flags;
	return -EOPNOTSUPP;
#endif
}

/* Which kind of context to open: AUTO is an embedded one where there is no device. */
enum { TWHEEL_CHOICE_AUTO, TWHEEL_CHOICE_DEVICE, TWHEEL_CHOICE_EMBEDDED };

/* What the program has asked for, or else the environment. -EINVAL if that makes no sense. */
static int twheel_choose(const char *path, unsigned int flags)
{
	const char *name;

	if (flags & TWHEEL_OPEN_EMBEDDED)
		return path ? -EINVAL : TWHEEL_CHOICE_EMBEDDED;
	if (path)
		return TWHEEL_CHOICE_DEVICE;
	name = secure_getenv("TWHEEL_BACKEND");
	if (!name || !*name || !strcmp(name, "auto"))
		return TWHEEL_CHOICE_AUTO;
	if (!strcmp(name, "device"))
		return TWHEEL_CHOICE_DEVICE;
	if (!strcmp(name, "embedded"))
		return TWHEEL_CHOICE_EMBEDDED;
	return -EINVAL;
}

/*
 * Open a descriptor for @tw. 0 or -errno. Only the absence of the device makes a context an
 * embedded one: if it is there and may not be used, or descriptors have run out, the program
 * has to learn it.
 */
static int twheel_open_fd(struct twheel *tw, const char *path, unsigned int flags, int choice)
{
	int ret, embedded;

	if (choice < 0)
		return choice;
	if (choice == TWHEEL_CHOICE_EMBEDDED)
		return twheel_open_embedded(tw, flags);
	ret = twheel_open_device(tw, path ? path : TWHEEL_DEVICE, flags);
	if (choice != TWHEEL_CHOICE_AUTO || (ret != -ENOENT && ret != -ENODEV))
		return ret;
	embedded = twheel_open_embedded(tw, flags);
	return embedded == -EOPNOTSUPP ? ret : embedded;
}

#define OPEN_FLAGS	(TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC | TWHEEL_OPEN_EMBEDDED | \
			 TWHEEL_OPEN_CLOCK | TWHEEL_OPEN_CACHE_NOW | TWHEEL_OPEN_THREADS)

static int twheel_open_new(struct twheel **twp, const char *path, unsigned int flags,
			   const struct twheel_config *config)
{
	struct twheel *tw;
	int ret;

	if (flags & ~(unsigned int)OPEN_FLAGS || (flags & TWHEEL_OPEN_CLOCK && !config))
		return -EINVAL;
	/* That may be set back. By a time from before, what is armed then would be due early. */
	if (is_on_wall_time(flags, config))
		flags &= ~(unsigned int)TWHEEL_OPEN_CACHE_NOW;
	tw = calloc(1, sizeof(*tw));
	if (!tw)
		return -ENOMEM;
	ret = twheel_open_fd(tw, path, flags, twheel_choose(path, flags));
	if (ret)
		goto err_free;
	ret = twheel_begin(tw, flags, config);
	if (ret)
		goto err_close;
	*twp = tw;
	return 0;

err_close:
	tw->backend->close(tw);
err_free:
	free(tw);
	return ret;
}

TWHEEL_API int twheel_open(struct twheel **twp, const char *path,
			   unsigned int flags,
			   const struct twheel_config *config)
{
	int ret, state;

	/* open() is a point of cancellation, and the memory of the context would be lost there. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ret = twheel_open_new(twp, path, flags, config);
	pthread_setcancelstate(state, &state);
	return ret;
}

TWHEEL_API int twheel_adopt(struct twheel **twp, int fd)
{
	struct twheel *tw = calloc(1, sizeof(*tw));
	int ret;

	if (!tw)
		return -ENOMEM;
	tw->backend = &twheel_device;
	tw->fd = fd;
	ret = twheel_begin(tw, 0, NULL);
	if (ret) {
		free(tw);
		return ret;
	}
	*twp = tw;
	return 0;
}

/* Free what the library keeps for a context, but for what its backend keeps. */
static void twheel_end(struct twheel *tw)
{
	/* The timers go on if there is another copy of the descriptor. */
	if (!twheel_inherited(tw))
		twheel_queue_flush(tw);
	twheel_leases_free(tw);
}

TWHEEL_API int twheel_release(struct twheel *tw)
{
	int fd = tw->fd;

	/* Its timers are in this process, and the descriptor alone is worth nothing. */
	if (tw->emb)
		return -EOPNOTSUPP;
	twheel_end(tw);
	twheel_loop_free(tw);
	return fd;
}

TWHEEL_API void twheel_close(struct twheel *tw)
{
	int state;

	if (!tw)
		return;
	twheel_end(tw);
	/* close() is a point of cancellation, and the rest has yet to be freed. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	tw->backend->close(tw);
	pthread_setcancelstate(state, &state);
	twheel_loop_free(tw);
}
