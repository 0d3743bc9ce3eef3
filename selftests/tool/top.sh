#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# top.sh - does twheel top draw the histogram that the counters tell of?
#
# The counters are made up in a folder of files, so this needs no device.

. "$(dirname "$0")/programs.sh"

root=$tmp/root
mkdir -p "$root/sys/kernel/debug/twheel" "$root/sys/class/misc/twheel"

# line NAME BUCKET=COUNT... - a line of the file of histograms, for CPU 0
line() {
	echo "$@" | awk '{ printf "%s 0", $1
		for (i = 2; i <= NF; i++) { split($i, part, "="); count[part[1]] = part[2] }
		for (i = 0; i < 64; i++) printf " %d", count[i]
		print "" }'
}

# counters ARMED BUCKET=COUNT... - have the machine count that
counters() {
	armed=$1
	shift
	folder=$root/sys/kernel/debug/twheel
	{ echo "cpu armed rearmed cancelled expired read cascaded migrated interrupts"
	  echo "0 $armed 0 0 $armed $armed 0 0 $armed"; } >"$folder/new"
	mv "$folder/new" "$folder/counters"
	{ line lateness "$@"; line expired; line read; } >"$folder/new"
	mv "$folder/new" "$folder/histograms"
}

# top_between OPTION... - run twheel top, and let timers expire meanwhile: 200 late by 512 us
# to 1 ms, 100 by 1 to 2 ms, 1 by more than a minute, 99 by next to nothing
top_between() {
	counters 1000 20=700 30=50
	: >"$tmp/out"
	TWHEEL_TEST_ROOT=$root twheel top --every 100ms --count 1000 "$@" >"$tmp/out" 2>&1 &
	pid=$!
	await said '^all '
	counters 1400 20=900 21=100 30=50 37=1 2=99
	await said '^all .* 137s '
	kill -TERM $pid
	wait $pid
	status=$?
}

refuses 2 "requires an argument" top --svg
refuses 1 'No such file\|no process shows counters' top --count 1 --svg "$tmp/no/such/folder"

counters 1000 20=700
TWHEEL_TEST_ROOT=$root twheel top --every 50ms --count 3 >"$tmp/out" 2>&1
check "so many periods are shown" test $? = 0 -a "$(grep -c '^all ' "$tmp/out")" = 3
check "and one histogram of them, which is empty" said '^late by at most, of 0 timers'

LC_ALL=C.UTF-8 top_between --svg "$tmp/late.svg"
check "it can be ended: exit status 0" test "$status" = 0
check "with a histogram of all periods" said '^late by at most, of 400 timers that expired since the start:$'
check "once" test "$(grep -c '^late by' "$tmp/out")" = 1
sed '1,/^late by/d' "$tmp/out" >"$tmp/bars"
check "its scale" test "$(sed -n '1s/^ *\([0-9]*%\).*/\1/p; 5s/^ *\([0-9]*%\).*/\1/p; 9s/^ *\([0-9]*%\).*/\1/p' "$tmp/bars" | tr '\n' ' ')" = "50% 25% 0% "
check "its times" test "$(tail -n 1 "$tmp/bars" | tr -s ' ')" = " 1us 4.1us 16us 66us 262us 1ms 4.2ms 17ms 67ms 268ms 1.1s 4.3s"
block=$(printf '\342\226\210')
check "the highest bar is as high as the scale" test "$(head -n 8 "$tmp/bars" | grep -c "$block")" = 8
check "half of that is half as high" test "$(head -n 8 "$tmp/bars" | grep -c "$block$block $block$block")" = 4
check "and the last one can be seen" test "$(sed -n 8p "$tmp/bars" | tr -s ' ' | cut -d' ' -f 5-)" = "$(printf '\342\226\201\342\226\201')"
check "no line ends with blanks" test "$(grep -c ' $' "$tmp/out")" = 0
check "no line is too long" test "$(awk '{ gsub(/[^ -~]+/, "##") } length > 80' "$tmp/out" | wc -l)" = 0

# As nohup runs it
counters 1000 20=700
: >"$tmp/out"
(
	trap '' HUP
	TWHEEL_TEST_ROOT=$root exec twheel top --every 200ms --count 5
) >"$tmp/out" 2>&1 &
pid=$!
await said '^all '
kill -HUP $pid
wait $pid
check "a hang-up that is ignored does not end it" test "$(grep -c '^all ' "$tmp/out")" = 5

LC_ALL=C top_between
sed '1,/^late by/d' "$tmp/out" >"$tmp/bars"
check "in ASCII where the locale is not UTF-8" \
	test "$(sed -n 1p "$tmp/bars" | tr -s ' ')$(sed -n 5p "$tmp/bars" | tr -s ' ')$(sed -n 8p "$tmp/bars" | tr -s ' ')" = \
	" 50% ## 25% ## ## ## ## ## ## .."
check "and nothing else" test "$(tr -d '\n -~' <"$tmp/out" | wc -c)" = 0

cp "$tmp/late.svg" "$tmp/out"
check "the drawing" said '^<svg xmlns="http://www.w3.org/2000/svg" '
check "ends" test "$(tail -n 1 "$tmp/out")" = "</svg>"
check "it has all tags in pairs" test "$(grep -o '<text' "$tmp/out" | wc -l)" = "$(grep -o '</text>' "$tmp/out" | wc -l)"
check "it says how late" said '>400 timers in [0-9.]* m*s, until 20.*; at most: p50 1.05ms, p99 2.1ms, max 137s<'
check "bars" test "$(grep -c '^<rect .*<title>up to' "$tmp/out")" = 4
check "of 50 and 25 percent" \
	test "$(sed -n 's/^<rect .*height="\([0-9.]*\)" .*up to [^:]*: \([0-9]*\) (\([0-9.]*\)%).*/\1 \2 \3/p' "$tmp/out" | tr '\n' ';')" = \
	"128.7 99 24.8;260.0 200 50;130.0 100 25;1.5 1 0.25;"
if command -v xmllint >/dev/null; then
	check "it is XML" xmllint --noout "$tmp/late.svg"
fi

TWHEEL_TEST_ROOT=$root twheel top --every 100ms --count 1 --svg /dev/full >"$tmp/out" 2>&1
check "a drawing that cannot be written is an error" test $? = 1
check "and said" said '^twheel: top: /dev/full: No space left'

finish
