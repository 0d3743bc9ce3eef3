// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How all programs explain that a context cannot be opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <twheel.h>

#include "device.h"

static const char no_node[] =
	" (the module is loaded, but /dev has no node: in a container, or PrivateDevices=?)";

static const char not_loaded[] = " (is the module loaded? see 'twheel doctor')";

bool device_registered(const char *root)
{
	char path[512], name[64];
	bool found = false;
	FILE *misc;

	snprintf(path, sizeof(path), "%s/sys/class/misc/twheel", root);
	if (!access(path, F_OK))
		return true;
	/* sysfs may not be mounted. */
	snprintf(path, sizeof(path), "%s/proc/misc", root);
	misc = fopen(path, "re");
	if (!misc)
		return false;
	while (!found && fscanf(misc, "%*u %63s", name) == 1)
		found = !strcmp(name, "twheel");
	fclose(misc);
	return found;
}

static const char forbidden[] =
	" (a device cgroup or seccomp filter, as of a container, forbids it: see 'twheel doctor')";

/* Why open() says EACCES. */
static const char *permission_hint(const char *path)
{
	static char text[128];
	struct statvfs fs;
	struct stat node;

	if (!statvfs(path, &fs) && fs.f_flag & ST_NODEV)
		return " (its file system is mounted nodev, so devices there cannot be opened)";
	if (stat(path, &node) || !faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS))
		return " (see the permissions of the node and of its folders, and 'twheel doctor')";
	snprintf(text, sizeof(text),
		 " (permissions: user %u, group %u, mode %04o: 'twheel doctor' says what to do)",
		 (unsigned int)node.st_uid, (unsigned int)node.st_gid,
		 (unsigned int)node.st_mode & 07777);
	return text;
}

const char *device_hint(const char *path, int err)
{
	bool ours = !strcmp(path, TWHEEL_DEVICE);

	switch (-err) {
	case ENOENT:
		if (!ours)
			return "";
		if (device_registered(""))
			return no_node;
		return not_loaded;
	case ENXIO:
	case ENODEV:
		return ours ? not_loaded : "";
	case EACCES:
		return permission_hint(path);
	case EPERM:
		return forbidden;
	case ENOTTY:
		return " (this is not a twheel device)";
	case EPROTONOSUPPORT:
		return " (the module is older than this program)";
	case EINVAL:
		return " (the module lacks what this program needs: see features in 'twheel info')";
	default:
		return "";
	}
}

const char *backend_misspelt(void)
{
	static const char *const names[] = { "", "auto", "device", "embedded" };
	const char *backend = secure_getenv("TWHEEL_BACKEND");
	size_t i;

	for (i = 0; backend && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(backend, names[i]))
			return NULL;
	return backend;
}

bool backend_is(const char *name)
{
	const char *backend = secure_getenv("TWHEEL_BACKEND");

	return backend && !strcmp(backend, name);
}

bool backend_in_process(void)
{
	return backend_is("embedded") || (!backend_is("device") && access(TWHEEL_DEVICE, F_OK));
}
