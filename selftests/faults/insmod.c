// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading the module, with each thing that can fail in it failing in turn.
 *
 * insmod either fails with a clean errno and leaves nothing behind, so that the
 * next one works; or the module does without what it could not get, and works.
 *
 * Most of it is the kernel's, which prepares a module before it calls its init
 * function: there one in STEP fails, or with an argument each; in init each does.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "faults.h"
#include "kselftest.h"
#include "twheel_util.h"

#define MODULE		"/lib/modules/twheel.ko"
#define STEP		10
/* More than there are. */
#define MANY		1000000

static int module;

static int load_with(const char *parameters)
{
	return syscall(SYS_finit_module, module, parameters, 0) ? -errno : 0;
}

/*
 * Each wheel is of one piece then. What is larger is put together of pages where it
 * cannot be had in one, so that no single fault would keep it away.
 */
#define SMALL_WHEELS	"slots=8"

static int load(void)
{
	return load_with(SMALL_WHEELS);
}

/* Somebody who looks at the device in passing may be in the way for a moment. */
static int unload(void)
{
	int tries, ret = 0;

	for (tries = 0; tries < 100; tries++) {
		ret = syscall(SYS_delete_module, "twheel", O_NONBLOCK) ? -errno : 0;
		if (ret != -EAGAIN && ret != -EBUSY)
			break;
		usleep(10000);
	}
	return ret;
}

static bool mentions(const char *path, const char *word)
{
	char line[1024];
	FILE *file = fopen(path, "re");
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found = found || strstr(line, word);
	if (file)
		fclose(file);
	return found;
}

static void check_gone(unsigned int n)
{
	static const char * const paths[] = {
		TW_DEVICE, "/sys/module/twheel", "/sys/class/misc/twheel",
		"/sys/kernel/debug/twheel", "/sys/kernel/slab/twheel_chunk",
		"/sys/kernel/tracing/events/twheel",
	};
	static const char * const files[] = {
		"/proc/modules", "/proc/misc", "/proc/slabinfo", "/proc/kallsyms",
		"/sys/devices/system/cpu/hotplug/states",
	};
	struct stat st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(paths); i++)
		if (!stat(paths[i], &st))
			violation("fault %u: %s is left", n, paths[i]);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (mentions(files[i], "twheel"))
			violation("fault %u: %s has something left", n, files[i]);
}

/* Loaded, it does its work, on all CPUs and with all that is made on demand. */
static void check_works(unsigned int n)
{
	int fd = tw_open(), keyed = tw_open();
	struct twheel_event events[9];
	__u64 deadlines[8] = { };
	struct twheel_arm arm = tw_request(TW_MSEC, TWHEEL_ARM_LEASE, 1);

	if (!tw_arm_everywhere(fd, deadlines, 8) || tw_collect(fd, events, 8) != 8)
		violation("fault %u: loaded, but timers do not work", n);
	if (tw_configure(keyed, CLOCK_BOOTTIME, TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE) ||
	    tw_call(keyed, TWHEEL_IOC_ARM, &arm) || tw_collect(keyed, events, 1) != 1)
		violation("fault %u: loaded, but leases do not work", n);
	close(fd);
	close(keyed);
}

static void must_load(unsigned int n)
{
	int ret = load();

	if (ret) {
		violation("fault %u: without faults, insmod fails: %s", n, strerror(-ret));
		return;
	}
	check_works(n);
	ret = unload();
	if (ret)
		ksft_exit_fail_msg("fault %u: rmmod fails: %s\n", n, strerror(-ret));
	check_gone(n);
}

/* The @n-th thing that can fail does; tells whether insmod failed. */
static bool one_fault(unsigned int n)
{
	bool fired;
	int ret;

	faults_arm(0, n);
	ret = load();
	fired = !faults_disarm(0);
	faults_note(ret);

	if (ret && (!fired || (ret != -ENOMEM && ret != -EFAULT)))
		violation("fault %u: insmod fails: %s", n, strerror(-ret));
	if (!ret)
		check_works(n);
	if (!ret && unload())
		ksft_exit_fail_msg("fault %u: rmmod fails\n", n);
	check_gone(n);
	return ret;
}

/* How many things can fail as the module is loaded, successfully or not. */
static unsigned int count(const char *parameters, int want)
{
	unsigned int n;
	int ret;

	faults_arm(0, MANY);
	ret = load_with(parameters);
	n = MANY - faults_disarm(0);
	if (ret != want || (!ret && unload()))
		ksft_exit_fail_msg("insmod '%s': %s\n", parameters, strerror(-ret));
	return n;
}

int main(int argc, char **argv)
{
	unsigned int step = argc > 1 ? atoi(argv[1]) : STEP;
	unsigned int all, before, n, tried = 0, failed = 0;
	int ret;

	setlinebuf(stdout);
	ksft_print_header();
	module = open(MODULE, O_RDONLY | O_CLOEXEC);
	if (module < 0)
		ksft_exit_skip("no " MODULE "\n");
	faults_init();
	ksft_set_plan(3);

	ret = unload();
	ksft_test_result(!ret || ret == -ENOENT, "the module can be removed\n");
	must_load(0);
	ksft_test_result(!fault_figures.violations, "insmod and rmmod work without faults\n");

	/* This is refused by the first lines of init. */
	before = count("tick_ns=0", -EINVAL);
	all = count(SMALL_WHEELS, 0);
	/* It may take some more at another time. */
	for (n = 1; n < all + 20; n++) {
		if (n < before - 20 && n % step)
			continue;
		failed += one_fault(n);
		if (tried++ % 16 == 0)
			must_load(n);
	}
	must_load(n);
	ksft_test_result(!fault_figures.violations,
			 "insmod: %u faults, %u refused; of the first %u one in %u\n",
			 tried, failed, before, step);

	/* As it was found. */
	if (load_with(""))
		ksft_exit_fail_msg("the module cannot be loaded again\n");
	faults_report();
	ksft_finished();
}
