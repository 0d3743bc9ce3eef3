#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rust.sh - the crates for Rust, on the wheel in the process (TAP)

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
begin_package rust

try "they are made" make -s -C "$package" O="$tmp/rust" package
mkdir "$tmp/rust/twheel/tests" "$tmp/rust/twheel/examples"
cp "$here"/rust/*.rs "$tmp/rust/twheel/tests"
cp "$costs/costs.rs" "$tmp/rust/twheel/examples"
cd "$tmp/rust" || exit
# A warning is a failure. What only debuggers and the next build want takes longer.
export RUSTFLAGS='-D warnings' CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
run timeout 300 cargo test
results
try "the documentation has no warning" env RUSTDOCFLAGS='-D warnings' cargo doc --no-deps
try "they can be packed" cargo package --no-verify --allow-dirty -p twheel-sys

# Pointers and numbers are aligned otherwise there.
target=i686-unknown-linux-gnu
if [ -d "$(rustc --print target-libdir --target $target)" ]; then
	try "they work in 32-bit programs" env CC_i686_unknown_linux_gnu='gcc -m32' \
		timeout 300 cargo test --tests --target $target
else
	skip "they work in 32-bit programs" "rustc has no std for $target"
fi

# The same on the library that is installed, by the feature that its crates then have
try "they are made for the library that is installed" \
	make -s -C "$package" O="$tmp/installed" SYSTEM=1 package
check "those have no source of the library" test ! -e "$tmp/installed/twheel-sys/twheel.c"
mkdir "$tmp/installed/twheel/tests"
cp "$here"/rust/*.rs "$tmp/installed/twheel/tests"
cd "$tmp/installed" || exit
try "they work with that" timeout 300 cargo test --tests
check "which has the library's name in it" \
	grep -q 'libtwheel\.so' target/debug/deps/wheel-*

# Structures of another version would be taken for those of this one. That of 0.4.0 is not 0.40.0.
mkdir "$tmp/other"
for change in 's/^Version:.*/Version: 0.3.0/' 's/^\(Version: .*\)\./\10./'; do
	sed "$change" "$PKG_CONFIG_PATH/libtwheel.pc" >"$tmp/other/libtwheel.pc"
	version=$(sed -n 's/^Version: //p' "$tmp/other/libtwheel.pc")
	run env PKG_CONFIG_PATH="$tmp/other" timeout 300 cargo build
	check "they are not made for libtwheel $version" \
		grep -q "libtwheel is $version, not " "$tmp/out"
done

finish
