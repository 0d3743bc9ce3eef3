// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel doctor: how it tells of its findings.
 */
#include <stdarg.h>
#include <stdio.h>

#include "doctor.h"
#include "names.h"
#include "terminal.h"

static const struct {
	const char	*name;
	enum colour	colour;
} states[] = {
	[STATE_OK]	= { "ok",	COLOUR_GOOD },
	[STATE_NOTE]	= { "note",	COLOUR_NOTE },
	[STATE_WRONG]	= { "WRONG",	COLOUR_BAD },
};

static void print_json(const struct doctor *doctor)
{
	printf("{\"state\":\"%s\",\"subject\":\"%s\",\"finding\":",
	       doctor->state == STATE_WRONG ? "wrong" : states[doctor->state].name,
	       doctor->subject);
	print_json_string(doctor->text);
	printf(",\"advice\":");
	if (*doctor->advice)
		print_json_string(doctor->advice);
	else
		printf("null");
	puts("}");
}

void doctor_report(struct doctor *doctor)
{
	if (!doctor->subject)
		return;
	if (doctor->json) {
		print_json(doctor);
	} else {
		printf("%s%-5s%s  %-11s  %s\n", terminal_colour(states[doctor->state].colour),
		       states[doctor->state].name, terminal_colour(COLOUR_NONE),
		       doctor->subject, doctor->text);
		if (*doctor->advice)
			printf("%20s%s-> %s%s\n", "", terminal_colour(COLOUR_BOLD),
			       doctor->advice, terminal_colour(COLOUR_NONE));
	}
	doctor->wrong += doctor->state == STATE_WRONG;
	doctor->subject = NULL;
}

void doctor_find(struct doctor *doctor, enum state state, const char *subject,
		 const char *format, ...)
{
	va_list args;

	doctor_report(doctor);
	doctor->state = state != STATE_LACK ? state :
			doctor->device ? STATE_WRONG : STATE_NOTE;
	doctor->subject = subject;
	doctor->advice[0] = 0;
	va_start(args, format);
	vsnprintf(doctor->text, sizeof(doctor->text), format, args);
	va_end(args);
}

void doctor_advise(struct doctor *doctor, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(doctor->advice, sizeof(doctor->advice), format, args);
	va_end(args);
}
