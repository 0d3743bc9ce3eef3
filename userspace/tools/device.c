// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How all programs explain that the device cannot be opened.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <twheel.h>

#include "device.h"

static const char no_node[] =
	" (the module is loaded, but /dev has no node: in a container, or PrivateDevices=?)";

bool device_registered(void)
{
	bool found = false;
	char name[64];
	FILE *misc;

	if (!access("/sys/class/misc/twheel", F_OK))
		return true;
	/* sysfs may not be mounted. */
	misc = fopen("/proc/misc", "re");
	if (!misc)
		return false;
	while (!found && fscanf(misc, "%*u %63s", name) == 1)
		found = !strcmp(name, "twheel");
	fclose(misc);
	return found;
}

const char *device_hint(const char *path, int err)
{
	bool ours = !strcmp(path, TWHEEL_DEVICE);

	switch (-err) {
	case ENOENT:
		if (!ours)
			return "";
		if (device_registered())
			return no_node;
		return " (is the module loaded?)";
	case ENXIO:
	case ENODEV:
		return ours ? " (is the module loaded?)" : "";
	case EACCES:
		return " (see the permissions of the node, and whether it is mounted nodev)";
	case EPERM:
		return " (a device cgroup, such as a container's or DeviceAllow=, forbids it)";
	case ENOTTY:
		return " (this is not a twheel device)";
	case EPROTONOSUPPORT:
		return " (the module is older than this program)";
	default:
		return "";
	}
}
