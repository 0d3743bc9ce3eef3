#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh - make a folder with the tests of C++, Python, Java, Go, Rust and Node, for a guest that
#	     has none
#
# usage: guest.sh FOLDER		its last part is `languages`
#
# The tests of C++, Go and Rust are static. Of Python's library it takes the modules that the tests
# used on this machine, which are run for that. `FOLDER/python` starts it. Of Java's runtime it takes
# the modules that the tests need; `FOLDER/java` runs them. Of Node it takes the program. Where a
# compiler, Python, a JDK or Node is missing there is a script that skips.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh" >/dev/null
set -eu
[ $# = 1 ] || { echo "usage: guest.sh FOLDER" >&2; exit 2; }
folder=$1
rm -rf "$folder"
mkdir -p "$folder"

# missing NAME WHAT
missing() {
	printf '#!/bin/sh\necho "TAP version 13"\necho "1..0 # SKIP %s"\nexit 4\n' "$2" \
		>"$folder/$1"
	chmod +x "$folder/$1"
}

# copy_libraries FILE... - the shared libraries that they need, and the loader
copy_libraries() {
	local file
	ldd "$@" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*' | grep -v ':$' | sort -u |
	while read -r file; do
		cp -L "$file" "$folder/lib"
	done
}

copy_python() {
	local stdlib file home=$folder/home

	PYTHONPATH=$top/userspace/python timeout 300 "$python" "$here/taprunner.py" \
		--modules "$tmp/modules" >"$tmp/out" || :
	# The suite languages tells whether they pass here.
	[ -s "$tmp/modules" ] || { cat "$tmp/out" >&2; return 1; }
	stdlib=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
	mkdir -p "$home/lib/${stdlib##*/}" "$folder/lib"
	sed -n "s|^$stdlib/||p" "$tmp/modules" |
		(cd "$stdlib" && xargs cp --parents -t "$home/lib/${stdlib##*/}")
	cp -r "$top/userspace/python/twheel" "$here"/*.py "$folder"
	cp "$(readlink -f "$("$python" -c 'import sys; print(sys.executable)')")" "$folder/python3"
	cp -L "$root/usr/lib/libtwheel.so.0.4" "$folder/lib"
	mapfile -t files < <(find "$home" -name '*.so'; echo "$folder/python3")
	copy_libraries "${files[@]}"
	# Compiled here, as that takes long in a guest, where the files' times are others.
	env -u PYTHONDONTWRITEBYTECODE "$python" -m compileall -q \
		--invalidation-mode unchecked-hash "$folder"
	file=$(cd "$folder/lib" && ls ld-linux*)
	cat >"$folder/python" <<-END
		#!/bin/sh
		here=/twheel/languages
		export PYTHONHOME=\$here/home PYTHONPATH=\$here PYTHONUTF8=1
		exec \$here/lib/$file --library-path \$here/lib \$here/python3 -B "\$@"
	END
	chmod +x "$folder/python"
}

# start_by_loader - shell code for a guest. A program has to be started by the loader that its file
# names if it finds its own files by that, or starts itself again.
start_by_loader() {
	local file
	file=$(cd "$folder/lib" && ls ld-linux*)
	cat <<-END
		mkdir -p /lib64 /tmp
		ln -sf /twheel/languages/lib/$file /lib64/$file
		export LD_LIBRARY_PATH=/twheel/languages/lib
	END
}

# The tests and all that they take.
copy_java() {
	local jars=/usr/share/java home=$folder/java.home
	local netty=$jars/netty-common.jar

	make -s -C "$top/userspace/java" package O="$tmp/java" >/dev/null
	jlink --add-modules java.base,java.logging,java.management,jdk.unsupported --strip-debug \
		--no-header-files --no-man-pages --output "$home/jre"
	# Classes that are loaded already: an emulator takes long for that.
	"$home/jre/bin/java" -Xshare:dump >/dev/null
	cp "$tmp"/java/twheel-*.jar $jars/junit4.jar $jars/hamcrest-core.jar $netty "$home"
	mkdir -p "$folder/lib" "$home/tests"
	javac -cp "$(printf '%s:' "$home"/*.jar)" -d "$home/tests" "$here"/java/*.java
	mapfile -t files < <(find "$home/jre" -name '*.so'; echo "$home/jre/bin/java")
	copy_libraries "${files[@]}"
	cat >"$folder/java" <<-END
		#!/bin/sh
		home=/twheel/languages/java.home
		$(start_by_loader)
		export TWHEEL_BACKEND=device
		exec \$home/jre/bin/java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m \\
			-Dtwheel.version=$(cat "$top/VERSION") -cp "\$home/*:\$home/tests" TapRunner \\
			$(cd "$here/java" && printf '%s ' *Test.java | sed 's/\.java//g')
	END
	chmod +x "$folder/java"
}

# runner NAME BEFORE FILE ARGUMENT... - the tests in that file of the folder, whose results are like
# those of Go, Rust or Node, and shell code to be run before
runner() {
	local name=$1 before=$2
	shift 2
	cp "$here/../tap.sh" "$here/results.sh" "$folder"
	cat >"$folder/$name" <<-END
		#!/bin/sh
		cd /twheel/languages
		. ./tap.sh
		. ./results.sh
		$before
		export TWHEEL_BACKEND=device
		run ./$*
		results
		finish
	END
	chmod +x "$folder/$name"
}

copy_go() {
	make -s -C "$top/userspace/go" O="$tmp/go" package >&2
	cp "$here"/go/*_test.go "$tmp/go/twheel"
	(cd "$tmp/go/twheel" && go test -c -o "$folder/go.test" -ldflags '-extldflags -static')
	runner go '' go.test -test.v
}

copy_rust() {
	make -s -C "$top/userspace/rust" O="$tmp/rust" package >&2
	mkdir "$tmp/rust/twheel/tests"
	cp "$here"/rust/*.rs "$tmp/rust/twheel/tests"
	# Of the files that it names one is that of the tests.
	(cd "$tmp/rust" && RUSTFLAGS='-C target-feature=+crt-static' \
		cargo test --tests --no-run --message-format json) >"$tmp/out"
	cp "$(sed -n 's|.*"executable":"\([^"]*/wheel-[^"]*\)".*|\1|p' "$tmp/out")" \
		"$folder/rust.test"
	runner rust '' rust.test
}

copy_node() {
	make -s -C "$top/userspace/node" O="$tmp/node" package >&2
	cp -r "$tmp/node/twheel" "$folder/node.package"
	cp "$here"/node/wheel.js "$folder/node.test.js"
	cp "$(readlink -f "$(command -v node)")" "$folder/node.program"
	mkdir -p "$folder/lib"
	copy_libraries "$folder/node.program" "$folder"/node.package/*.node
	runner node "$(start_by_loader)" \
		node.program --test-reporter=tap node.test.js ./node.package
}

install_library || { cat "$tmp/out" >&2; exit 1; }
if has g++ --version; then
	g++ -std=c++17 -O1 -static -Wall -Wextra -Werror -Wl,--wrap=twheel_read \
		-o "$folder/cxx" "$here/cxx.cc" \
		-I"$root/usr/include" "$root/usr/lib/libtwheel.a"
else
	missing cxx "there is no compiler for C++ (Debian: g++)"
fi
if has "$python" --version; then
	copy_python
else
	missing python "there is no Python (Debian: python3)"
fi
missing=$(make -s -C "$top/userspace/java" missing)
if [ "$missing" ]; then
	missing java "$missing"
elif [ ! -e /usr/share/java/junit4.jar ] || [ ! -e /usr/share/java/netty-common.jar ]; then
	missing java "there is no JUnit or no Netty (Debian: junit4, libnetty-java)"
else
	copy_java
fi
for language in go rust node; do
	missing=$(make -s -C "$top/userspace/$language" missing)
	if [ "$missing" ]; then
		missing "$language" "$missing"
	else
		"copy_$language"
	fi
done
