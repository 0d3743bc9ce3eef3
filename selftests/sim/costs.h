/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheel as the linker has it called: __real_ is of the module, __wrap_ of costs.c. */
#ifndef SIM_COSTS_H
#define SIM_COSTS_H

#include "kernel.h"

struct twheel_wheel;
struct twheel_node;

u32 __real_twheel_wheel_take(struct twheel_wheel *w, u64 now, struct twheel_node **nodes, u32 max);
u32 __wrap_twheel_wheel_take(struct twheel_wheel *w, u64 now, struct twheel_node **nodes, u32 max);
void __real_twheel_wheel_enqueue(struct twheel_wheel *w, struct twheel_node *node);
void __wrap_twheel_wheel_enqueue(struct twheel_wheel *w, struct twheel_node *node);

#endif /* SIM_COSTS_H */
