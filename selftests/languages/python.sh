#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# python.sh - the Python package: what is generated, its types, pip (TAP)
#
# usage: python.sh [tests [arguments of taprunner.py] | uvloop]
#
#	tests	the tests of what it does, on the wheel in the process (TAP)
#	uvloop	those of asyncio, in the loop of uvloop

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
package=$top/userspace/python

has "$python" --version || skip_all "there is no Python (Debian: python3)"
install_library || { cat "$tmp/out" >&2; exit 1; }

if [ "${1-}" = uvloop ]; then
	has "$python" -c 'import uvloop' || skip_all "there is no uvloop (Debian: python3-uvloop)"
	set -- tests --uvloop
fi
if [ "${1-}" = tests ]; then
	shift
	# It prints a document of its own.
	PYTHONPATH=$package timeout 300 "$python" "$here/taprunner.py" "$@" | tail -n +2
	exit "${PIPESTATUS[0]}"
fi

# What was generated, and is it noticed if a header changes?
try "constants, layouts and prototypes are those of the headers" \
	"$python" "$package/generate.py" --check
copy=$tmp/copy
mkdir -p "$copy/userspace"
cp -r "$top/VERSION" "$top/uapi" "$copy"
cp -r "$top/userspace/Makefile" "$top/userspace/include" "$package" "$top/userspace/rust" \
	"$copy/userspace"
changes() {
	sed -i "$2" "$copy/$1"
	run "$python" "$copy/userspace/python/generate.py" --check
	check "$3" test "$status" = 1
	"$python" "$copy/userspace/python/generate.py"
}
changes uapi/linux/twheel.h 's/^#define TWHEEL_IOC_MAGIC.*/#define TWHEEL_IOC_MAGIC 0xF8/' \
	"a change of a number is noticed"
changes uapi/linux/twheel.h '/^struct twheel_event {/a \	__u32 more[2];' \
	"a change of a layout is noticed"
changes userspace/include/twheel.h 's/^int twheel_fd(const/ssize_t twheel_fd(const/' \
	"a change of a prototype is noticed"

grep -o 'twheel_[a-z_]*;' "$top/userspace/lib/libtwheel.map" | tr -d ';' | sort -u >"$tmp/exported"
PYTHONPATH=$package/twheel "$python" -c 'import _abi; print(*sorted(_abi.FUNCTIONS), sep="\n")' \
	>"$tmp/known"
try "it knows each function of the library" diff "$tmp/exported" "$tmp/known"

if has "$python" -m mypy --version; then
	try "mypy finds nothing" "$python" -m mypy --cache-dir "$tmp/mypy" \
		--config-file "$package/pyproject.toml" "$package/twheel" "$package/generate.py"
else
	skip "mypy finds nothing" "there is no mypy (Debian: mypy)"
fi

run env PYTHONPATH="$package" timeout 60 "$python" "$costs/costs.py" 1 100
check "what timers cost can be measured" measured

run env -u LD_LIBRARY_PATH TWHEEL_LIBRARY=/no/such/library PYTHONPATH="$package" \
	"$python" -c 'import twheel'
check "without the library the import says what to do" \
	grep -q '^ImportError: .*TWHEEL_LIBRARY' "$tmp/out"

# The package as others get it: nothing else of twheel is there, neither in the loader's path nor in
# Python's.
lonely() {
	env -u LD_LIBRARY_PATH -u PYTHONPATH "$@"
}

# In a copy: a build leaves folders behind.
from_the_tree() {
	mkdir -p "$tmp/tree/debian" "$tmp/tree/userspace"
	cp -r "$top"/{VERSION,LICENSES,uapi,module,packaging} "$tmp/tree"
	cp "$top/debian/copyright" "$tmp/tree/debian"
	cp -r "$top"/userspace/{include,lib,shim,python} "$tmp/tree/userspace"
	lonely CFLAGS=-O0 "$venv" -m pip --disable-pip-version-check install --no-build-isolation \
		--no-index --force-reinstall "$tmp/tree/userspace/python" &&
		lonely "$venv" "$examples/sessions.py"
}

missing=$(make -s -C "$package" missing PYTHON="$python")
if [ -z "$missing" ] && has "$python" -c 'import venv'; then
	"$python" -m venv --system-site-packages --without-pip "$tmp/venv"
	venv=$tmp/venv/bin/python
	try "make package makes a wheel file" make -s -C "$package" package O="$tmp/wheel" PYTHON="$python"
	try "which has the licences" sh -c "'$python' -m zipfile -l '$tmp'/wheel/*.whl >'$tmp/list' &&
		grep MIT '$tmp/list' && grep GPL-2.0 '$tmp/list'"
	try "pip installs it without network" lonely "$venv" -m pip --disable-pip-version-check install \
		--no-index "$tmp"/wheel/*.whl
	run lonely "$venv" -c 'import twheel; print(twheel.__version__, twheel.__file__)'
	check "its version is that of the tree" \
		grep -qF "$(cat "$top/VERSION") $tmp/venv/" "$tmp/out"
	run lonely "$venv" -c 'import twheel; print(open("/proc/self/maps").read())'
	check "its library is its own" grep -q "$tmp/venv/.*/twheel/libtwheel.so" "$tmp/out"
	try "which calls no functions of another one" sh -c "! readelf -rW \
		'$tmp'/venv/lib/python3*/site-packages/twheel/libtwheel.so | grep twheel_"
	try "it comes with its types" test -e "$tmp"/venv/lib/python3*/site-packages/twheel/py.typed
	try "its version is what pip says, too" sh -c "'$venv' -m pip show twheel |
		grep -x 'Version: $(cat "$top/VERSION")'"
	lonely "$venv" "$examples/sessions.py" >"$tmp/got" 2>&1
	printf 'session %d has timed out\n' 1 2 >"$tmp/expected"
	try "a program runs with it, and without libtwheel" diff "$tmp/expected" "$tmp/got"
	run lonely TWHEEL_LIBRARY=/no/such/library "$venv" -c 'import twheel'
	check "TWHEEL_LIBRARY still names another" grep -q '^ImportError: .*/no/such/library' "$tmp/out"
	try "with SYSTEM=1 it has no library" sh -c "make -s -C '$package' package O='$tmp/system' \
		PYTHON='$python' SYSTEM=1 && '$python' -m zipfile -l '$tmp'/system/*-any.whl >'$tmp/list' &&
		grep aio.py '$tmp/list' && ! grep libtwheel.so '$tmp/list'"
	try "pip installs it from the tree, too" from_the_tree
else
	skip "pip installs it without network" "${missing:-there is no venv (Debian: python3-venv)}"
fi

finish
