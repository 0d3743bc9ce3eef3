// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The files of the system: of /sys, /proc, /dev and others.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "root.h"

const char *root_folder(void)
{
	const char *folder = secure_getenv("TWHEEL_TEST_ROOT");

	return folder ? folder : "";
}

const char *root_path(char path[ROOT_PATH], const char *format, ...)
{
	int len = snprintf(path, ROOT_PATH, "%s", root_folder());
	va_list args;

	if (len < 0 || len >= ROOT_PATH)
		return path;
	va_start(args, format);
	vsnprintf(path + len, ROOT_PATH - (size_t)len, format, args);
	va_end(args);
	return path;
}

bool root_exists(const char *file)
{
	char path[ROOT_PATH];

	return !access(root_path(path, "%s", file), F_OK);
}

static FILE *open_file(const char *file)
{
	char path[ROOT_PATH];

	return fopen(root_path(path, "%s", file), "re");
}

bool root_line(const char *file, char *line, size_t size)
{
	FILE *stream = open_file(file);
	bool found;

	line[0] = 0;
	if (!stream)
		return false;
	found = fgets(line, (int)size, stream);
	fclose(stream);
	line[strcspn(line, "\n")] = 0;
	return found;
}

bool root_field(const char *file, const char *name, char *value, size_t size)
{
	FILE *stream = open_file(file);
	size_t len = strlen(name);
	bool found = false;
	char line[256];

	value[0] = 0;
	if (!stream)
		return false;
	while (!found && fgets(line, sizeof(line), stream)) {
		if (strncmp(line, name, len) || line[len] != ':')
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(value, size, "%s", line + len + 1 + strspn(line + len + 1, " \t"));
		found = true;
	}
	fclose(stream);
	return found;
}
