#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ring.sh - does the server that lives in io_uring hang up on those that are silent, and never early?

. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")" || exit
[ -e /dev/twheel ] || skip_all "no /dev/twheel: is the module loaded?"
[ -e ring-server ] || skip_all "no liburing (Debian: liburing-dev)"
. ../moving/serve.sh

serve 1000 lib/ld.so --library-path lib ./ring-server
# Each talks fifteen times, for longer than it may be silent, and then no more.
run ../moving/client "$port" 50 15 100
sed 's/^/# /' "$tmp/out"
check "hangs up on all that are silent" test "$(value left)" = 0
check "never early" test "$(value shortest)" -ge 1000000
check "tells of each" test "$(grep -c '^a client was silent$' "$tmp/server")" -ge 50
# Unless the machine stood still for so long
[ "$(value pause)" -ge 1000000 ] || check "on none that talks" test "$(value lost)" = 0
check "is still there" kill -0 "$server"
stop

# Clients wait for others to be hung up on.
serve 24 lib/ld.so --library-path lib ./ring-server
run ../moving/client "$port" 50 2 100
sed 's/^/# /' "$tmp/out"
check "accepts clients again when descriptors are free" test "$(value left)" = 0
check "and is still there" kill -0 "$server"
finish
