#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rpm.sh - build the RPM packages of the last commit in build/rpm, and have rpmlint look at them
#
# usage: rpm.sh
#
# What is required for the build is not looked up: on Debian there is no database of RPMs.
# Nor are there packages of debug information, which takes tools that Debian has elsewhere.

. "$(dirname "$0")/common.sh"

unset MAKEFLAGS MFLAGS
out=$build/rpm
tarball=$("$top/packaging/dist.sh" | sed -n 1p)

# Warnings count, too.
clean_lint() {
	rpmlint --config "$top/packaging/rpmlint.toml" "$top/packaging/twheel.spec" "$out/RPMS" |
		tee /dev/stderr | grep ' 0 errors, 0 warnings'
}

rm -rf "$out"
mkdir -p "$out"
step "building the packages" "$out/log" \
	rpmbuild --nodeps --define "_topdir $out" --define "debug_package %{nil}" -ta "$tarball"
step "looking at them with rpmlint" "$out/lint" \
	clean_lint
ls "$out"/RPMS/*/*.rpm
