/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that calls are given: good, and bad in all ways that there are.
 */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define MEMORY_PAGE	4096UL
/* No buffer is larger. */
#define MEMORY_MAX	(6 * MEMORY_PAGE)

/**
 * enum memory_kind - what is wrong with a buffer
 * @MEMORY_GOOD: nothing
 * @MEMORY_END: behind it there is no memory
 * @MEMORY_CROSS: it ends where there is no memory
 * @MEMORY_ODD: it is not aligned
 * @MEMORY_FRESH: it is there, but was never touched
 * @MEMORY_READ_ONLY: it cannot be written
 * @MEMORY_NULL: it is NULL
 * @MEMORY_NONE: there is none
 * @MEMORY_KERNEL: it is the kernel's, or nobody's
 * @MEMORY_RACE: another thread may take it away, see memory_flip()
 * @MEMORY_WORDS: it is what the device has mapped
 */
enum memory_kind {
	MEMORY_GOOD, MEMORY_END, MEMORY_CROSS, MEMORY_ODD, MEMORY_FRESH,
	MEMORY_READ_ONLY, MEMORY_NULL, MEMORY_NONE, MEMORY_KERNEL, MEMORY_RACE,
	MEMORY_WORDS,
};

/**
 * struct memory - of one thread
 * @area: the pages that buffers are taken from
 */
struct memory {
	char *area;
};

/**
 * struct buffer - what one call is given
 * @kind: how it is
 * @at: where
 * @size: how long the call is told that it is
 * @end: behind this nothing was filled in
 * @filler: what every byte of it, and around it, is
 */
struct buffer {
	enum memory_kind kind;
	char *at;
	size_t size;
	char *end;
	__u8 filler;
};

/* For the whole process, and for a thread: false without memory. */
bool memory_init(void);
bool memory_thread(struct memory *memory);

/* What kind a byte means: good memory more often than not. */
enum memory_kind memory_kind(__u8 byte);

/* A buffer of @size, filled. @at is where the device's words are, or NULL. */
struct buffer memory_buffer(struct memory *memory, enum memory_kind kind, size_t size,
			    __u8 mode, void *words);

/* Can it be known what is in the buffer after the call? */
bool memory_sure(const struct buffer *buffer);

/* Can all of it be read and written, by the kernel, too? */
bool memory_good(const struct buffer *buffer);

/* Was nothing stored around the first @used bytes? */
bool memory_clean(const struct buffer *buffer, size_t used);

/* What memory_flip() works on. */
void *memory_race(void);

/* Take the memory of MEMORY_RACE away, or give it back. */
void memory_flip(__u8 mode);

/*
 * Copy multiples of eight bytes from or to where there may be no memory: how many
 * bytes, in ascending order.
 */
size_t memory_copy(void *to, const void *from, size_t n);

#endif /* FUZZ_MEMORY_H */
