// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that share a CPU with the timers, and for how long they stood still.
 */
#include <pthread.h>
#include <sys/timerfd.h>

#include "probe.h"
#include "twheel_util.h"

/**
 * struct probe - one of the threads
 * @thread: the thread
 * @cpu: where
 * @rounds: how often it has noted that it runs
 * @longest: the longest time between two of these, ns
 */
struct probe {
	pthread_t thread;
	int cpu;
	__u64 rounds;
	__u64 longest;
};

static struct probe spinner, sleeper, idle;
static bool stop;

/* Note that @p has run, as it last did at @last. Returns the time. */
static __u64 note(struct probe *p, __u64 last)
{
	__u64 now = tw_now(CLOCK_MONOTONIC);

	if (p->rounds && now - last > p->longest)
		p->longest = now - last;
	__atomic_store_n(&p->rounds, p->rounds + 1, __ATOMIC_RELEASE);
	return now;
}

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static void *spin(void *arg)
{
	struct probe *p = arg;
	__u64 last = 0;

	if (!tw_pin(p->cpu))
		return NULL;
	while (!stopped())
		last = note(p, last);
	/* A wait that has not ended counts, too. */
	note(p, last);
	return NULL;
}

static void *be_woken(void *arg)
{
	const struct itimerspec every_ms = {
		.it_value = { .tv_nsec = TW_MSEC },
		.it_interval = { .tv_nsec = TW_MSEC },
	};
	struct probe *p = arg;
	__u64 last = 0, n;
	int fd;

	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (fd < 0 || !tw_pin(p->cpu) || timerfd_settime(fd, 0, &every_ms, NULL))
		return NULL;
	while (!stopped() && read(fd, &n, sizeof(n)) == sizeof(n))
		last = note(p, last);
	close(fd);
	return NULL;
}

static bool at_work(const struct probe *p)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;

	while (__atomic_load_n(&p->rounds, __ATOMIC_ACQUIRE) < 3) {
		if (tw_now(CLOCK_MONOTONIC) > limit)
			return false;
		usleep(1000);
	}
	return true;
}

static int start(struct probe *p, int cpu, void *(*run)(void *))
{
	*p = (struct probe){ .cpu = cpu };
	return -pthread_create(&p->thread, NULL, run, p);
}

int probe_begin(int cpu, int idle_cpu)
{
	int ret;

	stop = false;
	ret = start(&spinner, cpu, spin);
	if (!ret)
		ret = start(&sleeper, cpu, be_woken);
	if (!ret)
		ret = start(&idle, idle_cpu, spin);
	if (ret)
		return ret;
	return at_work(&spinner) && at_work(&sleeper) && at_work(&idle) ? 0 : -ETIMEDOUT;
}

struct probe_gaps probe_end(void)
{
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(spinner.thread, NULL);
	pthread_join(sleeper.thread, NULL);
	pthread_join(idle.thread, NULL);
	return (struct probe_gaps){ spinner.longest, sleeper.longest, idle.longest };
}
