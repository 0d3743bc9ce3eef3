/* SPDX-License-Identifier: GPL-2.0-only */
/* The device node. */
#ifndef TWHEEL_CHARDEV_H
#define TWHEEL_CHARDEV_H

/**
 * twheel_chardev_init() - make /dev/twheel, which can be opened from then on
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int twheel_chardev_init(void);

/**
 * twheel_chardev_exit() - remove /dev/twheel, which nobody has open
 *
 * Context: may sleep.
 */
void twheel_chardev_exit(void);

#endif /* TWHEEL_CHARDEV_H */
