#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test_report.sh - does the report say what was measured? From lines made by hand, whose
# medians and ratios are easily worked out.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tap.sh"

run=$tmp/run
mkdir "$run"

# line FILE FIELD... - add a line with tabs in it
line() {
	local file=$run/$1 IFS=$'\t'
	shift
	echo "$*" >>"$file"
}

# rounds FILE FACILITY BATCH OPERATION PENDING NS... - a line a round
rounds() {
	local i file=$1 facility=$2 batch=$3 operation=$4 pending=$5
	shift 5
	for ((i = 1; $#; i++)); do
		line "$file" "$facility" "$batch" "$operation" "$pending" 1 $i "$1"
		shift
	done
}

# value PATH - of results.json, with a path of keys: ratios arm_batch_vs_timerfd
value() {
	perl -MJSON::PP -e '
		local $/;
		my $at = decode_json(<STDIN>);
		$at = ref $at eq "ARRAY" ? $at->[$_] : $at->{$_} for @ARGV;
		print defined $at ? $at : "null", "\n"' "$@" <"$tmp/results.json"
}

# figure KEY=VALUE... FIELD - a field of the one figure that is so
figure() {
	perl -MJSON::PP -e '
		local $/;
		my $field = pop;
		my @found = @{decode_json(<STDIN>)->{figures}};
		for (@ARGV) {
			my ($key, $value) = split /=/, $_, 2;
			@found = grep { ($_->{$key} // "") eq $value } @found;
		}
		print @found == 1 ? $found[0]{$field} : scalar(@found) . " figures", "\n"' "$@" \
		<"$tmp/results.json"
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
	"$here/report.pl" "$run" >"$tmp/results.json" 2>"$tmp/out"
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

report
result $? "a report of next to nothing"
equals "what was not measured is null" null value ratios arm_batch_vs_timerfd
equals "and has a reason" "native twheel arm 1000000 256 1: not measured" \
	value reasons arm_batch_vs_timerfd
equals "so has what a whole part is missing for" 'memory twheel 1000000: no part "situations"' \
	value reasons bytes_per_timer
equals "no goal is met then" null value goals 0 met

rounds uml twheel 256 arm 1000000 149.21875 159.21875 139.21875
rounds host timerfd 0 arm 1000000 9900 10000 10300
rounds uml twheel 1 random 1000000 13100 13600 13000
rounds uml twheel 256 random 1000000 249.21875 249.21875 249.21875
rounds host timerfd 0 random 1000000 4000 4000 4000
# The better of two batches counts.
rounds host io_uring 256 arm 1000000 900 900 900
rounds host io_uring 1024 arm 1000000 800 800 800
line host io_uring 1024 cancel 100000 1 1 - 'no time left after 60 s'
rounds uml twheel 256 cancel 100000 99.21875
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
line situations hold 10000 median 20000
line situations hold 1000000 median 21000
line situations accuracy twheel even p99 1500000
line situations silence "nothing armed" interrupts 0
line situations hold 1000000 longest - 'no tracer'
line insn random 256 1000 940.0
line insn random 256 10000000 987.0

report
result $? "a report of more"
equals "the median of rounds" 149.2 \
	figure place=uml facility=twheel operation=arm batch=256 median
equals "their spread: 20 of 149.2" 0.134 \
	figure place=uml facility=twheel operation=arm batch=256 spread
equals "the kernel" 6.1-uml figure place=uml facility=twheel operation=arm batch=256 kernel
equals "the commit" 0123abc figure place=uml facility=twheel operation=arm batch=256 commit
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
equals "a ratio" 0.01 value ratios arm_batch_vs_timerfd
equals "its goal is met" 1 value goals 0 met
equals "a ratio to the best batch" 0.125 value ratios arm_batch_vs_io_uring
equals "200 of 4000" 0.05 value ratios rearm_batch_vs_timerfd
equals "its goal is not met" 0 value goals 2 met
equals "500 of 4000" 0.125 value ratios rearm_single_vs_timerfd
equals "22 of 1100" 0.02 value ratios lease_vs_timerfd
equals "the program's own reason" \
	"native io_uring cancel 100000 best 1: no time left after 60 s" \
	value reasons cancel_vs_io_uring_100k
equals "bytes" 65.5 value ratios bytes_per_timer
equals "21 of 20 us" 1.05 value ratios hold_1m_vs_10k
equals "987 of 940 instructions" 1.05 value ratios insn_10m_vs_1k
equals "a situation that could not be measured" "no tracer" value missing 0 reason
equals "a percentile" 1500000 figure situation=even lateness=p99 median
equals "a count" 0 figure situation="nothing armed" median
equals "all ratios are there" 13 sh -c "sed -n '/\"ratios\"/,/}/p' '$tmp/results.json' |
	grep -c '_'"

"$here/show.pl" "$tmp/results.json" >"$tmp/out" 2>&1
result $? "the table"
check "has the goal, what was reached, and that it is met" \
	grep -qE 'arm, batches of 256 +100 ns +timerfd, its three calls +10 us +1/100 +1/100 +yes' \
	"$tmp/out"
check "and what was not measured" grep -qE 'deliver +timerfd.*1/20 +not measured' "$tmp/out"

printf '%s\n' before '<!-- bench: GOALS -->' old '<!-- bench: end -->' after >"$tmp/page"
"$here/show.pl" "$tmp/results.json" "$tmp/page" >"$tmp/out" 2>&1
result $? "the table in a page"
cp "$tmp/page" "$tmp/out"
check "replaces the old one" sh -c "! grep -q old '$tmp/page'"
check "and leaves the rest" test "$(sed -n '1p;$p' "$tmp/page")" = $'before\nafter'
check "with a row for a goal" grep -q '^| arm, batches of 256 | 100 ns |.*| yes |$' "$tmp/page"

printf '%s\n' '<!-- bench: DEVICE -->' '<!-- bench: end -->' >"$tmp/page"
"$here/show.pl" "$tmp/results.json" "$tmp/page"
check "a few of them without their limits" \
	grep -q '^| arm, batches of 256 | 100 ns | timerfd, its three calls | 10 us |$' "$tmp/page"

if command -v gnuplot >/dev/null; then
	"$here/plot.pl" "$tmp/results.json" "$tmp" >"$tmp/out" 2>&1
	result $? "plots"
	check "are drawn of what there is" grep -q 'twheel, batches of 256' "$tmp/cost.svg"
	check "and not of what there is not" grep -q 'not drawn: cost-guest' "$tmp/out"
else
	skip "plots" "there is no gnuplot"
fi

# Wheels in the process have results of their own.
run=$tmp/process
mkdir "$run"
line about commit 4567def
line about form process
for round in 1 2 3; do
	line process.$round embedded 1 arm 100000 1 1 ${round}0
	line process.$round libuv 0 arm 100000 1 1 5${round}
	line apart.$round embedded 1 arm 100000 2 1 7${round}
	line together.$round embedded 1 arm 100000 2 1 9${round}
done
report
result $? "a report of wheels in the process"
equals "the median of rounds, each in a part of its own" 20 \
	figure place=process facility=embedded median
equals "threads with a context each" 72 figure place=apart median
equals "and with one" 92 figure place=together median
printf '%s\n' '<!-- bench: BESIDE -->' '<!-- bench: end -->' \
	'<!-- bench: PROCESS -->' '<!-- bench: end -->' \
	'<!-- bench: GOALS -->' kept '<!-- bench: end -->' >"$tmp/page"
"$here/show.pl" "$tmp/results.json" "$tmp/page" >"$tmp/out" 2>&1
result $? "pages get them"
check "beside others" test "$(grep -c '^| libuv | 52 |' "$tmp/page")" = 2
check "and threads" grep -q '^| one at a time: arm |  | 72 | 92 |$' "$tmp/page"
check "the device's goals stay as they are" grep -q '^kept$' "$tmp/page"
"$here/show.pl" "$tmp/results.json" >"$tmp/out" 2>&1
check "a terminal, too" grep -q '^twheel, one at a time  *20 *$' "$tmp/out"
run=$tmp/run

line host twheel 256 nonsense
! report && grep -q 'host:.*: no such line: twheel' "$tmp/out"
result $? "a line that nobody knows is refused"

finish
