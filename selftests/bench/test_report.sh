#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test_report.sh - does the report say what was measured? From lines made by hand, whose
# medians and ratios are easily worked out.
# shellcheck disable=SC2016 # what results() takes is Perl
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tap.sh"

run=$tmp/run
mkdir "$run"
export results=$tmp/results.tsv

# line FILE FIELD... - add a line with tabs in it
line() {
	local file=$run/$1 IFS=$'\t'
	shift
	echo "$*" >>"$file"
}

# rounds FILE FACILITY BATCH OPERATION PENDING NS... - a line a round
rounds() {
	local ns file=$1 facility=$2 batch=$3 operation=$4 pending=$5
	for ns in "${@:6}"; do
		line "$file" "$facility" "$batch" "$operation" "$pending" 1 "$ns"
	done
}

# results EXPRESSION ARGUMENT... - of Perl, with the results in $r
results() {
	perl -I"$here" -MResults -e '
		my $expression = shift;
		my $r = read_results($ENV{results});
		my $value = eval $expression;
		die $@ if $@;
		print $value // "null", "\n"' "$@"
}

# compared NAME FIELD - a field of what has a goal
compared() {
	results '(grep { $_->{name} eq $ARGV[0] } goals($r))[0]{$ARGV[1]}' "$@"
}

# met NAME - whether a goal is met
met() {
	results '(map { defined $_->{met} ? 0 + $_->{met} : undef }
		grep { $_->{name} eq $ARGV[0] } goals($r))[0]' "$@"
}

# figure KEY=VALUE... FIELD - a field of the one figure that is so
figure() {
	results 'my $field = pop @ARGV;
		my @found = figures($r, map { split /=/, $_, 2 } @ARGV);
		@found == 1 ? $found[0]{$field} : @found . " figures"' "$@"
}

# equals NAME WANTED COMMAND... - does it print that?
equals() {
	local name=$1 wanted=$2
	shift 2
	"$@" >"$tmp/out" 2>&1
	echo "wanted: $wanted" >>"$tmp/out"
	[ "$(head -n 1 "$tmp/out")" = "$wanted" ]
	result $? "$name"
}

report() {
	"$here/report.pl" "$run" >"$results" 2>"$tmp/out"
}

# What the run was
line about commit 0123abc
line about date 2026-01-01
# A call takes 12.8 us in user-mode Linux and 0.2 here: 12.6 us, which is 49.21875 of each
# operation in a batch of 256.
line uml '# kernel: 6.1-uml'
rounds uml floor 0 call 0 12700 12800 12900
line host '# kernel: 6.18'
rounds host floor 0 call 0 190 200 230
rounds host floor 0 page 0 900

report
result $? "a report of next to nothing"
equals "what was not measured is null" null compared arm_batch_vs_timerfd reached
equals "and has a reason" "native twheel arm 1000000 256 1: not measured" \
	compared arm_batch_vs_timerfd reason
equals "no goal is met then" null met arm_batch_vs_timerfd

rounds uml twheel 256 arm 1000000 149.21875 159.21875 139.21875
rounds host timerfd 0 arm 1000000 9900 10000 10300
rounds uml twheel 1 random 1000000 13100 13600 13000
rounds uml twheel 256 random 1000000 249.21875 249.21875 249.21875
rounds host timerfd 0 random 1000000 4000 4000 4000
# The better of two batches counts.
rounds host io_uring 256 arm 1000000 900 900 900
rounds host io_uring 1024 arm 1000000 800 800 800
line host io_uring 1024 cancel 100000 1 - 'no time left after 60 s'
rounds uml twheel 256 cancel 100000 99.21875
rounds host timerfd 0 arm 100 3000
line host timerfd 0 arm 100 1 - 'no time'
# A lease is pushed without a call: nothing is taken off.
rounds uml twheel-lease 0 later 1000 20 22 30
rounds host timerfd 0 random 1000 1100 1100 1100
# In 200 there are one call to push back, a read, and a call to arm those that have expired:
# 3 of 200 times 12.6 us is 189 ns.
rounds uml twheel 256 heartbeat 1000000 289
# Another round, in which a call takes 26.4 us: 26.2 us, which is 102.34375 of each operation.
line uml.2 '# kernel: 6.1-uml'
rounds uml.2 floor 0 call 0 26400
rounds uml.2 twheel 256 later 1000000 202.34375
rounds uml twheel 256 later 1000000 149.21875
line situations '# kernel: 6.1'
line situations memory twheel 1000000 65.5
line situations accuracy twheel even p99 1500000
line situations silence "nothing armed" interrupts 0
line situations silence "one" interrupts - 'no counter'
line shared twheel 256 arm 100000 2 77
line shared '# missing: it ended with status 1'
printf '%b' '[6.1 gcc-12]\nrandom\t256\t1000\t940.0\nrandom\t256\t10000000\t987.0\n' \
	'[6.12 gcc-14]\nrandom\t256\t1000\t1.0\n' >"$tmp/insn.txt"

report
result $? "a report of more"
equals "the median of rounds" 200 figure place=host operation=call median
equals "their spread: 40 of 200" 0.2 figure place=host operation=call spread
equals "the kernel" 6.1-uml \
	figure place=native facility=twheel operation=arm batch=256 kernel
equals "the commit" 0123abc figure place=native facility=twheel operation=arm batch=256 commit
equals "what native was made of is left out" "0 figures" \
	figure place=uml facility=twheel operation=arm median
equals "the floor is taken off and put back" 100 \
	figure place=native facility=twheel operation=arm batch=256 median
equals "that of the same round" 100 \
	figure place=native facility=twheel operation=later pending=1000000 high
equals "so rounds agree" 0 \
	figure place=native facility=twheel operation=later pending=1000000 spread
equals "of each operation, if there is no batch" 500 \
	figure place=native facility=twheel operation=random batch=1 median
equals "and as often as a heartbeat has calls" 100 \
	figure place=native operation=heartbeat median
equals "a ratio" 0.01 compared arm_batch_vs_timerfd reached
equals "its goal is met" 1 met arm_batch_vs_timerfd
equals "a ratio to the best batch" 0.125 compared arm_batch_vs_io_uring reached
equals "200 of 4000" 0.05 compared rearm_batch_vs_timerfd reached
equals "its goal is not met" 0 met rearm_batch_vs_timerfd
equals "500 of 4000" 0.125 compared rearm_single_vs_timerfd reached
equals "22 of 1100" 0.02 compared lease_vs_timerfd reached
equals "the program's own reason" \
	"native io_uring cancel 100000 1: no time left after 60 s" \
	compared cancel_vs_io_uring_100k reason
equals "bytes" 65.5 compared bytes_per_timer reached
equals "987 of 940 instructions" 1.05 compared insn_10m_vs_1k reached
equals "a situation that could not be measured" "no counter" \
	results '(grep { $_->{situation} } @{$r->{missing}})[0]{reason}'
equals "a percentile" 1500000 figure situation=even lateness=p99 median
equals "a count" 0 figure situation="nothing armed" median
equals "threads with one descriptor" 77 figure place=shared threads=2 median
equals "a round that failed beside others" "no time" figure place=native pending=100 reason
equals "whose median is that of the others" 3000 figure place=native pending=100 median

"$here/show.pl" "$results" >"$tmp/out" 2>&1
result $? "the table"
check "has the goal, what was reached, and that it is met" \
	grep -qE 'arm, batches of 256 +100 ns +timerfd, its three calls +10 us +1/60 +1/100 +yes' \
	"$tmp/out"
check "and what was not measured" grep -qE 'deliver +timerfd.*1/20 +not measured' "$tmp/out"
check "and why a part has no figures" grep -qx '  shared: it ended with status 1' "$tmp/out"
check "and what nobody can do without" grep -qE '^this machine +200 +900$' "$tmp/out"
check "and why there is none" \
	grep -q '^  push a lease back: native twheel-lease.*: not measured$' "$tmp/out"

printf '%s\n' before '<!-- bench: GOALS -->' old '<!-- bench: end -->' after >"$tmp/page"
"$here/show.pl" "$results" "$tmp/page" >"$tmp/out" 2>&1
result $? "the table in a page"
cp "$tmp/page" "$tmp/out"
check "replaces the old one" sh -c "! grep -q old '$tmp/page'"
check "and leaves the rest" test "$(sed -n '1p;$p' "$tmp/page")" = $'before\nafter'
check "with a row for a goal" grep -q '^| arm, batches of 256 | 100 ns |.*| yes |$' "$tmp/page"

printf '%s\n' '<!-- bench: DEVICE -->' '<!-- bench: end -->' >"$tmp/page"
"$here/show.pl" "$results" "$tmp/page"
check "a few of them without their limits" \
	grep -q '^| arm, batches of 256 | 100 ns | timerfd, its three calls | 10 us |$' "$tmp/page"

if command -v gnuplot >/dev/null; then
	"$here/plot.pl" "$results" "$tmp" >"$tmp/out" 2>&1
	result $? "plots"
	check "are drawn of what there is" grep -q 'twheel, batches of 256' "$tmp/cost.svg"
	: >"$tmp/none.tsv"
	"$here/plot.pl" "$tmp/none.tsv" "$tmp" >"$tmp/out" 2>&1
	[ ! -e "$tmp/cost.svg" ] && grep -q 'not drawn: cost' "$tmp/out"
	result $? "and not of what there is not"
else
	skip "plots" "there is no gnuplot"
fi

# What is kept is as report.pl would write it, and goals are about figures that there are.
for kept in "$here"/*.tsv; do
	check "${kept##*/}: every line has all columns" awk -F '\t' '
		/^#/ { next }
		!columns { columns = NF }
		NF != columns || /[ \t]$/ { bad = 1 }
		END { exit bad || NR < 100 }' "$kept"
done

# Wheels in the process have results of their own.
run=$tmp/process
mkdir "$run"
line about commit 4567def
line about form process
for round in 1 2 3; do
	line process.$round embedded 1 fill 100000 1 ${round}9
	line process.$round embedded 1 arm 100000 1 ${round}0
	line process.$round libuv 0 arm 100000 1 5${round}
	line apart.$round embedded 1 arm 100000 2 7${round}
	line together.$round embedded 1 arm 100000 2 9${round}
	line together.$round embedded-threads 1 arm 100000 2 5${round}
done
report
result $? "a report of wheels in the process"
equals "the median of rounds, each in a part of its own" 20 \
	figure place=process facility=embedded operation=arm median
equals "threads with a context each" 72 figure place=apart median
equals "and with one" 92 figure place=together facility=embedded median
equals "that is for threads" 52 figure place=together facility=embedded-threads median
printf '%s\n' '<!-- bench: BESIDE -->' '<!-- bench: end -->' \
	'<!-- bench: PROCESS -->' '<!-- bench: end -->' \
	'<!-- bench: GOALS -->' kept '<!-- bench: end -->' >"$tmp/page"
"$here/show.pl" "$results" "$tmp/page" >"$tmp/out" 2>&1
result $? "pages get them"
check "the first fill apart" test "$(grep -c '^| twheel, one at a time | 29 | 20 |$' "$tmp/page")" = 2
check "beside others" test "$(grep -c '^| libuv |  | 52 |$' "$tmp/page")" = 2
check "where it is ahead" grep -q '^| twheel, one at a time | 1 of 1 |' "$tmp/page"
check "and threads" grep -q '^| one at a time: arm | 72 | 92 | 52 |$' "$tmp/page"
check "the device's goals stay as they are" grep -q '^kept$' "$tmp/page"
"$here/show.pl" "$results" >"$tmp/out" 2>&1
check "a terminal, too" grep -q '^twheel, one at a time  *29  *20 *$' "$tmp/out"
run=$tmp/run

line host twheel 256 nonsense
! report && grep -q 'host:.*: no such line: twheel' "$tmp/out"
result $? "a line that nobody knows is refused"

finish
