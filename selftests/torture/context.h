/* SPDX-License-Identifier: GPL-2.0-only */
/* Contexts: opening them, passing them on, and bringing them to an end. */
#ifndef TORTURE_CONTEXT_H
#define TORTURE_CONTEXT_H

#include "shared.h"

/* More words than any context here has. */
#define WORDS_SIZE	(1 << 20)

/* Open @kind, one of 8, in place of @ctx: 0 or -errno. */
int context_open(struct ctx *ctx, int kind, bool blocking);

/* Pass @ctx on to any process, and take what was passed on: -errno if nothing. */
int context_send(const struct ctx *ctx);
int context_receive(int *place);

/*
 * Wait until all that is due soon has expired and was read; cancel the rest. The
 * context is empty then, and that is checked. Nobody else may use it.
 */
void context_settle(struct log *log, struct ctx *ctx);

/* Let calls of this thread fail, if that is what is wanted. */
void faults_begin(void);

#endif /* TORTURE_CONTEXT_H */
