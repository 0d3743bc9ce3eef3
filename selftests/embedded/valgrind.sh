#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# valgrind.sh - does valgrind tell of a timer that is used after it was freed? (TAP)
#
# The library knows valgrind's requests where it was built with valgrind's header.

# shellcheck source=../tap.sh
. "$(dirname "$0")/../tap.sh"

top=$(realpath "$(dirname "$0")/../..")
user=$top/userspace

command -v valgrind >/dev/null || skip_all "there is no valgrind"
echo '#include <valgrind/memcheck.h>' | gcc -E - >/dev/null 2>&1 ||
	skip_all "there is no valgrind/memcheck.h"

cat >"$tmp/use.c" <<'EOF'
#include <twheel.h>

static void ignore(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
}

int main(int argc, char **argv)
{
	struct twheel_timer *timer;
	struct twheel *tw;

	if (twheel_open(&tw, NULL, 0, NULL) || twheel_timer_new(&timer, tw, ignore, NULL))
		return 1;
	if (twheel_timer_start(timer, 1000000000, 0))
		return 1;
	twheel_timer_free(timer);
	/* Another one may be in the same place. */
	if (twheel_timer_new(&timer, tw, ignore, NULL) || twheel_timer_start(timer, 1000000000, 0))
		return 1;
	if (argc > 1) {
		twheel_timer_free(timer);
		twheel_timer_start(timer, 1000000000, 0);
	}
	twheel_close(tw);
	return 0;
}
EOF

builds() {
	make -s -C "$user" O="$tmp/build" "$tmp/build/lib/libtwheel.a" >"$tmp/out" 2>&1 &&
		gcc -g -I"$user/include" -I"$top/uapi" "$tmp/use.c" "$tmp/build/lib/libtwheel.a" \
			-pthread -o "$tmp/use" >"$tmp/out" 2>&1
}

# checked STATUS WHAT [ARGUMENT] - it ends so under valgrind, which says WHAT
checked() {
	local status=0 wanted=$1 what=$2
	shift 2
	TWHEEL_BACKEND=embedded timeout 120 valgrind --error-exitcode=9 --leak-check=full \
		"$tmp/use" "$@" >"$tmp/out" 2>&1 || status=$?
	[ "$status" = "$wanted" ] && grep -q "$what" "$tmp/out"
}

check "a program with the library builds" builds
check "one that is right has no errors and no leaks" checked 0 "ERROR SUMMARY: 0 errors"
check "a timer that was freed and is used" checked 9 "Invalid read" freed
finish
