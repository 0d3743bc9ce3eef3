// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a violation is shown with: the last calls on a timer.
 */
#include <stdio.h>

#include "history.h"

static const char *const names[] = {
	"arm", "cancel", "get", "read", "list", "drain", "extend", "empty", "step",
	"settled", "closed",
};

static void print_line(const struct line *line)
{
	printf("#   %llu-%llu thread %d, at %llu-%llu: %s",
	       line->begin, line->end, line->op.log, line->t0,
	       line->t1, names[line->type]);
	switch (line->type) {
	case CALL_ARM:
		printf(" id %llx expires %llu interval %llu slack %llu count %u flags %x",
		       line->arm.user_data, line->arm.expires, line->arm.interval,
		       line->arm.slack, line->arm.count, line->arm.flags);
		printf(": %d, was %u, %llu left", line->arm.result, line->arm.old_state,
		       line->arm.old_remaining);
		break;
	case CALL_CANCEL:
		printf(": %d, was %u, %llu left", line->cancel.result,
		       line->cancel.old_state, line->cancel.old_remaining);
		break;
	case CALL_READ:
		printf(": id %llx deadline %llu expired %llu expirations %llu flags %x",
		       line->event.user_data, line->event.deadline, line->event.expired,
		       line->event.expirations, line->event.flags);
		break;
	case CALL_EXTEND:
		printf(" %llx to %llx: %ld, found %llx", line->word[0], line->word[1],
		       line->ret, line->word[2]);
		break;
	default:
		printf(": %ld id %llx deadline %llu state %u, %llu left", line->ret,
		       line->info.user_data, line->info.deadline, line->info.state,
		       line->info.remaining);
		printf(", interval %llu slack %llu count %u flags %x", line->info.interval,
		       line->info.slack, line->info.count, line->info.flags);
	}
	putchar('\n');
}

void print_history(const struct timer *timer)
{
	unsigned int i = timer->nr_lines > NR_HISTORY ? timer->nr_lines - NR_HISTORY : 0;

	printf("#  timer %llx of context %d (%u, clock %d)\n", timer->handle, timer->place,
	       timer->ctx, timer->clock);
	for (; i < timer->nr_lines; i++)
		print_line(&timer->lines[i % NR_HISTORY]);
}

const char *call_name(enum call_type type)
{
	return names[type];
}
