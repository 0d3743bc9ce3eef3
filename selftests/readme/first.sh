#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# first.sh - do the commands of README.md's first program build it, and does it greet? (TAP)
#
# On this machine, as a newcomer: with neither the module nor anything installed.

. "$(dirname "$0")/../tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)

awk '/^## / { on = /first program/ } on && /^```c$/ { code = 1; next } /^```$/ { code = 0 }
	code { print }' "$top/README.md" >"$tmp/hello.c"
awk '/^## / { on = /first program/ } on && /^    [a-z.]/ { print substr($0, 5) }' \
	"$top/README.md" >"$tmp/commands"
check "README has a program" test -s "$tmp/hello.c"
check "and three commands" test "$(wc -l <"$tmp/commands")" = 3
check "they come before the module is built" \
	test "$(grep -n '^## A first program' "$top/README.md" | cut -d: -f1)" -lt \
	"$(grep -n 'make modules' "$top/README.md" | head -n 1 | cut -d: -f1)"

# The first is for the folder of the sources; the others leave files, and so have links to it.
for name in userspace uapi build; do
	ln -s "$top/$name" "$tmp/$name"
done
first=$(head -n 1 "$tmp/commands")
try "$first" sh -c "cd '$top' && unset MAKEFLAGS MFLAGS && $first"
try "the compiler takes it, without a warning" sh -c "cd '$tmp' && $(sed -n 2p "$tmp/commands") -Wall -Wextra -Werror"
run env TWHEEL_BACKEND=embedded sh -c "cd '$tmp' && $(sed -n 3p "$tmp/commands")"
check "it succeeds" test "$status" = 0
check "it greets, and says nothing else" test "$(grep -c '^hello, wheel ([0-9]* ns late)$' "$tmp/out")" = \
	"$(wc -l <"$tmp/out")" -a -s "$tmp/out"

# A program that was kept from running gets several expirations in one record, and greets once for
# these. So have it tell of them.
sed -i 's|(void)timer;|fprintf(stderr, "%d expired\\n", (int)event->expirations); &|' "$tmp/hello.c"
try "the compiler takes it with one more line" sh -c "cd '$tmp' && $(sed -n 2p "$tmp/commands")"
run env TWHEEL_BACKEND=embedded sh -c "cd '$tmp' && $(sed -n 3p "$tmp/commands")"
check "it greets three times, but for expirations that came at once" \
	test "$(awk '/ expired$/ { n += $1 } END { print n }' "$tmp/out")" = 3
check "and for each that came" \
	test "$(grep -c '^hello, wheel ' "$tmp/out")" = "$(grep -c ' expired$' "$tmp/out")"
finish
