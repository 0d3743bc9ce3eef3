#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh - boot a guest, load twheel.ko, run a command there, judge the run
#
# usage: run.sh [-c cpus] [-m megabytes] [-t seconds] [-a 'kernel arguments']
#		[-o 'module parameters'] [-M module.ko] [-s file] [-d folder] [-D file] [-n] [-l] [-i]
#		[-I] [-p plugin] [-b] [--] command...
#
#	-n  do not load the module
#	-l  do not look for leaks of memory, which takes a debug kernel a minute
#	-t  how long the guest may take once it has booted: 300 seconds, unless told
#	-i  interactive: the command (a shell, if there is none) gets the terminal
#	-M  another module than build/module/RELEASE/twheel.ko, or with VARIANT=v (kcov,
#	    debug) build/module/RELEASE-v/twheel.ko
#	-d  give the guest this folder too, below /twheel
#	-D  a disk (virtio) with the file's contents; what the guest writes there is lost
#	-s  share the file's memory, 1 MB of it, as a device (ivshmem)
#	-I  count instructions: the guest has one CPU, emulated even where there is KVM, and
#	    its time is the instructions that it has executed, one of them a nanosecond
#	-p  load this plugin (with its arguments) into the emulator; goes with -I
#	-b  start the kernel as boot loaders do. Where it was unpacked before it does not wake
#	    from a sleep to memory
#
# With HOG in the environment the guest's CPUs stand still now and then: see check.sh.
#
# The command is a line for the guest's sh; what it prints comes out as it is
# printed. The exit status is that of the command, or
#
#	124  the time limit was reached
#	125  the kernel complained in its log, or the module did not go
#	126  the guest did not boot, or ended before it gave a verdict
#
# A boot that dies before init is tried again, twice at most: emulators do that
# now and then. It is said when it happens.

. "$(dirname "$0")/common.sh"
. "$vm/log.sh"

cpus=${CPUS:-2} mem=1024 limit=300 append='' params='' module='' insmod=1 leaks=1 devices=()
folders=() interactive=0 count=0 plugin='' unpack=1

while getopts c:m:t:a:o:M:s:d:D:p:nliIb opt; do
	case $opt in
	c)	cpus=$OPTARG ;;
	m)	mem=$OPTARG ;;
	t)	limit=$OPTARG ;;
	a)	append=$OPTARG ;;
	o)	params=$OPTARG ;;
	M)	module=$OPTARG ;;
	d)	folders+=("$OPTARG") ;;
	D)	devices+=(-drive "file=$OPTARG,format=raw,if=virtio,snapshot=on") ;;
	s)	devices+=(-object "memory-backend-file,id=shared,share=on,mem-path=$OPTARG,size=1M"
			 -device "ivshmem-plain,memdev=shared") ;;
	n)	insmod=0 ;;
	l)	leaks=0 ;;
	i)	interactive=1 leaks=0 limit=0 ;;
	I)	count=1
		[ "$arch" = amd64 ] || die "-I is for guests that are this kind of machine" ;;
	p)	plugin=$OPTARG ;;
	b)	unpack=0 ;;
	*)	usage ;;
	esac
done
shift $((OPTIND - 1))
[ -z "$plugin" ] || [ "$count" = 1 ] || usage
[ $# -gt 0 ] || { [ "$interactive" = 1 ] && set -- exec sh -l; } || usage

# What takes seconds elsewhere may take minutes on a debug kernel.
case ${KERNEL-} in
kasan)	slow=5 ;;
kcsan)	slow=3 ;;
arm64)	slow=2 ;;
*)	slow=1 ;;
esac
limit=$((limit * slow))

# What differs by the guests' kind of machine. An arm64 one has its ports on a card, but for
# the log's: the names are the same.
case $arch in
amd64)
	emulator=qemu-system-x86_64 machine=(-machine pc) model=max console=ttyS0
	ports=(-serial chardev:log -serial chardev:stdio -serial chardev:verdict)
	own="tsc=reliable unknown_nmi_panic=1" ;;
arm64)
	# It has atomic instructions (LSE), and no pointer authentication, which is slow to emulate.
	emulator=qemu-system-aarch64 machine=(-machine virt) model=neoverse-n1 console=ttyAMA0
	ports=(-serial chardev:log -chardev "null,id=none" -chardev "null,id=rest"
	       -device "pci-serial-4x,chardev1=none,chardev2=stdio,chardev3=verdict,chardev4=rest")
	own='' ;;
esac
machine+=(-nodefaults -no-user-config -display none -no-reboot)

qemu=${QEMU:-$emulator}
kernel=$("$vm/kernel.sh")
image=$kernel/vmlinuz
busybox=$kernel/busybox
[ "$arch" != amd64 ] || busybox=$(command -v busybox) || die "there is no busybox"
module=${module:-$build/module/$(cat "$kernel/release")${VARIANT:+-$VARIANT}/twheel.ko}
[ "$insmod" = 0 ] || [ -e "$module" ] || die "no $module: run make first"

own+=" $(cat "$vm/config/${KERNEL-}.append" 2>/dev/null)" || :
tmp=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
log=$tmp/kernel.log verdict=$tmp/verdict

# A program that is not static brings its libraries.
add_with_libraries() {
	local file
	cp "$1" "$2"
	ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r file; do
		mkdir -p "$2/../${file%/*}"
		cp -L "$file" "$2/../$file"
	done
}

# What the guest sees: the build products keep their places, below /twheel.
make_initramfs() {
	local root=$tmp/root size dir ko

	mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,etc,root,vm,lib/modules,twheel/bin}
	# Its other names come in the guest: here each would take a process.
	cp "$busybox" "$root/bin/busybox"
	ln -s busybox "$root/bin/sh"
	cp "$vm/init" "$root/init"
	printf '%s\n' root:x:0:0::/root:/bin/sh nobody:x:65534:65534::/tmp:/bin/sh \
		>"$root/etc/passwd"
	printf '%s\n' root:x:0: nogroup:x:65534: >"$root/etc/group"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"

	if [ "$arch" = amd64 ] && command -v wrk >/dev/null; then
		add_with_libraries "$(command -v wrk)" "$root/bin"
	fi
	[ ! -d "$build/guest/bin" ] || cp "$build"/guest/bin/* "$root/twheel/bin/"
	for dir in "$build"/selftests/*/ "${folders[@]}"; do
		[ ! -d "$dir" ] || cp -r "$dir" "$root/twheel/"
	done
	cp "$top/selftests/ktap-run.sh" "$root/twheel/"
	[ -z "${HOG-}" ] || [ "$count" = 1 ] || cp "$build/hog" "$root/vm/"
	for ko in "$module" "$build/splat/$(cat "$kernel/release")/splat.ko"; do
		[ ! -e "$ko" ] || cp "$ko" "$root/lib/modules/"
	done

	printf '%s\n' "$*" >"$root/vm/command"
	size=$(stty size 2>/dev/null </dev/tty || echo 24 80)
	cat >"$root/vm/config" <<-END
		insmod=$insmod leaks=$leaks interactive=$interactive terminal=$terminal
		rows=${size% *} cols=${size#* } params='${params//\'/}'
	END

	(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$tmp/initramfs"
}

# /dev/kvm may be there and yet run no guest, or hang it: see it for ourselves,
# with a kernel that has no root file system to mount and so panics at once.
kvm_works() {
	[ -w /dev/kvm ] &&
	(ulimit -c 0; timeout -k 1 8 "$qemu" "${machine[@]}" -accel kvm -cpu host -smp 2 -m 256 \
		-kernel "$kernel/vmlinuz" -append "console=ttyS0 panic=-1" \
		-serial "file:$tmp/probe" </dev/null) >/dev/null 2>&1 &&
	grep -q 'Kernel panic - not syncing: VFS' "$tmp/probe"
}

kvm_or_tcg() {
	if kvm_works; then echo kvm; else echo tcg; fi
}

counter_khz() {
	gcc -O2 -o "$tmp/tsc" "$vm/tsc.c" && "$tmp/tsc"
}

# remembered NAME COMMAND... - what a command prints, which is kept for as long as this machine is
# up. Other guests that start at the same time ask for it, too.
remembered() {
	local boot file
	boot=$(cat /proc/sys/kernel/random/boot_id)
	file=$cache/kvm/$1-$boot-$(id -u)
	shift
	if [ ! -e "$file" ]; then
		mkdir -p "$cache/kvm"
		find "$cache/kvm" -type f ! -name "*$boot*" -exec rm -f {} + 2>/dev/null || :
		"$@" >"$file.$$" && mv "$file.$$" "$file"
	fi
	cat "$file"
}

# An emulated guest's counter is this machine's. It is told the rate: measuring it
# against another clock fails on a busy machine, and then its time runs too fast.
clock_rate() {
	local khz hz
	khz=$(remembered khz counter_khz)
	hz=$(sed -n 's/^CONFIG_HZ=//p' "$kernel/config")
	own+=" tsc_early_khz=$khz lpj=$((khz * 1000 / hz))"
}

# Time is what the emulator has executed, whatever this machine does meanwhile. The
# counter and the loop of delays go by that, too, so nothing is left to be measured. Chance
# is the same in each run. The emulator counts each round of `rep movsb` as an instruction,
# so the kernel shall copy by ordinary ones.
count_instructions() {
	local hz
	accel=(-accel "tcg,thread=single" -cpu "max,-erms,-fsrm" -icount "shift=0,sleep=off"
	       -rtc "base=2026-01-01T00:00:00,clock=vm" -seed 1)
	[ -z "$plugin" ] || accel+=(-plugin "$plugin")
	qemu=${QEMU:-$("$vm/qemu.sh")} || exit 126
	hz=$(sed -n 's/^CONFIG_HZ=//p' "$kernel/config")
	own+=" tsc_early_khz=1000000 lpj=$((1000000000 / hz)) nokaslr"
	cpus=1
}

# To unpack a kernel that is compressed by xz takes an emulated guest as long as the rest of its boot.
# So that is done here, once, for one that can be started as it is (PVH). Where what is compressed
# begins, and how long it is, says its head: see The Linux/x86 Boot Protocol, payload_offset.
unpack_kernel() {
	local kept=$kernel/image packed=$kernel/vmlinuz start length
	[[ "$kernel" = "$cache"/* && "$arch" = amd64 ]] || return 0
	if [ ! -e "$kept" ]; then
		grep -qx CONFIG_PVH=y "$kernel/config" && grep -qx CONFIG_KERNEL_XZ=y "$kernel/config" &&
			command -v xz >/dev/null || return 0
		start=$((($(number 0x1f1 1) + 1) * 512 + $(number 0x248 4)))
		length=$(($(number 0x24c 4)))
		head -c "$((start + length))" "$packed" | tail -c "$length" |
			xz -dc --single-stream >"$kept.$$" 2>/dev/null || { rm -f "$kept.$$"; return 0; }
		mv "$kept.$$" "$kept"
	fi
	image=$kept
}

# number AT BYTES - what the head of the kernel has there
number() {
	od -A n -t "u$2" -j "$1" -N "$2" "$kernel/vmlinuz"
}

accelerator() {
	local answer
	if [ "$arch" != amd64 ]; then
		accel=(-accel "tcg,thread=multi" -cpu "$model")
		qemu=${QEMU:-$("$vm/qemu.sh")} || exit 126
		return
	fi
	answer=$(remembered accelerator kvm_or_tcg)
	case $answer in
	kvm)	accel=(-accel kvm -cpu host) ;;
	*)	accel=(-accel "tcg,thread=multi" -cpu "$model")
		qemu=${QEMU:-$("$vm/qemu.sh")} || exit 126
		[ "$unpack" = 0 ] || unpack_kernel
		clock_rate ;;
	esac
}

# What is a guest doing that does not come to its end? The emulator tells where its
# CPUs are; an NMI makes the kernel tell it of all its tasks, and panic.
look_inside() {
	local i

	{
		echo "state of the CPUs:"
		echo 'info registers -a' 1<>"$tmp/monitor.in"
		timeout 3 cat "$tmp/monitor.out" | tr -d '\r' | grep -E '^CPU#|^RIP=|^ PC=' || :
		echo nmi 1<>"$tmp/monitor.in"
		for ((i = 0; i < 600; i++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		echo "what it was doing, but for idle threads of the kernel:"
		tail -c "+$(stat -c %s "$tmp/before")" "$log" | awk -f "$vm/tasks.awk"
	} >"$tmp/inside"
}

# goes_on FD - wait for a second, or for the end of what is read there: is it the second?
goes_on() {
	local status=0
	read -r -t 1 -u "$1" || status=$?
	[ "$status" -gt 128 ]
}

# Start a guest and wait for it. Its verdict and its log are left in files.
boot() {
	local stdio=stdio,id=stdio started='' quiet now size='' before ends

	: >"$verdict"
	: >"$log"
	# The emulator has the other end of this, which tells when it is gone.
	rm -f "$tmp/ends"
	mkfifo "$tmp/ends"
	[ "$interactive" = 0 ] || stdio+=,signal=off
	"$qemu" "${machine[@]}" "${accel[@]}" -smp "$cpus" -m "$mem" "${devices[@]}" \
		-kernel "$image" -initrd "$tmp/initramfs" \
		-append "console=$console panic=-1 oops=panic printk.devkmsg=on panic_print=0x41 $own $append" \
		-chardev "file,id=log,path=$log" -chardev "$stdio" \
		-chardev "file,id=verdict,path=$verdict" \
		"${ports[@]}" \
		-chardev "pipe,id=monitor,path=$tmp/monitor" -mon monitor \
		<&"$input" 9>"$tmp/ends" &
	pid=$!
	disown
	exec {ends}<"$tmp/ends"

	while goes_on "$ends"; do
		# The time of day, which is what bash would go by, may be set.
		read -r now _ </proc/uptime
		now=${now%.*} before=$size
		# A boot that says nothing for minutes is dead; on a busy machine a live
		# one may take that long as a whole, and more than the limit.
		if [ -s "$verdict" ]; then
			started=${started:-$now}
		else
			size=$(stat -c %s "$log")
		fi
		[ "$size" = "$before" ] || quiet=$now
		if { [ -z "$started" ] && [ $((now - quiet)) -ge 180 ]; } ||
		   { [ "$limit" -gt 0 ] && [ $((now - ${started:-now})) -ge "$limit" ]; }; then
			timed_out=1
			cp "$log" "$tmp/before"
			look_inside
			kill -9 "$pid" 2>/dev/null || :
		fi
	done
	exec {ends}<&-
	pid=
}

# verdict_of STEP - the status of a step, nothing if it never came to that
verdict_of() {
	sed -n "s/^$1 //p" "$verdict"
}

judge() {
	local status others

	status=$(verdict_of exit)
	others=$(other_races "$log")
	[ "$others" = 0 ] || say "data races reported that do not name the module: $others"
	[ "$timed_out" = 0 ] || mv "$tmp/before" "$log"
	if has_complaints "$log"; then
		return 125
	fi
	if [ "$timed_out" = 1 ]; then
		last_words "$log" 5 "time limit of $limit s reached"
		sed 's/^/stuck: /' <(echo "steps done:" && cat "$verdict" "$tmp/inside") >&2
		return 124
	fi
	if [ "$(tail -n 1 "$verdict")" != "done" ] || [ -z "$status" ]; then
		last_words "$log" 20 "the guest ended without a verdict"
		return 126
	fi
	if [ "$insmod" = 1 ] && [ "$(verdict_of insmod)" != 0 ]; then
		say "insmod failed:"
		tail -n 5 "$log" >&2
		return 125
	fi
	if [ "$(verdict_of rmmod)" != 0 ] && [ -n "$(verdict_of rmmod)" ]; then
		say "rmmod failed"
		return 125
	fi
	return "$status"
}

terminal=0
[ ! -t 1 ] || terminal=1
exec {input}</dev/null
[ "$interactive" = 0 ] || exec {input}<&0

make_initramfs "$@"
if [ "$count" = 1 ]; then
	count_instructions
else
	accelerator
fi
mkfifo "$tmp/monitor.in" "$tmp/monitor.out"

for retried in 0 1 2; do
	if [ "$retried" != 0 ]; then
		[ "$timed_out" = 0 ] || mv "$tmp/before" "$log"
		say "boot retried: $retried; its last words: $(tail -n 1 "$log")"
		[ "$timed_out" = 0 ] || sed 's/^/stuck: /' "$tmp/inside" >&2
	fi
	timed_out=0
	boot
	[ ! -s "$verdict" ] || break
done
[ -z "${KERNEL_LOG-}" ] || cp "$log" "$KERNEL_LOG"
judge && exit || exit $?
