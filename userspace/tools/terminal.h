/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What is different when a person looks on: colours, and how far long work has come.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

enum colour {
	COLOUR_NONE,
	COLOUR_GOOD,
	COLOUR_NOTE,
	COLOUR_BAD,
	COLOUR_FAINT,
	COLOUR_BOLD,
};

/**
 * terminal_colours() - may standard output have colours?
 *
 * Return: whether it is a terminal that has them, and NO_COLOR is not in the environment.
 */
bool terminal_colours(void);

/**
 * terminal_colour() - the escape sequence that begins a colour
 * @colour: the colour; %COLOUR_NONE ends it
 *
 * Return: the sequence, or "" unless terminal_colours().
 */
const char *terminal_colour(enum colour colour);

/**
 * terminal_blocks() - may text have the block characters of Unicode?
 *
 * Return: whether the environment names a locale of UTF-8.
 */
bool terminal_blocks(void);

/**
 * struct progress - work that may take long
 * @what: the things that are counted
 * @total: how many there are; 0 if that is not known
 * @begun: when it began, in nanoseconds of CLOCK_MONOTONIC
 * @shown: when it was last shown, or @begun
 * @on: somebody may look on
 */
struct progress {
	const char	*what;
	uint64_t	total;
	uint64_t	begun;
	uint64_t	shown;
	bool		on;
};

/**
 * progress_begin() - begin work that may take long
 * @progress: filled in
 * @what: the things that are counted, in the plural
 * @total: how many there are; 0 if that is not known
 *
 * Nothing is shown if standard error is no terminal, or if standard output is one: then
 * the output itself shows it.
 */
void progress_begin(struct progress *progress, const char *what, uint64_t total);

/**
 * progress_update() - show how far it has come
 * @progress: the work
 * @done: how many have been worked off
 *
 * Shows how many a second there were and how long the rest will take, five times a second
 * at most, after the first two seconds.
 */
void progress_update(struct progress *progress, uint64_t done);

/**
 * progress_end() - remove what was shown
 * @progress: the work
 */
void progress_end(struct progress *progress);

#endif /* TERMINAL_H */
