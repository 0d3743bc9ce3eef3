#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# backend.sh - do all programs say that TWHEEL_BACKEND is misspelt, and which wheel they lack?
#
# This needs no device. ../tool/doctor.sh tests what the doctor says of it.

. "$(dirname "$0")/programs.sh"

echo '@daily true' >"$tmp/tab"
while read -r command; do
	# shellcheck disable=SC2086 # words
	run env TWHEEL_BACKEND=embeded timeout 10 $command
	check "${command%% *}: it names TWHEEL_BACKEND, and what that may be" \
		said "^${command%% *}: .*TWHEEL_BACKEND.*auto, device.* embedded"
	check "${command%% *}: exit status 1" test "$status" = 1
done <<-END
	cron $tmp/tab
	heartbeat --drivers 10
	heartbeat --drivers 10 --keyed
	idle-server --port 0
	fdstore --socket $tmp/socket --journal $tmp/journal
	periodic
	keyed
	lease
	twheel-server
	epoll-server
END

run env TWHEEL_BACKEND=embeded cron "$tmp/tab"
check "its value is told" said "^cron: TWHEEL_BACKEND is 'embeded': "
run env TWHEEL_BACKEND=embeded cron --next 1 "$tmp/tab"
check "what needs no wheel does not look at it" test "$status" = 0

# Descriptors that a wheel in the process takes
while read -r command; do
	# shellcheck disable=SC2086 # words
	run env TWHEEL_BACKEND=embedded sh -c 'ulimit -n 4 && exec "$@"' sh $command
	check "${command%% *}: it is not the device that it lacks descriptors for" \
		said "^${command%% *}: a wheel in the process: Too many open files\$"
done <<-END
	twheel arm 1s
	cron $tmp/tab
	heartbeat --drivers 10
	idle-server --port 0
	fdstore --socket $tmp/socket --journal $tmp/journal
END

finish
