// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The contexts of all processes, as /proc shows them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/kcmp.h>

#include "contexts.h"
#include "number.h"
#include "root.h"

/**
 * struct search - what was found so far
 * @number: the device
 * @device: there is one to look for
 * @closed: tell of what is closed, too
 * @holders: an array of its descriptors
 * @n: how many there are
 * @room: how many there is room for
 * @slots: an array of what wheels in processes show
 * @programs: for each of them its descriptor
 * @m: how many there are
 * @hidden: how many processes may not be looked at
 * @unseen: how many wheels in processes had no room
 */
struct search {
	dev_t				number;
	bool				device;
	bool				closed;
	struct holder			*holders;
	size_t				n;
	size_t				room;
	struct twheel_share_slot	*slots;
	struct holder			*programs;
	size_t				m;
	size_t				hidden;
	uint64_t			unseen;
};

int device_number(dev_t *number)
{
	unsigned int major, minor;
	char path[ROOT_PATH];
	struct stat node;
	char line[32];

	if (root_line("/sys/class/misc/twheel/dev", line, sizeof(line)) &&
	    sscanf(line, "%u:%u", &major, &minor) == 2) {
		*number = makedev(major, minor);
		return 0;
	}
	/* sysfs may not be mounted, and the node is what programs open. */
	if (stat(root_path(path, "/dev/twheel"), &node) || !S_ISCHR(node.st_mode))
		return -ENODEV;
	*number = node.st_rdev;
	return 0;
}

/* Tell of the process of @holder. */
static void describe(struct holder *holder)
{
	char file[64], uid[64];
	char *c;

	snprintf(file, sizeof(file), "/proc/%d/comm", (int)holder->pid);
	root_line(file, holder->command, sizeof(holder->command));
	/* A process chooses its name, and must not write to others' terminals. */
	for (c = holder->command; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	snprintf(file, sizeof(file), "/proc/%d/status", (int)holder->pid);
	root_field(file, "Uid", uid, sizeof(uid));
	holder->uid = (uid_t)strtoul(uid, NULL, 10);
}

static int add_holder(struct search *search, const struct holder *holder)
{
	if (search->n == search->room) {
		size_t room = search->room ? 2 * search->room : 64;
		struct holder *more = reallocarray(search->holders, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		search->holders = more;
		search->room = room;
	}
	search->holders[search->n++] = *holder;
	return 0;
}

/*
 * The context that the wheel in @slot belongs to, if it has others that were found before: it is
 * for threads, and they have the same descriptor. Or else NULL.
 */
static struct twheel_share_slot *find_context(const struct search *search, pid_t pid,
					      const struct twheel_share_slot *slot)
{
	size_t i, looks = TWHEEL_SHARE_WHEELS;

	for (i = search->m; i && looks && search->programs[i - 1].pid == pid; i--, looks--)
		if (search->slots[i - 1].fd == slot->fd)
			return &search->slots[i - 1];
	return NULL;
}

/* Add a context, or one of several wheels of it, that a process shows. */
static int add_slot(struct search *search, const struct holder *holder,
		    const struct twheel_share_slot *slot)
{
	struct twheel_share_slot *slots = find_context(search, holder->pid, slot);
	struct holder *programs;
	size_t i;

	if (slots) {
		slots->timers += slot->timers;
		slots->ready += slot->ready;
		for (i = 0; i < TWHEEL_SHARE_COUNTS; i++)
			slots->counts[i] += slot->counts[i];
		return 0;
	}
	slots = reallocarray(search->slots, search->m + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	search->slots = slots;
	programs = reallocarray(search->programs, search->m + 1, sizeof(*programs));
	if (!programs)
		return -ENOMEM;
	search->programs = programs;
	slots[search->m] = *slot;
	programs[search->m] = *holder;
	programs[search->m++].fd = (int)slot->fd;
	return 0;
}

/* Why a file of a process cannot be opened: 0 if it has ended, or may not be looked at */
static int why_not_opened(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM ? -err : 0;
}

/*
 * Read a process' descriptor @number, in the folder @dir, if it is memory in which a process shows
 * its contexts. Returns whether it is, or -errno.
 */
static int read_share(int dir, int number, struct twheel_share *share)
{
	static const char memfd[] = "/memfd:" TWHEEL_SHARE_NAME " (deleted)";
	char link[sizeof(memfd) + 1], name[16];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%d", number);
	n = readlinkat(dir, name, link, sizeof(link));
	if (n != sizeof(memfd) - 1 || memcmp(link, memfd, (size_t)n))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return why_not_opened(errno);
	n = pread(fd, share, sizeof(*share), 0);
	close(fd);
	return n == sizeof(*share);
}

/* So many copies of the library in a process are looked for. */
#define COPIES	16

/**
 * struct own_shares - the memory in which a process shows its contexts
 * @files: for each copy of the library there, of which file that is
 * @n: how many there are
 */
struct own_shares {
	ino_t	files[COPIES];
	size_t	n;
};

/*
 * Add the contexts that the process of @holder shows in its descriptor @fd, which is @file, in
 * @dir. A child has its parent's as well, without a lock. Any program may have made them up: the
 * numbers are only printed. Returns 0 or -errno.
 */
static int add_share(struct search *search, struct holder *holder, struct own_shares *own, int dir,
		     int fd, ino_t file)
{
	static struct twheel_share share;
	char info[64], lock[128];
	size_t i;
	int ret;

	/* Somebody who has opened his a million times is not to take all time. */
	for (i = 0; i < own->n; i++)
		if (own->files[i] == file)
			return 0;
	snprintf(info, sizeof(info), "/proc/%d/fdinfo/%d", (int)holder->pid, fd);
	if (own->n == COPIES || !root_field(info, "lock", lock, sizeof(lock)))
		return 0;
	ret = read_share(dir, fd, &share);
	if (ret <= 0)
		return ret;
	own->files[own->n++] = file;
	describe(holder);
	search->unseen += share.unseen;
	ret = 0;
	if (search->closed) {
		struct twheel_share_slot gone = { .fd = UINT32_MAX };

		memcpy(gone.counts, share.gone, sizeof(gone.counts));
		ret = add_slot(search, holder, &gone);
	}
	for (i = 0; i < TWHEEL_SHARE_SLOTS && !ret; i++)
		if (share.slots[i].used)
			ret = add_slot(search, holder, &share.slots[i]);
	return ret;
}

/* Add the descriptors of a process that are open on the device, and what it shows. */
static int search_process(struct search *search, pid_t pid)
{
	struct holder holder = { .pid = pid };
	struct own_shares own = { .n = 0 };
	char path[ROOT_PATH];
	struct dirent *entry;
	bool described = false;
	struct stat file;
	int ret = 0;
	DIR *dir;

	dir = opendir(root_path(path, "/proc/%d/fd", (int)pid));
	if (!dir) {
		search->hidden += errno == EACCES || errno == EPERM;
		return why_not_opened(errno);
	}
	while (!ret && (entry = readdir(dir))) {
		uint64_t fd;

		/* A descriptor may be closed meanwhile. */
		if (number_parse(entry->d_name, INT_MAX, &fd) ||
		    fstatat(dirfd(dir), entry->d_name, &file, 0))
			continue;
		if (S_ISREG(file.st_mode) && file.st_size == sizeof(struct twheel_share)) {
			ret = add_share(search, &holder, &own, dirfd(dir), (int)fd, file.st_ino);
			continue;
		}
		if (!search->device || !S_ISCHR(file.st_mode) || file.st_rdev != search->number)
			continue;
		if (!described)
			describe(&holder);
		described = true;
		holder.fd = (int)fd;
		ret = add_holder(search, &holder);
	}
	closedir(dir);
	return ret;
}

static int search_all(struct search *search)
{
	char path[ROOT_PATH];
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	dir = opendir(root_path(path, "/proc"));
	if (!dir)
		return -errno;
	while (!ret && (entry = readdir(dir))) {
		uint64_t pid;

		if (!number_parse(entry->d_name, INT_MAX, &pid))
			ret = search_process(search, (pid_t)pid);
	}
	closedir(dir);
	return ret;
}

/* The order of two descriptors by their open files: 0 if they share one. */
static int compare_files(const void *left, const void *right)
{
	const struct holder *a = left, *b = right;

	switch (syscall(SYS_kcmp, a->pid, b->pid, KCMP_FILE, (long)a->fd, (long)b->fd)) {
	case 0:
		return 0;
	case 1:
		return -1;
	case 2:
		return 1;
	}
	/* The kernel does not tell, or one of the processes has ended. */
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->fd < b->fd ? -1 : a->fd > b->fd;
}

static void keep(void *node)
{
	(void)node;
}

/* Number the contexts of the descriptors. Returns how many there are, or -ENOMEM. */
static ssize_t number_contexts(struct search *search)
{
	void *tree = NULL;
	ssize_t n = 0;
	size_t i;

	for (i = 0; i < search->n; i++) {
		struct holder *holder = &search->holders[i], **found;

		found = tsearch(holder, &tree, compare_files);
		if (!found) {
			n = -ENOMEM;
			break;
		}
		holder->context = *found == holder ? (size_t)n++ : (*found)->context;
	}
	tdestroy(tree, keep);
	return n;
}

/* Those of a context are beside each other, the process with the lowest number first. */
static int by_context(const void *left, const void *right)
{
	const struct holder *a = left, *b = right;

	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->fd < b->fd ? -1 : a->fd > b->fd;
}

static int by_timers(const void *left, const void *right)
{
	const struct context *a = left, *b = right;
	uint64_t m = a->pending + a->ready, n = b->pending + b->ready;

	if (m != n)
		return m > n ? -1 : 1;
	return by_context(a->holders, b->holders);
}

/* Read what a descriptor tells of its context. 1; 0 if it is closed meanwhile; or -errno. */
static int read_fdinfo(struct context *context, const struct holder *holder)
{
	char path[ROOT_PATH], line[128];
	unsigned int found = 0;
	FILE *file;

	file = fopen(root_path(path, "/proc/%d/fdinfo/%d", (int)holder->pid, holder->fd), "re");
	if (!file)
		return why_not_opened(errno);
	while (fgets(line, sizeof(line), file)) {
		found += sscanf(line, "clock: %" SCNu32, &context->clock) == 1;
		found += sscanf(line, "config: %" SCNx32, &context->config) == 1;
		found += sscanf(line, "pending: %" SCNu64, &context->pending) == 1;
		found += sscanf(line, "ready: %" SCNu64, &context->ready) == 1;
		found += sscanf(line, "limit: %" SCNu64, &context->limit) == 1;
	}
	fclose(file);
	return found == 5;
}

/* Fill in @contexts, which has room for @n. 0 or -errno. */
static int read_contexts(struct contexts *contexts, const struct search *search, size_t n)
{
	size_t first = 0, end, i;

	for (i = 0; i < n; i++, first = end) {
		struct context *context = &contexts->all[contexts->n];
		int told = 0;

		for (end = first; end < search->n; end++) {
			if (search->holders[end].context != search->holders[first].context)
				break;
			/* All of them tell the same. */
			if (!told)
				told = read_fdinfo(context, &search->holders[end]);
		}
		if (told < 0)
			return told;
		context->holders = &search->holders[first];
		context->n = end - first;
		contexts->n += (size_t)told;
	}
	return 0;
}

/* Add what wheels in processes show to @contexts, which has room for it. */
static void read_slots(struct contexts *contexts, struct search *search, size_t n)
{
	size_t i;

	for (i = 0; i < search->m; i++) {
		const struct twheel_share_slot *slot = &search->slots[i];
		uint64_t ready = slot->ready < slot->timers ? slot->ready : slot->timers;

		search->programs[i].context = n + i;
		contexts->all[contexts->n++] = (struct context){
			.holders = &search->programs[i],
			.n = 1,
			.clock = slot->clock,
			.config = slot->config,
			.pending = slot->timers - ready,
			.ready = ready,
			.limit = slot->limit,
			.slot = slot,
		};
	}
}

/* With @programs only what wheels in processes show, and with @pid only of that process. */
static int read_all(struct contexts *contexts, bool programs, pid_t pid)
{
	struct search search = { .closed = programs };
	ssize_t n;

	*contexts = (struct contexts){ };
	search.device = !programs && !device_number(&search.number);
	n = pid ? search_process(&search, pid) : search_all(&search);
	if (!n)
		n = number_contexts(&search);
	if (n >= 0) {
		if (search.n)
			qsort(search.holders, search.n, sizeof(*search.holders), by_context);
		contexts->all = calloc((size_t)n + search.m + 1, sizeof(*contexts->all));
		if (!contexts->all)
			n = -ENOMEM;
	}
	contexts->holders = search.holders;
	contexts->programs = search.programs;
	contexts->slots = search.slots;
	contexts->hidden = search.hidden;
	contexts->unseen = search.unseen;
	if (n >= 0) {
		int ret = read_contexts(contexts, &search, (size_t)n);

		n = ret ? ret : n;
	}
	if (n < 0) {
		contexts_free(contexts);
		return (int)n;
	}
	read_slots(contexts, &search, (size_t)n);
	return 0;
}

int contexts_read_programs(struct contexts *contexts, pid_t pid)
{
	return read_all(contexts, true, pid);
}

int contexts_read(struct contexts *contexts)
{
	int ret = read_all(contexts, false, 0);

	if (!ret)
		qsort(contexts->all, contexts->n, sizeof(*contexts->all), by_timers);
	return ret;
}

void contexts_free(struct contexts *contexts)
{
	free(contexts->all);
	free(contexts->holders);
	free(contexts->programs);
	free(contexts->slots);
	*contexts = (struct contexts){ };
}
