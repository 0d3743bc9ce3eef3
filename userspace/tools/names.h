/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Names for the numbers of the interface.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Room for the name of a user or of a group. */
#define NAME_SIZE	33

/**
 * struct bit_name - the name of a bit
 * @bit: the bit; 0 ends a table of them
 * @name: its name
 */
struct bit_name {
	uint64_t	bit;
	const char	*name;
};

/* The names of bits in &twheel_info.features, &twheel_config.flags and &twheel_arm.flags. */
extern const struct bit_name feature_names[];
extern const struct bit_name config_names[];
extern const struct bit_name timer_names[];

/**
 * print_bits() - name the bits that are set
 * @names: a table
 * @bits: the bits; those that are not in the table are printed in hexadecimal
 * @quote: printed before and after each name
 * @between: printed between two names
 */
void print_bits(const struct bit_name *names, uint64_t bits, const char *quote,
		const char *between);

/**
 * clock_name() - the name of a clock
 * @clock: a CLOCK_* number or %TWHEEL_CLOCK_REALTIME
 *
 * Return: its name as the command line takes it, or "unknown".
 */
const char *clock_name(uint32_t clock);

/**
 * user_name() - the name of a user
 * @name: filled in; the number if there is no name
 * @uid: the user
 *
 * Return: @name.
 */
char *user_name(char name[NAME_SIZE], uid_t uid);

/* The name of a group, likewise. */
char *group_name(char name[NAME_SIZE], gid_t gid);

/**
 * print_json_string() - print a string as JSON has it
 * @text: any bytes; what is not ASCII is taken for UTF-8
 */
void print_json_string(const char *text);

#endif /* NAMES_H */
