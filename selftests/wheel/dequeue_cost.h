/* SPDX-License-Identifier: GPL-2.0-only */
/* What is inline in wheel.h, where test_cost.c counts it. */
#ifndef TWHEEL_DEQUEUE_COST_H
#define TWHEEL_DEQUEUE_COST_H

#include "wheel.h"

/* As twheel_wheel_dequeue() */
void dequeue_counted(struct twheel_wheel *w, struct twheel_node *node);

#endif /* TWHEEL_DEQUEUE_COST_H */
