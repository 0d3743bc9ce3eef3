#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# doctor.sh - does twheel doctor find what is wrong, and say what to do about it?
#
# What a machine may look like is made up in folders of files, so this needs no device. Where
# there is one, the real thing is looked at, too.

. "$(dirname "$0")/programs.sh"

root=$tmp/root
release=6.9.1-test

# Prints what the made-up file of a module says, as modinfo prints what a real one does.
mkdir "$tmp/bin"
cat >"$tmp/bin/modinfo" <<'END'
#!/bin/sh
cat "$1"
END
chmod +x "$tmp/bin/modinfo"

# put FILE TEXT - write a file of the made-up machine
put() {
	mkdir -p "$root/${1%/*}"
	printf '%s\n' "$2" >"$root/$1"
}

# machine - make up a machine that loads modules, without the module
machine() {
	rm -rf "$root"
	put proc/sys/kernel/osrelease $release
	put proc/sys/kernel/modules_disabled 0
	put proc/modules ''
	put proc/misc '125 other'
	put proc/self/status 'Seccomp:	0'
	put sys/kernel/security/lockdown '[none] integrity confidentiality'
	put sys/module/module/parameters/sig_enforce N
	put dev/other ''
}

# install_file RELEASE LINE... - the module's file for a kernel
install_file() {
	for_release=$1
	shift
	put "lib/modules/$for_release/updates/twheel.ko" "$(printf '%s\n' \
		"vermagic:       $for_release SMP preempt mod_unload" "$@")"
	put "lib/modules/$for_release/modules.dep" \
		"$(printf '%s\n' 'kernel/fs/other.ko: kernel/lib/twheel.ko' 'updates/twheel.ko:')"
}

# load - as if the module was loaded; its device is that of /dev/null
load() {
	put sys/class/misc/twheel/dev 1:3
	put sys/module/twheel/taint O
	put proc/misc '126 twheel'
	ln -sf /dev/null "$root/dev/twheel"
}

doctor() {
	run env PATH="$tmp/bin:$PATH" TWHEEL_TEST_ROOT="$root" twheel doctor "$@"
}

# doctor_of BACKEND - what it says with this TWHEEL_BACKEND
doctor_of() {
	run env PATH="$tmp/bin:$PATH" TWHEEL_TEST_ROOT="$root" TWHEEL_BACKEND="$1" twheel doctor
}

# finds NAME STATE SUBJECT FINDING [ADVICE] - a test that passes if the doctor says so
finds() {
	grep -A 1 "^$2  *$3  *.*$4" "$tmp/out" >"$tmp/found"
	{ [ -s "$tmp/found" ] && { [ -z "${5-}" ] || sed -n 2p "$tmp/found" | grep -q -- "-> .*$5"; }; }
	result $? "$1"
}

# silent NAME SUBJECT - a test that passes if nothing was found of that
silent() {
	check "$1" test "$(grep -c "^[a-zWRONG]*  *$2 " "$tmp/out")" = 0
}

refuses 2 "'more' is too much" doctor more
refuses 2 'unrecognized option' doctor --nonsense

machine
doctor
check "programs have a wheel in the process: exit status 0" test "$status" = 0
check "and that is said" test "$(tail -n 1 "$tmp/out")" = "nothing is wrong: programs use a wheel in the process"
finds "the test's folder is told of" note test "the files below $root"
finds "a kernel that loads modules" ok kernel "$release, which loads modules"
finds "no file, no headers" note module "no twheel.ko for this kernel$" "linux-headers-$release.*make modules .*modprobe twheel$"
finds "no node, which is no fault of its own" note node 'not there, as the module is not loaded'
finds "a wheel in the process" ok process 'which needs no module' 'for the device'
finds "and one of its timers" ok timer 'has expired, [0-9.]* [mun]*s late$'
check "nothing is WRONG" test "$(grep -c '^WRONG' "$tmp/out")" = 0
doctor_of device
check "unless only the device will do: exit status 1" test "$status" = 1
finds "then it is wrong" WRONG module "no twheel.ko for this kernel$" 'make modules'
silent "and there is no wheel in the process" process
finds "and why it is" WRONG backend 'is device, and there is none: programs fail$' 'unset it, and'
check "two things are wrong" test "$(tail -n 1 "$tmp/out")" = "2 things are wrong"
doctor_of embedded
finds "where there is no device" note backend 'a wheel in the process'
check "there is no advice to use it" test "$(sed -n 2p "$tmp/found" | grep -c -- '->')" = 0
# Room for one file that it reads, and not for what a wheel takes
run env TWHEEL_TEST_ROOT="$root" sh -c 'ulimit -n 4 && exec twheel doctor'
finds "too many open files" WRONG process 'cannot be made: Too many open files' 'raise the limit of open files'
mkdir -p "$root/lib/modules/$release/build"
doctor
finds "no file, with headers" note module "no twheel.ko for this kernel$" 'make modules .*modprobe twheel$'
install_file 6.8.0-old
doctor
finds "a file for another kernel" note module "only for 6.8.0-old$" 'dkms autoinstall'

machine
rm "$root/proc/modules"
doctor
finds "a kernel without modules" note kernel 'without CONFIG_MODULES' 'virtual machine'
silent "whose signatures do not matter" lockdown
machine
put proc/sys/kernel/modules_disabled 1
doctor
finds "modules are disabled" note kernel 'modules_disabled is 1' 'reboot'
machine
put proc/sys/kernel/osrelease 5.15.0
doctor
finds "an old kernel" note kernel '5.15.0 is older than 6.1' 'newer'

machine
install_file $release
doctor
finds "installed, not loaded" note module "installed: /lib/modules/$release/updates/twheel.ko" 'sudo modprobe twheel'
finds "unsigned, which is no matter here" ok signature 'is not signed'
put "lib/modules/$release/modules.dep" 'kernel/fs/other.ko:'
doctor
finds "installed, not listed" note module 'modprobe does not find' 'sudo depmod'
install_file $release
rm "$root/lib/modules/$release/updates/twheel.ko"
doctor
finds "listed, not there" note module 'listed in modules.dep but is gone' 'modules_install'
install_file $release
put "lib/modules/$release/updates/twheel.ko" "vermagic:       $release-2 SMP"
doctor
finds "of another kernel" note module "is for $release-2$" 'build it for this kernel'
rm -r "$root"/lib/modules
put "lib/modules/$release/extra/twheel.ko.xz" "vermagic:       $release SMP"
put "lib/modules/$release/modules.dep" "/lib/modules/$release/extra/twheel.ko.xz: "
doctor
finds "compressed, by an absolute path" note module "installed: /lib/modules/$release/extra/twheel.ko.xz"

machine
install_file $release
put sys/kernel/security/lockdown 'none [integrity] confidentiality'
doctor
finds "lockdown" ok lockdown 'lockdown integrity, .* takes only signed'
finds "wants a signature" note signature 'is not signed' 'mokutil --import'
install_file $release 'signer:         somebody'
doctor
finds "and there is one" note signature 'signed by somebody' 'enroll'
put sys/kernel/security/lockdown '[none] integrity confidentiality'
put sys/module/module/parameters/sig_enforce Y
doctor
finds "module.sig_enforce" ok lockdown 'lockdown none, .* takes only signed'
efi=sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
mkdir -p "$root/${efi%/*}"
rm "$root/sys/kernel/security/lockdown"
put sys/module/module/parameters/sig_enforce N
printf '\006\000\000\000\001' >"$root/$efi"
doctor
finds "Secure Boot" ok lockdown 'lockdown unknown, Secure Boot on: .* only signed'
printf '\006\000\000\000\000' >"$root/$efi"
doctor
finds "and without" ok lockdown 'Secure Boot off: .* takes unsigned'

machine
put run/systemd/container podman
doctor
finds "a container" note container 'a container (podman)'
finds "where nothing can be loaded" note module 'not loaded' 'outside of it: sudo modprobe'
load
rm "$root/dev/twheel"
doctor
finds "which was not given the node" WRONG node 'not there, although' '--device=/dev/twheel'
silent "and has no file of the module" file

machine
load
doctor
finds "loaded, version unknown" ok module 'loaded, version unknown'
finds "loaded, but not installed" note file 'gone after a reboot' 'modules_install'
finds "taint" ok signature 'taints the kernel, as any module from out of its tree (O)'
finds "the node" ok node '/dev/twheel, owner .*, group .*, mode 0666'
finds "which is some other device" WRONG open 'cannot open /dev/twheel: ' 'remove it'
silent "nothing is said of versions that are not known" version
put sys/module/twheel/taint OE
doctor
finds "unsigned taint" note signature 'not signed by a key that the kernel knows'
put sys/module/twheel/version 0.0.1
put sys/module/twheel/srcversion AAAA
install_file $release 'version:        0.0.1' 'srcversion:     AAAA'
doctor
finds "loaded, version" ok module 'loaded, version 0.0.1'
finds "as installed" ok file "/lib/modules/$release/updates/twheel.ko$"
if knows_ignored; then
	run env --ignore-signal=CHLD PATH="$tmp/bin:$PATH" TWHEEL_TEST_ROOT="$root" twheel doctor
	finds "also where SIGCHLD is ignored" ok file "/lib/modules/$release/updates/twheel.ko$"
else
	skip "also where SIGCHLD is ignored" "$no_ignored"
fi
finds "not as this tool" note version 'the module is of version 0.0.1, this tool of [1-9.0]*$' 'one release'
install_file $release 'version:        0.0.2' 'srcversion:     BBBB'
doctor
finds "another version on disk" note file 'is version 0.0.2, and not what is loaded' 'rmmod twheel'
install_file $release 'version:        0.0.1' 'srcversion:     BBBB'
doctor
finds "the same version of other sources" note file 'of other sources' 'rmmod twheel'
put "lib/modules/$release/updates/twheel.ko" broken
doctor
finds "a file that tells nothing" note file 'cannot be read by modinfo' 'modinfo /lib'
version=$(twheel --version | sed 's/twheel //')
put sys/module/twheel/version "$version"
doctor
finds "of the same version" ok version "the same version as this tool, $version"

put usr/lib/x/libtwheel.so.0.1.2 ''
put usr/local/lib/libtwheel.so."$version" ''
put usr/include/linux/twheel.h '#define TWHEEL_ABI_VERSION	2'
ln -s lib "$root/usr/lib64"
ln -s . "$root/usr/lib/linked"
doctor
finds "an old library" note library '/usr/lib/x/libtwheel.so.0.1.2 is not of version' 'ldconfig -p'
finds "and a new one" ok library "/usr/local/lib/libtwheel.so.$version"
finds "are two" note library 'installed 2 times'
finds "the header" ok header '/usr/include/linux/twheel.h, interface version 2'
put usr/local/include/linux/twheel.h '#define TWHEEL_ABI_VERSION 9'
doctor
finds "another header" WRONG header '/usr/local/.* is of interface version 9' 'libtwheel-dev'

machine
load
put sys/class/misc/twheel/dev 10:77
doctor
finds "a node of another number" WRONG node 'is device 1:3, but twheel is 10:77' 'udev'
rm "$root/dev/twheel"
doctor
finds "programs use a wheel in the process meanwhile" ok process 'which needs no module'
finds "no node" WRONG node 'although the module is loaded' 'PrivateDevices=.*mknod -m 666 /dev/twheel c 10 77'
put dev/twheel 'a file'
doctor
finds "a file" WRONG node 'is not a device' 'sudo rm'
chmod 640 "$root/dev/twheel"
chmod 755 "$tmp"
if [ "$(id -u)" = 0 ]; then
	chgrp 12345 "$root/dev/twheel"
	run su -s /bin/sh nobody -c "TWHEEL_TEST_ROOT='$root' $(command -v twheel) doctor"
	finds "a file that may not be opened" WRONG open 'nobody cannot open .*: Permission' 'udev rule'
	chmod 660 "$root/dev/twheel"
	run su -s /bin/sh nobody -c "TWHEEL_TEST_ROOT='$root' $(command -v twheel) doctor"
	finds "but by a group" WRONG open 'nobody cannot open .*: Permission' 'usermod -aG 12345'
else
	skip "a file that may not be opened" "takes root"
fi
if chattr +i "$root/dev/twheel" 2>/dev/null; then
	doctor
	chattr -i "$root/dev/twheel"
	finds "opening it is forbidden" WRONG open 'Operation not permitted' 'a device cgroup forbids it: .*DeviceAllow='
else
	skip "opening it is forbidden" "takes a file system that knows immutable files"
fi
put proc/self/status 'Seccomp:	2'
doctor
finds "seccomp" note seccomp 'may forbid calls'

doctor_of embeded
finds "TWHEEL_BACKEND is misspelt" WRONG backend "'embeded': it must be auto, device or embedded" 'correct it'
doctor_of embedded
finds "it is embedded" note backend 'a wheel in the process' 'unset it'
finds "and that is tried" ok process 'a wheel in the process'
doctor_of device
finds "it is device" ok backend 'without it programs fail'
doctor_of ""
silent "it is empty" backend

doctor --json
check "--json: an object in each line" test "$(grep -c '^{"state":"[a-z]*","subject":"[a-z]*","finding":".*","advice":.*}$' "$tmp/out")" = \
	"$(wc -l <"$tmp/out")"
check "--json: exit status" test "$status" = 1
check "--json: what is wrong" said '^{"state":"wrong","subject":"node","finding":"/dev/twheel is not a device","advice":"sudo rm .*"}$'

if [ ! -e /dev/twheel ]; then
	run twheel doctor
	check "this machine has no device: exit status 0" test "$status" = 0
	finds "the module is not loaded" note module 'not loaded'
	finds "a timer expires in the process" ok timer 'has expired, [0-9.]* [mun]*s late$'
	run env TWHEEL_BACKEND=device twheel doctor
	check "but it is to be used: exit status 1" test "$status" = 1
	finish
fi

run twheel doctor
check "with the device nothing is wrong" test "$status" = 0
check "and that is said" test "$(tail -n 1 "$tmp/out")" = "nothing is wrong"
finds "the module is loaded" ok module 'loaded, '
finds "the node of it" ok node '/dev/twheel, owner root, group root, mode 0666$'
finds "all features" ok interface 'version 2, all [1-9][0-9]* features'
finds "a timer expires" ok timer 'has expired, [0-9.]* [mun]*s late$'
finds "limits" ok limits 'you have [0-9]* of [1-9][0-9]* timers, a context at most [1-9]'
show "$tmp/out"

if [ "$(id -u)" != 0 ] || [ ! -e /vm/config ]; then
	skip "what root can change" "takes root in a guest"
	finish
fi

chmod 0600 /dev/twheel
run su -s /bin/sh nobody -c "$(command -v twheel) doctor"
finds "a node that is root's alone" WRONG open 'nobody cannot open .*: Permission' 'udev rule'
check "is wrong" test "$status" = 1
chmod 0666 /dev/twheel
run su -s /bin/sh nobody -c "$(command -v twheel) doctor"
finds "an ordinary user can use it" ok timer 'has expired'

parameters=/sys/module/twheel/parameters
users=$(cat $parameters/max_user_timers)
fds=$(cat $parameters/max_fd_timers)
echo 0 >$parameters/max_fd_timers
run twheel doctor
echo "$fds" >$parameters/max_fd_timers
finds "no timers are allowed" WRONG limits 'a context at most 0$' 'max_fd_timers'
finds "so none expires" WRONG timer 'No space left' 'limit'
echo 10 >$parameters/max_user_timers
echo 12 >$parameters/max_fd_timers
twheel arm 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h >/dev/null 2>&1 &
pid=$!
await prints 1 ' 10  *0 ' twheel ps
run twheel doctor
echo "$fds" >$parameters/max_fd_timers
finds "a user's limit is reached" WRONG limits 'you have 10 of 10 timers' 'max_user_timers'
echo 11 >$parameters/max_fd_timers
run twheel doctor
finds "a context has nearly reached its own" note limits "process $pid (twheel) has 10 of 11 timers$" 'twheel_config.limit'
echo "$users" >$parameters/max_user_timers
echo "$fds" >$parameters/max_fd_timers
kill $pid
wait $pid

run without_node twheel doctor
finds "a node that is missing" WRONG node 'although the module is loaded' 'mknod'

# The module's file, as it is installed, with the guest's modinfo.
folder=/lib/modules/$(uname -r)
if [ -e /lib/modules/twheel.ko ] && mkdir "$folder" 2>/dev/null; then
	mkdir "$folder/updates"
	cp /lib/modules/twheel.ko "$folder/updates"
	echo updates/twheel.ko: >"$folder/modules.dep"
	run twheel doctor
	check "installed: nothing is wrong" test "$status" = 0
	finds "the file is what is loaded" ok file "$folder/updates/twheel.ko$"
	rm -r "$folder"
fi

finish
