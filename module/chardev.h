/* SPDX-License-Identifier: GPL-2.0-only */
/* The device node. */
#ifndef TWHEEL_CHARDEV_H
#define TWHEEL_CHARDEV_H

/* From the first to the second call /dev/twheel can be opened. */
int twheel_chardev_init(void);
void twheel_chardev_exit(void);

#endif /* TWHEEL_CHARDEV_H */
