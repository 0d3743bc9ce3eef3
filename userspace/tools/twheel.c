// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The twheel tool: look at the device, and use it from a shell.
 */
#include <stdio.h>
#include <string.h>

#include "inherited.h"
#include "tool.h"

static const char help[] =
"Usage: twheel VERB [OPTION]... [ARGUMENT]...\n"
"Look at timer wheels, of the device and in processes, and use them from a shell.\n"
"\n"
"  doctor  look for what keeps programs from using the device, and say what to do\n"
"  info    show what the wheel is and what its limits are\n"
"  arm     arm timers and print their expirations as they come\n"
"  ps      show which processes have timers, and how many\n"
"  list    show the pending timers of a descriptor or a process\n"
"  save    write them into a file, for instance while the module is replaced\n"
"  load    arm what is in such a file\n"
"  stat    show what the module, or wheels in processes, have counted\n"
"  top     show what wheels do, live in a terminal\n"
"\n"
"  -h, --help     show this help; 'twheel VERB --help' shows that of a verb\n"
"  -V, --version  show the version\n"
"\n"
"Colours are only for a terminal, and not if NO_COLOR is in the environment.\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

static const struct {
	const char	*name;
	enum tool_exit	(*run)(int argc, char **argv);
} verbs[] = {
	{ "doctor",	tool_doctor },
	{ "info",	tool_info },
	{ "arm",	tool_arm },
	{ "ps",		tool_ps },
	{ "list",	tool_list },
	{ "save",	tool_save },
	{ "load",	tool_load },
	{ "stat",	tool_stat },
	{ "top",	tool_top },
};

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : NULL;
	static char name[32];
	size_t i;

	inherited_descriptors();
	if (!verb)
		return tool_complain(TOOL_USAGE, "no verb: see 'twheel --help'");
	if (!strcmp(verb, "--help") || !strcmp(verb, "-h")) {
		fputs(help, stdout);
		return tool_flush();
	}
	if (!strcmp(verb, "--version") || !strcmp(verb, "-V")) {
		puts("twheel " TWHEEL_VERSION);
		return tool_flush();
	}
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verb, verbs[i].name))
			break;
	if (i < sizeof(verbs) / sizeof(verbs[0])) {
		/* getopt_long() begins its messages with argv[0]. */
		snprintf(name, sizeof(name), "twheel: %s", verb);
		argv[1] = name;
		return verbs[i].run(argc - 1, argv + 1);
	}
	return tool_complain(TOOL_USAGE,
			     "'%s' is not a verb: use doctor, info, arm, ps, list, save, load, stat or top",
			     verb);
}
