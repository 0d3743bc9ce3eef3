// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel's timer objects: functions that throw exceptions through the C code of the
 * library.
 *
 * The kselftest harness cannot be compiled as C++, so this program prints its own TAP.
 */
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <stdexcept>

#include <twheel.h>

static const int timers = 64;
static const int limit_ms = 60000;

static int tests;
static int failures;

static void expect(bool passed, const char *name)
{
	failures += !passed;
	std::printf("%s %d %s\n", passed ? "ok" : "not ok", ++tests, name);
}

/* Counts how often it was destroyed, which happens when the stack is unwound. */
struct guard {
	static int destroyed;
	~guard() { destroyed++; }
};

int guard::destroyed;

static int calls[timers];

static void on_expiry(struct twheel_timer *, const struct twheel_event *, void *arg)
{
	guard on_the_stack;

	++*static_cast<int *>(arg);
	throw std::runtime_error("out");
}

/* Waits until all timers are ready. Returns whether that happened. */
static bool wait_ready(struct twheel *tw)
{
	struct twheel_info info;

	for (int ms = 0; ms < limit_ms; ms++) {
		if (twheel_get_info(tw, 0, &info))
			return false;
		if (info.ready == timers)
			return true;
		poll(nullptr, 0, 1);
	}
	return false;
}

int main()
{
	struct twheel *tw;
	int ret = twheel_open(&tw, nullptr, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, nullptr);
	bool armed = true;
	bool once = true;
	int caught = 0;

	if (ret == -ENOENT) {
		std::puts("1..0 # SKIP no " TWHEEL_DEVICE ": is the module loaded?");
		return 4;
	}
	std::puts("TAP version 13\n1..4");
	for (int i = 0; i < timers && !ret; i++) {
		struct twheel_timer *timer;

		ret = twheel_timer_new(&timer, tw, on_expiry, &calls[i]);
		if (!ret)
			ret = twheel_timer_start(timer, 0, 0);
	}
	armed = !ret && wait_ready(tw);
	expect(armed, "timers are ready");
	if (!armed)
		return 1;

	/* Each call throws, except the last, which finds no records any more. */
	do {
		try {
			ret = twheel_dispatch(tw);
		} catch (const std::runtime_error &) {
			ret = 1;
			caught++;
		}
	} while (ret > 0 && caught <= timers);
	for (int i = 0; i < timers; i++)
		once = once && calls[i] == 1;
	expect(ret == 0, "dispatch goes on until there is nothing left");
	expect(once, "each function is called once");
	expect(caught == timers && guard::destroyed == timers,
	       "each exception arrives, and stacks are unwound");
	twheel_close(tw);
	return failures != 0;
}
