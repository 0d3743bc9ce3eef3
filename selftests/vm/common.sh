# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # variables are for those who include it
#
# common.sh - what the scripts of the virtual machine harness share

# shellcheck source=packaging/common.sh
. "${BASH_SOURCE[0]%/*}/../../packaging/common.sh"

vm=$top/selftests/vm
# What guests are, in Debian's words. What is built for another kind has a folder of its own.
arch=amd64
case ${KERNEL-} in
arm64)	arch=arm64 build+=/arm64 ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}/twheel

# For what keeps a slow guest busy all the time: its host may stand still for a while.
patient='watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 workqueue.watchdog_thresh=120'

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "neither root nor sudo: cannot run: $*"
	fi
}
