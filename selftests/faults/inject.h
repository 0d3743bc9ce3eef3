/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's fault injection.
 *
 * It makes calls inside the kernel fail that hardly ever do: allocations of slab
 * objects and of pages, and copies from and to user space. Needs root, debugfs,
 * and a kernel with FAILSLAB, FAIL_PAGE_ALLOC, FAULT_INJECTION_USERCOPY and
 * FAULT_INJECTION_DEBUG_FS.
 */
#ifndef TWHEEL_INJECT_H
#define TWHEEL_INJECT_H

/**
 * enum fault_kind - what is made to fail
 * @FAULT_SLAB: failslab, allocations of slab objects
 * @FAULT_PAGE: fail_page_alloc, allocations of pages
 * @FAULT_USERCOPY: fail_usercopy, copies from and to user space
 * @NR_FAULT_KINDS: how many there are
 */
enum fault_kind {
	FAULT_SLAB,
	FAULT_PAGE,
	FAULT_USERCOPY,
	NR_FAULT_KINDS,
};

extern const char *const inject_names[NR_FAULT_KINDS];

/* Get ready, with nothing failing yet: 0, or -errno if this kernel cannot do it. */
int inject_begin(void);

/* How many faults there were since inject_begin(), or -errno. */
long inject_fired(enum fault_kind kind);

#endif /* TWHEEL_INJECT_H */
