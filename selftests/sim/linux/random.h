/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers, from the seed: fault.c. */
#ifndef SIM_LINUX_RANDOM_H
#define SIM_LINUX_RANDOM_H

#include <linux/types.h>

void get_random_bytes(void *p, size_t n);
u32 get_random_u32(void);

#endif /* SIM_LINUX_RANDOM_H */
