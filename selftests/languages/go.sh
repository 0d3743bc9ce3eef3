#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# go.sh - the package for Go, on the wheel in the process (TAP)

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
begin_package go

try "it is made" make -s -C "$package" O="$tmp/go" package
cp "$here"/go/*_test.go "$costs/costs_test.go" "$tmp/go/twheel"
cd "$tmp/go/twheel" || exit
run gofmt -l . "$package"
check "gofmt would change nothing" test ! -s "$tmp/out"
try "go vet finds nothing" go vet -tags costs .
run env CGO_ENABLED=0 go build .
check "without cgo the compiler says that, and no more" \
	test "$(sed 1d "$tmp/out")" = "./nocgo.go:8:9: undefined: twheelTakesCgoAndACompilerForC"
run timeout 300 env TWHEEL_VERSION="$(cat "$top/VERSION")" go test -v .
results
if has go test -race -run - .; then
	try "the race detector finds nothing" timeout 300 go test -race .
else
	skip "the race detector finds nothing" "go has none here"
fi

# The same on the library that is installed, which is there without its source.
try "it is made for the library that is installed" \
	make -s -C "$package" O="$tmp/installed" SYSTEM=1 package
check "that has no source of the library" test ! -e "$tmp/installed/twheel/twheel.c"
cp "$here"/go/queue_test.go "$tmp/installed/twheel"
try "it works with that" timeout 300 env -C "$tmp/installed/twheel" go test .
try "so does the other one if it is asked" timeout 300 go test -tags twheel_installed -c -o "$tmp/test" .
check "which has the library's name in it" grep -q 'libtwheel\.so' "$tmp/test"

finish
