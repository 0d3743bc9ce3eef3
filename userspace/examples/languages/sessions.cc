// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* sessions: time sessions out by their own numbers, in C++17. */
#include <cstdint>
#include <iostream>
#include <vector>

#include <twheel.hpp>

int main()
{
	using namespace std::chrono_literals;
	tw::options options;

	options.keyed = true;
	tw::context wheel(options);

	wheel.put_after(1, 200ms);
	wheel.put_after(2, 100ms);
	wheel.put_after(3, 300ms);

	/* A sign of life; and a log-out. */
	wheel.push(2, std::chrono::steady_clock::now() + 400ms);
	wheel.cancel(3);

	for (int left = 2; left > 0;) {
		std::vector<tw::event> events(64);

		wheel.read(events);
		for (const tw::event &event : events)
			std::cout << "session " << event.handle << " has timed out\n";
		left -= static_cast<int>(events.size());
	}
}
