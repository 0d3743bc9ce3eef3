#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cxx.sh - twheel.hpp with each compiler that is there (TAP)
#
# usage: cxx.sh [g++|clang++]
#
#	g++, clang++	compile the test with this one and run it, on the wheel in the process

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

flags=(-Wall -Wextra -Wpedantic -Werror)

# without_exceptions COMPILER... - what a program with and without them does, linked from two files
without_exceptions() {
	# shellcheck disable=SC2046
	"$@" -fno-exceptions "${flags[@]}" -c -o "$tmp/without.o" "$tmp/without.cc" \
			$(pkg-config --cflags libtwheel) &&
		"$@" "${flags[@]}" -o "$tmp/without" "$tmp/with.cc" "$tmp/without.o" \
			$(pkg-config --cflags --libs libtwheel)
}

# adapts COMPILER LOOP [MODULE] - a file with the adapter of a loop, which is written in C
adapts() {
	printf '#include "twheel-%s.h"\n' "$2" "$2" >"$tmp/adapter.cc"
	# shellcheck disable=SC2046
	"$1" -std=c++17 "${flags[@]}" -fsyntax-only -I"$top/userspace/examples/loops" \
		"$tmp/adapter.cc" $(pkg-config --cflags libtwheel) \
		${3:+$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --cflags "$3")}
}

# runs_asio COMPILER asio|boost/asio
runs_asio() {
	local define=
	[ "$2" = asio ] || define=-DTWHEEL_BOOST_ASIO
	# shellcheck disable=SC2046
	"$1" -std=c++17 "${flags[@]}" ${define:+"$define"} -pthread -o "$tmp/asio" \
			-I"$top/userspace/examples/loops" "$tmp/asio.cc" \
			$(pkg-config --cflags --libs libtwheel) &&
		timeout 60 "$tmp/asio"
}

if [ $# = 0 ]; then
	install_library || { cat "$tmp/out" >&2; exit 1; }
	printf '#include <twheel.hpp>\n#include <twheel.hpp>\n' | tee "$tmp/a.cc" >"$tmp/b.cc"
	echo 'int main() { return tw::context().fd() < 0; }' >>"$tmp/a.cc"
	cat >"$tmp/without.cc" <<-'END'
		#include <twheel.hpp>

		int without(bool fail)
		{
			tw::context wheel;
			int called = 0;
			tw::timer timer(wheel, [&](const tw::event &) { called++; });

			timer.start(std::chrono::milliseconds(1));
			wheel.dispatch();
			if (fail)
				wheel.arm_after(std::chrono::seconds(-1));
			return called;
		}
	END
	cat >"$tmp/with.cc" <<-'END'
		#include <twheel.hpp>

		int without(bool fail);

		int main(int argc, char **)
		{
			try {
				tw::context().arm_after(std::chrono::seconds(-1));
			} catch (const std::system_error &error) {
				return without(argc > 1) == 1 ? 0 : 2;
			}
			return 1;
		}
	END
	cat >"$tmp/asio.cc" <<-'END'
		#include "twheel-asio.hpp"
		#include "twheel-asio.hpp"
		#include <twheel.hpp>

		#ifdef TWHEEL_BOOST_ASIO
		namespace asio = boost::asio;
		#endif

		/* The clock steps: the source goes on, if nobody is told, or who is told throws. */
		static bool steps(std::function<void(struct twheel *, int)> failed)
		{
			tw::options options;
			options.clock = CLOCK_REALTIME;
			options.cancel_on_set = options.embedded = options.nonblock = true;
			tw::context wheel(options);
			asio::io_context loop;
			twheel_asio source(loop.get_executor(), wheel.get(), failed);
			bool called = false, thrown = false;
			tw::timer timer(wheel, [&](const tw::event &) {
				called = true;
				source.detach();
			});

			wheel.set_now(std::chrono::seconds(1000));
			timer.start(std::chrono::system_clock::time_point());
			wheel.set_now(std::chrono::seconds(2000));
			try {
				loop.run();
			} catch (int) {
				thrown = true;
			}
			loop.run();
			return called && thrown == !!failed;
		}

		/* A function throws: the timers after it come when the loop goes on. */
		static bool throws()
		{
			tw::options options;
			options.nonblock = true;
			tw::context wheel(options);
			asio::io_context loop;
			int called = 0, thrown = 0;
			twheel_asio source(loop.get_executor(), wheel.get(), {});
			auto call = [&](const tw::event &) {
				if (++called == 1)
					throw 1;
				if (called == 3)
					source.detach();
			};
			tw::timer first(wheel, call), second(wheel, call), third(wheel, call);

			first.start(std::chrono::seconds(0));
			second.start(std::chrono::seconds(0));
			third.start(std::chrono::milliseconds(20));
			while (called < 3) {
				try {
					loop.run();
				} catch (int) {
					thrown++;
				}
			}
			return thrown == 1;
		}

		int main()
		{
			return !steps({}) || !throws() ||
				!steps([](struct twheel *, int) { throw 1; });
		}
	END
	page=$top/userspace/man/twheel.hpp.3
	# Members are those lines of a public part that begin with one tab and call nothing.
	awk '/^(class|private:)/ { on = 0 } /^public:/ { on = 1 }
		on && /^\t[a-z~].*\(/ && !/operator|static_cast|using/ { sub(/\(.*/, ""); print $NF }' \
		"$top/userspace/include/twheel.hpp" | sed 's/^[*&]*//' | grep -vx -e '~.*' \
		-e context -e timer -e group | sort -u >"$tmp/members"
	while read -r member; do
		grep -q "\(^\.BR \|\\\\fB\)$member\(\\\\fP\| \)()*" "$page" || echo "$member"
	done <"$tmp/members" >"$tmp/out"
	check "twheel.hpp(3) has each member" test "$(wc -l <"$tmp/members")" -gt 30 -a ! -s "$tmp/out"
	# The first block of EXAMPLES is a program, the second what it prints.
	for block in 1 2; do
		awk -v want=$block '/^\.EE/ { on = 0 }
			on { gsub(/\\-/, "-"); gsub(/\\e/, "\\"); print }
			/^\.EX/ { on = ++n == want }' "$page" >"$tmp/page.$block"
	done
	mv "$tmp/page.1" "$tmp/page.cc"
	for compiler in g++ clang++; do
		has "$compiler" --version || {
			skip "$compiler" "there is no $compiler (Debian: ${compiler/clang++/clang})"
			continue
		}
		for standard in c++17 c++20; do
			# The words of pkg-config are options.
			# shellcheck disable=SC2046
			try "$compiler -std=$standard, two files" "$compiler" "-std=$standard" \
				"${flags[@]}" -o "$tmp/two" "$tmp/a.cc" "$tmp/b.cc" \
				$(pkg-config --cflags --libs libtwheel)
			try "it runs" "$tmp/two"
			try "one of two without exceptions" \
				without_exceptions "$compiler" "-std=$standard"
			try "it runs" "$tmp/without"
			# The shell tells of the signal elsewhere.
			run sh -c '"$0" fail >"$1" 2>&1; exit $?' "$tmp/without" "$tmp/message"
			check "and ends at a failure" test "$status" = 134
			check "with a message" grep -qx \
				'twheel.hpp: a negative time: Invalid argument' "$tmp/message"
		done
		# shellcheck disable=SC2046
		try "$compiler, the program of twheel.hpp(3)" "$compiler" -std=c++17 "${flags[@]}" \
			-o "$tmp/page" "$tmp/page.cc" $(pkg-config --cflags --libs libtwheel)
		"$tmp/page" >"$tmp/printed"
		try "it prints what the page says" diff "$tmp/page.2" "$tmp/printed"
		while read -r loop module; do
			if [ -z "$module" ] || has pkg-config --exists "$module"; then
				try "$compiler, the adapter for $loop" \
					adapts "$compiler" "$loop" ${module:+"$module"}
			else
				skip "$compiler, the adapter for $loop" "pkg-config knows no $module"
			fi
		done <<-END
			epoll
			glib glib-2.0
			libevent libevent_core
			ring liburing
			sd-event libsystemd
			uring liburing
			uv libuv
		END
		for asio in asio boost/asio; do
			has "$compiler" -include "$asio/version.hpp" -E -x c++ /dev/null || {
				skip "$compiler, $asio" "its headers are missing"
				continue
			}
			try "$compiler, $asio" runs_asio "$compiler" "$asio"
		done
	done
	finish
fi

has "$1" --version || skip_all "there is no $1 (Debian: ${1/clang++/clang})"
install_library || { cat "$tmp/out" >&2; exit 1; }
# shellcheck disable=SC2046
"$1" -std=c++17 -O1 -g "${flags[@]}" -fsanitize=address,undefined \
	-Wl,--wrap=twheel_read -o "$tmp/cxx" "$here/cxx.cc" \
	$(pkg-config --cflags --libs libtwheel) >"$tmp/out" 2>&1 || {
	cat "$tmp/out"
	exit 1
}
# It prints a document of its own.
timeout 120 "$tmp/cxx" | tail -n +2
exit "${PIPESTATUS[0]}"
