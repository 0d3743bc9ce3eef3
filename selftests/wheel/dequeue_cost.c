// SPDX-License-Identifier: GPL-2.0-only
#include "dequeue_cost.h"

void dequeue_counted(struct twheel_wheel *w, struct twheel_node *node)
{
	twheel_wheel_dequeue(w, node);
}
