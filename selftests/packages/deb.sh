#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deb.sh - Debian packages in a fresh Debian: build, install, use, upgrade the kernel, purge
# (TAP)
#
# usage: [RELEASE=bookworm|trixie] deb.sh
#
# The packages are built from the tarball of make dist in one minimal root of that release,
# the one that is not this machine's own by default, and installed in another. That one,
# with its own kernels, is the disk of two guests, in which guest.sh uses what is installed.
# Commands that Documentation/installing.md has are run as it prints them. It takes what setup.sh
# installs as bare and as guest.
#
# The upgrade of the kernel is one to its cloud flavour: another kernel, with other headers,
# of the same release, so that nothing but these packages decides the outcome.

. "$(dirname "$0")/../vm/common.sh"
. "$(dirname "$0")/../vm/apt.sh"
. "$(dirname "$0")/root.sh"

here=$top/selftests/packages
page=$top/Documentation/installing.md
release=$(other_release)
version=$(cat "$top/VERSION")
packages='twheel-dkms libtwheel-dev python3-twheel twheel-tools libtwheel0.4'

. "$top/selftests/tap.sh"
out=$build/deb-$release
roots=$out/roots

cleanup() {
	as_root rm -rf "$roots"
}

# inside ROOT COMMAND - as root, with a uname that knows the kernel that is installed there
inside() {
	in_root "$roots/$1" root "export DEBIAN_FRONTEND=noninteractive LC_ALL=C; cd /root/twheel; $2"
}

# A root with the sources, and the packages that are to be there first
prepare() {
	local root=$roots/$1
	shift
	unpack_root "$release" "$root"
	as_root mkdir "$root/root/twheel"
	as_root tar -x -f "$tarball" -C "$root/root/twheel" --strip-components=1
	# What is not under test shall not take its time.
	as_root mkdir -p "$root/etc/initramfs-tools"
	echo 'update_initramfs=no' | as_root tee "$root/etc/initramfs-tools/update-initramfs.conf"
	echo force-unsafe-io | as_root tee "$root/etc/dpkg/dpkg.cfg.d/fast"
	as_root tee "$root/etc/apt/apt.conf.d/99fast" <<-'END'
		Acquire::Languages "none";
		APT::Install-Recommends "false";
		DPkg::Options { "--force-confold"; };
	END
	inside "${root##*/}" "apt-get -q update && apt-get -qy install $*"
}

build_packages() {
	prepare build make
	documented build 'make deb'
}

# The kernel that runs is this machine's: say that it is the one that is installed.
prepare_fresh() {
	prepare fresh dkms linux-image-amd64 openssl psmisc udev make gcc libc6-dev pkgconf python3
	as_root chroot "$roots/fresh" useradd -m -s /bin/bash user
	kernel_of fresh -amd64 >"$roots/kernel"
	as_root tee "$roots/fresh/usr/local/bin/uname" >/dev/null <<-END
		#!/bin/sh
		[ "\$*" != -r ] || exec echo "$(cat "$roots/kernel")"
		exec /usr/bin/uname "\$@"
	END
	as_root chmod +x "$roots/fresh/usr/local/bin/uname"
	documented fresh 'apt-get install -y linux-headers-amd64'
}

# kernel_of ROOT FLAVOUR - the release of the kernel that is installed there
kernel_of() {
	(cd "$roots/$1/boot" && ls -d vmlinuz-[0-9]*"$2") |
		sed -n "s/^vmlinuz-\([0-9.]*-*[^-]*$2\)$/\1/p" | sort -V | tail -n 1
}

# What the page has to be typed, a command a line
commands() {
	sed -n 's/^  *[#$] //p' "$page"
}

# documented ROOT COMMAND... - run commands that the page has
documented() {
	local root=$1 command
	shift
	for command; do
		commands | grep -xF -- "$command" || grep -qF "\`$command\`" "$page" ||
			{ echo "not on the page: $command"; return 1; }
		echo "$command" >>"$tmp/ran"
		echo "+ $command"
		inside "$root" "$command" || return
	done
}

# files ROOT - all but what apt, dpkg and the loader keep of what they did, the key that DKMS
# makes when it signs first, and users' folders
files() {
	(cd "$roots/$1" && as_root find . \( -path ./proc -o -path ./sys -o -path ./dev \
		-o -path ./run -o -path ./tmp -o -path ./root -o -path ./home -o -path ./var/log \
		-o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg \
		-o -path './var/lib/dkms/mok.*' \) -prune \
		-o -printf '%y %m %p\n') | sort
}

# is_built KERNEL - is the module there, of this version, and known to DKMS?
is_built() {
	inside fresh "dkms status twheel -k $1 | tee /dev/stderr | grep ': installed' &&
		modinfo -k $1 twheel && [ \"\$(modinfo -k $1 -F version twheel)\" = $version ]"
}

# refuses ROOT COMMAND PATTERN - what does it say as it fails?
refuses() {
	! inside "$1" "$2" >"$tmp/refused" 2>&1 && tee /dev/stderr <"$tmp/refused" | grep "$3" >/dev/null
}

# The program of the README, as a user compiles it
compile() {
	awk '/^```/ { on = 0 } on; /^```c$/ { on = !n++ }' "$top/README.md" |
		as_root tee "$roots/fresh/home/user/hello.c" >/dev/null
	# shellcheck disable=SC2016 # the root's shell expands that
	in_root "$roots/fresh" user \
		'cc hello.c $(pkg-config --cflags --libs libtwheel) -o hello && ldd hello' |
		tee /dev/stderr | grep "libtwheel.so.* => /"
}

# The root has no device, so the wheel is in the process.
python_program() {
	in_root "$roots/fresh" user "python3 -c '
from twheel import Context, __version__
with Context() as wheel:
    wheel.arm(1000000, 7)
    print(__version__, wheel.embedded, [event.user_data for event in wheel.read()])'" |
		tee /dev/stderr | grep -xF "$version True [7]"
}

# The other flavour's headers come along, as those of a later kernel would.
upgrade_kernel() {
	inside fresh "apt-get -qy install linux-image-cloud-amd64 linux-headers-cloud-amd64" &&
	kernel_of fresh -cloud-amd64 >"$roots/cloud"
}

# What a guest needs before it can mount its disk: modules in the order of insmod.
disk_modules() {
	local ko n=10
	as_root chroot "$roots/fresh" modprobe --show-depends -aS "$1" virtio_pci virtio_blk ext4 |
		sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' |
		while read -r ko; do
			n=$((n + 1))
			case $ko in
			*.xz)	xz -dc "$roots/fresh$ko" >"$2/$n.ko" ;;
			*)	cp "$roots/fresh$ko" "$2/$n.ko" ;;
			esac
		done
}

# boot KERNEL WHAT - a guest with that kernel and the root as its disk, where guest.sh runs
boot() {
	local kernel=$out/kernel-$1
	rm -rf "$kernel"
	mkdir -p "$kernel/disk"
	as_root cat "$roots/fresh/boot/vmlinuz-$1" >"$kernel/vmlinuz"
	cp "$roots/fresh/boot/config-$1" "$kernel/config"
	echo "$1" >"$kernel/release"
	disk_modules "$1" "$kernel/disk"
	cp "$here/disk.sh" "$kernel/disk/"
	KERNEL=$kernel KERNEL_LOG=$out/kernel.log.$2 "$vm/run.sh" -n -t 290 -m 1024 \
		-d "$kernel/disk" -D "$out/disk" -- "sh /twheel/disk/disk.sh /bin/sh /root/guest/guest.sh $2"
}

# in_guest KERNEL WHAT - the results of guest.sh are this document's, too
in_guest() {
	local status=0 line
	boot "$@" >"$tmp/guest" 2>"$tmp/guest.err" || status=$?
	sed -n 's/^# ran: //p' "$tmp/guest" >>"$tmp/ran"
	while IFS= read -r line; do
		case $line in
		'ok '*)		result 0 "$2: ${line#ok * }" ;;
		'not ok '*)	result 1 "$2: ${line#not ok * }" "$tmp/guest.err" ;;
		'# '*)		printf '%s\n' "$line" ;;
		esac
	done <"$tmp/guest"
	grep -q '^1\.\.[1-9]' "$tmp/guest" || status=${status/#0/1}
	result "$status" "$2: the guest with Linux $1 ends as it should" "$tmp/guest.err"
}

make_disk() {
	as_root mkdir -p "$roots/fresh/root/guest"
	as_root cp "$here/guest.sh" "$top/selftests/tap.sh" "$roots/fresh/root/guest/"
	rm -f "$out/disk"
	as_root mke2fs -q -t ext4 -O ^has_journal -d "$roots/fresh" "$out/disk" 4G
	as_root chmod a+r "$out/disk"
	as_root rm -rf "$roots/fresh/root/guest"
}

# Commands of the page that ask the firmware, or start the machine again
asks_firmware() {
	grep -q '^mokutil \|^reboot$'
}

# all_ran - has each command of the page been run?
all_ran() {
	local command status=0
	while IFS= read -r command; do
		grep -qxF "$command" "$tmp/ran" || asks_firmware <<<"$command" ||
			{ echo "not run: $command"; status=1; }
	done < <(commands)
	return "$status"
}

# nothing_left BEFORE [PATTERN] - is what is there now what was there then?
nothing_left() {
	local left
	files fresh >"$tmp/after"
	left=$(diff "$tmp/$1" "$tmp/after" | grep '^[<>]' | grep -vE "${2-^$}") || :
	echo "$left"
	[ -z "$left" ]
}

rm -rf "$out"
mkdir -p "$roots"
tarball=$("$top/packaging/dist.sh" | sed -n 1p)

prepare_fresh >"$out/fresh.log" 2>&1 &
fresh=$!
try "make deb, from the tarball, on Debian $release: built, lintian has nothing to say" build_packages
status=0
wait $fresh || status=$?
result $status "headers are installed" "$out/fresh.log"
kernel=$(cat "$roots/kernel")
echo "# roots with what it takes, and packages: $SECONDS s"
echo "# Linux $kernel, $(as_root chroot "$roots/fresh" dkms --version)"

files fresh >"$tmp/before"
as_root mkdir -p "$roots/fresh/root/twheel/build/deb"
as_root cp "$roots"/build/root/twheel/build/deb/*.deb "$roots/fresh/root/twheel/build/deb/"
try "the packages install" documented fresh 'apt-get install -y ./build/deb/*.deb'
try "DKMS says so" documented fresh 'dkms status twheel'
try "the module is built for Linux $kernel" is_built "$kernel"
try "a program of a user's, compiled with pkg-config" compile
try "a program in Python" python_program
try "the page of the device is there" inside fresh 'test -s /usr/share/man/man4/twheel.4.gz'
try "what is a package's is not removed by make dkms-uninstall" \
	refuses fresh 'make dkms-uninstall' 'remove twheel-dkms$'
try "a kernel is upgraded" upgrade_kernel
cloud=$(cat "$roots/cloud")
try "the module is built for Linux $cloud" is_built "$cloud"
try "a disk for guests" make_disk
in_guest "$kernel" all
in_guest "$cloud" upgraded

echo "# and guests: $SECONDS s"
try "the packages purge" documented fresh "apt-get purge -y $packages"
try "nothing is left but what the other kernel brought" nothing_left before "$cloud|cloud-amd64"

files fresh >"$tmp/before.make"
try "make dkms-install" documented fresh 'make dkms-install'
try "builds the module for Linux $kernel" is_built "$kernel"
try "and for Linux $cloud" is_built "$cloud"
inside fresh 'cp VERSION VERSION.kept && echo 9.9.9 >VERSION'
try "make dkms-uninstall, of a later version" documented fresh 'make dkms-uninstall'
inside fresh 'mv VERSION.kept VERSION'
try "leaves nothing" nothing_left before.make

# shellcheck disable=SC2016 # the root's own uname is asked
try "make modules, signed by a key of one's own" documented fresh 'make modules' \
	'openssl req -new -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=twheel -outform DER -keyout MOK.key -out MOK.der' \
	'/lib/modules/$(uname -r)/build/scripts/sign-file sha256 MOK.key MOK.der build/module/$(uname -r)/twheel.ko'
# shellcheck disable=SC2016 # likewise
try "make modules_install" documented fresh 'make modules_install && depmod $(uname -r)'
try "installs what modprobe takes, with that signature" \
	inside fresh "[ \"\$(modinfo -k $kernel -F signer twheel)\" = twheel ]"
try "make modules_uninstall" documented fresh 'make modules_uninstall'
try "leaves nothing" nothing_left before.make
try "each command of installing.md was run" all_ran
as_root rm -f "$out/disk"
echo "# all: $SECONDS s"
finish
