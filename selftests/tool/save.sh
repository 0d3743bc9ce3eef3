#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# save.sh - do timers survive in a file, also while the module is replaced?
#
# What is wrong with a file is found out without a device. Where this runs as root in a guest
# (TWHEEL_KO says where the module is) the module is unloaded and loaded between.

. "$(dirname "$0")/programs.sh"

file=$tmp/saved
good=$tmp/good

# checksum FILE - as cksum, which not every busybox has
checksum() {
	crc=0 len=$(wc -c <"$1")
	for byte in $(od -An -v -tu1 "$1") end; do
		# Behind the bytes comes their number, the lowest byte of it first.
		while [ "$byte" = end ] && [ "$len" -gt 0 ]; do
			crc=$(step $((len & 255)))
			len=$((len >> 8))
		done
		[ "$byte" = end ] || crc=$(step "$byte")
	done
	echo $((crc ^ 0xffffffff))
}

# step BYTE - $crc with another byte
step() {
	step=$((crc ^ $1 << 24))
	for _ in 1 2 3 4 5 6 7 8; do
		step=$(((step << 1 ^ (step >> 31) * 0x04c11db7) & 0xffffffff))
	done
	echo $step
}

# add_end FILE - give it its last line
add_end() {
	echo "end $(checksum "$1")" >>"$1"
}

# wrong NAME LINE MESSAGE - a test that passes if load says this of the file, and of that line
wrong() {
	run twheel load --fd 9 "$file"
	[ "$status" = 1 ] && [ "$(wc -l <"$tmp/out")" = 1 ] &&
		said "^twheel: load: $file, line $2: .*$3"
	result $? "$1"
}

boot=$(cat /proc/sys/kernel/random/boot_id)
head="twheel-timers 1 clock=monotonic config=keyed boot=$boot"
printf '%s\n' "$head timers=2" "18446744073709551615 7 8100000000000000 0 0 1 -" \
	"3 8 9000000000000000 5000000000 4096 0 fixed-delay" >"$good"
add_end "$good"

if command -v cksum >/dev/null; then
	check "the checksum is that of cksum" \
		test "$(sed '$d' "$good" | cksum | cut -d' ' -f1)" = "$(sed -n 's/^end //p' "$good")"
fi
refuses 2 'which descriptor' save "$file"
refuses 2 'takes one file, and 0 were' load --fd 3
refuses 2 'takes one file, and 2 were' save --fd 3 a b
refuses 2 'drain is an option of save' load --fd 3 --drain a
refuses 1 'No such file' load --fd 3 "$file"
refuses 1 'descriptor 77: Bad file descriptor' load --fd 77 "$good"
refuses 1 'not a twheel device' save --fd 0 "$file" </dev/null
mkfifo "$tmp/fifo"
refuses 1 'it is no regular file, and is not replaced' save --fd 77 "$tmp/fifo"
ln -s good "$tmp/link"
refuses 1 'it is no regular file' save --fd 77 "$tmp/link"
refuses 1 'it is no regular file' save --fd 77 "$tmp"
rm "$tmp/fifo" "$tmp/link"
check "no file is left of that" test "$(cd "$tmp" && echo saved*)" = 'saved*'

: >"$file"
wrong "an empty file" 1 'ends too soon'
cp /etc/passwd "$file"
wrong "another file" 1 'does not begin with .twheel-timers 1.'
check "a file without end, before it takes all memory" sh -c \
	'ulimit -v 200000 && twheel load --fd 9 /dev/zero 2>&1 | grep -q "line 1: it does not"'
sed 's/timers 1/timers 2/' "$good" >"$file"
wrong "a later version" 1 'does not begin with'
sed 's/monotonic/sundial/' "$good" >"$file"
wrong "an unknown clock" 1 "'sundial' is no clock"
sed 's/keyed/keyed,newer/' "$good" >"$file"
wrong "an unknown setting" 1 "'newer' is no known setting"
for config in keyed,,keyed ,keyed 'keyed,'; do
	sed "s/config=keyed/config=$config/" "$good" >"$file"
	wrong "config=$config" 1 "'' is no known setting"
done
sed 's/config=keyed/config=keyed,keyed/' "$good" >"$file"
wrong "a setting that is there twice" 1 "'keyed' is no known setting, or comes again"
for count in -2 +2 18446744073709551616 18446744073709551618 2x; do
	sed "s/timers=2/timers=$count/" "$good" | sed '$d' >"$file"
	add_end "$file"
	wrong "timers=$count" 1 'no clock=, config=, boot= and timers='
done
sed '2s/ 0 1 -/ 0 1/' "$good" >"$file"
wrong "a field is missing" 2 'something is missing'
sed '3s/$/ 1/' "$good" >"$file"
wrong "a field too many" 3 'there is more'
sed '2s/8100000000000000/-8100000000000000/' "$good" >"$file"
wrong "a negative number" 2 "'-8100000000000000' is not a deadline"
sed '2s/8100000000000000/9223372036854775808/' "$good" >"$file"
wrong "a deadline that is too far" 2 'is not a deadline'
sed '3s/fixed-delay/fixed-delay,fixed/' "$good" >"$file"
wrong "an unknown flag" 3 "'fixed' is no flag"
sed '2s/8100000000000000/9100000000000000/' "$good" >"$file"
wrong "a digit was changed" 4 'checksum'
sed 2d "$good" >"$file"
wrong "a line was removed" 3 'checksum'
sed '$d' "$good" >"$file"
wrong "the end was cut off" 4 'ends too soon'
sed '$s/..$//' "$good" >"$file"
wrong "in its last line" 4 'checksum'
for end in 's/$/ junk/' 's/ //' 's/ /  /' 's/ / 0/' 's/ / +/'; do
	sed "\$$end" "$good" >"$file"
	wrong "in its last line, $end" 4 'checksum'
done
printf '%s\n' "$head timers=3" >"$file"
add_end "$file"
wrong "fewer timers than the first line says" 2 '0 timers, and line 1 says 3'
{ cat "$good"; echo more; } >"$file"
wrong "more after the end" 5 'more after the end'

if [ ! -e /dev/twheel ]; then
	skip "timers are saved and armed again" "there is no device"
	finish
fi

# armed FD - how many timers a descriptor has
armed() {
	twheel info --fd "$1" | sed -n 's/^timers  *\([0-9]*\) pending.*/\1/p'
}

# facts FD - what is to stay the same of each of its timers
facts() {
	twheel list --json --fd "$1" | sed 's/"fd":[0-9]*,//; s/"handle":[0-9]*,//; s/"remaining":[0-9]*,//' | sort
}

exec 9<>/dev/twheel
run twheel load --fd 9 "$good"
check "a new descriptor takes the settings and the timers of a file" test "$status" = 0
check "and says how many there were" said '^2 timers$'
run twheel list --fd 9
check "they have keys" said '^ *18446744073709551615 .* 7 '
check "and intervals" said '^ *3 .* 5 s .*fixed-delay$'
run twheel load --fd 9 "$good"
check "not a second time" said "good, line 2: File exists: nothing was armed"
check "so there are as many as before" test "$(armed 9)" = 2
printf '%s\n' "$head timers=3" "5 0 8100000000000000 0 0 1 -" "6 0 8100000000000000 0 0 9 -" \
	"7 0 8100000000000000 0 0 1 -" >"$file"
add_end "$file"
run twheel load --fd 9 "$file"
check "a timer that cannot be armed is named" said "saved, line 3: Invalid argument: nothing was"
check "and none is armed, be it before or behind it" test "$(armed 9)" = 2
sed 's/monotonic/boottime/' "$good" | sed '$d' >"$file"
add_end "$file"
run twheel load --fd 9 "$file"
check "a descriptor with another clock is refused" said 'in use, with other settings'
sed "s/$boot/c0ffee/" "$good" | sed '$d' >"$file"
add_end "$file"
exec 8<>/dev/twheel
run twheel load --fd 8 "$file"
check "so are the timers of another boot" said 'from before the machine was booted: clock monotonic'
sed 's/monotonic/realtime/' "$file" | sed '$d' >"$tmp/wall"
add_end "$tmp/wall"
run twheel load --fd 8 "$tmp/wall"
check "but not in wall time" test "$status" = 0
exec 8>&-

# interrupted COUNT VERB... - have a signal come as soon as there are not so many timers any more.
# Are there all of the file, or none?
interrupted() {
	from=$1
	shift
	twheel "$@" --fd 8 "$file" >"$tmp/out" 2>&1 &
	pid=$!
	tries=0
	while [ "$(armed 8)" = "$from" ] && [ $((tries += 1)) -lt 1000 ]; do :; done
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	echo "$(armed 8) timers" >"$tmp/out"
	said '^\(0\|100000\) timers$'
}

# A file of many timers: those of a process that has them
# shellcheck disable=SC2046 # words
twheel arm $(seq 100000 | sed 's/$/000s/') >"$tmp/arm" 2>&1 8>&- 9>&- &
pid=$!
await prints 1 ' 100000 ' twheel ps
fd=$(twheel ps | sed -n 's/.* \([0-9]*\) monotonic *100000 .*/\1/p')
run twheel save --pid $pid --fd "$fd" "$file"
check "a file of many timers" said '^100000 timers$'
kill $pid
wait $pid 2>/dev/null
exec 8<>/dev/twheel
check "a signal that comes while all are loaded leaves all, or none" interrupted 0 load
[ "$(armed 8)" != 0 ] || twheel load --fd 8 "$file" >"$tmp/out"
check "so it does while all are drained" interrupted 100000 save --drain
check "and no part of a file" test "$(echo "$file"*)" = "$file"
exec 8>&-

# Of another process, without keys
twheel arm 1h 2h 3h --every 90s --count 12 --clock boottime >"$tmp/arm" 2>&1 9>&- &
pid=$!
await prints 3 ' 90 s ' twheel list --pid $pid
fd=$(twheel list --pid $pid | sed -n 's/.*descriptor \([0-9]*\):.*/\1/p')
twheel list --pid $pid --fd "$fd" --json | sed 's/"pid":[0-9]*,//' >"$tmp/list"
run twheel save --drain --pid $pid --fd "$fd" "$file"
check "the timers of another process are drained into a file" said '^3 timers$'
check "and are in it only" prints 0 ' 90 s ' twheel list --pid $pid
check "the file is nobody else's" test "$(stat -c %a "$file")" = 600
kill $pid
wait $pid 2>/dev/null

facts 9 >"$tmp/before"
refuses 1 "$tmp/no/such: No such file or directory" save --fd 9 --drain "$tmp/no/such"
check "and what could not be saved is not drained" test "$(armed 9)" = 2
run twheel save --fd 9 "$good"
check "a descriptor's are saved" said '^2 timers$'
check "and stay" test "$(armed 9)" = 2
exec 9>&-

# On a disk that has room for one file, and not for the next one beside it
mkdir "$tmp/disk"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=4k none "$tmp/disk" 2>"$tmp/mount"; then
	exec 8<>/dev/twheel
	run twheel load --fd 8 "$good"
	facts 8 >"$tmp/armed"
	refuses 1 'No space left on device: 2 timers were armed again, 0 could not be' \
		save --fd 8 --drain "$tmp/disk/saved"
	facts 8 >"$tmp/after"
	check "what was drained and could not be saved is as it was" cmp "$tmp/armed" "$tmp/after"
	exec 8>&-
	umount "$tmp/disk"
else
	skip "the disk is full after the timers were drained" "it takes root"
fi

ko=${TWHEEL_KO:-/lib/modules/twheel.ko}
if [ "$(id -u)" = 0 ] && [ -e "$ko" ] && rmmod twheel 2>"$tmp/rmmod"; then
	check "the module is gone" test ! -e /dev/twheel
	check "and comes back" insmod "$ko"
else
	skip "the module is replaced" "it takes root, a module in $ko, and nobody who uses it"
fi

exec 9<>/dev/twheel
run twheel load --fd 9 "$good"
facts 9 >"$tmp/after"
check "the timers are the same" cmp "$tmp/before" "$tmp/after"
exec 8<>/dev/twheel
status=0
twheel load --map --fd 8 "$file" 2>"$tmp/out" >/dev/full || status=$?
check "handles that cannot be told: nothing stays armed" test "$status" = 1 -a "$(armed 8)" = 0
{
	# Until the reader has gone
	(
		trap '' PIPE
		while echo; do sleep 0.1; done
	)
	ended=0
	twheel load --map --fd 8 "$file" || ended=$?
	echo "$ended" >"$tmp/status"
} 2>"$tmp/out" | true
check "nor if who is to read them has gone" test "$(cat "$tmp/status")" = 1 -a "$(armed 8)" = 0
run twheel load --map --fd 8 "$file"
check "also those without keys" test "$status" = 0 -a "$(armed 8)" = 3
check "and their handles are told" test "$(grep -c '^[1-9][0-9]* [1-9][0-9]*$' "$tmp/out")" = 3
facts 8 >"$tmp/after"
sed 's/"fd":[0-9]*,//; s/"handle":[0-9]*,//; s/"remaining":[0-9]*,//' "$tmp/list" | sort >"$tmp/before"
check "all that was listed of them is as it was" cmp "$tmp/before" "$tmp/after"

# A deadline that has passed meanwhile
printf '%s\n' "$head timers=1" "5 0 1 0 0 1 -" >"$file"
add_end "$file"
run twheel load --fd 9 "$file"
check "what came due in the file expires at once" \
	await prints 1 '^timers .* 1 ready' twheel info --fd 9
run twheel save --fd 9 "$file"
check "and an expired timer is told of, as it is not saved" \
	said 'save: 1 timers have expired, .* not saved'
finish
