# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # variables are for those who include it
#
# common.sh - what the scripts of the virtual machine harness share

set -euo pipefail

vm=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=${vm%/selftests/vm}
build=$top/build
# What guests are, in Debian's words. What is built for another kind has a folder of its own.
arch=amd64
case ${KERNEL-} in
arm64)	arch=arm64 build+=/arm64 ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}/twheel

# For what keeps a slow guest busy all the time: its host may stand still for a while.
patient='watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 workqueue.watchdog_thresh=120'

# Progress and complaints go to stderr: stdout belongs to whatever is run.
say() {
	echo "${0##*/}: $*" >&2
}

die() {
	say "$@"
	exit 1
}

# What the head of the script says of its usage, and the end
usage() {
	sed -n 's/^#\( \|$\)//p' "$0" | sed -n '/^usage/,/^$/p' >&2
	exit 2
}

# quiet LOG COMMAND... - show what a command says, the end of it, only when it fails
quiet() {
	local log=$1
	shift
	mkdir -p "${log%/*}"
	# A command may be a function, and one that ends the script.
	("$@") >"$log" 2>&1 </dev/null || {
		[ ! -t 2 ] || echo >&2
		tail -n 20 "$log" | sed 's/^/  | /' >&2
		case $log in
		"$build"/*) die "failed, and the whole of it is in $log: $*" ;;
		*)	die "failed: $*" ;;
		esac
	}
}

# step WHAT LOG COMMAND... - as quiet, and a line that says what is done and how long it took
step() {
	local what=$1 begun=$SECONDS
	shift
	[ ! -t 2 ] || printf '%s: %s ...' "${0##*/}" "$what" >&2
	quiet "$@"
	[ ! -t 2 ] || printf '\r' >&2
	say "$what: $((SECONDS - begun)) s"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "neither root nor sudo: cannot run: $*"
	fi
}
