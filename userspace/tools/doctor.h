/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What twheel doctor looks at, and how it tells of it.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>

/**
 * enum state - how a thing that was looked at is
 * @STATE_OK: as it should be
 * @STATE_NOTE: to be known; it may be what somebody wants
 * @STATE_LACK: there is no device, for this reason. doctor_find() makes that %STATE_NOTE, as
 *	programs have a wheel in the process; or %STATE_WRONG if they are to have the device alone
 * @STATE_WRONG: programs cannot use the device, or not as they should
 */
enum state {
	STATE_OK,
	STATE_NOTE,
	STATE_LACK,
	STATE_WRONG,
};

/**
 * struct doctor - an examination
 * @json: print JSON lines
 * @release: the release of the kernel that runs
 * @loaded: the kernel has the device
 * @container: the kind of container that this is; "" outside of one
 * @device: TWHEEL_BACKEND lets programs have the device alone
 * @process: programs get a wheel in the process
 * @wrong: how many things are wrong
 * @state: of the finding that is not printed yet
 * @subject: of that finding; NULL if there is none
 * @text: what was found
 * @advice: what to do about it; "" for nothing
 */
struct doctor {
	bool		json;
	char		release[65];
	bool		loaded;
	char		container[32];
	bool		device;
	bool		process;
	unsigned int	wrong;
	enum state	state;
	const char	*subject;
	char		text[768];
	char		advice[768];
};

/**
 * doctor_find() - tell of a finding
 * @doctor: the examination
 * @state: how it is
 * @subject: what was looked at, a word or two
 * @format: as for printf(): what was found
 */
__attribute__((format(printf, 4, 5)))
void doctor_find(struct doctor *doctor, enum state state, const char *subject,
		 const char *format, ...);

/**
 * doctor_advise() - say what to do about the last finding
 * @doctor: the examination
 * @format: as for printf(): one line
 */
__attribute__((format(printf, 2, 3)))
void doctor_advise(struct doctor *doctor, const char *format, ...);

/**
 * doctor_report() - print the last finding if it is not printed yet, and count what is wrong
 * @doctor: the examination
 *
 * doctor_find() does so before it begins the next finding. The last one of all has no next.
 */
void doctor_report(struct doctor *doctor);

/* Look at the kernel, at the module, at its file, and at what may forbid to load it. */
void doctor_kernel(struct doctor *doctor);
void doctor_module(struct doctor *doctor);

/* Look at the versions of the module, of this tool and of what is installed. */
void doctor_versions(struct doctor *doctor);

/* Look at what TWHEEL_BACKEND in the environment has programs use. */
void doctor_backend(struct doctor *doctor);

/* Look at the node, open it, have a timer expire, and look at the limits. */
void doctor_node(struct doctor *doctor);
void doctor_device(struct doctor *doctor);

/* If programs get a wheel in the process, try one. */
void doctor_process(struct doctor *doctor);

#endif /* DOCTOR_H */
