/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a loop of asio or, with TWHEEL_BOOST_ASIO, of Boost.Asio. It is C++17. Copy
 * this file into your program.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Detach it before you close it.
 */
#ifndef TWHEEL_ASIO_HPP
#define TWHEEL_ASIO_HPP

#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>
#include <twheel.h>

#ifdef TWHEEL_BOOST_ASIO
#include <boost/asio.hpp>
#else
#include <asio.hpp>
#endif

/* A context as a source of a loop. The destructor detaches it. */
class twheel_asio {
#ifdef TWHEEL_BOOST_ASIO
	using descriptor = boost::asio::posix::stream_descriptor;
#else
	using descriptor = asio::posix::stream_descriptor;
#endif

public:
	using failure = std::function<void(struct twheel *tw, int err)>;

	twheel_asio() = default;

	/*
	 * Call the functions of a context's timers from a loop. @executor is that of the loop or, if
	 * several threads run it, a strand: all that uses the context's timers belongs into it.
	 *
	 * @failed, unless it is empty, is called with the -errno of twheel_dispatch(). After
	 * -ECANCELED, -ENOSPC, -EDQUOT and -ENOMEM the source goes on. Any other error would come
	 * again in each round, so the source is detached before.
	 *
	 * asio calls nothing before it waits: if you use twheel_timer_defer(), call
	 * twheel_timer_flush() at the end of every handler that touches a timer.
	 *
	 * Throws std::system_error: EINVAL for a context with keys, as timer objects are not for
	 * these.
	 */
	twheel_asio(const descriptor::executor_type &executor, struct twheel *tw, failure failed)
	{
		bool keyed = twheel_config_flags(tw) & TWHEEL_CONFIG_KEYED;
		int ret = keyed ? -EINVAL : twheel_timer_flush(tw);

		if (ret)
			throw std::system_error(-ret, std::generic_category(), "twheel_asio");
		source_ = std::make_shared<source>(executor, tw, std::move(failed));
		wait(source_);
	}

	twheel_asio(twheel_asio &&) = default;

	twheel_asio &operator=(twheel_asio other)
	{
		std::swap(source_, other.source_);
		return *this;
	}

	~twheel_asio() { detach(); }

	/* End it, from wherever; the context may be closed at once. */
	void detach()
	{
		if (source_)
			source_->end();
		source_ = nullptr;
	}

private:
	struct source {
		descriptor	fd;
		/* NULL: it was detached. */
		struct twheel	*tw;
		failure		failed;

		source(const descriptor::executor_type &executor, struct twheel *context, failure fn)
			: fd(executor, twheel_fd(context)), tw(context), failed(std::move(fn))
		{
		}

		~source() { end(); }

		/* The descriptor is the context's, and is not to be closed. */
		void end()
		{
			if (tw)
				fd.release();
			tw = nullptr;
		}
	};

	/* A handler that waits keeps the source. */
	static void wait(const std::shared_ptr<source> &source)
	{
		source->fd.async_wait(descriptor::wait_read, [source](auto error) {
			ready(source, -error.value());
		});
	}

	static void ready(const std::shared_ptr<source> &source, int ret)
	{
		if (!source->tw)
			return;
		try {
			ret = ret ? ret : twheel_dispatch(source->tw);
		} catch (...) {
			/* Records are left for which the descriptor is not readable. */
			if (source->tw)
				post(source->fd.get_executor(), [source] { ready(source, 0); });
			throw;
		}
		/* A timer's function may have detached it. */
		struct twheel *tw = source->tw;
		bool failed = tw && ret < 0 && ret != -EINTR;

		if (failed && ret != -ECANCELED && ret != -ENOSPC && ret != -EDQUOT && ret != -ENOMEM)
			source->end();
		/* First, as @failed may throw. */
		if (source->tw)
			wait(source);
		if (failed && source->failed)
			source->failed(tw, ret);
	}

	std::shared_ptr<source> source_;
};

#endif /* TWHEEL_ASIO_HPP */
