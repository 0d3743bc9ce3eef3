#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# java.sh - the package for Java: what is in the jar, and the tests of its classes (TAP)

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
begin_package java

version=$(cat "$top/VERSION")
export PACKAGES=$tmp
out=$tmp/java
jar=$out/twheel-$version.jar
jars=/usr/share/java

# built FOLDER VARIABLE... - make the package there
built() {
	local folder=$1
	shift
	env -u MAKEFLAGS -u MFLAGS make -s -C "$package" package O="$folder" JAVACFLAGS=-Werror \
		CFLAGS='-O2 -g -Werror' "$@" && [ -s "$folder/twheel-$version.jar" ]
}

contents() {
	(cd "$1" && jar --list --file "twheel-$version.jar" | sort)
}

has_all() {
	contents "$out" >"$tmp/contents" && for file in twheel/Wheel.class twheel/libtwheel_jni.so \
		META-INF/LICENSES/MIT META-INF/LICENSES/GPL-2.0; do
		grep -qx "$file" "$tmp/contents" || { echo "there is no $file"; return 1; }
	done
}

# What the library takes and gives: those of Java alone see it.
alone() {
	ldd "$out/classes/twheel/libtwheel_jni.so" >"$tmp/needs"
	cat "$tmp/needs"
	! grep libtwheel "$tmp/needs" &&
		nm -D --defined-only "$out/classes/twheel/libtwheel_jni.so" |
		awk '$3 !~ /^Java_twheel_Native_/ { print; bad = 1 } END { exit bad || !NR }'
}

try "make package makes the jar" built "$out"
try "it has the classes, the library and the licences" has_all
try "its library needs no other, and has no symbols but Java's" alone

try "it can be made for the installed library, without Netty" \
	built "$tmp/system" SYSTEM=1 NETTY=/no/such/file CFLAGS=-O0
try "and then needs that" sh -c "ldd '$tmp/system/classes/twheel/libtwheel_jni.so' |
	grep -F '$root/usr/lib/libtwheel.so'"
try "and has no class for Netty" \
	sh -c "! jar --list --file '$tmp/system/twheel-$version.jar' | grep netty"

# The example, by the command of the page
example() {
	cp "$examples/Sessions.java" "$tmp"
	awk '$0 == "<!-- run: java -->" { found = 1; next } found && /^```/ { if (n++) exit; next }
		n' "$top/Documentation/languages.md" >"$tmp/commands"
	printf 'session %d has timed out\n' 1 2 >"$tmp/expected"
	(cd "$tmp" && [ -s commands ] && timeout 60 sh -ec '. ./commands' >got && diff expected got)
}
try "the example prints what it should" example

# TAP of the tests becomes ours.
if [ ! -e $jars/junit4.jar ]; then
	skip "the tests" "there is no JUnit (Debian: junit4)"
	finish
fi
tests_of() {
	(cd "$here/java" && ls ./*Test.java) | sed 's|./\(.*\)\.java|\1|'
}
classpath=$jar:$jars/junit4.jar:$jars/hamcrest-core.jar:$jars/netty-common.jar
sources=("$here"/java/*.java "$costs/JavaTimers.java")
mapfile -t names < <(tests_of)
if [ ! -e $jars/netty-common.jar ]; then
	skip TwheelTimerTest "there is no Netty (Debian: libnetty-java)"
	mapfile -t sources < <(printf '%s\n' "${sources[@]}" | grep -v -e TwheelTimerTest -e JavaTimers)
	mapfile -t names < <(tests_of | grep -v TwheelTimerTest)
fi
try "the tests compile" javac -Xlint:all -Werror -cp "$classpath" -d "$tmp/tests" "${sources[@]}"
timeout 300 java -Xcheck:jni -Dtwheel.version="$version" -cp "$classpath:$tmp/tests" TapRunner \
	"${names[@]}" >"$tmp/tap" 2>"$tmp/err" </dev/null || :
rm -f "$tmp/out"
while read -r line; do
	case $line in
	ok*SKIP*) name=${line#ok * }; skip "${name%% # SKIP*}" "${line##*# SKIP }" ;;
	ok*)	result 0 "${line#ok * }" ;;
	not*)	result 1 "${line#not ok * }" ;;
	\#*)	echo "$line" ;;
	esac
done <"$tmp/tap"
cp "$tmp/err" "$tmp/out"
check "all of them have run" sh -c "tail -n 1 '$tmp/tap' | grep '^1\.\.[1-9]' >'$tmp/plan' &&
	! grep -i 'jni' '$tmp/err'"

# What newer versions of Netty have in this interface
if [ -e $jars/netty-common.jar ]; then
	mkdir -p "$tmp/newer/io/netty/util"
	cat >"$tmp/newer/io/netty/util/TimerTask.java" <<-'END'
		package io.netty.util;

		public interface TimerTask {
			void run(Timeout timeout) throws Exception;
			default void cancelled(Timeout timeout) { }
		}
	END
	cat >"$tmp/newer/Cancelled.java" <<-'END'
		import io.netty.util.Timeout;
		import io.netty.util.TimerTask;
		import java.util.concurrent.TimeUnit;
		import twheel.netty.TwheelTimer;

		class Cancelled implements TimerTask {
			public void run(Timeout timeout) {
				System.out.println("has run");
			}

			public void cancelled(Timeout timeout) {
				System.out.println("is told " + (timeout.isCancelled() && timeout.task() == this));
				throw new IllegalStateException("on purpose");
			}

			public static void main(String[] args) throws InterruptedException {
				TwheelTimer timer = new TwheelTimer();
				Timeout timeout = timer.newTimeout(new Cancelled(), 1, TimeUnit.HOURS);
				System.out.println(timeout.cancel());
				System.out.println(timeout.cancel());
				timeout = timer.newTimeout(new Cancelled(), 0, TimeUnit.HOURS);
				while (!timeout.isExpired())
					Thread.sleep(1);
				System.out.println(timeout.cancel());
				timer.stop();
			}
		}
	END
	printf '%s\n' 'is told true' true false 'has run' false | sort >"$tmp/expected"
	javac -cp "$classpath" -d "$tmp/newer" "$tmp"/newer/*.java "$tmp"/newer/io/netty/util/*.java
	timeout 60 java -cp "$tmp/newer:$classpath" Cancelled 2>"$tmp/told" | sort >"$tmp/got"
	try "a task of a newer Netty is told that it was cancelled" diff "$tmp/expected" "$tmp/got"
	check "and what it throws is logged" grep -q 'on purpose' "$tmp/told"
else
	skip "a task of a newer Netty is told that it was cancelled" \
		"there is no Netty (Debian: libnetty-java)"
fi

finish
