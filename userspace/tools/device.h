/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Why there is no device: what all programs say of it.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>

/**
 * device_registered() - is the module loaded?
 *
 * Return: whether the kernel has the device, with or without a node in /dev.
 */
bool device_registered(void);

/**
 * device_hint() - what to tell someone who could not open the device
 * @path: the device that they tried
 * @err: what twheel_open() has returned
 *
 * Return: text that follows that of the error, with a blank before it and in
 * parentheses; "" when the error says it all.
 */
const char *device_hint(const char *path, int err);

#endif /* DEVICE_H */
