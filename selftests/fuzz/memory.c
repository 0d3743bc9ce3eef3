// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that calls are given.
 *
 * The pages of a thread: eight to take buffers from, a hole, four that are given
 * back before each use, one that is read only, a hole.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"

#define PAGES_BUFFER	8
#define PAGES_FRESH	7
#define FRESH		((PAGES_BUFFER + 1) * MEMORY_PAGE)
#define READ_ONLY	(FRESH + PAGES_FRESH * MEMORY_PAGE)
#define HOLE		(READ_ONLY + MEMORY_PAGE)
#define AREA		(HOLE + MEMORY_PAGE)
#define PAGES_RACE	6

/* How much around a buffer is watched. */
#define GUARD		64
#define FILLER		0xa5

static char *race;
static __thread volatile sig_atomic_t copying;
static __thread sigjmp_buf escape;

static void fault(int signal)
{
	if (copying)
		siglongjmp(escape, 1);
	/* One of our own: die of it. */
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

bool memory_init(void)
{
	struct sigaction action = { .sa_handler = fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	race = mmap(NULL, PAGES_RACE * MEMORY_PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return race != MAP_FAILED;
}

bool memory_thread(struct memory *memory)
{
	memory->area = mmap(NULL, AREA, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory->area != MAP_FAILED &&
	       !mprotect(memory->area + PAGES_BUFFER * MEMORY_PAGE, MEMORY_PAGE, PROT_NONE) &&
	       !mprotect(memory->area + READ_ONLY, MEMORY_PAGE, PROT_READ) &&
	       !mprotect(memory->area + HOLE, MEMORY_PAGE, PROT_NONE);
}

enum memory_kind memory_kind(__u8 byte)
{
	static const struct {
		__u8 from;
		enum memory_kind kind;
	} kinds[] = {
		{ 250, MEMORY_WORDS }, { 236, MEMORY_RACE }, { 230, MEMORY_KERNEL },
		{ 224, MEMORY_NONE }, { 218, MEMORY_NULL }, { 208, MEMORY_READ_ONLY },
		{ 192, MEMORY_FRESH }, { 184, MEMORY_ODD }, { 168, MEMORY_CROSS },
		{ 152, MEMORY_END }, { 0, MEMORY_GOOD },
	};
	int i = 0;

	while (byte < kinds[i].from)
		i++;
	return kinds[i].kind;
}

struct buffer memory_buffer(struct memory *memory, enum memory_kind kind, size_t size,
			    __u8 mode, void *words)
{
	static void *const nobodys[] = {
		(void *)0xffff888000000000UL, (void *)0xffffffff81000000UL,
		(void *)0x8000000000000000UL, (void *)0x7ffffffff000UL,
	};
	struct buffer buffer = { .kind = kind, .size = size, .filler = FILLER };
	char *end = memory->area + PAGES_BUFFER * MEMORY_PAGE;

	switch (kind) {
	case MEMORY_GOOD:
		buffer.at = memory->area + MEMORY_PAGE;
		break;
	case MEMORY_END:
		buffer.at = end - size;
		break;
	case MEMORY_CROSS:
		buffer.at = end - size * (mode % 16) / 16;
		break;
	case MEMORY_ODD:
		buffer.at = memory->area + MEMORY_PAGE + 1 + mode % 7;
		break;
	case MEMORY_FRESH:
		buffer.at = memory->area + FRESH + mode * 8;
		madvise(memory->area + FRESH, PAGES_FRESH * MEMORY_PAGE, MADV_DONTNEED);
		buffer.filler = 0;
		buffer.end = buffer.at + buffer.size;
		return buffer;
	case MEMORY_READ_ONLY:
		buffer.at = memory->area + READ_ONLY + mode % 64 * 8;
		return buffer;
	case MEMORY_NONE:
		buffer.at = memory->area + HOLE + mode;
		return buffer;
	case MEMORY_NULL:
		buffer.at = NULL;
		return buffer;
	case MEMORY_KERNEL:
		buffer.at = nobodys[mode % 4];
		return buffer;
	case MEMORY_RACE:
		buffer.at = race;
		return buffer;
	case MEMORY_WORDS:
		buffer.at = words;
		return buffer;
	}

	buffer.end = buffer.at + size + GUARD;
	if (buffer.end > end)
		buffer.end = end;
	memset(buffer.at - GUARD, FILLER, buffer.end - buffer.at + GUARD);
	return buffer;
}

bool memory_sure(const struct buffer *buffer)
{
	return buffer->end;
}

bool memory_good(const struct buffer *buffer)
{
	return buffer->kind == MEMORY_GOOD || buffer->kind == MEMORY_ODD ||
	       buffer->kind == MEMORY_FRESH;
}

static bool all(const char *from, const char *to, __u8 byte)
{
	while (from < to)
		if ((__u8)*from++ != byte)
			return false;
	return true;
}

bool memory_clean(const struct buffer *buffer, size_t used)
{
	if (!memory_sure(buffer))
		return true;
	return (buffer->kind == MEMORY_FRESH ||
		all(buffer->at - GUARD, buffer->at, buffer->filler)) &&
	       all(buffer->at + used, buffer->end, buffer->filler);
}

void *memory_race(void)
{
	return race;
}

void memory_flip(__u8 mode)
{
	size_t size = (1 + mode / 8 % PAGES_RACE) * MEMORY_PAGE;

	switch (mode % 8) {
	case 0:
		mprotect(race, size, PROT_NONE);
		break;
	case 1:
		mprotect(race, size, PROT_READ);
		break;
	case 2:
		mmap(race, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 3:
	case 4:
		madvise(race, size, MADV_DONTNEED);
		break;
	default:
		mprotect(race, PAGES_RACE * MEMORY_PAGE, PROT_READ | PROT_WRITE);
	}
}

size_t memory_copy(void *to, const void *from, size_t n)
{
	const volatile __u64 *source = from;
	volatile __u64 *target = to;
	volatile size_t done = 0;

	if (!sigsetjmp(escape, 0)) {
		copying = 1;
		for (; done < n; done += sizeof(*target))
			target[done / sizeof(*target)] = source[done / sizeof(*target)];
	}
	copying = 0;
	return done;
}
