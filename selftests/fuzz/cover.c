// SPDX-License-Identifier: GPL-2.0-only
/*
 * Coverage of the module, by KCOV.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/kcov.h>

#include "cover.h"

/* Addresses that one call is given room for. */
#define AREA_WORDS	(256U << 10)

static unsigned long text;

bool cover_init(void)
{
	FILE *file = fopen("/sys/module/twheel/sections/.text", "r");
	bool ok = file && fscanf(file, "%lx", &text) == 1 && text;

	if (file)
		fclose(file);
	return ok;
}

int kcov_open(struct kcov *kcov)
{
	kcov->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (kcov->fd < 0 || ioctl(kcov->fd, KCOV_INIT_TRACE, AREA_WORDS))
		return -errno;
	kcov->area = mmap(NULL, AREA_WORDS * sizeof(*kcov->area),
			  PROT_READ | PROT_WRITE, MAP_SHARED, kcov->fd, 0);
	return kcov->area == MAP_FAILED ? -errno : 0;
}

int kcov_enable(struct kcov *kcov)
{
	return ioctl(kcov->fd, KCOV_ENABLE, KCOV_TRACE_PC) ? -errno : 0;
}

void kcov_reset(struct kcov *kcov)
{
	__atomic_store_n(&kcov->area[0], 0, __ATOMIC_RELAXED);
}

static void note_edge(struct cover *cover, struct cover_run *run, __u16 edge)
{
	if (cover_run_has(run, edge))
		return;
	run->seen[edge / 64] |= 1ULL << edge % 64;
	/* Before anybody marks it there: it is asked for new ones later. */
	if (run->nr < COVER_RUN && !__atomic_load_n(&cover->edges[edge], __ATOMIC_RELAXED))
		run->list[run->nr++] = edge;
}

void kcov_collect(struct kcov *kcov, struct cover *cover, struct cover_run *run,
		  __u32 salt)
{
	unsigned long n = __atomic_load_n(&kcov->area[0], __ATOMIC_RELAXED), i;
	__u32 last = salt * 0x9e3779b1U;

	for (i = 1; i <= n && i < AREA_WORDS; i++) {
		unsigned long pc = kcov->area[i] - text;

		if (pc >= COVER_TEXT)
			continue;
		if (!cover->pcs[pc] &&
		    !__atomic_exchange_n(&cover->pcs[pc], 1, __ATOMIC_RELAXED))
			__atomic_add_fetch(&cover->nr_pcs, 1, __ATOMIC_RELAXED);
		note_edge(cover, run, ((last ^ (__u32)pc) * 0x9e3779b1U) >> 16);
		last = pc << 1;
	}
}

void cover_run_reset(struct cover_run *run)
{
	memset(run, 0, sizeof(*run));
}

bool cover_run_has(const struct cover_run *run, __u16 edge)
{
	return run->seen[edge / 64] >> edge % 64 & 1;
}
