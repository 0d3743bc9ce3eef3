#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# node.sh - the package for Node, on the wheel in the process (TAP)

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
begin_package node

try "it is made" make -s -C "$package" O="$tmp/node" CFLAGS='-O2 -Werror' package
run timeout 300 node --test-reporter=tap "$here/node/wheel.js" "$tmp/node/twheel"
results

run timeout 60 node "$costs/costs.js" "$tmp/node/twheel" 1 100
check "what timers cost can be measured" measured

ends='runs out: 0\nexits: 7\nexits in the function: 7\nthrows: 1, on purpose\n'
ends+='throws in the function: 1, on purpose\nis terminated: 1\n'
ends+='is terminated in the function: 1\nexits after close: 7\nexits with many: 7\n'
ends+='the main thread has its wheel\n'
printf '%b' "$ends" >"$tmp/expected"
timeout 300 node "$here/node/workers.js" "$tmp/node/twheel" 2>&1 | cat >"$tmp/got"
try "workers may end while wheels are open" diff "$tmp/expected" "$tmp/got"

# Only a library of its own can be replaced in a part.
try "it is made for the library that is installed" \
	make -s -C "$package" O="$tmp/installed" SYSTEM=1 package
check "that has no source of the library" test ! -e "$tmp/installed/twheel/twheel.c"
cat >"$tmp/unreadable.c" <<-'END'
	#include <errno.h>
	#include <twheel.h>

	ssize_t twheel_read(struct twheel *tw, struct twheel_event *events, size_t n)
	{
		(void)tw, (void)events, (void)n;
		return -EIO;
	}
END
cat >"$tmp/unreadable.js" <<-'END'
	const { Wheel } = require('./installed/twheel');
	const wheel = new Wheel();

	process.on('uncaughtException', (error) => console.log('uncaught: ' + error.code));
	/* Nothing keeps the loop running then. */
	wheel.setTimeout(() => {}, 1);
	const closed = setInterval(() => {
		if (!wheel.closed)
			return;
		clearInterval(closed);
		const timer = wheel.setTimeout(() => {}, 1);
		console.log(wheel.closed, timer.armed);
	}, 5);
END
# The words of pkg-config are options.
# shellcheck disable=SC2046
cc -shared -fPIC -o "$tmp/unreadable.so" "$tmp/unreadable.c" $(pkg-config --cflags libtwheel)
run env -C "$tmp" LD_PRELOAD=./unreadable.so timeout 60 node unreadable.js
printf 'uncaught: EIO\nuncaught: EBADF\n' >"$tmp/expected"
cp "$tmp/out" "$tmp/got"
try "a wheel that cannot be read is closed" diff "$tmp/expected" "$tmp/got"

mkdir -p "$tmp/types/node_modules"
cp "$here/node/types.ts" "$tmp/types"
ln -s "$tmp/node/twheel" "$tmp/types/node_modules"
if has tsc --version; then
	try "its types are what TypeScript expects" env -C "$tmp/types" \
		tsc --noEmit --strict --target es2020 --module commonjs --lib es2020,dom \
		--typeRoots "$tmp/types/none" types.ts
else
	skip "its types are what TypeScript expects" "there is no tsc (Debian: node-typescript)"
fi

if has npm --version && has python3 --version; then
	mkdir "$tmp/npm"
	# The headers are here; without them node-gyp would fetch some.
	headers=$(node -p 'require("path").resolve(process.execPath, "../..")')
	try "npm builds and installs it without network" env -C "$tmp/npm" HOME="$tmp" npm install \
		--offline --no-audit --no-fund --nodedir="$headers" "$tmp"/node/twheel-*.tgz
	run env -C "$tmp/npm" node -p 'require("twheel").version'
	check "its version is that of the tree" grep -qx "$(cat "$top/VERSION")" "$tmp/out"
else
	skip "npm builds and installs it without network" "there is no npm (Debian: npm)"
fi

finish
