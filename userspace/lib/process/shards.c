// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An embedded context that threads use at once: several wheels, of which each is a context of
 * process.c with its own lock, and one descriptor for all.
 *
 * A thread makes its timers in one of them, its shard, and other threads in others: so they do not
 * wait for each other while each has to do with timers of its own. A timer stays in its shard. The
 * handle tells which one that is: in the index of the timer, and in that of its word, bits that no
 * shard uses are the number of the shard. With keys it is told by the key.
 *
 * A read takes from all that have something. So records are in order for each shard, as they are
 * for each CPU of the device.
 *
 * Locking rules: there is no lock but those of the shards, and no call holds two of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"
#include "calls.h"

#define SHARDS_MAX		TWHEEL_SHARE_WHEELS

/* The bit of an index where the number of the shard begins */
#define SHARD_SHIFT		28

/* The same in a cursor, whose upper half is 1 + an index */
#define CURSOR_SHIFT		60

/*
 * So many timers a shard may have, that indices stay below SHARD_SHIFT: new ones have those of
 * timers that have ended, unless their pages are used by other timers.
 */
#define SHARD_TIMERS		(1U << 27)

/* Entries that are carried out under one lock */
#define SHARD_PART		64

/* So many reads in a row that find no end have the next one begin at another shard. */
#define SHARD_READS		16

/**
 * struct twheel_shard - one of the wheels
 * @emb: the wheel
 * @full: how many reads in a row, by its threads, had no room for all that there was; atomic
 *
 * On a cache line of its own, as @full is.
 */
struct twheel_shard {
	struct twheel_emb	*emb;
	unsigned int		full;
} __attribute__((__aligned__(64)));

/**
 * struct twheel_shards - all wheels of a context
 * @n: how many: a power of two. Constant, and so are the next two once the context is configured
 * @keyed: timers have keys
 * @steps: the first one tells of steps of the clock, and no other does
 * @limit: how many timers all have, and may have
 * @of: the wheels
 */
struct twheel_shards {
	unsigned int		n;
	bool			keyed;
	bool			steps;
	struct twheel_emb_limit	limit;
	struct twheel_shard	of[SHARDS_MAX];
};

/* The number of this thread among those that have made timers in such a context; 0 before that */
static __thread unsigned int thread_number EMB_TLS;

/* The shard of this thread: that in which it makes timers, if it has made some */
static unsigned int own_shard(const struct twheel_shards *shards)
{
	return thread_number & (shards->n - 1);
}

/* The shard in which this thread makes a timer: threads that make none take nobody's place. */
static unsigned int shard_for_new(const struct twheel_shards *shards)
{
	static unsigned int threads;

	if (!thread_number)
		thread_number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return own_shard(shards);
}

/*
 * By the first bits of Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4). Programs
 * may tell their keys apart by the upper half alone, for which the multiplier is poor.
 */
static unsigned int shard_of_key(const struct twheel_shards *shards, uint64_t key)
{
	return (unsigned int)(((key ^ key >> 32) * 0x9e3779b97f4a7c15 >> 32) * shards->n >> 32);
}

/*
 * The shard that has the timer *@handle, which becomes its name there. A handle that no shard has
 * given out names no timer of the first one either, as its index is too high.
 */
static unsigned int shard_of(const struct twheel_shards *shards, __u64 *handle)
{
	unsigned int shard = (uint32_t)*handle >> SHARD_SHIFT;
	__u64 name = *handle - ((__u64)shard << SHARD_SHIFT);

	if (shards->keyed)
		return shard_of_key(shards, *handle);
	/* 0 is no handle, and would ask for a new timer. */
	if (shard >= shards->n || !name)
		return 0;
	*handle = name;
	return shard;
}

/* What the program calls a timer that is @handle in its shard */
static uint64_t handle_in(const struct twheel_shards *shards, unsigned int shard, uint64_t handle)
{
	return shards->keyed ? handle : handle + ((uint64_t)shard << SHARD_SHIFT);
}

/* And its word. 0 is that of no lease. */
static uint32_t word_in(unsigned int shard, uint32_t word)
{
	return word ? word + (shard << SHARD_SHIFT) : 0;
}

static struct twheel_emb *emb_of(const struct twheel_shards *shards, unsigned int shard)
{
	return shards->of[shard].emb;
}

/*
 * Arming and cancelling
 */

/* An entry of a request; each begins with the handle. */
union shard_entry {
	__u64			handle;
	struct twheel_arm	arm;
	struct twheel_cancel	cancel;
};

/* The handle of an entry in the program's memory, which may not be aligned */
static __u64 handle_at(const char *entry)
{
	__u64 handle;

	memcpy(&handle, entry, sizeof(handle));
	return handle;
}

/* Which shard is to carry out an entry that names *@handle? That becomes the timer's name there. */
static unsigned int shard_for(const struct twheel_shards *shards, unsigned long request,
			      __u64 *handle)
{
	if (request == TWHEEL_IOC_ARM && !*handle && !shards->keyed)
		return shard_for_new(shards);
	return shard_of(shards, handle);
}

/*
 * These are inlined where @request is a constant, so that the size of an entry is one, too.
 *
 * What is copied whole is changed before or after that by itself: a processor that reads many bytes
 * waits for those that were just written.
 */

/* An entry was carried out where it is: let it have the names that the program knows. */
static inline __attribute__((__always_inline__))
void name_entry(const struct twheel_shards *shards, unsigned int shard, unsigned long request,
		union shard_entry *entry)
{
	/* 0 is left if no timer was made. */
	if (entry->handle)
		entry->handle = handle_in(shards, shard, entry->handle);
	if (request == TWHEEL_IOC_ARM)
		entry->arm.word = word_in(shard, entry->arm.word);
}

/* An entry was carried out: store it in the program's memory, with the names that it knows. */
static inline __attribute__((__always_inline__))
void store_entry(const struct twheel_shards *shards, unsigned int shard, unsigned long request,
		 const union shard_entry *entry, char *to, size_t size)
{
	__u64 handle = handle_at(to);
	__u32 word;

	if (request == TWHEEL_IOC_ARM && !entry->arm.result)
		handle = handle_in(shards, shard, entry->handle);
	memcpy(to + sizeof(handle), (const char *)entry + sizeof(handle), size - sizeof(handle));
	memcpy(to, &handle, sizeof(handle));
	if (request == TWHEEL_IOC_ARM && entry->arm.word) {
		word = word_in(shard, entry->arm.word);
		memcpy(to + offsetof(struct twheel_arm, word), &word, sizeof(word));
	}
}

/* Carry out an entry in the program's memory, as contexts with one wheel do, if it is aligned. */
static inline __attribute__((__always_inline__))
int run_single(const struct twheel_shards *shards, unsigned long request, void *arg, size_t size)
{
	union shard_entry *entry = arg, copy;
	unsigned int shard;
	int ret;

	if (!arg)
		return -EFAULT;
	if ((uintptr_t)arg % _Alignof(union shard_entry))
		entry = memcpy(&copy, arg, size);

	shard = shard_for(shards, request, &entry->handle);
	ret = twheel_emb_ioctl(emb_of(shards, shard), request, entry);
	name_entry(shards, shard, request, entry);

	if (entry == &copy)
		memcpy(arg, &copy, size);
	return ret;
}

/* Carry out entries of one shard, which know their timers by @handles, where they are. */
static inline __attribute__((__always_inline__))
void run_in_place(const struct twheel_shards *shards, unsigned int shard, unsigned long request,
		  char *entries, const __u64 *handles, unsigned int n, size_t size)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		memcpy(entries + i * size, &handles[i], sizeof(handles[i]));
	twheel_emb_entries(emb_of(shards, shard), request, entries, n);
	for (i = 0; i < n; i++)
		name_entry(shards, shard, request, (union shard_entry *)(entries + i * size));
}

/*
 * Carry out up to SHARD_PART entries: those of a shard in order, one shard after another. Mostly
 * they are all of one.
 */
static inline __attribute__((__always_inline__))
void run_part(const struct twheel_shards *shards, unsigned long request, char *entries,
	      unsigned int n, size_t size)
{
	uint64_t part[SHARD_PART * sizeof(union shard_entry) / sizeof(uint64_t)];
	const size_t words = size / sizeof(uint64_t);
	__u64 handles[SHARD_PART];
	uint8_t shard_by_entry[SHARD_PART];
	unsigned int i, k, shard, left = 0;

	for (i = 0; i < n; i++) {
		handles[i] = handle_at(entries + i * size);
		shard_by_entry[i] = (uint8_t)shard_for(shards, request, &handles[i]);
		left |= 1U << shard_by_entry[i];
	}
	if (left == 1U << shard_by_entry[0] &&
	    !((uintptr_t)entries % _Alignof(union shard_entry))) {
		run_in_place(shards, shard_by_entry[0], request, entries, handles, n, size);
		return;
	}
	for (shard = 0; left; shard++, left >>= 1) {
		if (!(left & 1))
			continue;
		for (i = k = 0; i < n; i++) {
			if (shard_by_entry[i] != shard)
				continue;
			memcpy(part + k * words, entries + i * size, size);
			part[k++ * words] = handles[i];
		}
		twheel_emb_entries(emb_of(shards, shard), request, part, k);
		for (i = k = 0; i < n; i++)
			if (shard_by_entry[i] == shard)
				store_entry(shards, shard, request,
					    (union shard_entry *)(part + k++ * words),
					    entries + i * size, size);
	}
}

static inline __attribute__((__always_inline__))
int run_batch(const struct twheel_shards *shards, unsigned long request,
	      const struct twheel_batch *batch, size_t size)
{
	char *entries = (char *)(uintptr_t)batch->entries;
	uint32_t n, done;

	if (batch->flags || batch->count > INT32_MAX)
		return -EINVAL;
	if (!entries && batch->count)
		return -EFAULT;
	for (done = 0; done < batch->count; done += n) {
		n = batch->count - done < SHARD_PART ? batch->count - done : SHARD_PART;
		run_part(shards, request, entries + done * size, n, size);
	}
	return (int)batch->count;
}

static ssize_t shards_write(const struct twheel *tw, const void *buf, size_t size)
{
	const struct twheel_shards *shards = tw->shards;
	struct twheel_push part[SHARD_PART];
	const size_t bytes = sizeof(part[0]);
	unsigned int k, shard, first = 0;
	size_t done = 0;
	ssize_t ret;

	if (twheel_inherited(tw))
		return -ECHILD;
	if (size % bytes)
		return -EINVAL;
	if (!buf && size)
		return -EFAULT;
	while (done < size) {
		/* They are carried out in order, up to one that fails: so only those in a row. */
		for (k = 0; k < SHARD_PART && done + k * bytes < size; k++) {
			memcpy(&part[k], (const char *)buf + done + k * bytes, bytes);
			shard = shard_of(shards, &part[k].handle);
			if (!k)
				first = shard;
			else if (shard != first)
				break;
		}
		ret = twheel_emb_write(emb_of(shards, first), part, k * bytes);
		if (ret <= 0)
			return done ? (ssize_t)done : ret;
		done += (size_t)ret;
		if ((size_t)ret < k * bytes)
			break;
	}
	return (ssize_t)done;
}

/*
 * What programs ask
 */

static int get_timer(const struct twheel_shards *shards, struct twheel_timer_info *info)
{
	uint64_t handle = info->handle;
	unsigned int shard = shard_of(shards, &info->handle);
	int ret = twheel_emb_ioctl(emb_of(shards, shard), TWHEEL_IOC_GET, info);

	info->handle = handle;
	if (!ret)
		info->word = word_in(shard, info->word);
	return ret;
}

static int get_info(const struct twheel_shards *shards, struct twheel_info *info)
{
	struct twheel_info other = { .flags = info->flags };
	unsigned int shard;
	int ret = twheel_emb_ioctl(emb_of(shards, 0), TWHEEL_IOC_GET_INFO, info);

	if (ret)
		return ret;
	for (shard = 1; !ret && shard < shards->n; shard++) {
		ret = twheel_emb_ioctl(emb_of(shards, shard), TWHEEL_IOC_GET_INFO, &other);
		info->pending += other.pending;
		info->ready += other.ready;
		if (other.next_expiry < info->next_expiry)
			info->next_expiry = other.next_expiry;
	}
	info->limit = shards->limit.max;
	/* They are not of one moment: a timer may have ended that was counted, and one begun. */
	if (info->ready > info->limit)
		info->ready = info->limit;
	if (info->pending > info->limit - info->ready)
		info->pending = info->limit - info->ready;
	return ret;
}

/* A walk goes through one shard after another. */
static int list_timers(const struct twheel_shards *shards, struct twheel_list *list)
{
	struct twheel_timer_info *infos = (struct twheel_timer_info *)(uintptr_t)list->entries;
	unsigned int shard = (unsigned int)(list->cursor >> CURSOR_SHIFT);
	struct twheel_list rest = *list;
	uint32_t n = 0;
	int i, ret;

	rest.cursor &= (1ULL << CURSOR_SHIFT) - 1;
	for (; shard < shards->n; shard++, rest.cursor = 0) {
		do {
			rest.entries = (uintptr_t)(infos + n);
			rest.count = list->count - n;
			ret = twheel_emb_ioctl(emb_of(shards, shard), TWHEEL_IOC_LIST, &rest);
			if (ret < 0)
				return n ? (int)n : ret;
			list->cursor = (uint64_t)shard << CURSOR_SHIFT | rest.cursor;
			for (i = 0; i < ret; i++, n++) {
				infos[n].handle = handle_in(shards, shard, infos[n].handle);
				infos[n].word = word_in(shard, infos[n].word);
			}
			if (n == list->count)
				return (int)n;
		} while (ret);
	}
	return (int)n;
}

/*
 * All timers of a context have the limit together. If the program has not asked for one the wheels
 * keep some hundreds of timers of it each, which others cannot have.
 */
static int configure(struct twheel_shards *shards, const struct twheel_config *config)
{
	uint64_t most = twheel_emb_most_timers(), limit = config->limit ? config->limit : most;
	struct twheel_config settings = *config;
	unsigned int shard;
	int ret = 0;

	if (limit > most)
		return -EINVAL;
	settings.limit = limit < SHARD_TIMERS ? limit : SHARD_TIMERS;
	for (shard = 0; !ret && shard < shards->n; shard++) {
		ret = twheel_emb_ioctl(emb_of(shards, shard), TWHEEL_IOC_CONFIG, &settings);
		/* Each change is told once. */
		settings.flags &= ~(uint32_t)TWHEEL_CONFIG_CANCEL_ON_SET;
	}
	if (ret)
		return ret;
	shards->keyed = config->flags & TWHEEL_CONFIG_KEYED;
	shards->steps = config->flags & TWHEEL_CONFIG_CANCEL_ON_SET;
	shards->limit.max = limit;
	shards->limit.exact = config->limit;
	for (shard = 0; shard < shards->n; shard++)
		twheel_emb_set_limit(emb_of(shards, shard), &shards->limit);
	return 0;
}

static int shards_ioctl(const struct twheel *tw, unsigned long request, void *arg)
{
	struct twheel_shards *shards = tw->shards;

	if (twheel_inherited(tw))
		return -ECHILD;
	switch (request) {
	case TWHEEL_IOC_ARM:
		return run_single(shards, TWHEEL_IOC_ARM, arg, sizeof(struct twheel_arm));
	case TWHEEL_IOC_CANCEL:
		return run_single(shards, TWHEEL_IOC_CANCEL, arg, sizeof(struct twheel_cancel));
	case TWHEEL_IOC_ARM_BATCH:
		return run_batch(shards, TWHEEL_IOC_ARM, arg, sizeof(struct twheel_arm));
	case TWHEEL_IOC_CANCEL_BATCH:
		return run_batch(shards, TWHEEL_IOC_CANCEL, arg, sizeof(struct twheel_cancel));
	case TWHEEL_IOC_GET:
		return get_timer(shards, arg);
	case TWHEEL_IOC_GET_INFO:
		return get_info(shards, arg);
	case TWHEEL_IOC_LIST:
		return list_timers(shards, arg);
	case TWHEEL_IOC_CONFIG:
		return configure(shards, arg);
	}
	return -ENOTTY;
}

/*
 * Reading
 */

/* Where a read of this thread is to begin, so that no shard waits for ever behind another. */
static unsigned int first_to_read(const struct twheel_shards *shards)
{
	unsigned int own = own_shard(shards);
	unsigned int full = __atomic_load_n(&shards->of[own].full, __ATOMIC_RELAXED);

	return full % SHARD_READS == SHARD_READS - 1 ? own + full / SHARD_READS + 1 : own;
}

static void note_read(struct twheel_shards *shards, bool full)
{
	unsigned int *count = &shards->of[own_shard(shards)].full;
	unsigned int reads = __atomic_load_n(count, __ATOMIC_RELAXED);

	if (full || reads)
		__atomic_store_n(count, full ? reads + 1 : 0, __ATOMIC_RELAXED);
}

/* The first one from @i on, before @end, that may have something; behind the last comes shard 0. */
static unsigned int next_to_read(const struct twheel_shards *shards, unsigned int i,
				 unsigned int end, uint64_t now)
{
	while (i < end && !twheel_emb_may_read(emb_of(shards, i & (shards->n - 1)), now))
		i++;
	return i;
}

/* Take what there may be at @now, at most @n records. How many, or -errno. */
static ssize_t take_events(const struct twheel *tw, struct twheel_event *events, size_t n,
			   uint64_t now)
{
	struct twheel_shards *shards = tw->shards;
	unsigned int first = first_to_read(shards), end = first + shards->n, i, next, shard;
	const size_t bytes = sizeof(*events);
	ssize_t k, ret = -EAGAIN;
	size_t done = 0;

	/* Before it gets any records: afterwards no shard tells of a step. */
	if (shards->steps && twheel_emb_take_step(tw->emb))
		return -ECANCELED;
	for (i = next_to_read(shards, first, end, now); i < end && done < n; i = next) {
		next = next_to_read(shards, i + 1, end, now);
		shard = i & (shards->n - 1);
		ret = twheel_emb_read_part(emb_of(shards, shard), events, done * bytes, n * bytes,
					   next == end);
		if (ret < 0 && ret != -EAGAIN)
			break;
		ret = ret < 0 ? 0 : ret / (ssize_t)bytes;
		for (k = 0; k < ret; k++, done++)
			events[done].handle = handle_in(shards, shard, events[done].handle);
	}
	note_read(shards, done == n);
	return done ? (ssize_t)done : ret ? ret : -EAGAIN;
}

/* As take_events(); if it finds nothing, and the descriptor is readable all the same, in all. */
static ssize_t try_to_read(const struct twheel *tw, struct twheel_event *events, size_t n)
{
	ssize_t ret = take_events(tw, events, n, twheel_emb_time(tw->emb));

	if (ret == -EAGAIN && twheel_emb_may_repeat(tw->emb))
		ret = take_events(tw, events, n, UINT64_MAX);
	return ret;
}

/* A signal has come. What the program's time is now, if it is not the kernel's, nobody tells. */
static void look_again(const struct twheel_shards *shards)
{
	unsigned int shard;

	for (shard = 0; shard < shards->n; shard++)
		twheel_emb_update_now(emb_of(shards, shard));
}

TWHEEL_LEAVES
static ssize_t shards_read(const struct twheel *tw, void *buf, size_t size, bool wait)
{
	size_t n = size / sizeof(struct twheel_event);
	ssize_t ret;

	if (twheel_inherited(tw))
		return -ECHILD;
	if (!n)
		return -EINVAL;
	if (!buf)
		return -EFAULT;
	for (;;) {
		ret = try_to_read(tw, buf, n);
		if (ret > 0)
			return ret * (ssize_t)sizeof(struct twheel_event);
		if (ret != -EAGAIN || !wait || fcntl(tw->fd, F_GETFL) & O_NONBLOCK)
			return ret;
		ret = twheel_wait_readable(tw, UINT64_MAX);
		if (ret < 0) {
			look_again(tw->shards);
			return ret;
		}
	}
}

/*
 * The rest
 */

static int shards_map(const struct twheel *tw, uint32_t segment, uint64_t **words)
{
	const unsigned int shift = SHARD_SHIFT - TWHEEL_SEGMENT_SHIFT;

	if (twheel_inherited(tw))
		return -ECHILD;
	if (segment >> shift >= tw->shards->n)
		return -EINVAL;
	return twheel_emb_map(emb_of(tw->shards, segment >> shift), segment % (1U << shift), words);
}

/* They go with the context. */
static void shards_unmap(uint64_t *words)
{
	(void)words;
}

static int shards_set_now(struct twheel *tw, uint64_t ns)
{
	unsigned int shard;

	if (twheel_inherited(tw))
		return -ECHILD;
	/* What is queued has taken effect, to the program, by the time of then. */
	twheel_queue_flush(tw);
	for (shard = 0; shard < tw->shards->n; shard++)
		twheel_emb_set_now(emb_of(tw->shards, shard), ns);
	__atomic_store_n(&tw->now, twheel_emb_now(tw->emb), __ATOMIC_RELEASE);
	return 0;
}

/* All calls read the clock. */
static int shards_update_now(struct twheel *tw)
{
	return twheel_inherited(tw) ? -ECHILD : 0;
}

static int shards_stats(const struct twheel *tw, struct twheel_counters *counters)
{
	uint64_t counts[TWHEEL_SHARE_COUNTS], *sum = (uint64_t *)counters;
	unsigned int shard, i;

	if (twheel_inherited(tw))
		return -ECHILD;
	memset(counters, 0, sizeof(*counters));
	for (shard = 0; shard < tw->shards->n; shard++) {
		twheel_emb_stats(emb_of(tw->shards, shard), counts);
		for (i = 0; i < TWHEEL_SHARE_COUNTS; i++)
			sum[i] += counts[i];
	}
	return 0;
}

static bool shards_take_over(struct twheel *tw)
{
	unsigned int shard;

	/* All are in the same time namespace. */
	for (shard = 0; shard < tw->shards->n; shard++)
		if (!twheel_emb_take_over(emb_of(tw->shards, shard)))
			return false;
	return true;
}

static void free_shards(struct twheel_shards *shards, bool inherited)
{
	/* The first one has the descriptor of all. */
	while (shards->n)
		twheel_emb_destroy(emb_of(shards, --shards->n), inherited);
	free(shards);
}

static void shards_close(struct twheel *tw)
{
	free_shards(tw->shards, twheel_inherited(tw));
}

static const struct twheel_backend twheel_sharded = {
	.ioctl		= shards_ioctl,
	.read		= shards_read,
	.write		= shards_write,
	.map		= shards_map,
	.unmap		= shards_unmap,
	.set_now	= shards_set_now,
	.update_now	= shards_update_now,
	.stats		= shards_stats,
	.take_over	= shards_take_over,
	.close		= shards_close,
};

/* As many as there are CPUs on which this thread may run, and two at least */
static unsigned int number_of_shards(void)
{
	unsigned int n = 2;
	cpu_set_t cpus;

	/* It fails where there are more CPUs than the set has room for. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return SHARDS_MAX;
	while (n < SHARDS_MAX && n < (unsigned int)CPU_COUNT(&cpus))
		n *= 2;
	return n;
}

int twheel_shards_open(struct twheel *tw, int oflags)
{
	struct twheel_shards *shards = aligned_alloc(_Alignof(struct twheel_shards),
						     sizeof(*shards));
	unsigned int n = number_of_shards();
	int ret;

	if (!shards)
		return -ENOMEM;
	memset(shards, 0, sizeof(*shards));
	while (shards->n < n) {
		ret = twheel_emb_new(&shards->of[shards->n].emb, oflags, false,
				     shards->n ? emb_of(shards, 0) : NULL);
		if (ret < 0)
			goto err_free;
		shards->n++;
		tw->fd = ret;
	}
	ret = configure(shards, &(struct twheel_config){ });
	if (ret)
		goto err_free;
	tw->backend = &twheel_sharded;
	tw->shards = shards;
	tw->emb = emb_of(shards, 0);
	return 0;

err_free:
	free_shards(shards, false);
	return ret;
}
