# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # common.sh and apt.sh are included before
#
# root.sh - minimal roots of a release of Debian, and commands in them
#
# A root is made by debootstrap, once for a release, with the mirror that this machine's apt
# has. It is kept as a tar file in the cache.

# The release that is not this machine's own, unless RELEASE says which
other_release() {
	case $codename in
	trixie)	echo "${RELEASE:-bookworm}" ;;
	*)	echo "${RELEASE:-trixie}" ;;
	esac
}

make_root() {
	local release=$1 new=$2 site

	site=$(mirror)
	[ -n "$site" ] || die "apt's configuration names no Debian mirror"
	as_root debootstrap --variant=minbase "$release" "$new/root" "$site"
	# What is this machine's: where the mirror is, and how to get there.
	apt-config dump | grep '^Acquire::[a-z]*::Proxy' |
		as_root tee "$new/root/etc/apt/apt.conf.d/99host" || :
	as_root tar -c -f "$new/root.tar" -C "$new/root" .
	as_root rm -rf "$new/root"
	mv "$new/root.tar" "$cache/bare/$release.tar"
}

# unpack_root RELEASE FOLDER - a root in a folder that is made for it
unpack_root() {
	local new lock

	mkdir -p "$cache/bare"
	# Two suites may want it at once.
	exec {lock}>"$cache/bare/$1.lock"
	flock "$lock"
	if [ ! -e "$cache/bare/$1.tar" ]; then
		new=$(mktemp -d "$cache/bare/tmp.XXXXXX")
		step "making a minimal root of $1" "$build/log/bare.root" make_root "$1" "$new"
		rm -rf "$new"
	fi
	exec {lock}>&-
	mkdir "$2"
	as_root tar -x -f "$cache/bare/$1.tar" -C "$2"
	# It is thrown away soon, so it need not survive a crash.
	echo force-unsafe-io | as_root tee "$2/etc/dpkg/dpkg.cfg.d/root" >/dev/null
}

# in_root FOLDER USER COMMAND - mounts and processes end with the command
in_root() {
	# shellcheck disable=SC2016 # these are the inner shell's
	as_root unshare --mount --propagation private bash -euc '
		for dir in proc sys dev; do
			mount --rbind "/$dir" "$1/$dir"
		done
		cp /etc/resolv.conf /etc/hosts "$1/etc/"
		case $2 in
		root)	exec chroot "$1" env -i HOME=/root PATH="$PATH" bash -c "$3" ;;
		*)	exec chroot "$1" su - "$2" -c "$3" ;;
		esac' - "$@" </dev/null
}
