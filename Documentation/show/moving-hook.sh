#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# moving-hook.sh - print how a server stands: what it is, when this is, the time of CPUs that it has
# taken in ns, its system calls, its descriptors
#
# usage: [SERVER=pid] [LABEL=name] [CALLS=histogram] moving-hook.sh WHEN

calls=-
[ -z "$CALLS" ] || calls=$(sed -n 's/^ *Hits: //p' "$CALLS")
echo "figure $LABEL $1 $(cut -d ' ' -f 1 "/proc/$SERVER/schedstat") ${calls:-0}" \
	"$(find "/proc/$SERVER/fd" -mindepth 1 | wc -l)"
