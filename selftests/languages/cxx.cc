// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel.hpp: contexts, leases and timers for C++, on the device or on a wheel in the process.
 *
 * The kselftest harness cannot be compiled as C++, so this program prints its own TAP.
 */
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <new>
#include <poll.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <sys/time.h>
#include <thread>
#include <type_traits>
#include <unistd.h>

#include <twheel.hpp>

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

static int tests;
static int failures;

static void expect(bool passed, const char *name)
{
	failures += !passed;
	std::printf("%s %d %s\n", passed ? "ok" : "not ok", ++tests, name);
	std::fflush(stdout);
}

/* Does @call fail with this errno? */
template <typename Call>
static bool fails(int number, Call call)
{
	try {
		call();
	} catch (const std::system_error &error) {
		return error.code() == std::error_code(number, std::generic_category());
	}
	return false;
}

/* Reads @n events of a context that waits. */
static std::vector<tw::event> read_all(tw::context &wheel, std::size_t n)
{
	std::vector<tw::event> all;

	/* Each read has the capacity, not what the last one was shrunk to. */
	std::vector<tw::event> some(1);

	some.reserve(n);
	while (all.size() < n) {
		wheel.read(some);
		all.insert(all.end(), some.begin(), some.end());
	}
	return all;
}

static void contexts()
{
	tw::context wheel;
	bool early = false;

	for (int i = 1; i < 50; i++)
		wheel.arm_after(i * 333us, i);
	for (const tw::event &event : read_all(wheel, 49))
		early = early || event.expired < event.deadline;
	expect(!early, "no event is early");

	/* A fraction of a nanosecond is a whole one. */
	steady_clock::time_point start = steady_clock::now();
	std::uint64_t handle = wheel.arm_at(start + 10ms, 7);
	tw::context moved(std::move(wheel));

	expect(!wheel && fails(EBADF, [&] { wheel.fd(); }), "a moved context is empty");
	expect(read_all(moved, 1)[0].handle == handle && steady_clock::now() >= start + 10ms,
	       "its timers are those of the new one");
	expect(tw::detail::count(std::chrono::duration<double, std::nano>(1.25)) == 2,
	       "durations are rounded up");
	expect(fails(EINVAL, [&] { moved.arm_after(-1ns); }), "a negative delay is refused");
	expect(fails(EINVAL, [&] { moved.arm_at(system_clock::now()); }),
	       "so is another clock");
	expect(!moved.cancel(handle), "a timer that is over cannot be cancelled");
	handle = moved.arm_after(1h);
	auto old = moved.cancel(handle);
	expect(old && old->state == TWHEEL_STATE_PENDING && old->remaining > 59min &&
	       old->remaining <= 1h, "a cancel says what was left");

	int fd = moved.fd();
	{
		tw::context other;

		moved = std::move(other);
	}
	pollfd closed = { fd, 0, 0 };
	expect(poll(&closed, 1, 0) == 1 && (closed.revents & POLLNVAL) && moved.info().pending == 0,
	       "an assignment closes what was there");

	expect(fails(ENOENT, [] { tw::context none(tw::options{ "/dev/no-such-wheel" }); }),
	       "an error of opening is a system_error");
	try {
		tw::options steps;
		steps.cancel_on_set = true;
		tw::context none(steps);
		expect(false, "steps of a clock that is not set are refused");
	} catch (const std::system_error &error) {
		expect(std::strstr(error.what(), "its options"), "so is one of its options");
	}

	tw::options options;
	options.clock = CLOCK_REALTIME;
	options.nonblock = true;
	options.keyed = true;
	tw::context wall(options);
	std::vector<tw::event> events(4);
	expect(!wall.read(events) && events.empty(), "a read need not wait");
	expect(wall.put_at(5, system_clock::now() + 1h).state == TWHEEL_STATE_NONE &&
	       wall.put_at(5, system_clock::now() + 2h).state == TWHEEL_STATE_PENDING,
	       "there are keys, and wall time");
	expect(wall.push(5, system_clock::now() + 3h) && wall.info().pending == 1 &&
	       wall.push(6, system_clock::now() + 1h) && wall.info().pending == 2,
	       "a push re-arms the timer with a key, or makes one");

	tw::options boot;
	boot.clock = CLOCK_BOOTTIME;
	tw::context since_boot(boot);
	handle = since_boot.arm_after(1h);
	expect(since_boot.push(handle, 3h) && *since_boot.remaining(handle) > 2h &&
	       since_boot.push(handle, std::chrono::hours::max()) &&
	       since_boot.push(handle, 0s) && read_all(since_boot, 1)[0].handle == handle &&
	       !since_boot.push(handle, 1h) && fails(EINVAL, [&] { wall.push(5, 1h); }),
	       "a push counts from now, on any clock but wall time");

	std::vector<tw::push_request> pushes{ { 5, tw::count(system_clock::now() + 4h) },
					      { 7, tw::count(system_clock::now() + 4h) },
					      { 8, 1ULL << 63 } };
	expect(wall.push_batch(pushes) == 2 && wall.info().pending == 3 &&
	       *wall.remaining(5) > 3h, "a batch is pushed up to the first that fails");
	pushes.erase(pushes.begin(), pushes.begin() + 2);
	expect(fails(EINVAL, [&] { wall.push_batch(pushes); }) && wall.push_batch({}) == 0,
	       "which the next batch says, and an empty one pushes nothing");

	tw::options in_process;
	in_process.embedded = true;
	in_process.nonblock = true;
	tw::context still(in_process);
	expect(!still.push(1, steady_clock::now() + 1h), "a push of no timer is false");
	still.set_now(1000h);
	still.arm_after(1h);
	expect(!still.read(events) && still.now() == 1000h, "a clock stands still");
	still.set_now(1002h);
	expect(still.read(events) && events.size() == 1, "and goes on when it is told to");

	in_process.cache_now = true;
	tw::context cached(in_process);
	const auto opened = cached.now();
	while (std::chrono::nanoseconds(steady_clock::now().time_since_epoch()) < opened + 1ms)
		;
	expect(cached.now() == opened, "a context caches the time");
	cached.update_now();
	expect(cached.now() >= opened + 1ms, "until it is told to read the clock");

	in_process.threads = true;
	tw::context shared(in_process);
	shared.arm_after(0s);
	expect(shared.read(events) && events.size() == 1, "a context is for threads");

	const auto counted = still.stats();
	expect(counted.armed == 1 && counted.read == 1 && counted.lateness[42] == 1,
	       "what was done is counted, and how late it was");

	std::vector<tw::arm_request> arms(2);
	arms[0].expires = 1;
	arms[1].expires = 1ULL << 63;
	expect(moved.arm_batch(arms) == 2 && arms[0].result == 0 && arms[1].result == -EINVAL,
	       "a batch has results");
}

/* A wheel in the process whose clock stands still at 1,000 hours */
static tw::context still(tw::options options)
{
	options.embedded = options.nonblock = true;
	tw::context wheel(options);

	wheel.set_now(1000h);
	return wheel;
}

static std::uint64_t deadline(const tw::context &wheel, std::uint64_t handle)
{
	struct twheel_timer_info info = {};

	return twheel_get(wheel.get(), handle, &info) ? 0 : info.deadline;
}

template <typename Rep, intmax_t Num, intmax_t Den>
static std::uint64_t count(Rep count)
{
	return tw::detail::count(std::chrono::duration<Rep, std::ratio<Num, Den>>(count));
}

constexpr std::uint64_t never = std::numeric_limits<std::int64_t>::max();

/* Is @time, of any type, as long as can be for all that takes a duration? */
template <typename Duration>
static bool lasts(Duration time)
{
	tw::options options;
	options.lease = true;
	tw::context wheel = still(options);
	options.keyed = true;
	tw::context keyed = still(options);
	struct twheel_timer_info info = {};
	tw::timer timer(wheel, [](const tw::event &) {});

	try {
		keyed.put_after(1, time);
		timer.start(time, time);
		tw::lease lease = wheel.lease(time);
		/* Words have 53 bits. */
		return deadline(wheel, wheel.arm_after(time)) == never &&
			deadline(keyed, 1) == never &&
			!twheel_timer_get(timer.get(), &info) && info.deadline == never &&
			info.interval == never && lease.extend(time) &&
			lease.deadline() == std::chrono::nanoseconds(never - 1023);
	} catch (const std::system_error &) {
		return false;
	}
}

/* Is @time refused by all that takes a duration? */
template <typename Duration>
static bool refused(Duration time)
{
	tw::options options;
	options.lease = true;
	tw::context wheel = still(options);
	options.keyed = true;
	tw::context keyed = still(options);
	tw::timer timer(wheel, [](const tw::event &) {});
	tw::lease lease = wheel.lease(1h);

	return fails(EINVAL, [&] { wheel.arm_after(time); }) &&
		fails(EINVAL, [&] { keyed.put_after(1, time); }) &&
		fails(EINVAL, [&] { wheel.lease(time); }) &&
		fails(EINVAL, [&] { lease.extend(time); }) &&
		fails(EINVAL, [&] { timer.start(time); }) &&
		fails(EINVAL, [&] { timer.start(1s, time); }) &&
		fails(EINVAL, [&] { wheel.set_now(time); }) &&
		wheel.info().pending == 1 && wheel.now() == 1000h;
}

#if defined(__SIZEOF_FLOAT128__) && __LDBL_MANT_DIG__ == 64
__extension__ typedef __float128 quad;

/* A class that has more digits than a long double */
struct number {
	quad value;

	constexpr number(quad from) : value(from) {}
	constexpr operator quad() const { return value; }
};

template <>
struct std::numeric_limits<number> {
	static constexpr bool is_integer = false;
	static constexpr int digits = 113;
};

template <typename Rep>
static bool exact()
{
	using limits = std::numeric_limits<long double>;
	constexpr quad huge = limits::max(), tiny = limits::denorm_min();

	return count<Rep, 1, 1000000000>(100000000000 + quad(1e-12)) == 100000000001 &&
		count<Rep, 1, 1000000000>(100000000000) == 100000000000 &&
		count<Rep, 1, 1>(tiny / 2) == 1 && count<Rep, 1, 1>(quad(0)) == 0 &&
		count<Rep, 1, 1000000000>(quad(never) - 1 + quad(1e-12)) == never &&
		count<Rep, 1, 1000000000>(quad(never) - 1) == never - 1 &&
		count<Rep, 86400, 1>(1 + quad(1e-27)) == 86400000000001 &&
		count<Rep, 10000000000, 1>(quad(0.5) + quad(1e-27)) == 5000000000000000001 &&
		count<Rep, 1, 1000000000000>(quad(200000000000000001008.0L)) ==
			200000000000000002 &&
		lasts(std::chrono::duration<Rep>(Rep(huge * 2))) &&
		lasts(std::chrono::duration<Rep>(Rep(quad(limits::infinity())))) &&
		refused(std::chrono::duration<Rep>(Rep(-quad(limits::infinity())))) &&
		refused(std::chrono::duration<Rep>(Rep(-tiny / 2))) &&
		refused(std::chrono::duration<Rep>(Rep(quad(limits::quiet_NaN()))));
}
#endif

static void times()
{
	using seconds = std::chrono::duration<double>;
	using years = std::chrono::duration<std::int64_t, std::ratio<31556952>>;
	constexpr double inf = std::numeric_limits<double>::infinity();

	expect(lasts(years(600)) && lasts(18446744074s) && lasts(std::chrono::hours::max()) &&
	       lasts(std::chrono::milliseconds::max()) &&
	       lasts(std::chrono::duration<unsigned long long, std::milli>(1ULL << 63)) &&
	       lasts(std::chrono::duration<int, std::exa>(1)),
	       "what is too long lasts for ever");
	expect(lasts(seconds(inf)) && lasts(seconds(1e30)) && lasts(seconds(9223372037.0)) &&
	       lasts(std::chrono::duration<float, std::femto>(1e38f)) &&
	       lasts(std::chrono::duration<long double, std::ratio<86400>>(1e4000L)),
	       "so do such times of floating point");
	expect(refused(-1s) && refused(std::chrono::hours::min()) && refused(years(-600)) &&
	       refused(-18446744074s) && refused(seconds(-inf)) && refused(seconds(-1e-12)) &&
	       refused(std::chrono::duration<std::int64_t, std::pico>(-1)) &&
	       refused(seconds(std::numeric_limits<double>::quiet_NaN())),
	       "negative times and NaN are refused");

	expect(count<int, 1, 1000000000000>(1) == 1 && count<int, 1, 1000000000000>(1001) == 2 &&
	       count<unsigned char, 1, 1000000000000000>(255) == 1 &&
	       count<std::int64_t, 1, 1000000000000>(never) == 9223372036854776 &&
	       count<int, 1, 3>(1) == 333333334 && count<int, 1, 3>(3) == 1000000000 &&
	       count<int, 1001, 30000>(7) == 233566667 &&
	       count<int, 86400, 1>(106751) == 9223286400000000000 &&
	       count<int, 86400, 1>(106752) == never &&
	       count<std::int64_t, 1000000007, 998244353>(9000000000) == 9015828675566772778,
	       "units of any length are rounded up");
	expect(count<double, 1, 1>(0.5) == 500000000 && count<double, 1, 1>(1e-300) == 1 &&
	       count<double, 1, 1>(0.0007) == 700000 && count<double, 1, 1>(0.0) == 0 &&
	       count<double, 1, 1>(-0.0) == 0 && count<float, 1, 1000>(0.5f) == 500000 &&
	       /* As it is in binary, a little more than a tenth */
	       count<double, 1, 1>(0.1) == 100000001 &&
	       count<double, 1, 1>(1795629600.123456717) == 1795629600123456717 &&
	       count<double, 1, 3>(0.75) == 250000000, "fractions are rounded up");

	expect(std::numeric_limits<long double>::digits < 64 ||
	       count<long double, 1, 1000000000000>(200000000000000001008.0L) == 200000000000000002,
	       "so is a long double of many short units");
#if defined(__SIZEOF_FLOAT128__) && __LDBL_MANT_DIG__ == 64
	expect(exact<quad>(), "a time of 128 bits is not early");
	expect(exact<number>(), "nor is one that is a class");
#endif
#ifdef __SIZEOF_INT128__
	__extension__ typedef __int128 integer;
	expect(count<integer, 1, 1000000000000000000>(integer(100000000000) * 1000000000 + 1) ==
	       100000000001, "nor is an integer of so many");
#endif

	tw::options options;
	options.clock = CLOCK_REALTIME;
	options.keyed = true;
	tw::context wall = still(options);
	system_clock::time_point epoch;
	std::chrono::time_point<system_clock, years> past(years(-300));
	std::chrono::time_point<system_clock, std::chrono::seconds> year2600(19880899200s);
	std::vector<tw::event> events(4);
	wall.put_at(1, year2600);
	wall.put_at(2, std::chrono::time_point<system_clock, years>(years::max()));
	wall.put_at(3, std::chrono::time_point<system_clock, seconds>(seconds(inf)));
	expect(deadline(wall, 1) == never && deadline(wall, 2) == never &&
	       deadline(wall, 3) == never,
	       "so does what is for a far year");
	expect(fails(EINVAL, [&] { wall.put_at(4, epoch - 1ns); }) &&
	       fails(EINVAL, [&] { wall.put_at(4, past); }) &&
	       fails(EINVAL, [&] { wall.put_at(4, system_clock::time_point::min()); }),
	       "nothing is before the epoch");
	wall.put_at(5, epoch + 1h);
	expect(wall.read(events) && events.size() == 1 && events[0].handle == 5,
	       "what has passed since then is due at once");

	tw::context wheel = still({});
	wheel.set_now(std::chrono::hours::max());
	expect(wheel.now() == std::chrono::nanoseconds(never), "a clock is set to a far time");
}

static void reads()
{
	tw::options options;
	options.clock = CLOCK_REALTIME;
	options.cancel_on_set = true;
	tw::context wall = still(options);
	std::vector<tw::event> events(4);

	/* The clock was set. */
	expect(fails(ECANCELED, [&] { wall.read(events); }) && events.empty() &&
	       events.capacity() == 4, "a read that fails has no events");
	wall.close();
	events.resize(4);
	expect(fails(EBADF, [&] { wall.read(events); }) && events.empty(),
	       "nor has one of a closed context");

	/* More than one signal, in case that one comes before the wait. */
	struct sigaction action = {};
	itimerval often = { { 0, 10000 }, { 0, 10000 } };
	tw::context waits;
	action.sa_handler = [](int) {};
	sigaction(SIGALRM, &action, nullptr);
	setitimer(ITIMER_REAL, &often, nullptr);
	events.resize(4);
	bool interrupted = fails(EINTR, [&] { waits.read(events); });
	often = {};
	setitimer(ITIMER_REAL, &often, nullptr);
	expect(interrupted && events.empty(), "nor has one that a signal interrupts");

	tw::context wheel = still({});
	for (int i = 0; i < 100; i++)
		wheel.arm_at(steady_clock::time_point(1ns));
	std::vector<tw::event> made;
	expect(!fails(EINVAL, [&] { wheel.read(made); }) && made.size() == 64 &&
	       wheel.read(made) && made.size() == 36 && !wheel.read(made) && made.empty(),
	       "a vector without capacity gets some");
	made.resize(3);
	expect(fails(EINVAL, [&] { wheel.read(made, -1ms); }) && made.empty(),
	       "and loses its events by a negative timeout");
}

/* What the header calls, and what that calls: the linker is told to wrap it. */
extern "C" ssize_t __real_twheel_read(struct twheel *, struct twheel_event *, std::size_t);
extern "C" ssize_t __wrap_twheel_read(struct twheel *, struct twheel_event *, std::size_t);

static bool cancels;

/* Some C libraries may cancel a thread after the device has handed out records. */
ssize_t __wrap_twheel_read(struct twheel *tw, struct twheel_event *to, std::size_t n)
{
	ssize_t ret = __real_twheel_read(tw, to, n);

	if (cancels) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	return ret;
}

struct cancelled_read {
	tw::context		wheel = still({});
	std::vector<tw::event>	events{9};

	/* Returns how many events there are, or -1 if the thread was not cancelled. */
	int run()
	{
		pthread_t thread;
		void *result = nullptr;

		cancels = true;
		if (!pthread_create(&thread, nullptr, start, this))
			pthread_join(thread, &result);
		cancels = false;
		return result == PTHREAD_CANCELED ? static_cast<int>(events.size()) : -1;
	}

	static void *start(void *self)
	{
		auto *it = static_cast<cancelled_read *>(self);

		it->wheel.read(it->events);
		return nullptr;
	}
};

static void cancelled()
{
	cancelled_read reader;

	for (std::uint64_t i = 1; i <= 3; i++)
		reader.wheel.arm_at(steady_clock::time_point(1ns), i);
	expect(reader.run() == 3 && reader.events[2].user_data == 3,
	       "the events of a read that is cancelled are there");
	expect(reader.run() == 0, "and are not there once more");
}

static void leases()
{
	tw::options options;
	options.lease = true;
	tw::context wheel(options);
	tw::lease lease = wheel.lease(2s, 9);
	steady_clock::time_point later = steady_clock::now() + 2100ms;
	std::chrono::nanoseconds unit(1 << TWHEEL_LEASE_UNIT_SHIFT);

	expect(lease.extend(later) && lease.deadline() >= later.time_since_epoch() &&
	       lease.deadline() < later.time_since_epoch() + unit && !lease.expired(),
	       "a lease is extended");
	struct twheel_timer_info info;
	expect(!twheel_get(wheel.get(), lease.handle(), &info) &&
	       wheel.lease_at(info).deadline() == lease.deadline(), "and found by its handle");
	tw::lease old = wheel.lease(1h);
	wheel.cancel(old.handle());
	tw::lease next = wheel.lease(1h);
	expect(old.expired() && !old.deadline() && !old.extend(later + 1h) && !next.expired(),
	       "the next lease in its word is not extended");
	wheel.cancel(next.handle());
	info.word = 0;
	expect(fails(EINVAL, [&] { wheel.lease_at(info); }), "a timer that is no lease is none");
	expect(fails(EINVAL, [&] { lease.extend(system_clock::now()); }),
	       "not on another clock");
	tw::event event = read_all(wheel, 1)[0];
	expect(steady_clock::now() >= later && event.user_data == 9 && lease.expired() &&
	       !lease.extend(later + 1h), "it is over at its deadline");

	expect(fails(EINVAL, [&] { wheel.lease(1h, 0, 7); }), "without keys it has no key");
	options.keyed = true;
	tw::context keyed(options);
	keyed.put_after(0, 1h, 3);
	expect(fails(EINVAL, [&] { keyed.lease(1h, 9); }) && keyed.info().pending == 1 &&
	       !twheel_get(keyed.get(), 0, &info) && info.user_data == 3,
	       "with keys one without a key is not that with key 0");
	expect(keyed.lease(1h, 9, 0).handle() == 0 && keyed.lease(1h, 9, 7).handle() == 7 &&
	       keyed.info().pending == 2, "but it may have that");
	options.keyed = false;

	tw::context slow = still(options);
	tw::lease alive = slow.lease(300ms);
	bool lasts = true;
	for (int i = 1; i <= 20; i++) {
		slow.set_now(1000h + i * 50ms);
		lasts = lasts && alive.extend(300ms);
	}
	expect(lasts && !alive.expired() && slow.info().ready == 0 &&
	       alive.deadline() >= 1000h + 1300ms && alive.deadline() < 1000h + 1300ms + unit,
	       "a lease is extended from now on");
	slow.set_now(1000h + 1400ms);
	expect(slow.info().ready == 1 && !alive.extend(300ms), "and ends without that");

	options.clock = CLOCK_REALTIME;
	tw::context wall = still(options);
	lease = wall.lease(system_clock::time_point(2000h), 9);
	expect(lease.deadline() >= 2000h && lease.deadline() < 2000h + unit &&
	       lease.extend(system_clock::time_point(3000h)) && lease.deadline() >= 3000h,
	       "on wall time a lease is made and extended for points in time");
	expect(fails(EINVAL, [&] { wall.lease(1h); }) &&
	       fails(EINVAL, [&] { lease.extend(4000h); }) && wall.info().pending == 1,
	       "and not from now on");
	std::vector<tw::event> events(4);
	tw::lease passed = wall.lease(system_clock::time_point(1h), 8);
	expect(passed.expired() && !passed.extend(system_clock::time_point(3000h)) &&
	       wall.read(events) && events.size() == 1 && events[0].user_data == 8,
	       "one for what has passed is over at once");
	wall.set_now(2999h);
	expect(!wall.read(events) && !lease.expired(), "what was extended is not early");
	wall.set_now(3001h);
	expect(wall.read(events) && events.size() == 1 && events[0].user_data == 9 &&
	       events[0].deadline >= tw::count(3000h) && lease.expired(), "and is over then");

	expect(slow.lease(steady_clock::time_point(2000h)).deadline() >= 2000h &&
	       fails(EINVAL, [&] { slow.lease(system_clock::time_point(2000h)); }) &&
	       fails(EINVAL, [&] { wall.lease(steady_clock::time_point(4000h)); }) &&
	       fails(EINVAL, [&] { wall.lease(system_clock::time_point(-1ns)); }) &&
	       fails(EINVAL, [&] { wall.lease(system_clock::time_point(4000h), 0, 7); }),
	       "points in time are of the context's clock, and have keys only where those are");
	expect(wall.lease(std::chrono::time_point<system_clock, std::chrono::hours>::max())
	       .deadline() == std::chrono::nanoseconds(never - 1023), "the last one is never");
	options.keyed = true;
	tw::context named = still(options);
	named.lease(system_clock::time_point(3000h), 1, 7);
	expect(named.lease(system_clock::time_point(2000h), 2, 7).deadline() < 2000h + unit &&
	       named.info().pending == 1 && deadline(named, 7) < tw::count(2000h + unit) &&
	       fails(EINVAL, [&] { named.lease(system_clock::time_point(2000h)); }),
	       "with a key the next lease takes its place");
}

static void timers()
{
	tw::context wheel;
	int called = 0, rounds = 0;

	tw::timer once(wheel, [&](const tw::event &) { called++; });
	once.start(10ms);
	tw::timer moved(std::move(once));
	expect(moved.armed() && !once.armed() && fails(EBADF, [&] { once.start(1s); }),
	       "a timer is moved while it is armed");
	wheel.dispatch();
	expect(called == 1 && !moved.armed(), "its function is called");
	moved.start(1h);
	expect(moved.cancel() && !moved.cancel(), "it is cancelled");

	tw::timer often(wheel, [&](const tw::event &event) { rounds += event.expirations; });
	often.start(5ms, 5ms);
	while (rounds < 4)
		wheel.dispatch();
	often.cancel();
	expect(rounds >= 4, "a timer repeats");

	/* The function and what it holds live until it returns. */
	auto token = std::make_shared<int>(1);
	std::weak_ptr<int> gone = token;
	std::optional<tw::timer> itself;
	bool alive = false;
	itself.emplace(wheel, [&, token](const tw::event &) {
		itself.reset();
		alive = token.use_count() > 0 && *token == 1;
	});
	token.reset();
	itself->start(1ms);
	wheel.dispatch();
	expect(alive && gone.expired(), "a function destroys its own timer");

	void (*no_pointer)(const tw::event &) = nullptr;
	tw::timer::function no_function;
	std::function<int(tw::event)> no_other;
	expect(fails(EINVAL, [&] { tw::timer none(wheel, nullptr); }) &&
	       fails(EINVAL, [&] { tw::timer none(wheel, no_pointer); }) &&
	       fails(EINVAL, [&] { tw::timer none(wheel, no_function); }) &&
	       fails(EINVAL, [&] { tw::timer none(wheel, no_other); }),
	       "a timer without a function is refused");

	/* Destroyed when the stack is unwound, through the C code of the library */
	struct guard {
		int &destroyed;
		~guard() { destroyed++; }
	};
	std::vector<tw::timer> throwing;
	std::vector<int> calls(64);
	int unwound = 0, caught = 0;
	for (int &times : calls) {
		throwing.emplace_back(wheel, [&](const tw::event &) {
			guard on_the_stack{unwound};

			times++;
			throw std::runtime_error("out");
		});
		throwing.back().start(0s);
	}
	while (wheel.info().ready < calls.size())
		std::this_thread::yield();
	/* Each call throws, except the last, which finds nothing any more. */
	for (bool more = true; more;) {
		try {
			more = wheel.dispatch(0s) > 0;
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	expect(caught == 64 && unwound == 64,
	       "each exception leaves dispatch(), and stacks are unwound");
	expect(calls == std::vector<int>(64, 1), "which calls each function once all the same");

	{
		tw::timer scoped(wheel, [&](const tw::event &) { called = 100; });

		scoped.start(1ms);
	}
	moved.start(20ms);
	wheel.dispatch();
	expect(called == 2, "a timer ends with its scope");

	auto owner = std::make_unique<tw::context>();
	tw::context &owned = *owner;
	tw::timer ends(owned, [&](const tw::event &) { owner.reset(); });
	tw::timer after(owned, [&](const tw::event &) { called = 1000; });
	ends.start(0s);
	after.start(0s);
	while (owned.info().ready < 2)
		std::this_thread::yield();
	expect(owned.dispatch() == 1 && !owner && called == 2 && !ends.armed() && !after.armed(),
	       "a function destroys its context, and no other one is called");

	/* In an order that only mistakes have: the context goes first. */
	moved.start(1h);
	wheel.close();
	expect(!moved.armed() && fails(EBADF, [&] { moved.start(1s); }),
	       "a timer outlives its context");
	moved = tw::timer(wheel = tw::context(), [](const tw::event &) {});
	moved.start(1h);
	expect(moved.armed() && wheel.info().pending == 1, "a timer is replaced");
}

/* Calls that take a time to wait, a timer again, its deadline, and all of a context */
static void by_name()
{
	tw::context wheel;
	std::vector<tw::event> events;
	steady_clock::time_point start = steady_clock::now();

	expect(!wheel.read(events, 20ms) && events.empty() && wheel.dispatch(20ms) == 0 &&
	       steady_clock::now() >= start + 40ms, "a wait ends in time, and not early");
	wheel.arm_after(1ms, 5);
	expect(wheel.read(events, 1h) && events.size() == 1 && events[0].user_data == 5 &&
	       !wheel.read(events, 0s), "and when something comes");
	expect(fails(EINVAL, [&] { wheel.read(events, -1s); }) &&
	       fails(EINVAL, [&] { wheel.dispatch(-1s); }), "a negative one is refused");

	std::uint64_t handle = wheel.arm_after(1h);
	std::optional<std::chrono::nanoseconds> left = wheel.remaining(handle);
	expect(left && *left > 59min && *left <= 1h && !wheel.remaining(handle + 1),
	       "the time that is left of a handle");
	wheel.arm_after(0s);
	wheel.cancel_all();
	expect(!wheel.remaining(handle) && wheel.info().pending + wheel.info().ready == 0 &&
	       !wheel.read(events, 0s), "all are cancelled");

	int called = 0;
	tw::timer timer(wheel, [&](const tw::event &) { called++; });
	expect(fails(ENOENT, [&] { timer.again(); }) && !timer.push(1h) && timer.remaining() == 0s,
	       "of a timer that was never armed there is nothing");
	timer.start(1h, 2h);
	expect(timer.push(3h) && timer.remaining() > 2h && timer.push(steady_clock::now() + 5h) &&
	       timer.remaining() > 4h && fails(EINVAL, [&] { timer.push(system_clock::now()); }),
	       "a timer is pushed");
	struct twheel_timer_info info;
	expect(!twheel_timer_get(timer.get(), &info) && info.interval == tw::count(2h),
	       "and keeps its interval");
	timer.cancel();
	timer.again();
	expect(timer.remaining() > 59min && timer.remaining() <= 1h, "and starts as before");
	timer.start(1ms);
	wheel.dispatch(1h);
	timer.again();
	wheel.dispatch(1h);
	expect(called == 2 && !timer.push(1h), "also after it was called");

	timer.start(steady_clock::now() + 1h, 3h);
	expect(timer.remaining() > 59min && timer.remaining() <= 1h &&
	       !twheel_timer_get(timer.get(), &info) && info.interval == tw::count(3h) &&
	       fails(EINVAL, [&] { timer.start(system_clock::now()); }) &&
	       fails(EINVAL, [&] { timer.start(steady_clock::now(), -1ns); }) &&
	       fails(EINVAL, [&] { timer.again(); }) && timer.remaining() > 59min,
	       "a timer is started for a point in time");
	tw::options options;
	options.clock = CLOCK_REALTIME;
	tw::context wall(options);
	tw::timer once(wall, [&](const tw::event &) { called += 100; });
	once.start(system_clock::now() + 1ms);
	wall.dispatch(1h);
	expect(called == 102 && fails(EINVAL, [&] { once.start(1ms); }), "also on wall time");
}

static void groups()
{
	tw::context wheel;
	int called = 0;
	std::vector<tw::timer> timers;
	std::optional<tw::group> group(wheel);

	for (int i = 0; i < 3; i++) {
		timers.emplace_back(wheel, [&](const tw::event &) {
			called++;
			group.reset();
		});
		group->add(timers.back());
		timers.back().start(1h);
	}
	tw::group moved(std::move(*group));
	expect(fails(EBADF, [&] { group->cancel(); }), "a group that was moved is empty");
	moved.cancel();
	expect(wheel.info().pending == 0, "a group is cancelled");
	*group = std::move(moved);
	for (tw::timer &timer : timers)
		timer.start(0s);
	while (wheel.info().ready < 3)
		std::this_thread::yield();
	expect(wheel.dispatch() == 3 && called == 1 && !group,
	       "a group ends in the function of one of its timers");

	{
		tw::group scope(wheel);

		scope.add(timers[0]);
		timers[0].start(1h);
		timers[1].start(1h);
		timers.pop_back();
	}
	expect(!timers[0].armed() && timers[1].armed(), "with its scope its timers are cancelled");
	tw::group late(wheel);
	late.add(timers[1]);
	wheel.close();
	expect(fails(EBADF, [&] { late.cancel(); }), "it may outlive its context");
}

static void descriptors()
{
	tw::context wheel;
	tw::timer left(wheel, [](const tw::event &) {});
	std::uint64_t handle = wheel.arm_after(1h, 3);

	if (wheel.info().features & TWHEEL_FEATURE_EMBEDDED) {
		expect(fails(EOPNOTSUPP, [&] { wheel.release(); }) && wheel.cancel(handle),
		       "a wheel in the process is not released");
		return;
	}
	tw::context again = tw::context::adopt(wheel.release());
	expect(!wheel && !left.armed() && again.cancel(handle), "a context is released and adopted");
}

/* How many allocations there is memory for, or -1 */
static int allocations = -1;

void *operator new(std::size_t size)
{
	void *memory = allocations ? std::malloc(size) : nullptr;

	if (!memory)
		throw std::bad_alloc();
	allocations -= allocations > 0;
	return memory;
}

/* Inlined, GCC 12 would take free() for a mistake. */
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

/* This descriptor is one of the device, as far as that has to be for a context to adopt it. */
static int played = -1;

extern "C" int ioctl(int fd, unsigned long request, ...)
{
	std::va_list args;

	va_start(args, request);
	void *arg = va_arg(args, void *);
	va_end(args);
	if (fd != played)
		return static_cast<int>(syscall(SYS_ioctl, fd, request, arg));
	*static_cast<struct twheel_info *>(arg) = {};
	static_cast<struct twheel_info *>(arg)->abi_version = TWHEEL_ABI_VERSION;
	static_cast<struct twheel_info *>(arg)->clock = CLOCK_MONOTONIC;
	return 0;
}

/* Adopts @fd when there is memory for @n allocations. Returns whether that was enough. */
static bool adopts(int fd, int n)
{
	try {
		allocations = n;
		tw::context wheel = tw::context::adopt(fd);
		allocations = -1;
		return wheel.release() == fd;
	} catch (const std::bad_alloc &) {
		allocations = -1;
		return false;
	}
}

static void adoptions()
{
	int n = 0;

	played = open("/dev/null", O_RDWR);
	while (n < 9 && !adopts(played, n))
		n++;
	expect(n && n < 9 && fcntl(played, F_GETFD) >= 0,
	       "a descriptor that is not adopted for want of memory stays open");
	tw::context::adopt(played).close();
	expect(fcntl(played, F_GETFD) < 0, "one that is adopted is closed with its context");
	played = -1;
}

int main()
{
	static_assert(tw::count(2us) == 2000 && tw::count(steady_clock::time_point(1ms)) == 1000000);
	static_assert(!std::is_copy_constructible_v<tw::context> &&
		      !std::is_copy_constructible_v<tw::timer>);
	static_assert(std::is_nothrow_move_constructible_v<tw::context> &&
		      std::is_nothrow_move_assignable_v<tw::timer>);

	std::puts("TAP version 13");
	contexts();
	times();
	reads();
	cancelled();
	leases();
	timers();
	by_name();
	groups();
	descriptors();
	adoptions();
	std::printf("1..%d\n", tests);
	return failures != 0;
}
