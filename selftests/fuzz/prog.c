// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of the fuzzer: made, changed, written and read.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../uapi/twheel_util.h"
#include "prog.h"

/* How often an op is chosen: what moves timers about most. */
static const __u8 weights[NR_OPS] = {
	[OP_OPEN] = 2, [OP_CONFIG] = 5, [OP_ARM] = 12, [OP_ARM_BATCH] = 9,
	[OP_CANCEL] = 5, [OP_CANCEL_BATCH] = 4, [OP_GET] = 3, [OP_LIST] = 6,
	[OP_INFO] = 3, [OP_READ] = 8, [OP_READV] = 4, [OP_POLL] = 2,
	[OP_EPOLL] = 2, [OP_MMAP] = 4, [OP_STORE] = 4, [OP_MUNMAP] = 1,
	[OP_DUP] = 2, [OP_FORK] = 1, [OP_CLOSE] = 2, [OP_SLEEP] = 6,
	[OP_SETTIME] = 1, [OP_BAD_IOCTL] = 1, [OP_FDINFO] = 1, [OP_CPU] = 3,
	[OP_FLIP] = 1, [OP_OTHER] = 1, [OP_PASS] = 1,
	[OP_PUSH] = 8,
};

__u32 prog_below(__u64 *state, __u32 n)
{
	return (tw_random(state) >> 16) % n;
}

static enum op random_op(__u64 *state)
{
	__u32 sum = 0, pick;
	int op;

	for (op = 0; op < NR_OPS; op++)
		sum += weights[op];
	pick = prog_below(state, sum);
	for (op = 0; pick >= weights[op]; op++)
		pick -= weights[op];
	return op;
}

static void random_call(struct call *call, __u64 *state)
{
	__u8 *bytes = (__u8 *)call;
	size_t i;

	for (i = 0; i < sizeof(*call); i++)
		bytes[i] = tw_random(state) >> 24;
	call->op = random_op(state);
	/* Mostly one descriptor: else timers never meet. */
	if (prog_below(state, 4))
		call->fd = 0;
}

void prog_generate(struct prog *prog, __u64 *state)
{
	int i;

	memset(prog, 0, sizeof(*prog));
	prog->threaded = !prog_below(state, 4);
	prog->nr = 3 + prog_below(state, PROG_CALLS - 2);
	for (i = 0; i < prog->nr; i++)
		random_call(&prog->calls[i], state);
	/* After the first timer it is too late. */
	if (prog_below(state, 2)) {
		prog->calls[0].op = OP_CONFIG;
		prog->calls[0].ptr = 0;
	}
}

void prog_remove(struct prog *prog, int i)
{
	prog->nr--;
	memmove(prog->calls + i, prog->calls + i + 1,
		(prog->nr - i) * sizeof(*prog->calls));
}

static void insert(struct prog *prog, int at, const struct call *call)
{
	if (prog->nr == PROG_CALLS)
		prog_remove(prog, PROG_CALLS - 1);
	if (at > prog->nr)
		at = prog->nr;
	memmove(prog->calls + at + 1, prog->calls + at,
		(prog->nr - at) * sizeof(*prog->calls));
	prog->calls[at] = *call;
	prog->nr++;
}

static void change_byte(struct call *call, __u64 *state)
{
	static const __u8 interesting[] = { 0, 1, 2, 3, 7, 8, 15, 16, 63, 64, 127, 128, 255 };
	__u8 *byte = (__u8 *)call + prog_below(state, sizeof(*call));

	switch (prog_below(state, 4)) {
	case 0:
		*byte += prog_below(state, 2) ? 1 : -1;
		break;
	case 1:
		*byte ^= 1U << prog_below(state, 8);
		break;
	case 2:
		*byte = interesting[prog_below(state, sizeof(interesting))];
		break;
	default:
		*byte = tw_random(state) >> 24;
	}
}

static void mutate_once(struct prog *prog, const struct prog *other, __u64 *state)
{
	__u32 at = prog_below(state, prog->nr), from, n;
	struct call call;

	switch (prog_below(state, 10)) {
	case 0:
	case 1:
		random_call(&call, state);
		insert(prog, at + 1, &call);
		break;
	case 2:
		if (prog->nr > 1)
			prog_remove(prog, at);
		break;
	case 3:
		insert(prog, prog_below(state, prog->nr + 1), &prog->calls[at]);
		break;
	case 4:
		/* Splice: a run of calls of another program. */
		from = prog_below(state, other->nr);
		n = 1 + prog_below(state, other->nr - from);
		while (n--)
			insert(prog, at++, &other->calls[from + n]);
		break;
	case 5:
		if (!prog_below(state, 3))
			prog->threaded = !prog->threaded;
		else
			prog->calls[at].thread++;
		break;
	default:
		change_byte(&prog->calls[at], state);
	}
}

void prog_mutate(struct prog *prog, const struct prog *other, __u64 *state)
{
	int n = 1 + prog_below(state, 4);

	while (n--)
		mutate_once(prog, other, state);
}

size_t prog_print(const struct prog *prog, char *text)
{
	size_t at = sprintf(text, "%d", prog->threaded & 1), k;
	int i;

	for (i = 0; i < prog->nr; i++) {
		text[at++] = ' ';
		for (k = 0; k < sizeof(struct call); k++)
			at += sprintf(text + at, "%02x", ((__u8 *)&prog->calls[i])[k]);
	}
	return at;
}

static int digit(char c)
{
	return isdigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool prog_parse(struct prog *prog, const char *text)
{
	size_t k;

	memset(prog, 0, sizeof(*prog));
	if (*text != '0' && *text != '1')
		return false;
	prog->threaded = *text++ == '1';

	while (*text == ' ' && prog->nr < PROG_CALLS) {
		__u8 *bytes = (__u8 *)&prog->calls[prog->nr++];

		text++;
		for (k = 0; k < sizeof(struct call); k++, text += 2) {
			int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

			if (low < 0)
				return false;
			bytes[k] = high << 4 | low;
		}
	}
	return prog->nr && (*text == '\n' || !*text);
}
