#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deb.sh - build the Debian packages of the working tree in build/deb, and look at them
# with lintian
#
# usage: deb.sh
#
# What git does not know is left out; without git everything but build/ goes in.

. "$(dirname "$0")/common.sh"

unset MAKEFLAGS MFLAGS
version=$(cat "$top/VERSION")
out=$build/deb
tree=$out/twheel-$version

# list - the files of the working tree, each ended by a zero
list() {
	cd "$top"
	if [ -e .git ]; then
		# Not those that were deleted.
		git ls-files -z | while IFS= read -rd '' file; do
			[ ! -e "$file" ] || printf '%s\0' "$file"
		done
	else
		find . -path ./build -prune -o ! -type d -print0
	fi
}

rm -rf "$out"
mkdir -p "$tree"
list | tar -c -C "$top" --null -T - | tar -x -C "$tree"

cd "$tree"
step "building the packages" "$out/log" dpkg-buildpackage -us -uc
cd "$out"
rm -rf "$tree"
# Hints are not failures: lintian of each release has others, of policy's newest version, and
# of overrides that only another release needs.
step "looking at them with lintian" "$out/lintian" \
	lintian --fail-on error,warning --allow-root --tag-display-limit 0 "$out"/*.changes
ls "$out"/*.deb
