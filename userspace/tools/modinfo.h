/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The module's file, and what it tells of itself.
 */
#ifndef MODINFO_H
#define MODINFO_H

#include <stdbool.h>

#include "root.h"

/**
 * struct modinfo - a module's file
 * @path: where it is, without root_folder()
 * @listed: modprobe finds it: it is in modules.dep
 * @read: modinfo(8) could read it, and the rest is what it said; "" is unknown
 * @version: its version
 * @srcversion: a checksum of its sources
 * @vermagic: the kernel that it was built for
 * @signer: whose key has signed it
 */
struct modinfo {
	char	path[ROOT_PATH];
	bool	listed;
	bool	read;
	char	version[64];
	char	srcversion[64];
	char	vermagic[128];
	char	signer[128];
};

/**
 * modinfo_find() - find the module's file for a kernel
 * @modinfo: filled in
 * @release: the kernel's release
 *
 * Return: whether there is one.
 */
bool modinfo_find(struct modinfo *modinfo, const char *release);

/**
 * modinfo_elsewhere() - find a kernel that the module is installed for
 * @release: filled in
 * @size: the size of @release
 *
 * Return: whether there is one.
 */
bool modinfo_elsewhere(char *release, int size);

#endif /* MODINFO_H */
