/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libtwheel for C++17: contexts, leases and timers that clean up after themselves.
 *
 *	tw::context wheel;
 *	tw::timer greet(wheel, [](const tw::event &) { std::puts("hello"); });
 *
 *	greet.start(100ms);
 *	wheel.dispatch();
 *
 * Rules that hold for everything here:
 *
 * - This header only wraps twheel.h, and programs are linked with libtwheel. What is not said
 *   here is said there: threads, forks, what a wheel in the process does otherwise.
 * - A failure is a std::system_error with the errno. A context that was moved from or closed
 *   is EBADF. What may be missing is no failure: it is an empty std::optional.
 * - Without exceptions (-fno-exceptions) a failure ends the program by abort(), with a message.
 *   To go on after one, such as the EINTR of read(), call the function of twheel.h with get().
 *   Files with and without exceptions can be linked, but cannot pass each other what is declared
 *   here.
 * - Durations count from now. They and points in time are of any type of std::chrono, and are
 *   rounded up to nanoseconds, so nothing is early. What is more than 2^63 - 1 ns, which is 292
 *   years, becomes that; the timer then never expires. A negative duration, a point in time
 *   before the clock's epoch, and NaN are refused with EINVAL. A point in time that has
 *   passed since the epoch is due at once.
 * - A point in time is of the clock of the context: std::chrono::steady_clock for
 *   CLOCK_MONOTONIC, std::chrono::system_clock for CLOCK_REALTIME. Another one is refused with
 *   EINVAL. For CLOCK_BOOTTIME use tw::context::now() and durations.
 * - Objects can be moved, and not copied. Moving a context or a timer keeps what it stands for.
 */
#ifndef TWHEEL_HPP
#define TWHEEL_HPP

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ratio>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <twheel.h>

namespace tw {

/* A name of its own: what is inline must not be linked with that of files with exceptions. */
#ifndef __cpp_exceptions
inline namespace no_exceptions {
#endif

using std::chrono::nanoseconds;

namespace detail {

[[noreturn]] inline void fail(int number, const char *what)
{
#ifdef __cpp_exceptions
	throw std::system_error(number, std::generic_category(), what);
#else
	std::fprintf(stderr, "twheel.hpp: %s: %s\n", what,
		     std::generic_category().message(number).c_str());
	std::abort();
#endif
}

/* The result of a call of the library, if that is no error. */
template <typename T>
T check(T result, const char *what)
{
	if (result < 0)
		fail(static_cast<int>(-result), what);
	return result;
}

/* The latest time, in ns: "never". The library refuses what is more, and caps sums. */
constexpr std::uint64_t latest = std::numeric_limits<std::int64_t>::max();

struct division {
	std::uint64_t quotient;
	std::uint64_t rest;
};

/* @a * @b / @by without overflow; @a is at most @by, which is at most 2^63. */
constexpr division scale(std::uint64_t a, std::uint64_t b, std::uint64_t by)
{
	division result = {0, 0};

	if (!a || b <= std::numeric_limits<std::uint64_t>::max() / a)
		return {a * b / by, a * b % by};
	/* By hand, as not all machines have integers of 128 bits. */
	for (std::uint64_t bit = std::uint64_t(1) << 63; bit; bit >>= 1) {
		result = {2 * result.quotient, 2 * result.rest};
		if (result.rest >= by)
			result = {result.quotient + 1, result.rest - by};
		if (b & bit)
			result.rest += a;
		if (result.rest >= by)
			result = {result.quotient + 1, result.rest - by};
	}
	return result;
}

/*
 * A count of some unit of time: @whole + @part / 2^63 + @fine / 2^126, which is exact for a
 * double; or @whole * 2^@doublings
 */
struct amount {
	std::uint64_t	whole = 0;
	std::uint64_t	part = 0;
	std::uint64_t	fine = 0;
	int		doublings = 0;
};

constexpr std::uint64_t part_unit = std::uint64_t(1) << 63;

template <typename Rep>
constexpr amount amount_of(Rep count)
{
	amount result;

	if constexpr (std::numeric_limits<Rep>::is_integer) {
		if constexpr (std::numeric_limits<Rep>::is_signed) {
			if (count < 0)
				fail(EINVAL, "a negative time");
		}
		/* Not all of them are standard. */
		if constexpr (std::numeric_limits<Rep>::digits > 64) {
			for (; count >= Rep(part_unit); count = count / 2 + count % 2)
				result.doublings++;
		}
		result.whole = static_cast<std::uint64_t>(count);
	} else if constexpr (std::is_class_v<Rep> ? std::numeric_limits<Rep>::digits <=
			     std::numeric_limits<long double>::digits :
			     sizeof(Rep) < sizeof(double)) {
		/* The conversion is exact, unless a class does not tell how many digits it has. */
		using wide = std::conditional_t<std::is_class_v<Rep>, long double, double>;

		return amount_of(static_cast<wide>(count));
	} else {
		if (!(count >= 0))
			fail(EINVAL, "a time that is negative, or NaN");
		/* After 127 of them it is too long in any unit. */
		for (; count >= Rep(part_unit) && result.doublings < 127; result.doublings++) {
			Rep half = count / 2;

			/* An old compiler may not tell that it is an integer. */
			count = half + (half + half < count);
		}
		if (count >= Rep(part_unit))
			return {part_unit, 0, 0, 127};
		result.whole = static_cast<std::uint64_t>(count);
		if (result.doublings) {
			/* What has more than 62 digits may have a fraction. */
			result.whole += Rep(result.whole) < count;
			return result;
		}
		count = (count - Rep(result.whole)) * Rep(part_unit);
		result.part = static_cast<std::uint64_t>(count);
		count = (count - Rep(result.part)) * Rep(part_unit);
		result.fine = static_cast<std::uint64_t>(count);
		result.fine += Rep(result.fine) < count;
	}
	return result;
}

/* @num times what @count has below its @whole */
constexpr amount scale_part(const amount &count, std::uint64_t num)
{
	division part = scale(count.part, num, part_unit);
	division fine = scale(count.fine, num, part_unit);
	std::uint64_t sum = part.rest + fine.quotient;

	return {part.quotient + sum / part_unit, sum % part_unit, fine.rest, 0};
}

/* @count units of @num / @den ns in ns, rounded up; at most @latest. Only the last step rounds. */
constexpr std::uint64_t to_ns(const amount &count, std::uint64_t num, std::uint64_t den)
{
	std::uint64_t quotient = count.whole / den, rest = count.whole % den;

	for (int i = 0; i < count.doublings; i++) {
		if (quotient > latest)
			return latest;
		quotient = 2 * quotient + (2 * rest >= den);
		rest = 2 * rest % den;
	}
	if (quotient > latest / num)
		return latest;

	/* No sum overflows, as @rest and the part together are at most @den. */
	division more = scale(rest, num, den);
	amount part = scale_part(count, num);
	std::uint64_t last = more.rest + part.whole + (part.part || part.fine);

	return std::min(quotient * num + more.quotient + last / den + (last % den != 0), latest);
}

/* The one conversion of durations and points in time. */
template <typename Rep, typename Period>
constexpr std::uint64_t count(std::chrono::duration<Rep, Period> duration)
{
	amount count = amount_of(duration.count());

	if constexpr (Period::num / Period::den > latest / std::nano::den) {
		/* A unit that is longer itself. A part of it is counted in seconds. */
		return count.whole ? latest :
			to_ns(scale_part(count, Period::num), std::nano::den, Period::den);
	} else {
		using unit = std::ratio_divide<Period, std::nano>;

		return to_ns(count, unit::num, unit::den);
	}
}

template <typename Clock, typename Duration>
constexpr std::uint64_t count(std::chrono::time_point<Clock, Duration> time)
{
	return count(time.time_since_epoch());
}

template <typename Clock>
constexpr int clock_of()
{
	using std::chrono::steady_clock;
	using std::chrono::system_clock;

	static_assert(std::is_same_v<Clock, steady_clock> || std::is_same_v<Clock, system_clock>,
		      "a context has no such clock");
	return std::is_same_v<Clock, steady_clock> ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

/* The point in time @delay from now on the clock of a context */
template <typename Rep, typename Period>
std::uint64_t later(const struct twheel *tw, std::chrono::duration<Rep, Period> delay)
{
	std::uint64_t ns = count(delay);

	if (twheel_clock(tw) == CLOCK_REALTIME)
		fail(EINVAL, "a delay on CLOCK_REALTIME");
	return std::min(twheel_now(tw) + ns, latest);
}

} /* namespace detail */

/*
 * count(2s), count(deadline): a duration or a point in time as expires, interval and slack of an
 * arm_request take it
 */
using detail::count;

/* Requests and records; in C++ the functions of the same names would hide the structures. */
using arm_request = struct ::twheel_arm;
using cancel_request = struct ::twheel_cancel;
using push_request = struct ::twheel_push;
using event = struct ::twheel_event;

/* How a context is opened; see twheel_open(). */
struct options {
	const char	*path = nullptr;
	bool		nonblock = false;
	bool		embedded = false;
	/* CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_REALTIME */
	int		clock = CLOCK_MONOTONIC;
	bool		keyed = false;
	bool		lease = false;
	bool		cancel_on_set = false;
	std::uint64_t	limit = 0;
	bool		cache_now = false;
	bool		threads = false;
};

/* What a call has replaced or cancelled: struct twheel_old with a duration. */
struct old {
	twheel_state	state;
	nanoseconds	remaining;
};

/*
 * A timer that is pushed back without a system call; made by context::lease(). It is a value,
 * which may be copied. It must not be used after its context was closed, nor kept for ever when
 * it is over: see struct twheel_lease. To end it, cancel its handle. Its deadline is rounded up
 * to a multiple of 1,024 ns.
 */
class lease {
public:
	/* Push the lease back. False if it is over already. */
	template <typename Clock, typename Duration>
	bool extend(std::chrono::time_point<Clock, Duration> deadline) const
	{
		if (detail::clock_of<Clock>() != clock_)
			detail::fail(EINVAL, "a lease on another clock");
		return push(detail::count(deadline));
	}

	/* The same, counted from now. On CLOCK_REALTIME that is EINVAL. */
	template <typename Rep, typename Period>
	bool extend(std::chrono::duration<Rep, Period> delay) const
	{
		return push(detail::later(tw_, delay));
	}

	/*
	 * The deadline on the context's clock; that of a lease which is over, its last one. Nothing
	 * if another timer has its word by now.
	 */
	std::optional<nanoseconds> deadline() const
	{
		std::uint64_t ns = twheel_lease_deadline(lease_);

		if (!ns)
			return std::nullopt;
		return nanoseconds(static_cast<std::int64_t>(ns));
	}

	bool expired() const { return twheel_lease_expired(lease_); }
	std::uint64_t handle() const { return handle_; }

private:
	friend class context;
	lease(struct twheel_lease lease, std::uint64_t handle, const struct twheel *tw)
		: lease_(lease), handle_(handle), tw_(tw), clock_(twheel_clock(tw)) {}

	bool push(std::uint64_t deadline) const
	{
		return detail::check(twheel_lease_extend(lease_, deadline), "twheel_lease_extend");
	}

	struct twheel_lease	lease_;
	std::uint64_t		handle_;
	const struct twheel	*tw_;
	int			clock_;
};

/* A set of timers: an open of /dev/twheel, or a timer wheel in the process. */
class context {
public:
	explicit context(const options &how = {})
	{
		struct twheel_config config = {};
		struct twheel *tw = nullptr;

		config.clock = how.clock == CLOCK_REALTIME ? TWHEEL_CLOCK_REALTIME :
			static_cast<std::uint32_t>(how.clock);
		config.flags = (how.keyed ? TWHEEL_CONFIG_KEYED : 0) |
			(how.lease ? TWHEEL_CONFIG_LEASE : 0) |
			(how.cancel_on_set ? TWHEEL_CONFIG_CANCEL_ON_SET : 0);
		config.limit = how.limit;
		detail::check(twheel_open(&tw, how.path, TWHEEL_OPEN_CLOEXEC |
					  (how.nonblock ? TWHEEL_OPEN_NONBLOCK : 0) |
					  (how.cache_now ? TWHEEL_OPEN_CACHE_NOW : 0) |
					  (how.threads ? TWHEEL_OPEN_THREADS : 0) |
					  (how.embedded ? TWHEEL_OPEN_EMBEDDED : 0), &config),
			      how.path ? how.path : TWHEEL_DEVICE
			      ", its options or TWHEEL_BACKEND (auto, device, embedded)");
		own(tw, twheel_close);
	}

	/* From a descriptor of the device, which the context owns after a success. */
	static context adopt(int fd)
	{
		struct twheel *tw = nullptr;
		context made{nothing()};

		detail::check(twheel_adopt(&tw, fd), "twheel_adopt");
		made.own(tw, [](struct twheel *ours) { twheel_release(ours); });
		return made;
	}

	context(context &&) noexcept = default;
	context &operator=(context &&) noexcept = default;

	/* Closes the context. Timers that are still there are not armed any more. */
	~context() = default;

	/* Close it now, also in a function of a timer: no other one is called then. */
	void close() noexcept { tw_.reset(); }

	/* Free it, and return the descriptor, whose timers go on; see twheel_release(). */
	int release()
	{
		int fd = detail::check(twheel_release(get()), "twheel_release");

		*freed_ = true;
		tw_.reset();
		return fd;
	}

	/* For what twheel.h has and this header has not. */
	struct twheel *get() const
	{
		if (!tw_)
			detail::fail(EBADF, "a closed context");
		return tw_.get();
	}

	explicit operator bool() const { return tw_ != nullptr; }
	int fd() const { return twheel_fd(get()); }
	int clock() const { return twheel_clock(get()); }
	void take_over() { twheel_take_over(get()); }

	/* The time on the context's clock. */
	nanoseconds now() const
	{
		return nanoseconds(static_cast<std::int64_t>(twheel_now(get())));
	}

	/* Read the clock, in a context that caches the time; see twheel_update_now(). */
	void update_now() { detail::check(twheel_update_now(get()), "twheel_update_now"); }

	/* Let the clock of an embedded context stand still at a time, for tests. */
	template <typename Rep, typename Period>
	void set_now(std::chrono::duration<Rep, Period> now)
	{
		detail::check(twheel_set_now(get(), detail::count(now)), "twheel_set_now");
	}

	struct twheel_info info(unsigned int flags = 0) const
	{
		struct twheel_info info = {};

		detail::check(twheel_get_info(get(), flags, &info), "twheel_get_info");
		return info;
	}

	/* What was counted in an embedded context. */
	struct twheel_counters stats() const
	{
		struct twheel_counters counters = {};

		detail::check(twheel_stats(get(), &counters, sizeof(counters)), "twheel_stats");
		return counters;
	}

	/* With all settings; the (out) fields of @arm are written. */
	void arm(arm_request &arm)
	{
		detail::check(twheel_arm(get(), &arm), "twheel_arm");
	}

	/* A new one-shot timer. Returns its handle. */
	template <typename Rep, typename Period>
	std::uint64_t arm_after(std::chrono::duration<Rep, Period> delay,
				std::uint64_t user_data = 0)
	{
		std::uint64_t handle;

		detail::check(twheel_arm_after(get(), detail::count(delay), user_data, &handle),
			      "twheel_arm_after");
		return handle;
	}

	/* The same, for a point in time. */
	template <typename Clock, typename Duration>
	std::uint64_t arm_at(std::chrono::time_point<Clock, Duration> expires,
			     std::uint64_t user_data = 0)
	{
		std::uint64_t handle;

		check_clock<Clock>();
		detail::check(twheel_arm_at(get(), detail::count(expires), user_data, &handle),
			      "twheel_arm_at");
		return handle;
	}

	/*
	 * Arm or re-arm the one-shot timer with a key, in a context with keys. What was read
	 * before may be handled only after it: see twheel_put_after().
	 */
	template <typename Rep, typename Period>
	old put_after(std::uint64_t key, std::chrono::duration<Rep, Period> delay,
		      std::uint64_t user_data = 0)
	{
		struct twheel_old was;

		detail::check(twheel_put_after(get(), key, detail::count(delay), user_data, &was),
			      "twheel_put_after");
		return made(was);
	}

	template <typename Clock, typename Duration>
	old put_at(std::uint64_t key, std::chrono::time_point<Clock, Duration> expires,
		   std::uint64_t user_data = 0)
	{
		struct twheel_old was;

		check_clock<Clock>();
		detail::check(twheel_put_at(get(), key, detail::count(expires), user_data, &was),
			      "twheel_put_at");
		return made(was);
	}

	/*
	 * Push a pending timer back, and leave its settings as they are. False if there is no such
	 * timer or, in a context without keys, if it has expired.
	 */
	template <typename Clock, typename Duration>
	bool push(std::uint64_t handle, std::chrono::time_point<Clock, Duration> expires)
	{
		check_clock<Clock>();
		return push_to(handle, detail::count(expires));
	}

	/* The same, counted from now. On CLOCK_REALTIME that is EINVAL. */
	template <typename Rep, typename Period>
	bool push(std::uint64_t handle, std::chrono::duration<Rep, Period> delay)
	{
		return push_to(handle, detail::later(get(), delay));
	}

	/* Nothing if there is no such timer. */
	std::optional<old> cancel(std::uint64_t handle)
	{
		struct twheel_old was;
		int result = twheel_cancel(get(), handle, &was);

		if (result == -ENOENT)
			return std::nullopt;
		detail::check(result, "twheel_cancel");
		return made(was);
	}

	/* How long until a timer is due, 0 if it is; nothing if there is no such timer. */
	std::optional<nanoseconds> remaining(std::uint64_t handle) const
	{
		struct twheel_timer_info info;
		int result = twheel_get(get(), handle, &info);

		if (result == -ENOENT)
			return std::nullopt;
		detail::check(result, "twheel_get");
		return nanoseconds(static_cast<std::int64_t>(info.remaining));
	}

	/* All timers, and what has expired and was not read. */
	void cancel_all() { detail::check(twheel_cancel_all(get()), "twheel_cancel_all"); }

	/* Each entry's result says how it went. Returns how many were handled. */
	std::size_t arm_batch(std::vector<arm_request> &arms)
	{
		return static_cast<std::size_t>(
			detail::check(twheel_arm_batch(get(), arms.data(), arms.size()),
				      "twheel_arm_batch"));
	}

	std::size_t cancel_batch(std::vector<cancel_request> &cancels)
	{
		return static_cast<std::size_t>(
			detail::check(twheel_cancel_batch(get(), cancels.data(), cancels.size()),
				      "twheel_cancel_batch"));
	}

	/*
	 * Push many pending timers back: their handles, and what count() makes of points in time
	 * on the context's clock. Returns how many were pushed, up to the first that failed; if
	 * that is the very first one, it throws.
	 */
	std::size_t push_batch(const std::vector<push_request> &pushes)
	{
		return static_cast<std::size_t>(
			detail::check(twheel_push_batch(get(), pushes.data(), pushes.size()),
				      "twheel_push_batch"));
	}

	/*
	 * Read as many events as @events has capacity for, or 64 if it has none: its size is then
	 * that of those that there were, its capacity stays. Each call clears all of that first, a
	 * nanosecond an event: reserve no more than come at once, or call twheel_read() with get().
	 * Returns false, with @events empty, if nothing is ready and the context does not wait.
	 * After a failure @events is empty, too.
	 */
	bool read(std::vector<event> &events)
	{
		return fill(events, "twheel_read", [this](event *to, std::size_t n) {
			return twheel_read(get(), to, n);
		});
	}

	/* The same, but it waits for so long, whatever the context does. False if nothing came. */
	template <typename Rep, typename Period>
	bool read(std::vector<event> &events, std::chrono::duration<Rep, Period> timeout)
	{
		return fill(events, "twheel_read_timeout", [&](event *to, std::size_t n) {
			return twheel_read_timeout(get(), to, n, detail::count(timeout));
		});
	}

	/* Arm a lease. In a context with keys it has to have a @key, in others it has none. */
	template <typename Rep, typename Period>
	tw::lease lease(std::chrono::duration<Rep, Period> delay, std::uint64_t user_data = 0,
			std::optional<std::uint64_t> key = {})
	{
		return make_lease(detail::count(delay), 0, user_data, key);
	}

	/* The same, for a point in time: also on CLOCK_REALTIME. */
	template <typename Clock, typename Duration>
	tw::lease lease(std::chrono::time_point<Clock, Duration> expires,
			std::uint64_t user_data = 0, std::optional<std::uint64_t> key = {})
	{
		check_clock<Clock>();
		return make_lease(detail::count(expires), TWHEEL_ARM_ABS, user_data, key);
	}

	/*
	 * The lease that @info of twheel_get() or of a walk describes, which another process may
	 * have armed. EINVAL if it describes another timer.
	 */
	tw::lease lease_at(const struct twheel_timer_info &info)
	{
		struct twheel_lease found;

		detail::check(twheel_lease_at(get(), info.word, info.tag, &found),
			      "twheel_lease_at");
		return tw::lease(found, info.handle, get());
	}

	/*
	 * Read events and call the functions of their timers; see twheel_dispatch(). An
	 * exception of a function arrives here. Returns how many records were taken.
	 */
	int dispatch() { return detail::check(twheel_dispatch(get()), "twheel_dispatch"); }

	/* The same, but it waits for so long, whatever the context does. 0 if nothing came. */
	template <typename Rep, typename Period>
	int dispatch(std::chrono::duration<Rep, Period> timeout)
	{
		return detail::check(twheel_dispatch_timeout(get(), detail::count(timeout)),
				     "twheel_dispatch_timeout");
	}

private:
	friend class timer;
	friend class group;
	struct nothing {};
	explicit context(nothing) {}

	/*
	 * A vector that is left with what was read, however the call ends: the thread may be
	 * cancelled in it, after a read that has stored events. In each there is an expiration.
	 */
	struct filling {
		std::vector<event> &events;

		~filling()
		{
			std::size_t n = 0;

			while (n < events.size() && events[n].expirations)
				n++;
			events.resize(n);
		}
	};

	template <typename Read>
	static bool fill(std::vector<event> &events, const char *what, Read read)
	{
		filling taken{events};

		events.clear();
		events.resize(events.capacity() ? events.capacity() : 64);
		ssize_t n = read(events.data(), events.size());

		return n != -EAGAIN && detail::check(n, what) > 0;
	}

	/* If there is no memory, @undo ends what is not owned then. */
	void own(struct twheel *tw, void (*undo)(struct twheel *))
	{
		std::unique_ptr<struct twheel, decltype(undo)> guard(tw, undo);

		freed_ = std::make_shared<bool>(true);
		tw_ = std::shared_ptr<struct twheel>(tw, [freed = freed_](auto *p) {
			if (!*freed)
				twheel_close(p);
		});
		*freed_ = false;
		guard.release();
	}

	bool push_to(std::uint64_t handle, std::uint64_t expires)
	{
		int result = twheel_push(get(), handle, expires);

		if (result != -ENOENT)
			detail::check(result, "twheel_push");
		return !result;
	}

	template <typename Clock>
	void check_clock() const
	{
		if (detail::clock_of<Clock>() != clock())
			detail::fail(EINVAL, "a context on another clock");
	}

	tw::lease make_lease(std::uint64_t expires, unsigned int flags, std::uint64_t user_data,
			     std::optional<std::uint64_t> key)
	{
		bool keyed = twheel_config_flags(get()) & TWHEEL_CONFIG_KEYED;
		std::uint64_t handle = key.value_or(0);
		struct twheel_lease made;

		if (keyed != key.has_value())
			detail::fail(EINVAL, keyed ? "a lease without a key" :
				     "a key in a context without keys");
		detail::check(twheel_lease_new(get(), expires, flags, user_data, &handle, &made,
					       nullptr), "twheel_lease_new");
		return tw::lease(made, handle, get());
	}

	static old made(const struct twheel_old &was)
	{
		return {static_cast<twheel_state>(was.state),
			nanoseconds(static_cast<std::int64_t>(was.remaining))};
	}

	/* Only this object owns it. Timers learn from it that it is gone. */
	std::shared_ptr<struct twheel>	tw_;
	/* By twheel_release() */
	std::shared_ptr<bool>		freed_;
};

/*
 * A timer with a function, which tw::context::dispatch() calls. The destructor cancels it. It
 * may outlive its context, and is not armed any more then: to arm it is EBADF.
 *
 * The function may arm, cancel and destroy any timer of the context, its own included. All
 * timers of a context and dispatch() belong to one thread at a time.
 */
class timer {
public:
	using function = std::function<void(const event &)>;

	/* A function that is empty, as of a null pointer, is refused with EINVAL. */
	timer(const context &of, function call)
		: state_(std::make_shared<state>())
	{
		if (!call)
			detail::fail(EINVAL, "a timer without a function");
		state_->call = std::move(call);
		state_->of = of.tw_;
		detail::check(twheel_timer_new(&state_->made, of.get(), run, state_.get()),
			      "twheel_timer_new");
	}

	timer(timer &&) noexcept = default;

	timer &operator=(timer &&other) noexcept
	{
		timer moved(std::move(other));

		std::swap(state_, moved.state_);
		return *this;
	}

	~timer()
	{
		/* Otherwise twheel_close() has freed it. */
		if (state_ && !state_->of.expired())
			twheel_timer_free(state_->made);
	}

	/* Arm it, whether it is armed or not; it repeats if @interval is not 0. */
	template <typename Rep, typename Period, typename Rep2 = nanoseconds::rep,
		  typename Period2 = nanoseconds::period>
	void start(std::chrono::duration<Rep, Period> delay,
		   std::chrono::duration<Rep2, Period2> interval = {})
	{
		detail::check(twheel_timer_start(get(), detail::count(delay),
						 detail::count(interval)), "twheel_timer_start");
	}

	/* The same for a point in time, also on CLOCK_REALTIME. */
	template <typename Clock, typename Duration, typename Rep = nanoseconds::rep,
		  typename Period = nanoseconds::period>
	void start(std::chrono::time_point<Clock, Duration> expires,
		   std::chrono::duration<Rep, Period> interval = {})
	{
		arm_request setting = {};

		check_clock<Clock>();
		setting.expires = detail::count(expires);
		setting.interval = detail::count(interval);
		setting.flags = TWHEEL_ARM_ABS;
		arm(setting);
	}

	/* With all settings; see twheel_timer_arm(). */
	void arm(const arm_request &setting)
	{
		detail::check(twheel_timer_arm(get(), &setting, nullptr), "twheel_timer_arm");
	}

	/*
	 * As it was last armed, counted from now. ENOENT if it never was, EINVAL if that was for a
	 * point in time.
	 */
	void again() { detail::check(twheel_timer_again(get()), "twheel_timer_again"); }

	/*
	 * Change when it is due, and nothing else: an interval and the rounds that are left stay.
	 * False if it is not pending, as it has expired or is not armed; nothing has changed then.
	 */
	template <typename Rep, typename Period>
	bool push(std::chrono::duration<Rep, Period> delay)
	{
		return push(detail::count(delay), 0);
	}

	template <typename Clock, typename Duration>
	bool push(std::chrono::time_point<Clock, Duration> expires)
	{
		check_clock<Clock>();
		return push(detail::count(expires), TWHEEL_ARM_ABS);
	}

	/* How long until it is due; 0 if it is, or is not armed. */
	nanoseconds remaining() const
	{
		return nanoseconds(static_cast<std::int64_t>(twheel_timer_remaining(get())));
	}

	/* The function will not be called any more. False if it was not going to be. */
	bool cancel()
	{
		int result = twheel_timer_cancel(get(), nullptr);

		if (result != -ENOENT)
			detail::check(result, "twheel_timer_cancel");
		return !result;
	}

	bool armed() const
	{
		return state_ && !state_->of.expired() && twheel_timer_armed(state_->made);
	}

	/* For what twheel.h has and this class has not. */
	struct twheel_timer *get() const
	{
		if (!state_ || state_->of.expired())
			detail::fail(EBADF, "a timer of a closed context");
		return state_->made;
	}

private:
	struct state : std::enable_shared_from_this<state> {
		function			call;
		std::weak_ptr<struct twheel>	of;
		struct twheel_timer		*made = nullptr;
	};

	template <typename Clock>
	void check_clock() const
	{
		get();
		if (detail::clock_of<Clock>() != twheel_clock(state_->of.lock().get()))
			detail::fail(EINVAL, "a timer on another clock");
	}

	bool push(std::uint64_t expires, unsigned int flags)
	{
		int result = twheel_timer_push(get(), expires, flags);

		if (result != -ENOENT)
			detail::check(result, "twheel_timer_push");
		return !result;
	}

	static void run(struct twheel_timer *, const struct twheel_event *event, void *arg)
	{
		/* The function may destroy its timer, and is part of it. */
		std::shared_ptr<state> keep = static_cast<state *>(arg)->shared_from_this();

		keep->call(*event);
	}

	std::shared_ptr<state> state_;
};

/*
 * Timers of a context that are cancelled together: by cancel(), or when the group ends. It does not
 * own them. A timer is in one group at most, and leaves it when it ends. Any timer's function may
 * cancel and destroy a group.
 */
class group {
public:
	explicit group(const context &of) : of_(of.tw_)
	{
		detail::check(twheel_group_new(&made_, of.get()), "twheel_group_new");
	}

	group(group &&other) noexcept
		: of_(std::move(other.of_)), made_(std::exchange(other.made_, nullptr)) {}

	group &operator=(group &&other) noexcept
	{
		group moved(std::move(other));

		std::swap(of_, moved.of_);
		std::swap(made_, moved.made_);
		return *this;
	}

	~group()
	{
		/* Otherwise twheel_close() has freed it. */
		if (!of_.expired())
			twheel_group_free(made_);
	}

	/* Put a timer in, which leaves the group in which it is. */
	void add(timer &timer)
	{
		detail::check(twheel_timer_set_group(timer.get(), get()), "twheel_timer_set_group");
	}

	/* Its timers stay in it, and may be armed again. */
	void cancel() { detail::check(twheel_group_cancel(get()), "twheel_group_cancel"); }

private:
	struct twheel_group *get() const
	{
		if (!made_ || of_.expired())
			detail::fail(EBADF, "a group of a closed context");
		return made_;
	}

	std::weak_ptr<struct twheel>	of_;
	struct twheel_group		*made_ = nullptr;
};

#ifndef __cpp_exceptions
} /* namespace no_exceptions */
#endif

} /* namespace tw */

#endif /* TWHEEL_HPP */
