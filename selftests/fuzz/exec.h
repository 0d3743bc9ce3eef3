/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Running programs.
 */
#ifndef FUZZ_EXEC_H
#define FUZZ_EXEC_H

#include <stdbool.h>

#include "cover.h"
#include "prog.h"
#include "world.h"

/**
 * struct exec - where runs leave what they found
 * @cover: what was reached so far; of all processes
 * @calls: how many were made; of all processes
 * @world: what was wrong; this process's, but shared with children of a run
 * @runs: what each thread of the last run reached
 * @verbose: tell each call
 */
struct exec {
	struct cover *cover;
	__u64 *calls;
	struct world *world;
	struct cover_run runs[PROG_THREADS];
	bool verbose;
};

/*
 * Get ready, once a process: 0 or -errno. Privileges that are needed are taken
 * here, and can be given up afterwards.
 */
int exec_init(struct exec *exec);

/* Start the threads; from here on this thread's calls are covered. 0 or -errno. */
int exec_start(void);

/* Run @prog and look at what became of it. */
void exec_run(const struct prog *prog);

#endif /* FUZZ_EXEC_H */
