/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How all programs explain that the device cannot be opened.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>

/**
 * device_registered() - is the module loaded?
 * @root: the folder that /sys and /proc are in; "" for the real ones
 *
 * Return: whether the kernel has the device, with or without a node in /dev.
 */
bool device_registered(const char *root);

/**
 * device_hint() - explain why the device cannot be opened
 * @path: the device that was tried
 * @err: what twheel_open() has returned
 *
 * Return: text to print after that of the error, in parentheses and with a blank before
 * it; "" when there is nothing to add. It is valid until the next call.
 */
const char *device_hint(const char *path, int err);

#endif /* DEVICE_H */
