/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last programs, where they outlive the guest.
 *
 * Memory of a device (QEMU's ivshmem) is a file of the host's: a store is all it
 * takes to leave a program there before it is run, and whatever becomes of the
 * kernel, the host finds it.
 */
#ifndef FUZZ_RING_H
#define FUZZ_RING_H

#include <stdbool.h>

#include "prog.h"

/* One line of text each, filled up with zeros. */
#define RING_ENTRY	1024
#define RING_SIZE	(1U << 20)

/* False if there is no such device. */
bool ring_init(void);

/* Leave there that @worker runs @prog, as the @seq-th. */
void ring_put(unsigned long seq, int worker, const struct prog *prog);

#endif /* FUZZ_RING_H */
