#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# readme.sh - run the programs of README.md and look at what they print

. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")" || exit 1
need_device

# prints NAME EXPECTED ACTUAL - a test that passes if both are the same
prints() {
	printf '%s\n' "expected: $2" "got:      $3" >"$tmp/out"
	check "$1" test "$2" = "$3"
}

prints readme.library "hello, wheel;hello, wheel;hello, wheel;" \
	"$(./library | sed 's/ ([0-9]* ns late)$//' | tr '\n' ';')"
prints readme.bare "timer 2 expired;timer 1 expired;" "$(./bare | tr '\n' ';')"

# Without a device they say so, and fail. A mount namespace allows to hide /dev.
for program in library bare; do
	if said=$(unshare -m sh -c "mount -t tmpfs none /dev && ./$program 2>&1; echo \$?"); then
		prints "readme.$program without a device" \
			"/dev/twheel: No such file or directory 1 " "$(echo "$said" | tr '\n' ' ')"
	else
		skip "readme.$program without a device" "takes root and unshare"
	fi
done
finish
