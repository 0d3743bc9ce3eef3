// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target for libFuzzer: the first eight bytes choose a geometry, and each following eight
 * bytes are an operation, on both the wheel and the model.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

void test_fail(const char *file, int line, const char *cond, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: expected %s: ", file, line, cond);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 slots, n, every;
	struct model m;
	u64 word, clk;

	if (size < 2 * sizeof(word))
		return 0;

	memcpy(&word, data, sizeof(word));
	slots = 4U << (word & 0xff) % 11;
	n = 1 + (word >> 16 & 63);
	clk = (word >> 32) << (word >> 24 & 31);
	every = 1 + slots / 8;

	model_init(&m, slots, n, clk, every);
	for (data += sizeof(word), size -= sizeof(word); size >= sizeof(word);
	     data += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		if (!model_step(&m, word))
			break;
	}
	model_end(&m);
	return 0;
}
