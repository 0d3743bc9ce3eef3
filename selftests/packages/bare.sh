#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bare.sh - do the README's two commands work on a Debian that has nothing? (KTAP)
#
# usage: [RELEASE=bookworm|trixie] [REVISION=commit] bare.sh
#
# In a minimal root of that release, the one that is not this machine's own by default,
# each command is run in a fresh clone just as the README prints it: as root, without
# even make; and, in another root at the same time, as an ordinary user with sudo. The
# demo has fewer drivers than usual, and the check one suite of each set that setup.sh
# installs. What they say is in build/log/bare.WHO.WHAT.
#
# root.sh makes the roots. It takes what setup.sh installs as bare. To build a debug kernel takes
# most of the time: so those that root has built are kept in the cache, for the next root, until
# something changes that builds or installs for building them.

. "$(dirname "$0")/../vm/common.sh"
. "$(dirname "$0")/../vm/apt.sh"
. "$(dirname "$0")/root.sh"

release=$(other_release)
revision=$(git -C "$top" rev-parse "${REVISION:-HEAD}")

# What the environment says, so that the command need not
small() {
	echo 'export DRIVERS=20000 FUZZ_MINUTES=1 TERM=dumb'
	case $1 in
	root)	echo "export SUITES=fuzz-long" ;;
	user)	echo "export SUITES='install lib'" ;;
	esac
}

# The README's commands, or those for where there is no make.
commands() {
	# shellcheck disable=SC2016 # these are quotes of the README's
	case $1 in
	root)	awk '/not even make/, /^$/' "$clone/README.md" | grep -o '`[^`]*`' | tr -d '\140' ;;
	user)	sed -n 's/^    \(make [a-z]*\)  *#.*/\1/p' "$clone/README.md" ;;
	esac
}

# The debug kernels that a root has built, by what has built them
kept_kernels() {
	cat "$clone"/selftests/vm/{kernel,common}.sh "$clone"/selftests/vm/config/* |
		sha256sum | sed "s#\(.\{12\}\).*#$cache/bare/$release.kernels.\1.tar#"
}

keep_kernels() {
	local kept
	kept=$(kept_kernels)
	[ ! -e "$kept" ] || return 0
	# shellcheck disable=SC2016 # these are the inner shell's
	as_root bash -euc 'cd "$1"; tar -c -f "$2" kernel/*kasan*' - \
		"$roots/root/root/.cache/twheel" "$roots/kernels.tar"
	rm -f "$cache/bare/$release.kernels."*
	mv "$roots/kernels.tar" "$kept"
}

use_kernels() {
	local kept folder=$roots/root/root/.cache/twheel
	kept=$(kept_kernels)
	[ -e "$kept" ] || return 0
	as_root mkdir -p "$folder"
	as_root tar -x -f "$kept" -C "$folder"
}

# A root for one of the two, with the clone in it.
prepare() {
	local who=$1 root=$roots/$1 home=root

	unpack_root "$release" "$root"
	if [ "$who" = user ]; then
		home=home/user
		as_root chroot "$root" useradd -m -s /bin/bash user
		# Whoever has cloned something has these.
		in_root "$root" root \
			'apt-get -q update && apt-get -qy --no-install-recommends install make sudo'
		echo 'user ALL=(ALL) NOPASSWD: ALL' | as_root tee "$root/etc/sudoers.d/user"
	fi
	as_root cp -r "$clone" "$root/$home/twheel"
	if [ "$who" = root ]; then
		use_kernels
		return
	fi
	as_root chroot "$root" chown -R user: /home/user/twheel
}

# Each command of one of the two: leaves in $tmp WHO.NUMBER.what, which says how long it
# took, and WHO.NUMBER.ok, if it was right.
run_commands() {
	local who=$1 n=0 command log begun status
	mapfile -t all < <(commands "$who")

	for command in "${all[@]}"; do
		n=$((n + 1)) begun=$SECONDS status=0
		log=$build/log/bare.$who.$n
		in_root "$roots/$who" "$who" "$(small "$who"); cd ~/twheel && $command" >"$log" 2>&1 || status=$?
		echo "$release, $who: $command: $((SECONDS - begun)) s" >"$tmp/$who.$n.what"
		case $n in
		1)	grep -q '^== all as it should be' "$log" ;;
		2)	grep -E '^[1-9][0-9]* passed, 0 failed, [0-9]+ skipped$' "$log" |
				tail -n 1 >>"$tmp/$who.$n.what" ;;
		esac && [ "$status" = 0 ] && touch "$tmp/$who.$n.ok"
	done
}

. "$top/selftests/tap.sh"

cleanup() {
	as_root rm -rf "$roots"
}

mkdir -p "$cache/bare" "$build/log"
roots=$(mktemp -d "$cache/bare/tmp.XXXXXX")
clone=$roots/clone
git clone -q --no-hardlinks "$top" "$clone"
git -C "$clone" checkout -q "$revision"

for who in root user; do
	quiet "$build/log/bare.$who" prepare "$who"
	run_commands "$who" &
done
wait

for who in root user; do
	for number in 1 2; do
		what=$(paste -sd' ' "$tmp/$who.$number.what" 2>/dev/null) ||
			what="$release, $who: the README has no command $number"
		status=0
		[ -e "$tmp/$who.$number.ok" ] || status=1
		result $status "$what" "$build/log/bare.$who.$number"
	done
done
[ ! -e "$tmp/root.2.ok" ] || keep_kernels
finish
