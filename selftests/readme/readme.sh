#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# readme.sh - run the programs of README.md and look at what they print

cd "$(dirname "$0")" || exit 1
status=0

if [ ! -e /dev/twheel ]; then
	echo "TAP version 13"
	echo "1..0 # SKIP no /dev/twheel: is the module loaded?"
	exit 4
fi

# report NUMBER NAME EXPECTED ACTUAL
report() {
	if [ "$3" = "$4" ]; then
		echo "ok $1 $2"
	else
		echo "# expected: $3"
		echo "# got:      $4"
		echo "not ok $1 $2"
		status=1
	fi
}

echo "TAP version 13"
echo "1..4"
report 1 readme.library "hello, wheel;hello, wheel;hello, wheel;" \
	"$(./library | sed 's/ ([0-9]* ns late)$//' | tr '\n' ';')"
report 2 readme.bare "timer 2 expired;timer 1 expired;" "$(./bare | tr '\n' ';')"

# Without a device they say so, and fail. In a mount namespace /dev can be taken away.
n=2
for program in library bare; do
	n=$((n + 1))
	if said=$(unshare -m sh -c "mount -t tmpfs none /dev && ./$program 2>&1; echo \$?"); then
		report $n "readme.$program without a device" \
			"/dev/twheel: No such file or directory 1 " "$(echo "$said" | tr '\n' ' ')"
	else
		echo "ok $n readme.$program without a device # SKIP takes root and unshare"
	fi
done
exit $status
