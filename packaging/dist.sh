#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dist.sh - make tarballs of a commit in build/dist, and print their names
#
# usage: dist.sh [REVISION]
#
#	twheel-VERSION.tar.gz			all that git has
#	twheel-amalgamation-VERSION.tar.gz	the library as one file, made of that
#
# The same commit gives the same bytes on each machine: the times are those of the commit, and
# gzip stores neither a name nor a time.

. "$(dirname "$0")/common.sh"

revision=${1:-HEAD}
git -C "$top" rev-parse -q --verify "$revision^{commit}" >/dev/null ||
	die "$revision is no commit here"
name=twheel-$(git -C "$top" show "$revision:VERSION")

version=${name#twheel-}
one=twheel-amalgamation-$version
tree=$(mktemp -d)
trap 'rm -rf "$tree" "$build/dist"/*.$$' EXIT

# keep NAME COMMAND... - make NAME.tar.gz of the tarball that a command prints, unless it fails.
# Somebody may be reading one that was made before.
keep() {
	local name=$1
	shift
	"$@" | gzip -n9 >"$build/dist/$name.$$"
	mv "$build/dist/$name.$$" "$build/dist/$name.tar.gz"
	echo "$build/dist/$name.tar.gz"
}

mkdir -p "$build/dist"
keep "$name" git -C "$top" -c tar.umask=0022 archive --format=tar --prefix="$name/" "$revision"

tar -xzf "$build/dist/$name.tar.gz" -C "$tree"
# Older commits cannot make it.
[ -e "$tree/$name/packaging/amalgamation.pl" ] || exit 0
"$tree/$name/packaging/amalgamation.pl" "$tree/$one"
cp -r "$tree/$name/LICENSES" "$tree/$one"
rm "$tree/$one/LICENSES/Linux-syscall-note"
keep "$one" tar -c -C "$tree" --format=ustar --sort=name --mode=u=rwX,go=rX --owner=0 --group=0 \
	--numeric-owner --mtime="$(git -C "$top" log -1 --format=@%ct "$revision")" "$one"
