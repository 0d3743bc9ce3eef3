#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# readme.sh - run the programs of README.md and of the manual pages: do they print what is said?

. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")" || exit 1
need_device

# prints NAME EXPECTED ACTUAL - a test that passes if both are the same
prints() {
	printf '%s\n' "expected: $2" "got:      $3" >"$tmp/out"
	check "$1" test "$2" = "$3"
}

# greetings COMMAND... - what it prints, without times. Rounds that the machine has slept through
# are one greeting: then once more.
greetings() {
	for _ in 1 2 3 4 5; do
		said=$("$@" | sed 's/ ([0-9]* ns late)$//' | tr '\n' ';')
		case $said in
		*wheel*wheel*wheel*)	break ;;
		esac
	done
	echo "$said"
}

prints readme.library "hello, wheel;hello, wheel;hello, wheel;" "$(greetings ./library)"
prints readme.bare "$(tr '\n' ';' <bare.printed)" "$(./bare | tr '\n' ';')"

# Each page of section 3 has a program.
for printed in *twheel*.printed; do
	page=${printed%.printed}
	[ -s "$printed" ] || echo "# $page does not say what its program prints"
	prints "readme.$page" "$(tr '\n' ';' <"$printed")" "$("./$page" | tr '\n' ';')"
done

# Without a device the library has a wheel in the process; the other one says so, and fails. A
# mount namespace allows to hide /dev.
without_device() {
	unshare -m sh -c "mount -t tmpfs none /dev && ./$1 2>&1; echo \$?" |
		sed 's/ ([0-9]* ns late)$//' | tr '\n' ';'
}
if unshare -m true 2>/dev/null; then
	prints "readme.library without a device" "hello, wheel;hello, wheel;hello, wheel;0;" \
		"$(greetings without_device library)"
	prints "readme.bare without a device" "/dev/twheel: No such file or directory;1;" \
		"$(without_device bare)"
else
	skip "readme without a device" "takes root and unshare"
fi
finish
