// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel doctor: what keeps programs from using the device, and what to do about it.
 */
#include <getopt.h>
#include <stdio.h>

#include "device.h"
#include "doctor.h"
#include "root.h"
#include "tool.h"

static const char help[] =
"Usage: twheel doctor [OPTION]...\n"
"Look for what keeps programs from using the timer wheel device, and say what to\n"
"do about each thing: the kernel, the module and its file, signatures, versions,\n"
"TWHEEL_BACKEND, the node and who may open it, containers, limits. Where there is\n"
"no device programs have a wheel in the process, and that is tried. Arms one\n"
"timer or two, and changes nothing else.\n"
"\n"
"  -j, --json  a JSON object in each line, for each thing that was looked at\n"
"  -h, --help  show this help\n"
"\n"
"Each finding is ok, a note, or WRONG. That there is no device is a note, and says\n"
"how to get it, unless TWHEEL_BACKEND=device lets programs have nothing else.\n"
"\n"
"Exit codes: 0 nothing is wrong, 1 something is, 2 wrong usage.\n";

static enum tool_exit examine(struct doctor *doctor)
{
	enum tool_exit code;

	doctor->device = backend_is("device");
	if (*root_folder())
		doctor_find(doctor, STATE_NOTE, "test", "the files below %s, not this system's",
			    root_folder());
	doctor_kernel(doctor);
	doctor_module(doctor);
	doctor_versions(doctor);
	doctor_backend(doctor);
	doctor_node(doctor);
	doctor_device(doctor);
	doctor_process(doctor);
	doctor_report(doctor);

	if (!doctor->json && doctor->wrong)
		printf("\n%u thing%s wrong\n", doctor->wrong,
		       doctor->wrong == 1 ? " is" : "s are");
	else if (!doctor->json)
		printf("\nnothing is wrong%s\n",
		       doctor->process ? ": programs use a wheel in the process" : "");
	code = tool_flush();
	return code == TOOL_OK && doctor->wrong ? TOOL_FAILED : code;
}

enum tool_exit tool_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json",	no_argument,		NULL, 'j' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	struct doctor doctor = { };
	int c;

	while ((c = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			doctor.json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return tool_flush();
		default:
			return tool_usage("doctor");
		}
	}
	if (optind < argc)
		return tool_complain(TOOL_USAGE, "doctor: '%s' is too much: no argument is taken",
				     argv[optind]);
	return examine(&doctor);
}
