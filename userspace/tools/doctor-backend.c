// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel doctor: does TWHEEL_BACKEND let programs use the device?
 */
#include <errno.h>
#include <string.h>

#include "device.h"
#include "doctor.h"

void doctor_backend(struct doctor *doctor)
{
	const char *misspelt = backend_misspelt();

	if (misspelt) {
		doctor_find(doctor, STATE_WRONG, "backend", BACKEND_MISSPELT, misspelt);
		doctor_advise(doctor,
			      "correct it, or unset it: until then programs get \"%s\" (EINVAL)",
			      strerror(EINVAL));
	} else if (backend_is("embedded")) {
		doctor_find(doctor, STATE_NOTE, "backend",
			    "TWHEEL_BACKEND is embedded: programs get a wheel in the process");
		if (doctor->loaded)
			doctor_advise(doctor, "for them to use the device, unset it");
	} else if (backend_is("device") && !doctor->loaded) {
		doctor_find(doctor, STATE_WRONG, "backend",
			    "TWHEEL_BACKEND is device, and there is none: programs fail");
		doctor_advise(doctor, "unset it, and they use a wheel in the process");
	} else if (backend_is("device")) {
		doctor_find(doctor, STATE_OK, "backend",
			    "TWHEEL_BACKEND is device: without it programs fail");
	}
}
