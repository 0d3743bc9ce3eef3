#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# insn.sh - count the instructions of each operation, and compare them with those kept
#
# usage: [PENDING="1000 10000 ..."] insn.sh compare|keep|check
#	 [PENDING=1000] insn.sh where OPERATION [BATCH]
#
#	compare	print a table of what insn.txt has and of what is counted now
#	keep	the same, and then write what was counted to insn.txt, and the tables of the pages
#	check	print TAP: operations in batches must take no more instructions than kept
#	where	print which functions, and which lines of the module, an operation
#		(later, keyed-arm, ...; in batches of 256 or 1) spends its instructions in
#
# The module and the tests must have been built (vm/build.sh). The counts are those of a
# guest with one CPU in which time is instructions: see insn.c, and -I of vm/run.sh. They
# do not depend on the machine, but on the kernel and on the compiler of the module, so
# insn.txt has a section for each pair of these.

bench=$(cd "$(dirname "$0")" && pwd)
. "$bench/../vm/common.sh"

kept=$bench/insn.txt
# How much more, in percent, is let pass unseen
allowed=2
checked=(arm later sooner cancel deliver)

kernel=$("$vm/kernel.sh")
release=$(cat "$kernel/release")
module=$build/module/$release/twheel.ko
[ -e "$module" ] || die "no $module: run vm/build.sh first"

# The guest's memory, MB. Ten million timers take 650 MB of it, their handles 80 MB; with keys
# they take 1,000 MB.
memory() {
	local n most=0
	for n in "${pending[@]}"; do
		[ "$n" -le "$most" ] || most=$n
	done
	echo $((1024 + most / 5000))
}

# What the counts go by, as the sections are called: "6.1 gcc-12", "6.1-rt gcc-12".
section() {
	local compiler
	compiler=$(readelf -p .comment "$module" |
		sed -nE 's/.*GCC: .* ([0-9]+)\..*/gcc-\1/p' | head -n 1)
	sed -nE "s/^([0-9]+\.[0-9]+)\.([^-]*)(-[0-9]+)?(-(rt|kasan|kcsan))?.*/[\1\4 $compiler]/p" \
		<<<"$release"
}

# kept_lines - those of this section
kept_lines() {
	awk -v "section=$(section)" '/^\[/ { here = $0 == section; next } here && NF' "$kept"
}

# count_in_guest RUN-OPTIONS... -- COMMAND - in a guest that has room for $pending timers
count_in_guest() {
	"$vm/run.sh" -I -t 1800 -m "$(memory)" -o 'max_user_timers=20000000' "$@"
}

# count OPTIONS... - print what insn counts
count() {
	count_in_guest -- "/twheel/bench/insn $* ${pending[*]}"
}

# The lines of both, side by side: operation, batch, pending, kept, now; "-" is none.
join_kept() {
	awk -F '\t' -v OFS='\t' '
		FILENAME == ARGV[1] { kept[$1, $2, $3] = $4; next }
		{ was = kept[$1, $2, $3]; print $1, $2, $3, was == "" ? "-" : was, $4 }
	' <(kept_lines) "$1"
}

compare() {
	echo "Instructions of an operation, Linux $release, $(section)"
	printf '%-14s %6s %10s %10s %10s %9s\n' operation batch pending kept now change
	join_kept "$1" | awk -F '\t' '{
		printf "%-14s %6s %10s %10s %10s %9s\n", $1, $2, $3, $4, $5,
			$4 == "-" ? "-" : sprintf("%+.1f%%", ($5 / $4 - 1) * 100)
	}'
}

# keep FILE - its lines take the place of those kept for the same; all others stay
keep() {
	local name=$1 new
	new=$(awk -F '\t' '
		FILENAME == ARGV[1] { now[$1, $2, $3] = 1; print; next }
		!(($1, $2, $3) in now)
	' "$name" <(kept_lines) | sort -t $'\t' -k3,3n -s)
	# The first section is that of the pages.
	new=$new awk -v "section=$(section)" '
		/^\[/	{ here = $0 == section }
		$0 == section { print; print ENVIRON["new"]; found = 1 }
		!here
		END	{ if (!found) { print section; print ENVIRON["new"] } }
	' "$kept" >"$kept.new"
	mv "$kept.new" "$kept"
	say "kept in ${kept#"$top/"} as $(section)"
	"$bench/show.pl" "$bench/results.tsv" "$top/README.md" "$top/Documentation/benchmarks.md"
}

check_kept() {
	local op batch n was now

	. "$top/selftests/tap.sh"
	[ -n "$(kept_lines)" ] ||
		skip_all "insn.txt has no section $(section): make bench-insn KEEP=1 makes one"
	count -b 256 "${checked[@]/#/-o}" >"$tmp/counts"
	while IFS=$'\t' read -r op batch n was now; do
		{
			echo "$op, batch of $batch, $n pending: $now instructions, kept: $was, allowed: $allowed% more."
			echo "If that is as it has to be: make bench-insn KEEP=1, and commit insn.txt and the pages."
			echo "Where they are: make bench-insn WHERE=$op"
		} >"$tmp/out"
		check_one "$was" "$now" "$op, batch of $batch, $n pending: $now instructions"
	done < <(join_kept "$tmp/counts")
	[ "$tests" = $((${#checked[@]} * ${#pending[@]})) ] ||
		result 1 "each operation was counted"
	finish
}

# check_one KEPT NOW NAME
check_one() {
	local status=0
	awk -v "was=$1" -v "now=$2" -v "allowed=$allowed" \
		'BEGIN { exit !(was > 0 && now > 0 && now <= was * (1 + allowed / 100)) }' || status=1
	result $status "$3"
}

# Names of addresses: a line "ADDRESS symbol NAME" for each function of the kernel.
symbols() {
	echo "0000000000000000 symbol (the program)"
	sed '1,/^symbols$/d' "$tmp/out" | sed 1d | base64 -d | gzip -dc |
		awk '$2 ~ /[tTwW]/ { print $1, "symbol", $3 }'
}

# What was executed: a line "ADDRESS TIMES" for each instruction, TIMES an operation.
times() {
	awk -v "pass=$1" '
		$1 == "marks"	{ operations = $2 * pass; next }
				{ times[$1] += $2 }
		END		{ for (i in times) printf "%s %.6f\n", i, times[i] / operations }
	' "$tmp/times"
}

by_function() {
	cat "$tmp/symbols" "$tmp/per_operation" | LC_ALL=C sort -s -k 1,1 | awk '
		$2 == "symbol"	{ sub(/^[^ ]* symbol /, ""); name = $0; next }
				{ spent[name] += $2; total += $2 }
		END {
			for (name in spent)
				if (spent[name] >= 0.5)
					printf "%9.1f  %s\n", spent[name], name | "sort -rn"
			close("sort -rn")
			printf "%9.1f  in all, interrupts included\n", total
		}'
}

# by_source TEXT - the same for the module, by what stands in the source: a function that
# was inlined is one of its own there. TEXT is where the module lies in the guest.
by_source() {
	local address times from=$1
	while read -r address times; do
		address=$((0x$address - from))
		if [ "$address" -ge 0 ] && [ "$address" -lt $((1 << 20)) ]; then
			printf '0x%x %s\n' $address "$times"
		fi
	done <"$tmp/per_operation" >"$tmp/module"
	cut -d ' ' -f 1 "$tmp/module" | addr2line -e "$module" -j .text -f |
		sed 's| (discriminator.*||; s|.*/||' | paste -d ' ' - - |
		paste -d ' ' - <(cut -d ' ' -f 2 "$tmp/module") |
		awk '{ spent[$1 "  " $2] += $3; whole[$1] += $3 }
			END {
				for (name in whole)
					if (whole[name] >= 0.5)
						printf "%9.1f  %s\n", whole[name], name | "sort -rn"
				close("sort -rn")
				print "\nand by line, those with 4 and more:"
				for (line in spent)
					if (spent[line] >= 4)
						printf "%9.1f  %s\n", spent[line], line | "sort -rn"
			}'
}

# where OPERATION [BATCH] - a profile, which is exact: a plugin of the emulator counts
where() {
	local op=$1 batch=${2:-256} pass

	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	gcc -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -o "$tmp/where.so" \
		"$bench/where.c"
	count_in_guest -p "$tmp/where.so,out=$tmp/times" -- \
		"/twheel/bench/insn -o $op -b $batch ${pending[*]} && echo symbols &&
		 cat /sys/module/twheel/sections/.text && gzip -c /proc/kallsyms | base64" >"$tmp/out"
	[ "$(sed '/^symbols$/,$d' "$tmp/out" | wc -l)" = 1 ] ||
		die "no operation is called $op and has batches of $batch: insn.c has a table"
	# That many operations are between two marks: a pass or, of expiries, a burst.
	pass=$(sed -n 's/^#define PASS\t\t*//p' "$bench/insn.c")
	[ "$batch" -le "$pass" ] || pass=$batch
	grep -q '^marks [1-9]' "$tmp/times" || die "$op is not measured between marks"

	symbols >"$tmp/symbols"
	times "$pass" >"$tmp/per_operation"
	echo "$op, batch of $batch, ${pending[*]} pending: instructions of an operation by function"
	by_function
	echo
	echo "those in the module, by function of the source, inlined or not:"
	by_source "$(sed -n '/^symbols$/{n;p}' "$tmp/out")"
}

read -r -a pending <<<"${PENDING:-1000 10000 100000}"
case $#,${1-} in
1,compare|1,keep)
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	count >"$tmp/counts"
	compare "$tmp/counts"
	[ "$1" = compare ] || keep "$tmp/counts" ;;
1,check)
	read -r -a pending <<<"${PENDING:-1000 10000}"
	check_kept ;;
2,where|3,where)
	read -r -a pending <<<"${PENDING:-1000}"
	where "${@:2}" ;;
*)	usage ;;
esac
