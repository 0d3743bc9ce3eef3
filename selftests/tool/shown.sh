#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# shown.sh - has what the twheel tool prints still the form that Documentation/tool.md shows?
#
# It compares words, not figures: after a change of the tool's output run `make show`.

. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")" || exit 1
need_device
[ -e /vm/config ] || skip_all "takes a guest: there are other programs elsewhere"

# shape - the form of some output: no figures, no bars, and of equal lines one
shape() {
	sed -E -e 's/ p50/ median/g' -e 's/ p90/ ninth/g' -e 's/ p99/ last/g' \
		-e 's/[^ -~]//g' -e 's/[^ ]*[0-9][^ ]*/N/g' -e 's/-{10,}//g' -e 's/ +/ /g' \
		-e 's/ [-:#=.]+( |$)/ N\1/g' -e 's/ [-:#=.]+( |$)/ N\1/g' \
		-e 's/N (ns|us|ms|s)( |$)/N\2/g' -e 's/( N)+/ N/g' -e 's/ $//' |
		awk '!seen[$0]++'
}

# subjects - what the doctor has looked at
subjects() {
	sed -nE 's/^(ok|note|WRONG) +([a-z]+) +[^ ].*/\2/p' | sort -u
}

# of NAME FILE - a part of what tool-guest.sh has printed
of() {
	awk -v name="$1" '/^=== / { on = $2 == name; next } on' "$2"
}

# on_page NAME - a part of the page, without its fences
on_page() {
	awk -v name="$1" '/^<!-- shown: / { on = $3 == name; next } on && !/^```/ && NF' tool.md
}

sh ./tool-guest.sh >"$tmp/shown" 2>"$tmp/err"
check "the tool can be shown" test $? = 0 -a ! -s "$tmp/err"

for part in ps stat top; do
	on_page $part | shape >"$tmp/page"
	of $part "$tmp/shown" | grep . | shape >"$tmp/now"
	# Of the CPUs that have counted something, there may be more or fewer.
	diff "$tmp/page" "$tmp/now" >"$tmp/out"
	check "twheel $part is as shown" test -s "$tmp/page" -a ! -s "$tmp/out"
done

# Which findings there are depends on the kernel: what is shown there, the doctor tells of.
for part in doctor container; do
	on_page $part | subjects >"$tmp/page"
	of $part "$tmp/shown" | subjects >"$tmp/now"
	while read -r subject; do
		grep -qx "$subject" "$tmp/now" || echo "$subject"
	done <"$tmp/page" >"$tmp/out"
	check "twheel doctor is as shown ($part)" test -s "$tmp/page" -a ! -s "$tmp/out"
done
# Kernels number devices in different ways.
on_page container | grep '[-]> ' | shape >"$tmp/page"
of container "$tmp/shown" | grep '[-]> ' | shape | diff "$tmp/page" - >"$tmp/out"
check "and so is its advice" test -s "$tmp/page" -a ! -s "$tmp/out"

of drawing "$tmp/shown" >"$tmp/out"
check "top keeps a drawing" test "$(head -c 5 "$tmp/out")" = "<svg " -a "$(tail -n 1 "$tmp/out")" = "</svg>"
finish
