/* SPDX-License-Identifier: GPL-2.0-only */
/* What a violation is shown with: the last calls on a timer. */
#ifndef TORTURE_HISTORY_H
#define TORTURE_HISTORY_H

#include "model.h"

/* Prints what is remembered of @timer, in comments of KTAP. */
void print_history(const struct timer *timer);

/* What a type of calls is called. */
const char *call_name(enum call_type type);

#endif /* TORTURE_HISTORY_H */
