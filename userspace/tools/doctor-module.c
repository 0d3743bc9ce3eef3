// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel doctor: the kernel, the module and its file, and what may forbid to load it.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "doctor.h"
#include "modinfo.h"
#include "root.h"

#define SECURE_BOOT	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

/* What makes the module anew, and what loads it at each boot. */
#define BUILD		"make modules && sudo make modules_install && sudo depmod"
#define LOAD_AT_BOOT	"/etc/modules-load.d/twheel.conf"

/* Find out what kind of container this is. */
static void find_container(struct doctor *doctor)
{
	char *kind = doctor->container;

	if (root_line("/run/systemd/container", kind, sizeof(doctor->container)))
		return;
	if (root_exists("/run/.containerenv"))
		snprintf(kind, sizeof(doctor->container), "podman");
	else if (root_exists("/.dockerenv"))
		snprintf(kind, sizeof(doctor->container), "docker");
}

/* What Secure Boot is: "on", "off", or why that is not known. */
static const char *secure_boot(void)
{
	unsigned char variable[5];
	char path[ROOT_PATH];
	size_t n = 0;
	FILE *file;

	if (!root_exists("/sys/firmware/efi"))
		return "absent (no EFI)";
	/* Four bytes of attributes come before the value. */
	file = fopen(root_path(path, SECURE_BOOT), "re");
	if (file) {
		n = fread(variable, 1, sizeof(variable), file);
		fclose(file);
	}
	if (n < sizeof(variable))
		return "unknown";
	return variable[4] ? "on" : "off";
}

/* The mode of lockdown, which the file has in brackets. */
static void read_lockdown(char *mode, size_t size)
{
	char line[128], *begin;

	snprintf(mode, size, "unknown");
	if (!root_line("/sys/kernel/security/lockdown", line, sizeof(line)))
		return;
	begin = strchr(line, '[');
	if (begin)
		snprintf(mode, size, "%.*s", (int)strcspn(begin + 1, "]"), begin + 1);
}

/* Does the kernel refuse modules that are not signed? */
static bool wants_signature(const char *lockdown)
{
	char enforced[8];

	root_line("/sys/module/module/parameters/sig_enforce", enforced, sizeof(enforced));
	/* Where that is not known: most kernels lock themselves down with Secure Boot. */
	return *enforced == 'Y' || !strcmp(lockdown, "integrity") ||
	       !strcmp(lockdown, "confidentiality") ||
	       (!strcmp(lockdown, "unknown") && !strcmp(secure_boot(), "on"));
}

/* Is this kernel older than any that the module is for? */
static bool is_old(const char *release)
{
	unsigned int major, minor;

	return sscanf(release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && !minor));
}

void doctor_kernel(struct doctor *doctor)
{
	char disabled[8];

	find_container(doctor);
	doctor->loaded = device_registered(root_folder());
	root_line("/proc/sys/kernel/osrelease", doctor->release, sizeof(doctor->release));
	root_line("/proc/sys/kernel/modules_disabled", disabled, sizeof(disabled));

	if (doctor->loaded) {
		doctor_find(doctor, STATE_OK, "kernel", "%s", doctor->release);
	} else if (!root_exists("/proc/modules")) {
		doctor_find(doctor, STATE_LACK, "kernel",
			    "%s loads no modules: it was built without CONFIG_MODULES",
			    doctor->release);
		doctor_advise(doctor,
			      "boot one that does, or use a virtual machine, as 'make demo' does");
	} else if (*disabled == '1') {
		doctor_find(doctor, STATE_LACK, "kernel",
			    "%s loads no more modules: kernel.modules_disabled is 1",
			    doctor->release);
		doctor_advise(doctor, "write twheel into " LOAD_AT_BOOT ", and reboot");
	} else if (is_old(doctor->release)) {
		doctor_find(doctor, STATE_LACK, "kernel",
			    "%s is older than 6.1, the first that the module is for",
			    doctor->release);
		doctor_advise(doctor, "boot a newer kernel");
	} else {
		doctor_find(doctor, STATE_OK, "kernel", "%s, which loads modules",
			    doctor->release);
	}
	if (*doctor->container)
		doctor_find(doctor, STATE_NOTE, "container",
			    "this is a container (%s): modules are loaded outside of it",
			    doctor->container);
}

/* The module is loaded: is it what is installed? */
static void compare_file(struct doctor *doctor, const struct modinfo *file)
{
	char version[64], source[64];
	bool same_version, same_source;

	root_line("/sys/module/twheel/version", version, sizeof(version));
	root_line("/sys/module/twheel/srcversion", source, sizeof(source));
	if (*version)
		doctor_find(doctor, STATE_OK, "module", "loaded, version %s", version);
	else
		doctor_find(doctor, STATE_OK, "module", "loaded, version unknown");

	if (!*file->path) {
		/* The files of the host's modules are not in a container. */
		if (*doctor->container)
			return;
		doctor_find(doctor, STATE_NOTE, "file",
			    "there is no twheel.ko for %s: the module is gone after a reboot",
			    doctor->release);
		doctor_advise(doctor, BUILD);
		return;
	}
	if (!file->read) {
		doctor_find(doctor, STATE_NOTE, "file", "%s cannot be read by modinfo",
			    file->path);
		doctor_advise(doctor, "see why: modinfo %s", file->path);
		return;
	}

	/* What one of them does not tell is no difference. */
	same_version = !*version || !*file->version || !strcmp(version, file->version);
	same_source = !*source || !*file->srcversion || !strcmp(source, file->srcversion);
	if (same_version && same_source) {
		doctor_find(doctor, STATE_OK, "file", "%s", file->path);
		return;
	}
	doctor_find(doctor, STATE_NOTE, "file", "%s is %s%s, and not what is loaded", file->path,
		    same_version ? "of other sources" : "version ",
		    same_version ? "" : file->version);
	doctor_advise(doctor,
		      "end what 'twheel ps' shows, then: sudo rmmod twheel && sudo modprobe twheel");
}

/* The module is not loaded, and there is no file of it for this kernel. */
static void explain_no_file(struct doctor *doctor)
{
	char other[128], build[ROOT_PATH];
	bool elsewhere = modinfo_elsewhere(other, sizeof(other));

	doctor_find(doctor, STATE_LACK, "module",
		    "not loaded, and there is no twheel.ko for this kernel%s%s",
		    elsewhere ? ", only for " : "", elsewhere ? other : "");
	snprintf(build, sizeof(build), "/lib/modules/%s/build", doctor->release);
	if (!root_exists(build))
		doctor_advise(doctor,
			      "install its headers (Debian: linux-headers-%s), then: " BUILD
			      " && sudo modprobe twheel", doctor->release);
	else
		doctor_advise(doctor, "%s" BUILD " && sudo modprobe twheel",
			      elsewhere ? "sudo dkms autoinstall, or without dkms: " : "");
}

/* The module is not loaded: why, and can it be? */
static void explain_absence(struct doctor *doctor, const struct modinfo *file)
{
	size_t len = strlen(doctor->release);

	if (!root_exists("/proc/modules")) {
		doctor_find(doctor, STATE_NOTE, "module", "not loaded, as this kernel loads none");
	} else if (*doctor->container) {
		doctor_find(doctor, STATE_LACK, "module", "not loaded");
		doctor_advise(doctor,
			      "outside of it: sudo modprobe twheel; 'twheel doctor' there tells more");
	} else if (!*file->path) {
		explain_no_file(doctor);
	} else if (!root_exists(file->path)) {
		doctor_find(doctor, STATE_LACK, "module",
			    "not loaded, and %s is listed in modules.dep but is gone", file->path);
		doctor_advise(doctor, BUILD " && sudo modprobe twheel");
	} else if (file->read && (strncmp(file->vermagic, doctor->release, len) ||
				  file->vermagic[len] != ' ')) {
		doctor_find(doctor, STATE_LACK, "module", "not loaded, and %s is for %.*s",
			    file->path, (int)strcspn(file->vermagic, " "), file->vermagic);
		doctor_advise(doctor, "build it for this kernel: " BUILD);
	} else if (!file->listed) {
		doctor_find(doctor, STATE_LACK, "module",
			    "not loaded, and modprobe does not find %s", file->path);
		doctor_advise(doctor, "sudo depmod && sudo modprobe twheel");
	} else {
		doctor_find(doctor, STATE_LACK, "module", "not loaded, but installed: %s",
			    file->path);
		doctor_advise(doctor,
			      "sudo modprobe twheel (at each boot: put twheel into "
			      LOAD_AT_BOOT ")");
	}
}

static const char sign_it[] =
	"sign it (dkms does), enroll the key: sudo mokutil --import /var/lib/dkms/mok.pub, reboot";

/* What the kernel wants of signatures, and whether the module has it. */
static void look_at_signature(struct doctor *doctor, const struct modinfo *file)
{
	char lockdown[32], taint[16];
	bool wanted;

	if (!doctor->loaded && !root_exists("/proc/modules"))
		return;
	read_lockdown(lockdown, sizeof(lockdown));
	wanted = wants_signature(lockdown);
	doctor_find(doctor, STATE_OK, "lockdown",
		    "lockdown %s, Secure Boot %s: the kernel takes %s modules",
		    lockdown, secure_boot(), wanted ? "only signed" : "unsigned");

	root_line("/sys/module/twheel/taint", taint, sizeof(taint));
	if (doctor->loaded && strchr(taint, 'E')) {
		doctor_find(doctor, STATE_NOTE, "signature",
			    "not signed by a key that the kernel knows, and taints it (%s)",
			    taint);
	} else if (doctor->loaded) {
		if (*taint)
			doctor_find(doctor, STATE_OK, "signature",
				    "it taints the kernel, as any module from out of its tree (%s)",
				    taint);
	} else if (!file->read) {
		return;
	} else if (!*file->signer) {
		doctor_find(doctor, wanted ? STATE_LACK : STATE_OK, "signature",
			    "%s is not signed", file->path);
		if (wanted)
			doctor_advise(doctor, "%s", sign_it);
	} else {
		doctor_find(doctor, wanted ? STATE_NOTE : STATE_OK, "signature",
			    "%s is signed by %s", file->path, file->signer);
		if (wanted)
			doctor_advise(doctor,
				      "if modprobe fails, enroll that key: sudo mokutil --import");
	}
}

void doctor_module(struct doctor *doctor)
{
	struct modinfo file;

	modinfo_find(&file, doctor->release);
	if (doctor->loaded)
		compare_file(doctor, &file);
	else
		explain_absence(doctor, &file);
	look_at_signature(doctor, &file);
}
