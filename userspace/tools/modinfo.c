// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The module's file, and what it tells of itself.
 */
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "modinfo.h"

#define MODULES	"/lib/modules"

/* For visit(), which nftw() passes nothing else to. */
static char visited[ROOT_PATH];

/* Is this the name of the module's file, which may be compressed? */
static bool is_module(const char *name)
{
	return !strncmp(name, "twheel.ko", 9) && (!name[9] || name[9] == '.');
}

static int visit(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat;
	if (type != FTW_F || !is_module(path + ftw->base))
		return 0;
	snprintf(visited, sizeof(visited), "%s", path + strlen(root_folder()));
	return 1;
}

/* Look in modules.dep, as modprobe does. Its lines begin with a path and a colon. */
static bool find_listed(struct modinfo *modinfo, const char *release)
{
	char path[ROOT_PATH], *line = NULL, *colon, *name;
	size_t size = 0;
	FILE *file;

	file = fopen(root_path(path, MODULES "/%s/modules.dep", release), "re");
	while (file && !modinfo->listed && getline(&line, &size, file) > 0) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = 0;
		name = strrchr(line, '/');
		if (!is_module(name ? name + 1 : line))
			continue;
		modinfo->listed = true;
		/* Some distributions list absolute paths. */
		if (*line == '/')
			snprintf(modinfo->path, sizeof(modinfo->path), "%s", line);
		else
			snprintf(modinfo->path, sizeof(modinfo->path), MODULES "/%s/%s",
				 release, line);
	}
	free(line);
	if (file)
		fclose(file);
	return modinfo->listed;
}

/* Run modinfo(8), which reads compressed files and signatures too. */
static FILE *run_modinfo(const char *path, pid_t *pid)
{
	int ends[2];

	if (pipe(ends))
		return NULL;
	/* Where it is ignored there is no exit status to wait for. */
	signal(SIGCHLD, SIG_DFL);
	*pid = fork();
	if (!*pid) {
		char folders[4096];

		/* It is in a folder that is not in the path of ordinary users. */
		snprintf(folders, sizeof(folders), "%s:/usr/sbin:/sbin",
			 getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
		setenv("PATH", folders, 1);
		setenv("LC_ALL", "C", 1);
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		if (!freopen("/dev/null", "w", stderr))
			_exit(127);
		execlp("modinfo", "modinfo", path, NULL);
		_exit(127);
	}
	close(ends[1]);
	if (*pid > 0)
		return fdopen(ends[0], "r");
	close(ends[0]);
	return NULL;
}

static void read_modinfo(struct modinfo *modinfo)
{
	const struct {
		const char	*name;
		char		*value;
		size_t		size;
	} fields[] = {
		{ "version:", modinfo->version, sizeof(modinfo->version) },
		{ "srcversion:", modinfo->srcversion, sizeof(modinfo->srcversion) },
		{ "vermagic:", modinfo->vermagic, sizeof(modinfo->vermagic) },
		{ "signer:", modinfo->signer, sizeof(modinfo->signer) },
	};
	char path[ROOT_PATH], line[512];
	FILE *out;
	int status;
	pid_t pid;
	size_t i;

	out = run_modinfo(root_path(path, "%s", modinfo->path), &pid);
	if (!out)
		return;
	while (fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = 0;
		for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			size_t len = strlen(fields[i].name);

			if (!strncmp(line, fields[i].name, len))
				snprintf(fields[i].value, fields[i].size, "%s",
					 line + len + strspn(line + len, " \t"));
		}
	}
	fclose(out);
	/* modinfo may succeed although it could read nothing. */
	modinfo->read = waitpid(pid, &status, 0) == pid && !status && *modinfo->vermagic;
}

bool modinfo_find(struct modinfo *modinfo, const char *release)
{
	char path[ROOT_PATH];

	*modinfo = (struct modinfo){ };
	if (!find_listed(modinfo, release)) {
		visited[0] = 0;
		root_path(path, MODULES "/%s", release);
		if (nftw(path, visit, 16, FTW_PHYS) <= 0)
			return false;
		memcpy(modinfo->path, visited, sizeof(modinfo->path));
	}
	read_modinfo(modinfo);
	return true;
}

bool modinfo_elsewhere(char *release, int size)
{
	struct modinfo modinfo;
	char path[ROOT_PATH];
	bool found = false;
	glob_t folders;
	size_t i;

	if (!glob(root_path(path, MODULES "/*"), 0, NULL, &folders)) {
		/* The names are sorted, and of kernels the newest is the more helpful. */
		for (i = folders.gl_pathc; !found && i--; ) {
			const char *name = strrchr(folders.gl_pathv[i], '/') + 1;

			found = modinfo_find(&modinfo, name);
			if (found)
				snprintf(release, (size_t)size, "%s", name);
		}
	}
	globfree(&folders);
	return found;
}
