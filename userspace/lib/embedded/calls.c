// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The calls on an embedded context: the interface of <linux/twheel.h>, in and out.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "emb.h"

/* Entries of a batch, or records, after which others get their turn, and the clock is read. */
#define BATCH_PART	64

#define FEATURES	(TWHEEL_FEATURE_BOOTTIME | TWHEEL_FEATURE_BATCH | \
			 TWHEEL_FEATURE_INTERVAL | TWHEEL_FEATURE_SLACK | \
			 TWHEEL_FEATURE_LIST | TWHEEL_FEATURE_REALTIME | \
			 TWHEEL_FEATURE_FIXED_DELAY | TWHEEL_FEATURE_KEYED | \
			 TWHEEL_FEATURE_LEASE | TWHEEL_FEATURE_CONDITIONAL)

#define CONFIGS		((uint32_t)(TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE | \
				    TWHEEL_CONFIG_CANCEL_ON_SET))

static int get_info(struct twheel_emb *emb, struct twheel_info *info)
{
	uint32_t flags = info->flags;

	if (flags & ~(uint32_t)TWHEEL_INFO_NEXT)
		return -EINVAL;
	twheel_emb_begin(emb);
	*info = (struct twheel_info){
		.flags		= flags,
		.abi_version	= TWHEEL_ABI_VERSION,
		.features	= FEATURES,
		.tick_ns	= 1ULL << EMB_TICK_SHIFT,
		.slots		= EMB_SLOTS,
		.levels		= twheel_emb_levels(),
		/* CLOCK_REALTIME is 0, which asks for nothing in &twheel_config.clock. */
		.clock		= emb->clock == CLOCK_REALTIME ? TWHEEL_CLOCK_REALTIME :
				  (uint32_t)emb->clock,
		.config		= emb->config,
		.now		= emb->now,
		.limit		= emb->pool.limit,
		.user_limit	= UINT64_MAX,
		.user_timers	= twheel_emb_all_timers(),
		.pending	= emb->pool.nr_timers - emb->nr_ready,
		.ready		= emb->nr_ready,
		.next_expiry	= flags ? twheel_emb_next_expiry(emb) : 0,
	};
	twheel_emb_end_call(emb);
	return 0;
}

/* The clock that &twheel_config.clock asks for, or -EINVAL. */
static int config_clock(uint32_t clock)
{
	switch (clock) {
	case 0:
	case CLOCK_MONOTONIC:
		return CLOCK_MONOTONIC;
	case CLOCK_BOOTTIME:
		return CLOCK_BOOTTIME;
	case TWHEEL_CLOCK_REALTIME:
		return CLOCK_REALTIME;
	default:
		return -EINVAL;
	}
}

/* Put a timerfd on @clock in the place of the one that there is. 0 or -errno. */
static int change_clock(struct twheel_emb *emb, clockid_t clock)
{
	int cloexec = fcntl(emb->fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0;
	int nonblock = fcntl(emb->fd, F_GETFL) & O_NONBLOCK ? TFD_NONBLOCK : 0;
	int fd = twheel_emb_fd_open(clock, nonblock | TFD_CLOEXEC), ret;

	if (fd < 0)
		return fd;
	ret = dup3(fd, emb->fd, cloexec) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* The wheel is empty: let it begin at the present time of its clock. */
static void begin_wheel(struct twheel_emb *emb)
{
	uint64_t now = emb_time(emb->clock);

	twheel_wheel_init(&emb->wheel, EMB_SLOTS, twheel_emb_levels(), now >> EMB_TICK_SHIFT,
			  emb->memory);
	emb->first = TWHEEL_NEVER;
	emb->recheck = false;
	emb->stepped = false;
	emb->set_to = EMB_TIME_NEVER;
	/* So that the timerfd is set, and tells of steps from now on. */
	emb->spent = true;
	emb->shown = false;
}

static int configure(struct twheel_emb *emb, const struct twheel_config *config,
		     clockid_t clock)
{
	uint64_t max = twheel_emb_max_timers();
	int ret;

	if (emb->pool.settled)
		return -EBUSY;
	if (config->limit > max)
		return -EINVAL;
	ret = twheel_emb_pool_configure(&emb->pool, config->flags);
	if (!ret)
		ret = change_clock(emb, clock);
	if (ret)
		return ret;
	emb->clock = clock;
	emb->config = config->flags;
	emb->pool.limit = config->limit ? config->limit : max;
	begin_wheel(emb);
	return 0;
}

static int set_config(struct twheel_emb *emb, const struct twheel_config *config)
{
	int clock, ret;

	if (config->flags & ~CONFIGS || config->reserved[0] || config->reserved[1])
		return -EINVAL;
	clock = config_clock(config->clock);
	if (clock < 0)
		return clock;
	if (config->flags & TWHEEL_CONFIG_CANCEL_ON_SET && clock != CLOCK_REALTIME)
		return -EINVAL;
	twheel_emb_begin(emb);
	ret = configure(emb, config, clock);
	twheel_emb_end_call(emb);
	return ret;
}

static int one_arm(struct twheel_emb *emb, void *entry)
{
	struct twheel_arm arm;

	/* An array need not be aligned. */
	memcpy(&arm, entry, sizeof(arm));
	arm.result = (int16_t)twheel_emb_arm(emb, &arm);
	memcpy(entry, &arm, sizeof(arm));
	return arm.result;
}

static int one_cancel(struct twheel_emb *emb, void *entry)
{
	struct twheel_cancel cancel;

	memcpy(&cancel, entry, sizeof(cancel));
	cancel.result = twheel_emb_cancel(emb, &cancel);
	memcpy(entry, &cancel, sizeof(cancel));
	return cancel.result;
}

static int run_one(struct twheel_emb *emb, void *entry,
		   int (*run)(struct twheel_emb *emb, void *entry))
{
	int ret;

	twheel_emb_begin(emb);
	ret = run(emb, entry);
	twheel_emb_end_call(emb);
	return ret;
}

static int run_batch(struct twheel_emb *emb, const struct twheel_batch *batch, size_t size,
		     int (*run)(struct twheel_emb *emb, void *entry))
{
	char *entries = (char *)(uintptr_t)batch->entries;
	uint32_t done = 0, part;

	if (batch->flags || batch->count > INT_MAX)
		return -EINVAL;
	if (batch->count && !entries)
		return -EFAULT;
	while (done < batch->count) {
		twheel_emb_begin(emb);
		for (part = 0; part < BATCH_PART && done < batch->count; part++, done++)
			run(emb, entries + done * size);
		twheel_emb_end_call(emb);
	}
	return (int)done;
}

static int get(struct twheel_emb *emb, struct twheel_timer_info *info)
{
	int ret;

	twheel_emb_begin(emb);
	ret = twheel_emb_get(emb, info);
	twheel_emb_end_call(emb);
	return ret;
}

static int list(struct twheel_emb *emb, struct twheel_list *list)
{
	int ret;

	if (list->flags & ~(uint32_t)TWHEEL_LIST_DRAIN || !list->count || list->count > INT_MAX)
		return -EINVAL;
	if (!list->entries)
		return -EFAULT;
	twheel_emb_begin(emb);
	ret = twheel_emb_list(emb, list);
	twheel_emb_end_call(emb);
	return ret;
}

/* The argument of a request, which need not be aligned. */
union argument {
	struct twheel_info		info;
	struct twheel_config		config;
	struct twheel_arm		arm;
	struct twheel_cancel		cancel;
	struct twheel_batch		batch;
	struct twheel_timer_info	timer;
	struct twheel_list		list;
};

/* Carry out a request that is known. */
static int run(struct twheel_emb *emb, unsigned long request, union argument *arg)
{
	switch (request) {
	case TWHEEL_IOC_GET_INFO:
		return get_info(emb, &arg->info);
	case TWHEEL_IOC_CONFIG:
		return set_config(emb, &arg->config);
	case TWHEEL_IOC_ARM:
		return run_one(emb, &arg->arm, one_arm);
	case TWHEEL_IOC_ARM_BATCH:
		return run_batch(emb, &arg->batch, sizeof(struct twheel_arm), one_arm);
	case TWHEEL_IOC_CANCEL:
		return run_one(emb, &arg->cancel, one_cancel);
	case TWHEEL_IOC_CANCEL_BATCH:
		return run_batch(emb, &arg->batch, sizeof(struct twheel_cancel), one_cancel);
	case TWHEEL_IOC_GET:
		return get(emb, &arg->timer);
	default:
		return list(emb, &arg->list);
	}
}

static bool is_known(unsigned long request)
{
	switch (request) {
	case TWHEEL_IOC_GET_INFO:
	case TWHEEL_IOC_CONFIG:
	case TWHEEL_IOC_ARM:
	case TWHEEL_IOC_ARM_BATCH:
	case TWHEEL_IOC_CANCEL:
	case TWHEEL_IOC_CANCEL_BATCH:
	case TWHEEL_IOC_GET:
	case TWHEEL_IOC_LIST:
		return true;
	default:
		return false;
	}
}

int twheel_emb_ioctl(struct twheel_emb *emb, unsigned long request, void *arg)
{
	size_t size = _IOC_SIZE(request);
	union argument copy;
	int ret;

	if (!is_known(request))
		return -ENOTTY;
	if (!arg)
		return -EFAULT;
	memcpy(&copy, arg, size);
	ret = run(emb, request, &copy);
	if (_IOC_DIR(request) & _IOC_READ)
		memcpy(arg, &copy, size);
	return ret;
}

/* Is this reader to be told that the clock was set? */
static bool take_step(struct twheel_emb *emb)
{
	bool stepped;

	if (!(emb->config & TWHEEL_CONFIG_CANCEL_ON_SET))
		return false;
	if (!emb->stepped)
		twheel_emb_ask_for_steps(emb);
	stepped = emb->stepped;
	emb->stepped = false;
	return stepped;
}

/*
 * Take up to @room records. If there are none wait for some, unless the caller has @some
 * already. How many, or -errno.
 */
static ssize_t take_records(struct twheel_emb *emb, struct twheel_event *events, size_t room,
			    bool some)
{
	size_t n = 0;
	int ret = 0;

	pthread_mutex_lock(&emb->lock);
	emb->now = emb_time(emb->clock);
	while (!ret) {
		if (!some && take_step(emb)) {
			ret = -ECANCELED;
			break;
		}
		n = twheel_emb_deliver(emb, events, room);
		if (n || some)
			break;
		ret = twheel_emb_wait(emb);
	}
	twheel_emb_end_call(emb);
	return n ? (ssize_t)n : ret;
}

ssize_t twheel_emb_read(struct twheel_emb *emb, void *buf, size_t size)
{
	struct twheel_event events[BATCH_PART];
	size_t room = size / sizeof(*events), done = 0, part;
	ssize_t n;

	if (!room)
		return -EINVAL;
	if (!buf)
		return -EFAULT;
	do {
		part = room - done < BATCH_PART ? room - done : BATCH_PART;
		n = take_records(emb, events, part, done);
		if (n <= 0)
			break;
		/*
		 * The program's memory may have to come from a disk, or from another thread. So it
		 * is touched without the lock, and after other readers were told of what is left.
		 */
		memcpy((char *)buf + done * sizeof(*events), events, (size_t)n * sizeof(*events));
		done += (size_t)n;
	} while ((size_t)n == part && done < room);
	return done ? (ssize_t)(done * sizeof(*events)) : n;
}

int twheel_emb_new(struct twheel_emb **embp, int flags)
{
	struct twheel_emb *emb = calloc(1, sizeof(*emb));

	if (!emb)
		return -ENOMEM;
	emb->memory = calloc(1, twheel_wheel_size(EMB_SLOTS, twheel_emb_levels()));
	if (!emb->memory) {
		free(emb);
		return -ENOMEM;
	}
	emb->clock = CLOCK_MONOTONIC;
	emb->fd = twheel_emb_fd_open(emb->clock, flags);
	if (emb->fd < 0) {
		int ret = emb->fd;

		free(emb->memory);
		free(emb);
		return ret;
	}
	pthread_mutex_init(&emb->lock, NULL);
	TAILQ_INIT(&emb->ready);
	emb->pool.limit = twheel_emb_max_timers();
	begin_wheel(emb);
	*embp = emb;
	return 0;
}

void twheel_emb_destroy(struct twheel_emb *emb)
{
	close(emb->fd);
	twheel_emb_pool_destroy(&emb->pool);
	free(emb->memory);
	free(emb);
}

void twheel_emb_take_over(struct twheel_emb *emb)
{
	pthread_mutex_init(&emb->lock, NULL);
	emb->waiting = 0;
}
