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
! has node --version || package node
example node nodejs "$sessions" node --version

finish
