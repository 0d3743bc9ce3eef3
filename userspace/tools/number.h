/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Numbers on a command line.
 */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdint.h>

/**
 * number_parse() - read a whole number
 * @text: decimal, or hexadecimal with 0x; no sign, no blanks
 * @most: the largest allowed
 * @number: the number
 *
 * Return: 0; -EINVAL when @text is something else; -ERANGE when it is more than
 * @most. After an error @number is as it was.
 */
int number_parse(const char *text, uint64_t most, uint64_t *number);

#endif /* NUMBER_H */
