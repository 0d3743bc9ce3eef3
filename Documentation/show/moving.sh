#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# moving.sh - measure both servers of Documentation/moving.md in a guest, and write what they take
# into that page: `make show`
#
# Replaces what is between <!-- moving: FIGURES --> and <!-- moving: end -->.

. "$(dirname "$0")/../../selftests/vm/common.sh"

page=$top/Documentation/moving.md
examples=$top/userspace/examples
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

unset MAKEFLAGS MFLAGS
"$vm/setup.sh" build guest
"$vm/build.sh"
"$vm/run.sh" -I -t 900 -m 1024 -d "$top/Documentation/show" -- \
	"sh /twheel/show/moving-guest.sh" >"$out/measured"
grep -qx end "$out/measured" || die "the guest did not come to the end"
if grep -q '^result .* \(lost\|left\) [^0]' "$out/measured"; then
	die "a client was cut off"
fi

# lines FILE - of code: neither comments nor empty ones
lines() {
	gcc -fpreprocessed -dD -E -P "$1" | grep -c .
}

{ cat "$out/measured"
  echo "lines timerfd $(lines "$examples/timerfd-server.c")"
  echo "lines twheel $(lines "$examples/twheel-server.c")"; } |
awk -v what="$(git -C "$top" rev-parse --short=10 HEAD) on $(date -u +%F), in a guest with Linux $(
		cat "$("$vm/kernel.sh")/release")" '
	function grouped(n,  s, rest) {
		s = sprintf("%d", n + 0.5)
		for (; length(s) > 3; s = substr(s, 1, length(s) - 3))
			rest = "," substr(s, length(s) - 2) rest
		return s rest
	}
	function spent(kind, from, to, times) {
		return (ns[kind, to] - ns[kind, from]) / times
	}
	function called(kind, from, to, times) {
		kind = kind "-calls"
		return (calls[kind, to] - calls[kind, from]) / times
	}
	function row(name, a, b, c, form) {
		if (form)
			printf "| %s | %s | %s | %s | %.2f |\n", name, grouped(a), grouped(b),
				grouped(c), b / a
		else
			printf "| %s | %.3g | %.3g | %.3g | %.2f |\n", name, a, b, c, b / a
	}
	$1 == "load"	{ clients = $2; rounds = $3 }
	$1 == "lines"	{ lines[$2] = $3 }
	$1 == "figure"	{ ns[$2, $3] = $4; calls[$2, $3] = $5; fds[$2, $3] = $6 }
	END {
		print "Measured at " what ":\n"
		print "|  | timerfd-server | twheel-server, device | twheel-server, embedded | device / timerfd |"
		print "| --- | ---: | ---: | ---: | ---: |"
		row("lines of code", lines["timerfd"], lines["twheel"], lines["twheel"], 1)
		row("descriptors of a client", spread("timerfd"), spread("device"), spread("embedded"))
		phases("system calls", 0)
		phases("instructions", 1)
	}
	function spread(kind) {
		return (fds[kind, "connected"] - fds[kind, "begun"]) / clients
	}
	function cost(kind, from, to, times, instructions) {
		return instructions ? spent(kind, from, to, times) : called(kind, from, to, times)
	}
	function phases(what, i) {
		row(what ": a client connects", cost("timerfd", "begun", "connected", clients, i),
		    cost("device", "begun", "connected", clients, i),
		    cost("embedded", "begun", "connected", clients, i), i)
		row(what ": a message", cost("timerfd", "connected", "talked", clients * rounds, i),
		    cost("device", "connected", "talked", clients * rounds, i),
		    cost("embedded", "connected", "talked", clients * rounds, i), i)
		row(what ": a silent client is hung up on",
		    cost("timerfd", "talked", "ended", clients, i),
		    cost("device", "talked", "ended", clients, i),
		    cost("embedded", "talked", "ended", clients, i), i)
	}' >"$out/table"

awk -v table="$out/table" '
	/^<!-- moving: end -->/ { on = 0 }
	!on
	/^<!-- moving: FIGURES -->/ {
		on = 1
		while ((getline line <table) > 0)
			print line
	}' "$page" >"$out/page"
cp "$out/page" "$page"
say "look at Documentation/moving.md"
