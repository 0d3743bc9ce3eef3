// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Numbers on a command line.
 */
#include <errno.h>
#include <stdlib.h>

#include "number.h"

int number_parse(const char *text, uint64_t most, uint64_t *number)
{
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	unsigned long long value;
	char *end;

	/* strtoull() would take blanks and a sign. */
	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, base);
	if (*end)
		return -EINVAL;
	if (errno || value > most)
		return -ERANGE;
	*number = value;
	return 0;
}
