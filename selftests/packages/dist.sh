#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dist.sh - is a release what it should be? Versions, the tarball, its signature, RPM packages
# (TAP)
#
# Runs on this machine, and takes what setup.sh installs as dist. The commands that
# Documentation/releasing.md has for a release are run in a clone, with a key made for it.

. "$(dirname "$0")/../vm/common.sh"
version=$(cat "$top/VERSION")
. "$top/selftests/tap.sh"

# equal NAME EXPECTED COMMAND...
equal() {
	local name=$1 expected=$2 got
	shift 2
	got=$("$@") || :
	printf '%s\n' "expected: $expected" "got: $got" >"$tmp/out"
	check "$name" test "$got" = "$expected"
}

# Manual pages have the version without the patch level; each, once.
man_versions() {
	sed -n 's/^\.TH .* "twheel \([0-9.]*\)" .*/\1/p' "$top"/userspace/man/*.[1-8] | sort -u
}

nodes() {
	sed -n 's/^\(LIBTWHEEL_[0-9.]*\) {$/\1/p' "$top/userspace/lib/libtwheel.map"
}

# The symbols file names each node, and as the version that brought it that of its name.
symbols_expected() {
	nodes | sed 's/^LIBTWHEEL_\(.*\)$/ (symver)LIBTWHEEL_\1 \1.0/'
}

# No node is of a later version than this one.
last_node() {
	printf '%s\n' "$(nodes | sed 's/LIBTWHEEL_//')" "${version%.*}" | sort -V | tail -n 1
}

# Each parameter has a line in the example for modprobe.d.
parameters() {
	sed -n 's/^module_param[a-z_]*(\([a-z_]*\),.*/\1/p' "$top/module/linux/main.c" | sort
}

# built_for KERNEL... - which of these DKMS would build the module for
built_for() {
	local kernel PACKAGE_NAME PACKAGE_VERSION BUILD_EXCLUSIVE_KERNEL=''
	# shellcheck disable=SC2034,SC2154 # as DKMS reads it
	local kernel_source_dir='' dkms_tree=''
	# shellcheck source=../../dkms.conf
	. "$top/dkms.conf"
	for kernel; do
		[[ ! $kernel =~ $BUILD_EXCLUSIVE_KERNEL ]] || echo "$kernel"
	done
}

clone() {
	git clone -q --no-hardlinks "$top" "$tmp/$1"
}

# Is it the same in two clones, whatever the time, the folder and the umask?
tarballs() {
	clone one
	sleep 1
	(umask 077 && clone two)
	(cd "$tmp/one" && packaging/dist.sh)
	(cd "$tmp/two" && umask 077 && TZ=Asia/Tokyo packaging/dist.sh)
	cmp "$tmp"/{one,two}/build/dist/twheel-"$version".tar.gz &&
		cmp "$tmp"/{one,two}/build/dist/twheel-amalgamation-"$version".tar.gz
}

# A commit of which git lacks a file
no_half() {
	clone half
	cd "$tmp/half" || return
	git update-index --add --cacheinfo "100644,$(printf %040d 1),zzz"
	! packaging/dist.sh "$(git -c user.name=T -c user.email=t@example.org \
		commit-tree -m half "$(git write-tree --missing-ok)")" && [ -z "$(ls build/dist)" ]
}

# With all that git knows, it is what a user builds from.
complete() {
	tar -t -f "$tmp/one/build/dist/twheel-$version.tar.gz" |
		sed "s#^twheel-$version/##; /\/\$/d; /^\$/d" | sort >"$tmp/packed"
	git -C "$tmp/one" ls-files | sort | diff - "$tmp/packed"
}

builds() {
	mkdir "$tmp/unpacked"
	tar -x -f "$tmp/one/build/dist/twheel-$version.tar.gz" -C "$tmp/unpacked"
	make -s -C "$tmp/unpacked/twheel-$version" userspace
	"$tmp/unpacked/twheel-$version/build/userspace/bin/twheel" --version | grep -F "$version"
}

# The library as one file, by the command in its head
one_file() {
	mkdir "$tmp/amalgamation"
	tar -x -f "$tmp/one/build/dist/twheel-amalgamation-$version.tar.gz" -C "$tmp/amalgamation"
	cd "$tmp/amalgamation/twheel-amalgamation-$version" || return
	sed -n 's/^ \*\t\(cc .*\)/\1/p' twheel.c >"$tmp/commands"
	[ "$(wc -l <"$tmp/commands")" = 1 ] && sh -eux "$tmp/commands" && [ -s twheel.o ] &&
		[ -s LICENSES/MIT ]
}

# The commands of a release, as the page has them, with a key that is thrown away
releases() {
	local -x GNUPGHOME=$tmp/gnupg
	mkdir -m 700 "$GNUPGHOME"
	gpg -q --batch --passphrase '' --quick-generate-key 'Release <release@example.org>' rsa2048 sign never
	cd "$tmp/two" || return
	git config user.name Release
	git config user.email release@example.org
	sed -n 's/^  *\$ \(\(git\|make\|gpg\|sha256sum\) .*\)/\1/p' Documentation/releasing.md \
		>"$tmp/commands"
	[ "$(wc -l <"$tmp/commands")" = 7 ] && bash -eux "$tmp/commands" &&
		cmp build/dist/twheel-"$version".tar.gz "$tmp/one/build/dist/twheel-$version.tar.gz"
}

equal "debian/changelog has the version of VERSION" "$version" \
	sed -n '1s/^twheel (\(.*\)) .*/\1/p' "$top/debian/changelog"
equal "so has twheel.h" "$version" \
	sed -n 's/^#define TWHEEL_VERSION\t*"\(.*\)"$/\1/p' "$top/userspace/include/twheel.h"
# shellcheck disable=SC2016 # these are awk's
equal "as a number, too" "$(awk -F. '{ print $1 * 10000 + $2 * 100 + $3 }' "$top/VERSION")" \
	awk '/^#define TWHEEL_VERSION_NUMBER/ { print $3 }' "$top/userspace/include/twheel.h"
equal "so has the spec file" "$version" sed -n 's/^Version: *//p' "$top/packaging/twheel.spec"
equal "so have the crates for Rust" "$version" \
	sh -c "sed -n 's/^version = \"\(.*\)\"/\1/p' '$top'/userspace/rust/*/Cargo.toml | sort -u"
equal "and the one that needs the other" "=$version" \
	sed -n 's/^twheel-sys = .*version = "\(.*\)".*/\1/p' "$top/userspace/rust/twheel/Cargo.toml"
equal "so has the package for Node" "$version" \
	sed -n 's/^\t"version": "\(.*\)",$/\1/p' "$top/userspace/node/package.json"
equal "and the last release in CHANGELOG.md" "$version" \
	sed -n '/^## [0-9]/ { s/^## \([0-9.]*\).*/\1/p; q }' "$top/CHANGELOG.md"
equal "the manual pages have it" "${version%.*}" man_versions
equal "the library's nodes are of this version or an earlier one" "${version%.*}" last_node
equal "the symbols file has each node of the library" "$(symbols_expected)" \
	sed -n '/symver/p' "$top/debian/libtwheel0.4.symbols"
equal "the example of modprobe.d has each parameter" "$(parameters)" \
	sh -c "sed -n 's/^#options twheel \\([a-z_]*\\)=.*/\\1/p' '$top/packaging/modprobe.conf' | sort"
built=(6.1.0-50-amd64 6.1.100 6.12.94+deb13-amd64 7.2.13-amd64 10.0.1)
equal "DKMS builds the module for kernels of the range, and no others" \
	"$(printf '%s\n' "${built[@]}")" \
	built_for 5.15.0-100-generic 6.0.0-6-amd64 "${built[@]}"
try "make dist gives the same bytes in two places" tarballs
try "where git fails there is no tarball, nor half of one" no_half
try "the tarball has what git has" complete
try "the library and the tool can be built from it" builds
try "the library as one file compiles" one_file
try "the commands of a release work" releases
GNUPGHOME=$tmp/gnupg gpgconf --kill gpg-agent
if [ "$(git -C "$top" status --porcelain | head -c 1)" ]; then
	echo "# what is not committed is in no package"
fi
try "make rpm: the packages are built, rpmlint has nothing to say" make -s -C "$top" rpm
finish
