/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The files of the system: of /sys, /proc, /dev and others.
 */
#ifndef ROOT_H
#define ROOT_H

#include <stdbool.h>
#include <stddef.h>

/* Room for a path. */
#define ROOT_PATH	512

/**
 * root_folder() - below which folder are the files of the system?
 *
 * For tests, which make trees of files up, it is what TWHEEL_TEST_ROOT in the environment
 * says. The system calls that a program makes on itself are not redirected.
 *
 * Return: "" for the real ones.
 */
const char *root_folder(void);

/**
 * root_path() - where a file of the system is
 * @path: filled in
 * @format: as for printf(): its name, which begins with a slash
 *
 * Return: @path.
 */
__attribute__((format(printf, 2, 3)))
const char *root_path(char path[ROOT_PATH], const char *format, ...);

/**
 * root_exists() - is there such a file?
 * @file: its name
 */
bool root_exists(const char *file);

/**
 * root_line() - read the first line of a file
 * @file: its name
 * @line: filled in without the newline, cut if it is too long; "" after an error
 * @size: the size of @line
 *
 * Return: whether it could be read.
 */
bool root_line(const char *file, char *line, size_t size);

/**
 * root_field() - read a field of a file of lines "NAME:\tVALUE"
 * @file: its name
 * @name: the name of the field
 * @value: filled in as by root_line()
 * @size: the size of @value
 *
 * Return: whether there is one.
 */
bool root_field(const char *file, const char *name, char *value, size_t size);

#endif /* ROOT_H */
