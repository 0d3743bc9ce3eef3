#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# suite.sh - run one suite of tests (KTAP)
#
# usage: [KERNEL=k] [CPUS=n] suite.sh SUITE
#
# Whoever runs the parts of a suite by hand finds them here. check.sh and check-one.sh
# include this for what it tells of suites.

. "$(dirname "$0")/common.sh"

tests=$top/selftests

# check is what someone who has changed a line runs: what finds most of all mistakes in a quarter of
# an hour. long is the rest, in its long form if it has one.
list() {
	case $1 in
	# The longest first, for where nobody knows how long they take
	check)	echo embedded uapi examples sim torture module wheel lib stress hostile lease isolation \
			abi insn tool report ;;
	long)	echo embedded-long uapi-long time-long kselftest-long vm-long seeded-long loops-long \
			languages fuzz-long module-long lease-long languages-long reminder html \
			install isolation-long kselftest dist schedule ;;
	esac
}

# The suite that does all of it and more, if there is one
within() {
	case $1 in
	seeded|loops|fuzz|time|vm|embedded|module|lease)	echo "$1-long" ;;
	esac
}

# needs [KERNEL/]SUITE - the kernels that it uses whatever KERNEL is
needs() {
	local on=${KERNEL:-kasan}
	[[ "$1" != */* ]] || { on=${1%/*} && echo "$on"; }
	case ${1#*/} in
	time*)				echo uml ;;
	seeded)				echo kasan ;;
	seeded-long|torture|fuzz*|faults) echo "$on" ;;
	esac
}

# The sets of packages that it takes, as setup.sh names them. check.sh installs these before it runs
# the first of its suites: later there may be no terminal on which sudo can ask for a password. The
# toolchains of suite languages are not among them: it skips those that are missing.
sets() {
	echo build guest check kernel
	case $1 in
	bare|deb)			echo bare ;;
	dist)				echo dist ;;
	html)				echo html browser ;;
	lint)				echo lint ;;
	esac
}

# What it does to this machine: idle, if its guests mostly wait, busy, or alone, if it wants the
# machine to itself. Kernels are there only for those that are busy, or run alone: see suites.mk.
load() {
	case $1 in
	shares|stalls)			echo alone ;;
	examples|uapi*)			echo idle ;;
	*)				echo busy ;;
	esac
}

# Where check.sh keeps how long suites took when they last passed: a line each, named by this and
# the suite
times=$cache/times
key=${KERNEL:-default}:${CPUS:-}:

# last SUITE - how many seconds it took, or nothing
last() {
	awk -v "name=$key$1" '$1 == name { print $2 }' "$times" 2>/dev/null || :
}

# log_of SUITE - where check.sh keeps what it says
logs=${LOGS:-$build/log}
log_of() {
	echo "$logs/check.${1//\//.}"
}

is_suite() {
	[ "$(type -t "suite_$1")" = function ] || die "there is no suite $1"
}

# guest SECONDS CPUS RUN-OPTIONS... -- COMMAND... - KTAP of commands in a guest
guest() {
	local limit=$1 cpus=${CPUS:-$2} options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$vm/run.sh" -t "$limit" -c "$cpus" "${options[@]}" -- \
		"cd /twheel && ./ktap-run.sh ${*@Q}"
}

# As guest(), and the module checks itself as it goes: see DEBUG in the Makefile. Other suites have
# the module as it is for users.
checked_guest() {
	local -x VARIANT=${VARIANT:-debug}
	"$vm/build.sh" module >&2
	guest "$@"
}

# here SECONDS COMMAND... - KTAP of commands on this machine; 0 is no limit
here() {
	timeout "$1" "$tests/ktap-run.sh" "${@:2}"
}

# The programs of a suite, as the guest names them
programs() {
	(cd "$build/selftests" && find "$1" -type f -executable ! -name '*.elf' | sort)
}

# Core tests in user space, on this machine: no device is needed.
suite_wheel() { here 1200 "make -s -C $tests/wheel check"; }

# The two sides of a lease in all interleavings: no device either. And are broken ones found?
suite_lease() { here 600 "make -s -C $tests/lease check CHECK="; }
suite_lease-long() { here 1200 "make -s -C $tests/lease check"; }

# The whole module in a simulated kernel, with a new seed each time: no device, no guest.
suite_sim() { here 1200 "$tests/sim/check.sh"; }

# When cron's lines are due: on this machine, which has the zones of the world. The
# device has no part in that.
suite_schedule() { here 600 "make -s -C $tests/schedule check"; }

# What make lint finds: nothing runs.
suite_lint() { here 1200 "$tests/lint/lint.sh"; }

# Does the harness itself catch what it should, and so does lint?
suite_vm() { here 1200 "$vm/selftest.sh ${1-}" "$tests/lint/test_prose.sh"; }
suite_vm-long() { suite_vm long; }

# Are the tests what users of kselftest know, here and in a kernel's tree?
suite_kselftest() { here 1800 "$tests/packages/kselftest.sh own"; }
suite_kselftest-long() { here 1800 "$tests/packages/kselftest.sh tree"; }

suite_uapi() {
	mapfile -t list < <(programs uapi)
	checked_guest 900 2 -m 2048 -b -- "${list[@]}"
}

# The order of records with wheels of other shapes. And where the tick turns the wheels, which looks for
# less, and not as often.
suite_uapi-long() {
	local shape status=0
	for shape in slots=4 slots=4096 tick_ns=1024; do
		echo "# $shape"
		guest 300 2 -o "$shape" -- uapi/order || status=$?
	done
	guest 300 2 -a 'highres=off nohz=off' -- uapi/cancel_on_set uapi/clocks uapi/rounds ||
		status=$?
	return $status
}

# Is what make install leaves behind of use, without Debian's commands too, and with a kernel
# that the user names; and the files for services and containers? On this machine too, as is the
# first program of the README. What make dkms-uninstall removes, below a /usr of its own.
suite_install() {
	here 600 "$tests"/{readme/first,lib/install,packages/anywhere,packages/deploy,packages/dkms}.sh
}

# Can programs that were linked with the last release use this library?
suite_abi() { here 600 "$tests/abi/abi.sh"; }

# Versions, the tarball and its signature, RPM packages.
suite_dist() { here 900 "$tests/packages/dist.sh"; }

# The site, and how it looks in a browser: the packages are large, and only this wants the browser.
suite_html() { here 1800 "$tests/readme/site.sh" "$tests/readme/browser.py"; }

# The tool on a machine that may have no device: made-up files of /proc and /sys, and what
# shells complete.
suite_tool() {
	local list=(tool doctor ps process top completion save)
	list=("${list[@]/#/tool/}")
	(cd "$build/selftests" && here 600 "${list[@]/%/.sh}")
}

# Does the report of make bench say what was measured, and scaling.md what is simulated?
suite_report() {
	here 600 "$tests/bench/test_report.sh" "$tests/bench/test_scaling.sh"
}

# The library, the programs that the README and the manual pages print, what twheel(4) says of the
# module's files, and the device in a container.
suite_lib() {
	mapfile -t list < <(programs lib)
	checked_guest 900 2 -m 2048 -- "${list[@]}" readme/readme.sh readme/files.sh \
		deploy/calls deploy/namespace.sh
}

# The tests of uapi and lib, and the examples, on wheels in the process, on this machine; in a
# guest those that set the clock, and programs of 32 bits, which not every machine runs.
suite_embedded() { embedded check; }
suite_embedded-long() {
	local folder=$tests/embedded
	embedded 'check again' "$folder/musl.sh" "$folder/amalgamation.sh" "$folder/valgrind.sh"
}

# embedded TARGETS COMMAND... - these targets of selftests/embedded, and the commands after them
embedded() {
	local status=0
	# Most of the time these wait.
	here 1800 "make -s -k -j$((3 * $(nproc))) -Orecurse -C $tests/embedded $1 examples" \
		"${@:2}" || status=$?
	make -s -C "$tests/embedded" guest >&2 &&
		guest 300 2 -d "$build/embedded/embedded" -- \
			embedded/uapi-cancel_on_set embedded/uapi-clocks embedded/uapi-order \
			embedded/uapi-abi32 embedded/uapi-lease32 embedded/loop32 \
			'TWHEEL_BACKEND=embedded TWHEEL_TEST_CLOCK=yes examples/cron.sh' \
			'TWHEEL_BACKEND=embedded TWHEEL_TEST_CLOCK=yes examples/fdstore.sh' ||
		status=$?
	return $status
}

# The bindings and the examples of other languages than C, on wheels in the process.
suite_languages() {
	local dir=$tests/languages
	here 900 "$dir/python.sh" "$dir/python.sh "{tests,uvloop} "$dir/cxx.sh" \
		"$dir/cxx.sh "{g,clang}++ "$dir"/{go,rust,node,java,examples}.sh
}

# The application reminder with the databases that are here, on wheels in the process; in a guest
# while the clock is set.
suite_reminder() {
	local folder=$build/reminder status=0
	make -s -C "$top/userspace" O="$folder/userspace" REMINDER="$folder" reminder >&2
	mkdir -p "$build"
	flock -o "$build/lock" make -s -C "$top/userspace" O="$build/guest" REMINDER="$folder/guest" \
		STATIC=1 reminder >&2
	REMINDER=$folder/reminder here 900 "$tests/reminder/reminder.py" || status=$?
	[ -x "$folder/guest/reminder" ] || return $status
	cp "$tests"/{tap,reminder/clock}.sh "$folder/guest"
	guest 300 1 -d "$folder/guest" -- guest/clock.sh "TWHEEL_BACKEND=embedded guest/clock.sh" ||
		status=$?
	return $status
}

# C++, Python, Java, Go, Rust and Node on the device.
suite_languages-long() {
	local folder=$build/languages/languages
	"$tests/languages/guest.sh" "$folder" >&2
	guest 600 2 -m 2048 -d "$folder" -- languages/cxx 'languages/python languages/taprunner.py' \
		languages/java languages/go languages/rust languages/node
}

# The echo server in each event loop that this machine has the headers of: on embedded wheels
# here, and in a guest.
#
# loops HERE THERE... - the arguments of loops.sh here, and for each run in the guest
loops() {
	local status=0
	make -s -C "$tests/loops" >&2
	here 600 "$build/loops/loops/loops.sh $1" || status=$?
	shift
	guest 900 2 -m 2048 -d "$build/loops/loops" -- loops/ring.sh "${@/#/loops/loops.sh }" ||
		status=$?
	return $status
}

suite_loops() { loops '1000 1000' '1000 1000'; }

# What a loop makes of so many clients shows here; what they are to the device, with two ways to
# wait for it.
suite_loops-long() { loops '10000 2000' '1000 1000' '10000 6000 epoll uring'; }

# What comes and goes while timers run: CPUs, services, settings. The module does in suite module.
suite_stress() {
	mapfile -t list < <(programs stress | grep -v -e /isolation -e /reload.sh)
	checked_guest 900 4 -m 3072 -- "${list[@]}"
}

# Programs that mean harm, as an ordinary user; and one that looks for what leaks of
# the kernel's memory, which is poisoned for it.
suite_hostile() {
	local status=0
	mapfile -t list < <(programs hostile | grep -v '/leak\|/cpu\|/late')
	checked_guest 900 2 -m 2048 -- "${list[@]}" || status=$?
	guest 300 2 -a "$poison" -- hostile/leak || status=$?
	return $status
}
poison='init_on_alloc=0 page_poison=1 slub_debug=FZPU'

# What is left of a CPU to others, and how late their timers come: both want a quiet
# machine. How late once more, where time is instructions.
suite_shares() {
	local status=0
	guest 1200 2 -m 2048 -- hostile/cpu || status=$?
	guest 1200 2 -m 2048 -- hostile/late || status=$?
	guest 3600 1 -I -m 2048 -- 'TWHEEL_COUNTED=1 hostile/late' || status=$?
	return $status
}

# What do others notice of 10 million timers? One round here: see make stalls.
suite_stalls() {
	guest $((1200 * ${ROUNDS:-1})) 4 -m 4096 -o 'max_user_timers=20000000' -- \
		"stalls/stalls.sh ${ROUNDS:-1}"
}

# A month, or a year, in virtual time.
suite_time() {
	"$tests/time/build.sh"
	timeout 3600 "$tests/time/geometries.sh" "${@-month}"
}
suite_time-long() { suite_time year; }

# Are isolated CPUs left alone, whichever way, whichever and since when they are?
suite_isolation() { guest 300 4 -a 'nohz_full=2,3 isolcpus=2,3' -- stress/isolation; }

suite_isolation-long() {
	local isolate status=0
	for isolate in nohz_full=1-3 isolcpus=0,2; do
		echo "# $isolate"
		guest 300 4 -a "$isolate" -- stress/isolation || status=$?
	done
	guest 300 4 -- stress/isolation_later.sh || status=$?
	# All of them are: then each has to look after its own.
	guest 300 4 -a 'nohz_full=1-3 isolcpus=0' -- uapi/arm || status=$?
	return $status
}

# Have the calls that programs make most grown longer? Whatever runs beside this, the counts
# are the same.
suite_insn() { here 600 "$tests/bench/insn.sh check"; }

# The tests of the tool, too, most of which look at the device where there is one.
suite_examples() {
	mapfile -t list < <(programs examples; programs tool)
	guest 900 2 -m 3072 -- "${list[@]}" moving/servers.sh
}

# Everything at once on a debug kernel, and an oracle that accounts for it. Half a minute: where
# chance has to find a race, the simulator is faster.
suite_torture() { MINUTES=1 "$tests/torture/torture.sh" --seconds 30 --each 150; }

suite_module() { guest 600 2 -m 2048 -- 'TWHEEL_RELOADS=10 stress/reload.sh in_use cycles'; }
suite_module-long() { guest 900 2 -m 2048 -- stress/reload.sh; }

# Whatever can fail in the kernel does; only the debug kernel can do that, which is
# slow: its watchdog waits for 120 s. In torture the device's own calls fail.
suite_faults() {
	[ "${KERNEL-}" = kasan ] || { local -x KERNEL=kasan && "$vm/build.sh"; }
	guest 2400 2 -m 2048 -a "$patient" -- 'faults/leaks.sh clear' \
		faults/files "torture/torture --seconds 120 --faults --quiet" \
		faults/hotplug faults/leaks.sh faults/insmod faults/leaks.sh
}

# Does a debug kernel notice bugs? One of them, or all.
suite_seeded() { KERNEL=kasan here 3600 "$tests/seeded/seeded.sh use-after-free"; }
suite_seeded-long() { here 3600 "$tests/seeded/seeded.sh"; }

# The interface on a debug kernel for a minute; or for two, and the wheel.
suite_fuzz() { KERNEL=kasan here 0 "$tests/fuzz/fuzz.sh -m ${FUZZ_MINUTES:-1} abi"; }
suite_fuzz-long() { KERNEL=kasan here 0 "$tests/fuzz/fuzz.sh -m ${FUZZ_MINUTES:-2}"; }

# Both commands of the README on a machine that has nothing.
suite_bare() { "$tests/packages/bare.sh"; }

# Debian packages in a fresh root of another release, and in guests with its kernels.
suite_deb() { here 3600 "$tests/packages/deb.sh"; }

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
[ $# = 1 ] || usage
is_suite "$1"
"suite_$1"
