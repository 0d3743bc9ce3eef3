#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples.sh - the programs and the commands of Documentation/languages.md (TAP)
#
# What the page prints is compared with the files. Its commands are run, in a copy of their
# folder, on the wheel in the process.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
page=$top/Documentation/languages.md

# block MARK - the block of code below the line <!-- MARK -->
block() {
	awk -v "mark=<!-- $1 -->" '
		$0 == mark		{ found = 1; next }
		found && /^```/		{ if (inside++) exit; next }
		inside			{ print }' "$page"
}

# example NAME PACKAGE EXPECTED-OUTPUT COMMAND... - the commands that the page has for NAME, if
# COMMAND, which they need and Debian has in PACKAGE, is there
example() {
	local what=$1 debian=$2 expected=$3
	shift 3
	has "$@" || { skip "$what" "there is no $1 (Debian: $debian)"; return; }
	cp -r "$examples" "$tmp/$what"
	block "run: $what" >"$tmp/$what.sh"
	check "$what has commands" test -s "$tmp/$what.sh"
	run timeout 300 sh -ec "cd '$tmp/$what'; . '$tmp/$what.sh'"
	[ "$status" = 0 ] || echo "exit status $status" >>"$tmp/out"
	printf '%b' "$expected" >"$tmp/expected"
	# go and cargo tell what they do.
	grep -v -e '^go: ' -e 'go mod tidy' "$tmp/out" >"$tmp/got"
	try "$what prints what it should" diff "$tmp/expected" "$tmp/got"
}

# package LANGUAGE - make it where the commands of the page look for it
export PACKAGES=$tmp/packages
package() {
	try "the package for $1 is made" \
		make -s -C "$top/userspace/$1" O="$PACKAGES/$1" package
}

# edges NAME EXPECTED-OUTPUT SOURCE LINE - after `example NAME`: the same commands, where the input
# takes the place of all of SOURCE from LINE on. What is left of it is what programs copy.
edges() {
	local what=$1 dir=$tmp/$1 input
	input=$(cat)
	[ -d "$dir" ] || { skip "$what with times and keys at the edges" "there is no $what"; return; }
	sed -i "/$4/,\$d" "$dir/$3"
	printf '%s\n' "$input" >>"$dir/$3"
	run timeout 300 sh -ec "cd '$dir'; . '$dir.sh'"
	[ "$status" = 0 ] || echo "exit status $status" >>"$tmp/out"
	printf '%b' "$2" >"$tmp/expected"
	cp "$tmp/out" "$tmp/got"
	try "$what with times and keys at the edges" diff "$tmp/expected" "$tmp/got"
}

# also NAME TITLE EXPECTED-OUTPUT COMMAND... - after `example NAME`, in its folder
also() {
	local what=$1 title=$2 expected=$3
	shift 3
	[ -d "$tmp/$what" ] || { skip "$what $title" "there is no $what"; return; }
	run timeout 300 env -C "$tmp/$what" "$@"
	[ "$status" = 0 ] || echo "exit status $status" >>"$tmp/out"
	printf '%b' "$expected" >"$tmp/expected"
	cp "$tmp/out" "$tmp/got"
	try "$what $title" diff "$tmp/expected" "$tmp/got"
}

install_library || { cat "$tmp/out" >&2; exit 1; }

for file in "$examples"/*; do
	base=${file##*/}
	block "file: $base" >"$tmp/printed"
	if [ -s "$tmp/printed" ]; then
		try "the page prints $base as it is" diff "$file" "$tmp/printed"
	else
		check "the page has a link to $base" \
			grep -q "](../userspace/examples/languages/$base)" "$page"
	fi
done

sessions='session 1 has timed out\nsession 2 has timed out\n'
lease='extended 1000 times\nlease 7 is over, by its last deadline\ntoo late to extend it\n'
export PYTHONPATH=$top/userspace/python
example python python3 "$sessions" "$python" --version
example lease python3 "$lease" "$python" --version
example c++ g++ "$sessions" c++ --version
! has go version || package go
example go golang-go "$sessions" go version
! has cargo --version || package rust
example rust cargo "$sessions" cargo --version
if [ -e /usr/include/node/node_api.h ]; then
	example node nodejs "$sessions" node --version
	edges node 'expired 8, 9\n' sessions.js '^let left' <<'END'
const assert = require('assert');
const { cancelAll, remaining, stats } = require('./wheel.node');
const expired = [];
const wheel = open((key) => expired.push(key));

for (const key of [NaN, Infinity, -Infinity, 0.5, -1, -0.1, 2 ** 53, 2 ** 64, 1e300])
	for (const call of [put, push, cancel])
		assert.throws(() => call(wheel, key, 1), RangeError, String(key));
for (const key of [undefined, null, '1', 1n, {}])
	for (const call of [put, push, cancel])
		assert.throws(() => call(wheel, key, 1), TypeError, String(key));
for (const call of [put, push]) {
	assert.throws(() => call(wheel, 1, NaN), RangeError);
	for (const ms of [undefined, null, '1', 1n])
		assert.throws(() => call(wheel, 1, ms), TypeError);
}
/* None of these has armed anything. */
assert.equal(cancel(wheel, 0), false);
assert.equal(cancel(wheel, 1), false);

/* For ever: none of these comes, or is refused. */
const long = [Infinity, Number.MAX_VALUE, 2 ** 64 / 1e6, 2 ** 63 / 1e6, 9223372036853.999, 9e12];
long.forEach((ms, key) => put(wheel, key, ms));
push(wheel, Number.MAX_SAFE_INTEGER, 1e10);
long.forEach((ms, key) => push(wheel, key, ms));
put(wheel, 8, 5000);
push(wheel, 8, -Infinity);
put(wheel, 9, 1.5);
setTimeout(() => {
	console.log('expired ' + expired.join(', '));
	assert.ok(long.every((ms, key) => cancel(wheel, key)));
	assert.ok(cancel(wheel, Number.MAX_SAFE_INTEGER));

	put(wheel, 1, 1);
	push(wheel, 1, 5000);
	put(wheel, 2, 5000);
	assert.ok(remaining(wheel, 1) > 1000);
	assert.ok(remaining(wheel, 1) > 0 && remaining(wheel, 1) <= 5000);
	cancelAll(wheel);
	assert.equal(remaining(wheel, 1), undefined);
	const counted = stats(wheel);
	assert.deepEqual([counted.armed, counted.expired, counted.read, counted.cancelled],
			 [11, 2, 2, 9]);
	assert.equal(counted.lateness.length, 64);
	assert.equal(counted.lateness.reduce((sum, n) => sum + n), 2);
	close(wheel);
	assert.throws(() => stats(wheel), /Bad file descriptor/);
}, 300);
END
	ends='runs out: 0\nexits: 7\nexits in the function: 7\nthrows: 1, on purpose\n'
	ends+='throws in the function: 1, on purpose\nis terminated: 1\n'
	ends+='is terminated in the function: 1\nexits after close: 7\nexits with many: 7\n'
	ends+='the main thread has its wheel\n'
	cat >"$tmp/node/unreadable.c" <<-'END'
		#include <errno.h>
		#include <twheel.h>

		ssize_t twheel_read(struct twheel *tw, struct twheel_event *events, size_t n)
		{
			(void)tw, (void)events, (void)n;
			return -EIO;
		}
	END
	cat >"$tmp/node/unreadable.js" <<-'END'
		const { open, put } = require('./wheel.node');

		process.on('uncaughtException', (error) => console.log('uncaught: ' + error.message));
		const wheel = open(() => {});
		put(wheel, 1, 1);
		setTimeout(() => put(wheel, 1, 1), 100);
		/* Nothing keeps the loop running then. */
	END
	# The words of pkg-config are options.
	# shellcheck disable=SC2046
	cc -shared -fPIC -o "$tmp/node/unreadable.so" "$tmp/node/unreadable.c" \
		$(pkg-config --cflags libtwheel)
	also node "with a wheel that cannot be read" \
		'uncaught: Input/output error\nuncaught: Bad file descriptor\n' \
		env LD_PRELOAD=./unreadable.so timeout 20 node unreadable.js
	also node "with workers that end while wheels are open" "$ends" node "$here/workers.js"
else
	skip node "node_api.h is missing (Debian: libnode-dev)"
fi

finish
