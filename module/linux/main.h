/* SPDX-License-Identifier: GPL-2.0-only */
/* What main.c begins and ends. All may sleep. */
#ifndef TWHEEL_MAIN_H
#define TWHEEL_MAIN_H

/* Make /dev/twheel, which can be opened from then on. 0 or -errno. */
int twheel_chardev_init(void);

/* Remove /dev/twheel, which nobody has open. */
void twheel_chardev_exit(void);

/* Make the folder twheel in debugfs. Where that cannot be there is none, which is no error. */
void twheel_debugfs_init(void);

/* Remove that folder. */
void twheel_debugfs_exit(void);

#endif /* TWHEEL_MAIN_H */
