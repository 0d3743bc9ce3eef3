/* SPDX-License-Identifier: GPL-2.0-only */
/* What main.c begins and ends. All functions may sleep. */
#ifndef TWHEEL_MAIN_H
#define TWHEEL_MAIN_H

struct miscdevice;

/* /dev/twheel, which can be opened while it is registered */
extern struct miscdevice twheel_miscdev;

/* Make the folder twheel in debugfs. Where that cannot be there is none, which is no error. */
void twheel_debugfs_init(void);

/* Remove that folder. */
void twheel_debugfs_exit(void);

#endif /* TWHEEL_MAIN_H */
