// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel doctor: are the module, the library, the header and this tool of one version?
 */
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <twheel.h>

#include "doctor.h"
#include "root.h"

/* Which library do programs get? */
#define FIND_LIBRARY	"ldconfig -p | grep twheel"

static void look_at_module(struct doctor *doctor)
{
	char version[64];

	if (!root_line("/sys/module/twheel/version", version, sizeof(version)))
		return;
	if (!strcmp(version, TWHEEL_VERSION)) {
		doctor_find(doctor, STATE_OK, "version",
			    "the module is of the same version as this tool, " TWHEEL_VERSION);
		return;
	}
	doctor_find(doctor, STATE_NOTE, "version",
		    "the module is of version %s, this tool of " TWHEEL_VERSION, version);
	doctor_advise(doctor,
		      "where the interface is the same that works; install both from one release");
}

/* Is this file also one of the @n before it, as /usr/lib64 may be a link to /usr/lib? */
static bool is_again(char *const *files, size_t n)
{
	struct stat file, other;
	size_t i;

	for (i = 0; i < n; i++)
		if (!stat(files[n], &file) && !stat(files[i], &other) &&
		    file.st_dev == other.st_dev && file.st_ino == other.st_ino)
			return true;
	return false;
}

static void look_at_library(struct doctor *doctor, const char *file)
{
	const char *version = strstr(file, ".so.") + strlen(".so.");

	if (!strcmp(version, TWHEEL_VERSION)) {
		doctor_find(doctor, STATE_OK, "library", "%s", file);
		return;
	}
	doctor_find(doctor, STATE_NOTE, "library",
		    "%s is not of version " TWHEEL_VERSION ", as this tool is", file);
	doctor_advise(doctor, "remove it, or replace it; the one in use: " FIND_LIBRARY);
}

/* Look at each library with the full version in its name. */
static void look_at_libraries(struct doctor *doctor)
{
	/* Not every C library has GLOB_BRACE. */
	static const char *const patterns[] = {
		"/usr/local/lib/libtwheel.so.*.*.*",
		"/usr/local/lib64/libtwheel.so.*.*.*",
		"/usr/local/lib/*/libtwheel.so.*.*.*",
		"/usr/lib/libtwheel.so.*.*.*",
		"/usr/lib64/libtwheel.so.*.*.*",
		"/usr/lib/*/libtwheel.so.*.*.*",
	};
	char path[ROOT_PATH];
	size_t i, n = 0;
	glob_t files = { };

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		root_path(path, "%s", patterns[i]);
		glob(path, i ? GLOB_APPEND : 0, NULL, &files);
	}
	for (i = 0; i < files.gl_pathc; i++) {
		if (is_again(files.gl_pathv, i))
			continue;
		look_at_library(doctor, files.gl_pathv[i] + strlen(root_folder()));
		n++;
	}
	globfree(&files);
	if (n > 1) {
		doctor_find(doctor, STATE_NOTE, "library", "installed %zu times", n);
		doctor_advise(doctor, "keep one; the one in use: " FIND_LIBRARY);
	}
}

/* Read the version of the interface from a header. Returns 0 if it has none. */
static unsigned int header_version(const char *file)
{
	unsigned int version = 0;
	char path[ROOT_PATH], line[256];
	FILE *stream = fopen(root_path(path, "%s", file), "re");

	while (stream && !version && fgets(line, sizeof(line), stream))
		if (sscanf(line, "#define TWHEEL_ABI_VERSION %u", &version) != 1)
			version = 0;
	if (stream)
		fclose(stream);
	return version;
}

static void look_at_headers(struct doctor *doctor)
{
	static const char *const headers[] = {
		"/usr/local/include/linux/twheel.h", "/usr/include/linux/twheel.h",
	};
	size_t i;

	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		unsigned int version;

		if (!root_exists(headers[i]))
			continue;
		version = header_version(headers[i]);
		if (version == TWHEEL_ABI_VERSION) {
			doctor_find(doctor, STATE_OK, "header", "%s, interface version %u",
				    headers[i], version);
			continue;
		}
		doctor_find(doctor, STATE_WRONG, "header",
			    "%s is of interface version %u, this tool of %u", headers[i],
			    version, TWHEEL_ABI_VERSION);
		doctor_advise(doctor,
			      "install that of this version: sudo make install, or libtwheel-dev");
	}
}

void doctor_versions(struct doctor *doctor)
{
	if (doctor->loaded)
		look_at_module(doctor);
	look_at_libraries(doctor);
	look_at_headers(doctor);
}
