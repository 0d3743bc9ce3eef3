/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for tests of limits: to become another user, to set parameters of the module, and
 * to make a memory cgroup. All of them need root.
 */
#ifndef TWHEEL_USERS_H
#define TWHEEL_USERS_H

#include <grp.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "twheel_test.h"

/* Becomes @uid for good, with no other group. Returns whether that succeeded. */
static inline bool become(uid_t uid)
{
	return setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
	       setresuid(uid, uid, uid) == 0 &&
	       /* Keeps /proc/self accessible for the process. */
	       prctl(PR_SET_DUMPABLE, 1) == 0;
}

/*
 * Opens the device as @uid, as timers count for the real user. Only this thread changes its
 * user: the function of the C library waits for all threads, and some may be stalled.
 */
static inline int open_as(uid_t uid)
{
	int fd;

	if (syscall(SYS_setresuid, uid, uid, 0))
		return -errno;
	fd = tw_open();
	if (syscall(SYS_setresuid, 0, 0, 0))
		_exit(1);
	return fd;
}

/* Waits for RCU, and then a moment for what is freed by it. */
static inline void wait_for_rcu(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	usleep(20000);
}

/*
 * What was closed or cancelled counts until RCU has freed it. A call that finds no room waits for
 * that, but not for longer than a second. Returns whether it is worth another try: @tries counts
 * them.
 */
static inline bool try_when_freed(int error, int *tries)
{
	if (error != -EDQUOT || ++*tries > 3)
		return false;
	wait_for_rcu();
	return true;
}

/* Opens as @uid. An open does not wait for memory that is about to be freed, so this does. */
static inline int open_when_freed(uid_t uid)
{
	int fd;

	return tw_await((fd = open_as(uid)) != -EDQUOT) ? fd : -EDQUOT;
}

/* Wakes the other end of a socket pair, which waits in hear(). Returns false if there is none. */
static inline bool tell(int fd)
{
	char byte = 0;

	return write(fd, &byte, 1) == 1;
}

static inline bool hear(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/*
 * Arms up to @n timers like @like, in batches. If the handle of @like is not 0, keys count
 * up from it. Returns how many were armed, and in *@error why there are no more.
 */
static inline int arm_like(int fd, const struct twheel_arm *like, int n, int *error)
{
	static struct twheel_arm arms[256];
	int i, ret, part, done = 0;

	*error = 0;
	while (done < n) {
		part = n - done < 256 ? n - done : 256;
		for (i = 0; i < part; i++) {
			arms[i] = *like;
			if (like->handle)
				arms[i].handle += done + i;
		}
		ret = tw_arm_batch(fd, arms, part);
		if (ret < 0)
			*error = ret;
		/* Some entries after a refused one may have been accepted. */
		for (i = 0; i < ret; i++) {
			if (arms[i].result)
				*error = arms[i].result;
			else
				done++;
		}
		if (*error)
			break;
	}
	return done;
}

/*
 * Arms @n timers that are far ahead, of the kind that a context with @config has, with keys
 * from @key on.
 */
static inline int arm_kind(int fd, __u32 config, __u64 key, int n, int *error)
{
	struct twheel_arm like = tw_request(TW_FAR, 0, 0);

	if (config & TWHEEL_CONFIG_LEASE)
		like.flags = TWHEEL_ARM_LEASE;
	if (config & TWHEEL_CONFIG_KEYED)
		like.handle = key;
	return arm_like(fd, &like, n, error);
}

/* Returns the number in a parameter of the module, or -1. */
static inline long long parameter(const char *name)
{
	long long value = -1;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), TW_PARAMETERS "%s", name);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%lld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* Returns 0 or -errno. */
static inline int set_parameter(const char *name, long long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), TW_PARAMETERS "%s", name);
	snprintf(text, sizeof(text), "%lld", value);
	return tw_write_file(path, text);
}

/**
 * struct memcg - a memory cgroup, all zero while there is none
 * @mount: a mount of cgroup2 in a mount namespace of the test's own, so that it does
 *	not matter where, or whether, the machine has mounted its own
 * @path: the group's folder there
 */
struct memcg {
	char mount[32];
	char path[64];
};

/*
 * Makes a group with a limit of @limit bytes, or "max". Returns NULL, or why there can be
 * none.
 */
static inline const char *memcg_make(struct memcg *group, const char *limit)
{
	char path[128];

	if (geteuid())
		return "needs root";
	strcpy(group->mount, "/tmp/twheel-cgroup.XXXXXX");
	if (!mkdtemp(group->mount)) {
		group->mount[0] = '\0';
		return "no /tmp to mount a cgroup hierarchy in";
	}
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", group->mount, "cgroup2", 0, NULL))
		return "no cgroup2 to be mounted";
	/*
	 * This fails if the controller is on already or does not exist. The code below
	 * finds out.
	 */
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", group->mount);
	tw_write_file(path, "+memory");
	snprintf(group->path, sizeof(group->path), "%s/twheel-%d", group->mount, getpid());
	if (mkdir(group->path, 0755)) {
		group->path[0] = '\0';
		return "no cgroup to be made";
	}
	snprintf(path, sizeof(path), "%s/memory.swap.max", group->path);
	tw_write_file(path, "0");
	snprintf(path, sizeof(path), "%s/memory.max", group->path);
	return tw_write_file(path, limit) ? "no memory controller in cgroup2" : NULL;
}

/* The same. Returns false, and the test is skipped, if there can be none. */
static inline bool has_memcg(struct __test_metadata *_metadata, struct memcg *group,
			     const char *limit)
{
	const char *reason = memcg_make(group, limit);

	if (reason)
		SKIP(return false, "%s", reason);
	return true;
}

static inline void memcg_remove(struct memcg *group)
{
	if (group->path[0])
		rmdir(group->path);
	if (group->mount[0]) {
		umount2(group->mount, MNT_DETACH);
		rmdir(group->mount);
	}
}

/* Puts this process into the group. Returns whether that succeeded. */
static inline bool memcg_enter(const struct memcg *group)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group->path);
	return tw_write_file(path, "0") == 0;
}

/* Returns a number from the file @name of the group, behind @key if that is not NULL, or -1. */
static inline long long memcg_value(const struct memcg *group, const char *name,
				    const char *key)
{
	char path[128], line[128];
	long long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", group->path, name);
	file = fopen(path, "re");
	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (!key)
			value = atoll(line);
		else if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ' ')
			value = atoll(line + strlen(key));
	if (file)
		fclose(file);
	return value;
}

#endif /* TWHEEL_USERS_H */
