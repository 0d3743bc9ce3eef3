#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lint.sh - what can be said about the sources without running them (TAP)
#
# A test for each tool: what one prints is a complaint. Not here: clang for the module itself,
# which wants a prepared kernel source tree in place of Debian's headers.

. "$(dirname "$0")/../vm/common.sh"
. "$top/selftests/tap.sh"

kernel=$("$vm/kernel.sh")
source=$("$vm/kernel.sh" --source)
scripts=$source/scripts
out=$build/lint

# sources FOLDER PATTERN... - the files there with such names
sources() {
	local folder=$1 pattern names=()
	shift
	for pattern; do
		names+=(-o -name "$pattern")
	done
	find "$folder" -type f \( "${names[@]:1}" \) | sort
}

# tool NAME COMMAND... - run it; whatever it prints is a complaint
tool() {
	run "${@:2}"
	[ ! -s "$tmp/out" ] || status=1
	result "$status" "$1"
}

# It leaves a cache behind where it runs, and misses the kernel's tree aloud.
checkpatch() {
	(cd "$out" && perl "$scripts/checkpatch.pl" --no-tree -f --strict --terse \
		--no-summary --show-types "$@" 2>/dev/null)
}

# Of TRACE_EVENT's usual layout it knows nothing but in include/trace/events.
checkpatch_kernel() {
	local files
	mapfile -t files < <(sources module '*.[ch]' | grep -v /trace.h
		sources uapi '*.h')
	checkpatch "${files[@]/#/$top/}"
	checkpatch --ignore OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT "$top/module/linux/trace.h"
}

# In user space there are no u64, ARRAY_SIZE, BIT or __printf, a signal handler's
# flag is volatile, fuzzers have names of their own, and splat.c is there to BUG. The shim
# and the simulator have the kernel's own macros and types.
checkpatch_user() {
	local files ignore
	mapfile -t files < <(sources userspace '*.[ch]' | grep -v /shim/
		sources selftests '*.[ch]' | grep -v /sim/linux/)
	ignore=PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,ARRAY_SIZE,BIT_MACRO
	ignore+=,VOLATILE,CAMELCASE,EMBEDDED_FUNCTION_NAME,AVOID_BUG
	checkpatch --ignore "$ignore" "${files[@]/#/$top/}"
	mapfile -t files < <(sources userspace/shim '*.h')
	ignore+=,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,NEW_TYPEDEFS,COMPLEX_MACRO,MEMORY_BARRIER
	ignore+=,MACRO_WITH_FLOW_CONTROL
	checkpatch --ignore "$ignore" "${files[@]/#/$top/}"
	mapfile -t files < <(sources selftests/sim/linux '*.h')
	ignore+=,MULTISTATEMENT_MACRO_USE_DO_WHILE,TRAILING_STATEMENTS,TRAILING_SEMICOLON
	ignore+=,SPACING,ASSIGN_IN_IF,CONST_STRUCT,DATA_RACE,IS_ENABLED_CONFIG
	checkpatch --ignore "$ignore" "${files[@]/#/$top/}"
}

# A folder of its own, so that everything is built, and so looked at, again.
sparse_and_warnings() {
	rm -rf "$out/module"
	make -C "$top" modules KDIR="$kernel/headers" products="$out" \
		W=1 C=2 >"$out/build" 2>&1 || { cat "$out/build"; return 1; }
	grep -E 'warning:|error:' "$out/build" || return 0
}

kernel_doc() {
	local files
	mapfile -t files < <(sources module '*.[ch]'; sources uapi '*.h'
		sources userspace/include '*.h')
	perl "$scripts/kernel-doc" -none -Werror "${files[@]}"
}

flags=(-std=gnu11 -D_GNU_SOURCE -Wall -Wextra
	-Iuapi -Iuserspace/include -Iuserspace/tools -Iuserspace/apps -Imodule/core
	-Iselftests/uapi -Iselftests/lib -Iuserspace/lib -Iuserspace/examples/loops
	-Iuserspace/apps/reminder
	-isystem "$source/tools/testing/selftests"
	# What the macros of kselftest's harness do in our name.
	-Wno-sign-compare -Wno-unused-parameter -Wno-empty-body)
# For the examples of event loops, and for databases; the headers of the others are where all are.
read -ra others < <(pkg-config --cflags glib-2.0 libpq)
flags+=("${others[@]}")

user_sources() {
	# The modules for Node and Java want the headers of these: suite languages compiles them.
	sources userspace '*.c' | grep -v -e userspace/node -e userspace/java
	sources selftests '*.c' | grep -v -e vm/splat -e bench/kernel
	echo module/core/*.c | tr ' ' '\n'
}

# Where the module's code is compiled, the kernel's headers come from userspace/shim: so core/
# includes no others. Its host is the process. Each CPU compiles a file. To find what gcc warns of
# it has to optimise, which clang does not.
compiler() {
	local file shim files cpus running=0 status=0
	mapfile -t files < <(user_sources)
	cpus=$(nproc)
	for file in "${files[@]}"; do
		shim=()
		case $file in
		module/*|userspace/lib/process/*|selftests/wheel/*|selftests/lease/*|\
		selftests/bench/speed/core.c)
			shim=(-Iuserspace/shim -Iuserspace/lib/process -fno-strict-aliasing
				-DTWHEEL_DEBUG) ;;
		# It has the C library's headers, and not the actors'.
		selftests/torture/torture.c) ;;
		selftests/sim/*|selftests/torture/*)
			shim=(-Iselftests/sim -Iuserspace/shim -Imodule/linux -fno-strict-aliasing) ;;
		esac
		if [ "$running" -ge "$cpus" ]; then
			wait -n || status=1
			running=$((running - 1))
		fi
		"$@" "${shim[@]}" "${flags[@]}" -Werror "$file" &
		running=$((running + 1))
	done
	for (( ; running; running--)); do
		wait -n || status=1
	done
	return "$status"
}

# The interface is for programs of all kinds.
headers_alone() {
	local header bits status=0
	for header in uapi/linux/twheel.h userspace/include/twheel.h; do
		for bits in -m64 -m32; do
			gcc "$bits" -std=gnu90 "${strict[@]}" -x c "$header" || status=1
			gcc "$bits" -std=c99 -pedantic "${strict[@]}" -x c "$header" || status=1
			gcc "$bits" -std=c11 "${strict[@]}" -x c "$header" || status=1
			g++ "$bits" -std=c++11 "${strict[@]}" -x c++ "$header" || status=1
			g++ "$bits" -std=c++20 "${strict[@]}" -x c++ "$header" || status=1
		done
	done
	return "$status"
}
strict=(-Wall -Wextra -Werror -fsyntax-only -Iuapi)

# The library as files and as one, and programs: of 32 bits, too
years_after_2038() {
	printf '%s\n' '#include <time.h>' \
		'_Static_assert(sizeof(time_t) == 8, "time_t ends in 2038");' >"$out/time.h"
	make -s -C userspace O="$out/m32" CC="gcc -m32 -include $out/time.h" \
		"$out"/m32/{lib/open,lib/process/process}.o \
		"$out"/m32/{tools/duration,apps/schedule,examples/lease}.o >/dev/null
	packaging/amalgamation.pl "$out/one" && sed -i "\$r $out/time.h" "$out/one/twheel.c" &&
		gcc -m32 -c -o /dev/null "$out/one/twheel.c"
}

shell() {
	local files
	mapfile -t files < <(grep -rlE '^#!/bin/(ba)?sh|shellcheck shell=' \
		.ci packaging selftests userspace)
	shellcheck "${files[@]}"
}

# With pipefail a grep -q at the end of a pipe is at times a failure: it ends at the first match, and
# kills who writes to it still.
whole_pipes() {
	local files
	mapfile -t files < <(grep -rlE '^#!/bin/bash' .ci packaging selftests userspace)
	perl -0ne 'while (/(?<!\|)\|(?!\|)\s*(\\\n\s*)?grep -\w*q.*/g) { print "$ARGV: $&\n" }' \
		"${files[@]}"
}

man_pages() {
	mandoc -Tlint -W style userspace/man/*.[134]
}

# Those that no longer fit into the sources, or make no C of them, would be found out much later.
mutations() {
	selftests/mutate.sh -a
}

# What pages and comments name. The kernel's headers have neither all its functions nor options.
prose() {
	perl selftests/lint/prose.pl /usr/include "$source"/{include,kernel/time,security}
}

# Which room of the module knows which: "A B" if A.c or A.h includes B.h.
rooms() {
	grep -o '^#include "[a-z_./]*\.h"' module/*/*.[ch] |
		sed -E 's#^module/[a-z]*/([a-z_]*)\.[ch]:.*["/]([a-z_]*)\.h"$#\1 \2#' |
		awk '$1 != $2' | sort -u
}

# Data flows one way: tsort names those that form a circle. What it makes of the others,
# from the device down to the wheel, is left in build/lint/rooms.
no_circles() {
	rooms | tsort >"$out/rooms" && [ -s "$out/rooms" ]
}

# calls FOLDER - which file there calls which: "A B" if A.o wants a symbol that B.o has
calls() {
	(cd "$1" && find ./* -name '[a-z]*.o' -exec nm -A -P -g {} +) | awk '
		{ gsub(/^\.\/|\.o:$/, "", $1) }
		$3 ~ /^[Uvw]$/ { wants[$2] = wants[$2] " " $1; next }
		{ has[$2] = has[$2] " " $1 }
		END {
			for (symbol in wants) {
				callers = split(wants[symbol], caller)
				callees = split(has[symbol], callee)
				for (i = 1; i <= callers; i++)
					for (k = 1; k <= callees; k++)
						print caller[i], callee[k]
			}
		}' | sort -u
}

# Calls go one way, too. Of the module only core/ is looked at, as built for sparse: core/ and its
# host call each other on purpose. In a process these two are one file, lib/process/process.c.
# The order that tsort finds, from the programs down, is left in build/lint/calls-core and
# build/lint/calls-userspace.
no_circles_of_calls() {
	local folder status=0
	rm -rf "$out/userspace"
	make -s -C userspace O="$out/userspace" >"$out/build" 2>&1 ||
		{ cat "$out/build"; return 1; }
	for folder in "$out"/module/*/module/core "$out/userspace"; do
		if ! calls "$folder" | tsort >"$out/calls-${folder##*/}" ||
		   [ ! -s "$out/calls-${folder##*/}" ]; then
			status=1
		fi
	done
	return "$status"
}

# What a timer is knows its host by core/host.h alone.
core_alone() {
	! grep -n '#include "[^"]*/' module/core/*.[ch]
}

# Each file of some folders names the licence that COPYING gives them.
licences() {
	local folder
	for folder in module/core userspace uapi; do
		grep -rLE 'SPDX-License-Identifier: \(?GPL-2.0-only( WITH Linux-syscall-note\))? OR MIT' \
			"$folder" --include='*.[ch]'
	done
}

# A product does not include its tests.
no_tests() {
	! grep -rn selftests userspace packaging debian dkms.conf
}

# A program is an example while it can be read at once: userspace/examples/README.md.
short_examples() {
	find userspace/examples -name '*.*' -type f \
		-exec awk 'FNR == 151 { print FILENAME ": more than 150 lines" }' {} +
}

cd "$top"
mkdir -p "$out"
unset MAKEFLAGS MFLAGS

tool "checkpatch (kernel)" checkpatch_kernel
tool "checkpatch (user space)" checkpatch_user
tool "sparse and W=1" sparse_and_warnings
tool "kernel-doc" kernel_doc
tool "no circles of includes" no_circles
tool "no circles of calls" no_circles_of_calls
tool "core without its host" core_alone
tool "products without tests" no_tests
tool "licences" licences
tool "examples of 150 lines at most" short_examples
tool "gcc" compiler gcc -O2 -c -o /dev/null
tool "clang" compiler clang -fsyntax-only
tool "headers on their own" headers_alone
tool "the years after 2038 are known" years_after_2038
tool "shellcheck" shell
tool "pipes read to their end" whole_pipes
tool "manual pages" man_pages
tool "mutations apply, and compile" mutations
tool "names in pages and comments" prose
finish
