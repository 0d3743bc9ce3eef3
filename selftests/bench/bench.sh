#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench.sh - measure twheel and its peers side by side, and report: `make bench`
#
# usage: bench.sh [quick|process]
#
# Measures
#
#	- in a guest: twheel and all peers; accuracy, silence, memory
#	- natively, in turns and on one CPU: the peers on this machine's own kernel, and
#	  twheel and the kernel's own timers in user-mode Linux
#	- natively, wheels in the process and what else there is: with `process` nothing else,
#	  in four minutes
#
# and prints the tables. What the programs said is left in build/bench, and results.tsv
# and process.tsv in this folder. The plots in Documentation/plots and the tables in README.md and
# Documentation/benchmarks.md are made anew. The quick form, which measures fewer sizes in
# fewer rounds, changes none of these: its results.tsv and its plots are in build/bench, too.
#
# Progress goes to stderr. The exit status is 1 if a part could not be measured.

. "$(dirname "$0")/../vm/common.sh"

bench=$top/selftests/bench
out=$build/bench

# Parts that are to come, by name: the kernel they run on
names=()
declare -A kernels=()
# The process of the part that runs
pid=''
failed=0

# later NAME KERNEL - a part, which is the function part_NAME (less a number in the name)
later() {
	names+=("$1")
	kernels[$1]=$2
}

# progress TEXT... - on a terminal a line that the next one replaces
progress() {
	if [ -t 2 ]; then
		printf '\r\033[K%s' "${*:+${0##*/}: $*}" >&2
	elif [ $# != 0 ]; then
		say "$@"
	fi
}

# watch NAME - wait for the process of a part, and tell of it. Returns its status.
watch() {
	local name=$1 told=$SECONDS often=30

	[ ! -t 2 ] || often=1
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.5
		[ $((SECONDS - told)) -ge "$often" ] || continue
		told=$SECONDS
		progress "$name: $(grep -vc '^#' "$out/$name" || :) figures," \
			"${#names[@]} parts after it"
	done
	progress
	wait "$pid"
}

# Measure all parts, one after the other. What has failed is missing from the report.
measure() {
	local name status begun

	trap '[ -z "$pid" ] || kill -- "-$pid" 2>/dev/null' EXIT
	trap 'exit 130' INT TERM HUP
	while [ ${#names[@]} != 0 ]; do
		name=${names[0]}
		names=("${names[@]:1}")
		echo "# kernel: ${kernels[$name]}" >"$out/$name"
		# In a process group of its own, so that all of it can be ended.
		set -m
		"part_${name%%.*}" >>"$out/$name" 2>"$out/log.$name" </dev/null &
		pid=$!
		set +m
		begun=$SECONDS status=0
		watch "$name" || status=$?
		pid=''
		say "$name: $((SECONDS - begun)) s"
		[ "$status" != 0 ] || continue
		failed=1
		echo "# missing: it ended with status $status" >>"$out/$name"
		say "$name failed with status $status; the end of what it said:"
		tail -n 5 "$out/log.$name" | sed 's/^/  | /' >&2
	done
}

# in_guest LINE - all rounds in one guest
in_guest() {
	"$vm/run.sh" -t 1500 -c 2 -m 6144 -a "$patient" -- \
		"status=0; for i in $(seq -s ' ' "$rounds"); do $1 || status=1; done; exit \$status"
}

part_guest() {
	in_guest "/twheel/bench/speed.sh guest $quick"
}

part_shared() {
	in_guest "/twheel/bench/speed.sh shared"
}

# The next two take turns, on the same CPU.
part_host() {
	taskset -c "$cpu" "$build/selftests/bench/speed.sh" host ${quick:+"$quick"}
}

part_uml() {
	taskset -c "$cpu" "$top/selftests/time/uml.sh" -n -m 4096 -t 600 \
		-d "$build/selftests/bench" -- "speed.sh uml $quick"
}

# The quick form has a memory of fewer timers than the goals are about.
part_situations() {
	"$vm/run.sh" -t 900 -c 2 -m 4096 -- "cd /twheel/bench && ./situations.sh $quick${quick:+ &&
		./memory twheel 1000000 && ./memory twheel-keyed 1000000}"
}

part_process() {
	"$build/selftests/bench/speed.sh" process
}

part_process_million() {
	"$build/selftests/bench/speed.sh" million
}

part_apart() {
	"$build/selftests/bench/speed.sh" apart
}

part_together() {
	"$build/selftests/bench/speed.sh" together
}

# What is true of the whole run
about() {
	local kvm
	kvm=$(cat "$cache/kvm/accelerator-$(cat /proc/sys/kernel/random/boot_id)-$(id -u)" \
		2>/dev/null) || :
	printf '%s\t%s\n' commit "$commit" date "$(date -u +%F)" form "$1" \
		machine "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs" \
		guests "$([ "$kvm" = kvm ] && echo "run by KVM" || echo emulated)"
}

# Wheels in the process need no guest: what they cost has a file of its own, made in minutes.
bench_process() {
	local results=$bench/process.tsv i

	out=$build/bench-process names=()
	rm -rf "$out"
	mkdir -p "$out"
	for ((i = 1; i <= 5; i++)); do
		later "process.$i" "$(uname -r)"
		[ $((i % 2)) = 0 ] || later "process_million.$i" "$(uname -r)"
		later "apart.$i" "$(uname -r)"
		later "together.$i" "$(uname -r)"
	done
	measure
	about process >"$out/about"
	"$bench/report.pl" "$out" >"$results.new"
	mv "$results.new" "$results"
	"$bench/show.pl" "$results" "$top/README.md" "$top/Documentation/benchmarks.md"
	"$bench/show.pl" "$results"
}

report() {
	local results=$bench/results.tsv plots=$top/Documentation/plots

	[ -z "$quick" ] || results=$out/results.tsv plots=$out
	"$bench/report.pl" "$out" >"$results.new"
	mv "$results.new" "$results"
	mkdir -p "$plots"
	"$bench/plot.pl" "$results" "$plots"
	[ -n "$quick" ] || "$bench/show.pl" "$results" "$top/README.md" "$top/Documentation/benchmarks.md"
	"$bench/show.pl" "$results"
}

quick='' rounds=3
case "$*" in
""|process)	;;
quick)		quick=quick rounds=1 ;;
*)		usage ;;
esac
cpu=$(taskset -cp $$ | grep -o '[0-9]*$')

# As it is now, since that is what is built.
commit=$(git -C "$top" describe --always --dirty --abbrev=10 --exclude='*' 2>/dev/null) ||
	commit=unknown
if [ "$*" = process ]; then
	make -s -C "$bench" BENCH=1 KSELFTEST="$("$vm/kernel.sh" --source)/tools/testing/selftests" \
		OUTPUT="$build/selftests/bench" "$build/selftests/bench/speed" >&2
	cp "$bench/speed.sh" "$build/selftests/bench"
	bench_process
	exit $failed
fi
BENCH=1 "$vm/build.sh"
begun=$SECONDS
"$top/selftests/time/build.sh" bench
say "building for user-mode Linux: $((SECONDS - begun)) s"

rm -rf "$out"
mkdir -p "$out"
guest=$(cat "$("$vm/kernel.sh")/release")
um=$(cat "$(KERNEL=uml "$vm/kernel.sh")/release")

for ((i = 1; i <= rounds; i++)); do
	later "host.$i" "$(uname -r)"
	later "uml.$i" "$um"
done
later guest "$guest"
[ -n "$quick" ] || later shared "$guest"
later situations "$guest"
measure
about "${quick:-whole}" >"$out/about"
report
[ -n "$quick" ] || bench_process
exit $failed
