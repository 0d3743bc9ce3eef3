# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2034,SC2154 # tap.sh has $tmp, and $port is for the tests
#
# serve.sh - a server that tells its port and whom it hangs up on, and its client. After tap.sh.

server=
cleanup() {
	[ -z "$server" ] || kill "$server"
}

# value NAME - a figure of the client
value() {
	sed -n "s/^$1 //p" "$tmp/out"
}

# serve DESCRIPTORS COMMAND... - start a server, which may have so many; its port is $port
serve() {
	descriptors=$1
	shift
	# Not what the one before has said
	: >"$tmp/server"
	# shellcheck disable=SC3045 # busybox has it
	(ulimit -n "$descriptors" && exec "$@") >"$tmp/server" 2>&1 &
	server=$!
	await grep -q '^port [1-9]' "$tmp/server"
	port=$(sed -n 's/^port //p' "$tmp/server")
}

# stop - end it
stop() {
	kill "$server"
	wait "$server"
	server=
}
