# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # variables are for those who include it
#
# common.sh - what the scripts that make packages and the harness share

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build

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
