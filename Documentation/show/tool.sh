#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# tool.sh - make what Documentation/tool.md shows anew, in a guest: `make show`
#
# Replaces what is between <!-- shown: NAME --> and <!-- shown: end --> by what
# tool-guest.sh prints for NAME, and Documentation/plots/late.svg by its drawing.

. "$(dirname "$0")/../../selftests/vm/common.sh"

page=$top/Documentation/tool.md
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

unset MAKEFLAGS MFLAGS
"$vm/setup.sh" build guest
"$vm/build.sh"
"$vm/run.sh" -t 290 -c 2 -m 2048 -d "$top/Documentation/show" -- \
	"cd /tmp && sh /twheel/show/tool-guest.sh" >"$out/shown"

awk -v to="$out" '/^=== / { name = $2; next } name { print >(to "/part." name) }' "$out/shown"
[ "$(tail -n 1 "$out/part.drawing")" = "</svg>" ] || die "the guest did not come to the end"

awk -v from="$out" '
	/^<!-- shown: end -->/ { on = 0 }
	!on
	/^<!-- shown: / && $3 != "end" {
		on = 1
		print "```"
		while ((getline line <(from "/part." $3)) > 0)
			print line
		print "```"
	}' "$page" >"$out/page"
cp "$out/page" "$page"
cp "$out/part.drawing" "$top/Documentation/plots/late.svg"
say "look at Documentation/tool.md and Documentation/plots/late.svg"
