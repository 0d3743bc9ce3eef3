/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters and histograms in debugfs. */
#ifndef TWHEEL_DEBUGFS_H
#define TWHEEL_DEBUGFS_H

/**
 * twheel_debugfs_init() - make the folder twheel in debugfs
 *
 * Without debugfs, or without memory for it, there is no folder. That is no error.
 *
 * Context: may sleep.
 */
void twheel_debugfs_init(void);

/**
 * twheel_debugfs_exit() - remove that folder
 *
 * Context: may sleep.
 */
void twheel_debugfs_exit(void);

#endif /* TWHEEL_DEBUGFS_H */
