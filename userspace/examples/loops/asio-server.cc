// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The echo server in a loop of asio.
 */
#include <optional>
#include <set>

#include "server.h"
#include "twheel-asio.hpp"

const bool loop_flushes = false;
static std::optional<asio::io_context> loop;
static twheel_asio timers;

/*
 * A watch, as long as a handler waits for it; its watch is NULL when it is unwatched. The
 * descriptor is not for this to close.
 */
struct watched {
	asio::posix::stream_descriptor	fd;
	struct watch			*watch;

	explicit watched(struct watch *w) : fd(*loop, w->fd), watch(w) {}
	~watched() { fd.release(); }
};

static std::set<struct watch *> watches;

int loop_open(void)
{
	loop.emplace();
	return 0;
}

int loop_attach(struct twheel *tw)
{
	try {
		timers = twheel_asio(loop->get_executor(), tw, server_failed);
	} catch (const std::system_error &error) {
		return -error.code().value();
	}
	return 0;
}

void loop_detach(void)
{
	timers.detach();
}

static void wait(const std::shared_ptr<watched> &w)
{
	w->fd.async_wait(asio::posix::stream_descriptor::wait_read, [w](const auto &) {
		if (w->watch)
			w->watch->ready(w->watch);
		if (w->watch)
			wait(w);
	});
}

int loop_watch(struct watch *watch)
{
	try {
		auto w = std::make_unique<std::shared_ptr<watched>>(
			std::make_shared<watched>(watch));

		watches.insert(watch);
		wait(*w);
		watch->source = w.release();
	} catch (const std::exception &) {
		watches.erase(watch);
		return -ENOMEM;
	}
	return 0;
}

void loop_unwatch(struct watch *watch)
{
	auto *w = static_cast<std::shared_ptr<watched> *>(watch->source);

	(*w)->fd.release();
	(*w)->watch = nullptr;
	delete w;
	watches.erase(watch);
	watch->gone(watch);
}

int loop_run(void)
{
	/* It was stopped if it has run before. */
	loop->restart();
	loop->run();
	return 0;
}

void loop_stop(void)
{
	loop->stop();
}

void loop_close(void)
{
	while (!watches.empty())
		loop_unwatch(*watches.begin());
	loop.reset();
}
