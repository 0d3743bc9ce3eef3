// SPDX-License-Identifier: GPL-2.0-only
/*
 * asio-faults - a source of asio where memory is short, and that is moved to itself
 *
 * usage: asio-faults memory|moved
 *
 * The exit status is 0 if all was as it should be.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <fcntl.h>

#include "twheel-asio.hpp"

/* How many allocations are to succeed before one that fails; negative: all. */
static long left = -1;
static bool failed;

void *operator new(std::size_t size)
{
	void *memory = left >= 0 && left-- == 0 ? nullptr : std::malloc(size);

	if (!memory) {
		failed = true;
		throw std::bad_alloc();
	}
	return memory;
}

void operator delete(void *memory) noexcept
{
	std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
	std::free(memory);
}

static struct twheel *open_context()
{
	struct twheel *tw;

	if (twheel_open(&tw, nullptr, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, nullptr))
		std::exit(2);
	return tw;
}

static void come(struct twheel_timer *, const struct twheel_event *, void *called)
{
	*static_cast<bool *>(called) = true;
}

/* Does a loop call the function of a timer within ten seconds? */
static bool comes(asio::io_context &loop, struct twheel *tw)
{
	struct twheel_timer *timer;
	bool called = false;

	if (twheel_timer_new(&timer, tw, come, &called) || twheel_timer_start(timer, 1000000, 0))
		return false;
	loop.restart();
	while (!called && loop.run_one_for(std::chrono::seconds(10)))
		;
	twheel_timer_free(timer);
	return called;
}

/* Each allocation of an attach fails once: the context stays open, and can be attached then. */
static bool memory()
{
	int attached = 0;

	for (int fail = 0; !attached && fail < 100; fail++) {
		asio::io_context loop;
		struct twheel *tw = open_context();
		int refused = 0;

		failed = false;
		left = fail;
		try {
			twheel_asio source(loop.get_executor(), tw, {});
		} catch (const std::bad_alloc &) {
			refused = 1;
		}
		left = -1;
		if (refused != failed || fcntl(twheel_fd(tw), F_GETFD) < 0) {
			std::printf("allocation %d: the context is closed, or has an error\n", fail);
			return false;
		}
		twheel_asio source(loop.get_executor(), tw, {});
		if (!comes(loop, tw))
			return false;
		source.detach();
		twheel_close(tw);
		attached = failed ? 0 : fail;
	}
	std::printf("an attach allocates %d times\n", attached);
	return attached > 0;
}

static bool moved()
{
	asio::io_context loop;
	struct twheel *tw = open_context(), *other = open_context();
	twheel_asio source(loop.get_executor(), tw, {}), &same = source;
	bool well;

	source = std::move(same);
	well = comes(loop, tw);
	/* What it was before is detached. */
	source = twheel_asio(loop.get_executor(), other, {});
	twheel_close(tw);
	well = well && comes(loop, other);
	source.detach();
	twheel_close(other);
	return well;
}

int main(int, char **argv)
{
	return !(!std::strcmp(argv[1], "memory") ? memory() : moved());
}
