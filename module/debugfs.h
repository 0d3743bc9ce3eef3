/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters and histograms in debugfs. */
#ifndef TWHEEL_DEBUGFS_H
#define TWHEEL_DEBUGFS_H

/*
 * Make and remove the folder twheel in debugfs. Without debugfs, or the memory
 * for it, there is none: that is no error.
 */
void twheel_debugfs_init(void);
void twheel_debugfs_exit(void);

#endif /* TWHEEL_DEBUGFS_H */
