/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Memory that nobody may use for now: AddressSanitizer and valgrind tell of a use.
 *
 * AddressSanitizer sees the uses in what was compiled with it. Requests to valgrind cost some
 * instructions, and are left out where its header is missing.
 */
#ifndef TWHEEL_POISON_H
#define TWHEEL_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TWHEEL_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TWHEEL_ASAN
#endif

#ifdef TWHEEL_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, size)		((void)(memory), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size)	((void)(memory), (void)(size))
#endif

#if __has_include("valgrind/memcheck.h")
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_NOACCESS(memory, size)	((void)(memory), (void)(size))
#define VALGRIND_MAKE_MEM_DEFINED(memory, size)		((void)(memory), (void)(size))
#endif

/* From now on the @size bytes at @memory must not be used. They keep what they hold. */
static inline void twheel_poison(void *memory, size_t size)
{
	ASAN_POISON_MEMORY_REGION(memory, size);
	(void)VALGRIND_MAKE_MEM_NOACCESS(memory, size);
}

/* They may be used again. */
static inline void twheel_unpoison(void *memory, size_t size)
{
	ASAN_UNPOISON_MEMORY_REGION(memory, size);
	(void)VALGRIND_MAKE_MEM_DEFINED(memory, size);
}

#endif /* TWHEEL_POISON_H */
