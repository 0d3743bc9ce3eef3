// SPDX-License-Identifier: GPL-2.0-only
/*
 * trigger - execute the code in which these patches have bugs
 *
 * usage: trigger [name...]	(all of them by default, and with no bug to be noticed)
 *
 * The unchanged module has to do all of this correctly. If a call ends differently, that is
 * printed, and the exit status is 1.
 */
#include <pthread.h>
#include <stdio.h>

#include "twheel_util.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* The number of timers that share a chunk of memory. */
#define CHUNK_TIMERS	63
#define CHUNKS		4
#define TIMERS		(CHUNKS * CHUNK_TIMERS)

/*
 * How long to try a bug that depends on chance: until the kernel reports something about
 * the module, or until this time is over.
 */
#define TRY_NS		(5 * TW_SEC)
#define TRY_LONG_NS	(90 * TW_SEC)

static int failed;
static __u64 try_ns = TRY_LONG_NS;

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("%s:%d: %s\n", __func__, __LINE__, #condition); \
			failed = 1; \
		} \
	} while (0)

static int arm_many(int fd, struct twheel_arm *arms, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		arms[i] = tw_request(TW_FAR, 0, i);
	return tw_arm_batch(fd, arms, n);
}

/* The data of two threads, of which one changes what the other looks at. */
struct pair {
	int fd;
	__u64 until;
	__u64 handle;
};

static void *make_and_cancel(void *arg)
{
	struct twheel_arm arms[2 * CHUNK_TIMERS];
	struct pair *pair = arg;
	int i, n = ARRAY_SIZE(arms);

	while (tw_now(CLOCK_MONOTONIC) < __atomic_load_n(&pair->until, __ATOMIC_RELAXED)) {
		CHECK(arm_many(pair->fd, arms, n) == n);
		/* When the last of these timers is cancelled the second chunk is freed. */
		__atomic_store_n(&pair->handle, arms[n - 1].handle, __ATOMIC_RELAXED);
		for (i = 0; i < n; i++)
			CHECK(!tw_cancel(pair->fd, arms[i].handle));
	}
	return NULL;
}

static void together(int fd, void (*look)(struct pair *))
{
	struct pair pair = { .fd = fd, .until = tw_now(CLOCK_MONOTONIC) + try_ns };
	const char *const module[] = { "[twheel]" };
	int kmsg = tw_kernel_log(), n;
	pthread_t thread;

	CHECK(kmsg >= 0);
	CHECK(!pthread_create(&thread, NULL, make_and_cancel, &pair));
	for (n = 1; tw_now(CLOCK_MONOTONIC) < pair.until; n++) {
		look(&pair);
		if (n % 64 == 0 && tw_kernel_says(kmsg, module, 1))
			__atomic_store_n(&pair.until, 0, __ATOMIC_RELAXED);
	}
	pthread_join(thread, NULL);
	close(kmsg);
}

static void get_last(struct pair *pair)
{
	struct twheel_timer_info info;
	int ret;

	ret = tw_get(pair->fd, __atomic_load_n(&pair->handle, __ATOMIC_RELAXED), &info);
	CHECK(!ret || ret == -ENOENT);
}

static void look_up(int fd)
{
	together(fd, get_last);
}

static void get_info(struct pair *pair)
{
	CHECK(tw_info(pair->fd).pending <= 2 * CHUNK_TIMERS);
}

static void info(int fd)
{
	together(fd, get_info);
}

static void batch(int fd)
{
	struct twheel_batch nowhere = { .count = 64 };
	struct twheel_arm arms[64];
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	CHECK(arm_many(fd, arms, 64) == 64);
	CHECK(page != MAP_FAILED);
	nowhere.entries = (unsigned long)page;
	for (i = 0; i < 16; i++)
		CHECK(tw_call(fd, TWHEEL_IOC_ARM_BATCH, &nowhere) == -EFAULT);
}

static void cancel(int fd)
{
	CHECK(!tw_cancel(fd, tw_arm(fd, TW_FAR, 0, 0)));
}

static void expire(int fd)
{
	struct twheel_event event;

	CHECK(tw_arm(fd, TW_MSEC, 0, 0));
	CHECK(tw_collect(fd, &event, 1) == 1);
}

/* The hole has two chunks without timers, of which one is freed. */
static void list(int fd)
{
	struct twheel_timer_info entries[TIMERS];
	struct twheel_list list = { .entries = (unsigned long)entries, .count = TIMERS };
	struct twheel_arm arms[TIMERS];
	int i;

	CHECK(arm_many(fd, arms, TIMERS) == TIMERS);
	for (i = CHUNK_TIMERS; i < TIMERS - CHUNK_TIMERS; i++)
		CHECK(!tw_cancel(fd, arms[i].handle));
	CHECK(tw_call(fd, TWHEEL_IOC_LIST, &list) == 2 * CHUNK_TIMERS);
}

static void keys(int fd)
{
	struct twheel_arm arm = tw_request(TW_FAR, 0, 0);

	CHECK(!tw_configure(fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	for (arm.handle = 0; arm.handle < 2; arm.handle++)
		CHECK(!tw_call(fd, TWHEEL_IOC_ARM, &arm));
}

/* The hrtimer stays set when the timer is gone. */
static void leave(int fd)
{
	CHECK(tw_arm(fd, TW_FAR, 0, 0));
}

static const struct {
	const char *name;
	void (*run)(int fd);
} triggers[] = {
	{ "look-up", look_up },
	{ "info", info },
	{ "batch", batch },
	{ "cancel", cancel },
	{ "expire", expire },
	{ "list", list },
	{ "keys", keys },
	{ "leave", leave },
};

/* Runs the triggers that are named @name, or all. Returns how many there were. */
static int run(const char *name)
{
	size_t i;
	int n = 0, fd;

	for (i = 0; i < ARRAY_SIZE(triggers); i++) {
		if (name && strcmp(name, triggers[i].name))
			continue;
		fd = tw_open();
		CHECK(fd >= 0);
		triggers[i].run(fd);
		close(fd);
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 1) {
		try_ns = TRY_NS;
		run(NULL);
	}
	for (i = 1; i < argc; i++) {
		if (!run(argv[i])) {
			fprintf(stderr, "%s: no trigger %s\n", argv[0], argv[i]);
			return 2;
		}
	}
	return failed;
}
