#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# disk.sh - mount a guest's disk, with the modules beside this script, and run a command there
#
# usage: disk.sh /PATH/OF/COMMAND [ARGUMENT]...
#
# A command without a path would be busybox's own.

here=$(dirname "$0")
for module in "$here"/*.ko; do
	insmod "$module" || exit
done
mkdir -p /mnt
mount -t ext4 /dev/vda /mnt || exit
for dir in proc sys dev; do
	mount --bind /$dir /mnt/$dir
done
mount -t tmpfs tmpfs /mnt/run
mount -t tmpfs tmpfs /mnt/tmp
[ ! -d /sys/kernel/security ] || mount -t securityfs securityfs /mnt/sys/kernel/security
exec chroot /mnt "$@"
