// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's fault injection.
 */
#include <stdio.h>
#include <stdlib.h>

#include "inject.h"
#include "twheel_util.h"

#define DEBUGFS		"/sys/kernel/debug/"
/* More than ever fire. The kernel counts this down. */
#define TIMES		1000000000L

const char *const inject_names[NR_FAULT_KINDS] = {
	[FAULT_SLAB]		= "failslab",
	[FAULT_PAGE]		= "fail_page_alloc",
	[FAULT_USERCOPY]	= "fail_usercopy",
};

/*
 * The kernel tells each thread on which CPU it is, in a word of the C library's
 * (rseq), and kills the program if it cannot write there: after a fork, when that
 * takes memory which is made to fail. Nobody needs it here.
 */
static void __attribute__((constructor)) without_rseq(int argc, char **argv)
{
	if (getenv("GLIBC_TUNABLES"))
		return;
	setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
	execv("/proc/self/exe", argv);
}

static int set(enum fault_kind kind, const char *attribute, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", inject_names[kind], attribute);
	return tw_write_file(path, value);
}

int inject_begin(void)
{
	enum fault_kind kind;
	char times[16];
	int ret = 0;

	snprintf(times, sizeof(times), "%ld", TIMES);
	for (kind = 0; !ret && kind < NR_FAULT_KINDS; kind++) {
		ret = set(kind, "probability", "0") ?: set(kind, "interval", "1") ?:
		      set(kind, "space", "0") ?: set(kind, "verbose", "0") ?:
		      set(kind, "task-filter", "Y") ?: set(kind, "times", times);
	}
	/* By default only what cannot wait fails, and that is next to nothing. */
	if (!ret)
		ret = set(FAULT_SLAB, "ignore-gfp-wait", "N") ?:
		      set(FAULT_PAGE, "ignore-gfp-wait", "N") ?:
		      set(FAULT_PAGE, "ignore-gfp-highmem", "N") ?:
		      set(FAULT_PAGE, "min-order", "0");
	if (ret)
		return ret;
	/* For vm/log.sh: from here on traces of allocations that failed are due. */
	tw_write_file("/dev/kmsg", "twheel-vm: faults\n");
	/* Programs that take a failure badly shall not fill the kernel's log. */
	tw_write_file("/proc/sys/debug/exception-trace", "0");
	return 0;
}

long inject_fired(enum fault_kind kind)
{
	char path[128], text[32] = "";
	int fd, ret;

	snprintf(path, sizeof(path), DEBUGFS "%s/times", inject_names[kind]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read(fd, text, sizeof(text) - 1) < 0 ? -errno : 0;
	close(fd);
	return ret ?: TIMES - strtol(text, NULL, 10);
}
