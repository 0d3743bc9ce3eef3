#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# install.sh - can programs be built with libtwheel as it is installed?
#
# Runs on the machine that builds; no device is needed.

. "$(dirname "$0")/../tap.sh"

user=$(cd "$(dirname "$0")/../../userspace" && pwd)
root=$tmp/root
version=$(cat "$user/../VERSION")
unset MAKEFLAGS MFLAGS DESTDIR

build() {
	make -s -C "$user" O="$tmp/build" DESTDIR="$root" prefix=/usr libdir=/usr/lib/here "$@"
}

# Without DESTDIR the install runs ldconfig to tell the loader.
here() {
	make -s -C "$user" O="$tmp/build" prefix="$tmp/here" "$@" >"$tmp/said" 2>&1 ||
		{ cat "$tmp/said"; return 1; }
}

refused() {
	! "$@"
}

is_built() {
	make -C "$user" O="$tmp/build" >"$tmp/out" && ! grep -q CC "$tmp/out"
}

needs_soname() {
	readelf -d "$tmp/shared" | grep -q 'NEEDED.*\[libtwheel.so.0.4\]'
}

# A program that loads it again and again is left with no more than once.
stays_loaded() {
	readelf -d "$root/usr/lib/here/libtwheel.so" | grep -q 'FLAGS_1.*NODELETE'
}

# Not those of another copy, which knows nothing of its contexts
calls_itself() {
	refused sh -c "readelf -rW '$root/usr/lib/here/libtwheel.so' | grep twheel_"
}

# same A B - succeeds if both files hold the same, and shows the difference otherwise
same() {
	[ -s "$1" ] && diff "$1" "$2"
}

# functions - the functions of the header
functions() {
	sed -n 's/^.*\b\(twheel_[a-z_]*\)(.*/\1/p' "$user/include/twheel.h" |
		grep -v '_fn$' | sort -u
}

# page_of FUNCTION - the page that it leads to
page_of() {
	realpath -e "$root/usr/share/man/man3/$1.3"
}

# unthreaded - what is linked with the library, or is the library, and does not ask for threads
unthreaded() {
	build -n -B all V=1 | grep -e " -o [^ ]*/bin/" -e " -shared " >"$tmp/linked"
	grep -v -e ' -pthread ' "$tmp/linked"
}

umask 077
try "make install" build install
umask 022
find "$root" ! -type l ! -perm -444 -o -type d ! -perm -111 >"$tmp/out"
check "everybody can read what is installed" test -d "$root/usr" -a ! -s "$tmp/out"
try "nothing is built again" is_built

# A page for each function, and those that describe several of them.
(cd "$root" && find . ! -type d | sort) >"$tmp/files"
{ functions; basename -s .3 -a "$user"/man/*.3; } | sort -u |
	sed 's|.*|./usr/share/man/man3/&.3|' >"$tmp/pages"
sort - "$tmp/pages" >"$tmp/expected" <<END
./usr/bin/twheel
./usr/include/linux/twheel.h
./usr/include/twheel.h
./usr/include/twheel.hpp
./usr/lib/here/cmake/twheel/twheelConfig.cmake
./usr/lib/here/cmake/twheel/twheelConfigVersion.cmake
./usr/lib/here/libtwheel.a
./usr/lib/here/libtwheel.so
./usr/lib/here/libtwheel.so.0.4
./usr/lib/here/libtwheel.so.$version
./usr/lib/here/pkgconfig/libtwheel.pc
./usr/share/bash-completion/completions/twheel
./usr/share/doc/twheel/examples/keyed.c
./usr/share/doc/twheel/examples/lease.c
./usr/share/doc/twheel/examples/loops/Makefile
./usr/share/doc/twheel/examples/loops/asio-server.cc
./usr/share/doc/twheel/examples/loops/epoll-server.c
./usr/share/doc/twheel/examples/loops/glib-server.c
./usr/share/doc/twheel/examples/loops/libevent-server.c
./usr/share/doc/twheel/examples/loops/ring-server.c
./usr/share/doc/twheel/examples/loops/sd-event-server.c
./usr/share/doc/twheel/examples/loops/server.c
./usr/share/doc/twheel/examples/loops/server.h
./usr/share/doc/twheel/examples/loops/setup.h
./usr/share/doc/twheel/examples/loops/twheel-asio.hpp
./usr/share/doc/twheel/examples/loops/twheel-epoll.h
./usr/share/doc/twheel/examples/loops/twheel-glib.h
./usr/share/doc/twheel/examples/loops/twheel-libevent.h
./usr/share/doc/twheel/examples/loops/twheel-ring.h
./usr/share/doc/twheel/examples/loops/twheel-sd-event.h
./usr/share/doc/twheel/examples/loops/twheel-uring.h
./usr/share/doc/twheel/examples/loops/twheel-uv.h
./usr/share/doc/twheel/examples/loops/uring-server.c
./usr/share/doc/twheel/examples/loops/uv-server.c
./usr/share/doc/twheel/examples/periodic.c
./usr/share/doc/twheel/examples/timerfd-server.c
./usr/share/doc/twheel/examples/twheel-server.c
./usr/share/man/man1/twheel.1
./usr/share/man/man4/twheel.4
./usr/share/zsh/site-functions/_twheel
END
try "these files are installed" same "$tmp/files" "$tmp/expected"

# As bash-completion loads it when the command is first completed.
if [ -e /usr/share/bash-completion/bash_completion ]; then
	# shellcheck disable=SC2016 # for another shell
	try "bash-completion finds the tool's" env XDG_DATA_DIRS="$root/usr/share" bash -c '
		. /usr/share/bash-completion/bash_completion
		_completion_loader twheel || [ $? = 124 ] && complete -p twheel | grep -w _twheel'
fi

# The functions that are declared, exported and documented have to be the same.
functions >"$tmp/named"
nm -D --defined-only "$root/usr/lib/here/libtwheel.so" |
	sed -n 's/.* T \(.*\)@@LIBTWHEEL_[0-9.]*$/\1/p' | sort >"$tmp/exported"
nm -D --defined-only "$root/usr/lib/here/libtwheel.so" |
	grep -v ' twheel_open@LIBTWHEEL_0.[13]$' | grep -c ' T ' >"$tmp/count"
wc -l <"$tmp/exported" >"$tmp/versioned"
try "the header and the library have the same functions" \
	same "$tmp/named" "$tmp/exported"
try "each has a version" same "$tmp/count" "$tmp/versioned"

# Its page has it in NAME, in SYNOPSIS and in DESCRIPTION, as other functions do not.
while read -r function; do
	awk -v name="$function" '
		/^\.SH/ { section = $2 }
		section == "NAME" && $0 ~ name "[, ]|" name "$" { n++ }
		section == "SYNOPSIS" && index($0, name "(") { n += 10 }
		section == "DESCRIPTION" && $2 == name { d = 100 }
		END { exit n + d != 111 }' "$(page_of "$function")" || echo "$function"
done <"$tmp/exported" >"$tmp/out"
check "each has a manual page" test -s "$tmp/exported" -a ! -s "$tmp/out"
page_of twheel_put_at >"$tmp/out"
check "and man finds it by its name" \
	test "$(cat "$tmp/out")" = "$(page_of twheel_arm)"
sed -n 's/^\.BR \(twheel_[a-z_]*\) (3).*/\1/p' "$user/man/libtwheel.3" | sort -u >"$tmp/overview"
basename -s .3 -a "$user"/man/twheel_*.3 | grep -vxF -f "$tmp/overview" >"$tmp/out"
check "libtwheel(3) lists the pages" test ! -s "$tmp/out"
# Pages tell of each other, and only of those that are there.
cat "$user"/man/*.[134] | sed -n 's/^\.[BR]*  *(* *\(l*i*b*twheel[a-z_]*\) (\([1-9]\)).*/\1.\2/p' |
	sort -u | while read -r page; do
	[ -e "$root/usr/share/man/man${page##*.}/$page" ] || echo "$page"
done >"$tmp/out"
check "none names a page that is not there" test ! -s "$tmp/out"

# What the pages call functions, flags and structures has to be declared.
cat "$user/include/twheel.h" "$user/../uapi/linux/twheel.h" |
	grep -o '\b\(twheel\|TWHEEL\)_[A-Za-z_]*' | sort -u >"$tmp/declared"
# The page of leases is no function.
grep -hv '^\.TH' "$user"/man/*.3 "$user/../Documentation/moving.md" \
	"$user/../Documentation/names.md" |
	grep -o '\b\(twheel\|TWHEEL\)_[A-Za-z_]*[A-Za-z]' | sort -u |
	grep -vxF -e twheel_lease -f "$tmp/declared" >"$tmp/out"
check "they have only names that there are" test ! -s "$tmp/out"

export PKG_CONFIG_PATH="$root/usr/lib/here/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"

# Before glibc 2.34 they were in a library of their own.
unthreaded >"$tmp/out"
check "programs and the shared library are linked with threads" \
	test -s "$tmp/linked" -a ! -s "$tmp/out"
pkg-config --static --libs libtwheel >"$tmp/out"
check "pkg-config links the archive with threads" grep -qw -e -pthread "$tmp/out"
cat >"$tmp/program.c" <<'END'
#include <errno.h>
#include <twheel.h>

int main(void)
{
	struct twheel *tw;

	return twheel_open(&tw, "/dev/no-such-wheel", 0, 0) == -ENOENT ? 0 : 1;
}
END
cp "$tmp/program.c" "$tmp/program.cc"
cat >"$tmp/chosen.c" <<'END'
#include <twheel.h>

int main(void)
{
	struct twheel *tw;

	return -twheel_open(&tw, 0, 0, 0);
}
END
# A library of before 0.4, whose programs had another struct twheel_arm
echo 'int twheel_open(void) { return 0; }' >"$tmp/old.c"
echo 'LIBTWHEEL_0.1 { twheel_open; };' >"$tmp/old.map"
# The one header has everything that a configuration needs.
cat >"$tmp/clocks.c" <<'END'
#include <twheel.h>

int main(void)
{
	struct twheel_config config = { .clock = CLOCK_MONOTONIC };

	return config.clock == CLOCK_REALTIME;
}
END

# The words of pkg-config are options.
# shellcheck disable=SC2046
{
	try "a program with the shared library" \
		cc -Wall -Wextra -Werror -pedantic -o "$tmp/shared" "$tmp/program.c" \
		$(pkg-config --cflags --libs libtwheel)
	try "a program with the archive" \
		cc -static -Wall -Werror -o "$tmp/static" "$tmp/program.c" \
		$(pkg-config --cflags --static --libs libtwheel)
	try "an installed example" \
		make -s -C "$root/usr/share/doc/twheel/examples/loops" O="$tmp" "$tmp/epoll-server"
	try "a program that includes only twheel.h" \
		cc -Wall -Wextra -Werror -o "$tmp/clocks" "$tmp/clocks.c" \
		$(pkg-config --cflags --libs libtwheel)
	try "the same in C99 with POSIX" \
		cc -std=c99 -D_POSIX_C_SOURCE=199309L -Wall -Wextra -Werror \
		-o "$tmp/clocks" "$tmp/clocks.c" $(pkg-config --cflags --libs libtwheel)
	try "one that opens the default" cc -o "$tmp/chosen" "$tmp/chosen.c" \
		$(pkg-config --cflags --libs libtwheel)
	try "one that was linked before 0.4" sh -c "cd '$tmp' && mkdir old &&
		cc -shared -o old/libtwheel.so.0.1 -Wl,-soname,libtwheel.so.0.1 \
			-Wl,--version-script,old.map old.c &&
		cc -o linked chosen.c $(pkg-config --cflags libtwheel) old/libtwheel.so.0.1"
	if command -v c++ >/dev/null; then
		try "a program in C++" \
			c++ -Wall -Wextra -Werror -pedantic -o "$tmp/cxx" "$tmp/program.cc" \
			$(pkg-config --cflags --libs libtwheel)
	fi
}
try "it runs with the shared library" \
	env LD_LIBRARY_PATH="$root/usr/lib/here" "$tmp/shared"
try "and needs it by its soname" needs_soname
try "which is never unloaded" stays_loaded
try "and calls no functions but its own" calls_itself
try "it runs with the archive" "$tmp/static"
if [ ! -e /dev/twheel ]; then
	run env -u TWHEEL_BACKEND LD_LIBRARY_PATH="$root/usr/lib/here" "$tmp/chosen"
	check "without the device it gets an embedded wheel" test "$status" = 0
fi
run env LD_LIBRARY_PATH="$root/usr/lib/here" "$tmp/linked"
check "a program of before 0.4 does not start with it" grep -q 'libtwheel.so.0.1: cannot open' "$tmp/out"

# The folders may be moved together.
cp -r "$root/usr" "$tmp/moved"
for folder in libdir includedir; do
	pkg-config --define-variable=prefix=/p --variable=$folder libtwheel
done >"$tmp/folders"
printf '/p/lib/here\n/p/include\n' >"$tmp/expected"
try "what pkg-config says is below the prefix" same "$tmp/folders" "$tmp/expected"

# And /lib may be a link to /usr/lib.
mkdir "$tmp/merged"
cp -r "$root/usr" "$tmp/merged"
ln -s usr/lib "$tmp/merged/lib"

# cmake_builds VERSION FOLDER - a program that wants that version, with what is there
cmake_builds() {
	mkdir -p "$tmp/cmake"
	cp "$tmp/program.c" "$tmp/cmake"
	cat >"$tmp/cmake/CMakeLists.txt" <<-END
		cmake_minimum_required(VERSION 3.13)
		project(program C)
		find_package(twheel $1 REQUIRED)
		add_executable(dynamic program.c)
		target_link_libraries(dynamic PRIVATE twheel::twheel)
		add_executable(static program.c)
		target_link_libraries(static PRIVATE twheel::twheel_static)
	END
	rm -rf "$tmp/cmake/build"
	cmake -S "$tmp/cmake" -B "$tmp/cmake/build" -Dtwheel_DIR="$2/cmake/twheel" \
		>"$tmp/out" 2>&1 && cmake --build "$tmp/cmake/build" >"$tmp/out" 2>&1 &&
		"$tmp/cmake/build/dynamic" && "$tmp/cmake/build/static"
}

if command -v cmake >/dev/null; then
	check "a program by CMake" cmake_builds "$version" "$tmp/moved/lib/here"
	check "and none that wants a later version" refused cmake_builds 99 "$tmp/moved/lib/here"
	check "or one that had another interface" refused cmake_builds 0.3 "$tmp/moved/lib/here"
	check "one that names no version" cmake_builds '' "$tmp/moved/lib/here"
	check "one that finds the library in /lib before /usr/lib" \
		cmake_builds "$version" "$tmp/merged/lib/here"
	mkdir -p "$tmp/here" "$tmp/disk/libraries/here"
	ln -s ../disk/libraries/here "$tmp/here/lib"
	here LDCONFIG=false install
	check "one where the library's folder is a link" cmake_builds "$version" "$tmp/here/lib"
	here LDCONFIG=false uninstall
	rm "$tmp/here/lib"
else
	skip "a program by CMake" "there is no cmake"
fi

soname=$(readlink "$root/usr/lib/here/libtwheel.so")
try "make uninstall" build uninstall
(cd "$root" && find . ! -type d) >"$tmp/files"
try "nothing is left" test ! -s "$tmp/files"
(cd "$root" && find . -type d | sort | paste -sd' ') >"$tmp/folders"
echo ". ./usr ./usr/bin ./usr/include ./usr/lib ./usr/lib/here ./usr/share ./usr/share/doc" \
	"./usr/share/man" >"$tmp/expected"
try "nor a folder that was made for it" same "$tmp/folders" "$tmp/expected"

# An ldconfig in place of the machine's, which is left alone: it only lists the libraries that
# were there when it ran last.
cat >"$tmp/ldconfig" <<END
#!/bin/sh
if [ "\$1" = -p ]; then
	cat "$tmp/cache"
else
	find "$tmp/here" -name 'libtwheel.so.0.4' -printf '\tlibtwheel.so.0.4 => %p\n' >"$tmp/cache"
fi
END
chmod +x "$tmp/ldconfig"

# What most projects call it.
check "make install PREFIX=" make -s -C "$user" O="$tmp/build" PREFIX="$tmp/capitals" LDCONFIG=false \
	install
check "installs there" test -x "$tmp/capitals/bin/twheel"
check "and make uninstall PREFIX= removes it" make -s -C "$user" O="$tmp/build" \
	PREFIX="$tmp/capitals" LDCONFIG=false uninstall
check "all of it" test ! -e "$tmp/capitals/bin/twheel"
try "make install without DESTDIR" here LDCONFIG="$tmp/ldconfig" install
try "it says nothing" test ! -s "$tmp/said"
try "the loader knows the library" grep -q ' => .*/here/lib/libtwheel.so.0.4$' "$tmp/cache"

# Versions with the same soname, and what has the name of one, or nearly
versions() {
	for file in 0.0.1 99.0.0 99.0.0.kept; do
		cp "$tmp/build/lib/libtwheel.so.$version" "$tmp/here/lib/libtwheel.so.$file"
	done
	cc -shared -Wl,-soname,libtwheel.so.98 -o "$tmp/here/lib/libtwheel.so.98.0.0" -x c /dev/null
	echo text >"$tmp/here/lib/libtwheel.so.97"
	ln -sf libtwheel.so.99.0.0.kept "$tmp/here/lib/libtwheel.so.96"
}

# others - what is there but the library and its links
others() {
	(cd "$tmp/here/lib" && ls libtwheel.so.*) |
		grep -vxF -e "libtwheel.so.$version" -e "$soname" |
		paste -sd' '
}

kept='libtwheel.so.96 libtwheel.so.97 libtwheel.so.98.0.0 libtwheel.so.99.0.0.kept'
versions
try "make install over other versions" here LDCONFIG=false install
others >"$tmp/out"
check "removes these, and nothing else" test "$(cat "$tmp/out")" = "$kept"
check "there is this one" test -e "$tmp/here/lib/libtwheel.so"
versions
try "make uninstall without DESTDIR" here LDCONFIG="$tmp/ldconfig" uninstall
try "the loader has forgotten it" test ! -s "$tmp/cache"
others >"$tmp/out"
check "other versions are gone, and nothing else" test "$(cat "$tmp/out")" = "$kept"

# rm takes the first half of such a name for the name of a file.
touch "$tmp/a"
mkdir -p "$tmp/kernel/include/generated"
echo '#define UTS_RELEASE "6.1.0"' >"$tmp/kernel/include/generated/utsrelease.h"
# names_folder NAME COMMAND... - it fails, as that folder cannot be used
names_folder() {
	folder=$1
	shift
	run "$@"
	[ "$status" != 0 ] && grep -q "\*\*\* $folder must be a path that begins with /" "$tmp/out" &&
		[ -e "$tmp/a" ]
}

for folder in DESTDIR prefix bindir libdir includedir mandir docdir bashcompdir zshcompdir; do
	check "a $folder with a blank is refused" names_folder $folder \
		make -C "$user" O="$tmp/build" LDCONFIG=false "$folder=$tmp/a b" uninstall
done
check "so is one that ends with a blank" names_folder prefix \
	make -C "$user" O="$tmp/build" LDCONFIG=false PREFIX="$tmp/a " uninstall
check "a folder for the build" names_folder O make -C "$user" O="$tmp/a b" clean
check "one for the module" names_folder INSTALL_MOD_PATH \
	make -C "$user/.." KDIR="$tmp/kernel" INSTALL_MOD_PATH="$tmp/a b" modules_uninstall
check "a DESTDIR that does not begin with /" names_folder DESTDIR \
	make -C "$user/.." products="$tmp/build" DESTDIR=stage install
check "and such a prefix" names_folder prefix make -C "$user" O="$tmp/build" PREFIX=stage install
check "and an empty one" names_folder prefix \
	make -C "$user" O="$tmp/build" DESTDIR="$tmp/empty" LDCONFIG=false PREFIX= install
check "and an empty folder" names_folder libdir \
	make -C "$user" O="$tmp/build" DESTDIR="$tmp/empty" LDCONFIG=false libdir= install
check "nothing is installed there" test ! -e "$user/stage" -a ! -e "$user/../stage"
try "make install where ldconfig fails" here LDCONFIG=false install
try "says how to have the library found" grep -q '^note: .*LD_LIBRARY_PATH' "$tmp/said"
try "make uninstall where ldconfig fails" here LDCONFIG=false uninstall
: >"$tmp/cache"
try "make install with DESTDIR" build LDCONFIG="$tmp/ldconfig" install
try "does not run it" test ! -s "$tmp/cache"

finish
