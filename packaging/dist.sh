#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dist.sh - make build/dist/twheel-VERSION.tar.gz of a commit, and print its name
#
# usage: dist.sh [REVISION]
#
# The same commit gives the same bytes on each machine: git takes the times from the commit,
# and gzip stores neither a name nor a time.

. "$(dirname "$0")/common.sh"

revision=${1:-HEAD}
git -C "$top" rev-parse -q --verify "$revision^{commit}" >/dev/null ||
	die "$revision is no commit here"
name=twheel-$(git -C "$top" show "$revision:VERSION")

mkdir -p "$build/dist"
git -C "$top" -c tar.umask=0022 archive --format=tar --prefix="$name/" "$revision" |
	gzip -n9 >"$build/dist/$name.$$"
# Somebody may be reading one that was made before.
mv "$build/dist/$name.$$" "$build/dist/$name.tar.gz"
echo "$build/dist/$name.tar.gz"
