/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * reminder: a node claims what is due soon, keeps it in a wheel, and gives it when it is due.
 */
#ifndef REMINDER_NODE_H
#define REMINDER_NODE_H

#include "outlet.h"
#include "store.h"

/**
 * struct settings - how a node works
 * @where: the database
 * @horizon: how long before it is due a reminder is claimed, in nanoseconds
 * @lease: how long a claim goes on after the reminder is due
 * @poll: how often to look for what nobody tells of
 * @most: how many reminders it holds at most; an eighth of them are near
 * @batch: how many it claims, or has done, with a statement
 */
struct settings {
	const char	*where;
	uint64_t	horizon;
	uint64_t	lease;
	uint64_t	poll;
	uint64_t	most;
	uint64_t	batch;
};

/**
 * node_run() - be a node until SIGINT or SIGTERM comes, and what is under way ends or another comes
 * @settings: how it works
 * @outlet: where reminders go
 *
 * Ends the program if the database cannot be used at the start. Later it waits for it.
 */
void node_run(const struct settings *settings, struct outlet *outlet);

#endif /* REMINDER_NODE_H */
