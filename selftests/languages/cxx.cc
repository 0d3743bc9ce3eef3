// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel.hpp: contexts, leases and timers for C++, on the device or on a wheel in the process.
 *
 * The kselftest harness cannot be compiled as C++, so this program prints its own TAP.
 */
#include <cstdio>
#include <poll.h>
#include <stdexcept>
#include <thread>
#include <type_traits>

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

	tw::options in_process;
	in_process.embedded = true;
	in_process.nonblock = true;
	tw::context still(in_process);
	still.set_now(1000h);
	still.arm_after(1h);
	expect(!still.read(events) && still.now() == 1000h, "a clock stands still");
	still.set_now(1002h);
	expect(still.read(events) && events.size() == 1, "and goes on when it is told to");

	std::vector<tw::arm_request> arms(2);
	arms[0].expires = 1;
	arms[1].expires = 1ULL << 63;
	expect(moved.arm_batch(arms) == 2 && arms[0].result == 0 && arms[1].result == -EINVAL,
	       "a batch has results");
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

	tw::timer throws(wheel, [](const tw::event &) { throw std::runtime_error("out"); });
	bool caught = false;
	throws.start(1ms);
	try {
		wheel.dispatch();
	} catch (const std::runtime_error &) {
		caught = true;
	}
	expect(caught, "an exception leaves dispatch()");

	{
		tw::timer scoped(wheel, [&](const tw::event &) { called = 100; });

		scoped.start(1ms);
	}
	moved.start(20ms);
	wheel.dispatch();
	expect(called == 2, "a timer ends with its scope");

	/* In an order that only mistakes have: the context goes first. */
	moved.start(1h);
	wheel.close();
	expect(!moved.armed() && fails(EBADF, [&] { moved.start(1s); }),
	       "a timer outlives its context");
	moved = tw::timer(wheel = tw::context(), [](const tw::event &) {});
	moved.start(1h);
	expect(moved.armed() && wheel.info().pending == 1, "a timer is replaced");
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

int main()
{
	static_assert(!std::is_copy_constructible_v<tw::context> &&
		      !std::is_copy_constructible_v<tw::timer>);
	static_assert(std::is_nothrow_move_constructible_v<tw::context> &&
		      std::is_nothrow_move_assignable_v<tw::timer>);

	std::puts("TAP version 13");
	contexts();
	leases();
	timers();
	descriptors();
	std::printf("1..%d\n", tests);
	return failures != 0;
}
