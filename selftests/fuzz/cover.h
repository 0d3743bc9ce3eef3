/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coverage of the module, by KCOV: what the calls of this thread reached.
 *
 * What the module does in the softirq of its hrtimers is nobody's call, and KCOV
 * leaves it out: expiry is exercised, but does not guide the fuzzer.
 */
#ifndef FUZZ_COVER_H
#define FUZZ_COVER_H

#include <stdbool.h>

#include <linux/types.h>

#define COVER_EDGES	(1U << 16)
/* More than the module's text is long. */
#define COVER_TEXT	(1U << 20)
/* What one run can reach that is new to it. */
#define COVER_RUN	4096

/**
 * struct cover - what was reached by anyone
 * @edges: a byte each, by a hash
 * @pcs: a byte for each address of the module's text
 * @nr_edges: how many of them
 * @nr_pcs: see @nr_edges
 */
struct cover {
	__u8 edges[COVER_EDGES];
	__u8 pcs[COVER_TEXT];
	__u32 nr_edges;
	__u32 nr_pcs;
};

/**
 * struct cover_run - the edges of one run of a program, by one thread
 * @seen: a bit each
 * @nr: how many are in @list
 * @list: which
 */
struct cover_run {
	__u64 seen[COVER_EDGES / 64];
	__u32 nr;
	__u16 list[COVER_RUN];
};

/**
 * struct kcov - a thread's coverage
 * @fd: of the kernel's file
 * @area: where the kernel stores a length, and as many addresses
 */
struct kcov {
	int fd;
	unsigned long *area;
};

/* Where the module is: false if it is not instrumented, or cannot be told. */
bool cover_init(void);

/* Takes the privilege that the fuzzer is about to give up: 0 or -errno. */
int kcov_open(struct kcov *kcov);

/* From here on the kernel notes what the calling thread does: 0 or -errno. */
int kcov_enable(struct kcov *kcov);

/* Around each call. What it reached goes to @run, and to @cover, by @salt. */
void kcov_reset(struct kcov *kcov);
void kcov_collect(struct kcov *kcov, struct cover *cover, struct cover_run *run,
		  __u32 salt);

void cover_run_reset(struct cover_run *run);
bool cover_run_has(const struct cover_run *run, __u16 edge);

#endif /* FUZZ_COVER_H */
