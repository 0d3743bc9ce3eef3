/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How all programs explain that a context cannot be opened.
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

/**
 * backend_misspelt() - is TWHEEL_BACKEND what twheel_open() refuses with -EINVAL?
 *
 * It does so for a program that names no device, and whatever the device is like.
 *
 * Return: its value, or NULL if it is unset, empty, auto, device or embedded.
 */
const char *backend_misspelt(void);

/* Is TWHEEL_BACKEND @name? */
bool backend_is(const char *name);

/* Does twheel_open() without a path make a wheel in the process? */
bool backend_in_process(void);

/* What to say of such a value: a format for printf() that takes it. */
#define BACKEND_MISSPELT	"TWHEEL_BACKEND is '%s': it must be auto, device or embedded"

#endif /* DEVICE_H */
