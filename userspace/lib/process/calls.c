// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The calls on an embedded context: requests, which the core carries out as for a device, and
 * reads; and how a context begins and ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/uio.h>

#include "arm.h"
#include "cancel.h"
#include "emb.h"
#include "expire.h"
#include "ioctl.h"
#include "push.h"

/* Records after which others get their turn, and the clock is read. */
#define READ_PART	64

/* So many timers, with those that are free, do not fit a CPU's own cache. */
#define FETCH_FROM	16384

/* The wheel is empty: let it begin at the present time of @clock. */
static void begin_wheel(struct twheel_emb *emb, enum twheel_clock clock)
{
	emb->user.base.clock = clock;
	twheel_emb_read_clock(emb);
	twheel_base_init(&emb->user.base, clock, 0, emb->memory);
	emb->user.first = TWHEEL_NEVER;
	emb->user.recheck = false;
}

/*
 * The context has other settings. 0 or -errno: then it must be closed, as twheel_open() does, from
 * which alone the request comes.
 */
static int follow_config(struct twheel_emb *emb)
{
	enum twheel_clock old = emb->user.base.clock;
	int ret = 0;

	begin_wheel(emb, emb->ctx->clock);
	if (emb->ctx->clock != old)
		ret = twheel_emb_fd_clock(emb, twheel_emb_clock(emb));
	/* So that it is set, and tells of steps from now on. */
	emb->spent = true;
	if (!ret)
		twheel_emb_describe(emb);
	return ret;
}

/* Nobody asks for memory that is aligned. */
static bool is_aligned(const void *memory)
{
	return memory && !((uintptr_t)memory % _Alignof(struct twheel_arm));
}

/*
 * Does a request name one timer? Then it needs not be copied in and out, as it is carried out in
 * the memory of the program.
 */
static bool is_single(unsigned long request, const void *arg)
{
	return (request == TWHEEL_IOC_ARM || request == TWHEEL_IOC_CANCEL) && is_aligned(arg);
}

/*
 * Let the timer that *@handle names come into the cache while the clock is read, which takes longer
 * than to find it: not if it has a key, or most likely is in the cache already.
 */
static void fetch_timer(struct twheel_emb *emb, const u64 *handle)
{
	struct twheel_timer *hint;

	if (emb->ctx->pool.keyed || twheel_pool_end(&emb->ctx->pool) < FETCH_FROM)
		return;
	rcu_read_lock();
	twheel_pool_look_ahead(&emb->ctx->pool, handle, sizeof(*handle), 1, &hint);
	rcu_read_unlock();
}

/* Carry out a request: @single as is_single() says. */
static int carry_out(struct twheel_emb *emb, unsigned long request, void *arg, bool single)
{
	int ret;

	if (single && request == TWHEEL_IOC_ARM) {
		twheel_arm_entries(emb->ctx, arg, 1);
		return ((struct twheel_arm *)arg)->result;
	}
	if (single) {
		twheel_cancel_entries(emb->ctx, arg, 1);
		return ((struct twheel_cancel *)arg)->result;
	}
	ret = (int)twheel_ioctl(emb->ctx, (unsigned int)request, arg, true, true);
	return !ret && request == TWHEEL_IOC_CONFIG ? follow_config(emb) : ret;
}

int twheel_emb_ioctl(struct twheel_emb *emb, unsigned long request, void *arg)
{
	bool single = is_single(request, arg);
	int ret;

	twheel_emb_lock(emb);
	if (single)
		fetch_timer(emb, arg);
	twheel_emb_catch_up(emb);
	ret = carry_out(emb, request, arg, single);
	twheel_emb_end_call(emb);
	return ret;
}

void twheel_emb_entries(struct twheel_emb *emb, unsigned long request, void *entries, uint32_t n)
{
	twheel_emb_begin(emb);
	if (request == TWHEEL_IOC_ARM)
		twheel_arm_entries(emb->ctx, entries, n);
	else
		twheel_cancel_entries(emb->ctx, entries, n);
	twheel_emb_end_call(emb);
}

int twheel_emb_map(struct twheel_emb *emb, uint32_t segment, uint64_t **words)
{
	int ret;

	twheel_emb_begin(emb);
	ret = twheel_emb_words(emb, segment, words);
	twheel_emb_end_call(emb);
	return ret;
}

/* Is this reader to be told that the clock was set? */
static bool take_step(struct twheel_emb *emb)
{
	if (!(emb->ctx->config & TWHEEL_CONFIG_CANCEL_ON_SET))
		return false;
	if (!twheel_ctx_stepped(emb->ctx))
		twheel_emb_ask_for_steps(emb);
	return twheel_ctx_take_step(emb->ctx);
}

bool twheel_emb_take_step(struct twheel_emb *emb)
{
	bool step;

	twheel_emb_begin(emb);
	step = take_step(emb);
	twheel_emb_end_call(emb);
	return step;
}

/* Fill @to with records, including what is due and was not ready yet. How many bytes. */
static ssize_t fill(struct twheel_emb *emb, struct iov_iter *to)
{
	ssize_t n, total = 0;
	bool more;

	while (iov_iter_count(to)) {
		n = twheel_expire_deliver(emb->ctx, to);
		total += n;
		if (n)
			continue;
		more = twheel_emb_turn(emb, TWHEEL_EXPIRE_BATCH);
		if (!more && !twheel_ctx_is_ready(emb->ctx))
			break;
		/* Many leases that were extended may come up. */
		twheel_emb_rest(emb);
	}
	/* A reader that leaves some knows that there may be more. */
	emb->news = false;
	return total;
}

/* What a read is to do if there are no records */
enum read_none { NONE_WAITS, NONE_FAILS, NONE_RETURNS };

/*
 * Take some of the records that a read of @total bytes has room for, which has @done already. How
 * many bytes, or -errno. @last: no other wheel has the rest. With NONE_RETURNS the caller has some:
 * so nothing fails, and no step is told.
 */
static ssize_t take_records(struct twheel_emb *emb, struct twheel_event events[READ_PART],
			    size_t done, size_t total, bool last, enum read_none none)
{
	struct iov_iter to = { (char *)events, total - done };
	bool some = none == NONE_RETURNS;
	ssize_t n = 0;
	int ret = 0;

	if (to.count > READ_PART * sizeof(*events))
		to.count = READ_PART * sizeof(*events);
	twheel_emb_lock(emb);
	twheel_emb_read_clock(emb);
	while (!ret) {
		if (!some && take_step(emb)) {
			ret = -ECANCELED;
			break;
		}
		n = fill(emb, &to);
		if (n || some)
			break;
		ret = twheel_emb_wait(emb, none == NONE_WAITS);
	}
	done += (size_t)n;
	/* This read takes no more. */
	if (done && (done == total || (last && to.count)))
		twheel_observe(TWHEEL_HIST_READ, done / sizeof(*events));
	twheel_emb_end_call(emb);
	return n ? n : ret;
}

static ssize_t read_records(struct twheel_emb *emb, void *buf, size_t done, size_t size, bool last,
			    enum read_none none)
{
	struct twheel_event events[READ_PART];
	size_t before = done;
	ssize_t n;

	size -= size % sizeof(*events);
	if (!size)
		return -EINVAL;
	if (!buf)
		return -EFAULT;
	do {
		n = take_records(emb, events, done, size, last, done ? NONE_RETURNS : none);
		if (n <= 0)
			break;
		/*
		 * The program's memory may have to come from a disk, or from another thread. So it
		 * is touched without the lock, and after other readers were told of what is left.
		 */
		memcpy((char *)buf + done, events, (size_t)n);
		done += (size_t)n;
	} while ((size_t)n == sizeof(events) && done < size);
	return done > before ? (ssize_t)(done - before) : n;
}

ssize_t twheel_emb_read(struct twheel_emb *emb, void *buf, size_t size, bool wait)
{
	return read_records(emb, buf, 0, size, true, wait ? NONE_WAITS : NONE_FAILS);
}

ssize_t twheel_emb_read_part(struct twheel_emb *emb, void *buf, size_t done, size_t size, bool last)
{
	return read_records(emb, buf, done, size, last, NONE_FAILS);
}

ssize_t twheel_emb_write(struct twheel_emb *emb, const void *buf, size_t size)
{
	struct iov_iter from = { (void *)buf, size };
	ssize_t ret = 0;

	if (!buf && size)
		return -EFAULT;
	twheel_emb_lock(emb);
	if (size == sizeof(struct twheel_push) && is_aligned(buf))
		fetch_timer(emb, buf);
	twheel_emb_catch_up(emb);
	if (size == sizeof(struct twheel_push))
		ret = twheel_push_at(emb->ctx, buf);
	if (!ret)
		ret = twheel_push_entries(emb->ctx, &from);
	twheel_emb_end_call(emb);
	return ret;
}

const uint64_t *twheel_emb_now(const struct twheel_emb *emb)
{
	return &emb->now;
}

void twheel_emb_update_now(struct twheel_emb *emb)
{
	twheel_emb_lock(emb);
	twheel_emb_look(emb);
	twheel_emb_end_call(emb);
}

void twheel_emb_set_now(struct twheel_emb *emb, uint64_t ns)
{
	twheel_emb_lock(emb);
	twheel_emb_read_clock(emb);
	/* From now on the timerfd is not set to @ns. */
	emb->spent |= !emb->stopped;
	if (emb->user.base.clock == TWHEEL_REALTIME && ns < emb->now)
		emb->steps++;
	twheel_emb_go_by(emb, ns);
	__atomic_store_n(&emb->stopped, true, __ATOMIC_RELAXED);
	while (twheel_emb_turn(emb, TWHEEL_EXPIRE_BATCH))
		twheel_emb_rest(emb);
	twheel_emb_end_call(emb);
}

/* What all contexts of a process share. */
static void init_process(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	twheel_geometry = (struct twheel_geometry){
		.tick_shift	= EMB_TICK_SHIFT,
		.slots		= EMB_SLOTS,
		.levels		= twheel_wheel_levels(EMB_SLOTS, TWHEEL_REACH_NS >> EMB_TICK_SHIFT),
	};
	/* What fits 4% of memory, as the module has it. */
	twheel_max_fd_timers = (unsigned long)(pages / 25 * (size / sizeof(struct twheel_timer)));
	twheel_pool_cache_init();
}

static void init_locks(struct twheel_emb *emb)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
#ifdef __GLIBC__
	/* Most calls take less time than to sleep and to be woken does. */
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	pthread_mutex_init(&emb->lock, &attr);
	pthread_mutex_init(&emb->queue, &attr);
	pthread_mutexattr_destroy(&attr);
}

/*
 * The time namespace of this process, or 0 if that cannot be told. Only its children begin in
 * another one, so it is looked up once.
 */
static uint32_t time_namespace(void)
{
	static uint64_t last;
	uint64_t known = __atomic_load_n(&last, __ATOMIC_RELAXED);
	unsigned int process;
	struct stat ns;

	if (twheel_which_process(&process))
		return 0;
	if (known >> 32 != process) {
		known = (uint64_t)process << 32;
		if (!stat("/proc/self/ns/time", &ns))
			known |= (uint32_t)ns.st_ino;
		__atomic_store_n(&last, known, __ATOMIC_RELAXED);
	}
	return (uint32_t)known;
}

int twheel_emb_new(struct twheel_emb **embp, int flags, bool caches,
		   const struct twheel_emb *first)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct twheel_emb *emb = aligned_alloc(_Alignof(struct twheel_emb), sizeof(*emb));
	int ret = -ENOMEM;

	if (!emb)
		return ret;
	memset(emb, 0, sizeof(*emb));
	emb->slot = &emb->own;
	emb->tally = twheel_emb_tally();
	emb->caches = caches;
	emb->time_ns = time_namespace();
	pthread_once(&once, init_process);
	emb->memory = calloc(1, twheel_wheel_size(EMB_SLOTS, twheel_geometry.levels));
	if (!emb->memory)
		goto err_free;
	emb->ctx = twheel_ctx_create(&emb->user);
	if (IS_ERR(emb->ctx))
		goto err_free_memory;
	ret = twheel_emb_fd_open(emb, flags, first);
	if (ret)
		goto err_destroy;
	init_locks(emb);
	twheel_emb_enter(emb);
	begin_wheel(emb, emb->ctx->clock);
	twheel_emb_describe(emb);
	twheel_emb_share(emb);
	*embp = emb;
	return emb->fd;

err_destroy:
	twheel_emb_enter(emb);
	twheel_ctx_destroy(emb->ctx);
	twheel_emb_free_later(emb);
err_free_memory:
	free(emb->memory);
err_free:
	free(emb);
	return ret;
}

void twheel_emb_destroy(struct twheel_emb *emb, bool inherited)
{
	shim_tear(inherited);
	emb->closing = true;
	__atomic_fetch_sub(&emb->tally->timers, emb->counted, __ATOMIC_RELAXED);
	twheel_emb_unshare(emb);
	twheel_emb_enter(emb);
	twheel_emb_fd_close(emb);
	/* None of its timers comes up any more, as nobody turns the wheel. */
	twheel_ctx_destroy(emb->ctx);
	twheel_emb_free_later(emb);
	twheel_emb_free_pages(emb);
	free(emb->memory);
	free(emb);
	shim_tear(false);
}

bool twheel_emb_take_over(struct twheel_emb *emb)
{
	uint32_t now = time_namespace();

	/* All deadlines are by other clocks. Wall time is the same in each. */
	if (emb->time_ns && now && emb->time_ns != now &&
	    emb->user.base.clock != TWHEEL_REALTIME)
		return false;
	init_locks(emb);
	twheel_emb_unshare(emb);
	twheel_emb_share(emb);
	emb->waiting = 0;
	emb->overdue = 0;
	return true;
}
